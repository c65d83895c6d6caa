r"""Newton's method for logistic families, all of them together, one pass over the rows per step.

A step that does not raise the penalized likelihood of a group of rows (a source and a joint
discrete state) is halved in that group; groups do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.local_distribution import kinds
from consilience.errors import DataError, InputError
from consilience.statistics.counts import source_axis
from consilience.statistics.family import Family
from consilience.statistics.logistic import LogisticPoint, LogisticRequest, LogisticStatistic
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine, MomentRequest
from consilience.statistics.together import Together

__all__ = [
    "MOST_PASSES",
    "LogisticPeak",
    "LogisticProblem",
    "evaluated",
    "logistic_problems",
    "newton",
    "pooled_problems",
]

FLOOR = 1e-8  # of the ridge: without any, separated states have no finite coefficients
MOST_PASSES = 100
FLAT = 1e-10  # gain of a step below which it is the last
ROUNDING = 1e-12  # share of the log-likelihood that rounding may take


@dataclass(frozen=True, slots=True, eq=False)
class LogisticProblem:
    """A family to be fitted; coefficients have shape (sources, joint states, m), m = (r - 1) p.

    They are measured from the prior mean, in coordinates in which the symmetric prior is
    ``precision`` times the identity: ``first + root @ coordinates`` are the differences from the
    first state.
    """

    child: Variable
    source: Variable | None
    discrete: tuple[Variable, ...]
    continuous: tuple[Variable, ...]
    center: Floats
    unit: Floats
    first: Floats  # (m,)
    root: Floats  # (m, m)
    precision: float
    groups: tuple[int, int]
    n_complete: float
    n_all: float

    def point(self, coordinates: Floats) -> LogisticPoint:
        """Where the likelihood is asked for."""
        return LogisticPoint(
            self.child.name,
            tuple(variable.name for variable in self.discrete),
            tuple(variable.name for variable in self.continuous),
            self.coefficients(coordinates),
            self.center,
            self.unit,
        )

    def coefficients(self, coordinates: Floats) -> Floats:
        """Differences from the first state, shape (sources, joint states, states - 1, p)."""
        moved = self.first + coordinates @ self.root.T
        p = 1 + len(self.continuous)
        return moved.reshape(*coordinates.shape[:-1], self.child.n_states - 1, p)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticPeak:
    """Where the search stands: coordinates, and value, slope and curvature of the likelihood."""

    coordinates: Floats  # (sources, joint states, m)
    log_likelihood: Floats  # (sources, joint states)
    slope: Floats  # (sources, joint states, m)
    curve: Floats  # (sources, joint states, m, m)


def logistic_problems(
    engine: Engine, families: Sequence[Family], ridge: float, *, by_source: bool, limit: float
) -> list[LogisticProblem]:
    requests = tuple(_moment_request(engine, family, by_source, limit) for family in families)
    answers = engine.gather(Together(requests)) if requests else []
    return [
        _problem(engine, family, moments, ridge, by_source=by_source)
        for family, moments in zip(families, answers, strict=True)
    ]


def _moment_request(engine: Engine, family: Family, by_source: bool, limit: float) -> MomentRequest:
    discrete, continuous = kinds(engine.schema[name] for name in family.parents)
    if engine.schema[family.child].is_continuous or not continuous:
        raise InputError(
            f"a logistic node has a discrete child and a continuous parent; {family.child!r} given "
            f"{_check.listed(family.parents)} is not of this kind.",
            variable=family.child,
        )
    by = (*(variable.name for variable in discrete), family.child)
    return MomentRequest(tuple(variable.name for variable in continuous), by, by_source, limit)


def _problem(
    engine: Engine, family: Family, moments: Moments, ridge: float, *, by_source: bool
) -> LogisticProblem:
    child = engine.schema[family.child]
    discrete, continuous = kinds(engine.schema[name] for name in family.parents)
    r, p, n = child.n_states, 1 + len(continuous), float(moments.weight.sum())
    if n == 0:
        raise DataError(
            f"the family of {child.name!r} given {_check.listed(family.parents)} has no complete "
            "rows.",
            variable=child.name,
        )
    everything = Moments(
        moments.names,
        (),
        None,
        moments.weight.reshape(-1, 1),
        moments.mean.reshape(-1, 1, p - 1),
        moments.scatter.reshape(-1, 1, p - 1, p - 1),
        np.zeros(moments.weight.size),
    ).pooled()
    center = everything.mean[0, 0]
    sd = np.sqrt(np.diag(everything.scatter[0, 0]) / n)
    shares = np.log(moments.weight.reshape(-1, r).sum(axis=0) + 0.5)
    first = np.zeros((r - 1, p))
    first[:, 0] = shares[1:] - shares[0]
    root = np.linalg.cholesky(np.eye(r - 1) + 1.0)
    return LogisticProblem(
        child,
        source_axis(engine.schema, by_source=by_source),
        discrete,
        continuous,
        center,
        np.where(sd <= 8 * np.finfo(float).eps * np.abs(center), 1.0, sd),
        first.ravel(),
        np.kron(root, np.eye(p)),
        max(ridge, FLOOR),
        (len(moments.weight), moments.weight.shape[1] // r),
        n,
        float(moments.n_rows.sum()),
    )


def pooled_problems(problems: Sequence[LogisticProblem]) -> list[LogisticProblem]:
    """The same problems with the sources pooled."""
    return [replace(one, source=None, groups=(1, one.groups[1])) for one in problems]


def newton(engine: Engine, problems: Sequence[LogisticProblem], limit: float) -> list[LogisticPeak]:
    """The penalized maximum of each problem, all of them step by step together."""
    starts = [np.zeros((*problem.groups, len(problem.first))) for problem in problems]
    peaks = evaluated(engine, problems, starts, limit)
    steps = [_step(problem, peak) for problem, peak in zip(problems, peaks, strict=True)]
    active = [k for k, problem in enumerate(problems) if len(problem.first)]
    for _ in range(MOST_PASSES):
        if not active:
            break
        moved = [peaks[k].coordinates + steps[k] for k in active]
        trials = evaluated(engine, [problems[k] for k in active], moved, limit)
        still = []
        for k, trial in zip(active, trials, strict=True):
            if (_expected_gain(problems[k], peaks[k], steps[k]) > FLAT).any():
                still.append(k)
            peaks[k], steps[k] = _moved(problems[k], peaks[k], trial, steps[k])
        active = still
    return peaks


def evaluated(
    engine: Engine, problems: Sequence[LogisticProblem], coordinates: Sequence[Floats], limit: float
) -> list[LogisticPeak]:
    """The likelihoods of all problems, in one pass over the rows."""
    if not problems:
        return []
    points = tuple(one.point(at) for one, at in zip(problems, coordinates, strict=True))
    by_source = any(problem.source is not None for problem in problems)
    answers = engine.gather(LogisticRequest(points, by_source, limit))
    return [
        _in_coordinates(problem, at, answer)
        for problem, at, answer in zip(problems, coordinates, answers, strict=True)
    ]


def _in_coordinates(
    problem: LogisticProblem, coordinates: Floats, found: LogisticStatistic
) -> LogisticPeak:
    gradient = found.gradient.reshape(coordinates.shape)
    return LogisticPeak(
        coordinates,
        found.log_likelihood,
        gradient @ problem.root,
        problem.root.T @ found.hessian @ problem.root,
    )


def _objective(problem: LogisticProblem, peak: LogisticPeak) -> Floats:
    penalty = problem.precision / 2 * (peak.coordinates**2).sum(axis=-1)
    return np.asarray(peak.log_likelihood - penalty)


def _step(problem: LogisticProblem, peak: LogisticPeak) -> Floats:
    slope = peak.slope - problem.precision * peak.coordinates
    curve = peak.curve + problem.precision * np.eye(len(problem.first))
    return np.asarray(np.linalg.solve(curve, slope[..., None])[..., 0])


def _expected_gain(problem: LogisticProblem, peak: LogisticPeak, step: Floats) -> Floats:
    slope = peak.slope - problem.precision * peak.coordinates
    return np.asarray((slope * step).sum(axis=-1) / (1 + np.abs(peak.log_likelihood)))


def _moved(
    problem: LogisticProblem, old: LogisticPeak, trial: LogisticPeak, step: Floats
) -> tuple[LogisticPeak, Floats]:
    """The trial and its next step where it is no worse; elsewhere the old one and half a step."""
    slack = ROUNDING * (1 + np.abs(old.log_likelihood))
    is_better = _objective(problem, trial) >= _objective(problem, old) - slack
    peak = LogisticPeak(
        np.where(is_better[..., None], trial.coordinates, old.coordinates),
        np.where(is_better, trial.log_likelihood, old.log_likelihood),
        np.where(is_better[..., None], trial.slope, old.slope),
        np.where(is_better[..., None, None], trial.curve, old.curve),
    )
    return peak, np.where(is_better[..., None], _step(problem, peak), step / 2)
