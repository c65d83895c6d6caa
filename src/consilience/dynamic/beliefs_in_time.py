"""Filtering, smoothing and log-likelihoods of panels.

The source is a root that does not change in time. Where the panel does not say it, each source is
tried, and the answers are mixed by its posterior, a product over all steps, in logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.dynamic.collapse_choice import Collapse
from consilience.dynamic.collapsed import Collapsed, approximation_of
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.evidence_in_time import SequenceEvidence, evidence_of
from consilience.dynamic.panel import Panel
from consilience.dynamic.panel_frames import row_keys
from consilience.dynamic.timeline import Families, SequenceBeliefs, Timeline, mixed_pair
from consilience.errors import ImpossibleEvidenceError, InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Beliefs",
    "filtered",
    "line_of",
    "log_likelihood",
    "log_source",
    "smoothed",
    "try_weights",
    "with_sources",
]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Beliefs:
    """What is believed about the rows of a panel.

    Attributes
    ----------
    panel
        The rows.
    probabilities
        For each discrete node that is hidden or missing somewhere, shape (rows, states); a row that
        has its value is certain.
    mean, sd
        For each continuous node that is hidden or missing somewhere, shape (rows,); the sd of a
        recorded value is zero.
    log_likelihood
        Of all that each sequence records.
    states
        The states of each discrete node.
    sources
        Posterior of the source of each sequence, shape (sequences, sources); None without one.
    given
        What the beliefs of a row are given: ``"all rows"`` or ``"rows up to each"``.
    approximation
        How the answer is approximate; empty if it is exact.
    """

    panel: Panel
    probabilities: Mapping[str, Floats]
    mean: Mapping[str, Floats]
    sd: Mapping[str, Floats]
    log_likelihood: Floats
    states: Mapping[str, tuple[str, ...]]
    sources: Floats | None
    given: str
    approximation: str = ""

    def __post_init__(self) -> None:
        _freeze.own(self)

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame: sequence, time, ``P(z=1)`` of every state, ``level`` and ``level sd``."""
        pandas = _check.extra("pandas", "pandas", "Beliefs.to_frame")
        columns: dict[str, object] = dict(row_keys(self.panel))
        for name, table in self.probabilities.items():
            columns |= {f"P({name}={s})": table[:, k] for k, s in enumerate(self.states[name])}
        for name in self.mean:
            columns |= {name: self.mean[name], f"{name} sd": self.sd[name]}
        frame: pd.DataFrame = pandas.DataFrame(columns)
        return frame

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        names = [*self.probabilities, *self.mean]
        return (
            f"Beliefs({len(self.panel):,} rows given {self.given}: {', '.join(names) or 'nothing'};"
            f" log-likelihood {self.log_likelihood.sum():.6g}"
            f"{'; ' if self.approximation else ''}{self.approximation})"
        )


def smoothed(
    net: DynamicNetwork, panel: Panel, *, memory_limit: float, by: Collapse | None = None
) -> Beliefs:
    """Beliefs about each row given all rows of its sequence."""
    return _beliefs(net, panel, memory_limit, is_filter=False, by=by)


def filtered(
    net: DynamicNetwork, panel: Panel, *, memory_limit: float, by: Collapse | None = None
) -> Beliefs:
    """Beliefs about each row given the rows of its sequence up to it."""
    return _beliefs(net, panel, memory_limit, is_filter=True, by=by)


def log_likelihood(
    net: DynamicNetwork, panel: Panel, *, memory_limit: float, by: Collapse | None = None
) -> Floats:
    """Log probability of what each sequence records, its source included if it is known.

    What is hidden or missing is summed out. Minus infinity if a sequence is impossible. Inputs, and
    first values that are given, count nothing.
    """
    evidence, families = evidence_of(net, panel), Families.of(net)
    found = []
    for one in with_sources(net, evidence):
        timeline = line_of(net, one, by, memory_limit)
        found.append(timeline.log_likelihood(families) + log_source(net, one))
    return _mixed_log(evidence, np.array(found))


def log_source(net: DynamicNetwork, evidence: SequenceEvidence) -> Floats:
    """Log probability of the source of each sequence; zero without a source."""
    if net.source is None:
        return np.zeros(len(evidence.sources))
    with np.errstate(divide="ignore"):
        shares = np.log(net.initial.tables[net.source].table)
    return np.asarray(shares[evidence.sources])


def with_sources(net: DynamicNetwork, evidence: SequenceEvidence) -> list[SequenceEvidence]:
    """The evidence, once for each source that a sequence without one may have."""
    if net.source is None or (evidence.sources >= 0).all():
        return [evidence]
    n_sources = net.initial.variables[net.source].n_states
    return [
        replace(evidence, sources=np.where(evidence.sources < 0, f, evidence.sources))
        for f in range(n_sources)
    ]


def try_weights(
    evidence: SequenceEvidence, log: Floats, of_sequence: Integers | None = None
) -> Floats:
    """How much each try counts for each sequence, or row; log-likelihoods (tries, sequences)."""
    is_known = evidence.sources >= 0
    if of_sequence is not None:
        is_known = is_known[of_sequence]
    first = np.zeros_like(log)
    first[0] = 1.0
    return np.where(is_known, first, _shares(log))


def _mixed_log(evidence: SequenceEvidence, log: Floats) -> Floats:
    if len(log) == 1:
        return np.asarray(log[0])
    return np.where(evidence.sources >= 0, log[0], np.logaddexp.reduce(log, axis=0))


def line_of(
    net: DynamicNetwork, evidence: SequenceEvidence, by: Collapse | None, memory_limit: float
) -> Timeline | Collapsed:
    """The panel prepared for exact answers or, where there are none in reasonable time and ``by``
    says so, for collapsed ones.
    """
    if by is not None and not isinstance(by, Collapse):
        raise InputError(
            f"by must be cs.dynamic.Collapse(...), or nothing for exact answers, got {by!r}.",
            parameter="by",
        )
    if by is None or mixed_pair(net, evidence) is None:
        return Timeline(net, evidence, memory_limit=memory_limit)
    return Collapsed(net, evidence, by, memory_limit=memory_limit)


def _beliefs(
    net: DynamicNetwork,
    panel: Panel,
    memory_limit: float,
    *,
    is_filter: bool,
    by: Collapse | None = None,
) -> Beliefs:
    evidence, families = evidence_of(net, panel), Families.of(net)
    tries = with_sources(net, evidence)
    lines = [line_of(net, one, by, memory_limit) for one in tries]
    found = [one.believe(families, is_filter=is_filter) for one in lines]
    prior = np.array([log_source(net, one) for one in tries])
    log = prior + np.array([evidence.by_sequence(one.log_rows) for one in found])
    total = _mixed_log(evidence, log)
    _refuse_impossible(panel, total)
    whole = found[0]
    if len(tries) > 1:
        by_row = np.repeat(try_weights(evidence, log), np.diff(evidence.first), axis=1)
        if is_filter:  # of the source, a row knows what the rows up to it say
            so_far = np.array([evidence.up_to_each(one.log_rows) for one in found])
            by_row = try_weights(
                evidence, prior[:, panel.sequence_codes] + so_far, panel.sequence_codes
            )
        mean, sd = _mixed_values(found, by_row)
        whole = whole._replace(probabilities=_mixed_probabilities(found, by_row), mean=mean, sd=sd)
    return Beliefs(
        panel,
        whole.probabilities,
        whole.mean,
        whole.sd,
        total,
        {n: v.discrete_states for n, v in net.variables.items() if not v.is_continuous},
        _posterior_of_sources(net, evidence, log),
        "rows up to each" if is_filter else "all rows",
        approximation_of(lines[0]),
    )


def _shares(log: Floats) -> Floats:
    most = log.max(axis=0)
    scaled = np.exp(log - np.where(np.isfinite(most), most, 0.0))
    total = scaled.sum(axis=0)
    return np.asarray(scaled / np.where(total > 0, total, 1.0))


def _refuse_impossible(panel: Panel, log: Floats) -> None:
    impossible = np.flatnonzero(np.isneginf(log))
    if impossible.size:
        name = panel.sequences[int(impossible[0])]
        raise ImpossibleEvidenceError(
            f"sequence {name!r} has probability zero under the network, so nothing can be believed "
            "of it.",
            sequence=name,
        )


def _mixed_probabilities(found: list[SequenceBeliefs], by_row: Floats) -> dict[str, Floats]:
    names = found[0].probabilities
    return {
        name: sum(
            (w[:, None] * one.probabilities[name] for w, one in zip(by_row, found, strict=True)),
            np.zeros_like(found[0].probabilities[name]),
        )
        for name in names
    }


def _mixed_values(
    found: list[SequenceBeliefs], by_row: Floats
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    mean: dict[str, Floats] = {}
    sd: dict[str, Floats] = {}
    for name in found[0].mean:
        means = np.array([one.mean[name] for one in found])
        variances = np.array([one.sd[name] ** 2 for one in found])
        mean[name] = (by_row * means).sum(axis=0)
        spread = (by_row * (variances + (means - mean[name]) ** 2)).sum(axis=0)
        sd[name] = np.sqrt(spread)
    return mean, sd


def _posterior_of_sources(
    net: DynamicNetwork, evidence: SequenceEvidence, log: Floats
) -> Floats | None:
    if net.source is None:
        return None
    n = net.initial.variables[net.source].n_states
    found = np.zeros((len(evidence.sources), n))
    known = evidence.sources >= 0
    found[known, evidence.sources[known]] = 1.0
    if len(log) > 1:
        found[~known] = _shares(log[:, ~known]).T
    return found
