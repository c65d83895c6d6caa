"""The posterior of a table whose slices, one for each source, know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.categorical import Posterior
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.distributions.linear_gaussian import LinearGaussian

__all__ = ["StackedPosterior", "side_by_side", "stacked"]


@dataclass(frozen=True, slots=True, eq=False)
class StackedPosterior:
    """Independent posteriors along the first axis of a table.

    Parameters
    ----------
    parts
        The posterior of each slice, all of one shape.
    """

    parts: tuple[Posterior, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every part is exact."""
        return all(getattr(part, "is_exact", True) for part in self.parts)

    def variance(self) -> Floats:
        """Posterior variance of every entry."""
        return np.stack([part.variance() for part in self.parts])

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every entry."""
        low, high = zip(*(part.interval(level) for part in self.parts), strict=True)
        return np.stack(low), np.stack(high)

    def draw(self, rng: np.random.Generator) -> Floats:
        """One table drawn from the posterior."""
        return np.stack([part.draw(rng) for part in self.parts])

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draws without end."""
        parts = [part.draws(rng) for part in self.parts]
        return (np.stack([next(part) for part in parts]) for _ in count())


def stacked(parts: Sequence[Posterior | None]) -> Posterior | None:
    """The posterior of slices with these posteriors; None if one of them has none."""
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    plain = [part.concentration for part in known if isinstance(part, DirichletPosterior)]
    return (
        DirichletPosterior(np.stack(plain)) if len(plain) == len(parts) else StackedPosterior(known)
    )


def side_by_side(source: Variable, parts: Sequence[LinearGaussian]) -> LinearGaussian:
    """The regressions of all sources as one distribution, the source its first parent."""
    return LinearGaussian(
        parts[0].child,
        (source, *parts[0].given),
        np.stack([part.intercept for part in parts]),
        np.stack([part.coefficients for part in parts]),
        np.stack([part.sd for part in parts]),
        stacked([part.posterior for part in parts]),
    )
