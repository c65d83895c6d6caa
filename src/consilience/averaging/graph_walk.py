"""Chains of graphs: several walks from different starts, each with draws that are kept.

Before the walks a short pilot tells which arcs from outside the candidates matter: such parents
become candidates in place of those that were never used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._typing import Floats, Integers, Seed
from consilience.averaging.belief_ways import Asked, Found, weighted
from consilience.averaging.candidate_tables import Tables, choose_candidates, tables_of
from consilience.averaging.graph_chains import GraphChains
from consilience.kernels.graph_walks import (
    draw_graph,
    layers_of,
    redraw_parents,
    reverse_arcs,
    turn_arcs,
    walk_orders,
)
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.judge import mask_of
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.orders import sorted_order
from consilience.structure.searches.parent_sets import required_sets
from consilience.structure.searches.task import Task

__all__ = ["Plan", "Walk", "check_plan", "walked"]

PILOTS = 3
"""Times that candidates are changed, at most."""

PILOT_DRAWS = 200
SEEN = 0.01
"""Share of the graphs of a pilot from which on an arc from outside makes a candidate."""

BOLDEST = 0.02
"""Power of all weights at the beginning of the warmup."""

BOLD = 0.8
"""Share of the warmup that is over orders, and of that the share until the power is one."""

TURNS = 4
"""Proposals to turn an arc round in each round, for each variable."""

Bytes = npt.NDArray[np.uint8]


class Plan(Protocol):
    """How long chains are, and how many; what the choices have in common."""

    @property
    def draws(self) -> int: ...

    @property
    def chains(self) -> int: ...

    @property
    def warmup(self) -> int: ...

    @property
    def thin(self) -> int: ...

    @property
    def candidates(self) -> int: ...

    @property
    def max_parents(self) -> int | None: ...

    @property
    def seed(self) -> Seed: ...


@dataclass(frozen=True, slots=True)
class Walk:
    """A kind of walk.

    Attributes
    ----------
    steps
        Makes steps: takes the state, the tables, a power of all weights and uniform numbers,
        two for each step.
    begin
        The first state, from an order of the variables and a graph along it.
    layers
        The layer of each variable in a state.
    needs_near
        Whether each variable has a parent in the layer just before its own.
    """

    steps: Callable[..., None]
    begin: Callable[[Integers, Bytes], Integers]
    layers: Callable[[Integers], Integers]
    needs_near: bool


def check_plan(owner: str, plan: Plan) -> None:
    """Refuse numbers that no chain can have."""
    _check.whole(owner, at_least=4, draws=plan.draws)
    for name in ("chains", "thin", "candidates"):
        _check.whole(owner, at_least=1, **{name: getattr(plan, name)})
    _check.whole(owner, at_least=0, warmup=plan.warmup)
    if plan.max_parents is not None:
        _check.whole(owner, at_least=0, max_parents=plan.max_parents)


def walked(asked: Asked, plan: Plan, walk: Walk) -> Found:
    """The beliefs of all chains together, and their draws."""
    task = asked.task()
    scores = task.local_scores(plan.max_parents)
    rngs = _check.generator(plan.seed).spawn(plan.chains + 1)
    tables = _settled(task, scores, plan, walk, rng=rngs[-1])
    runs = []
    for k, rng in enumerate(rngs[:-1]):
        runner = _Runner(task, tables, walk, rng)
        words = f"chain {k + 1} of {plan.chains}"
        runner.warm_up(plan.warmup, f"{words}, warming up")
        runs.append(runner.run(plan.draws, plan.thin, words))
    log_scores = np.stack([one for one, _ in runs])
    arcs = np.stack([each for _, each in runs])
    chains = GraphChains(task.names, _freeze.read_only(log_scores), _freeze.read_only(arcs))
    parents = (
        [mask_of(np.flatnonzero(column)) for column in graph.T]
        for graph in arcs.reshape(-1, *arcs.shape[2:])
    )
    return Found(
        arcs.mean(axis=(0, 1)),
        weighted(task, parents),
        chains=chains,
        n_scored=scores.n_scored,
        notes=(*scores.notes(), _verdict(chains)),
    )


def _verdict(chains: GraphChains) -> str:
    found = f"{chains.n_chains} chains of {chains.n_draws:,} graphs; largest R-hat "
    found += f"{chains.worst_r_hat:.3f}, "
    if chains.has_met:
        return f"{found}the chains have met."
    return f"{found}the chains have NOT met: take more draws, a longer warmup or a larger thin."


def _settled(
    task: Task, scores: LocalScores, plan: Plan, walk: Walk, *, rng: np.random.Generator
) -> Tables:
    """The tables for candidates among which hardly any arc is missed."""
    chosen = choose_candidates(task, scores, plan.candidates, plan.max_parents)
    tables = tables_of(task, scores, chosen)
    for _ in range(PILOTS):
        runner = _Runner(task, tables, walk, rng)
        runner.warm_up(PILOT_DRAWS, "choosing candidates")
        _, arcs = runner.run(PILOT_DRAWS, 1, "choosing candidates")
        better = _improved(task, tables, arcs.mean(axis=0), plan.candidates)
        if better == list(tables.candidates):
            break
        tables = tables_of(task, scores, better, tables)
    return tables


def _improved(task: Task, tables: Tables, share: Floats, most: int) -> list[tuple[int, ...]]:
    """Candidates with those from outside that were seen, in place of those seen least."""
    required = required_sets(task)
    found = []
    for x, mine in enumerate(tables.candidates):
        seen = share[:, x]
        outside = [i for i in range(len(seen)) if i not in mine and seen[i] >= SEEN]
        is_must = [bool(required[x] >> i & 1) for i in range(len(seen))]
        ranked = sorted([*mine, *outside], key=lambda i: (not is_must[i], -seen[i], i))
        found.append(tuple(sorted(ranked[: max(most, len(mine))])))
    return found


class _Runner:
    """One chain: where it is, and its random numbers."""

    def __init__(self, task: Task, tables: Tables, walk: Walk, rng: np.random.Generator) -> None:
        self._task, self._tables, self._walk, self._rng = task, tables, walk, rng
        shuffled = rng.permutation(len(task.names)).tolist()
        order = np.array(sorted_order(shuffled, required_sets(task)), np.int64)
        self._state = self._begun(order)

    def warm_up(self, rounds: int, words: str) -> None:
        """Find where most of the weight is: over orders, boldly at first, from a random one.

        Orders are far fewer than partitions, so that this is quick from anywhere. The last rounds
        are of the walk's own kind.
        """
        order = np.argsort(self._walk.layers(self._state), kind="stable")
        n_bold = int(BOLD * rounds)
        for k in range(n_bold):
            power = min(1.0, BOLDEST + (1.0 - BOLDEST) * k / (BOLD * n_bold))
            walk_orders(order, *self._tables.sum_tables, power, self._numbers(1))
            beat(self._task.clock, k / rounds, lambda: words)
        self._state = self._begun(order)
        arcs = np.empty((len(order), len(order)), np.uint8)
        for _ in range(rounds - n_bold):
            self._round(arcs)

    def run(self, n_draws: int, thin: int, words: str) -> tuple[Floats, Bytes]:
        """Scores and arcs of graphs, each after ``thin`` rounds of as many steps as variables."""
        p = len(self._state)
        log_scores = np.empty(n_draws)
        arcs = np.empty((n_draws, p, p), np.uint8)
        for k in range(n_draws):
            for _ in range(thin):
                log_scores[k] = self._round(arcs[k])
            beat(self._task.clock, k / n_draws, lambda: words)
        return log_scores, arcs

    def _begun(self, order: Integers) -> Integers:
        """A state of the walk with a graph along the order."""
        p = len(order)
        places, arcs = np.empty(p, np.int64), np.empty((p, p), np.uint8)
        places[order] = np.arange(p)
        self._draw(places, False, arcs)
        return self._walk.begin(order, arcs)

    def _round(self, arcs: Bytes) -> float:
        """Make as many steps as there are variables, and draw a graph; its log score.

        If each graph has one state, the graph is changed as well, and the walk goes on from the
        state of the new one.
        """
        tables, walk = self._tables, self._walk
        walk.steps(self._state, *tables.sum_tables, 1.0, self._numbers(1))
        log_score = self._draw(walk.layers(self._state), walk.needs_near, arcs)
        if walk.needs_near:
            log_score += self._change(arcs)
            layers_of(arcs, self._state)
        return log_score

    def _change(self, arcs: Bytes) -> float:
        """Make steps from graph to graph; what the log score has gained."""
        tables = self._tables
        p = len(tables.candidates)
        one = tables.one, tables.one_more
        every = *one, *tables.sum_tables
        gain = redraw_parents(arcs, *every, self._rng.random(3 * p))
        gain += reverse_arcs(arcs, *every, self._rng.random(6 * p))
        return gain + turn_arcs(arcs, *one, tables.bits, self._numbers(TURNS))

    def _numbers(self, rounds: int) -> Floats:
        return self._rng.random(2 * len(self._tables.candidates) * rounds)

    def _draw(self, layers: Integers, needs_near: bool, arcs: Bytes) -> float:
        tables = self._tables
        numbers = self._rng.random(2 * len(layers))
        return draw_graph(
            layers, needs_near, tables.one, tables.one_more, *tables.sum_tables, numbers, arcs
        )
