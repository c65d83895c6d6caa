r"""Calibration of a hierarchical Dirichlet chain for one class: how strongly it should shrink.

A network that predicts a class is rarely true. Naive Bayes counts what two features share twice,
so its probabilities are too sure of themselves; stronger shrinkage of P(X | class) towards P(X)
repairs that without leaving the model. The chain (:class:`HDC`) learned concentrations
:math:`s`; in the families that the class is part of they are multiplied by :math:`\kappa_{par}` at
the levels that drop a parent and by :math:`\kappa_{src}` at the one that drops the source, and a
pseudo-count is added to every cell. Each point of a grid of the three is judged by

.. math:: \sum_i \log P_{-i}(c_i \mid x_i, f_i)
    - \frac{(\log \kappa_{par})^2 + (\log \kappa_{src})^2}{2 (\log 8)^2}

where :math:`P_{-i}` has row :math:`i` left out. The pseudo-count is the one whose points have the
largest weight :math:`\exp(\text{score})` together; the factors are the weighted geometric means
over its points. (The best single point is a clearly worse choice.)

Nothing is fitted anew for a row that is left out: its customer leaves the row of its family, and
with the probability that it had opened a table there a customer leaves the level above, and so on
(``kernels/chain.py``). A row with gaps was counted in its complete families only, so for

.. math:: P_{-i}(c \mid x, f) \propto P(c \mid x, f) \prod_{\text{complete families}}
    \frac{P_{-i}(\text{family} \mid c)}{P(\text{family} \mid c)}

the network sums out what is missing, and the ratios are about what was counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from consilience import _check
from consilience._typing import Floats, Seed
from consilience.classify.left_out import LeftOut, Shrinking, shrunken_means
from consilience.data.table import Table
from consilience.distributions.categorical import Categorical
from consilience.errors import DataError, InputError
from consilience.graph.dag import DAG
from consilience.learning import AvailableCases, fit
from consilience.network.network import Network
from consilience.parameters.backoff import SOURCE
from consilience.parameters.chain import HDC, FittedChain, fitted_chains
from consilience.statistics.counts import Counts

__all__ = ["Calibrated", "calibrated_chain", "check_calibrated"]

PARENT_FACTORS = (0.5, 1.0, 4.0, 16.0, 64.0)
SOURCE_FACTORS = (0.25, 1.0, 8.0, 64.0)
PSEUDO_COUNTS = (0.0, 0.1, 1.0)

LOG_SD = float(np.log(8.0))
"""Standard deviation of the prior of a log factor."""

MOST_ROWS = 2000
"""Of more rows a random sample of this size is scored."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The choice of a chain that is calibrated for the class; see :func:`calibrated_chain`.

    It needs rows and a class beside counts, so it stands where these are known: in
    :func:`cross_evaluate`. The classifiers have the option ``calibrate`` instead.

    Parameters
    ----------
    estimator
        The chain to be calibrated.
    """

    estimator: HDC = field(default_factory=HDC)

    def __post_init__(self) -> None:
        check_calibrated(self.estimator)


def calibrated_chain(
    dag: DAG, table: Table, target: str, estimator: HDC | None = None, *, seed: Seed = 0
) -> Network:
    """The network of :class:`HDC` with the shrinkage that suits the prediction of a class.

    The head of the module has the method. It predicts the class better where the graph is wrong, at
    the cost of the joint likelihood. The network's record tells what was found. Time grows with the
    60 points of the grid and the back-off orders in use, and hardly with the rows.

    Parameters
    ----------
    dag
        The graph; the target is one of its nodes.
    table
        Rows of one or many sources; those without a class are not scored, gaps are summed out.
    target
        The class.
    estimator
        The chain to be calibrated; by default ``HDC()``.
    seed
        Of the sample that is scored if there are more than 2,000 rows.

    Examples
    --------
    One symptom under three names makes naive Bayes too sure: of the ill 7 in 10 have a fever, of
    the others 3, so that the class of a row with a fever has the probability 0.7.

    >>> import consilience as cs
    >>> fever = (["yes"] * 7 + ["no"] * 3) * 10 + (["yes"] * 3 + ["no"] * 7) * 10
    >>> ill = ["yes"] * 100 + ["no"] * 100
    >>> table = cs.read({"ill": ill, "fever": fever, "hot": fever, "warm": fever})
    >>> symptoms = {"fever": "yes", "hot": "yes", "warm": "yes"}
    >>> dag = cs.naive_bayes(table, "ill")
    >>> round(cs.fit(dag, table, cs.HDC()).query("ill", given=symptoms)["yes"], 2)
    0.89
    >>> round(calibrated_chain(dag, table, "ill").query("ill", given=symptoms)["yes"], 2)
    0.66
    """
    estimator = HDC() if estimator is None else estimator
    check_calibrated(estimator)
    _check.known("variable", [target], table.variables)
    calibrating = _Calibrating(estimator, _scored_rows(table, target, seed), target)
    net = fit(dag, table, calibrating, gaps=AvailableCases())
    method = f"{estimator!r}, calibrated for {target!r}"
    notes = (*net.record.notes, calibrating.note())
    return Network(net.distributions, net.source, replace(net.record, method=method, notes=notes))


def check_calibrated(estimator: object) -> None:
    """Refuse to calibrate anything but the chain."""
    if not isinstance(estimator, HDC):
        raise InputError(
            f"only the shrinkage of HDC can be calibrated, got the estimator {estimator!r}. Use "
            "HDC(), or no calibration.",
            parameter="calibrate",
        )


@dataclass(slots=True, eq=False)
class _Calibrating:
    """An estimator that chooses its shrinkage by rows that it was given, and remembers it."""

    estimator: HDC
    rows: Table
    target: str
    shrinking: Shrinking = field(default_factory=Shrinking)
    by_source: ClassVar[bool] = HDC.by_source
    adds_new_source: ClassVar[bool] = HDC.adds_new_source

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distributions; those of the target's families are calibrated."""
        _check.known("node", [self.target], [counts.child.name for counts in families])
        chains = fitted_chains(families, self.estimator)
        left_out = LeftOut.of(chains, self.rows, self.target)
        points = _grid([family.chain for family in left_out.families])
        self.shrinking = _averaged(points, np.array([_score(left_out, each) for each in points]))
        return [
            chain.local(
                shrunken_means(chain, self.shrinking)
                if self.target in chain.counts.family.variables
                else chain.means
            )
            for chain in chains
        ]

    def note(self) -> str:
        """What was found, in words."""
        found = self.shrinking
        of_source = f", of the source by {found.source_factor:.3g}" if self.rows.source else ""
        return (
            f"Calibrated for {self.target!r} on {self.rows.n_rows:,} rows. In its families, "
            f"concentrations of parents were multiplied by {found.parent_factor:.3g}{of_source}; "
            f"{found.pseudo_count:g} was added to every count."
        )


def _scored_rows(table: Table, target: str, seed: Seed) -> Table:
    is_known = table.column(target) >= 0
    if table.weights is not None:
        is_known &= table.weights > 0
    rows = np.flatnonzero(is_known)
    if not rows.size:
        raise DataError(
            f"no row has a value of {target!r}, so nothing can be calibrated.", column=target
        )
    if len(rows) > MOST_ROWS:
        rows = np.sort(_check.generator(seed).choice(rows, MOST_ROWS, replace=False))
    return table.take(rows)


def _grid(chains: Sequence[FittedChain]) -> list[Shrinking]:
    """All points to be scored; a factor that no level has stays one."""
    kinds = np.concatenate([way.kinds[1:] for chain in chains for way in chain.ways])
    of_parents = PARENT_FACTORS if (kinds != SOURCE).any() else (1.0,)
    of_source = SOURCE_FACTORS if (kinds == SOURCE).any() else (1.0,)
    return [Shrinking(*point) for point in product(of_parents, of_source, PSEUDO_COUNTS)]


def _score(left_out: LeftOut, shrinking: Shrinking) -> float:
    """Log likelihood of the classes of all rows, each left out, and log prior of the factors."""
    rows = left_out.rows
    truth = rows.column(left_out.target)
    of_truth = left_out.log_beliefs(shrinking)[np.arange(len(truth)), truth]
    weights = np.ones(len(truth)) if rows.weights is None else rows.weights
    logs = np.log([shrinking.parent_factor, shrinking.source_factor])
    return float(weights @ of_truth - (logs @ logs) / (2 * LOG_SD**2))


def _averaged(points: Sequence[Shrinking], scores: Floats) -> Shrinking:
    """The pseudo-count of the largest summed weight, and the mean log factors at it."""
    weights = softmax(scores)
    pseudo_counts = np.array([point.pseudo_count for point in points])
    best = max(PSEUDO_COUNTS, key=lambda value: float(weights[pseudo_counts == value].sum()))
    weights = np.where(pseudo_counts == best, weights, 0.0)
    logs = np.log([[point.parent_factor, point.source_factor] for point in points])
    parent_factor, source_factor = np.exp(weights @ logs / weights.sum())
    return Shrinking(float(parent_factor), float(source_factor), best)
