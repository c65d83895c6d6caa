r"""Rows drawn from a network with continuous nodes, given anything.

What is known and the ancestors of it are drawn from their posterior, exactly: the discrete nodes
backwards through the steps of their elimination,

.. math:: P(d \mid e) = \prod_i P(d_i \mid d_{\text{eliminated later}}, e) ,

then the continuous ones of each component as :math:`E[x \mid d, e] + P \epsilon` with the
posterior's root :math:`P`. All other nodes follow from their parents. With open logistic nodes
(:mod:`consilience.inference.mixed`) such rows are proposals, in which each of these nodes has all
states alike, and one is accepted with the probability :math:`\prod_l P(x_l \mid \mathrm{pa}_l)` of
the states it has.

Each node has a random key and each row a number that depends on the key and the row's place only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from consilience._typing import Bools, Column, Floats
from consilience.data.table import code_type
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import InputError
from consilience.inference.drawing import new_key, normals, thresholds, uniforms
from consilience.inference.gaussian import Conditional
from consilience.inference.log_elimination import LogFactor, eliminate_logs
from consilience.inference.mixed import (
    closed,
    factors_of_rows,
    families_of,
    open_logistic,
    shape_of_factors,
)
from consilience.inference.rows import Rows, joint_code
from consilience.kernels.sampling import draw_states
from consilience.kernels.threads import each_part
from consilience.network.network import Network

__all__ = ["Columns", "draw_posterior", "draw_rows"]

ROWS_A_BLOCK = 1 << 14
FEWEST_PROPOSALS, MOST_PROPOSALS = 1 << 12, 1 << 18  # of a round
MOST_ROUNDS = 500

Columns = dict[str, Column]
Step = Callable[[Columns, slice], None]


def draw_rows(
    net: Network,
    rows: Rows,
    n_rows: int,
    rng: np.random.Generator,
    *,
    threads: int = 1,
    memory_limit: float,
) -> Columns | None:
    """All nodes of ``n_rows`` rows given one body of evidence; None if that is impossible."""
    families = families_of(net, rows.names, rows.observed, ()).every
    is_open = open_logistic(net, families, rows.values)
    flat = closed(net, is_open)
    start = draw_posterior(
        flat, rows, n_rows, rng, also=families, threads=threads, memory_limit=memory_limit
    )
    if start is None:
        return None
    if is_open:

        def propose(n: int) -> Columns | None:
            return draw_posterior(flat, rows, n, rng, also=families, memory_limit=memory_limit)

        start = _accepted(net, is_open, n_rows, rng, start, propose)
    columns = {**_empty(net, n_rows), **start}
    steps = [
        _forward(net, name, new_key(rng))
        for name in net.dag.topological_order()
        if name not in start
    ]
    _run(steps, columns, n_rows, threads)
    return columns


def draw_posterior(
    net: Network,
    rows: Rows,
    n_rows: int,
    rng: np.random.Generator,
    *,
    also: Sequence[str] = (),
    threads: int = 1,
    memory_limit: float,
) -> Columns | None:
    """What is known, ``also`` these, and the ancestors of both, drawn given one body of evidence.

    No logistic node among them is open. None if the evidence is impossible.
    """
    families = families_of(net, rows.names, rows.observed, also).every
    free = [n for n in families if net.variables[n].is_continuous and n not in rows.values]
    factors, conditionals = factors_of_rows(net, rows, families, free, memory_limit=memory_limit)
    shape = shape_of_factors(net, factors)
    shape.cost.check(memory_limit)
    found = eliminate_logs(factors, shape.order)
    if not found.result.log.item() > -np.inf:
        return None
    steps = [_backward(net, step, new_key(rng)) for step in reversed(found.steps)]
    for one in conditionals:
        keys = [new_key(rng) for _ in range(one.roots.shape[2])]
        steps.append(_component(one, keys))
    columns = {name: column for name, column in _empty(net, n_rows).items() if name in families}
    for name in families:
        if name in rows.known or name in rows.values:
            columns[name][:] = (rows.known.get(name), rows.values.get(name))[name in rows.values]
    _run(steps, columns, n_rows, threads)
    return columns


def _empty(net: Network, n_rows: int) -> Columns:
    return {
        name: np.empty(n_rows, np.float64 if v.is_continuous else code_type(v.n_states))
        for name, v in net.variables.items()
    }


def _run(steps: Sequence[Step], columns: Columns, n_rows: int, threads: int) -> None:
    def work(row_from: int, row_to: int) -> None:
        for start in range(row_from, row_to, ROWS_A_BLOCK):
            for step in steps:
                step(columns, slice(start, min(start + ROWS_A_BLOCK, row_to)))

    each_part(n_rows, min(threads, max(1, n_rows // ROWS_A_BLOCK)), work)


def _backward(net: Network, product: LogFactor, key: np.uint64) -> Step:
    """Draws the last variable of a step of elimination given the others of its product."""
    log = product.log[0]
    if product.rank is not None:
        rank = np.where(log > -np.inf, product.rank[0], -1)
        log = np.where(rank == rank.max(axis=-1, keepdims=True), log, -np.inf)
    largest = log.max(axis=-1, keepdims=True)
    shares = np.exp(log - np.where(largest > -np.inf, largest, 0.0))
    shares = np.where(largest > -np.inf, shares, 1.0)  # never met; any numbers do
    *others, name = product.names
    sizes = {other: net.variables[other].n_states for other in others}
    shares = np.broadcast_to(shares, (*sizes.values(), net.variables[name].n_states))
    rows = shares.reshape(-1, shares.shape[-1])
    return _states_step(name, sizes, rows / rows.sum(axis=1, keepdims=True), key)


def _states_step(name: str, parents: Mapping[str, int], table: Floats, key: np.uint64) -> Step:
    stride, flat = thresholds(table)

    def step(columns: Columns, rows: slice) -> None:
        code = joint_code(parents, {p: columns[p][rows].astype(np.int64) for p in parents})
        n = rows.stop - rows.start
        codes = np.ascontiguousarray(np.broadcast_to(code, n).astype(np.int32))
        draw_states(key, rows.start, codes, stride, flat, columns[name][rows])

    return step


def _component(one: Conditional, keys: Sequence[np.uint64]) -> Step:
    """Draws the asked nodes of a component given its discrete parents."""
    sizes = dict(zip(one.free, one.shape, strict=True))

    def step(columns: Columns, rows: slice) -> None:
        n = rows.stop - rows.start
        noise = np.stack([normals(key, rows.start, n) for key in keys], axis=1)
        code = joint_code(sizes, {p: columns[p][rows].astype(np.int64) for p in sizes})
        states = np.broadcast_to(code, n)
        drawn = np.empty((n, len(one.asked)))
        for state in np.unique(states):
            where = states == state
            drawn[where] = one.means[0, state] + noise[where] @ one.roots[one.at[0, state]].T
        for i, name in enumerate(one.asked):
            columns[name][rows] = drawn[:, i]

    return step


def _forward(net: Network, name: str, key: np.uint64) -> Step:
    """Draws a node given its parents."""
    local = net.distributions[name]
    if isinstance(local, Categorical):
        sizes = {v.name: v.n_states for v in local.given}
        return _states_step(name, sizes, local.rows, key)
    if isinstance(local, LinearGaussian):
        return _regression_step(name, local, key)
    return _logistic_step(name, local, key)


def _regression_step(name: str, local: LinearGaussian, key: np.uint64) -> Step:
    def step(columns: Columns, rows: slice) -> None:
        n = rows.stop - rows.start
        states, values = _parents(local, columns, rows)
        spread = local.sd.ravel()[states] * normals(key, rows.start, n)
        columns[name][rows] = local.means(states, values) + spread

    return step


def _logistic_step(name: str, local: Logistic, key: np.uint64) -> Step:
    def step(columns: Columns, rows: slice) -> None:
        sums = np.exp(local.log_probabilities(*_parents(local, columns, rows))).cumsum(axis=1)
        u = uniforms(key, rows.start, rows.stop - rows.start) * sums[:, -1]
        columns[name][rows] = (u[:, None] >= sums[:, :-1]).sum(axis=1)

    return step


def _parents(
    local: LinearGaussian | Logistic, columns: Mapping[str, Column], rows: slice
) -> tuple[Column, Floats]:
    """Joint states and values of the parents in some rows."""
    n = rows.stop - rows.start
    codes = {v.name: columns[v.name][rows].astype(np.int64) for v in local.discrete}
    states = np.broadcast_to(joint_code({v.name: v.n_states for v in local.discrete}, codes), n)
    values = np.empty((n, len(local.continuous)))
    for i, variable in enumerate(local.continuous):
        values[:, i] = columns[variable.name][rows]
    return states, values


def _accepted(
    net: Network,
    is_open: Collection[str],
    n_rows: int,
    rng: np.random.Generator,
    proposed: Columns,
    propose: Callable[[int], Columns | None],
) -> Columns:
    """Proposals that the open logistic nodes accept, as many as are wanted."""
    kept, n_kept = [], 0
    for _ in range(MOST_ROUNDS):
        passes = _passes(net, is_open, proposed, new_key(rng))
        kept.append({name: column[passes] for name, column in proposed.items()})
        n_kept += int(passes.sum())
        if n_kept >= n_rows:
            return {n: np.concatenate([one[n] for one in kept])[:n_rows] for n in proposed}
        proposed = propose(max(FEWEST_PROPOSALS, min(n_rows, MOST_PROPOSALS))) or proposed
    raise InputError(
        f"sample: what is given is too improbable to draw rows of it: only {n_kept:,} of "
        f"{n_rows:,} rows were accepted by {', '.join(map(repr, is_open))}. Give the continuous "
        "parents of these nodes, or draw fewer rows."
    )


def _passes(net: Network, is_open: Collection[str], rows: Columns, key: np.uint64) -> Bools:
    n = len(next(iter(rows.values())))
    log = np.zeros(n)
    for name in is_open:
        local = net.distributions[name]
        if isinstance(local, Logistic):
            each = local.log_probabilities(*_parents(local, rows, slice(0, n)))
            log += each[np.arange(n), rows[name]]
    return np.asarray(np.log(uniforms(key, 0, n)) < log)
