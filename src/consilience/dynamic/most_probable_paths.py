"""The most probable values of all that is hidden or missing in each sequence, together (Viterbi).

Discrete states come from messages of maxima, traced back; continuous values are the smoothed means,
where their joint density is highest. A value that depends on a state that is not known either
counts with its highest density for each state. Where values and states depend on each other the
path is found by :class:`consilience.dynamic.Collapse`, and its probability is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Column, Floats, Integers
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema
from consilience.dynamic.beliefs_in_time import line_of, log_source, with_sources
from consilience.dynamic.collapse_choice import Collapse
from consilience.dynamic.collapsed import Collapsed, approximation_of
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.evidence_in_time import SequenceEvidence, evidence_of
from consilience.dynamic.panel import Panel
from consilience.dynamic.timeline import Families, Timeline
from consilience.errors import ImpossibleEvidenceError

__all__ = ["Path", "most_probable_path"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Path:
    """The most probable values of what is hidden or missing.

    Attributes
    ----------
    panel
        The panel with these values filled in; hidden nodes are columns of it.
    log_probability
        Log probability, or density, of all values of each sequence together.
    approximation
        How the path may not be the most probable one; empty if it is.
    """

    panel: Panel
    log_probability: Floats
    approximation: str = ""

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        n = self.panel.n_sequences
        return (
            f"Path({n:,} sequences, log probability {self.log_probability.sum():.6g}"
            f"{'; ' if self.approximation else ''}{self.approximation})"
        )


def most_probable_path(
    net: DynamicNetwork, panel: Panel, *, memory_limit: float, by: Collapse | None = None
) -> Path:
    """The most probable values of each sequence, its source included if that is not known."""
    evidence, families = evidence_of(net, panel), Families.of(net)
    tries = with_sources(net, evidence)
    lines = [line_of(net, one, by, memory_limit) for one in tries]
    filled = [
        _filled(net, one, families, line, memory_limit=memory_limit)
        for one, line in zip(tries, lines, strict=True)
    ]
    log = np.array([found[1] for found in filled])
    best = log.argmax(axis=0)
    total = np.asarray(log.max(axis=0))
    impossible = np.flatnonzero(np.isneginf(total))
    if impossible.size:
        name = panel.sequences[int(impossible[0])]
        raise ImpossibleEvidenceError(
            f"sequence {name!r} has probability zero under the network.", sequence=name
        )
    by_row = np.repeat(best, np.diff(evidence.first))
    columns: dict[str, Column] = {}
    for name in net.variables:
        found_there = np.array([found[0].column(name) for found in filled])
        columns[name] = found_there[by_row, np.arange(len(by_row))]
    sources = np.array([found[0].sources for found in filled])[best, np.arange(len(best))]
    approximation = approximation_of(lines[0], "are those that are most probable so far")
    return Path(_as_panel(net, panel, columns, sources), total, approximation)


def _filled(
    net: DynamicNetwork,
    evidence: SequenceEvidence,
    families: Families,
    line: Timeline | Collapsed,
    *,
    memory_limit: float,
) -> tuple[SequenceEvidence, Floats]:
    """The evidence with nothing missing, and its log probability."""
    path, is_possible = _best_states(line, families)
    values = dict(evidence.values)
    safe = {name: np.maximum(c, 0) for name, c in {**evidence.codes, **path}.items()}
    known = replace(evidence, codes=safe)
    again = Timeline(net, known, memory_limit=memory_limit)
    beliefs = again.believe(families)
    for name, mean in beliefs.mean.items():
        values[name] = np.where(np.isnan(values[name]), mean, values[name])
    whole = replace(known, values=values)
    log = Timeline(net, whole, memory_limit=memory_limit).log_likelihood(families)
    log = np.where(is_possible, log + log_source(net, evidence), -np.inf)
    return whole, log


def _best_states(
    line: Timeline | Collapsed, families: Families
) -> tuple[Mapping[str, Integers], Bools]:
    """The states of the open discrete variables, and which sequences are possible at all."""
    every = np.ones(len(line.evidence.sources), bool)
    if isinstance(line, Collapsed):
        return line.best_states(families), every
    if not line.frontier.open:
        return {}, every
    numbers, _ = line.numbers(families, at_modes=True)
    path, log = line.frontier.best(numbers)
    return path, np.isfinite(log)


def _as_panel(net: DynamicNetwork, panel: Panel, columns: dict[str, Any], sources: Any) -> Panel:
    rows = panel.rows
    coded = {
        name: column
        if net.variables[name].is_continuous
        else column.astype(code_type(net.variables[name].n_states))
        for name, column in columns.items()
    }
    source, codes = rows.schema.source, rows.source_codes
    if net.source is not None and (codes is None or rows.source != net.source):
        source = net.initial.variables[net.source]
        lengths = np.diff(panel.first)
        codes = np.repeat(sources, lengths).astype(code_type(source.n_states))
    others = {n: v for n, v in rows.variables.items() if n not in coded}
    schema = Schema({**net.variables, **others}, source)
    kept = {name: rows.column(name) for name in others}
    return replace(
        panel, rows=Table(schema, {**coded, **kept}, codes, rows.weights), inputs=net.inputs
    )
