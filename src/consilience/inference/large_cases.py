r"""Rows whose missing values hang together in large sets: one junction tree, kept for many rounds.

A node x with one parent p and no children needs no clique. Its values say something about p alone,

.. math:: \lambda_i(p) = P(x_i \mid p) \qquad \text{(one if it is missing)},

and in return its expected counts need the posterior of p alone. In a network of latent classes
almost all nodes are such leaves. What is left is compiled once; each round only puts in the numbers
of its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Floats, Integers
from consilience.inference.evidence import Scope
from consilience.inference.groups import Batch
from consilience.inference.junction import JunctionTree
from consilience.inference.layout import Layout
from consilience.inference.traceback import draw_rows
from consilience.kernels.cases import hide_barren, leaf_counts, leaf_likelihoods
from consilience.network.network import Network

__all__ = ["LargeCases", "number_lists"]

NORMALISED = 1e-9
"""Rows of a table whose sums differ from one by no more are normalised."""


@dataclass(frozen=True, eq=False)
class LargeCases:
    """Rows for the junction tree: their places among all rows, weights and codes.

    ``codes`` has shape (rows, nodes). ``leaves`` are the nodes that are taken out of the tree, by
    their only parent; ``batch`` has the rows for the tree of the others.
    """

    net: Network
    rows: Integers
    weights: Floats
    codes: npt.NDArray[np.int32]
    is_barren: Bools
    leaves: Mapping[str, tuple[str, ...]]
    batch: Batch
    memory_limit: float

    @classmethod
    def of(
        cls,
        net: Network,
        rows: Integers,
        codes: npt.NDArray[np.int32],
        weights: Floats,
        memory_limit: float,
    ) -> LargeCases:
        """Compile the tree for rows of codes in the order of the network's nodes."""
        leaves = _leaves(net)
        taken = {name for names in leaves.values() for name in names}
        core = Network.of([local for name, local in net.tables.items() if name not in taken])
        tree = JunctionTree.of(core, memory_limit=memory_limit)
        batch = Batch(tree, _observed(net, codes), len(codes))
        return cls(net, rows, weights, codes, _barren(net, codes), leaves, batch, memory_limit)

    def expect(self, layout: Layout, theta: Floats, counts: Floats) -> float:
        """Add the expected counts of these rows to a vector; their log-likelihood."""
        tables = layout.split(theta)
        likelihoods, log_scale = self._likelihoods(tables)
        beliefs = {scope: np.empty_like(one) for scope, one in likelihoods.items()}
        batch = self.batch.with_tables(tables, likelihoods)
        found, log_evidence = batch.expected_counts(self.weights, beliefs, self._left_out(tables))
        for parent, names in self.leaves.items():
            belief = beliefs[(parent,)] * self.weights
            for name in names:
                found[name] = np.zeros(layout.shapes[name])
                leaf_counts(self._column(name), belief, found[name])
        counts += layout.flatten(found)
        has_weight = self.weights > 0
        return float(self.weights[has_weight] @ (log_evidence + log_scale)[has_weight])

    def draw(self, layout: Layout, theta: Floats, counts: Floats, rng: np.random.Generator) -> None:
        """Add the counts of one random completion of each of these rows to a vector."""
        whole = self.weights.astype(np.int64)
        each = np.repeat(np.arange(len(whole)), whole)
        codes = draw_rows(self.at(layout.split(theta)), each, rng)
        index = {name: v for v, name in enumerate(self.net.variables)}
        for start, (name, shape) in zip(layout.first, layout.shapes.items(), strict=False):
            axes = (*self.net.tables[name].parents, name)
            counted = codes[~self.is_barren[each, index[name]]]
            place = np.ravel_multi_index([counted[:, index[n]] for n in axes], shape)
            n_cells = int(np.prod(shape))
            counts[start : start + n_cells] += np.bincount(place, minlength=n_cells)

    def at(self, tables: Mapping[str, Floats]) -> Batch:
        """The rows in the tree of the whole network, leaves included, under these tables."""
        return self._whole.with_tables(tables)

    @cached_property
    def _whole(self) -> Batch:
        tree = JunctionTree.of(self.net, memory_limit=self.memory_limit)
        return Batch(tree, _observed(self.net, self.codes), len(self.codes))

    def _left_out(self, tables: Mapping[str, Floats]) -> dict[str, Bools]:
        """For each family of the tree the rows in which its child is barren.

        Tables that are not normalised (those of variational Bayes) must count there: their sums are
        part of what the tree has multiplied.
        """
        return {
            name: self.is_barren[:, v]
            for v, name in enumerate(self.net.variables)
            if name in self.batch.tree.tables
            and self.is_barren[:, v].any()
            and np.allclose(tables[name].sum(axis=-1), 1.0, rtol=0, atol=NORMALISED)
        }

    def _likelihoods(self, tables: Mapping[str, Floats]) -> tuple[dict[Scope, Floats], Floats]:
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
        return np.ascontiguousarray(self.codes[:, list(self.net.variables).index(name)])


def _leaves(net: Network) -> dict[str, tuple[str, ...]]:
    """Nodes with one parent and no children, by that parent."""
    found: dict[str, list[str]] = {}
    for name, local in net.tables.items():
        if len(local.parents) == 1 and not net.dag.children(name):
            found.setdefault(local.parents[0], []).append(name)
    return {parent: tuple(names) for parent, names in found.items()}


def _barren(net: Network, codes: npt.NDArray[np.int32]) -> Bools:
    """Where neither the value of a node nor that of any descendant is known."""
    marked = codes.copy()
    hide_barren(
        marked, *number_lists(net, {name: net.dag.children(name) for name in net.variables})
    )
    return marked == -2


def _observed(net: Network, codes: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[np.int32]]:
    return {name: codes[:, v] for v, name in enumerate(net.variables) if (codes[:, v] >= 0).any()}


def number_lists(net: Network, of: Mapping[str, Sequence[str]]) -> tuple[Integers, Integers]:
    """Lists of nodes as numbers one after the other, and where the list of each node starts."""
    index = {name: v for v, name in enumerate(net.variables)}
    lists = [[index[other] for other in of[name]] for name in net.variables]
    flat = np.array([v for one in lists for v in one], np.int64)
    return flat, np.array([0, *np.cumsum([len(one) for one in lists])], np.int64)
