r"""Scores of many families from their counts, one number a family.

All loops read the flat tables of a batch: one table after the other, each with the axes (sources,
outer, states, inner); the parent states of a family are the pairs (outer, inner). A table of
several sources is read as one whose parent states are (source, outer, inner).
"""

from __future__ import annotations

import math

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "expected_predictions",
    "fill_pair_normalizers",
    "log_evidences",
    "log_likelihoods",
    "log_normalizer",
    "log_normalizers",
    "parent_states_seen",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LARGE = 1e200
"""Sums that may overflow are divided by this when they reach it."""

NEGLIGIBLE = 1e-18
"""Terms smaller than this share of a sum are left out."""


MANY = 1e4
"""Expectations over more rows than this, in the mean, are series whose error is below 1e-14."""


@kernel
def log_likelihoods(table: Integers, shapes: Integers, out: Floats, rows: Integers) -> None:
    r"""Fill ``out`` with :math:`\sum_{jk} N_{jk} \log (N_{jk} / N_j)`, over all sources, and
    ``rows`` with the totals :math:`N` of the tables.
    """
    start = 0
    for family in range(len(out)):
        outer = shapes[family, 0] * shapes[family, 1]  # sources are parent states of their own
        r = shapes[family, 2]
        inner = shapes[family, 3]
        total = 0.0
        n_all = 0
        for j in range(outer):
            for i in range(inner):
                first = start + j * r * inner + i
                n = 0
                for k in range(r):
                    n += table[first + k * inner]
                n_all += n
                for k in range(r):
                    cell = table[first + k * inner]
                    if cell > 0 and cell < n:
                        total += cell * math.log(cell / n)
        out[family] = total
        rows[family] = n_all
        start += outer * r * inner


@kernel
def parent_states_seen(table: Integers, shapes: Integers, out: Integers) -> None:
    """Fill ``out`` with the number of parent states that some row shows."""
    start = 0
    for family in range(len(out)):
        outer = shapes[family, 0] * shapes[family, 1]
        r = shapes[family, 2]
        inner = shapes[family, 3]
        n_seen = 0
        for j in range(outer):
            for i in range(inner):
                first = start + j * r * inner + i
                for k in range(r):
                    if table[first + k * inner] > 0:
                        n_seen += 1
                        break
        out[family] = n_seen
        start += outer * r * inner


@kernel
def log_evidences(
    table: Integers,
    shapes: Integers,
    scale: float,
    prior: Floats,
    place: Integers,
    step: int,
    out: Floats,
) -> None:
    r"""Fill ``out`` with the log evidence of each family under Dirichlet priors,

    .. math:: \sum_j \log\frac{\Gamma(a_j)}{\Gamma(a_j + N_j)}
        + \sum_{jk} \log\frac{\Gamma(a_{jk} + N_{jk})}{\Gamma(a_{jk})}, \quad a_j = \sum_k a_{jk} .

    The prior of cell ``c`` of family ``f`` is ``prior[place[f] + step * c]``: with step 0 one
    number a family, with step 1 one number a cell. Counts are in units of ``1 / scale``.
    """
    start = 0
    for family in range(len(out)):
        outer = shapes[family, 0] * shapes[family, 1]
        r = shapes[family, 2]
        inner = shapes[family, 3]
        total = 0.0
        last_cell, log_cell, last_row, log_row = -1.0, 0.0, -1.0, 0.0  # mostly the same again
        for j in range(outer):
            for i in range(inner):
                first = j * r * inner + i
                n, row = 0, 0.0
                for k in range(r):
                    cell = first + k * inner
                    a = prior[place[family] + step * cell]
                    count = table[start + cell]
                    row += a
                    n += count
                    if count > 0:
                        if a != last_cell:
                            last_cell, log_cell = a, math.lgamma(a)
                        total += math.lgamma(a + count / scale) - log_cell
                if n > 0:
                    if row != last_row:
                        last_row, log_row = row, math.lgamma(row)
                    total += log_row - math.lgamma(row + n / scale)
        out[family] = total
        start += outer * r * inner


@kernel
def fill_pair_normalizers(out: Floats) -> None:
    r"""Fill ``out`` with :math:`C(n, 2) = \sum_{k=0}^n n^{\underline k} / n^k`, n = 0, 1, 2, ..."""
    for n in range(len(out)):
        term, total = 1.0, 1.0
        for k in range(n):
            term *= (n - k) / n
            total += term
            if term < NEGLIGIBLE:
                break
        out[n] = total


@kernel
def log_normalizer(n: int, r: float, pairs: Floats) -> float:
    r"""Log of the normaliser of the multinomial with r states and n rows,

    .. math:: C(n, r) = \sum_{n_1 + \dots + n_r = n} \frac{n!}{n_1! \cdots n_r!}
        \prod_k \left(\frac{n_k}{n}\right)^{n_k}
        = \sum_{k=0}^{n} \frac{n^{\underline k}}{n^k} \frac{(r - 1)^{\overline k}}{k!} .

    Up to r = n by the recurrence :math:`C(n, r + 2) = C(n, r + 1) + C(n, r)\, n / r`, beyond that
    by the second sum, whose number of terms does not grow with r. ``pairs`` has C(n, 2) for small
    n.
    """
    if n == 0 or r <= 1:
        return 0.0
    if r > n:
        return _log_normalizer_by_rows(n, r)
    log_scale, before, now = 0.0, 1.0, _pair_normalizer(n, pairs)
    for k in range(1, int(r) - 1):
        before, now = now, now + before * n / k
        if now > LARGE:
            before, now = before / LARGE, now / LARGE
            log_scale += math.log(LARGE)
    return log_scale + math.log(now)


@inner
def _log_normalizer_by_rows(n: int, r: float) -> float:
    log_scale, term, total = 0.0, 1.0, 1.0
    for k in range(n):
        ratio = (n - k) / n * ((r - 1 + k) / (k + 1))
        term *= ratio
        total += term
        if total > LARGE:
            term, total = term / LARGE, total / LARGE
            log_scale += math.log(LARGE)
        if term < NEGLIGIBLE * total * (1.0 - ratio):  # all later ratios are smaller
            break
    return log_scale + math.log(total)


@inner
def _pair_normalizer(n: int, pairs: Floats) -> float:
    """C(n, 2); for large n by Ramanujan's expansion, whose next term is below 0.004 n^(-5/2)."""
    if n < len(pairs):
        return pairs[n]
    root = math.sqrt(math.pi / (2.0 * n))
    series = root * (n + 1 / 12 + 1 / (288.0 * n)) - 1 / 3
    return 1.0 + series - 4 / (135.0 * n) + 8 / (2835.0 * n * n)


@kernel
def log_normalizers(table: Integers, shapes: Integers, pairs: Floats, out: Floats) -> None:
    r"""Fill ``out`` with :math:`\sum_j \log C(N_j, r)`."""
    start = 0
    for family in range(len(out)):
        outer = shapes[family, 0] * shapes[family, 1]
        r = shapes[family, 2]
        inner = shapes[family, 3]
        total = 0.0
        for j in range(outer):
            for i in range(inner):
                first = start + j * r * inner + i
                n = 0
                for k in range(r):
                    n += table[first + k * inner]
                total += log_normalizer(n, float(r), pairs)
        out[family] = total
        start += outer * r * inner


@kernel
def expected_predictions(
    table: Integers, shapes: Integers, prior: Floats, share: float, rest: float, out: Floats
) -> None:
    r"""Fill ``out`` with the expected log-likelihood of every row, predicted from a random part.

    .. math:: \sum_{jk} N_{jk}\, E \log \frac{a + B(N_{jk} - 1)}{r a + B'(N_j - 1)}, \qquad
        B(n), B'(n) \sim \mathrm{Binomial}(n, \text{share}),

    where a is the family's entry of ``prior``; ``rest`` is 1 - share, which the difference of two
    floats would lose where share is close to 1.
    """
    start = 0
    for family in range(len(out)):
        outer = shapes[family, 0] * shapes[family, 1]
        r = shapes[family, 2]
        inner = shapes[family, 3]
        a, total = prior[family], 0.0
        for j in range(outer):
            for i in range(inner):
                first = start + j * r * inner + i
                n = 0
                for k in range(r):
                    count = table[first + k * inner]
                    n += count
                    if count > 0:
                        total += count * _expected_log(a, count - 1, share, rest)
                if n > 0:
                    total -= n * _expected_log(r * a, n - 1, share, rest)
        out[family] = total
        start += outer * r * inner


@inner
def _expected_log(a: float, n: int, share: float, rest: float) -> float:
    """Expectation of log(a + B) with B ~ Binomial(n, share): a sum from the mode both ways."""
    if n * share > MANY:
        return _expected_log_of_many(a, n, share, rest)
    odds = share / rest
    mode = min(int((n + 1) * share), n)
    total, weights = math.log(a + mode), 1.0
    weight, k = 1.0, mode
    while k < n and weight > NEGLIGIBLE:
        weight *= (n - k) / (k + 1.0) * odds
        k += 1
        weights += weight
        total += weight * math.log(a + k)
    weight, k = 1.0, mode
    while k > 0 and weight > NEGLIGIBLE:
        weight *= k / ((n - k + 1.0) * odds)
        k -= 1
        weights += weight
        total += weight * math.log(a + k)
    return total / weights


@inner
def _expected_log_of_many(a: float, n: int, share: float, rest: float) -> float:
    """The same by the series of the log around the mean, with six central moments of B."""
    mean, spread = a + n * share, share * rest
    k2 = n * spread / mean**2  # cumulants of B / mean
    k3 = k2 * (rest - share) / mean
    k4 = k2 * (1.0 - 6.0 * spread) / mean**2
    k5 = k3 * (1.0 - 12.0 * spread) / mean**2
    k6 = k2 * (1.0 - 30.0 * spread + 120.0 * spread**2) / mean**4
    m4 = k4 + 3.0 * k2**2
    m5 = k5 + 10.0 * k3 * k2
    m6 = k6 + 15.0 * k4 * k2 + 10.0 * k3**2 + 15.0 * k2**3
    return math.log(mean) - k2 / 2 + k3 / 3 - m4 / 4 + m5 / 5 - m6 / 6
