r"""The unit and the zero that columns of regressions are measured by, hidden ones included.

A recorded column has its mean and its sd. Of a hidden continuous node nothing is recorded; but if
a coefficient :math:`b` of a recorded child is known, values of the node lie where
:math:`(y - a) / b` does, with :math:`a` the intercept if that is known too. A node without such a
child follows from a hidden child that has a unit. All others have the unit one: their children's
coefficients adapt to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats
from consilience.data.table import Table
from consilience.dynamic.fit_plan import FitPlan
from consilience.dynamic.lagged_names import split_lag
from consilience.dynamic.timeline import Families
from consilience.incomplete.hidden import continuous_of
from consilience.parameters.known_numbers import Known

__all__ = ["Scale", "Scales", "in_units", "units_of"]


class Scale(NamedTuple):
    """Where the values of a column lie, and how far apart; the unit is positive."""

    center: float
    unit: float


class Scales:
    """Centers and units of the columns of all regressions, by name."""

    def __init__(self, families: Families, columns: Mapping[str, Scale]) -> None:
        found: dict[str, Scale] = {}
        for key, local in families.regressions.items():
            for variable in (*local.continuous, local.child):
                found[variable.name] = columns[_base(variable.name, columns)]
            found[key] = found[local.child.name]
        self.names = tuple(found)
        self.centers = np.array([one.center for one in found.values()])
        self.spreads = np.array([one.unit for one in found.values()])


def units_of(plan: FitPlan) -> dict[str, Scale]:
    """The scale of every continuous column of a panel, hidden ones by what is known."""
    rows = plan.panel.rows
    hidden = continuous_of(plan.hidden, rows.variables)
    found = {
        name: _recorded(rows.column(name))
        for name, variable in rows.variables.items()
        if variable.is_continuous and name not in hidden
    }
    waiting = list(hidden)
    while waiting:
        told = {name: list(_shown_by(name, plan, hidden, found)) for name in waiting}
        ready = {
            name: min(scales, key=lambda one: one.unit) for name, scales in told.items() if scales
        }
        if not ready:
            return found | dict.fromkeys(waiting, Scale(0.0, 1.0))
        found |= ready
        waiting = [name for name in waiting if name not in ready]
    return found


def in_units(
    table: Table, units: Mapping[str, Scale], hidden: tuple[str, ...], *, is_centered: bool
) -> Table:
    """The table with the values of hidden continuous nodes, of unit one around zero, in units:
    where they lie or, not ``is_centered``, around zero and as far as they lie from it.
    """
    columns = dict(table.columns)
    for name in continuous_of(hidden, table.variables):
        center, unit = units[name]
        if is_centered:
            columns[name] = center + unit * columns[name]
        else:
            columns[name] = np.hypot(center, unit) * columns[name]
    return replace(table, columns=columns)


def _recorded(column: Floats) -> Scale:
    known = column[~np.isnan(column)]
    if not known.size:
        return Scale(0.0, 1.0)
    center, spread = float(known.mean()), float(known.std())
    return Scale(center, spread or abs(center) or 1.0)


def _shown_by(
    name: str, plan: FitPlan, hidden: tuple[str, ...], found: Mapping[str, Scale]
) -> Iterator[Scale]:
    """What the children with a scale say about that of a hidden node."""
    for child in plan.nodes:
        known = plan.known.get(child)
        if child == name or child not in found or known is None:
            continue
        others = {split_lag(parent)[0] for parent in plan.parents[child]} & set(hidden)
        for parent, coefficient in (known.coefficients or {}).items():
            slope = np.abs(np.asarray(coefficient, float)).max()
            if split_lag(parent)[0] == name and slope > 0:
                is_seen = child not in hidden and len(others) == 1
                center = _center(known, found[child], coefficient) if is_seen else 0.0
                yield Scale(center, found[child].unit / float(slope))


def _center(known: Known, child: Scale, coefficient: object) -> float:
    """Where a hidden node lies if it alone tells its child."""
    slope = float(np.mean(np.asarray(coefficient, float)))
    if known.intercept is None or slope == 0:
        return 0.0
    return (child.center - float(np.mean(np.asarray(known.intercept, float)))) / slope


def _base(node: str, columns: Mapping[str, Scale]) -> str:
    """The column of a node such as ``x``, ``x(t-1)`` or ``x(0)``."""
    return node if node in columns else node.rsplit("(", 1)[0]
