r"""The statistic of continuous variables: numbers of rows, means and centred products.

For each source :math:`f` and joint state :math:`j` of some discrete variables, over the rows in
which all variables of the request are known,

.. math:: n = \sum w, \qquad m = \frac1n \sum w\,x, \qquad S = \sum w\,(x - m)(x - m)^\top .

Two parts merge without cancellation (Chan, Golub and LeVeque 1983), with :math:`d = m_2 - m_1`:

.. math:: n = n_1 + n_2, \quad m = m_1 + \frac{n_2}{n} d, \quad
    S = S_1 + S_2 + \frac{n_1 n_2}{n}\, d d^\top .

Raw second moments are never formed. Different partitions of the rows agree not to the bit but to
about 1e-17 times the ratio of mean to sd, and 1e-12 at best: 2e-10 for a mean of 1e8 and an sd of
1, in a thousand parts.

Columns that are nearly functions of each other leave little of these digits: of
:math:`y = x + e\,u` they tell the part :math:`e^2`. Fine moments keep what rounding leaves of means
and products, hence twice the digits (``kernels/fine.py``). They cost some ten times as much and are
asked for where digits are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError
from consilience.kernels.fine import merge_finely
from consilience.statistics.counts import parent_states_of, source_axis

__all__ = ["Moments"]

SPLITTER = 134217729.0  # 2^27 + 1
ROUNDING = 1e-12
"""Of a sum of weights, relative; sums of a million rows differ by less."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Moments:
    """Centred moments by source and joint state of the discrete variables in ``given``.

    Parameters
    ----------
    names
        The continuous variables, in the order of the axes.
    given
        Discrete variables whose joint states are kept apart, the last varying fastest.
    source
        The source variable, whose states are the first axis; None if pooled.
    weight
        Weight of the complete rows, shape (sources, joint states).
    mean
        Shape (sources, joint states, variables); zero where there are no rows.
    scatter
        Centred sums of products, shape (sources, joint states, variables, variables).
    n_rows
        Weight of all rows of each source, complete or not.
    mean_rest, scatter_rest
        What rounding leaves of ``mean`` and ``scatter``, if it was asked for.
    """

    names: tuple[str, ...]
    given: tuple[Variable, ...]
    source: Variable | None
    weight: Floats
    mean: Floats
    scatter: Floats
    n_rows: Floats
    mean_rest: Floats | None = None
    scatter_rest: Floats | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def empty(
        cls,
        schema: Schema,
        names: Sequence[str],
        *,
        by: Sequence[str] = (),
        by_source: bool = False,
        fine: bool = False,
    ) -> Moments:
        """The moments of no rows: merging them changes nothing."""
        for name in names:
            if not schema[name].is_continuous:
                raise InputError(
                    f"moments need continuous variables; {name!r} is discrete.", variable=name
                )
        given = tuple(schema[name] for name in by)
        source = source_axis(schema, by_source=by_source)
        groups = (1 if source is None else source.n_states, parent_states_of(given))
        d = len(names)
        return cls(
            tuple(names),
            given,
            source,
            np.zeros(groups),
            np.zeros((*groups, d)),
            np.zeros((*groups, d, d)),
            np.zeros(groups[0]),
            np.zeros((*groups, d)) if fine else None,
            np.zeros((*groups, d, d)) if fine else None,
        )

    @property
    def is_fine(self) -> bool:
        """Whether twice the digits are kept."""
        return self.scatter_rest is not None

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """Weight, mean and scatter; of fine moments also what rounding leaves of the last two."""
        plain = self.weight, self.mean, self.scatter
        if self.mean_rest is None or self.scatter_rest is None:
            return plain
        return (*plain, self.mean_rest, self.scatter_rest)

    @property
    def covariance(self) -> Floats:
        """Scatter divided by the weight, in the shape of the scatter; zero without rows."""
        return self.scatter / np.maximum(self.weight, np.finfo(float).tiny)[..., None, None]

    @property
    def n_incomplete(self) -> Floats:
        """Weight of the rows of each source in which a variable is missing."""
        left = self.n_rows - self.weight.sum(axis=1)
        # Fractional weights are summed in another order than the rows; that is no gap.
        return np.where(left > ROUNDING * self.n_rows, left, 0.0)

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
        mine, theirs = ((one.names, one.given, one.source, one.is_fine) for one in (self, other))
        if mine != theirs:
            raise DataError(
                "moments of different variables, states, sources or digits cannot be merged. "
                "Read all parts with one schema."
            )
        merged = _merged_finely if self.is_fine else _merged
        arrays = merged(self.arrays, other.arrays)
        return self.over(arrays, self.n_rows + other.n_rows, source=self.source, given=self.given)

    def pooled(self) -> Moments:
        """The moments of all sources together."""
        if len(self.weight) == 1:
            return self._slice(0)
        together = _together([array.swapaxes(0, 1) for array in self.arrays])
        arrays = [array.swapaxes(0, 1) for array in together]
        return self.over(arrays, self.n_rows.sum(keepdims=True), source=None, given=self.given)

    def by_source(self) -> list[Moments]:
        """The moments of each source alone."""
        return [self._slice(f) for f in range(len(self.weight))]

    def without_states(self) -> Moments:
        """The moments of all joint states together, in each source."""
        if not self.given:
            return self
        return self.over(_together(self.arrays), self.n_rows, source=self.source, given=())

    def weighing(self, weight: float) -> Moments:
        """The moments as if the rows of each group weighed so much together, all alike.

        Groups without rows stay empty.
        """
        factor = np.divide(
            weight, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0
        )
        total, mean, scatter, *rest = self.arrays
        scatters = _scaled(scatter, rest[1] if rest else None, factor[..., None, None])
        arrays = [np.where(total > 0, weight, 0.0), mean, scatters[0]]
        arrays += [rest[0], scatters[1]] if rest else []
        return self.over(arrays, self.n_rows, source=self.source, given=self.given)

    def over(
        self,
        arrays: Sequence[Floats],
        n_rows: Floats,
        *,
        source: Variable | None,
        given: tuple[Variable, ...],
    ) -> Moments:
        """Moments of the same variables in other groups, with these ``arrays``."""
        weight, mean, scatter, *rest = arrays
        return Moments(self.names, given, source, weight, mean, scatter, n_rows, *rest)

    def _slice(self, f: int) -> Moments:
        rows = slice(f, f + 1)
        arrays = [array[rows] for array in self.arrays]
        return self.over(arrays, self.n_rows[rows], source=None, given=self.given)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        sources = f", {self.source.n_states} sources" if self.source else ""
        return f"Moments({', '.join(self.names)}: {self.weight.sum():g} rows{sources})"


def _together(arrays: Sequence[Floats]) -> Sequence[Floats]:
    """The arrays of all groups of the second axis together, which stays."""
    if len(arrays) > 3:
        return _together_finely(arrays)
    weight, mean, scatter = arrays
    total = weight.sum(axis=1, keepdims=True)
    share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    # Around the mean of a group with rows: means of small differences keep their digits.
    most = weight.argmax(axis=1)[:, None, None]
    near = np.take_along_axis(mean, most, axis=1)
    center = (
        near
        + np.einsum("fj,fjd->fd", share, np.where(share[..., None] > 0, mean - near, 0.0))[:, None]
    )
    gap = np.where(weight[..., None] > 0, mean - center, 0.0)
    between = np.einsum("fj,fjd,fje->fde", weight, gap, gap)
    return total, center, (scatter.sum(axis=1) + between)[:, None]


def _together_finely(arrays: Sequence[Floats]) -> Sequence[Floats]:
    """The same for fine arrays: half of the groups are added to the other half, and so on."""
    n = arrays[0].shape[1]
    while n > 1:
        half = n // 2
        pairs = ([a[:, start : start + half] for a in arrays] for start in (0, half))
        odd = [a[:, 2 * half :] for a in arrays]
        merged = _merged_finely(*pairs)
        arrays = [np.concatenate(both, axis=1) for both in zip(merged, odd, strict=True)]
        n = half + n % 2
    return arrays


def _scaled(high: Floats, low: Floats | None, factor: Floats) -> tuple[Floats, Floats]:
    """The product of numbers with a factor, and what rounding leaves of it (Dekker 1971)."""
    product = high * factor
    if low is None:
        return product, np.zeros_like(product)
    a, b = (x * SPLITTER - (x * SPLITTER - x) for x in (high, factor))
    error = ((a * b - product) + a * (factor - b) + (high - a) * b) + (high - a) * (factor - b)
    return product, error + low * factor


def _merged(a: Sequence[Floats], b: Sequence[Floats]) -> Sequence[Floats]:
    (n, a_mean, a_scatter), (m, b_mean, b_scatter) = a, b
    weight = n + m
    share = np.divide(m, weight, out=np.zeros_like(weight), where=weight > 0)
    both = ((n > 0) & (m > 0))[..., None]
    # A part without rows has no mean to differ from.
    difference = np.where(both, b_mean - a_mean, 0.0)
    mean = np.where(n[..., None] > 0, a_mean + share[..., None] * difference, b_mean)
    outer = difference[..., :, None] * difference[..., None, :]
    scatter = a_scatter + b_scatter + (n * share)[..., None, None] * outer
    return weight, mean, scatter


def _merged_finely(a: Sequence[Floats], b: Sequence[Floats]) -> Sequence[Floats]:
    groups = a[0].shape
    flat = [array.reshape(-1, *array.shape[2:]).copy() for array in (*a, *b)]
    merge_finely(*flat)
    return [array.reshape(*groups, *array.shape[1:]) for array in flat[:5]]
