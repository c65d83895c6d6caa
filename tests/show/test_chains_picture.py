from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, UnknownNameError

mpl.use("Agg")

ARC = cs.DAG([("a", "b")])


@pytest.fixture(scope="module")
def story():
    net = cs.random_network(ARC, n_states={"a": 2, "b": 3}, seed=1)
    rows = cs.simulate.with_gaps(net.sample(60, seed=1), cs.simulate.MCAR(0.3), seed=1)
    return cs.gaps.augment(ARC, rows, chains=3, draws=50, warmup=20, seed=1)


def test_a_row_of_the_picture_is_a_parameter_with_a_line_for_every_chain(story):
    axes = cs.plot(story, n_parameters=2)
    traces, ranks = axes[0]
    assert axes.shape == (2, 2)
    assert len(traces.lines) == 3
    assert len(traces.lines[0].get_xdata()) == 50
    assert len(ranks.patches) == 3
    traces.figure.savefig(io.BytesIO(), format="png")


def test_the_parameters_with_the_largest_r_hat_come_first(story):
    titles = [ax.get_title("left") for ax in cs.plot(story, n_parameters=3)[:, 0]]
    shown = [float(title.split("R-hat ")[1].split(",")[0]) for title in titles]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == pytest.approx(max(r.max() for r in story.r_hat.values()), abs=0.001)


def test_heights_of_ranks_add_up_to_the_draws(story):
    [[_, ranks]] = cs.plot(story, nodes=["b"], n_parameters=1)
    heights = [patch.get_data().values for patch in ranks.patches]
    assert [int(np.sum(one)) for one in heights] == [50, 50, 50]


def test_of_two_states_only_one_is_shown(story):
    assert cs.plot(story, nodes=["a"], n_parameters=9).shape == (1, 2)


def test_unknown_nodes_and_bad_numbers_are_refused(story):
    with pytest.raises(UnknownNameError, match="'z'"):
        cs.plot(story, nodes=["z"])
    with pytest.raises(InputError, match="nodes must be a list"):
        cs.plot(story, nodes="a")
    with pytest.raises(InputError, match="n_parameters"):
        cs.plot(story, n_parameters=0)


def test_a_legend_names_the_chains(story):
    (legend,) = cs.plot(story, n_parameters=1).flat[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["chain 1", "chain 2", "chain 3"]


def test_long_names_are_cut_and_the_parents_stay_beside_the_other_title():
    parent, child = "the pressure of the blood at rest " * 3, "the name of the child variable " * 3
    dag = cs.DAG([(parent, child), ("smoking habits of the parents", child)])
    rows = cs.random_network(dag, n_states=3, seed=1).sample(60, seed=1)
    rows = cs.simulate.with_gaps(rows, cs.simulate.MCAR(0.3), seed=1)
    long = cs.gaps.augment(dag, rows, chains=2, draws=20, warmup=5, seed=1)
    [[trace, ranks]] = cs.plot(long, nodes=[child], n_parameters=1)
    name, numbers = trace.get_title("left").split("\n")
    assert name.startswith("the name of the c")
    assert " | the pres" in name
    assert "smoking" in name
    assert numbers.startswith("R-hat ")
    trace.figure.canvas.draw()
    left, right = (ax._left_title.get_window_extent() for ax in (trace, ranks))
    assert left.x1 < right.x0
