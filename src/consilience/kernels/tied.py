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
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.chain import digamma_rise
from consilience.kernels.compile import inner, kernel
from consilience.kernels.hierarchy import log_rising

__all__ = ["fill_n_log_n", "log_likelihoods_by_source"]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere: a release must not meet an old one

DEVIATIONS = 2.0
"""By how many standard deviations the sources must differ more than chance makes them."""

SMALL = 256
"""Whole numbers of rows below this are tallied: many sources have the same."""

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
            tied[family] = _tied(_tally(own, scale, n_seen), r)
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


class Tally(NamedTuple):
    """How often each number of rows occurs among the sources, in groups: for each parent state that
    was seen one group for each state of the child, and one for the rows of all states.
    """

    values: Floats
    times: Floats
    starts: Integers  # where the groups begin, and the end


@inner
def _tally(counts: Integers, scale: float, n_seen: int) -> Tally:
    n_sources, outer, r, inner_ = counts.shape
    most = n_seen * n_sources * (r + 1)
    values, times = np.empty(most), np.empty(most)
    starts, often = np.zeros(n_seen * (r + 1) + 1, np.int64), np.zeros(SMALL, np.int64)
    group, end = 0, 0
    for j in range(outer):
        for i in range(inner_):
            if not counts[:, j, :, i].any():
                continue
            for k in range(r + 1):
                largest = 0
                for f in range(n_sources):
                    n = counts[f, j, k, i] if k < r else counts[f, j, :, i].sum()
                    rows = n / scale
                    if 0 < rows < SMALL and rows == math.floor(rows):
                        often[int(rows)] += 1
                        largest = max(largest, int(rows))
                    elif n > 0:
                        values[end], times[end] = rows, 1.0
                        end += 1
                for rows in range(1, largest + 1):
                    if often[rows] > 0:
                        values[end], times[end] = float(rows), float(often[rows])
                        often[rows] = 0
                        end += 1
                group += 1
                starts[group] = end
    return Tally(values[:end], times[:end], starts)


@inner
def _tied(tally: Tally, r: int) -> float:
    """The largest log-likelihood of tables around a base."""
    values, times, starts = tally
    base = np.empty(((len(starts) - 1) // (r + 1), r))
    for j in range(len(base)):
        total = 0.0
        for k in range(r):
            group, n = j * (r + 1) + k, 0.0
            for e in range(starts[group], starts[group + 1]):
                n += values[e] * times[e]
            base[j, k] = n
            total += n
        for k in range(r):
            base[j, k] /= total
    u, reached = _root(tally, base, START, STRIDE), -np.inf
    for _ in range(ROUNDS):
        before, reached = reached, _log_likelihood(tally, base, math.exp(u))
        if reached < before + ENOUGH:
            return max(reached, before)
        u = _root(tally, base, u, CLOSE)
    return reached


@inner
def _root(tally: Tally, base: Floats, start: float, stride: float) -> float:
    """The log of the strength, the base following: the root moves, so there is no bracket."""
    before, slope_before = start, _slope(tally, base, math.exp(start))
    u = start + (stride if slope_before > 0.0 else -stride)
    for _ in range(SECANTS):
        slope = _slope(tally, base, math.exp(u))
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
def _slope(tally: Tally, base: Floats, s: float) -> float:
    """Derivative by the log of the strength; the base makes one step."""
    values, times, starts = tally
    r = base.shape[1]
    slope, step, weight = 0.0, np.zeros(r), np.zeros(r)
    for j in range(len(base)):
        level, size = 0.0, 0.0
        for k in range(r):
            group, c = j * (r + 1) + k, s * base[j, k]
            if c > 0.0:
                tables, curve = 0.0, 0.0
                for e in range(starts[group], starts[group + 1]):
                    n = values[e]
                    tables += times[e] * _expected_tables(c, n)
                    share = c * c / ((c + n) * (c + 1.0))
                    curve += times[e] * (n if n <= 1.0 else 1.0 + (n - 1.0) * share)
                slope += tables
                step[k], weight[k] = math.log(tables / c), tables / curve
                level += c * weight[k] * step[k]
                size += c * weight[k]
        _move(base[j], step, weight, level / size)
        group = j * (r + 1) + r
        for e in range(starts[group], starts[group + 1]):
            slope -= times[e] * _expected_tables(s, values[e])
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
def _log_likelihood(tally: Tally, base: Floats, s: float) -> float:
    values, times, starts = tally
    r, value = base.shape[1], 0.0
    for j in range(len(base)):
        for k in range(r + 1):
            group = j * (r + 1) + k
            for e in range(starts[group], starts[group + 1]):
                if k < r:
                    value += times[e] * _log_of_rows(s * base[j, k], values[e])
                else:
                    value -= times[e] * _log_of_rows(s, values[e])
    return value


@inner
def _log_of_rows(c: float, n: float) -> float:
    return n * math.log(c) if n < 1.0 else log_rising(c, n)
