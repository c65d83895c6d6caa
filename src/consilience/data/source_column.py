"""Which source each row comes from: by the key of its part, or by a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Codes
from consilience.data.coding import Fragment, code_freely
from consilience.data.labels import matcher
from consilience.data.parts import Part
from consilience.data.place import Place
from consilience.data.reading_request import ReadRequest
from consilience.data.table import code_type
from consilience.data.variable import Variable
from consilience.errors import DataError

__all__ = ["Sourced", "with_sources"]


@dataclass(frozen=True, slots=True, eq=False)
class Sourced:
    """The parts with the source of every row; variable and codes are None without sources."""

    parts: Sequence[Part]
    request: ReadRequest
    variable: Variable | None = None
    codes: Codes | None = None

    @property
    def name(self) -> str | None:
        """Name of the source variable, or None."""
        return None if self.variable is None else self.variable.name

    def fragments(self, name: str) -> list[Fragment]:
        """The column of that name in each part."""
        fragments, start = [], 0
        for part in self.parts:
            place = Place(
                name, part.path, self._source_of(part, start), part.first_row, part.row_group
            )
            is_read = name not in self.request.drop
            piece = part.piece(name, self.request.markers_of(name), place) if is_read else None
            fragments.append(Fragment(piece, part.n_rows, place))
            start += part.n_rows
        return fragments

    def _source_of(self, part: Part, start: int) -> Callable[[int], str | None]:
        variable, codes = self.variable, self.codes
        if variable is None or codes is None:
            return lambda _: part.source
        return lambda row: variable.discrete_states[codes[start + row]]


def with_sources(parts: Sequence[Part], names: Sequence[str], request: ReadRequest) -> Sourced:
    """The parts with their sources, from the keys of a dict or from the column requested."""
    bare = Sourced(parts, request)
    name = request.source_name
    if parts[0].source is not None:
        return Sourced(parts, request, *_from_keys(bare, name, request.known_sources))
    if request.source is None and (not request.known_sources or name not in names):
        return bare
    _check.known("column", [name], names)
    fragments = bare.fragments(name)
    _check_recorded(name, fragments)
    variable, codes = code_freely(name, fragments, known=request.known_sources, is_sorted=False)
    return Sourced(parts, request, Variable(name, variable.states), codes)


def _from_keys(bare: Sourced, name: str, known: tuple[str, ...]) -> tuple[Variable, Codes]:
    keys = [str(part.source) for part in bare.parts]
    named = _known_names(keys, known)
    variable = Variable(name, tuple(dict.fromkeys([*known, *named.values()])))
    for key, fragment in zip(keys, bare.fragments(name), strict=True):
        _check_constant(key, fragment)
    codes = [variable.discrete_states.index(named[key]) for key in keys]
    n_rows = [part.n_rows for part in bare.parts]
    return variable, np.repeat(np.array(codes, dtype=code_type(variable.n_states)), n_rows)


def _known_names(keys: Sequence[str], known: tuple[str, ...]) -> dict[str, str]:
    """For each key the known source that it stands for, or itself."""
    position = matcher(known)
    named: dict[str, str] = {}
    for key in dict.fromkeys(keys):
        code = position(key)
        name = key if code is None else known[code]
        if name in named.values():
            raise DataError(f"two sources are named {name!r}.", source=name)
        named[key] = name
    return named


def _check_constant(key: str, fragment: Fragment) -> None:
    """A column that has the name of the source may only repeat the key of its part."""
    if fragment.piece is None:
        return
    piece = fragment.piece.coded()
    texts, position = piece.texts.to_pylist(), matcher([key])
    is_other = np.array([*(position(text) is None for text in texts), True])
    rows = np.flatnonzero(is_other[piece.codes])
    if rows.size:
        code = piece.codes[rows[0]]
        found = "nothing" if code < 0 else repr(texts[code])
        raise fragment.place.error(
            int(rows[0]),
            f"the source is {key!r}, but the column of the same name says {found}. Rename the "
            "column, or choose another name for the source with source=.",
        )


def _check_recorded(name: str, fragments: Sequence[Fragment]) -> None:
    for fragment in fragments:
        place = fragment.place
        if fragment.piece is None:
            raise DataError(
                f"file {place.path!r} has no column {name!r}, which names the source of each row.",
                file=place.path,
                column=name,
            )
        rows = np.flatnonzero(fragment.piece.coded().codes < 0)
        if rows.size:
            raise place.error(int(rows[0]), "the row has no source.")
