"""Codes of texts, drawn states and joint counts against plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from consilience.kernels.sampling import draw_states
from consilience.kernels.text import LIMIT, encode_texts

MASK, GAMMA = 2**64 - 1, 0x9E3779B97F4A7C15


def encoded(texts, offset=0):
    """The arguments as ``data/pieces.py`` makes them, and what the kernel fills in."""
    array = pa.array(texts, pa.large_string())[offset:]
    valid, offsets, data = (np.frombuffer(b or b"", np.uint8) for b in array.buffers())
    bounds = offsets.view(np.int64)[array.offset : array.offset + len(array) + 1]
    words = np.ndarray((len(data) - 7,), np.uint64, data, strides=(1,))
    codes, first_rows = np.empty(len(array), np.int16), np.empty(LIMIT, np.int64)
    bits = valid if array.null_count else valid[:0]
    n = encode_texts(bounds, data, words, bits, array.offset, codes, first_rows)
    return n, codes.tolist(), first_rows[: max(n, 0)].tolist()


def first_seen(texts):
    codes, first, known = [], [], {}
    for row, text in enumerate(texts):
        if text is not None and text not in known:
            known[text] = len(known)
            first.append(row)
        codes.append(-1 if text is None else known[text])
    return len(known), codes, first


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0, 3])
def test_texts_are_coded_as_they_are_first_seen(seed, offset):
    rng = np.random.default_rng(seed)
    pool = ["", "a", "a\0", "ab", "12345678", "123456789", "123456780", "12345678x", "é" * 9, None]
    texts = ["padding!", *(pool[i] for i in rng.integers(0, len(pool), 60)), "the last text"]
    assert encoded(texts, offset) == first_seen(texts[offset:])


def test_more_texts_than_the_limit_are_given_up():
    assert encoded([f"text {k}" for k in range(LIMIT)])[0] == LIMIT
    assert encoded([f"text {k}" for k in range(LIMIT + 1)])[0] == -1


def uniform(state):
    """SplitMix64 in whole numbers, in units of 2^-53."""
    z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return (z ^ z >> 31) >> 11


@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 5, 9])
def test_drawn_states_are_where_the_uniform_number_falls(n_states):
    rng, n_rows, first_row, key = np.random.default_rng(n_states), 200, 7, 12345678901234567
    table = rng.dirichlet(np.ones(n_states), 3)
    if n_states > 1:
        table[1] = np.eye(n_states)[1]
    stride = n_states if n_states > 4 else 4 if n_states > 2 else 2
    ends = np.full((3, stride), 2**53)
    ends[:, :n_states] = np.ceil(np.cumsum(table, axis=1) * 2**53)
    ends[:, n_states - 1 :] = 2**53
    ends[1, min(1, n_states - 1) :] = 2**53
    code, out = rng.integers(0, 3, n_rows).astype(np.int32), np.empty(n_rows, np.int8)
    draw_states(np.uint64(key), first_row, code, stride, ends.ravel().astype(np.int64), out)
    for i in range(n_rows):
        u = uniform((key + (first_row + i + 1) * GAMMA) & MASK)
        assert out[i] == sum(u >= end for end in ends[code[i], : n_states - 1].tolist())
    assert n_states == 1 or (out[code == 1] == 1).all()
