r"""What a continuous variable tells about the states of another: the weights of logistic arcs.

The weight of an arc is the gain in log-likelihood, in nats per row, of the logistic regression of
the child on its parent over shares of the states alone, less what chance gives the coefficients
(half a nat each).

Rows of several sources are compared within them: every source has intercepts of its own, with and
without the arc, and the slopes are common. So means and shares that differ between sources make no
gain, and a slope that turns round from source to source makes none either. Both fits have the ridge
of all logistic nodes. Newton's method takes all pairs together, one pass over the rows per step;
the intercepts of a source meet those of another only by the slopes, so a step costs no more than
the number of sources.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience._typing import Bools, Floats
from consilience.parameters.logistic import RIDGE
from consilience.parameters.logistic_newton import (
    MOST_PASSES,
    LogisticPeak,
    LogisticProblem,
    evaluated,
    logistic_problems,
)
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family
from consilience.statistics.request import Engine

__all__ = ["logistic_gains"]

FLAT = 1e-8  # nats that a step gains below which it is the last
LEAST_STEP = 1e-3  # share of a step that is tried last


def logistic_gains(
    engine: Engine, pairs: Sequence[Family], *, memory_limit: float = MEMORY_LIMIT
) -> Floats:
    """Gain in nats per row of each pair, a discrete child with one continuous parent.

    Rows count for a pair if they have a value of both. A child of one state gains nothing.
    """
    several = engine.schema.source is not None
    problems = logistic_problems(engine, pairs, RIDGE, by_source=several, limit=memory_limit)
    without = _climbed(engine, problems, memory_limit, with_slopes=False)
    whole = _climbed(engine, problems, memory_limit, with_slopes=True, start=without)
    found = []
    for problem, null, peak in zip(problems, without, whole, strict=True):
        gain = float((peak.log_likelihood - null.log_likelihood).sum())
        n_slopes = problem.child.n_states - 1
        found.append((gain - n_slopes / 2) / problem.n_complete if n_slopes else 0.0)
    return np.array(found)


def _climbed(
    engine: Engine,
    problems: Sequence[LogisticProblem],
    limit: float,
    *,
    with_slopes: bool,
    start: Sequence[LogisticPeak] | None = None,
) -> list[LogisticPeak]:
    """The penalized maximum of each problem with common slopes, or with none."""
    at = [np.zeros((*one.groups, len(one.first))) for one in problems]
    peaks = list(start) if start is not None else evaluated(engine, problems, at, limit)
    steps = [_step(*pair, with_slopes) for pair in zip(problems, peaks, strict=True)]
    shares = np.ones(len(problems))
    active = [k for k, one in enumerate(problems) if len(one.first)]
    for _ in range(MOST_PASSES):
        if not active:
            break
        moved = [peaks[k].coordinates + shares[k] * steps[k] for k in active]
        trials = evaluated(engine, [problems[k] for k in active], moved, limit)
        still = []
        for k, trial in zip(active, trials, strict=True):
            gain = _objective(problems[k], trial) - _objective(problems[k], peaks[k])
            if gain >= 0:
                peaks[k], shares[k] = trial, 1.0
                steps[k] = _step(problems[k], trial, with_slopes)
            else:
                shares[k] /= 2
            if gain > FLAT or (gain < 0 and shares[k] > LEAST_STEP):
                still.append(k)
        active = still
    return peaks


def _objective(problem: LogisticProblem, peak: LogisticPeak) -> float:
    """Log-likelihood less the ridge, which the common slopes have once."""
    is_slope = _is_slope(problem)
    at = peak.coordinates
    squares = (at[..., ~is_slope] ** 2).sum() + (at[:1, :, is_slope] ** 2).sum()
    return float(peak.log_likelihood.sum() - problem.precision / 2 * squares)


def _step(problem: LogisticProblem, peak: LogisticPeak, with_slopes: bool) -> Floats:
    """Newton's step: intercepts of each source are eliminated first, then the slopes found."""
    is_slope, ridge = _is_slope(problem), problem.precision
    curve, slope = peak.curve, peak.slope
    own = curve[..., ~is_slope, :][..., ~is_slope] + ridge * np.eye(int((~is_slope).sum()))
    of_own = (slope - ridge * peak.coordinates)[..., ~is_slope]
    step = np.zeros_like(peak.coordinates)
    step[..., ~is_slope] = np.linalg.solve(own, of_own[..., None])[..., 0]
    if not with_slopes:
        return step
    cross = curve[..., is_slope, :][..., ~is_slope]
    back = np.linalg.solve(own, np.swapaxes(cross, -1, -2))  # what the intercepts give way
    inner = (curve[..., is_slope, :][..., is_slope] - cross @ back).sum(axis=0)
    along = (slope[..., is_slope] - np.einsum("fjab,fjb->fja", cross, step[..., ~is_slope])).sum(
        axis=0
    ) - ridge * peak.coordinates[0][..., is_slope]
    inner = inner + ridge * np.eye(inner.shape[-1])
    common = np.linalg.solve(inner, along[..., None])[..., 0]
    step[..., ~is_slope] -= np.einsum("fjba,ja->fjb", back, common)
    step[..., is_slope] = common
    return step


def _is_slope(problem: LogisticProblem) -> Bools:
    return np.asarray(np.arange(len(problem.first)) % (1 + len(problem.continuous)) > 0)
