"""Families of discrete children with continuous parents, fitted by logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.parameters.logistic import logistic_fits
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.request import Engine

__all__ = ["LogisticBatch"]


@dataclass(frozen=True, slots=True, eq=False)
class LogisticBatch:
    """Fitted logistic regressions over the same rows.

    Attributes
    ----------
    families
        Names of children and parents.
    log_likelihood
        Of each family at its fit.
    n_free_parameters
        Of each family.
    n_rows, n_incomplete
        Weight of the rows of each fit, and of those in which a variable of the family is missing.
    apart
        Log-likelihood of each family with a fit to each source; None if not asked for.
    n_sources
        Number of sources that have rows; 1 if not asked for.
    """

    families: Sequence[Family]
    log_likelihood: Floats
    n_free_parameters: Integers
    n_rows: Floats
    n_incomplete: Floats
    apart: Floats | None = None
    n_sources: int = 1

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of(
        cls,
        engine: Engine,
        families: Sequence[Family],
        *,
        by_source: bool = False,
        memory_limit: float = MEMORY_LIMIT,
    ) -> LogisticBatch:
        """The fits of some families, the sources pooled; and each source alone if asked for."""
        fits = logistic_fits(engine, families, memory_limit=memory_limit)
        n_sources, apart = 1, None
        if by_source and engine.schema.source is not None:
            (rows,) = count(engine, [Family(families[0].child)], by_source=True)
            n_sources = int((rows.n_rows > 0).sum())
            alone = logistic_fits(engine, families, by_source=True, memory_limit=memory_limit)
            apart = np.array([fit.log_likelihood for fit in alone])
        return cls(
            tuple(families),
            np.array([fit.log_likelihood for fit in fits]),
            np.array([fit.distribution.n_parameters for fit in fits], np.int64),
            np.array([fit.n_rows for fit in fits]),
            np.array([fit.n_incomplete for fit in fits]),
            apart,
            n_sources,
        )

    @property
    def n_parents(self) -> Integers:
        """Number of parents of each family."""
        return np.array([len(family.parents) for family in self.families], np.int64)

    def __len__(self) -> int:
        return len(self.families)
