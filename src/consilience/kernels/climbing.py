"""The bookkeeping of hill climbing: which move is best, and what it changes.

A graph of ``p`` nodes is held four times, so that all questions are cheap: ``arcs[i, j]`` is 1 for
the arc i -> j, ``parents[j, :n_parents[j]]`` lists the parents of j in increasing order,
``above[j, i]`` is 1 if a path leads from i to j, and ``gains[j, i]`` is the gain in score if i is
added to or taken from the parents of j. Reversing i -> j gains ``gains[j, i] + gains[i, j]``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["ADD", "DELETE", "NONE", "REVERSE", "make", "shake", "step"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Bytes = npt.NDArray[np.uint8]

NONE, ADD, DELETE, REVERSE = -1, 0, 1, 2


@kernel
def step(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    gains: Floats,
    largest: Floats,
    blocked_until: Integers,
    now: int,
    least: float,
    aspiration: float,
    tie: float,
    move: Integers,
) -> float:
    """Make the best legal move whose gain is above ``least``; return its gain.

    ``move`` becomes (kind, from, to), with kind ``NONE`` if there is none. ``largest[j]`` is
    the largest of ``gains[j]``. A pair of nodes that is blocked until after ``now`` is left alone
    unless the gain exceeds ``aspiration``. A deletion may lose up to ``tie``, so that arcs that
    gain nothing go. Of moves whose gains differ by at most ``tie`` the first is taken: additions
    and deletions by child, then parent; then reversals in the same order.
    """
    p = len(n_parents)
    best = least
    bonus = 2.0 * tie
    slack = 0.0  # the first move found needs to exceed ``least`` only
    move[0] = NONE
    for j in range(p):
        if largest[j] + bonus <= best + slack:
            continue
        for i in range(p):
            gain = gains[j, i]
            if arcs[i, j]:
                gain += bonus
            if gain <= best + slack or i == j:
                continue
            if not arcs[i, j] and (above[i, j] or arcs[j, i]):
                continue
            if blocked_until[i, j] > now and gain <= aspiration:
                continue
            best = gain
            slack = tie
            move[0] = DELETE if arcs[i, j] else ADD
            move[1] = i
            move[2] = j
    for j in range(p):
        for k in range(n_parents[j]):
            i = parents[j, k]
            gain = gains[j, i] + gains[i, j]
            if gain <= best + slack or (blocked_until[i, j] > now and gain <= aspiration):
                continue
            if not _has_detour(parents, n_parents, above, i, j):
                best = gain
                slack = tie
                move[0] = REVERSE
                move[1] = i
                move[2] = j
    if move[0] == NONE:
        return 0.0
    _apply(arcs, parents, n_parents, above, move[0], move[1], move[2])
    return best


@kernel
def shake(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    allowed: Bytes,
    required: Bytes,
    most: int,
    n_turns: int,
    n_moves: int,
    numbers: Floats,
    changed: Bytes,
) -> None:
    """Walk at random: ``n_turns`` tries to turn a covered arc, then ``n_moves`` moves of any kind.

    Turning a covered arc (its ends have the same other parents) keeps the equivalence class. A move
    deletes or reverses an arc or adds one; what is not legal is left out. ``numbers`` are uniform
    in [0, 1), three for each try. ``changed[j]`` is set where the parents of j changed.
    """
    p = len(n_parents)
    for t in range(n_turns + n_moves):
        j = min(int(numbers[3 * t] * p), p - 1)
        wants_arc = t < n_turns or numbers[3 * t + 1] < 0.7
        if wants_arc:
            if n_parents[j] == 0:
                continue
            i = parents[j, min(int(numbers[3 * t + 2] * n_parents[j]), n_parents[j] - 1)]
            if required[i, j]:
                continue
            turns = t < n_turns or numbers[3 * t + 1] < 0.35
            if turns:
                if not allowed[j, i] or n_parents[i] >= most:
                    continue
                if t < n_turns and not _is_covered(parents, n_parents, i, j):
                    continue
                if t >= n_turns and _has_detour(parents, n_parents, above, i, j):
                    continue
                _apply(arcs, parents, n_parents, above, REVERSE, i, j)
                changed[i] = 1
            else:
                _apply(arcs, parents, n_parents, above, DELETE, i, j)
        else:
            i = min(int(numbers[3 * t + 2] * p), p - 1)
            if i == j or arcs[i, j] or arcs[j, i] or above[i, j] or not allowed[i, j]:
                continue
            if n_parents[j] >= most:
                continue
            _apply(arcs, parents, n_parents, above, ADD, i, j)
        changed[j] = 1


@kernel
def make(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    moves: Integers,
    changed: Bytes,
) -> None:
    """Make some moves, rows of (kind, from, to), one after the other; set ``changed`` as above.

    They must be legal in this order.
    """
    for k in range(len(moves)):
        _apply(arcs, parents, n_parents, above, moves[k, 0], moves[k, 1], moves[k, 2])
        changed[moves[k, 2]] = 1
        if moves[k, 0] == REVERSE:
            changed[moves[k, 1]] = 1


@inner
def _has_detour(parents: Integers, n_parents: Integers, above: Bytes, i: int, j: int) -> bool:
    """Whether a path other than the arc itself leads from i to j."""
    for k in range(n_parents[j]):
        other = parents[j, k]
        if other != i and above[other, i]:
            return True
    return False


@inner
def _is_covered(parents: Integers, n_parents: Integers, i: int, j: int) -> bool:
    """Whether the parents of j are those of i, and i."""
    if n_parents[j] != n_parents[i] + 1:
        return False
    k = 0
    for m in range(n_parents[j]):
        if parents[j, m] == i:
            continue
        if parents[j, m] != parents[i, k]:
            return False
        k += 1
    return True


@inner
def _apply(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    kind: int,
    i: int,
    j: int,
) -> None:
    if kind != ADD:
        _drop(arcs, parents, n_parents, i, j)
        _cut(parents, n_parents, above, i, j)
    if kind == ADD:
        _insert(arcs, parents, n_parents, i, j)
        _join(above, i, j)
    elif kind == REVERSE:
        _insert(arcs, parents, n_parents, j, i)
        _join(above, j, i)


@inner
def _insert(arcs: Bytes, parents: Integers, n_parents: Integers, i: int, j: int) -> None:
    arcs[i, j] = 1
    k = n_parents[j]
    while k > 0 and parents[j, k - 1] > i:
        parents[j, k] = parents[j, k - 1]
        k -= 1
    parents[j, k] = i
    n_parents[j] += 1


@inner
def _drop(arcs: Bytes, parents: Integers, n_parents: Integers, i: int, j: int) -> None:
    arcs[i, j] = 0
    k = 0
    while parents[j, k] != i:
        k += 1
    n_parents[j] -= 1
    while k < n_parents[j]:
        parents[j, k] = parents[j, k + 1]
        k += 1


@inner
def _join(above: Bytes, i: int, j: int) -> None:
    """A new arc i -> j: what reaches i now reaches j and all that j reaches."""
    for b in range(len(above)):
        if b == j or above[b, j]:
            for a in range(len(above)):
                above[b, a] |= above[i, a]
            above[b, i] = 1


@inner
def _cut(parents: Integers, n_parents: Integers, above: Bytes, i: int, j: int) -> None:
    """The arc i -> j is gone: paths to j and beyond are found anew, parents before children.

    A path from a to b is an arc into b from a or from what a reaches. The nodes that j reached are
    visited by the number of nodes that reached them, so that all parents come first.
    """
    p = len(above)
    n_above = np.zeros(p, np.int64)
    order = np.empty(p, np.int64)
    n_after = 0
    for b in range(p):
        if b == j or above[b, j]:
            for a in range(p):
                n_above[b] += above[b, a]
            k = n_after
            while k > 0 and n_above[order[k - 1]] > n_above[b]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = b
            n_after += 1
    for place in range(n_after):
        b = order[place]
        for a in range(p):
            above[b, a] = 0
        for k in range(n_parents[b]):
            parent = parents[b, k]
            for a in range(p):
                above[b, a] |= above[parent, a]
            above[b, parent] = 1
