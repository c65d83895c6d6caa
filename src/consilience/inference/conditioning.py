r"""Exact answers about networks whose tree is too large, case by case.

With some variables C known, the tree falls apart into smaller ones,

.. math:: P(x \mid e) = \sum_c P(c \mid e)\; P(x \mid c, e), \qquad P(c \mid e) \propto P(c, e) ,

at the price of a pass for every joint state of C (Pearl 1986). The variables are chosen one after
the other, each the one that makes the tree smallest: a clique of which it is part loses its axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from consilience._typing import Floats
from consilience.inference.cutting import Cut
from consilience.inference.evidence import Evidence
from consilience.inference.junction import JunctionTree
from consilience.inference.known_rows import Rows
from consilience.inference.solving import Solution, shape_of_scopes, solve
from consilience.inference.tree_shape import TreeShape
from consilience.inference.triangulation import Triangulation
from consilience.network.network import Network

__all__ = ["cut_set", "marginals_by_cases", "solve_by_cases"]

MOST_CASES = 64
"""Joint states of the variables that are conditioned on; more would take too long."""


def cut_set(
    shape_without: Callable[[Sequence[str]], TreeShape | Triangulation],
    n_states: Mapping[str, int],
    memory_limit: float,
    *,
    kept: Collection[str] = (),
) -> list[str] | None:
    """Variables without which the tree fits in memory; None if there are not few enough.

    ``shape_without`` gives the tree without some variables; ``kept`` are not among the chosen.
    """
    chosen: list[str] = []
    shape = shape_without(chosen)
    while shape.cost.bytes > memory_limit:
        n_cases = math.prod(n_states[name] for name in chosen)
        if shape.cost.bytes / memory_limit > MOST_CASES / n_cases:
            return None
        name = _most_useful(shape, n_states, kept)
        if name is None or n_cases * n_states[name] > MOST_CASES:
            return None
        chosen.append(name)
        shape = shape_without(chosen)
    return chosen


def cases_of(names: Sequence[str], n_states: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """All joint states of some variables."""
    for codes in product(*(range(n_states[name]) for name in names)):
        yield dict(zip(names, codes, strict=True))


def marginals_by_cases(
    net: Network, given: Evidence, memory_limit: float
) -> tuple[dict[str, Floats], float] | None:
    """The posterior of every node of a discrete network that is not known, and the log evidence.

    None if no few variables make the tree small enough.
    """
    n_states = {n: v.n_states for n, v in net.variables.items() if n not in given.known}

    def shape_without(names: Sequence[str]) -> TreeShape:
        return Cut.of(net, {**given.known, **dict.fromkeys(names, 0)}).shape(())

    names = cut_set(shape_without, n_states, memory_limit, kept=given.likelihoods)
    if names is None:
        return None
    shape = shape_without(names)
    total = {name: np.zeros(r) for name, r in n_states.items()}
    log_total = -math.inf
    for case in cases_of(names, n_states):
        found, log = _one_case(net, given, case, shape, memory_limit=memory_limit)
        if log == -math.inf:
            continue
        new = float(np.logaddexp(log_total, log))
        old, share = math.exp(log_total - new), math.exp(log - new)
        log_total = new
        found |= {name: np.eye(n_states[name])[code] for name, code in case.items()}
        for name, values in found.items():
            total[name] = old * total[name] + share * values
    return total, log_total


def solve_by_cases(
    net: Network, rows: Rows, families: Sequence[str], asked: Sequence[str], *, memory_limit: float
) -> Solution | None:
    """The joint posterior of nodes of a discrete network, for one row; None if not so."""
    n_states = {n: v.n_states for n, v in net.variables.items() if n not in rows.known}
    scopes = [[n for n in (*net.dag.parents(f), f) if n not in rows.known] for f in families]

    def shape_without(names: Sequence[str]) -> Triangulation:
        left = [[n for n in scope if n not in names] for scope in scopes]
        return shape_of_scopes(net, left, kept=tuple(asked))

    names = cut_set(shape_without, n_states, memory_limit, kept=[*asked, *rows.likelihoods])
    if names is None:
        return None
    weights, log_total = np.zeros([1, *(n_states[n] for n in asked)]), -math.inf
    for case in cases_of(names, n_states):
        known = {**rows.known, **{name: np.array([code]) for name, code in case.items()}}
        one = solve(
            net,
            Rows(known, rows.values, rows.likelihoods),
            families,
            asked,
            continuous=(),
            memory_limit=memory_limit,
        )
        log = float(one.log_evidence[0])
        if log > -math.inf:
            new = float(np.logaddexp(log_total, log))
            weights = math.exp(log_total - new) * weights + math.exp(log - new) * one.weights
            log_total = new
    return Solution(tuple(asked), weights, np.array([log_total]), ())


def _one_case(
    net: Network,
    given: Evidence,
    case: Mapping[str, int],
    shape: TreeShape,
    *,
    memory_limit: float,
) -> tuple[dict[str, Floats], float]:
    """Marginals given one case, and its log probability with the evidence; nothing is kept."""
    cut = Cut.of(net, {**given.known, **case})
    if cut.log_scale == -math.inf:
        return {}, -math.inf
    left = replace(given, known={}, log_scale=given.log_scale + cut.log_scale)
    tree = JunctionTree.of_shape(
        shape, cut.n_states, cut.scopes, cut.tables, memory_limit=memory_limit
    )
    with tree.propagated(left) as beliefs:
        log = beliefs.log_evidence
        return (beliefs.marginals() if log > -math.inf else {}), log


def _most_useful(
    shape: TreeShape | Triangulation, n_states: Mapping[str, int], kept: Collection[str]
) -> str | None:
    """The variable without which the cliques would have the fewest cells."""
    saved: dict[str, float] = {}
    for clique in shape.cliques:
        cells = math.prod(float(n_states[name]) for name in clique)
        for name in clique:
            saved[name] = saved.get(name, 0.0) + cells * (1 - 1 / n_states[name])
    free = [name for name in saved if name not in kept and n_states[name] > 1]
    return max(free, key=saved.__getitem__, default=None)
