from __future__ import annotations

import io

import matplotlib as mpl

from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.show.trace import plot_trace
from consilience.structure.searches.task import SearchResult, Step

mpl.use("Agg")


def result(*steps, n_scored):
    dag = DAG([("a", "b")])
    trace = tuple(Step(score, families, "") for families, score in steps)
    return SearchResult(dag, CPDAG.of(dag), trace[-1].score, trace, n_scored, "optimum", 0.5)


def test_the_line_passes_every_step_and_ends_with_the_last_family():
    ax = plot_trace(result((10, -50.0), (25, -40.0), n_scored=90))
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [10, 25, 90]
    assert line.get_ydata().tolist() == [-50.0, -40.0, -40.0]
    assert ax.get_title("left") == "score -40.00 after 90 families, 0.5 s; stopped by optimum"
    ax.figure.savefig(io.BytesIO(), format="png")


def test_several_searches_share_axes_in_colours_of_their_own():
    ax = plot_trace(result((10, -50.0), n_scored=10))
    assert plot_trace(result((4, -60.0), (9, -45.0), n_scored=9), ax) is ax
    first, second = ax.lines
    assert first.get_color() != second.get_color()
    assert len(second.get_xdata()) == 2


def test_long_traces_are_drawn_without_dots():
    long = result(*((i, -100.0 + i) for i in range(200)), n_scored=199)
    assert plot_trace(long).lines[0].get_marker() in ("", "None")
