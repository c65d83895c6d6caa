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

__all__ = [
    "draw_graph",
    "layers_of",
    "redraw_parents",
    "reverse_arcs",
    "turn_arcs",
    "walk_layers",
    "walk_orders",
]

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
    blocks, is_able, is_far = np.empty(p + 1), np.empty(p, np.uint8), np.empty(p, np.uint8)
    tables = one, one_more, sums, sums_more, bits
    arcs[:] = 0
    total = 0.0
    for x in range(p):
        for y in range(p):
            is_able[y] = layers[y] < layers[x]
            is_far[y] = layers[y] < layers[x] - 1
        is_bound = needs_near and layers[x] > 0
        two = numbers[2 * x : 2 * x + 2]
        total += _draw_parents(x, is_able, is_far, is_bound, tables, two, blocks, arcs)
    return total


@kernel
def redraw_parents(
    arcs: Bytes,
    one: Floats,
    one_more: Floats,
    sums: Floats,
    sums_more: Floats,
    bits: Integers,
    numbers: Floats,
) -> float:
    """Draw the parents of variables anew, and return what the log weight of the graph has gained.

    Each step takes a variable and draws its parents among all that do not descend from it (a Gibbs
    step); three of ``numbers`` (uniform in [0, 1)) for it.
    """
    p = len(arcs)
    blocks, is_able, is_far = np.empty(p + 1), np.empty(p, np.uint8), np.zeros(p, np.uint8)
    tables = one, one_more, sums, sums_more, bits
    gain = 0.0
    for step in range(len(numbers) // 3):
        x = min(int(numbers[3 * step] * p), p - 1)
        gain -= _weight(x, arcs, one, one_more, bits)
        arcs[:, x] = 0
        _mark_above(x, arcs, is_able)
        two = numbers[3 * step + 1 : 3 * step + 3]
        gain += _draw_parents(x, is_able, is_far, False, tables, two, blocks, arcs)
    return gain


@kernel
def reverse_arcs(
    arcs: Bytes,
    one: Floats,
    one_more: Floats,
    sums: Floats,
    sums_more: Floats,
    bits: Integers,
    numbers: Floats,
) -> float:
    r"""Turn arcs round with new parents for both ends; what the log weight of the graph has gained.

    Each step takes one of the m arcs, y -> x, and all parents of both away. Parents of y are drawn
    that include x, of total weight :math:`Z_{y \ni x}`, then any of x, of total weight
    :math:`Z_x`, all among those that do not descend from them. With the same sums for the way back,
    and m' arcs in the end, that is accepted with probability

    .. math:: \min\Bigl(1, \frac{m}{m'} \frac{Z_{y \ni x} Z_x}{Z'_{x \ni y} Z'_y}\Bigr)

    (Grzegorczyk and Husmeier 2008). Six of ``numbers`` (uniform in [0, 1)) for each step.
    """
    p = len(arcs)
    blocks, is_able, is_far = np.empty(p + 1), np.empty(p, np.uint8), np.empty(p, np.uint8)
    tables = one, one_more, sums, sums_more, bits
    of_x, of_y = np.empty(p, np.uint8), np.empty(p, np.uint8)
    gain = 0.0
    for step in range(len(numbers) // 6):
        mine = numbers[6 * step : 6 * step + 6]
        y, x, n_arcs = _drawn_arc(arcs, mine[0])
        if n_arcs == 0:
            return gain
        old = _weight(x, arcs, one, one_more, bits) + _weight(y, arcs, one, one_more, bits)
        of_x[:], of_y[:] = arcs[:, x], arcs[:, y]
        arcs[:, x], arcs[:, y] = 0, 0
        log_ratio = -_sum_with(x, y, arcs, is_able, is_far, tables)
        arcs[:, x] = of_x
        _mark_above(y, arcs, is_able)
        log_ratio -= _sum_within(y, is_able, sums, sums_more, bits)
        arcs[:, x] = 0
        log_ratio += _sum_with(y, x, arcs, is_able, is_far, tables)
        new = -np.inf
        if log_ratio > -np.inf:
            new = _draw_parents(y, is_able, is_far, True, tables, mine[1:3], blocks, arcs)
            _mark_above(x, arcs, is_able)
            log_ratio += _sum_within(x, is_able, sums, sums_more, bits)
            new += _draw_parents(x, is_able, is_far, False, tables, mine[3:5], blocks, arcs)
            log_ratio += np.log(n_arcs / arcs.sum())
        if log_ratio >= 0.0 or mine[5] < np.exp(log_ratio):
            gain += new - old
        else:
            arcs[:, x], arcs[:, y] = of_x, of_y
    return gain


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
def _draw_parents(
    x: int,
    is_able: Bytes,
    is_far: Bytes,
    is_bound: bool,
    tables: tuple[Floats, Floats, Floats, Floats, Integers],
    numbers: Floats,
    blocks: Floats,
    arcs: Bytes,
) -> float:
    """Draw parents of x among those able, at least one not far if bound; their log weight."""
    one, one_more, sums, sums_more, bits = tables
    p = len(is_able)
    mask, mask_far = 0, 0
    for y in range(p):
        if is_able[y]:
            mask |= bits[x, y]
            if is_far[y]:
                mask_far |= bits[x, y]
    blocks[p] = _less(sums[x, mask], sums[x, mask_far]) if is_bound else sums[x, mask]
    for y in range(p):
        blocks[y] = -np.inf
        if is_able[y]:
            blocks[y] = sums_more[x, mask, y]
            if is_bound and is_far[y]:
                blocks[y] = _less(blocks[y], sums_more[x, mask_far, y])
    more = _drawn(blocks, p + 1, 1.0, numbers[0])
    is_free = is_bound and (more == p or is_far[more])
    left = numbers[1]
    chosen, weight = -1, -np.inf
    some = mask
    while True:
        if not (is_free and some & ~mask_far == 0):
            value = one[x, some] if more == p else one_more[x, some, more]
            if value > -np.inf:
                chosen, weight = some, value
                left -= np.exp(value - blocks[more])
                if left < 0.0:
                    break
        if some == 0:
            break
        some = (some - 1) & mask
    if more < p:
        arcs[more, x] = 1
    for y in range(p):
        if bits[x, y] & chosen != 0:
            arcs[y, x] = 1
    return float(weight)


@inner
def _drawn_arc(arcs: Bytes, number: float) -> tuple[int, int, int]:
    """One of the arcs, its start and its end, and how many there are; each is as likely."""
    p = len(arcs)
    n_arcs = 0
    for y in range(p):
        for x in range(p):
            n_arcs += arcs[y, x]
    left = min(int(number * n_arcs), n_arcs - 1)
    for y in range(p):
        for x in range(p):
            if arcs[y, x]:
                if left == 0:
                    return y, x, n_arcs
                left -= 1
    return 0, 0, 0


@inner
def _mark_above(x: int, arcs: Bytes, is_able: Bytes) -> None:
    """Mark all variables that may be parents of x, which has none: those not below it."""
    p = len(arcs)
    is_able[:] = 1
    is_able[x] = 0
    waiting = np.empty(p, np.int64)
    waiting[0] = x
    n = 1
    while n > 0:
        n -= 1
        start = waiting[n]
        for end in range(p):
            if arcs[start, end] and is_able[end]:
                is_able[end] = 0
                waiting[n] = end
                n += 1


@inner
def _sum_with(
    x: int,
    y: int,
    arcs: Bytes,
    is_able: Bytes,
    is_far: Bytes,
    tables: tuple[Floats, Floats, Floats, Floats, Integers],
) -> float:
    """The sum of the weights of x over all sets of parents with y that are not below x.

    Both have no parents. Marks who may be a parent of x, and as far all of them but y.
    """
    _, _, sums, sums_more, bits = tables
    _mark_above(x, arcs, is_able)
    is_far[:] = is_able
    is_far[y] = 0
    every = _sum_within(x, is_able, sums, sums_more, bits)
    return _less(every, _sum_within(x, is_far, sums, sums_more, bits))


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
