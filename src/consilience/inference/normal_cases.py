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
import numpy.typing as npt

from consilience import _check
from consilience._typing import Bools, Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions import LinearGaussian
from consilience.errors import ModelError
from consilience.inference.evidence import Scope
from consilience.inference.known_rows import alike
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

Words = npt.NDArray[np.int32]

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
        builder = _Builder(net, names, codes, len(values), memory_limit=memory_limit)
        parents = [one.parents for one in families]
        pieces = _pieces(parents, ~np.isnan(values), keeps_barren=keeps_barren)
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


Piece = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes, parents first, and those of them that are hidden."""


def _pieces(
    parents: Sequence[Sequence[int]], is_known: Bools, *, keeps_barren: bool
) -> dict[Piece, Integers]:
    """The pieces of all rows, each with the rows that have it."""
    found: dict[Piece, list[Integers]] = {}
    if not is_known.size:
        return {}
    for where in alike(is_known):
        known = is_known[where[0]].tolist()
        matters = [True] * len(known) if keeps_barren else _lead_to_known(parents, known)
        for piece in _pieces_of(parents, known, matters):
            found.setdefault(piece, []).append(where)
    return {piece: np.sort(np.concatenate(rows)) for piece, rows in found.items()}


def _pieces_of(
    parents: Sequence[Sequence[int]], is_known: Sequence[bool], matters: Sequence[bool]
) -> list[Piece]:
    """The pieces of a row that knows these nodes; nodes stand after their parents."""
    group = list(range(len(parents)))

    def root(j: int) -> int:
        while group[j] != j:
            group[j] = j = group[group[j]]
        return j

    for j, above in enumerate(parents):
        for p in above:
            if matters[j] and not is_known[p]:
                group[root(j)] = root(p)
    members: dict[int, list[int]] = {}
    for j in range(len(parents)):
        if matters[j]:
            members.setdefault(root(j), []).append(j)
    return [(tuple(one), tuple(j for j in one if not is_known[j])) for one in members.values()]


def _lead_to_known(parents: Sequence[Sequence[int]], is_known: Sequence[bool]) -> list[bool]:
    """Which nodes are known, or have a descendant that is."""
    matters = list(is_known)
    for j in range(len(parents) - 1, -1, -1):
        if matters[j]:
            for p in parents[j]:
                matters[p] = True
    return matters


class _Builder:
    """Collects cases, piece after piece."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        codes: Mapping[str, Words],
        n_rows: int,
        *,
        memory_limit: float,
    ) -> None:
        self._net, self._names, self._codes = net, names, codes
        self._memory_limit = memory_limit
        self._order = {name: i for i, name in enumerate(codes)}
        self.scopes: list[Scope] = []
        self.first_cell = np.full((n_rows, 0), -1)
        self.n_cells = 0
        self._blocks: list[tuple[Integers, int]] = []  # rows and cells of each
        self._cases: list[tuple[Integers, Integers, Integers, int]] = []  # rows, units, cells, m
        self._units: list[tuple[Integers, Integers, Integers, Integers]] = []
        self._n_units, self._n_bytes = 0, 0.0

    def add(self, members: tuple[int, ...], hidden: tuple[int, ...], rows: Integers) -> None:
        """The cases of one piece in all rows that have it."""
        local = [self._net.regressions[self._names[j]] for j in members]
        discrete = {v.name for one in local for v in one.discrete}
        scope = sorted(discrete, key=self._order.__getitem__)
        is_known = np.ones((len(rows), len(scope)), bool)
        for i, name in enumerate(scope):
            is_known[:, i] = self._codes[name][rows] >= 0
        for places in alike(is_known):
            pattern = is_known[places[0]].tolist()
            free = tuple(n for n, known in zip(scope, pattern, strict=True) if not known)
            self._add_alike(members, hidden, local, scope, free=free, rows=rows[places])

    def arrays(self, values: Floats) -> tuple[NormalArrays, Integers]:
        """Everything in flat arrays, and the cell of each case."""
        row, unit, cell = (
            np.concatenate([np.zeros(0, np.int64), *(one[k] for one in self._cases)])
            for k in range(3)
        )
        n_hidden = np.concatenate(
            [np.zeros(0, np.int64), *(np.full(len(one[0]), one[3]) for one in self._cases)]
        )
        members, codes, hidden, sizes = (
            [one[k] for one in self._units] for k in range(4)
        )  # sizes: of members and hidden nodes of each unit
        n_members = np.concatenate([np.zeros((0, 2), np.int64), *sizes])
        flat = [np.concatenate([np.zeros(0, np.int64), *one]) for one in (members, codes, hidden)]
        order = np.argsort(unit, kind="stable")
        arrays = NormalArrays(
            np.ascontiguousarray(values),
            row,
            unit,
            np.append(0, np.cumsum(n_hidden)),
            order,
            np.append(0, np.cumsum(np.bincount(unit, minlength=self._n_units))),
            flat[0],
            np.append(0, np.cumsum(n_members[:, 0])),
            flat[1],
            flat[2],
            np.append(0, np.cumsum(n_members[:, 1])),
            np.append(0, np.cumsum(n_members[:, 1] ** 2)),
        )
        return arrays, cell

    def blocks(self) -> tuple[Integers, Integers]:
        """Where the cells of each scope of each row start, and their rows."""
        rows = np.concatenate([np.zeros(0, np.int64), *(one for one, _ in self._blocks)])
        sizes = np.concatenate(
            [np.zeros(0, np.int64), *(np.full(len(one), n) for one, n in self._blocks)]
        )
        return np.append(0, np.cumsum(sizes)), rows

    def _add_alike(
        self,
        members: tuple[int, ...],
        hidden: tuple[int, ...],
        local: Sequence[LinearGaussian],
        scope: Sequence[str],
        *,
        free: Scope,
        rows: Integers,
    ) -> None:
        """Cases of rows in which the same discrete parents are missing."""
        n_states = {name: self._net.variables[name].n_states for name in scope}
        sizes = [n_states[name] for name in free]
        n_free = math.prod(sizes)
        self._guard(len(rows) * float(n_free), len(members), scope)
        states = dict(zip(free, np.indices(sizes).reshape(len(free), n_free), strict=True))
        codes = {
            name: np.broadcast_to(states[name], (len(rows), n_free))
            if name in states
            else np.broadcast_to(self._codes[name][rows, None], (len(rows), n_free))
            for name in scope
        }
        joint = np.zeros((len(rows), n_free), np.int64)
        for name in scope:
            joint = joint * n_states[name] + codes[name]
        _, first, unit = np.unique(joint.ravel(), return_index=True, return_inverse=True)
        parts = {name: codes[name].ravel()[first].astype(np.int64) for name in scope}
        each = np.stack([_joint(one, parts, len(first)) for one in local], axis=1)
        n = len(first)
        self._units.append(
            (
                np.tile(np.array(members, np.int64), n),
                each.ravel(),
                np.tile(np.array(hidden[::-1], np.int64), n),
                np.tile(np.array([[len(members), len(hidden)]], np.int64), (n, 1)),
            )
        )
        cell = self._cells(rows, free, n_free)
        case = np.repeat(rows, n_free).astype(np.int64), self._n_units + unit.ravel()
        self._cases.append((*case, cell, len(hidden)))
        self._n_units += n

    def _cells(self, rows: Integers, free: Scope, n_free: int) -> Integers:
        """The cells of these rows and a scope, new ones if it has none; -1 if nothing is free."""
        if not free:
            return np.full(len(rows), -1)
        if free not in self.scopes:
            self.scopes.append(free)
            column = np.full((len(self.first_cell), 1), -1)
            self.first_cell = np.concatenate([self.first_cell, column], axis=1)
        first = self.first_cell[:, self.scopes.index(free)]
        new = rows[first[rows] < 0]
        first[new] = self.n_cells + n_free * np.arange(len(new))
        self.n_cells += n_free * len(new)
        self._blocks.append((new, n_free))
        return (first[rows][:, None] + np.arange(n_free)).ravel()

    def _guard(self, n_cases: float, width: int, scope: Sequence[str]) -> None:
        self._n_bytes += n_cases * 8.0 * (8 + width)
        _check.memory(
            f"the joint states of missing {_check.listed(scope)} above continuous nodes",
            self._n_bytes,
            self._memory_limit,
            "Use fewer rows or discrete parents, or raise memory_limit.",
        )


def _joint(local: LinearGaussian, codes: Mapping[str, Integers], n: int) -> Integers:
    """The joint state of a node's discrete parents, the last varying fastest."""
    code = np.zeros(n, np.int64)
    for variable in local.discrete:
        code = code * variable.n_states + codes[variable.name]
    return code
