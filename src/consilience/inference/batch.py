r"""Evidence by the million: every row of a table is a body of evidence.

For a row in which the whole Markov blanket of the target is known nothing else matters:

.. math:: P(t \mid x) \propto P(t \mid \mathrm{pa}) \prod_{\text{children } c} P(c \mid t, \dots)

and if the blanket has fewer joint states than there are rows, this is done once for each of them.
All other rows, equal ones once, go through the junction tree together, a block at a time, with the
rows as the innermost axis; a missing value has the likelihood one for every state. Rows that agree
about a variable, such as the source, go without its axis where that pays (``groups.py``). Only the
first pass is needed, since the target is eliminated last. Nodes that lead neither to the target nor
to a recorded column are left out first. Networks with continuous nodes are answered by
:mod:`consilience.inference.mixed_batch`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import reduce

import numpy as np

from consilience import _check
from consilience._typing import Codes, Column, Floats, Integers
from consilience.data.align import aligned_codes
from consilience.data.distinct import rows_alike
from consilience.data.table import Table
from consilience.errors import DataError, ImpossibleEvidenceError, InputError
from consilience.inference.evidence import names_of
from consilience.inference.groups import Batch
from consilience.inference.junction import JunctionTree
from consilience.inference.known_sources import source_codes
from consilience.inference.mixed_batch import mixed_log_likelihood, mixed_posteriors
from consilience.network.network import MEMORY_LIMIT, Network, discrete_only

__all__ = ["expected_counts", "log_likelihood", "network_codes", "posteriors"]


def posteriors(
    net: Network, table: Table, target: str, *, memory_limit: float = MEMORY_LIMIT
) -> Floats:
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
    _check_columns(net, table, [target])
    if not net.is_discrete:
        return mixed_posteriors(
            net, _mixed_columns(net, table, [target]), table.n_rows, target, memory_limit
        )
    columns = network_codes(net, table, without=(target,))
    blanket = net.dag.markov_blanket(target)
    answer = np.zeros((table.n_rows, net.variables[target].n_states))
    is_covered = np.full(table.n_rows, all(name in columns for name in blanket))
    for name in blanket & set(columns):
        is_covered &= columns[name] >= 0
    covered, others = np.flatnonzero(is_covered), np.flatnonzero(~is_covered)
    if covered.size:
        known = {name: columns[name] for name in columns if name in blanket}
        answer[covered] = _by_blanket(net, target, _rows(known, covered), len(covered))
    if others.size:
        part = _relevant(net, [target, *columns])
        tree = JunctionTree.of(part, last=[target], memory_limit=memory_limit)
        batch, ranks = _each_once(tree, _rows(columns, others), len(others))
        answer[others] = batch.posteriors(target)[ranks]
    return answer


def log_likelihood(net: Network, table: Table, *, memory_limit: float = MEMORY_LIMIT) -> Floats:
    """Log probability of what each row records; minus infinity if it is impossible.

    Missing values are summed out, and so is the source if the table has none. A source that the
    network does not know is its state ``new_source`` if it has that, and summed out otherwise. The
    weights of the rows are not applied. A table that lacks the column of another node is refused:
    if it was never recorded, ``cs.read(..., schema=net.variables)`` says so. With values of
    continuous variables it is the log of a density. Rows that leave several continuous parents of
    logistic nodes unknown are estimated, each by 2,000 draws from the same seed.
    """
    _check_columns(net, table, [])
    if not net.is_discrete:
        return mixed_log_likelihood(net, _mixed_columns(net, table), table.n_rows, memory_limit)
    columns = network_codes(net, table)
    is_complete = np.full(table.n_rows, len(columns) == len(net.tables))
    for column in columns.values():
        is_complete &= column >= 0
    complete, others = np.flatnonzero(is_complete), np.flatnonzero(~is_complete)
    answer = np.zeros(table.n_rows)
    if complete.size:
        answer[complete] = _of_complete_rows(net, _rows(columns, complete))
    if others.size and columns:
        tree = JunctionTree.of(_relevant(net, list(columns)), memory_limit=memory_limit)
        batch, ranks = _each_once(tree, _rows(columns, others), len(others))
        answer[others] = batch.log_evidence()[ranks]
    return answer


def expected_counts(
    net: Network, table: Table, *, memory_limit: float = MEMORY_LIMIT
) -> dict[str, Floats]:
    """For each node, the sum over rows of the posterior of its family, in the shape of its table.

    A row counts with its weight. These are the statistics of EM; with nothing missing they are
    counts. A source that the network does not know is its state ``new_source`` if it has that, and
    missing otherwise.

    Raises
    ------
    ImpossibleEvidenceError
        If a row has probability zero; the message names it.
    """
    discrete_only("expected_counts", net)
    _check_columns(net, table, [])
    if table.n_rows == 0:
        return {name: np.zeros(local.table.shape) for name, local in net.tables.items()}
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
    tree = JunctionTree.of(net, memory_limit=memory_limit)
    batch, ranks = _each_once(tree, network_codes(net, table), table.n_rows)
    summed: Floats = np.bincount(ranks, weights, minlength=batch.n_rows).astype(float)
    counts, log_evidence = batch.expected_counts(summed)
    impossible = np.isneginf(log_evidence) & (summed > 0)
    if impossible.any():
        row = int(np.flatnonzero(impossible[ranks])[0]) + 1
        raise ImpossibleEvidenceError(f"row {row} has probability zero under the network.", row=row)
    return counts


def _check_columns(net: Network, table: Table, not_needed: Collection[str]) -> None:
    """Refuse a table that lacks a node: a misspelt column must not be summed out silently."""
    if not isinstance(table, Table):
        raise InputError(
            f"rows must be a Table, got a {type(table).__name__}: cs.read(...) makes one."
        )
    for name in net.variables:
        if name not in table.schema and name != net.source and name not in not_needed:
            raise DataError(
                f"the table has no column {name!r}, which is a node of the network; it has "
                f"{_check.listed(table.variables)}. If it was never recorded, read the rows with "
                "schema=net.variables, which makes it missing.",
                column=name,
            )


def network_codes(net: Network, table: Table, without: Collection[str] = ()) -> dict[str, Codes]:
    """Codes of the nodes that the table records, in the states of the network."""
    return {
        name: (source_codes if name == net.source else aligned_codes)(table, variable)
        for name, variable in net.variables.items()
        if name in table.schema and name not in without
    }


def _mixed_columns(net: Network, table: Table, without: Collection[str] = ()) -> dict[str, Column]:
    """Codes of the discrete and values of the continuous nodes that the table records."""
    columns: dict[str, Column] = {}
    for name, variable in net.variables.items():
        if name not in table.schema or name in without:
            continue
        if variable.is_continuous:
            columns[name] = _values(table, name)
        else:
            read = source_codes if name == net.source else aligned_codes
            columns[name] = read(table, variable)
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


def _rows(columns: Mapping[str, Codes], rows: Integers) -> dict[str, Codes]:
    return {name: column[rows] for name, column in columns.items()}


def _relevant(net: Network, names: Sequence[str]) -> Network:
    """The network of these nodes and their ancestors."""
    kept = {*names, *net.dag.ancestors(names)}
    if len(kept) == len(net.tables):
        return net
    return Network.of([local for name, local in net.tables.items() if name in kept])


def _by_blanket(net: Network, target: str, blanket: Mapping[str, Codes], n_rows: int) -> Floats:
    """Posteriors by the states of the blanket: of each joint state once, if there are fewer."""
    sizes = [net.variables[name].n_states for name in blanket]
    n_joint = math.prod(sizes)
    if not blanket or n_joint > n_rows:
        return _given_blanket(net, target, blanket)
    states = np.array(np.unravel_index(np.arange(n_joint), sizes), np.int32)
    each = _given_blanket(net, target, dict(zip(blanket, states, strict=True)))
    return each[_joint_code(net, list(blanket), blanket)]


def _given_blanket(net: Network, target: str, columns: Mapping[str, Codes]) -> Floats:
    families = [target, *net.dag.children(target)]
    log_weight = reduce(np.add, (_log_rows(net, name, target, columns) for name in families))
    largest = log_weight.max(axis=1, keepdims=True)
    weight = np.where(largest > -np.inf, np.exp(log_weight - np.maximum(largest, -1e300)), 0.0)
    total = weight.sum(axis=1, keepdims=True)
    return np.divide(weight, total, out=weight, where=total > 0)


def _log_rows(net: Network, name: str, target: str, columns: Mapping[str, Codes]) -> Floats:
    """Log of a family's table at each row's states, for every state of the target."""
    axes = (*net.tables[name].parents, name)
    others = [axis for axis in axes if axis != target]
    with np.errstate(divide="ignore"):
        log_table = np.log(np.moveaxis(net.tables[name].table, axes.index(target), -1))
    code = _joint_code(net, others, columns)
    return log_table.reshape(-1, log_table.shape[-1])[code]


def _of_complete_rows(net: Network, columns: Mapping[str, Codes]) -> Floats:
    total = np.zeros(len(next(iter(columns.values()))))
    for name, local in net.tables.items():
        with np.errstate(divide="ignore"):
            log_table = np.log(local.table.ravel())
        total += log_table[_joint_code(net, (*local.parents, name), columns)]
    return total


def _joint_code(net: Network, names: Sequence[str], columns: Mapping[str, Codes]) -> Integers:
    n_rows = len(next(iter(columns.values()))) if columns else 1
    code = np.zeros(n_rows, np.int64)
    for name in names:
        code = code * net.variables[name].n_states + columns[name]
    return code


def _each_once(
    tree: JunctionTree, columns: Mapping[str, Codes], n_rows: int
) -> tuple[Batch, Integers]:
    """A batch of the rows that differ, and for each row which of them is its like."""
    coded = ((column, tree.n_states[name]) for name, column in columns.items())
    first, ranks = rows_alike(coded, n_rows)
    return Batch(tree, _rows(columns, first), len(first)), ranks
