r"""Rows with every gap filled: the most probable joint completion of each row, or a random one.

The missing states are read off the junction tree, from the root down
(:mod:`consilience.inference.traceback`), with what is known about continuous nodes as likelihoods
over sets. Given all states the continuous nodes of a row are jointly normal, and the hidden ones
are at their mean, which is where the density of everything together is largest, or drawn:

.. math:: \hat d = \arg\max_d P(d) \max_{x_H} p(x_O, x_H \mid d), \quad \hat x_H = E[x_H \mid
    x_O, \hat d]; \qquad d \sim P(d \mid x_O), \quad x_H \sim N(\mu_d, \Sigma_d) .

Rows in which a logistic node is open, or whose densities no float holds, are done one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Bools, Column, Floats, Integers
from consilience.data.table import Table
from consilience.errors import InputError, MemoryLimitError
from consilience.inference.conflict import refuse_impossible_rows
from consilience.inference.cutting import Cut
from consilience.inference.draws import draw_given
from consilience.inference.evidence import Evidence, Scope
from consilience.inference.evidence_rows import network_columns
from consilience.inference.gaussian import Conditional, components, condition
from consilience.inference.groups import Batch
from consilience.inference.junction import compiled
from consilience.inference.known_rows import Rows, alike, rows_of
from consilience.inference.sets import RowSets, sets_of_rows
from consilience.inference.solving import best_states
from consilience.inference.traceback import best_rows, draw_rows, expand_rows
from consilience.network.network import MEMORY_LIMIT, Network

__all__ = ["Completions", "completed", "completions", "expected_values"]

Columns = dict[str, Column]


class Completions(NamedTuple):
    """Joint completions of the missing states of rows: for each its row, codes, and share.

    The shares of a row's completions add up to one.
    """

    rows: Integers
    codes: Mapping[str, npt.NDArray[np.int32]]
    shares: Floats


def completed(
    net: Network,
    table: Table,
    rng: np.random.Generator | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> Columns:
    """A column for every node with all gaps filled: codes of the network's states, or values.

    Without a generator, the most probable joint completion of each row; with one, a random joint
    completion from its posterior. What a row knows stays as it is.

    Raises
    ------
    ImpossibleEvidenceError
        If a row has probability zero; the message names it.
    InputError
        If the most probable completion is wanted where a logistic node is open.
    """
    columns = _every_column(net, table)
    gaps = np.flatnonzero(np.logical_or.reduce([_is_gap(net, n, c) for n, c in columns.items()]))
    if not gaps.size:
        return columns
    some = {name: column[gaps] for name, column in columns.items()}
    sets = sets_of_rows(net, some, len(gaps), at_mode=rng is None, memory_limit=memory_limit)
    is_alone = sets.is_open | sets.needs_logs | sets.is_cut | _has_open_logistic(net, some)
    together = np.flatnonzero(~is_alone)
    try:
        _fill_states(net, some, sets, together, numbers=gaps, rng=rng, memory_limit=memory_limit)
    except MemoryLimitError:  # what a row knows can cut the tree into pieces that fit
        is_alone[:], together = True, together[:0]
    _fill_values(net, some, together, rng, memory_limit=memory_limit)
    for row in np.flatnonzero(is_alone):
        _fill_alone(net, some, int(row), int(gaps[row]) + 1, rng=rng, memory_limit=memory_limit)
    for name, column in columns.items():
        column[gaps] = some[name]
    return columns


def completions(
    net: Network, table: Table, smallest: float, *, memory_limit: float = MEMORY_LIMIT
) -> Completions:
    """Every joint completion of the missing states of every row, with its share of the row.

    Completions of a smaller share than ``smallest`` are cut and the others of the row scaled up. No
    logistic node is open.
    """
    columns = _every_column(net, table)
    states = [name for name in columns if name not in net.regressions]
    codes = np.full((table.n_rows, len(states)), -1, np.int32)
    for v, name in enumerate(states):
        codes[:, v] = columns[name]
    gaps = np.flatnonzero((codes < 0).any(axis=1))
    whole = np.setdiff1d(np.arange(table.n_rows), gaps)
    rows, filled, shares = whole, codes[whole], np.ones(len(whole))
    if gaps.size:
        which, found, share = _expanded(net, columns, gaps, smallest, memory_limit=memory_limit)
        rows = np.concatenate([rows, gaps[which]])
        filled = np.concatenate([filled, found])
        shares = np.concatenate([shares, share])
    return Completions(rows, {name: filled[:, v] for v, name in enumerate(states)}, shares)


def expected_values(
    net: Network, columns: Mapping[str, Column], *, memory_limit: float = MEMORY_LIMIT
) -> tuple[Columns, list[tuple[Integers, tuple[str, ...], Floats]]]:
    """The continuous columns of rows without missing states, gaps filled by their expectation.

    The second answer has the rows and nodes that were filled in together, and their covariances,
    shape (rows, nodes, nodes).
    """
    n_rows = len(next(iter(columns.values())))
    filled = {n: np.array(c) if n in net.regressions else c for n, c in columns.items()}
    spread = []
    for where, known in _patterns(net, filled, np.arange(n_rows)):
        for one, rows in _hidden_parts(net, filled, where, known, memory_limit=memory_limit):
            n = len(rows)
            means = np.broadcast_to(one.means[:, 0], (n, len(one.asked)))
            covariances = np.broadcast_to(one.covariances[:, 0], (n, *one.covariances.shape[2:]))
            spread.append((rows, one.asked, covariances))
            for i, name in enumerate(one.asked):
                filled[name][rows] = means[:, i]
    return {name: filled[name] for name in net.regressions}, spread


def _every_column(net: Network, table: Table) -> Columns:
    """The columns of all nodes, empty where the table has none."""
    recorded = network_columns(net, table)
    found: Columns = {}
    for name in net.variables:
        if name in recorded:
            kind = np.float64 if name in net.regressions else np.int32
            found[name] = recorded[name].astype(kind)
        elif name in net.regressions:
            found[name] = np.full(table.n_rows, np.nan)
        else:
            found[name] = np.full(table.n_rows, -1, np.int32)
    return found


def _is_gap(net: Network, name: str, column: Column) -> Bools:
    return np.asarray(np.isnan(column) if name in net.regressions else column < 0)


def _has_open_logistic(net: Network, columns: Columns) -> Bools:
    """Rows in which a continuous parent of a logistic node is missing."""
    parents = {v.name for local in net.logistic.values() for v in local.continuous}
    n_rows = len(next(iter(columns.values())))
    is_missing = [np.isnan(columns[name]) for name in parents]
    return np.logical_or.reduce(is_missing) if is_missing else np.zeros(n_rows, bool)


def _expanded(
    net: Network, columns: Columns, rows: Integers, smallest: float, *, memory_limit: float
) -> tuple[Integers, npt.NDArray[np.int32], Floats]:
    """The joint states of some rows: places among these, codes, and shares."""
    some = {name: column[rows] for name, column in columns.items()}
    sets = sets_of_rows(net, some, len(rows), memory_limit=memory_limit)
    try:
        tree = compiled(net, tuple(sets.likelihoods), memory_limit=memory_limit)
    except MemoryLimitError:  # what a row knows can cut the tree into pieces that fit
        each = [
            _expanded_alone(net, some, sets, row, smallest=smallest, memory_limit=memory_limit)
            for row in range(len(rows))
        ]
        which, codes, shares = (np.concatenate(parts) for parts in zip(*each, strict=True))
        return which, codes, shares
    known = {n: c for n, c in some.items() if n in tree.index and (c >= 0).any()}
    return expand_rows(Batch(tree, known, len(rows), sets.likelihoods), smallest)


def _expanded_alone(
    net: Network, columns: Columns, sets: RowSets, row: int, *, smallest: float, memory_limit: float
) -> tuple[Integers, npt.NDArray[np.int32], Floats]:
    """The joint states of one row, by a tree of what it does not know."""
    states = [name for name in columns if name not in net.regressions]
    known = {name: int(columns[name][row]) for name in states if columns[name][row] >= 0}
    likelihoods: dict[Scope, Floats] = {}
    for scope, one in sets.likelihoods.items():
        at = tuple(known.get(name, slice(None)) for name in scope)
        free = tuple(name for name in scope if name not in known)
        own = one[(*at, slice(row, row + 1))]
        if free:  # what is over known states alone is a number, and shares do not depend on it
            likelihoods[free] = likelihoods[free] * own if free in likelihoods else own
    tree = Cut.of(net, known).tree(tuple(likelihoods), memory_limit)
    which, found, shares = expand_rows(Batch(tree, {}, 1, likelihoods), smallest)
    codes = np.empty((len(which), len(states)), np.int32)
    for v, name in enumerate(states):
        codes[:, v] = known[name] if name in known else found[:, tree.index[name]]
    return which + row, codes, shares


def _fill_states(
    net: Network,
    columns: Columns,
    sets: RowSets,
    rows: Integers,
    *,
    numbers: Integers,
    rng: np.random.Generator | None,
    memory_limit: float,
) -> None:
    """Fill in the missing states of some rows."""
    names = [name for name in net.variables if name not in net.regressions]
    likelihoods = {scope: one[..., rows] for scope, one in sets.likelihoods.items()}
    refuse_impossible_rows(numbers[rows], np.isneginf(sets.log_scale[rows]))
    if not names or not rows.size:
        return
    tree = compiled(net, tuple(likelihoods), memory_limit=memory_limit)
    codes = np.stack([columns[name][rows] for name in names], axis=1).astype(np.int32)
    if rng is None:
        with np.errstate(divide="ignore"):
            logs = {s: np.moveaxis(np.log(one), -1, 0) for s, one in likelihoods.items()}
        found = best_rows(tree, codes, logs, numbers[rows])
    else:
        known = {n: codes[:, v] for v, n in enumerate(names) if (codes[:, v] >= 0).any()}
        batch = Batch(tree, known, len(rows), likelihoods)
        found = draw_rows(batch, np.arange(len(rows)), rng, numbers[rows])
    for v, name in enumerate(names):
        columns[name][rows] = found[:, v]


def _fill_values(
    net: Network,
    columns: Columns,
    rows: Integers,
    rng: np.random.Generator | None,
    *,
    memory_limit: float,
) -> None:
    """Fill in the hidden values of some rows, all of whose states are known by now."""
    for where, known in _patterns(net, columns, rows):
        for one, _ in _hidden_parts(net, columns, where, known, memory_limit=memory_limit):
            values = np.broadcast_to(one.means[:, 0], (len(where), len(one.asked)))
            if rng is not None:
                noise = rng.standard_normal((len(where), one.roots.shape[2], 1))
                roots = one.roots[np.broadcast_to(one.at[:, 0], len(where))]
                values = values + (roots @ noise)[..., 0]
            for i, name in enumerate(one.asked):
                columns[name][where] = values[:, i]


def _hidden_parts(
    net: Network,
    columns: Columns,
    where: Integers,
    known: tuple[str, ...],
    *,
    memory_limit: float,
) -> Iterator[tuple[Conditional, Integers]]:
    """The components with hidden nodes of rows that know these continuous nodes and all states."""
    for part in components(net, list(net.regressions), known):
        hidden = [name for name in part.nodes if name not in known]
        if hidden:
            same = Rows(
                {name: columns[name][where].astype(np.int64) for name in part.discrete},
                {name: columns[name][where] for name in known},
            )
            yield condition(net, part, same, hidden, memory_limit=memory_limit), where


def _patterns(
    net: Network, columns: Columns, rows: Integers
) -> Iterator[tuple[Integers, tuple[str, ...]]]:
    """Rows that know the same continuous nodes, and these."""
    names = list(net.regressions)
    if not names or not rows.size:
        return
    is_known = np.stack([~np.isnan(columns[name][rows]) for name in names], axis=1)
    for places in alike(is_known):
        pattern = is_known[places[0]]
        if not pattern.all():
            known = tuple(n for n, is_one in zip(names, pattern, strict=True) if is_one)
            yield rows[places], known


def _fill_alone(
    net: Network,
    columns: Columns,
    row: int,
    number: int,
    *,
    rng: np.random.Generator | None,
    memory_limit: float,
) -> None:
    """Fill in one row that must be answered by itself."""
    known = {n: int(c[row]) for n, c in columns.items() if n not in net.regressions and c[row] >= 0}
    values = {n: float(columns[n][row]) for n in net.regressions if not np.isnan(columns[n][row])}
    evidence = Evidence(known, {}, {}, values=values)
    if rng is None:
        found = _best(net, evidence, number, memory_limit)
    else:
        drawn = draw_given(net, evidence, 1, rng, memory_limit=memory_limit)
        found = None if drawn is None else {name: column[0] for name, column in drawn.items()}
    if found is None:
        refuse_impossible_rows(np.array([number - 1]), np.ones(1, bool))
        return
    for name, value in found.items():
        if name not in known and name not in values:
            columns[name][row] = value


def _best(
    net: Network, evidence: Evidence, number: int, memory_limit: float
) -> dict[str, float] | None:
    rows = rows_of(net, evidence)
    for name, local in net.logistic.items():
        unknown = [v.name for v in local.continuous if v.name not in rows.values]
        if unknown:
            raise InputError(
                f"row {number}: the most probable values cannot be found exactly, because "
                f"{name!r} is a logistic node whose parents {_check.listed(unknown)} are missing. "
                "Ask for random completions: draws=.",
                row=number,
            )
    best = best_states(net, rows, None, memory_limit=memory_limit)
    if best.log_probability == -np.inf:
        return None
    constants = {name: float(value[0]) for name, value in rows.values.items()}
    return {**constants, **best.codes, **best.values}
