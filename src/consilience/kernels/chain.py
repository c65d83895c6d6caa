r"""The fit of one back-off order of a hierarchical Dirichlet chain, by expected table counts.

.. math::
    \phi_0 \sim \mathrm{Dirichlet}(1), \qquad
    \phi_{l,g} \sim \mathrm{Dirichlet}(s_l\, w_{l,g}\, \phi_{l-1, up(g)}), \qquad
    N_g \sim \mathrm{Multinomial}(\phi_{K,g})

Level :math:`K` has one row for each joint state of all variables, level :math:`l - 1` one variable
less than level :math:`l`, level 0 a single row. The rows of all levels stand in one list, from
level 0 to level :math:`K`: ``start[l]`` is the first row of level ``l``, ``start[K + 1]`` the end,
and ``up[g]`` the row that row ``g`` backs off to. The customers :math:`n` of a row are its counts
at level :math:`K` and the expected tables of the rows that back off to it elsewhere; :math:`m` are
the means:

.. math::
    c_{gx} = s_l w_{l,g} m_{l-1,up(g),x}, \qquad
    n_{l-1,h,x} = \sum_{up(g) = h} c_{gx}\, (\psi(c_{gx} + n_{l,g,x}) - \psi(c_{gx})), \qquad
    m_{l,g,x} = \frac{n_{l,g,x} + c_{gx}}{n_{l,g} + s_l w_{l,g}}

    w_{l,g} \propto (n_{l,g} + 1)^{\rho_l}, \qquad
    s_l = \frac{\text{shape}_l + \sum_h n_{l-1,h}}
        {\text{rate}_l + \sum_g w_{l,g} (\psi(s_l w_{l,g} + n_{l,g}) - \psi(s_l w_{l,g}))}

The last is the mode of :math:`\log s_l`; that of :math:`s_l` itself may be zero, where each row
shows one state. These are iterated to a fixed point. Only the cells with customers matter to the
others, so the rounds skip what was never seen. The last equation alone would take hundreds of
rounds where the data say little about :math:`s`; its root is sought by Newton's steps in
:math:`\log s`.

References: Teh, Jordan, Beal and Blei (2006); Teh, Kurihara and Welling (2008).
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "begin",
    "digamma_rise",
    "fit_order",
    "leave_out",
    "place",
    "settle",
    "settle_from",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LONGEST = 1.0
STRIDE = 10.0
"""Of log s in a round: the longest step, and how many pulls make one where no root is in sight."""


@kernel
def _tail(x: float) -> float:
    """By how much log(x) exceeds digamma(x), for x of 8 and more: the asymptotic series."""
    y = 1.0 / (x * x)
    series = 1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12))
    return 0.5 / x + y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * series)))


@kernel
def digamma_rise(c: float, n: float) -> float:
    """Digamma(c + n) - digamma(c) for c > 0 and n >= 0, without cancellation."""
    total = 0.0
    if n <= 16.0 and n == math.floor(n):
        for i in range(int(n)):
            total += 1.0 / (c + i)
        return total
    while c < 8.0:
        total += n / (c * (c + n))
        c += 1.0
    return total + math.log1p(n / c) + (_tail(c) - _tail(c + n))


@kernel
def _trigamma_fall(c: float, n: float) -> float:
    """Trigamma(c) - trigamma(c + n) for c > 0 and n >= 0, to a millionth: a slope needs no more."""
    total = 0.0
    if n <= 16.0 and n == math.floor(n):
        for i in range(int(n)):
            total += 1.0 / ((c + i) * (c + i))
        return total
    while c < 4.0:
        total += 1.0 / (c * c) - 1.0 / ((c + n) * (c + n))
        c += 1.0
    return total + _trigamma(c) - _trigamma(c + n)


@kernel
def _trigamma(x: float) -> float:
    """Trigamma of x of 4 and more: the asymptotic series."""
    y = 1.0 / (x * x)
    return 1.0 / x + y * (0.5 + (1 / 6 - y * (1 / 30 - y / 42)) / x)


@kernel
def fit_order(
    counts: Floats,
    up: Integers,
    start: Integers,
    rho: Floats,
    shapes: Floats,
    rates: Floats,
    least: Floats,
    most: Floats,
    first: Floats,
    mean: Floats,
    weight: Floats,
    n_rounds: int,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Concentrations and leave-one-out predictions; means and strengths of all rows in place.

    Parameters
    ----------
    counts
        Rows of level K, shape (rows, states); fractional or not.
    up, start
        The chain, see the head of the module; shapes (rows of all levels,) and (K + 2,).
    rho
        By level: a row of total t has the strength (t + 1) ** rho, relative to the mean of its
        level.
    shapes, rates
        Gamma priors of the concentrations by level (not used for level 0).
    least, most
        Where the concentration of each level is cut off; equal where it is fixed.
    first
        The concentration that each level starts from.
    mean, weight
        Means and strengths of the rows of all levels to start from (:func:`begin`, or a fit under
        other priors), shapes (rows of all levels, states) and (rows of all levels,); overwritten by
        those found.
    n_rounds, tolerance
        At most so many rounds, until no mean and no log concentration changes by more.

    Returns
    -------
    s, left_out
        Shapes (K + 1,) and that of ``counts``; ``left_out`` is one where no count is.
    """
    n_levels, r = len(start) - 1, counts.shape[1]
    s = np.zeros(n_levels)
    for level in range(n_levels):
        s[level] = min(max(first[level], least[level]), most[level])
    customers, totals, every = np.zeros((len(up), r)), np.zeros(len(up)), np.arange(len(up))
    seen, ends = place(counts, up, start, customers, totals)
    for _ in range(n_rounds):
        _seat(customers, totals, mean, weight, s, up, seen, ends)
        change = _average(customers, totals, mean, weight, s, up, start, seen, ends, rho, 0.0)
        for level in range(1, n_levels):
            tables, bend, rise, fall = 0.0, 0.0, 0.0, 0.0
            for i in range(ends[level - 1], ends[level]):
                tables += totals[seen[i]]
            for i in range(ends[level], ends[level + 1]):
                g, h = seen[i], up[seen[i]]
                strength = s[level] * weight[g]
                rise += weight[g] * digamma_rise(strength, totals[g])
                fall += weight[g] * strength * _trigamma_fall(strength, totals[g])
                for x in range(r):
                    if customers[g, x] > 0.0:
                        c = strength * mean[h, x]
                        bend += c * c * _trigamma_fall(c, customers[g, x])
            above, below = shapes[level] + tables, rates[level] + rise
            pull = math.log(above / below / s[level])
            step = _newton_step(pull, (tables - bend) / above + fall / below - 1.0)
            new = min(max(s[level] * math.exp(step), least[level]), most[level])
            change = max(change, abs(math.log(new / s[level])))
            s[level] = new
        if change <= tolerance:
            break
    _average(customers, totals, mean, weight, s, up, start, every, start, rho, -1.0)
    return s, _left_out(customers, totals, mean, weight, s, up, start)


@kernel
def begin(
    counts: Floats, up: Integers, start: Integers, rho: Floats, s: Floats
) -> tuple[Floats, Floats]:
    """Means and strengths of all rows to start from: as if every customer had a table."""
    r = counts.shape[1]
    customers, mean = np.zeros((len(up), r)), np.full((len(up), r), 1.0 / r)
    totals, weight = np.zeros(len(up)), np.ones(len(up))
    seen, ends = place(counts, up, start, customers, totals)
    _average(customers, totals, mean, weight, s, up, start, seen, ends, rho, 0.0)
    return mean, weight


@kernel
def settle(
    counts: Floats,
    up: Integers,
    start: Integers,
    rho: Floats,
    s: Floats,
    n_rounds: int,
    tolerance: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Customers, their totals, strengths and means of all rows under given concentrations ``s``.

    Shapes (rows of all levels, states), (rows of all levels,) twice, and that of the customers;
    arguments as for :func:`fit_order`.
    """
    mean, weight = begin(counts, up, start, rho, s)
    customers, totals = settle_from(counts, up, start, rho, s, mean, weight, n_rounds, tolerance)
    return customers, totals, weight, mean


@kernel
def settle_from(
    counts: Floats,
    up: Integers,
    start: Integers,
    rho: Floats,
    s: Floats,
    mean: Floats,
    weight: Floats,
    n_rounds: int,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Customers and their totals under given concentrations; means and strengths in place, from
    those of other counts, say.
    """
    customers, totals = np.zeros(mean.shape), np.zeros(len(up))
    seen, ends = place(counts, up, start, customers, totals)
    for _ in range(n_rounds):
        _seat(customers, totals, mean, weight, s, up, seen, ends)
        change = _average(customers, totals, mean, weight, s, up, start, seen, ends, rho, 0.0)
        if change <= tolerance:
            break
    _average(customers, totals, mean, weight, s, up, start, np.arange(len(up)), start, rho, -1.0)
    return customers, totals


@kernel
def leave_out(
    customers: Floats,
    totals: Floats,
    weight: Floats,
    mean: Floats,
    s: Floats,
    up: Integers,
    start: Integers,
    homes: Integers,
    amounts: Floats,
    asked: Integers,
) -> Floats:
    """Probabilities of cells of level K when an observation of another cell is taken away.

    Parameters
    ----------
    customers, totals, weight, mean
        What :func:`settle` gives for ``s``, ``up`` and ``start``.
    homes, amounts
        The cells (row of level K times the number of states, plus the state) from which each of the
        observations is taken away, and how much of it: one customer, or less.
    asked
        The cells to be predicted for each observation, shape (observations, cells).
    """
    k, r = len(s) - 1, customers.shape[1]
    answer = np.zeros(asked.shape)
    gone, home, path = np.zeros(k + 1), np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    for i in range(len(homes)):
        x = homes[i] % r
        _climb(homes[i] // r, up, start, home)
        _take_away(amounts[i], customers, mean, weight, s, home, x, gone)
        for j in range(asked.shape[1]):
            _climb(asked[i, j] // r, up, start, path)
            y = asked[i, j] % r
            answer[i, j] = _predict(customers, totals, weight, s, path, y, home, x, gone)
    return answer


@kernel
def place(
    counts: Floats, up: Integers, start: Integers, customers: Floats, totals: Floats
) -> tuple[Integers, Integers]:
    """Fill in the customers of level K, and as if every customer had a table those of the others.

    Returns the rows that have any, and where levels end among them.
    """
    n_levels, is_seen = len(start) - 1, np.zeros(len(up), np.int64)
    for i in range(len(counts)):
        g = start[n_levels - 1] + i
        for x in range(counts.shape[1]):
            customers[g, x] = counts[i, x]
            totals[g] += counts[i, x]
        if totals[g] > 0.0:
            is_seen[g] = 1
    for g in range(len(up) - 1, 0, -1):
        if is_seen[g]:
            is_seen[up[g]] = 1
            totals[up[g]] += totals[g]
            for x in range(counts.shape[1]):
                customers[up[g], x] += customers[g, x]
    seen, ends = np.zeros(len(up), np.int64), np.zeros(n_levels + 1, np.int64)
    n = 0
    for level in range(n_levels):
        for g in range(start[level], start[level + 1]):
            if is_seen[g]:
                seen[n] = g
                n += 1
        ends[level + 1] = n
    return seen, ends


@kernel
def _seat(
    customers: Floats,
    totals: Floats,
    mean: Floats,
    weight: Floats,
    s: Floats,
    up: Integers,
    seen: Integers,
    ends: Integers,
) -> None:
    """Customers of the levels before the last: expected tables of the rows that back off there."""
    k, r = len(s) - 1, customers.shape[1]
    for i in range(ends[k]):
        totals[seen[i]] = 0.0
        for x in range(r):
            customers[seen[i], x] = 0.0
    for level in range(k, 0, -1):
        for i in range(ends[level], ends[level + 1]):
            g, h = seen[i], up[seen[i]]
            for x in range(r):
                if customers[g, x] > 0.0:
                    c = s[level] * weight[g] * mean[h, x]
                    tables = c * digamma_rise(c, customers[g, x])
                    customers[h, x] += tables
                    totals[h] += tables


@kernel
def _average(
    customers: Floats,
    totals: Floats,
    mean: Floats,
    weight: Floats,
    s: Floats,
    up: Integers,
    start: Integers,
    rows: Integers,
    ends: Integers,
    rho: Floats,
    floor: float,
) -> float:
    """Strengths of some rows, and means of their cells with more customers than ``floor``.

    The strengths are relative to the mean over all rows of a level; those not among ``rows`` have
    no customers. Returns the largest change of a mean.
    """
    r = customers.shape[1]
    change = 0.0
    for level in range(len(s)):
        n_rows = start[level + 1] - start[level]
        total = float(n_rows - (ends[level + 1] - ends[level]))
        for i in range(ends[level], ends[level + 1]):
            weight[rows[i]] = (totals[rows[i]] + 1.0) ** rho[level]
            total += weight[rows[i]]
        for i in range(ends[level], ends[level + 1]):
            g = rows[i]
            weight[g] *= n_rows / total
            strength = s[level] * weight[g] if level else float(r)
            for x in range(r):
                if customers[g, x] > floor:
                    base = mean[up[g], x] if level else 1.0 / r
                    new = (customers[g, x] + strength * base) / (totals[g] + strength)
                    change = max(change, abs(new - mean[g, x]))
                    mean[g, x] = new
    return change


@kernel
def _newton_step(pull: float, slope: float) -> float:
    """Step of log s to where the pull vanishes, no longer than one unless the pull itself is.

    A pull that does not fall along its own direction is followed in long strides.
    """
    step = -pull / slope if slope < 0.0 else STRIDE * pull
    longest = max(LONGEST, abs(pull))
    return min(max(step, -longest), longest)


@kernel
def _left_out(
    customers: Floats,
    totals: Floats,
    mean: Floats,
    weight: Floats,
    s: Floats,
    up: Integers,
    start: Integers,
) -> Floats:
    """Probability of each state of each row when one observation of just that is taken away.

    Its customer leaves level K; the table that this one had opened, with probability c / (c + n -
    1), leaves the level above as a customer, and so on. Less than one count is taken away whole.
    """
    k, r = len(s) - 1, customers.shape[1]
    left_out = np.ones((len(up) - start[k], r))
    gone, path = np.zeros(k + 1), np.zeros(k + 1, np.int64)
    for i in range(len(left_out)):
        _climb(i, up, start, path)
        for x in range(r):
            if customers[path[k], x] > 0.0:
                _take_away(1.0, customers, mean, weight, s, path, x, gone)
                left_out[i, x] = _predict(customers, totals, weight, s, path, x, path, x, gone)
    return left_out


@inner
def _climb(row: int, up: Integers, start: Integers, path: Integers) -> None:
    """The rows that a row of level K backs off to, by level."""
    k = len(path) - 1
    path[k] = start[k] + row
    for level in range(k, 0, -1):
        path[level - 1] = up[path[level]]


@inner
def _take_away(
    amount: float,
    customers: Floats,
    mean: Floats,
    weight: Floats,
    s: Floats,
    path: Integers,
    x: int,
    gone: Floats,
) -> None:
    """How many customers of state ``x`` leave each row of a path with an observation."""
    k = len(path) - 1
    gone[k] = min(customers[path[k], x], amount)
    for level in range(k, 0, -1):
        c = s[level] * weight[path[level]] * mean[path[level - 1], x]
        rest = max(customers[path[level], x] - gone[level], 0.0)
        gone[level - 1] = gone[level] * c / (c + rest)


@inner
def _predict(
    customers: Floats,
    totals: Floats,
    weight: Floats,
    s: Floats,
    path: Integers,
    y: int,
    home: Integers,
    x: int,
    gone: Floats,
) -> float:
    """Probability of state ``y`` along a path, customers ``gone`` of ``x`` having left another."""
    p = 1.0 / customers.shape[1]
    for level in range(len(path)):
        g = path[level]
        left = gone[level] if g == home[level] else 0.0
        strength = s[level] * weight[g] if level else float(customers.shape[1])
        rest = max(customers[g, y] - (left if y == x else 0.0), 0.0)
        p = (rest + strength * p) / (max(totals[g] - left, 0.0) + strength)
    return p
