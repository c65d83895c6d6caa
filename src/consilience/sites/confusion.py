r"""How well a network predicts at each site, from counts that the sites make at home.

A site predicts the target of its own rows and counts how often each true state met each predicted
one, by group, and how often predictions of each strength came true (:class:`Tally`). With
:math:`N_{gtp}` rows of group :math:`g`, true state :math:`t` and predicted state :math:`p`,

.. math:: \text{accuracy}_g = \frac{\sum_t N_{gtt}}{\sum_{tp} N_{gtp}}, \qquad
    \text{rate}_{gp} = \frac{\sum_t N_{gtp}}{\sum_{tp} N_{gtp}} .

The same counts give :func:`consilience.classify.evaluate_network` its measures over a study. Bins
of its calibration curves are of equal width there, and not of equal weight as over rows in one
place, whose quantiles no site can know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.classify.evaluation import CalibrationCurve, Evaluation, Measures
from consilience.classify.measures import evaluate, positive_code, ratio
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError
from consilience.files.native import write
from consilience.network.network import Network
from consilience.sites.masks import sum_of
from consilience.sites.prediction_tally import SCALE, Shape, Tally

if TYPE_CHECKING:
    from consilience.sites.federated import Federation

__all__ = ["SiteMeasures", "evaluated", "measures"]

N_BINS = 10
TOGETHER = "all sites"


@dataclass(frozen=True, slots=True, eq=False)
class SiteMeasures:
    """How well a network predicts, at each site (mode ``exact``) or at all together.

    Attributes
    ----------
    target, by
        What was predicted, and the variables whose states are the groups.
    states, groups
        States of the target; names of the groups, one if ``by`` is empty.
    sites
        Names along the first axis; ``("all sites",)`` if counts came masked.
    confusion
        Rows by site, group, true and predicted state.
    unpredicted
        Rows by site, group and true state whose evidence the network holds impossible.
    calibration
        Rows by site, group, tenth of the probability of the predicted state, and whether it was
        wrong or right.
    """

    target: str
    by: tuple[str, ...]
    states: tuple[str, ...]
    groups: tuple[str, ...]
    sites: tuple[str, ...]
    confusion: Integers
    unpredicted: Integers
    calibration: Integers
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def accuracy(self) -> Floats:
        """Share predicted rightly, shape (sites, groups); 0 where there are no rows."""
        right = np.trace(self.confusion, axis1=2, axis2=3)
        every = self.confusion.sum(axis=(2, 3)) + self.unpredicted.sum(axis=2)
        return right / np.maximum(every, 1)

    @property
    def rates(self) -> Floats:
        """Share of each predicted state, shape (sites, groups, states)."""
        predicted = self.confusion.sum(axis=2)
        return predicted / np.maximum(predicted.sum(axis=2, keepdims=True), 1)

    @property
    def gap(self) -> dict[str, float]:
        """How far the accuracies of the groups, or of the sites without groups, are apart."""
        if len(self.groups) > 1:
            each = zip(self.sites, np.ptp(self.accuracy, axis=1), strict=True)
            return {name: float(gap) for name, gap in each}
        return {"between sites": float(np.ptp(self.accuracy[:, 0]))}

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def measures(
    study: Federation, net: Network, target: str, *, by: Sequence[str] = ()
) -> SiteMeasures:
    """Accuracy, rates and calibration of a network at the sites, by group.

    Parameters
    ----------
    study
        The sites.
    net
        What predicts: the posterior of the target given all other variables of the study.
    target
        What is predicted.
    by
        Discrete variables whose joint states are the groups.
    """
    _check.names("measures", by=by)
    _check_discrete(study, net, (target, *by))
    found = _tallies(study, net, target, by=by)
    confusion = np.stack([one.confusion for one in found.values()])
    return SiteMeasures(
        target,
        tuple(by),
        study.variables[target].discrete_states,
        _groups([study.variables[name] for name in by]),
        tuple(found),
        confusion[..., :-1],
        confusion[..., -1],
        np.stack([one.bins[..., :2] for one in found.values()]),
    )


def evaluated(
    study: Federation, net: Network, target: str, *, positive: str | None, n_bins: int
) -> Evaluation:
    """What :func:`consilience.classify.evaluate_network` gives, from counts of the sites."""
    _check_discrete(study, net, (target,))
    _check.whole("evaluate", at_least=1, n_bins=n_bins)
    states = study.variables[target].discrete_states
    for state in states:
        _check.known(f"state of {target!r}", [state], net.variables[target].discrete_states)
    code = positive_code(states, positive)
    found = _tallies(study, net, target, n_bins=n_bins, positive=code)
    shape = Shape(1, len(states), n_bins)
    total = Tally.of_numbers(shape, np.sum([one.numbers for one in found.values()], axis=0))
    if not total.n_rows.sum():
        raise DataError("there is no row whose true state is known.")
    belief = net.query(target)
    prior = evaluate(
        np.tile([belief[state] for state in states], (len(states), 1)),
        np.arange(len(states)),
        weights=total.confusion[0].sum(axis=1),
        states=states,
        positive=positive,
    )
    apart = {name: one for name, one in found.items() if name != TOGETHER and one.n_rows.sum()}
    return Evaluation(
        states,
        None if code is None else states[code],
        _measured(total, code),
        prior.overall,
        {name: _measured(one, code) for name, one in apart.items()},
        float(total.losses[0, 3]),
    )


def _measured(tally: Tally, positive: int | None) -> Measures:
    """The measures of the only group of a tally."""
    confusion, n_rows = tally.confusion[0], float(tally.n_rows[0])
    squares, logs, n_impossible, _ = tally.losses[0].tolist()
    precision, recall, f1 = _about(confusion, positive)
    wrong, right, sums = tally.bins[0][tally.bins[0, :, :2].any(axis=1)].T
    return Measures(
        n_rows,
        float(np.trace(confusion)) / n_rows,
        precision,
        recall,
        f1,
        squares / SCALE / n_rows,
        np.inf if n_impossible else logs / SCALE / n_rows,
        float(n_impossible),
        CalibrationCurve(
            sums / SCALE / (wrong + right), right / (wrong + right), (wrong + right).astype(float)
        ),
    )


def _about(
    confusion: Integers, positive: int | None
) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1 of the positive state."""
    if positive is None:
        return None, None, None
    both = float(confusion[positive, positive])
    n_predicted, n_so = float(confusion[:, positive].sum()), float(confusion[positive].sum())
    return ratio(both, n_predicted), ratio(both, n_so), ratio(2 * both, n_predicted + n_so)


def _check_discrete(study: Federation, net: Network, names: Sequence[str]) -> None:
    _check.known("variable", names, study.variables)
    _check.known("node", names[:1], net.distributions)
    if any(study.variables[name].is_continuous for name in names):
        raise InputError("measures: the target and the groups must be discrete.", parameter="by")


def _tallies(
    study: Federation,
    net: Network,
    target: str,
    *,
    by: Sequence[str] = (),
    n_bins: int = N_BINS,
    positive: int | None = None,
) -> Mapping[str, Tally]:
    """The tallies of the sites by name, or their sum if counts come masked."""
    n_groups = prod(study.variables[name].n_states for name in by)
    shape = Shape(n_groups, study.variables[target].n_states, n_bins)
    content = {
        "network": write(net),
        "target": target,
        "by": list(by),
        "bins": n_bins,
        "positive": positive,
    }
    replies = study.ask("confusion counts", content, n_cells=shape.n_cells)
    is_masked = study.mode == "secure"
    arrays = [
        study.array(place, reply, "counts", dtype="<u8" if is_masked else "<i8", size=shape.n_cells)
        for place, reply in enumerate(replies)
    ]
    if is_masked:
        return {TOGETHER: Tally.of_numbers(shape, sum_of(arrays))}
    each = zip(study.agreement.names, arrays, strict=True)
    return {name: Tally.of_numbers(shape, array) for name, array in each}


def _groups(variables: Sequence[Variable]) -> tuple[str, ...]:
    names: list[str] = [""]
    for variable in variables:
        names = [
            f"{before}, {variable.name}={state}" if before else f"{variable.name}={state}"
            for before in names
            for state in variable.discrete_states
        ]
    return tuple(name or "all" for name in names)
