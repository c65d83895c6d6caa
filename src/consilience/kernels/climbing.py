"""The bookkeeping of hill climbing: which move is best, and what it changes.

A graph of ``p`` nodes is held four times, so that all questions are cheap: ``arcs[i, j]`` is 1 for
the arc i -> j, ``parents[j, :n_parents[j]]`` lists the parents of j in increasing order,
``above[j, i]`` is 1 if a path leads from i to j, and ``gains[j, i]`` is the gain in score if i is
added to or taken from the parents of j. Reversing i -> j gains ``gains[j, i] + gains[i, j]``.
``spare``, of shape (2, p), is working memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "ADD",
    "DELETE",
    "NONE",
    "REVERSE",
    "make_best_move",
    "make_move",
    "shake",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Bytes = npt.NDArray[np.uint8]

NONE, ADD, DELETE, REVERSE = -1, 0, 1, 2


@kernel
def make_best_move(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    gains: Floats,
    largest: Floats,
    blocked_until: Integers,
    children: Integers,
    now: int,
    least: float,
    aspiration: float,
    tie: float,
    move: Integers,
    spare: Integers,
) -> float:
    """Make the best legal move at the children whose gain is above ``least``; return its gain.

    ``move`` becomes (kind, from, to), with kind ``NONE`` if there is none; the children are in
    increasing order. ``largest[j]`` is the largest of ``gains[j]``. A pair of nodes that is blocked
    until after ``now`` is left alone unless the gain exceeds ``aspiration``. A deletion may lose up
    to ``tie``, so that arcs that gain nothing go. Of moves whose gains differ by at most ``tie``
    the first is taken: additions and deletions by child, then parent; then reversals in the same
    order.
    """
    gain = _best_move(
        arcs,
        parents,
        n_parents,
        above,
        gains,
        largest,
        blocked_until,
        children,
        now,
        least,
        aspiration,
        tie,
        move,
    )
    if move[0] != NONE:
        make_move(arcs, parents, n_parents, above, spare, move[0], move[1], move[2])
    return gain


@kernel
def make_move(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    spare: Integers,
    kind: int,
    i: int,
    j: int,
) -> None:
    """Add, delete or reverse the arc i -> j, which must be legal."""
    if kind != ADD:
        _drop(arcs, parents, n_parents, i, j)
        _cut(parents, n_parents, above, spare, j)
    if kind != DELETE:
        start, end = (i, j) if kind == ADD else (j, i)
        _insert(arcs, parents, n_parents, start, end)
        _join(above, start, end)


@kernel
def shake(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    spare: Integers,
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
        is_turn = t < n_turns or numbers[3 * t + 1] < 0.35
        if is_turn or numbers[3 * t + 1] < 0.7:
            if n_parents[j] == 0:
                continue
            i = parents[j, min(int(numbers[3 * t + 2] * n_parents[j]), n_parents[j] - 1)]
            if required[i, j]:
                continue
            kind = REVERSE if is_turn else DELETE
            if is_turn:
                if not allowed[j, i] or n_parents[i] >= most:
                    continue
                if t < n_turns and not _is_covered(parents, n_parents, i, j):
                    continue
                if t >= n_turns and _has_detour(parents, n_parents, above, i, j):
                    continue
                changed[i] = 1
        else:
            i = min(int(numbers[3 * t + 2] * p), p - 1)
            if i == j or arcs[i, j] or arcs[j, i] or above[i, j] or not allowed[i, j]:
                continue
            if n_parents[j] >= most:
                continue
            kind = ADD
        make_move(arcs, parents, n_parents, above, spare, kind, i, j)
        changed[j] = 1


@inner
def _best_move(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    above: Bytes,
    gains: Floats,
    largest: Floats,
    blocked_until: Integers,
    children: Integers,
    now: int,
    least: float,
    aspiration: float,
    tie: float,
    move: Integers,
) -> float:
    """The gain of the best legal move, which ``move`` becomes; see :func:`make_best_move`."""
    best = least
    bonus = 2.0 * tie
    slack = 0.0  # the first move found needs to exceed ``least`` only
    move[0] = NONE
    for j in children:
        if largest[j] + bonus <= best + slack:
            continue
        for i in range(len(n_parents)):
            gain = gains[j, i]
            if gain + bonus <= best + slack:  # arcs lie far apart in memory: look at few of them
                continue
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
    for j in children:
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
    return best if move[0] != NONE else 0.0


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
def _cut(parents: Integers, n_parents: Integers, above: Bytes, spare: Integers, j: int) -> None:
    """An arc into j is gone: paths to j and beyond are found anew, parents before children.

    A path from a to b is an arc into b from a or from what a reaches. The nodes that j reached are
    visited by the number of nodes that reached them, so that all parents come first.
    """
    p = len(above)
    n_above, order = spare[0], spare[1]
    n_after = 0
    for b in range(p):
        if b == j or above[b, j]:
            n_above[b] = 0
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
