r"""The climb of EM on a vector of parameters, with squared extrapolation.

One step of EM takes :math:`\theta` to :math:`F(\theta)`: expected counts, then their maximum. After
two steps, with :math:`r = F(\theta) - \theta` and :math:`v = F(F(\theta)) - F(\theta) - r`, the
extrapolation (Varadhan and Roland 2008)

.. math:: \theta' = \theta - 2 \alpha r + \alpha^2 v, \qquad \alpha = -\|r\| / \|v\|

leaps ahead where EM creeps. It is taken only if the objective is not lower there than after the
first of the two steps; otherwise the second step is taken as it is. So the objective never falls;
if rounding makes it, the climb ends before that step.
Where a step maximizes no known objective, the leap is taken if the next step from there is shorter.
The vector has the parameters of all tables and regressions (:mod:`consilience.incomplete.space`).

References
----------
A. P. Dempster, N. M. Laird, D. B. Rubin (1977). Maximum likelihood from incomplete data via the EM
algorithm. J. of the Royal Statistical Society B 39(1).
R. Varadhan, C. Roland (2008). Simple and globally convergent methods for accelerating the
convergence of any EM algorithm. Scandinavian J. of Statistics 35(2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Floats
from consilience.incomplete.space import Space
from consilience.inference.cases import Expected

__all__ = ["Climb", "Problem", "climb"]

SLOWEST = 0.999
"""Rates above it are taken for it."""

ROUNDING = 1e-10
"""Relative fall of the objective that is no fall."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is climbed.

    Parameters
    ----------
    space
        The parameters as vectors, and the rows.
    maximize
        The parameters that expected statistics ask for.
    log_prior
        What is added to the log-likelihood to make the objective; None if the step maximizes no
        objective that is known, and the climb ends when the parameters rest.
    """

    space: Space
    maximize: Callable[[Expected], Floats]
    log_prior: Callable[[Floats], float] | None


@dataclass(slots=True)
class Climb:
    """A climb: the last parameters and their expected statistics, and the objective on the way.

    ``last_move`` is how far the last step of EM moved a parameter at most, and ``rate`` how that
    compares with the step before. ``has_fallen`` says that a step would have made the objective
    fall, as rounding can where columns are nearly functions of each other; the climb ends before
    it. ``number`` is that of the start.
    """

    vector: Floats
    expected: Expected
    objective: list[float] = field(default_factory=list)
    stopped_by: str = "iterations"
    last_move: float = np.inf
    rate: float = 1.0
    has_fallen: bool = False
    number: int = 0

    @property
    def distance_left(self) -> float:
        """How far a parameter will move yet, if the steps go on to shrink at the same rate."""
        rate = min(self.rate, SLOWEST)
        return self.last_move * max(1.0, rate / (1.0 - rate))


def climb(
    problem: Problem,
    start: Floats,
    *,
    iterations: int,
    tolerance: float,
    accelerate: bool,
    tell: Callable[[int, float], None],
) -> Climb:
    r"""Climb from these parameters until the objective, or the parameters, rest.

    It ends when the objective grows by less than ``tolerance`` of itself, or, if there is none,
    when no parameter would move by more than the root of ``tolerance`` if it went on
    for ever: a last move of :math:`m` at a rate of :math:`\rho` leaves :math:`m \rho / (1 - \rho)`.
    Or after so many steps; an interrupt from the keyboard ends it too, and what was reached is
    returned.

    Raises
    ------
    DataError
        If a residual sd falls to zero.
    """
    at = Climb(start, problem.space.expect(start))
    at.objective.append(_objective(problem, start, at.expected))
    while len(at.objective) <= iterations:
        try:
            if accelerate and len(at.objective) < iterations:
                leap = _two_steps_and_a_leap if problem.log_prior is not None else _leap_of_rest
                leap(problem, at)
            else:
                _step(problem, at, problem.maximize(at.expected))
            tell(len(at.objective) - 1, at.objective[-1])
        except KeyboardInterrupt:
            at.stopped_by = "interrupt"
            return at
        if _rests(problem, at, tolerance):
            at.stopped_by = "tolerance"
            return at
    return at


def _rests(problem: Problem, at: Climb, tolerance: float) -> bool:
    if at.has_fallen:
        return True
    if problem.log_prior is None:
        return at.distance_left <= np.sqrt(tolerance)
    gain = at.objective[-1] - at.objective[-2]
    return gain <= tolerance * (1.0 + abs(at.objective[-1]))


def _step(problem: Problem, at: Climb, vector: Floats) -> None:
    move = float(np.abs(vector - at.vector).max(initial=0.0))
    at.rate = move / at.last_move if 0 < at.last_move < np.inf else at.rate
    at.last_move = move
    _accept(problem, at, vector, problem.space.expect(vector))


def _accept(problem: Problem, at: Climb, vector: Floats, expected: Expected) -> None:
    objective, last = _objective(problem, vector, expected), at.objective[-1]
    if problem.log_prior is not None and objective < last - ROUNDING * (1.0 + abs(last)):
        at.has_fallen = True
        return
    at.vector, at.expected = vector, expected
    at.objective.append(objective)


def _two_steps_and_a_leap(problem: Problem, at: Climb) -> None:
    start = at.vector
    _step(problem, at, problem.maximize(at.expected))
    if at.has_fallen:
        return
    first, second = at.vector, problem.maximize(at.expected)
    there = _extrapolated(problem.space, start, first, second)
    if there is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # a leap too far is not taken
            expected = problem.space.expect(there)
        if _objective(problem, there, expected) >= at.objective[-1]:
            _accept(problem, at, there, expected)
            return
    _step(problem, at, second)


def _leap_of_rest(problem: Problem, at: Climb) -> None:
    """Two steps and a leap where no objective is known: taken if a step from there is shorter."""
    start = at.vector
    _step(problem, at, problem.maximize(at.expected))
    first = at.vector
    _step(problem, at, problem.maximize(at.expected))
    there = _extrapolated(problem.space, start, first, at.vector)
    if there is None:
        return
    with np.errstate(over="ignore", invalid="ignore"):  # a leap too far is not taken
        expected = problem.space.expect(there)
        after = problem.maximize(expected)
    if np.linalg.norm(after - there) < np.linalg.norm(at.vector - first):
        rate = at.rate
        at.vector, at.expected = there, expected
        _step(problem, at, after)
        at.rate = rate  # a leap is no step to compare with


def _extrapolated(space: Space, start: Floats, first: Floats, second: Floats) -> Floats | None:
    """Where two steps lead if they go on so; None if that is no further than the second."""
    step = first - start
    bend = second - first - step
    length, bending = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
    if bending == 0.0 or length <= bending:
        return None
    alpha = -length / bending
    return space.valid(start - 2.0 * alpha * step + alpha**2 * bend, second)


def _objective(problem: Problem, vector: Floats, expected: Expected) -> float:
    if problem.log_prior is None:
        return expected.log_likelihood
    return expected.log_likelihood + problem.log_prior(vector)
