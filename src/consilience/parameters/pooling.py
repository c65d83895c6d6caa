r"""How far the sources agree, family by family, and estimates that follow.

Three models of one family's counts N[f, pa, x], with every :math:`\alpha_0` the same:

- pooled: one :math:`\theta_{pa} \sim \mathrm{Dirichlet}(\alpha_0)` for all sources;
- hierarchical: :math:`\theta_{pa,f}` around a common base, the strength learned (HDMCS);
- separate: each :math:`\theta_{pa,f} \sim \mathrm{Dirichlet}(\alpha_0)` by itself.

Their log evidence says which the data favour; its exponentials, normalised, are their posterior
probabilities if all three were equally likely before. A hierarchy that cannot be solved exactly
(fractional or very large counts) has a lower bound on it instead, beside the exact evidence of the
other two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, softmax

from consilience import _check
from consilience._typing import Floats
from consilience.distributions.categorical import Categorical, Posterior
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.errors import DataError, InputError
from consilience.parameters.estimator import METHODS, Choice, LogisticFit
from consilience.parameters.hierarchical import (
    HDMCS,
    HDMJS,
    HierarchicalPosterior,
    with_new_source,
)
from consilience.parameters.hierarchy import Hierarchy, can_be_solved, solve
from consilience.parameters.logistic import HierarchicalLogistic, LogisticRegression
from consilience.parameters.source_node import by_source_table, source_node
from consilience.parameters.stacked import side_by_side, stacked
from consilience.parameters.strength import AMONG_SOURCES, Strength, check_strength
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine

__all__ = [
    "Adaptive",
    "Pooled",
    "Separate",
    "check_estimator",
    "evidence_of_pooling",
    "innermost",
    "is_exactly_tied",
    "tied_sources",
]

MOST_LIKELY_S = 500.0
"""A learned strength is hardly larger."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """Any estimator on the rows of all sources together; it serves the kinds that one serves."""

    estimator: Choice
    by_source: ClassVar[bool] = False
    adds_new_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_estimator(self.estimator)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, without the source."""
        return _inner(self).estimate([counts.pooled() for counts in families])

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family with a continuous child, without the source."""
        return _inner(self).regress([moments.pooled() for moments in families])

    def regress_states(
        self, engine: Engine, families: Sequence[Family], *, by_source: bool = False
    ) -> list[LogisticFit]:
        """The fits of logistic families, without the source."""
        return _inner(self).regress_states(engine, families, by_source=False)

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions."""
        inner = self.estimator
        return inner.notes([m.pooled() for m in families]) if hasattr(inner, "notes") else []


@dataclass(frozen=True, slots=True)
class Separate:
    """Any estimator on each source by itself; the source is the first parent of every node.

    It serves the kinds of families that the estimator serves, and says nothing about a source
    never seen.
    """

    estimator: Choice
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_estimator(self.estimator)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, one slice of its table per source."""
        n_sources = max((len(counts.sources) for counts in families), default=0)
        if n_sources == 0:
            return _inner(self).estimate(families)
        by_source = [
            _inner(self).estimate([_slice(counts, f) for counts in families])
            for f in range(n_sources)
        ]
        return [
            _stacked(counts, [tables[i] for tables in by_source])
            for i, counts in enumerate(families)
        ]

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family with a continuous child, a slice a source.

        Raises
        ------
        DataError
            If a source has too few rows for the estimator.
        """
        return [self._regression(moments) for moments in families]

    def regress_states(
        self, engine: Engine, families: Sequence[Family], *, by_source: bool = True
    ) -> list[LogisticFit]:
        """The fits of logistic families, a slice a source."""
        inner = _inner(self)
        if isinstance(inner, HierarchicalLogistic):  # a source by itself has nothing to be tied to
            inner = LogisticRegression(inner.ridge)
        return list(inner.regress_states(engine, families, by_source=by_source))

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions, sources and joint states together."""
        if not hasattr(self.estimator, "notes"):
            return []
        parts = [
            _moments_of(moments, f) for moments in families for f in range(len(moments.weight))
        ]
        return list(self.estimator.notes(parts))

    def _regression(self, moments: Moments) -> LinearGaussian:
        if moments.source is None:
            return _inner(self).regress([moments])[0]
        parts = []
        for f, source in enumerate(moments.source.discrete_states):
            try:
                parts += _inner(self).regress([_moments_of(moments, f)])
            except DataError as problem:
                message = f"source {source!r}: {problem.message}"
                raise DataError(message, **problem.culprits, source=source) from problem
        return side_by_side(moments.source, parts)


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Pooled, hierarchical and separate tables of each family, averaged by their evidence.

    A source without rows of the family, such as ``new_source``, has the pooled table and the base
    of the hierarchy; the weight of the separate model, which knows nothing of it but the prior,
    goes to the base.

    Parameters
    ----------
    s, alpha0
        As for :class:`HDMCS`; ``alpha0`` is also the prior of the pooled and of the separate
        tables.
    """

    s: Strength = AMONG_SOURCES
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
        pooled, both = weights[0], weights[1] + weights[2]
        unseen = pooled * tables[0] + both * tied
        table = np.where(has_rows, np.tensordot(weights, tables, axes=1), unseen)
        return by_source_table(counts, source_node(counts), table)


def tied_sources(
    counts: Counts, estimator: Choice, posterior: Posterior | None = None
) -> Hierarchy:
    """The hierarchy in which the sources of a family share a base for each parent state.

    Its s and alpha0 are the estimator's if it ties sources (inside ``Pooled`` and ``Separate``
    too), otherwise those of ``HDMCS()``, whose s is learned. A posterior that is this very
    hierarchy is not solved again.
    """
    is_solved = isinstance(estimator, HDMCS) and not estimator.pseudo_count
    if is_solved and isinstance(posterior, HierarchicalPosterior):
        return posterior.hierarchy  # its new source, without rows, changes no evidence
    rows = counts.to_dense().values
    return solve(rows.transpose(1, 0, 2), *_tie_of(estimator))


def is_exactly_tied(counts: Counts) -> bool:
    """Whether the evidence of tied sources is exact, or a lower bound, without solving it."""
    return can_be_solved(counts.to_dense().values.transpose(1, 0, 2), MOST_LIKELY_S, 1.0)


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


def innermost(estimator: Any) -> Any:
    """What ``Pooled``, ``Separate`` and the like wrap, or the estimator itself."""
    while hasattr(estimator, "estimator"):
        estimator = estimator.estimator
    return estimator


def check_estimator(
    estimator: object, what: str = "estimator", *, parameter: str = "estimator"
) -> None:
    """Refuse what is no estimator, such as the class of one; ``what`` begins the message."""
    if getattr(estimator, "needs_class", False) and not isinstance(estimator, type):
        raise InputError(
            f"{what} {estimator!r} needs a class to be made for. Give it to a classifier, to "
            "cs.cross_evaluate or cs.classify.calibrated_chain; elsewhere use cs.HDC().",
            parameter=parameter,
        )
    is_choice = any(hasattr(estimator, method) for method in METHODS.values())
    if isinstance(estimator, type) or not is_choice:
        raise InputError(
            f"{what} must be a choice such as cs.Dirichlet() or cs.MLE(), got {estimator!r}.",
            parameter=parameter,
        )


def _inner(wrapper: Pooled | Separate) -> Any:
    """The wrapped estimator, which serves the kind of family it is asked for (:func:`serves`)."""
    return wrapper.estimator


def _tie_of(estimator: Choice) -> tuple[Strength, float]:
    """How strongly an estimator ties the sources, and the prior of their base."""
    inner = innermost(estimator)
    if isinstance(inner, HDMJS | HDMCS | Adaptive):
        return inner.s, inner.alpha0
    return AMONG_SOURCES, 1.0


def _log_evidence(rows: Floats, alpha0: Floats) -> float:
    prior = alpha0.sum()
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


def _moments_of(moments: Moments, f: int) -> Moments:
    if moments.source is None:
        return moments
    return moments.by_source()[f]


def _stacked(counts: Counts, parts: Sequence[Categorical]) -> Categorical:
    if counts.source is None:
        return parts[0]
    rows = np.stack([part.table for part in parts])
    posterior = stacked([part.posterior for part in parts])
    return by_source_table(counts, counts.source, rows, posterior)
