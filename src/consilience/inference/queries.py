"""Posterior distributions and probabilities: one query, all marginals, and what they cost.

Networks with continuous nodes are answered by :mod:`consilience.inference.mixed_queries`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats, Seed
from consilience.errors import InputError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.elimination import (
    connected,
    eliminate,
    factors_of,
    log_evidence,
    shape_of,
)
from consilience.inference.evidence import Evidence, Likelihood, Soft, evidence_of, names_of
from consilience.inference.intervals import intervals_of
from consilience.inference.junction import compiled, tree_shape
from consilience.inference.mixed import families_of, shape_of_question
from consilience.inference.mixed_queries import (
    Estimate,
    mixed_belief,
    mixed_log_evidence,
    mixed_marginals,
)
from consilience.inference.rows import rows_of
from consilience.inference.soft import hardened
from consilience.inference.triangulation import Cost
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import DRAWS, MEMORY_LIMIT, SEED, Network, discrete_only

__all__ = ["cost", "joint", "log_probability", "marginals", "probability", "query"]


def query(
    net: Network,
    names: str | Sequence[str],
    given: Mapping[str, Any] | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
    n_samples: int = DRAWS,
    seed: Seed = SEED,
) -> Factor | Any:
    """The posterior of one variable, or the joint posterior of several, in their order.

    By variable elimination on what matters for the question; time and memory grow with the largest
    product formed, which :func:`cost` tells beforehand. It is exact but for logistic nodes that
    matter and have continuous parents whose values are not known: then it is estimated
    (:mod:`consilience.inference.weighting`), and the answer has standard errors.

    Parameters
    ----------
    names
        One node or several.
    given
        What is known; see :mod:`consilience.inference.evidence`.
    memory_limit
        Bytes; a query that needs more is refused before anything is allocated.
    n_samples, seed
        Draws and seed of an answer that must be estimated.

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
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    if not net.is_discrete:
        return mixed_belief(net, asked, evidence, memory_limit, Estimate(n_samples, seed))
    values = posterior(net, asked, evidence, memory_limit)
    return Factor(tuple(net.variables[name] for name in asked), values)


def posterior(
    net: Network, names: Sequence[str], evidence: Evidence, memory_limit: float
) -> Floats:
    """P(names | evidence) with an axis a name; a known one has all its weight on one state."""
    free = [name for name in names if name not in evidence.known]
    every = factors_of(net, evidence, names)
    factors = connected(every, free)
    shape = shape_of(net, factors, kept=free)
    shape.cost.check(memory_limit)
    found = eliminate(factors, shape.order, kept=free)
    rest = [factor for factor in every if factor not in factors]
    # What is cut off from the query does not change its posterior, but can rule the evidence out.
    can_conflict = any(not factor.values.all() for factor in rest)
    is_possible = found.log_scale > -math.inf and not (
        can_conflict and log_evidence(net, evidence, memory_limit) == -math.inf
    )
    if not is_possible:
        refuse_impossible(net, evidence, memory_limit)
    return _with_known(net, names, evidence, found.values / found.values.sum())


def marginals(
    net: Network,
    given: Mapping[str, Any] | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
    n_samples: int = DRAWS,
    seed: Seed = SEED,
) -> dict[str, Factor | Any]:
    """The posterior of every variable that is not known, by two passes through the junction tree.

    The tree is compiled at the first call and kept with the network. In a network with continuous
    nodes each variable is a question of its own, and continuous ones have a :class:`Mixture`.
    """
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    if not net.is_discrete:
        return {**mixed_marginals(net, evidence, memory_limit, Estimate(n_samples, seed))}
    tree = compiled(net, memory_limit=memory_limit)
    with tree.propagated(evidence) as beliefs:
        if beliefs.log_evidence == -math.inf:
            refuse_impossible(net, evidence, memory_limit)
        values = beliefs.marginals()
    return {
        name: Factor((net.variables[name],), values[name])
        for name in net.variables
        if name not in evidence.known
    }


def log_probability(
    net: Network,
    given: Mapping[str, Any],
    *,
    memory_limit: float = MEMORY_LIMIT,
    n_samples: int = DRAWS,
    seed: Seed = SEED,
) -> float:
    """Log probability of states, sets of states or likelihoods; minus infinity if impossible.

    With values of continuous variables it is the log of a density, in their units, and can be
    positive; a value that is certain adds nothing.
    """
    evidence = evidence_of(net.variables, given)
    if evidence.soft:
        raise InputError("soft evidence has no probability; give states, sets or likelihoods.")
    if not net.is_discrete:
        return mixed_log_evidence(net, evidence, memory_limit, Estimate(n_samples, seed))
    return log_evidence(net, evidence, memory_limit)


def probability(
    net: Network,
    event: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
    n_samples: int = DRAWS,
    seed: Seed = SEED,
) -> float:
    """Probability of states or sets of states given others: P(event, given) / P(given).

    Of a continuous variable the event is an interval, ``{"bp": (120, 140)}``, with None or an
    infinity for an open end.
    """
    if not net.is_discrete:
        estimate = Estimate(n_samples, seed)
        return _probability_of_mixed(net, event, given or {}, memory_limit, estimate)
    evidence_of(net.variables, event)  # refuses what is no evidence
    if any(isinstance(value, Likelihood | Soft) for value in event.values()):
        raise InputError("an event is states or sets of states; likelihoods go to given.")
    both = _check_disjoint(event, given or {})
    log_both = log_probability(net, both, memory_limit=memory_limit)
    if not given:
        return math.exp(log_both)
    log_given = log_probability(net, given, memory_limit=memory_limit)
    if log_given == -math.inf:
        refuse_impossible(net, evidence_of(net.variables, given), memory_limit)
    return math.exp(log_both - log_given)


def _probability_of_mixed(
    net: Network,
    event: Mapping[str, Any],
    given: Mapping[str, Any],
    memory_limit: float,
    estimate: Estimate,
) -> float:
    """P(states | given) times P(intervals | states, given)."""
    states, intervals = intervals_of(net.variables, event)
    _check_disjoint(event, given)
    if any(isinstance(value, Likelihood | Soft) for value in states.values()):
        raise InputError("an event is states or sets of states; likelihoods go to given.")
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    found = evidence_of(net.variables, states)
    share = _share_of_states(net, found, evidence, memory_limit, estimate)
    if share == 0 or not intervals:
        return share
    both = replace(
        evidence,
        known={**evidence.known, **found.known},
        likelihoods={**evidence.likelihoods, **found.likelihoods},
    )
    belief = mixed_belief(net, list(intervals), both, memory_limit, estimate)
    if not isinstance(belief, Mixture):
        raise TypeError("intervals are of continuous variables.")
    low, high = zip(*intervals.values(), strict=True)
    return share * belief.probability(list(low), list(high))


def _share_of_states(
    net: Network, states: Evidence, given: Evidence, memory_limit: float, estimate: Estimate
) -> float:
    """P(states | given), one variable after the other."""
    share = 1.0
    for name in states.names:
        belief = mixed_belief(net, [name], given, memory_limit, estimate)
        if not isinstance(belief, Factor):
            raise TypeError("states are of discrete variables.")
        vector = states.likelihoods.get(
            name, np.arange(len(belief.values)) == states.known.get(name)
        )
        share *= float(belief.values @ vector)
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


def joint(net: Network, names: Sequence[str], *, memory_limit: float = MEMORY_LIMIT) -> Floats:
    """P(names) as an array with one axis for each name, in their order."""
    discrete_only("joint", net)
    _check.known("node", names, net.distributions)
    return posterior(net, names, Evidence({}, {}, {}), memory_limit)


def cost(
    net: Network, names: str | Sequence[str] | None = None, given: Mapping[str, Any] | None = None
) -> Cost:
    """What a query would take, or all marginals if nothing is asked for; nothing is allocated.

    All marginals go through the junction tree of the whole network, whatever is given.
    """
    evidence = evidence_of(net.variables, given)
    if not net.is_discrete:
        asked = list(net.variables) if names is None else _asked(net, names)
        rows = rows_of(net, evidence)
        families = families_of(net, rows.names, rows.observed, asked).joined
        return shape_of_question(net, rows, families, () if names is None else asked).cost
    if names is None or evidence.soft:  # soft evidence is fitted on the tree
        return tree_shape(net).cost
    asked = _asked(net, names)
    factors = factors_of(net, evidence, asked)
    free = [name for name in asked if name not in evidence.known]
    return shape_of(net, connected(factors, free), kept=free).cost


def _asked(net: Network, names: str | Sequence[str]) -> list[str]:
    asked = names_of(names)
    _check.known("node", asked, net.distributions)
    if len(set(asked)) < len(asked):
        raise InputError(f"a query must name each variable once, got {_check.listed(asked)}.")
    return asked


def _with_known(net: Network, names: Sequence[str], evidence: Evidence, values: Floats) -> Floats:
    if not any(name in evidence.known for name in names):
        return values
    full = np.zeros([net.variables[name].n_states for name in names])
    full[tuple(evidence.known.get(name, slice(None)) for name in names)] = values
    return full
