from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError
from consilience.show.plot import plot_graph, plot_sources
from consilience.show.views import svg

mpl.use("Agg")


def network(graph="[sex][age][bp|sex:age][ill|bp]", **options):
    rng = np.random.default_rng(0)
    clinic, sex, age = rng.integers(0, 3, 90), rng.integers(0, 2, 90), rng.normal(50, 9, 90)
    bp = 80 + 5 * clinic + age / 2 + 10 * sex + rng.normal(0, 5, 90)
    rows = {
        "clinic": np.array(["n", "s", "e"])[clinic],
        "sex": np.array(["F", "M"])[sex],
        "age": age,
        "bp": bp,
        "ill": np.where(bp > 118, "yes", "no"),
    }
    states = {"sex": ["F", "M"]}
    return cs.fit(cs.DAG.parse(graph), cs.read(rows, source="clinic", states=states), **options)


def panels(axes):
    axes.flat[0].figure.savefig(io.BytesIO(), format="png")
    return [ax for ax in axes.flat if ax.axison]


def test_there_is_a_panel_for_each_parameter_in_each_joint_state():
    found = panels(plot_sources(network(), "bp"))
    assert [ax.get_title() for ax in found] == ["intercept", "slope of age", "sd", "", "", ""]
    assert [ax.get_ylabel() for ax in found] == ["sex=F", "", "", "sex=M", "", ""]
    labels = [label.get_text() for label in found[0].get_yticklabels()]
    assert tuple(labels) == network().variables["clinic"].states


def test_dots_are_the_parameters_and_lines_the_intervals():
    net = network()
    values, (low, high) = (
        net["bp"].parameters,
        cs.estimators.parameter_intervals(net, "bp", level=0.8),
    )
    found = panels(plot_sources(net, "bp", level=0.8))
    for place, ax in enumerate(found):
        j, k = divmod(place, 3)
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), values[:, j, k])
        ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
        shown = slice(None, -1) if k == 2 else slice(None)  # the sd of new_source is a prediction's
        np.testing.assert_allclose(ends, np.stack([low, high], axis=-1)[shown, j, k])


def test_without_a_posterior_there_are_dots_only():
    net = network("[clinic][sex][age][bp|clinic:age]", estimator=cs.MLE(unbiased=False))
    assert all(not ax.collections for ax in panels(plot_sources(net, "bp")))


def test_the_joint_states_that_differ_most_are_shown():
    axes = plot_sources(network(), "bp", max_panels=3)
    assert len(panels(axes)) == 3
    assert "the 1 of 2 states that differ most" in axes[0, 0].figure.get_suptitle()


def test_many_parameters_of_one_joint_state_stand_in_several_lines():
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(5)]
    rows = {name: rng.normal(0, 1, 60) for name in (*names, "y")}
    rows["clinic"] = np.array(["a", "b"])[rng.integers(0, 2, 60)]
    net = cs.fit(cs.DAG([(name, "y") for name in names]), cs.read(rows, source="clinic"))
    found = panels(plot_sources(net, "y"))
    assert [ax.get_title() for ax in found] == [
        *["intercept", *(f"slope of {name}" for name in names), "sd"]
    ]


def test_nodes_that_cannot_be_drawn_are_refused_by_name():
    with pytest.raises(InputError, match="'ill' is discrete and has the continuous parents 'bp'"):
        plot_sources(network(), "ill")
    with pytest.raises(InputError, match="'bp' is continuous and has no states to choose"):
        plot_sources(network(), "bp", states=["F"])
    plain = network("[clinic][sex][age][bp|age]", estimator=cs.MLE())
    with pytest.raises(InputError, match="'bp' does not depend on the source 'clinic'"):
        plot_sources(plain, "bp")


def test_graphs_of_mixed_networks_are_drawn():
    assert "bp" in svg(network())
    plot_graph(network()).figure.savefig(io.BytesIO(), format="png")
    with pytest.raises(
        InputError, match="node 'bp' is continuous and has no states; its belief is a Mixture"
    ):
        svg(network(), beliefs={"bp": {"high": 0.5}})
