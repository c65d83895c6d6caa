"""Best graphs over all subsets of the variables: dynamic programming on the lattice of sets.

A set is a bit mask over ``p`` variables. The scores of a child by its set of parents are an array
of length :math:`2^{p - 1}`: the place of a set is its mask without the child's own bit. Scores may
be minus infinity.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Bools, Floats
from consilience.kernels.compile import inner, kernel

__all__ = ["best_of_sets", "best_of_subsets", "differences", "undominated"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)


@kernel
def differences(
    of_set: Floats, child: int, allowed: int, required: int, most: int, out: Floats
) -> None:
    """Fill ``out`` with the scores of a child: that of the set with it less that without it.

    Sets that lack a required parent or have one that is not allowed or more than ``most`` get minus
    infinity, and so do those whose own score with the child is minus infinity.
    """
    below = (1 << child) - 1
    for place in range(len(out)):
        parents = (place & below) | (place & ~below) << 1
        out[place] = -np.inf
        if parents & ~allowed != 0 or required & ~parents != 0 or _n_bits(parents) > most:
            continue
        whole = of_set[parents | 1 << child]
        if whole > -np.inf:
            out[place] = whole - of_set[parents]


@kernel
def best_of_subsets(values: Floats) -> None:
    """Replace the value of each set by the largest of its subsets, itself included."""
    step = 1
    while step < len(values):
        for start in range(0, len(values), 2 * step):
            for k in range(start, start + step):
                if values[k] > values[k + step]:
                    values[k + step] = values[k]
        step *= 2


@kernel
def undominated(values: Floats, tie: float, is_kept: Bools) -> None:
    """Mark the sets that are better than all their subsets by more than ``tie``.

    The values become the best of the marked subsets of each set.
    """
    for place in range(len(values)):
        best = -np.inf
        rest = place
        while rest != 0:
            bit = rest & -rest
            rest ^= bit
            best = max(best, values[place ^ bit])
        is_kept[place] = values[place] > best + tie
        if not is_kept[place]:
            values[place] = best


@kernel
def best_of_sets(of_child: Floats, best: Floats, start: int, stop: int) -> None:
    """Fill ``best[start:stop]`` with the score of the best graph over each set of variables.

    ``of_child[x]`` are the best scores of child ``x`` by the set that its parents may come from,
    ``best[:start]`` is known. Some node of a graph has no children: it takes the best parents of
    all others, and what is left is the best graph over them.
    """
    p = len(of_child)
    for members in range(start, stop):
        top = -np.inf if members else 0.0
        for x in range(p):
            if members >> x & 1:
                others = members ^ 1 << x
                below = (1 << x) - 1
                place = (others & below) | (others >> 1 & ~below)
                top = max(top, best[others] + of_child[x, place])
        best[members] = top


@inner
def _n_bits(mask: int) -> int:
    n = 0
    while mask != 0:
        mask &= mask - 1
        n += 1
    return n
