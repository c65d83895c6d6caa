"""The graph in which the missing states of a row hang together, as numbers for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from consilience._typing import Integers
from consilience.inference.evidence import Scope
from consilience.inference.triangulation import interaction
from consilience.network.network import Network

__all__ = ["CaseGraph", "flat_lists"]


@dataclass(frozen=True, slots=True, eq=False)
class CaseGraph:
    """Numbers of states, neighbors and children of the discrete nodes, and of the scopes of
    likelihoods, which stand after them: a scope is a child of its nodes with a single state.
    """

    n_states: tuple[int, ...]
    neighbors: tuple[Integers, Integers]
    children: tuple[Integers, Integers]

    @classmethod
    def of(cls, net: Network, scopes: Sequence[Scope]) -> CaseGraph:
        names = [name for name in net.variables if name not in net.regressions]
        index = {name: v for v, name in enumerate(names)}
        near = interaction(((*one.parents, n) for n, one in net.tables.items()), names)
        neighbors = [[index[other] for other in near[name]] for name in names]
        children = [[index[c] for c in net.dag.children(name) if c in index] for name in names]
        for s, scope in enumerate(scopes):
            for name in scope:
                neighbors[index[name]].append(len(names) + s)
                children[index[name]].append(len(names) + s)
            neighbors.append([index[name] for name in scope])
            children.append([])
        n_states = (*(net.variables[name].n_states for name in names), *(1 for _ in scopes))
        return cls(n_states, flat_lists(neighbors), flat_lists(children))


def flat_lists(lists: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """Lists one after the other, and where each starts."""
    flat = np.array([v for one in lists for v in one], np.int64)
    return flat, np.array([0, *accumulate(map(len, lists))], np.int64)
