r"""Gibbs steps of a hierarchical Dirichlet chain: tables, strengths, rows.

The chain and its layout are those of ``kernels/chain.py``. The weights :math:`w_{l,g}` of the rows
are given. Integrating out the rows of level :math:`l` leaves, with the numbers of tables
:math:`t_{gx}` as auxiliary variables,

.. math::
    t_{gx} \sim \mathrm{CRT}(n_{l,g,x},\; s_l w_{l,g} \phi_{l-1,up(g),x}), \qquad
    n_{l-1,h,x} = \sum_{up(g) = h} t_{gx}, \qquad
    \phi_{l,g} \sim \mathrm{Dirichlet}(n_{l,g} + s_l w_{l,g} \phi_{l-1,up(g)})

where CRT(n, c) is the number of successes among Bernoulli variables of probability
:math:`c / (c + i)`, :math:`i < n`. A strength is drawn before the tables of its level, from

.. math::
    p(s_l \mid n_l, \phi_{l-1}) \propto \mathrm{Gamma}(s_l)
    \prod_g \frac{\Gamma(s_l w_g)}{\Gamma(s_l w_g + n_g)}
    \prod_{gx} \frac{\Gamma(s_l w_g \phi_{up(g),x} + n_{gx})}{\Gamma(s_l w_g \phi_{up(g),x})}

by slice sampling (Neal 2003) in its logarithm. Rows are integrated out of every step and drawn
again, downwards, before they are used: given the tables, which would be the quicker way (Escobar
and West 1995), strengths move a few times as slowly.

A fraction of a customer is one with that probability, anew in each sweep. Where more than a
thousand tables are expected, their number is drawn from the normal distribution of the same mean
and variance.

Random numbers are those of SplitMix64 (Steele, Lea and Flood 2014), Gamma variables after Marsaglia
and Tsang (2000). Reference: Teh, Jordan, Beal and Blei (2006).
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Bools, Floats, Integers, Words
from consilience.kernels.compile import inner, kernel

__all__ = ["draw_tables", "sweep"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)

SMALLEST = 1e-300
"""Concentrations are no smaller, so that no logarithm overflows."""

FEW = 16
"""So many customers are asked one by one, and more as long as a fifth of them opens a table; later
ones are skipped in strides.
"""

LEAST, MOST = math.log(1e-6), math.log(1e9)
"""Where the logarithm of a strength is looked for."""

MANY = 1000.0
"""More expected tables than this are drawn from a normal distribution."""


@kernel
def draw_tables(
    customers: Floats,
    totals: Floats,
    phi: Floats,
    weight: Floats,
    s: Floats,
    shapes: Floats,
    rates: Floats,
    up: Integers,
    start: Integers,
    seen: Integers,
    ends: Integers,
    pooled: Floats,
    n_alike: Floats,
    is_empty: Bools,
    pooled_share: float,
    state: Words,
    n_sweeps: int,
    out: Floats,
) -> None:
    """Draw the rows of level K again and again into ``out``, some sweeps apart.

    Parameters
    ----------
    customers, totals, phi, weight, s, shapes, rates, up, seen, ends, state, n_sweeps
        As for :func:`sweep`.
    start
        Where levels begin.
    pooled
        The sums of the counts below each row, in the shape of ``phi``.
    n_alike
        How many sources of equal size would say as much of a row of level K - 1; one number for
        each row of all levels.
    is_empty
        Whether each source has no counts; [False] if level K does not drop the source.
    pooled_share
        The probability with which the rows of such a source are drawn around those of all sources
        together instead of the base.
    out
        Shape (draws, rows of level K, states).
    """
    k = len(s) - 1
    n_rows = out.shape[1] // len(is_empty)
    for i in range(len(out)):
        sweep(customers, totals, phi, weight, s, shapes, rates, up, seen, ends, state, n_sweeps)
        _record(customers, totals, phi, weight, s, up, start, state, out[i])
        for f in range(len(is_empty)):
            if is_empty[f] and _uniform(state) < pooled_share:
                for g in range(f * n_rows, (f + 1) * n_rows):
                    _draw_around_all(
                        phi, weight, s, up, start[k] + g, pooled, n_alike, out[i], g, state
                    )


@kernel
def sweep(
    customers: Floats,
    totals: Floats,
    phi: Floats,
    weight: Floats,
    s: Floats,
    shapes: Floats,
    rates: Floats,
    up: Integers,
    seen: Integers,
    ends: Integers,
    state: Words,
    n_sweeps: int,
) -> None:
    """Gibbs sweeps in place: tables from the last level upwards, strengths, rows downwards.

    Parameters
    ----------
    customers, totals
        Those of all rows and their sums; at level K the counts, elsewhere overwritten.
    phi
        Rows of all levels; those of level K are not touched, since no row backs off to them.
    weight, s, up
        As in ``kernels/chain.py``; ``s`` is overwritten.
    shapes, rates
        Gamma priors of the strengths by level (not used for level 0).
    seen, ends
        The rows with customers, and where each level ends among them (:func:`chain.place`).
    state
        One number, the state of the generator.
    """
    k, r = len(s) - 1, customers.shape[1]
    for _ in range(n_sweeps):
        for i in range(ends[k]):
            totals[seen[i]] = 0.0
            for x in range(r):
                customers[seen[i], x] = 0.0
        for level in range(k, 0, -1):
            rows = seen[ends[level] : ends[level + 1]]
            prior = shapes[level], rates[level]
            s[level] = _strength(s[level], prior, customers, totals, phi, weight, up, rows, state)
            for g in rows:
                h = up[g]
                for x in range(r):
                    if customers[g, x] > 0.0:
                        c = max(s[level] * weight[g] * phi[h, x], SMALLEST)
                        tables = _tables(customers[g, x], c, state)
                        customers[h, x] += tables
                        totals[h] += tables
        for level in range(k):
            for i in range(ends[level], ends[level + 1]):
                _draw_row(customers, phi, weight, s, up, level, seen[i], phi, seen[i], state)


@inner
def _record(
    customers: Floats,
    totals: Floats,
    phi: Floats,
    weight: Floats,
    s: Floats,
    up: Integers,
    start: Integers,
    state: Words,
    out: Floats,
) -> None:
    """Draw the rows of level K into ``out``, and on the way those without customers."""
    k = len(s) - 1
    for level in range(k):
        for g in range(start[level], start[level + 1]):
            if totals[g] == 0.0:  # a sweep has drawn the others
                _draw_row(customers, phi, weight, s, up, level, g, phi, g, state)
    for i in range(len(out)):
        _draw_row(customers, phi, weight, s, up, k, start[k] + i, out, i, state)


@inner
def _draw_around_all(
    phi: Floats,
    weight: Floats,
    s: Floats,
    up: Integers,
    g: int,
    pooled: Floats,
    n_alike: Floats,
    out: Floats,
    place: int,
    state: Words,
) -> None:
    """Draw row ``g`` of level K around a draw of the row of all sources together.

    Sources differ, so their rows say no more of it than ``n_alike`` draws around it do.
    """
    k, h, r = len(s) - 1, up[g], out.shape[1]
    total = s[k - 1] if k > 1 else float(r)
    for x in range(r):
        total += pooled[h, x]
    most = s[k] * max(n_alike[h], 1.0)
    share = most / (most + total)
    for x in range(r):
        above = s[k - 1] * phi[up[h], x] if k > 1 else 1.0
        out[place, x] = _log_gamma(max(share * (pooled[h, x] + above), SMALLEST), state)
    _normalize(out, place)
    for x in range(r):
        c = s[k] * weight[g] * out[place, x]
        out[place, x] = _log_gamma(max(c, SMALLEST), state)
    _normalize(out, place)


@inner
def _draw_row(
    customers: Floats,
    phi: Floats,
    weight: Floats,
    s: Floats,
    up: Integers,
    level: int,
    g: int,
    out: Floats,
    place: int,
    state: Words,
) -> None:
    """Draw row ``g`` given the one it backs off to into row ``place`` of ``out``."""
    strength = s[level] * weight[g]
    for x in range(customers.shape[1]):
        base = strength * phi[up[g], x] if level else 1.0
        out[place, x] = _log_gamma(max(customers[g, x] + base, SMALLEST), state)
    _normalize(out, place)


@inner
def _normalize(out: Floats, place: int) -> None:
    """Turn logarithms of Gamma variables into a row of probabilities."""
    largest = out[place, 0]
    for x in range(1, out.shape[1]):
        largest = max(largest, out[place, x])
    total = 0.0
    for x in range(out.shape[1]):
        out[place, x] = math.exp(out[place, x] - largest)
        total += out[place, x]
    for x in range(out.shape[1]):
        out[place, x] /= total


@inner
def _strength(
    s: float,
    prior: tuple[float, float],
    customers: Floats,
    totals: Floats,
    phi: Floats,
    weight: Floats,
    up: Integers,
    rows: Integers,
    state: Words,
) -> float:
    """A strength after one step of slice sampling in its logarithm."""
    u = math.log(s)
    least = _log_density(u, prior, customers, totals, phi, weight, up, rows)
    least += math.log(_uniform(state))
    low = u - _uniform(state)
    high = low + 1.0
    while (
        low > LEAST and _log_density(low, prior, customers, totals, phi, weight, up, rows) > least
    ):
        low -= 1.0
    while (
        high < MOST and _log_density(high, prior, customers, totals, phi, weight, up, rows) > least
    ):
        high += 1.0
    while True:
        new = low + (high - low) * _uniform(state)
        if _log_density(new, prior, customers, totals, phi, weight, up, rows) >= least:
            return math.exp(new)
        if new < u:
            low = new
        else:
            high = new
        if high - low < 1e-12:
            return s


@inner
def _log_density(
    u: float,
    prior: tuple[float, float],
    customers: Floats,
    totals: Floats,
    phi: Floats,
    weight: Floats,
    up: Integers,
    rows: Integers,
) -> float:
    """Log posterior density of u = log s, its rows integrated out."""
    s = math.exp(u)
    total = prior[0] * u - prior[1] * s
    for g in rows:
        strength, h = s * weight[g], up[g]
        total -= _log_rise(strength, totals[g])
        for x in range(customers.shape[1]):
            if customers[g, x] > 0.0:
                total += _log_rise(max(strength * phi[h, x], SMALLEST), customers[g, x])
    return total


@inner
def _log_rise(c: float, n: float) -> float:
    """Log of Gamma(c + n) / Gamma(c), by Stirling's series where both arguments are 8 or more."""
    rise, ratio = 0.0, 1.0
    if c < 1e-3:  # alone, since its part of the product may overflow
        rise = math.log(c) - math.log(c + n)
        c += 1.0
    while c < 8.0:
        ratio *= c / (c + n)
        c += 1.0
    m = c + n
    rise += math.log(ratio) + (m - 0.5) * math.log(m) - (c - 0.5) * math.log(c) - n
    return rise + _tail(m) - _tail(c)


@inner
def _tail(x: float) -> float:
    """What Stirling's formula lacks of log Gamma(x), for x of 8 and more."""
    y = 1.0 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x


@inner
def _tables(n: float, c: float, state: Words) -> float:
    """Number of tables of ``n`` customers: the first opens one, customer i with c / (c + i)."""
    whole = float(math.floor(n))
    if n > whole and _uniform(state) < n - whole:
        whole += 1.0
    if whole <= 1.0:
        return whole
    if c * math.log1p(whole / c) > MANY:
        return _many_tables(whole, c, state)
    tables, i = 1.0, 1.0
    one_by_one = min(max(FEW, 4.0 * c), whole)
    while i < one_by_one:
        if _uniform(state) * (c + i) < c:
            tables += 1.0
        i += 1.0
    while i < whole:
        # Candidates come with the probability of the stride's first customer; each is kept with
        # the ratio of its own probability to that one, which is above a half.
        end = min(2.0 * i, whole)
        log_missed = -math.log1p(c / i)
        j = i + math.floor(math.log(_uniform(state)) / log_missed)
        while j < end:
            if _uniform(state) * (c + j) < c + i:
                tables += 1.0
            j += 1.0 + math.floor(math.log(_uniform(state)) / log_missed)
        i = end
    return tables


@inner
def _many_tables(n: float, c: float, state: Words) -> float:
    """The normal approximation; sums over customers by the midpoint rule, as c is large here."""
    mean = c * math.log((c + n - 0.5) / (c - 0.5))
    variance = mean - c * c * (1.0 / (c - 0.5) - 1.0 / (c + n - 0.5))
    drawn = math.floor(mean + math.sqrt(max(variance, 0.0)) * _normal(state) + 0.5)
    return min(max(drawn, 1.0), n)


@inner
def _log_gamma(a: float, state: Words) -> float:
    """Logarithm of a Gamma(a, 1) variable."""
    raised = 0.0
    if a < 1.0:
        raised = math.log(_uniform(state)) / a
        a += 1.0
    d = a - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(state)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(_uniform(state)) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return math.log(d * v) + raised


@inner
def _normal(state: Words) -> float:
    return math.sqrt(-2.0 * math.log(_uniform(state))) * math.cos(2.0 * math.pi * _uniform(state))


@inner
def _uniform(state: Words) -> float:
    """A number strictly between 0 and 1."""
    state[0] += GAMMA
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return (float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) + 0.5) * 2.0**-53
