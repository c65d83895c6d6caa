r"""Evidence by the million: every row of a table is a body of evidence.

For a row in which the whole Markov blanket of the target is known nothing else matters:

.. math:: P(t \mid x) \propto P(t \mid \mathrm{pa}) \prod_{\text{children } c} P(c \mid t, \dots)

and if the blanket has fewer joint states than there are rows, this is done once for each of them.
All other rows, equal ones once, go through the junction tree together, a block at a time, with the
rows as the innermost axis; a missing value has the likelihood one for every state, and what is
known about continuous nodes are likelihoods over sets (:mod:`consilience.inference.sets`). Rows
that agree about a variable, such as the source, go without its axis where that pays
(``groups.py``). Only the first pass is needed, since the target is eliminated last. Nodes that lead
neither to the target nor to a recorded column are left out first. Rows that must be estimated, or
whose densities no float holds, are questions of their own; so are all rows if the tree of the
network is too large, since what a row knows can cut it into pieces that are not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from consilience import _check
from consilience._typing import Bools, Codes, Column, Floats, Integers
from consilience.data.align import aligned_codes
from consilience.data.distinct import rows_alike
from consilience.data.door import Rows, as_rows_of
from consilience.data.table import Table
from consilience.errors import DataError, ImpossibleEvidenceError, MemoryLimitError
from consilience.inference.beliefs import belief, log_evidence
from consilience.inference.conflict import refuse_impossible_rows
from consilience.inference.estimate_ways import Best, Way, is_estimate
from consilience.inference.evidence import Evidence, Scope, names_of
from consilience.inference.family_logs import (
    codes_together,
    given_blanket,
    log_family,
    log_given_blanket,
)
from consilience.inference.groups import Batch
from consilience.inference.junction import JunctionTree, compiled
from consilience.inference.known_sources import source_codes
from consilience.inference.sets import RowSets, sets_of_rows
from consilience.inference.solving import SAFE
from consilience.inference.ways import Exact, exact_of
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import Network
from consilience.statistics.gather import is_engine
from consilience.statistics.request import Engine

__all__ = ["log_likelihood", "log_of_states", "network_columns", "posteriors", "rows_for"]

ROWS_AT_A_TIME = 1 << 15
"""Of a network with continuous nodes, whose likelihoods are held for all states."""
LEAST = 1e-290
"""A posterior below it is computed again by logarithms where its own is asked for."""
FEWER_DRAWS = 2_000  # for each row that must be estimated


def posteriors(net: Network, table: Rows, target: str, *, by: Way | None = None) -> Floats:
    """The posterior of the target for each row given all other recorded values of the row.

    Missing values are summed out, and so is the source if the table has none. A source that the
    network does not know is its state ``new_source`` if it has that, and summed out otherwise; an
    unknown state of any other variable is an error. A table that lacks the column of another node
    is refused: if it was never recorded, ``cs.read(..., schema=net.variables)`` says so. A column
    of the target itself is not used, nor are columns that are no nodes. A row whose evidence turns
    out to be impossible is all zero; of a row that has the whole Markov blanket of the target
    nothing else is looked at. Rows that leave several continuous parents of logistic nodes unknown
    are estimated, each by 2,000 draws from the same seed; ``net.query`` tells the standard error.

    Returns
    -------
    Shape (rows, states of the target). For a continuous target shape (rows, 2): its mean and its
    standard deviation.

    Raises
    ------
    ImpossibleEvidenceError
        If the target is continuous and a row is impossible, which leaves it without a mean.
    """
    _check.known("node", names_of(target), net.variables)
    table = rows_for(net, table, not_needed=[target])
    columns = network_columns(net, table, without=(target,))
    width = 2 if net.variables[target].is_continuous else net.variables[target].n_states
    answer = np.zeros((table.n_rows, width))
    if isinstance(by, Best):
        try:
            return posteriors(net, table, target, by=by.exact)
        except MemoryLimitError:
            return posteriors(net, table, target, by=by.estimate)
    if is_estimate(by):
        from consilience.inference.approximate_answers import plain_belief  # most are exact

        for rows, evidence in _each_evidence(net, columns, np.arange(table.n_rows)):
            answer[rows] = plain_belief(net, target, evidence, by)
        return answer
    way = exact_of(by)
    is_covered = _has_blanket(net, columns, table.n_rows, target)
    covered, others = np.flatnonzero(is_covered), np.flatnonzero(~is_covered)
    if covered.size:
        known = {n: columns[n] for n in columns if n in net.dag.markov_blanket(target)}
        answer[covered] = _by_blanket(net, target, _rows(known, covered), len(covered))
    for rows in _parts(net, others):
        part = _Rows.of(net, _rows(columns, rows), len(rows), target, way=way)
        answer[rows] = part.posteriors(target, rows)
    return answer


def log_likelihood(net: Network, table: Rows | Engine, *, by: Way | None = None) -> Floats:
    """Log probability of what each row records; minus infinity if it is impossible.

    Of an engine one number for each row in the order of its parts;
    :func:`~consilience.inference.total_log_likelihood` gives their sum alone.

    Missing values are summed out, and so is the source if the table has none. A source that the
    network does not know is its state ``new_source`` if it has that, and summed out otherwise. The
    weights of the rows are not applied. A table that lacks the column of another node is refused:
    if it was never recorded, ``cs.read(..., schema=net.variables)`` says so. With values of
    continuous variables it is the log of a density. Rows that leave several continuous parents of
    logistic nodes unknown are estimated, each by 2,000 draws from the same seed.
    """
    if is_engine(table):
        from consilience.inference.log_likelihoods import of_engine

        return of_engine(net, table, by)
    table = rows_for(net, table)
    columns = network_columns(net, table)
    if isinstance(by, Best):
        try:
            return log_likelihood(net, table, by=by.exact)
        except MemoryLimitError:
            return log_likelihood(net, table, by=by.estimate)
    if is_estimate(by):
        from consilience.inference.approximate_answers import approximate_log_evidence

        found = np.zeros(table.n_rows)
        for rows, evidence in _each_evidence(net, columns, np.arange(table.n_rows)):
            found[rows] = approximate_log_evidence(net, evidence, by)
        return found
    return _log_likelihood_of(net, columns, table.n_rows, exact_of(by))


def log_of_states(
    net: Network, table: Rows, target: str, states: Codes | Integers, *, posteriors: Floats
) -> Floats:
    r"""Log posterior of one state of a discrete target in each row, also where no float holds it.

    .. math:: \log P(t \mid x) = \log P(t, x) - \log P(x)

    Parameters
    ----------
    states
        The code of the state in each row; of a row with -1 the answer is zero.
    posteriors
        What :func:`posteriors` says of the rows: only where it is next to zero more is done.
    """
    asked = states >= 0
    found = np.where(asked, posteriors[np.arange(len(states)), states], 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log(found)
    tiny = np.flatnonzero((found < LEAST) & posteriors.any(axis=1))
    # A point mass beats densities: zero is zero there.
    if tiny.size and all(one.sd.all() for one in net.regressions.values()):
        rows = rows_for(net, table, not_needed=[target]).take(tiny)
        logs[tiny] = _logs_of_states(net, rows, target, states[tiny])
    return logs


def _logs_of_states(net: Network, table: Table, target: str, states: Codes | Integers) -> Floats:
    columns = network_columns(net, table, without=(target,))
    answer = np.empty(table.n_rows)
    is_covered = _has_blanket(net, columns, table.n_rows, target)
    covered, others = np.flatnonzero(is_covered), np.flatnonzero(~is_covered)
    if covered.size:
        known = {n: columns[n] for n in columns if n in net.dag.markov_blanket(target)}
        each = log_given_blanket(net, target, _rows(known, covered))
        each = np.broadcast_to(each, (len(covered), each.shape[1]))
        answer[covered] = each[np.arange(len(covered)), states[covered]]
    if others.size:
        left = _rows(columns, others)
        with_state = {**left, target: states[others].astype(np.int32)}
        both = _log_likelihood_of(net, with_state, len(others), Exact())
        answer[others] = both - _log_likelihood_of(net, left, len(others), Exact())
    return answer


def _log_likelihood_of(
    net: Network, columns: Mapping[str, Column], n_rows: int, way: Exact
) -> Floats:
    is_complete = np.full(n_rows, all(name in columns for name in net.variables))
    for name, column in columns.items():
        is_complete &= _is_known(net, name, column)
    complete, others = np.flatnonzero(is_complete), np.flatnonzero(~is_complete)
    answer = np.zeros(n_rows)
    if complete.size:
        answer[complete] = _of_complete_rows(net, _rows(columns, complete), len(complete))
    if columns:
        for rows in _parts(net, others):
            part = _Rows.of(net, _rows(columns, rows), len(rows), None, way=way)
            answer[rows] = part.log_likelihood()
    return answer


def _parts(net: Network, rows: Integers) -> list[Integers]:
    """The rows, not too many at a time where likelihoods of all states are held."""
    if not rows.size:
        return []
    is_large = bool(net.regressions or net.logistic) and len(rows) > ROWS_AT_A_TIME
    return np.array_split(rows, -(-len(rows) // ROWS_AT_A_TIME)) if is_large else [rows]


class _Rows:
    """Rows of a table for one network: a batch of those that differ, and those done one by one."""

    def __init__(
        self,
        net: Network,
        columns: Mapping[str, Column],
        sets: RowSets,
        batch: Batch | None,
        *,
        ranks: Integers,
        way: Exact,
    ) -> None:
        self._net, self._columns, self._sets = net, columns, sets
        self._batch, self._ranks = batch, ranks
        self._way = replace(way, draws=FEWER_DRAWS) if way.draws is None else way

    @classmethod
    def of(
        cls,
        net: Network,
        columns: Mapping[str, Column],
        n_rows: int,
        target: str | None,
        *,
        way: Exact,
    ) -> _Rows:
        memory_limit = way.memory_limit
        asked = [] if target is None else [target]
        sets = sets_of_rows(net, columns, n_rows, target, memory_limit=memory_limit)
        part = _relevant(net, [*asked, *columns])
        last = [name for name in asked if name not in net.regressions]
        each: Integers = np.arange(n_rows)
        try:
            tree = compiled(part, tuple(sets.likelihoods), last=last, memory_limit=memory_limit)
        except MemoryLimitError:  # what a row knows can cut the tree into pieces that are not
            return cls(net, columns, sets, None, ranks=each, way=way)
        codes = {n: c for n, c in columns.items() if n in tree.index}
        if sets.likelihoods:
            return cls(
                net,
                columns,
                sets,
                Batch(tree, codes, n_rows, sets.likelihoods),
                ranks=each,
                way=way,
            )
        batch, ranks = _each_once(tree, codes, n_rows)
        return cls(net, columns, sets, batch, ranks=ranks, way=way)

    def log_likelihood(self) -> Floats:
        found = np.zeros(len(self._ranks))
        if self._batch is not None:
            found = self._batch.log_evidence()[self._ranks]
        answer = found + self._sets.log_scale
        for rows, evidence in self._questions(self._alone(found)):
            answer[rows] = log_evidence(self._net, evidence, self._way)
        return answer

    def posteriors(self, target: str, places: Integers) -> Floats:
        """P(target | row); mean and sd if it is continuous."""
        if target in self._net.regressions:
            return self._moments(target, places)
        n_rows = len(places)
        answer, found = np.zeros((n_rows, self._net.variables[target].n_states)), np.zeros(n_rows)
        if self._batch is not None:
            each, log_evidence_of = self._batch.posteriors(target)
            answer, found = each[self._ranks], log_evidence_of[self._ranks]
        answer[np.isneginf(self._sets.log_scale)] = 0.0
        for rows, evidence in self._questions(self._alone(found)):
            answer[rows] = self._estimated(target, evidence)
        return answer

    def _moments(self, target: str, places: Integers) -> Floats:
        """Mean and sd of a continuous target in each row."""
        answer, log = np.zeros((len(places), 2)), np.zeros(len(places))
        if self._batch is not None:
            answer, log = self._moments_of_batch(self._batch)
        is_alone = self._alone(log)
        so_that = f", so that {target!r} has no mean given it"
        is_impossible = (log + self._sets.log_scale == -np.inf) & ~is_alone
        refuse_impossible_rows(places, is_impossible, so_that)
        for rows, evidence in self._questions(is_alone):
            try:
                answer[rows] = self._estimated(target, evidence)
            except ImpossibleEvidenceError:
                refuse_impossible_rows(places[rows], np.ones(len(rows), bool), so_that)
        return answer

    def _moments_of_batch(self, batch: Batch) -> tuple[Floats, Floats]:
        """Mean and sd of the continuous node asked for, and scaled log evidence, by row."""
        sets = self._sets
        scopes = {
            scope: np.zeros((*(self._net.variables[n].n_states for n in scope), batch.n_rows))
            for scope in sets.likelihoods
        }
        log = batch.beliefs(scopes)[self._ranks]
        answer = np.zeros((len(log), 2))
        for rows, one in sets.asked:
            weights = _weights(scopes, one.free, self._ranks[rows])
            means, variances = one.means[..., 0], one.variances[..., 0]
            mean = (weights * means).sum(axis=1)
            variance = (weights * (variances + (means - mean[:, None]) ** 2)).sum(axis=1)
            answer[rows] = np.stack(np.broadcast_arrays(mean, np.sqrt(variance)), axis=-1)
        return answer, log

    def _questions(self, is_alone: Bools) -> Iterator[tuple[Integers, Evidence]]:
        """The evidence of rows that are alone, what is equal once, and the rows that have it."""
        return _each_evidence(self._net, self._columns, np.flatnonzero(is_alone))

    def _alone(self, log: Floats) -> Bools:
        """The rows that are questions of their own, given the scaled log evidence of all."""
        sets = self._sets
        if self._batch is None:
            return np.ones(len(log), bool)
        is_lost = np.isneginf(log) & ~np.isneginf(sets.log_scale)
        if np.log(self._batch.tree.arrays.least).sum() >= SAFE:
            is_lost[:] = False  # no product of this tree is too small for a float
        return sets.is_open | sets.needs_logs | is_lost | (sets.is_cut & ~(log > SAFE))

    def _estimated(self, target: str, evidence: Evidence) -> Floats:
        try:
            # One row of a table must not stop all others, however little its draws are worth.
            found = belief(self._net, [target], evidence, self._way, fewest=0.0)
        except ImpossibleEvidenceError:
            if self._net.variables[target].is_continuous:
                raise
            return np.zeros(self._net.variables[target].n_states)
        if isinstance(found, Factor):
            return found.values
        if isinstance(found, Mixture):
            return np.array([found.mean, found.sd])
        raise TypeError("one target has one kind.")


def _each_evidence(
    net: Network, columns: Mapping[str, Column], rows: Integers
) -> Iterator[tuple[Integers, Evidence]]:
    """The evidence of rows, what is equal once, and the rows that have it."""
    rows_with: dict[tuple[tuple[str, float], ...], list[int]] = {}
    for row in rows.tolist():
        evidence = _evidence(net, columns, row)
        known = (*evidence.known.items(), *evidence.values.items())
        rows_with.setdefault(known, []).append(row)
    for places in rows_with.values():
        yield np.array(places), _evidence(net, columns, places[0])


def _evidence(net: Network, columns: Mapping[str, Column], row: int) -> Evidence:
    known, values = {}, {}
    for name, column in columns.items():
        if _is_known(net, name, column[row]):
            if net.variables[name].is_continuous:
                values[name] = float(column[row])
            else:
                known[name] = int(column[row])
    return Evidence(known, {}, {}, values=values)


def _weights(beliefs: Mapping[Scope, Floats], names: Scope, rows: Integers) -> Floats:
    """Posterior of the joint states of some nodes in some rows, shape (rows, joint states)."""
    if not names:
        return np.ones((len(rows), 1))
    scope = next(scope for scope in beliefs if set(names) <= set(scope))
    others = tuple(i for i, name in enumerate(scope) if name not in names)
    kept = [name for name in scope if name in names]
    found = beliefs[scope][..., rows].sum(axis=others)
    return found.transpose(-1, *(kept.index(name) for name in names)).reshape(len(rows), -1)


def rows_for(net: Network, rows: Rows, *, not_needed: Collection[str] = ()) -> Table:
    """The rows as a table; frames and files are read as the network's variables.

    A table that lacks a node is refused: a misspelt column must not be summed out silently.
    """
    table = as_rows_of(net.variables, net.source, rows)
    for name in net.variables:
        if name not in table.schema and name != net.source and name not in not_needed:
            raise DataError(
                f"the table has no column {name!r}, which is a node of the network; it has "
                f"{_check.listed(table.variables)}. If it was never recorded, read the rows with "
                "schema=net.variables, which makes it missing.",
                column=name,
            )
    return table


def _codes(net: Network, table: Table, without: Collection[str] = ()) -> dict[str, Codes]:
    """Codes of the discrete nodes that the table records, in the states of the network."""
    return {
        name: (source_codes if name == net.source else aligned_codes)(table, variable)
        for name, variable in net.variables.items()
        if name in table.schema and name not in without and not variable.is_continuous
    }


def network_columns(net: Network, table: Table, without: Collection[str] = ()) -> dict[str, Column]:
    """Codes of the discrete and values of the continuous nodes that the table records."""
    columns: dict[str, Column] = {**_codes(net, table, without)}
    for name in net.regressions:
        if name in table.schema and name not in without:
            columns[name] = _values(table, name)
    return columns


def _values(table: Table, name: str) -> Floats:
    mine = table.schema[name]
    if not mine.is_continuous:
        raise DataError(
            f"column {name!r} is discrete; the network has a continuous variable of that name. "
            "Read the table with schema=.",
            column=name,
        )
    return table.column(name)


def _rows(columns: Mapping[str, Column], rows: Integers) -> dict[str, Column]:
    n_rows = len(next(iter(columns.values()), ()))
    return {name: c if len(rows) == n_rows else c[rows] for name, c in columns.items()}


def _is_known(net: Network, name: str, column: Column) -> Bools:
    return np.asarray(~np.isnan(column) if net.variables[name].is_continuous else column >= 0)


def _has_blanket(net: Network, columns: Mapping[str, Column], n_rows: int, target: str) -> Bools:
    """The rows that know the whole Markov blanket of a discrete target."""
    blanket = net.dag.markov_blanket(target)
    children = [net.regressions[n] for n in net.dag.children(target) if n in net.regressions]
    # Point masses beat densities, which takes more than a product.
    can_multiply = target not in net.regressions and all(one.sd.all() for one in children)
    is_covered = np.full(n_rows, can_multiply and all(name in columns for name in blanket))
    for name in blanket & set(columns):
        is_covered &= _is_known(net, name, columns[name])
    return is_covered


def _relevant(net: Network, names: Sequence[str]) -> Network:
    """The network of these nodes and their ancestors."""
    kept = set(names)
    if len(kept) < len(net.distributions):
        kept |= net.dag.ancestors(names)
    if len(kept) == len(net.distributions):
        return net
    return Network.of([local for name, local in net.distributions.items() if name in kept])


def _by_blanket(net: Network, target: str, blanket: Mapping[str, Column], n_rows: int) -> Floats:
    """Posteriors by the states of the blanket: of each joint state once, if there are fewer."""
    is_discrete = not any(net.variables[name].is_continuous for name in blanket)
    sizes = [net.variables[name].n_states for name in blanket] if is_discrete else []
    n_joint = math.prod(sizes)
    if not blanket or not is_discrete or n_joint > n_rows:
        return given_blanket(net, target, blanket)
    states = np.array(np.unravel_index(np.arange(n_joint), sizes), np.int32)
    each = given_blanket(net, target, dict(zip(blanket, states, strict=True)))
    return each[codes_together(net, list(blanket), blanket)]


def _of_complete_rows(net: Network, columns: Mapping[str, Column], n_rows: int) -> Floats:
    total = np.zeros(n_rows)
    for name in net.distributions:
        total += log_family(net, name, columns)
    return total


def _each_once(
    tree: JunctionTree, columns: Mapping[str, Codes], n_rows: int
) -> tuple[Batch, Integers]:
    """A batch of the rows that differ, and for each row which of them is its like."""
    coded = ((column, tree.n_states[name]) for name, column in columns.items())
    first, ranks = rows_alike(coded, n_rows)
    return Batch(tree, _rows(columns, first), len(first)), ranks
