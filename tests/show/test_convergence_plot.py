from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np

import consilience as cs
from consilience.incomplete.em import Convergence
from consilience.incomplete.variational import VariationalResult
from consilience.show.convergence import plot_convergence

mpl.use("Agg")


def network():
    coin = cs.Variable("coin", ("heads", "tails"))
    return cs.Network.of([cs.Categorical(coin, (), [0.5, 0.5])])


def climb(*objective, starts=()):
    ends = starts or (objective[-1],)
    return Convergence(network(), np.array(objective), -9.0, "tolerance", ends)


def test_the_line_passes_every_step_from_the_start_on():
    ax = plot_convergence(climb(-50.0, -12.0, -10.0))
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [0, 1, 2]
    assert line.get_ydata().tolist() == [-50.0, -12.0, -10.0]
    assert ax.get_title("left") == "objective -10.00 after 2 steps; stopped by tolerance"
    assert not ax.collections
    ax.figure.savefig(io.BytesIO(), format="png")


def test_the_ends_of_all_starts_are_marked_right_of_the_line():
    ax = plot_convergence(climb(-50.0, -10.0, starts=(-10.0, -14.0, -10.5)))
    (marks,) = ax.collections
    places = np.asarray(marks.get_offsets())
    assert places[:, 1].tolist() == [-10.0, -14.0, -10.5]
    assert (places[:, 0] > 1).all()
    assert "best of 3 starts" in ax.get_title("left")


def test_the_bound_of_variational_bayes_counts_its_steps_from_one():
    found = VariationalResult(network(), -3.0, np.array([-4.0, -3.0]), "iterations", (-3.0,))
    ax = plot_convergence(found)
    assert ax.lines[0].get_xdata().tolist() == [1, 2]
    assert ax.get_ylabel() == "bound"
    assert ax.get_title("left") == "bound -3.00 after 2 steps; stopped by iterations"


def test_several_climbs_share_axes_in_colors_of_their_own():
    ax = plot_convergence(climb(-50.0, -10.0))
    assert plot_convergence(climb(-50.0, -20.0, -11.0), ax) is ax
    first, second = ax.lines
    assert first.get_color() != second.get_color()


def test_long_climbs_are_drawn_without_dots():
    assert plot_convergence(climb(*np.linspace(-9, -1, 200))).lines[0].get_marker() in ("", "None")


def test_what_em_and_variational_bayes_give_is_drawn():
    rows = cs.read({"x": ["a", "b", "b", None], "y": ["u", "u", "v", "v"]})
    dag = cs.DAG([("h", "x"), ("h", "y")])
    story = cs.em(dag, rows, hidden={"h": 2}, choice=cs.EM(restarts=3))
    assert len(np.asarray(plot_convergence(story).collections[0].get_offsets())) == 4
    plot_convergence(cs.gaps.variational(dag, rows, hidden={"h": 2}))


def test_a_first_step_from_far_below_does_not_squash_the_climb():
    ax = plot_convergence(climb(-5000.0, *np.linspace(-20, -10, 30)))
    low, high = ax.get_ylim()
    assert -21 < low < -20
    assert -10 < high < -9
    assert ax.get_xlabel() == "step (the first lies below, from -5,000 on)"
    plot_convergence(climb(-90.0, *np.linspace(-80, -10, 30)), ax)
    assert ax.get_ylim()[0] < -80


def test_a_climb_without_a_bad_start_is_shown_whole():
    ax = plot_convergence(climb(*np.linspace(-20, -10, 30)))
    assert ax.get_ylim()[0] < -20
    assert ax.get_xlabel() == "step"


def test_the_marks_of_the_starts_are_named_and_inside():
    ax = plot_convergence(climb(-5000.0, *np.linspace(-20, -10, 30), starts=(-10.0, -60.0, -10.5)))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ends of 3 starts"]
    assert -70 < ax.get_ylim()[0] < -60
