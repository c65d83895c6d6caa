"""What is asked of the sources about one family of the fused graph, and what they answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from consilience import _freeze
from consilience._typing import Bools, Floats
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.fusion.fused_posteriors import Spread

__all__ = ["Lines", "Opinion", "Wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A family of the fused graph: the child and its parents in their order."""

    child: Variable
    given: tuple[Variable, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Parents, then the child."""
        return (*(parent.name for parent in self.given), self.child.name)

    @property
    def kind(self) -> str:
        """``"table"``, ``"regression"`` or ``"logistic"``."""
        if self.child.is_continuous:
            return "regression"
        return "logistic" if any(p.is_continuous for p in self.given) else "table"

    @property
    def discrete(self) -> tuple[Variable, ...]:
        """The discrete parents."""
        return tuple(parent for parent in self.given if not parent.is_continuous)

    @property
    def continuous(self) -> tuple[Variable, ...]:
        """The continuous parents."""
        return tuple(parent for parent in self.given if parent.is_continuous)

    def among(self, names: Collection[str]) -> Wanted:
        """The family with only those parents that are among the names."""
        return Wanted(self.child, tuple(p for p in self.given if p.name in names))


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Centred statistics of a source's rows for a regression, by joint state of the discrete
    parents: what :func:`consilience.statistics.gather.moments` gives, child last.
    """

    weight: Floats
    mean: Floats
    scatter: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)


@dataclass(frozen=True, slots=True, eq=False)
class Opinion:
    """What one source says about a family.

    Parameters
    ----------
    source
        Name of the source.
    distribution
        P(child | parents) of the source, parents in the order of the fused graph.
    is_known
        For each joint state of the discrete parents whether the source has seen it.
    variance
        Variances of the parameters in the layout of ``distribution.parameters``, if there are any.
    rows
        For a table its counts (parent states, states); for a regression its moments; None if the
        source has no rows.
    mean, covariance
        Of the continuous parents in each joint state of the discrete ones, for regressions.
    spread
        How well the coefficients of a regression are known, if the source tells.
    """

    source: str
    distribution: Distribution
    is_known: Bools
    variance: Floats | None = None
    rows: Floats | Lines | None = None
    mean: Floats | None = None
    covariance: Floats | None = None
    spread: Spread | None = None
