r"""The posterior of a Dirichlet hierarchy: one function of (batches, groups, states).

.. math::
    a_b \sim \mathrm{Dirichlet}(\alpha_0), \qquad
    \theta_{bj} \mid a_b \sim \mathrm{Dirichlet}(s\, a_b), \qquad
    N_{bj} \mid \theta_{bj} \sim \mathrm{Multinomial}(\theta_{bj})

Batches are independent but share s; groups of a batch share its base a; states are what the
Dirichlet is over. The posterior mean is a weighted mean of a group's own shares and of the base,

.. math:: E[\theta_{bjx} \mid D] = \frac{N_{bjx} + s\,E[a_{bx} \mid D]}{N_{bj} + s},

and E[a], its variance and the evidence are exact (``kernels/hierarchy.py``). A table whose exact
pass would take too long, or with fractional counts, is solved by collapsed variational Bayes, and
``method`` says so. A learned s is integrated out on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.kernels.hierarchy import approximate, draw_tables, exact, work_of
from consilience.parameters.strength import Strength, grid

__all__ = ["MOST_WORK", "Hierarchy", "solve"]

MOST_WORK = 3e8
"""Operations of the exact pass for one table beyond which the approximation is used."""


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """The posterior of a hierarchy.

    Parameters
    ----------
    counts
        Shape (batches, groups, states).
    strength
        How s was chosen.
    alpha0
        Prior of the base, the same for every state.
    s, weights
        Values of the strength and their posterior probabilities; one value if it is given.
    base, square
        E[a] and E[a^2] for each value of s: shape (values, batches, states).
    log_evidence
        Log probability of the counts' sequence of rows, s integrated out.
    is_exact
        For each batch, whether it was solved exactly.
    """

    counts: Floats
    strength: Strength
    alpha0: float
    s: Floats
    weights: Floats
    base: Floats
    square: Floats
    log_evidence: float
    is_exact: tuple[bool, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def mean(self) -> Floats:
        """Posterior mean of theta: shape (batches, groups, states)."""
        return np.tensordot(self.weights, self._means(), axes=1)

    def variance(self) -> Floats:
        """Posterior variance of theta, exact where the solution is."""
        s = self.s[:, None, None, None]
        totals = self.counts.sum(axis=-1, keepdims=True)
        v = self._means()
        spread = self.square[:, :, None] - self.base[:, :, None] ** 2
        of_v = (s / (totals + s)) ** 2 * np.maximum(spread, 0.0)
        within = (v * (1 - v) - of_v) / (totals + s + 1) + of_v
        between = (v - self.mean()) ** 2
        return np.tensordot(self.weights, within + between, axes=1)

    def mean_strength(self) -> float:
        """Posterior mean of s."""
        return float(self.weights @ self.s)

    def draw(self, rng: np.random.Generator, n_draws: int) -> Floats:
        """Draws of theta from the posterior: shape (draws, batches, groups, states)."""
        which = rng.choice(len(self.s), size=n_draws, p=self.weights)
        out = np.empty((n_draws, *self.counts.shape))
        for node in np.unique(which):
            rows = np.flatnonzero(which == node)
            for b, counts in enumerate(self.counts):
                tables = self._draw_tables(rng, b, self.s[node], len(rows))
                a = DirichletPosterior(self.alpha0 + tables).draw(rng)
                theta = DirichletPosterior(counts + self.s[node] * _positive(a)[:, None])
                out[rows, b] = theta.draw(rng)
        return out

    def _means(self) -> Floats:
        s = self.s[:, None, None, None]
        totals = self.counts.sum(axis=-1, keepdims=True)
        return (self.counts + s * self.base[:, :, None]) / (totals + s)

    def _draw_tables(self, rng: np.random.Generator, batch: int, s: float, n: int) -> Floats:
        counts = self.counts[batch]
        prior = np.full(counts.shape[1], self.alpha0)
        if not self.is_exact[batch]:
            tables = np.empty(counts.shape[1])
            approximate(np.ascontiguousarray(counts), s, prior, tables)
            return np.tile(tables, (n, 1))
        drawn = np.empty((n, counts.shape[1]), np.int64)
        draw_tables(_whole(counts), s, prior, rng.random((n, counts.shape[1])), drawn)
        return drawn.astype(float)


def solve(counts: Floats, s: Strength, alpha0: float) -> Hierarchy:
    """The posterior of the hierarchy for counts of shape (batches, groups, states)."""
    n_batches, _, r = counts.shape
    values, log_weights = grid(s, r)
    prior = np.full(r, float(alpha0))
    is_whole = bool(np.all(counts == np.rint(counts)))
    is_exact = tuple(
        is_whole and work_of(_whole(table), float(values.max()), prior) <= MOST_WORK
        for table in counts
    )
    base, square = (np.empty((len(values), n_batches, r)) for _ in range(2))
    log_evidence = np.zeros(len(values))
    for i, value in enumerate(values):
        for b, table in enumerate(counts):
            solver = _solve_exactly if is_exact[b] else _solve_roughly
            log_evidence[i] += solver(table, float(value), prior, base[i, b], square[i, b])
    log_posterior = log_weights + log_evidence
    total = float(logsumexp(log_posterior))
    weights = np.exp(log_posterior - logsumexp(log_posterior))
    return Hierarchy(counts, s, float(alpha0), values, weights, base, square, total, is_exact)


def _solve_exactly(table: Floats, s: float, prior: Floats, mean: Floats, square: Floats) -> float:
    return float(exact(_whole(table), s, prior, mean, square))


def _solve_roughly(table: Floats, s: float, prior: Floats, mean: Floats, square: Floats) -> float:
    tables = np.empty(len(prior))
    bound = float(approximate(np.ascontiguousarray(table), s, prior, tables))
    size = prior + tables
    mean[:] = size / size.sum()
    square[:] = mean * (size + 1) / (size.sum() + 1)
    return bound


def _whole(table: Floats) -> Integers:
    return np.ascontiguousarray(np.rint(table).astype(np.int64))


def _positive(a: Floats) -> Floats:
    return np.maximum(a, np.finfo(float).tiny)
