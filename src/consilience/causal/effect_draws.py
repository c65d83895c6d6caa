r"""The effect of a network on posterior draws of its tables and regressions.

Discrete networks are answered by the truncated product of drawn tables, and means of regressions
along the graph, all draws at once; networks of both kinds, and conditions, by whole networks drawn
one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience._typing import Floats
from consilience.causal.effect_question import Question
from consilience.causal.expression import Conditional, product, total
from consilience.causal.family_tables import drawn_tables
from consilience.causal.values import DRAW, Value, value_of
from consilience.inference.intervention import intervene
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.parameters.uncertainty import draws as draw_networks, posterior_of
from consilience.statistics.family import Family

__all__ = [
    "Drawn",
    "difference_of",
    "drawn_effect",
    "interval_of",
    "level_of",
    "states_of_sources",
]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The effect on each posterior draw: in all, and by source."""

    pooled: Floats
    by_source: Mapping[str, Floats]


def drawn_effect(net: Network, question: Question, rng: np.random.Generator) -> Drawn | None:
    """The effect on posterior draws, or None where a distribution that matters has none."""
    needed = net.dag.ancestors([question.y, *question.given]) | {question.y, *question.given}
    fixed = {*question.do, net.source}
    if question.y == net.source or any(
        net[name].posterior is None for name in needed if name not in fixed
    ):
        return None
    if net.is_discrete and not question.given:
        return _drawn_tables(net, question, needed, rng)
    if net.is_discrete and _is_source_alone(net, question.given):
        every = _drawn_tables(net, replace(question, given={}), needed, rng)
        return Drawn(every.by_source[question.given[str(net.source)]], {})
    if not question.given and all(net.variables[name].is_continuous for name in needed):
        return _drawn_means(net, question, needed, rng)
    return _drawn_networks(net, question, rng)


def states_of_sources(net: Network, question: Question) -> tuple[str, ...]:
    """The sources that can have an effect of their own: none if the source is in the question."""
    source = net.source
    if source is None or source in {question.y, *question.do, *question.given}:
        return ()
    states, shares = net.variables[source].discrete_states, net.tables[source].table
    return tuple(state for state, share in zip(states, shares, strict=True) if share > 0)


def _is_source_alone(net: Network, given: Mapping[Any, Any]) -> bool:
    """Whether all that is seen is which source it is."""
    return list(given) == [net.source] and isinstance(given[net.source], str)


def _drawn_tables(
    net: Network, question: Question, needed: frozenset[str], rng: np.random.Generator
) -> Drawn:
    """By the truncated product of drawn tables, all draws at once."""
    y, source = net.variables[question.y], net.source
    tables = {
        name: drawn_tables(net.tables[name], question.draws, rng)
        for name in net.dag.topological_order()
        if name in needed and name != source and name not in question.do
    }
    total_effect: Any = 0.0
    for sign, side in zip((1.0, -1.0), question.sides(), strict=False):
        found = _truncated(net, question.y, side, tables)
        names = (DRAW, *([source] if source in found.names else []), question.y)
        values = found.values.transpose([found.names.index(n) for n in names if n in found.names])
        if source in side and source in found.names:
            values = values[:, net.variables[source].code(side[source])]
        total_effect = total_effect + sign * values[..., y.code(question.state)]
    if source is None or source in question.do or source not in found.names:
        pooled = np.broadcast_to(total_effect, (question.draws,))
        states = () if source is None else net.variables[source].discrete_states
        return Drawn(pooled, dict.fromkeys(states, pooled))
    shares = net.tables[source].table
    by_source = dict(zip(net.variables[source].discrete_states, total_effect.T, strict=True))
    return Drawn(total_effect @ shares, by_source)


def _truncated(
    net: Network, y: str, side: Mapping[str, Any], tables: Mapping[str, Floats]
) -> Value:
    """P(y | do, source) on each draw: the product of the tables of all that is not set."""
    set_net = intervene(net, side)
    kept = set_net.dag.ancestors(y) | {y}
    known: dict[Family, Value] = {}
    for name in kept:
        if name == net.source:
            continue
        family = Family(name, set_net.dag.parents(name))
        first = () if name in side else (DRAW,)
        known[family] = Value(
            (*first, *family.variables),
            set_net.tables[name].table if name in side else tables[name],
        )
    over = [name for name in kept if name not in (y, net.source)]
    expression = total(over, product(Conditional(family) for family in known))
    return value_of(expression, known, net.variables, memory_limit=MEMORY_LIMIT)


def _drawn_means(
    net: Network, question: Question, needed: frozenset[str], rng: np.random.Generator
) -> Drawn:
    """By the means along the regressions of drawn coefficients, all draws at once."""
    order = [name for name in net.dag.topological_order() if name in needed]
    numbers = {}
    for name in order:
        if name not in question.do:
            drawn = posterior_of(net[name]).draws(rng)
            numbers[name] = np.stack([next(drawn) for _ in range(question.draws)])
    total_effect = np.zeros(question.draws)
    for sign, side in zip((1.0, -1.0), question.sides(), strict=False):
        means: dict[str, Any] = {name: float(value) for name, value in side.items()}
        for name, drawn_numbers in numbers.items():
            means[name] = drawn_numbers[:, 0].copy()
            for c, parent in enumerate(net[name].parents, start=1):
                means[name] += drawn_numbers[:, c] * means[parent]
        total_effect += sign * means[question.y]
    states = () if net.source is None else net.variables[net.source].discrete_states
    return Drawn(total_effect, dict.fromkeys(states, total_effect))


def _drawn_networks(net: Network, question: Question, rng: np.random.Generator) -> Drawn:
    """By whole networks drawn one after the other, for continuous nodes and conditions."""
    source, states = net.source, states_of_sources(net, question)
    rows: list[list[float]] = []
    for drawn in draw_networks(net, question.draws, seed=rng):
        sides = [intervene(drawn, side) for side in question.sides()]
        rows.append(
            [
                difference_of(sides, question, extra)
                for extra in ({}, *({str(source): state} for state in states))
            ]
        )
    columns = np.array(rows).T
    return Drawn(columns[0], dict(zip(states, columns[1:], strict=True)))


def difference_of(sides: Sequence[Network], question: Question, extra: Mapping[Any, Any]) -> float:
    levels = [
        level_of(side, question.y, question.state, {**question.given, **extra}) for side in sides
    ]
    return levels[0] - sum(levels[1:])


def level_of(net: Network, y: str, state: Any, given: Mapping[str, Any]) -> float:
    """The probability of the state, or the mean."""
    belief: Any = net.query(y, given=given)
    return float(belief.mean) if net.variables[y].is_continuous else float(belief[state])


def interval_of(spread: Floats | None, level: float) -> tuple[float, float] | None:
    """The central interval of draws."""
    if spread is None:
        return None
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
