r"""Sums over weighted draws, and over chains of draws: estimates with their standard errors.

Of independent draws with weights :math:`w_i`, the share of a cell and its standard error are

.. math:: \hat p = \frac{\sum_i w_i 1_i}{\sum_i w_i}, \qquad
    \mathrm{se}^2 = \frac{\sum_i w_i^2 (1_i - \hat p)^2}{(\sum_i w_i)^2}, \qquad
    n_{\text{eff}} = \frac{(\sum_i w_i)^2}{\sum_i w_i^2} .

Of chains, whose draws follow from each other, the standard error is that of the mean of the
chains' means, and the effective size is the number of independent draws that would have it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Floats, Integers

__all__ = ["ChainTally", "Tally", "Weights"]


@dataclass(slots=True, eq=False)
class Weights:
    """Logarithms of the weights of all draws so far, summed relative to the largest."""

    shift: float = -math.inf
    total: float = 0.0
    squares: float = 0.0
    n: int = 0

    def add(self, log_weights: Floats) -> tuple[Floats, float]:
        """Weights of new draws relative to the largest of all, and by how much the old shrink."""
        largest = float(log_weights.max(initial=-math.inf))
        shrink = 1.0
        if largest > self.shift:
            shrink = math.exp(self.shift - largest) if self.shift > -math.inf else 0.0
            self.shift = largest
        self.n += len(log_weights)
        if self.shift == -math.inf:
            return np.zeros(len(log_weights)), shrink
        weights = np.exp(log_weights - self.shift)
        self.total = self.total * shrink + float(weights.sum())
        self.squares = self.squares * shrink**2 + float((weights**2).sum())
        return weights, shrink

    @property
    def effective_size(self) -> float:
        """How many independent draws these are worth."""
        return self.total**2 / self.squares if self.squares > 0 else 0.0

    @property
    def log_mean(self) -> float:
        """Logarithm of the mean weight: of the probability of what is given."""
        return self.shift + math.log(self.total / self.n) if self.total > 0 else -math.inf

    @property
    def error_of_log_mean(self) -> float:
        """Its standard error."""
        if not self.total > 0:
            return math.inf
        return math.sqrt(max(0.0, self.squares / self.total**2 - 1 / self.n))


@dataclass(slots=True, eq=False)
class Tally:
    """Weighted shares of cells."""

    n_cells: int
    weights: Weights
    sums: Floats = field(init=False)
    squares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums, self.squares = np.zeros(self.n_cells), np.zeros(self.n_cells)

    def add(self, codes: Integers, weights: Floats, shrink: float) -> None:
        """Count new draws, whose weights are relative to the largest so far."""
        own, squares = (
            np.bincount(codes, w, minlength=self.n_cells) for w in (weights, weights**2)
        )
        self.sums = self.sums * shrink + own
        self.squares = self.squares * shrink**2 + squares

    @property
    def shares(self) -> Floats:
        """The estimates."""
        return self.sums / self.sums.sum()

    @property
    def errors(self) -> Floats:
        """Their standard errors."""
        p = self.shares
        squares = self.squares * (1 - 2 * p) + p**2 * self.squares.sum()
        return np.sqrt(np.maximum(squares, 0.0)) / self.sums.sum()

    @property
    def effective_size(self) -> float:
        """How many independent draws these are worth."""
        return self.weights.effective_size


@dataclass(slots=True, eq=False)
class ChainTally:
    """Shares of cells in each of many independent chains."""

    n_cells: int
    n_chains: int
    sums: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros((self.n_chains, self.n_cells))

    def add(self, codes: Integers, weights: Floats, shrink: float) -> None:
        """Count one draw of each chain; all weigh alike."""
        self.sums[np.arange(self.n_chains), codes] += 1.0

    @property
    def shares(self) -> Floats:
        """The estimates."""
        return self.sums.sum(axis=0) / self.sums.sum()

    @property
    def errors(self) -> Floats:
        """Their standard errors."""
        each = self.sums / np.maximum(self.sums.sum(axis=1, keepdims=True), 1.0)
        return each.std(axis=0, ddof=1) / math.sqrt(self.n_chains)

    @property
    def effective_size(self) -> float:
        """How many independent draws would have these standard errors, in the worst cell."""
        p, errors = self.shares, self.errors
        is_told = errors > 0
        if not is_told.any():
            return float(self.n_chains)
        return float((p[is_told] * (1 - p[is_told]) / errors[is_told] ** 2).min())
