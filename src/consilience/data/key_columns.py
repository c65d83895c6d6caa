"""Columns that say which rows belong together and in what order: names, numbers, dates, periods.

They are no variables. Their values become texts: numbers as states are, dates and times as ISO
writes them, periods as pandas does (``1980Q1``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from consilience import _check
from consilience._typing import Integers
from consilience.data.labels import labels
from consilience.data.parts import Part, parts_of
from consilience.data.pieces import Markers
from consilience.data.place import Place
from consilience.errors import DataError

__all__ = ["Keys", "column_names_of", "key_column"]


class Keys(NamedTuple):
    """The distinct texts of a column in order of first sight, and the text of each row."""

    texts: tuple[str, ...]
    codes: Integers


def column_names_of(data: Any) -> tuple[tuple[str, ...], bool]:
    """All columns of the data, and whether the data are a dict with a table for each source."""
    parts = parts_of(data, frozenset())
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    return names, parts[0].source is not None


def key_column(data: Any, name: str, missing: Iterable[Any]) -> Keys:
    """The texts of a column in which every row must have a value.

    Raises
    ------
    UnknownNameError
        If no part of the data has the column.
    DataError
        If a row has no value.
    """
    parts = parts_of(data, {name})
    _check.known("column", [name], {n: None for part in parts for n in part.names})
    texts: list[str] = []
    codes = []
    for part in parts:
        place = Place(name, part.path, _source_of(part))
        piece = _as_text(part, name).piece(name, Markers.of(missing), place)
        if piece is None:
            raise DataError(f"a part of the data has no column {name!r}.", column=name)
        coded = piece.coded()
        lacking = np.flatnonzero(coded.codes < 0)
        if lacking.size:
            raise place.error(int(lacking[0]), "the row has no value, which every row needs here.")
        codes.append(coded.codes.astype(np.int64) + len(texts))
        texts += [str(text) for text in coded.texts.to_pylist()]
    return _by_first_sight(labels(texts), np.concatenate(codes))


def _source_of(part: Part) -> Callable[[int], str | None]:
    return lambda _: part.source


def _as_text(part: Part, name: str) -> Part:
    """The part with dates, times and periods of a column turned into text."""
    if name not in part.columns:
        return part
    values = part.columns[name]
    if str(getattr(values, "dtype", "")).startswith("period"):
        values = values.astype(str)
    if not isinstance(values, pa.ChunkedArray):
        try:
            array = pa.array(values, from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            return part
        kind = array.type
    else:
        array, kind = values, values.type
    if pa.types.is_temporal(kind):
        values = array.cast(pa.string())
    return replace(part, columns={**part.columns, name: values})


def _by_first_sight(texts: list[str], codes: Integers) -> Keys:
    """Equal texts made one; in the order in which the rows show them."""
    place = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    merged = np.array([place[text] for text in texts], np.int64)[codes]
    seen, first = np.unique(merged, return_index=True)
    order = seen[np.argsort(first)]
    rank = np.full(len(place), -1, np.int64)
    rank[order] = np.arange(len(order))
    names = list(place)
    return Keys(tuple(names[k] for k in order), rank[merged])
