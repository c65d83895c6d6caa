"""Least squares in exact fractions, and its log-likelihood with fifty digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097")


@dataclass(frozen=True)
class ExactFit:
    """The regression of the last column on the others."""

    intercept: Fraction
    slopes: list[Fraction]
    left: Fraction
    weight: Fraction

    @property
    def log_likelihood(self) -> Decimal:
        """With the variance of denominator n - p."""
        with localcontext(prec=50):
            free = _decimal(self.weight) - 1 - len(self.slopes)
            log_variance = (2 * PI * _decimal(self.left) / free).ln()
            return -_decimal(self.weight) / 2 * log_variance - free / 2


def exact_fit(columns: Sequence, weights: Sequence | None = None) -> ExactFit:
    """The regression of the last column on the others, in fractions."""
    values = [[Fraction(float(v)) for v in column] for column in columns]
    w = [Fraction(1)] * len(values[0]) if weights is None else [Fraction(float(v)) for v in weights]
    n = sum(w)
    means = [sum(a * b for a, b in zip(w, one, strict=True)) / n for one in values]
    centered = [[v - m for v in one] for one, m in zip(values, means, strict=True)]
    weighted = [[a * v for a, v in zip(w, one, strict=True)] for one in centered]
    products = [[sum(map(Fraction.__mul__, a, b)) for b in centered] for a in weighted]
    slopes = _solved(products)
    k = len(slopes)
    left = products[k][k] - sum(b * products[i][k] for i, b in enumerate(slopes))
    intercept = means[k] - sum(b * m for b, m in zip(slopes, means, strict=False))
    return ExactFit(intercept, slopes, left, n)


def relative_error(found: float, expected: Decimal | Fraction) -> float:
    """How far a float is off."""
    with localcontext(prec=50):
        truth = _decimal(expected) if isinstance(expected, Fraction) else expected
        return abs(float((Decimal(float(found)) - truth) / truth))


def _solved(products: list[list[Fraction]]) -> list[Fraction]:
    k = len(products) - 1
    rows = [row[:] for row in products[:k]]
    for i in range(k):
        for j in range(i + 1, k):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    slopes = [Fraction(0)] * k
    for i in reversed(range(k)):
        known = sum(rows[i][j] * slopes[j] for j in range(i + 1, k))
        slopes[i] = (rows[i][k] - known) / rows[i][i]
    return slopes


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
