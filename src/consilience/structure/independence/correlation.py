r"""Tests of independence of continuous variables, from moments.

The partial correlation :math:`r` of X and Y given p others is known from what regressions leave:
:math:`1 - r^2 = \mathrm{RSS}(X \mid Z, Y) / \mathrm{RSS}(X \mid Z)`. With n rows,

.. math:: |t| = |r| \sqrt{\frac{n - 2 - p}{1 - r^2}}, \qquad
    |z| = \operatorname{artanh}|r| \sqrt{n - 3 - p} .

For normal variables that are independent given the others, t has exactly Student's distribution
with :math:`n - 2 - p` degrees of freedom, and z nearly the standard normal one. Of given variables
that are linear functions of others only those that tell something new count.

References
----------
R. A. Fisher (1924). The distribution of the partial correlation coefficient. Metron 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, stdtr

from consilience._typing import Floats, Integers
from consilience.statistics.many_regressions import RegressionBatch, Residuals
from consilience.statistics.moments import Moments
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.statements import Statements, Verdicts, check_alpha
from consilience.structure.precision import judged

__all__ = ["ExactT", "FisherZ", "residuals_by_source"]


@dataclass(frozen=True, slots=True)
class ExactT:
    """Student's t test of partial correlations, exact for normal variables.

    The statistic is the absolute value of t.

    Parameters
    ----------
    alpha
        P-value up to which independence is rejected.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": [0.5, 1.5, 2.5, 3.5, 4.5], "y": [2.5, 1.5, 4.5, 3.5, 5.5]})
    >>> found = cs.independence.test(table, "x", "y", by=cs.independence.ExactT())
    >>> round(found.statistic, 4), found.df
    (2.3094, 3.0)
    """

    alpha: float = 0.05
    adds_up: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_alpha("ExactT", self.alpha)

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        square, rank, n_rows = _squares(rows, asked, self, by_source=by_source)
        df = n_rows - 2 - rank
        is_told = (df > 0) & (square > 0)
        free = np.where(is_told, df, 1.0)
        with np.errstate(divide="ignore"):
            t = np.where(is_told, np.sqrt(square * free / (1 - square)), 0.0)
        p = np.where(is_told, 2 * stdtr(free, -t), 1.0)
        return Verdicts(t, np.maximum(df, 0.0), p, n_rows)


@dataclass(frozen=True, slots=True)
class FisherZ:
    """Fisher's z test of partial correlations.

    The statistic is the absolute value of z, which has infinite degrees of freedom.

    Parameters
    ----------
    alpha
        P-value up to which independence is rejected.
    """

    alpha: float = 0.05
    adds_up: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_alpha("FisherZ", self.alpha)

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        square, rank, n_rows = _squares(rows, asked, self, by_source=by_source)
        free = n_rows - 3 - rank
        is_told = free > 0
        with np.errstate(divide="ignore"):
            z = np.where(is_told, np.arctanh(np.sqrt(square)) * np.sqrt(np.maximum(free, 0.0)), 0.0)
        df = np.where(is_told, np.inf, 0.0)
        return Verdicts(z, df, np.where(is_told, 2 * ndtr(-z), 1.0), n_rows)


def _squares(
    rows: AskedRows, asked: Statements, test: object, *, by_source: bool
) -> tuple[Floats, Floats, Floats]:
    """Squared partial correlations, given variables that count, and rows: (sources, statements).

    Where the given variables determine X nothing is left to be correlated.
    """
    rows.check_kind(test, continuous=True)
    strata, shape = rows.strata, (rows.n_sources(by_source=by_source), len(asked))
    square, rank, n_rows = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    members = np.column_stack([asked.given, asked.x, asked.y])
    for some in _with_the_same_gaps(rows, members):
        moments = strata.of(rows.name(members[some[0]]), (), by_source=by_source)
        place = {name: i for i, name in enumerate(moments.names)}
        places = np.array([place.get(name, -1) for name in rows.names], np.int64)
        batch = _pairs_of_regressions(places[members[some]], moments)
        weight = moments.weight[:, 0]
        for f, found in enumerate(judged(strata, batch, residuals_by_source)):
            left, more = found.left[0].reshape(-1, 2).T
            of_given = found.rank[0].reshape(-1, 2)[:, 0]
            ratio = np.divide(more, left, out=np.ones_like(left), where=left > 0)
            square[f, some] = np.clip(1 - ratio, 0.0, 1.0)
            rank[f, some], n_rows[f, some] = of_given, weight[f]
    return square, rank, n_rows


def residuals_by_source(batch: RegressionBatch) -> list[Residuals]:
    """What the regressions leave in each source, or in all rows if they are pooled."""
    return [one.residuals() for one in batch.by_source()]


def _with_the_same_gaps(rows: AskedRows, members: Integers) -> list[Integers]:
    """Statements whose variables are missing in the same columns, hence of the same rows."""
    gaps = rows.strata.gaps
    if not gaps:
        return [np.arange(len(members))]
    has_gaps = np.array([name in gaps for name in rows.names])
    in_gaps = np.zeros((len(members), len(rows.names)), bool)
    np.put_along_axis(in_gaps, members, has_gaps[members], axis=1)
    kinds, kind = np.unique(in_gaps, axis=0, return_inverse=True)
    return [np.flatnonzero(kind.ravel() == k) for k in range(len(kinds))]


def _pairs_of_regressions(members: Integers, moments: Moments) -> RegressionBatch:
    """For each statement X on the given ones, and on these and Y."""
    n, k = len(members), members.shape[1] - 2
    given, x, y = members[:, :k], members[:, k], members[:, k + 1]
    parents = np.column_stack([given, given, y]).ravel()
    starts = np.append(0, np.cumsum(np.tile([k, k + 1], n)))
    return RegressionBatch(moments, moments, np.repeat(x, 2), starts, parents)
