r"""Rows whose missing values hang together in large sets: one junction tree, kept for many rounds.

A node x with one parent p and no children needs no clique. Its values say something about p alone,

.. math:: \lambda_i(p) = P(x_i \mid p) \qquad \text{(one if it is missing)},

and in return its expected counts need the posterior of p alone. In a network of latent classes
almost all nodes are such leaves. What is left is compiled once; each round only puts in the numbers
of its tables, and the likelihoods of continuous nodes over their missing parents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Floats, Integers
from consilience.inference.case_graph import CaseGraph
from consilience.inference.evidence import Scope
from consilience.inference.groups import Batch
from consilience.inference.junction import JunctionTree
from consilience.inference.layout import Layout
from consilience.inference.normal_cases import NormalCases
from consilience.inference.traceback import draw_rows
from consilience.inference.whole_sums import WholeSums
from consilience.kernels.cases import hide_barren, leaf_counts, leaf_likelihoods
from consilience.network.network import Network

__all__ = ["LargeCases", "barren_nodes"]


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """The rows that have a likelihood over a scope, and where their cells are.

    ``cells`` has shape (states..., rows).
    """

    rows: Integers
    cells: Integers


@dataclass(frozen=True, eq=False)
class LargeCases:
    """Rows for the junction tree: their weights and codes, shape (rows, discrete nodes).

    ``leaves`` are the nodes that are taken out of the tree, by their only parent; ``batch`` has the
    rows for the tree of the others, whose tables have these ``cells`` among all, and ``sets`` where
    their likelihoods are.
    """

    net: Network
    weights: Integers
    codes: npt.NDArray[np.int32]
    is_barren: Bools
    leaves: Mapping[str, tuple[str, ...]]
    batch: Batch
    cells: Integers
    sets: Mapping[Scope, _Likelihood]
    memory_limit: float

    @classmethod
    def of(
        cls,
        net: Network,
        codes: npt.NDArray[np.int32],
        weights: Integers,
        normal: NormalCases,
        *,
        places: Integers,
        keeps_barren: bool,
        memory_limit: float,
    ) -> LargeCases:
        """Compile the tree for rows of codes; ``places`` are theirs among all rows."""
        leaves = {} if keeps_barren else _leaves(net)  # a missing leaf has no counts
        taken = {name for names in leaves.values() for name in names}
        core = Network.of([local for name, local in net.tables.items() if name not in taken])
        sets = _likelihoods_of(net, normal, places)
        tree = JunctionTree.of(core, scopes=tuple(sets), memory_limit=memory_limit)
        batch = Batch(tree, _observed(net, codes), len(codes))
        is_barren = np.zeros(codes.shape, bool)
        if not keeps_barren:
            is_barren = barren_nodes(net, codes, normal, places)
        cells = Layout.of(net).cells(tree.tables)
        return cls(net, weights, codes, is_barren, leaves, batch, cells, sets, memory_limit)

    def expect(self, layout: Layout, numbers: Floats, sums: WholeSums) -> WholeSums:
        """The sums with the expected counts of these rows, and their log-likelihood.

        Counts and numbers are of the cells of tables and then of those of likelihoods.
        """
        n_cells = int(layout.first[-1])
        tables, own = layout.split(numbers[:n_cells]), numbers[n_cells:]
        likelihoods, log_scale = self._of_leaves(tables)
        for scope, one in self._of_sets(own).items():
            likelihoods[scope] = likelihoods[scope] * one if scope in likelihoods else one
        beliefs = {scope: np.empty_like(one) for scope, one in likelihoods.items()}
        batch = self.batch.with_tables(tables, likelihoods)
        found, log_evidence = batch.expected_sums(
            self.weights, sums.dot, beliefs, self._left_out(layout.normalised(numbers[:n_cells]))
        )
        sums.counts[:, self.cells] += found
        each = [layout.split(digits[:n_cells]) for digits in sums.counts]
        for parent, names in self.leaves.items():
            belief = sums.times(beliefs[(parent,)], self.weights)
            for name in names:
                for digits, counts in zip(belief, each, strict=True):
                    leaf_counts(self._column(name), digits, counts[name])
        for scope, has in self.sets.items():
            share = sums.times(beliefs[scope][..., has.rows], self.weights[has.rows])
            sums.counts[:, n_cells + has.cells.ravel()] += share.reshape(len(share), -1)
        return sums.with_logs(log_evidence + log_scale, self.weights)

    def draw(
        self, layout: Layout, numbers: Floats, counts: Floats, rng: np.random.Generator
    ) -> None:
        """Add the counts of one random completion of each of these rows to a vector."""
        n_cells = int(layout.first[-1])
        whole = self.weights
        each = np.repeat(np.arange(len(whole)), whole)
        likelihoods = self._of_sets(numbers[n_cells:])
        batch = self._whole.with_tables(layout.split(numbers[:n_cells]), likelihoods)
        codes = draw_rows(batch, each, rng)
        index = {name: v for v, name in enumerate(layout.shapes)}
        for start, (name, shape) in zip(layout.first, layout.shapes.items(), strict=False):
            axes = (*self.net.tables[name].parents, name)
            counted = codes[~self.is_barren[each, index[name]]]
            place = np.ravel_multi_index([counted[:, index[n]] for n in axes], shape)
            size = int(np.prod(shape))
            counts[start : start + size] += np.bincount(place, minlength=size)
        for scope, one in self.sets.items():
            where = np.full(len(whole), -1)
            where[one.rows] = np.arange(len(one.rows))
            drawn = np.flatnonzero(where[each] >= 0)
            at = tuple(codes[drawn, index[name]] for name in scope)
            np.add.at(counts, n_cells + one.cells[(*at, where[each[drawn]])], 1.0)

    @cached_property
    def _whole(self) -> Batch:
        tables = Network.of(list(self.net.tables.values()))
        tree = JunctionTree.of(tables, scopes=tuple(self.sets), memory_limit=self.memory_limit)
        return Batch(tree, _observed(self.net, self.codes), len(self.codes))

    def _of_sets(self, cells: Floats) -> dict[Scope, Floats]:
        """The likelihoods of continuous nodes, shape (states..., rows); one in other rows."""
        found = {}
        for scope, one in self.sets.items():
            found[scope] = np.ones((*one.cells.shape[:-1], len(self.codes)))
            found[scope][..., one.rows] = cells[one.cells]
        return found

    def _left_out(self, normalised: Collection[str]) -> dict[str, Bools]:
        """For each family of the tree the rows in which its child is barren.

        Tables that are not normalised (those of variational Bayes) must count there: their sums are
        part of what the tree has multiplied.
        """
        return {name: rows for name, rows in self._barren_in.items() if name in normalised}

    @cached_property
    def _barren_in(self) -> dict[str, Bools]:
        return {
            name: self.is_barren[:, v]
            for v, name in enumerate(self.net.tables)
            if name in self.batch.tree.tables and self.is_barren[:, v].any()
        }

    def _of_leaves(self, tables: Mapping[str, Floats]) -> tuple[dict[Scope, Floats], Floats]:
        """What the leaves say about each parent, shape (states, rows), and the log of its unit."""
        log_scale = np.zeros(len(self.codes))
        answer: dict[Scope, Floats] = {}
        for parent, names in self.leaves.items():
            likelihood = np.ones((self.net.variables[parent].n_states, len(self.codes)))
            for name in names:
                leaf_likelihoods(self._column(name), tables[name], likelihood, log_scale)
            answer[(parent,)] = likelihood
        return answer, log_scale

    def _column(self, name: str) -> npt.NDArray[np.int32]:
        return np.ascontiguousarray(self.codes[:, list(self.net.tables).index(name)])


def _leaves(net: Network) -> dict[str, tuple[str, ...]]:
    """Nodes with one parent and no children, by that parent."""
    found: dict[str, list[str]] = {}
    for name, local in net.tables.items():
        if len(local.parents) == 1 and not net.dag.children(name):
            found.setdefault(local.parents[0], []).append(name)
    return {parent: tuple(names) for parent, names in found.items()}


def _likelihoods_of(
    net: Network, normal: NormalCases, places: Integers
) -> dict[Scope, _Likelihood]:
    """For each scope the rows, among these places, that have a likelihood over it."""
    found = {}
    for s, scope in enumerate(normal.scopes):
        first = normal.first_cell[places, s]
        rows = np.flatnonzero(first >= 0)
        if rows.size:
            sizes = [net.variables[name].n_states for name in scope]
            inside = np.arange(int(np.prod(sizes))).reshape(*sizes, 1)
            found[scope] = _Likelihood(rows, inside + first[rows])
    return found


def barren_nodes(
    net: Network, codes: npt.NDArray[np.int32], normal: NormalCases, places: Integers
) -> Bools:
    """Where neither the value of a node nor that of any descendant is known."""
    has = normal.first_cell[places] >= 0
    marked = np.concatenate([codes, np.where(has, 0, -1)], axis=1).astype(np.int32)
    hide_barren(marked, *CaseGraph.of(net, normal.scopes).children)
    return np.asarray(marked[:, : codes.shape[1]] == -2)


def _observed(net: Network, codes: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[np.int32]]:
    return {name: codes[:, v] for v, name in enumerate(net.tables) if (codes[:, v] >= 0).any()}
