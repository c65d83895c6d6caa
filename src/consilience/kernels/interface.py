r"""Messages along sequences: the interface algorithm for discrete nodes.

The message of a row is a table over the joint states of the nodes that later rows depend on. A row
joins its families to the message one after the other and sums out what nothing needs any more. One
such join is a list of cells :math:`c`, each with a place in the table before, in the numbers of the
family and in the table after:

.. math:: \text{out}[o_c] \mathrel{+}= \text{in}[i_c] \cdot \text{numbers}[b + f_c]

where :math:`b` says what the row has of the family. Backward the same cells carry
:math:`\text{back}[i_c] \mathrel{+}= \text{back}[o_c] \cdot \text{numbers}[b + f_c]`, and their
product is the posterior of the family. Messages are scaled after each join, so no product runs
long.

A single hidden chain has loops of its own (:func:`expect_chain`, and :func:`expect_chains` with
``LANES`` sequences side by side as the innermost loop): with the likelihood :math:`B_t(j)` of a
step, :math:`w_t(j) = B_t(j)\, b_t(j)\, c_t` and

.. math:: a_t(j) = c_t B_t(j) \sum_i a_{t-1}(i) A_{ij}, \qquad b_{t-1}(i) = \sum_j A_{ij} w_t(j),

the sums :math:`W_{ij} = \sum_t a_{t-1}(i)\, w_t(j)` are multiplied by :math:`A_{ij}` once, at the
end. Places are cast to unsigned words, which spares the test for negative ones.

References
----------
K. Murphy (2002). Dynamic Bayesian networks: representation, inference and learning. PhD thesis,
University of California, Berkeley.
G. Zweig (1996). A forward-backward algorithm for inference in Bayesian networks and an empirical
comparison with HMMs. Master's thesis, University of California, Berkeley.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "LANES",
    "Joins",
    "best_path",
    "expect_chain",
    "expect_chains",
    "pass_back",
    "pass_forward",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LANES = 32
SMALL = 1e-250
TINY = 1e-30


class Joins(NamedTuple):
    """The joins of every kind of slice, one after the other.

    ``of_slice`` has the first join of each kind of slice and their number, ``first`` the first cell
    of each join and their number. ``child`` is the open variable that a join brings in, or -1;
    ``size_in`` and ``size_out`` are the sizes of its tables. For each cell ``i``, ``o`` and ``f``
    are its places, and ``state`` the state of the child.
    """

    of_slice: Integers
    first: Integers
    child: Integers
    size_in: Integers
    size_out: Integers
    i: Integers
    o: Integers
    f: Integers
    state: Integers


@inner
def _join(
    joins: Joins,
    q: int,
    start: int,
    known: int,
    numbers: Floats,
    work: Floats,
    at: int,
    to: int,
) -> float:
    """Join the family of one join; the table after is scaled, and what it summed to returned."""
    for k in range(joins.size_out[q]):
        work[to + k] = 0.0
    i, o, f, state = joins.i, joins.o, joins.f, joins.state
    for c in range(np.uint64(joins.first[q]), np.uint64(joins.first[q + 1])):
        if known < 0 or state[c] == known:
            carried = work[np.uint64(at + i[c])] * numbers[np.uint64(start + f[c])]
            work[np.uint64(to + o[c])] += carried
    total = 0.0
    for k in range(joins.size_out[q]):
        total += work[to + k]
    if total > 0.0:
        for k in range(joins.size_out[q]):
            work[to + k] /= total
    return total


@kernel
def pass_forward(
    joins: Joins,
    numbers: Floats,
    base: Integers,
    codes: Integers,
    first: Integers,
    order: int,
    messages: Floats,
    log_likelihood: Floats,
    work: Floats,
) -> None:
    """Fill ``messages`` (rows, states of the interface) and what each row adds to the
    log-likelihood.

    ``base[row, join]`` says where the numbers of a family start for the row; ``codes[row, open
    variable]`` is what is known of it, or -1. ``work`` has room for all tables of a slice.
    """
    for s in range(len(first) - 1):
        work[0] = 1.0
        size = 1
        for row in range(first[s], first[s + 1]):
            total, product = 0.0, 1.0
            kind = min(row - first[s], order)
            at = 0
            begin = joins.of_slice[kind]
            for q in range(begin, joins.of_slice[kind + 1]):
                known = codes[row, joins.child[q]] if joins.child[q] >= 0 else -1
                to = at + joins.size_in[q]
                scale = _join(joins, q, base[row, q - begin], known, numbers, work, at, to)
                product *= scale
                if product < SMALL:
                    total += np.log(product) if product > 0.0 else -np.inf
                    product = 1.0
                at, size = to, joins.size_out[q]
            for k in range(size):
                work[k] = work[at + k]
                messages[row, k] = work[k]
            log_likelihood[row] = total + np.log(product)


@kernel
def pass_back(
    joins: Joins,
    numbers: Floats,
    base: Integers,
    codes: Integers,
    first: Integers,
    order: int,
    is_filter: bool,
    messages: Floats,
    weights: Floats,
    offsets: Integers,
    counts: Floats,
    margins: Floats,
    work: Floats,
    back: Floats,
) -> None:
    """Add posteriors of all families to ``counts``, laid out as the numbers, and of all open
    variables to ``margins`` (rows, their states from ``offsets`` on). What has no cells or no
    columns is not wanted.

    A filter forgets at every row what later rows say. ``weights`` are those of the sequences.
    """
    scales = np.empty(len(joins.child))
    for s in range(len(first) - 1):
        weight = weights[s]
        size = 1
        for row in range(first[s + 1] - 1, first[s] - 1, -1):
            kind = min(row - first[s], order)
            begin, end = joins.of_slice[kind], joins.of_slice[kind + 1]
            at = 0
            if row == first[s]:
                work[0] = 1.0
            elif begin < end:
                for k in range(joins.size_in[begin]):
                    work[k] = messages[row - 1, k]
            for q in range(begin, end):
                known = codes[row, joins.child[q]] if joins.child[q] >= 0 else -1
                to = at + joins.size_in[q]
                scales[q] = _join(joins, q, base[row, q - begin], known, numbers, work, at, to)
                at, size = to, joins.size_out[q]
            if row == first[s + 1] - 1 or is_filter:
                for k in range(size):
                    back[at + k] = 1.0
            else:
                for k in range(size - 1, -1, -1):  # from the end: the two may overlap
                    back[at + k] = back[k]
            for q in range(end - 1, begin - 1, -1):
                to = at
                at = to - joins.size_in[q]
                start = base[row, q - begin]
                child = joins.child[q]
                known = codes[row, child] if child >= 0 else -1
                for k in range(joins.size_in[q]):
                    back[at + k] = 0.0
                scale = 1.0 / scales[q] if scales[q] > 0.0 else 0.0
                for k in range(joins.size_out[q]):
                    back[to + k] *= scale
                wanted = child >= 0 and margins.shape[1] > 0
                offset = offsets[child] if wanted else 0
                for c in range(np.uint64(joins.first[q]), np.uint64(joins.first[q + 1])):
                    if known < 0 or joins.state[c] == known:
                        cell, place = np.uint64(start + joins.f[c]), np.uint64(at + joins.i[c])
                        carried = numbers[cell] * back[np.uint64(to + joins.o[c])]
                        back[place] += carried
                        if len(counts):
                            counts[cell] += weight * carried * work[place]
                        if wanted:
                            state = np.uint64(offset + joins.state[c])
                            margins[row, state] += carried * work[place]


@kernel
def best_path(
    joins: Joins,
    numbers: Floats,
    base: Integers,
    codes: Integers,
    first: Integers,
    order: int,
    choices: Integers,
    log_probability: Floats,
    path: Integers,
    work: Floats,
) -> None:
    """The most probable states of the open variables, and their log probability.

    ``choices`` has for each row of the longest sequence and each cell of each table after a join
    the cell that won; ``path[row, open variable]`` is filled in.
    """
    for s in range(len(first) - 1):
        total, product = 0.0, 1.0
        work[0] = 1.0
        size = 1
        for row in range(first[s], first[s + 1]):
            step = row - first[s]
            kind = min(step, order)
            begin = joins.of_slice[kind]
            at, room = 0, 0
            for q in range(begin, joins.of_slice[kind + 1]):
                start = base[row, q - begin]
                known = codes[row, joins.child[q]] if joins.child[q] >= 0 else -1
                to = at + joins.size_in[q]
                size = joins.size_out[q]
                for k in range(size):
                    work[to + k] = 0.0
                    choices[step, room + k] = -1
                for c in range(joins.first[q], joins.first[q + 1]):
                    if known < 0 or joins.state[c] == known:
                        value = work[at + joins.i[c]] * numbers[start + joins.f[c]]
                        k = joins.o[c]
                        if value > work[to + k]:
                            work[to + k] = value
                            choices[step, room + k] = c
                most = 0.0
                for k in range(size):
                    most = max(most, work[to + k])
                if most > 0.0:
                    for k in range(size):
                        work[to + k] /= most
                product *= most
                if product < SMALL:
                    total += np.log(product) if product > 0.0 else -np.inf
                    product = 1.0
                room += size
                at = to
            for k in range(size):
                work[k] = work[at + k]
        log_probability[s] = total + np.log(product)
        if log_probability[s] == -np.inf:
            continue
        here = 0
        for k in range(size):
            if work[k] > work[here]:
                here = k
        for row in range(first[s + 1] - 1, first[s] - 1, -1):
            step = row - first[s]
            kind = min(step, order)
            begin, end = joins.of_slice[kind], joins.of_slice[kind + 1]
            room = 0
            for q in range(begin, end):
                room += joins.size_out[q]
            for q in range(end - 1, begin - 1, -1):
                room -= joins.size_out[q]
                c = choices[step, room + here]
                if joins.child[q] >= 0:
                    path[row, joins.child[q]] = joins.state[c]
                here = joins.i[c]


@kernel
def expect_chain(
    start: Floats,
    moves: Floats,
    likelihoods: Floats,
    symbols: Integers,
    weight: float,
    first_sum: Floats,
    pairs: Floats,
    sums: Floats,
    messages: Floats,
    scales: Floats,
) -> float:
    """Add the expected statistics of one sequence of a single chain; its log-likelihood.

    ``likelihoods[symbols[t]]`` has the likelihood of each state at step t. Added are the posterior
    of the first state to ``first_sum``, that of each step to ``sums[symbol]``, and to ``pairs``
    what, times ``moves``, are the expected moves. ``messages`` and ``scales`` have room for the
    sequence.
    """
    n, k = len(symbols), len(start)
    turned = np.ascontiguousarray(moves.T)
    total = 0.0
    here, back = np.empty(k), np.ones(k)
    for t in range(n):
        x = np.uint64(symbols[t])
        c = 0.0
        for j in range(k):
            carried = start[j] if t == 0 else 0.0
            for i in range(k if t > 0 else 0):
                carried += messages[t - 1, i] * turned[j, i]
            messages[t, j] = carried * likelihoods[x, j]
            c += messages[t, j]
        if c <= 0.0:
            return -np.inf
        scales[t] = 1.0
        if c < TINY or t == n - 1:  # the last step makes posteriors sum to one
            total += np.log(c)
            scales[t] = 1.0 / c
            for j in range(k):
                messages[t, j] *= scales[t]
    for t in range(n - 1, 0, -1):
        x = np.uint64(symbols[t])
        scale = scales[t]
        for j in range(k):
            sums[x, j] += weight * messages[t, j] * back[j]
            here[j] = likelihoods[x, j] * back[j] * scale
        for i in range(k):
            a, carried = weight * messages[t - 1, i], 0.0
            for j in range(k):
                carried += moves[i, j] * here[j]
                pairs[i, j] += a * here[j]
            back[i] = carried
    for j in range(k):
        posterior = weight * messages[0, j] * back[j]
        sums[symbols[0], j] += posterior
        first_sum[j] += posterior
    return total


@kernel
def expect_chains(
    start: Floats,
    moves: Floats,
    likelihoods: Floats,
    symbols: Integers,
    lengths: Integers,
    weights: Floats,
    first_sum: Floats,
    pairs: Floats,
    sums: Floats,
    log_likelihoods: Floats,
) -> None:
    """The same as :func:`expect_chain` for groups of ``LANES`` sequences side by side.

    ``symbols[group, t, lane]`` is, after the end of a sequence, one whose likelihoods are all one;
    then nothing changes but what has no weight.
    """
    k = len(start)
    longest, lanes = symbols.shape[1], symbols.shape[2]  # loops of open length become vectors
    messages, likely = np.empty((longest, k, lanes)), np.empty((longest, k, lanes))
    scales = np.empty((longest, lanes))
    many = np.zeros((k, k, lanes))
    back, move = np.empty((k, lanes)), np.empty((k, lanes))
    c, b, product, total = np.empty(lanes), np.empty(lanes), np.empty(lanes), np.empty(lanes)
    active, posterior = np.empty(lanes), np.empty((k, lanes))
    for g in range(len(symbols)):
        n = lengths[g, 0]
        for lane in range(lanes):
            product[lane], total[lane] = 1.0, 0.0
        for t in range(n):
            for lane in range(lanes):
                c[lane] = 0.0
            for j in range(k):
                for lane in range(lanes):
                    b[lane] = 0.0
                if t == 0:
                    for lane in range(lanes):
                        b[lane] = start[j]
                else:
                    for i in range(k):
                        a = moves[i, j]
                        for lane in range(lanes):
                            b[lane] += messages[t - 1, i, lane] * a
                for lane in range(lanes):
                    likely[t, j, lane] = likelihoods[np.uint64(symbols[g, t, lane]), j]
                for lane in range(lanes):
                    b[lane] *= likely[t, j, lane]
                    messages[t, j, lane] = b[lane]
                    c[lane] += b[lane]
            for lane in range(lanes):
                if c[lane] <= 0.0:  # impossible; later rows must not divide by zero
                    c[lane], total[lane] = 1.0, -np.inf
                product[lane] *= c[lane]
                if product[lane] < SMALL or product[lane] > 1.0 / SMALL:
                    total[lane] += np.log(product[lane])
                    product[lane] = 1.0
            for lane in range(lanes):
                scales[t, lane] = np.divide(1.0, c[lane])  # not zero: without the test for it
            for j in range(k):
                for lane in range(lanes):
                    messages[t, j, lane] *= scales[t, lane]
        back[:] = 1.0
        for t in range(n - 1, 0, -1):
            for lane in range(lanes):
                active[lane] = weights[g, lane] if t < lengths[g, lane] else 0.0
            for j in range(k):
                for lane in range(lanes):
                    posterior[j, lane] = active[lane] * messages[t, j, lane] * back[j, lane]
                    move[j, lane] = likely[t, j, lane] * back[j, lane] * scales[t, lane]
            for lane in range(lanes):
                x = np.uint64(symbols[g, t, lane])
                for j in range(k):
                    sums[x, j] += posterior[j, lane]
            for i in range(k):
                for lane in range(lanes):
                    b[lane] = 0.0
                    c[lane] = active[lane] * messages[t - 1, i, lane]
                for j in range(k):
                    a = moves[i, j]
                    for lane in range(lanes):
                        b[lane] += a * move[j, lane]
                        many[i, j, lane] += c[lane] * move[j, lane]
                for lane in range(lanes):
                    back[i, lane] = b[lane]
        for lane in range(lanes):
            for j in range(k):
                first = weights[g, lane] * messages[0, j, lane] * back[j, lane]
                sums[symbols[g, 0, lane], j] += first
                first_sum[j] += first
            log_likelihoods[g, lane] = total[lane] + np.log(product[lane])
    for i in range(k):
        for j in range(k):
            for lane in range(lanes):
                pairs[i, j] += many[i, j, lane]
