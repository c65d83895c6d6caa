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
``is_exact`` says so. A learned s is integrated out (``strength.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.kernels.hierarchy import approximate, can_be_exact, draw_tables, exact_each
from consilience.parameters.strength import Gamma, Strength, nodes, size

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

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

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
        within = np.maximum(v * (1 - v) - of_v, 0.0) / (totals + s + 1) + of_v
        between = (v - self.mean()) ** 2
        return np.tensordot(self.weights, within + between, axes=1)

    def mean_strength(self) -> float:
        """Posterior mean of s."""
        return float(self.weights @ self.s)

    def draw(self, rng: np.random.Generator, n_draws: int) -> Floats:
        """Draws of theta from the posterior: shape (draws, batches, groups, states)."""
        which = self.draw_strengths(rng, n_draws)
        return np.stack([self.draw_batch(rng, b, which) for b in range(len(self.counts))], axis=1)

    def draw_strengths(self, rng: np.random.Generator, n_draws: int) -> Integers:
        """Draws of s from its posterior, as places in ``s``."""
        return rng.choice(len(self.s), size=n_draws, p=self.weights)

    def draw_batch(self, rng: np.random.Generator, batch: int, which: Integers) -> Floats:
        """Draws of one batch's theta given a draw of s for each: shape (draws, groups, states)."""
        counts = self.counts[batch]
        out = np.empty((len(which), *counts.shape))
        for place in np.unique(which):
            rows = np.flatnonzero(which == place)
            s = float(self.s[place])
            tables = self._draw_tables(rng, batch, s, len(rows))
            a = DirichletPosterior(self.alpha0 + tables).draw(rng)
            out[rows] = DirichletPosterior(counts + s * _positive(a)[:, None]).draw(rng)
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
            approximate(_floats(counts), s, prior, tables)
            return np.tile(tables, (n, 1))
        drawn = np.empty((n, counts.shape[1]), np.int64)
        draw_tables(_whole(counts), s, prior, rng.random((n, counts.shape[1])), drawn)
        return drawn.astype(float)


def solve(counts: Floats, s: Strength, alpha0: float) -> Hierarchy:
    """The posterior of the hierarchy for counts of shape (batches, groups, states)."""
    n_batches, _, r = counts.shape
    prior = np.full(r, float(alpha0))
    if isinstance(s, Gamma):
        values, log_weights = nodes(s, partial(_log_evidence, counts, prior), _n_free(counts))
    else:
        values, log_weights = np.array([size(s, r)]), np.zeros(1)
    is_exact = _can_be_exact(counts, float(values.max()), prior)
    base, square = (np.empty((len(values), n_batches, r)) for _ in range(2))
    log_posterior = log_weights + [
        _moments(counts, float(value), prior, is_exact, base[i], square[i])
        for i, value in enumerate(values)
    ]
    largest = log_posterior.max()
    weights = np.exp(log_posterior - largest)
    total = float(largest + np.log(weights.sum()))
    weights /= weights.sum()
    flags = tuple(is_exact.tolist())
    return Hierarchy(counts, s, float(alpha0), values, weights, base, square, total, flags)


def _can_be_exact(counts: Floats, s: float, prior: Floats) -> Bools:
    whole = _whole(counts)
    if np.any(whole != counts):
        return np.zeros(len(counts), np.bool_)
    return can_be_exact(whole, s, prior, MOST_WORK)


def _moments(
    counts: Floats, s: float, prior: Floats, is_exact: Bools, base: Floats, square: Floats
) -> float:
    """Fill E[a] and E[a^2] of every batch (batches, states); return the log evidence of all."""
    log_evidence = float(exact_each(_whole(counts), s, prior, is_exact, base, square))
    for b in np.flatnonzero(~is_exact):
        log_evidence += _approximate_moments(counts[b], s, prior, base[b], square[b])
    return log_evidence


def _log_evidence(counts: Floats, prior: Floats, s: float) -> float:
    """Log evidence of all batches, for the search of the values of s that matter."""
    base, square = (np.empty((len(counts), len(prior))) for _ in range(2))
    return _moments(counts, s, prior, _can_be_exact(counts, s, prior), base, square)


def _n_free(counts: Floats) -> int:
    """Number of states seen in each group beyond its first, over all groups and batches."""
    return int(np.maximum((counts > 0).sum(axis=-1) - 1, 0).sum())


def _approximate_moments(
    table: Floats, s: float, prior: Floats, mean: Floats, square: Floats
) -> float:
    tables = np.empty(len(prior))
    bound = float(approximate(_floats(table), s, prior, tables))
    total = prior + tables
    mean[:] = total / total.sum()
    square[:] = mean * (total + 1) / (total.sum() + 1)
    return bound


def _whole(table: Floats) -> Integers:
    return np.ascontiguousarray(np.rint(table).astype(np.int64))


def _floats(table: Floats) -> Floats:
    return np.array(table, order="C")  # a copy: a read-only view would be compiled for again


def _positive(a: Floats) -> Floats:
    return np.maximum(a, np.finfo(float).tiny)
