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

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["approximate", "can_be_exact", "draw_tables", "exact_each"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

TINY = 1e-60
"""Probabilities below this are cut off: the posterior of m is wider than the distribution recursed
here."""

FULL_RECURSION = 1024
"""Counts of one cell beyond this enter in blocks."""

FEW = 16
"""Up to so many equal Bernoulli variables are added one by one, more as one binomial."""

GUESS = 1e-3
"""Relative precision of the tables that only scale the recursion."""

LEAST = 1e-300
"""No concentration is smaller, so that its reciprocal is finite."""


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
    """Log of Gamma(c + n) / Gamma(c) without cancellation: a product of few whole steps, the
    difference of two Stirling series for large c.
    """
    if n <= 64 and n == math.floor(n):
        total = 0.0
        for i in range(int(n)):
            total += math.log(c + i)
        return total
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
def _sum(numbers: Floats) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


@inner
def _whole_sum(numbers: Integers) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


@inner
def _expected_tables(c: float, n: float) -> float:
    """Expected number of tables of n customers with concentration c; a fraction of one has n."""
    if n <= 1:
        return n
    if n <= 16 and n == math.floor(n):
        total = 1.0
        for i in range(1, int(n)):
            total += c / (c + i)
        return total
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
    _iterate(counts, s, prior, tables, 1e-9)
    total = _sum(tables)
    bound = -log_rising(total_prior, total)
    for x in range(r):
        shift = digamma(prior[x] + tables[x]) - digamma(total_prior + total)
        c = max(s * math.exp(shift), LEAST)
        bound += log_rising(prior[x], tables[x]) - tables[x] * shift
        for j in range(n_groups):
            bound += _log_of_rows(c, float(counts[j, x]))
    for j in range(n_groups):
        size = 0.0
        for x in range(r):
            size += counts[j, x]
        bound -= _log_of_rows(s, size)
    return bound


@inner
def _log_of_rows(c: float, n: float) -> float:
    """Log of the rising factorial; for a fraction of a row, its expectation over 0 and 1."""
    return n * math.log(c) if n < 1 else log_rising(c, n)


@inner
def _iterate(
    counts: Integers | Floats, s: float, prior: Floats, tables: Floats, tolerance: float
) -> None:
    """Fill ``tables`` with E[m] under collapsed variational Bayes."""
    n_groups, r = counts.shape
    total_prior = _sum(prior)
    for x in range(r):
        tables[x] = 0.0
        for j in range(n_groups):
            tables[x] += counts[j, x] > 0
    for _ in range(500):
        total = _sum(tables)
        change = 0.0
        for x in range(r):
            g = math.exp(digamma(prior[x] + tables[x]) - digamma(total_prior + total))
            new = 0.0
            c = max(s * g, LEAST)
            for j in range(n_groups):
                new += _expected_tables(c, float(counts[j, x]))
            change = max(change, abs(new - tables[x]))
            tables[x] = new
        if change < tolerance * (1.0 + total):
            break


@inner
def _reach(mean: float) -> int:
    """More successes than this of independent trials have a probability below TINY (Bernstein)."""
    return int(mean + 17.0 * math.sqrt(mean) + 96.0)


@inner
def _table_distribution(column: Integers, c: float, p: Floats, spare: Floats) -> tuple[int, int]:
    """Distribution of the number of tables of one state, summed over groups: ``p[lo:hi + 1]``.

    ``p`` and ``spare`` have room for the total count, or the reach of its mean, and two more.
    """
    lo, largest = 0, 0
    for n in column:
        lo += n > 0
        largest = max(largest, n)
    for k in range(len(p)):
        p[k] = 0.0
    p[lo] = 1.0
    hi = lo
    for i in range(1, min(largest, FULL_RECURSION)):
        success = c / (c + i)
        times = 0
        for n in column:
            times += n > i
        if times > FEW:
            lo, hi = _add_binomial(p, lo, hi, float(times), success)
            continue
        for _ in range(times):
            old, new = p[lo : hi + 1], spare[: hi - lo + 2]
            new[0] = old[0] * (1.0 - success)
            for k in range(1, len(old)):
                new[k] = old[k] * (1.0 - success) + old[k - 1] * success
            new[-1] = old[-1] * success
            hi += 1
            for k in range(len(new)):
                p[lo + k] = new[k]
            lo, hi = _trimmed(p, lo, hi)
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
def _trimmed(p: Floats, lo: int, hi: int) -> tuple[int, int]:
    while p[hi] < TINY and hi > lo:
        p[hi] = 0.0
        hi -= 1
    while p[lo] < TINY and lo < hi:
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
    for k in range(lo, hi + 1):
        p[k] = 0.0
    end = min(hi + last, len(p) - 1)
    for k in range(first, last + 1):
        weight, shifted = block[k] / total, p[lo + k : end + 1]
        for i in range(min(len(old), len(shifted))):
            shifted[i] += old[i] * weight
    return _trimmed(p, lo + first, end)


@kernel
def can_be_exact(counts: Integers, s: float, prior: Floats, most: float) -> Bools:
    """Whether the exact pass for each of several tables takes no more operations than ``most``."""
    found = np.empty(len(counts), np.bool_)
    for b in range(len(counts)):
        found[b] = _work(counts[b], s, prior, most) <= most
    return found


@kernel
def _work(counts: Integers, s: float, prior: Floats, enough: float) -> float:
    """Estimate of the operations of the exact pass: states times length times width.

    An upper bound that is had at once will do if it is not above ``enough``.
    """
    n_groups, r = counts.shape
    longest, n_rows = 0, 0
    for x in range(r):
        n = 0
        for j in range(n_groups):
            n += counts[j, x]
        longest = max(longest, n)
        n_rows += n
    bound = float(r) * (n_rows + r + 1.0) * (longest + 1.0)
    if bound <= enough:
        return bound
    tables = np.empty(r)
    _iterate(counts, s, prior, tables, GUESS)
    total = _sum(prior) + _sum(tables)
    length, width, n_filled = 1.0, 1.0, 0.0
    for x in range(r):
        mean, most = 0.0, 0.0
        for j in range(n_groups):
            mean += _expected_tables(s * (prior[x] + tables[x]) / total, float(counts[j, x]))
            most += counts[j, x]
        if most > 0:
            # 16 standard deviations of a Poisson variable each way, and its longer upper tail.
            k = min(most, 34.0 * math.sqrt(mean) + 80.0) + 1.0
            length += k
            width = max(width, k)
            n_filled += 1.0
    return n_filled * length * width


@inner
def _weights(
    counts: Integers, s: float, prior: Floats
) -> tuple[Integers, Integers, Floats, Integers, float, float]:
    """Weights of the table counts of all states that were seen.

    Returns these states, the least number of tables of each, the weights (one state after the
    other, from its least number, the largest of a state being one), where those of each state
    start, the size of the geometric factor taken out of each table, and the log of what else was
    taken out.
    """
    n_groups, r = counts.shape
    guess = np.empty(r)
    _iterate(counts, s, prior, guess, GUESS)
    total_prior, total_guess = _sum(prior), _sum(guess)
    filled = np.empty(r, np.int64)
    n, longest = 0, 0
    for x in range(r):
        total, mean = 0, 0.0
        c = s * (prior[x] + guess[x]) / (total_prior + total_guess)
        for j in range(n_groups):
            total += counts[j, x]
            mean += _expected_tables(c, float(counts[j, x]))
        if total > 0:
            filled[n] = x
            n += 1
            longest = max(longest, min(total, _reach(mean)))
    filled = filled[:n]
    column = np.empty(n_groups, np.int64)
    lo, start = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    room, spare, flat = np.empty(longest + 4), np.empty(longest + 4), np.empty(256)
    log_scale, mean_total = 0.0, total_prior
    for i in range(n):
        x = filled[i]
        base = (prior[x] + guess[x]) / (total_prior + total_guess)
        for j in range(n_groups):
            column[j] = counts[j, x]
            log_scale += log_rising(s * base, float(counts[j, x]))
        lo[i], hi = _table_distribution(column, s * base, room, spare)
        start[i + 1] = start[i] + hi - lo[i] + 1
        while start[i + 1] > len(flat):
            longer = np.empty(2 * len(flat))
            for k in range(start[i]):
                longer[k] = flat[k]
            flat = longer
        for k in range(lo[i], hi + 1):
            flat[start[i] + k - lo[i]] = room[k]
            mean_total += room[k] * k
    for i in range(n):
        x, weights = filled[i], flat[start[i] : start[i + 1]]
        base = (prior[x] + guess[x]) / (total_prior + total_guess)
        log_prior, largest = log_rising(prior[x], float(lo[i])), -np.inf
        for k in range(len(weights)):
            number = lo[i] + k
            log_weight = math.log(weights[k]) if weights[k] > 0 else -np.inf
            weights[k] = log_weight + log_prior - number * math.log(base * mean_total)
            log_prior += math.log(prior[x] + number)
            largest = max(largest, weights[k])
        for k in range(len(weights)):
            weights[k] = math.exp(weights[k] - largest)
        log_scale += largest
    return filled, lo, flat[: start[n]], start, mean_total, log_scale


@inner
def _backward(weights: Floats, start: Integers, back: Floats, scales: Floats) -> None:
    """Fill ``back[i]``, the sum over the tables of states i, i + 1, ..., from its last row.

    Row ``i`` is divided by ``scales[i]``; where that is not positive, it is set to the row's
    largest entry.
    """
    n = len(start) - 1
    length = back.shape[1]
    for i in range(n - 1, -1, -1):
        d = weights[start[i] : start[i + 1]]
        length -= len(d) - 1
        row = back[i, :length]
        for k in range(len(d)):
            later = back[i + 1, k : k + length]
            for t in range(length):
                row[t] += d[k] * later[t]
        if scales[i] <= 0.0:
            for t in range(length):
                scales[i] = max(scales[i], row[t])
        for t in range(length):
            row[t] /= scales[i]


@inner
def _ends(
    prior: Floats, lo: Integers, start: Integers, mean_total: float
) -> tuple[Floats, Floats, float]:
    """Backward messages with their last row, of sum M: Gamma(A) / Gamma(A + M); scales; its log."""
    n = len(lo)
    length = start[n] - n + 1
    total_prior, least = _sum(prior), _whole_sum(lo)
    back, largest = np.zeros((n + 1, length)), -np.inf
    value = least * math.log(mean_total) - log_rising(total_prior, float(least))
    for t in range(length):
        back[n, t] = value
        largest = max(largest, value)
        value += math.log(mean_total) - math.log(total_prior + least + t)
    for t in range(length):
        back[n, t] = math.exp(back[n, t] - largest)
    return back, np.zeros(n), largest


@kernel
def exact_each(
    counts: Integers, s: float, prior: Floats, chosen: Bools, mean: Floats, second: Floats
) -> float:
    """Fill the moments of ``a`` for the chosen ones of several tables; return their log evidence.

    ``counts`` has shape (tables, groups, states), ``mean`` and ``second`` (tables, states).
    """
    log_evidence = 0.0
    for b in range(len(counts)):
        if chosen[b]:
            log_evidence += _exact(counts[b], s, prior, mean[b], second[b])
    return log_evidence


@kernel
def _exact(counts: Integers, s: float, prior: Floats, mean: Floats, second: Floats) -> float:
    """Fill the posterior mean and second moment of ``a``; return the log evidence."""
    filled, lo, weights, start, mean_total, log_evidence = _weights(counts, s, prior)
    n, total_prior, least = len(filled), _sum(prior), _whole_sum(lo)
    back, scales, log_end = _ends(prior, lo, start, mean_total)
    _backward(weights, start, back, scales)
    log_evidence += log_end + math.log(back[0, 0])
    for i in range(n):
        log_evidence += math.log(scales[i])
    for j in range(len(counts)):
        log_evidence -= log_rising(s, float(_whole_sum(counts[j])))
    # Messages whose end also carries 1 / (A + M) and 1 / ((A + M)(A + M + 1)).
    once, twice = np.zeros(back.shape), np.zeros(back.shape)
    for t in range(back.shape[1]):
        size = total_prior + least + t
        once[n, t] = back[n, t] / size
        twice[n, t] = once[n, t] / (size + 1.0)
    _backward(weights, start, once, scales)
    _backward(weights, start, twice, scales)
    for x in range(len(prior)):  # right for the states never seen, which have no tables
        mean[x] = prior[x] * once[0, 0] / back[0, 0]
        second[x] = prior[x] * (prior[x] + 1.0) * twice[0, 0] / back[0, 0]
    _forward(filled, lo, weights, start, prior, scales, back, once, twice, mean, second)
    return log_evidence


@inner
def _forward(
    filled: Integers,
    lo: Integers,
    weights: Floats,
    start: Integers,
    prior: Floats,
    scales: Floats,
    back: Floats,
    once: Floats,
    twice: Floats,
    mean: Floats,
    second: Floats,
) -> None:
    """Moments of each state that was seen, from the tables before it and the messages behind it."""
    forward, following = np.zeros(back.shape[1]), np.empty(back.shape[1])
    first, square = np.empty(back.shape[1]), np.empty(back.shape[1])
    forward[0] = 1.0
    reached = 1
    for i in range(len(filled)):
        x, d = filled[i], weights[start[i] : start[i + 1]]
        for t in range(reached):
            first[t], square[t] = 0.0, 0.0
        for t in range(reached + len(d) - 1):
            following[t] = 0.0
        for k in range(len(d)):
            size = prior[x] + lo[i] + k
            w_1, w_2 = d[k] * size, d[k] * size * (size + 1.0)
            after_1, after_2 = once[i + 1, k : k + reached], twice[i + 1, k : k + reached]
            shifted = following[k : k + reached]
            for t in range(reached):
                first[t] += w_1 * after_1[t]
                square[t] += w_2 * after_2[t]
                shifted[t] += d[k] * forward[t]
        z, total, total_square = 0.0, 0.0, 0.0
        for t in range(reached):
            z += forward[t] * back[i, t] * scales[i]
            total += forward[t] * first[t]
            total_square += forward[t] * square[t]
        mean[x], second[x] = total / z, total_square / z
        reached += len(d) - 1
        largest = 0.0
        for t in range(reached):
            largest = max(largest, following[t])
        for t in range(reached):
            forward[t] = following[t] / largest


@kernel
def draw_tables(counts: Integers, s: float, prior: Floats, uniform: Floats, out: Integers) -> None:
    """Fill ``out`` (draws, states) with table counts drawn from their posterior.

    ``uniform`` has a number in [0, 1) for each draw and state.
    """
    filled, lo, weights, start, mean_total, _ = _weights(counts, s, prior)
    back, scales, _ = _ends(prior, lo, start, mean_total)
    _backward(weights, start, back, scales)
    for draw in range(len(out)):
        for x in range(len(prior)):
            out[draw, x] = 0
    for draw in range(len(out)):
        t = 0
        for i in range(len(filled)):
            d = weights[start[i] : start[i + 1]]
            target = uniform[draw, i] * back[i, t] * scales[i]
            k, total = 0, d[0] * back[i + 1, t]
            while total <= target and k < len(d) - 1:
                k += 1
                total += d[k] * back[i + 1, t + k]
            out[draw, filled[i]] = lo[i] + k
            t += k
