"""Tables of several sources built from their counts."""

from __future__ import annotations

import numpy as np

import consilience as cs

DAG = cs.DAG([("p", "x")])


def table_of(counts, *, sources=None):
    """Rows of p -> x in several sources with these counts (sources, states of p, states of x).

    Each cell is one row whose weight is its count; a source without rows of x has one row with x
    missing.
    """
    counts = np.asarray(counts)
    n_sources, q, r = counts.shape
    names = [f"f{i}" for i in range(n_sources)] if sources is None else sources
    rows = {"p": [], "x": [], "n": [], "source": []}
    for f, name in enumerate(names):
        for p, x in np.argwhere(counts[f] > 0):
            _add(rows, name, f"p{p}", f"x{x}", counts[f, p, x])
        if not counts[f].any():
            _add(rows, name, "p0", None, 1)
    states = {"p": [f"p{i}" for i in range(q)], "x": [f"x{i}" for i in range(r)]}
    return cs.read(rows, source="source", weight="n", states=states)


def _add(rows, source, p, x, n):
    for name, value in zip(("source", "p", "x", "n"), (source, p, x, n), strict=True):
        rows[name].append(value)
