"""The present of each sequence, drawn: the last rows with all that is hidden or missing filled in.

A state of the message after the last row is drawn, discrete by its probability and continuous by
its normal law, given all rows. A source that is not known is drawn from its posterior.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from consilience._typing import Column, Floats, Integers
from consilience.dynamic.beliefs_in_time import log_source, try_weights, with_sources
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.timeline import Families, Timeline

__all__ = ["present_of"]

MEMORY = 2**31


def present_of(
    net: DynamicNetwork, evidence: SequenceEvidence, rng: np.random.Generator
) -> Iterator[tuple[Integers, dict[str, Column], Integers, int]]:
    """Groups of sequences: which, their last columns (sequences, steps), sources, and lengths.

    The columns are those of the last ``order`` steps, or of all if a sequence has fewer.
    """
    sources, filled = _filled(net, evidence, rng)
    lengths = np.diff(evidence.first)
    capped = np.minimum(lengths, net.order)
    for width in np.unique(capped):
        chosen = np.flatnonzero(capped == width)
        rows = evidence.first[chosen + 1][:, None] - int(width) + np.arange(int(width))[None, :]
        columns = {name: column[rows] for name, column in filled.items()}
        before = net.order if width == net.order else int(width)
        yield chosen, columns, sources[chosen], before


def _filled(
    net: DynamicNetwork, evidence: SequenceEvidence, rng: np.random.Generator
) -> tuple[Integers, dict[str, Column]]:
    """Sources, and the columns with the last rows of each sequence filled in."""
    columns: dict[str, Column] = {**evidence.codes, **evidence.values}
    needs_source = net.source is not None and bool((evidence.sources < 0).any())
    is_open = any(evidence.is_missing(name).any() for name in net.transition)
    if not (is_open or needs_source):
        return evidence.sources, columns
    families = Families.of(net)
    tries = with_sources(net, evidence)
    lines = [Timeline(net, one, memory_limit=MEMORY) for one in tries]
    log = np.array(
        [
            line.log_likelihood(families) + log_source(net, one)
            for line, one in zip(lines, tries, strict=True)
        ]
    )
    weights = try_weights(evidence, log)
    ends = np.cumsum(weights, axis=0)
    which = (rng.random(len(evidence.sources))[None, :] >= ends).sum(axis=0)
    which = np.minimum(which, len(tries) - 1)
    columns = {name: column.copy() for name, column in columns.items()}
    sources = np.array([one.sources for one in tries])[which, np.arange(len(which))]
    for f, line in enumerate(lines):
        mine = np.flatnonzero(which == f)
        _draw_discrete(line, families, mine, columns, rng=rng)
        _draw_linear(line, families, mine, columns, rng=rng)
    return sources, columns


def _draw_discrete(
    line: Timeline,
    families: Families,
    chosen: Integers,
    columns: Mapping[str, Column],
    *,
    rng: np.random.Generator,
) -> None:
    frontier = line.frontier
    if not frontier.open:
        return
    numbers, _ = line.numbers(families)
    messages, _ = frontier.forward(numbers)
    first = line.evidence.first
    for s in chosen:
        last = int(first[s + 1]) - 1
        scope = frontier.scope_after(min(last - int(first[s]), line.net.order))
        shape = frontier.shape_of(scope)
        size = int(np.prod(shape)) if shape else 1
        cell = _drawn_cell(messages[last, :size], rng)
        states = np.unravel_index(cell, shape) if shape else ()
        for node, state in zip(scope, states, strict=True):
            columns[node.name][last - node.lag] = state


def _drawn_cell(message: Floats, rng: np.random.Generator) -> int:
    ends = np.cumsum(message)
    return int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))


def _draw_linear(
    line: Timeline,
    families: Families,
    chosen: Integers,
    columns: Mapping[str, Column],
    *,
    rng: np.random.Generator,
) -> None:
    linear = line.linear
    if not linear.names:
        return
    first = line.evidence.first
    ends = [int(first[s + 1]) - 1 for s in chosen]
    messages = linear.messages(families.regressions, ends)
    for s, last, (mean, root) in zip(chosen, ends, messages, strict=True):
        scope = linear.scope_after(min(last - int(first[s]), line.net.order))
        drawn = mean + rng.standard_normal(len(root)) @ root
        for node, value in zip(scope, drawn, strict=True):
            columns[node.name][last - node.lag] = value
