r"""Sources made to differ without any of them becoming easier or harder: states change their names.

Source :math:`f` calls the states of feature :math:`i` by names shifted by :math:`k_{if}`,

.. math:: x'_i = (x_i + k_{if}) \bmod r_i, \qquad k_{i0} = 0, \quad k_{if} \in \{1, \dots, r_i - 1\}

and the tables of the feature and of its children follow. The joint distribution of each source is
the image of the old one under a bijection, so everything about one source is exactly what it was:
the posterior of the class for the relabelled row, the accuracy of the best classifier, the
information between class and features. Only what the sources have in common becomes less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Codes, Integers, Seed
from consilience.data.align import aligned_codes
from consilience.data.door import Rows, as_rows_of
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import DataError
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.simulate.divergence import check_delta, check_target, source_of

__all__ = ["Relabeling", "permute_states"]


@dataclass(frozen=True, slots=True, eq=False)
class Relabeling:
    """A network whose sources name states differently, and how.

    Parameters
    ----------
    network
        The network after the change.
    shifts
        For each relabelled feature, by how many places each source shifts its states.
    """

    network: Network
    shifts: Mapping[str, Integers]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def relabel(self, table: Rows) -> Table:
        """Rows of the old network as the new one would name them; missing values stay missing.

        A row has the same probability and the same posteriors before and after.
        """
        table = as_rows_of(self.network.variables, self.network.source, table)
        source = self.network.variables[str(self.network.source)]
        if table.source != source.name:
            raise DataError(
                f"the rows must have the source {source.name!r}, got {table.source!r}.",
                source=table.source,
            )
        sources = aligned_codes(table, source)
        columns, variables = dict(table.columns), dict(table.variables)
        for name, shift in self.shifts.items():
            if name in columns:
                variables[name] = self.network.variables[name]
                codes = aligned_codes(table, variables[name])
                columns[name] = _shifted(codes, shift[sources], variables[name])
        schema = Schema(variables, table.schema.source)
        return Table(schema, columns, table.source_codes, table.weights, table.origins)


def permute_states(
    net: Network, delta: float, *, target: str | None = None, seed: Seed = None
) -> Relabeling:
    """The network in which the share ``delta`` of the features is relabelled in all sources but
    the first.

    One seed gives one order of the features and one set of shifts, so that the features relabelled
    at a small ``delta`` are relabelled in the same way at a larger one.

    Parameters
    ----------
    net
        A network with a source. A node that is relabelled, or has a relabelled parent, gets the
        source as its first parent if it does not have it yet.
    delta
        From 0 to 1; the number of features is rounded, halves upwards. Features of one state do not
        count.
    target
        A node that keeps the names of its states, such as the class of a classifier.
    seed
        An int, a NumPy generator, or None for fresh entropy.
    """
    source = source_of("permute_states", net)
    check_delta("permute_states", delta)
    check_target(net, target)
    shifts = _shifts(net, delta, (source, target), _check.generator(seed))
    local = [_relabeled(each, net.variables[source], shifts) for each in net.tables.values()]
    record = Record(method=f"permute_states(delta={delta:g})")
    return Relabeling(Network.of(local, source=source, record=record), shifts)


def _shifts(
    net: Network, delta: float, kept: tuple[str | None, ...], rng: np.random.Generator
) -> dict[str, Integers]:
    n_sources = net.variables[str(net.source)].n_states
    sizes = {
        name: variable.n_states
        for name, variable in net.variables.items()
        if name not in kept and variable.n_states > 1
    }
    order = rng.permutation(len(sizes))
    shifts = {name: rng.integers(1, r, size=n_sources) for name, r in sizes.items()}
    names = list(sizes)
    chosen = {names[i] for i in order[: int(delta * len(names) + 0.5)]}
    for shift in shifts.values():
        shift[0] = 0
    return {name: shift for name, shift in shifts.items() if name in chosen}


def _relabeled(local: Categorical, source: Variable, shifts: Mapping[str, Integers]) -> Categorical:
    names = (*local.parents, local.child.name)
    if not any(name in shifts for name in names):
        return local
    given, table = local.given, local.table
    if source.name not in local.parents:
        given = (source, *given)
        names = (source.name, *names)
        table = np.broadcast_to(table, (source.n_states, *table.shape))
    axis = names.index(source.name)
    others = [name for name in names if name != source.name]
    steps = [shifts.get(name, np.zeros(source.n_states, np.int64)) for name in others]
    by_source = [
        np.roll(rows, [int(step[f]) for step in steps], axis=tuple(range(rows.ndim)))
        for f, rows in enumerate(np.moveaxis(table, axis, 0))
    ]
    return Categorical(local.child, given, np.stack(by_source, axis=axis))


def _shifted(codes: Codes, shift: Integers, variable: Variable) -> Codes:
    moved = np.where(codes < 0, -1, (codes + shift) % variable.n_states)
    return moved.astype(code_type(variable.n_states))
