r"""Sets of parents that differ a little from source to source.

A child has a common set of parents P and in each source f a set of its own, in which each variable
y of U (those that may be parents) is in or out otherwise than in P with a probability ``rate``. A
set is a bit mask over ``m`` variables. ``log_weights[f, Q]`` are the weights of the child's sets in
each source. For one U, with N the tensor product of
:math:`\begin{pmatrix} 1 - r & r \\ r & 1 - r \end{pmatrix}` over its members, a common set weighs
:math:`\prod_f (N w_f)(P)`.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["noisy_arcs", "noisy_sums"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)


@kernel
def noisy_sums(log_weights: Floats, rate: float, out: Floats) -> None:
    """Fill ``out`` with the log of the sum over all common sets within each set U."""
    n_sources = len(log_weights)
    masks, noisy = np.empty(len(out), np.int64), np.empty((n_sources, len(out)))
    for whole in range(len(out)):
        size = _subsets(whole, masks)
        log_scale = 0.0
        for f in range(n_sources):
            log_scale += _scaled(log_weights[f], masks, size, noisy[f])
            _blurred(noisy[f], size, rate)
        total = 0.0
        for k in range(size):
            value = 1.0
            for f in range(n_sources):
                value *= noisy[f, k]
            total += value
        out[whole] = log_scale + np.log(total) if total > 0.0 else -np.inf


@kernel
def noisy_arcs(
    log_weights: Floats,
    rate: float,
    share: Floats,
    common: Floats,
    own: Floats,
    differs: Floats,
    families: Floats,
) -> None:
    """Add up probabilities over all sets U, which have the probabilities ``share``.

    ``common[y]``: y is a common parent; ``own[f, y]``: it is one in source f; ``differs[f, y]``: it
    is one of both and not the other; ``families[P]``: P is the common set.
    """
    n_sources, n_sets = log_weights.shape
    masks = np.empty(n_sets, np.int64)
    plain, noisy = np.empty((n_sources, n_sets)), np.empty((n_sources, n_sets))
    rest, members = np.empty(n_sets), np.empty(len(common), np.int64)
    for whole in range(n_sets):
        if share[whole] <= 0.0:
            continue
        size = _subsets(whole, masks)
        n = 0
        for y in range(len(common)):
            if whole >> y & 1:
                members[n] = y
                n += 1
        for f in range(n_sources):
            _scaled(log_weights[f], masks, size, plain[f])
            noisy[f, :size] = plain[f, :size]
            _blurred(noisy[f], size, rate)
        total = 0.0
        for k in range(size):
            total += _product(noisy, k, -1)
        if total <= 0.0:
            continue
        factor = share[whole] / total
        for k in range(size):
            value = factor * _product(noisy, k, -1)
            families[masks[k]] += value
            for v in range(n):
                if k >> v & 1:
                    common[members[v]] += value
        for f in range(n_sources):
            for k in range(size):
                rest[k] = factor * _product(noisy, k, f)
            for v in range(n):
                found = 0.0
                for k in range(size):
                    other = noisy[f, k ^ 1 << v]
                    turned = (1.0 - rate) * other - rate * noisy[f, k]
                    found += rest[k] * rate * max(turned, 0.0) / (1.0 - 2.0 * rate)
                differs[f, members[v]] += found
            _blurred(rest, size, rate)
            for k in range(size):
                value = rest[k] * plain[f, k]
                for v in range(n):
                    if k >> v & 1:
                        own[f, members[v]] += value


@inner
def _subsets(whole: int, masks: Integers) -> int:
    """List the subsets of a set; bit ``v`` of a place stands for its member ``v``."""
    masks[0] = 0
    size, y, left = 1, 0, whole
    while left != 0:
        if left & 1:
            for k in range(size):
                masks[size + k] = masks[k] | 1 << y
            size *= 2
        left >>= 1
        y += 1
    return size


@inner
def _scaled(log_weights: Floats, masks: Integers, size: int, out: Floats) -> float:
    """Fill ``out`` with the weights of listed sets over the largest, whose log is returned."""
    top = -np.inf
    for k in range(size):
        top = max(top, log_weights[masks[k]])
    for k in range(size):
        out[k] = np.exp(log_weights[masks[k]] - top) if top > -np.inf else 0.0
    return top if top > -np.inf else 0.0


@inner
def _blurred(values: Floats, size: int, rate: float) -> None:
    """Let each member of a set be in or out otherwise, with a probability."""
    step = 1
    while step < size:
        for start in range(0, size, 2 * step):
            for k in range(start, start + step):
                a, b = values[k], values[k + step]
                values[k] = (1.0 - rate) * a + rate * b
                values[k + step] = rate * a + (1.0 - rate) * b
        step *= 2


@inner
def _product(values: Floats, k: int, without: int) -> float:
    found = 1.0
    for f in range(len(values)):
        if f != without:
            found *= values[f, k]
    return found
