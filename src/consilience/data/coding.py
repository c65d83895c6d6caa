"""From the pieces of one column to a variable and its codes: its kind and its states.

The rule for the kind, applied to the values of all sources together, the first that fits:

1. what the user declared;
2. categories and booleans: discrete;
3. no value at all: continuous, since nothing names a state;
4. text that is not all numbers: discrete;
5. numbers with a fraction anywhere, or more than 20 different whole numbers: continuous;
6. at most 20 different whole numbers: discrete.

The rule for the states: those the user declared; else the union over the sources, in the order in
which categories declare them or rows show them. Numbers that nobody declared are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience._typing import Codes, Column, Floats
from consilience.data.discretize import cut
from consilience.data.labels import is_plain_number, labels, matcher
from consilience.data.pieces import Coded, Numbers, Piece
from consilience.data.place import Place
from consilience.data.table import code_type
from consilience.data.variable import Variable
from consilience.errors import DataError

__all__ = [
    "MOST_STATES",
    "Fragment",
    "code_as",
    "code_freely",
    "code_known",
    "floats",
    "is_ordered",
    "kind_of",
]

MOST_STATES = 20
"""Whole numbers are states up to this many different ones."""

UNKNOWN = -2
"""Stands for a text that is none of a variable's states."""


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """One column of one part; the piece is None if the part never recorded it."""

    piece: Piece | None
    n_rows: int
    place: Place


def kind_of(fragments: Sequence[Fragment]) -> tuple[bool, str]:
    """Whether a column that nobody declared is discrete, and why, in words."""
    pieces = [f.piece for f in fragments if f.piece is not None and not f.piece.is_empty]
    declared = [p.kind for p in pieces if isinstance(p, Coded) and p.is_declared]
    if declared:
        return True, declared[0]
    if not pieces:
        return False, "no values"
    if not all(piece.is_plain() for piece in pieces):
        return True, "text"
    if any(piece.has_fraction() for piece in pieces):
        return False, "fractions"
    found = set[float]().union(*(piece.some_numbers(MOST_STATES + 1) for piece in pieces))
    if len(found) > MOST_STATES:
        return False, f">{MOST_STATES} whole numbers"
    return True, f"{len(found)} different whole numbers" if len(found) > 1 else "one whole number"


def code_freely(
    name: str, fragments: Sequence[Fragment], *, known: Sequence[str] = (), is_sorted: bool = True
) -> tuple[Variable, Codes]:
    """A discrete column with the known states and after them those its pieces declare or show."""
    pieces = [None if f.piece is None else f.piece.coded() for f in fragments]
    texts = [[] if piece is None else piece.texts.to_pylist() for piece in pieces]
    written = _written([text for part in texts for text in part], known)
    states = tuple(dict.fromkeys([*known, *written]))
    if not states:
        raise DataError(
            f"column {name!r} has no value that could be a state. Name its states with states=.",
            column=name,
        )
    if "" in states:
        raise DataError(
            f"column {name!r} has the empty text as a value, which cannot be a state. "
            "List it in missing=.",
            column=name,
        )
    is_declared = any(piece is not None and piece.is_declared for piece in pieces)
    if is_sorted and not is_declared and all(map(is_plain_number, states)):
        states = tuple(sorted(states, key=Decimal))
    position = {state: code for code, state in enumerate(states)}
    columns, start = [], 0
    for fragment, piece, part in zip(fragments, pieces, texts, strict=True):
        codes = [position[text] for text in written[start : start + len(part)]]
        columns.append(_recoded(piece, codes, len(states), fragment.n_rows))
        start += len(part)
    return Variable(name, states, ordered=_is_ordered(pieces, states)), _joined(columns)


def _written(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """The states that the texts of a column stand for; a known one keeps its letters."""
    if not known:
        return labels(texts)
    position = matcher(known)
    matched = map(position, texts)
    return [
        state if code is None else known[code]
        for state, code in zip(labels(texts), matched, strict=True)
    ]


def code_as(variable: Variable, fragments: Sequence[Fragment], *, known_from: str) -> Column:
    """The column in the states of a given variable, or the numbers of a continuous one."""
    if variable.is_continuous:
        return floats(fragments)
    return _joined([_matched(variable, fragment, known_from) for fragment in fragments])


def code_known(
    variable: Variable, fragment: Fragment, *, stand_in: int = -1
) -> tuple[Codes, dict[str, int]]:
    """Codes in a variable's states, ``stand_in`` for other values, and their numbers of rows."""
    if fragment.piece is None or _is_cut(variable, fragment.piece):
        return _without_states(variable, fragment), {}
    piece = fragment.piece.coded()
    codes = _codes_in(variable, piece)
    n_rows = np.bincount(piece.codes[piece.codes >= 0], minlength=len(codes)).tolist()
    texts = piece.texts.to_pylist()
    unseen = {texts[k]: n_rows[k] for k, code in enumerate(codes) if code == UNKNOWN and n_rows[k]}
    known = [stand_in if code == UNKNOWN else code for code in codes]
    return _recoded(piece, known, variable.n_states, fragment.n_rows), unseen


def floats(fragments: Sequence[Fragment]) -> Floats:
    """The column as finite numbers, NaN where missing."""
    return np.concatenate([_finite(fragment) for fragment in fragments])


def is_ordered(fragments: Sequence[Fragment], states: tuple[str, ...]) -> bool:
    """Whether every part holds ordered categories whose order is that of the states."""
    return _is_ordered([None if f.piece is None else f.piece.coded() for f in fragments], states)


def _is_ordered(pieces: Sequence[Coded | None], states: tuple[str, ...]) -> bool:
    held = [piece for piece in pieces if piece is not None and not piece.is_empty]
    position = {state: code for code, state in enumerate(states)}
    for piece in held:
        codes = [position.get(text, -1) for text in labels(piece.texts.to_pylist())]
        if not piece.ordered or codes != sorted(codes):
            return False
    return bool(held)


def _finite(fragment: Fragment) -> Floats:
    piece, place = fragment.piece, fragment.place
    if piece is None:
        return np.full(fragment.n_rows, np.nan)
    misfit = piece.misfit()
    if misfit is not None:
        row, text = misfit
        raise place.error(row, f"{text!r} is not a number.", value=text)
    values = piece.floats()
    bad = np.flatnonzero(np.isinf(values))
    if bad.size:
        value = float(values[bad[0]])
        raise place.error(int(bad[0]), f"a number must be finite, got {value}.", value=value)
    return values


def _matched(variable: Variable, fragment: Fragment, known_from: str) -> Codes:
    """Codes by label first, then by number; numbers are cut if the variable has cut points."""
    if fragment.piece is None or _is_cut(variable, fragment.piece):
        return _without_states(variable, fragment)
    piece = fragment.piece.coded()
    codes = _codes_in(variable, piece)
    _check_known(variable, fragment, piece, codes, known_from=known_from)
    return _recoded(piece, codes, variable.n_states, fragment.n_rows)


def _is_cut(variable: Variable, piece: Piece) -> bool:
    return variable.cuts is not None and isinstance(piece, Numbers)


def _without_states(variable: Variable, fragment: Fragment) -> Codes:
    """Codes of a column that was never recorded, or of numbers to be cut."""
    if fragment.piece is None or variable.cuts is None:
        return _recoded(None, [], variable.n_states, fragment.n_rows)
    return cut(_finite(fragment), variable.cuts)


def _codes_in(variable: Variable, piece: Coded) -> list[int]:
    """For each text of a piece its code among the variable's states, or ``UNKNOWN``."""
    position = matcher(variable.discrete_states, variable.cuts)
    found = map(position, piece.texts.to_pylist())
    return [UNKNOWN if code is None else code for code in found]


def _check_known(
    variable: Variable, fragment: Fragment, piece: Coded, codes: list[int], *, known_from: str
) -> None:
    unknown = [k for k, code in enumerate(codes) if code == UNKNOWN]
    if not unknown:
        return
    rows = np.flatnonzero(np.isin(piece.codes, unknown))
    if rows.size:
        text = piece.texts[piece.codes[rows[0]]].as_py()
        raise fragment.place.error(
            int(rows[0]),
            f"the state {text!r} is not {known_from}. {variable.accepted(text)}",
            state=text,
        )


def _recoded(piece: Coded | None, codes: list[int], n_states: int, n_rows: int) -> Codes:
    """The piece's rows with each of its codes replaced; missing stays -1."""
    dtype = code_type(n_states)
    if piece is None:
        return np.full(n_rows, -1, dtype=dtype)
    if codes == list(range(len(codes))):
        return piece.codes.astype(dtype)
    return np.array([*codes, -1], dtype=dtype)[piece.codes]


def _joined(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)
