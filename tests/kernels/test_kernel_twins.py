"""Each kernel against a plain NumPy twin, compiled and interpreted."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from consilience.kernels import counting, sampling
from consilience.kernels.threads import each_part


def test_fold_is_a_mixed_radix_code_with_gaps():
    code = np.array([0, 2, -1, 1], np.int32)
    counting.fold(code, np.array([1, 0, 1, -1], np.int8), 3)
    assert code.tolist() == [1, 6, -1, -1]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_tallies_equal_bincount(dtype):
    rng = np.random.default_rng(1)
    code, column = (
        rng.integers(-1, 5, 1000).astype(np.int32),
        rng.integers(-1, 3, 1000).astype(dtype),
    )
    weights = rng.integers(0, 9, 1000)
    known = (code >= 0) & (column >= 0)
    cell = (code * 3 + column)[known]
    plain, weighted = np.zeros(15, np.int64), np.zeros(15, np.int64)
    counting.tally(code, column, 3, plain)
    counting.tally_weighted(code, column, 3, weights, weighted)
    np.testing.assert_array_equal(plain, np.bincount(cell, minlength=15))
    np.testing.assert_array_equal(weighted, np.bincount(cell, weights[known], minlength=15))


@pytest.mark.parametrize("n_bundles", [1, 4, 6])
def test_tables_of_bundles_equal_bincount_and_sum_to_those_of_their_members(n_bundles):
    rng = np.random.default_rng(1)
    base = rng.integers(0, 5, 9000)
    bundles = rng.integers(0, 6, (n_bundles, 9500)).astype(np.uint8)  # states of 2 x 3
    tables = np.zeros((n_bundles, 5 * counting.STRIDE), np.uint32)
    code = (base * counting.STRIDE).astype(np.uint32)
    counting.tally_bundles(code, bundles, np.arange(n_bundles), 500, tables)
    state = np.stack([np.arange(counting.STRIDE) // 3 % 2, np.arange(counting.STRIDE) % 3])
    out = np.zeros(5 * (2 + 3), np.int64)
    place = np.zeros(2, np.int64)
    counting.spread_bundles(tables, place, state.astype(np.uint8), np.array([2, 3]), out)
    first = bundles[0, 500:]
    for row, column in zip(tables, bundles[:, 500:], strict=True):
        twin = np.bincount(base * counting.STRIDE + column, minlength=row.size)
        np.testing.assert_array_equal(row, twin)
    np.testing.assert_array_equal(out[:10], np.bincount(base * 2 + first // 3, minlength=10))
    np.testing.assert_array_equal(out[10:], np.bincount(base * 3 + first % 3, minlength=15))


def test_uniform_numbers_are_those_of_splitmix64():
    # The first outputs for seed 1234567, from the public-domain reference of S. Vigna.
    reference = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    state, gamma, mask = 1234567, 0x9E3779B97F4A7C15, 2**64 - 1
    for value in reference:
        state = (state + gamma) & mask
        assert int(sampling._uniform(np.uint64(state))) == value >> 11


def test_threads_cover_all_units_once_in_order():
    for n_parts in (1, 2, 3, 7):
        parts = each_part(10, n_parts, lambda a, b: list(range(a, b)))
        assert [unit for part in parts for unit in part] == list(range(10))


SCRIPT = """
import numpy as np, warnings
warnings.simplefilter("ignore")  # interpreted machine words overflow on purpose
import consilience as cs
from consilience.kernels.compile import IS_COMPILED
net = cs.random_network(cs.DAG.parse("[a][b|a][c|a:b]"), n_states={"a": 2, "b": 3, "c": 6}, seed=1)
table = net.sample(300, seed=2)
counts = cs.count(table, [cs.Family("c", ("a", "b")), cs.Family("a")])
print(IS_COMPILED, [c.table.tolist() for c in counts])
"""


def test_interpreted_kernels_give_the_same_answer():
    answers = []
    for switch in ("1", "0"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "CONSILIENCE_COMPILE": switch},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(done.stdout.split(maxsplit=1))
    assert [one[0] for one in answers] == ["True", "False"]
    assert answers[0][1] == answers[1][1]
