r"""Mutual information of two discrete variables given a third, from counts.

.. math:: \hat I(X; Y \mid Z) = \sum_{xyz} \frac{N_{xyz}}{N}
    \log \frac{N_{xyz} N_z}{N_{xz} N_{yz}}

Where rows come from several sources :math:`f` this would see a difference of margins between them
as dependence, so the information is taken within sources, with the counts expected there if
:math:`X` and :math:`Y` were independent,
:math:`E_{fxyz} = N_{fxz} N_{fyz} / N_{fz}`, in two ways: of what the sources have in common, and of
each source by itself,

.. math:: G = \sum_{xyz} N_{xyz} \log \frac{\sum_f N_{fxyz}}{\sum_f E_{fxyz}}, \qquad
    G_F = \sum_{fxyz} N_{fxyz} \log \frac{N_{fxyz}}{E_{fxyz}} .

The first is at most the second, which is :math:`N \hat I(X; Y \mid Z, F)`. Both are positive by
chance alone, the second the more so the more and the smaller the sources are, and the more states
the variables have. So what independence within sources would give with the same margins (where a
count is hypergeometric, with variance :math:`v`) is taken off:

.. math:: I = \frac1N \max\Bigl(G - \sum_{xyz} \frac{\sum_f v_{fxyz}}{2 \sum_f E_{fxyz}},\;
    G_F - \mathrm{E}[G_F]\Bigr) .

Many tiny sources thus add what they have in common, large ones also what they do not; a source
whose rows are all of different :math:`z` says nothing. For independent variables it is zero on
average, but for the larger of two numbers; it may be negative.

Weights may be fractions of rows. One row says nothing about dependence within its source, however
it is divided; so where :math:`N_{fz} < 2` the departure of :math:`N_{fxyz}` from
:math:`E_{fxyz}` counts with the part :math:`N_{fz} - 1` only, and not at all below one row. What
chance gives lies between the margins of whole rows next to the fractions (expectations of
:math:`N \log N` are interpolated), and is nowhere more than the margins allow: a count within
:math:`[a, b]` of mean :math:`E` has at most the variance :math:`(E - a)(b - E)`, and at most the
expectation of a count that is :math:`a` or :math:`b`. For whole rows nothing of this matters.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln, xlogy

from consilience._typing import Floats

__all__ = ["conditional_information", "information_within"]

ROUNDING = 1e-13  # nats; what a sum over a million cells can lose

MANY = 20.0
"""Expected counts above it: the expectation of N log N is expanded, to less than 1e-3."""

WHOLE = 1e-9
"""Margins this close to a whole number are whole but for rounding."""

MOST_TERMS = 100
"""Counts of an expectation of at most ``MANY`` are summed over so many values."""


def conditional_information(counts: Floats) -> float:
    """Information in nats; never negative, and 0 without counts.

    Parameters
    ----------
    counts
        Numbers of rows, shape (states of x, states of y, states of z).

    Examples
    --------
    >>> round(conditional_information(np.array([[[2.0], [0.0]], [[0.0], [2.0]]])), 6)  # log 2
    0.693147
    """
    total = counts.sum()
    if total <= 0:
        return 0.0
    x, y = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    z = x.sum(axis=0, keepdims=True)
    expected = np.divide(x * y, z, out=np.zeros_like(counts), where=z > 0)
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
    information = float((counts * np.log(ratio)).sum()) / float(total)
    return information if information > ROUNDING else 0.0


def information_within(counts: Floats) -> float:
    """Information within sources in nats, less what chance would give; 0 without counts.

    Parameters
    ----------
    counts
        Numbers of rows, shape (sources, states of x, states of y, states of z).

    Examples
    --------
    Two sources whose margins differ, and nothing else:

    >>> one = np.outer([8.0, 2.0], [8.0, 2.0])[:, :, None]
    >>> counts = np.stack([one, one[::-1, ::-1]])
    >>> conditional_information(counts.sum(axis=0)) > 0.06
    True
    >>> information_within(counts) < 0
    True
    """
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    x, y = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    n = np.broadcast_to(x.sum(axis=1, keepdims=True), counts.shape)
    x, y = np.broadcast_to(x, counts.shape), np.broadcast_to(y, counts.shape)
    is_seen = (x > 0) & (y > 0)
    x, y, n, seen = x[is_seen], y[is_seen], n[is_seen], counts[is_seen]
    part = np.clip(n - 1, 0.0, 1.0)
    common, expected, spread = (np.zeros_like(counts) for _ in range(3))
    expected[is_seen] = x * y / n
    common[is_seen] = expected[is_seen] + part * (seen - expected[is_seen])
    spread[is_seen] = part**2 * _spread(x, y, n)
    own = (part * (xlogy(seen, seen) - _expected_log(x, y, n))).sum()
    pooled, of_pool, noise = (array.sum(axis=0) for array in (common, expected, spread))
    ratio = np.divide(pooled, of_pool, out=np.ones_like(pooled), where=pooled > 0)
    chance = np.divide(noise, 2 * of_pool, out=np.zeros_like(noise), where=of_pool > 0)
    together = (pooled * np.log(ratio)).sum() - chance.sum()
    return float(max(own, together)) / total


def _spread(x: Floats, y: Floats, n: Floats) -> Floats:
    """Variance of a hypergeometric count with the margins x and y of n rows, whole or not."""
    mean, least, most = x * y / n, np.maximum(x + y - n, 0.0), np.minimum(x, y)
    bound = np.maximum((mean - least) * (most - mean), 0.0)
    usual = mean * (n - x) * (n - y)
    found = np.divide(usual, n * (n - 1), out=bound.copy(), where=n > 1)
    return np.asarray(np.minimum(found, bound))


def _expected_log(x: Floats, y: Floats, n: Floats) -> Floats:
    """Expectation of N log N, N being hypergeometric with the margins x and y of n rows."""
    mean = x * y / n
    found = xlogy(mean, mean) + _spread(x, y, n) / (2 * np.maximum(mean, 1.0))
    few = mean <= MANY
    found[few] = _interpolated_log(x[few], y[few], n[few])
    return np.asarray(np.minimum(found, _largest_log(x, y, n)))


def _largest_log(x: Floats, y: Floats, n: Floats) -> Floats:
    """The expectation of N log N if N is the least or the most that the margins allow."""
    mean, least, most = x * y / n, np.maximum(x + y - n, 0.0), np.minimum(x, y)
    width = most - least
    part = np.divide(mean - least, width, out=np.zeros_like(mean), where=width > 0)
    ends = (1 - part) * xlogy(least, least) + part * xlogy(most, most)
    return np.asarray(np.where(width > 0, ends, xlogy(mean, mean)))


def _interpolated_log(x: Floats, y: Floats, n: Floats) -> Floats:
    """Expectation of N log N, linear between margins of whole rows."""
    total = np.zeros_like(x)
    for sides in product((0.0, 1.0), repeat=3):
        share, margins = np.ones_like(x), []
        for margin, side in zip((x, y, n), sides, strict=True):
            low = np.floor(margin + WHOLE)
            part = np.clip(margin - low, 0.0, 1.0)
            part = np.where(part < WHOLE, 0.0, part)
            share = share * (part if side else 1 - part)
            margins.append(low + side)
        used = share > 0
        if used.any():
            total[used] += share[used] * _whole_log(*(one[used] for one in margins))
    return total


def _whole_log(x: Floats, y: Floats, n: Floats) -> Floats:
    """Expectation of N log N for whole margins; equal ones are summed once."""
    x, y = np.minimum(x, n), np.minimum(y, n)
    base = n.max(initial=0.0) + 1
    _, pair = np.unique(x * base + y, return_inverse=True)  # in two steps: keys stay exact
    _, first, place = np.unique(pair * base + n, return_index=True, return_inverse=True)
    return _summed_log(x[first], y[first], n[first])[place]


def _summed_log(x: Floats, y: Floats, n: Floats) -> Floats:
    """The same, summed over the values of N from the least."""
    least = np.maximum(x + y - n, 0.0)
    log_share = _log_choose(x, least) + _log_choose(n - x, y - least) - _log_choose(n, y)
    share, value, total = np.exp(log_share), least, np.zeros_like(x)
    for _ in range(MOST_TERMS):
        total += share * xlogy(value, value)
        share = share * (x - value) * (y - value) / ((value + 1) * (n - x - y + value + 1))
        value = value + 1
        if not share.any():
            break
    return total


def _log_choose(n: Floats, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
