"""Back-off orders of a chain: which variable each level drops, and which row backs off to which.

The variables of a family are axes: the source first, if there is one, then the parents that have
more than one state. A *way* drops them one after the other and gives each row of a level a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from consilience._typing import Floats, Integers

__all__ = ["MAIN_PARENT", "OTHER_PARENT", "SOURCE", "Way", "way_of", "with_new_source"]

SOURCE, MAIN_PARENT, OTHER_PARENT = range(3)
"""Kinds of dropped variables; each has its own prior of the strength."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A back-off order with its exponent, in the form that the kernels want.

    Parameters
    ----------
    sizes
        Number of states of each axis.
    order
        The axes in the order in which they are dropped.
    rho
        By level: a row of total t has the weight (t + 1) ** rho, relative to the mean of its level;
        0 at a level that drops the source, since a large source is no more like the others.
    kinds
        ``kinds[l]`` is the kind of the variable dropped between levels ``l`` and ``l - 1``.
    up, start
        The rows of all levels in one list, see ``kernels/chain.py``.
    unseen
        The row that a source never seen backs off to, for each parent state.
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    rho: Floats
    kinds: Integers
    up: Integers
    start: Integers
    unseen: Integers

    @property
    def drops_source_first(self) -> bool:
        """Whether a source never seen keeps all that is known of the parents."""
        return bool(self.kinds[-1] == SOURCE) and len(self.kinds) > 1


def way_of(sizes: Sequence[int], kinds: Sequence[int], order: tuple[int, ...], rho: float) -> Way:
    """The way that drops axes of these sizes and kinds in this order, with this exponent where a
    parent is dropped.
    """
    kept, n_rows, maps = list(range(len(sizes))), [prod(sizes)], []
    for axis in order:
        shape, place = [sizes[other] for other in kept], kept.index(axis)
        kept.pop(place)
        after = np.arange(n_rows[-1] // sizes[axis]).reshape([sizes[other] for other in kept])
        maps.append(np.broadcast_to(np.expand_dims(after, place), shape).ravel())
        n_rows.append(after.size)
    start = np.cumsum([0, *reversed(n_rows)])
    levels = [rows + at for rows, at in zip(reversed(maps), start, strict=False)]
    up = np.concatenate([np.zeros(1, np.int64), *levels])
    by_level = np.array([SOURCE, *(kinds[axis] for axis in reversed(order))], np.int64)
    unseen = _unseen(up, start, by_level, sizes)
    rhos = np.where(by_level == SOURCE, 0.0, float(rho))
    return Way(tuple(sizes), order, rhos, by_level, up, start, unseen)


def with_new_source(way: Way) -> Way:
    """The same way with one source more, the last."""
    kinds = dict(zip(reversed(way.order), way.kinds[1:].tolist(), strict=True))
    sizes = (way.sizes[0] + 1, *way.sizes[1:])
    more = way_of(sizes, [kinds[axis] for axis in range(len(sizes))], way.order, 0.0)
    return replace(more, rho=way.rho)


def _unseen(up: Integers, start: Integers, kinds: Integers, sizes: Sequence[int]) -> Integers:
    """Rows that back-off reaches by dropping the source, from those of the first source."""
    sourced = np.flatnonzero(kinds[1:] == SOURCE)
    if not len(sourced):
        return np.zeros(0, np.int64)
    rows = start[-2] + np.arange(prod(sizes[1:]))
    for _ in range(len(kinds) - 1 - sourced[0]):
        rows = up[rows]
    return rows
