"""How strongly the groups of a hierarchy are tied together: a number, by state, or learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln

from consilience import _check
from consilience._typing import Floats

__all__ = ["ONE_PER_STATE", "Gamma", "PerState", "Strength", "check_strength", "grid"]

N_NODES = 81
LEFT_OUT = 1e-12  # prior probability beyond either end of the quadrature
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
    rate.
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        _check.positive("Gamma", shape=self.shape, rate=self.rate)


Strength: TypeAlias = float | PerState | Gamma

ONE_PER_STATE = PerState(1.0)


def check_strength(owner: str, s: Strength) -> None:
    """Refuse a strength that is neither a positive number nor one of the choices."""
    if not isinstance(s, PerState | Gamma):
        _check.positive(owner, s=s)


def grid(s: Strength, n_states: int) -> tuple[Floats, Floats]:
    r"""Values of s and the log of their prior weights: one value, or the nodes of a quadrature.

    A learned s is integrated by the trapezoid rule in :math:`u = \log s`, which converges
    exponentially for smooth integrands, between quantiles of the prior that leave out next to
    nothing:

    .. math:: w(u) = h\, \frac{\beta^\alpha}{\Gamma(\alpha)}\, s^\alpha e^{-\beta s}
    """
    if isinstance(s, PerState):
        return np.array([s.weight * n_states]), np.zeros(1)
    if not isinstance(s, Gamma):
        return np.array([float(s)]), np.zeros(1)
    low = max(math.log(max(gammaincinv(s.shape, LEFT_OUT), 1e-300) / s.rate), LEAST_LOG)
    high = math.log(gammainccinv(s.shape, LEFT_OUT) / s.rate)
    log_nodes, step = np.linspace(low, high, N_NODES, retstep=True)
    nodes = np.exp(log_nodes)
    log_density = s.shape * (math.log(s.rate) + log_nodes) - s.rate * nodes - gammaln(s.shape)
    return nodes, log_density + math.log(step)
