r"""How far the sources agree, family by family, and estimates that follow.

Three models of one family's counts N[f, pa, x], with every :math:`\alpha_0` the same:

- pooled: one :math:`\theta_{pa} \sim \mathrm{Dirichlet}(\alpha_0)` for all sources;
- hierarchical: :math:`\theta_{pa,f}` around a common base (HDMCS);
- separate: each :math:`\theta_{pa,f} \sim \mathrm{Dirichlet}(\alpha_0)` by itself.

Their log evidence says which the data favour; its exponentials, normalised, are their posterior
probabilities if all three were equally likely before. A hierarchy that cannot be solved exactly
(fractional or very large counts) has a lower bound on it instead, beside the exact evidence of the
other two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, softmax

from consilience import _check
from consilience._typing import Floats
from consilience.distributions.categorical import Categorical, Posterior
from consilience.errors import InputError
from consilience.parameters.estimator import Estimator
from consilience.parameters.hierarchical import (
    HDMCS,
    HDMJS,
    HDS,
    HierarchicalPosterior,
    with_new_source,
)
from consilience.parameters.hierarchy import Hierarchy, solve
from consilience.parameters.sources import by_source_table, source_node
from consilience.parameters.stacked import stacked
from consilience.parameters.strength import ONE_PER_STATE, Strength, check_strength
from consilience.statistics.counts import Counts

__all__ = [
    "Adaptive",
    "Pooled",
    "Separate",
    "check_estimator",
    "evidence_of_pooling",
    "tied_sources",
]


@dataclass(frozen=True, slots=True)
class Pooled:
    """Any estimator on the rows of all sources together."""

    estimator: Estimator
    by_source: ClassVar[bool] = False
    adds_new_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_estimator(self.estimator)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, without the source."""
        return self.estimator.estimate([counts.pooled() for counts in families])


@dataclass(frozen=True, slots=True)
class Separate:
    """Any estimator on each source by itself; the source is the first parent of every node."""

    estimator: Estimator
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_estimator(self.estimator)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, one slice of its table a source."""
        n_sources = max((len(counts.sources) for counts in families), default=0)
        if n_sources == 0:
            return self.estimator.estimate(families)
        by_source = [
            self.estimator.estimate([_slice(counts, f) for counts in families])
            for f in range(n_sources)
        ]
        return [
            _stacked(counts, [tables[i] for tables in by_source])
            for i, counts in enumerate(families)
        ]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Pooled, hierarchical and separate tables of each family, averaged by their evidence.

    A source without rows of the family, such as ``new_source``, has the base of the hierarchy
    alone: the separate model knows nothing of it but the prior.

    Parameters
    ----------
    s, alpha0
        As for :class:`HDMCS`; ``alpha0`` is also the prior of the pooled and of the separate
        tables.
    """

    s: Strength = ONE_PER_STATE
    alpha0: float = 1.0
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_strength("Adaptive", self.s)
        _check.positive("Adaptive", alpha0=self.alpha0)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The averaged table of each family; averages have no posterior here."""
        return [self._table(counts) for counts in families]

    def _table(self, counts: Counts) -> Categorical:
        rows = with_new_source(counts, 0.0)  # one more, empty source changes no evidence
        hierarchy = solve(rows.transpose(1, 0, 2), self.s, self.alpha0)
        tied = hierarchy.mean().transpose(1, 0, 2)
        tables = np.stack(
            [
                np.broadcast_to(_means(rows.sum(axis=0) + self.alpha0), rows.shape),
                tied,
                _means(rows + self.alpha0),
            ]
        )
        weights = softmax(list(evidence_of_pooling(hierarchy).values()))
        has_rows = rows.sum(axis=(1, 2), keepdims=True) > 0
        table = np.where(has_rows, np.tensordot(weights, tables, axes=1), tied)
        return by_source_table(counts, source_node(counts), table)


def tied_sources(
    counts: Counts, estimator: Estimator, posterior: Posterior | None = None
) -> Hierarchy:
    """The hierarchy in which the sources of a family share a base for each parent state.

    Its s and alpha0 are the estimator's if it has them (inside ``Pooled`` and ``Separate`` too),
    otherwise those of ``HDMCS()``. A posterior that is this very hierarchy is not solved again.
    """
    is_solved = isinstance(estimator, HDMCS) and not estimator.pseudo_count
    if is_solved and isinstance(posterior, HierarchicalPosterior):
        return posterior.hierarchy  # its new source, without rows, changes no evidence
    rows = counts.to_dense().values
    return solve(rows.transpose(1, 0, 2), *_tie_of(estimator))


def evidence_of_pooling(tied: Hierarchy) -> Mapping[str, float]:
    """Log evidence of a family's counts if the sources are pooled, tied, or kept apart; ``tied``
    is the hierarchy of its sources (:func:`tied_sources`).
    """
    alpha0, rows = tied.alpha0, tied.counts.transpose(1, 0, 2)
    return {
        "pooled": _log_evidence(rows.sum(axis=0), alpha0),
        "hierarchical": tied.log_evidence,
        "separate": sum(_log_evidence(source, alpha0) for source in rows),
    }


def check_estimator(estimator: object) -> None:
    """Refuse what is no estimator, such as the class of one."""
    if isinstance(estimator, type) or not hasattr(estimator, "estimate"):
        raise InputError(
            f"estimator must be a choice such as cs.Dirichlet() or cs.MLE(), got {estimator!r}.",
            parameter="estimator",
        )


def _tie_of(estimator: Estimator) -> tuple[Strength, float]:
    """How strongly an estimator ties the sources, and the prior of their base."""
    if isinstance(estimator, Pooled | Separate):
        return _tie_of(estimator.estimator)
    if isinstance(estimator, HDS | HDMJS | HDMCS | Adaptive):
        return estimator.s, estimator.alpha0
    return ONE_PER_STATE, 1.0


def _log_evidence(rows: Floats, alpha0: float) -> float:
    prior = alpha0 * rows.shape[1]
    by_row = gammaln(prior) - gammaln(prior + rows.sum(axis=1))
    return float(by_row.sum() + (gammaln(alpha0 + rows) - gammaln(alpha0)).sum())


def _means(concentration: Floats) -> Floats:
    return concentration / concentration.sum(axis=-1, keepdims=True)


def _slice(counts: Counts, f: int) -> Counts:
    if counts.source is None:
        return counts
    part = slice(f, f + 1)
    return Counts(
        counts.child,
        counts.given,
        None,
        counts.table[part],
        counts.n_rows[part],
        counts.scale,
        counts.seen,
    )


def _stacked(counts: Counts, parts: Sequence[Categorical]) -> Categorical:
    if counts.source is None:
        return parts[0]
    rows = np.stack([part.table for part in parts])
    posterior = stacked([part.posterior for part in parts])
    return by_source_table(counts, counts.source, rows, posterior)
