"""Each kernel against a plain NumPy twin, compiled and interpreted."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from consilience.kernels import counting, sampling
from consilience.kernels.compile import IS_COMPILED
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


SIZES = (2, 3, 4, 2, 3)


def packed(columns):
    """Bitmaps of some columns: the words, and where those of each column begin."""
    n_words = -(-columns.shape[1] // 64)
    masks = [np.ones(columns.shape[1], bool)]
    masks += [c == s for c, r in zip(columns, SIZES, strict=True) for s in range(r)]
    padded = np.zeros((len(masks), 64 * n_words), bool)
    padded[:, : columns.shape[1]] = masks
    bits = np.packbits(padded, axis=1, bitorder="little").view("<u8")
    return bits, 1 + np.cumsum([0, *SIZES])[:-1]


def joint(columns, axes):
    """Joint counts of some columns, one axis each."""
    counts = np.zeros([SIZES[v] for v in axes], int)
    np.add.at(counts, tuple(columns[list(axes)]), 1)
    return counts


@pytest.mark.parametrize("n_frequent", [0, 700, 10**9])
@pytest.mark.parametrize("words", [(0, 313), (7, 300)])
def test_frequent_and_rare_joint_states_have_the_same_counts(n_frequent, words):
    columns = np.random.default_rng(1).integers(0, np.array(SIZES)[:, None], (5, 20_000))
    bits, first = packed(columns)
    base, others = np.array([4, 1]), np.array([3, 0, 2])
    codes = np.stack([columns[0] + 2 * columns[2], columns[3]], axis=1).astype(np.uint8)
    rows = columns[:, 64 * words[0] : 64 * words[1]]
    left_out = np.array([1, -1, 0])
    table = np.zeros(9 * (2 + 2 + 4), np.int32)
    counting.count_mixed(
        bits,
        first,
        np.array(SIZES),
        base,
        others,
        joint(columns, [4, 1]).ravel().astype(np.int32),
        left_out,
        n_frequent,
        codes,
        np.array([0, 2, 3]),
        np.array([0, 2, 3]),
        *words,
        np.empty((4, counting.BLOCK), np.uint64),
        np.empty((2, 9), np.int64),
        np.empty(5, np.int64),
        np.empty(20_000, np.int32),
        np.zeros(2 * counting.STRIDE, np.uint32),
        table,
    )
    start = 0
    for other in others:
        twin = joint(rows, [4, 1, other])
        twin[0, 1] = twin[2, 0] = 0
        np.testing.assert_array_equal(table[start : start + twin.size], twin.ravel())
        start += twin.size


def test_what_was_left_out_is_the_rest():
    columns = np.random.default_rng(2).integers(0, np.array(SIZES)[:, None], (5, 500))
    others, left_out = np.array([3, 0]), np.array([2, 0])
    tables = [joint(columns, [0, 1, other]) for other in others]
    whole = np.concatenate([t.sum(axis=1).ravel() for t in tables]).astype(np.int32)
    counted = [t.copy() for t in tables]
    for t in counted:
        t[[0, 1], left_out] = 0
    flat = np.concatenate([t.ravel() for t in counted]).astype(np.int32)
    whole_start = np.array([4, -1, -1, 0, -1])
    start = np.empty(5, np.int64)
    counting.take_rest(flat, others, np.array(SIZES), left_out, 3, whole, whole_start, start)
    np.testing.assert_array_equal(flat, np.concatenate([t.ravel() for t in tables]))
    assert start.tolist() == [12, -1, -1, 0, -1]


def test_a_family_is_arranged_with_its_neighbors():
    columns = np.random.default_rng(3).integers(0, np.array(SIZES)[:, None], (5, 500))
    axes, wanted, others = np.array([2, 0, 1]), np.array([0, 1, 2]), np.array([4, 3])
    table = np.concatenate([joint(columns, [*axes, v]).ravel() for v in (3, 4)]).astype(np.int32)
    start = np.array([-1, -1, -1, 0, 48])
    cells = joint(columns, axes).ravel().astype(np.int32)
    twins = [joint(columns, a) for a in ([0, 1, 2], [0, 2], [0, 1, 2, 4], [0, 1, 2, 3])]
    out = np.empty(sum(t.size for t in twins), np.int64)
    shapes, sizes = np.empty((4, 4), np.int64), np.array(SIZES)
    order = np.empty(24, np.int64)
    counting.arrange(axes, cells, table, start, wanted, 1, others, sizes, order, out, shapes)
    np.testing.assert_array_equal(out, np.concatenate([t.ravel() for t in twins]))
    assert shapes.tolist() == [[2, 3, 4, 1], [2, 1, 4, 1], [2, 3, 4, 3], [2, 3, 4, 2]]


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
dag, n_states = cs.DAG.parse("[a][b|a][c|a:b][d|c]"), {"a": 2, "b": 3, "c": 6, "d": 20}
net = cs.random_network(dag, n_states=n_states, seed=1)
table = net.sample(300, seed=2)
counts = cs.count(table, [cs.Family("c", ("a", "b")), cs.Family("a")])
found = cs.search(table, search=cs.GES())
print(IS_COMPILED, [c.table.tolist() for c in counts], found.score, found.cpdag)
"""


def test_interpreted_kernels_give_the_same_answer(capsys):
    other = "0" if IS_COMPILED else "1"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "CONSILIENCE_COMPILE": other},
        capture_output=True,
        text=True,
        check=True,
    )
    with warnings.catch_warnings():
        exec(SCRIPT, {})
    (other_way, there), (way, here) = (
        text.split(maxsplit=1) for text in (done.stdout, capsys.readouterr().out)
    )
    assert {way, other_way} == {"True", "False"}
    assert here == there
