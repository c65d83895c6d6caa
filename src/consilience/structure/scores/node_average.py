r"""Scores of incomplete rows: each family by the mean over the rows that are complete for it.

With :math:`n` rows in all, of which :math:`n_X` are complete for the family of :math:`X`, the
node-average likelihood and its penalised form are

.. math:: \mathrm{NAL} = \sum_X \frac{n}{n_X} \log L_X, \qquad
    \mathrm{PNAL} = \mathrm{NAL} - n \lambda_n \sum_X d_X, \qquad \lambda_n = c\, n^{-\alpha},

with the maximal log-likelihood :math:`L_X` over those rows and :math:`d_X` free parameters; both as
for ``likelihood.py``. They are n times the means of the papers, so that on complete rows NAL is the
log-likelihood and gains compare with those of other scores.

Families with more variables are judged by fewer rows, and the means of different rows differ by
chance, by an amount of order :math:`n^{-1/2}`. Hence the price must fall more slowly than that to
find the true graph in the end (:math:`\alpha < 1/2`; BIC's :math:`\log(n) / 2n` does not), and
equivalent graphs have different scores as soon as there are gaps. Values must be missing completely
at random.

References
----------
N. Balov (2013). Consistent model selection of discrete Bayesian networks from incomplete data.
Electronic Journal of Statistics 7.
T. Bodewes, M. Scutari (2021). Learning Bayesian networks from incomplete data with the node-average
likelihood. International Journal of Approximate Reasoning 138.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.many_regressions import RegressionBatch
from consilience.structure.scores.likelihood import fitted, n_free_parameters
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.score import Batch, batch_of

__all__ = ["NAL", "PNAL"]


@dataclass(frozen=True, slots=True)
class NAL:
    """Node-average likelihood: the mean over each family's complete rows, times the number of rows.

    Equal to ``LogLikelihood()`` without gaps. A family without a complete row has no score.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "b", None, None]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.NAL()), 6)  # 4 log(1/2)
    -2.772589
    """

    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False
    needs_complete_rows: ClassVar[bool] = False
    may_refuse: ClassVar[bool] = True

    def local(self, batch: Batch) -> Floats:
        """Mean log-likelihood of each family, times the number of all rows."""
        return _node_average(batch_of(batch))

    def refusal(self, family: Family) -> str:
        """Why a family has minus infinity."""
        return _refusal("NAL", family)


@dataclass(frozen=True, slots=True)
class PNAL:
    r"""Node-average likelihood less :math:`c\, n^{1 - \alpha}` for each free parameter.

    For incomplete rows, without filling any gap. A family without a complete row has no score.

    Parameters
    ----------
    c
        Size of the price of a parameter. BIC's price near 1,000 rows is 0.08, which lets too many
        arcs in once more than a few values are missing; the default was found by simulation on
        tables. 1 is better for regressions, whose log densities vary more (``docs/scores.md`` has
        what was measured).
    alpha
        How fast the price of a parameter falls with the rows, above 0 and below 1. Only below 1/2
        the true graph is found in the end.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "b", None, None]})
    >>> score = cs.scores.PNAL(c=1, alpha=0.25)  # 4 log(1/2) - 4^(3/4)
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, score), 6)
    -5.601016
    """

    c: float = 0.25
    alpha: float = 0.45
    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False
    needs_complete_rows: ClassVar[bool] = False
    may_refuse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.positive("PNAL", c=self.c, alpha=self.alpha)
        if self.alpha >= 1:
            raise InputError(
                f"PNAL: alpha must be below 1, and below 1/2 to find the true graph in the end; "
                f"got {self.alpha!r}.",
                parameter="alpha",
            )

    def local(self, batch: Batch) -> Floats:
        """Penalised mean log-likelihood of each family, times the number of all rows."""
        flat = batch_of(batch)
        price = self.c * _n_all(flat) ** (1 - self.alpha)
        return _node_average(flat) - price * n_free_parameters(flat)

    def refusal(self, family: Family) -> str:
        """Why a family has minus infinity."""
        return _refusal("PNAL", family)


def _node_average(batch: CountBatch | RegressionBatch | LogisticBatch) -> Floats:
    log_likelihood, n_rows = fitted(batch)
    n_all = _n_all(batch)
    share = np.divide(n_rows, n_all, out=np.ones(len(batch)), where=n_all > 0)
    out = np.full(len(batch), -np.inf)
    return np.divide(log_likelihood, share, out=out, where=share > 0)


def _n_all(batch: CountBatch | RegressionBatch | LogisticBatch) -> Floats:
    """Weight of all rows, complete for a family or not, by family."""
    if isinstance(batch, LogisticBatch):
        return batch.n_rows + batch.n_incomplete
    if isinstance(batch, RegressionBatch):
        return np.full(len(batch), batch.moments.n_rows.sum())
    return np.full(len(batch), batch.n_rows.sum() / batch.scale)


def _refusal(owner: str, family: Family) -> str:
    return (
        f"{owner}: no row has values of all of {_check.listed(family.variables)}, so that the "
        f"family of {family.child!r} cannot be judged by the rows as they are. Use fewer parents, "
        "leave a variable out, or, if all variables are discrete, learn from completed rows: "
        "cs.learn(rows, gaps=cs.StructuralEM())."
    )
