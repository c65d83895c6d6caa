r"""The climb of EM on a vector of parameters, with squared extrapolation.

One step of EM takes :math:`\theta` to :math:`F(\theta)`: expected counts, then their maximum. After
two steps, with :math:`r = F(\theta) - \theta` and :math:`v = F(F(\theta)) - F(\theta) - r`, the
extrapolation (Varadhan and Roland 2008)

.. math:: \theta' = \theta - 2 \alpha r + \alpha^2 v, \qquad \alpha = -\|r\| / \|v\|

leaps ahead where EM creeps. It is taken only if the objective is not lower there than after the
first of the two steps; otherwise the second step is taken as it is. So the objective never falls.
Where a step maximizes no known objective, the leap is taken if the next step from there is shorter.
Entries that an extrapolation makes negative are set to a tenth of where EM would have put them, and
rows are normalised.

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
from consilience.inference.layout import Layout

__all__ = ["Climb", "Expectation", "Problem", "climb", "extrapolated"]

SLOWEST = 0.999
"""Rates above it are taken for it."""

Expectation = tuple[Floats, float]
"""Expected counts at some parameters, and the log-likelihood there."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is climbed.

    Parameters
    ----------
    layout
        How the tables stand in the vector.
    expect
        Expected counts and log-likelihood at a vector of parameters.
    maximize
        The parameters that counts ask for.
    log_prior
        What is added to the log-likelihood to make the objective; None if the step maximizes no
        objective that is known, and the climb ends when the parameters rest.
    """

    layout: Layout
    expect: Callable[[Floats], Expectation]
    maximize: Callable[[Floats], Floats]
    log_prior: Callable[[Floats], float] | None


@dataclass(slots=True)
class Climb:
    """A climb: the last parameters and their expected counts, and the objective on the way.

    ``last_move`` is how far the last step of EM moved a parameter at most, and ``rate`` how that
    compares with the step before.
    """

    theta: Floats
    counts: Floats
    log_likelihood: float
    objective: list[float] = field(default_factory=list)
    stopped_by: str = "iterations"
    last_move: float = np.inf
    rate: float = 1.0

    @property
    def distance_left(self) -> float:
        """How far a parameter will move yet, if the steps go on to shrink at the same rate."""
        rate = min(self.rate, SLOWEST)
        return self.last_move * max(1.0, rate / (1.0 - rate))


def climb(
    problem: Problem,
    theta: Floats,
    *,
    iterations: int,
    tolerance: float,
    accelerate: bool,
    tell: Callable[[int, float], None],
) -> Climb:
    r"""Climb from these parameters until the objective, or the parameters, rest.

    It ends when the objective grows by less than ``tolerance`` of itself, or, if there is none,
    when no parameter would move by more than the root of ``tolerance`` if it went on for ever: a
    last move of :math:`m` at a rate of :math:`\rho` leaves :math:`m \rho / (1 - \rho)`. Or after
    so many steps; an interrupt from the keyboard ends it too, and what was reached is returned.
    """
    counts, log_likelihood = problem.expect(theta)
    at = Climb(theta, counts, log_likelihood)
    at.objective.append(_objective(problem, theta, log_likelihood))
    while len(at.objective) <= iterations:
        try:
            if accelerate and len(at.objective) < iterations:
                leap = _two_steps_and_a_leap if problem.log_prior is not None else _leap_of_rest
                leap(problem, at)
            else:
                _step(problem, at, problem.maximize(at.counts))
            tell(len(at.objective) - 1, at.objective[-1])
        except KeyboardInterrupt:
            at.stopped_by = "interrupt"
            return at
        if _rests(problem, at, tolerance):
            at.stopped_by = "tolerance"
            return at
    return at


def _rests(problem: Problem, at: Climb, tolerance: float) -> bool:
    if problem.log_prior is None:
        return at.distance_left <= np.sqrt(tolerance)
    gain = at.objective[-1] - at.objective[-2]
    return gain <= tolerance * (1.0 + abs(at.objective[-1]))


def _step(problem: Problem, at: Climb, theta: Floats) -> None:
    counts, log_likelihood = problem.expect(theta)
    move = float(np.abs(theta - at.theta).max())
    at.rate = move / at.last_move if 0 < at.last_move < np.inf else at.rate
    at.last_move = move
    at.theta, at.counts, at.log_likelihood = theta, counts, log_likelihood
    at.objective.append(_objective(problem, theta, at.log_likelihood))


def _two_steps_and_a_leap(problem: Problem, at: Climb) -> None:
    start = at.theta
    _step(problem, at, problem.maximize(at.counts))
    first, second = at.theta, problem.maximize(at.counts)
    there = _extrapolated(problem.layout, start, first, second)
    if there is not None:
        counts, log_likelihood = problem.expect(there)
        objective = _objective(problem, there, log_likelihood)
        if objective >= at.objective[-1]:
            at.theta, at.counts, at.log_likelihood = there, counts, log_likelihood
            at.objective.append(objective)
            return
    _step(problem, at, second)


def _leap_of_rest(problem: Problem, at: Climb) -> None:
    """Two steps and a leap where no objective is known: taken if a step from there is shorter."""
    start = at.theta
    _step(problem, at, problem.maximize(at.counts))
    first = at.theta
    _step(problem, at, problem.maximize(at.counts))
    there = _extrapolated(problem.layout, start, first, at.theta)
    if there is None:
        return
    counts, log_likelihood = problem.expect(there)
    after = problem.maximize(counts)
    if np.linalg.norm(after - there) < np.linalg.norm(at.theta - first):
        rate = at.rate
        at.theta, at.counts, at.log_likelihood = there, counts, log_likelihood
        _step(problem, at, after)
        at.rate = rate  # a leap is no step to compare with


def _extrapolated(layout: Layout, start: Floats, first: Floats, second: Floats) -> Floats | None:
    """Where the two steps lead, as tables; None if that is no further than the second."""
    there = extrapolated(start, first, second)
    if there is None:
        return None
    there = np.where(there > 0.0, there, 0.1 * second)
    return there / layout.row_sums(there)


def extrapolated(start: Floats, first: Floats, second: Floats) -> Floats | None:
    """Where two steps lead if they go on so; None if that is no further than the second."""
    step = first - start
    bend = second - first - step
    length, bending = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
    if bending == 0.0 or length <= bending:
        return None
    alpha = -length / bending
    return start - 2.0 * alpha * step + alpha**2 * bend


def _objective(problem: Problem, theta: Floats, log_likelihood: float) -> float:
    if problem.log_prior is None:
        return log_likelihood
    return log_likelihood + problem.log_prior(theta)
