from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, UnknownNameError

mpl.use("Agg")
import matplotlib.pyplot as plt

ARC = cs.DAG([("a", "b")])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def story():
    net = cs.random_network(ARC, n_states={"a": 2, "b": 3}, seed=1)
    rows = cs.with_gaps(net.sample(60, seed=1), cs.MCAR(0.3), seed=1)
    return cs.augment(ARC, rows, chains=3, draws=50, warmup=20, seed=1)


def test_a_row_of_the_picture_is_a_parameter_with_a_line_for_every_chain(story):
    figure = cs.plot_chains(story, n_parameters=2)
    traces, ranks = figure.axes[0], figure.axes[1]
    assert len(figure.axes) == 4
    assert len(traces.lines) == 3
    assert len(traces.lines[0].get_xdata()) == 50
    assert len(ranks.patches) == 3
    figure.savefig(io.BytesIO(), format="png")


def test_the_parameters_with_the_largest_r_hat_come_first(story):
    figure = cs.plot_chains(story, n_parameters=3)
    titles = [ax.get_title("left") for ax in figure.axes[::2]]
    shown = [float(title.split("R-hat ")[1].split(",")[0]) for title in titles]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == pytest.approx(max(r.max() for r in story.r_hat.values()), abs=0.001)


def test_heights_of_ranks_add_up_to_the_draws(story):
    figure = cs.plot_chains(story, ["b"], n_parameters=1)
    heights = [patch.get_data().values for patch in figure.axes[1].patches]
    assert [int(np.sum(one)) for one in heights] == [50, 50, 50]


def test_of_two_states_only_one_is_shown(story):
    figure = cs.plot_chains(story, ["a"], n_parameters=9)
    assert len(figure.axes) == 2


def test_unknown_nodes_and_bad_numbers_are_refused(story):
    with pytest.raises(UnknownNameError, match="'z'"):
        cs.plot_chains(story, ["z"])
    with pytest.raises(InputError, match="nodes must be a list"):
        cs.plot_chains(story, "a")
    with pytest.raises(InputError, match="n_parameters"):
        cs.plot_chains(story, n_parameters=0)
