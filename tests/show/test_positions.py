from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import isotonic_regression

from consilience.show.layers import adjacency
from consilience.show.positions import place_nodes, spread

numbers = st.floats(-100, 100)


@given(
    wanted=st.lists(
        st.tuples(numbers, st.floats(0.5, 20), st.floats(0, 30)), min_size=1, max_size=9
    )
)
def test_places_are_the_isotonic_regression_of_the_wanted_ones(wanted):
    places, weights, gaps = map(list, zip(*wanted, strict=True))
    offsets = np.cumsum([0.0, *gaps[1:]])
    oracle = isotonic_regression(np.array(places) - offsets, weights=weights).x + offsets
    assert spread(places, weights, gaps[1:]) == pytest.approx(oracle.tolist(), abs=1e-9)


def test_places_that_fit_stay_as_wanted():
    assert spread([0.0, 10.0, 30.0], [1.0, 1.0, 1.0], [10.0, 15.0]) == [0.0, 10.0, 30.0]


def test_two_that_want_the_same_place_stand_around_it():
    assert spread([0.0, 0.0], [1.0, 1.0], [10.0]) == [-5.0, 5.0]


def test_a_chain_is_straight():
    neighbors = adjacency(4, [(0, 1), (1, 2), (2, 3)])
    x = place_nodes([[0], [1], [2], [3]], neighbors, [80.0, 20.0, 60.0, 200.0], [False] * 4)
    assert x == pytest.approx([100.0] * 4)


def test_a_parent_stands_above_the_middle_of_its_children():
    x = place_nodes([[0], [1, 2]], adjacency(3, [(0, 1), (0, 2)]), [50.0] * 3, [False] * 3)
    assert x == pytest.approx([50.0, 25.0, 75.0])


def test_the_bends_of_a_long_arc_stand_above_each_other_beside_the_nodes():
    arcs = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 3)]
    rows = [[0], [1, 4], [2, 5], [3]]
    x = place_nodes(rows, adjacency(6, arcs), [80.0] * 4 + [16.0] * 2, [False] * 4 + [True] * 2)
    assert x[4] == pytest.approx(x[5])
    assert x[4] - x[1] >= 45  # half of 80 and of 16, less what a gap may give way
