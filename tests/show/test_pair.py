from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest
from hypothesis import given, strategies as st
from show_graphs import ASIA, network

from consilience.errors import GraphError, InputError
from consilience.graph.dag import DAG
from consilience.show.pair import LOOKS, pair_of
from consilience.show.plot_pair import plot_pair
from consilience.show.svg_pair import svg_pair

mpl.use("Agg")

SPACE = "{http://www.w3.org/2000/svg}"
LEARNED = DAG.parse(
    "[smoke][lung|smoke][bronc|smoke][tub|lung][either|lung:tub][xray|either][dysp|bronc:xray]"
    "[asia|dysp]"
)


@st.composite
def pairs(draw, max_nodes=7):
    names = [f"n{i}" for i in range(draw(st.integers(1, max_nodes)))]

    def dag():
        order = draw(st.permutations(names))
        arcs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
        return DAG(draw(st.lists(st.sampled_from(arcs), unique=True)) if arcs else [], nodes=names)

    return dag(), dag()


def groups(text, kind):
    found = ET.fromstring(text).iter(f"{SPACE}g")
    return [group for group in found if kind in group.get("class", "").split()]


def tooltips(text, kind):
    return sorted(group.find(f"{SPACE}title").text for group in groups(text, kind))


def legend(text):
    return [group.find(f"{SPACE}text").text for group in groups(text, "legend")]


@given(pairs())
def test_both_graphs_are_drawn_with_all_their_nodes_and_arcs(graphs):
    text = svg_pair(*graphs)
    assert tooltips(text, "node") == sorted([*graphs[0].nodes, *graphs[1].nodes])
    arcs = [f"{tail} → {head}" for tail, head in (*graphs[0].arcs, *graphs[1].arcs)]
    assert tooltips(text, "arc") == sorted(arcs)


@given(pairs())
def test_an_arc_leads_from_the_edge_of_its_tail_to_the_edge_of_its_head(graphs):
    pair = pair_of(*graphs, ("a", "b"))
    for drawn in (*pair.sides[0], *pair.sides[1]):
        tail, head = (pair.layout.boxes[name] for name in drawn.arc)
        is_down = tail.y < head.y
        start, end = drawn.points[0], drawn.points[-1]
        assert start[1] == pytest.approx(tail.bottom if is_down else tail.top)
        assert end[1] == pytest.approx(head.top if is_down else head.bottom)
        assert abs(start[0] - tail.x) <= tail.width / 2
        assert abs(end[0] - head.x) <= head.width / 2


def test_arcs_are_drawn_by_their_kind():
    text = svg_pair(LEARNED, ASIA.reverse("either", "xray"))
    assert tooltips(text, "turned") == ["either → xray", "xray → either"]
    assert tooltips(text, "extra") == ["dysp → asia", "lung → tub", "xray → dysp"]
    assert tooltips(text, "missing") == ["asia → tub", "either → dysp"]
    assert len(tooltips(text, "shared")) == 2 * 5


def test_kinds_are_told_apart_by_their_dashes_alone():
    assert len({look.dashes for look in LOOKS.values()}) == len(LOOKS)
    (line,) = {
        group.find(f"{SPACE}path").get("stroke-dasharray")
        for group in groups(svg_pair(LEARNED, ASIA), "extra")
    }
    assert line == "7 4"


def test_the_legend_names_the_kinds_that_occur_and_counts_them():
    assert legend(svg_pair(LEARNED, ASIA, names=("mine", "true"))) == [
        "in both graphs (6)",
        "only in mine (3)",
        "only in true (2)",
    ]
    assert legend(svg_pair(ASIA, ASIA)) == ["in both graphs (8)"]
    assert legend(svg_pair(DAG(nodes=["a"]), DAG(nodes=["a"]))) == []


def test_arcs_that_land_below_a_box_leave_room_for_those_that_leave():
    learned = DAG([("c", "a"), ("d", "a"), ("a", "b")])
    pair = pair_of(learned, DAG([("a", "b"), ("a", "c"), ("a", "d")]), ("a", "b"))
    ends = [drawn.points[-1][0] for drawn in pair.sides[0] if drawn.kind == "turned"]
    assert len({*ends, pair.layout.boxes["a"].x}) == 3


@given(name=st.text(min_size=1), title=st.text())
def test_any_name_and_title_give_well_formed_xml(name, title):
    dag = DAG([], nodes=[name])
    root = ET.fromstring(svg_pair(dag, dag, names=(name, "other"), title=title))
    assert "Two graphs of 1 nodes" in root.get("aria-label")


def test_nothing_refers_to_anything_outside_or_can_clash_on_a_page():
    body = svg_pair(LEARNED, ASIA, title="asia").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not any(word in body for word in ("http", "href", "url(", "<style", "<script", " id="))


def test_the_picture_is_wide_enough_for_both_graphs():
    root = ET.fromstring(svg_pair(LEARNED, ASIA))
    pair = pair_of(LEARNED, ASIA, ("a", "b"))
    _, _, width, height = map(float, root.get("viewBox").split())
    assert width > 2 * pair.layout.width
    assert height > pair.layout.height


def test_wide_pictures_stand_one_above_the_other():
    star = DAG([("hub", f"a_long_name_for_leaf_{i}") for i in range(28)])
    pair = pair_of(star, star, ("a", "b"))
    assert pair.is_stacked
    _, _, width, height = map(float, ET.fromstring(svg_pair(star, star)).get("viewBox").split())
    assert pair.layout.width < width < 2 * pair.layout.width
    assert height > 2 * pair.layout.height
    top, below = plot_pair(star, star)
    assert top.get_position().y0 > below.get_position().y0


@pytest.mark.parametrize("draw", [svg_pair, plot_pair])
def test_what_cannot_be_drawn_together_is_refused(draw):
    with pytest.raises(GraphError, match="only in the first: 'b'"):
        draw(DAG([("a", "b")]), DAG(nodes=["a"]))
    with pytest.raises(InputError, match="two DAGs, got a Network"):
        draw(ASIA, network(ASIA))
    with pytest.raises(InputError, match="names must be two texts, got 'ab'"):
        draw(ASIA, ASIA, names="ab")


def test_a_plot_has_an_axes_for_each_graph_with_the_same_boxes():
    left, right = plot_pair(LEARNED, ASIA, names=("mine", "true"))
    assert len(left.patches) == 2 * (len(LEARNED.nodes) + len(LEARNED.arcs))
    assert len(right.patches) == 2 * (len(ASIA.nodes) + len(ASIA.arcs))
    assert left.get_xlim() == right.get_xlim()
    assert [ax.get_title("left") for ax in (left, right)] == ["mine: 9 arcs", "true: 8 arcs"]
    assert [text.get_text() for text in left.figure.legends[0].texts][1:] == [
        "only in mine (3)",
        "only in true (2)",
    ]


def test_plots_with_dollars_or_without_arcs_can_be_saved():
    for dag in (DAG([("$a$", r"b$\frac$")]), DAG(nodes=["only"])):
        left, _ = plot_pair(dag, dag, names=("$x$", "y$"))
        left.figure.savefig(io.BytesIO(), format="png")
