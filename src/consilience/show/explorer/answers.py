r"""Beliefs of all nodes, all sources together and in each source.

For findings :math:`e` and the source :math:`F` the page shows :math:`P(x \mid e)` as bars and
:math:`P(x \mid e, F = f)` as strokes. How probable the findings are in a source follows from the
belief about the source,

.. math:: P(e \mid F = f) = \frac{P(F = f \mid e) \, P(e)}{P(F = f)},

with findings about the source itself left out of :math:`e`. Soft findings have no probability and
are left out too.

Where all nodes are discrete and nothing is soft, one propagation for each source tells beliefs and
probability at once; it is what most clicks ask for. The rest goes through the library's verbs.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from statistics import NormalDist
from threading import Lock
from typing import Any

import numpy as np

from consilience.errors import ImpossibleEvidenceError, InputError, MemoryLimitError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.cutting import tree_for
from consilience.inference.evidence import Evidence, Soft, evidence_of
from consilience.inference.queries import log_probability, marginals, query
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.show.panels.question import Question

__all__ = ["Answers"]

DIGITS = 12  # decimals of a probability
KEPT = 8  # networks with interventions that are kept, with their junction trees
N_POINTS = 48  # of a density
REACH = 4.0  # standard deviations of each component that a density is drawn for
LEVEL = 0.95
NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)


class Answers:
    """Answers questions; it keeps the networks of the interventions that were asked for last."""

    def __init__(self) -> None:
        self._networks: OrderedDict[tuple[int, tuple[tuple[str, Any], ...]], Any] = OrderedDict()
        self._lock = Lock()
        self._turn = Lock()

    def beliefs(self, question: Question) -> dict[str, Any]:
        """Beliefs and log probabilities, ready for JSON.

        Those who ask at once take turns: answers are short, and threads that share the interpreter
        would slow each other down.

        Raises
        ------
        ImpossibleEvidenceError
            If no source allows the findings.
        """
        net, given = self._network(question), dict(question.given)
        with self._turn:
            return _answered(net, given, question)

    def _network(self, question: Question) -> Network:
        net = question.subject.network
        if not question.do:
            return net
        key = (id(net), tuple(sorted(question.do.items())))
        with self._lock:
            kept = self._networks.pop(key, None)
            if kept is None or kept[0] is not net:
                kept = (net, net.do(question.do))
            self._networks[key] = kept
            while len(self._networks) > KEPT:
                self._networks.popitem(last=False)
        changed: Network = kept[1]
        return changed


def _answered(net: Network, given: Mapping[str, Any], question: Question) -> dict[str, Any]:
    if net.is_discrete and not any(isinstance(one, Soft) for one in given.values()):
        with suppress(MemoryLimitError):  # the library's verbs know other ways
            return _by_trees(net, given, _sources(net, question))
    together = _beliefs(net, given)
    return {
        "all": together,
        "by_source": {source: _in_source(net, given, source) for source in _sources(net, question)},
        "log_probability": _log_probabilities(net, given, question),
    }


def _by_trees(net: Network, given: Mapping[str, Any], sources: tuple[str, ...]) -> dict[str, Any]:
    """The answer by one propagation for all sources together and one for each."""
    evidence = evidence_of(net.variables, given)
    together, log = _propagated(net, evidence)
    if together is None:
        refuse_impossible(net, evidence, MEMORY_LIMIT)
    by_source: dict[str, Any] = {}
    logs: dict[str, float | None] = {"all": _finite(log)}
    name = str(net.source)
    others = {key: value for key, value in given.items() if key != name}
    rest = evidence_of(net.variables, others) if sources else evidence
    for source in sources:
        code = net.variables[name].code(source)
        beliefs, log = _propagated(net, replace(rest, known={**rest.known, name: code}))
        by_source[source] = beliefs if _is_allowed(net, given, source) else None
        prior = float(net.tables[name].table[code])
        logs[source] = None if beliefs is None else _finite(log - math.log(prior))
    return {"all": together, "by_source": by_source, "log_probability": logs}


def _propagated(net: Network, evidence: Evidence) -> tuple[dict[str, Any] | None, float]:
    """Beliefs and the log probability of the evidence; no beliefs if it is impossible."""
    tree, left = tree_for(net, evidence, memory_limit=MEMORY_LIMIT)
    with tree.propagated(left) as found:
        if found.log_evidence == -math.inf:
            return None, -math.inf
        values = {name: np.round(v, DIGITS).tolist() for name, v in found.marginals().items()}
    known = {name: _certain(net, name, code) for name, code in evidence.known.items()}
    both = values | known
    return {name: both[name] for name in net.variables}, found.log_evidence


def _certain(net: Network, name: str, code: int) -> list[int]:
    return [int(k == code) for k in range(net.variables[name].n_states)]


def _sources(net: Network, question: Question) -> tuple[str, ...]:
    if net.source is None:
        return ()
    if question.sources is not None:
        return question.sources
    return net.variables[net.source].discrete_states


def _in_source(net: Network, given: Mapping[str, Any], source: str) -> dict[str, Any] | None:
    """Beliefs in one source, or None if the findings cannot happen there."""
    name = str(net.source)
    if not _is_allowed(net, given, source):
        return None
    try:
        return _beliefs(net, {**given, name: source})
    except ImpossibleEvidenceError:
        return None
    except InputError:
        if any(isinstance(finding, Soft) for finding in given.values()):
            return None  # distributions that cannot hold at once in this source
        raise


def _is_allowed(net: Network, given: Mapping[str, Any], source: str) -> bool:
    """Whether what is known about the source itself leaves this one possible."""
    name = str(net.source)
    if name not in given:
        return True
    variable = net.variables[name]
    evidence = evidence_of({name: variable}, {name: given[name]})
    code = variable.code(source)
    if name in evidence.known:
        return evidence.known[name] == code
    return bool({**evidence.likelihoods, **evidence.soft}[name][code] > 0)


def _beliefs(net: Network, given: Mapping[str, Any]) -> dict[str, Any]:
    found = marginals(net, given)
    return {
        name: _belief(found[name]) if name in found else _known(net, name, given[name])
        for name in net.variables
    }


def _known(net: Network, name: str, finding: Any) -> Any:
    """The belief about a node that is known."""
    variable = net.variables[name]
    if variable.is_continuous:
        value = float(finding)
        return {"mean": value, "sd": 0.0, "low": value, "high": value, "density": []}
    return _certain(net, name, evidence_of({name: variable}, {name: finding}).known[name])


def _belief(found: Factor | Mixture) -> Any:
    if isinstance(found, Factor):
        rounded: list[float] = np.round(found.values, DIGITS).tolist()
        return rounded
    mean, sd = float(found.mean), float(found.sd)
    if sd == 0:
        return {"mean": mean, "sd": 0.0, "low": mean, "high": mean, "density": []}
    is_normal = found.n_components == 1
    low, high = (mean - NORMAL * sd, mean + NORMAL * sd) if is_normal else found.interval(LEVEL)
    return {"mean": mean, "sd": sd, "low": low, "high": high, "density": _density(found)}


def _density(found: Mixture) -> list[list[float]]:
    """Points of the density, as far as it can be seen; none where all is at points."""
    means, sds = found.means[:, 0], np.sqrt(found.covariances[:, 0, 0])
    is_seen = found.weights > 1e-4 * found.weights.max()
    reach = np.where(sds > 0, sds, float(found.sd))[is_seen] * REACH
    x = np.linspace((means[is_seen] - reach).min(), (means[is_seen] + reach).max(), N_POINTS)
    y = np.asarray(found.density(x))
    return [[float(a), float(b)] for a, b in zip(x, y, strict=True) if math.isfinite(b)]


def _log_probabilities(
    net: Network, given: Mapping[str, Any], question: Question
) -> dict[str, float | None]:
    hard = {name: value for name, value in given.items() if not isinstance(value, Soft)}
    told: dict[str, float | None] = {"all": _finite(log_probability(net, hard))}
    if net.source is None:
        return told
    rest = {name: value for name, value in hard.items() if name != net.source}
    prior, after = net.tables[net.source].table, query(net, net.source, rest)
    whole = log_probability(net, rest)
    for source in _sources(net, question):
        before, now = float(prior[net.variables[net.source].code(source)]), after[source]
        in_source = whole + math.log(now) - math.log(before) if now > 0 < before else -math.inf
        told[source] = _finite(in_source)
    return told


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
