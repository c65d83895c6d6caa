"""What estimators are: choices with a working method for each kind of family they serve.

========== ======================================= ===================== ======================
kind       family                                  method                from
========== ======================================= ===================== ======================
table      discrete child, discrete parents        ``estimate``          counts
regression continuous child, parents of any kind   ``regress``           centred moments
logistic   discrete child with continuous parents  ``regress_states``    an engine, repeatedly
========== ======================================= ===================== ======================

``by_source`` says whether an estimator keeps the sources apart, ``adds_new_source`` whether it says
something about a source never seen; both are class attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from consilience.distributions.categorical import Categorical
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.logistic import Logistic
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine

__all__ = [
    "METHODS",
    "Choice",
    "Estimator",
    "LogisticEstimator",
    "LogisticFit",
    "Regressor",
    "is_apart",
    "is_for_new_sources",
    "serves",
]

METHODS = {"table": "estimate", "regression": "regress", "logistic": "regress_states"}
"""The working method for each kind of family."""


class Estimator(Protocol):
    """Any choice of how counts become tables."""

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distributions of all families."""
        ...


class Regressor(Protocol):
    """Any choice of how moments become regressions of continuous children."""

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distributions of all families."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A fitted logistic family.

    Parameters
    ----------
    distribution
        The fit; with a posterior.
    log_likelihood
        Of the complete rows at the fit, without the prior.
    n_rows, n_incomplete
        Weight of the rows that are complete for the family, and of the others.
    unidentified
        Number of pairs of a source and a joint discrete state whose rows do not determine the
        coefficients: too few rows, parents that are collinear or separate the states.
    """

    distribution: Logistic
    log_likelihood: float
    n_rows: float
    n_incomplete: float
    unidentified: int


class LogisticEstimator(Protocol):
    """Any choice of how rows become logistic nodes."""

    def regress_states(
        self, engine: Engine, families: Sequence[Family], *, by_source: bool = False
    ) -> list[LogisticFit]:
        """The fits of all families."""
        ...


Choice: TypeAlias = Estimator | Regressor | LogisticEstimator
"""An estimator of at least one kind."""


def serves(estimator: object, kind: str) -> bool:
    """Whether an estimator has the working method for this kind of family; a wrapper has what the
    wrapped one has.
    """
    inner = getattr(estimator, "estimator", None)
    return serves(inner, kind) if inner is not None else hasattr(estimator, METHODS[kind])


def is_apart(estimator: Any) -> bool:
    """Whether an estimator keeps the sources apart."""
    return bool(getattr(estimator, "by_source", False))


def is_for_new_sources(estimator: Any) -> bool:
    """Whether an estimator says something about a source never seen."""
    return bool(getattr(estimator, "adds_new_source", False))
