r"""The posterior of a table that came from a hierarchical Dirichlet chain, by Gibbs steps.

A way (a back-off order with its exponent) is drawn by its weight. Given the way and the weights of
its rows, the sweeps of ``kernels/chain_draws.py`` draw the numbers of tables, the strengths under
their Gamma priors and the rows of all levels from their joint posterior, exactly up to Monte Carlo
error. They start from the fit, which is near the mode. Nothing is drawn before it is asked for.

The weights are those of the fit; a row without any count has the median weight of its level, as a
typical row has. A source never seen is one more source without counts, and so is a known source
without rows. Half of its draws come from the same way as those of the others; the other half from
one that drops the source first, as its means do, so that it keeps what all sources say of the
parents. (By the first way alone intervals are sound where sources differ in what a parent does, but
means of draws predict new sources worse; by the second alone it is the other way round.) There its
rows are drawn around the base, or with the probability ``pooled_share`` around a draw of the rows
of all sources together (``small_sources.py``): a source drawn at random, or that of a row drawn at
random. Their blend, which is the mean, would be too sure of itself as a center; and where one
source has most rows, all rows together say little more than that source does of the others, so
that draw is no closer than the mean of :math:`(\sum_f N_f)^2 / \sum_f N_f^2` sources. A source with
few rows lies between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.errors import InputError
from consilience.kernels.chain import place, settle
from consilience.kernels.chain_draws import draw_tables, sweep
from consilience.parameters.backoff import Way, with_new_source
from consilience.parameters.small_sources import own_shares
from consilience.statistics.counts import MEMORY_LIMIT

__all__ = ["FIT_ROUNDS", "TOLERANCE", "ChainPosterior", "WeightedWay"]

FIT_ROUNDS, TOLERANCE = 500, 1e-6
"""Of the fits: at most so many rounds, until nothing changes by more."""

N_DRAWS = 2000
"""Draws behind an interval; the ends of a 95 % interval move by about 3 % of its length."""

BURN_IN = 50
SWEEPS_PER_DRAW = 1
"""Rows are drawn afresh in each sweep; strengths move more slowly, a draw's worth in two to six."""

LARGEST_BATCH, MOST_CELLS = 256, 1 << 20
"""Of draws that are made at once: how many, and the cells that they have together."""

MOST_KEPT = 4 << 20
"""Bytes of the draws behind intervals that stay with a posterior; more are drawn again."""


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
        The probability with which a source never seen is drawn around all rows together instead of
        the base.
    """

    rows: Floats
    n_sources: int
    ways: tuple[WeightedWay, ...]
    shape: tuple[int, ...]
    pooled_share: float = 0.0
    _kept: list[Floats] = field(default_factory=list, init=False, repr=False)

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

        Each way's sweeps go on where they were, so that draws in a row are a little alike. They are
        made in batches, the first of one draw and each twice as large as the last.
        """
        running = [_Sweeps(self, one) for one in self.ways]
        n, most = 1, max(1, min(LARGEST_BATCH, MOST_CELLS // prod(self.shape)))
        while True:
            yield from self._batch(running, n, rng)
            n = min(2 * n, most)

    def _batch(self, running: list[_Sweeps], n: int, rng: np.random.Generator) -> Floats:
        """So many tables, of all sources at once or some of them from a second way."""
        shares, unseen_shares = np.array([(one.share, one.share_unseen) for one in self.ways]).T
        which = rng.choice(len(shares), size=n, p=shares)
        if not self.n_sources:
            return _drawn_by(running, which, rng).reshape(n, *self.shape)
        leaves_out = unseen_shares[which] == 0
        is_other = leaves_out[:, None] & (rng.random((n, self.shape[0])) > self._own())
        changed = np.flatnonzero(is_other.any(axis=1))
        others = rng.choice(len(shares), size=len(changed), p=unseen_shares)
        both = _drawn_by(running, np.concatenate([which, others]), rng)
        tables = both.reshape(n + len(changed), *self.shape)
        found, is_other = tables[:n], is_other[changed]
        found[changed] = np.where(
            is_other.reshape(*is_other.shape, *[1] * (len(self.shape) - 1)),
            tables[n:],
            found[changed],
        )
        return found

    def _own(self) -> Floats:
        """The probability with which a source, the new one last, follows the way that was drawn."""
        return 0.5 + 0.5 * np.append(own_shares(self.rows, self.n_sources), 0.0)

    def _drawn(self) -> Floats:
        """All draws behind an interval, kept unless they are many."""
        if self._kept:
            return self._kept[0]
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
        if found.nbytes <= MOST_KEPT:
            self._kept.append(_freeze.read_only(found))
        return found


def _drawn_by(running: Sequence[_Sweeps], which: Integers, rng: np.random.Generator) -> Floats:
    """A draw of the way that each number says, those of a way by one call; shape (draws, cells)."""
    found = np.empty((len(which), running[0].n_cells))
    for number, sweeps in enumerate(running):
        places = np.flatnonzero(which == number)
        if len(places):
            found[places] = sweeps.draw(len(places), rng)
    return found


class _Sweeps:
    """The Gibbs sweeps of one way: a state that moves on from draw to draw."""

    def __init__(self, posterior: ChainPosterior, one: WeightedWay) -> None:
        self._posterior, self._one = posterior, one
        self._way = with_new_source(one.way) if posterior.n_sources else one.way
        self._is_begun = False

    @property
    def n_cells(self) -> int:
        """Number of cells of level K."""
        return prod(self._posterior.shape)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """The rows of the last level, so many times, some sweeps apart; shape (draws, cells)."""
        if not self._is_begun:
            self._begin(rng)
        way, one, r = self._way, self._one, self._posterior.rows.shape[1]
        out = np.empty((n, self.n_cells // r, r))
        draw_tables(
            self._customers,
            self._totals,
            self._phi,
            self._weight,
            self._s,
            one.shapes,
            one.rates,
            way.up,
            way.start,
            self._seen,
            self._ends,
            self._pooled,
            self._n_alike,
            self._is_empty,
            self._posterior.pooled_share,
            self._state,
            SWEEPS_PER_DRAW,
            out,
        )
        return out.reshape(n, -1)

    def _begin(self, rng: np.random.Generator) -> None:
        """Start from the fit, with rows added for the source never seen."""
        rows, old, way, s = self._posterior.rows, self._one.way, self._way, self._one.s
        settled = settle(rows, old.up, old.start, old.rho, s, FIT_ROUNDS, TOLERANCE)
        customers, totals, weight, phi = (_spread(array, old, way) for array in settled)
        self._customers, self._totals, self._phi = customers, totals, phi
        self._weight = _typical(weight, totals, way)
        self._s = s.copy()
        self._pooled, unused = np.zeros_like(customers), np.zeros_like(totals)
        counts = customers[way.start[-2] :].copy()
        self._seen, self._ends = place(counts, way.up, way.start, self._pooled, unused)
        self._n_alike = _number_alike(counts, way)
        by_source = counts.reshape(way.sizes[0] if way.drops_source_first else 1, -1)
        self._is_empty = np.asarray(way.drops_source_first & ~by_source.any(axis=1))
        self._state = rng.integers(0, 1 << 63, 1).astype(np.uint64)
        self._is_begun = True
        sweep(
            customers,
            totals,
            phi,
            self._weight,
            self._s,
            self._one.shapes,
            self._one.rates,
            way.up,
            self._seen,
            self._ends,
            self._state,
            BURN_IN,
        )


def _spread(array: Floats, old: Way, new: Way) -> Floats:
    """What the rows of a way have, for those of the way with one source more: zero for the rest.

    The source is the slowest axis, so its rows stand last in each level that knows the source.
    """
    found = np.zeros((len(new.up), *array.shape[1:]))
    for first, begin, end in zip(new.start, old.start, old.start[1:], strict=False):
        found[first : first + end - begin] = array[begin:end]
    return found


def _number_alike(counts: Floats, way: Way) -> Floats:
    """For the rows of level K - 1 the number of sources of equal size whose mean varies as much
    (Kish 1965): the squared sum of rows by the sum of squares; 0 for other rows.
    """
    found = np.zeros(len(way.up))
    if way.drops_source_first:
        n = counts.sum(axis=1).reshape(way.sizes[0], -1)
        squares = np.maximum((n**2).sum(axis=0), np.finfo(float).tiny)
        found[way.unseen] = n.sum(axis=0) ** 2 / squares
    return found


def _typical(weight: Floats, totals: Floats, way: Way) -> Floats:
    """The weights, with the median of a level for its rows without customers."""
    found = weight.copy()
    for begin, end in pairwise(way.start):
        is_seen = totals[begin:end] > 0
        if not is_seen.all():
            typical = np.median(weight[begin:end][is_seen]) if is_seen.any() else 1.0
            found[begin:end][~is_seen] = typical
    return found
