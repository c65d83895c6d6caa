r"""Rows drawn from a network given one body of evidence: steps that fill columns, block by block.

What is known and the ancestors of it are drawn from their posterior, exactly: the discrete nodes
from the junction tree, clique by clique from the root, the residual given the separator,

.. math:: P(d \mid e) = \prod_c P(\text{residual}_c \mid \text{separator}_c, e) ,

then the continuous ones of each component as :math:`E[x \mid d, e] + P \epsilon` with the
posterior's root :math:`P`. All other nodes follow from their parents. With open logistic nodes
(:mod:`consilience.inference.solving`) such rows are proposals, in which each of these nodes has all
states alike, and one is accepted with the probability :math:`\prod_l P(x_l \mid \mathrm{pa}_l)` of
the states it has.

Each node or clique has a random key and each row a number that depends on the key and the row's
place only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from consilience._typing import Bools, Codes, Column, Floats
from consilience.data.table import code_type
from consilience.distributions import LinearGaussian, Logistic, proportions
from consilience.errors import InputError
from consilience.inference.cutting import tree_for
from consilience.inference.drawing import new_key, normals, thresholds, uniforms
from consilience.inference.evidence import Evidence
from consilience.inference.gaussian import Conditional
from consilience.inference.junction import Beliefs
from consilience.inference.known_rows import Rows, joint_code, rows_of
from consilience.inference.sets import evidence_with_sets
from consilience.inference.solving import (
    SAFE,
    closed,
    families_of,
    open_logistic,
    pool_of_rows,
    shape_of_scopes,
)
from consilience.kernels.counting import fold
from consilience.kernels.sampling import draw_states
from consilience.kernels.threads import each_part
from consilience.network.network import Network

__all__ = ["Columns", "draw_forward", "draw_given", "draw_posterior"]

ROWS_PER_BLOCK = 1 << 14  # the codes of a block for all parents of a node stay in the first caches
FEWEST_PROPOSALS, MOST_PROPOSALS = 1 << 12, 1 << 18  # of a round
MOST_ROUNDS = 500

Columns = dict[str, Column]
Step = Callable[[Columns, slice], None]


def draw_forward(
    net: Network,
    evidence: Evidence,
    likelihoods: Mapping[str, Floats],
    n_rows: int,
    *,
    rng: np.random.Generator,
    threads: int = 1,
) -> Columns:
    """All nodes of ``n_rows`` rows, parents first; the parents of what is known are known.

    ``likelihoods`` are of roots that are not known.
    """
    columns = empty_columns(net, n_rows)
    keys = {name: new_key(rng) for name in net.distributions}
    steps = []
    for name in net.dag.topological_order():
        if name in evidence.known or name in evidence.values:
            columns[name][:] = evidence.known.get(name, evidence.values.get(name))
        elif name in likelihoods:
            weights = proportions(net.tables[name].rows * likelihoods[name])
            steps.append(_states_step(net, name, (), weights, key=keys[name]))
        else:
            steps.append(_forward(net, name, keys[name]))
    _run(steps, columns, n_rows, threads)
    return columns


def draw_given(
    net: Network,
    evidence: Evidence,
    n_rows: int,
    rng: np.random.Generator,
    *,
    threads: int = 1,
    memory_limit: float,
) -> Columns | None:
    """All nodes of ``n_rows`` rows given one body of evidence; None if that is impossible."""
    rows = rows_of(net, evidence)
    families = families_of(net, rows.names, rows.observed, ()).every
    is_open = open_logistic(net, families, rows.values)
    flat = closed(net, is_open)

    def propose(n: int) -> Columns | None:
        return draw_posterior(
            flat, evidence, n, rng, also=families, threads=threads, memory_limit=memory_limit
        )

    start = propose(n_rows)
    if start is None:
        return None
    if is_open:
        start = _accepted(net, is_open, n_rows, rng, proposed=start, propose=propose)
    columns = {**empty_columns(net, n_rows), **start}
    order = [name for name in net.dag.topological_order() if name not in start]
    _run([_forward(net, name, new_key(rng)) for name in order], columns, n_rows, threads)
    return columns


def draw_posterior(
    net: Network,
    evidence: Evidence,
    n_rows: int,
    rng: np.random.Generator,
    *,
    also: Sequence[str] = (),
    threads: int = 1,
    memory_limit: float,
) -> Columns | None:
    """What is known, ``also`` these, and the ancestors of both, drawn given one body of evidence.

    There may be more nodes in the answer. No logistic node among them is open. None if the evidence
    is impossible.
    """
    rows = rows_of(net, evidence)
    families = families_of(net, rows.names, rows.observed, also).every
    found = _discrete_steps(net, evidence, rows, families, rng=rng, memory_limit=memory_limit)
    if found is None:
        return None
    steps, drawn = found
    free = [n for n in families if n in net.regressions and n not in rows.values]
    alone = Rows(rows.known, rows.values)
    nodes = [n for n in families if n in net.regressions]
    pool = pool_of_rows(net, alone, nodes, free, memory_limit=memory_limit)
    for one in pool.conditionals:
        keys = [new_key(rng) for _ in range(one.roots.shape[2])]
        steps.append(_component(one, keys))
    columns = empty_columns(net, n_rows)
    for name in families:
        if name in rows.known or name in rows.values:
            columns[name][:] = (rows.known.get(name), rows.values.get(name))[name in rows.values]
    _run(steps, columns, n_rows, threads)
    return {name: columns[name] for name in net.variables if name in drawn or name in families}


def empty_columns(net: Network, n_rows: int) -> Columns:
    """A column for each node, not filled."""
    return {
        name: np.empty(n_rows, np.float64 if v.is_continuous else code_type(v.n_states))
        for name, v in net.variables.items()
    }


def _run(steps: Sequence[Step], columns: Columns, n_rows: int, threads: int) -> None:
    def work(row_from: int, row_to: int) -> None:
        for start in range(row_from, row_to, ROWS_PER_BLOCK):
            for step in steps:
                step(columns, slice(start, min(start + ROWS_PER_BLOCK, row_to)))

    each_part(n_rows, min(threads, max(1, n_rows // ROWS_PER_BLOCK)), work)


def _discrete_steps(
    net: Network,
    evidence: Evidence,
    rows: Rows,
    families: Sequence[str],
    *,
    rng: np.random.Generator,
    memory_limit: float,
) -> tuple[list[Step], set[str]] | None:
    """Steps that draw discrete nodes given the evidence, and these; None if it is impossible."""
    given = evidence_with_sets(net, evidence, memory_limit)
    if given is not None:
        tree, left = tree_for(net, given, memory_limit=memory_limit)
        with tree.propagated(left) as beliefs:
            log = beliefs.log_evidence - given.log_scale
            if log > SAFE or (log > -math.inf and not given.is_cut):
                is_open = open_logistic(net, tuple(net.logistic), rows.values)
                unsure = {*is_open, *(n for name in is_open for n in net.dag.descendants(name))}
                return list(_clique_steps(net, beliefs, rng)), {*tree.index, *given.known} - unsure
    pool = pool_of_rows(net, rows, families, memory_limit=memory_limit)
    shape = shape_of_scopes(net, pool.scopes, held=pool.held(keeps_steps=True))
    shape.cost.check(memory_limit)
    drawing = pool.drawing(shape.order)
    if drawing is None:
        return None
    steps = []
    for (*others, name), weights in drawing.steps:
        sizes = [net.variables[one].n_states for one in (*others, name)]
        table = np.broadcast_to(weights, sizes).reshape(-1, sizes[-1])
        steps.append(_states_step(net, name, others, proportions(table), key=new_key(rng)))
    return steps, set()


def _clique_steps(net: Network, beliefs: Beliefs, rng: np.random.Generator) -> Iterator[Step]:
    """For each clique, from the root on, a step that draws what it eliminates."""
    shape, known = beliefs.tree.shape, beliefs.evidence.known
    for c in range(len(shape.cliques) - 1, -1, -1):
        clique, n_shared = shape.cliques[c], shape.n_shared[c]
        shared = [name for name in clique[:n_shared] if name not in known]
        drawn = [name for name in clique[n_shared:] if name not in known]
        if drawn:
            table = beliefs.joint(c, (*shared, *drawn))
            rows = table.reshape(-1, math.prod(table.shape[len(shared) :]))
            yield _residual_step(net, drawn, shared, proportions(rows), key=new_key(rng))


def _residual_step(
    net: Network, drawn: Sequence[str], parents: Sequence[str], table: Floats, *, key: np.uint64
) -> Step:
    """Draws several nodes at once given others, by a table of their joint states."""
    if len(drawn) == 1:
        return _states_step(net, drawn[0], parents, table, key=key)
    stride, flat = thresholds(table)

    def step(columns: Columns, rows: slice) -> None:
        joint = np.empty(rows.stop - rows.start, np.int32)
        code = _joint_code(net, parents, columns, rows)
        draw_states(key, rows.start, code, stride, flat, joint)
        for name in reversed(drawn):
            joint, columns[name][rows] = np.divmod(joint, net.variables[name].n_states)

    return step


def _states_step(
    net: Network, name: str, parents: Sequence[str], table: Floats, *, key: np.uint64
) -> Step:
    """Draws a node given others, by a table with a row for each joint state of these."""
    stride, flat = thresholds(table)

    def step(columns: Columns, rows: slice) -> None:
        code = _joint_code(net, parents, columns, rows)
        draw_states(key, rows.start, code, stride, flat, columns[name][rows])

    return step


def _joint_code(
    net: Network, names: Sequence[str], columns: Mapping[str, Codes], rows: slice
) -> Codes:
    code = np.zeros(rows.stop - rows.start, np.int32)
    for name in names:
        fold(code, columns[name][rows], net.variables[name].n_states)
    return code


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
    if name in net.tables:
        return _states_step(net, name, local.parents, net.tables[name].rows, key=key)
    if isinstance(local, LinearGaussian):
        return _regression_step(name, local, key)
    return _logistic_step(name, net.logistic[name], key)


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
    *,
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
