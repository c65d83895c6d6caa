r"""Tables for EM to start from: estimates of what was seen, or random ones around them.

The first start has the estimates from the rows complete for each family, mixed with a tenth of the
uniform distribution, so that nothing is impossible. Random starts multiply every cell by an
exponential random number and normalise the rows,

.. math:: \theta_{jk} \propto m_k E_{jk}, \qquad E_{jk} \sim \mathrm{Exp}(1),

where :math:`m` is the estimate, or for the families of hidden nodes, which no row is complete for,
the share of the child's states; a hidden node itself starts nearer to the uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience._typing import Floats
from consilience.data.table import Table
from consilience.distributions.categorical import Categorical
from consilience.errors import GraphError, InputError
from consilience.network.network import Network

__all__ = ["first_tables", "labelled", "random_tables", "with_smoothed_tables"]

UNIFORM_SHARE = 0.1
EVENNESS_OF_HIDDEN = 5.0
"""Shape of the gamma numbers that a hidden node's table starts from."""


def first_tables(net: Network, start: Network | None) -> dict[str, Floats]:
    """The tables of a network to start from, or smoothed estimates."""
    if start is not None:
        _check_start(net, start)
        return {name: local.table for name, local in start.tables.items()}
    return {name: smoothed(local.table) for name, local in net.tables.items()}


def random_tables(
    table: Table, net: Network, hidden: Sequence[str], rng: np.random.Generator
) -> dict[str, Floats]:
    """Random tables around the estimates; the table of the source stays as it is."""
    found = {}
    for name, local in net.tables.items():
        if name == net.source:
            found[name] = local.table
            continue
        if name in hidden:
            cells = rng.gamma(EVENNESS_OF_HIDDEN, size=local.table.shape)
        else:
            is_touched = any(parent in hidden for parent in local.parents)
            around = _shares(table, name) if is_touched else smoothed(local.table)
            cells = around * rng.exponential(size=local.table.shape)
        found[name] = cells / cells.sum(axis=-1, keepdims=True)
    return found


def labelled(table: Table, hidden: Sequence[str], rng: np.random.Generator) -> Table:
    """The table with states of the hidden nodes put in: of the random row that is nearest.

    For each hidden node as many rows as it has states are drawn, and every row takes the state of
    the nearest of them: continuous columns in units of their sd, a state that differs counts one,
    and what one of the two rows lacks counts nothing.
    """
    columns = dict(table.columns)
    for name in hidden:
        centers = rng.choice(table.n_rows, table.variables[name].n_states)
        distances = [_distances(table, int(row), hidden) for row in centers]
        columns[name] = np.argmin(distances, axis=0).astype(table.columns[name].dtype)
    return Table(table.schema, columns, table.source_codes, table.weights, table.origins)


def _distances(table: Table, row: int, hidden: Sequence[str]) -> Floats:
    total = np.zeros(table.n_rows)
    for name, column in table.columns.items():
        if name in hidden:
            continue
        if table.variables[name].is_continuous:
            spread = np.nanstd(column) or 1.0
            total += np.nan_to_num(((column - column[row]) / spread) ** 2)
        else:
            total += (column != column[row]) & (column >= 0) & (column[row] >= 0)
    return total


def smoothed(table: Floats) -> Floats:
    """The table mixed with a tenth of the uniform distribution."""
    return (1.0 - UNIFORM_SHARE) * table + UNIFORM_SHARE / table.shape[-1]


def with_smoothed_tables(net: Network) -> Network:
    """The network with its tables smoothed; regressions stay as they are."""
    return Network.of(
        [
            local if not isinstance(local, Categorical) or name == net.source else _smooth(local)
            for name, local in net.distributions.items()
        ],
        source=net.source,
    )


def _smooth(local: Categorical) -> Categorical:
    return Categorical(local.child, local.given, smoothed(local.table))


def _shares(table: Table, name: str) -> Floats:
    """Smoothed shares of the states of a variable."""
    column, n_states = table.column(name), table.variables[name].n_states
    counts = np.bincount(column[column >= 0], minlength=n_states) + 1.0
    return np.asarray(counts / counts.sum(), float)


def _check_start(net: Network, start: Network) -> None:
    if not isinstance(start, Network):
        raise InputError(f"em: start must be a Network, got {start!r}.", parameter="start")
    for name, local in net.tables.items():
        if name not in start.tables or start.tables[name].parents != local.parents:
            raise GraphError(
                f"em: the network to start from must have the same families; that of {name!r} "
                "differs.",
                node=name,
            )
        if start.tables[name].table.shape != local.table.shape:
            raise InputError(
                f"em: in the network to start from the table of {name!r} has the shape "
                f"{start.tables[name].table.shape}; {local.table.shape} is wanted.",
                variable=name,
            )
