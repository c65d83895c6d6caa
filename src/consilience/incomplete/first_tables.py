r"""Tables for EM to start from: estimates of what was seen, or random ones around them.

The first start has the estimates from the rows complete for each family, mixed with a tenth of the
uniform distribution, so that nothing is impossible. Random starts multiply every cell by an
exponential random number and normalise the rows,

.. math:: \theta_{jk} \propto m_k E_{jk}, \qquad E_{jk} \sim \mathrm{Exp}(1),

where :math:`m` is the estimate, or for the families of hidden nodes, which no row is complete for,
the share of the child's states; a hidden node itself starts nearer to the uniform distribution.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.distributions import LinearGaussian
from consilience.errors import DataError, GraphError, InputError
from consilience.network.network import Network
from consilience.parameters.fit_record import Statistics
from consilience.parameters.fitting import FitTask
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine

__all__ = [
    "check_start",
    "first_tables",
    "labelled",
    "like",
    "random_start",
    "template",
    "with_smoothed_tables",
]

TRIES = 20
UNIFORM_SHARE = 0.1
EVENNESS_OF_HIDDEN = 5.0
"""Shape of the gamma numbers that a hidden node's table starts from."""


def first_tables(net: Network, start: Network | None) -> dict[str, Floats]:
    """The tables of a network to start from, or smoothed estimates.

    The source has the table of ``net``. In the network to start from, parents may stand in another
    order.
    """
    found = {}
    for name, local in net.tables.items():
        if name == net.source:
            found[name] = local.table
        elif start is None:
            found[name] = smoothed(local.table)
        else:
            mine = start.tables[name]
            order = [mine.parents.index(parent) for parent in local.parents]
            found[name] = mine.table.transpose([*order, len(order)])
    return found


def template(task: FitTask, seen: Statistics, hidden: Sequence[str]) -> Network:
    """A network of the graph, estimated from the complete rows.

    If regressions cannot be, since no row has a value of a hidden node, from rows in which hidden
    nodes were given states.
    """
    try:
        return task.plain_network(seen)
    except DataError:
        if not hidden:
            raise
    table, rng = _rows_of(task.engine), np.random.default_rng(0)
    for _ in range(TRIES):
        some = replace(task, engine=engine_of(labelled(table, hidden, rng)))
        try:
            return some.plain_network(some.statistics())
        except DataError:  # a state with too few rows
            continue
    raise DataError(
        f"regressions could not be fitted to any states of the hidden {_check.listed(hidden)}: "
        "there are too few rows. Use fewer states or parents."
    )


def random_start(
    task: FitTask, net: Network, hidden: Sequence[str], *, rng: np.random.Generator
) -> Network:
    """A network to start from at random; the source stays as it is.

    If there are regressions, all is fitted to rows whose hidden nodes were given states
    (:func:`labelled`), or to rows drawn with replacement if nothing is hidden.
    """
    if not net.regressions:
        return with_tables(net, random_tables(task.engine, net, hidden, rng))
    table = _rows_of(task.engine)
    if hidden:
        some = labelled(table, hidden, rng)
    else:
        some = table.take(rng.integers(0, table.n_rows, table.n_rows))
    again = replace(task, engine=engine_of(some))
    return with_smoothed_tables(again.plain_network(again.statistics()))


def random_tables(
    engine: Engine, net: Network, hidden: Sequence[str], rng: np.random.Generator
) -> dict[str, Floats]:
    """Random tables around the estimates; the table of the source stays as it is."""
    found = {}
    touched = [
        name
        for name, local in net.tables.items()
        if name not in (*hidden, net.source) and set(local.parents) & set(hidden)
    ]
    shares = _shares(engine, touched)
    for name, local in net.tables.items():
        if name == net.source:
            found[name] = local.table
            continue
        if name in hidden:
            cells = rng.gamma(EVENNESS_OF_HIDDEN, size=local.table.shape)
        else:
            around = shares[name] if name in shares else smoothed(local.table)
            cells = around * rng.exponential(size=local.table.shape)
        found[name] = cells / cells.sum(axis=-1, keepdims=True)
    return found


def labelled(table: Table, hidden: Sequence[str], rng: np.random.Generator) -> Table:
    """The table with values of the hidden nodes put in: states of the random row that is nearest.

    For each hidden node as many rows as it has states are drawn, and every row takes the state of
    the nearest of them: continuous columns in units of their sd, a state that differs counts one,
    and what one of the two rows lacks counts nothing. A continuous one gets a random combination of
    the continuous columns in units of their sds, and noise.
    """
    columns = dict(table.columns)
    for name in hidden:
        if table.variables[name].is_continuous:
            columns[name] = _combination(table, hidden, rng)
            continue
        centers = rng.choice(table.n_rows, table.variables[name].n_states)
        distances = [_distances(table, int(row), hidden) for row in centers]
        columns[name] = np.argmin(distances, axis=0).astype(table.columns[name].dtype)
    return Table(table.schema, columns, table.source_codes, table.weights, table.origins)


def _combination(table: Table, hidden: Sequence[str], rng: np.random.Generator) -> Floats:
    """A random combination of what is known of the continuous columns, half of it noise."""
    total, n = np.zeros(table.n_rows), 0
    for name, column in table.columns.items():
        if name not in hidden and table.variables[name].is_continuous:
            known = column[np.isfinite(column)]
            if len(known) and known.std() > 0:
                total += rng.normal() * np.nan_to_num((column - known.mean()) / known.std())
                n += 1
    spread = float(total.std()) if n else 0.0
    return np.asarray((total / spread if spread > 0 else 0.0) + rng.normal(size=table.n_rows))


def _distances(table: Table, row: int, hidden: Sequence[str]) -> Floats:
    total = np.zeros(table.n_rows)
    for name, column in table.columns.items():
        if name in hidden:
            continue
        if table.variables[name].is_continuous:
            known = column[np.isfinite(column)]
            spread = float(known.std()) if len(known) else 0.0
            spread = spread if spread > 0 else 1.0
            total += np.nan_to_num(((column - column[row]) / spread) ** 2)
        else:
            total += (column != column[row]) & (column >= 0) & (column[row] >= 0)
    return total


def smoothed(table: Floats) -> Floats:
    """The table mixed with a tenth of the uniform distribution."""
    return (1.0 - UNIFORM_SHARE) * table + UNIFORM_SHARE / table.shape[-1]


def with_smoothed_tables(net: Network) -> Network:
    """The network with its tables smoothed; regressions stay as they are."""
    return with_tables(net, first_tables(net, None))


def like(net: Network, start: Network) -> Network:
    """The numbers of a network to start from, in the order of variables that another one has."""
    regressions = {}
    for name, local in net.regressions.items():
        mine = start.regressions[name]
        order = [mine.discrete.index(start.variables[v.name]) for v in local.discrete]
        columns = [mine.continuous.index(v) for v in local.continuous]
        regressions[name] = LinearGaussian(
            local.child,
            local.given,
            mine.intercept.transpose(order),
            mine.coefficients.transpose([*order, len(order)])[..., columns],
            mine.sd.transpose(order),
        )
    found = with_tables(net, first_tables(net, start))
    return Network({**found.distributions, **regressions}, net.source)


def with_tables(net: Network, tables: Mapping[str, Floats]) -> Network:
    """The network with these numbers in its tables."""
    changed = {name: net.tables[name].with_parameters(table) for name, table in tables.items()}
    return Network({**net.distributions, **changed}, net.source)


def _shares(engine: Engine, names: Sequence[str]) -> dict[str, Floats]:
    """Smoothed shares of the states of some variables."""
    found = {}
    for one in count(engine, [Family(name) for name in names]) if names else []:
        counts = one.values[0, 0] + 1.0
        found[one.child.name] = np.asarray(counts / counts.sum(), float)
    return found


def _rows_of(engine: Engine) -> Table:
    """The rows themselves, which random starts of regressions need."""
    if not isinstance(engine, Memory):
        raise InputError(
            "random starts of a network with continuous nodes are fitted to rows in memory, which "
            f"{type(engine).__name__} has not. Give a network to start from (start=), or a table.",
            parameter="rows",
        )
    return engine.table


def check_start(
    start: Network,
    families: Mapping[str, Sequence[str]],
    schema: Schema,
    hidden: Collection[str],
) -> None:
    """Refuse a network to start from that has other families or other states.

    Parameters
    ----------
    start
        The network.
    families
        For each node but the source its parents.
    schema
        The variables of the rows.
    hidden
        Nodes whose states have no names of their own: only their number matters.
    """
    if not isinstance(start, Network):
        raise InputError(f"em: start must be a Network, got {start!r}.", parameter="start")
    for name, parents in families.items():
        if name not in start.distributions or set(start[name].parents) != set(parents):
            raise GraphError(
                f"em: the network to start from must have the same families; that of {name!r} "
                f"must have the parents {_check.listed(parents) or 'none'}.",
                node=name,
            )
        mine, wanted = start.variables[name], schema[name]
        if name in hidden and mine.states and mine.n_states == wanted.n_states:
            continue
        if mine.states != wanted.states:
            raise InputError(
                f"em: in the network to start from {name!r} has the states "
                f"{_check.listed(mine.states or ['none: it is continuous'])}; in the rows it has "
                f"{_check.listed(wanted.states or ['none: it is continuous'])}.",
                variable=name,
            )
