r"""Drawing states: one uniform number for each row and node, compared with cumulative tables.

The number of row :math:`i` is :math:`h(k + i \gamma)`, where :math:`k` is a random key of the node,
:math:`\gamma` an odd constant and :math:`h` the finalizer of SplitMix64 (Steele, Lea and Flood
2014). It depends on nothing but the key and the row, so the rows can be drawn in any order, in any
blocks, by any number of threads.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Codes, Integers
from consilience.kernels.compile import kernel

__all__ = ["draw_states"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def _uniform(state: np.uint64) -> np.int64:
    """A uniform number in units of 2^-53 from the state of a row."""
    z = (state ^ (state >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11))


@kernel
def draw_states(
    key: np.uint64, first_row: int, code: Codes, stride: int, thresholds: Integers, out: Codes
) -> None:
    r"""Fill ``out`` with states of rows ``first_row`` on, drawn from row ``code[i]`` of a table.

    ``thresholds[j * stride + k]`` is the probability of the states up to ``k`` in units of
    :math:`2^{-53}`, rounded up; it is exactly :math:`2^{53}` from the last possible state on, so
    that a state of probability zero is never drawn. The stride is 2 for two states, 4 for three or
    four, which need no branches, and else the number of states.
    """
    state = key + np.uint64(first_row) * GAMMA
    if stride == 2:
        for i in range(len(out)):
            state += GAMMA
            out[i] = _uniform(state) >= thresholds[np.uint64(code[i]) * np.uint64(2)]
    elif stride == 4:
        for i in range(len(out)):
            state += GAMMA
            u = _uniform(state)
            j = np.uint64(code[i]) * np.uint64(4)
            first = np.int64(u >= thresholds[j])
            second = np.int64(u >= thresholds[j + np.uint64(1)])
            out[i] = first + second + np.int64(u >= thresholds[j + np.uint64(2)])
    else:
        for i in range(len(out)):
            state += GAMMA
            u = _uniform(state)
            j = np.uint64(code[i]) * np.uint64(stride)
            low, high = 0, stride - 1
            while low < high:
                middle = (low + high) // 2
                if u >= thresholds[j + np.uint64(middle)]:
                    low = middle + 1
                else:
                    high = middle
            out[i] = low
