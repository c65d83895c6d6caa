r"""Supervised cut points by the minimum description length principle (MDLP).

An interval is split where the entropy of the target falls most, as long as the gain pays for the
description of the split, and its two parts are treated in the same way:

.. math:: \mathrm{Gain} > \frac{\log_2(N - 1)}{N}
    + \frac{\log_2(3^k - 2) - (k H - k_1 H_1 - k_2 H_2)}{N}

where :math:`N` rows with :math:`k` target states and entropy :math:`H` are split into two parts
with :math:`k_1, k_2` states and entropies :math:`H_1, H_2`. The best split never parts neighbouring
values that are pure in the same target state, so these are joined into blocks first. Below, both
sides are multiplied by :math:`N`.

References
----------
Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued attributes
for classification learning. IJCAI 13, 1022-1027.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from consilience._typing import Codes, Floats

__all__ = ["mdl_cut_points"]


def mdl_cut_points(values: Floats, weights: Floats, target: Codes) -> tuple[float, ...]:
    """Increasing cut points halfway between values; nothing may be missing.

    The column is sorted once; each split then costs the number of blocks in its interval times the
    number of target states.
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    if not distinct.size:
        return ()
    counts = _by_value(inverse, target, weights, len(distinct))
    first = _block_starts(counts)
    totals = np.add.reduceat(counts, first)
    cumulative = np.vstack([np.zeros(counts.shape[1]), totals.cumsum(axis=0)])
    splits = _mdl_splits(cumulative)
    return tuple(_between(distinct[first[s] - 1], distinct[first[s]]) for s in splits)


def _by_value(
    inverse: npt.NDArray[np.intp], target: Codes, weights: Floats, n_values: int
) -> Floats:
    """Weight of each target state at each distinct value."""
    n_states = int(target.max()) + 1
    cells = inverse * n_states + target
    counts = np.bincount(cells, weights, minlength=n_values * n_states)
    return counts.astype(np.float64, copy=False).reshape(n_values, n_states)


def _block_starts(counts: Floats) -> npt.NDArray[np.intp]:
    """First value of each block of neighbors that are pure in the same target state."""
    is_pure = (counts > 0).sum(axis=1) <= 1
    state = counts.argmax(axis=1)
    is_same = is_pure[1:] & is_pure[:-1] & (state[1:] == state[:-1])
    return np.append(0, np.flatnonzero(~is_same) + 1)


def _mdl_splits(cumulative: Floats) -> list[int]:
    """Blocks at which an accepted split begins its upper part, increasing."""
    splits, waiting = [], [(0, len(cumulative) - 1)]
    while waiting:
        start, stop = waiting.pop()
        split = _best_split(cumulative, start, stop)
        if split is not None:
            splits.append(split)
            waiting += [(start, split), (split, stop)]
    return sorted(splits)


def _best_split(cumulative: Floats, start: int, stop: int) -> int | None:
    if stop - start < 2:
        return None
    whole = cumulative[stop] - cumulative[start]
    below = cumulative[start + 1 : stop] - cumulative[start]
    bits = _bits(below) + _bits(whole - below)  # N times the entropy that remains
    best = int(np.argmin(bits))
    total = float(whole.sum())
    gain = float(_bits(whole)) - float(bits[best])
    if total <= 1 or gain <= math.log2(total - 1) + _model_bits(whole, below[best]):
        return None
    return start + 1 + best


def _model_bits(whole: Floats, below: Floats) -> float:
    r""":math:`\log_2(3^k - 2) - (k H - k_1 H_1 - k_2 H_2)`."""
    k = int((whole > 0).sum())
    choices = k * math.log2(3) + math.log1p(-2 * 3.0**-k) / math.log(2)
    return choices - _states_bits(whole) + _states_bits(below) + _states_bits(whole - below)


def _states_bits(counts: Floats) -> float:
    total = float(counts.sum())
    return int((counts > 0).sum()) * float(_bits(counts)) / total if total > 0 else 0.0


def _bits(counts: Floats) -> Floats:
    r""":math:`N \log_2 N - \sum_j N_j \log_2 N_j` along the last axis: N times the entropy."""
    return _n_log_n(counts.sum(axis=-1)) - _n_log_n(counts).sum(axis=-1)


def _n_log_n(counts: Floats) -> Floats:
    safe = np.where(counts > 0, counts, 1.0)
    return np.asarray(safe * np.log2(safe) * (counts > 0))


def _between(low: float, high: float) -> float:
    """Halfway between two values, or the higher one where rounding leaves no room."""
    middle = float(low / 2 + high / 2)
    return middle if low < middle <= high else float(high)
