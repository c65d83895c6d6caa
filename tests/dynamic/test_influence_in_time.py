"""Hidden chains that influence each other from slice to slice."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

dynamic = cs.dynamic
GROUPS = {"u": ["u1", "u2", "u3"], "v": ["v1", "v2", "v3"]}


def two_chains(rng, n=40, length=25):
    """The chain v follows u; u goes its own way. Observations are clear."""
    u, v = np.zeros((n, length), int), np.zeros((n, length), int)
    u[:, 0], v[:, 0] = rng.integers(0, 2, n), rng.integers(0, 2, n)
    for t in range(1, length):
        u[:, t] = np.where(rng.random(n) < 0.85, u[:, t - 1], 1 - u[:, t - 1])
        p = np.array([[0.1, 0.6], [0.4, 0.9]])[v[:, t - 1], u[:, t - 1]]
        v[:, t] = rng.random(n) < p
    columns = {"id": np.repeat(np.arange(n), length).astype(str)}
    for name, z in (("u", u), ("v", v)):
        for k in range(3):
            clear = rng.random(z.size) < 0.85
            columns[f"{name}{k + 1}"] = np.where(clear == (z.ravel() == 1), "yes", "no")
    return dynamic.read_panel(columns, sequence="id"), u.ravel(), v.ravel()


def test_the_arc_from_one_chain_to_the_other_is_found():
    panel, u, _ = two_chains(np.random.default_rng(1))
    found = dynamic.influence(panel, GROUPS, seed=1)
    assert set(found.dag.arcs) == {("u(t-1)", "u"), ("v(t-1)", "v"), ("u(t-1)", "v")}
    states = found.network.smooth(panel).probabilities["u"].argmax(axis=1)
    assert max(np.mean(states == u), np.mean(states != u)) > 0.9
    assert found.trace[-1].score >= found.trace[0].score
    assert found.network.log_likelihood(panel).sum() == pytest.approx(found.log_likelihood)
    assert "3 arcs" in repr(found)


@pytest.mark.parametrize(
    ("groups", "states", "word"),
    [
        ({}, 2, "groups"),
        ({"u": ["nobody"]}, 2, "nobody"),
        ({"u1": ["u2"]}, 2, "column"),
        ({"a": ["u1"], "b": ["u1"]}, 2, "two groups"),
        ({"a": ["u1"]}, {"b": 2}, "b"),
        ({"a": ["u1"]}, 1, "a"),
        ({"a": ["level"]}, 2, "continuous"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups, states, word):
    rows = {"u1": list("xyxy"), "u2": list("xxyy"), "level": [1.0, 2.5, 3.0, 4.0]}
    panel = dynamic.read_panel(rows, continuous=["level"])
    with pytest.raises(cs.ConsilienceError, match=word):
        dynamic.influence(panel, groups, states=states)


def test_a_table_is_no_panel():
    with pytest.raises(InputError, match="Panel"):
        dynamic.influence(cs.read({"x": ["a", "b"]}), {"z": ["x"]})
