"""What a panel says about the nodes of a network in time, in codes of its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers
from consilience.data.align import aligned_codes
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.lagged_names import split_slice
from consilience.dynamic.panel import Panel, steps_of
from consilience.errors import DataError, InputError
from consilience.inference.known_sources import codes_of_sources

__all__ = ["SequenceEvidence", "evidence_of"]


@dataclass(frozen=True, slots=True, eq=False)
class SequenceEvidence:
    """Rows of sequences, one after the other.

    Attributes
    ----------
    codes
        For each discrete variable the state of each row, -1 if missing; int64.
    values
        For each continuous one its value, NaN if missing.
    first
        Where the rows of each sequence start, and their number.
    sources
        The source of each sequence, -1 if unknown; zero if the network has none.
    weights
        How many sequences each stands for.
    """

    codes: Mapping[str, Integers]
    values: Mapping[str, Floats]
    first: Integers
    sources: Integers
    weights: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows of all sequences."""
        return int(self.first[-1])

    @property
    def steps(self) -> Integers:
        """How many rows of its sequence stand before each row."""
        return steps_of(self.first)

    def rows_of_slices(self, order: int) -> list[Integers]:
        """The rows that are slice 0, 1, ... of a sequence, and last those of all later slices."""
        lengths, is_later = np.diff(self.first), np.ones(self.n_rows, bool)
        found = [self.first[:-1][lengths > k] + k for k in range(order)]
        for rows in found:
            is_later[rows] = False
        return [*found, np.flatnonzero(is_later)]

    @property
    def row_sources(self) -> Integers:
        """The source of each row."""
        return np.repeat(self.sources, np.diff(self.first))

    @property
    def row_weights(self) -> Floats:
        """The weight of each row."""
        return np.repeat(self.weights, np.diff(self.first))

    def column(self, name: str) -> Column:
        """Codes or values of a variable."""
        return self.codes[name] if name in self.codes else self.values[name]

    def is_missing(self, name: str) -> Column:
        """The rows without a value of a variable."""
        column = self.column(name)
        return np.isnan(column) if column.dtype == np.float64 else column < 0

    def before(self, name: str, lag: int) -> Column:
        """The column so many rows before; where that is another sequence, anything."""
        column = self.column(name)
        return np.roll(column, lag) if lag else column

    def by_sequence(self, numbers: Floats) -> Floats:
        """Sums over the rows of each sequence."""
        found = np.zeros(len(self.first) - 1)
        has_rows = np.diff(self.first) > 0
        if has_rows.any():
            found[has_rows] = np.add.reduceat(numbers, self.first[:-1][has_rows])
        return found

    def up_to_each(self, numbers: Floats) -> Floats:
        """Sums over the rows of a sequence up to each row."""
        found = np.zeros(len(numbers))
        for start, stop in zip(self.first[:-1], self.first[1:], strict=True):
            found[start:stop] = np.cumsum(numbers[start:stop])
        return found

    def with_source(self, code: int) -> SequenceEvidence:
        """The same sequences, all of one source."""
        sources = np.full_like(self.sources, code)
        return SequenceEvidence(self.codes, self.values, self.first, sources, self.weights)

    def take(self, chosen: Integers) -> SequenceEvidence:
        """The evidence of some sequences, in this order."""
        parts = [np.arange(self.first[s], self.first[s + 1]) for s in chosen]
        rows = np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)
        return SequenceEvidence(
            {name: column[rows] for name, column in self.codes.items()},
            {name: column[rows] for name, column in self.values.items()},
            np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64),
            self.sources[chosen],
            self.weights[chosen],
        )


def evidence_of(net: DynamicNetwork, panel: Panel) -> SequenceEvidence:
    """The panel in codes of the network; a column of a hidden node, or of none, is not read.

    Raises
    ------
    DataError
        If the panel lacks an input, has a state that the network does not know, or lacks a first
        value that must be given.
    """
    if not isinstance(panel, Panel):
        raise InputError(
            f"a Panel is wanted, got a {type(panel).__name__}; cs.dynamic.read_panel(...) makes "
            "one.",
            parameter="panel",
        )
    codes: dict[str, Integers] = {}
    values: dict[str, Floats] = {}
    rows = panel.rows
    nothing = np.full(rows.n_rows, np.nan)
    for name, variable in net.variables.items():
        is_there = name in rows.variables and name not in net.hidden
        if not is_there and name not in net.hidden:
            advice = f"Read the panel with columns= that include {name!r}."
            _check.unknown("column", name, rows.variables, advice)
        if variable.is_continuous:
            if is_there and not rows.variables[name].is_continuous:
                raise InputError(
                    f"column {name!r} is discrete; numbers are wanted. Read the panel with "
                    f"continuous=[{name!r}].",
                    column=name,
                )
            values[name] = rows.column(name) if is_there else nothing
        else:
            coded = aligned_codes(rows, variable) if is_there else np.full(rows.n_rows, -1)
            codes[name] = coded.astype(np.int64)
    found = SequenceEvidence(codes, values, panel.first, _sources(net, panel), _weights(panel))
    _check_given(net, panel, found)
    return found


def _sources(net: DynamicNetwork, panel: Panel) -> Integers:
    """The source of each sequence in the states of the network."""
    n = panel.n_sequences
    if net.source is None:
        return np.zeros(n, np.int64)
    rows = panel.rows
    if rows.source != net.source or rows.source_codes is None:
        return np.full(n, -1, np.int64)
    node = net.initial.variables[net.source]
    found = codes_of_sources(node, rows.sources).astype(np.int64)
    return np.asarray(found[rows.source_codes[panel.first[:-1]]], np.int64)


def _weights(panel: Panel) -> Floats:
    if panel.rows.weights is None:
        return np.ones(panel.n_sequences)
    return panel.rows.weights[panel.first[:-1]].astype(float)


def _check_given(net: DynamicNetwork, panel: Panel, found: SequenceEvidence) -> None:
    """Refuse inputs without a value, and first values that are missing and have no law."""
    for name in net.inputs:
        missing = np.flatnonzero(found.is_missing(name))
        if missing.size:
            raise DataError(
                f"{panel.place(int(missing[0]))}: the input {name!r} has no value. Inputs are "
                "given at every step and never filled in.",
                column=name,
                **panel.culprits(int(missing[0])),
            )
    for node in net.conditional:
        place = split_slice(node)
        if place is None:
            continue
        name, k = place
        rows = found.first[:-1][np.diff(found.first) > k] + k
        missing = rows[found.is_missing(name)[rows]]
        if missing.size:
            raise DataError(
                f"{panel.place(int(missing[0]))}: {name!r} is missing, and the network has no law "
                "for the first steps, whose values are given. Fit it with "
                "initial=cs.dynamic.Estimated() or cs.dynamic.Stationary().",
                column=name,
                **panel.culprits(int(missing[0])),
            )
