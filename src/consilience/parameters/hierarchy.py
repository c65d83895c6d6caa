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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from scipy.special import logsumexp

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.kernels.hierarchy import approximate, draw_tables, exact, work_of
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
    is_whole = bool(np.all(counts == np.rint(counts)))
    tables = [_whole(table) if is_whole else _floats(table) for table in counts]
    if isinstance(s, Gamma):
        values, log_weights = nodes(
            s, lambda value: _log_evidence(tables, value, prior), _n_free(counts)
        )
    else:
        values, log_weights = np.array([size(s, r)]), np.zeros(1)
    is_exact = tuple(_can_be_exact(table, float(values.max()), prior) for table in tables)
    base, square = (np.empty((len(values), n_batches, r)) for _ in range(2))
    log_evidence = np.zeros(len(values))
    for i, value in enumerate(values):
        for b, table in enumerate(tables):
            solve_one = _solve_exactly if is_exact[b] else _solve_roughly
            log_evidence[i] += solve_one(table, float(value), prior, base[i, b], square[i, b])
    log_posterior = log_weights + log_evidence
    total = float(logsumexp(log_posterior))
    weights = np.exp(log_posterior - total)
    weights /= weights.sum()
    return Hierarchy(counts, s, float(alpha0), values, weights, base, square, total, is_exact)


def _can_be_exact(table: Integers | Floats, s: float, prior: Floats) -> TypeGuard[Integers]:
    return _is_whole(table) and work_of(table, s, prior, MOST_WORK) <= MOST_WORK


def _is_whole(table: Integers | Floats) -> TypeGuard[Integers]:
    return table.dtype == np.int64


def _log_evidence(tables: Sequence[Integers | Floats], s: float, prior: Floats) -> float:
    """Log evidence of all batches, for the search of the values of s that matter."""
    mean, square = np.empty_like(prior), np.empty_like(prior)
    total = 0.0
    for table in tables:
        if _can_be_exact(table, s, prior):
            total += exact(table, s, prior, mean, square)
        else:
            total += approximate(table, s, prior, mean)
    return total


def _n_free(counts: Floats) -> int:
    """Number of states seen in each group beyond its first, over all groups and batches."""
    return int(np.maximum((counts > 0).sum(axis=-1) - 1, 0).sum())


def _solve_exactly(
    table: Integers | Floats, s: float, prior: Floats, mean: Floats, square: Floats
) -> float:
    assert _is_whole(table)
    return float(exact(table, s, prior, mean, square))


def _solve_roughly(
    table: Integers | Floats, s: float, prior: Floats, mean: Floats, square: Floats
) -> float:
    tables = np.empty(len(prior))
    bound = float(approximate(table, s, prior, tables))
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
