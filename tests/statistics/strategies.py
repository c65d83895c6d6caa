"""Hypothesis strategies for small coded tables with gaps, sources and weights."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from oracles import make_table

from consilience.data.table import Table
from consilience.statistics.family import Family


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 150) -> Table:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_states = draw(st.lists(st.integers(1, 5), min_size=2, max_size=5))
    n_rows = draw(st.integers(0, max_rows))
    gaps = draw(st.sampled_from([0.0, 0.2]))
    rows = np.stack([rng.integers(0, r, n_rows) for r in n_states], axis=1)
    rows[rng.random(rows.shape) < gaps] = -1
    sources = rng.integers(0, 3, n_rows) if draw(st.booleans()) else None
    kind = draw(st.sampled_from(["none", "whole", "fractional"]))
    weights = {
        "none": None,
        "whole": rng.integers(0, 4, n_rows),
        "fractional": rng.integers(0, 64, n_rows) / 16,
    }[kind]
    return make_table(n_states, rows, sources=sources, weights=weights)


@st.composite
def families(draw: st.DrawFn, table: Table) -> list[Family]:
    names = list(table.variables)
    chosen = draw(
        st.lists(st.lists(st.sampled_from(names), min_size=1, unique=True), min_size=1, max_size=8)
    )
    return [Family(one[0], tuple(one[1:])) for one in chosen]
