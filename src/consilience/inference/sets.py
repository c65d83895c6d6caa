r"""What is known about continuous nodes, as likelihoods over sets of discrete ones.

Given what a row knows, a component of continuous nodes is a function of its discrete parents only,

.. math:: \lambda_c(d_c) = p(e_c \mid d_c) ,

and so is a logistic node whose continuous parents are known. These are all that the discrete part
of a network has to know of the continuous one. Hidden continuous nodes below which nothing is known
are left out first: they would only join the discrete parents of others. Known parents are cut out.
Likelihoods over the same set are multiplied in logarithms, then divided by their largest entry,
whose logarithm is kept apart.

A likelihood so small that a float would lose it does no harm as long as the evidence itself is not
as improbable (``SAFE`` in :mod:`consilience.inference.solving`); if it is, and where point masses
compete with densities, the row must be answered in logarithms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from consilience import _check
from consilience._typing import Bools, Column, Floats, Integers
from consilience.distributions.linear_gaussian import LOG_ROOT_2PI
from consilience.inference.evidence import Evidence, Scope
from consilience.inference.gaussian import Component, Conditional, components, condition
from consilience.inference.known_rows import Rows, alike, constants, joint_code, rows_of
from consilience.inference.solving import LOWEST, families_of, open_logistic, pool_of_rows
from consilience.inference.triangulation import MORE_MEMORY
from consilience.network.network import Network

__all__ = ["RowSets", "evidence_with_sets", "sets_of_rows"]

CELLS_PER_BLOCK = 1 << 21  # numbers of the largest array of a block: some megabytes


def evidence_with_sets(net: Network, evidence: Evidence, memory_limit: float) -> Evidence | None:
    """The evidence with likelihoods over sets in place of values; None if logarithms are needed.

    No logistic node that leads to what is known is open; others are left out.
    """
    if not (net.regressions or net.logistic):
        return evidence
    rows = rows_of(net, evidence)
    if not (rows.values or net.logistic):
        return evidence
    every = families_of(net, rows.names, rows.observed, ()).every
    is_open = open_logistic(net, tuple(net.logistic), rows.values)
    families = [name for name in every if name in net.regressions]
    families += [name for name in net.logistic if name not in is_open]
    alone = Rows(rows.known, rows.values)
    scaled = pool_of_rows(net, alone, families, memory_limit=memory_limit).scaled()
    if scaled is None:
        return None
    log_scale = evidence.log_scale + scaled.log_scale
    for one in scaled.factors:
        if not one.names and not one.values:
            log_scale = -np.inf
    return replace(
        evidence,
        log_scale=log_scale,
        sets={one.names: one.values for one in scaled.factors if one.names},
        is_cut=scaled.is_cut,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RowSets:
    """Likelihoods of many rows over sets of discrete nodes.

    Attributes
    ----------
    likelihoods
        For each scope the likelihood of its states, shape (states..., rows), the largest of a row
        one.
    log_scale
        Logarithm of what they were divided by, and of the densities that depend on nothing.
    needs_logs
        Rows in which point masses compete with densities.
    is_open
        Rows in which a logistic node that matters is open.
    is_cut
        Rows in which an entry was too small for a float.
    asked
        The component of the node asked for, if it is continuous: rows, and its posterior there.
    """

    likelihoods: Mapping[Scope, Floats]
    log_scale: Floats
    needs_logs: Bools
    is_open: Bools
    is_cut: Bools
    asked: Sequence[tuple[Integers, Conditional]]


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """Log-likelihoods of some rows over the states of some nodes, shape (rows, states...)."""

    rows: Integers
    names: Scope
    log: Floats
    has_rank: bool


def sets_of_rows(
    net: Network,
    columns: Mapping[str, Column],
    n_rows: int,
    target: str | None = None,
    *,
    at_mode: bool = False,
    memory_limit: float,
) -> RowSets:
    """The likelihoods of rows: codes (-1 if missing) and values (NaN) by column.

    The ``target`` is not among the columns; if it is continuous, its component is named. With
    ``at_mode`` the hidden continuous nodes are not integrated out but where the density of
    everything together is largest.
    """
    terms: list[_Term] = []
    asked: list[tuple[Integers, Conditional]] = []
    wanted = [name for name in net.regressions if name == target]
    pieces, is_open = _pieces(net, columns, n_rows, target)
    filled = _with_constants(net, columns, n_rows, target)
    for (part, seen), rows in pieces.items():
        for where, same in _same(net, filled, part, seen, rows=rows):
            free = tuple(name for name in part.discrete if name not in same.known)
            if seen == part.nodes and len(seen) == 1 and (not free or _is_spread(net, seen[0])):
                log = _log_densities(net, seen[0], same, free)
                terms.append(_Term(where, free, log, has_rank=False))
                continue
            one = condition(net, part, same, wanted, memory_limit=memory_limit)
            if one.asked:
                asked.append((where, one))
            if seen:
                log = one.log_mode if at_mode else one.log_likelihood
                log = np.broadcast_to(log, (len(where), log.shape[1]))
                rank = one.n_certain if at_mode else one.n_dropped
                has_rank = bool(one.free) and bool(rank.any())
                terms.append(_Term(where, one.free, log.reshape(-1, *one.shape), has_rank))
    terms += _logistic_terms(net, filled, n_rows, is_open)
    if at_mode:
        terms += _mode_terms(net, pieces, n_rows)
    return _pooled(net, terms, asked, n_rows, is_open=is_open, memory_limit=memory_limit)


def _pieces(
    net: Network, columns: Mapping[str, Column], n_rows: int, target: str | None
) -> tuple[dict[tuple[Component, tuple[str, ...]], Integers], Bools]:
    """Components and which of their nodes are known, with the rows that have them; open rows."""
    fixed = [name for name in constants(net) if name != target]
    found: dict[tuple[Component, tuple[str, ...]], list[Integers]] = {}
    is_open = np.zeros(n_rows, bool)
    for names in _apart(net):
        is_known = np.zeros((n_rows, len(names)), bool)
        for i, name in enumerate(names):
            if name in columns:
                is_known[:, i] = _is_known(net, name, columns[name])
            if name in fixed:
                is_known[:, i] = True
        for where in alike(is_known):
            known = {n for n, seen in zip(names, is_known[where[0]], strict=True) if seen}
            wanted = [n for n in known if n not in fixed or n in columns]
            wanted += [name for name in names if name == target]
            relevant = {*wanted, *net.dag.ancestors(wanted)} if wanted else set()
            if open_logistic(net, tuple(relevant), known):
                is_open[where] = True
                continue
            nodes = [name for name in names if name in relevant and name in net.regressions]
            for part in components(net, nodes, known):
                seen = tuple(name for name in part.nodes if name in known)
                found.setdefault((part, seen), []).append(where)
    return {key: np.concatenate(parts) for key, parts in found.items()}, is_open


def _apart(net: Network) -> list[list[str]]:
    """Nodes whose values decide together what the pieces are.

    Those of continuous nodes that no arcs connect do not; with logistic nodes all values do.
    """
    if net.logistic:
        others = [name for name in net.variables if name not in net.regressions]
        return [[*net.regressions, *others]]
    return [list(part.nodes) for part in components(net, tuple(net.regressions), ())]


def _with_constants(
    net: Network, columns: Mapping[str, Column], n_rows: int, target: str | None
) -> dict[str, Column]:
    """The columns, with nodes that are constants by definition where the rows say nothing else."""
    filled = dict(columns)
    for name, value in constants(net).items():
        if name != target:
            column = columns.get(name, np.full(n_rows, np.nan))
            filled[name] = np.where(np.isnan(column), value, column)
    return filled


def _same(
    net: Network,
    columns: Mapping[str, Column],
    part: Component,
    seen: Sequence[str],
    *,
    rows: Integers,
) -> Iterator[tuple[Integers, Rows]]:
    """The rows that know the same discrete parents of a component, in blocks."""
    parents = {p for node in part.nodes for p in net.dag.parents(node) if p in net.regressions}
    values = [n for n in (*seen, *(parents - set(part.nodes))) if n in columns]
    recorded = [name for name in part.discrete if name in columns]
    is_known = np.stack([columns[n][rows] >= 0 for n in recorded], axis=1) if recorded else None
    for places in [np.arange(len(rows))] if is_known is None else alike(is_known):
        pattern = () if is_known is None else is_known[places[0]]
        known = [n for n, is_one in zip(recorded, pattern, strict=True) if is_one]
        sizes = [net.variables[n].n_states for n in part.discrete if n not in known]
        width = len(part.nodes) * (len(part.nodes) + len(values) + 1)
        step = max(1, int(CELLS_PER_BLOCK / (np.prod([float(r) for r in sizes]) * width)))
        for first, after in pairwise([*range(0, len(places), step), len(places)]):
            where = rows[places[first:after]]
            yield (
                where,
                Rows(
                    {n: columns[n][where].astype(np.int64) for n in known},
                    {n: columns[n][where] for n in values},
                ),
            )


def _is_spread(net: Network, name: str) -> bool:
    return bool(net.regressions[name].sd.all())


def _log_densities(net: Network, name: str, rows: Rows, free: Scope) -> Floats:
    """Of a node whose continuous parents are known, shape (rows, states of its free parents...)."""
    local = net.regressions[name]
    n_states = {v.name: v.n_states for v in local.discrete}
    sizes = [n_states[parent] for parent in free]
    axes = dict(zip(free, np.ix_(*map(np.arange, sizes)), strict=True))
    column = (-1, *(1 for _ in free))
    known = {parent: codes.reshape(column) for parent, codes in rows.known.items()}
    states = np.broadcast_to(joint_code(n_states, {**known, **axes}), (rows.n_rows, *sizes))
    each = states.size // rows.n_rows
    parents = [np.repeat(rows.values[v.name], each) for v in local.continuous]
    values = np.stack(parents, axis=1) if parents else np.zeros((1, 0))
    child = np.repeat(rows.values[name], each)
    return local.log_densities(states.ravel(), values, child).reshape(states.shape)


def _logistic_terms(
    net: Network, columns: Mapping[str, Column], n_rows: int, is_open: Bools
) -> Iterator[_Term]:
    """Logistic nodes whose continuous parents are known; others, that lead to nothing, are flat."""
    for local in net.logistic.values():
        parents, r = [v.name for v in local.continuous], local.child.n_states
        known = [~np.isnan(columns[p]) if p in columns else np.zeros(n_rows, bool) for p in parents]
        is_closed = ~is_open & np.logical_and.reduce(known)
        idle = np.flatnonzero(~is_open & ~is_closed)
        if idle.size:
            flat = np.full((len(idle), r), -np.log(r))
            yield _Term(idle, (local.child.name,), flat, has_rank=False)
        where = np.flatnonzero(is_closed)
        if not where.size:
            continue
        values = np.stack([columns[parent][where] for parent in parents], axis=1)
        names = tuple(v.name for v in (*local.discrete, local.child))
        yield _Term(where, names, local.log_tables(values), has_rank=False)


def _mode_terms(
    net: Network, pieces: Mapping[tuple[Component, tuple[str, ...]], Integers], n_rows: int
) -> Iterator[_Term]:
    """Densities at the mean of nodes that lead to nothing that is known, in rows with such."""
    is_in_piece = {name: np.zeros(n_rows, bool) for name in net.regressions}
    for (part, _), rows in pieces.items():
        for name in part.nodes:
            is_in_piece[name][rows] = True
    for name, local in net.regressions.items():
        where = np.flatnonzero(~is_in_piece[name])
        if where.size:
            is_spread = local.sd > 0
            log = -np.log(np.where(is_spread, local.sd, 1.0)) - LOG_ROOT_2PI
            names = tuple(v.name for v in local.discrete)
            each = np.broadcast_to(np.where(is_spread, log, 0.0), (len(where), *local.sd.shape))
            yield _Term(where, names, each, has_rank=not is_spread.all())


def _pooled(
    net: Network,
    terms: Sequence[_Term],
    asked: Sequence[tuple[Integers, Conditional]],
    n_rows: int,
    *,
    is_open: Bools,
    memory_limit: float,
) -> RowSets:
    """Terms added up over the largest scopes, and scaled."""
    wanted = [one.names for one in terms if one.names]
    wanted += [one.free for _, one in asked if one.free]
    scopes = _largest(wanted)
    sizes = {scope: [net.variables[n].n_states for n in scope] for scope in scopes}
    n_cells = sum(float(np.prod([float(r) for r in one])) for one in sizes.values())
    _check.memory(
        f"likelihoods of {n_rows:,} rows over the states of {_check.listed(scopes)}",
        24.0 * n_cells * n_rows,
        memory_limit,
        f"Use fewer rows at a time, {MORE_MEMORY}",
    )
    logs = {scope: np.zeros((n_rows, *shape)) for scope, shape in sizes.items()}
    log_scale, needs_logs = np.zeros(n_rows), np.zeros(n_rows, bool)
    for one in terms:
        needs_logs[one.rows] |= one.has_rank
        if one.names:
            scope = next(scope for scope in scopes if set(one.names) <= set(scope))
            logs[scope][one.rows] += _along(one, scope)
        else:
            log_scale[one.rows] += one.log
    likelihoods, is_cut = {}, np.zeros(n_rows, bool)
    for scope, log in logs.items():
        flat = np.ascontiguousarray(log.reshape(n_rows, -1).T)  # the rows innermost
        largest = flat.max(axis=0)
        log_scale += largest
        flat -= np.where(largest > -np.inf, largest, 0.0)
        if (is_low := flat < LOWEST).any():
            is_cut |= (is_low & (flat > -np.inf)).any(axis=0)
            flat[is_low] = -np.inf
        likelihoods[scope] = np.exp(flat, out=flat).reshape(*sizes[scope], n_rows)
    return RowSets(likelihoods, log_scale, needs_logs, is_open, is_cut, asked)


def _largest(scopes: Collection[Scope]) -> list[Scope]:
    """The scopes that no other one contains, one of those that are the same set."""
    found: list[Scope] = []
    for scope in sorted(dict.fromkeys(scopes), key=len, reverse=True):
        if not any(set(scope) <= set(other) for other in found):
            found.append(scope)
    return found


def _along(one: _Term, scope: Scope) -> Floats:
    """The term with its axes in the order of a larger scope, and axes of one where it has none."""
    order = sorted(range(len(one.names)), key=lambda i: scope.index(one.names[i]))
    turned = one.log.transpose(0, *(i + 1 for i in order))
    sizes = iter(turned.shape[1:])
    return turned.reshape(len(turned), *(next(sizes) if n in one.names else 1 for n in scope))


def _is_known(net: Network, name: str, column: Column) -> Bools:
    return np.asarray(~np.isnan(column) if net.variables[name].is_continuous else column >= 0)
