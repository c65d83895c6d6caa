r"""Log-likelihoods of many families for several sources: pooled, by source, and tied.

With the counts :math:`N_{fjk}` of source f, parent state j and state k, the largest values of

.. math::
    \sum_{fjk} N_{fjk} \log \theta_{jk}, \qquad
    \sum_{fjk} N_{fjk} \log \theta_{fjk}, \qquad
    \sum_{fj} \log \frac{\Gamma(s)}{\Gamma(s + N_{fj})}
        + \sum_{fjk} \log \frac{\Gamma(s\,a_{jk} + N_{fjk})}{\Gamma(s\,a_{jk})} .

The last is that of tables :math:`\theta_{fj} \sim \mathrm{Dirichlet}(s\,a_j)` around a base, the
tables integrated out. At the best base the expected numbers of "tables" of the
states of j are in its proportions, which Newton's method finds; the strength is the root of

.. math:: \frac{\partial}{\partial \log s} = \sum_{fjk} m(s\,a_{jk}, N_{fjk})
    - \sum_{fj} m(s, N_{fj}), \qquad m(c, n) = c\,(\psi(c + n) - \psi(c)),

found by secants in :math:`\log s`, the base making a step at each. Any base and strength give a
lower bound of the maximum; the one reached is mostly within a hundredth of it.

It is asked only where the sources differ more than chance would make them: where twice the gain
:math:`g` of tables by source over pooled ones, which for sources alike has a mean of about its
degrees of freedom :math:`d = \sum_j (F_j - 1)(r_j - 1)` (sources and states seen with j) and a
variance of about 2 d, has :math:`2 g > d + 2 \sqrt{2 d}`. Elsewhere it is minus infinity.
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.chain import digamma_rise
from consilience.kernels.compile import inner, kernel
from consilience.kernels.hierarchy import log_rising

__all__ = ["fill_n_log_n", "log_likelihoods_by_source"]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere: a release must not meet an old one

DEVIATIONS = 2.0
"""By how many standard deviations the sources must differ more than chance makes them."""

LEAST, MOST = math.log(0.02), math.log(1e6)
"""Where the log of the strength is looked for."""

START, STRIDE = math.log(10.0), math.log(4.0)
SECANTS, CLOSE = 30, 0.02  # the last step of the strength is smaller than this
ROUNDS = 10  # how often strength and base are found anew, at most
LONGEST = 2.0  # step of the log of a base
ENOUGH = 1e-3  # gain of a step below which there is no other


@kernel
def fill_n_log_n(out: Floats) -> None:
    """Fill ``out`` with n log n for n = 0, 1, 2, ..."""
    out[0] = 0.0
    for n in range(1, len(out)):
        out[n] = n * math.log(n)


@kernel
def log_likelihoods_by_source(
    table: Integers,
    shapes: Integers,
    scale: float,
    known: Floats,
    pooled: Floats,
    apart: Floats,
    tied: Floats,
    rows: Floats,
) -> None:
    """Fill in the three log-likelihoods of each family, and its rows, in units of rows.

    Parameters
    ----------
    table, shapes, scale
        The counts of a batch.
    known
        n log n for small whole numbers n.
    pooled, apart, tied, rows
        The answers, one number a family.
    """
    start = 0
    for family in range(len(rows)):
        n_sources, outer, r, inner_ = shapes[family]
        size = n_sources * outer * r * inner_
        own = table[start : start + size].reshape((n_sources, outer, r, inner_))
        found = _both(own, scale, known)
        pooled[family], apart[family], rows[family], free, n_seen = found
        tied[family] = -np.inf
        gain = apart[family] - pooled[family]
        if free > 0.0 and 2.0 * gain > free + DEVIATIONS * math.sqrt(2.0 * free):
            tied[family] = _tied(_seen(own, scale, n_seen))
        start += size


@inner
def _both(counts: Integers, scale: float, known: Floats) -> tuple[float, float, float, float, int]:
    """Log-likelihoods pooled and by source, rows, degrees of freedom, parent states seen."""
    n_sources, outer, r, inner_ = counts.shape
    of_state = np.empty(r, np.int64)
    pooled, apart, free, n_all, n_seen = 0.0, 0.0, 0.0, 0, 0
    for j in range(outer):
        for i in range(inner_):
            of_state[:] = 0
            n, n_sources_seen = 0, 0
            for f in range(n_sources):
                own = 0
                for k in range(r):
                    cell = counts[f, j, k, i]
                    if cell > 0:
                        own += cell
                        of_state[k] += cell
                        apart += _n_log_n(cell, scale, known)
                if own > 0:
                    n += own
                    n_sources_seen += 1
                    apart -= _n_log_n(own, scale, known)
            if n > 0:
                n_states_seen = 0
                for k in range(r):
                    if of_state[k] > 0:
                        n_states_seen += 1
                        pooled += _n_log_n(of_state[k], scale, known)
                pooled -= _n_log_n(n, scale, known)
                free += (n_sources_seen - 1) * (n_states_seen - 1)
                n_all += n
                n_seen += 1
    return pooled, apart, n_all / scale, free, n_seen


@inner
def _n_log_n(count: int, scale: float, known: Floats) -> float:
    if scale == 1.0 and count < len(known):
        return known[count]
    n = count / scale
    return n * math.log(n)


@inner
def _seen(counts: Integers, scale: float, n_seen: int) -> Floats:
    """The counts in rows, shape (parent states seen, sources, states)."""
    n_sources, outer, r, inner_ = counts.shape
    out = np.zeros((n_seen, n_sources, r))
    place = 0
    for j in range(outer):
        for i in range(inner_):
            n = 0
            for f in range(n_sources):
                for k in range(r):
                    n += counts[f, j, k, i]
            if n > 0:
                for f in range(n_sources):
                    for k in range(r):
                        out[place, f, k] = counts[f, j, k, i] / scale
                place += 1
    return out


@inner
def _tied(counts: Floats) -> float:
    """The largest log-likelihood of tables around a base, for counts (states, sources, states)."""
    n_given, n_sources, r = counts.shape
    totals, base = np.zeros((n_given, n_sources)), np.zeros((n_given, r))
    for j in range(n_given):
        n = 0.0
        for f in range(n_sources):
            for k in range(r):
                totals[j, f] += counts[j, f, k]
                base[j, k] += counts[j, f, k]
            n += totals[j, f]
        for k in range(r):
            base[j, k] /= n
    u, reached = _root(counts, totals, base, START, STRIDE), -np.inf
    for _ in range(ROUNDS):
        before, reached = reached, _log_likelihood(counts, totals, base, math.exp(u))
        if reached < before + ENOUGH:
            return max(reached, before)
        u = _root(counts, totals, base, u, CLOSE)
    return reached


@inner
def _root(counts: Floats, totals: Floats, base: Floats, start: float, stride: float) -> float:
    """The log of the strength, the base following: the root moves, so there is no bracket."""
    before, slope_before = start, _slope(counts, totals, base, math.exp(start))
    u = start + (stride if slope_before > 0.0 else -stride)
    for _ in range(SECANTS):
        slope = _slope(counts, totals, base, math.exp(u))
        fall = (slope_before - slope) / (u - before)
        step = STRIDE if slope > 0.0 else -STRIDE
        if fall * STRIDE > abs(slope):
            step = slope / fall
        before, slope_before = u, slope
        u = min(max(u + step, LEAST), MOST)
        if abs(u - before) < CLOSE:
            break
    return u


@inner
def _slope(counts: Floats, totals: Floats, base: Floats, s: float) -> float:
    """Derivative by the log of the strength; the base makes one step."""
    n_given, n_sources, r = counts.shape
    slope, step, weight = 0.0, np.zeros(r), np.zeros(r)
    for j in range(n_given):
        level, size = 0.0, 0.0
        for k in range(r):
            c, tables, curve = s * base[j, k], 0.0, 0.0
            if c > 0.0:
                for f in range(n_sources):
                    n = counts[j, f, k]
                    tables += _expected_tables(c, n)
                    curve += n if n <= 1.0 else 1.0 + (n - 1.0) * c * c / ((c + n) * (c + 1.0))
                slope += tables
                step[k], weight[k] = math.log(tables / c), tables / curve
                level += c * weight[k] * step[k]
                size += c * weight[k]
        _move(base[j], step, weight, level / size)
        for f in range(n_sources):
            slope -= _expected_tables(s, totals[j, f])
    return slope


@inner
def _move(base: Floats, step: Floats, weight: Floats, level: float) -> None:
    """Newton's step in logarithms towards equal ratios of tables to the base; its Hessian is
    diagonal, and m nearly 1 + c log((c + n) / (c + 1)).
    """
    total = 0.0
    for k in range(len(base)):
        if base[k] > 0.0:
            base[k] *= math.exp(min(max(weight[k] * (step[k] - level), -LONGEST), LONGEST))
            total += base[k]
    for k in range(len(base)):
        base[k] /= total


@inner
def _expected_tables(c: float, n: float) -> float:
    """A fraction of a row is one that is there with this probability."""
    return n if n <= 1.0 else c * digamma_rise(c, n)


@inner
def _log_likelihood(counts: Floats, totals: Floats, base: Floats, s: float) -> float:
    n_given, n_sources, r = counts.shape
    value = 0.0
    for j in range(n_given):
        for f in range(n_sources):
            if totals[j, f] > 0.0:
                value -= _log_of_rows(s, totals[j, f])
                for k in range(r):
                    if counts[j, f, k] > 0.0:
                        value += _log_of_rows(s * base[j, k], counts[j, f, k])
    return value


@inner
def _log_of_rows(c: float, n: float) -> float:
    return n * math.log(c) if n < 1.0 else log_rising(c, n)
