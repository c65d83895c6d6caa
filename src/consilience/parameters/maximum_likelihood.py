r"""Maximum likelihood.

.. math:: \hat\theta_{jk} = \frac{N_{jk}}{N_j}

A parent state that was never seen has no estimate; its row is uniform, and the record of the fit
counts such rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from consilience._typing import Floats
from consilience.distributions.categorical import Categorical, proportions
from consilience.statistics.counts import Counts

__all__ = ["MLE", "pooled_rows", "shaped"]


@dataclass(frozen=True, slots=True)
class MLE:
    """Relative frequencies, pooled over the sources; it has no posterior."""

    by_source: ClassVar[bool] = False

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family."""
        return [shaped(counts, proportions(pooled_rows(counts))) for counts in families]


def pooled_rows(counts: Counts) -> Floats:
    """Numbers of rows of all sources together: shape (parent states, states)."""
    return counts.to_dense().values.sum(axis=0)


def shaped(counts: Counts, rows: Floats) -> Categorical:
    """The local distribution whose table has these rows."""
    shape = [variable.n_states for variable in (*counts.given, counts.child)]
    return Categorical(counts.child, counts.given, rows.reshape(shape))
