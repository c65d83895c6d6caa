r"""Joint states of the discrete parents with too few rows for a regression of their own.

A joint state with fewer than p + 1 rows, p the number of coefficients, does not determine its
regression and a variance; nor do fewer than ten rows without any residual, which are more often
alike by chance than by a law; nor do rows with one and the same value of the child, however many,
if the child varies around the regression of another joint state: the next row may well have another
value, which an sd of zero would call impossible. It is tied to the others: its rows are joined by
p + 1 rows, the fewest that determine both, each like the average row of all joint states together.
With the moments
:math:`M_j` of its own rows and :math:`\bar M` of all :math:`N` rows, the regression is least
squares on

.. math:: M_j + \frac{p + 1}{N} \bar M .

Without rows of its own that is the regression of all joint states; with p of them it is about half
its own. It is the highest point of a likelihood with a prior: of

.. math:: \log L(\theta_j) + \frac{p + 1}{N} \sum_{i=1}^N \log p(x_i \mid z_i, \theta_j)

over the rows of all joint states, so that EM with it has an objective that never falls, as long as
the joint states that are tied and the average row stay the same (``incomplete/steps.py``). Its
variance is divided by the number of rows, or, if it is to be unbiased, by N - p for each N of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from consilience import _check
from consilience._typing import Bools, Floats
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.errors import DataError
from consilience.parameters.flat_prior import flat_posterior
from consilience.parameters.lent_variance import with_lent
from consilience.parameters.regression import (
    Regressions,
    least_squares,
    linear_gaussian,
    note_on_digits,
)
from consilience.parameters.stacked import side_by_side
from consilience.statistics.digits import loses_digits
from consilience.statistics.moments import Moments

__all__ = [
    "TiedStates",
    "average_rows",
    "has_few_rows",
    "highest_log_likelihood",
    "is_constant",
    "lacks_rows",
    "notes_on_regressions",
    "regression_of",
    "regressions",
]

JOINED = (
    "Too few rows for a regression of their own; they were joined by rows like the average of all "
    "joint states"
)


ROUNDING = 1e-9

ENOUGH = 10
"""So many rows on a line, or without any residual in all joint states, are taken at their word."""


def has_few_rows(moments: Moments, *, lent: float = 0.0) -> Bools:
    """Which groups have too few rows, or too much alike, for a regression of their own.

    Where variance is ``lent``, many rows with one value need no tie.
    """
    few = lacks_rows(moments.weight, len(moments.names))
    is_one = is_constant(moments) & (lent == 0)
    is_unsure = ~few & ((moments.weight < ENOUGH) | is_one)
    if not is_unsure.any():
        return np.asarray(few)
    fits = least_squares(array.reshape(-1, *array.shape[2:]) for array in moments.arrays)
    is_exact = fits.residual.reshape(few.shape) == 0
    is_law = (is_exact & ~few | is_one).all(axis=1, keepdims=True) & (moments.weight >= ENOUGH)
    return np.asarray(few | is_exact & is_unsure & ~is_law)


def lacks_rows(weight: Floats | float, p: int) -> Bools:
    """Whether fewer rows than p + 1 are there, up to the rounding of sums of weights."""
    return np.asarray(weight < (p + 1) * (1 - ROUNDING))


def is_constant(moments: Moments) -> Bools:
    """Which groups have at most one value of the child, up to the rounding of the values."""
    sd = np.sqrt(moments.scatter[..., -1, -1] / np.maximum(moments.weight, 1.0))
    return np.asarray(sd <= 8 * np.finfo(float).eps * np.abs(moments.mean[..., -1]))


def average_rows(moments: Moments, is_tied: Bools) -> Moments:
    """The rows that tied joint states are joined by, in each source; none in the others.

    Parameters
    ----------
    moments
        Of all joint states.
    is_tied
        Which of them are tied, in the shape of the weights.
    """
    average = moments.without_states().weighing(len(moments.names) + 1.0)
    arrays = [
        np.where(is_tied.reshape(*is_tied.shape, *[1] * (one.ndim - 2)), one, 0.0)
        for one in average.arrays
    ]
    return moments.over(
        arrays, np.zeros_like(moments.n_rows), source=moments.source, given=moments.given
    )


def highest_log_likelihood(rows: Moments) -> float:
    """The highest log density that regressions of each group give these rows.

    Zero for rows that the parents determine the child of, whose density has no bound.
    """
    fits = least_squares(array.reshape(-1, *array.shape[2:]) for array in rows.arrays)
    n, left = (one[(fits.weight > 0) & (fits.residual > 0)] for one in (fits.weight, fits.residual))
    return float(-(n / 2 * (np.log(2 * np.pi * left / n) + 1)).sum())


def regressions(
    moments: Moments, joined: Moments | None = None, *, lent: float = 0.0
) -> Regressions:
    """The regression of each joint state; those with too few rows are tied to the others.

    Parameters
    ----------
    moments
        Pooled over the sources.
    joined
        The rows that tied states are joined by, if not those that the moments ask for.
    lent
        How many rows the residual variance of the other joint states is worth to each.

    Raises
    ------
    DataError
        If all joint states together have too few rows.
    """
    p, child, n_all = len(moments.names), moments.names[-1], float(moments.weight.sum())
    if lacks_rows(n_all, p):
        raise DataError(
            f"the family of {child!r} has {n_all:g} complete rows; its regression on "
            f"{_check.listed(moments.names[:-1])} needs at least {p + 1}. Use fewer parents, or an "
            "estimator with a prior such as cs.estimators.NormalInverseGamma().",
            variable=child,
        )
    every, is_tied = _with_joined(moments, joined, lent)
    fits = least_squares(array[0] for array in every.arrays)
    freedom = np.where(is_tied, fits.weight * (1 - p / n_all), fits.freedom)
    residual, freedom = with_lent(
        fits.residual, freedom, ~is_tied, is_constant=is_constant(moments)[0], lent=lent
    )
    return replace(fits, residual=residual, freedom=freedom)


def _with_joined(moments: Moments, joined: Moments | None, lent: float) -> tuple[Moments, Bools]:
    """The moments with the rows that tied states are joined by, and which states are tied."""
    if joined is None:
        joined = average_rows(moments, has_few_rows(moments, lent=lent))
    is_tied = joined.weight[0] > 0
    return (moments.merge(joined) if is_tied.any() else moments), is_tied


def regression_of(
    moments: Moments, joined: Moments | None = None, *, unbiased: bool, lent: float = 0.0
) -> LinearGaussian:
    """The local distribution of a family from its moments, as :func:`regressions` has it.

    With variances that are unbiased it has the posterior under a flat prior, unless the parents are
    constant or collinear in one of several joint states.
    """
    fits = regressions(moments, joined, lent=lent)
    coefficients = np.concatenate([fits.intercept[:, None], fits.coefficients], axis=1)
    sd = np.sqrt(fits.variance(unbiased=unbiased))
    # In several joint states a constant parent is constant at another place than in all rows.
    is_whole = len(fits.rank) == 1 or bool((fits.rank == len(moments.names)).all())
    every, _ = _with_joined(moments, joined, lent)
    posterior = flat_posterior(every, fits) if unbiased and is_whole else None
    return linear_gaussian(moments, None, coefficients, sd, posterior=posterior)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TiedStates:
    """Least squares in which the joint states that are tied, and by which rows, are given.

    Parameters
    ----------
    instead_of
        The words for the estimator whose place it takes.
    joined
        The rows that tied states are joined by, for each child.
    unbiased
        As for :class:`MLE`.
    lent
        As for :class:`TiedVariances`; zero if joint states lend each other nothing.
    by_source
        Whether each source has regressions of its own.
    """

    instead_of: str
    joined: Mapping[str, Moments]
    unbiased: bool
    lent: float
    by_source: bool

    def __repr__(self) -> str:
        return self.instead_of

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family with a continuous child."""
        return [self._regression(moments) for moments in families]

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions."""
        joined = [self.joined[moments.names[-1]] for moments in families]
        if not self.by_source:
            return notes_on_regressions(families, joined, lent=self.lent)
        return notes_on_regressions(
            [part for moments in families for part in moments.by_source()],
            [part for rows in joined for part in rows.by_source()],
            lent=self.lent,
        )

    def _regression(self, moments: Moments) -> LinearGaussian:
        joined = self.joined[moments.names[-1]]
        if moments.source is None or not self.by_source:
            return self._fitted(moments.pooled(), joined.pooled())
        parts = zip(moments.by_source(), joined.by_source(), strict=True)
        return side_by_side(moments.source, [self._fitted(*part) for part in parts])

    def _fitted(self, moments: Moments, joined: Moments) -> LinearGaussian:
        return regression_of(moments, joined, unbiased=self.unbiased, lent=self.lent)


def notes_on_regressions(
    families: Sequence[Moments],
    joined: Sequence[Moments] | None = None,
    *,
    few: str = JOINED,
    lent: float = 0.0,
) -> list[str]:
    """What a reader should know about these regressions, in which the sources are pooled.

    Numbers of joint states of families with the same child are added up. ``joined`` are the rows
    that tied states are joined by, ``few`` the words for what is done about them, ``lent`` the rows
    that the variance of other joint states is worth.
    """
    short, rankless, exact = Counter[str](), Counter[str](), Counter[str]()
    lost = [one.names[-1] for one in families if loses_digits(one)]
    n_states = Counter[str]()
    for i, moments in enumerate(families):
        pooled, child = moments.pooled(), moments.names[-1]
        asked = average_rows(pooled, has_few_rows(pooled, lent=lent))
        by = asked if joined is None else joined[i].pooled()
        fits, is_tied = regressions(pooled, by, lent=lent), by.weight[0] > 0
        n_states[child] += len(fits.weight)
        short[child] += int(is_tied.sum())
        rankless[child] += int((fits.rank < len(moments.names)).sum())
        exact[child] += int((~is_tied & (fits.residual == 0)).sum())
    sentences = {
        few: short,
        "Constant or collinear parents; the coefficients are those of smallest norm": rankless,
        "The parents determine the child and its sd is zero": exact,
    }
    notes = [note_on_digits(lost)] if lost else []
    return notes + [
        f"{text}, in these families and numbers of joint discrete states: {listed}."
        for text, found in sentences.items()
        if (listed := ", ".join(f"{k!r} ({n} of {n_states[k]})" for k, n in found.items() if n))
    ]
