r"""The posterior of a table that came from a hierarchical Dirichlet chain, by Gibbs steps.

A way (a back-off order with its exponent) is drawn by its weight. Given the way and the weights of
its rows, the sweeps of ``kernels/chain_draws.py`` draw the numbers of tables, the strengths under
their Gamma priors and the rows of all levels from their joint posterior, exactly up to Monte Carlo
error. They start from the fit, which is near the mode. Nothing is drawn before it is asked for.

A row without any count, and a source never seen, are tied as strongly as the average row. The new
source's table comes from a way that drops the source first, as its means do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.errors import InputError
from consilience.kernels.chain import place, settle
from consilience.kernels.chain_draws import record, sweep
from consilience.parameters.backoff import Way
from consilience.statistics.counts import MEMORY_LIMIT

__all__ = ["FIT_ROUNDS", "TOLERANCE", "ChainPosterior", "WeightedWay"]

FIT_ROUNDS, TOLERANCE = 200, 1e-6
"""Of the fits: at most so many rounds, until nothing changes by more."""

N_DRAWS = 2000
"""Draws behind an interval; the ends of a 95 % interval move by about 3 % of its length."""

BURN_IN = 50
SWEEPS_A_DRAW = 2


@dataclass(frozen=True, slots=True, eq=False)
class WeightedWay:
    """A way as fitted.

    Parameters
    ----------
    way
        The back-off order.
    shares
        Its weights for sources seen and for one never seen.
    s
        Strengths by level, the mode; not used for level 0.
    shapes, rates
        The Gamma priors of the strengths by level.
    """

    way: Way
    shares: tuple[float, float]
    s: Floats
    shapes: Floats
    rates: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ChainPosterior:
    """What is known about a table beyond its entries.

    Parameters
    ----------
    rows
        The counts, shape (joint states of source and parents, states), fractional or not.
    n_sources
        Sources among the joint states; 0 if the counts are pooled. With sources the table has one
        more, the source never seen.
    ways
        The ways that are averaged.
    shape
        Shape of the table.
    """

    rows: Floats
    n_sources: int
    ways: tuple[WeightedWay, ...]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def variance(self) -> Floats:
        """Posterior variance of every entry, from draws with a fixed seed."""
        return self._drawn().var(axis=0)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every entry, from draws with a fixed seed."""
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.", parameter="level")
        low, high = np.quantile(self._drawn(), [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draw(self, rng: np.random.Generator) -> Floats:
        """One table drawn from the posterior; many are cheaper by :meth:`draws`."""
        return next(self.draws(rng))

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Tables drawn from the posterior, without end; each way's sweeps go on where they were."""
        running: dict[int, _Sweeps] = {}
        seen_shares, unseen_shares = np.array([one.shares for one in self.ways]).T
        while True:
            which = int(rng.choice(len(self.ways), p=seen_shares))
            if which not in running:
                running[which] = _Sweeps(self, which, rng)
            table = running[which].draw()
            if self.n_sources and not self.ways[which].way.drops_source_first:
                other = int(rng.choice(len(self.ways), p=unseen_shares))
                if other not in running:
                    running[other] = _Sweeps(self, other, rng)
                is_unseen = self.is_unseen
                table[is_unseen] = running[other].draw()[is_unseen]
            yield table.reshape(self.shape)

    @property
    def is_unseen(self) -> Integers:
        """Places of the sources without rows of the family, the one never seen last."""
        totals = self.rows.reshape(self.n_sources, -1).sum(axis=1)
        return np.append(np.flatnonzero(totals == 0), self.n_sources)

    def _drawn(self) -> Floats:
        """All draws behind an interval."""
        n_cells = float(np.prod(self.shape))
        _check.memory(
            f"{N_DRAWS} draws of a table of shape {self.shape}",
            3.0 * 8.0 * N_DRAWS * n_cells,
            4 * MEMORY_LIMIT,
            "Draw networks one after the other instead: cs.draws.",
        )
        found = np.empty((N_DRAWS, *self.shape))
        for place_, table in zip(found, self.draws(np.random.default_rng(0)), strict=False):
            place_[:] = table
        return found


class _Sweeps:
    """The Gibbs sweeps of one way: a state that moves on from draw to draw."""

    def __init__(self, posterior: ChainPosterior, which: int, rng: np.random.Generator) -> None:
        self._posterior, self._one = posterior, posterior.ways[which]
        way, s = self._one.way, self._one.s
        rows = posterior.rows
        customers, totals, weight, mean = settle(
            rows, way.up, way.start, way.rho, s, FIT_ROUNDS, TOLERANCE
        )
        weight[totals == 0] = 1.0
        self._customers, self._totals, self._weight = customers, totals, weight
        self._phi, self._s = mean, s.copy()
        at_bottom = np.zeros_like(customers), np.zeros_like(totals)
        self._seen, self._ends = place(rows, way.up, way.start, *at_bottom)
        self._state = rng.integers(0, 1 << 63, 1).astype(np.uint64)
        self._unseen = np.zeros(0, np.int64)
        if posterior.n_sources and way.drops_source_first:
            self._unseen = np.tile(way.unseen, len(posterior.is_unseen))
        self._sweep(BURN_IN)

    def draw(self) -> Floats:
        """A table, shape (sources, parent states, states), the source never seen last."""
        self._sweep(SWEEPS_A_DRAW)
        posterior, way = self._posterior, self._one.way
        r = posterior.rows.shape[1]
        rows, unseen = np.empty(posterior.rows.shape), np.empty((len(self._unseen), r))
        record(
            self._customers,
            self._totals,
            self._phi,
            self._weight,
            self._s,
            way.up,
            way.start,
            self._state,
            rows,
            self._unseen,
            unseen,
        )
        if not posterior.n_sources:
            return rows
        table = np.empty((posterior.n_sources + 1, len(rows) // posterior.n_sources, r))
        table[:-1] = rows.reshape(posterior.n_sources, -1, r)
        if len(self._unseen):
            table[posterior.is_unseen] = unseen.reshape(-1, *table.shape[1:])
        return table

    def _sweep(self, n_sweeps: int) -> None:
        one = self._one
        sweep(
            self._customers,
            self._totals,
            self._phi,
            self._weight,
            self._s,
            one.shapes,
            one.rates,
            one.way.up,
            self._seen,
            self._ends,
            self._state,
            n_sweeps,
        )
