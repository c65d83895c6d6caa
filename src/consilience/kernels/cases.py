r"""Hidden parts of rows: which values are missing together, and their posteriors.

Two missing values of a row depend on each other given the rest only if a path of missing variables
leads from one to the other in the moral graph, so the missing variables of a row fall apart into
*hidden sets*. A missing value below which nothing is known (its descendants are missing too) is
*barren*: it says nothing about the others, and is left out with its family. All that matters for a
hidden set is the families that touch it, each at the observed states of its other members: a
*case*. What is known about continuous nodes is a family too, a likelihood over missing parents.
With the parameters of all families in one vector
:math:`\theta`, family ``k`` of a case starts at ``offset[k]``, and joint state ``j`` of the hidden
set is ``inside[k, j]`` further on:

.. math:: w_j = \prod_k \theta[\mathrm{offset}_k + \mathrm{inside}_{kj}], \qquad
    P(j \mid \text{row}) = w_j / \sum_{j'} w_{j'} .

Rows that share a case share its posterior, so the work is that of the different cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "CaseArrays",
    "case_offsets",
    "draw_cases",
    "expect_cases",
    "hidden_sets",
    "hide_barren",
    "joint_places",
    "leaf_counts",
    "leaf_likelihoods",
    "merge_cases",
]

VERSION = "0.1.0"

SMALL = 1e-100
"""Weights whose largest is below it are scaled up: the next factors must not underflow."""


class CaseArrays(NamedTuple):
    """Cases as flat arrays, those of one hidden set one after the other.

    Case ``c`` belongs to hidden set ``of_set[c]``, stands for rows of weight ``weight[c]``, a whole
    number of units, and its families start at ``offset[first[c]:]``. Hidden set ``s`` has
    ``n_joint[s]`` joint states and ``n_families[s]`` families; ``inside[inside_first[s]:]`` has
    shape (families, joint states).
    """

    of_set: npt.NDArray[np.int32]
    weight: Integers
    first: Integers
    offset: npt.NDArray[np.int32]
    n_joint: Integers
    n_families: Integers
    inside: npt.NDArray[np.int32]
    inside_first: Integers


@kernel
def hide_barren(codes: npt.NDArray[np.int32], children: Integers, children_first: Integers) -> None:
    """Turn the code -1 of missing values below which nothing is known into -2, row by row.

    ``codes`` has shape (rows, variables); the children of variable ``v`` are
    ``children[children_first[v]:children_first[v + 1]]``. Repeated until nothing changes, so the
    variables may stand in any order.
    """
    n_rows, n_variables = codes.shape
    for i in range(n_rows):
        is_changed = True
        while is_changed:
            is_changed = False
            for v in range(n_variables - 1, -1, -1):
                if codes[i, v] != -1:
                    continue
                is_barren = True
                for k in range(children_first[v], children_first[v + 1]):
                    is_barren = is_barren and codes[i, children[k]] == -2
                if is_barren:
                    codes[i, v] = -2
                    is_changed = True


@kernel
def hidden_sets(
    codes: npt.NDArray[np.int32],
    neighbors: Integers,
    neighbors_first: Integers,
    children: Integers,
    children_first: Integers,
) -> tuple[Integers, Integers, npt.NDArray[np.int32]]:
    """The hidden sets of all rows: row of each, where its members start, members in order.

    ``codes`` has shape (rows, variables) with -1 for missing and -2 for barren; the neighbors of
    variable ``v`` in the moral graph are ``neighbors[neighbors_first[v]:neighbors_first[v + 1]]``.
    After its members a set lists the barren children of theirs, each plus the number of variables:
    their families have no part in it.
    """
    n_rows, n_variables = codes.shape
    n_missing, n_barren = 0, 0
    for i in range(n_rows):
        for v in range(n_variables):
            if codes[i, v] == -1:
                n_missing += 1
                for k in range(children_first[v], children_first[v + 1]):
                    n_barren += codes[i, children[k]] == -2
    rows = np.empty(n_missing, np.int64)
    first = np.zeros(n_missing + 1, np.int64)
    members = np.empty(n_missing + n_barren, np.int32)
    is_found = np.zeros(n_variables, np.bool_)
    n_sets, n_members = 0, 0
    for i in range(n_rows):
        for v in range(n_variables):
            if codes[i, v] != -1 or is_found[v]:
                continue
            start = n_members
            is_found[v] = True
            members[n_members] = v
            n_members += 1
            at = start
            while at < n_members:
                u = members[at]
                for k in range(neighbors_first[u], neighbors_first[u + 1]):
                    other = neighbors[k]
                    if codes[i, other] == -1 and not is_found[other]:
                        is_found[other] = True
                        members[n_members] = other
                        n_members += 1
                at += 1
            stop = n_members
            for m in range(start, stop):
                u = members[m]
                for k in range(children_first[u], children_first[u + 1]):
                    child = children[k]
                    if codes[i, child] == -2 and not is_found[child]:
                        is_found[child] = True
                        members[n_members] = child + n_variables
                        n_members += 1
            members[start:n_members].sort()
            for m in range(stop, n_members):
                is_found[members[m] - n_variables] = False
            rows[n_sets] = i
            n_sets += 1
            first[n_sets] = n_members
        for v in range(n_variables):
            is_found[v] = False
    return rows[:n_sets].copy(), first[: n_sets + 1].copy(), members[:n_members].copy()


@kernel
def case_offsets(
    codes: npt.NDArray[np.int32],
    rows: Integers,
    of_set: npt.NDArray[np.int32],
    first: Integers,
    touched: Integers,
    touched_first: Integers,
    start: Integers,
    axes: npt.NDArray[np.int32],
    strides: Integers,
    axes_first: Integers,
    own: Integers,
    offset: npt.NDArray[np.int32],
    key: npt.NDArray[np.uint64],
) -> None:
    """Where the families of each pair of a row and a hidden set start, and a key of all that.

    The families of set ``s`` are ``touched[touched_first[s]:touched_first[s + 1]]``; family ``f``
    has its parameters from ``start[f]`` on and the variables ``axes[axes_first[f]:]`` with their
    ``strides``. Families beyond the last start are likelihoods of the rows themselves, from
    ``own[row, f - n]`` on. Those of pair ``p`` are written to ``offset[first[p]:]``.
    """
    n = len(start)
    for p in range(len(rows)):
        i, s = rows[p], of_set[p]
        mixed = np.uint64(s) * np.uint64(0x9E3779B97F4A7C15)
        for k in range(touched_first[s], touched_first[s + 1]):
            f = touched[k]
            place = start[f] if f < n else own[i, f - n]
            for a in range(axes_first[f], axes_first[f + 1]):
                code = codes[i, axes[a]]
                if code > 0:
                    place += strides[a] * code
            offset[first[p] + k - touched_first[s]] = place
            mixed = (mixed ^ np.uint64(place)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        key[p] = mixed


@kernel
def merge_cases(
    order: Integers,
    of_set: npt.NDArray[np.int32],
    first: Integers,
    offset: npt.NDArray[np.int32],
    case_of: Integers,
) -> Integers:
    """For each pair its case, in ``case_of``; the first pair of each case is returned.

    ``order`` sorts the pairs by set and key. Pairs of equal keys are compared with the case before,
    so an accident of the keys costs a case more and no exactness.
    """
    leaders = np.empty(len(order), np.int64)
    n_cases = 0
    for p in order:
        is_new = n_cases == 0
        if not is_new:
            leader = leaders[n_cases - 1]
            n = first[p + 1] - first[p]
            is_new = of_set[p] != of_set[leader] or n != first[leader + 1] - first[leader]
            k = 0
            while not is_new and k < n:
                is_new = offset[first[p] + k] != offset[first[leader] + k]
                k += 1
        if is_new:
            leaders[n_cases] = p
            n_cases += 1
        case_of[p] = n_cases - 1
    return leaders[:n_cases].copy()


@kernel
def joint_places(
    members: Integers,
    members_first: Integers,
    touched: Integers,
    touched_first: Integers,
    n_states: Integers,
    axes: npt.NDArray[np.int32],
    strides: Integers,
    axes_first: Integers,
    inside: npt.NDArray[np.int32],
    inside_first: Integers,
) -> None:
    """How far into each family of a hidden set every joint state of its members leads.

    The members of set ``s`` are ``members[members_first[s]:members_first[s + 1]]``, of which the
    last varies fastest; its families and theirs are as for :func:`case_offsets`. The answer for it
    is ``inside[inside_first[s]:]``, shape (families, joint states).
    """
    for s in range(len(members_first) - 1):
        at = inside_first[s]
        for k in range(touched_first[s], touched_first[s + 1]):
            f, n = touched[k], 1
            inside[at] = 0
            for m in range(members_first[s + 1] - 1, members_first[s] - 1, -1):
                stride = 0
                for a in range(axes_first[f], axes_first[f + 1]):
                    if axes[a] == members[m]:
                        stride = strides[a]
                for state in range(1, n_states[members[m]]):
                    for j in range(n):
                        inside[at + state * n + j] = inside[at + j] + state * stride
                n *= n_states[members[m]]
            at += n


@kernel
def expect_cases(
    cases: CaseArrays,
    theta: Floats,
    unit: float,
    counts: Integers,
    totals: Floats,
    log_scales: Floats,
    work: Floats,
    digits: Integers,
) -> None:
    """Add the expected counts of all cases to ``counts``; leave the sum of the w of each in
    ``totals``, and the log of its unit in ``log_scales``.

    Posteriors are rounded to multiples of ``1 / unit`` before they are weighted and added, so the
    sums are whole numbers that do not depend on their order. If ``counts`` has two rows the second
    has the lower digits. ``work`` and the two rows of ``digits`` have room for the largest number
    of joint states. An impossible case has the total zero, and is not counted.

    The loops over the cases of a set stand in functions of their own, which take the arrays of
    the cases apart once: numba counts references whenever it does.
    """
    start, n_cases = 0, len(cases.of_set)
    while start < n_cases:
        stop = start + 1
        while stop < n_cases and cases.of_set[stop] == cases.of_set[start]:
            stop += 1
        n = cases.n_joint[cases.of_set[start]]
        # Written out so that the compiler makes a loop of its own for each number.
        if n == 2:
            _expect_few(cases, start, stop, theta, unit, counts, totals, log_scales, 2)
        elif n == 3:
            _expect_few(cases, start, stop, theta, unit, counts, totals, log_scales, 3)
        elif n == 4:
            _expect_few(cases, start, stop, theta, unit, counts, totals, log_scales, 4)
        else:
            _expect_many(cases, start, stop, theta, unit, counts, totals, log_scales, work, digits)
        start = stop


@inner
def _times(share: float, weight: int, is_wide: bool) -> tuple[int, int]:
    """A share in units, rounded, times a weight: the product, or its digits from the 40th bit on
    and those below.
    """
    whole = int(share + 0.5)
    if not is_wide:
        return whole * weight, 0
    low = whole * (weight & 0x3FFFFFF)
    high = whole * (weight >> 26) + (low >> 26)
    return high >> 14, (high & 0x3FFF) << 26 | low & 0x3FFFFFF


@inner
def _expect_few(
    cases: CaseArrays,
    start: int,
    stop: int,
    theta: Floats,
    unit: float,
    counts: Integers,
    totals: Floats,
    log_scales: Floats,
    n: int,
) -> None:
    """Cases of one set of two to four joint states, whose weights stay in registers.

    Those beyond the last state read what the last one reads and weigh nothing. The indices are
    unsigned, which spares a question about each of them.
    """
    inside, offset, first, weights = cases.inside, cases.offset, cases.first, cases.weight
    origin, step, is_wide = cases.inside_first[cases.of_set[start]], np.uint64(n), len(counts) > 1
    second, third, fourth = np.uint64(1), np.uint64(min(2, n - 1)), np.uint64(min(3, n - 1))
    for c in range(start, stop):
        w0, w1, w2, w3 = 1.0, 1.0, 1.0 if n > 2 else 0.0, 1.0 if n > 3 else 0.0
        begin, end, at, log_scale = first[c], first[c + 1], np.uint64(origin), 0.0
        for k in range(begin, end):
            place = offset[np.uint64(k)]
            w0 *= theta[np.uint64(place + inside[at])]
            w1 *= theta[np.uint64(place + inside[at + second])]
            w2 *= theta[np.uint64(place + inside[at + third])]
            w3 *= theta[np.uint64(place + inside[at + fourth])]
            at += step
            if (k - begin) & 7 == 7:
                largest = max(max(w0, w1), max(w2, w3))
                if 0.0 < largest < SMALL:
                    w0, w1, w2, w3 = w0 / largest, w1 / largest, w2 / largest, w3 / largest
                    log_scale += np.log(largest)
        total = w0 + w1 + w2 + w3
        totals[c], log_scales[c] = total, log_scale
        if total <= 0.0:
            continue
        share, weight, at = unit / total, weights[c], np.uint64(origin)
        h0, l0 = _times(w0 * share, weight, is_wide)
        h1, l1 = _times(w1 * share, weight, is_wide)
        h2, l2 = _times(w2 * share, weight, is_wide)
        h3, l3 = _times(w3 * share, weight, is_wide)
        _add_few(counts[0], offset, begin, end, inside, at, n, h0, h1, h2, h3)
        if is_wide:
            _add_few(counts[1], offset, begin, end, inside, at, n, l0, l1, l2, l3)


@inner
def _add_few(
    counts: Integers,
    offset: npt.NDArray[np.int32],
    begin: int,
    end: int,
    inside: npt.NDArray[np.int32],
    at: np.uint64,
    n: int,
    n0: int,
    n1: int,
    n2: int,
    n3: int,
) -> None:
    """Add the numbers of two to four joint states to the counts of all families of a case."""
    for k in range(begin, end):
        place = offset[np.uint64(k)]
        counts[np.uint64(place + inside[at])] += n0
        counts[np.uint64(place + inside[at + np.uint64(1)])] += n1
        if n > 2:
            counts[np.uint64(place + inside[at + np.uint64(2)])] += n2
        if n > 3:
            counts[np.uint64(place + inside[at + np.uint64(3)])] += n3
        at += np.uint64(n)


@inner
def _expect_many(
    cases: CaseArrays,
    start: int,
    stop: int,
    theta: Floats,
    unit: float,
    counts: Integers,
    totals: Floats,
    log_scales: Floats,
    work: Floats,
    digits: Integers,
) -> None:
    """Cases of one set of any number of joint states."""
    s = cases.of_set[start]
    n, origin, is_wide = np.uint64(cases.n_joint[s]), cases.inside_first[s], len(counts) > 1
    inside, offset, first, weights = cases.inside, cases.offset, cases.first, cases.weight
    for c in range(start, stop):
        at, begin, end = np.uint64(origin), first[c], first[c + 1]
        total, log_scale = _weigh(offset, begin, end, inside, at, n, theta, work)
        totals[c], log_scales[c] = total, log_scale
        if total <= 0.0:
            continue
        share, weight = unit / total, weights[c]
        for j in range(n):
            digits[0, j], digits[1, j] = _times(work[j] * share, weight, is_wide)
        for k in range(begin, end):
            place = offset[np.uint64(k)]
            for j in range(n):
                counts[0, np.uint64(place + inside[at + j])] += digits[0, j]
            if is_wide:
                for j in range(n):
                    counts[1, np.uint64(place + inside[at + j])] += digits[1, j]
            at += n


@kernel
def draw_cases(
    cases: CaseArrays,
    theta: Floats,
    uniforms: Floats,
    counts: Floats,
    states: npt.NDArray[np.int32],
    work: Floats,
) -> bool:
    """Draw a joint state for each row of each case, and add the families' counts.

    The draws of a case, as many as its weight, take the uniform numbers in turn; the joint states
    drawn are left in ``states`` in that order. False if a case is impossible.
    """
    inside, offset, first, u = cases.inside, cases.offset, cases.first, 0
    for c in range(len(cases.of_set)):
        s, begin, end = cases.of_set[c], first[c], first[c + 1]
        n, origin = cases.n_joint[s], cases.inside_first[s]
        total, _ = _weigh(offset, begin, end, inside, np.uint64(origin), np.uint64(n), theta, work)
        if total <= 0.0:
            return False
        for j in range(1, n):
            work[j] += work[j - 1]
        for _ in range(cases.weight[c]):
            wanted = uniforms[u] * work[n - 1]
            j = 0
            while j < n - 1 and work[j] <= wanted:
                j += 1
            states[u] = j
            u += 1
            at = origin + j
            for k in range(begin, end):
                counts[offset[k] + inside[at]] += 1.0
                at += n
    return True


@inner
def _weigh(
    offset: npt.NDArray[np.int32],
    begin: int,
    end: int,
    inside: npt.NDArray[np.int32],
    at: np.uint64,
    n: np.uint64,
    theta: Floats,
    work: Floats,
) -> tuple[float, float]:
    """Fill ``work`` with the weights of the joint states; their sum, and the log of its unit.

    The families of the case start at ``offset[begin:end]``.
    """
    log_scale = 0.0
    for j in range(n):
        work[j] = 1.0
    for k in range(begin, end):
        place = offset[np.uint64(k)]
        for j in range(n):
            work[j] *= theta[np.uint64(place + inside[at + j])]
        at += n
        if (k - begin) & 7 == 7:
            largest = 0.0
            for j in range(n):
                largest = max(largest, work[j])
            if 0.0 < largest < SMALL:
                for j in range(n):
                    work[j] /= largest
                log_scale += np.log(largest)
    total = 0.0
    for j in range(n):
        total += work[j]
    return total, log_scale


@kernel
def leaf_likelihoods(
    codes: npt.NDArray[np.int32], table: Floats, likelihood: Floats, log_scale: Floats
) -> None:
    """Multiply what a leaf says about its parent into ``likelihood``, shape (states, rows).

    Each row is divided by its largest entry, whose logarithm is added to ``log_scale``. A leaf that
    is missing says nothing.
    """
    n_parent = table.shape[0]
    for i in range(len(codes)):
        if codes[i] < 0:
            continue
        largest = 0.0
        for p in range(n_parent):
            likelihood[p, i] *= table[p, codes[i]]
            largest = max(largest, likelihood[p, i])
        if largest > 0.0:
            for p in range(n_parent):
                likelihood[p, i] /= largest
            log_scale[i] += np.log(largest)


@kernel
def leaf_counts(codes: npt.NDArray[np.int32], belief: Floats, counts: Floats) -> None:
    """Add the expected counts of a leaf given its parent's belief, shape (states, rows)."""
    for i in range(len(codes)):
        if codes[i] >= 0:
            for p in range(len(belief)):
                counts[p, codes[i]] += belief[p, i]
