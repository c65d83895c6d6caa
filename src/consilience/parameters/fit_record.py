"""The record of a fit: rows used and left out, parent states without rows, evidence, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from consilience import _check, _freeze
from consilience.distributions import Categorical, Distribution
from consilience.network.record import Record
from consilience.parameters.choices import method_of
from consilience.parameters.estimator import LogisticFit
from consilience.parameters.few_rows import lacks_rows
from consilience.parameters.hierarchical import HierarchicalPosterior
from consilience.parameters.pooling import (
    Adaptive,
    evidence_of_pooling,
    innermost,
    is_exactly_tied,
    tied_sources,
)
from consilience.parameters.regression_evidence import evidence_of_pooled_regressions
from consilience.parameters.shrinkage import Shrinkage
from consilience.parameters.stacked import StackedPosterior
from consilience.statistics.counts import Counts
from consilience.statistics.moments import Moments

__all__ = ["NO_REPORT", "ROUNDING", "GapReport", "Statistics", "record_of"]

ROUNDING = 1e-9  # share of the rows: sums of fractional weights differ by so much without a gap


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What the families of a network are estimated from, by kind."""

    counts: Sequence[Counts] = ()
    moments: Sequence[Moments] = ()
    fits: Sequence[LogisticFit] = ()


@dataclass(frozen=True, slots=True)
class GapReport:
    """What a record says about gaps.

    Parameters
    ----------
    method
        What was done, with ``{}`` for the estimators.
    notes
        Sentences about the gaps; by default that rows with a gap were left out, if some were.
    """

    method: str = "{}"
    notes: tuple[str, ...] | None = None


NO_REPORT = GapReport()


def record_of(
    chosen: Mapping[str, Any],
    order: Sequence[str],
    seen: Statistics,
    used: Statistics,
    *,
    local: Mapping[str, Distribution],
    report: GapReport,
) -> Record:
    """The story of a fit; ``order`` are the nodes in the order of the record.

    ``seen`` are the statistics of the rows as they are, ``used`` those that were estimated from.
    """
    uses = {one.child: one for one in _uses(seen)}
    n_incomplete = {node: uses[node].n_incomplete for node in order}
    apart = [c for c in used.counts if len(c.sources) > 1]
    return Record(
        method=report.method.format(method_of(chosen)),
        n_rows={node: uses[node].n_rows for node in order},
        n_incomplete=n_incomplete,
        unidentified={node: uses[node].unidentified for node in order},
        known=_known(chosen, local),
        pooling=_freeze.LateMap(
            {
                **{c.child.name: partial(_evidence, c, chosen["table"], local) for c in apart},
                **_evidence_of_regressions(used.moments),
            }
        ),
        notes=(
            *(_notes_on_gaps(n_incomplete) if report.notes is None else report.notes),
            *_notes_on_tables(chosen.get("table"), apart, local),
            *_notes_on_regressions(chosen.get("regression"), used.moments),
            *_notes_on_logistic(seen.fits),
        ),
    )


def _known(chosen: Mapping[str, Any], local: Mapping[str, Distribution]) -> dict[str, int]:
    """How many numbers of each family were given, where an estimator keeps some."""
    keeping = [one for one in chosen.values() if hasattr(one, "n_known")][:1]
    found = {name: one.n_known(law) for one in keeping for name, law in local.items()}
    return {name: n for name, n in found.items() if n}


class _Use(NamedTuple):
    """Rows that a family was estimated from and could not use, and parent states without rows."""

    child: str
    n_rows: float
    n_incomplete: float
    unidentified: int


def _uses(seen: Statistics) -> Iterator[_Use]:
    for c in seen.counts:
        yield _use(c.child.name, c.n_complete.sum(), c.n_incomplete.sum(), _n_unseen(c))
    for m in seen.moments:
        n_poor = int(lacks_rows(m.weight, len(m.names)).sum())
        yield _use(m.names[-1], m.weight.sum(), m.n_incomplete.sum(), n_poor)
    for f in seen.fits:
        yield _use(f.distribution.child.name, f.n_rows, f.n_incomplete, f.unidentified)


def _use(child: str, n_rows: float, n_incomplete: float, unidentified: int) -> _Use:
    is_gap = n_incomplete > ROUNDING * n_rows
    return _Use(child, float(n_rows), float(n_incomplete) if is_gap else 0.0, unidentified)


def _evidence(
    counts: Counts, estimator: Any, local: Mapping[str, Distribution]
) -> Mapping[str, float]:
    tied = tied_sources(counts, estimator, local[counts.child.name].posterior)
    return evidence_of_pooling(tied)


def _evidence_of_regressions(
    moments: Sequence[Moments],
) -> dict[str, Callable[[], Mapping[str, float]]]:
    several = (m for m in moments if m.source is not None and m.source.n_states > 1)
    found = {m.names[-1]: evidence_of_pooled_regressions(m) for m in several}
    return {name: partial(dict, evidence) for name, evidence in found.items() if evidence}


def _notes_on_gaps(incomplete: Mapping[str, float]) -> list[str]:
    if not any(incomplete.values()):
        return []
    return [
        "Rows with a gap were left out family by family (available cases); that is sound only "
        "if values are missing completely at random."
    ]


def _notes_on_tables(
    estimator: Any, apart: Sequence[Counts], local: Mapping[str, Distribution]
) -> list[str]:
    """What to know about hierarchies, and about their evidence, where they are not exact."""
    notes = []
    rough = [
        name
        for name, one in local.items()
        if isinstance(one.posterior, HierarchicalPosterior | StackedPosterior)
        and not one.posterior.is_exact
    ]
    if rough:
        notes.append(
            "Solved by collapsed variational Bayes, not exactly, because their counts are "
            f"fractional or too large: {_check.listed(rough)}."
        )
    zeros = _with_zeros(local) if isinstance(innermost(estimator), Shrinkage) else []
    if zeros:
        notes.append(
            "Shrinkage left probabilities of zero, so that new rows may be impossible, in: "
            f"{_check.listed(zeros)}."
        )
    bounded = [c.child.name for c in apart if not is_exactly_tied(c)]
    if bounded:
        use = ", and so do the weights of the tables" if isinstance(estimator, Adaptive) else ""
        notes.append(
            "The evidence of pooling compares a variational lower bound for tied sources with "
            f"exact numbers for pooled and separate ones{use}, because counts are fractional or "
            f"too large: {_check.listed(bounded)}."
        )
    return notes


def _with_zeros(local: Mapping[str, Distribution]) -> list[str]:
    return [
        name
        for name, one in local.items()
        if isinstance(one, Categorical) and not np.all(one.table > 0)
    ]


def _notes_on_regressions(estimator: Any, moments: Sequence[Moments]) -> list[str]:
    return list(estimator.notes(moments)) if moments and hasattr(estimator, "notes") else []


def _notes_on_logistic(fits: Sequence[LogisticFit]) -> list[str]:
    weak = [f"{f.distribution.child.name!r} ({f.unidentified})" for f in fits if f.unidentified]
    if not weak:
        return []
    return [
        "The rows do not determine the coefficients (too few, or the parents are collinear or "
        "separate the states), which rest on the prior, in these logistic families and numbers of "
        f"joint discrete states, by source where sources are apart: {', '.join(weak)}."
    ]


def _n_unseen(counts: Counts) -> int:
    """Parent states that no row shows, in each source if the counts are by source."""
    n_seen = int((counts.table.sum(axis=2) > 0).sum())
    return counts.table.shape[0] * counts.n_parent_states - n_seen
