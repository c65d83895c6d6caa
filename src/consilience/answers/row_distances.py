r"""The verb :func:`arc_strengths`: how much the distribution of a node depends on each parent.

.. math:: \text{strength}(p \to x) = \operatorname*{mean}_{o}\;
    \operatorname*{mean}_{i < j}\; H\bigl(P(x \mid p = i, o),\, P(x \mid p = j, o)\bigr), \qquad
    H(P, Q) = \sqrt{1 - \sum_k \sqrt{P_k\, Q_k}}

over the joint states :math:`o` of the other parents and over pairs of states of p. It is zero if
the rows are equal, so that the arc does nothing, and one if they exclude each other.

For normal distributions the sum is :math:`\sqrt{2 s_i s_j / (s_i^2 + s_j^2)}\,\exp\bigl(-(m_i -
m_j)^2 / (4 (s_i^2 + s_j^2))\bigr)`, continuous parents at zero effect; a continuous parent has the
distance between its mean less and plus one standard deviation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.graph.names import Arc
from consilience.inference.estimate_ways import Way
from consilience.inference.queries import marginals
from consilience.network.mixture import Mixture
from consilience.network.network import Network

__all__ = ["ArcStrengths", "arc_strengths"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArcStrengths:
    """The strength of each arc, between zero and one, the strongest first."""

    values: Mapping[Arc, float]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def columns(self) -> Columns:
        """Parent, child and strength."""
        return {
            "from": [arc[0] for arc in self.values],
            "to": [arc[1] for arc in self.values],
            "strength": list(self.values.values()),
        }

    @property
    def title(self) -> str:
        """What the table is."""
        return "Strength of each arc"

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("ArcStrengths", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)


def arc_strengths(net: Network, *, by: Way | None = None) -> ArcStrengths:
    """How much the distribution of each node differs between the states of each of its parents.

    Examples
    --------
    >>> import consilience as cs
    >>> ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    >>> net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]),
    ...     cs.Categorical(test, (ill,), [[1.0, 0.0], [0.0, 1.0]])])
    >>> cs.inference.arc_strengths(net).values["ill", "test"]
    1.0
    """
    spread = _spread(net, by)
    found = {
        (parent, name): _strength(net, name, axis, spread)
        for name, local in net.distributions.items()
        for axis, parent in enumerate(local.parents)
    }
    return ArcStrengths(dict(sorted(found.items(), key=lambda item: -item[1])))


def _spread(net: Network, by: Way | None) -> dict[str, tuple[float, float]]:
    """Mean and sd of the continuous parents."""
    if not any(v.is_continuous for local in net.distributions.values() for v in local.given):
        return {}
    found = marginals(net, by=by)
    return {n: (one.mean, one.sd) for n, one in found.items() if isinstance(one, Mixture)}


def _strength(
    net: Network, name: str, axis: int, spread: Mapping[str, tuple[float, float]]
) -> float:
    local = net.distributions[name]
    parent = local.given[axis]
    if isinstance(local, Categorical):
        return _between_rows(np.moveaxis(local.table, axis, 0))
    if not parent.is_continuous:
        at = [v.name for v in local.discrete].index(parent.name)
        centre = np.array([spread[v.name][0] for v in local.continuous])
        return _between_regressions(local, at, centre)
    ends = []
    for side in (-1.0, 1.0):
        centre = np.array(
            [
                spread[v.name][0] + side * spread[v.name][1] * (v.name == parent.name)
                for v in local.continuous
            ]
        )
        ends.append(_rows_at(local, centre))
    return float(_distances(local, ends[0], ends[1]).mean())


def _rows_at(local: LinearGaussian | Logistic, values: Floats) -> Floats:
    """Means and sds, or probabilities, the last axis, by joint discrete state at these values."""
    if isinstance(local, LinearGaussian):
        mean = local.intercept + (local.coefficients @ values if len(values) else 0.0)
        return np.stack([mean, local.sd], axis=-1)
    return np.exp(local.log_tables(values[None]))[0]


def _between_regressions(local: LinearGaussian | Logistic, at: int, centre: Floats) -> float:
    rows = np.moveaxis(_rows_at(local, centre), at, 0)
    pairs = combinations(range(len(rows)), 2)
    each = [float(_distances(local, rows[i], rows[j]).mean()) for i, j in pairs]
    return float(np.mean(each)) if each else 0.0


def _distances(local: LinearGaussian | Logistic, first: Floats, second: Floats) -> Floats:
    if isinstance(local, Logistic):
        return _hellinger(np.sqrt(first), np.sqrt(second))
    total = first[..., 1] ** 2 + second[..., 1] ** 2
    away = (first[..., 0] - second[..., 0]) ** 2
    safe = np.where(total > 0, total, 1.0)
    with np.errstate(divide="ignore"):
        log = 0.5 * np.log(2 * first[..., 1] * second[..., 1] / safe) - away / (4 * safe)
    overlap = np.where(total > 0, -np.expm1(np.minimum(log, 0.0)), (away > 0).astype(float))
    return np.sqrt(overlap)


def _between_rows(rows: Floats) -> float:
    """Mean distance between pairs along the first axis of a table."""
    roots = np.sqrt(rows)
    pairs = combinations(range(len(rows)), 2)
    each = [_hellinger(roots[i], roots[j]).mean() for i, j in pairs]
    return float(np.mean(each)) if each else 0.0


def _hellinger(first: Floats, second: Floats) -> Floats:
    """The distance from the roots of probabilities; of equal rows exactly zero."""
    return np.asarray(np.sqrt(0.5 * ((first - second) ** 2).sum(axis=-1)))
