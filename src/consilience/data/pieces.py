"""Columns on their way in: one column of one part, coded by its texts or as numbers.

Whatever a part is made of (Arrow, pandas, numpy, lists), each of its columns becomes one of two
pieces, and all that follows works on those: :class:`Coded` for text, categories and booleans,
:class:`Numbers` for numbers. What counts as missing is settled here: null, NaN, and the texts
listed as missing unless they are declared states, nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from consilience._typing import Floats
from consilience.data.labels import PLAIN_NUMBER, is_null, is_plain_number, label
from consilience.data.place import Place
from consilience.kernels.compile import IS_COMPILED

__all__ = [
    "USUAL_MARKERS",
    "Coded",
    "Markers",
    "Numbers",
    "Piece",
    "from_arrow",
    "from_values",
    "is_declared_dictionary",
    "is_text",
]

USUAL_MARKERS = ("", "?")

_ANY_NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_SCALARS = (str, bool, int, float, Decimal, np.bool_, np.integer, np.floating)
_LARGEST_INT = 2**63 - 1
_FEW = 500  # texts; for these a loop in Python is faster than starting one in Arrow
_WORTH_COMPILING = 20_000  # rows from which the compiled loop is faster than Arrow's
_WORTH_LOADING = 500_000  # rows from which that pays for loading the compiler, most of a second


@dataclass(frozen=True, slots=True)
class Markers:
    """The texts that stand for a missing value; one that is a number marks equal numbers.

    A text that the user declared to be a state of a column is one, and no marker. The type of a
    column declares nothing of the kind: a marker means the same in text and among categories. The
    empty text cannot be a state.
    """

    texts: frozenset[str]
    numbers: frozenset[float]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Markers:
        """The markers that these values stand for."""
        texts = frozenset(label(value) for value in values if not is_null(value))
        numbers = frozenset(float(text) for text in texts if is_plain_number(text))
        return cls(texts, numbers)

    def without(self, states: Iterable[str]) -> Markers:
        """The markers of a column whose states are declared."""
        known = {text for text in states if text}
        numbers = {float(text) for text in known if is_plain_number(text)}
        texts = frozenset(
            text
            for text in self.texts - known
            if not (is_plain_number(text) and float(text) in numbers)
        )
        return Markers(texts, self.numbers - numbers)

    def match(self, text: str) -> bool:
        """Whether a text stands for a missing value."""
        if text in self.texts:
            return True
        return bool(self.numbers) and is_plain_number(text) and float(text) in self.numbers


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column by its different values.

    Parameters
    ----------
    codes
        For each row the position of its text, -1 if missing.
    texts
        The different texts as an Arrow array: all that were declared, or those seen in the order of
        first sight.
    kind
        ``"text"``, or ``"categories"`` and ``"booleans"``, whose type declares the states.
    ordered
        Whether the order of declared categories means something.
    """

    codes: npt.NDArray[Any]
    texts: Any
    kind: str = "text"
    ordered: bool = False

    @property
    def is_declared(self) -> bool:
        """Whether the type of the column declares its states."""
        return self.kind != "text"

    @property
    def is_empty(self) -> bool:
        """Whether there is no state, neither seen nor declared."""
        return len(self.texts) == 0

    def is_plain(self) -> bool:
        """Whether every text is a plain decimal number."""
        if len(self.texts) <= _FEW:
            return all(map(is_plain_number, self.texts.to_pylist()))
        return bool(np.all(_matches(self.texts, PLAIN_NUMBER)))

    def coded(self) -> Coded:
        """The piece itself."""
        return self

    def floats(self) -> Floats:
        """The numbers that the texts stand for, NaN where missing; :meth:`misfit` must be None."""
        texts = pc.utf8_trim_whitespace(self.texts)
        if not self.is_plain():  # a category that no row has need not be a number
            texts = pc.if_else(pa.array(_matches(texts, _ANY_NUMBER)), texts, None)
        numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.append(numbers, np.nan)[self.codes]

    def whole(self) -> npt.NDArray[np.int64] | None:
        """The numbers exactly, 0 where missing, or None if one is no whole number of 63 bits."""
        numbers = np.zeros(len(self.texts) + 1, np.int64)
        for k in np.unique(self.codes[self.codes >= 0]):
            exact = Decimal(self.texts[k].as_py().strip())
            if abs(exact) > _LARGEST_INT or exact != int(exact):
                return None
            numbers[k] = int(exact)
        return numbers[self.codes]

    def misfit(self) -> tuple[int, str] | None:
        """First row whose text is not a number, and that text."""
        if self.is_plain():
            return None
        is_bad = ~_matches(pc.utf8_trim_whitespace(self.texts), _ANY_NUMBER)
        rows = np.flatnonzero(np.append(is_bad, False)[self.codes])
        return (int(rows[0]), self.texts[self.codes[rows[0]]].as_py()) if rows.size else None

    def has_fraction(self) -> bool:
        """Whether some text, all being plain numbers, is not a finite whole number."""
        return _has_fraction(self.texts.cast(pa.float64()).to_numpy())

    def some_numbers(self, enough: int) -> set[float]:
        """The different numbers among the texts, at least ``enough`` of them if there are."""
        return set(self.texts.cast(pa.float64()).to_pylist())


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column of numbers, and which of them are missing and mean nothing."""

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_]

    is_declared = False

    @property
    def is_empty(self) -> bool:
        """Whether every value is missing."""
        return bool(self.missing.all())

    def is_plain(self) -> bool:
        """Numbers are numbers."""
        return True

    def coded(self) -> Coded:
        """The same column by its different values, in the order of first sight."""
        encoded = pa.array(self.values, mask=self.missing).dictionary_encode()
        texts = [label(value) for value in encoded.dictionary.to_numpy(zero_copy_only=False)]
        return Coded(_indices(encoded), pa.array(texts, pa.large_string()))

    def floats(self) -> Floats:
        """The values as float64, NaN where missing."""
        floats = self.values.astype(np.float64)
        floats[self.missing] = np.nan
        return floats

    def whole(self) -> npt.NDArray[np.int64] | None:
        """The numbers exactly, 0 where missing, or None if one is no whole number of 63 bits."""
        values = np.where(self.missing, 0, self.values)
        if len(values) and not np.abs(values.astype(np.float64)).max() < _LARGEST_INT:
            return None
        return None if _has_fraction(values) else values.astype(np.int64)

    def misfit(self) -> tuple[int, str] | None:
        """None: every value is a number."""
        return None

    def has_fraction(self) -> bool:
        """Whether some value is not a finite whole number."""
        if not np.issubdtype(self.values.dtype, np.floating):
            return False
        return _has_fraction(self.values[~self.missing] if self.missing.any() else self.values)

    def some_numbers(self, enough: int) -> set[float]:
        """The different values, at least ``enough`` of them if there are."""
        for n_rows in (4096, len(self.values)):
            head = pa.array(self.values[:n_rows], mask=self.missing[:n_rows])
            found = head.unique().drop_null().to_pylist()
            if len(found) >= enough:
                break
        return set(map(float, found))


Piece: TypeAlias = Coded | Numbers


def from_arrow(column: Any, markers: Markers, place: Place, *, is_declared: bool) -> Piece:
    """The piece of an Arrow column; an undeclared dictionary is text that came coded."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_binary(kind.value_type) or pa.types.is_large_binary(kind.value_type):
            raise place.unusable(str(kind.value_type))
        codes, values = _dictionary(column)
        if is_declared:
            return _declared(codes, values.to_pylist(), markers, ordered=bool(kind.ordered))
        return _seen(codes, values.cast(pa.large_string()), markers)
    if is_text(kind):
        return _without_markers(*_encode(_one_array(column.cast(pa.large_string()))), markers)
    if pa.types.is_boolean(kind):
        codes = _one_array(column.cast(pa.int8())).fill_null(-1).to_numpy()
        return _without_markers(codes, _texts(["False", "True"]), markers, kind="booleans")
    if pa.types.is_null(kind):
        return Numbers(np.zeros(len(column)), np.ones(len(column), dtype=np.bool_))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(_one_array(_plain_width(column)), markers)
    raise place.unusable(str(kind))


def from_values(values: Any, markers: Markers, place: Place) -> Piece:
    """The piece of a series (pandas, polars), an array (numpy, Arrow) or a list of scalars."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return from_arrow(values, markers, place, is_declared=pa.types.is_dictionary(values.type))
    category = _pandas_categorical(values)
    if category is not None:
        codes = np.array(category.codes)
        return _declared(codes, list(category.categories), markers, ordered=category.ordered)
    if type(values).__module__.startswith("polars"):
        table = pa.RecordBatchReader.from_stream(values.to_frame()).read_all()
        declared = is_declared_dictionary(table.schema.field(0))
        return from_arrow(table.column(0), markers, place, is_declared=declared)
    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return _mixed(values, markers, place)
    return from_arrow(column, markers, place, is_declared=pa.types.is_dictionary(column.type))


def is_declared_dictionary(field: Any) -> bool:
    """Whether a dictionary's values were declared; those of polars' Categorical were only seen."""
    is_seen_only = any(key.startswith(b"_PL_CATEGORICAL") for key in field.metadata or ())
    return bool(pa.types.is_dictionary(field.type)) and not is_seen_only


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of its three kinds of text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _pandas_categorical(values: Any) -> Any | None:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    array = values.array if isinstance(values, pandas.Series | pandas.Index) else values
    return array if isinstance(array, pandas.Categorical) else None


def _declared(
    codes: npt.NDArray[Any], values: Collection[Any], markers: Markers, *, ordered: bool
) -> Coded:
    texts = [None if is_null(value) else label(value) for value in values]
    return _without_markers(codes, _texts(texts), markers, kind="categories", ordered=ordered)


def _seen(codes: npt.NDArray[Any], texts: Any, markers: Markers) -> Coded:
    order = _first_seen(codes, len(texts))
    if not np.array_equal(order, np.arange(len(texts))):
        position = np.full(len(texts) + 1, -1)
        position[order] = np.arange(len(order))
        codes, texts = position[codes], texts.take(pa.array(order))
    return _without_markers(codes, texts, markers)


def _first_seen(codes: npt.NDArray[Any], n_texts: int) -> npt.NDArray[np.int64]:
    """Codes that occur, by the row of their first occurrence."""
    first = np.full(n_texts + 1, len(codes))
    start, size = 0, 4096
    while start < len(codes) and (first[:-1] == len(codes)).any():
        block = codes[start : start + size]
        found = np.full(n_texts + 1, len(codes))
        found[block[::-1]] = np.arange(start + len(block) - 1, start - 1, -1)
        first = np.minimum(first, found)
        start, size = start + size, 2 * size
    order = np.argsort(first[:-1], kind="stable")
    return order[: int((first[:-1] < len(codes)).sum())]


def _without_markers(
    codes: npt.NDArray[Any],
    texts: Any,
    markers: Markers,
    *,
    kind: str = "text",
    ordered: bool = False,
) -> Coded:
    drop = _is_marked(texts, markers)
    if drop.any():
        position = np.append(np.cumsum(~drop) - 1, -1)
        position[:-1][drop] = -1
        codes, texts = position[codes], texts.filter(pa.array(~drop))
    return Coded(codes, texts, kind, ordered)


def _is_marked(texts: Any, markers: Markers) -> npt.NDArray[np.bool_]:
    if markers.numbers or len(texts) <= _FEW:
        return np.array([t is None or markers.match(t) for t in texts.to_pylist()], dtype=np.bool_)
    listed = pa.array(sorted(markers.texts), pa.large_string())
    marked = pc.or_(pc.is_in(texts, value_set=listed), pc.is_null(texts))
    return np.asarray(marked.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _encode(texts: Any) -> tuple[npt.NDArray[Any], Any]:
    """Codes and different texts in the order of first sight, of one large-string array."""
    enough = _WORTH_COMPILING if "numba" in sys.modules else _WORTH_LOADING
    if IS_COMPILED and len(texts) >= enough and sys.byteorder == "little":
        found = _encode_compiled(texts)
        if found is not None:
            return found
    encoded = texts.dictionary_encode()
    return _indices(encoded), encoded.dictionary


def _encode_compiled(texts: Any) -> tuple[npt.NDArray[Any], Any] | None:
    from consilience.kernels.text import LIMIT, encode_texts

    valid, offsets, data = (np.frombuffer(buffer or b"", np.uint8) for buffer in texts.buffers())
    if len(data) < 8:
        return None
    bounds = offsets.view(np.int64)[texts.offset : texts.offset + len(texts) + 1]
    words = np.ndarray((len(data) - 7,), np.uint64, data, strides=(1,))
    codes = np.empty(len(texts), dtype=np.int16)
    first_rows = np.empty(LIMIT, dtype=np.int64)
    bits = valid if texts.null_count else valid[:0]
    n_texts = encode_texts(bounds, data, words, bits, texts.offset, codes, first_rows)
    return None if n_texts < 0 else (codes, texts.take(pa.array(first_rows[:n_texts])))


def _dictionary(column: Any) -> tuple[npt.NDArray[Any], Any]:
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 0:
            return np.zeros(0, dtype=np.int32), pa.array([], column.type.value_type)
        if column.num_chunks > 1:
            column = column.unify_dictionaries()
        codes = [_indices(chunk) for chunk in column.chunks]
        return np.concatenate(codes), column.chunk(0).dictionary
    return _indices(column), column.dictionary


def _indices(encoded: Any) -> npt.NDArray[Any]:
    indices = encoded.indices
    if not indices.null_count:
        return np.asarray(indices.to_numpy())
    return np.asarray(indices.cast(pa.int64()).fill_null(-1).to_numpy())


def _numbers(column: Any, markers: Markers) -> Numbers:
    missing = np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), np.bool_)
    values = column.fill_null(0).to_numpy() if column.null_count else column.to_numpy()
    if markers.numbers:
        missing = missing | np.isin(values, _in_type(values.dtype, markers.numbers))
    return Numbers(values, missing)


def _in_type(dtype: np.dtype[Any], numbers: Iterable[float]) -> npt.NDArray[Any]:
    """The numbers that a type holds, as that type: 0.1 in 32 bits is 0.1."""
    if np.issubdtype(dtype, np.floating):
        return np.array(list(numbers), dtype)
    bounds = np.iinfo(dtype)
    whole = [int(x) for x in numbers if x.is_integer() and bounds.min <= x <= bounds.max]
    return np.array(whole, dtype)


def _plain_width(column: Any) -> Any:
    if pa.types.is_decimal(column.type):
        try:
            return column.cast(pa.int64())  # refused if a fraction or a digit would be lost
        except pa.ArrowInvalid:
            return column.cast(pa.float64())
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column


def _mixed(values: Any, markers: Markers, place: Place) -> Coded:
    """Python objects of several types, such as ``["1", 1, None]``, by their labels."""
    codes: list[int] = []
    positions: dict[str, int] = {}
    for value in values:
        if is_null(value):
            codes.append(-1)
        elif isinstance(value, _SCALARS):
            codes.append(positions.setdefault(label(value), len(positions)))
        else:
            raise place.unusable(type(value).__name__)
    try:
        texts = _texts(list(positions))
    except UnicodeEncodeError:
        raise place.unusable("text that is not Unicode") from None
    return _without_markers(np.array(codes, dtype=np.int64), texts, markers)


def _has_fraction(values: npt.NDArray[Any]) -> bool:
    return not bool(np.all(np.isfinite(values) & (np.floor(values) == values)))


def _texts(texts: list[Any]) -> Any:
    return pa.array(texts, pa.large_string())


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _matches(texts: Any, pattern: str) -> npt.NDArray[np.bool_]:
    matches = pc.match_substring_regex(texts, f"^({pattern})$")
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=np.bool_)
