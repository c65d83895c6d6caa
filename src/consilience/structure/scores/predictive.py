r"""Scores by prediction of rows that were left out, in expectation over all random splits.

A family's parameters are estimated from the rows left in, by the posterior mean under a prior worth
``ess`` rows (that of BDeu), and judged by the log-likelihood of the rows left out. No split is
drawn: the expectation over all of them is a sum over the counts. Let every row be left in with
probability :math:`\pi`, independently. If a row of the cell :math:`(j, k)` is left out, the other
:math:`N_{jk} - 1` rows of the cell and the other :math:`N_j - 1` of the parent state are left in by
chance, so that the row's expected log-likelihood is

.. math:: \ell_{jk} = E \log \bigl(a + B(N_{jk} - 1)\bigr) - E \log \bigl(ra + B(N_j - 1)\bigr),
    \qquad B(n) \sim \mathrm{Binomial}(n, \pi), \quad a = \frac{\alpha}{qr},

and by linearity the scores are

.. math::
    \mathrm{HeldOut} = (1 - \pi) \sum_{jk} N_{jk}\, \ell_{jk}, \quad \pi = 1 - \text{share}; \qquad
    \mathrm{CrossValidated} = \sum_{jk} N_{jk}\, \ell_{jk}, \quad \pi = 1 - 1/\text{folds} .

Both are score equivalent: the first part of the sum depends on the joint states of child and
parents alone, the second on those of the parents alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.kernels.scoring import expected_predictions
from consilience.structure.scores.score import Batch, whole_counts

__all__ = ["CrossValidated", "HeldOut"]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Expected log-likelihood of the rows held out, each with probability ``share``.

    Rows must have whole-number weights; a row of weight two is two rows, which may part.

    Parameters
    ----------
    share
        Share of the rows that is held out, between 0 and 1; at least about 1e-16, so that the rest
        differs from all rows.
    ess
        How many rows the prior of the parameters is worth.

    Examples
    --------
    One of two rows is held out, or both, and predicted from what is left: from one equal row the
    probability is (1 + 1/2) / (1 + 1), from none 1/2. So each has log(3/4) / 2 + log(1/2) / 2 if it
    is held out, which half of them are.

    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a"]}, states={"x": ["a", "b"]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.HeldOut(share=0.5)), 6)
    -0.490415
    """

    share: float = 0.2
    ess: float = 1.0
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("HeldOut", share=self.share, ess=self.ess)
        if not self.share < 1:
            raise InputError(
                f"HeldOut: share must be between 0 and 1, got {self.share!r}.", parameter="share"
            )
        if 1.0 - self.share == 1.0:
            raise InputError(
                f"HeldOut: share={self.share!r} is so small that the rest rounds to all rows. Give "
                "1e-15 or more.",
                parameter="share",
            )

    def local(self, batch: Batch) -> Floats:
        """Expected log-likelihood of the rows held out."""
        return self.share * _predicted("HeldOut", batch, self.ess, self.share)


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """Expected log-likelihood of all rows, each predicted from the folds that it is not in.

    Rows are put into folds at random, independently. Rows must have whole-number weights.

    Parameters
    ----------
    folds
        Number of folds, from 2 to about 1e16; with very many of them each row is predicted from all
        others.
    ess
        How many rows the prior of the parameters is worth.
    """

    folds: int = 10
    ess: float = 1.0
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.whole("CrossValidated", at_least=2, folds=self.folds)
        _check.positive("CrossValidated", ess=self.ess)
        if 1.0 - 1 / self.folds == 1.0:
            raise InputError(
                f"CrossValidated: with folds={self.folds!r} the share of the other folds rounds to "
                "1. Give 10**15 or fewer.",
                parameter="folds",
            )

    def local(self, batch: Batch) -> Floats:
        """Expected log-likelihood of all rows."""
        return _predicted("CrossValidated", batch, self.ess, 1 / self.folds)


def _predicted(owner: str, batch: Batch, ess: float, left_out: float) -> Floats:
    """Expected log-likelihood of every row, predicted from the others less this share of them."""
    counts = whole_counts(owner, batch, by_source=False)
    prior = ess / (counts.n_parent_states * counts.n_states)
    out = np.empty(len(counts))
    expected_predictions(counts.table, counts.shapes, prior, 1.0 - left_out, left_out, out)
    return out
