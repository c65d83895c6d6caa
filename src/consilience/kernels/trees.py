"""A junction tree and the evidence for it, as arrays for the kernels that send its messages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Codes, Floats, Integers
from consilience.kernels.compile import kernel

__all__ = ["Likely", "Room", "Sizes", "TreeArrays", "indicators"]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere: a release must not meet an old one

Sizes = npt.NDArray[np.uint64]


class TreeArrays(NamedTuple):
    """A junction tree as flat arrays; children have smaller numbers than their parents.

    ``axes[start[c]:start[c + 1]]`` are the variables of clique ``c`` and the first ``n_shared[c]``
    of them its separator. The potential of ``c`` is ``potential[potential_start[c]:]``, row-major
    over all states of those variables that it has, with the strides ``stride[start[c]:start[c +
    1]]``, zero for the others; ``least[c]`` is its least positive entry, and ``has_zeros[c]`` says
    whether it has zeros, too.
    """

    n_states: Sizes
    start: Integers
    axes: Integers
    n_shared: Integers
    parent: Integers
    stride: Sizes
    potential: Floats
    least: Floats
    has_zeros: Bools
    potential_start: Integers
    first_child: Integers
    next_child: Integers


class Likely(NamedTuple):
    """Likelihoods over sets of variables, a number for each joint state and row.

    Likelihood ``k`` is ``values[start[k]:]``, over the variables ``axes[first[k]:first[k + 1]]``
    (row-major over the states that are left of them, rows innermost), and enters in ``clique[k]``,
    which holds them all. ``least[k]`` is not above its least positive number. They stand in the
    order of the cliques.
    """

    clique: Integers
    axes: Integers
    first: Integers
    start: Integers
    values: Floats
    least: Floats


class Room(NamedTuple):
    """Working memory: for the axes of any clique, the variables, the rows twice, the cliques.

    ``strides`` are zero between calls.
    """

    work: Sizes
    strides: Sizes
    largest: Floats
    product: Floats
    bounds: Floats


@kernel
def indicators(codes: Codes, n_states: Integers, start: Integers, n_rows: int, out: Floats) -> None:
    """Likelihoods of observed states: one for the state, or for all where nothing is known.

    ``codes`` has shape (variables, rows) and -1 for missing; those of variable ``k`` go to
    ``out[start[k]:]``, states outermost.
    """
    for k in range(len(codes)):
        for s in range(n_states[k]):
            row = out[start[k] + s * n_rows : start[k] + (s + 1) * n_rows]
            for b in range(n_rows):
                row[b] = 1.0 if codes[k, b] == s or codes[k, b] < 0 else 0.0
