from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from show_graphs import ASIA, dags, sized_dags, with_source

from consilience.errors import InputError, UnknownNameError
from consilience.files.registry import load
from consilience.graph.dag import DAG
from consilience.show.layout import layout
from consilience.show.picture import curve

CROWDED = DAG(  # many arcs arrive beside one that runs straight down
    [(f"n{i}", f"n{j}") for i, heads in enumerate(["123456", "2357", "45", "4"]) for j in heads],
    nodes=[f"n{i}" for i in range(9)],
)


def overlap(a, b):
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def points_along(route):
    """Many points of the curve through a route."""
    t = np.linspace(0, 1, 25)[:, None]
    starts = route[:-1]
    for start, (first, second, end) in zip(starts, curve(route), strict=True):
        p = map(np.array, (start, first, second, end))
        a, b, c, d = p
        yield (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


@given(graph=sized_dags())
def test_every_node_is_placed_and_no_two_overlap(graph):
    dag, sizes = graph
    boxes = layout(dag, sizes).boxes
    assert set(boxes) == set(dag.nodes)
    assert all((box.width, box.height) == sizes[name] for name, box in boxes.items())
    assert not any(overlap(a, b) for a, b in combinations(boxes.values(), 2))


@given(graph=sized_dags())
@example(graph=(CROWDED, dict.fromkeys(CROWDED.nodes, (20.0, 10.0))))
def test_every_arc_leads_down_from_the_edge_of_its_tail_to_the_edge_of_its_head(graph):
    dag, sizes = graph
    drawn = layout(dag, sizes)
    assert set(drawn.routes) == set(dag.arcs)
    for (tail, head), route in drawn.routes.items():
        first, last = drawn.boxes[tail], drawn.boxes[head]
        assert first.bottom < last.top
        assert (route[0][1], route[-1][1]) == pytest.approx((first.bottom, last.top))
        assert first.left < route[0][0] < first.right
        assert last.left < route[-1][0] < last.right
        assert all(a[1] < b[1] for a, b in pairwise(route))


@given(graph=sized_dags())
def test_no_arc_passes_through_a_node(graph):
    dag, sizes = graph
    drawn = layout(dag, sizes)
    for arc, route in drawn.routes.items():
        points = np.concatenate(list(points_along(route)))
        for name in set(dag.nodes) - set(arc):
            box = drawn.boxes[name]
            beside = np.abs(points - (box.x, box.y)) >= np.array([box.width, box.height]) / 2 - 1e-6
            assert beside.any(axis=1).all()


@given(graph=sized_dags())
def test_everything_lies_within_the_picture(graph):
    drawn = layout(*graph)
    xs = [x for box in drawn.boxes.values() for x in (box.left, box.right)]
    ys = [y for box in drawn.boxes.values() for y in (box.top, box.bottom)]
    xs += [x for route in drawn.routes.values() for x, _ in route]
    for numbers, size in ((xs, drawn.width), (ys, drawn.height)):
        assert all(-1e-6 <= number <= size + 1e-6 for number in numbers)


@given(dag=dags(), data=st.data())
def test_the_order_of_nodes_and_arcs_does_not_matter(dag, data):
    nodes = data.draw(st.permutations(dag.nodes))
    arcs = data.draw(st.permutations(dag.arcs))
    one, other = layout(dag), layout(DAG(arcs, nodes=nodes))
    assert dict(one.boxes) == dict(other.boxes)
    assert dict(one.routes) == dict(other.routes)


def test_the_picture_does_not_depend_on_the_process():
    program = (
        "from consilience.graph.dag import DAG; from consilience.show.layout import layout;"
        "d = DAG([(f'n{i}', f'n{j}') for i in range(12) for j in range(i + 1, 12) if i * j % 3]);"
        "print(sorted(layout(d).boxes.items()), sorted(layout(d).routes.items()))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_a_chain_runs_straight_down():
    drawn = layout(DAG([("a", "b"), ("b", "c")]))
    assert {box.x for box in drawn.boxes.values()} == {40.0}
    assert all(x == 40.0 for route in drawn.routes.values() for x, _ in route)


def test_nodes_without_arcs_stand_in_rows_below_the_rest_in_natural_order():
    drawn = layout(DAG([("a", "b")], nodes=[f"x{i}" for i in range(1, 13)]))
    boxes = [drawn.boxes[f"x{i}"] for i in range(1, 13)]
    assert min(box.top for box in boxes) > drawn.boxes["b"].bottom
    assert boxes == sorted(boxes, key=lambda box: (box.y, box.x))


def test_a_wide_row_is_wrapped_into_a_readable_picture():
    drawn = layout(DAG([("class", f"feature{i}") for i in range(30)]))
    assert drawn.width < 1000
    assert drawn.height < drawn.width


def test_parts_stand_side_by_side():
    drawn = layout(DAG([("a", "b"), ("c", "d")]))
    assert drawn.boxes["a"].y == drawn.boxes["c"].y
    assert drawn.boxes["a"].right < drawn.boxes["c"].left


def test_arcs_of_a_hub_become_stubs_at_their_heads():
    dag = with_source(ASIA, ASIA.nodes)
    drawn = layout(dag, hub="hospital")
    assert drawn.stubs == {("hospital", child) for child in ASIA.nodes}
    for tail, head in drawn.stubs:
        (x, top), (end, tip) = drawn.routes[tail, head]
        assert x == end
        assert top < tip == pytest.approx(drawn.boxes[head].top)
    others = [box for name, box in drawn.boxes.items() if name != "hospital"]
    assert drawn.boxes["hospital"].bottom < min(box.top for box in others)


def test_a_graph_without_nodes_gives_an_empty_picture():
    drawn = layout(DAG([]))
    assert (len(drawn.boxes), drawn.width, drawn.height) == (0, 0.0, 0.0)


def test_sizes_of_unknown_nodes_are_refused():
    with pytest.raises(UnknownNameError, match="unknown node 'c'"):
        layout(DAG([("a", "b")]), {"c": (1.0, 1.0)})


def test_boxes_without_size_are_refused():
    with pytest.raises(InputError, match="size of node 'a': width must be positive, got 0"):
        layout(DAG([("a", "b")]), {"a": (0, 10)})


def test_a_layout_cannot_be_changed():
    with pytest.raises(TypeError):
        layout(ASIA).boxes["asia"] = None


@pytest.mark.data
@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "hailfinder"])
def test_public_networks_give_pictures_of_a_readable_size(data_dir, name):
    dag = load(data_dir / "networks" / f"{name}.bif").dag
    drawn = layout(dag, dict.fromkeys(dag.nodes, (100.0, 30.0)))
    assert drawn.width < 2000
    assert drawn.height < 1600
