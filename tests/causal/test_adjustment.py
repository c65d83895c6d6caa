from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from causal_catalogue import graph, network
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import UnknownNameError


def valid(admg, y, x, names):
    """Whether adjusting for some variables gives do() in a few random networks."""
    rng = np.random.default_rng(len(admg.arcs))
    for _ in range(3):
        net = network(admg, lambda shape: rng.dirichlet([1, 1], size=shape))
        joint = net.query([*names, x, y]).values
        of_z = joint.sum(axis=(-1, -2), keepdims=True)
        of_y = joint / joint.sum(axis=-1, keepdims=True)
        adjusted = (of_z * of_y).sum(axis=tuple(range(len(names))))[1, 1]
        if abs(adjusted - net.do({x: "1"}).query(y)["1"]) > 1e-9:
            return False
    return True


def minimal(admg, y, x):
    found: list[frozenset[str]] = []
    others = [node for node in admg.nodes if node not in (x, y)]
    for size in range(len(others) + 1):
        for names in combinations(others, size):
            if not any(one <= set(names) for one in found) and valid(admg, y, x, names):
                found.append(frozenset(names))
    return found


@given(seed=st.integers(0, 2**32))
def test_minimal_sets_are_those_that_give_do(seed):
    rng = np.random.default_rng(seed)
    nodes = list("abcde")
    arcs = [pair for pair in combinations(nodes, 2) if rng.random() < 0.45]
    latent = [pair for pair in combinations(nodes, 2) if rng.random() < 0.1]
    admg = cs.causal.ADMG(arcs, latent, nodes)
    x, y = "b", "d"
    found = cs.causal.adjustment_sets(admg, y, do=x)
    wanted = minimal(admg, y, x) if y in admg.dag.descendants(x) else list(found)
    assert set(found) == set(wanted)


def test_a_collider_is_not_offered():
    assert list(cs.causal.adjustment_sets(graph("xy", "mx my"), "y", do="x")) == [frozenset()]


def test_front_door_and_instruments_are_named():
    assert cs.causal.adjustment_sets(graph("xm my", "xy"), "y", do="x").front_door == ("m",)
    found = cs.causal.adjustment_sets(graph("zx xy", "xy"), "y", do="x")
    assert (len(found), found.instruments) == (0, ("z",))


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="unknown node 'q'"):
        cs.causal.adjustment_sets(graph("xy"), "q", do="x")
