r"""Mechanisms: how a discrete variable answers in two worlds at once.

Two rows p and q of a table say how a variable answers in either world. A *coupling* is a joint
distribution c with these margins: :math:`c_{ij}` is the probability of answering i in the first
world and j in the second. Data never show both worlds, so the coupling is an assumption with a
name:

- :class:`IndependentNoise`: :math:`c_{ij} = p_i q_j`.
- :class:`Monotone`, for ordered states: with cumulative sums P and Q,
  :math:`c_{ij} = \max(0, \min(P_i, Q_j) - \max(P_{i-1}, Q_{j-1}))`. Two states need no order.
- :class:`GumbelMax`: the state with the largest :math:`\log p_i + g_i`, where the noises g of both
  worlds are the same Gumbel variables. In closed form

  .. math::
      c_{ii} = \Bigl(1 + \sum_{k \ne i}
      \max\bigl(\tfrac{p_k}{p_i}, \tfrac{q_k}{q_i}\bigr)\Bigr)^{-1},
      \qquad
      c_{ij} = \int_{p_j/p_i}^{q_j/q_i} \frac{dr}{\bigl(1 + r + \sum_{k \ne i,j}
      \max(\tfrac{p_k}{p_i}, r \tfrac{q_k}{q_j})\bigr)^2},

  zero where the interval is empty; the integrand is piecewise :math:`(A + B r)^{-2}` between the
  break points :math:`r = p_k q_j / (p_i q_k)`.

Whatever the mechanism, equal parents give equal answers: there the coupling is the diagonal.

References
----------
M. Oberst, D. Sontag (2019). Counterfactual off-policy evaluation with Gumbel-max structural causal
models. ICML.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np

from consilience._typing import Floats

__all__ = ["GumbelMax", "IndependentNoise", "Mechanism", "Monotone"]

TINY = 1e-150
"""A probability that is zero here: ratios of such ones overflow."""


class Mechanism(Protocol):
    """How two rows are coupled."""

    needs_order: ClassVar[bool]

    def couple(self, p: Floats, q: Floats) -> Floats:
        """Joint probabilities, shape (states, states), of two rows."""
        ...


@dataclass(frozen=True, slots=True)
class IndependentNoise:
    """The answers to different parents have nothing to do with each other."""

    needs_order: ClassVar[bool] = False

    def couple(self, p: Floats, q: Floats) -> Floats:
        """The product of the rows."""
        return np.outer(p, q)


@dataclass(frozen=True, slots=True)
class Monotone:
    """Who answers higher in one world answers higher in the other; for ordered states."""

    needs_order: ClassVar[bool] = True

    def couple(self, p: Floats, q: Floats) -> Floats:
        """Both rows read off one uniform number."""
        high_p, high_q = np.cumsum(p)[:, None], np.cumsum(q)[None, :]
        low_p, low_q = high_p - p[:, None], high_q - q[None, :]
        overlap = np.minimum(high_p, high_q) - np.maximum(low_p, low_q)
        return _with_margins(np.maximum(overlap, 0.0), p)


@dataclass(frozen=True, slots=True)
class GumbelMax:
    """The same Gumbel noises in both worlds; the largest log probability plus noise wins.

    A state never becomes one whose odds against it fell.

    Examples
    --------
    >>> p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    >>> GumbelMax().couple(p, q).round(6).tolist()
    [[0.2, 0.0, 0.0], [0.069231, 0.230769, 0.0], [0.230769, 0.069231, 0.2]]
    """

    needs_order: ClassVar[bool] = False

    def couple(self, p: Floats, q: Floats) -> Floats:
        """The joint law of the two winners."""
        n = len(p)
        joint = np.zeros((n, n))
        for i in np.flatnonzero(p > TINY):
            for j in np.flatnonzero(q > TINY):
                joint[i, j] = _both_win(p, q, int(i)) if i == j else _changes(p, q, int(i), int(j))
        return _with_margins(joint, p)


def _both_win(p: Floats, q: Floats, i: int) -> float:
    odds = np.maximum(p / p[i], q / q[i])
    return float(1 / (1 + np.delete(odds, i).sum()))


def _changes(p: Floats, q: Floats, i: int, j: int) -> float:
    """The integral over r, piece by piece."""
    start, end = p[j] / p[i], q[j] / q[i] if q[i] > TINY else np.inf
    if not start < end:
        return 0.0
    others = [k for k in range(len(p)) if k not in (i, j)]
    flat = np.array([p[k] / p[i] for k in others])
    slope = np.array([q[k] / q[j] for k in others])
    breaks = flat[slope > TINY] / slope[slope > TINY]
    points = np.unique([start, *breaks[(breaks > start) & (breaks < end)], end])
    total = 0.0
    for a, b in pairwise(points):
        middle = 2 * a if np.isinf(b) and a > 0 else (1.0 if np.isinf(b) else (a + b) / 2)
        is_flat = flat >= middle * slope
        constant = 1 + flat[is_flat].sum()
        rate = 1 + slope[~is_flat].sum()
        last = 0.0 if np.isinf(b) else 1 / (constant + rate * b)
        total += (1 / (constant + rate * a) - last) / rate
    return float(total)


def _with_margins(joint: Floats, p: Floats) -> Floats:
    """Rounding taken off: every row sums to its margin."""
    sums = joint.sum(axis=1, keepdims=True)
    return np.divide(joint * p[:, None], sums, out=np.zeros_like(joint), where=sums > 0)
