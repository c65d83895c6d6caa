"""Networks and random findings for the tests of the explorer."""

import os
from pathlib import Path

import numpy as np
import pytest

import consilience as cs

DATA = os.environ.get("CONSILIENCE_DATA")
NASTY = [
    "<img src=x onerror=window.hurt=1>",
    "</script><script>window.hurt=1</script>",
    "\"quoted\" & 'single'",
    "a=b|c:d,e",
    "\u05e9\u05dc\u05d5\u05dd",
    "\U0001f600 x",
    "n" * 300,
]


def public(name):
    if DATA is None:
        pytest.skip("CONSILIENCE_DATA is not set")
    return cs.load(Path(DATA) / "networks" / name)


def of_sources(net, n_sources, n_rows=200, step=40):
    """A network with tables by source, fitted to rows drawn from another one."""
    states = {name: list(variable.states) for name, variable in net.variables.items()}
    frames = {f"s{f}": net.sample(n_rows + step * f, seed=f).to_frame() for f in range(n_sources)}
    return cs.fit(net.dag, cs.read(frames, states=states), cs.HDMCS(s=10))


def small():
    """Three nodes, two sources; b is never yes in the second unless a is."""
    a, b = cs.Variable("a", ("yes", "no")), cs.Variable("b", ("low", "middle", "high"))
    c, site = cs.Variable("c", ("yes", "no")), cs.Variable("site", ("north", "south"))
    tables = [
        cs.Categorical(site, (), [0.6, 0.4]),
        cs.Categorical(a, (site,), [[0.3, 0.7], [1.0, 0.0]]),
        cs.Categorical(b, (a,), [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]),
        cs.Categorical(c, (a, b), [[[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]], [[0.3, 0.7]] * 3]),
    ]
    return cs.Network.of(tables, source="site")


def second():
    """Another network of the same nodes: b before a, no arc from a to c, a new one; no source."""
    a, b = cs.Variable("a", ("no", "yes")), cs.Variable("b", ("low", "middle", "high"))
    c, d = cs.Variable("c", ("yes", "no")), cs.Variable("d", ("yes", "no"))
    tables = [
        cs.Categorical(b, (), [0.2, 0.3, 0.5]),
        cs.Categorical(a, (b,), [[0.4, 0.6], [0.1, 0.9], [0.7, 0.3]]),
        cs.Categorical(c, (b,), [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]),
        cs.Categorical(d, (c,), [[0.1, 0.9], [0.6, 0.4]]),
    ]
    return cs.Network.of(tables)


def nasty():
    """Two nodes and a source whose names try to be something else."""
    first = cs.Variable(NASTY[0], tuple(NASTY))
    second = cs.Variable(NASTY[1], (NASTY[2], NASTY[3]))
    source = cs.Variable(NASTY[-1], (NASTY[0], NASTY[4]))
    even = np.full(len(NASTY), 1 / len(NASTY))
    tables = [
        cs.Categorical(source, (), [0.5, 0.5]),
        cs.Categorical(first, (source,), [even, np.arange(len(NASTY)) / 21]),
        cs.Categorical(
            second, (first,), [[0.1 + 0.1 * k, 0.9 - 0.1 * k] for k in range(len(NASTY))]
        ),
    ]
    return cs.Network.of(tables, source=source.name)


def random_findings(net, rng):
    """Findings of every kind about up to three nodes that a drawn row allows, as JSON."""
    row = net.sample(1, seed=int(rng.integers(2**31)))
    names = [name for name in net.variables if name in row.variables]
    chosen = rng.choice(names, size=min(len(names), int(rng.integers(1, 4))), replace=False)
    given = {}
    for name in map(str, chosen):
        variable, value = net.variables[name], row.column(name)[0]
        given[name] = float(value) if variable.is_continuous else _finding(net, name, value, rng)
    return given


def _finding(net, name, code, rng):
    states = net.variables[name].discrete_states
    others = [state for k, state in enumerate(states) if k != code and rng.random() < 0.5]
    weights = dict(zip(states, rng.dirichlet(np.ones(len(states))).tolist(), strict=True))
    kind = int(rng.integers(5))
    if kind == 4:
        tilted = net.query(name).values * rng.uniform(0.5, 2, len(states))
        return {"soft": dict(zip(states, (tilted / tilted.sum()).tolist(), strict=True))}
    return [
        states[code],
        {"any": [states[code], *others]},
        {"not": others} if others else states[code],
        {"likelihood": weights},
    ][kind]


def library_given(net, given):
    """The findings as a user of the library writes them."""
    return {name: _library(net.variables[name], value) for name, value in given.items()}


def _library(variable, value):
    if not isinstance(value, dict):
        return value
    [(kind, values)] = value.items()
    if kind == "any":
        return set(values)
    if kind == "not":
        return set(variable.discrete_states) - set(values)
    return cs.Likelihood(values) if kind == "likelihood" else cs.Soft(values)
