from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from consilience.show.layers import adjacency, assign_layers


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return n, arcs, draw(st.lists(st.floats(10, 90), min_size=n, max_size=n))


def least_total(n, arcs):
    if not arcs:
        return 0
    above = np.zeros((len(arcs), n))
    for row, (tail, head) in enumerate(arcs):
        above[row, tail], above[row, head] = 1, -1
    ends = np.full(len(arcs), -1.0)
    return linprog(-above.sum(axis=0), A_ub=above, b_ub=ends, bounds=[(0, n)] * n).fun


def total(rows, arcs):
    return sum(rows[head] - rows[tail] for tail, head in arcs)


@given(graph=graphs(), limit=st.floats(100, 1000))
def test_every_arc_points_down_and_no_row_is_empty(graph, limit):
    n, arcs, widths = graph
    rows = assign_layers(n, arcs, widths, limit)
    assert all(rows[tail] < rows[head] for tail, head in arcs)
    assert set(rows) == set(range(max(rows) + 1))


@given(graph=graphs())
def test_the_total_length_is_the_optimum_of_the_linear_program(graph):
    n, arcs, widths = graph
    assert total(assign_layers(n, arcs, widths, 1e9), arcs) == pytest.approx(least_total(n, arcs))


@given(graph=graphs(), limit=st.floats(100, 300))
def test_rows_keep_to_the_limit_up_to_one_node(graph, limit):
    n, arcs, widths = graph
    rows = assign_layers(n, arcs, widths, limit)
    for row in set(rows):
        assert sum(w for w, other in zip(widths, rows, strict=True) if other == row) <= limit + 90


def test_a_root_stands_just_above_its_only_child():
    rows = assign_layers(4, [(0, 1), (1, 2), (3, 2)], [50.0] * 4, 1000.0)
    assert rows == [0, 1, 2, 1]


def test_a_node_is_pulled_down_together_with_what_it_pushes():
    arcs = [(0, 1), (1, 2), (2, 3), (3, 6), (4, 5), (5, 6), (5, 7), (7, 6), (4, 6)]
    assert total(assign_layers(8, arcs, [50.0] * 8, 1000.0), arcs) == 12


def test_a_wide_row_is_split_and_leaves_stay_above():
    arcs = [(0, i) for i in range(1, 11)] + [(1, 11)]
    rows = assign_layers(12, arcs, [100.0] * 12, 500.0)
    assert rows[0] == 0
    assert sorted(rows[2:11]) == [1] * 5 + [2] * 4
    assert (rows[1], rows[11]) == (2, 3)


def test_neighbours_are_listed_both_ways():
    assert adjacency(3, [(0, 2), (0, 1)]) == ([[], [0], [0]], [[1, 2], [], []])
