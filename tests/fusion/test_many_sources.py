"""Fusing hundreds of small sources costs little for each."""

from __future__ import annotations

import numpy as np

import consilience as cs
from consilience.structure.searches import hill_climb

STATES = {"a": ["no", "yes"], "b": ["no", "yes"], "c": ["no", "yes"]}


def _sources(n):
    rng = np.random.default_rng(0)
    found = {}
    for k in range(n):
        a = rng.integers(0, 2, 30)
        b = (a + (rng.random(30) < 0.2)) % 2
        columns = {"a": a, "b": b, "c": rng.integers(0, 2, 30)}
        found[f"s{k}"] = cs.read(
            {name: np.array(["no", "yes"])[codes].tolist() for name, codes in columns.items()},
            states=STATES,
        )
    return found


def test_a_small_source_is_climbed_a_few_times_only(monkeypatch):
    begun = []
    walk = hill_climb._walk_away
    monkeypatch.setattr(hill_climb, "_walk_away", lambda *given: (begun.append(1), walk(*given)))
    cs.fuse(_sources(20))
    assert len(begun) < 10 * 20


def test_a_pool_draws_few_tables_for_the_variances_of_a_source(monkeypatch):
    nets = {n: cs.fit(cs.DAG([("a", "b")], nodes=["c"]), t) for n, t in _sources(3).items()}
    kinds = {type(net["b"].posterior) for net in nets.values()}

    def refuse(self):
        raise AssertionError("variances were asked for")

    for kind in kinds:
        monkeypatch.setattr(kind, "variance", refuse)
    cs.fuse(nets, parameters=cs.fusion.LinearPool())
