from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import Polygon, Rectangle

import consilience as cs

mpl.use("Agg")

DAGS = {
    "rome": cs.DAG.parse("[a][b|a][c|b]"),
    "oslo": cs.DAG.parse("[a][b|a][c|b]"),
    "bonn": cs.DAG.parse("[c][a|c][b|c]"),
}
FUSED = cs.fuse(DAGS)


def heads(ax, color):
    """Arrow heads of a colour."""
    wanted = mpl.colors.to_rgba(color)
    return sum(isinstance(p, Polygon) and p.get_facecolor() == wanted for p in ax.patches)


def labels(axes):
    legends = axes.flat[0].figure.legends
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def titles(axes):
    return [ax.get_title(loc="left") for ax in axes.flat if ax.axison or ax.patches]


def test_every_source_has_a_panel_with_its_arcs_and_those_it_lacks():
    axes = cs.plot(FUSED)
    assert titles(axes) == [
        "rome: 2 arcs",
        "oslo: 2 arcs",
        "bonn: 2 arcs",
    ]
    green, red, blue = "#009E73", "#D55E00", "#0072B2"
    counts = [[heads(ax, color) for color in (green, red, blue)] for ax in axes.flat]
    assert counts == [[2, 0, 0], [2, 0, 0], [0, 2, 2]]
    assert labels(axes) == ["in the fused graph", "dropped", "in the fused graph, but not here"]


def test_beside_the_truth_arcs_are_true_false_or_missed():
    axes = cs.plot(FUSED, truth=cs.DAG.parse("[a][b|a][c|a]"))
    assert labels(axes) == ["true", "false", "missed"]


def test_all_panels_have_the_same_layout():
    axes = cs.plot(FUSED, "thresholds")
    boxes = [
        [p.get_bbox().bounds for p in ax.patches if hasattr(p, "get_boxstyle")] for ax in axes.flat
    ]
    assert len(boxes) == 3
    assert boxes[0] == boxes[1] == boxes[2]


def test_thresholds_are_drawn_as_asked():
    axes = cs.plot(FUSED, "thresholds", thresholds=[1, 2.5], order=cs.fusion.RowByRow())
    assert titles(axes) == ["threshold 1: 2 arcs", "threshold 2.5: 0 arcs"]
    with pytest.raises(ValueError, match="no threshold to draw"):
        cs.plot(FUSED, "thresholds", thresholds=[])


def test_more_sources_than_panels_are_told():
    axes = cs.plot(FUSED, max_panels=2)
    assert axes.size == 2
    assert labels(axes)[-1] == "the 2 of 3 sources that differ most"


def test_the_matrix_has_the_votes_and_a_frame_for_each_arc_of_the_fused_graph():
    ax = cs.plot(FUSED, "votes")
    assert ax.images[0].get_array().tolist() == FUSED.votes.matrix.tolist()
    assert sum(isinstance(p, Rectangle) for p in ax.patches) == len(FUSED.dag.arcs)
    assert sorted(text.get_text() for text in ax.texts) == ["1", "1", "2", "2"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b", "c"]


def test_the_matrix_is_drawn_into_given_axes():
    _, ax = plt.subplots()
    assert cs.plot(FUSED, "votes", ax=ax) is ax


def test_a_source_without_some_variables_is_not_said_to_lack_their_arcs():
    some = cs.fuse({**DAGS, "part": cs.DAG(nodes=["a", "b"])})
    blue = heads(cs.plot(some).flat[3], "#0072B2")
    assert blue == len([arc for arc in some.dag.arcs if set(arc) <= {"a", "b"}])


@pytest.mark.parametrize("view", ["sources", "thresholds"])
def test_only_a_truth_over_its_nodes_is_drawn(view):
    with pytest.raises(ValueError, match="the same nodes"):
        cs.plot(FUSED, view, truth=cs.DAG(nodes=["a"]))


def test_many_sources_are_laid_out_in_rows():
    many = cs.fuse({f"s{k}": DAGS["rome"] for k in range(30)})
    assert len(titles(cs.plot(many, max_panels=30))) == 30
    assert len(titles(cs.plot(many, "thresholds"))) == 10


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_titles_have_the_colour_that_letters_have_in_the_style(style):
    with plt.style.context(style):
        shown = [cs.plot(FUSED, "votes"), *cs.plot(FUSED).flat]
        wanted = mpl.rcParams["text.color"]
    assert {ax._left_title.get_color() for ax in shown} == {wanted}
