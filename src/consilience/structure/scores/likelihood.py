r"""Scores that weigh the likelihood against the number of parameters.

With the counts :math:`N_{jk}` of a table, :math:`d = q (r - 1)` free parameters and :math:`N` rows

.. math:: \log L = \sum_{jk} N_{jk} \log \frac{N_{jk}}{N_j}, \qquad
    \mathrm{AIC} = \log L - d, \qquad \mathrm{BIC} = \log L - \tfrac12 d \log N ,

.. math:: \mathrm{EBIC} = \mathrm{BIC} - \gamma\, |\mathrm{Pa}| \log p

for a graph of :math:`p` variables. :math:`N` are the rows that are complete for the family.

A continuous child has a regression on its c continuous parents for each of the q joint states of
the discrete ones: :math:`d = q (c + 2)`, intercepts and variances included, and :math:`\log L` is
that of ``gaussian.py``. A discrete child with continuous parents has the likelihood and the
parameters of its logistic regression, :math:`d = q (r - 1) (c + 1)`.

References
----------
H. Akaike (1974). A new look at the statistical model identification. IEEE Transactions on Automatic
Control 19.
G. Schwarz (1978). Estimating the dimension of a model. Annals of Statistics 6.
J. Chen, Z. Chen (2008). Extended Bayesian information criteria for model selection with large model
spaces. Biometrika 95.
R. Foygel, M. Drton (2010). Extended Bayesian information criteria for Gaussian graphical models.
NeurIPS 23.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.kernels.scoring import log_likelihoods
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.many_regressions import RegressionBatch
from consilience.structure.scores.gaussian import gaussian_log_likelihoods
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.score import Batch, batch_of

__all__ = [
    "AIC",
    "BIC",
    "EBIC",
    "LogLikelihood",
    "criterion",
    "fitted",
    "n_free_parameters",
    "price_of",
    "price_of_arcs",
]


@dataclass(frozen=True, slots=True)
class LogLikelihood:
    """Log-likelihood at its maximum; for tables it never falls when an arc is added.

    For a continuous child it is taken at variances of denominator n - p, a little off the maximum.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "b", "b"]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.LogLikelihood()), 6)  # 4 log(1/2)
    -2.772589
    """

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Log-likelihood of each family."""
        return fitted(batch_of(batch))[0]


@dataclass(frozen=True, slots=True)
class AIC:
    """Log-likelihood less one for each free parameter (Akaike 1974)."""

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Penalised log-likelihood of each family."""
        return _penalized(self, batch_of(batch))


@dataclass(frozen=True, slots=True)
class BIC:
    r"""Log-likelihood less :math:`\tfrac12 \log N` for each free parameter (Schwarz 1978)."""

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Penalised log-likelihood of each family."""
        return _penalized(self, batch_of(batch))


@dataclass(frozen=True, slots=True)
class EBIC:
    r"""BIC less :math:`\gamma \log p` for each arc: for graphs of many variables.

    BIC takes all graphs for equally likely, so that among many candidate parents some fit by
    chance; EBIC makes all *numbers* of parents equally likely (in the limit, for :math:`\gamma` of
    1). Equal to BIC for :math:`\gamma` of 0.

    Parameters
    ----------
    n_variables
        The number :math:`p` of variables of the graph: ``len(table.variables)``. A score sees one
        family at a time and cannot know it.
    gamma
        Weight of the penalty, zero or more; 1/2 and 1 are usual.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "b", "b"], "y": ["a", "b", "a", "b"]})
    >>> dag = cs.DAG([("x", "y")])
    >>> round(cs.score(dag, table, cs.BIC()) - cs.score(dag, table, cs.scores.EBIC(2, gamma=1)), 6)
    0.693147
    """

    n_variables: int
    gamma: float = 0.5
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.whole("EBIC", at_least=1, n_variables=self.n_variables)
        _check.non_negative("EBIC", gamma=self.gamma)

    def local(self, batch: Batch) -> Floats:
        """Penalised log-likelihood of each family."""
        return _penalized(self, batch_of(batch))


def criterion(
    score: AIC | BIC, log_likelihood: float, *, n_parameters: int, n_rows: float
) -> float:
    """A log-likelihood less what the score asks for so many free parameters on so many rows.

    >>> criterion(AIC(), -100.0, n_parameters=3, n_rows=50)
    -103.0
    """
    return log_likelihood - float(price_of(score, np.array(n_rows))) * n_parameters


def price_of(score: AIC | BIC | EBIC, n_rows: Floats) -> Floats:
    """What a free parameter of each family costs, given its rows."""
    if isinstance(score, AIC):
        return np.ones_like(n_rows)
    return 0.5 * np.log(np.maximum(n_rows, 1.0))


def price_of_arcs(
    score: AIC | BIC | EBIC, batch: CountBatch | RegressionBatch | LogisticBatch
) -> Floats | float:
    """What the arcs of each family cost beyond their parameters."""
    if not isinstance(score, EBIC):
        return 0.0
    n_parents = batch.n_parents
    if n_parents.max() >= score.n_variables:
        family = batch.families[int(n_parents.argmax())]
        raise InputError(
            f"EBIC: {family.child!r} with {len(family.parents)} parents is a family of more "
            f"than n_variables={score.n_variables} variables. Give the number of variables of "
            "the graph.",
            parameter="n_variables",
        )
    return score.gamma * np.log(score.n_variables) * n_parents


def _penalized(
    score: AIC | BIC | EBIC, batch: CountBatch | RegressionBatch | LogisticBatch
) -> Floats:
    of_arcs = price_of_arcs(score, batch)
    log_likelihood, n_rows = fitted(batch)
    return log_likelihood - price_of(score, n_rows) * n_free_parameters(batch) - of_arcs


def fitted(counts: CountBatch | RegressionBatch | LogisticBatch) -> tuple[Floats, Floats]:
    """Log-likelihood of each family at its maximum, and the rows that are complete for it.

    Sources have tables of their own if the counts keep them apart.
    """
    if isinstance(counts, LogisticBatch):
        return counts.log_likelihood, counts.n_rows
    if isinstance(counts, RegressionBatch):
        return gaussian_log_likelihoods(counts), np.array(counts.n_rows)
    out, rows = np.empty(len(counts)), np.empty(len(counts), np.int64)
    log_likelihoods(counts.table, counts.shapes, out, rows)
    return out / counts.scale, rows / counts.scale


def n_free_parameters(counts: CountBatch | RegressionBatch | LogisticBatch) -> Floats:
    """Number of each family's free parameters, all parent states counted, seen or not."""
    if isinstance(counts, LogisticBatch):
        return counts.n_free_parameters.astype(np.float64)
    if isinstance(counts, RegressionBatch):
        return np.asarray(float(counts.n_parent_states) * (counts.n_continuous + 2), np.float64)
    return counts.n_parent_states * (counts.n_states - 1)
