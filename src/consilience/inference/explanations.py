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
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience.errors import InputError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.event_nodes import conditioned
from consilience.inference.evidence import Evidence, evidence_of, names_of
from consilience.inference.known_rows import Rows, constants, rows_of
from consilience.inference.soft import hardened
from consilience.inference.solving import Best, best_states, families_of, open_logistic
from consilience.inference.ways import Exact, exact_of
from consilience.network.network import Given, Network

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

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)


def mpe(net: Network, given: Given = None, *, by: Exact | None = None) -> Explanation:
    """The most probable states, and values, of all variables that are not known."""
    memory_limit = exact_of(by).memory_limit
    net, given = conditioned(net, given, memory_limit, "mpe")
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    return _explanation(net, evidence, _best(net, None, evidence, memory_limit))


def map_states(
    net: Network,
    names: Sequence[str],
    given: Given = None,
    *,
    by: Exact | None = None,
) -> Explanation:
    """The most probable joint state of some discrete variables, all others summed out."""
    memory_limit = exact_of(by).memory_limit
    asked = names_of(names)
    _check.known("node", asked, net.variables)
    for name in asked:
        if net.variables[name].is_continuous:
            raise InputError(
                f"map: {name!r} is continuous; only states are asked for here. net.query gives its "
                "distribution, net.mpe the most probable values of everything.",
                variable=name,
            )
    net, given = conditioned(net, given, memory_limit, "map")
    evidence = hardened(net, evidence_of(net.variables, given), memory_limit)
    for name in asked:
        if name in evidence.known or asked.count(name) > 1:
            raise InputError(
                f"map: {name!r} must be asked for once and must not be given.", variable=name
            )
    found = _best(net, asked, evidence, memory_limit)
    return Explanation(_states(net, {n: found.codes[n] for n in asked}), found.log_probability)


def most_probable(
    net: Network,
    k: int,
    given: Given = None,
    *,
    by: Exact | None = None,
) -> list[Explanation]:
    """The k most probable explanations, best first; fewer if fewer are possible.

    Two explanations differ in the state of a discrete variable; continuous ones have their most
    probable values given the states.
    """
    _check.whole("most_probable", at_least=1, k=k)
    memory_limit = exact_of(by).memory_limit
    net, given = conditioned(net, given, memory_limit, "most_probable")
    start = hardened(net, evidence_of(net.variables, given), memory_limit)
    ticket = count()
    free = [n for n, v in net.variables.items() if n not in start.known and not v.is_continuous]
    best = _best(net, None, start, memory_limit)
    frontier = [(-best.log_probability, next(ticket), best, start, 0)]
    found: list[Explanation] = []
    while frontier and len(found) < k:
        _, _, best, evidence, first = heapq.heappop(frontier)
        codes = {n: best.codes.get(n, evidence.known.get(n, 0)) for n in free}
        found.append(_explanation(net, start, Best(codes, best.values, best.log_probability)))
        for part, position in _parts(net, free, codes, evidence, first=first):
            other = _found(net, None, part, memory_limit)
            if other.log_probability > -math.inf:
                entry = (-other.log_probability, next(ticket), other, part, position)
                heapq.heappush(frontier, entry)
    return found


def _parts(
    net: Network, free: Sequence[str], codes: Mapping[str, int], evidence: Evidence, *, first: int
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
            yield replace(evidence, known=known, likelihoods=likelihoods), position


def _best(
    net: Network, asked: Sequence[str] | None, evidence: Evidence, memory_limit: float
) -> Best:
    """The most probable states, and values, of what is asked for, or of everything."""
    found = _found(net, asked, evidence, memory_limit)
    if found.log_probability == -math.inf:
        refuse_impossible(net, evidence, memory_limit)
    return found


def _found(
    net: Network, asked: Sequence[str] | None, evidence: Evidence, memory_limit: float
) -> Best:
    rows = rows_of(net, evidence)
    _refuse_open(net, asked, rows)
    found = best_states(net, rows, asked, memory_limit=memory_limit)
    return Best(found.codes, found.values, found.log_probability + evidence.log_scale)


def _refuse_open(net: Network, asked: Sequence[str] | None, rows: Rows) -> None:
    if not net.logistic:
        return
    every = (
        net.variables if asked is None else families_of(net, rows.names, rows.observed, asked).every
    )
    for name in open_logistic(net, tuple(every), rows.values):
        unknown = [p for p in net.dag.parents(name) if net.variables[p].is_continuous]
        unknown = [p for p in unknown if p not in rows.values]
        raise InputError(
            f"the most probable states cannot be found exactly: {name!r} is a logistic node whose "
            f"parents {_check.listed(unknown)} are not known. Give them, or ask net.query, which "
            "estimates.",
            variable=name,
        )


def _explanation(net: Network, evidence: Evidence, best: Best) -> Explanation:
    """The explanation of all nodes that are not known, in the order of the network."""
    fixed = {n: x for n, x in constants(net).items() if n not in evidence.values}
    every = {**_states(net, best.codes), **best.values, **fixed}
    order = [n for n in net.variables if n in every]
    return Explanation({n: every[n] for n in order}, best.log_probability)


def _states(net: Network, codes: Mapping[str, int]) -> dict[str, str]:
    return {name: net.variables[name].discrete_states[code] for name, code in codes.items()}
