r"""The posterior of a table that came from a hierarchical Dirichlet chain, by Gibbs steps.

A way (a back-off order with its exponent) is drawn by its weight. Given the way and the weights of
its rows, the sweeps of ``kernels/chain_draws.py`` draw the numbers of tables, the strengths under
their Gamma priors and the rows of all levels from their joint posterior, exactly up to Monte Carlo
error. They start from the fit, which is near the mode. Nothing is drawn before it is asked for.

A row without any count is tied as strongly as the average row. A source never seen is one more
source without counts, and so is a known source without rows. Half of its draws come from the same
way as those of the others; the other half from one that drops the source first, as its means do, so
that it keeps what all sources say of the parents. (By the first way alone intervals are sound where
sources differ in what a parent does, but means of draws predict new sources worse; by the second
alone it is the other way round.) They are drawn around the same blend of the base and all rows
together as its means are (``small_sources.py``). A source with few rows lies between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.distributions.dirichlet import SMALLEST, draw_rows
from consilience.errors import InputError
from consilience.kernels.chain import place, settle
from consilience.kernels.chain_draws import record, sweep
from consilience.parameters.backoff import Way, with_new_source
from consilience.parameters.small_sources import guesses, own_shares
from consilience.statistics.counts import MEMORY_LIMIT

__all__ = ["FIT_ROUNDS", "TOLERANCE", "ChainPosterior", "WeightedWay"]

FIT_ROUNDS, TOLERANCE = 500, 1e-6
"""Of the fits: at most so many rounds, until nothing changes by more."""

N_DRAWS = 2000
"""Draws behind an interval; the ends of a 95 % interval move by about 3 % of its length."""

BURN_IN = 50
SWEEPS_A_DRAW = 1
"""Rows are drawn afresh in each sweep; strengths move more slowly, a draw's worth in two to six."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedWay:
    """A way as fitted.

    Parameters
    ----------
    way
        The back-off order.
    share, share_unseen
        Its weight, and that among the ways that drop the source first; 0 for the others.
    s
        Strengths by level, the mode; not used for level 0.
    shapes, rates
        The Gamma priors of the strengths by level.
    """

    way: Way
    share: float
    share_unseen: float
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
        Number of sources; 0 if the counts are pooled. With sources the table has one more, the
        source never seen, last.
    ways
        The ways that are averaged.
    shape
        Shape of the table.
    pooled_share
        How far a source never seen lies from the base towards all rows together.
    """

    rows: Floats
    n_sources: int
    ways: tuple[WeightedWay, ...]
    shape: tuple[int, ...]
    pooled_share: float = 0.0

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

    def permuted(self, axis: int, order: Integers) -> ChainPosterior:
        """The posterior of the table whose entries along an axis, not the source, are reordered."""
        shape = list(self.shape)
        shape[0] -= self.n_sources > 0
        rows = np.take(self.rows.reshape(shape), order, axis=axis).reshape(self.rows.shape)
        return replace(self, rows=rows)

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Tables drawn from the posterior, without end.

        Each way's sweeps go on where they were, so that draws in a row are a little alike.
        """
        rows, ways = self._with_new_source()
        running = [_Sweeps(rows, one, self.pooled_share) for one in ways]
        shares, unseen_shares = np.array([(one.share, one.share_unseen) for one in ways]).T
        n_sources = self.n_sources + 1 if self.n_sources else 1
        own = 0.5 + 0.5 * own_shares(rows, n_sources) if self.n_sources else np.ones(1)
        while True:
            which = int(rng.choice(len(ways), p=shares))
            drawn = running[which].draw(rng).reshape(n_sources, -1)
            if self.n_sources and not ways[which].share_unseen:
                is_other = rng.random(n_sources) > own
                if is_other.any():
                    other = int(rng.choice(len(ways), p=unseen_shares))
                    drawn[is_other] = running[other].draw(rng).reshape(n_sources, -1)[is_other]
            yield drawn.reshape(self.shape)

    def _with_new_source(self) -> tuple[Floats, Sequence[WeightedWay]]:
        """The counts and ways with one source more, without counts, if there are sources."""
        if not self.n_sources:
            return self.rows, self.ways
        empty = np.zeros((len(self.rows) // self.n_sources, self.rows.shape[1]))
        ways = [replace(one, way=with_new_source(one.way)) for one in self.ways]
        return np.concatenate([self.rows, empty]), ways

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

    def __init__(self, counts: Floats, one: WeightedWay, pooled_share: float) -> None:
        self._counts, self._one, self._pooled_share = counts, one, pooled_share
        self._is_begun = False

    def draw(self, rng: np.random.Generator) -> Floats:
        """The rows of the last level after some more sweeps."""
        if not self._is_begun:
            self._begin(rng)
        self._sweep(SWEEPS_A_DRAW)
        rows, way = np.empty(self._counts.shape), self._one.way
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
        )
        if way.drops_source_first:
            self._draw_unseen(rows, rng)
        return rows

    def _draw_unseen(self, rows: Floats, rng: np.random.Generator) -> None:
        """Draw the rows of sources without counts around their blend of two guesses."""
        by_source = rows.reshape(self._one.way.sizes[0], -1, self._counts.shape[1])
        base, together = guesses(self._counts, self._one.way, self._s, self._phi)
        center = base + self._pooled_share * (together - base)
        has_rows = self._counts.reshape(len(by_source), -1).any(axis=1)
        for f in np.flatnonzero(~has_rows):
            by_source[f] = draw_rows(np.log(np.maximum(self._s[-1] * center, SMALLEST)), rng)

    def _begin(self, rng: np.random.Generator) -> None:
        counts, way, s = self._counts, self._one.way, self._one.s
        settled = settle(counts, way.up, way.start, way.rho, s, FIT_ROUNDS, TOLERANCE)
        self._customers, self._totals, self._weight, self._phi = settled
        self._weight[self._totals == 0] = 1.0
        self._s = s.copy()
        unused = np.zeros_like(self._customers), np.zeros_like(self._totals)
        self._seen, self._ends = place(counts, way.up, way.start, *unused)
        self._state = rng.integers(0, 1 << 63, 1).astype(np.uint64)
        self._is_begun = True
        self._sweep(BURN_IN)

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
