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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.distributions.dirichlet import draw_logs, draw_rows
from consilience.kernels.hierarchy import approximate, can_be_exact, draw_tables, solve_all
from consilience.parameters.strength import Gamma, Strength, nodes, size

__all__ = ["MOST_WORK", "Hierarchy", "can_be_solved", "log_evidence_of", "solve", "solve_each"]

MOST_WORK = 3e8
"""Operations of the exact pass for one table beyond which the approximation is used."""


CERTAIN = _freeze.read_only(np.ones(1))
"""The weights of a strength that is given."""


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
        Prior of the base, shape (states,).
    s, weights
        Values of the strength and their posterior probabilities; one value if it is given.
    base
        E[a] for each value of s: shape (values, batches, states).
    log_evidence
        Log probability of the counts' sequence of rows, s integrated out.
    is_exact
        For each batch, whether it was solved exactly.
    """

    counts: Floats
    strength: Strength
    alpha0: Floats
    s: Floats
    weights: Floats
    base: Floats
    log_evidence: float
    is_exact: tuple[bool, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def mean(self) -> Floats:
        """Posterior mean of theta: shape (batches, groups, states)."""
        totals = self.counts.sum(axis=-1, keepdims=True)
        total = np.zeros(self.counts.shape)
        for s, weight, base in zip(self.s, self.weights, self.base, strict=True):
            total += weight * (self.counts + s * base[:, None]) / (totals + s)
        return total

    def square(self) -> Floats:
        """E[a^2] in the shape of ``base``; it takes as long as the solution did."""
        found = np.empty_like(self.base)
        _solve_at(
            self.s.copy(),
            self.counts,
            self.alpha0.copy(),
            np.array(self.is_exact),
            order=2,
            moments=found,
        )
        return found

    def variance(self) -> Floats:
        """Posterior variance of theta, exact where the solution is."""
        s = self.s[:, None, None, None]
        totals = self.counts.sum(axis=-1, keepdims=True)
        v = self._means(totals)
        spread = (self.square() - self.base**2)[:, :, None]
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

    def draw_batch(
        self, rng: np.random.Generator, batch: int, which: Integers, width: int | None = None
    ) -> Floats:
        """Draws of one batch's theta given a draw of s for each: shape (draws, groups, states).

        With a width they are conditional: each so many states that follow each other sum to one,
        however small the probability of all of them together.
        """
        counts = self.counts[batch]
        out = np.empty((len(which), *counts.shape))
        for place in np.unique(which):
            rows = np.flatnonzero(which == place)
            s = float(self.s[place])
            tables = self._draw_tables(rng, batch, s, len(rows))
            log_base = math.log(s) + draw_logs(self.alpha0 + tables, rng)[:, None]
            seen = np.log(np.maximum(counts, 1e-300) + np.exp(log_base))
            log_concentration = np.where(counts > 0, seen, log_base)
            parts = log_concentration.reshape(len(rows), len(counts), -1, width or counts.shape[1])
            out[rows] = draw_rows(parts, rng).reshape(len(rows), *counts.shape)
        return out

    def _means(self, totals: Floats) -> Floats:
        """Posterior means for each value of s."""
        s = self.s[:, None, None, None]
        return (self.counts + s * self.base[:, :, None]) / (totals + s)

    def _draw_tables(self, rng: np.random.Generator, batch: int, s: float, n: int) -> Floats:
        counts = self.counts[batch]
        prior = self.alpha0.copy()  # a read-only array would be compiled for again
        if not self.is_exact[batch]:
            tables = np.empty(counts.shape[1])
            approximate(np.array(counts, order="C"), s, prior, tables)
            return np.tile(tables, (n, 1))
        drawn = np.zeros((n, counts.shape[1]), np.int64)
        draw_tables(_whole(counts), s, prior, rng.random((n, counts.shape[1])), drawn)
        return drawn.astype(float)


def solve(counts: Floats, s: Strength, alpha0: float | Floats) -> Hierarchy:
    """The posterior of the hierarchy for counts of shape (batches, groups, states).

    ``alpha0`` has one number for all states, or one for each.
    """
    return solve_each([counts], s, alpha0)[0]


def solve_each(tables: Sequence[Floats], s: Strength, alpha0: float | Floats) -> list[Hierarchy]:
    """The posteriors of several hierarchies, all of them found in one call if s is given.

    They have the same ``alpha0``, so as many states as it has if it is an array.
    """
    if isinstance(s, Gamma):
        return [_with_learned_strength(counts, s, alpha0) for counts in tables]
    if not tables:
        return []
    plan, n_batches, n_moments = _plan(tables)
    flat = np.concatenate([counts.ravel() for counts in tables])
    strengths = np.array([size(s, counts.shape[-1]) for counts in tables])
    prior = np.full(max(counts.shape[-1] for counts in tables), alpha0, float)
    is_exact, moments = np.empty(n_batches, np.bool_), np.empty(n_moments)
    log_evidence = np.empty(len(plan))
    places = np.array(plan)
    solve_all(flat, places, strengths, prior, 1, MOST_WORK, is_exact, moments, log_evidence)
    for array in (flat, strengths, moments, prior):
        array.flags.writeable = False
    flags, evidence = is_exact.tolist(), log_evidence.tolist()
    return [
        Hierarchy(
            flat[at : at + counts.size].reshape(counts.shape),
            s,
            prior[:r],
            strengths[i : i + 1],
            CERTAIN,
            moments[moment_at : moment_at + n * r].reshape(1, n, r),
            evidence[i],
            tuple(flags[batch : batch + n]),
        )
        for i, (counts, (n, _, r, at, batch, moment_at)) in enumerate(
            zip(tables, plan, strict=True)
        )
    ]


def _plan(tables: Sequence[Floats]) -> tuple[list[tuple[int, ...]], int, int]:
    """Batches, groups and states of each table, and where counts, batches and moments start; the
    numbers of all batches and moments.
    """
    plan: list[tuple[int, ...]] = []
    at, batch, moment_at = 0, 0, 0
    for counts in tables:
        n, n_groups, r = counts.shape
        plan.append((n, n_groups, r, at, batch, moment_at))
        at, batch, moment_at = at + counts.size, batch + n, moment_at + n * r
    return plan, batch, moment_at


def can_be_solved(counts: Floats, s: float, alpha0: float) -> bool:
    """Whether all batches can be solved exactly up to this value of s."""
    return bool(_can_be_exact(counts, s, np.full(counts.shape[-1], float(alpha0))).all())


def log_evidence_of(counts: Integers, s: float, prior: Floats) -> float:
    """Log evidence of one table (groups, states) with any prior of the base; it must be short
    enough to be solved exactly.
    """
    table = counts[None].astype(float)
    return float(
        _solve_at(np.array([s]), table, prior, np.ones(1, np.bool_), order=0, moments=np.empty(0))[
            0
        ]
    )


def _with_learned_strength(counts: Floats, s: Gamma, alpha0: float | Floats) -> Hierarchy:
    n_batches, _, r = counts.shape
    prior = np.full(r, alpha0, float)
    values, log_weights = nodes(s, partial(_log_evidence, counts, prior), _n_free(counts))
    is_exact = _can_be_exact(counts, float(values.max()), prior)
    base = np.empty((len(values), n_batches, r))
    log_posterior = log_weights + _solve_at(values, counts, prior, is_exact, order=1, moments=base)
    largest = float(log_posterior.max())
    weights = np.exp(log_posterior - largest)
    total = float(weights.sum())
    flags = tuple(is_exact.tolist())
    log_evidence = largest + math.log(total)
    return Hierarchy(counts, s, prior, values, weights / total, base, log_evidence, flags)


def _solve_at(
    values: Floats, counts: Floats, prior: Floats, is_exact: Bools, *, order: int, moments: Floats
) -> Floats:
    """Fill moments (values, batches, states) of the base of one hierarchy for values of s; the log
    evidence for each.
    """
    n_batches, _, r = counts.shape
    plan = np.array([(*counts.shape, 0, 0, i * n_batches * r) for i in range(len(values))])
    found = np.empty(len(values))
    flat = np.array(counts).ravel()  # a copy: a read-only view would be compiled for again
    solve_all(flat, plan, values, prior, order, 0.0, is_exact, moments.ravel(), found)
    return found


def _log_evidence(counts: Floats, prior: Floats, values: Floats) -> Floats:
    """Log evidence for values of s, for the search of those that matter."""
    is_exact = _can_be_exact(counts, float(values.max()), prior)
    return _solve_at(values, counts, prior, is_exact, order=0, moments=np.empty(0))


def _can_be_exact(counts: Floats, s: float, prior: Floats) -> Bools:
    """For each batch, whether it can be solved exactly up to this value of s."""
    whole = _whole(counts)
    if np.any(whole != counts):
        return np.zeros(len(counts), np.bool_)
    return can_be_exact(whole, s, prior, MOST_WORK)


def _n_free(counts: Floats) -> int:
    """Number of states seen in each group beyond its first, over all groups and batches."""
    return int(np.maximum((counts > 0).sum(axis=-1) - 1, 0).sum())


def _whole(counts: Floats) -> Integers:
    return np.ascontiguousarray(counts, np.int64)
