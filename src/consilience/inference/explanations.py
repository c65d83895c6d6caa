r"""The most probable states: of everything, of some variables, and the next best ones.

- Most probable explanation: :math:`\arg\max_x P(x, e)` over all variables that are not known.
- Marginal MAP: :math:`\arg\max_y \sum_z P(y, z, e)`; the others are summed out before anything is
  maximized, which constrains the order of elimination and can cost much more.
- The k best explanations: the space without the best is split into parts that fix its first states
  and exclude the next one, and the best of each part is a candidate (Lawler 1972; Nilsson 1998).

In a network with continuous nodes the density of everything together is maximized: a normal
distribution has its maximum at the mean, so that a discrete state counts with the density there.

Of several equally probable explanations one is given, the same one every time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience.errors import InputError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.elimination import eliminate, factors_of, shape_of
from consilience.inference.evidence import Evidence, evidence_of, names_of
from consilience.inference.mixed_queries import mixed_most_probable
from consilience.inference.soft import hardened
from consilience.network.network import MEMORY_LIMIT, Network, discrete_only

__all__ = ["Explanation", "map_states", "most_probable", "mpe"]


@dataclass(frozen=True, slots=True, eq=False)
class Explanation(Mapping[str, Any]):
    """States by name, like a dict, with the log probability of them and the evidence together.

    Of continuous variables there are values, and ``log_probability`` is the log of a density.
    """

    states: Mapping[str, Any]
    log_probability: float

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __getitem__(self, name: str) -> Any:
        if name not in self.states:
            _check.unknown("variable", name, self.states)
        return self.states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)


def mpe(
    net: Network, given: Mapping[str, Any] | None = None, *, memory_limit: float = MEMORY_LIMIT
) -> Explanation:
    """The most probable states, and values, of all variables that are not known."""
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    if not net.is_discrete:
        return _told(net, *mixed_most_probable(net, None, evidence, memory_limit))
    return _told(net, *_best(net, list(net.variables), evidence, memory_limit))


def map_states(
    net: Network,
    names: Sequence[str],
    given: Mapping[str, Any] | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> Explanation:
    """The most probable joint state of some discrete variables, all others summed out."""
    asked = names_of(names)
    _check.known("node", asked, net.variables)
    for name in asked:
        if net.variables[name].is_continuous:
            raise InputError(
                f"map: {name!r} is continuous; only states are asked for here. net.query gives its "
                "distribution, net.mpe the most probable values of everything.",
                variable=name,
            )
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    for name in asked:
        if name in evidence.known or asked.count(name) > 1:
            raise InputError(
                f"map: {name!r} must be asked for once and must not be given.", variable=name
            )
    if not net.is_discrete:
        return _told(net, *mixed_most_probable(net, asked, evidence, memory_limit))
    return _told(net, *_best(net, asked, evidence, memory_limit))


def most_probable(
    net: Network,
    k: int,
    given: Mapping[str, Any] | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> list[Explanation]:
    """The k most probable explanations, best first; fewer if fewer are possible."""
    discrete_only("most_probable", net)
    _check.whole("most_probable", at_least=1, k=k)
    start = hardened(net, evidence_of(net.variables, given), memory_limit)
    names, ticket = list(net.variables), count()
    free = [name for name in names if name not in start.known]
    codes, log_probability = _best(net, names, start, memory_limit)
    frontier = [(-log_probability, next(ticket), codes, start, 0)]
    found: list[Explanation] = []
    while frontier and len(found) < k:
        minus, _, codes, evidence, first = heapq.heappop(frontier)
        found.append(_told(net, codes, -minus))
        for part, position in _parts(net, free, codes, evidence, first):
            best, log_probability = _best(net, names, part, memory_limit, may_fail=True)
            if log_probability > -math.inf:
                fixed = {name: codes[name] for name in free[:position]}
                entry = (-log_probability, next(ticket), {**fixed, **best}, part, position)
                heapq.heappush(frontier, entry)
    return found


def _parts(
    net: Network, free: Sequence[str], codes: Mapping[str, int], evidence: Evidence, first: int
) -> Iterator[tuple[Evidence, int]]:
    """The space of some evidence without its best explanation, in disjoint parts."""
    for position in range(first, len(free)):
        name = free[position]
        everything = np.ones(net.variables[name].n_states)
        vector = evidence.likelihoods.get(name, everything).copy()
        vector[codes[name]] = 0.0
        if vector.any():
            fixed = {other: codes[other] for other in free[:position]}
            likelihoods = {**evidence.likelihoods, name: vector}
            known = {**evidence.known, **fixed}
            yield Evidence(known, likelihoods, {}, evidence.log_scale), position


def _best(
    net: Network,
    names: Sequence[str],
    evidence: Evidence,
    memory_limit: float,
    *,
    may_fail: bool = False,
) -> tuple[dict[str, int], float]:
    """Codes of the most probable joint state of the free names, and its log probability."""
    free = [name for name in names if name not in evidence.known]
    factors = factors_of(net, evidence, names)
    shape = shape_of(net, factors, last=free)
    shape.cost.check(memory_limit)
    found = eliminate(factors, shape.order, maximize=free)
    if found.log_scale == -math.inf:
        if may_fail:
            return {}, -math.inf
        refuse_impossible(net, evidence, memory_limit)
    codes: dict[str, int] = {}
    for table in reversed(found.maximized):
        row = table.values[tuple(codes[name] for name in table.names[:-1])]
        codes[table.names[-1]] = int(row.argmax())
    return {name: codes[name] for name in free}, found.log_scale + evidence.log_scale


def _told(net: Network, codes: Mapping[str, Any], log_probability: float) -> Explanation:
    states = {
        name: code if variable.is_continuous else variable.discrete_states[code]
        for name, code in codes.items()
        for variable in [net.variables[name]]
    }
    return Explanation(states, log_probability)
