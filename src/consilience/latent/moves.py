"""When the parameters are relearned: after a whole search, or after each move of it.

Both propose the next graph over the hidden nodes from a completion of them; all parameters are
relearned before the next completion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Protocol

import numpy as np

from consilience import discovery
from consilience.data.table import Table
from consilience.errors import GraphError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.structure.scores.score import Score
from consilience.structure.searches.task import Search

__all__ = ["AfterMove", "AfterSearch", "Relearning"]

TIE = 1e-9
"""Gains below this share of a score are rounding."""


class Relearning(Protocol):
    """How far a graph goes on one completion."""

    def propose(
        self,
        completed: Table,
        dag: DAG,
        *,
        score: Score,
        search: Search,
        forbidden: Collection[Arc],
        required: Collection[Arc] = (),
        blocks: Sequence[Sequence[str]] = (),
        rng: np.random.Generator,
    ) -> DAG:
        """The next graph over the hidden nodes; the same one if none is better."""
        ...


@dataclass(frozen=True, slots=True)
class AfterSearch:
    """Search until nothing gains on the completed rows, then relearn."""

    def propose(
        self,
        completed: Table,
        dag: DAG,
        *,
        score: Score,
        search: Search,
        forbidden: Collection[Arc],
        required: Collection[Arc] = (),
        blocks: Sequence[Sequence[str]] = (),
        rng: np.random.Generator,
    ) -> DAG:
        """The best graph that the search finds, or the present one if that is better."""
        found = discovery.search(
            completed, score=score, search=search, forbid=forbidden, require=required, seed=rng
        )
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return _best(completed, [dag, found.dag], score)


@dataclass(frozen=True, slots=True)
class AfterMove:
    """Make the best single move (add, delete or reverse an arc), then relearn.

    This is how the paper of Ajoodha and Rosman goes. Where groups have several hidden nodes, a move
    may also be one of a block: all arcs from the nodes of one group to those of another are added,
    deleted or reversed at once. Of the search only ``max_parents`` matters.
    """

    def propose(
        self,
        completed: Table,
        dag: DAG,
        *,
        score: Score,
        search: Search,
        forbidden: Collection[Arc],
        required: Collection[Arc] = (),
        blocks: Sequence[Sequence[str]] = (),
        rng: np.random.Generator,
    ) -> DAG:
        """The best graph one move away, or the present one if that is better."""
        most = getattr(search, "max_parents", None)
        most = len(dag.nodes) if most is None else most
        near = [*_neighbors(dag, most), *_block_neighbors(dag, most, blocks)]
        others = [
            one
            for one in near
            if not set(one.arcs) & set(forbidden) and set(required) <= set(one.arcs)
        ]
        return _best(completed, [dag, *others], score)


def _best(completed: Table, dags: list[DAG], score: Score) -> DAG:
    """The graph with the highest score; the first of them unless another one gains."""
    families = [[Family(node, dag.parents(node)) for node in dag.nodes] for dag in dags]
    asked = sorted({one for each in families for one in each}, key=lambda one: one.variables)
    values = score.local(count(completed, asked, by_source=score.by_source))
    local = dict(zip(asked, values.tolist(), strict=True))
    totals = [sum(local[one] for one in each) for each in families]
    best = int(np.argmax(totals))
    return dags[best] if totals[best] > totals[0] + TIE * abs(totals[0]) else dags[0]


def _neighbors(dag: DAG, most: int) -> Iterator[DAG]:
    """All graphs that differ in one arc, added, deleted or reversed."""
    for start in dag.nodes:
        for end in dag.nodes:
            has_room = len(dag.parents(end)) < most
            if (start, end) in dag.arcs:
                yield dag.remove(start, end)
            elif start != end and has_room:
                is_turn = (end, start) in dag.arcs
                try:
                    yield dag.reverse(end, start) if is_turn else dag.add(start, end)
                except GraphError:
                    continue


def _block_neighbors(dag: DAG, most: int, blocks: Sequence[Sequence[str]]) -> Iterator[DAG]:
    """All graphs in which the arcs from one block to another are all there, all gone or turned."""
    for first, second in permutations(blocks, 2):
        if len(first) == 1 and len(second) == 1:
            continue
        there = [(one, two) for one in first for two in second]
        back = [(two, one) for one, two in there]
        others = [arc for arc in dag.arcs if arc not in there and arc not in back]
        for arcs in ([*others, *there], others):
            try:
                found = DAG(arcs, dag.nodes)
            except GraphError:
                continue
            if found != dag and all(len(found.parents(node)) <= most for node in dag.nodes):
                yield found
