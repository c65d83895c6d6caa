"""The random walk of simulated annealing: proposals until one is accepted.

A graph of ``p`` nodes is held as ``arcs[j, i]``, 1 for the arc i -> j, and as the list of parents
``parents[j, :n_parents[j]]`` in any order. ``gains[j, i]`` is the gain in score if i is added to or
taken from the parents of j; reversing i -> j gains ``gains[j, i] + gains[i, j]``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["NUMBERS_PER_STEP", "walk"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Bytes = npt.NDArray[np.uint8]

NUMBERS_PER_STEP = 3


@kernel
def walk(
    arcs: Bytes,
    parents: Integers,
    n_parents: Integers,
    gains: Floats,
    temperature: float,
    numbers: Floats,
    first: int,
    move: Integers,
) -> int:
    """Propose random moves from step ``first`` on until one is made; return the step after it.

    A step draws a pair (i, j). Without an arc i -> j it is added; with one it is deleted or
    reversed, each as often as not. What would close a cycle is not made, else a move that loses
    ``d`` is made with probability ``exp(-d / temperature)``. ``numbers`` are uniform in [0, 1),
    three a step. ``move`` becomes (reversed or not, from, to), or (-1, ., .) if all were refused.
    """
    p = len(n_parents)
    move[0] = -1
    for step in range(first, len(numbers) // 3):
        pair = min(int(numbers[3 * step] * p * (p - 1)), p * (p - 1) - 1)
        j = pair // (p - 1)
        i = pair % (p - 1)
        i += i >= j
        gain = gains[j, i]
        turns = arcs[j, i] == 1 and numbers[3 * step + 1] < 0.5
        if turns:
            gain += gains[i, j]
        elif arcs[i, j]:
            continue
        if gain < 0.0 and numbers[3 * step + 2] >= np.exp(gain / temperature):
            continue
        if arcs[j, i]:
            _drop(arcs, parents, n_parents, i, j)
            if turns and _leads(parents, n_parents, i, j):
                _add(arcs, parents, n_parents, i, j)
                continue
            if turns:
                _add(arcs, parents, n_parents, j, i)
        elif _leads(parents, n_parents, j, i):
            continue
        else:
            _add(arcs, parents, n_parents, i, j)
        move[0] = turns
        move[1] = i
        move[2] = j
        return step + 1
    return len(numbers) // 3


@inner
def _add(arcs: Bytes, parents: Integers, n_parents: Integers, i: int, j: int) -> None:
    arcs[j, i] = 1
    parents[j, n_parents[j]] = i
    n_parents[j] += 1


@inner
def _drop(arcs: Bytes, parents: Integers, n_parents: Integers, i: int, j: int) -> None:
    arcs[j, i] = 0
    k = 0
    while parents[j, k] != i:
        k += 1
    n_parents[j] -= 1
    parents[j, k] = parents[j, n_parents[j]]


@inner
def _leads(parents: Integers, n_parents: Integers, start: int, end: int) -> bool:
    """Whether a path leads from start to end: a search from the end upwards."""
    p = len(n_parents)
    seen = np.zeros(p, np.uint8)
    waiting = np.empty(p, np.int64)
    waiting[0] = end
    n_waiting = 1
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        for k in range(n_parents[node]):
            parent = parents[node, k]
            if parent == start:
                return True
            if not seen[parent]:
                seen[parent] = 1
                waiting[n_waiting] = parent
                n_waiting += 1
    return False
