r"""The verb :func:`arc_strengths`: how much the distribution of a node depends on each parent.

.. math:: \text{strength}(p \to x) = \operatorname*{mean}_{o}\;
    \operatorname*{mean}_{i < j}\; H\bigl(P(x \mid p = i, o),\, P(x \mid p = j, o)\bigr), \qquad
    H(P, Q) = \sqrt{1 - \sum_k \sqrt{P_k\, Q_k}}

over the joint states :math:`o` of the other parents and over pairs of states of p. It is zero if
the rows are equal, so that the arc does nothing, and one if they exclude each other.

For normal distributions the sum is :math:`\sqrt{2 s_i s_j / (s_i^2 + s_j^2)}\,\exp\bigl(-(m_i -
m_j)^2 / (4 (s_i^2 + s_j^2))\bigr)`, continuous parents at zero effect; a continuous parent has the
distance between its mean less and plus one standard deviation. Of one source the rows are those
that it has, so that the source is no parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.answers.sources_asked import Between, asked_of
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.errors import InputError
from consilience.graph.names import Arc
from consilience.inference.estimate_ways import Way
from consilience.inference.queries import marginals
from consilience.network.mixture import Mixture
from consilience.network.network import Network, check_network

__all__ = ["ArcStrengths", "arc_strengths"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArcStrengths:
    """The strength of each arc, between zero and one, the strongest first.

    Parameters
    ----------
    values
        By arc, its strength.
    between
        The two sources whose difference this is, or None.
    source
        The one source that was asked for, or None.
    """

    values: Mapping[Arc, float]
    between: Between | None = None
    source: str | None = None

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
        if self.between is not None:
            return f"Strength of each arc, {self.between[0]} less {self.between[1]}"
        return "Strength of each arc" + ("" if self.source is None else f" in {self.source}")

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("ArcStrengths", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)


def arc_strengths(
    net: Network,
    source: str | None = None,
    *,
    between: Sequence[str] | None = None,
    by: Way | None = None,
) -> ArcStrengths:
    """How much the distribution of each node differs between the states of each of its parents.

    Parameters
    ----------
    source
        One source; strengths are then those of its rows, and arcs from the source are left out.
    between
        Two sources; the answer is the strengths in the first less those in the second.
    by
        How mean and sd of continuous parents are found.

    Examples
    --------
    >>> import consilience as cs
    >>> ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    >>> net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]),
    ...     cs.Categorical(test, (ill,), [[1.0, 0.0], [0.0, 1.0]])])
    >>> cs.inference.arc_strengths(net).values["ill", "test"]
    1.0
    """
    check_network("arc_strengths", net)
    if source is None:
        each = [_strengths(net, known, by) for known in asked_of(net, {}, between)]
    else:
        each = [_strengths(net, _of_source(net, source, between), by)]
    found = each[0]
    if between is not None:
        found = {arc: value - each[1][arc] for arc, value in found.items()}
    return ArcStrengths(
        dict(sorted(found.items(), key=lambda item: -abs(item[1]))),
        None if between is None else (between[0], between[1]),
        source,
    )


def _of_source(net: Network, source: str, between: Sequence[str] | None) -> dict[str, str]:
    if net.source is None or between is not None:
        why = "this network has no source" if between is None else "two sources are asked for"
        raise InputError(f"arc_strengths: {why}; leave source out.", parameter="source")
    _check.known("source", [source], net.variables[net.source].discrete_states)
    return {net.source: source}


def _strengths(net: Network, known: Mapping[str, str], by: Way | None) -> dict[Arc, float]:
    """The strength of each arc, of one source if it is known."""
    spread = _spread(net, known, by)
    codes = {name: net.variables[name].code(state) for name, state in known.items()}
    return {
        (parent.name, name): _strength(local, parent, spread, codes)
        for name, local in net.distributions.items()
        for parent in local.given
        if parent.name not in known
    }


def _spread(
    net: Network, known: Mapping[str, str], by: Way | None
) -> dict[str, tuple[float, float]]:
    """Mean and sd of the continuous parents."""
    if not any(v.is_continuous for local in net.distributions.values() for v in local.given):
        return {}
    found = marginals(net, known, by=by)
    return {n: (one.mean, one.sd) for n, one in found.items() if isinstance(one, Mixture)}


def _strength(
    local: Distribution,
    parent: Variable,
    spread: Mapping[str, tuple[float, float]],
    codes: Mapping[str, int],
) -> float:
    if isinstance(local, Categorical):
        rows = _held(local.table, local.given, codes)
        return _between_rows(np.moveaxis(rows, local.given.index(parent), 0))
    if not parent.is_continuous:
        centre = np.array([spread[v.name][0] for v in local.continuous])
        rows = _held(_rows_at(local, centre), local.discrete, codes)
        return _between_regressions(local, np.moveaxis(rows, local.discrete.index(parent), 0))
    ends = []
    for side in (-1.0, 1.0):
        centre = np.array(
            [
                spread[v.name][0] + side * spread[v.name][1] * (v.name == parent.name)
                for v in local.continuous
            ]
        )
        ends.append(_held(_rows_at(local, centre), local.discrete, codes))
    return float(_distances(local, ends[0], ends[1]).mean())


def _held(rows: Floats, given: Sequence[Variable], codes: Mapping[str, int]) -> Floats:
    """Rows by the states of the parents, at the states of those that are known."""
    for axis, variable in enumerate(given):
        if variable.name in codes:
            rows = np.take(rows, [codes[variable.name]], axis=axis)
    return rows


def _rows_at(local: LinearGaussian | Logistic, values: Floats) -> Floats:
    """Means and sds, or probabilities, the last axis, by joint discrete state at these values."""
    if isinstance(local, LinearGaussian):
        mean = local.intercept + (local.coefficients @ values if len(values) else 0.0)
        return np.stack([mean, local.sd], axis=-1)
    return np.exp(local.log_tables(values[None]))[0]


def _between_regressions(local: LinearGaussian | Logistic, rows: Floats) -> float:
    """Mean distance between pairs along the first axis of rows of regressions."""
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
