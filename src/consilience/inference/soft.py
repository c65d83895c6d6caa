r"""Soft evidence as likelihoods that make it come out.

For one variable with the posterior :math:`P(x)` and the wanted distribution :math:`q(x)` the
likelihood is :math:`q(x) / P(x)` (Jeffrey's rule). For several, the step is repeated in turn until
all hold at once, which is iterative proportional fitting (Deming and Stephan 1940; Peng, Zhang and
Pan 2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.cutting import tree_for
from consilience.inference.evidence import Evidence
from consilience.inference.known_rows import Rows, rows_of
from consilience.inference.sets import evidence_with_sets
from consilience.inference.solving import families_of, open_logistic, solve
from consilience.network.network import Network

__all__ = ["hardened"]

TOLERANCE = 1e-12
MOST_ROUNDS = 1000


def hardened(net: Network, evidence: Evidence, memory_limit: float) -> Evidence:
    """The evidence with likelihoods in place of what is soft."""
    if not evidence.soft:
        return evidence
    margin = _margins(net, evidence, memory_limit)
    fitted = {name: (wanted > 0).astype(float) for name, wanted in evidence.soft.items()}
    error = 1.0
    for n_rounds in range(MOST_ROUNDS):
        error = 0.0
        for name, wanted in evidence.soft.items():
            now = margin(evidence.with_likelihoods(fitted), name)
            if now is None:
                if n_rounds:  # pushed to the edge by distributions that contradict each other
                    raise _contradiction(evidence, n_rounds)
                refuse_impossible(net, evidence.with_likelihoods(fitted), memory_limit)
            _check_reachable(name, wanted, now)
            error = max(error, float(np.abs(now - wanted).max()))
            ratio = np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
            fitted[name] = fitted[name] * ratio
            if not fitted[name].any():
                raise _contradiction(evidence, n_rounds)
            fitted[name] /= fitted[name].max()
        if error < TOLERANCE:
            return evidence.with_likelihoods(fitted)
    raise _contradiction(evidence, MOST_ROUNDS)


def _margins(
    net: Network, evidence: Evidence, memory_limit: float
) -> Callable[[Evidence, str], Floats | None]:
    """The function that gives the posterior of a node, or None if the evidence is impossible."""
    rows = rows_of(net, evidence)
    families = families_of(net, evidence.names, rows.observed, tuple(evidence.soft))
    _refuse_open(net, evidence, rows, families.joined)
    is_open = open_logistic(net, families.every, rows.values)
    given = None if is_open else evidence_with_sets(net, evidence, memory_limit)
    if given is None or given.is_cut:
        return lambda evidence, name: _margin_in_logs(net, evidence, name, memory_limit)
    tree, left = tree_for(net, given, memory_limit=memory_limit)

    def margin(evidence: Evidence, name: str) -> Floats | None:
        with tree.propagated(replace(left, likelihoods=evidence.likelihoods)) as beliefs:
            return None if beliefs.log_evidence == -math.inf else beliefs.marginals()[name]

    return margin


def _margin_in_logs(
    net: Network, evidence: Evidence, name: str, memory_limit: float
) -> Floats | None:
    rows = rows_of(net, evidence)
    families = families_of(net, rows.names, rows.observed, [name])
    found = solve(net, rows, families.joined, [name], continuous=(), memory_limit=memory_limit)
    return None if found.log_evidence[0] == -math.inf else found.weights[0]


def _refuse_open(net: Network, evidence: Evidence, rows: Rows, families: Sequence[str]) -> None:
    if open_logistic(net, families, rows.values):
        name = next(iter(evidence.soft))
        raise InputError(
            f"soft evidence about {name!r} needs exact posteriors, which logistic nodes with "
            "continuous parents that are not known do not have.",
            variable=name,
        )


def _contradiction(evidence: Evidence, n_rounds: int) -> InputError:
    return InputError(
        f"the soft evidence about {_check.listed(evidence.soft)} cannot hold at once, or only in "
        f"the limit: it did not settle in {n_rounds:,} rounds.",
        variables=tuple(evidence.soft),
    )


def _check_reachable(name: str, wanted: Floats, now: Floats) -> None:
    if np.any((wanted > 0) & (now == 0)):
        raise ImpossibleEvidenceError(
            f"the soft evidence about {name!r} wants states that other evidence excludes.",
            variable=name,
        )
