"""Rows of a table as evidence for a network with continuous nodes.

A family of which a row knows everything is one factor of the row's density, and is done for all
such rows at once. For the others, rows that know the same nodes are done together, in blocks: what
does not depend on their values (the order of elimination, the joint distributions of components and
their roots) is formed once, and the rows are the first axis of everything else. Rows of which a
logistic node is open (:mod:`consilience.inference.mixed`) are done one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from consilience._typing import Bools, Column, Floats, Integers
from consilience.errors import ImpossibleEvidenceError
from consilience.inference.evidence import Evidence
from consilience.inference.mixed import (
    components_of,
    factors_of_rows,
    families_of,
    open_logistic,
    shape_of_question,
    solve,
)
from consilience.inference.mixed_queries import Estimate, mixed_belief, mixed_log_evidence
from consilience.inference.rows import Rows, constants
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import Network

__all__ = ["mixed_log_likelihood", "mixed_posteriors"]

CELLS_A_BLOCK = 1 << 21  # numbers of the largest array of a block: some megabytes
FEWER_DRAWS = 2_000  # for each row that must be estimated


def mixed_log_likelihood(
    net: Network, columns: Mapping[str, Column], n_rows: int, memory_limit: float
) -> Floats:
    """Log density of what each row records."""
    answer = _of_known_families(net, columns, n_rows, memory_limit)
    for where, rows in _patterns(net, columns, n_rows):
        every = families_of(net, rows.names, rows.observed, ()).every
        if open_logistic(net, every, rows.values):
            for place, evidence in _one_by_one(net, where, rows):
                answer[place] = mixed_log_evidence(net, evidence, memory_limit, _few())
            continue
        families = tuple(
            name for name in every if not rows.observed.issuperset(_members(net, name))
        )
        for part in _blocks(net, rows, families, (), len(where)) if families else ():
            found = solve(net, rows.take(part), families, (), (), memory_limit=memory_limit)
            answer[where[part]] += found.log_evidence
    return answer


def _of_known_families(
    net: Network, columns: Mapping[str, Column], n_rows: int, memory_limit: float
) -> Floats:
    """The part of each row's log density that comes from families of which it knows everything."""
    answer = np.zeros(n_rows)
    every = {**columns, **_fixed(net, columns, n_rows)}
    is_known = {name: _is_known(net, name, column) for name, column in every.items()}
    for name in net.distributions:
        members = _members(net, name)
        if any(member not in every for member in members):
            continue
        where = np.flatnonzero(np.logical_and.reduce([is_known[member] for member in members]))
        if where.size:
            rows = _rows_at(net, {member: every[member] for member in members}, where)
            factors, _ = factors_of_rows(net, rows, [name], memory_limit=memory_limit)
            answer[where] += sum(factor.log for factor in factors)
    return answer


def mixed_posteriors(
    net: Network, columns: Mapping[str, Column], n_rows: int, target: str, memory_limit: float
) -> Floats:
    """P(target | row), shape (rows, states); of a continuous target mean and sd, (rows, 2)."""
    is_continuous = net.variables[target].is_continuous
    width = 2 if is_continuous else net.variables[target].n_states
    answer = np.zeros((n_rows, width))
    for where, rows in _patterns(net, columns, n_rows, without=target):
        families = families_of(net, rows.names, rows.observed, [target])
        if open_logistic(net, families.joined, rows.values):
            for place, evidence in _one_by_one(net, where, rows):
                answer[place] = _estimated(net, target, evidence, memory_limit)
            continue
        for part in _blocks(net, rows, families.joined, [target], len(where)):
            some = rows.take(part)
            discrete, continuous = ([], [target]) if is_continuous else ([target], [])
            found = solve(
                net, some, families.joined, discrete, continuous, memory_limit=memory_limit
            )
            if not is_continuous:
                answer[where[part]] = found.weights
                continue
            _refuse_impossible_rows(where[part], found.log_evidence, target)
            [one] = found.conditionals
            weights = found.weights.reshape(len(found.weights), -1)
            answer[where[part]] = _moments(weights, one.means[..., 0], one.variances[..., 0])
    return answer


def _patterns(
    net: Network, columns: Mapping[str, Column], n_rows: int, without: str | None = None
) -> Iterator[tuple[Integers, Rows]]:
    """The rows that know the same nodes: where they are, and what they know."""
    if not n_rows:
        return
    fixed = {n: np.array([x]) for n, x in constants(net).items() if n != without}
    names = list(columns)
    is_known = np.empty((n_rows, len(names)), bool)
    for i, name in enumerate(names):
        is_known[:, i] = _is_known(net, name, columns[name])
    for where in _groups(is_known):
        seen = [name for name, known in zip(names, is_known[where[0]], strict=True) if known]
        rows = _rows_at(net, {name: columns[name] for name in seen}, where)
        yield where, Rows(rows.known, {**fixed, **rows.values})


def _groups(is_known: Bools) -> list[Integers]:
    """Places of the rows that have the same pattern."""
    if is_known.all():
        return [np.arange(len(is_known))]
    _, rank = np.unique(np.packbits(is_known, axis=1), axis=0, return_inverse=True)
    order = np.argsort(rank.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(rank.ravel()[order])) + 1)


def _fixed(net: Network, columns: Mapping[str, Column], n_rows: int) -> dict[str, Floats]:
    """Constants of the network, where the rows do not say anything else."""
    found = {}
    for name, value in constants(net).items():
        column = columns.get(name, np.full(n_rows, np.nan))
        found[name] = np.where(np.isnan(column), value, column)
    return found


def _is_known(net: Network, name: str, column: Column) -> Bools:
    return np.asarray(~np.isnan(column) if net.variables[name].is_continuous else column >= 0)


def _members(net: Network, name: str) -> tuple[str, ...]:
    return (*net.dag.parents(name), name)


def _rows_at(net: Network, columns: Mapping[str, Column], where: Integers) -> Rows:
    is_all = len(where) == len(next(iter(columns.values()), ()))
    some = {name: column if is_all else column[where] for name, column in columns.items()}
    return Rows(
        {n: x.astype(np.int64) for n, x in some.items() if not net.variables[n].is_continuous},
        {n: x for n, x in some.items() if net.variables[n].is_continuous},
    )


def _blocks(
    net: Network, rows: Rows, families: tuple[str, ...], asked: tuple[str, ...] | list[str], n: int
) -> Iterator[slice]:
    """Slices of the rows whose arrays stay small."""
    cells = shape_of_question(net, rows, families, asked).cost.largest_table
    width = max((len(part.nodes) for part in components_of(net, rows, families)), default=1)
    n_parents = max((len(net.dag.parents(name)) for name in families), default=1)
    size = max(1, int(CELLS_A_BLOCK / (cells * width * (width + n_parents + 1))))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _moments(weights: Floats, means: Floats, variances: Floats) -> Floats:
    """Mean and sd of mixtures, one a row."""
    mean = (weights * means).sum(axis=1)
    variance = (weights * (variances + (means - mean[:, None]) ** 2)).sum(axis=1)
    return np.stack([mean, np.sqrt(variance)], axis=-1)


def _refuse_impossible_rows(where: Integers, log_evidence: Floats, target: str) -> None:
    is_impossible = np.broadcast_to(log_evidence, where.shape) == -np.inf
    if is_impossible.any():
        row = int(where[is_impossible].min()) + 1
        raise ImpossibleEvidenceError(
            f"row {row} has probability zero under the network, so that {target!r} has no mean "
            "given it.",
            row=row,
        )


def _few() -> Estimate:
    return Estimate(FEWER_DRAWS, fewest=0.0)  # one row of a table must not stop all others


def _one_by_one(net: Network, where: Integers, rows: Rows) -> Iterator[tuple[int, Evidence]]:
    fixed = constants(net)
    for i, place in enumerate(where):
        known = {name: int(column[i]) for name, column in rows.known.items()}
        values = {n: float(column[i]) for n, column in rows.values.items() if n not in fixed}
        yield int(place), Evidence(known, {}, {}, values=values)


def _estimated(net: Network, target: str, evidence: Evidence, memory_limit: float) -> Floats:
    try:
        belief = mixed_belief(net, [target], evidence, memory_limit, _few())
    except ImpossibleEvidenceError:
        if net.variables[target].is_continuous:
            raise
        return np.zeros(net.variables[target].n_states)
    if isinstance(belief, Factor):
        return belief.values
    if isinstance(belief, Mixture):
        return np.array([belief.mean, belief.sd])
    raise TypeError("one target has one kind.")
