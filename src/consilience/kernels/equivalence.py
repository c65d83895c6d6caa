"""The class of a graph: which of its arcs all equivalent graphs have.

Sets of nodes are rows of 64-bit words, as bitmaps are; ``parents[j]`` is the set of parents of j.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Integers, Words
from consilience.kernels.compile import inner, kernel

__all__ = ["complete"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)


@kernel
def complete(
    parents: Words, compelled: Words, children: Words, reversible: Words, reach: Words
) -> None:
    """Fill in the arcs that all equivalent graphs have, as parents and as children, and the others.

    The arcs into a node are all compelled, unless its last parent in a topological order has all
    the other parents and its own compelled parents are among them: then just those arcs are.
    ``reversible`` becomes symmetric; ``reach[i]`` becomes the set of nodes that paths lead to from
    i along compelled and reversible arcs, i among them. The graph must have no cycles; the outputs
    must be zeros.
    """
    p, n_words = parents.shape
    first, parent = _lists(parents)
    order = _topological(first, parent)
    rank = np.empty(p, dtype=np.int64)
    for k in range(p):
        rank[order[k]] = k
    for child in order:
        if first[child] == first[child + 1]:
            continue
        last = parent[first[child]]
        for k in range(first[child] + 1, first[child + 1]):
            if rank[parent[k]] > rank[last]:
                last = parent[k]
        has_collider = _has_collider(parents, compelled, child, last)
        for w in range(n_words):
            compelled[child, w] = parents[child, w] if has_collider else compelled[last, w]
        for k in range(first[child], first[child + 1]):
            if _has(compelled, child, parent[k]):
                _add(children, parent[k], child)
            else:
                _add(reversible, parent[k], child)
                _add(reversible, child, parent[k])
    for i in range(p):
        for w in range(n_words):
            reach[i, w] = children[i, w] | reversible[i, w]
        _add(reach, i, i)
    for k in range(p):
        for i in range(p):
            if i != k and _has(reach, i, k):
                for w in range(n_words):
                    reach[i, w] |= reach[k, w]


@inner
def _lists(parents: Words) -> tuple[Integers, Integers]:
    """The parents of j, ``parent[first[j]:first[j + 1]]``."""
    p = len(parents)
    first = np.zeros(p + 1, dtype=np.int64)
    parent = np.empty(p * p, dtype=np.int64)
    n = 0
    for child in range(p):
        for i in range(p):
            if _has(parents, child, i):
                parent[n] = i
                n += 1
        first[child + 1] = n
    return first, parent[:n]


@inner
def _topological(first: Integers, parent: Integers) -> Integers:
    """The nodes, parents first."""
    p = len(first) - 1
    begin = np.zeros(p + 1, dtype=np.int64)  # of the children of a node
    for i in parent:
        begin[i + 1] += 1
    for i in range(p):
        begin[i + 1] += begin[i]
    child_of = np.empty(len(parent), dtype=np.int64)
    end = begin[:-1].copy()
    for child in range(p):
        for k in range(first[child], first[child + 1]):
            child_of[end[parent[k]]] = child
            end[parent[k]] += 1
    n_waiting = first[1:] - first[:-1]
    order = np.empty(p, dtype=np.int64)
    n_found = 0
    for child in range(p):
        if n_waiting[child] == 0:
            order[n_found] = child
            n_found += 1
    done = 0
    while done < n_found:
        for k in range(begin[order[done]], begin[order[done] + 1]):
            n_waiting[child_of[k]] -= 1
            if n_waiting[child_of[k]] == 0:
                order[n_found] = child_of[k]
                n_found += 1
        done += 1
    return order[:n_found]


@inner
def _has_collider(parents: Words, compelled: Words, child: int, last: int) -> bool:
    """Whether the last parent lacks another one, or has a compelled parent that is none."""
    for w in range(parents.shape[1]):
        mine = parents[child, w]
        others = mine
        if w == last >> 6:
            others = mine & ~(np.uint64(1) << np.uint64(last & 63))
        if others & ~parents[last, w] or compelled[last, w] & ~mine:
            return True
    return False


@inner
def _has(sets: Words, j: int, i: int) -> bool:
    return (sets[j, i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != 0


@inner
def _add(sets: Words, j: int, i: int) -> None:
    sets[j, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
