r"""The continuous part of rows with gaps, prepared once for many rounds of inference.

The continuous nodes of a row fall apart into *pieces*: nodes that hidden ones connect. Hidden nodes
below which nothing is known are in none; to fill them would say nothing. Given what the row knows,
a piece is a likelihood over the discrete parents of its nodes that are missing in the row,

.. math:: \lambda(d) = p(x_O \mid d) ,

with one *case* for each joint state of them. Pieces of a row over the same missing parents are
multiplied, so a row has one likelihood for each such set, a *scope*; their numbers stand one after
the other in a vector of *cells*. A round of inference turns the regressions into these cells; the
discrete part turns them into the posterior weights of the same cells, and these weigh the moments
of each family,

.. math:: n_j = \sum w, \quad m_j = \frac{1}{n_j} \sum w\, \hat x, \quad
    S_j = \sum w \bigl[(\hat x - m_j)(\hat x - m_j)^\top + \Sigma\bigr] ,

where :math:`\hat x` has hidden values at their means and :math:`\Sigma`, their covariance, is zero
outside of them. All values are taken less the mean of their column, so large means cost no digits.

References: Little and Rubin (2002), Statistical Analysis with Missing Data, chapters 11 and 14;
Lauritzen (1995), The EM algorithm for graphical association models with missing data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions import LinearGaussian
from consilience.errors import ModelError
from consilience.inference.evidence import Scope
from consilience.inference.normal_pieces import CaseBuilder, Words, pieces_of_rows
from consilience.kernels.normal_cases import (
    Arcs,
    NormalArrays,
    Offsets,
    Regressions,
    add_draws,
    add_moments,
    condition_cases,
    square_roots,
)
from consilience.network.network import Network
from consilience.statistics.moments import Moments

__all__ = ["Cells", "NormalCases", "normal_order", "where_words"]

LEAST = -600.0
"""Logarithm of the smallest entry of a likelihood beside its largest. What is less probable counts
as this: a row that leaves nothing else possible keeps its posterior, if not its density.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Likelihoods of all scopes of all rows, the largest of each one, under some regressions.

    ``log_scale`` is the weighted sum of the logarithms of what they lack, and of the densities that
    no missing state has a part in. ``means`` and ``roots`` are those of the hidden values.
    """

    values: Floats
    log_scale: float
    means: Floats
    roots: Floats


@dataclass(frozen=True, slots=True, eq=False)
class NormalCases:
    """The pieces of rows of one network.

    Attributes
    ----------
    names
        The continuous nodes, parents before children.
    centers, spreads
        Mean and sd of what is known of each; zero where nothing is.
    weights
        Of the rows.
    scopes
        Sets of discrete nodes that are missing together above a piece.
    first_cell
        Where the cells of each row and scope start, -1 if it has none; shape (rows, scopes).
    n_cells
        Their number.
    """

    names: tuple[str, ...]
    centers: Floats
    spreads: Floats
    weights: Floats
    scopes: tuple[Scope, ...]
    first_cell: Integers
    n_cells: int
    _arrays: NormalArrays
    _cell: Integers  # of each case, -1 without missing parents
    _blocks: Integers  # the first cell of every scope of every row, and the number of cells
    _block_row: Integers
    _open: Integers  # cases that change from round to round: missing parents, or hidden values
    _families: tuple[_Family, ...]
    _counted: tuple[Moments, ...]

    @classmethod
    def of(
        cls,
        net: Network,
        values: Floats,
        codes: Mapping[str, Words],
        weights: Floats,
        *,
        apart: Collection[str] = (),
        source: Variable | None = None,
        keeps_barren: bool = False,
        memory_limit: float,
    ) -> NormalCases:
        """Prepare rows of values (NaN if missing; in the order of :func:`normal_order`) and codes
        (-1 if missing).

        The moments of the nodes in ``apart`` have the ``source`` as their first axis, and not among
        the variables that they are given. Hidden nodes below which nothing is known are left out
        unless ``keeps_barren``.
        """
        names = normal_order(net)
        families = _families(net, names, apart, source)
        for one in families:
            one.guard(memory_limit)
        centers, spreads = _centers_and_spreads(values)
        builder = CaseBuilder(net, names, codes, len(values), memory_limit=memory_limit)
        parents = [one.parents for one in families]
        pieces = pieces_of_rows(parents, ~np.isnan(values), keeps_barren=keeps_barren)
        for (members, hidden), rows in pieces.items():
            builder.add(members, hidden, rows)
        arrays, cell = builder.arrays(values - centers)
        blocks, block_row = builder.blocks()
        is_open = (cell >= 0) | (np.diff(arrays.starts)[arrays.unit] > 0)
        found = cls(
            names,
            centers,
            spreads,
            weights,
            tuple(builder.scopes),
            builder.first_cell,
            builder.n_cells,
            arrays,
            cell,
            blocks,
            block_row,
            np.flatnonzero(is_open),
            families,
            (),
        )
        if not names:
            return found
        closed = np.flatnonzero(~is_open)
        starts, own = arrays.mean_starts[closed], weights[arrays.row[closed]]
        counted = found._gathered(closed, starts, np.zeros(0), own, covariances=np.zeros(0))
        return replace(found, _counted=counted)

    def cells(self, regressions: Mapping[str, LinearGaussian]) -> Cells:
        """The likelihoods under these regressions; no sd may be zero.

        Raises
        ------
        ModelError
            If the sd of a node is zero in some joint state.
        """
        if not self.names:
            return Cells(np.zeros(0), 0.0, np.zeros(0), np.zeros(0))
        self.check(regressions)
        arrays = self._arrays
        log = np.empty(len(arrays.row))
        means, roots = np.empty(int(arrays.mean_starts[-1])), np.empty(int(arrays.root_starts[-1]))
        condition_cases(arrays, self._flat(regressions), means, log, roots)
        log[np.isnan(log)] = -np.inf  # residuals too large for a float
        is_free = self._cell >= 0
        weights = self.weights[arrays.row[~is_free]]
        alone = float(weights[weights > 0] @ log[~is_free][weights > 0])
        if not self.n_cells:
            return Cells(np.zeros(0), alone, means, roots)
        total = np.bincount(self._cell[is_free], log[is_free], self.n_cells).astype(float)
        sizes = np.diff(self._blocks)
        largest = np.maximum.reduceat(total, self._blocks[:-1])
        total -= np.repeat(np.where(largest > -np.inf, largest, 0.0), sizes)
        each = self.weights[self._block_row]
        log_scale = alone + float(each[each > 0] @ largest[each > 0])
        values = np.where(total > -np.inf, np.exp(np.maximum(total, LEAST)), 0.0)
        return Cells(values, log_scale, means, roots)

    def moments(self, cells: Cells, weights: Floats) -> dict[str, Moments]:
        """Expected moments of all families, given the posterior weight of each cell."""
        chosen, roots = self._open, cells.roots.copy()
        square_roots(self._arrays, roots)
        starts, own = self._arrays.mean_starts[chosen], self._case_weights(weights)[chosen]
        return self._moments_by_node(
            self._gathered(chosen, starts, cells.means, own, covariances=roots)
        )

    def drawn(self, cells: Cells, counts: Floats, rng: np.random.Generator) -> dict[str, Moments]:
        """Moments with hidden values drawn, given how often each cell was drawn.

        Rows of whole weights are drawn as often as their weight says, all others once.
        """
        arrays, chosen = self._arrays, self._open
        weights = self._case_weights(counts)[chosen]
        if bool((self.weights == np.floor(self.weights)).all()):
            chosen = np.repeat(chosen, weights.astype(np.int64))
            weights = np.ones(len(chosen))
        sizes = np.diff(arrays.starts)[arrays.unit[chosen]]
        starts = np.append(0, np.cumsum(sizes))
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        values = cells.means[np.repeat(arrays.mean_starts[chosen], sizes) + within]
        noise = rng.standard_normal(len(values))
        add_draws(arrays, cells.roots, chosen, starts[:-1], noise, values)
        return self._moments_by_node(
            self._gathered(chosen, starts[:-1], values, weights, covariances=np.zeros(0))
        )

    def check(self, regressions: Mapping[str, LinearGaussian]) -> None:
        """Refuse regressions in which a sd is zero."""
        for name in self.names:
            sd = regressions[name].sd
            if not (sd > 0).all():
                where = where_words(regressions[name], int(sd.argmin()))
                raise ModelError(
                    f"the sd of {name!r}{where} is zero, so that its values have no density and "
                    "missing ones no exact statistics. Use an estimator with a prior, such as "
                    "cs.estimators.NormalInverseGamma(), or leave out what is constant or a "
                    "function of "
                    "others.",
                    variable=name,
                )

    def _case_weights(self, cells: Floats) -> Floats:
        own = self.weights[self._arrays.row]
        if not self.n_cells:
            return own
        return np.where(self._cell >= 0, cells[np.maximum(self._cell, 0)], own)

    def _flat(self, regressions: Mapping[str, LinearGaussian]) -> Regressions:
        """The regressions less the centers, in flat arrays."""
        intercepts, sds, slopes = [], [], []
        for j, (name, one) in enumerate(zip(self.names, self._families, strict=True)):
            local = regressions[name]
            moved = local.coefficients @ self.centers[list(one.parents)] - self.centers[j]
            intercepts.append((local.intercept + moved).ravel())
            sds.append(local.sd.ravel())
            slopes.append(local.coefficients.ravel())
        return Regressions(
            np.concatenate([np.zeros(0), *intercepts]),
            np.concatenate([np.zeros(0), *sds]),
            np.concatenate([np.zeros(0), *slopes]),
            np.cumsum([0, *map(len, sds)]),
            np.cumsum([0, *map(len, slopes)]),
            self._arcs(),
        )

    def _arcs(self) -> Arcs:
        return Arcs(
            np.array([p for one in self._families for p in one.parents], np.int64),
            np.cumsum([0, *(len(one.parents) for one in self._families)]),
        )

    def _gathered(
        self,
        chosen: Integers,
        starts: Integers,
        means: Floats,
        weights: Floats,
        *,
        covariances: Floats,
    ) -> tuple[Moments, ...]:
        """Moments of all families from some cases, values less their centers."""
        d = np.array([len(one.parents) + 1 for one in self._families], np.int64)
        n = np.array([one.n_states for one in self._families], np.int64)
        offsets = Offsets(*(np.append(0, np.cumsum(size)) for size in (n, n * d, n * d * d)))
        total, mean, products = (np.zeros(int(one[-1])) for one in offsets)
        add_moments(
            self._arrays,
            self._arcs(),
            np.ascontiguousarray(chosen),
            np.ascontiguousarray(starts),
            means,
            np.ascontiguousarray(weights),
            covariances,
            offsets,
            total,
            mean,
            products,
        )
        parts = (
            one.moments(
                total[offsets.groups[j] : offsets.groups[j + 1]],
                mean[offsets.means[j] : offsets.means[j + 1]],
                products[offsets.products[j] : offsets.products[j + 1]],
            )
            for j, one in enumerate(self._families)
        )
        return tuple(parts)

    def _moments_by_node(self, found: tuple[Moments, ...]) -> dict[str, Moments]:
        """The moments of each node with what rows know entirely, in units of the columns."""
        answer = {}
        for name, one, new, old in zip(
            self.names, self._families, found, self._counted, strict=True
        ):
            merged = old.merge(new)
            centers = self.centers[[*one.parents, self.names.index(name)]]
            # Means less the centers until here, so that merging costs no digits.
            mean = np.where((merged.weight > 0)[..., None], merged.mean + centers, 0.0)
            answer[name] = replace(merged, mean=mean)
        return answer


@dataclass(frozen=True, slots=True)
class _Family:
    """A continuous node: places of its continuous parents, and the axes of its moments.

    ``n_states`` are the joint states of its discrete parents in the network, the source among them.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    n_states: int
    given: tuple[Variable, ...]
    source: Variable | None

    def guard(self, memory_limit: float) -> None:
        """Refuse moments that are too large."""
        _check.memory(
            f"the moments of {_check.listed(self.names)} in {self.n_states:,} groups",
            24.0 * self.n_states * (len(self.names) + 1) ** 2,
            memory_limit,
            "Use fewer discrete parents, or raise memory_limit.",
        )

    def moments(self, weight: Floats, mean: Floats, scatter: Floats) -> Moments:
        """Moments from flat arrays; states of the source beyond its own are left out."""
        d, n_sources = len(self.names), 1 if self.source is None else self.source.n_states
        n_given = math.prod(v.n_states for v in self.given)
        weight = weight.reshape(-1, n_given)[:n_sources]
        return Moments(
            self.names,
            self.given,
            self.source,
            weight,
            mean.reshape(-1, n_given, d)[:n_sources],
            scatter.reshape(-1, n_given, d, d)[:n_sources],
            weight.sum(axis=1),
        )


def normal_order(net: Network) -> tuple[str, ...]:
    """The continuous nodes, parents before children."""
    return tuple(name for name in net.dag.topological_order() if name in net.regressions)


def where_words(local: LinearGaussian, state: int) -> str:
    """A joint state of a continuous node's discrete parents in words: `` given 'a' = 'x'``."""
    if not local.discrete:
        return ""
    codes = np.unravel_index(state, [v.n_states for v in local.discrete])
    pairs = zip(local.discrete, codes, strict=True)
    return " given " + ", ".join(f"{v.name!r} = {v.discrete_states[k]!r}" for v, k in pairs)


def _families(
    net: Network, names: Sequence[str], apart: Collection[str], source: Variable | None
) -> tuple[_Family, ...]:
    place = {name: j for j, name in enumerate(names)}
    found = []
    for name in names:
        local = net.regressions[name]
        continuous = [v.name for v in local.continuous]
        own = source if name in apart else None
        given = tuple(v for v in local.discrete if own is None or v.name != own.name)
        found.append(
            _Family(
                (*continuous, name), tuple(place[n] for n in continuous), local.sd.size, given, own
            )
        )
    return tuple(found)


def _centers_and_spreads(values: Floats) -> tuple[Floats, Floats]:
    """Mean and sd of what is known of each column; zero where nothing is."""
    centers, spreads = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for j, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        if len(known):
            centers[j] = known[0] + (known - known[0]).mean()
            spreads[j] = np.sqrt(((known - centers[j]) ** 2).mean())
    return centers, spreads
