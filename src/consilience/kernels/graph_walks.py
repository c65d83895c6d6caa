r"""Random walks over orders and over ordered layers of variables, and graphs drawn along them.

Each variable has some candidate parents, whose sets are bit masks of its own: ``bits[x, y]`` is the
bit of y in the sets of x, 0 if y is no candidate. One parent more may come from outside. All
numbers are logarithms:

- ``one[x, T]``: weight of x with the candidates T as parents;
- ``one_more[x, T, y]``: the same with y from outside as one more parent;
- ``sums``, ``sums_more``: both summed over the subsets of each T.

A step of a walk takes one variable out and puts it back at a place that is drawn with the right
probability among all places, given where the others are (a Gibbs step). A ``power`` below one of
all weights makes it bolder.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["draw_graph", "layers_of", "turn_arcs", "walk_layers", "walk_orders"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

Bytes = npt.NDArray[np.uint8]


@kernel
def walk_orders(
    order: Integers,
    sums: Floats,
    sums_more: Floats,
    bits: Integers,
    power: float,
    numbers: Floats,
) -> None:
    """Make steps over orders, two of ``numbers`` (uniform in [0, 1)) for each.

    A variable's parents come from all before it. An order weighs the product over its variables of
    the sums of their weights.
    """
    p = len(order)
    others = np.empty(p, np.int64)
    own, without, with_it = np.empty(p), np.empty(p), np.empty(p + 1)
    pair, is_before = np.empty(2), np.empty(p, np.uint8)
    for step in range(len(numbers) // 2):
        moved = order[min(int(numbers[2 * step] * p), p - 1)]
        n = 0
        for k in range(p):
            if order[k] != moved:
                others[n] = order[k]
                n += 1
        is_before[:] = 0
        for k in range(p):
            own[k] = _sum_within(moved, is_before, sums, sums_more, bits)
            if k < n:
                _both_sums(others[k], moved, is_before, sums, sums_more, bits, pair)
                without[k], with_it[k] = pair[0], pair[1]
                is_before[others[k]] = 1
        with_it[n] = 0.0
        for k in range(n - 1, -1, -1):
            with_it[k] += with_it[k + 1]
        before = 0.0
        for k in range(p):
            own[k] += before + with_it[k]
            if k < n:
                before += without[k]
        place = _drawn(own, p, power, numbers[2 * step + 1])
        if place >= 0:
            for k in range(p):
                order[k] = others[k] if k < place else moved if k == place else others[k - 1]


@kernel
def walk_layers(
    layers: Integers,
    sums: Floats,
    sums_more: Floats,
    bits: Integers,
    power: float,
    numbers: Floats,
) -> None:
    """Make steps over ordered layers, two of ``numbers`` (uniform in [0, 1)) for each.

    ``layers[x]`` is the layer of x. A variable has a parent in the layer before its own, and others
    in any layer before; so each graph belongs to one partition into layers. A variable that is
    taken out comes back into a layer, or as a layer of its own before, between or after the others.
    """
    p = len(layers)
    others, layer = np.empty(p, np.int64), np.empty(p, np.int64)
    values, own = np.empty(2 * p + 1), np.empty(p + 1)
    away, far, joined, split = np.empty(p + 2), np.empty(p + 2), np.empty(p + 2), np.empty(p + 2)
    pair, is_before, is_far = np.empty(2), np.empty(p, np.uint8), np.empty(p, np.uint8)
    for step in range(len(numbers) // 2):
        moved = min(int(numbers[2 * step] * p), p - 1)
        n_layers = _without(layers, moved, others, layer)
        is_before[:] = 0
        is_far[:] = 0
        at = 0
        for k in range(n_layers + 1):
            own[k] = _sum_within(moved, is_before, sums, sums_more, bits)
            if k > 0:
                own[k] = _less(own[k], _sum_within(moved, is_far, sums, sums_more, bits))
            away[k] = far[k] = joined[k] = split[k] = 0.0
            first = at
            while at < p - 1 and layer[others[at]] == k:
                x = others[at]
                _both_sums(x, moved, is_before, sums, sums_more, bits, pair)
                near, near_with = pair[0], pair[1]
                split[k] += _less(near_with, near)
                if k == 0:
                    away[k] += near
                else:
                    _both_sums(x, moved, is_far, sums, sums_more, bits, pair)
                    away[k] += _less(near, pair[0])
                    far[k] += _less(near_with, pair[1])
                    joined[k] += _less(near_with, pair[0])
                at += 1
            for y in range(p):
                is_far[y] = is_before[y]
            for i in range(first, at):
                is_before[others[i]] = 1
        far[n_layers + 1] = 0.0
        for k in range(n_layers - 1, -1, -1):
            far[k] += far[k + 1]
        head = 0.0
        for k in range(n_layers + 1):
            values[2 * k] = own[k] + head + split[k] + far[k + 1]
            if k < n_layers:
                head += away[k]
                values[2 * k + 1] = own[k] + head + joined[k + 1] + far[k + 2]
        chosen = _drawn(values, 2 * n_layers + 1, power, numbers[2 * step + 1])
        if chosen >= 0:
            place, is_new = chosen // 2, chosen % 2 == 0
            for i in range(p - 1):
                x = others[i]
                layers[x] = layer[x] + (1 if is_new and layer[x] >= place else 0)
            layers[moved] = place


@kernel
def draw_graph(
    layers: Integers,
    needs_near: bool,
    one: Floats,
    one_more: Floats,
    sums: Floats,
    sums_more: Floats,
    bits: Integers,
    numbers: Floats,
    arcs: Bytes,
) -> float:
    """Draw parents for all variables and return the log weight of the graph.

    Parents of x come from all with a lower number in ``layers``; if ``needs_near``, at least one
    has the number just before. ``arcs[y, x]`` becomes 1 for the arc y -> x. There are two of
    ``numbers`` (uniform in [0, 1)) for each variable.
    """
    p = len(layers)
    blocks = np.empty(p + 1)
    arcs[:] = 0
    total = 0.0
    for x in range(p):
        mask, mask_far = 0, 0
        for y in range(p):
            if layers[y] < layers[x]:
                mask |= bits[x, y]
                if layers[y] < layers[x] - 1:
                    mask_far |= bits[x, y]
        is_bound = needs_near and layers[x] > 0
        blocks[p] = _less(sums[x, mask], sums[x, mask_far]) if is_bound else sums[x, mask]
        for y in range(p):
            blocks[y] = -np.inf
            if layers[y] < layers[x]:
                blocks[y] = sums_more[x, mask, y]
                if is_bound and layers[y] < layers[x] - 1:
                    blocks[y] = _less(blocks[y], sums_more[x, mask_far, y])
        more = _drawn(blocks, p + 1, 1.0, numbers[2 * x])
        free = is_bound and (more == p or layers[more] < layers[x] - 1)
        left = numbers[2 * x + 1]
        chosen, weight = -1, -np.inf
        some = mask
        while True:
            if not (free and some & ~mask_far == 0):
                value = one[x, some] if more == p else one_more[x, some, more]
                if value > -np.inf:
                    chosen, weight = some, value
                    left -= np.exp(value - blocks[more])
                    if left < 0.0:
                        break
            if some == 0:
                break
            some = (some - 1) & mask
        total += weight
        if more < p:
            arcs[more, x] = 1
        for y in range(p):
            if bits[x, y] & chosen != 0:
                arcs[y, x] = 1
    return total


@kernel
def turn_arcs(arcs: Bytes, one: Floats, one_more: Floats, bits: Integers, numbers: Floats) -> float:
    """Turn arcs of a graph round, and return what its log weight has gained.

    Each step proposes one of the arcs, two of ``numbers`` (uniform in [0, 1)) for it. An arc y -> x
    is turned only if all other parents of both are the same: then no cycle can arise, equivalent
    graphs are reached, and it can be turned back. It is accepted as Metropolis does.
    """
    p = len(arcs)
    starts, ends = np.nonzero(arcs)
    total = 0.0
    if len(starts) == 0:
        return total
    for step in range(len(numbers) // 2):
        k = min(int(numbers[2 * step] * len(starts)), len(starts) - 1)
        y, x = starts[k], ends[k]
        is_covered = True
        for z in range(p):
            if z != y and arcs[z, x] != arcs[z, y]:
                is_covered = False
                break
        if not is_covered:
            continue
        old = _weight(x, arcs, one, one_more, bits) + _weight(y, arcs, one, one_more, bits)
        arcs[y, x], arcs[x, y] = 0, 1
        new = _weight(x, arcs, one, one_more, bits) + _weight(y, arcs, one, one_more, bits)
        if new - old >= 0.0 or numbers[2 * step + 1] < np.exp(new - old):
            starts[k], ends[k] = x, y
            total += new - old
        else:
            arcs[y, x], arcs[x, y] = 1, 0
    return total


@kernel
def layers_of(arcs: Bytes, layers: Integers) -> None:
    """Fill in the layer of each variable of a graph: one more than that of its latest parent."""
    p = len(arcs)
    layers[:] = 0
    is_done = False
    while not is_done:
        is_done = True
        for x in range(p):
            for y in range(p):
                if arcs[y, x] and layers[x] <= layers[y]:
                    layers[x] = layers[y] + 1
                    is_done = False


@inner
def _weight(x: int, arcs: Bytes, one: Floats, one_more: Floats, bits: Integers) -> float:
    """Log weight of the parents that x has; minus infinity if two come from outside."""
    mask, outside = 0, -1
    for y in range(len(arcs)):
        if arcs[y, x]:
            if bits[x, y] != 0:
                mask |= bits[x, y]
            elif outside >= 0:
                return -np.inf
            else:
                outside = y
    return float(one[x, mask] if outside < 0 else one_more[x, mask, outside])


@inner
def _without(layers: Integers, moved: int, others: Integers, layer: Integers) -> int:
    """List all variables but one by layer; ``layer`` is numbered anew if that one was alone."""
    p = len(layers)
    n, n_layers = 0, 0
    for k in range(p):
        begun = n
        for x in range(p):
            if layers[x] == k and x != moved:
                others[n] = x
                layer[x] = n_layers
                n += 1
        if n > begun:
            n_layers += 1
        if n == p - 1:
            break
    return n_layers


@inner
def _both_sums(
    x: int,
    more: int,
    is_before: Bytes,
    sums: Floats,
    sums_more: Floats,
    bits: Integers,
    out: Floats,
) -> None:
    """The sum of the weights of x with parents among those before, and with one variable more."""
    out[0] = _sum_within(x, is_before, sums, sums_more, bits)
    if bits[x, more] != 0:
        is_before[more] = 1
        out[1] = _sum_within(x, is_before, sums, sums_more, bits)
        is_before[more] = 0
        return
    mask = 0
    for y in range(len(is_before)):
        if is_before[y]:
            mask |= bits[x, y]
    value = sums_more[x, mask, more]
    top = max(out[0], value)
    out[1] = top
    if top > -np.inf:
        out[1] = top + np.log1p(np.exp(min(out[0], value) - top))


@inner
def _sum_within(x: int, is_before: Bytes, sums: Floats, sums_more: Floats, bits: Integers) -> float:
    """The sum of the weights of x over all its sets of parents among those before."""
    p = len(is_before)
    mask = 0
    for y in range(p):
        if is_before[y]:
            mask |= bits[x, y]
    top, total = sums[x, mask], 1.0
    for y in range(p):
        if is_before[y]:
            value = sums_more[x, mask, y]
            if value > top:
                total = total * np.exp(top - value) + 1.0
                top = value
            elif value > -np.inf:
                total += np.exp(value - top)
    return float(top + np.log(total))


@inner
def _less(a: float, b: float) -> float:
    if b >= a:
        return -np.inf
    return a if b == -np.inf else a + np.log1p(-np.exp(b - a))


@inner
def _drawn(values: Floats, n: int, power: float, number: float) -> int:
    """A place drawn with a power of the weights whose logarithms are given; -1 if all are zero."""
    top = -np.inf
    for k in range(n):
        top = max(top, values[k])
    if top == -np.inf:
        return -1
    total = 0.0
    for k in range(n):
        total += np.exp(power * (values[k] - top))
    left, last = number * total, -1
    for k in range(n):
        if values[k] > -np.inf:
            last = k
            left -= np.exp(power * (values[k] - top))
            if left < 0.0:
                break
    return last
