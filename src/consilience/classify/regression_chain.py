r"""Regressions of a family, each leaning on the one that knows one variable less.

The continuous counterpart of a chain of tables (``parameters/chain.py``). With the row
:math:`a = (1, z, x)` of the continuous parents and the child, all standardized over the rows of the
family, a joint state :math:`g` of the source and the discrete parents has the sums
:math:`T_g = \sum w\,a a^\top` of its :math:`n_g` rows. A back-off order drops one discrete variable
after the other, the source first; level 0 has all rows. The moments of each level lean on those of
the level above as if :math:`\kappa_l` rows more had been seen there:

.. math::
    P_g = (1 - \lambda)\, \frac{T_g + \kappa_l\, P_{up(g)}}{n_g + \kappa_l}
        + \lambda\, P_{up(g)}, \qquad P_0 = \frac{T_0 + I}{n_0 + 1} .

The share :math:`\lambda` is zero unless calibration for a class chooses another: it shrinks all
levels but that of the source whatever their rows, and at one the class says nothing about the
child.
The regression of :math:`g` is that of its moments: :math:`\beta_g = P_{zz}^{-1} P_{zx}` with the
intercept among :math:`z`, and the variance :math:`P_{xx} - \beta_g^\top P_{zx}`. One row of prior
at the top, the identity, keeps every variance positive; without rows of its own a state has the
regression of the level above.

All of this is linear in the sums, so a row is left out exactly: its :math:`w\,a a^\top` leaves
:math:`T_g` at every level that has it, and where it had the largest or smallest number of a column
it counts with the next one, as numbers beyond those of training do (``ranges.py``). The strengths
:math:`\kappa_l` are 16 rows and not learned: strengths that were chosen by the rows of a family
told of each class in them what other rows did not bear out (20 columns of noise, 60 rows: 0.1 to
0.4 nats per row worse than the class prior, against 0.01), and on real tables won nothing over the
shares. Back-off orders are ranked by the leave-one-out likelihood of :math:`x` given :math:`z` and
the joint state; a last one leaves out all discrete parents but the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

import numpy as np

from consilience._typing import Floats, Integers
from consilience.classify.ranges import inside_others
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.parameters.regression import linear_gaussian
from consilience.parameters.source_node import with_new_source
from consilience.statistics.moments import Moments

__all__ = ["RegressionChain", "RegressionRows", "fitted_regressions", "log_density"]

STRENGTH = 16.0
"""Rows that the level above is worth."""

MOST_PERMUTED = 3
"""With more discrete parents they are dropped in their order, the class at every place."""

LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level of a back-off order.

    Parameters
    ----------
    sums
        :math:`T_g`, shape (joint states, 2 + continuous parents, the same).
    place
        For each joint state of source and parents, the joint state of this level.
    """

    sums: Floats
    place: Integers


@dataclass(frozen=True, slots=True, eq=False)
class RegressionChain:
    r"""A family of a continuous child with its back-off order and strengths.

    Parameters
    ----------
    moments
        The family's moments.
    center, unit
        Means and standard deviations of all rows, of the parents and the child.
    levels
        From the top to the joint states.
    strengths
        :math:`\kappa_l`, that of the top unused.
    has_source
        Whether the last level is that of the sources.
    """

    moments: Moments
    center: Floats
    unit: Floats
    levels: list[Level]
    strengths: Floats
    has_source: bool

    def local(self, share: float = 0.0, source_factor: float = 1.0) -> LinearGaussian:
        r"""The local distribution; a source never seen has the regressions of the level above.

        ``share`` is :math:`\lambda`; ``source_factor`` multiplies the strength of the level that
        drops the source.
        """
        source = self.moments.source
        shape = self.moments.weight.shape
        means = self.smoothed(share, source_factor)
        found = means[-1][self.levels[-1].place]
        if source is not None:
            new = means[-2][self.levels[-2].place].reshape(*shape, *found.shape[1:])[:1]
            found = np.concatenate([found.reshape(*shape, *found.shape[1:]), new])
            source = with_new_source(source)
        beta, variance = regression_of(found)
        slopes = beta[..., 1:] * self.unit[-1] / self.unit[:-1]
        intercept = self.center[-1] + beta[..., 0] * self.unit[-1]
        intercept -= (slopes * self.center[:-1]).sum(axis=-1)
        coefficients = np.concatenate([intercept[..., None], slopes], axis=-1)
        return linear_gaussian(
            self.moments, source, coefficients, self.unit[-1] * np.sqrt(variance)
        )

    def smoothed(self, share: float = 0.0, source_factor: float = 1.0) -> list[Floats]:
        """:math:`P_g` of every level."""
        found: list[Floats] = []
        for k, level in enumerate(self.levels):
            above = found[-1][self._up(k)] if found else _prior(self.unit.size)
            found.append(self._leaning(k, level.sums, above, share, source_factor=source_factor))
        return found

    def left_out(
        self,
        rows: RegressionRows,
        states: Integers,
        share: float = 0.0,
        source_factor: float = 1.0,
    ) -> Floats:
        """Log density of the child of each row, left out, as if it were of these joint states."""
        above = _prior(self.unit.size)
        for k, level in enumerate(self.levels):
            asked = level.place[states]
            mine = (asked == level.place[rows.states])[:, None, None]
            sums = level.sums[asked] - mine * rows.sums
            above = self._leaning(k, sums, above, share, source_factor=source_factor)
        return log_density(rows.inside, above) - np.log(self.unit[-1])

    def with_row(
        self,
        rows: RegressionRows,
        states: Integers,
        share: float = 0.0,
        source_factor: float = 1.0,
    ) -> Floats:
        """The same with the row where it was."""
        found = self.smoothed(share, source_factor)[-1][self.levels[-1].place[states]]
        return log_density(rows.values, found) - np.log(self.unit[-1])

    def _leaning(
        self, level: int, sums: Floats, above: Floats, share: float, *, source_factor: float
    ) -> Floats:
        """Moments of a level: those of its rows, and of some more rows like those above."""
        if level == 0:
            return leaning(sums, 1.0, above)
        if self.has_source and level == len(self.levels) - 1:
            return leaning(sums, self.strengths[level] * source_factor, above)
        return (1 - share) * leaning(sums, self.strengths[level], above) + share * above

    def _up(self, level: int) -> Integers:
        """For each joint state of a level, that of the level above."""
        here, above = self.levels[level].place, self.levels[level - 1].place
        up = np.zeros(len(self.levels[level].sums), np.int64)
        up[here] = above
        return up


@dataclass(frozen=True, slots=True, eq=False)
class RegressionRows:
    r"""Rows of a table that are complete for a family.

    Parameters
    ----------
    rows
        Their positions in the table.
    states
        Their joint states of source and discrete parents.
    values
        :math:`a`, standardized, shape (rows, 2 + continuous parents).
    inside
        The same within the range of the other rows.
    sums
        :math:`w\,a a^\top`, with weights above one taken for one: a row is left out, not all
        that are like it.
    weights
        How many rows each stands for.
    """

    rows: Integers
    states: Integers
    values: Floats
    inside: Floats
    sums: Floats
    weights: Floats

    @classmethod
    def of(cls, chain: RegressionChain, table: Table) -> RegressionRows:
        """The rows of a table of the same schema."""
        states = np.zeros(table.n_rows, np.int64)
        is_complete = np.ones(table.n_rows, np.bool_)
        for variable in _discrete(chain.moments):
            codes = table.column(variable.name)
            states = states * variable.n_states + codes
            is_complete &= codes >= 0
        values = np.column_stack([table.column(name) for name in chain.moments.names])
        rows = np.flatnonzero(is_complete & ~np.isnan(values).any(axis=1))
        scaled = (values[rows] - chain.center) / chain.unit
        a = np.column_stack([np.ones(len(rows)), scaled])
        weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
        weights = weights[rows]
        sums = np.minimum(weights, 1.0)[:, None, None] * a[:, :, None] * a[:, None, :]
        return cls(rows, states[rows], a, inside_others(a, weights), sums, weights)


def fitted_regressions(moments: Moments, table: Table, main: str) -> list[RegressionChain]:
    """The chain of a family by each back-off order; first the one that predicts the rows best.

    Last comes, if the class ``main`` is a parent beside others, the chain without these.
    """
    center, unit = _scale(moments)
    base, variables = _sums(moments, center, unit), _discrete(moments)
    has_source = moments.source is not None
    chains = []
    for order in _orders(moments, main):
        levels = _levels(base, variables, order)
        strengths = np.full(len(levels), STRENGTH)
        chains.append(RegressionChain(moments, center, unit, levels, strengths, has_source))
    rows = RegressionRows.of(chains[0], table)
    n_whole = sum(len(chain.levels) == len(chains[0].levels) for chain in chains)
    ranked = sorted(
        chains[:n_whole],
        key=lambda chain: -float(rows.weights @ chain.left_out(rows, rows.states)),
    )
    return [*ranked, *chains[n_whole:]]


def leaning(sums: Floats, strength: float, above: Floats) -> Floats:
    """Moments of rows and of some more rows that have the moments above."""
    total = sums[..., :1, :1] + strength
    return (sums + strength * above) / total


def regression_of(moments: Floats) -> tuple[Floats, Floats]:
    """Coefficients, the intercept first, and the variance of each group."""
    inner, cross = moments[..., :-1, :-1], moments[..., :-1, -1]
    beta = np.asarray(np.linalg.solve(inner, cross[..., None])[..., 0], np.float64)
    variance = moments[..., -1, -1] - (beta * cross).sum(axis=-1)
    return beta, np.asarray(np.maximum(variance, np.finfo(float).eps), np.float64)


def log_density(values: Floats, moments: Floats) -> Floats:
    """Log normal density of the last value given the others, each row by its own moments."""
    beta, variance = regression_of(moments)
    gap = values[:, -1] - (beta * values[:, :-1]).sum(axis=1)
    return np.asarray(-0.5 * (LOG_TWO_PI + np.log(variance) + gap * gap / variance))


def _discrete(moments: Moments) -> tuple[Variable, ...]:
    return (*(() if moments.source is None else (moments.source,)), *moments.given)


def _scale(moments: Moments) -> tuple[Floats, Floats]:
    total = moments.pooled().without_states()
    center, n = total.mean[0, 0], max(float(total.weight.sum()), 1.0)
    unit = np.sqrt(np.einsum("kk->k", total.scatter[0, 0]) / n)
    return center, np.where(unit > 0, unit, 1.0)


def _prior(n: int) -> Floats:
    return np.eye(n + 1)


def _orders(moments: Moments, main: str) -> list[list[int]]:
    """Back-off orders of the axes, the source first; the last may leave out all but the class."""
    variables = _discrete(moments)
    source = list(range(len(variables) - len(moments.given)))
    at = [axis for axis, one in enumerate(variables) if one.name == main and axis not in source]
    others = [axis for axis in range(len(variables)) if axis not in (*source, *at)]
    if len(others) < MOST_PERMUTED:
        orders = [list(order) for order in permutations([*at, *others])]
    else:
        orders = [[*others[:k], *at, *others[k:]] for k in range(len(others) + 1)]
    if at and others:
        orders.append(at)
    return [[*source, *order] for order in orders]


def _sums(moments: Moments, center: Floats, unit: Floats) -> Floats:
    """:math:`T_g` of all joint states of source and parents."""
    weight = moments.weight.ravel()
    mean = (moments.mean.reshape(len(weight), -1) - center) / unit
    mean = np.where(weight[:, None] > 0, mean, 0.0)
    scatter = moments.scatter.reshape(len(weight), len(unit), -1) / np.outer(unit, unit)
    a = np.column_stack([np.ones(len(weight)), mean])
    sums = weight[:, None, None] * a[:, :, None] * a[:, None, :]
    sums[:, 1:, 1:] += scatter
    return sums


def _levels(base: Floats, variables: Sequence[Variable], order: Sequence[int]) -> list[Level]:
    """From the top to the joint states; ``order`` has the axes, the first to be dropped first."""
    sizes = [variable.n_states for variable in variables]
    cells = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), np.int64)
    levels = []
    for n_kept in range(len(order) + 1):
        kept = sorted(order[len(order) - n_kept :])
        place = np.zeros(len(base), np.int64)
        for axis in kept:
            place = place * sizes[axis] + cells[axis]
        sums = np.zeros((prod(sizes[axis] for axis in kept), *base.shape[1:]))
        np.add.at(sums, place, base)
        levels.append(Level(sums, place))
    return levels
