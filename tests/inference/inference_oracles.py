"""Brute force on the full joint table, and random networks with evidence of every kind."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import consilience as cs


def full_joint(net: cs.Network, given: dict[str, Any] | None = None) -> np.ndarray:
    """P(x, e) of every joint state, in the order of the nodes; likelihoods multiplied in."""
    names = list(net.variables)
    shape = [net.variables[name].n_states for name in names]
    table = np.empty(shape)
    for states in itertools.product(*map(range, shape)):
        at = dict(zip(names, states, strict=True))
        table[states] = math.prod(
            local.table[tuple(at[p] for p in (*local.parents, name))]
            for name, local in net.distributions.items()
        )
    for name, value in (given or {}).items():
        table = table * along(net, name, weight_of(net.variables[name], value))
    return table


def weight_of(variable: cs.Variable, value: Any) -> np.ndarray:
    """A finding as a weight of each state."""
    if isinstance(value, cs.Likelihood):
        return np.array([value.values.get(state, 0.0) for state in variable.states])
    states = value if isinstance(value, set | list) else {value}
    return np.array([float(state in states) for state in variable.states])


def along(net: cs.Network, name: str, vector: np.ndarray) -> np.ndarray:
    """A vector laid along the axis of a variable."""
    names = list(net.variables)
    return vector.reshape([-1 if other == name else 1 for other in names])


def margin(net: cs.Network, table: np.ndarray, asked: list[str]) -> np.ndarray:
    """Sum over all variables but these, in their order."""
    names = list(net.variables)
    others = tuple(i for i, name in enumerate(names) if name not in asked)
    kept = [name for name in names if name in asked]
    return table.sum(axis=others).transpose([kept.index(name) for name in asked])


def fit_softly(net: cs.Network, table: np.ndarray, soft: dict[str, np.ndarray]) -> np.ndarray:
    """The joint closest to the table in which these distributions hold, by proportional fitting."""
    table = table / table.sum()
    for _ in range(5000):
        for name, wanted in soft.items():
            now = margin(net, table, [name])
            ratio = np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
            table = table * along(net, name, ratio)
    return table


@st.composite
def networks(draw: st.DrawFn, max_nodes: int = 8) -> cs.Network:
    n = draw(st.integers(1, max_nodes))
    seed = draw(st.integers(0, 100_000))
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(n)]
    n_states = {name: int(rng.integers(1, 4 if n < 7 else 3)) for name in names}
    dag = cs.random_dag(names, p_arc=float(rng.uniform(0, 0.8)), max_parents=4, seed=seed)
    net = cs.random_network(dag, n_states=n_states, seed=seed)
    return with_zeros(net, rng) if draw(st.booleans()) else net


def with_zeros(net: cs.Network, rng: np.random.Generator) -> cs.Network:
    """Some entries set to zero, so that zeros and impossible evidence are met."""
    local = []
    for one in net.distributions.values():
        rows = np.where(rng.random(one.rows.shape) < 0.3, 0.0, one.rows)
        rows[rows.sum(axis=1) == 0, 0] = 1.0
        rows = rows / rows.sum(axis=1, keepdims=True)
        local.append(cs.Categorical(one.child, one.given, rows.reshape(one.table.shape)))
    return cs.Network.of(local)


@st.composite
def findings(draw: st.DrawFn, net: cs.Network) -> dict[str, Any]:
    """Hard, set and virtual evidence about some of the nodes."""
    given: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(list(net.variables)), max_size=4, unique=True)):
        states = net.variables[name].states
        kind = draw(st.sampled_from(["hard", "set", "virtual"]))
        if kind == "hard":
            given[name] = draw(st.sampled_from(states))
        elif kind == "set":
            given[name] = set(draw(st.lists(st.sampled_from(states), min_size=1)))
        else:
            weights = draw(st.lists(st.integers(0, 5), min_size=len(states), max_size=len(states)))
            weights[0] += sum(weights) == 0
            given[name] = cs.Likelihood(dict(zip(states, weights, strict=True)))
    return given
