"""Cells of a cross-evaluation: what one contestant made of one split, and a file that keeps them.

The file has one JSON object a line, the first of them a heading. A cell is filed under a digest of
all that it depends on: the rows, the split, the graph or the function that learns it, the
estimator, the settings and the version of the library. What was computed from anything else is
another cell, so a file can be used again after any change, and never mixes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Column
from consilience.classify.evaluation import CalibrationCurve
from consilience.data.table import Table
from consilience.errors import FormatError, InputError
from consilience.graph.dag import DAG

__all__ = [
    "Cell",
    "CellFile",
    "Part",
    "arrays_digest",
    "digest",
    "identity_of",
    "table_digest",
]

HEADING = {"consilience": "cross-evaluation", "format": 1}


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Measures of the test rows of one source, or of all if ``source`` is None.

    What is undefined (the precision where nothing was predicted positive) is not in ``measures``.
    """

    source: str | None
    n_rows: float
    measures: Mapping[str, float]

    def __post_init__(self) -> None:
        _freeze.own(self)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """What one contestant, a structure with an estimator, made of one split.

    Parameters
    ----------
    structure, estimator, split
        Their names.
    size
        Number of training rows.
    parts
        Measures of all test rows first, then of each source that has any.
    curve
        Calibration curve of all test rows.
    seconds
        Time to learn and to predict, without the graph.
    """

    structure: str
    estimator: str
    split: str
    size: int
    parts: tuple[Part, ...]
    curve: CalibrationCurve
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data; an infinite number is text."""
        curve = (self.curve.predicted, self.curve.observed, self.curve.n_rows)
        return {
            "structure": self.structure,
            "estimator": self.estimator,
            "split": self.split,
            "size": self.size,
            "parts": [
                {
                    "source": part.source,
                    "n_rows": part.n_rows,
                    "measures": {name: _plain(value) for name, value in part.measures.items()},
                }
                for part in self.parts
            ],
            "curve": [column.tolist() for column in curve],
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cell:
        """The cell that :meth:`to_json` gave."""
        return cls(
            data["structure"],
            data["estimator"],
            data["split"],
            data["size"],
            tuple(
                Part(
                    part["source"],
                    part["n_rows"],
                    {name: float(value) for name, value in part["measures"].items()},
                )
                for part in data["parts"]
            ),
            CalibrationCurve(*(np.array(column, np.float64) for column in data["curve"])),
            data["seconds"],
        )


class CellFile:
    """Finished cells by their digest; with a path, also in a file that only grows."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._cells = {} if path is None or not path.exists() else _read(path)

    def find(self, key: str) -> Cell | None:
        """The cell of that digest, if it is finished."""
        return self._cells.get(key)

    def add(self, key: str, cell: Cell) -> None:
        """Keep a cell; it is on disk when this returns."""
        self._cells[key] = cell
        if self._path is None:
            return
        is_new = not self._path.exists() or self._path.stat().st_size == 0
        with self._path.open("a", encoding="utf-8") as file:
            if is_new:
                file.write(_line(HEADING))
            file.write(_line({"key": key, **cell.to_json()}))


def digest(**parts: Any) -> str:
    """A digest of plain data by name."""
    text = json.dumps({"version": version("consilience"), **parts}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def table_digest(table: Table) -> str:
    """A digest of all that is in a table: variables, states, rows, sources, weights."""
    schema = repr((dict(table.variables), table.schema.source))
    columns = [*table.columns.values(), table.source_codes, table.weights]
    return digest(schema=schema, columns=[arrays_digest(column) for column in columns])


def arrays_digest(*arrays: Column | None) -> str:
    """A digest of arrays, some of which may not be there."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(b"-" if array is None else repr((array.dtype.str, array.shape)).encode())
        found.update(b"" if array is None else array.tobytes())
    return found.hexdigest()


def identity_of(choice: Any) -> Any:
    """A choice, a graph or a function as plain data.

    A function is known by its name, its code, its defaults and the values it encloses; what it
    calls is not looked at.
    """
    if isinstance(choice, DAG):
        return [list(choice.nodes), [list(arc) for arc in choice.arcs]]
    if isinstance(choice, partial):
        return [identity_of(choice.func), repr(choice.args), repr(sorted(choice.keywords.items()))]
    code = getattr(choice, "__code__", None)
    if code is None:
        return repr(choice)
    enclosed = [repr(cell.cell_contents) for cell in choice.__closure__ or ()]
    defaults = repr((choice.__defaults__, choice.__kwdefaults__))
    return [choice.__module__, choice.__qualname__, _code_text(code), defaults, enclosed]


def _code_text(code: CodeType) -> str:
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code.hex(), code.co_names, constants))


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else repr(value)


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, allow_nan=False) + "\n"


def _read(path: Path) -> dict[str, Cell]:
    """The cells of a file; a last line that was cut off is removed from it."""
    if not path.is_file():
        raise InputError(f"resume: {str(path)!r} is not a file.", parameter="resume")
    whole, _, cut_off = path.read_bytes().rpartition(b"\n")
    lines = whole.splitlines()
    if lines or cut_off:
        _check_heading(path, lines[0] if lines else cut_off)
    if cut_off:
        with path.open("r+b") as file:
            file.truncate(len(whole) + 1 if lines else 0)
    cells = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            data = json.loads(line)
            cells[data["key"]] = Cell.from_json(data)
        except (ValueError, KeyError, TypeError) as problem:
            raise FormatError(
                f"{str(path)!r}, line {number}: this is no cell of a cross-evaluation. Remove the "
                "line, or use another file.",
                line=number,
            ) from problem
    return cells


def _check_heading(path: Path, line: bytes) -> None:
    try:
        is_ours = json.loads(line) == HEADING
    except ValueError:
        is_ours = False
    if not is_ours:
        raise FormatError(
            f"{str(path)!r} is no file of a cross-evaluation; it was left as it is. Use another "
            "file, or one that does not exist.",
            line=1,
        )
