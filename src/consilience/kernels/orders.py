"""Searches over orders: every variable takes its cheapest set of parents among those before it.

The sets of variable ``x`` are ``sets[start[x]:start[x + 1]]`` with ``costs``, the cheapest first,
so the first that fits is the best. A set is a bit mask; which bit stands for which variable is said
by ``bits`` where it differs from variable to variable. A* visits sets of variables that come first
in the order: all ways to order them are one state, of which the cheapest counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "EMPTY",
    "GOAL",
    "MORE",
    "NOTHING_LEFT",
    "NO_ROOM",
    "expand",
    "fill_pattern",
    "find",
    "mark_minimal",
    "move_best",
    "place_order",
    "rehash",
    "with_free",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Bytes = npt.NDArray[np.int8]

EMPTY = -1
MORE, GOAL, NOTHING_LEFT, NO_ROOM = 0, 1, 2, 3


@kernel
def mark_minimal(sets: Integers, most: int, is_kept: Bools) -> None:
    """Mark the sets that none of the first ``most`` sets before them is part of."""
    for k in range(len(sets)):
        is_kept[k] = True
        for before in range(min(k, most)):
            if is_kept[before] and sets[before] & ~sets[k] == 0:
                is_kept[k] = False
                break


@kernel
def place_order(
    order: Integers,
    bits: Integers,
    start: Integers,
    sets: Integers,
    costs: Floats,
    before: Integers,
    now: Floats,
) -> None:
    """Fill ``before[x]`` (who comes before x) and ``now[x]`` (what x costs there).

    ``bits[x, y]`` is the bit of y in the sets of x, 0 if y is in none of them.
    """
    for i in range(len(order)):
        x = order[i]
        before[x] = 0
        for k in range(i):
            before[x] |= bits[x, order[k]]
        now[x] = _cost(start, sets, costs, x, before[x])


@kernel
def move_best(
    order: Integers,
    bits: Integers,
    start: Integers,
    sets: Integers,
    costs: Floats,
    before: Integers,
    now: Floats,
    tie: float,
) -> float:
    """Move every variable once to its best place in the order; return what that gained.

    Variables are visited by number. A place must be better than where the variable is by more than
    ``tie``; of equal places the nearest is taken, on the left before on the right. Places further
    on are had by swaps of neighbors, which change two costs each.
    """
    n = len(order)
    total = 0.0
    for x in range(n):
        home = 0
        while order[home] != x:
            home += 1
        best, place = tie, home
        mine, cost, gain = before[x], now[x], 0.0
        for i in range(home - 1, -1, -1):
            y = order[i]
            mine &= ~bits[x, y]
            less = _cost(start, sets, costs, x, mine)
            if less == np.inf:
                break
            more = _cost(start, sets, costs, y, before[y] | bits[y, x])
            gain += (cost - less) + (now[y] - more)
            cost = less
            if gain > best:
                best, place = gain + tie, i
        mine, cost, gain = before[x], now[x], 0.0
        for i in range(home + 1, n):
            y = order[i]
            more = _cost(start, sets, costs, y, before[y] & ~bits[y, x])
            if more == np.inf:
                break
            mine |= bits[x, y]
            less = _cost(start, sets, costs, x, mine)
            gain += (cost - less) + (now[y] - more)
            cost = less
            if gain > best:
                best, place = gain + tie, i
        if place != home:
            total += _move(order, bits, start, sets, costs, before, now, home, place)
    return total


@kernel
def fill_pattern(
    start: Integers,
    sets: Integers,
    costs: Floats,
    first: int,
    size: int,
    above: int,
    down_to: int,
    out: Floats,
) -> None:
    """Fill ``out`` with what the variables of a group cost at least, by those that are placed.

    The group are the variables ``first`` to ``first + size``; all others may be parents at any
    time. ``out[placed]`` is the cost of the rest of the group in its best order. It is filled from
    ``above`` down to ``down_to``; what lies above is known.
    """
    n = len(start) - 1
    group = (1 << size) - 1
    others = ((1 << n) - 1) ^ (group << first)
    for placed in range(above - 1, down_to - 1, -1):
        least = 0.0 if placed == group else np.inf
        for x in range(size):
            if not placed >> x & 1:
                mine = _cost(start, sets, costs, first + x, others | placed << first)
                least = min(least, mine + out[placed | 1 << x])
        out[placed] = least


@kernel
def expand(
    start: Integers,
    sets: Integers,
    costs: Floats,
    first: Integers,
    pattern_start: Integers,
    patterns: Floats,
    bound: float,
    keys: Integers,
    cost_of: Floats,
    came_from: Integers,
    came_by: Bytes,
    heap_rank: Floats,
    heap_key: Integers,
    counters: Integers,
    n_steps: int,
) -> int:
    """Take up to ``n_steps`` states off the heap and add the states that follow them.

    States are sets of placed variables in a hash table: ``keys`` (``EMPTY`` where free), cost so
    far, the state they came from and the variable that was placed then, less 64 once the state was
    taken off. Variables whose cheapest set of all fits (cost 0) are placed at once, since that can
    only help the others. The heuristic is the sum of the groups' patterns: group ``g`` has the
    variables from ``first[g]`` on. States that cannot end below ``bound`` are left out.
    ``counters`` are the number of states and of entries of the heap. Returns ``GOAL``, ``MORE``,
    ``NOTHING_LEFT`` or ``NO_ROOM`` for the states that follow one more state.
    """
    n = len(start) - 1
    goal = (1 << n) - 1
    for _ in range(n_steps):
        if 2 * (counters[0] + n) > len(keys) or counters[1] + n > len(heap_key):
            return NO_ROOM
        if counters[1] == 0:
            return NOTHING_LEFT
        placed = _pop(heap_rank, heap_key, counters)
        at = _find(keys, placed)
        if came_by[at] < 0:
            continue
        came_by[at] -= 64
        if placed == goal:
            return GOAL
        for x in range(n):
            if placed >> x & 1:
                continue
            cost = cost_of[at] + _cost(start, sets, costs, x, placed)
            if cost >= bound:
                continue
            now = _with_free(start, sets, costs, placed | 1 << x)
            least = cost
            for g in range(len(first) - 1):
                group = (1 << (first[g + 1] - first[g])) - 1
                least += patterns[pattern_start[g] + (now >> first[g] & group)]
            if least >= bound:
                continue
            to = _find(keys, now)
            if keys[to] == EMPTY:
                keys[to] = now
                counters[0] += 1
            elif cost_of[to] <= cost:
                continue
            cost_of[to] = cost
            came_from[to] = placed
            came_by[to] = x
            # The sums are whole numbers, so equal ones are equal; then the larger set comes first.
            _push(heap_rank, heap_key, counters, 64.0 * least + (63 - _n_bits(now)), now)
    return MORE


@kernel
def with_free(start: Integers, sets: Integers, costs: Floats, placed: int) -> int:
    """The set with all variables whose cheapest set of all fits, one after the other."""
    return _with_free(start, sets, costs, placed)


@kernel
def rehash(
    old_keys: Integers,
    old_cost: Floats,
    old_from: Integers,
    old_by: Bytes,
    keys: Integers,
    cost_of: Floats,
    came_from: Integers,
    came_by: Bytes,
) -> None:
    """Move all states to a larger table, whose keys are all ``EMPTY``."""
    for k in range(len(old_keys)):
        if old_keys[k] != EMPTY:
            to = _find(keys, old_keys[k])
            keys[to] = old_keys[k]
            cost_of[to] = old_cost[k]
            came_from[to] = old_from[k]
            came_by[to] = old_by[k]


@kernel
def find(keys: Integers, key: int) -> int:
    """The place of a state in the table, or the free place where it would go."""
    return _find(keys, key)


@inner
def _cost(start: Integers, sets: Integers, costs: Floats, x: int, available: int) -> float:
    for k in range(start[x], start[x + 1]):
        if sets[k] & ~available == 0:
            return costs[k]
    return np.inf


@inner
def _move(
    order: Integers,
    bits: Integers,
    start: Integers,
    sets: Integers,
    costs: Floats,
    before: Integers,
    now: Floats,
    home: int,
    place: int,
) -> float:
    x = order[home]
    step = 1 if place > home else -1
    gain = now[x]
    for i in range(home, place, step):
        y = order[i + step]
        order[i] = y
        gain += now[y]
        if step > 0:
            before[x] |= bits[x, y]
            before[y] &= ~bits[y, x]
        else:
            before[x] &= ~bits[x, y]
            before[y] |= bits[y, x]
        now[y] = _cost(start, sets, costs, y, before[y])
        gain -= now[y]
    order[place] = x
    now[x] = _cost(start, sets, costs, x, before[x])
    return gain - now[x]


@inner
def _with_free(start: Integers, sets: Integers, costs: Floats, placed: int) -> int:
    n = len(start) - 1
    grew = True
    while grew:
        grew = False
        for x in range(n):
            if placed >> x & 1:
                continue
            for k in range(start[x], start[x + 1]):
                if costs[k] > 0.0:
                    break
                if sets[k] & ~placed == 0:
                    placed |= 1 << x
                    grew = True
                    break
    return placed


@inner
def _find(keys: Integers, key: int) -> int:
    mixed = np.uint64(key)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    last = len(keys) - 1
    at = np.int64(mixed & np.uint64(last))
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & last
    return int(at)


@inner
def _push(rank: Floats, key: Integers, counters: Integers, new_rank: float, new_key: int) -> None:
    at = counters[1]
    counters[1] += 1
    while at > 0:
        above = (at - 1) >> 1
        if rank[above] <= new_rank:
            break
        rank[at] = rank[above]
        key[at] = key[above]
        at = above
    rank[at] = new_rank
    key[at] = new_key


@inner
def _pop(rank: Floats, key: Integers, counters: Integers) -> int:
    top = key[0]
    counters[1] -= 1
    n = counters[1]
    last_rank, last_key = rank[n], key[n]
    at = 0
    while 2 * at + 1 < n:
        below = 2 * at + 1
        if below + 1 < n and rank[below + 1] < rank[below]:
            below += 1
        if rank[below] >= last_rank:
            break
        rank[at] = rank[below]
        key[at] = key[below]
        at = below
    rank[at] = last_rank
    key[at] = last_key
    return top


@inner
def _n_bits(mask: int) -> int:
    n = 0
    while mask != 0:
        mask &= mask - 1
        n += 1
    return n
