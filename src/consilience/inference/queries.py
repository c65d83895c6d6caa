"""Posterior distributions and probabilities: one query, all marginals, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.row import known_values
from consilience.errors import InputError, MemoryLimitError
from consilience.inference.beliefs import all_marginals, belief, log_evidence
from consilience.inference.conflict import refuse_impossible
from consilience.inference.cutting import cost_shape
from consilience.inference.estimate_ways import Best, Way, is_estimate
from consilience.inference.event import Event, Joined, Tree, tree_of
from consilience.inference.event_beliefs import belief_given, probability_of, settled
from consilience.inference.event_nodes import conditioned, is_open, split_given
from consilience.inference.evidence import Evidence, Likelihood, Soft, evidence_of, names_of
from consilience.inference.intervals import intervals_of
from consilience.inference.known_rows import rows_of
from consilience.inference.soft import hardened
from consilience.inference.solving import (
    components_of,
    families_of,
    scopes_of_question,
    shape_of_scopes,
)
from consilience.inference.triangulation import Cost
from consilience.inference.ways import Exact, exact_of
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import MEMORY_LIMIT, Given, Network, check_network, discrete_only

_Answer = TypeVar("_Answer")

__all__ = ["cost", "joint", "log_probability", "marginals", "probability", "query"]


def query(
    net: Network,
    names: str | Sequence[str],
    given: Given = None,
    *,
    by: Way | None = None,
) -> Factor | Any:
    """The posterior of one variable, or the joint posterior of several, in their order.

    By variable elimination on what matters for the question; time and memory grow with the largest
    product formed, which :func:`cost` tells beforehand. It is exact but for logistic nodes that
    matter and have continuous parents whose values are not known: then it is estimated
    (:mod:`consilience.inference.open_logistic`), and the answer has standard errors.

    Parameters
    ----------
    names
        One node or several.
    given
        What is known; see :mod:`consilience.inference.evidence`.
    by
        How; :class:`Exact` says the most memory, and draws and seed of what must be estimated. The
        other choices estimate the answer (:mod:`consilience.inference.estimate_ways`).

    Returns
    -------
    A :class:`Factor` if all names are discrete, a :class:`Mixture` if all are continuous, and
    otherwise a :class:`MixedBelief`.

    Raises
    ------
    ImpossibleEvidenceError
        If what is given has probability zero.
    InputError
        If the draws of an estimate are worth next to none.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> from consilience.distributions import LinearGaussian
    >>> dose, effect = Variable("dose"), Variable("effect")
    >>> root = LinearGaussian(dose, (), 10.0, [], 2.0)
    >>> net = Network.of([root, LinearGaussian(effect, (dose,), 0.0, [1.0], 2.0)])
    >>> belief = query(net, "dose", given={"effect": 14.0})
    >>> round(belief.mean, 6), round(belief.variance, 6)
    (12.0, 2.0)
    """
    asked = _asked(net, names)
    if isinstance(by, Best):
        return _best(by, lambda way: query(net, names, given, by=way))
    if is_estimate(by):
        net, given = conditioned(net, given, MEMORY_LIMIT, "query")
        from consilience.inference.approximate_answers import approximate_belief  # most are exact

        return approximate_belief(net, asked, evidence_of(net.variables, given), by)
    way = exact_of(by)
    rest, events = split_given(given, net.variables)
    evidence = hardened(net, evidence_of(net.variables, rest), way.memory_limit)
    if events:
        return belief_given(net, asked, evidence, events, way=way)
    return belief(net, asked, evidence, way)


def marginals(
    net: Network,
    given: Given = None,
    *,
    by: Way | None = None,
) -> dict[str, Factor | Any]:
    """The posterior of every variable that is not known, by two passes through the junction tree.

    The tree is compiled at the first call and kept with the network; continuous nodes have a
    :class:`Mixture`.
    """
    if isinstance(by, Best):
        return _best(by, lambda way: marginals(net, given, by=way))
    if is_estimate(by):
        more, known = conditioned(net, given, MEMORY_LIMIT, "marginals")
        from consilience.inference.approximate_answers import (
            approximate_marginals,
        )  # most are exact

        each = approximate_marginals(more, evidence_of(more.variables, known), by)
        return {name: one for name, one in each.items() if name in net.variables}
    way = exact_of(by)
    rest, events = split_given(given, net.variables)
    evidence = hardened(net, evidence_of(net.variables, rest), way.memory_limit)
    at = settled(net, evidence, events, way)
    if not at.events:
        found = all_marginals(at.net, at.evidence, way)
        return {name: one for name, one in found.items() if name in net.variables}
    asked = [n for n in net.variables if n not in evidence.known and n not in evidence.values]
    return {name: belief_given(net, [name], evidence, events, way=way) for name in asked}


def log_probability(
    net: Network,
    given: Given,
    *,
    by: Way | None = None,
) -> float:
    """Log probability of states, sets of states or likelihoods; minus infinity if impossible.

    With values of continuous variables it is the log of a density, in their units, and can be
    positive; a value that is certain adds nothing. Of an event about continuous variables it is
    that of :func:`probability`.
    """
    check_network("log_probability", net)
    if isinstance(by, Best):
        return _best(by, lambda way: log_probability(net, given, by=way))
    rest, events = split_given(given, net.variables)
    if any(is_open(tree, net.variables) for tree in events):
        share = probability(net, Event("", _all_of(events)), rest, by=by)
        return (log_probability(net, rest, by=by) + math.log(share)) if share else -math.inf
    limit = MEMORY_LIMIT if is_estimate(by) else exact_of(by).memory_limit
    net, given = conditioned(net, given, limit, "log_probability")
    evidence = evidence_of(net.variables, given)
    if evidence.soft:
        raise InputError("soft evidence has no probability; give states, sets or likelihoods.")
    if is_estimate(by):
        from consilience.inference.approximate_answers import (
            approximate_log_evidence,
        )  # most are exact

        return approximate_log_evidence(net, evidence, by)
    return log_evidence(net, evidence, exact_of(by))


def probability(
    net: Network,
    event: Mapping[str, Any] | Event,
    given: Given = None,
    *,
    by: Way | None = None,
) -> float:
    """Probability of states or sets of states given others: P(event, given) / P(given).

    Of a continuous variable the event is an interval, ``{"bp": (120, 140)}``, with None or an
    infinity for an open end. An :class:`Event` may join all this by "or", "not" and comparisons,
    and may be given too. With more than one continuous variable in events it is estimated from
    draws, and the answer is an :class:`Estimate`, a number with its standard error.
    """
    if isinstance(by, Best):
        return _best(by, lambda way: probability(net, event, given, by=way))
    if is_estimate(by):
        net, given = conditioned(net, given, MEMORY_LIMIT, "probability")
        if isinstance(event, Event):
            from consilience.inference.approximate_answers import approximate_event

            return approximate_event(net, tree_of(event), evidence_of(net.variables, given), by)
    rest, events = split_given(given, net.variables)
    if events or isinstance(event, Event):
        way = exact_of(by)
        evidence = hardened(net, evidence_of(net.variables, rest), way.memory_limit)
        return probability_of(net, _tree(net, event), evidence, events, way=way)
    states, intervals = intervals_of(net.variables, event)
    known = known_values(given, net.variables)
    both = _check_disjoint(states, known)
    _check_disjoint(intervals, known)
    if any(isinstance(value, Likelihood | Soft) for value in states.values()):
        raise InputError("an event is states or sets of states; likelihoods go to given.")
    evidence = evidence_of(net.variables, given)
    if is_estimate(by):
        found = evidence_of(net.variables, states)
        from consilience.inference.approximate_answers import (
            approximate_probability,
        )  # most are exact

        return approximate_probability(net, found, intervals, evidence, way=by)
    way = exact_of(by)
    has_points = any(not local.sd.all() for local in net.regressions.values())
    if not (intervals or evidence.soft or net.logistic or has_points):
        return _ratio(net, evidence_of(net.variables, both), evidence, way)
    hard = hardened(net, evidence, way.memory_limit)
    found = evidence_of(net.variables, states)
    share = _share_of_states(net, found, hard, way)
    if share == 0 or not intervals:
        return share
    return share * _share_of_intervals(net, intervals, found, hard, way=way)


def _tree(net: Network, event: Mapping[str, Any] | Event) -> Tree:
    """An event, or what a mapping says of states and intervals, as the tree of an event."""
    if isinstance(event, Event):
        return tree_of(event)
    states, intervals = intervals_of(net.variables, event)
    parts: list[Event] = []
    for name, value in states.items():
        is_set = isinstance(value, Collection) and not isinstance(value, str | bytes)
        parts.append(Event(name).isin(value) if is_set else Event(name) == value)
    for name, (low, high) in intervals.items():
        parts += [Event(name) >= low] * math.isfinite(low) + [Event(name) <= high] * math.isfinite(
            high
        )
    if not parts:
        raise InputError("an event says something; this one is empty.", parameter="event")
    return _all_of([tree_of(part) for part in parts])


def _all_of(trees: Sequence[Tree]) -> Tree:
    return trees[0] if len(trees) == 1 else Joined("and", tuple(trees))


def _best(by: Best, ask: Callable[[Way], _Answer]) -> _Answer:
    """The exact answer, or an estimate where that takes too much memory."""
    try:
        return ask(by.exact)
    except MemoryLimitError:
        return ask(by.estimate)


def _ratio(net: Network, both: Evidence, given: Evidence, way: Exact) -> float:
    """P(event, given) / P(given)."""
    log_both = log_evidence(net, both, way)
    if not given.names:
        return math.exp(log_both)
    log_given = log_evidence(net, given, way)
    if log_given == -math.inf:
        refuse_impossible(net, given, way.memory_limit)
    return math.exp(log_both - log_given)


def _share_of_intervals(
    net: Network,
    intervals: Mapping[str, tuple[float, float]],
    states: Evidence,
    given: Evidence,
    *,
    way: Exact,
) -> float:
    """P(intervals | states, given)."""
    both = replace(
        given,
        known={**given.known, **states.known},
        likelihoods={**given.likelihoods, **states.likelihoods},
    )
    found = belief(net, list(intervals), both, way)
    if not isinstance(found, Mixture):
        raise TypeError("intervals are of continuous variables.")
    low, high = zip(*intervals.values(), strict=True)
    return found.probability(list(low), list(high))


def _share_of_states(net: Network, states: Evidence, given: Evidence, way: Exact) -> float:
    """P(states | given), one variable after the other."""
    share = 1.0
    for name in states.names:
        found = belief(net, [name], given, way)
        if not isinstance(found, Factor):
            raise TypeError("states are of discrete variables.")
        vector = states.likelihoods.get(
            name, np.arange(len(found.values)) == states.known.get(name)
        )
        share *= float(found.values @ vector)
        if share == 0:
            return 0.0
        given = replace(
            given,
            known={**given.known, **({name: states.known[name]} if name in states.known else {})},
            likelihoods={
                **given.likelihoods,
                **({name: vector} if name in states.likelihoods else {}),
            },
        )
    return share


def _check_disjoint(event: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    for name in event:
        if name in given:
            raise InputError(f"{name!r} is both in the event and given.", variable=name)
    return {**given, **event}


def joint(net: Network, names: Sequence[str], *, by: Way | None = None) -> Floats:
    """P(names) as an array with one axis for each name, in their order."""
    discrete_only("joint", net)
    _check.known("node", names, net.distributions)
    found = belief(net, names, Evidence({}, {}, {}), exact_of(by))
    return found.values if isinstance(found, Factor) else np.ones(())


def cost(
    net: Network,
    names: str | Sequence[str] | None = None,
    given: Given = None,
    *,
    by: Way | None = None,
) -> Cost:
    """What a query would take, or all marginals if nothing is asked for; nothing is allocated.

    All marginals go through the junction tree of the whole network, whatever is given, if that has
    room in the memory limit; else through a tree of what is not known.
    """
    memory_limit = exact_of(by).memory_limit
    net, given = conditioned(net, given, memory_limit, "cost")
    evidence = evidence_of(net.variables, given)
    rows = rows_of(net, evidence)
    asked = [] if names is None else _asked(net, names)
    families = families_of(net, rows.names, rows.observed, asked)
    if names is None or evidence.soft:  # soft evidence is fitted on the tree
        parts = components_of(net, rows, families.every)
        scopes = [tuple(n for n in part.discrete if n not in rows.known) for part in parts]
        return cost_shape(net, evidence, scopes, memory_limit=memory_limit).cost
    scopes_asked, kept = scopes_of_question(net, rows, families.joined, asked)
    return shape_of_scopes(net, scopes_asked, kept=kept).cost


def _asked(net: Network, names: str | Sequence[str]) -> list[str]:
    asked = names_of(names)
    _check.known("node", asked, net.distributions)
    if len(set(asked)) < len(asked):
        raise InputError(f"a query must name each variable once, got {_check.listed(asked)}.")
    return asked
