r"""A junction tree of what the evidence leaves, for networks whose whole tree is too large.

A known node needs no axis: with :math:`K` the known nodes and :math:`e_K` their states,

.. math:: P(x, e_K) = \prod_i P(x_i \mid \mathrm{pa}_i) \Big|_{x_K = e_K}

has a factor for each family over its nodes that are not known. Nodes that only known ones join fall
apart, so that much evidence makes a small tree of a large one. The whole tree, which serves any
evidence and is kept with the network, is used wherever it fits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from consilience._typing import Floats
from consilience.errors import MemoryLimitError
from consilience.inference.evidence import Evidence, Scope
from consilience.inference.junction import JunctionTree, compiled
from consilience.inference.tree_shape import TreeShape, shape_of_tables, tree_shape
from consilience.network.network import Network

__all__ = ["Cut", "cost_shape", "tree_for"]


def tree_for(
    net: Network, given: Evidence, *, memory_limit: float
) -> tuple[JunctionTree, Evidence]:
    """The tree of the network and the evidence, or a tree that this evidence made smaller.

    The evidence for a smaller tree says the same about the nodes that are left.
    """
    try:
        return compiled(net, tuple(given.sets), memory_limit=memory_limit), given
    except MemoryLimitError:
        if not given.known:
            raise
    cut = Cut.of(net, given.known)
    left = replace(given, known={}, log_scale=given.log_scale + cut.log_scale)
    return cut.tree(tuple(given.sets), memory_limit), left


def cost_shape(
    net: Network, given: Evidence, scopes: Collection[Scope], *, memory_limit: float
) -> TreeShape:
    """The shape of the tree that would be used; the scopes have no known nodes."""
    shape = tree_shape(net, scopes=scopes)
    if shape.cost.bytes <= memory_limit or not given.known:
        return shape
    return Cut.of(net, given.known).shape(scopes)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The tables of a network at the known states; ``log_scale`` has those that are one number."""

    n_states: dict[str, int]
    scopes: dict[str, Scope]
    tables: dict[str, Floats]
    log_scale: float

    @classmethod
    def of(cls, net: Network, known: Mapping[str, int]) -> Cut:
        """The network at the known states."""
        n_states = {
            name: variable.n_states
            for name, variable in net.variables.items()
            if not variable.is_continuous and name not in known
        }
        scopes, tables, log_scale = {}, {}, 0.0
        for name, local in net.tables.items():
            axes = (*local.parents, name)
            table = local.table[tuple(known.get(axis, slice(None)) for axis in axes)]
            free = tuple(axis for axis in axes if axis not in known)
            if free:
                scopes[name], tables[name] = free, table
            else:
                log_scale += math.log(table) if table > 0 else -math.inf
        return cls(n_states, scopes, tables, log_scale)

    def shape(self, scopes: Collection[Scope]) -> TreeShape:
        """The cliques of the tables that are left and of these scopes, and what they take."""
        return shape_of_tables(self.n_states, self.scopes, scopes)

    def tree(self, scopes: Collection[Scope], memory_limit: float) -> JunctionTree:
        """The tree of the tables that are left, with room for likelihoods over these scopes."""
        return JunctionTree.of_shape(
            self.shape(scopes),
            self.n_states,
            self.scopes,
            self.tables,
            memory_limit=memory_limit,
        )
