"""What one pass over rows that are not in memory tells about their columns, in mergeable form.

The sketch of a part has the different values of each column, in the order of first sight, and by
source the rows, the weight of missing values, the smallest and the largest number, and whether all
known values are one. Sketches of neighboring parts merge; from the sketch of all rows follow the
variables that :func:`read` would have found, by the same rules on the same pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from consilience import _check
from consilience._freeze import FrozenMap
from consilience._typing import Floats, Integers
from consilience.data.coding import Fragment, code_as, floats
from consilience.data.describe import ALL
from consilience.data.labels import is_plain_number, label, labels
from consilience.data.parts import Part
from consilience.data.pieces import Coded, Numbers, Piece
from consilience.data.place import Place
from consilience.data.read import column_of, weights_of
from consilience.data.reading_request import ReadRequest
from consilience.data.source_column import Sourced, with_sources
from consilience.data.table import code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError

__all__ = ["Seen", "Sketch", "schema_of", "sketch_of"]

MOST_TEXTS = 1 << 20
"""A column of text with more different values than this is refused."""

MOST_NUMBERS = 4096
"""Of a column of numbers no more different values than about these are kept."""

VARIED: Any = ...
"""Stands for a column that has several values in one source."""


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The different values of a column of one type.

    ``keeps_all`` if they are states whatever they look like; ``is_cut`` if some were left out.
    """

    piece: Piece
    keeps_all: bool
    is_cut: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A column by source; every array has one entry for each.

    Parameters
    ----------
    n_known
        Rows with a value.
    missing
        Weight of the rows without one.
    low, high
        Smallest and largest number; NaN if there is none.
    value
        The one value of all rows of the source, None if no row has any, ``VARIED`` if several.
    """

    n_known: Integers
    missing: Floats
    low: Floats
    high: Floats
    value: npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """What is known of some rows; ``sources`` is ``("all",)`` if they have none.

    Parameters
    ----------
    names
        All columns, read or not.
    sources
        Sources in the order of first sight.
    n_rows, weight
        Rows of each source, and their weight.
    values, seen
        The different values of each column that was read, piece by piece, and the column by source.
    """

    names: tuple[str, ...]
    sources: tuple[str, ...]
    n_rows: Integers
    weight: Floats
    values: Mapping[str, tuple[Values, ...]]
    seen: Mapping[str, Seen]

    @classmethod
    def empty(cls) -> Sketch:
        """The sketch of no rows and no columns."""
        return cls((), (), np.zeros(0, np.int64), np.zeros(0), {}, {})

    def merge(self, other: Sketch) -> Sketch:
        """The sketch of these rows and of those that follow them."""
        sources = tuple(dict.fromkeys([*self.sources, *other.sources]))
        mine, theirs = self._for(sources), other._for(sources)
        read = tuple(dict.fromkeys([*self.values, *other.values]))
        return Sketch(
            tuple(dict.fromkeys([*self.names, *other.names])),
            sources,
            mine.n_rows + theirs.n_rows,
            mine.weight + theirs.weight,
            {name: _joined(self.values.get(name, ()), other.values.get(name, ())) for name in read},
            {name: _both(mine.column(name), theirs.column(name)) for name in read},
        )

    def missing_shares(self, names: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
        """Share missing by source and column."""
        total = np.where(self.weight > 0, self.weight, 1.0)
        return FrozenMap(
            {
                source: FrozenMap({n: float(self.column(n).missing[f] / total[f]) for n in names})
                for f, source in enumerate(self.sources)
            }
        )

    def missing_share(self, name: str) -> float:
        """Share missing of a column over all sources."""
        total = float(self.weight.sum())
        return float(self.column(name).missing.sum()) / total if total > 0 else 0.0

    def span(self, name: str) -> tuple[float, float] | None:
        """The smallest and the largest number of a column; None if it has none."""
        seen = self.column(name)
        if np.isnan(seen.low).all():
            return None
        return float(np.nanmin(seen.low)), float(np.nanmax(seen.high))

    def column(self, name: str) -> Seen:
        return self.seen.get(name) or _never_seen(self.weight)

    def _for(self, sources: tuple[str, ...]) -> Sketch:
        """The same with these sources, those that have no row here included."""
        if sources == self.sources:
            return self
        place = {source: f for f, source in enumerate(self.sources)}
        at = np.array([place.get(source, len(place)) for source in sources])
        return replace(
            self,
            sources=sources,
            n_rows=np.append(self.n_rows, 0)[at],
            weight=np.append(self.weight, 0.0)[at],
            seen={
                name: Seen(
                    np.append(one.n_known, 0)[at],
                    np.append(one.missing, 0.0)[at],
                    np.append(one.low, np.nan)[at],
                    np.append(one.high, np.nan)[at],
                    np.append(one.value, np.array([None]))[at],
                )
                for name, one in self.seen.items()
            },
        )


def sketch_of(part: Part, request: ReadRequest) -> Sketch:
    """The sketch of a part."""
    names = (*part.names, request.source) if request.source else part.names
    rows = with_sources([part], names, request)
    sources = (ALL,) if rows.variable is None else rows.variable.discrete_states
    codes = np.zeros(part.n_rows, np.int64) if rows.codes is None else rows.codes.astype(np.int64)
    weights = np.ones(part.n_rows)
    if request.weight is not None:
        weights = weights_of(request.weight, rows, part.names).astype(np.float64)
    wanted = request.wanted
    read = [
        name
        for name in part.names
        if (wanted is None or name in wanted)
        and name not in request.drop
        and name not in (rows.name, request.weight)
    ]
    by_source = _BySource(codes, len(sources), weights)
    values, seen = {}, {}
    for name in read:
        values[name], seen[name] = _column(name, rows, request, by_source)
    n_rows = np.bincount(codes, minlength=len(sources)).astype(np.int64)
    total = by_source.weigh(np.ones(part.n_rows, np.bool_))
    return Sketch(part.names, sources, n_rows, total, values, seen)


def schema_of(sketch: Sketch, request: ReadRequest) -> tuple[Schema, dict[str, str]]:
    """The variables of rows with this sketch, and why each is what it is."""
    has_source = request.source is not None or sketch.sources not in ((), (ALL,))
    source = request.source_name if has_source else None
    variables, origins = {}, {}
    for name in request.variables(sketch.names, source):
        fragments = [
            Fragment(one.piece, len(one.piece.coded().codes), Place(name))
            for one in sketch.values.get(name, ())
        ]
        if not fragments:
            fragments = [Fragment(None, 0, Place(name))]
        variables[name], _, origins[name] = column_of(name, fragments, request)
        if not variables[name].is_continuous and variables[name].cuts is None:
            _check_all_kept(name, sketch.values.get(name, ()), request)
    if source is None:
        return Schema(variables), origins
    known = tuple(dict.fromkeys([*request.known_sources, *sketch.sources]))
    return Schema(variables, Variable(source, known)), origins


@dataclass(frozen=True, slots=True, eq=False)
class _BySource:
    """The source and the weight of each row."""

    codes: Integers
    n_sources: int
    weights: Floats

    def count(self, rows: npt.NDArray[np.bool_]) -> Integers:
        """Number of the rows that are marked."""
        return np.bincount(self.codes[rows], minlength=self.n_sources).astype(np.int64)

    def weigh(self, rows: npt.NDArray[np.bool_]) -> Floats:
        """Weight of the rows that are marked."""
        found = np.bincount(self.codes[rows], self.weights[rows], minlength=self.n_sources)
        return found.astype(np.float64)

    def bounds(self, values: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest number, NaN where there is none; missing ones have no say."""
        if self.n_sources == 1 and len(values):
            return np.fmin.reduce(values, keepdims=True), np.fmax.reduce(values, keepdims=True)
        low, high = np.full((2, self.n_sources), np.nan)
        np.fmin.at(low, self.codes, values)
        np.fmax.at(high, self.codes, values)
        return low, high


def _column(
    name: str, rows: Sourced, request: ReadRequest, by_source: _BySource
) -> tuple[tuple[Values, ...], Seen]:
    (fragment,) = rows.fragments(name)
    piece = fragment.piece
    if piece is None:
        return (), _never_seen(by_source.weigh(np.ones(fragment.n_rows, np.bool_)))
    _check_declared(name, fragment, request)
    if isinstance(piece, Numbers):
        seen = _numbers_by_source(floats([fragment]), by_source)
    else:
        seen = _texts_by_source(piece, by_source)
    return (_few(piece, keeps_all=name in request.discrete or name in request.states),), seen


def _check_declared(name: str, fragment: Fragment, request: ReadRequest) -> None:
    """Refuse values that are not what was declared, where their row is known."""
    if request.schema is not None and name in request.schema.variables:
        code_as(request.schema[name], [fragment], known_from="in the schema")
    elif name in request.states:
        variable = Variable(name, request.states[name])
        code_as(variable, [fragment], known_from="among those declared")
    elif name in request.continuous:
        floats([fragment])


def _numbers_by_source(values: Floats, by_source: _BySource) -> Seen:
    is_missing = np.isnan(values)
    low, high = by_source.bounds(np.where(by_source.weights > 0, values, np.nan))
    least, most = (low, high) if by_source.weights.all() else by_source.bounds(values)
    n_known = by_source.count(~is_missing)
    constants = [label(x) if x == y else VARIED for x, y in zip(least, most, strict=True)]
    return Seen(n_known, by_source.weigh(is_missing), low, high, _one_value(n_known, constants))


def _texts_by_source(piece: Coded, by_source: _BySource) -> Seen:
    n_texts = len(piece.texts)
    cells = by_source.codes * (n_texts + 1) + piece.codes
    table = np.bincount(cells + 1, minlength=by_source.n_sources * (n_texts + 1))
    table = table.reshape(by_source.n_sources, n_texts + 1)
    is_missing = piece.codes < 0
    written = labels(piece.texts.to_pylist())
    n_known = table[:, 1:].sum(axis=1).astype(np.int64)
    is_one = (table[:, 1:] > 0).sum(axis=1) == 1
    most = table[:, 1:].argmax(axis=1) if n_texts else np.zeros(len(table), int)
    constants = [written[k] if one else VARIED for k, one in zip(most, is_one, strict=True)]
    low, high = np.full((2, by_source.n_sources), np.nan)
    if n_texts and piece.kind == "text" and piece.is_plain():
        used = np.where(by_source.weights > 0, piece.floats(), np.nan)
        low, high = by_source.bounds(used)
    return Seen(n_known, by_source.weigh(is_missing), low, high, _one_value(n_known, constants))


def _one_value(n_known: Integers, constants: Sequence[Any]) -> npt.NDArray[Any]:
    value = np.empty(len(n_known), object)
    value[:] = [c if n else None for c, n in zip(constants, n_known, strict=True)]
    return value


def _never_seen(weight: Floats) -> Seen:
    none = np.full(len(weight), np.nan)
    return Seen(
        np.zeros(len(weight), np.int64), weight, none, none, np.full(len(weight), None, object)
    )


def _both(mine: Seen, theirs: Seen) -> Seen:
    is_none, is_other = mine.value == None, theirs.value == None  # noqa: E711 - element by element
    is_same = mine.value == theirs.value
    value = np.where(is_none, theirs.value, np.where(is_other | is_same, mine.value, VARIED))
    return Seen(
        mine.n_known + theirs.n_known,
        mine.missing + theirs.missing,
        np.fmin(mine.low, theirs.low),
        np.fmax(mine.high, theirs.high),
        value,
    )


def _few(piece: Piece, *, keeps_all: bool, is_cut: bool = False) -> Values:
    """The piece with each value once; of many numbers that nobody declared to be states, some."""
    if isinstance(piece, Coded):
        texts = piece.texts
        is_many = piece.kind == "text" and not keeps_all and len(texts) > MOST_NUMBERS
        if is_many and piece.is_plain():
            texts, is_cut = texts[:MOST_NUMBERS], True
        codes = np.arange(len(texts), dtype=code_type(len(texts)))
        return Values(Coded(codes, texts, piece.kind, piece.ordered), keeps_all, is_cut)
    values = pa.array(piece.values, mask=piece.missing).unique().drop_null()
    if not keeps_all and len(values) > MOST_NUMBERS:
        values, is_cut = values[:MOST_NUMBERS], True
    kept = values.to_numpy(zero_copy_only=False)
    return Values(Numbers(kept, np.zeros(len(kept), np.bool_)), keeps_all, is_cut)


def _joined(mine: tuple[Values, ...], theirs: tuple[Values, ...]) -> tuple[Values, ...]:
    found = list(mine)
    for one in theirs:
        merged = _merged(found[-1], one) if found else None
        if merged is None:
            found.append(one)
        else:
            found[-1] = merged
    return tuple(found)


def _merged(mine: Values, theirs: Values) -> Values | None:
    """The values of both as one piece, or None if they are of different types."""
    a, b = mine.piece, theirs.piece
    is_cut, keeps_all = mine.is_cut or theirs.is_cut, mine.keeps_all
    if isinstance(a, Numbers) and isinstance(b, Numbers) and a.values.dtype == b.values.dtype:
        if mine.is_cut:
            return mine
        both = Numbers(np.concatenate([a.values, b.values]), np.append(a.missing, b.missing))
        return _few(both, keeps_all=keeps_all, is_cut=is_cut)
    if isinstance(a, Coded) and isinstance(b, Coded) and (a.kind, a.ordered) == (b.kind, b.ordered):
        if a.texts.equals(b.texts) or (mine.is_cut and b.is_plain()):
            return Values(a, keeps_all, is_cut)
        if not a.ordered:
            texts = pa.concat_arrays([a.texts, b.texts]).unique()
            whole = Coded(np.zeros(0, np.int8), texts, a.kind, a.ordered)
            return _few(whole, keeps_all=keeps_all, is_cut=is_cut)
    return None


def _check_all_kept(name: str, values: Sequence[Values], request: ReadRequest) -> None:
    n_texts = max((len(one.piece.coded().texts) for one in values), default=0)
    if n_texts > MOST_TEXTS:
        raise DataError(
            f"column {name!r} has more than {MOST_TEXTS:,} different values. Leave it out with "
            f"{_check.argument('drop', [name])}.",
            column=name,
        )
    is_cut = any(one.is_cut for one in values)
    if is_cut and name not in request.states and request.schema is None:
        words = [
            text
            for one in values
            if isinstance(one.piece, Coded) and not one.piece.is_plain()
            for text in one.piece.texts.to_pylist()
            if not is_plain_number(text)
        ]
        raise DataError(
            f"column {name!r} holds numbers, more than {MOST_NUMBERS:,} different ones, and text "
            f"such as {_check.listed(words[:3])}. If that means a missing value, list it in "
            "missing=; otherwise leave the column out with drop=.",
            column=name,
        )
