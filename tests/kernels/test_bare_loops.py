"""Inner loops that do not count who holds an array."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from consilience.kernels.compile import bare, kernel


class Pair(NamedTuple):
    values: np.ndarray
    factors: np.ndarray


@bare
def _product(pair, i):
    values, factors = pair.values, pair.factors
    return values[i] * factors[i]


@kernel
def total(pair):
    found = 0.0
    for i in range(len(pair.values)):
        found += _product(pair, i)
    return found


def test_a_bare_loop_gives_its_number_and_leaves_arrays_to_their_holders():
    pair = Pair(np.arange(5.0), np.full(5, 2.0))
    before = [sys.getrefcount(array) for array in pair]
    assert [total(pair) for _ in range(3)] == [20.0] * 3
    assert [sys.getrefcount(array) for array in pair] == before
