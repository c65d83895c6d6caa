r"""Graphs drawn with their exact probabilities, from sums over the lattice of sets.

With the sums :math:`a_x(U)` of the weights of a child's parents within U, and a prior by orders, an
order is drawn from its last variable to its first, then the parents of each among those before it.

If each graph counts once it is drawn layer by layer: a node of a layer has a parent in the layer
before it, and none in its own or later. If U is placed and W was before its last layer, the next
layer is R with a weight proportional to

.. math:: \prod_{x \in R} \frac{a_x(U) - a_x(W)}{a_x(U)}
    \sum_{X \supseteq R} (-1)^{|X \setminus R|} B(U \cup X) \prod_{x \in X} a_x(U) ,

where B are the sums over graphs on the rest: the sum leaves the graphs in which R are all the nodes
whose parents are in U, the fraction those in which they were not so before.

References
----------
T. Talvitie, A. Vuoksenmaa, M. Koivisto (2020). Exact sampling of directed acyclic graphs from
modular distributions. Proceedings of UAI 35.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np

from consilience._typing import Floats, Integers
from consilience.structure.searches.class_masks import bits

__all__ = ["Draw", "draws_along_orders", "draws_in_layers", "place_of", "set_at"]

Draw: TypeAlias = Callable[[np.random.Generator], list[int]]
"""Draws a graph: the set of parents of each variable, as a mask."""

Sets = TypeVar("Sets", int, Integers)

NUMBERS_KEPT = 1 << 23
"""Sums that are remembered between draws, about."""


def place_of(members: Sets, child: int) -> Sets:
    """The masks of sets without the child's bit."""
    below = (1 << child) - 1
    return (members & below) | (members >> 1 & ~below)


def set_at(places: Integers, child: int) -> Integers:
    """The sets of others at these places, as masks over all variables."""
    below = (1 << child) - 1
    return (places & below) | (places & ~below) << 1


def draws_along_orders(weights: Floats, within: Floats, below: Floats) -> Draw:
    """Draws a graph, given the sums over orders of each set; a graph counts once an order."""
    p = len(weights)

    @lru_cache(maxsize=NUMBERS_KEPT // p)
    def last(members: int) -> tuple[list[int], Floats]:
        some = list(bits(members))
        values = [below[members ^ 1 << x] + within[x, place_of(members ^ 1 << x, x)] for x in some]
        return some, np.cumsum(np.exp(np.array(values) - below[members]))

    parents_of = _parents(weights)

    def draw(rng: np.random.Generator) -> list[int]:
        parents, members = [0] * p, (1 << p) - 1
        while members:
            some, sums = last(members)
            child = some[_one_of(sums, rng)]
            members ^= 1 << child
            parents[child] = parents_of(child, members, -1, rng)
        return parents

    return draw


def draws_in_layers(weights: Floats, within: Floats, above: Floats) -> Draw:
    """Draws a graph, given the sums over graphs on what is not in each set; a graph counts once."""
    p = len(weights)
    parents_of = _parents(weights)

    @lru_cache(maxsize=max(2, NUMBERS_KEPT >> p))
    def layers(placed: int, before: int) -> tuple[list[int], Floats]:
        rest = list(bits(~placed & (1 << p) - 1))
        return rest, np.cumsum(_layer_weights(within, above, placed, before, rest=rest))

    def draw(rng: np.random.Generator) -> list[int]:
        parents, placed, before = [0] * p, 0, -1
        while placed != (1 << p) - 1:
            rest, sums = layers(placed, before)
            layer = _one_of(sums, rng)
            chosen = [x for k, x in enumerate(rest) if layer >> k & 1]
            for child in chosen:
                parents[child] = parents_of(child, placed, before, rng)
            before, placed = placed, placed | sum(1 << x for x in chosen)
        return parents

    return draw


def _layer_weights(
    within: Floats, above: Floats, placed: int, before: int, *, rest: Sequence[int]
) -> Floats:
    """Of each set of the rest, how likely it is the next layer; ``before`` is -1 for the first."""
    own = np.array([within[x, place_of(placed, x)] for x in rest])
    values = _over_sets(own, 0.0, np.add) + above[placed | _masks(rest)]
    values = np.exp(values - values.max())
    for k in range(len(rest)):  # sums over supersets, with signs
        halves = values.reshape(-1, 2, 1 << k)
        halves[:, 0] -= halves[:, 1]
    values[0] = 0.0
    if before >= 0:
        old = np.array([within[x, place_of(before, x)] for x in rest])
        is_new = np.where(own > -np.inf, -np.expm1(np.minimum(old - np.maximum(own, -1e300), 0)), 0)
        values *= _over_sets(is_new, 1.0, np.multiply)
    return np.maximum(values, 0.0)


def _parents(weights: Floats) -> Callable[[int, int, int, np.random.Generator], int]:
    """Draws parents of a child within a set, but not within another one unless that is -1."""

    @lru_cache(maxsize=max(2, NUMBERS_KEPT >> len(weights)))
    def sums(child: int, members: int, before: int) -> tuple[Integers, Floats]:
        sets = _masks(bits(members))
        if before >= 0:
            sets = sets[sets & ~before != 0]
        values = weights[child, place_of(sets, child)]
        return sets, np.cumsum(np.exp(values - values.max()))

    def draw(child: int, members: int, before: int, rng: np.random.Generator) -> int:
        sets, cumulative = sums(child, members, before)
        return int(sets[_one_of(cumulative, rng)])

    return draw


def _masks(members: Iterable[int]) -> Integers:
    """For each set of some variables its mask."""
    found: Integers = _over_sets([1 << x for x in members], 0, np.bitwise_or)
    return found


def _over_sets(numbers: Any, nothing: float, join: np.ufunc) -> Any:
    """For each set of some numbers what they are together."""
    found = np.array([nothing])
    for one in numbers:
        found = np.concatenate([found, join(found, one)])
    return found


def _one_of(sums: Floats, rng: np.random.Generator) -> int:
    """A place drawn with its weight, given the sums of the weights up to each place."""
    return min(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")), len(sums) - 1)
