"""EM from all its starts, for rows of any kind: tables, or sequences in time.

What differs between kinds of rows is how they are prepared (:class:`Rows` of ``space.py``) and
where a start begins. Steps with estimators that maximize no objective come last, from where the
best climb ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from consilience._typing import Floats
from consilience.incomplete.climbing import Climb, Problem, climb
from consilience.incomplete.restarts import all_starts
from consilience.incomplete.space import HasFamilies, Rows, Space
from consilience.incomplete.steps import MoreTies, Step, climbing, drawn_together, held
from consilience.inference.cases import Expected
from consilience.parameters.fit_record import Statistics
from consilience.parameters.fitting import FitTask
from consilience.parameters.hierarchical_gaussian import HeldGaussian, HierarchicalGaussian
from consilience.parameters.known_numbers import WithKnown
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import Pooled, Separate
from consilience.parameters.tied_variances import TiedVariances
from consilience.structure.searches.task import Progress

__all__ = ["Ascent", "Climber", "while_climbing"]

ROUNDS = 10.0
"""How much wider the tolerance is of the rounds of an estimator that has no objective."""


FINER = 1e-6
"""How much finer the tolerance is of the last climb on a flat likelihood."""

Net = TypeVar("Net", bound=HasFamilies)


class How(Protocol):
    """How EM climbs."""

    @property
    def iterations(self) -> int: ...

    @property
    def tolerance(self) -> float: ...

    @property
    def accelerate(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """All climbs, the best of them, and what it ended with.

    ``rounds`` are those of an estimator without an objective, or None; ``task`` is that of the
    last estimate and ``expected`` its statistics.
    """

    climbs: Sequence[Climb]
    best: Climb
    rounds: Climb | None
    task: FitTask
    expected: Expected
    step: Step
    space: Space


@dataclass(frozen=True, slots=True, eq=False)
class Climber(Generic[Net]):
    """EM on prepared rows.

    Parameters
    ----------
    task
        The families and their estimators.
    seen
        Statistics of the rows as they are.
    how
        How EM climbs.
    fixed
        Families that stay as they are.
    prepare
        From the task of the climb to a network of the graph and the rows prepared for it.
    start
        Where the start of a number begins.
    n_starts
        Number of starts.
    progress
        Called now and then with None and a text.
    is_flat
        Whether the likelihood is flat, as it is along what tells hidden continuous nodes from
        noise: the best climb then goes on to a finer tolerance.
    scaled
        Hidden continuous nodes, parents first, whose zero, unit and sign a rule says.
    """

    task: FitTask
    seen: Statistics
    how: How
    fixed: Collection[str]
    prepare: Callable[[FitTask], tuple[Net, Rows]]
    start: Callable[[FitTask, Net, int], HasFamilies]
    n_starts: int
    progress: Progress | None
    is_flat: bool = False
    scaled: Sequence[str] = ()

    def ascent(self) -> Ascent:
        """Climb from all starts; then rounds with an estimator that has no objective."""
        plain = replace(self.task, chosen=while_climbing(self.task.chosen))
        task = climbing(plain, self.seen.counts)
        net, rows = self.prepare(task)
        space = Space(net, rows)
        begun: dict[int, Floats] = {}
        step = Step(task, net, space, self.seen, fixed=self.fixed, scaled=self.scaled)
        if _is_hierarchical(task) and not self.scaled:
            begun[0] = space.of_start(self.start(task, net, 0))
            task = drawn_together(task, step.moments(space.expect(begun[0])))
            step = Step(task, net, space, self.seen, fixed=self.fixed)
        steps: dict[int, Step] = {}

        def one_start(number: int) -> Climb:
            if number not in begun:
                begun[number] = space.of_start(self.start(task, net, number))
            found, steps[number] = self._climb(step, space, begun[number], number)
            found.number = number
            return found

        climbs = all_starts(one_start, self.n_starts)
        best = max(climbs, key=lambda one: one.objective[-1])
        its = steps[best.number]
        if self.is_flat and best.stopped_by == "tolerance":
            self._go_on(its, space, best)
        if task is plain:
            last = _last(its, best.expected, self.task)
            return Ascent(climbs, best, None, last, best.expected, its, space)
        rounds, after, last = self._rounds(plain, its, space, best, net=net)
        last = _last(after, rounds.expected, last)
        return Ascent(climbs, best, rounds, last, rounds.expected, its, space)

    def _go_on(self, step: Step, space: Space, best: Climb) -> None:
        """Climb on from where a climb ended."""
        left = self.how.iterations - len(best.objective) + 1
        more = climb(
            Problem(space, step.maximize, step.log_prior),
            best.vector,
            iterations=max(left, 1),
            tolerance=FINER * self.how.tolerance,
            accelerate=self.how.accelerate,
            tell=self._teller(0),
        )
        best.vector, best.expected, best.stopped_by = more.vector, more.expected, more.stopped_by
        best.objective += more.objective[1:]
        best.has_fallen |= more.has_fallen

    def _rounds(
        self, plain: FitTask, climbed: Step, space: Space, best: Climb, *, net: Net
    ) -> tuple[Climb, Step, FitTask]:
        """Steps with the estimator of tables itself from where a climb ended, until they rest."""
        task = held(plain, climbed.statistics(best.expected))
        step = Step(
            task,
            net,
            space,
            self.seen,
            fixed=self.fixed,
            scaled=self.scaled,
            joined=climbed.joined,
        )
        step, begin = _maximized(step, best.expected)
        rounds, step = self._climb(step, space, begin, 0, tolerance=ROUNDS)
        return rounds, step, replace(self.task, chosen={**self.task.chosen, **_kept(task)})

    def _climb(
        self, step: Step, space: Space, begin: Floats, number: int, *, tolerance: float = 1.0
    ) -> tuple[Climb, Step]:
        """The climb from parameters, and its step: anew whenever joint states must be tied.

        ``tolerance`` is a multiple of the one that was chosen.
        """
        while True:
            try:
                found = climb(
                    Problem(space, step.maximize, step.log_prior),
                    begin,
                    iterations=self.how.iterations,
                    tolerance=tolerance * self.how.tolerance,
                    accelerate=self.how.accelerate,
                    tell=self._teller(number),
                )
            except MoreTies as more:
                step, begin = _maximized(step.tied(more), more.expected)
            else:
                return found, step

    def _teller(self, number: int) -> Callable[[int, float], None]:
        def tell(step: int, objective: float) -> None:
            if self.progress is not None:
                which = f"start {number + 1} of {self.n_starts}, " if self.n_starts > 1 else ""
                self.progress(None, f"EM: {which}step {step}, objective {objective:.6g}")

        return tell


def _is_hierarchical(task: FitTask) -> bool:
    return isinstance(task.chosen.get("regression"), HierarchicalGaussian)


def _kept(task: FitTask) -> dict[str, Any]:
    """The estimators that what was held makes the last estimate with."""
    return {
        kind: one
        for kind, one in task.chosen.items()
        if kind == "table" or isinstance(one, HeldGaussian)
    }


def _maximized(step: Step, expected: Expected) -> tuple[Step, Floats]:
    """The parameters that statistics ask for, and the step with the ties that this needs."""
    while True:
        try:
            return step, step.maximize(expected)
        except MoreTies as more:
            step = step.tied(more)


def _last(step: Step, expected: Expected, task: FitTask) -> FitTask:
    """The task of the last estimate, which keeps the ties of the climb."""
    return _maximized(step, expected)[0].last(task)


def while_climbing(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Estimators for the steps: variances over n, which the likelihood is highest at."""
    return {kind: _over_n(one) for kind, one in chosen.items()}


def _over_n(estimator: Any) -> Any:
    if isinstance(estimator, MLE | TiedVariances):
        return MLE(unbiased=False)
    if isinstance(estimator, Pooled | Separate | WithKnown):
        return replace(estimator, estimator=_over_n(estimator.estimator))
    return estimator
