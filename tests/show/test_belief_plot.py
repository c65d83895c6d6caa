from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError
from consilience.show.belief import plot_belief

mpl.use("Agg")
import matplotlib.pyplot as plt

SEX, AGE, BP = cs.Variable("sex", ("F", "M")), cs.Variable("age"), cs.Variable("bp")
ILL = cs.Variable("$ill$", ("no", "yes"))


def network(sd=10.0):
    return cs.Network.of(
        [
            cs.Categorical(SEX, (), [0.4, 0.6]),
            cs.LinearGaussian(AGE, (), 50.0, [], 12.0),
            cs.LinearGaussian(BP, (SEX, AGE), [80.0, 110.0], [[0.5], [0.5]], [sd, 10.0]),
            cs.Logistic(ILL, (AGE, BP), [0.0, -9.0], [[0.0, 0.0], [0.1, 0.02]]),
        ]
    )


def saved(ax):
    ax.figure.savefig(io.BytesIO(), format="png")
    return ax


def test_the_area_under_a_density_is_one_and_the_band_is_the_interval():
    belief = network().query("bp")
    ax = saved(plot_belief(belief, level=0.9))
    curve = ax.lines[-2]  # before the mean
    x, y = curve.get_xdata(), curve.get_ydata()
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    assert ax.lines[-1].get_xdata()[0] == belief.mean
    low, high = belief.interval(0.9)
    band = ax.collections[0].get_paths()[0].get_extents()
    step = x[1] - x[0]
    assert (band.x0, band.x1) == (pytest.approx(low, abs=step), pytest.approx(high, abs=step))
    assert "90 % between" in ax.get_title(loc="left")


def test_components_are_drawn_and_add_up_to_the_density():
    ax = plot_belief(network().query("bp"))
    *components, curve, _ = ax.lines
    assert len(components) == 2
    total = sum(line.get_ydata() for line in components)
    np.testing.assert_allclose(total, curve.get_ydata(), rtol=1e-9)


def test_a_single_normal_has_no_components():
    assert len(plot_belief(network().query("age")).lines) == 2


def test_an_estimate_is_drawn_as_a_smooth_density():
    belief = network().query("bp", given={"$ill$": "yes"}, by=cs.inference.Exact(draws=500))
    assert belief.effective_size is not None
    ax = saved(plot_belief(belief))
    curve = ax.lines[-2]
    assert np.trapezoid(curve.get_ydata(), curve.get_xdata()) == pytest.approx(1, abs=0.02)


def test_a_value_with_a_probability_of_its_own_is_a_stem():
    belief = network(sd=0.0).query("bp", given={"age": 50.0})
    ax = saved(plot_belief(belief))
    assert [text.get_text() for text in ax.texts] == ["0.4"]
    [stem] = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert stem.get_xdata()[0] == 105.0
    certain = saved(plot_belief(network().query("age", given={"age": 50.0})))
    assert certain.get_title(loc="left") == "certain: 50"
    assert certain.get_ylabel() == "probability"


def test_bars_are_the_probabilities():
    belief = network().query(
        ["sex", "$ill$"], given={"bp": 130.0}, by=cs.inference.Exact(draws=500)
    )
    ax = saved(plot_belief(belief))
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], belief.values.ravel())
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["F, no", "F, yes", "M, no", "M, yes"]


def test_standard_errors_are_lines_across_the_ends_of_the_bars():
    belief = network().query("$ill$", by=cs.inference.Exact(draws=500))
    [errors] = plot_belief(belief).collections
    ends = [segment[:, 0] for segment in errors.get_segments()]
    expected = np.stack([belief.values - belief.standard_errors, belief.values], axis=1)
    np.testing.assert_allclose([end[0] for end in ends], expected[:, 0])


def test_of_many_states_the_most_probable_are_shown():
    values = np.arange(1, 51) / np.arange(1, 51).sum()
    x = cs.Variable("x", tuple(f"s{i}" for i in range(50)))
    ax = saved(plot_belief(cs.Factor((x,), values)))
    assert len(ax.patches) == 30
    assert ax.get_xlabel() == "P(x), the 30 most probable of 50"


def test_states_and_a_number_together_have_a_curve_for_each_state():
    ax = saved(plot_belief(network().query(["sex", "bp"], given={"age": 50.0})))
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in ax.lines]
    assert areas == [pytest.approx(0.4, abs=0.01), pytest.approx(0.6, abs=0.01)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["F (0.4)", "M (0.6)"]
    one = plot_belief(network().query(["sex", "bp"], given={"sex": "M"}))
    assert len(one.lines) == 1
    saved(plot_belief(network(sd=0.0).query(["sex", "bp"], given={"age": 50.0})))
    saved(plot_belief(network().query(["$ill$", "bp"], by=cs.inference.Exact(draws=200))))


def test_a_belief_is_drawn_into_given_axes():
    _, axes = plt.subplots(1, 2)
    assert plot_belief(network().query("sex"), axes[1]) is axes[1]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="one continuous variable, got 'bp', 'age'"):
        plot_belief(network().query(["bp", "age"]))
    with pytest.raises(InputError, match="level must lie between 0 and 1, got 1"):
        plot_belief(network().query("bp"), level=1)
    many = cs.Variable("many", tuple(map(str, range(9))))
    net = cs.Network.of(
        [
            cs.Categorical(many, (), np.full(9, 1 / 9)),
            cs.LinearGaussian(BP, (many,), np.arange(9.0), np.zeros((9, 0)), np.ones(9)),
        ]
    )
    with pytest.raises(InputError, match="at most 8 joint states, got 9 of 'many'"):
        plot_belief(net.query(["many", "bp"]))
