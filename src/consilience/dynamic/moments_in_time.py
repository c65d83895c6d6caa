"""Moments of continuous families over the rows of a panel, from weights of joint states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.statistics.moments import Moments

__all__ = ["Sums", "as_moments", "weighted_sums"]


class Sums(NamedTuple):
    """Weight, mean and centred products of the columns of a family by joint discrete state."""

    weight: Floats
    mean: Floats
    scatter: Floats

    def merged(self, other: Sums) -> Sums:
        """The sums of both sets of rows."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        away = np.where((self.weight > 0)[:, None], other.mean - self.mean, 0.0)
        mean = np.where((self.weight > 0)[:, None], self.mean + share[:, None] * away, other.mean)
        outer = away[:, :, None] * away[:, None, :] * (self.weight * share)[:, None, None]
        return Sums(weight, mean, self.scatter + other.scatter + outer)


def weighted_sums(groups: Integers, n_groups: int, values: Floats, weights: Floats) -> Sums:
    """The sums of rows of values, shape (rows, columns), each with its group and weight."""
    d = values.shape[1]
    weight = np.bincount(groups, weights, n_groups).astype(float)
    safe = np.where(weight > 0, weight, 1.0)
    mean = np.zeros((n_groups, d))
    for j in range(d):
        mean[:, j] = np.bincount(groups, weights * values[:, j], n_groups) / safe
    away = values - mean[groups]
    mean += np.stack(
        [np.bincount(groups, weights * away[:, j], n_groups) / safe for j in range(d)], axis=1
    )
    away = values - mean[groups]
    scatter = np.zeros((n_groups, d, d))
    for i in range(d):
        for j in range(i + 1):
            scatter[:, i, j] = np.bincount(groups, weights * away[:, i] * away[:, j], n_groups)
            scatter[:, j, i] = scatter[:, i, j]
    return Sums(weight, mean, scatter)


def as_moments(sums: Sums, like: Moments) -> Moments:
    """The sums in the form of the moments that the rows without gaps have.

    Where these keep the sources apart, the source is the first parent of the distribution, and its
    state for new ones is left out.
    """
    n_sources = len(like.weight) if like.source is not None else 1
    states = like.weight.shape[1]
    d = len(like.names)
    weight = sums.weight.reshape(-1, states)[:n_sources]
    return Moments(
        like.names,
        like.given,
        like.source,
        weight,
        sums.mean.reshape(-1, states, d)[:n_sources],
        sums.scatter.reshape(-1, states, d, d)[:n_sources],
        like.n_rows,
    )
