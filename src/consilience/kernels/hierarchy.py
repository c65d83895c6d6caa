r"""The exact posterior of a Dirichlet hierarchy, by a pass over table counts.

.. math::
    a \sim \mathrm{Dirichlet}(\alpha_0), \qquad
    \theta_j \mid a \sim \mathrm{Dirichlet}(s\,a), \qquad
    N_j \mid \theta_j \sim \mathrm{Multinomial}(\theta_j)

With the :math:`\theta_j` integrated out the posterior of :math:`a` is a product of rising
factorials :math:`(s a_x)^{(N_{xj})}`, polynomials in :math:`a_x` with positive coefficients. So
evidence and moments are finite sums over the total power :math:`m_x` of each :math:`a_x` (the
number of "tables" of state x), and the weight of :math:`m = (m_1, \dots, m_r)` factorises over the
states but for a term in :math:`M = \sum_x m_x`:

.. math::
    w(m) \propto \prod_x c_x(m_x)\, s^{m_x}\, \frac{\Gamma(\alpha_{0x} + m_x)}{\Gamma(\alpha_{0x})}
        \cdot \frac{\Gamma(A_0)}{\Gamma(A_0 + M)}, \qquad
    E[a_x] = E_m\!\left[\frac{\alpha_{0x} + m_x}{A_0 + M}\right] .

A forward-backward pass sums it without cancellation. The coefficients :math:`c_x` are had, scaled,
as the distribution of a sum of independent Bernoulli variables :math:`c / (c + i)`, with :math:`c =
s u_x` for any guess :math:`u` of :math:`E[a]`; the guess scales the recursion and cancels. Counts
beyond 1024 of one cell enter in blocks, each a generalised binomial with the same first two
cumulants (at counts of 10,000 the error of E[a] is below 1e-9 for s up to 100 and 3e-8 for any s).

Arrays of one table have shape (groups, states).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["approximate", "can_be_exact", "draw_tables", "solve_all"]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere: a release must not meet an old one

TINY = 1e-60  # less probable numbers of tables are cut off; their posterior is wider than this
NEGLIGIBLE = 1e-30  # the same in the posterior, which is what the weights are once tilted
FULL_RECURSION = 1024  # counts of one cell beyond this enter in blocks
CHUNK = 8  # Bernoulli variables that are added in one sweep, as a polynomial of this degree
FEW = 40  # more equal Bernoulli variables than this are added as one binomial
GUESS = 1e-3  # relative precision of the guess that only scales the recursion
LEAST = 1e-300  # no concentration is smaller, so that its reciprocal is finite
VANISHING = 1e-280  # weights of the number of all tables below this share of the largest are zero


@kernel
def digamma(x: float) -> float:
    """Derivative of the log of the gamma function, for positive arguments."""
    result = 0.0
    while x < 10.0:
        result -= 1.0 / x
        x += 1.0
    return result + math.log(x) - _digamma_tail(x)


@inner
def _digamma_tail(x: float) -> float:
    """What the log has beyond digamma, for arguments of at least ten."""
    y = 1.0 / (x * x)
    tail = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))))
    return 0.5 / x + tail


@kernel
def log_rising(c: float, n: float) -> float:
    """Log of Gamma(c + n) / Gamma(c) without cancellation."""
    if n <= 64 and n == math.floor(n):
        total, product = 0.0, 1.0
        for i in range(int(n)):
            product *= c + i
            if not 1e-100 < product < 1e100:
                total += math.log(product)
                product = 1.0
        return total + math.log(product)
    if c < 10.0:
        return math.lgamma(c + n) - math.lgamma(c)
    total = (c - 0.5) * math.log1p(n / c) + n * (math.log(c + n) - 1.0)
    return total + _stirling(c + n) - _stirling(c)


@inner
def _stirling(x: float) -> float:
    """What the log of the gamma function has beyond (x - 1/2) log x - x + log(2 pi) / 2."""
    y = 1.0 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / x


@inner
def _sum(numbers: Floats | Integers) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


@inner
def _expected_tables(c: float, n: float) -> float:
    """Expected number of tables of n customers with concentration c; a fraction of one has n."""
    if n <= 1:
        return n
    if c >= 10.0:
        return c * (math.log1p(n / c) + _digamma_tail(c) - _digamma_tail(c + n))
    # Kept away from the pole of digamma at zero: psi(c) = psi(c + 1) - 1 / c.
    return 1.0 + c * (digamma(c + n) - digamma(c + 1.0))


@kernel
def approximate(counts: Integers | Floats, s: float, prior: Floats, tables: Floats) -> float:
    """Collapsed variational Bayes: fill ``tables`` with E[m]; return the bound on the log evidence.

    The posterior of ``a`` is then nearly Dirichlet(prior + tables). Fractional counts are welcome;
    one below one stands for a row that is there with this probability.
    """
    n_groups, r = counts.shape
    total_prior = _sum(prior)
    tables[:] = 0.0
    for _ in range(500):
        total, change = _sum(tables), 0.0
        for x in range(r):
            shift, new = digamma(prior[x] + tables[x]) - digamma(total_prior + total), 0.0
            c = max(s * math.exp(shift), LEAST)
            for j in range(n_groups):
                new += _expected_tables(c, float(counts[j, x]))
            change = max(change, abs(new - tables[x]))
            tables[x] = new
        if change < 1e-9 * (1.0 + total):
            break
    total = _sum(tables)
    bound = -log_rising(total_prior, total)
    for x in range(r):
        shift = digamma(prior[x] + tables[x]) - digamma(total_prior + total)
        bound += log_rising(prior[x], tables[x]) - tables[x] * shift
        c = max(s * math.exp(shift), LEAST)
        for j in range(n_groups):
            bound += _log_of_rows(c, float(counts[j, x]))
    for j in range(n_groups):
        bound -= _log_of_rows(s, _sum(counts[j]))
    return bound


@inner
def _log_of_rows(c: float, n: float) -> float:
    """Log of the rising factorial; for a fraction of a row, its expectation over 0 and 1."""
    return n * math.log(c) if n < 1 else log_rising(c, n)


@inner
def _roughly_expected_tables(c: float, n: int) -> float:
    """The same within a percent, by an integral in place of a sum; blocks want a better guess."""
    if n > FULL_RECURSION:
        return _expected_tables(c, float(n))
    return 1.0 + c * math.log1p((n - 1) / (c + 0.5)) if n > 0 else 0.0


@inner
def _guess(counts: Integers, s: float, prior: Floats) -> Floats:
    """A rough E[a]: the fixed point of a = (prior + tables) / size, tables = sum_j E[m_j | s a]."""
    tables = np.zeros(len(prior))
    size = _sum(prior)
    for _ in range(100):
        change = 0.0
        for x in range(len(prior)):
            c, new = s * (prior[x] + tables[x]) / size, 0.0
            for j in range(len(counts)):
                new += _roughly_expected_tables(c, counts[j, x])
            change = max(change, abs(new - tables[x]))
            tables[x] = new
        size = _sum(prior) + _sum(tables)
        if change < GUESS * size:
            break
    for x in range(len(prior)):
        tables[x] = (prior[x] + tables[x]) / size
    return tables


@inner
def _reach(mean: float) -> int:
    """More successes than this of independent trials have a probability below TINY (Bernstein)."""
    return int(mean + 17.0 * math.sqrt(mean) + 96.0)


@inner
def _table_distribution(column: Integers, c: float, room: Floats, spare: Floats) -> tuple[int, int]:
    """Distribution of the number of tables of one state, summed over groups: from ``lo`` to ``hi``,
    behind the first ``CHUNK`` cells of ``room``, which are zero.

    Both arrays have room for the total count, or the reach of its mean, and two chunks more.
    """
    lo, largest = 0, 0
    for n in column:
        lo += n > 0
        largest = max(largest, n)
    room[:] = 0.0
    p = room[CHUNK:]
    p[lo] = 1.0
    hi, degree, factor = lo, 0, np.zeros(CHUNK + 1)  # a polynomial of variables not yet added
    factor[0] = 1.0
    for i in range(1, min(largest, FULL_RECURSION)):
        success, times = c / (c + i), 0
        for n in column:
            times += n > i
        if times > FEW:
            lo, hi = _add_binomial(p, lo, hi, float(times), success)
            continue
        for _ in range(times):
            degree += 1
            for k in range(degree, 0, -1):
                factor[k] = factor[k] * (1.0 - success) + factor[k - 1] * success
            factor[0] *= 1.0 - success
            if degree == CHUNK:
                lo, hi = _multiply(room, spare, lo, hi, factor)
                degree = 0
    if degree > 0:
        lo, hi = _multiply(room, spare, lo, hi, factor)
    start = FULL_RECURSION
    while start < largest:
        stop, times = start + start // 4, 0
        for n in column:
            times += n >= stop
            if start < n < stop:
                lo, hi = _add_block(p, lo, hi, c, start, n, 1)
        if times > 0:
            lo, hi = _add_block(p, lo, hi, c, start, stop, times)
        start = stop
    return lo, hi


@inner
def _multiply(room: Floats, spare: Floats, lo: int, hi: int, factor: Floats) -> tuple[int, int]:
    """Multiply the distribution's generating function by ``factor``, which is set back to one."""
    n, p = hi - lo + 1 + CHUNK, room[lo:]
    f0, f1, f2, f3, f4 = factor[0], factor[1], factor[2], factor[3], factor[4]
    f5, f6, f7, f8 = factor[5], factor[6], factor[7], factor[8]
    for k in range(n):
        low = f8 * p[k] + f7 * p[k + 1] + f6 * p[k + 2] + f5 * p[k + 3] + f4 * p[k + 4]
        spare[k] = low + f3 * p[k + 5] + f2 * p[k + 6] + f1 * p[k + 7] + f0 * p[k + 8]
    for k in range(n):
        p[CHUNK + k] = spare[k]
    factor[0], factor[1:] = 1.0, 0.0
    return _trimmed(room[CHUNK:], lo, hi + CHUNK, TINY)


@inner
def _trimmed(p: Floats, lo: int, hi: int, least: float) -> tuple[int, int]:
    """Ends of what is left if weights below ``least`` are taken from both; they are set to zero."""
    while p[hi] < least and hi > lo:
        p[hi] = 0.0
        hi -= 1
    while p[lo] < least and lo < hi:
        p[lo] = 0.0
        lo += 1
    return lo, hi


@inner
def _add_block(
    p: Floats, lo: int, hi: int, c: float, start: int, stop: int, times: int
) -> tuple[int, int]:
    """Add the successes of Bernoulli variables c / (c + i), start <= i < stop, each ``times``."""
    # Differences of digamma and of trigamma, whose series are short from 1024 on.
    n, x, y = float(stop - start), 1.0 / (c + start), 1.0 / (c + stop)
    first = math.log1p(n * x) + n * x * y * (0.5 + (x + y) / 12.0)
    second = n * x * (1.0 + (x + y) * 0.5 + (x * x + x * y + y * y) / 6.0)
    share = c * y * second / first
    return _add_binomial(p, lo, hi, times * min(c * first / share, n), share)


@inner
def _add_binomial(p: Floats, lo: int, hi: int, n: float, share: float) -> tuple[int, int]:
    """Add the successes of n trials of probability ``share``; n may be fractional."""
    share = min(share, 1.0 - 1e-15)
    odds = share / (1.0 - share)
    most = min(math.ceil(n), _reach(n * share))
    mode = min(int((n + 1.0) * share), most)
    block = np.zeros(most + 1)
    block[mode] = 1.0
    last = mode
    while last < most and block[last] > TINY:
        block[last + 1] = block[last] * (n - last) / (last + 1.0) * odds
        last += 1
    first = mode
    while first > 0 and block[first] > TINY:
        block[first - 1] = block[first] * first / ((n - first + 1.0) * odds)
        first -= 1
    total = _sum(block)
    old = p[lo : hi + 1].copy()
    p[lo : hi + 1] = 0.0
    end = min(hi + last, len(p) - 1)
    for k in range(first, last + 1):
        weight, shifted = block[k] / total, p[lo + k : end + 1]
        for i in range(min(len(old), len(shifted))):
            shifted[i] += old[i] * weight
    return _trimmed(p, lo + first, end, TINY)


@kernel
def can_be_exact(counts: Integers, s: float, prior: Floats, most: float) -> Bools:
    """Whether the exact pass for each of several tables takes no more operations than ``most``."""
    found = np.empty(len(counts), np.bool_)
    for b in range(len(counts)):
        found[b] = _is_short(counts[b], s, prior, most)
    return found


@inner
def _is_short(counts: Integers, s: float, prior: Floats, most: float) -> bool:
    """Whether the exact pass takes at most so many operations: states times length times width."""
    base = prior
    for attempt in range(2):  # a bound that is had at once may do
        length, width, n_filled = 1.0, 1.0, 0.0
        for x in range(len(prior)):
            total, mean = 0.0, 0.0 if attempt else np.inf
            for j in range(len(counts)):
                total += counts[j, x]
                mean += _expected_tables(s * base[x], float(counts[j, x])) if attempt else 0.0
            if total > 0:
                # 16 standard deviations of a Poisson variable each way, and its longer upper tail.
                k = min(total, 34.0 * math.sqrt(mean) + 80.0) + 1.0
                length, width, n_filled = length + k, max(width, k), n_filled + 1.0
        if n_filled * length * width <= most:
            return True
        base = _guess(counts, s, prior)
    return False


class Tables(NamedTuple):
    """Weights of the numbers of tables, for the states that were seen."""

    filled: Integers  # the states
    lo: Integers  # the least number of tables of each
    weights: Floats  # from there on, one state after the other, the largest of each being one
    start: Integers  # where those of each state start
    mean_total: float  # the factor that was taken out for each table
    log_scale: float  # of what else was taken out


@inner
def _weigh(counts: Integers, s: float, prior: Floats) -> Tables:
    n_groups, base = len(counts), _guess(counts, s, prior)
    filled = np.empty(len(prior), np.int64)
    n, longest, mean_total = 0, 0, _sum(prior)
    for x in range(len(prior)):
        total, mean = 0, 0.0
        for j in range(n_groups):
            total += counts[j, x]
            mean += _expected_tables(s * base[x], float(counts[j, x]))
        if total > 0:
            filled[n] = x
            n += 1
            longest = max(longest, min(total, _reach(mean)))
            mean_total += mean
    lo, start = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    room, spare = np.empty(longest + 4 + 2 * CHUNK), np.empty(longest + 4 + 2 * CHUNK)
    column, flat, log_scale = np.empty(n_groups, np.int64), np.empty(256), 0.0
    for i in range(n):
        x = filled[i]
        for j in range(n_groups):
            column[j] = counts[j, x]
            log_scale += log_rising(s * base[x], float(counts[j, x]))
        least, hi = _table_distribution(column, s * base[x], room, spare)
        p = room[CHUNK:]
        log_scale += _tilt(p[least : hi + 1], least, prior[x], base[x] * mean_total)
        lo[i], hi = _trimmed(p, least, hi, NEGLIGIBLE)
        start[i + 1] = start[i] + hi - lo[i] + 1
        while start[i + 1] > len(flat):
            longer = np.empty(2 * len(flat))
            for k in range(start[i]):
                longer[k] = flat[k]
            flat = longer
        weights = flat[start[i] : start[i + 1]]
        for k in range(len(weights)):
            weights[k] = p[lo[i] + k]
    return Tables(filled[:n], lo, flat[: start[n]], start, mean_total, log_scale)


@inner
def _tilt(weights: Floats, lo: int, prior: float, scale: float) -> float:
    """Multiply the weight of m tables by prior (prior + 1) ... (prior + m - 1) / scale^m, up to a
    factor that makes the largest of them one; return the log of that factor.

    Ratios are taken from the mode on, where the products are least: nothing overflows.
    """
    mode = 0
    for k in range(len(weights)):
        if weights[k] > weights[mode]:
            mode = k
    factor, largest = 1.0, weights[mode]
    for k in range(mode + 1, len(weights)):
        factor *= (prior + lo + k - 1) / scale
        weights[k] *= factor
        largest = max(largest, weights[k])
    factor = 1.0
    for k in range(mode - 1, -1, -1):
        factor *= scale / (prior + lo + k)
        weights[k] *= factor
        largest = max(largest, weights[k])
    for k in range(len(weights)):
        weights[k] /= largest
    tables = float(lo + mode)
    return math.log(largest) + log_rising(prior, tables) - tables * math.log(scale)


@inner
def _ends(tables: Tables, prior: Floats) -> tuple[Floats, float]:
    """Gamma(A) / Gamma(A + M) by the number M of all tables, times mean_total^M, up to a factor
    that makes the largest about one; and the log of that factor.
    """
    least, n = _sum(tables.lo), len(tables.lo)
    size, ends = _sum(prior) + least, np.empty(len(tables.weights) - n + 1)
    mode = min(max(int(tables.mean_total - size), 0), len(ends) - 1)
    ends[mode] = 1.0
    stop = mode + 1
    while stop < len(ends) and ends[stop - 1] > VANISHING:
        ends[stop] = ends[stop - 1] * tables.mean_total / (size + stop - 1)
        stop += 1
    for t in range(mode - 1, -1, -1):
        ends[t] = ends[t + 1] * (size + t) / tables.mean_total
    total = least + mode
    return ends[:stop], total * math.log(tables.mean_total) - log_rising(_sum(prior), total)


class Messages(NamedTuple):
    """Row ``i``: weights by the tables of all states before i, to be multiplied by two to the
    power ``power[i]``; those from ``first[i]`` to before ``last[i]`` matter, the others are zero.
    """

    rows: Floats
    first: Integers
    last: Integers
    power: Integers


@inner
def _forward(tables: Tables, most: int) -> Messages:
    """The sum over the tables of all states before each, by their number, which is below ``most``.

    What is negligible is cut off, as for one state: the sum of many states is much narrower than
    the sum of their widths.
    """
    n = len(tables.lo)
    rows, power = np.zeros((n + 1, most)), np.zeros(n + 1, np.int64)
    first, last = np.zeros(n + 1, np.int64), np.ones(n + 1, np.int64)
    rows[0, 0] = 1.0
    for i in range(n):
        d = tables.weights[tables.start[i] : tables.start[i + 1]]
        row = rows[i, first[i] : last[i]]
        for k in range(min(len(d), most - first[i])):
            shifted = rows[i + 1, first[i] + k :]
            for t in range(min(len(row), len(shifted))):
                shifted[t] += d[k] * row[t]
        stop = min(last[i] + len(d) - 1, most)
        power[i + 1] = power[i] + _rescale(rows[i + 1, first[i] : stop])
        first[i + 1], top = _trimmed(rows[i + 1], first[i], stop - 1, NEGLIGIBLE)
        last[i + 1] = top + 1
    return Messages(rows, first, last, power)


@inner
def _backward(tables: Tables, ends: Floats, before: Messages) -> Messages:
    """The sum over the tables of each state and of all behind it, by the tables before."""
    n, rows = len(tables.lo), np.zeros(before.rows.shape)
    first, last, power = before.first, before.last, np.zeros(len(before.first), np.int64)
    for t in range(first[n], last[n]):
        rows[n, t] = ends[t]
    for i in range(n - 1, -1, -1):
        d = tables.weights[tables.start[i] : tables.start[i + 1]]
        for k in range(len(d)):
            start, stop = _overlap(before, i, k)
            row, later = rows[i, start:stop], rows[i + 1, start + k : stop + k]
            for t in range(len(row)):
                row[t] += d[k] * later[t]
        power[i] = power[i + 1] + _rescale(rows[i, first[i] : last[i]])
    return Messages(rows, first, last, power)


@inner
def _overlap(before: Messages, i: int, k: int) -> tuple[int, int]:
    """The tables before state i that k tables of it lead to numbers that matter behind it."""
    start = max(before.first[i], before.first[i + 1] - k)
    return start, max(start, min(before.last[i], before.last[i + 1] - k))


@inner
def _rescale(row: Floats) -> int:
    """Divide by the power of two that makes the sum about one; return the power."""
    power = math.frexp(_sum(row))[1]
    factor = math.ldexp(1.0, -power)
    for t in range(len(row)):
        row[t] *= factor
    return power


@kernel
def solve_all(
    counts: Floats,
    plan: Integers,
    strengths: Floats,
    prior: Floats,
    order: int,
    most: float,
    is_exact: Bools,
    moments: Floats,
    log_evidence: Floats,
) -> None:
    """Fill moments of ``a`` and the log evidence of many hierarchies, each with its strength.

    Hierarchy ``i`` has a table for each of its batches: ``plan[i]`` says how many batches, groups
    and states there are, where its counts start, and where its batches and their moments do; the
    prior of the states is the first of ``prior``. Order 1 is E[a], 2 is E[a^2], 0 the evidence
    alone. A positive ``most`` lets tables of whole numbers that take no more operations be solved
    exactly and sets ``is_exact``, which else says which to solve so; the others are approximated.
    """
    for i in range(len(plan)):
        n_batches, n_groups, r, at, batch, moment_at = plan[i]
        s, alpha = strengths[i], prior[:r]
        tables, whole = np.empty(r), np.empty((n_groups, r), np.int64)
        own = counts[at : at + n_batches * n_groups * r].reshape((n_batches, n_groups, r))
        log_evidence[i] = 0.0
        for b in range(n_batches):
            moment = moments[moment_at + b * r : moment_at + (b + 1) * r]
            is_whole = _to_whole(own[b], whole)
            if most > 0:
                is_exact[batch + b] = is_whole and _is_short(whole, s, alpha, most)
            if is_exact[batch + b]:
                log_evidence[i] += _exact(whole, s, alpha, order, moment)
                continue
            log_evidence[i] += approximate(own[b], s, alpha, tables)
            size = _sum(alpha) + _sum(tables)
            for x in range(r if order > 0 else 0):
                moment[x] = _power(alpha[x] + tables[x], order) / _power(size, order)


@inner
def _to_whole(table: Floats, whole: Integers) -> bool:
    """Fill in the whole part of all numbers; whether nothing is left."""
    is_whole = True
    for j in range(len(table)):
        for x in range(table.shape[1]):
            whole[j, x] = int(table[j, x])
            is_whole = is_whole and whole[j, x] == table[j, x]
    return is_whole


@inner
def _exact(counts: Integers, s: float, prior: Floats, order: int, moment: Floats) -> float:
    """Fill the posterior moment of ``a``, if its order is above 0; return the log evidence."""
    tables = _weigh(counts, s, prior)
    ends, log_end = _ends(tables, prior)
    n, before = len(tables.filled), _forward(tables, len(ends))
    z = 0.0
    for t in range(before.first[n], before.last[n]):
        z += before.rows[n, t] * ends[t]
    if order > 0:  # messages whose end also carries 1 / (A + M), or 1 / ((A + M)(A + M + 1))
        size, last = _sum(prior) + _sum(tables.lo), np.empty(len(ends))
        for t in range(len(ends)):
            last[t] = ends[t] / _power(size + t, order)
        behind = _backward(tables, last, before)
        # A state without tables has the prior alone.
        unseen = math.ldexp(behind.rows[0, 0] / z, behind.power[0] - before.power[n])
        for x in range(len(prior)):
            moment[x] = _power(prior[x], order) * unseen
        for i in range(n):
            total = _with_moment(tables, i, prior[tables.filled[i]], order, before, behind)
            power = before.power[i] + behind.power[i + 1] - before.power[n]
            moment[tables.filled[i]] = math.ldexp(total / z, power)
    log_evidence = tables.log_scale + log_end + math.log(z) + before.power[n] * math.log(2.0)
    for j in range(len(counts)):
        log_evidence -= log_rising(s, _sum(counts[j]))
    return log_evidence


@inner
def _power(size: float, order: int) -> float:
    """Rising factorial of order one or two."""
    return size if order == 1 else size * (size + 1.0)


@inner
def _with_moment(
    tables: Tables, i: int, prior: float, order: int, before: Messages, behind: Messages
) -> float:
    """The sum over all numbers of tables that carries the moment of one state; powers left out."""
    d = tables.weights[tables.start[i] : tables.start[i + 1]]
    sums = np.zeros(before.last[i])
    for k in range(len(d)):
        start, stop = _overlap(before, i, k)
        weight, after = d[k] * _power(prior + tables.lo[i] + k, order), behind.rows[i + 1]
        own, later = sums[start:stop], after[start + k : stop + k]
        for t in range(len(own)):
            own[t] += weight * later[t]
    total = 0.0
    for t in range(before.first[i], before.last[i]):
        total += before.rows[i, t] * sums[t]
    return total


@kernel
def draw_tables(counts: Integers, s: float, prior: Floats, uniform: Floats, out: Integers) -> None:
    """Put numbers of tables drawn from their posterior into ``out`` (draws, states), which is zero.

    ``uniform`` has a number in [0, 1) for each draw and state.
    """
    tables = _weigh(counts, s, prior)
    ends = _ends(tables, prior)[0]
    back = _backward(tables, ends, _forward(tables, len(ends)))
    rows, power = back.rows, back.power
    for draw in range(len(out)):
        t = 0
        for i in range(len(tables.filled)):
            d = tables.weights[tables.start[i] : tables.start[i + 1]]
            target = uniform[draw, i] * math.ldexp(rows[i, t], power[i] - power[i + 1])
            k = max(0, back.first[i + 1] - t)
            stop = min(len(d), back.last[i + 1] - t) - 1
            total = d[k] * rows[i + 1, t + k]
            while total <= target and k < stop:
                k += 1
                total += d[k] * rows[i + 1, t + k]
            out[draw, tables.filled[i]] = tables.lo[i] + k
            t += k
