r"""Candidate parents of each variable and the weights of their sets, for walks.

All sets of some candidates are scored before the walk begins, and all such sets with one parent
more from outside, so that no arc is excluded beforehand (Kuipers, Suter and Moffa 2022). The walk
itself then only looks numbers up: the sum over all sets of parents within any set of variables is

.. math:: a_x(U) = \sum_{T \subseteq C_x \cap U} \Bigl[ w_x(T)
    + \sum_{y \in U \setminus C_x} w_x(T \cup y) \Bigr] .

Candidates are the neighbors in the graph that greedy search over classes finds, then the variables
that gain most alone or beside the parents there.

References
----------
J. Kuipers, P. Suter, G. Moffa (2022). Efficient sampling and structure learning of Bayesian
networks. Journal of Computational and Graphical Statistics 31.
J. Viinikka, A. Hyttinen, J. Pensar, M. Koivisto (2020). Towards scalable Bayesian learning of
causal DAGs. NeurIPS 33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.kernels.averages import sum_of_subsets
from consilience.structure.searches.ges import GES
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import MOST_CANDIDATES, moved_bits, required_sets
from consilience.structure.searches.task import Task

__all__ = ["Tables", "choose_candidates", "tables_of"]

Chosen = list[tuple[int, ...]]
"""The candidates of each variable."""


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Log weights of sets of candidates, and their sums over subsets.

    Attributes
    ----------
    candidates
        Of each variable; bit ``k`` of a set stands for the candidate ``k``.
    bits
        ``bits[x, y]`` is the bit of y in the sets of x; 0 if y is no candidate of x.
    one, sums
        Weights of each set, and their sums; shape (variables, sets).
    one_more, sums_more
        The same with one parent more from outside; shape (variables, sets, variables).
    """

    candidates: tuple[tuple[int, ...], ...]
    bits: Integers
    one: Floats
    one_more: Floats
    sums: Floats
    sums_more: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def sum_tables(self) -> tuple[Floats, Floats, Integers]:
        """What a walk needs."""
        return self.sums, self.sums_more, self.bits


def choose_candidates(
    task: Task, scores: LocalScores, most: int, max_parents: int | None
) -> Chosen:
    """So many candidate parents of each variable, required ones in any case."""
    found = GES(max_parents=max_parents).search(task)
    scores.count_more(found.n_scored)
    parents = task.to_parents(found.dag)
    required = required_sets(task)
    p = len(parents)
    chosen: Chosen = []
    for child in range(p):
        alone = scores.toggled(child, required[child])
        beside = scores.toggled(child, parents[child])
        gains = np.maximum(alone - alone[child], beside - beside[child])
        is_near = [bool(parents[child] >> i & 1 or parents[i] >> child & 1) for i in range(p)]
        is_must = [bool(required[child] >> i & 1) for i in range(p)]
        able = [i for i in range(p) if i != child and (scores.allowed[i, child] or is_must[i])]
        ranked = sorted(able, key=lambda i: (not is_must[i], not is_near[i], -gains[i], i))
        chosen.append(tuple(sorted(ranked[: max(most, sum(is_must))])))
    return chosen


def tables_of(
    task: Task, scores: LocalScores, chosen: Sequence[tuple[int, ...]], old: Tables | None = None
) -> Tables:
    """The tables for these candidates; rows whose candidates are the same are taken from others."""
    p, size = len(chosen), 1 << max(map(len, chosen), default=0)
    _check.memory(
        f"the scores of {size:,} sets of candidates for {p} variables",
        8.0 * 2 * p * (p + 1) * size,
        task.memory_limit,
        "Use fewer candidates.",
    )
    bits = np.zeros((p, p), np.int64)
    one, one_more = np.full((p, size), -np.inf), np.full((p, size, p), -np.inf)
    for x, mine in enumerate(chosen):
        bits[x, list(mine)] = 1 << np.arange(len(mine))
        if old is not None and old.candidates[x] == mine and old.one.shape[1] == size:
            one[x], one_more[x] = old.one[x], old.one_more[x]
            continue
        _fill(task, scores, x, mine, one=one[x], one_more=one_more[x])
        beat(task.clock, (x + 1) / p, lambda: "scoring sets of candidates")
    sums, sums_more = one.copy(), np.ascontiguousarray(one_more.transpose(0, 2, 1))
    for x in range(p):
        sum_of_subsets(sums[x])
        for y in range(p):
            if sums_more[x, y, 0] > -np.inf or sums_more[x, y].max() > -np.inf:
                sum_of_subsets(sums_more[x, y])
    back = np.ascontiguousarray(sums_more.transpose(0, 2, 1))
    return Tables(tuple(chosen), bits, one, one_more, sums, back)


def _fill(
    task: Task,
    scores: LocalScores,
    child: int,
    mine: tuple[int, ...],
    *,
    one: Floats,
    one_more: Floats,
) -> None:
    """Score all sets of the candidates of a child, and those with one parent more."""
    k = len(mine)
    required = required_sets(task)[child]
    must = sum(1 << v for v, i in enumerate(mine) if required >> i & 1)
    masks = np.arange(1 << k)
    masks = masks[masks & must == must]
    n_parents = np.bitwise_count(masks)
    few = masks[n_parents <= max(scores.most_parents, must.bit_count())]
    one[few] = np.concatenate([*scores.scored_sets(child, mine)(few)])
    others = [i for i in range(len(task.names)) if i not in mine and scores.allowed[i, child]]
    fewer = masks[n_parents < scores.most_parents]
    room = MOST_CANDIDATES - k
    for start in range(0, len(others), room):
        some = others[start : start + room]
        every = sorted([*mine, *some])  # sets of a judge are in the order of the variables
        inside = moved_bits(fewer, [every.index(i) for i in mine])
        sets = np.concatenate([inside | 1 << every.index(y) for y in some])
        order = np.argsort(sets)
        values = np.empty(len(sets))
        values[order] = np.concatenate([*scores.scored_sets(child, every)(sets[order])])
        one_more[fewer[:, None], some] = values.reshape(len(some), -1).T
