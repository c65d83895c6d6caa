r"""Sums over all graphs of a set of variables: dynamic programming on the lattice of sets.

All numbers are logarithms of weights, minus infinity for a weight of zero. A set is a bit mask over
``p`` variables. The numbers of a child by its set of parents are an array of length
:math:`2^{p - 1}`: the place of a set is its mask without the child's own bit. ``of_child[x]`` are
the weights of child ``x`` summed over all sets of parents within each set.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "graphs_from_below",
    "graphs_to_the_top",
    "orders_from_below",
    "orders_to_the_top",
    "sum_of_subsets",
    "sum_of_supersets",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)


@kernel
def sum_of_subsets(values: Floats) -> None:
    """Replace the weight of each set by the sum over its subsets, itself included."""
    step = 1
    while step < len(values):
        for start in range(0, len(values), 2 * step):
            for k in range(start, start + step):
                values[k + step] = _added(values[k], values[k + step])
        step *= 2


@kernel
def sum_of_supersets(values: Floats) -> None:
    """Replace the weight of each set by the sum over its supersets, itself included."""
    step = 1
    while step < len(values):
        for start in range(0, len(values), 2 * step):
            for k in range(start, start + step):
                values[k] = _added(values[k], values[k + step])
        step *= 2


@kernel
def orders_from_below(of_child: Floats, below: Floats) -> None:
    """Fill ``below`` with the sum over all orders of each set, each with all graphs along it."""
    p = len(of_child)
    below[0] = 0.0
    for members in range(1, len(below)):
        total = -np.inf
        for x in range(p):
            if members >> x & 1:
                others = members ^ 1 << x
                total = _added(total, below[others] + of_child[x, _place(others, x)])
        below[members] = total


@kernel
def orders_to_the_top(of_child: Floats, above: Floats) -> None:
    """Fill ``above`` with the sum over all orders of the rest when each set comes first."""
    p = len(of_child)
    above[-1] = 0.0
    for members in range(len(above) - 2, -1, -1):
        total = -np.inf
        for x in range(p):
            if not members >> x & 1:
                total = _added(total, above[members | 1 << x] + of_child[x, _place(members, x)])
        above[members] = total


@kernel
def graphs_from_below(of_child: Floats, below: Floats, shift: Floats) -> None:
    r"""Fill ``below`` with the sum over all graphs on each set, each graph once.

    .. math:: Z(S) = \sum_{\emptyset \ne R \subseteq S} (-1)^{|R| + 1} Z(S \setminus R)
        \prod_{x \in R} a_x(S \setminus R)

    ``shift`` is room for as many numbers: the scale that each sum is kept at.
    """
    p = len(of_child)
    n_sets = len(below)
    room, masks = np.empty(n_sets), np.empty(n_sets, np.int64)
    below[:] = 0.0
    shift[:] = -np.inf
    shift[0], below[0] = 0.0, 1.0
    for first in range(n_sets):
        total = shift[first] + np.log(below[first]) if below[first] > 0.0 else -np.inf
        below[first] = total
        if total == -np.inf:
            continue
        n_rest = _products(of_child, first, p, room, masks)
        for r in range(1, n_rest):
            members = first | masks[r]
            value = total + room[r]
            sign = 1.0 if _n_bits(r) & 1 else -1.0
            if value == -np.inf:
                continue
            if value <= shift[members]:
                below[members] += sign * np.exp(value - shift[members])
            else:
                below[members] = below[members] * np.exp(shift[members] - value) + sign
                shift[members] = value


@kernel
def graphs_to_the_top(of_child: Floats, below: Floats, above: Floats, alone: Floats) -> None:
    r"""Fill ``above`` with the sum over graphs on the rest when each set has no parents outside.

    .. math:: B(U) = \sum_{\emptyset \ne R \subseteq V \setminus U} (-1)^{|R| + 1} B(U \cup R)
        \prod_{x \in R} a_x(U)

    The same sum over the R that contain x, times Z(U), is the weight of all graphs in which U is
    exactly what x does not lead to; divided by :math:`a_x(U)` it becomes ``alone[x, place of U]``.
    """
    p = len(of_child)
    n_sets = len(above)
    room, masks = np.empty(n_sets), np.empty(n_sets, np.int64)
    parts, members = np.empty(p), np.empty(p, np.int64)
    alone[:] = -np.inf
    above[n_sets - 1] = 0.0
    for first in range(n_sets - 2, -1, -1):
        n_rest = _products(of_child, first, p, room, masks)
        top = -np.inf
        for r in range(1, n_rest):
            room[r] += above[first | masks[r]]
            top = max(top, room[r])
        if top == -np.inf:
            above[first] = -np.inf
            continue
        room[0] = 0.0
        for r in range(1, n_rest):
            sign = 1.0 if _n_bits(r) & 1 else -1.0
            room[r] = sign * np.exp(room[r] - top)
        n = 0
        for x in range(p):
            if not first >> x & 1:
                members[n] = x
                n += 1
        total = _folded(room, n, parts)
        above[first] = top + np.log(total) if total > 0.0 else -np.inf
        for k in range(n):
            x = members[k]
            own = of_child[x, _place(first, x)]
            if parts[k] > 0.0 and own > -np.inf:
                alone[x, _place(first, x)] = below[first] + top + np.log(parts[k]) - own


@inner
def _products(of_child: Floats, first: int, p: int, room: Floats, masks: Integers) -> int:
    """For each subset of what is not in ``first``: its mask, and the product of its weights."""
    room[0], masks[0] = 0.0, 0
    size = 1
    for x in range(p):
        if not first >> x & 1:
            own = of_child[x, _place(first, x)]
            for r in range(size):
                room[size + r] = room[r] + own
                masks[size + r] = masks[r] | 1 << x
            size *= 2
    return size


@inner
def _folded(room: Floats, n: int, parts: Floats) -> float:
    """The sum of numbers by set; ``parts[k]`` becomes the sum over sets with member ``k``."""
    size = 1 << n
    for k in range(n - 1, -1, -1):
        size //= 2
        part = 0.0
        for r in range(size):
            part += room[size + r]
            room[r] += room[size + r]
        parts[k] = part
    return float(room[0])


@inner
def _added(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@inner
def _place(members: int, x: int) -> int:
    below = (1 << x) - 1
    return (members & below) | (members >> 1 & ~below)


@inner
def _n_bits(mask: int) -> int:
    n = 0
    while mask != 0:
        mask &= mask - 1
        n += 1
    return n
