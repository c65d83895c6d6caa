"""The bookkeeping of hill climbing: which move is best, and what it changes.

A graph of ``p`` nodes is held in sets of nodes, rows of 64-bit words: bit i of ``parents[j]`` is
set for the arc i -> j, bit i of ``above[j]`` if a path leads from i to j. ``changed[j]`` is set
where the parents of j changed.

The score of each family that was met stands in a row with those of its neighbors. Row ``r`` is of
the child and the parents in ``keys[r]`` (the parents' words, then the child); its scores begin at
``starts[r]`` in ``values``: in increasing order of the nodes in ``near[child]``, the child with
each of them added to or taken from the parents; for the child itself, with the parents as they are.
``largest[r]`` is the largest gain. ``slots`` finds a row by its key. ``row[j]`` is the row of the
family that j has in the graph, -1 if that was not looked for or is not there, and ``local[j]`` its
score. ``spare``, of shape (4, p + 1), is working memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers, Words
from consilience.kernels.compile import inner, kernel
from consilience.kernels.counting import popcount

__all__ = [
    "ADD",
    "BEST",
    "DELETE",
    "KIND",
    "MISSING",
    "MORE",
    "NONE",
    "OPTIMUM",
    "REVERSE",
    "SCORE",
    "SINCE_BEST",
    "TIE",
    "TIME",
    "TIRED",
    "climb",
    "enter",
    "likely",
    "rewire",
    "shake",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Bytes = npt.NDArray[np.uint8]

NONE, ADD, DELETE, REVERSE = -1, 0, 1, 2

OPTIMUM, TIRED, MISSING, MORE = 0, 1, 2, 3
"""Why a climb ended: no move, none that found anything for long, a row is missing, or for now."""

TIME, SINCE_BEST, IS_AT_LOSS, KIND = 0, 1, 2, 3
"""Places in the state of a climb; the last move is at ``KIND``: its kind, from, to."""

SCORE, BEST, TIE = 0, 1, 2
"""Places in the levels of a climb: the graph's score, the best one's, and what is a tie."""

_ONE = np.uint64(1)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@kernel
def climb(
    parents: Words,
    above: Words,
    changed: Bytes,
    row: Integers,
    local: Floats,
    near: Words,
    keys: Words,
    slots: Integers,
    starts: Integers,
    largest: Floats,
    values: Floats,
    required: Words,
    blocked: Integers,
    children: Integers,
    spare: Integers,
    state: Integers,
    levels: Floats,
    tabu: int,
    n_moves: int,
) -> int:
    """Make the best legal move at the children, again and again; return why that ended.

    While the state's ``SINCE_BEST`` is 0 moves must gain more than a tie. From 1 on they may lose,
    until a score is above the best one (it is then 0 again) or there were more than ``tabu`` of
    them. With a ``tabu`` each pair of nodes that was moved is left alone for so many moves, unless
    that leads above the best score. Such pairs stand in ``blocked`` with the time from which on
    they are free, in all rows but the first, ``tabu`` and one at least; the first is for a pair
    that is blocked beforehand. A climb that ended for a missing row, or after ``n_moves``, goes on
    where it was if it is called again.

    A deletion may lose up to a tie, so that arcs that gain nothing go. Of moves whose gains differ
    by at most a tie the first is taken: additions and deletions by child, then parent; then
    reversals in the same order.
    """
    book = (keys, slots, starts, largest, values)
    if not _look_up(parents, row, local, keys, slots, starts, near, values, levels):
        return MISSING
    for _ in range(n_moves):
        if state[IS_AT_LOSS]:
            is_best = levels[SCORE] > levels[BEST] + levels[TIE]
            state[SINCE_BEST] = 0 if is_best else state[SINCE_BEST] + 1
            state[IS_AT_LOSS] = 0
            if state[SINCE_BEST] > tabu:
                return TIRED
        state[TIME] += 1
        least = -np.inf if state[SINCE_BEST] > 0 else levels[TIE]
        aspiration = levels[BEST] - levels[SCORE] + levels[TIE] if tabu > 0 else np.inf
        _find_best(
            parents,
            above,
            row,
            local,
            near,
            book,
            required,
            blocked,
            children,
            state,
            least,
            aspiration,
            levels[TIE],
        )
        kind, i, j = state[KIND], state[KIND + 1], state[KIND + 2]
        if kind == NONE:
            return OPTIMUM
        _move(parents, above, spare, kind, i, j)
        changed[j] = 1
        row[j] = -1
        if kind == REVERSE:
            changed[i] = 1
            row[i] = -1
        if tabu > 0:
            k = 1 + state[TIME] % (len(blocked) - 1)
            blocked[k, 0], blocked[k, 1], blocked[k, 2] = i, j, state[TIME] + tabu + 1
        state[IS_AT_LOSS] = state[SINCE_BEST] > 0
        if not _look_up(parents, row, local, keys, slots, starts, near, values, levels):
            return MISSING
    return MORE


@kernel
def rewire(
    parents: Words,
    above: Words,
    changed: Bytes,
    row: Integers,
    spare: Integers,
    j: int,
    new: Words,
) -> bool:
    """Give j other parents, unless they would close a cycle; return whether they do not."""
    for w in range(len(new)):
        rest = new[w] & ~parents[j, w]
        while rest:
            low = rest & (~rest + _ONE)
            rest ^= low
            if _has(above, 64 * w + popcount(low - _ONE), j):
                return False
    for w in range(len(new)):
        parents[j, w] = new[w]
    _renew(parents, above, spare, j)
    changed[j] = 1
    row[j] = -1
    return True


@kernel
def enter(keys: Words, slots: Integers, first: int, n: int) -> None:
    """Let rows from ``first`` up to ``n`` be found by their keys; slots without one hold -1."""
    last = keys.shape[1] - 1
    for r in range(first, n):
        k = _slot(keys[r], np.int64(keys[r, last]), keys, slots)
        slots[k] = r


@kernel
def likely(
    parents: Words,
    above: Words,
    row: Integers,
    local: Floats,
    near: Words,
    starts: Integers,
    largest: Floats,
    values: Floats,
    required: Words,
    children: Integers,
    tie: float,
    chosen: Integers,
) -> None:
    """Write to ``chosen`` for each child the node whose legal addition or deletion gains most.

    -1 for a child without a row, or where nothing gains more than a tie.
    """
    chosen[:] = NONE
    for j in children:
        if row[j] < 0 or not largest[row[j]] > tie:
            continue
        bar = tie
        at = starts[row[j]] - 1
        for w in range(near.shape[1]):
            rest = near[j, w]
            while rest:
                low = rest & (~rest + _ONE)
                rest ^= low
                at += 1
                i = 64 * w + popcount(low - _ONE)
                gain = values[at] - local[j]
                if not gain > bar or i == j or required[j, w] & low != 0:
                    continue
                if parents[j, w] & low == 0 and _has(above, i, j):
                    continue
                bar = gain
                chosen[j] = i


@kernel
def shake(
    parents: Words,
    above: Words,
    changed: Bytes,
    row: Integers,
    spare: Integers,
    allowed: Bytes,
    required: Words,
    most: int,
    n_turns: int,
    n_moves: int,
    numbers: Floats,
) -> None:
    """Walk at random: ``n_turns`` tries to turn a covered arc, then ``n_moves`` moves of any kind.

    Turning a covered arc (its ends have the same other parents) keeps the equivalence class. A move
    deletes or reverses an arc or adds one; what is not legal is left out. ``numbers`` are uniform
    in [0, 1), three for each try.
    """
    p = len(parents)
    for t in range(n_turns + n_moves):
        j = min(int(numbers[3 * t] * p), p - 1)
        is_turn = t < n_turns or numbers[3 * t + 1] < 0.35
        n_parents = _size(parents, j)
        if is_turn or numbers[3 * t + 1] < 0.7:
            if n_parents == 0:
                continue
            i = _member(parents, j, min(int(numbers[3 * t + 2] * n_parents), n_parents - 1))
            if _has(required, j, i):
                continue
            kind = REVERSE if is_turn else DELETE
            if is_turn:
                if not allowed[j, i] or _size(parents, i) >= most:
                    continue
                if t < n_turns and not _is_covered(parents, i, j):
                    continue
                if t >= n_turns and _has_detour(parents, above, i, j):
                    continue
                changed[i] = 1
                row[i] = -1
        else:
            i = min(int(numbers[3 * t + 2] * p), p - 1)
            if i == j or _has(parents, j, i) or not allowed[i, j] or n_parents >= most:
                continue
            if _has(above, i, j):
                continue
            kind = ADD
        _move(parents, above, spare, kind, i, j)
        changed[j] = 1
        row[j] = -1


@inner
def _look_up(
    parents: Words,
    row: Integers,
    local: Floats,
    keys: Words,
    slots: Integers,
    starts: Integers,
    near: Words,
    values: Floats,
    levels: Floats,
) -> bool:
    """Find the rows of all families that have none; return whether they are there."""
    is_there = True
    for j in range(len(row)):
        if row[j] >= 0:
            continue
        row[j] = slots[_slot(parents[j], j, keys, slots)]
        if row[j] < 0:
            is_there = False
            continue
        score = values[starts[row[j]] + _rank(near, j, j)]
        if score != local[j]:
            levels[SCORE] += score - local[j]
            local[j] = score
    return is_there


@inner
def _slot(members: Words, child: int | np.int64, keys: Words, slots: Integers) -> np.int64:
    """Where the row of a family stands, or would stand."""
    width = keys.shape[1] - 1
    number = np.uint64(child)
    mixed = number
    for w in range(width):
        mixed = (mixed ^ members[w]) * _FACTOR
        mixed ^= mixed >> _SHIFT
    k = np.int64(mixed & np.uint64(len(slots) - 1))
    while slots[k] >= 0:
        r = slots[k]
        is_same = keys[r, width] == number
        w = 0
        while is_same and w < width:
            is_same = keys[r, w] == members[w]
            w += 1
        if is_same:
            break
        k = (k + 1) & (len(slots) - 1)
    return k


@inner
def _find_best(
    parents: Words,
    above: Words,
    row: Integers,
    local: Floats,
    near: Words,
    book: tuple[Words, Integers, Integers, Floats, Floats],
    required: Words,
    blocked: Integers,
    children: Integers,
    state: Integers,
    least: float,
    aspiration: float,
    tie: float,
) -> None:
    """Find the best legal move, which ``state`` takes in; see :func:`climb`."""
    _, _, starts, largest, values = book
    now = state[TIME]
    bonus = 2.0 * tie
    bar = least  # a move after the first must be better by more than a tie
    state[KIND] = NONE
    for j in children:
        if not largest[row[j]] + bonus > bar:
            continue
        at = starts[row[j]] - 1
        for w in range(near.shape[1]):
            rest = near[j, w]
            while rest:
                low = rest & (~rest + _ONE)
                rest ^= low
                at += 1
                gain = values[at] - local[j]
                if not gain + bonus > bar:
                    continue
                is_there = parents[j, w] & low != 0
                if is_there:
                    gain += bonus
                i = 64 * w + popcount(low - _ONE)
                if not gain > bar or i == j or required[j, w] & low != 0:
                    continue
                if gain <= aspiration and _is_blocked(blocked, now, i, j):
                    continue
                if not is_there and _has(above, i, j):
                    continue
                bar = gain + tie
                state[KIND] = DELETE if is_there else ADD
                state[KIND + 1] = i
                state[KIND + 2] = j
    for j in children:
        for w in range(near.shape[1]):
            rest = parents[j, w] & ~required[j, w]
            while rest:
                low = rest & (~rest + _ONE)
                rest ^= low
                i = 64 * w + popcount(low - _ONE)
                if not largest[row[j]] + largest[row[i]] > bar:
                    continue
                gain = values[starts[row[j]] + _rank(near, j, i)] - local[j]
                gain += values[starts[row[i]] + _rank(near, i, j)] - local[i]
                if not gain > bar or (gain <= aspiration and _is_blocked(blocked, now, i, j)):
                    continue
                if not _has_detour(parents, above, i, j):
                    bar = gain + tie
                    state[KIND] = REVERSE
                    state[KIND + 1] = i
                    state[KIND + 2] = j


@inner
def _is_blocked(blocked: Integers, now: int, i: int, j: int) -> bool:
    for k in range(len(blocked)):
        if blocked[k, 2] > now:
            a, b = blocked[k, 0], blocked[k, 1]
            if (a == i and b == j) or (a == j and b == i):
                return True
    return False


@inner
def _move(parents: Words, above: Words, spare: Integers, kind: int, i: int, j: int) -> None:
    """Add, delete or reverse the arc i -> j, which must be legal."""
    if kind != ADD:
        _flip(parents, j, i)
        _renew(parents, above, spare, j)
    if kind != DELETE:
        start, end = (i, j) if kind == ADD else (j, i)
        _flip(parents, end, start)
        _join(above, start, end)


@inner
def _has(sets: Words, j: int, i: int) -> bool:
    """Whether i is in the set of j."""
    return bool((sets[j, i >> 6] >> np.uint64(i & 63)) & _ONE)


@inner
def _flip(sets: Words, j: int, i: int) -> None:
    sets[j, i >> 6] ^= _ONE << np.uint64(i & 63)


@inner
def _size(sets: Words, j: int) -> int:
    n = 0
    for w in range(sets.shape[1]):
        n += popcount(sets[j, w])
    return n


@inner
def _rank(sets: Words, j: int, i: int) -> int:
    """How many smaller numbers than i are in the set of j."""
    n = popcount(sets[j, i >> 6] & ((_ONE << np.uint64(i & 63)) - _ONE))
    for w in range(i >> 6):
        n += popcount(sets[j, w])
    return n


@inner
def _member(sets: Words, j: int, place: int) -> int:
    """The number with so many smaller ones in the set of j."""
    w = 0
    while popcount(sets[j, w]) <= place:
        place -= popcount(sets[j, w])
        w += 1
    rest = sets[j, w]
    for _ in range(place):
        rest &= rest - _ONE
    return 64 * w + popcount((rest & (~rest + _ONE)) - _ONE)


@inner
def _has_detour(parents: Words, above: Words, i: int, j: int) -> bool:
    """Whether a path other than the arc itself leads from i to j."""
    for w in range(parents.shape[1]):
        rest = parents[j, w]
        while rest:
            low = rest & (~rest + _ONE)
            rest ^= low
            if _has(above, 64 * w + popcount(low - _ONE), i):
                return True
    return False


@inner
def _is_covered(parents: Words, i: int, j: int) -> bool:
    """Whether the parents of j are those of i, and i."""
    for w in range(parents.shape[1]):
        own = _ONE << np.uint64(i & 63) if w == i >> 6 else np.uint64(0)
        if parents[j, w] != parents[i, w] | own:
            return False
    return True


@inner
def _join(above: Words, i: int, j: int) -> None:
    """A new arc i -> j: what reaches i now reaches j and all that j reaches."""
    for b in range(len(above)):
        if b == j or _has(above, b, j):
            for w in range(above.shape[1]):
                above[b, w] |= above[i, w]
            above[b, i >> 6] |= _ONE << np.uint64(i & 63)


@inner
def _renew(parents: Words, above: Words, spare: Integers, j: int) -> None:
    """The parents of j are others: paths to j and beyond are found anew, parents before children.

    A path from a to b is an arc into b from a or from what a reaches. The nodes that j reached are
    visited by the number of nodes that reached them, so that all parents come first.
    """
    p, width = above.shape
    after, n_above, place, order = spare[0], spare[1], spare[2], spare[3]
    place[:] = 0
    n_after = 0
    for b in range(p):
        if b == j or _has(above, b, j):
            after[n_after] = b
            n_above[n_after] = _size(above, b)
            place[n_above[n_after] + 1] += 1
            n_after += 1
    for n in range(p):
        place[n + 1] += place[n]
    for k in range(n_after):
        order[place[n_above[k]]] = after[k]
        place[n_above[k]] += 1
    for k in range(n_after):
        b = order[k]
        for w in range(width):
            above[b, w] = parents[b, w]
        for w in range(width):
            rest = parents[b, w]
            while rest:
                low = rest & (~rest + _ONE)
                rest ^= low
                parent = 64 * w + popcount(low - _ONE)
                for v in range(width):
                    above[b, v] |= above[parent, v]
