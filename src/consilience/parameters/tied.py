r"""Coefficients of many sources, tied to a common mean by an amount learned from the data.

For each problem :math:`j` (a joint state of the discrete parents) and source :math:`f`, the
likelihood of the coefficients :math:`b_{fj}` is quadratic,

.. math:: \log L = -\frac{1}{2\sigma_j^2}\bigl(b^\top A_{fj}\, b - 2\,c_{fj}^\top b + d_{fj}\bigr)
    + \text{const},

and :math:`b_{fj} \sim N(\mu_j, \sigma_j^2 \Lambda)` with a diagonal :math:`\Lambda`, in units of
the residual variance, that all problems share. With :math:`P = (I + A\Lambda)^{-1}A` and
:math:`q = (I + A\Lambda)^{-1}c` for every source,

.. math::
    \hat\mu = \Bigl(\sum_f P_f\Bigr)^{-1} \sum_f q_f, \qquad
    \hat b_f = \hat\mu + \Lambda (q_f - P_f \hat\mu), \qquad
    \hat\sigma^2 = \frac{R}{n - p}, \quad
    R = \sum_f (d_f - c_f^\top \Lambda q_f) - \hat\mu^\top \sum_f q_f ,

and :math:`\Lambda` minimizes the restricted deviance

.. math:: \sum_j \Bigl[(n_j - p_j) \log R_j + \sum_f \log |I + A_{fj}\Lambda|
    + \log \Bigl|\sum_f P_{fj}\Bigr|\Bigr]

(empirical Bayes; REML of a mixed-effects model). :math:`\Lambda = 0` is one regression for all
sources, :math:`\Lambda \to \infty` one for each. Where the dispersion is known
(:math:`\sigma = 1`, Laplace approximations), :math:`R` stands in place of its logarithm. An
entry of :math:`\Lambda` that the data do not tell from zero is zero: so it is with one source.

References
----------
N. Laird, J. Ware (1982). Random-effects models for longitudinal data. Biometrics 38.
D. Bates, M. Maechler, B. Bolker, S. Walker (2015). Fitting linear mixed-effects models using lme4.
Journal of Statistical Software 67 (the profiled criterion).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._typing import Floats, Integers

__all__ = ["Equations", "Tie", "misfit", "tie", "tied_by"]

LEAST, MOST = 1e-10, 1e10  # what an entry of Lambda may be
NO_WORSE = 1e-7  # rise of the deviance at which an entry of zero is preferred
MOST_STEPS, N_HALVES, N_RELEASES = 100, 30, 3
STEP = 1e-4  # of a logarithm, for the curvature from slopes
LONGEST = 3.0  # step of a logarithm
LEAST_CURVE = 1e-6
FLAT = 1e-10  # slope by a logarithm that counts as none
ROUNDING = 1e-13  # share of R below which it is nothing but rounding


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """The quadratic likelihoods of all sources and problems.

    Parameters
    ----------
    matrix, vector, constant
        A, c and d; shapes (sources, problems, p, p), (sources, problems, p), (sources, problems).
    share
        Which entry of Lambda each coefficient has, shape (p,); coefficients with the same number
        share it.
    null
        Orthogonal projection on the directions of the coefficients that no row of a problem tells
        of, shape (problems, p, p).
    freedom
        n - p of each problem; None if the dispersion is known to be one.
    prior
        Precision of a normal prior of the common mean around zero, in units of the residual
        variance.
    """

    matrix: Floats
    vector: Floats
    constant: Floats
    share: Integers
    null: Floats
    freedom: Floats | None = None
    prior: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Tie:
    """The posterior of the coefficients given Lambda and the residual variances.

    Parameters
    ----------
    spread
        The diagonal of Lambda, shape (p,).
    common
        The common means, shape (problems, p).
    common_scale
        Their covariance in units of the residual variance, shape (problems, p, p).
    mean
        The sources' coefficients, shape (sources, problems, p).
    own_scale
        Their covariance given the common mean, in the same units, shape (sources, problems, p, p).
    keep
        How much of a shift of the common mean each source follows, shape as ``own_scale``.
    residual
        R of each problem.
    deviance
        The restricted deviance, up to a constant.
    """

    spread: Floats
    common: Floats
    common_scale: Floats
    mean: Floats
    own_scale: Floats
    keep: Floats
    residual: Floats
    deviance: float


def tie(equations: Equations, start: Floats | None = None) -> Tie:
    """The solution whose Lambda is learned from the data, from ``start`` on if it is given."""
    return tied_by(equations, _learned(equations, start))


def tied_by(equations: Equations, spread: Floats) -> Tie:
    """The solution for a given diagonal of Lambda, shape (p,)."""
    state = _State(equations, spread)
    identity = np.eye(len(spread))
    follow = spread[:, None] * state.p  # Lambda P
    scale = np.sqrt(spread)
    inner = identity + scale[:, None] * equations.matrix * scale
    common_scale = np.linalg.inv(state.total) - equations.null
    return Tie(
        spread,
        state.common,
        (common_scale + common_scale.swapaxes(-1, -2)) / 2,
        state.common + spread * state.pull,
        scale[:, None] * np.linalg.inv(inner) * scale,
        identity - follow,
        state.residual,
        state.deviance,
    )


def misfit(equations: Equations, spread: Floats) -> tuple[Floats, Floats]:
    """R and the sum of the log determinants of each problem, for a given diagonal of Lambda."""
    state = _State(equations, spread)
    return state.residual, state.log_determinants


class _State:
    """What the deviance and its gradient need at one Lambda."""

    def __init__(self, equations: Equations, spread: Floats) -> None:
        a, c, p = equations.matrix, equations.vector, len(spread)
        inflated = np.eye(p) + a * spread
        self.p = np.linalg.solve(inflated, a)
        q = np.linalg.solve(inflated, c[..., None])[..., 0]
        self.total = self.p.sum(axis=0) + equations.null + equations.prior * np.eye(p)
        every_q = q.sum(axis=0)
        self.common = np.linalg.solve(self.total, every_q[..., None])[..., 0]
        self.pull = q - np.einsum("fjkl,jl->fjk", self.p, self.common)
        own = (equations.constant - (c * spread * q).sum(axis=-1)).sum(axis=0)
        left = own - (self.common * every_q).sum(axis=-1)
        least = ROUNDING * equations.constant.sum(axis=0)
        self.residual = left if equations.freedom is None else np.maximum(left, least)
        self.log_determinants = (
            np.linalg.slogdet(inflated)[1].sum(axis=0) + np.linalg.slogdet(self.total)[1]
        )
        freedom = equations.freedom
        tiny = np.finfo(float).tiny
        self.variance = (
            np.ones_like(left)
            if freedom is None
            else np.maximum(self.residual, tiny) / np.maximum(freedom, tiny)
        )
        fit = self.residual if freedom is None else freedom * np.log(self.variance)
        self.deviance = float(fit.sum() + self.log_determinants.sum())

    def slopes(self) -> Floats:
        """Derivative of the deviance by each entry of the diagonal of Lambda, shape (p,)."""
        through = self.p @ np.linalg.inv(self.total)  # P is symmetric
        determinants = np.einsum("fjkk->k", self.p) - (through * self.p).sum(axis=(0, 1, 3))
        pulls = (self.pull**2 / self.variance[:, None]).sum(axis=(0, 1))
        return np.asarray(determinants - pulls)


def _learned(equations: Equations, start: Floats | None) -> Floats:
    """The diagonal of Lambda with the least deviance, by Newton's method in its logarithms.

    An entry that does better at zero stays there, unless the slope at the end says otherwise.
    """
    share = equations.share
    n_informed = int((np.einsum("fjkk->f", equations.matrix) > 0).sum())
    if n_informed < 2 or not len(share):
        return np.zeros(len(share))
    entries = np.exp(_first(equations, n_informed, start))
    for _ in range(N_RELEASES):
        entries = _descended(equations, entries)
        slopes = _summed(share, _State(equations, entries[share]).slopes())
        is_wrong = (entries == 0) & (slopes < -NO_WORSE * np.abs(slopes).max(initial=1.0))
        if not is_wrong.any():
            break
        entries = np.where(is_wrong, np.exp(_first(equations, n_informed, None)) / 100, entries)
    return _sparse(equations, entries)


def _descended(equations: Equations, entries: Floats) -> Floats:
    """Entries at a minimum of the deviance, those at zero held."""
    here = _Criterion(equations, entries)
    for _ in range(MOST_STEPS):
        active = np.flatnonzero(here.entries)
        if not len(active) or np.abs(here.slopes[active]).max() < FLAT:
            break
        step = _newton_step(here, active)
        there = _stepped(here, active, step)
        if there is None:
            break
        here = _without_small(there, active[step < 0])
    return here.entries


class _Criterion:
    """The deviance at some entries of Lambda, and its slopes by their logarithms."""

    def __init__(self, equations: Equations, entries: Floats) -> None:
        state = _State(equations, entries[equations.share])
        self.equations, self.entries, self.deviance = equations, entries, state.deviance
        self.slopes = _summed(equations.share, state.slopes()) * entries

    def at(self, which: Integers, logs: Floats) -> _Criterion:
        """The criterion with some entries multiplied by the exponentials of ``logs``."""
        entries = self.entries.copy()
        entries[which] = np.clip(entries[which] * np.exp(logs), LEAST, MOST)
        return _Criterion(self.equations, entries)


def _newton_step(here: _Criterion, active: Integers) -> Floats:
    """Newton's step downhill, at most ``LONGEST`` in each logarithm."""
    up, down = (
        np.array(
            [here.at(active, step).slopes[active] for step in sign * STEP * np.eye(len(active))]
        )
        for sign in (1, -1)
    )
    curves = (up - down) / (2 * STEP)
    values, vectors = np.linalg.eigh((curves + curves.T) / 2)
    along = vectors.T @ here.slopes[active] / np.maximum(np.abs(values), LEAST_CURVE)
    return np.clip(-(vectors @ along), -LONGEST, LONGEST)


def _stepped(here: _Criterion, active: Integers, step: Floats) -> _Criterion | None:
    """The criterion after the longest half, quarter, ... of a step that goes down; None if none
    does.
    """
    for n_halves in range(N_HALVES):
        there = here.at(active, step / 2**n_halves)
        is_flatter = np.abs(there.slopes[active]).max() < np.abs(here.slopes[active]).max()
        slack = ROUNDING * abs(here.deviance) if is_flatter else 0.0
        if there.deviance < here.deviance + slack:
            return there
    return None


def _without_small(here: _Criterion, falling: Integers) -> _Criterion:
    """The criterion with the falling entries set to zero that do better there."""
    for k in falling:
        entries = here.entries.copy()
        entries[k] = 0.0
        trial = _Criterion(here.equations, entries)
        if trial.deviance <= here.deviance:
            here = trial
    return here


def _first(equations: Equations, n_informed: int, start: Floats | None) -> Floats:
    """Logarithms of the entries of Lambda to begin with: by default worth the rows of a source."""
    share = equations.share
    size = _summed(share, np.einsum("fjkk->k", equations.matrix))
    n_each = _summed(share, np.ones(len(share))) * n_informed * equations.matrix.shape[1]
    logs = np.clip(np.log(n_each / np.maximum(size, LEAST)), -10.0, 10.0)
    if start is None:
        return logs
    known = _summed(share, start) / _summed(share, np.ones(len(share)))
    return np.where(known > 0, np.log(np.maximum(known, LEAST)), logs)


def _summed(share: Integers, values: Floats) -> Floats:
    """Sums over the coefficients that share an entry of Lambda."""
    return np.bincount(share, values).astype(np.float64)


def _sparse(equations: Equations, entries: Floats) -> Floats:
    """Lambda with the entries set to zero that the data do not tell from it."""
    share = equations.share
    best = _State(equations, entries[share]).deviance
    for k in np.argsort(entries, kind="stable"):
        trial = entries.copy()
        trial[k] = 0.0
        deviance = _State(equations, trial[share]).deviance
        if deviance <= best + NO_WORSE:
            entries, best = trial, min(best, deviance)
    return entries[share]
