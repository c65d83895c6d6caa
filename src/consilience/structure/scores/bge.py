r"""The Bayesian score of Gaussian networks (BGe).

The rows are normal with unknown mean and precision, which have a normal-Wishart prior: the mean is
worth :math:`\alpha_\mu` rows at the mean of the data, and the precision matrix of all p variables
is Wishart with :math:`\alpha_w = p + a` degrees of freedom and the matrix :math:`T = t I`,
:math:`t = \alpha_\mu (a - 1) / (\alpha_\mu + 1)`. With the centred products S of N rows,
:math:`R = T + S`, and :math:`R_{y|P}` what the parents leave of R, the log evidence of a child y
with l parents P is

.. math::
    \tfrac12 \log \frac{\alpha_\mu}{N + \alpha_\mu} - \tfrac N2 \log \pi
    + \log \frac{\Gamma((N + a + l + 1) / 2)}{\Gamma((a + l + 1) / 2)}
    + \tfrac12 (a + 2 l + 1) \log t
    - \tfrac12 \log |R_{PP}| - \tfrac12 (N + a + l + 1) \log R_{y|P} .

It is the quotient of the evidence of the family and of its parents, which is why the score is the
same for equivalent graphs. The number of variables drops out.

References
----------
D. Geiger, D. Heckerman (1994). Learning Gaussian networks. Proceedings of UAI 10.
J. Kuipers, G. Moffa, D. Heckerman (2014). Addendum on the scoring of Gaussian directed acyclic
graphical models. Annals of Statistics 42.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.statistics.many_regressions import RegressionBatch
from consilience.structure.scores.score import Batch, child_of

__all__ = ["BGe"]


@dataclass(frozen=True, slots=True)
class BGe:
    """Log evidence of a Gaussian family under a normal-Wishart prior.

    For continuous variables with continuous parents only. The prior is not the same in all units:
    its variances are about ``(freedom - 1) / freedom / 2`` in those of the columns, so bring them
    to a like scale first. Columns that are functions of others do no harm. The defaults are those
    of the R package bnlearn (its ``iss.w`` is the number of variables plus ``freedom``).

    Parameters
    ----------
    ess
        How many rows the prior of the mean is worth.
    freedom
        Degrees of freedom of the Wishart prior beyond the number of variables, above 1. More of
        them hold the covariances closer to those of independent variables.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": [1.0, 3.0]}, continuous=["x"])  # R = 1/2 + 2
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.BGe()), 6)
    -4.619019
    """

    ess: float = 1.0
    freedom: float = 2.0
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("BGe", ess=self.ess, freedom=self.freedom)
        if not self.freedom > 1:
            raise InputError(
                f"BGe: freedom must be above 1, got {self.freedom!r}.", parameter="freedom"
            )

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family."""
        if not isinstance(batch, RegressionBatch) or batch.moments.given:
            raise InputError(
                f"BGe judges continuous variables with continuous parents; the family of "
                f"{child_of(batch)!r} has a discrete variable. Use cs.BIC(), or another score "
                "that is a likelihood, for tables with both kinds.",
                variable=child_of(batch),
            )
        return self._log_evidence(batch.pooled())

    def _log_evidence(self, batch: RegressionBatch) -> Floats:
        t = self.ess * (self.freedom - 1) / (self.ess + 1)
        found = batch.residuals(ridge=t)
        n, l, a = batch.n_rows, batch.n_continuous, self.freedom + 1  # noqa: E741 - of the formula
        constant = 0.5 * np.log(self.ess / (n + self.ess)) - 0.5 * n * np.log(np.pi)
        gammas = gammaln((n + a + l) / 2) - gammaln((a + l) / 2)
        prior = 0.5 * (a + 2 * l) * np.log(t)
        data = 0.5 * found.log_det[0] + 0.5 * (n + a + l) * np.log(found.left[0])
        return constant + gammas + prior - data
