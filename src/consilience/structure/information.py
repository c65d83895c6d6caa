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
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlogy

from consilience._typing import Floats

__all__ = ["conditional_information", "information_within"]

ROUNDING = 1e-13  # nats; what a sum over a million cells can lose

MANY = 20.0
"""Expected counts above it: the expectation of N log N is expanded, to less than 1e-3."""

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
    expected = np.zeros_like(counts)
    expected[is_seen] = x * y / n
    spread = np.zeros_like(counts)
    spread[is_seen] = x * y * (n - x) * (n - y) / (n * n * np.maximum(n - 1, 1))
    own = (xlogy(seen, seen) - _expected_log(x, y, n)).sum()
    pooled, of_pool, noise = (array.sum(axis=0) for array in (counts, expected, spread))
    ratio = np.divide(pooled, of_pool, out=np.ones_like(pooled), where=pooled > 0)
    chance = np.divide(noise, 2 * of_pool, out=np.zeros_like(noise), where=of_pool > 0)
    common = (pooled * np.log(ratio)).sum() - chance.sum()
    return float(max(own, common)) / total


def _expected_log(x: Floats, y: Floats, n: Floats) -> Floats:
    """Expectation of N log N, N being hypergeometric with the margins x and y of n rows."""
    mean = x * y / n
    spread = mean * (n - x) * (n - y) / (n * np.maximum(n - 1, 1))
    found = xlogy(mean, mean) + spread / (2 * np.maximum(mean, 1.0))
    few = mean <= MANY
    margins = [np.rint(array[few]) for array in (x, y, n)]
    base = margins[2].max(initial=0.0) + 1
    key = (margins[0] * base + margins[1]) * base + margins[2]
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    found[few] = _summed_log(*(array[first] for array in margins))[place]
    return np.asarray(found)


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
