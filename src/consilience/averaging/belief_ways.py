"""What every way to average over graphs is asked, and what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from consilience._typing import Floats
from consilience.averaging.graph_belief import WeightedGraph
from consilience.averaging.graph_chains import GraphChains
from consilience.data.table import Table
from consilience.statistics.request import Engine
from consilience.structure.scores.score import Score
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.rows_task import look_at, task_on
from consilience.structure.searches.task import Clock, Task

__all__ = ["Asked", "Found", "Way", "arcs_of", "weighted"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Rows, score and constraints of the graphs to be averaged over."""

    rows: Table | Engine
    engine: Engine
    score: Score
    constraints: Constraints
    wanted: dict[str, Any]
    clock: Clock
    memory_limit: float
    logistic: bool

    def task(self) -> Task:
        """The task as searches know it; rows with gaps are refused unless the score takes them."""
        return task_on(
            look_at(self.engine, self.constraints.names, self.memory_limit),
            self.score,
            self.constraints,
            rng=np.random.default_rng(0),
            clock=self.clock,
            memory_limit=self.memory_limit,
            logistic=self.logistic,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a way found: beliefs about arcs, in the order of the sorted names, and graphs."""

    arcs: Floats
    graphs: tuple[WeightedGraph, ...]
    threshold: float = 0.5
    log_evidence: float | None = None
    chains: GraphChains | None = None
    n_scored: int = 0
    notes: tuple[str, ...] = field(default=())


class Way(Protocol):
    """How graphs are averaged over."""

    def believe(self, asked: Asked) -> Found:
        """Probabilities of arcs, and graphs that stand for all."""
        ...


def weighted(task: Task, drawn: Iterable[Sequence[int]]) -> tuple[WeightedGraph, ...]:
    """Graphs drawn, given as sets of parents: each once with its share, the most frequent first."""
    times = Counter(tuple(one) for one in drawn)
    n_drawn = sum(times.values())
    ordered = sorted(times.items(), key=lambda one: (-one[1], one[0]))
    return tuple(WeightedGraph(task.to_dag(parents), n / n_drawn) for parents, n in ordered)


def arcs_of(graphs: Sequence[WeightedGraph], names: Sequence[str]) -> Floats:
    """Share of the graphs that have each arc."""
    place = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for dag, weight in graphs:
        for start, end in dag.arcs:
            matrix[place[start], place[end]] += weight
    return matrix
