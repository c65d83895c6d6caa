r"""Sums of posteriors in fixed point, which do not depend on the order of their terms.

The posterior :math:`p` of a case is rounded before it is weighted and added,

.. math:: N = 2^{-36} \sum_c w_c \lfloor 2^{36} p_c + \tfrac12 \rfloor ,

with the weight :math:`w_c` a whole number of units: rows, or :math:`2^{-36}` rows if weights are
fractional. So the sum has the same bits for any partition of the rows, and whether equal rows were
merged or not. Products of fractional weights are held in two numbers, the digits from the 40th bit
on and those below. Sums of log probabilities are whole numbers of any length.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.statistics.counts import FIXED_POINT
from consilience.statistics.engines.memory import whole_weights

__all__ = ["UNIT", "WholeSums", "weights_of"]

UNIT = 2.0**36
"""Posteriors and log probabilities are multiples of its inverse."""

_LOW_BITS, _HALF, _SCALE_BITS = 40, 26, FIXED_POINT.bit_length() - 1
"""Bits of the lower digits of a product, of the lower half of a weight, and of what a row counts.
"""


def weights_of(table: Table) -> tuple[Integers, int]:
    """Weights of the rows as whole numbers, and what one row counts."""
    weights, scale = whole_weights(table)
    if weights is None:
        return np.ones(table.n_rows, np.int64), 1
    whole, rest = np.divmod(weights, scale)
    return (weights, scale) if rest.any() else (whole, 1)


class WholeSums(NamedTuple):
    """Expected counts and the log-likelihood as whole numbers.

    ``counts`` has one row of cells, or two if weights are fractional; ``scale`` is what one row
    counts. A row that is impossible is not in the sums: ``is_possible`` says that there is none.
    """

    counts: Integers
    log: int
    is_possible: bool
    scale: int

    @classmethod
    def none(cls, n_cells: int, scale: int) -> WholeSums:
        """The sums over no rows."""
        return cls(np.zeros((1 if scale == 1 else 2, n_cells), np.int64), 0, True, scale)

    def merge(self, other: WholeSums) -> WholeSums:
        """The sums over the rows of both."""
        if self.scale != other.scale:
            return self.fractional().merge(other.fractional())
        is_possible = self.is_possible and other.is_possible
        return WholeSums(self.counts + other.counts, self.log + other.log, is_possible, self.scale)

    def fractional(self) -> WholeSums:
        """The same sums in the units of fractional weights."""
        if self.scale > 1:
            return self
        rest = _LOW_BITS - _SCALE_BITS
        low = (self.counts & (1 << rest) - 1) << _SCALE_BITS
        counts = np.concatenate([self.counts >> rest, low])
        return WholeSums(counts, self.log << _SCALE_BITS, self.is_possible, FIXED_POINT)

    def with_logs(self, logs: Floats, weights: Integers) -> WholeSums:
        """With the log probabilities of weighted cases; minus infinity is an impossible one."""
        has_weight = weights > 0
        is_possible = has_weight & (logs > -np.inf)
        more = _dot(np.rint(logs[is_possible] * UNIT).astype(np.int64), weights[is_possible])
        is_whole = self.is_possible and bool((is_possible == has_weight).all())
        return self._replace(log=self.log + more, is_possible=is_whole)

    def times(self, shares: Floats, weights: Integers) -> Integers:
        """Shares, rounded, times weights, in rows of digits; the last axis is that of the rows."""
        whole = _rounded(shares)
        if self.scale == 1:
            return (whole * weights)[None]
        low = whole * (weights & (1 << _HALF) - 1)
        high = whole * (weights >> _HALF) + (low >> _HALF)
        rest = _LOW_BITS - _HALF
        lower = (high & (1 << rest) - 1) << _HALF | low & (1 << _HALF) - 1
        return np.stack([high >> rest, lower])

    def dot(self, shares: Floats, weights: Integers) -> Integers:
        """The sums of these products over the rows, in rows of digits."""
        if self.scale == 1:
            return (_rounded(shares) @ weights)[None]
        return self.times(shares, weights).sum(axis=-1)

    @property
    def values(self) -> Floats:
        """The expected counts."""
        if self.scale == 1:
            return self.counts[0] / UNIT
        carried = self.counts[0] + (self.counts[1] >> _LOW_BITS)
        lower = self.counts[1] & (1 << _LOW_BITS) - 1
        unit = UNIT * self.scale
        return carried / (unit / 2.0**_LOW_BITS) + lower / unit

    @property
    def log_likelihood(self) -> float:
        """The weighted sum of the log probabilities; minus infinity if a row is impossible."""
        return self.log / (int(UNIT) * self.scale) if self.is_possible else -np.inf


def _rounded(shares: Floats) -> Integers:
    scaled = shares * UNIT
    scaled += 0.5
    return scaled.astype(np.int64)


def _dot(one: Integers, other: Integers) -> int:
    """The exact sum of the products; the second are not negative."""
    digits = [one & 0x3FFFF, one >> 18]
    if other.size and int(other.sum()) >= 1 << 34:
        wide: Any = one.astype(object) @ other.astype(object)
        return int(wide)
    low, high = (int(digit @ other) for digit in digits)
    return low + (high << 18)
