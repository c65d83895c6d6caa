"""Many sequences of one hidden chain side by side, against one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.dynamic import chain_part


@pytest.mark.parametrize("room", [chain_part.MOST_ROOM, 1])
def test_different_rows_are_found_in_order_with_and_without_sorting(room, monkeypatch):
    monkeypatch.setattr(chain_part, "MOST_ROOM", room)
    keys = np.random.default_rng(1).integers(-1, [2, 5, 40], (300, 3))
    found, code = chain_part._distinct(keys)
    twin, place = np.unique(keys, axis=0, return_inverse=True)
    np.testing.assert_array_equal(found, twin)
    np.testing.assert_array_equal(code, place.ravel())


def test_ragged_sequences_side_by_side_are_fitted_as_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, chain_part.LANES_FROM + 5)
    rows = {
        "s": np.repeat(np.arange(len(lengths)), lengths),
        "x": rng.choice(["1", "2", "3"], lengths.sum()),
    }
    panel = cs.dynamic.read_panel(rows, sequence="s", states={"x": ["1", "2", "3"]})
    moves, shown = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(3), 2)

    def fitted():
        return cs.dynamic.em(
            cs.dynamic.hidden_markov(["x"]),
            panel,
            cs.MLE(),
            hidden={"z": ["1", "2"]},
            start=cs.dynamic.from_hmm(np.array([0.4, 0.6]), moves, shown),
            choice=cs.EM(iterations=3, tolerance=1e-300, accelerate=False),
            initial=cs.dynamic.Estimated(),
        ).network

    together = fitted()
    monkeypatch.setattr(chain_part, "LANES_FROM", len(lengths) + 1)
    alone = fitted()
    for name in ("z", "x"):
        np.testing.assert_allclose(together[name].table, alone[name].table, atol=1e-10)
