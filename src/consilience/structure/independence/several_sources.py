r"""Tests of independence within sources.

If margins differ between sources, variables that are independent in each depend on each other in
all rows together. So the test is made in each source and the answers are put together:

- *stratified*: statistics and degrees of freedom add up,
  :math:`\sum_f S_f \sim \chi^2(\sum_f d_f)`. A t or z statistic first becomes the chi-square one
  of one degree of freedom that has the same p-value.
- *combined p-values*: :math:`-2 \sum_f \log p_f \sim \chi^2(2F)` (Fisher), or
  :math:`\sum_f w_f \Phi^{-1}(1 - p_f) / \sqrt{\sum_f w_f^2} \sim N(0, 1)` with
  :math:`w_f = \sqrt{n_f}` (Stouffer). Fisher's way sees one source that differs, Stouffer's what
  all sources show a little.

Sources whose rows cannot tell (no degrees of freedom) are left out.

References
----------
R. A. Fisher (1932). Statistical Methods for Research Workers, fourth edition.
S. A. Stouffer and others (1949). The American Soldier, volume 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtri, ndtr, ndtri

from consilience._typing import Floats
from consilience.errors import InputError
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.contingency import GSquare, chi_square_p
from consilience.structure.independence.statements import (
    PartTest,
    Statements,
    Verdicts,
    check_part,
)

__all__ = ["Combined", "Stratified"]

LEAST = 1e-290
"""Smaller p-values are too near to the smallest number to be turned into statistics."""


@dataclass(frozen=True, slots=True)
class Stratified:
    """A test made within each source; statistics and degrees of freedom add up.

    Parameters
    ----------
    of
        The test.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"u": {"x": list("aab") * 30, "y": list("aab") * 30},
    ...                  "v": {"x": list("abb") * 30, "y": list("abb") * 30}})
    >>> cs.independence.test(table, "x", "y", by=cs.independence.Stratified()).df
    2.0
    """

    of: PartTest = field(default_factory=GSquare)

    def __post_init__(self) -> None:
        check_part("Stratified", self.of)

    @property
    def alpha(self) -> float:
        """That of the test."""
        return self.of.alpha

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers of all sources together."""
        found = self.of.parts(rows, asked, by_source=True)
        statistic, df = found.statistic, found.df
        if not self.of.adds_up:
            statistic, df = _as_chi_square(found)
        total, of_all = statistic.sum(axis=0), df.sum(axis=0)
        n_rows = np.where(df > 0, found.n_rows, 0.0).sum(axis=0)
        return Verdicts(total, of_all, chi_square_p(total, of_all), n_rows)


@dataclass(frozen=True, slots=True)
class Combined:
    """A test made within each source; the p-values are combined.

    Parameters
    ----------
    of
        The test.
    by
        ``"fisher"`` or ``"stouffer"``.
    """

    of: PartTest = field(default_factory=GSquare)
    by: str = "fisher"

    def __post_init__(self) -> None:
        check_part("Combined", self.of)
        if self.by not in ("fisher", "stouffer"):
            raise InputError(
                f"Combined: by must be 'fisher' or 'stouffer', got {self.by!r}.", parameter="by"
            )

    @property
    def alpha(self) -> float:
        """That of the test."""
        return self.of.alpha

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers of all sources together."""
        found = self.of.parts(rows, asked, by_source=True)
        is_told = found.df > 0
        weight = np.where(is_told, found.n_rows, 0.0)
        n_rows = weight.sum(axis=0)
        if self.by == "fisher":
            logs = np.where(is_told, np.log(np.maximum(found.p_value, LEAST)), 0.0)
            statistic, df = -2 * logs.sum(axis=0), 2.0 * is_told.sum(axis=0)
            return Verdicts(statistic, df, chi_square_p(statistic, df), n_rows)
        z = np.where(is_told, -ndtri(np.clip(found.p_value, LEAST, 1 - 2.0**-53)), 0.0)
        size = np.sqrt(np.maximum(n_rows, np.finfo(float).tiny))
        total = (np.sqrt(weight) * z).sum(axis=0) / size
        is_any = is_told.any(axis=0)
        return Verdicts(
            total, np.where(is_any, np.inf, 0.0), np.where(is_any, ndtr(-total), 1.0), n_rows
        )


def _as_chi_square(found: Verdicts) -> tuple[Floats, Floats]:
    """Statistics of one degree of freedom with the same p-values as two-sided t or z ones."""
    is_told = found.df > 0
    is_far = found.p_value < LEAST
    free = np.where(np.isfinite(found.df) & is_told, found.df, 1e12)
    with np.errstate(over="ignore"):
        far = free * np.log1p(found.statistic**2 / free)  # the tail of t in terms of the normal's
    near = chdtri(1.0, np.clip(found.p_value, LEAST, 1.0))
    return np.where(is_told, np.where(is_far, far, near), 0.0), is_told.astype(np.float64)
