r"""Have the chains met, and how many independent draws are theirs worth?

Draws of a parameter, shape (chains, draws), are split in halves, so that a drift within a chain
looks like chains that disagree, and replaced by normal scores of their ranks,
:math:`z = \Phi^{-1}\bigl((\text{rank} - 3/8) / (S + 1/4)\bigr)`, so that heavy tails do no harm.
With :math:`M` half chains of :math:`n` draws, :math:`W` the mean of their variances and :math:`B/n`
the variance of their means,

.. math::
    \hat R = \sqrt{\frac{\widehat{\mathrm{var}}}{W}}, \qquad
    \widehat{\mathrm{var}} = \frac{n - 1}{n} W + \frac{B}{n}, \qquad
    S_{\text{eff}} = \frac{M n}{-1 + 2 \sum_t P_t},

where :math:`P_t = \rho_{2t} + \rho_{2t+1}` are pair sums of the autocorrelations of all chains
together, made non-increasing and cut before the first that is not positive (Geyer 1992).
:math:`\hat R` is the larger of that of the scores and that of their distances from the median.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P. Bürkner (2021). Rank-normalization, folding, and
localization. Bayesian Analysis 16.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from consilience._typing import Floats
from consilience.errors import InputError

__all__ = ["bulk_size", "r_hat", "tail_size"]

FEWEST = 4  # draws of a chain: halves of two have a variance
TAILS = (0.05, 0.95)


def r_hat(draws: Floats) -> Floats:
    """How much wider all chains together are than each by itself: 1 if they have met.

    Parameters
    ----------
    draws
        Shape (chains, draws, ...), at least four draws.

    Returns
    -------
    The shape of one draw. Below 1.01 the chains can be trusted. It is infinite if chains stand
    still at different places, and 1 for a parameter that never changes in any of them.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(r_hat(rng.normal(size=(4, 500))) < 1.01)
    True
    >>> apart = rng.normal(size=(4, 500)) + np.arange(4)[:, None]
    >>> bool(r_hat(apart) > 1.3)
    True
    """
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    found = np.maximum(_plain_r_hat(_scores(split)), _plain_r_hat(_scores(folded)))
    return np.asarray(found.reshape(np.shape(draws)[2:]))


def bulk_size(draws: Floats) -> Floats:
    """Number of independent draws that would tell as much about the middle of the distribution.

    A parameter that never changes counts all its draws: its mean is known.

    Examples
    --------
    >>> independent = np.random.default_rng(1).normal(size=(4, 500))
    >>> bool(1500 < bulk_size(independent) < 2500)
    True
    """
    found = _plain_size(_scores(_split(draws)))
    return np.asarray(found.reshape(np.shape(draws)[2:]))


def tail_size(draws: Floats) -> Floats:
    """The same about the tails: the smaller number for being below the 5 % and the 95 % point.

    Examples
    --------
    >>> independent = np.random.default_rng(1).normal(size=(4, 500))
    >>> bool(1500 < tail_size(independent) < 2500)
    True
    """
    split = _split(draws)
    points = np.quantile(split, TAILS, axis=(0, 1))
    sizes = [_plain_size((split <= point).astype(np.float64)) for point in points]
    return np.asarray(np.minimum(*sizes).reshape(np.shape(draws)[2:]))


def _split(draws: Floats) -> Floats:
    """Half chains, shape (2 chains, half the draws, parameters); a middle draw is left out."""
    array = np.asarray(draws, np.float64)
    if array.ndim < 2 or array.shape[1] < FEWEST or array.shape[0] < 1:
        raise InputError(
            f"draws must have shape (chains, draws, ...) with at least {FEWEST} draws, "
            f"got {array.shape}.",
            parameter="draws",
        )
    flat = array.reshape(*array.shape[:2], -1)
    half = flat.shape[1] // 2
    return np.concatenate([flat[:, :half], flat[:, -half:]])


def _scores(draws: Floats) -> Floats:
    """Normal scores of the ranks among all chains; equal draws share the mean of their ranks."""
    flat = draws.reshape(-1, draws.shape[2])
    ranks = rankdata(flat, axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25))).reshape(draws.shape)


def _plain_r_hat(draws: Floats) -> Floats:
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    total = (n - 1) / n * within + between
    still = np.where(between > 0, np.inf, 1.0)
    ratio = np.divide(total, within, out=still, where=within > 0)
    return np.sqrt(ratio)


def _plain_size(draws: Floats) -> Floats:
    n_chains, n = draws.shape[:2]
    n_all = n_chains * n
    covariance = _autocovariance(draws).mean(axis=0)  # (lags, parameters)
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + draws.mean(axis=1).var(axis=0, ddof=1)
    moves = total > 0
    correlation = 1 - (within - covariance) / np.where(moves, total, 1.0)
    correlation[0] = 1.0
    even = correlation[: 2 * (n // 2)]
    pairs = even[0::2] + even[1::2]
    is_kept = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.minimum.accumulate(pairs, axis=0)
    time = 2 * np.where(is_kept, falling, 0.0).sum(axis=0) - 1
    time = np.maximum(time, 1 / np.log10(n_all))  # no more than log10 of the draws for each
    return np.where(moves, n_all / time, float(n_all))


def _autocovariance(draws: Floats) -> Floats:
    """Of each chain at every lag, divided by the number of draws."""
    n = draws.shape[1]
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(draws - draws.mean(axis=1, keepdims=True), size, axis=1)
    return np.asarray(irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n] / n)
