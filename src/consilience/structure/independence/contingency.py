r"""Tests of independence of discrete variables, from counts.

With the counts :math:`n_{ijk}` of states i of X and j of Y in the joint state k of the given
variables, their sums :math:`n_{i \cdot k}, n_{\cdot jk}, n_{\cdot\cdot k}` and what independence
lets expect, :math:`e_{ijk} = n_{i \cdot k} n_{\cdot jk} / n_{\cdot\cdot k}`,

.. math:: G^2 = 2 \sum n_{ijk} \log \frac{n_{ijk}}{e_{ijk}}, \qquad
    X^2 = \sum \frac{(n_{ijk} - e_{ijk})^2}{e_{ijk}} .

Both are about chi-square with :math:`(r - 1)(c - 1) q` degrees of freedom if X and Y are
independent given the others: r and c states, q joint states of the given ones. That counts states
which cannot occur; *adjusted* degrees of freedom count, in each k, only the states of X and Y that
occur in it, :math:`\sum_k (r_k - 1)(c_k - 1)`. Where most cells expect fewer than five rows the
chi-square distribution is not to be trusted: a permutation test is
(:class:`~consilience.independence.Permutation`).

The mean of :math:`G^2` is above its degrees of freedom by about 1 / (6 e) for each cell that
expects e rows. *Corrected*, it is divided by (Williams 1976)

.. math:: 1 + \frac{1}{6\, df} \sum_k \frac{1}{n_{\cdot\cdot k}}
    \Bigl(\sum_i \frac{n_{\cdot\cdot k}}{n_{i \cdot k}} - 1\Bigr)
    \Bigl(\sum_j \frac{n_{\cdot\cdot k}}{n_{\cdot jk}} - 1\Bigr) ,

sums and df over states that occur; so it is chi-square down to five expected rows per cell. The
mean
of :math:`X^2` in the joint state k, over all ways to shuffle its rows, is just n / (n - 1) times
the degrees of freedom of the states that occur, :math:`n = n_{\cdot\cdot k}`. Corrected, each part
is divided by that, so that the mean is right however few the rows (E. S. Pearson 1947). It matters
where many joint states, or many sources, have few rows each: in 500 sources of 5 rows the plain
test rejects nearly every true independence.

*Shrunk information* takes the shares :math:`\hat p = n / n_{\cdot\cdot k}` of each k towards
independence, :math:`t = n_{i \cdot k} n_{\cdot jk} / n_{\cdot\cdot k}^2`, by the weight that makes
the expected squared error least,

.. math:: \lambda_k = \min\Bigl(1, \frac{1 - \sum_{ij} \hat p^2}
    {(n_{\cdot\cdot k} - 1) \sum_{ij} (t - \hat p)^2}\Bigr), \qquad
    p = \lambda t + (1 - \lambda) \hat p ,

and has the statistic :math:`2 \sum_k n_{\cdot\cdot k} \sum_{ij} p \log (p / t)`. The margins stay,
and information is convex, so it is never more than :math:`G^2`: the test rejects less often.

References
----------
A. Agresti (2013). Categorical Data Analysis, third edition. Wiley.
E. S. Pearson (1947). The choice of statistical tests illustrated on the interpretation of data
classed in a 2 x 2 table. Biometrika 34.
D. A. Williams (1976). Improved likelihood ratio tests for complete contingency tables. Biometrika
63.
J. Hausser, K. Strimmer (2009). Entropy inference and the James-Stein estimator. JMLR 10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import chdtrc, xlogy

from consilience._typing import Floats
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.statements import Statements, Verdicts, check_alpha

__all__ = [
    "GSquare",
    "PearsonX2",
    "ShrunkInformation",
    "chi_square_p",
    "corrected_g_squares",
    "corrected_pearson_x2s",
    "g_squares",
    "pearson_x2s",
    "shrunk_informations",
]


@dataclass(frozen=True, slots=True)
class GSquare:
    """The likelihood-ratio test of independence in tables, G².

    Parameters
    ----------
    alpha
        P-value up to which independence is rejected.
    adjusted
        Whether degrees of freedom count only states that occur.
    corrected
        Whether the statistic is divided by Williams' correction, which matters below some ten
        expected rows per cell.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 10, "y": list("abab") * 10})
    >>> cs.independence.test(table, "x", "y", by=cs.independence.GSquare()).p_value
    1.0
    """

    alpha: float = 0.05
    adjusted: bool = False
    corrected: bool = False
    adds_up: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_alpha("GSquare", self.alpha)

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        rows.check_kind(self, continuous=False)
        statistics = corrected_g_squares if self.corrected else g_squares
        return from_tables(rows, asked, statistics, by_source=by_source, adjusted=self.adjusted)


@dataclass(frozen=True, slots=True)
class PearsonX2:
    """Pearson's test of independence in tables, X².

    Parameters
    ----------
    alpha
        P-value up to which independence is rejected.
    adjusted
        Whether degrees of freedom count only states that occur.
    corrected
        Whether the part of each joint state of the given variables is taken times (n - 1) / n, n
        its rows, which goes with adjusted degrees of freedom.
    """

    alpha: float = 0.05
    adjusted: bool = False
    corrected: bool = False
    adds_up: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_alpha("PearsonX2", self.alpha)

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        rows.check_kind(self, continuous=False)
        statistics = corrected_pearson_x2s if self.corrected else pearson_x2s
        return from_tables(rows, asked, statistics, by_source=by_source, adjusted=self.adjusted)


@dataclass(frozen=True, slots=True)
class ShrunkInformation:
    """Mutual information shrunk towards independence: conservative where rows are few.

    Parameters
    ----------
    alpha
        P-value up to which independence is rejected.
    """

    alpha: float = 0.05
    adds_up: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_alpha("ShrunkInformation", self.alpha)

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        rows.check_kind(self, continuous=False)
        return from_tables(rows, asked, shrunk_informations, by_source=by_source, adjusted=False)


def from_tables(
    rows: AskedRows,
    asked: Statements,
    statistics: Callable[[Floats], Floats],
    *,
    by_source: bool,
    adjusted: bool,
) -> Verdicts:
    """Answers of each source by a statistic of tables, shape (sources, statements)."""
    found = Verdicts.empty(rows.n_sources(by_source=by_source), len(asked))
    for group in rows.tables(asked, by_source=by_source):
        counts = group.counts
        r, c = counts.shape[-2:]
        plain = (r - 1) * (c - 1) * group.n_given_states
        df = _df_seen(counts) if adjusted else np.full(counts.shape[:2], plain)
        value = statistics(counts)
        n_rows = counts.sum(axis=(2, 3, 4))
        arrays = value, df, chi_square_p(value, df), n_rows
        found.put(group.places, Verdicts(*(array.T for array in arrays)))
    return found


def g_squares(counts: Floats) -> Floats:
    """G² of tables (..., given states, states of x, states of y), summed over given states."""
    of_x, of_y, n = _margins(counts)
    product = of_x * of_y
    ratio = np.divide(counts * n, product, out=np.ones_like(counts), where=product > 0)
    return np.maximum(2 * xlogy(counts, ratio).sum(axis=(-3, -2, -1)), 0.0)


def corrected_g_squares(counts: Floats) -> Floats:
    """G² over Williams' correction, of tables as for :func:`g_squares`."""
    of_x, of_y, n = _margins(counts)
    excess = [
        np.divide(n, m, out=np.zeros_like(m), where=m > 0).sum(axis=(-2, -1)) - 1
        for m in (of_x, of_y)
    ]
    rows = n[..., 0, 0]
    parts = np.divide(excess[0] * excess[1], rows, out=np.zeros_like(rows), where=rows > 0)
    scale = 6 * np.maximum(_df_seen(counts), 1)
    return np.asarray(g_squares(counts) / (1 + parts.sum(axis=-1) / scale))


def pearson_x2s(counts: Floats) -> Floats:
    """Pearson's X² of tables (..., given states, states of x, states of y)."""
    return np.asarray(_x2_by_state(counts).sum(axis=-1))


def corrected_pearson_x2s(counts: Floats) -> Floats:
    """X², the part of each given state times its rows less one over its rows."""
    n = counts.sum(axis=(-2, -1))
    share = np.divide(np.maximum(n - 1, 0.0), n, out=np.zeros_like(n), where=n > 0)
    return np.asarray((share * _x2_by_state(counts)).sum(axis=-1))


def shrunk_informations(counts: Floats) -> Floats:
    """Twice the rows times the shrunk information, summed over given states."""
    of_x, of_y, n = _margins(counts)
    whole = np.maximum(n, 1.0)
    share, target = counts / whole, (of_x / whole) * (of_y / whole)
    noise = 1 - (share**2).sum(axis=(-2, -1), keepdims=True)
    distance = ((target - share) ** 2).sum(axis=(-2, -1), keepdims=True)
    scale = np.maximum(n - 1, 0.0) * distance
    weight = np.minimum(1.0, np.divide(noise, scale, out=np.ones_like(noise), where=scale > 0))
    shrunk = weight * target + (1 - weight) * share
    ratio = np.divide(shrunk, target, out=np.ones_like(shrunk), where=target > 0)
    return np.maximum(2 * (n * xlogy(shrunk, ratio)).sum(axis=(-3, -2, -1)), 0.0)


def chi_square_p(statistic: Floats, df: Floats) -> Floats:
    """P-values of chi-square statistics; one where there are no degrees of freedom."""
    is_told = df > 0
    p = chdtrc(np.where(is_told, df, 1.0), np.where(is_told, statistic, 0.0))
    return np.asarray(np.where(is_told, p, 1.0))


def _x2_by_state(counts: Floats) -> Floats:
    """Pearson's X² of each given state."""
    of_x, of_y, n = _margins(counts)
    expected = np.divide(of_x * of_y, n, out=np.zeros_like(counts), where=n > 0)
    square = (counts - expected) ** 2
    parts = np.divide(square, expected, out=np.zeros_like(counts), where=expected > 0)
    return np.asarray(parts.sum(axis=(-2, -1)))


def _margins(counts: Floats) -> tuple[Floats, Floats, Floats]:
    of_x = counts.sum(axis=-1, keepdims=True)
    return of_x, counts.sum(axis=-2, keepdims=True), of_x.sum(axis=-2, keepdims=True)


def _df_seen(counts: Floats) -> Floats:
    """Degrees of freedom of the states that occur, shape (statements, sources)."""
    of_x, of_y, _ = _margins(counts)
    r = (of_x > 0).sum(axis=(-2, -1)) - 1
    c = (of_y > 0).sum(axis=(-2, -1)) - 1
    return (np.maximum(r, 0) * np.maximum(c, 0)).sum(axis=-1).astype(np.float64)
