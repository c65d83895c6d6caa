r"""How well a network predicts at each site, from counts that the sites make at home.

A site predicts the target of its own rows and counts how often each true state met each predicted
one, by group, and how often predictions of each strength came true. With :math:`N_{gtp}` rows of
group :math:`g`, true state :math:`t` and predicted state :math:`p`,

.. math:: \text{accuracy}_g = \frac{\sum_t N_{gtt}}{\sum_{tp} N_{gtp}}, \qquad
    \text{rate}_{gp} = \frac{\sum_t N_{gtp}}{\sum_{tp} N_{gtp}} .

The network travels as data. What it predicts may be any function of a row, so a policy that gives
confusion counts gives counts of any set of rows; groups of fewer rows than the least cell are
refused, and mode ``intervals`` gives none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.data.align import aligned_codes
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.errors import InputError, RefusalError
from consilience.files.native import parse, write
from consilience.files.objects import Content
from consilience.network.network import Network
from consilience.sites.masks import sum_of
from consilience.sites.message import Request

if TYPE_CHECKING:
    from consilience.sites.federated import Federation
    from consilience.sites.site_answers import Answered, Given

__all__ = ["SiteMeasures", "check_confusion", "confusion_answer", "measures"]

N_BINS = 10


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
    calibration: Integers
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def accuracy(self) -> Floats:
        """Share predicted rightly, shape (sites, groups); 0 where there are no rows."""
        right = np.trace(self.confusion, axis1=2, axis2=3)
        return right / np.maximum(self.confusion.sum(axis=(2, 3)), 1)

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
    _check.known("variable", [target, *by], study.schema.variables)
    _check.known("node", [target], net.distributions)
    variables = study.schema.variables
    if any(variables[name].is_continuous for name in (target, *by)):
        raise InputError("measures: the target and the groups must be discrete.", parameter="by")
    states = variables[target].discrete_states
    groups = _groups([variables[name] for name in by])
    sizes = len(groups) * len(states) ** 2, len(groups) * N_BINS * 2
    content = {"network": write(net), "target": target, "by": list(by)}
    replies = study.ask("confusion counts", content, n_cells=sum(sizes))
    dtype = "<u8" if study.mode == "secure" else "<i8"
    arrays = [
        study.array(place, reply, "counts", dtype=dtype, size=sum(sizes))
        for place, reply in enumerate(replies)
    ]
    flat = sum_of(arrays)[None] if study.mode == "secure" else np.stack(arrays)
    shapes = (len(groups), len(states), len(states)), (len(groups), N_BINS, 2)
    confusion, calibration = flat[:, : sizes[0]], flat[:, sizes[0] :]
    return SiteMeasures(
        target,
        tuple(by),
        states,
        groups,
        ("all sites",) if study.mode == "secure" else study.agreement.names,
        confusion.reshape(len(flat), *shapes[0]),
        calibration.reshape(len(flat), *shapes[1]),
    )


def check_confusion(request: Request, given: Given) -> None:
    """Refuse what the policy does not give, before a row is read."""
    if given.agreement.mode == "intervals":
        raise RefusalError("confusion counts do not leave in mode 'intervals'.", code="mode")
    net, target, by = _asked(request)
    allowed = given.agreement.variables
    for name in (*net.dag.nodes, target, *by):
        if name != net.source and name not in allowed:
            raise RefusalError(f"{name!r:.80} may not be asked for.", code="variable")
    n_groups = prod(given.agreement.shape(tuple(by)))
    n_cells = n_groups * (allowed[target].n_states ** 2 + 2 * N_BINS)
    if n_cells > given.policy.max_cells:
        raise RefusalError(f"{n_cells} cells are more than the policy gives.", code="cells")


def confusion_answer(request: Request, request_hash: str, given: Given) -> Answered:
    """Counts of true and predicted states, and of how sure predictions were, by group."""
    net, target, by = _asked(request)
    table, variables = given.table, given.agreement.variables
    states = variables[target].discrete_states
    truth = aligned_codes(table, variables[target]).astype(np.int64)
    group = np.zeros(table.n_rows, np.int64)
    is_known = truth >= 0
    for name in by:
        codes = aligned_codes(table, variables[name]).astype(np.int64)
        is_known &= codes >= 0
        group = group * variables[name].n_states + np.maximum(codes, 0)
    beliefs = _beliefs(net, table, target, given)
    places = [states.index(state) for state in net.variables[target].discrete_states]
    best = np.array(places)[beliefs.argmax(axis=1)]
    sure = np.minimum((beliefs.max(axis=1) * N_BINS).astype(np.int64), N_BINS - 1)
    weights = np.ones(table.n_rows, np.int64) if table.weights is None else table.weights
    n_groups, r = prod(given.agreement.shape(tuple(by))), len(states)
    confusion = np.zeros((n_groups, r, r), np.int64)
    calibration = np.zeros((n_groups, N_BINS, 2), np.int64)
    rows = np.flatnonzero(is_known)
    np.add.at(confusion, (group[rows], truth[rows], best[rows]), weights[rows])
    right = (truth == best).astype(np.int64)
    np.add.at(calibration, (group[rows], sure[rows], right[rows]), weights[rows])
    _check_groups(confusion, given)
    flat = np.concatenate([confusion.ravel(), calibration.ravel()]).astype("<i8")
    sent: Any = flat
    if given.agreement.mode == "secure":
        sent = given.masked(flat, request, request_hash)
    return {}, {}, {"counts": sent}


def _check_groups(confusion: Integers, given: Given) -> None:
    totals = confusion.sum(axis=(1, 2))
    if ((totals > 0) & (totals < given.policy.least_cell)).any():
        raise RefusalError(
            f"a group has fewer than {given.policy.least_cell} rows here.", code="rows"
        )


def _beliefs(net: Network, table: Table, target: str, given: Given) -> Floats:
    """The probabilities of the target; the site is what is known of the source."""
    if table.weights is not None and table.weights.dtype != np.int64:
        raise RefusalError("confusion counts need whole weights.", code="statistics")
    if net.source is None:
        return net.posteriors(table, target)
    known = net.variables[net.source].discrete_states
    name = given.name if given.name in known else NEW_SOURCE
    if name not in known:
        raise RefusalError("the network does not know this site.", code="variable")
    source = Variable(net.source, (name,))
    codes = np.zeros(table.n_rows, code_type(1))
    at_home = Table(Schema(table.variables, source), table.columns, codes, table.weights)
    return net.posteriors(at_home, target)


def _asked(request: Request) -> tuple[Network, str, list[str]]:
    content = Content.of(dict(request.content), "message", "confusion counts")
    net = parse(content.take("network", str), "message")
    target, by = content.take("target", str), content.texts("by")
    if target not in net.distributions or target == net.source or target in by:
        raise content.fault("'target' must be a node that is no group")
    return net, target, by


def _groups(variables: Sequence[Variable]) -> tuple[str, ...]:
    names: list[str] = [""]
    for variable in variables:
        names = [
            f"{before}, {variable.name}={state}" if before else f"{variable.name}={state}"
            for before in names
            for state in variable.discrete_states
        ]
    return tuple(name or "all" for name in names)
