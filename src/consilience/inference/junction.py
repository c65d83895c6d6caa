"""The junction tree of a network, compiled once: marginals and families in two passes.

The tree is over the discrete nodes. Its cliques hold the families of those that have tables, and
the *scopes* that it is made for: sets of nodes over which evidence will come as a likelihood, such
as the discrete parents of continuous nodes whose values are known.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from operator import mul
from typing import NamedTuple

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.inference.evidence import Evidence, Scope
from consilience.inference.tree_shape import TreeShape, n_states_of, scopes_of_tables, tree_shape
from consilience.kernels.propagation import collect, distribute, margins, residual_margins
from consilience.kernels.trees import Likely, Room, Sizes, TreeArrays
from consilience.network.network import MEMORY_LIMIT, Network

__all__ = ["Beliefs", "Entry", "JunctionTree", "compiled"]

MOST_TREES, MOST_KEPT = 8, 1 << 30
"""Trees kept with a network, and bytes of them if they are several."""


class Entry(NamedTuple):
    """Where likelihoods enter a tree, in the order of the cliques: ``order`` has their numbers."""

    order: Integers
    clique: Integers
    axes: Integers
    first: Integers

    def of(self, start: Integers, values: Floats, least: Floats) -> Likely:
        """Likelihoods that begin at ``start``, for the kernels; ``least`` bounds them from below,
        zeros apart.
        """
        return Likely(*self[1:], start[self.order], values, least[self.order])

    def starts(self, sizes: Sizes) -> Integers:
        """Where numbers for the states that are left start, in the order of the scopes, and end."""
        cells = np.empty(len(self.order), np.int64)
        cells[self.order] = np.multiply.reduceat(sizes[self.axes], self.first[:-1])
        return np.append(0, np.cumsum(cells))


class Fit(NamedTuple):
    """How a table enters the potential of its clique.

    The potential is ``start`` to ``stop`` of all, with the given sizes; the axes of the table go in
    this order, and its shape there has ones for the variables that it lacks.
    """

    start: int
    stop: int
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def multiply(self, potential: Floats, table: Floats) -> None:
        """Multiply the table into the potential of all cliques."""
        own = potential[self.start : self.stop].reshape(self.sizes)
        own *= table.transpose(self.order).reshape(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class JunctionTree:
    """Cliques of a network and their potentials; it holds no evidence and never changes.

    It knows the tables and not the network, which a kept tree must not keep alive.

    Attributes
    ----------
    n_states
        Numbers of states of the variables, which are numbered in this order (``index``).
    tables
        The variables of each table, its child last.
    home
        The clique in which each variable is eliminated.
    margin_start
        Where the states of each variable start in a list of the states of all.
    is_shared
        For each variable of each clique, one after the other, whether the parent has it too.
    below
        For each variable a child of its home whose separator has it, the shortest one, or -1.
    is_read
        For each clique whether marginals need its table, since no separator has a variable of it.
    fits
        How each table enters the potentials.
    """

    n_states: Mapping[str, int]
    tables: Mapping[str, Scope]
    shape: TreeShape
    arrays: TreeArrays
    index: Mapping[str, int]
    position: Mapping[str, int]
    home: Integers
    margin_start: Integers
    is_shared: Bools
    below: Integers
    is_read: Bools
    fits: Mapping[str, Fit]
    _spare: list[Floats] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        net: Network,
        *,
        last: Sequence[str] = (),
        scopes: Collection[Scope] = (),
        memory_limit: float = MEMORY_LIMIT,
    ) -> JunctionTree:
        """Triangulate the graph of tables and scopes, and multiply every table into a clique.

        Variables in ``last`` are eliminated last; a single one is in the clique of the highest
        number.
        """
        shape = tree_shape(net, last=last, scopes=scopes)
        numbers = {name: local.table for name, local in net.tables.items()}
        return cls.of_shape(
            shape, n_states_of(net), scopes_of_tables(net), numbers, memory_limit=memory_limit
        )

    @classmethod
    def of_shape(
        cls,
        shape: TreeShape,
        n_states: Mapping[str, int],
        tables: Mapping[str, Scope],
        numbers: Mapping[str, Floats],
        *,
        memory_limit: float,
    ) -> JunctionTree:
        """The tree of this shape for tables over some variables each."""
        shape.cost.check(memory_limit)
        index = {name: i for i, name in enumerate(n_states)}
        position = {name: i for i, name in enumerate(shape.order)}
        sizes = [tuple(n_states[name] for name in names) for names in shape.held]
        fits = _fits(tables, shape, sizes)
        potential = _potentials(fits, numbers, sum(map(math.prod, sizes)))
        arrays = _arrays(potential, n_states, shape, sizes)
        margin_start = np.array([0, *accumulate(n_states.values())], np.int64)
        n_axes, middle = np.diff(arrays.start), arrays.start[:-1] + arrays.n_shared
        is_shared = np.arange(len(arrays.axes)) < np.repeat(middle, n_axes)
        return cls(
            n_states,
            tables,
            shape,
            arrays,
            index,
            position,
            np.array([shape.home[name] for name in n_states], np.int64),
            margin_start,
            is_shared,
            np.array([shape.below[name] for name in n_states], np.int64),
            np.array(shape.is_read, bool),
            fits,
        )

    def clique_of(self, names: Sequence[str]) -> int | None:
        """A clique that holds all these variables, the last one if there are none; or None."""
        if not names:
            return len(self.shape.cliques) - 1
        clique = int(self.home[self.index[min(names, key=self.position.__getitem__)]])
        return clique if set(names) <= set(self.shape.cliques[clique]) else None

    def potential_of(self, clique: int) -> Floats:
        """The potential of a clique, an axis for each of its variables, of length one for those
        that it lacks.
        """
        start, stop = self.arrays.potential_start[clique : clique + 2]
        members, held = self.shape.cliques[clique], self.shape.held[clique]
        sizes = [self.n_states[name] if name in held else 1 for name in members]
        return self.arrays.potential[start:stop].reshape(sizes)

    def entry(self, scopes: Sequence[Scope]) -> Entry:
        """Where likelihoods over sets of variables, which cliques hold, enter."""
        cliques = [self.clique_of(scope) for scope in scopes]
        if None in cliques:
            raise ValueError(f"no clique holds {scopes[cliques.index(None)]}.")
        clique = np.array(cliques, np.int64)
        order = np.argsort(clique, kind="stable")
        sorted_scopes = [scopes[k] for k in order.tolist()]
        axes = [self.index[name] for scope in sorted_scopes for name in scope]
        first = [0, *accumulate(map(len, sorted_scopes))]
        return Entry(order, clique[order], np.array(axes, np.int64), np.array(first, np.int64))

    def with_tables(self, tables: Mapping[str, Floats]) -> JunctionTree:
        """The same tree with other tables, which need not be normalised."""
        start = self.arrays.potential_start
        potential = _potentials(self.fits, tables, start[-1])
        arrays = self.arrays._replace(
            potential=potential,
            least=_least_positive(potential, start),
            has_zeros=_has_zeros(potential, start),
        )
        return replace(self, arrays=arrays, _spare=[])

    @contextmanager
    def propagated(self, evidence: Evidence) -> Iterator[Beliefs]:
        """Joint posteriors of all cliques under the evidence, and its log probability.

        The tables are lent: they serve the next propagation when the block is left.
        """
        run, separators = _collect(self, evidence), np.zeros(0)
        if run.log_evidence[0] > -np.inf:
            separators = np.empty_like(run.messages)
            distribute(
                self.arrays,
                run.sizes,
                run.states,
                1,
                run.table_start,
                run.tables,
                run.message_start,
                run.messages,
                run.scales,
                separators,
                run.room,
            )
        log_evidence = float(run.log_evidence[0]) + evidence.log_scale
        yield Beliefs(
            self,
            evidence,
            run.sizes,
            run.states,
            run.table_start,
            run.tables,
            run.message_start,
            separators,
            log_evidence,
        )
        self._give_back(run.tables)

    def log_evidence(self, evidence: Evidence) -> float:
        """Log probability of the evidence: the first pass alone."""
        run = _collect(self, evidence)
        self._give_back(run.tables)
        return float(run.log_evidence[0]) + evidence.log_scale

    def _give_back(self, tables: Floats) -> None:
        if not self._spare:
            self._spare.append(tables)

    def room(self, n_rows: int) -> Room:
        """Working memory of the kernels for so many rows."""
        n_cliques, longest = len(self.shape.cliques), max(map(len, self.shape.cliques), default=0)
        return Room(
            np.empty((4, longest + 2), np.uint64),
            np.zeros(len(self.index), np.uint64),
            np.empty(n_rows),
            np.empty(n_rows),
            np.empty(n_cliques),
        )

    def starts(self, sizes: Sizes) -> tuple[Integers, Integers]:
        """Where the table and the message of each clique start, given the states that are left."""
        left, first = sizes[self.arrays.axes].astype(np.int64), self.arrays.start[:-1]
        cells = np.multiply.reduceat(left, first)
        shared = np.multiply.reduceat(np.where(self.is_shared, left, 1), first)
        return np.append(0, np.cumsum(cells)), np.append(0, np.cumsum(shared))

    def lend(self, n_cells: int) -> Floats:
        """Memory for tables: what an earlier propagation gave back, if there is enough of it."""
        try:
            spare = self._spare.pop()
        except IndexError:
            return np.empty(n_cells)
        return spare if len(spare) >= n_cells else np.empty(n_cells)


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """Joint posterior of every clique under one body of evidence, and of every separator."""

    tree: JunctionTree
    evidence: Evidence
    sizes: Sizes
    states: Sizes
    table_start: Integers
    tables: Floats
    message_start: Integers
    separators: Floats
    log_evidence: float

    def marginals(self) -> dict[str, Floats]:
        """The posterior of every variable; one that is known has all its weight on one state.

        The arrays cannot be written.
        """
        tree = self.tree
        flat = np.zeros(tree.margin_start[-1])
        start = tree.arrays.start
        sizes = self.sizes[tree.arrays.axes].astype(np.int64)
        own = np.multiply.reduceat(np.where(tree.is_shared, 1, sizes), start[:-1])[tree.is_read]
        residual_margins(
            tree.arrays,
            self.sizes,
            self.table_start,
            self.tables,
            self.message_start,
            self.separators,
            tree.below,
            tree.margin_start,
            np.empty(own.max(initial=0)),
            flat,
        )
        for name, code in self.evidence.known.items():
            flat[tree.margin_start[tree.index[name]] + code] = 1.0
        flat.flags.writeable = False
        bounds = pairwise(tree.margin_start.tolist())
        return {name: flat[a:b] for name, (a, b) in zip(tree.index, bounds, strict=True)}

    def joint(self, clique: int, names: Sequence[str]) -> Floats:
        """Posterior of some variables of one clique, in their order; known ones have all states."""
        tree = self.tree
        variables = np.array([tree.index[name] for name in names], np.int64)
        free = tuple(int(self.sizes[v]) for v in variables)
        out = np.zeros(math.prod(free))
        margins(
            tree.arrays,
            self.sizes,
            self.states,
            1,
            np.array([clique]),
            variables,
            np.array([0, len(names)]),
            self.table_start,
            self.tables,
            np.array([0]),
            np.array([len(out)]),
            out,
            tree.room(1),
        )
        shape = tuple(int(tree.arrays.n_states[v]) for v in variables)
        full = np.zeros(shape)
        place = tuple(
            slice(None) if name not in self.evidence.known else slice(code, code + 1)
            for name in names
            for code in [self.evidence.known.get(name, 0)]
        )
        full[place] = out.reshape(free)
        return full

    def family(self, name: str) -> Floats:
        """Joint posterior of a node's parents and itself, in the shape of its table."""
        return self.joint(self.tree.shape.family[name], self.tree.tables[name])


_Trees = dict[tuple[frozenset[Scope], tuple[str, ...]], JunctionTree]
_COMPILED: weakref.WeakKeyDictionary[Network, _Trees] = weakref.WeakKeyDictionary()


def compiled(
    net: Network,
    scopes: Collection[Scope] = (),
    *,
    last: Sequence[str] = (),
    memory_limit: float = MEMORY_LIMIT,
) -> JunctionTree:
    """The junction tree of a network, made at the first call and kept while the network lives.

    There is one for each set of scopes of several variables and for what is eliminated last; those
    asked for most recently are kept.
    """
    wanted = frozenset(scope for scope in scopes if len(scope) > 1), tuple(last)
    kept = _COMPILED.setdefault(net, {})
    tree = kept.pop(wanted, None)
    if tree is None:
        tree = JunctionTree.of(net, last=last, scopes=wanted[0], memory_limit=memory_limit)
        _make_room(kept, tree)
    kept[wanted] = tree
    tree.shape.cost.check(memory_limit)
    return tree


def _make_room(kept: _Trees, tree: JunctionTree) -> None:
    """Drop the trees that were not asked for longest until there is room for another one."""
    sizes = [one.arrays.potential.nbytes for one in (*kept.values(), tree)]
    for name, _ in list(zip(kept, sizes, strict=False)):
        if len(sizes) <= MOST_TREES and sum(sizes) <= MOST_KEPT:
            break
        kept.pop(name, None)
        sizes.pop(0)


class _Run(NamedTuple):
    sizes: Sizes
    states: Sizes
    table_start: Integers
    tables: Floats
    message_start: Integers
    messages: Floats
    scales: Floats
    log_evidence: Floats
    room: Room


def _collect(tree: JunctionTree, evidence: Evidence) -> _Run:
    arrays = tree.arrays
    sizes, states = arrays.n_states.copy(), np.zeros_like(arrays.n_states)
    for name, code in evidence.known.items():
        sizes[tree.index[name]], states[tree.index[name]] = 1, code
    scopes = (*((name,) for name in evidence.likelihoods), *evidence.sets)
    arrays_of = (*evidence.likelihoods.values(), *evidence.sets.values())
    likely = tree.entry(scopes).of(
        np.array([0, *accumulate(one.size for one in arrays_of)], np.int64),
        np.concatenate([*(one.ravel() for one in arrays_of), np.zeros(0)]),
        np.array([np.min(one, where=one > 0.0, initial=1.0) for one in arrays_of], float),
    )
    table_start, message_start = tree.starts(sizes)
    run = _Run(
        sizes,
        states,
        table_start,
        tree.lend(table_start[-1]),
        message_start,
        np.empty(message_start[-1]),
        np.empty((len(arrays.parent), 1)),
        np.empty(1),
        tree.room(1),
    )
    collect(arrays, sizes, states, likely, 1, *run[2:])
    return run


def _arrays(
    potential: Floats,
    n_states: Mapping[str, int],
    shape: TreeShape,
    sizes: Sequence[tuple[int, ...]],
) -> TreeArrays:
    index = {name: i for i, name in enumerate(n_states)}
    start = np.array([0, *accumulate(map(len, shape.cliques))], np.int64)
    axes = np.array([index[name] for clique in shape.cliques for name in clique], np.int64)
    potential_start = np.array(_starts(sizes), np.int64)
    return TreeArrays(
        np.array(list(n_states.values()), np.uint64),
        start,
        axes,
        np.array(shape.n_shared, np.int64),
        np.array(shape.parent, np.int64),
        _strides(shape, sizes),
        potential,
        _least_positive(potential, potential_start),
        _has_zeros(potential, potential_start),
        potential_start,
        *_child_lists(shape.parent),
    )


def _strides(shape: TreeShape, sizes: Sequence[tuple[int, ...]]) -> Sizes:
    """Strides of the variables of all cliques in their potentials; zero if these lack them."""
    strides: list[int] = []
    for clique, names, own in zip(shape.cliques, shape.held, sizes, strict=True):
        steps = accumulate(reversed(own), mul, initial=1)  # the last one is the length
        of = dict(zip(reversed(names), steps, strict=False))
        strides += [of.get(name, 0) for name in clique]
    return np.array(strides, np.uint64)


def _least_positive(numbers: Floats, start: Integers) -> Floats:
    """The least positive number of each part, or one if that is less."""
    return np.minimum.reduceat(np.where(numbers > 0.0, numbers, 1.0), start[:-1])


def _has_zeros(numbers: Floats, start: Integers) -> Bools:
    """Whether each part has a zero."""
    return np.logical_or.reduceat(numbers == 0.0, start[:-1])


def _child_lists(parent: Sequence[int]) -> tuple[Integers, Integers]:
    """The first child of each clique and the next sibling of each child, -1 where there is none."""
    first, following = np.full(len(parent), -1), np.full(len(parent), -1)
    for c in reversed(range(len(parent))):
        if parent[c] >= 0:
            following[c] = first[parent[c]]
            first[parent[c]] = c
    return first, following


def _starts(sizes: Sequence[tuple[int, ...]]) -> list[int]:
    """Where the potential of each clique starts, and where the last one ends."""
    return [0, *accumulate(map(math.prod, sizes))]


def _fits(
    scopes: Mapping[str, Scope], shape: TreeShape, sizes: Sequence[tuple[int, ...]]
) -> dict[str, Fit]:
    """How each table enters the potential of its clique, whose variables have these sizes."""
    start, found = _starts(sizes), {}
    for name, axes in scopes.items():
        clique = shape.family[name]
        own, places = sizes[clique], [shape.held[clique].index(axis) for axis in axes]
        found[name] = Fit(
            start[clique],
            start[clique + 1],
            own,
            tuple(sorted(range(len(axes)), key=places.__getitem__)),
            tuple([r if i in places else 1 for i, r in enumerate(own)]),
        )
    return found


def _potentials(fits: Mapping[str, Fit], tables: Mapping[str, Floats], n_cells: int) -> Floats:
    """Products of the tables that each clique holds, over their variables, one after the other."""
    flat = np.ones(n_cells)
    for name, fit in fits.items():
        fit.multiply(flat, tables[name])
    return flat
