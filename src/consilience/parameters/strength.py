"""How strongly the groups of a hierarchy are tied together: a number, by state, or learned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from consilience import _check
from consilience._lazy import later
from consilience._typing import Floats

__all__ = [
    "AMONG_PARENT_STATES",
    "AMONG_SOURCES",
    "Gamma",
    "PerState",
    "Strength",
    "check_strength",
    "nodes",
    "size",
]

special = later("scipy.special")

NEGLIGIBLE = 32.0  # nats below the largest value of an integrand: a share of 1e-14
N_COARSE = 13
N_FINE = 41
WIDEST_STEP = 0.4  # of log s; the trapezoid rule then errs by 1e-10 for a Gamma density
LEAST, MOST = 1e-50, 1e50  # of shapes and rates; what becomes of them can be kept in files
LEAST_LOG = -30.0  # a smaller s than this is as good as zero


@dataclass(frozen=True, slots=True)
class PerState:
    """A strength in proportion to the number of states: ``s = weight * states``."""

    weight: float = 1.0

    def __post_init__(self) -> None:
        _check.positive("PerState", weight=self.weight)


@dataclass(frozen=True, slots=True)
class Gamma:
    """A strength learned from the data under a Gamma(shape, rate) prior, whose mean is shape /
    rate; both lie between 1e-50 and 1e50.
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        _check.within("Gamma", LEAST, MOST, shape=self.shape, rate=self.rate)


Strength: TypeAlias = float | PerState | Gamma

AMONG_PARENT_STATES = Gamma(1.0, 0.1)
AMONG_SOURCES = Gamma(1.0, 0.02)
"""Default priors of the strength that ties parent states, and of the one that ties sources.

The second is wide: two sources say little about a third, and many that agree may tie it as closely
as they do. ``experiments/defaults.py`` has the study behind both.
"""


def check_strength(owner: str, s: Strength) -> None:
    """Refuse a strength that is neither a positive number nor one of the choices."""
    if not isinstance(s, PerState | Gamma):
        _check.positive(owner, s=s)


def size(s: float | PerState, n_states: int) -> float:
    """The strength as a number."""
    return s.weight * n_states if isinstance(s, PerState) else float(s)


def nodes(
    prior: Gamma, log_evidence: Callable[[Floats], Floats], n_free: int
) -> tuple[Floats, Floats]:
    r"""Values of a learned s, and the log weight of each in a sum over evidence(s).

    The posterior is integrated by the trapezoid rule in :math:`u = \log s`, which converges
    exponentially for smooth integrands, over the part of the line where

    .. math:: \log p(D \mid s) + \log\left( \frac{\beta^\alpha}{\Gamma(\alpha)}\,
        s^\alpha e^{-\beta s} \right)

    is not negligible. That part may lie far from the prior's, and many rows make it narrow, so it
    is looked for on coarse grids, each zooming into the last.

    Parameters
    ----------
    prior
        The prior of s.
    log_evidence
        Log of p(D | s) for values of s, roughly at least.
    n_free
        The evidence grows no faster than this power of s.
    """
    low, high = _ends(prior, n_free)
    least = min(LEAST_LOG, high - 40.0)
    low = max(low, least)
    while True:
        u = np.linspace(low, high, N_COARSE)
        log_posterior = _log_density(prior, u) + log_evidence(np.exp(u))
        near = np.flatnonzero(log_posterior >= log_posterior.max() - NEGLIGIBLE)
        first, last = max(near[0] - 1, 0), min(near[-1] + 1, N_COARSE - 1)
        low, high = float(u[first]), float(u[last])
        if last - first >= N_COARSE // 3:
            break
    n_nodes = max(N_FINE, math.ceil((high - low) / WIDEST_STEP) + 1)
    u, step = np.linspace(low, high, n_nodes, retstep=True)
    log_weights = _log_density(prior, u) + math.log(step)
    if low == least:  # what lies below counts as s = exp(least)
        below = max(float(special.gammainc(prior.shape, prior.rate * math.exp(low))), 1e-300)
        log_weights[0] = np.logaddexp(log_weights[0] - math.log(2.0), math.log(below))
    return np.exp(u), log_weights


def _ends(prior: Gamma, n_free: int) -> tuple[float, float]:
    """Where log s may lie under any posterior: below 1e-3 the evidence falls no more with s."""
    share = math.exp(-NEGLIGIBLE)
    least = max(float(special.gammaincinv(prior.shape, share)), 1e-300)
    most = max(float(special.gammainccinv(prior.shape + n_free, share)), 1e-300)
    low = min(math.log(least) - math.log(prior.rate), math.log(1e-3) - NEGLIGIBLE / prior.shape)
    return low, math.log(most) - math.log(prior.rate)


def _log_density(prior: Gamma, u: Floats) -> Floats:
    scaled = math.log(prior.rate) + u
    return np.asarray(prior.shape * scaled - np.exp(scaled) - special.gammaln(prior.shape))
