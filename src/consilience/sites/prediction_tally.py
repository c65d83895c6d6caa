r"""What a site counts of its own predictions, laid out as whole numbers that add up over sites.

For the rows of each group: how often each true state met each predicted one; for each bin of a
probability how often it came true and the sum of the probabilities; and the sums of squared errors
and of :math:`-\log p` of the true state. Sums of fractions are in fixed point, each row rounded
before it is added, so that they can be masked, and do not depend on how rows are spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats, Integers

__all__ = ["SCALE", "Shape", "Tally"]

SCALE = 1 << 28
"""What one counts in a sum of fractions: 2^25 rows of the worst possible loss still fit."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many groups, states of the target, and bins of the calibration curve there are."""

    n_groups: int
    n_states: int
    n_bins: int

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of a tally."""
        r = self.n_states
        return (r, r + 1), (self.n_bins, 3), (4,)

    @property
    def n_cells(self) -> int:
        """How many numbers a tally has."""
        return self.n_groups * sum(prod(one) for one in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Counts of predictions, summed over rows and, once they are added, over sites.

    Parameters
    ----------
    confusion
        Rows by group, true state and predicted state; the last column is for rows whose evidence
        the network holds impossible, which predict nothing. Shape (groups, states, states + 1).
    bins
        Rows whose prediction was wrong and right, and the sum of the probabilities, by bin of the
        probability. Shape (groups, bins, 3).
    losses
        Sums of the squared error and of minus the logarithm of the true state's probability; rows
        where that is zero; rows whose true state is not known. Shape (groups, 4).
    """

    confusion: Integers
    bins: Integers
    losses: Integers

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of_rows(
        cls,
        shape: Shape,
        group: Integers,
        truth: Integers,
        beliefs: Floats,
        *,
        weights: Integers,
        positive: int | None = None,
    ) -> Tally:
        """The tally of some rows.

        Parameters
        ----------
        shape
            How many of everything.
        group, truth
            Codes of each row; a row of no group is left out, one without a true state counted.
        beliefs
            Probabilities of the states; a row of zeros predicts nothing.
        weights
            How many rows each stands for.
        positive
            The state whose probability is binned; the predicted one if not given.
        """
        parts = [np.zeros((shape.n_groups, *one), np.int64) for one in shape.parts]
        confusion, bins, losses = parts
        is_unknown = (group >= 0) & (truth < 0)
        np.add.at(losses[:, 3], group[is_unknown], weights[is_unknown])
        kept = (group >= 0) & (truth >= 0)
        group, truth, weights = (one[kept] for one in (group, truth, weights))
        beliefs = beliefs[kept]
        best = np.where(beliefs.any(axis=1), beliefs.argmax(axis=1), shape.n_states)
        np.add.at(confusion, (group, truth, best), weights)
        probability = beliefs.max(axis=1) if positive is None else beliefs[:, positive]
        came_true = best == truth if positive is None else truth == positive
        place = np.minimum((probability * shape.n_bins).astype(np.int64), shape.n_bins - 1)
        np.add.at(bins, (group, place, came_true.astype(np.int64)), weights)
        np.add.at(bins[..., 2], (group, place), _whole(probability) * weights)
        of_truth = beliefs[np.arange(len(truth)), truth]
        is_possible: Bools = of_truth > 0
        squares = (beliefs**2).sum(axis=1) - 2 * of_truth + 1
        logs = -np.log(of_truth, where=is_possible, out=np.zeros(len(truth)))
        np.add.at(losses[:, 0], group, _whole(squares) * weights)
        np.add.at(losses[:, 1], group, _whole(logs) * weights)
        np.add.at(losses[:, 2], group[~is_possible], weights[~is_possible])
        return cls(*parts)

    @classmethod
    def of_numbers(cls, shape: Shape, flat: Integers) -> Tally:
        """The tally that :attr:`numbers` are of."""
        ends = np.cumsum([shape.n_groups * prod(one) for one in shape.parts])
        arrays = np.split(flat, ends[:-1])
        each = zip(arrays, shape.parts, strict=True)
        return cls(*(array.reshape(shape.n_groups, *part) for array, part in each))

    @property
    def numbers(self) -> Integers:
        """All numbers, one array after the other."""
        return np.concatenate([one.ravel() for one in (self.confusion, self.bins, self.losses)])

    @property
    def n_rows(self) -> Integers:
        """Rows with a true state, by group."""
        return self.confusion.sum(axis=(1, 2))


def _whole(values: Floats) -> Integers:
    return np.rint(values * SCALE).astype(np.int64)
