r"""How good class probabilities are: overall, by source, and how far sources are apart.

For row :math:`i` of weight :math:`w_i` with the class :math:`c_i`, probabilities :math:`p_{ik}` and
the predicted class :math:`\hat c_i = \arg\max_k p_{ik}` (the first of several):

.. math::
    \text{accuracy} &= \tfrac1W \textstyle\sum_i w_i [\hat c_i = c_i], \qquad
    \text{log loss} = -\tfrac1W \textstyle\sum_i w_i \log p_{i c_i} \\
    \text{Brier} &= \tfrac1W \textstyle\sum_i w_i \sum_k (p_{ik} - [k = c_i])^2

The Brier score is Brier's own (1950), over all classes: from 0 to 2, and for two classes twice the
one-sided score. Precision, recall and F1 are about one positive state. The class prior, which looks
at no feature, is measured on the same rows; a classifier worth its name does better.

The calibration curve groups the rows by the probability of the positive state (without one, of the
predicted state) into bins of equal weight, and sets the mean probability of a bin beside the share
that came true; the calibration error is the mean absolute difference of the two. Rows of equal
probability are in one bin, so the curve does not depend on the order of the rows; many ties make
fewer bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.classify.evaluation import CalibrationCurve, Evaluation, Measures
from consilience.data.align import aligned_codes
from consilience.data.door import Rows, as_rows_of
from consilience.errors import DataError, InputError
from consilience.inference.evidence_rows import log_of_states
from consilience.network.network import Network

__all__ = ["KeptRows", "evaluate", "evaluate_network", "positive_code", "ratio"]

TOLERANCE = 1e-6  # of the sum of a row; single precision is good enough to be measured


@runtime_checkable
class KeptRows(Protocol):
    """Rows that are predicted where they are, such as those of sites."""

    def evaluated(
        self, net: Network, target: str, *, positive: str | None, n_bins: int
    ) -> Evaluation:
        """Measures of a network's posteriors, from counts of what it predicted."""
        ...


def evaluate(
    probabilities: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    states: Sequence[str],
    positive: str | None = None,
    weights: npt.ArrayLike | None = None,
    prior: npt.ArrayLike | None = None,
    sources: Sequence[str] = (),
    source_codes: npt.ArrayLike | None = None,
    n_bins: int = 10,
    logs: npt.ArrayLike | None = None,
) -> Evaluation:
    """Measures of class probabilities against the truth.

    Parameters
    ----------
    probabilities
        Shape (rows, states); rows sum to one. A row of zeros stands for evidence that the model
        holds impossible: it predicts nothing, so it is wrong.
    truth
        Code of the true state of each row; rows with -1 (unknown) are left out and counted.
    states
        Names of the states, in the order of the columns.
    positive
        The state that precision, recall and F1 are about; if not given, the second of two states,
        and with more than two these measures are left out.
    weights
        How many rows each row stands for; one each if not given.
    prior
        Class probabilities known before any feature, such as the training rows' shares; if not
        given, the shares of the evaluated rows themselves, the best that a constant can do.
    sources, source_codes
        Names of the sources and the code of each row's source. A source without evaluated rows is
        left out.
    n_bins
        Number of bins of the calibration curves.
    logs
        Log probability of the true state of each row, for those that are too small to be a float;
        that of ``probabilities`` if not given.

    Examples
    --------
    >>> found = evaluate([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], [0, 0, 1], states=["no", "yes"])
    >>> round(found.overall.accuracy, 3), found.overall.recall
    (0.667, 1.0)
    """
    _check.names("evaluate", states=states, sources=sources)
    beliefs = _checked_beliefs(probabilities, len(states))
    codes = _checked_codes("truth", truth, len(beliefs), len(states), least=-1)
    weight = _checked_weights(weights, len(beliefs))
    _check.whole("evaluate", at_least=1, n_bins=n_bins)
    k = positive_code(states, positive)
    used = (codes >= 0) & (weight > 0)
    if not used.any():
        raise DataError("there is no row whose true state is known.")
    log_of_truth = _checked_logs(logs, beliefs, codes)
    rows = _Rows(beliefs[used], codes[used], weight[used], log_of_truth[used], k, n_bins)
    by_source: dict[str, Measures] = {}
    if source_codes is not None:
        of_row = _checked_codes("source_codes", source_codes, len(beliefs), len(sources), least=0)
        parts = {name: of_row[used] == f for f, name in enumerate(sources)}
        by_source = {name: rows.at(part).measures() for name, part in parts.items() if part.any()}
    return Evaluation(
        states=tuple(states),
        positive=None if k is None else states[k],
        overall=rows.measures(),
        prior=rows.with_prior(_checked_prior(prior, rows, len(states))).measures(),
        by_source=by_source,
        n_unknown=float(weight[codes < 0].sum()),
    )


def evaluate_network(
    net: Network,
    table: Rows | KeptRows,
    target: str,
    *,
    positive: str | None = None,
    n_bins: int = 10,
) -> Evaluation:
    """Measures of a network's posteriors of the target given all other columns of the table.

    States are matched by name; a state of the target that the network does not know is an error.
    Missing features are summed out; rows whose target is missing are left out and counted. Sources
    are the table's. The class prior is the network's own marginal of the target.

    The rows may be those of a study over sites, which count at home how they are predicted; then
    the bins of calibration curves are of equal width.
    """
    _check.known("node", [target], net.distributions)
    if isinstance(table, KeptRows):
        return table.evaluated(net, target, positive=positive, n_bins=n_bins)
    table = as_rows_of(net.variables, net.source, table)
    _check.known("variable", [target], table.variables)
    beliefs, truth = net.posteriors(table, target), aligned_codes(table, net.variables[target])
    return evaluate(
        beliefs,
        truth,
        states=net.variables[target].discrete_states,
        positive=positive,
        weights=table.weights,
        prior=net.query(target).values,
        sources=table.sources,
        source_codes=table.source_codes,
        n_bins=n_bins,
        logs=log_of_states(net, table, target, truth, posteriors=beliefs),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows to be measured: probabilities, true states, weights above zero, log P(truth)."""

    beliefs: Floats
    truth: Integers
    weight: Floats
    logs: Floats
    positive: int | None
    n_bins: int

    def at(self, part: npt.NDArray[np.bool_]) -> _Rows:
        kept = (self.beliefs[part], self.truth[part], self.weight[part], self.logs[part])
        return _Rows(*kept, self.positive, self.n_bins)

    def with_prior(self, prior: Floats) -> _Rows:
        same = np.broadcast_to(prior, self.beliefs.shape)
        logs = _log_of_truth(same, self.truth)
        return _Rows(same, self.truth, self.weight, logs, self.positive, self.n_bins)

    @property
    def predicted(self) -> Integers:
        """The most probable state; -1 for a row of zeros."""
        return np.where(self.beliefs.any(axis=1), self.beliefs.argmax(axis=1), -1)

    def measures(self) -> Measures:
        total = float(self.weight.sum())
        of_truth = self.beliefs[np.arange(len(self.truth)), self.truth]
        is_right = self.predicted == self.truth
        squares = (self.beliefs**2).sum(axis=1) - 2 * of_truth + 1
        precision, recall, f1 = self._about_positive()
        return Measures(
            n_rows=total,
            accuracy=float(self.weight @ is_right) / total,
            precision=precision,
            recall=recall,
            f1=f1,
            brier=max(0.0, float(self.weight @ squares) / total),
            log_loss=0.0 - float(self.weight @ self.logs) / total,
            n_impossible=float(self.weight[np.isneginf(self.logs)].sum()),
            curve=self._curve(),
        )

    def _about_positive(self) -> tuple[float | None, float | None, float | None]:
        if self.positive is None:
            return None, None, None
        is_predicted, is_so = self.predicted == self.positive, self.truth == self.positive
        both = float(self.weight[is_predicted & is_so].sum())
        n_predicted, n_so = float(self.weight[is_predicted].sum()), float(self.weight[is_so].sum())
        return ratio(both, n_predicted), ratio(both, n_so), ratio(2 * both, n_predicted + n_so)

    def _curve(self) -> CalibrationCurve:
        if self.positive is None:
            probability, came_true = self.beliefs.max(axis=1), self.predicted == self.truth
        else:
            probability = self.beliefs[:, self.positive]
            came_true = self.truth == self.positive
        values, place = np.unique(probability, return_inverse=True)
        weight = np.bincount(place, self.weight)
        middle = np.cumsum(weight) - weight / 2
        bins = np.minimum(middle / weight.sum() * self.n_bins, self.n_bins - 1).astype(np.int64)
        _, bins = np.unique(bins, return_inverse=True)
        n_rows = np.bincount(bins, weight).astype(np.float64)
        true_weight = np.bincount(place, self.weight * came_true)
        return CalibrationCurve(
            np.bincount(bins, weight * values) / n_rows,
            np.bincount(bins, true_weight) / n_rows,
            n_rows,
        )


def _log_of_truth(beliefs: Floats, truth: Integers) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(beliefs[np.arange(len(truth)), truth])


def _checked_logs(logs: npt.ArrayLike | None, beliefs: Floats, codes: Integers) -> Floats:
    if logs is None:
        return _log_of_truth(beliefs, codes)
    found = np.asarray(logs, np.float64)
    if found.shape != codes.shape or not (found <= TOLERANCE).all():
        raise InputError(
            "evaluate: logs must be one log probability for each row, none above zero.",
            parameter="logs",
        )
    return found


def ratio(part: float, whole: float) -> float | None:
    """A share, or None of nothing."""
    return part / whole if whole > 0 else None


def _checked_beliefs(probabilities: npt.ArrayLike, n_states: int) -> Floats:
    beliefs = np.asarray(probabilities, dtype=np.float64)
    if beliefs.ndim != 2 or beliefs.shape[1] != n_states:
        raise InputError(
            "evaluate: probabilities must have one row per row of the data and "
            f"{n_states} columns; got the shape {beliefs.shape}.",
            parameter="probabilities",
        )
    sums = beliefs.sum(axis=1)
    is_good = (np.abs(sums - 1) <= TOLERANCE) | ~beliefs.any(axis=1)
    bad = np.flatnonzero(~(is_good & (beliefs >= 0).all(axis=1)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"evaluate: the probabilities of row {row + 1} must be zero or more and sum to one, "
            f"got {beliefs[row].tolist()}.",
            row=row + 1,
        )
    return beliefs


def _checked_codes(
    name: str, codes: npt.ArrayLike, n_rows: int, n_states: int, *, least: int
) -> Integers:
    array = np.asarray(codes)
    if array.shape != (n_rows,) or not (np.issubdtype(array.dtype, np.integer) or not n_rows):
        raise InputError(
            f"evaluate: {name} must be {n_rows} whole numbers, got {array.dtype.name} of shape "
            f"{array.shape}.",
            parameter=name,
        )
    bad = np.flatnonzero((array < least) | (array >= n_states))
    if bad.size:
        raise InputError(
            f"evaluate: {name} must be codes from {least} to {n_states - 1}, got "
            f"{array[bad[0]]} in row {bad[0] + 1}.",
            parameter=name,
            row=int(bad[0]) + 1,
        )
    return array.astype(np.int64)


def _checked_weights(weights: npt.ArrayLike | None, n_rows: int) -> Floats:
    if weights is None:
        return np.ones(n_rows)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_rows,) or not (np.isfinite(array) & (array >= 0)).all():
        raise InputError(
            f"evaluate: weights must be {n_rows} finite numbers of zero or more.",
            parameter="weights",
        )
    return array


def _checked_prior(prior: npt.ArrayLike | None, rows: _Rows, n_states: int) -> Floats:
    if prior is None:
        shares = np.bincount(rows.truth, rows.weight, minlength=n_states)
        return shares / shares.sum()
    array = np.asarray(prior, dtype=np.float64)
    is_good = array.shape == (n_states,) and bool((array >= 0).all())
    if not (is_good and abs(float(array.sum()) - 1) <= TOLERANCE):
        raise InputError(
            f"evaluate: prior must be {n_states} numbers of zero or more that sum to one, got "
            f"{array.tolist()}.",
            parameter="prior",
        )
    return array


def positive_code(states: Sequence[str], positive: str | None) -> int | None:
    """The place of the positive state; of two states the second if none is named."""
    if positive is None:
        return 1 if len(states) == 2 else None
    if positive not in states:
        _check.unknown("state", positive, states)
    return list(states).index(positive)
