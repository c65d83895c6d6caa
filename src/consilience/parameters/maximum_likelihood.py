r"""Maximum likelihood.

.. math:: \hat\theta_{jk} = \frac{N_{jk}}{N_j}

A parent state that was never seen has no estimate; its row is uniform, and the record of the fit
counts such rows. A continuous child has a least-squares regression for each joint state of its
discrete parents (``regression.py``), with its residual variance divided by n - p, or by n; joint
states with at most p rows are tied to the others (``few_rows.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from consilience._typing import Floats
from consilience.distributions.categorical import Categorical, proportions
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.parameters.few_rows import notes_on_regressions, regression_of
from consilience.statistics.counts import Counts
from consilience.statistics.moments import Moments

__all__ = ["MLE", "pooled_rows", "shaped"]


@dataclass(frozen=True, slots=True, repr=False)
class MLE:
    """Relative frequencies and least squares, pooled over the sources.

    Tables have no posterior; regressions have the one under a flat prior if ``unbiased``.

    Parameters
    ----------
    unbiased
        Whether the variances of continuous children are divided by n - p, p the number of
        coefficients; otherwise by n, which maximizes the likelihood.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"dose": [0.5, 1.5, 2.5], "effect": [1.5, 2.5, 6.5]})
    >>> net = cs.fit(cs.DAG([("dose", "effect")]), rows, cs.MLE())
    >>> net["effect"].parameters.round(4)  # intercept, slope, sd
    array([-0.25  ,  2.5   ,  1.2247])
    """

    unbiased: bool = True
    by_source: ClassVar[bool] = False
    lent: ClassVar[float] = 0.0

    def __repr__(self) -> str:
        return "MLE()" if self.unbiased else "MLE(unbiased=False)"

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family."""
        return [shaped(counts, proportions(pooled_rows(counts))) for counts in families]

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family with a continuous child."""
        return [regression_of(moments.pooled(), unbiased=self.unbiased) for moments in families]

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions: of few rows, of deficient rank, or exact."""
        return notes_on_regressions(families)


def pooled_rows(counts: Counts) -> Floats:
    """Numbers of rows of all sources together: shape (parent states, states)."""
    return counts.to_dense().values.sum(axis=0)


def shaped(counts: Counts, rows: Floats) -> Categorical:
    """The local distribution whose table has these rows."""
    shape = [variable.n_states for variable in (*counts.given, counts.child)]
    return Categorical(counts.child, counts.given, rows.reshape(shape))
