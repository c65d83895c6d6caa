r"""Filling the gaps of a table by a network.

The single best guess of a row is its most probable joint completion,

.. math:: \hat z = \arg\max_z P(z \mid x),

good for looking at and for feeding a program that takes no gaps; but a table filled so looks surer
than it is, and rare states become rarer. What is computed from completed tables needs several,
drawn at random from :math:`P(z \mid x)`. If their network is one point estimate, they still all
believe the same parameters, and intervals pooled from them (:mod:`consilience.incomplete.rubin`)
are too narrow. *Proper* imputations draw the parameters too,

.. math:: \theta^{(i)} \sim P(\theta \mid x), \qquad z^{(i)} \sim P(z \mid x, \theta^{(i)}),

which is what an :class:`Augmentation` in place of the network does.

Of a column that the network has cut into intervals the table may hold the numbers. They stay, and a
gap gets a number of the interval that was found (:mod:`consilience.incomplete.cut_numbers`).

References
----------
D. Rubin (1987). Multiple Imputation for Nonresponse in Surveys, chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Bools, Column, Seed
from consilience.data.door import Rows, as_rows_of
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.incomplete.augmentation import Augmentation
from consilience.incomplete.cut_numbers import fill_numbers, recorded_numbers
from consilience.inference.completion import completed
from consilience.inference.ways import Exact, exact_of
from consilience.network.network import Network

__all__ = ["Imputation", "impute"]


@dataclass(frozen=True, slots=True, eq=False)
class Imputation:
    """Completed tables, and how much of them was filled in.

    Attributes
    ----------
    tables
        The completed tables: one of best guesses, or as many random ones as were asked for.
        Recorded values stand as they stood, the rows in their order.
    n_filled
        For each column, the number of values that were filled in.
    n_left
        For each column that is no node of the network, the number of gaps that are still there.
    notes
        What to know about the tables, one sentence each.
    """

    tables: tuple[Table, ...]
    n_filled: Mapping[str, int]
    n_left: Mapping[str, int]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def table(self) -> Table:
        """The first table: the only one, unless several were drawn."""
        return self.tables[0]

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        n_filled = sum(self.n_filled.values())
        what = "1 table" if len(self.tables) == 1 else f"{len(self.tables)} tables"
        return f"Imputation({what}, {n_filled:,} values filled in each)"


def impute(
    model: Network | Augmentation,
    table: Rows,
    *,
    draws: int | None = None,
    seed: Seed = None,
    by: Exact | None = None,
) -> Imputation:
    """The table with its gaps filled: best guesses, or several random completions.

    Each row is completed jointly, so that what is filled in fits together; a value that the table
    records is never touched. A row counts once whatever its weight.

    Parameters
    ----------
    model
        A network, or the draws of :func:`consilience.gaps.augment`: then each table is completed
        by a network of its own, as intervals need that are to be honest.
    table
        Its columns are nodes of the network; others are left as they are. A node that the table
        lacks becomes a column. Of a frame or a file the columns that are nodes are read, as the
        network knows them.
    draws
        How many tables to complete at random; if not given, one table with the most probable joint
        completion of each row.
    seed
        An int, a NumPy generator, or None for fresh entropy.
    by
        How rows are answered: ``cs.inference.Exact(memory_limit=...)``.

    Examples
    --------
    >>> import consilience as cs
    >>> cold, cough = cs.Variable("cold", ("no", "yes")), cs.Variable("cough", ("no", "yes"))
    >>> net = cs.Network.of([
    ...     cs.Categorical(cold, (), [0.8, 0.2]),
    ...     cs.Categorical(cough, (cold,), [[0.9, 0.1], [0.2, 0.8]]),
    ... ])
    >>> rows = cs.read({"cold": [None, "no", None], "cough": ["yes", None, None]},
    ...     schema=net.variables)
    >>> found = cs.impute(net, rows)  # P(cold | cough) = 0.16 / (0.16 + 0.08)
    >>> found.table.to_frame().values.tolist()
    [['yes', 'yes'], ['no', 'no'], ['no', 'no']]
    >>> dict(found.n_filled)
    {'cold': 2, 'cough': 2}
    """
    if draws is not None:
        _check.whole("impute", at_least=1, draws=draws)
    networks, notes = _networks(model, draws)
    net = networks[0]
    table = as_rows_of(net.variables, net.source, table)
    known = set(net.variables) & {*table.variables, *([table.source] if table.source else [])}
    if not known:
        raise InputError(
            f"no column of the table is a node of the network; its nodes are "
            f"{_check.listed(net.variables)}."
        )
    limit = exact_of(by).memory_limit
    rng = None if draws is None else _check.generator(seed)
    filled = [_filled(net, table, _completed(one, table, rng, limit), rng) for one in networks]
    n_missing = {name: int(_is_missing(table, name).sum()) for name in table.variables}
    nodes = _nodes(net, table)
    return Imputation(
        tuple(filled),
        {name: n_missing.get(name, table.n_rows) for name in sorted(nodes, key=_place(table))},
        {name: n for name, n in n_missing.items() if name not in nodes},
        (*notes, *_note_on_numbers(net, table, rng)),
    )


def _networks(
    model: Network | Augmentation, draws: int | None
) -> tuple[Sequence[Network], tuple[str, ...]]:
    """The network that completes each table."""
    if isinstance(model, Augmentation):
        if draws is None:
            return [model.network], ("Most probable completions under the posterior mean.",)
        return model.networks(draws), (
            "Each table was completed by parameters of its own, drawn from their posterior.",
        )
    if not isinstance(model, Network):
        raise InputError(
            f"model must be a Network or what cs.gaps.augment gives, got a {type(model).__name__}.",
            parameter="model",
        )
    if draws is None:
        return [model], ("Most probable completions: the table looks surer than it is.",)
    return [model] * draws, (
        "All tables were completed by the same parameters, so intervals pooled from them are too "
        "narrow; give what cs.gaps.augment gives instead of a network.",
    )


def _completed(
    net: Network, table: Table, rng: np.random.Generator | None, memory_limit: float
) -> Mapping[str, Column]:
    """The completed columns; an impossible row is named."""
    try:
        return completed(net, table, rng, memory_limit=memory_limit)
    except ImpossibleEvidenceError as problem:
        row = problem.culprits["row"]
        message = f"row {row} has probability zero under the network and cannot be completed."
        raise ImpossibleEvidenceError(message, row=row) from problem


def _nodes(net: Network, table: Table) -> list[str]:
    """The nodes that become columns: all but the source."""
    return [name for name in net.variables if name not in (net.source, table.source)]


def _place(table: Table) -> Callable[[str], int]:
    """The place of a column in the table; new ones come last."""
    places = {name: place for place, name in enumerate(table.variables)}
    return lambda name: places.get(name, len(places))


def _filled(
    net: Network, table: Table, found: Mapping[str, Column], rng: np.random.Generator | None
) -> Table:
    """The table with the gaps of its columns filled from these, in the network's states.

    Numbers of a column that the network has cut stay numbers.
    """
    variables, columns = dict(table.variables), dict(table.columns)
    for name in _nodes(net, table):
        node = net.variables[name]
        if (numbers := recorded_numbers(table, node)) is not None:
            columns[name] = fill_numbers(numbers, found[name], node, rng)
            variables[name] = Variable(name)
            continue
        if name in columns and variables[name].states == node.states:
            columns[name] = np.where(_is_missing(table, name), found[name], columns[name])
        else:  # a new column, or one whose states are a part of the network's
            variables[name], columns[name] = node, found[name]
        kind = np.float64 if node.is_continuous else code_type(node.n_states)
        columns[name] = columns[name].astype(kind)
    origins = {**table.origins, **{n: "filled in" for n in columns if n not in table.columns}}
    schema = Schema(variables, table.schema.source)
    return Table(schema, columns, table.source_codes, table.weights, origins)


def _note_on_numbers(
    net: Network, table: Table, rng: np.random.Generator | None
) -> tuple[str, ...]:
    """What was done about gaps among numbers that the network has cut."""
    nodes = [net.variables[name] for name in _nodes(net, table) if name in table.variables]
    cut = [
        node.name
        for node in nodes
        if recorded_numbers(table, node) is not None and _is_missing(table, node.name).any()
    ]
    if not cut:
        return ()
    how = "the middle one" if rng is None else "one drawn at random"
    return (
        f"The network has cut {_check.listed(cut)} into intervals; a gap there has a number that "
        f"the table records in the interval found: {how}.",
    )


def _is_missing(table: Table, name: str) -> Bools:
    column = table.columns[name]
    return np.isnan(column) if table.variables[name].is_continuous else column < 0
