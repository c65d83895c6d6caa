"""Counts of a child given many sets of parents, from the joint counts of all candidates.

The rows are the joint states that occur, each with its count. A set of parents is a bit mask over
the candidates; the masks come in increasing order, so that a set shares the work for its higher
bits with the sets before it. On the way down such a branch every row keeps the number of its parent
state; rows that agree in it and in all that lower bits can still ask for become one row, so that
deep branches work on few rows.

Indices are cast to unsigned words, which spares the test for negative ones; it costs a third here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["number_classes", "sum_tables"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Numbers = npt.NDArray[np.int32]

ROWS, STATES, SET, BIT = 0, 1, 2, 3  # of a depth: rows, parent states, their bits, the lowest bit


@kernel
def number_classes(
    columns: Numbers, n_states: Integers, classes: Numbers, n_classes: Integers, number: Numbers
) -> None:
    """Number the rows so that ``classes[v]`` tells all of what stands in the columns below ``v``.

    ``classes[0]`` and ``n_classes[0]`` are given: child and source together. ``number`` is working
    memory of ``max(n_states)`` times the number of rows.
    """
    for v in range(len(columns)):
        r = n_states[v]
        cells = n_classes[v] * r
        number[:cells] = 0
        for i in range(columns.shape[1]):
            number[classes[v, i] * r + columns[v, i]] = 1
        n_classes[v + 1] = _number_marked(number, cells)
        for i in range(columns.shape[1]):
            classes[v + 1, i] = number[classes[v, i] * r + columns[v, i]]


@kernel
def sum_tables(
    columns: Numbers,
    n_states: Integers,
    child: Numbers,
    source: Numbers,
    classes: Numbers,
    n_classes: Integers,
    r: int,
    n_sources: int,
    masks: Integers,
    first: int,
    states: Numbers,
    examples: Numbers,
    counts: Integers,
    depths: Integers,
    number: Numbers,
    n_seen: Integers,
    out: Integers,
) -> int:
    """Fill ``out`` with the tables of the masks from ``first`` on; return the first without room.

    ``columns[v, i]`` is the state of candidate ``v`` in row ``i``. A table has the axes (sources,
    parent states seen, states), the parent states in lexicographic order, highest bit first;
    ``n_seen[m]`` becomes their number for mask ``m``. A depth ``d`` of the branch is described by
    ``depths[d]`` and by row ``d`` of ``states`` (parent state of each of its rows), ``examples`` (a
    row that it stands for) and ``counts``; depth 0 is given. ``number`` is working memory of at
    least ``max(n_states)`` times the number of rows; more of it joins more rows.
    """
    depth, place = 0, 0
    for m in range(first, len(masks)):
        mask = masks[m]
        while depth > 0 and (mask ^ depths[depth, SET]) >> depths[depth, BIT] != 0:
            depth -= 1
        rest = mask ^ depths[depth, SET]
        v = depths[depth, BIT] - 1
        q = depths[depth, STATES]
        ends_split = False
        while rest != 0:
            if rest >> v & 1:
                rest ^= 1 << v
                q = _split(columns[v], n_states[v], depth, states, examples, depths, number)
                if rest != 0 or (m + 1 < len(masks) and (mask ^ masks[m + 1]) >> v == 0):
                    depths[depth + 1, STATES] = q
                    depths[depth + 1, SET] = depths[depth, SET] | 1 << v
                    depths[depth + 1, BIT] = v
                    k = n_classes[v]
                    _descend(classes[v], k, depth, states, examples, counts, depths, number)
                    depth += 1
                else:
                    ends_split = True
            v -= 1
        size = n_sources * q * r
        if place + size > len(out):
            return m
        n_seen[m] = q
        table = out[place : place + size]
        table[:] = 0
        if ends_split:
            state = states[depth + 1]
            for i in range(depths[depth, ROWS]):
                one = np.uint64(examples[depth, i])
                at = (source[one] * q + number[np.uint64(state[i])]) * r + child[one]
                table[np.uint64(at)] += counts[depth, i]
        else:
            state = states[depth]
            for i in range(depths[depth, ROWS]):
                one = np.uint64(examples[depth, i])
                table[np.uint64((source[one] * q + state[i]) * r + child[one])] += counts[depth, i]
        place += size
    return len(masks)


@inner
def _split(
    column: Numbers,
    r: int,
    depth: int,
    states: Numbers,
    examples: Numbers,
    depths: Integers,
    number: Numbers,
) -> int:
    """Split the parent states of a depth by one more column; return how many there are then.

    The new state of row ``i`` is ``number[states[depth + 1, i]]``.
    """
    cells = depths[depth, STATES] * r
    number[:cells] = 0
    old, new, example = states[depth], states[depth + 1], examples[depth]
    for i in range(depths[depth, ROWS]):
        state = old[i] * r + column[np.uint64(example[i])]
        new[i] = state
        number[np.uint64(state)] = 1
    return _number_marked(number, cells)


@inner
def _descend(
    classes: Numbers,
    n_classes: int,
    depth: int,
    states: Numbers,
    examples: Numbers,
    counts: Integers,
    depths: Integers,
    number: Numbers,
) -> None:
    """Fill the rows of the next depth; those of one class and parent state become one."""
    n = depths[depth, ROWS]
    state, example, count = states[depth + 1], examples[depth + 1], counts[depth + 1]
    for i in range(n):
        state[i] = number[np.uint64(state[i])]
    cells = depths[depth + 1, STATES] * n_classes
    if cells > len(number):
        for i in range(n):  # a copy of slices would bring numba's text for unequal shapes with it
            example[i] = examples[depth, i]
            count[i] = counts[depth, i]
        depths[depth + 1, ROWS] = n
        return
    number[:cells] = -1
    n_joined = 0
    for i in range(n):
        one = examples[depth, i]
        cell = np.uint64(state[i] * n_classes + classes[np.uint64(one)])
        k = number[cell]
        if k < 0:
            number[cell] = n_joined
            state[n_joined] = state[i]
            example[n_joined] = one
            count[n_joined] = counts[depth, i]
            n_joined += 1
        else:
            count[np.uint64(k)] += counts[depth, i]
    depths[depth + 1, ROWS] = n_joined


@inner
def _number_marked(number: Numbers, cells: int) -> int:
    """Number the cells that hold 1 from 0 on, return how many there are; others get any number."""
    n = 0
    for cell in range(cells):
        mark = number[cell]
        number[cell] = n
        n += mark
    return n
