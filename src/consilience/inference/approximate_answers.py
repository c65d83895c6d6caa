"""Questions that go another way than the exact one: by draws, or by loopy propagation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from consilience._typing import Column, Floats, Integers
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference.estimate_ways import USUAL_ERROR, LoopyPropagation, Sampler
from consilience.inference.estimation import (
    estimated_beliefs,
    estimated_log_evidence,
    estimated_share,
)
from consilience.inference.event import Tree, holds, names_in, text_of
from consilience.inference.evidence import Evidence
from consilience.inference.loopy import propagate
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Network
from consilience.network.propagation_report import PropagationReport

__all__ = [
    "Estimate",
    "approximate_belief",
    "approximate_event",
    "approximate_log_evidence",
    "approximate_marginals",
    "approximate_probability",
    "plain_belief",
]

Estimate = Sampler | LoopyPropagation
"""A way that is not exact."""


def approximate_belief(
    net: Network, asked: Sequence[str], evidence: Evidence, way: Estimate
) -> Factor | Mixture | MixedBelief:
    """The joint posterior of some nodes."""
    if not isinstance(way, LoopyPropagation):
        return estimated_beliefs(net, [asked], evidence, way)[0]
    _refuse_soft(evidence)
    if len(asked) == 1:
        found, rows = propagate(net, evidence, way, asked)
        return found.belief(net, asked[0], rows)
    return _joint(net, asked, evidence, way)


def approximate_marginals(
    net: Network, evidence: Evidence, way: Estimate
) -> dict[str, Factor | Mixture | MixedBelief]:
    """The posterior of every node that is not known, all from one run."""
    known = {*evidence.known, *evidence.values}
    asked = [name for name in net.variables if name not in known]
    if isinstance(way, LoopyPropagation):
        _refuse_soft(evidence)
        found, rows = propagate(net, evidence, way)
        return {name: found.belief(net, name, rows) for name in asked}
    each = estimated_beliefs(net, [[name] for name in asked], evidence, way)
    return dict(zip(asked, each, strict=True))


def approximate_log_evidence(net: Network, evidence: Evidence, way: Estimate) -> float:
    """Log probability, or density, of what is given."""
    if isinstance(way, LoopyPropagation):
        _refuse_soft(evidence)
        if not evidence.names:
            return 0.0
        try:
            found, _ = propagate(net, evidence, way, ())
        except ImpossibleEvidenceError:
            return -math.inf
        _refuse_unsettled(found.report)
        return found.log_evidence
    return estimated_log_evidence(net, evidence, way)


def approximate_probability(
    net: Network,
    states: Evidence,
    intervals: Mapping[str, tuple[float, float]],
    evidence: Evidence,
    *,
    way: Estimate,
) -> float:
    """The probability of states, sets of states and intervals, given others."""
    names = [*states.names, *intervals]
    if isinstance(way, LoopyPropagation):
        return _by_loopy(net, states, intervals, evidence, way=way)
    vectors = {
        name: states.likelihoods.get(
            name, np.eye(net.variables[name].n_states)[states.known.get(name, 0)]
        )
        for name in states.names
    }

    def event(columns: Mapping[str, Column]) -> Integers:
        meets = np.ones(len(next(iter(columns.values()))), bool)
        for name, vector in vectors.items():
            meets &= vector[columns[name]] > 0
        for name, (low, high) in intervals.items():
            meets &= (columns[name] >= low) & (columns[name] <= high)
        return meets.astype(np.int64)

    return estimated_share(net, names, event, evidence, way=way)


def approximate_event(net: Network, tree: Tree, evidence: Evidence, way: Estimate) -> float:
    """The probability of an event that joins comparisons, by the share of draws that meet it."""
    if isinstance(way, LoopyPropagation):
        raise InputError(
            "loopy propagation tells states, sets of states and an interval; ask for the event "
            f"{text_of(tree)!r} by=cs.inference.LikelihoodWeighting().",
            parameter="by",
        )

    def event(columns: Mapping[str, Column]) -> Integers:
        return holds(tree, net.variables, columns).astype(np.int64)

    return estimated_share(net, names_in(tree), event, evidence, way=way)


def plain_belief(net: Network, target: str, evidence: Evidence, way: Estimate) -> Floats:
    """The posterior of one node as numbers: its states, or mean and sd; an error is kept."""
    if isinstance(way, LoopyPropagation):
        found = approximate_belief(net, [target], evidence, way)
        _refuse_unsettled(getattr(found, "propagation", None))
    else:
        wanted = USUAL_ERROR if way.error is None else way.error
        is_open = way.draws is None
        run = replace(way, error=wanted) if is_open else way
        found = approximate_belief(net, [target], evidence, run)
        _refuse_error(found, wanted)
    if isinstance(found, Factor):
        return found.values
    assert isinstance(found, Mixture)
    return np.array([found.mean, found.sd])


def _refuse_error(found: Any, wanted: float) -> None:
    errors = found.standard_errors
    unit = 1.0 if isinstance(found, Factor) else max(float(found.sd), 1e-300)
    worst = float(errors.max()) / unit
    if worst > wanted:
        raise InputError(
            f"the standard error is {worst:.2g} after the draws that were asked for, and {wanted:g}"
            " is wanted. Give more draws or seconds, or a larger error.",
            parameter="error",
        )


def _refuse_unsettled(report: PropagationReport | None) -> None:
    if report is not None and not report.is_settled:
        raise InputError(
            f"{report}; give more damping, or another way such as cs.inference.Best().",
            parameter="by",
        )


def _refuse_soft(evidence: Evidence) -> None:
    if evidence.soft:
        raise InputError(
            "soft evidence is fitted exactly; use by=cs.inference.Exact().", parameter="given"
        )


def _with(evidence: Evidence, name: str, code: int) -> Evidence:
    return replace(evidence, known={**evidence.known, name: code})


def _joint(
    net: Network, asked: Sequence[str], evidence: Evidence, way: LoopyPropagation
) -> Factor | MixedBelief:
    """P(a, b, ...) = P(a) P(b | a) ..., each by a run of its own."""
    discrete = [n for n in asked if not net.variables[n].is_continuous]
    continuous = [n for n in asked if net.variables[n].is_continuous]
    if len(continuous) > 1 or not discrete:
        raise InputError(
            "loopy propagation tells one continuous variable at a time; ask for "
            f"{continuous[0]!r} alone.",
            variable=continuous[0],
        )
    shape = tuple(net.variables[n].n_states for n in discrete)
    values, reports = np.zeros(shape), []
    for place in product(*(range(r) for r in shape[:-1])):
        share, held = 1.0, evidence
        for name, code in zip(discrete[:-1], place, strict=True):
            one, _ = propagate(net, held, way, [name])
            reports.append(one.report)
            share *= float(one.beliefs[name][code]) if name in one.beliefs else 1.0
            if share == 0:
                break
            held = _with(held, name, code)
        if share > 0:
            one, rows = propagate(net, held, way, [discrete[-1]])
            reports.append(one.report)
            last = one.belief(net, discrete[-1], rows)
            assert isinstance(last, Factor)
            values[place] = share * last.values
    report = max(reports, key=lambda r: (not r.is_settled, r.residual))
    factor = Factor(tuple(net.variables[n] for n in discrete), values, propagation=report)
    if not continuous:
        return factor
    mixtures = {}
    for at in np.argwhere(values > 0):
        held = evidence
        for name, code in zip(discrete, at, strict=True):
            held = _with(held, name, int(code))
        mixture = approximate_belief(net, continuous, held, way)
        assert isinstance(mixture, Mixture)
        mixtures[tuple(map(int, at))] = mixture
    return MixedBelief(factor, mixtures)


def _by_loopy(
    net: Network,
    states: Evidence,
    intervals: Mapping[str, tuple[float, float]],
    evidence: Evidence,
    *,
    way: LoopyPropagation,
) -> float:
    """P(a) P(b | a) ... for states or sets of them, and then one interval."""
    share, held = 1.0, evidence
    for name in states.names:
        found = approximate_belief(net, [name], held, way)
        assert isinstance(found, Factor)
        _refuse_unsettled(found.propagation)
        vector = states.likelihoods.get(
            name, np.eye(net.variables[name].n_states)[states.known.get(name, 0)]
        )
        share *= float(found.values @ vector)
        if share == 0:
            return 0.0
        held = replace(held, likelihoods={**held.likelihoods, name: vector})
    for name, (low, high) in intervals.items():
        if len(intervals) > 1:
            raise InputError("loopy propagation tells one interval at a time.", parameter="event")
        mixture = approximate_belief(net, [name], held, way)
        assert isinstance(mixture, Mixture)
        share *= mixture.probability(
            None if low == -math.inf else low, None if high == math.inf else high
        )
    return share
