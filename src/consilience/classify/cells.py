"""Cells of a cross-evaluation: what one contestant made of one split, and a file that keeps them.

The file has one JSON object a line, the first of them a heading. A cell is filed under a digest of
all that it depends on: the rows, the split, the graph or the function that learns it, the
estimator, the settings and the version of the library. What was computed from anything else is
another cell, so a file can be used again after any change, and never mixes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from consilience import __version__, _freeze, _write
from consilience._typing import Column
from consilience.classify.evaluation import CalibrationCurve
from consilience.data.table import Table
from consilience.errors import FormatError, InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network

__all__ = [
    "Cell",
    "CellFile",
    "Part",
    "arrays_digest",
    "digest",
    "identity_of",
    "table_digest",
]

HEADING = {"consilience": "cross-evaluation", "format": 2}

PLAIN = (bool, int, float, complex, str, bytes)
DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
SPOKEN = ("__call__", "__getattr__", "__getitem__", "__post_init__")
"""Methods with underscores that say what an object does once it is made."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Measures of the test rows of one source, or of all if ``source`` is None.

    What is undefined (the precision where nothing was predicted positive) is not in ``measures``.
    The calibration curve may be left out.
    """

    source: str | None
    n_rows: float
    measures: Mapping[str, float]
    curve: CalibrationCurve | None = None

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
    nodes
        Nodes of the graph in alphabetical order; the class prior has none.
    """

    structure: str
    estimator: str
    split: str
    size: int
    parts: tuple[Part, ...]
    curve: CalibrationCurve
    seconds: float
    nodes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data; an infinite number is text."""
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
                    "curve": None if part.curve is None else _columns(part.curve),
                }
                for part in self.parts
            ],
            "curve": _columns(self.curve),
            "seconds": self.seconds,
            "nodes": list(self.nodes),
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
                    None if part["curve"] is None else _curve(part["curve"]),
                )
                for part in data["parts"]
            ),
            _curve(data["curve"]),
            data["seconds"],
            tuple(data["nodes"]),
        )


class CellFile:
    """Finished cells by their digest; with a path, also in a file that only grows."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._cells = {} if path is None or not path.exists() else _read(path)

    @property
    def is_kept(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def find(self, key: str) -> Cell | None:
        """The cell of that digest, if it is finished."""
        return self._cells.get(key)

    def add(self, key: str, cell: Cell) -> None:
        """Keep a cell; it is on disk when this returns."""
        self._cells[key] = cell
        if self._path is None:
            return
        is_new = not self._path.exists() or self._path.stat().st_size == 0
        with _write.told(self._path), self._path.open("a", encoding="utf-8") as file:
            if is_new:
                file.write(_line(HEADING))
            file.write(_line({"key": key, **cell.to_json()}))


def digest(**parts: Any) -> str:
    """A digest of plain data by name."""
    text = json.dumps({"version": __version__, **parts}, sort_keys=True)
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


def identity_of(choice: Any, what: str = "choice") -> Any:
    """A choice, a graph or a function as plain data, by content.

    A function is known by its name, its code, its defaults, the values it encloses and the global
    values it names, other functions among them; what is installed is known by its name and version.
    What has no content that can be read is refused; ``what`` names the culprit.
    """
    return _Identity(what).of(choice)


class _Identity:
    """One walk through a choice and all that it refers to."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._met: dict[int, tuple[int, Any]] = {}  # keeps what it met, so that ids stay unique

    def of(self, value: Any) -> Any:
        if value is None or value is Ellipsis or isinstance(value, PLAIN):
            return [type(value).__name__, repr(value)]
        if id(value) in self._met:
            return ["met", self._met[id(value)][0]]
        self._met[id(value)] = (len(self._met), value)
        for read in (self._of_data, self._of_container, self._of_code, self._of_object):
            found = read(value)
            if found is not None:
                return found
        raise InputError(
            f"resume: the {self._what} depends on {value!r}, whose content cannot be compared with "
            "that of an earlier run. Let it depend on numbers, text, arrays, tables, graphs and "
            "functions of these only, or leave resume out.",
            parameter="resume",
        )

    def _of_data(self, value: Any) -> Any:
        if isinstance(value, DAG):
            return ["DAG", list(value.nodes), [list(arc) for arc in value.arcs]]
        if isinstance(value, Table):
            return ["Table", table_digest(value)]
        if isinstance(value, Network):
            return ["Network", value.source, self.of(value.distributions)]
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return ["array", list(value.shape), [self.of(each) for each in value.ravel().tolist()]]
        if isinstance(value, np.ndarray | np.generic):
            return ["array", arrays_digest(np.asarray(value))]
        return None

    def _of_container(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [type(value).__name__, [self.of(each) for each in value]]
        if isinstance(value, set | frozenset):
            return ["set", sorted(json.dumps(self.of(each)) for each in value)]
        if isinstance(value, dict | _freeze.FrozenMap | MappingProxyType):
            return ["mapping", [[self.of(key), self.of(each)] for key, each in value.items()]]
        return None

    def _of_code(self, value: Any) -> Any:
        """Functions, methods, classes and modules."""
        if isinstance(value, partial):
            return ["partial", self.of(value.func), self.of(value.args), self.of(value.keywords)]
        if isinstance(value, MethodType):
            return ["method", self.of(value.__self__), self.of(value.__func__)]
        if isinstance(value, property):
            return ["property", self.of(value.fget)]
        if isinstance(value, ModuleType):
            return ["module", value.__name__, _version_of(value.__name__)]
        if isinstance(value, FunctionType):
            return self._of_function(value)
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, CodeType):
            return [value.co_code.hex(), list(value.co_names), self.of(value.co_consts)]
        if hasattr(value, "__wrapped__"):
            return ["wrapped", self.of(value.__wrapped__)]
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if isinstance(value, BuiltinFunctionType | np.ufunc) and name is not None:
            return ["built in", module, name, _version_of(module or "builtins")]
        return None

    def _of_function(self, function: FunctionType) -> Any:
        name = [function.__module__, function.__qualname__, _version_of(function.__module__)]
        found = ["function", name, self.of(function.__code__)]
        found += [self.of(function.__defaults__), self.of(function.__kwdefaults__)]
        found.append([self.of(_content(cell)) for cell in function.__closure__ or ()])
        if not _is_installed(function.__module__):
            named = _globals_of(function.__code__, function.__globals__)
            found.append([[key, self.of(each)] for key, each in sorted(named.items())])
        return found

    def _of_class(self, kind: type) -> Any:
        name = ["class", kind.__module__, kind.__qualname__, _version_of(kind.__module__)]
        if _is_installed(kind.__module__):
            return name
        members = {
            key: self.of(each)
            for key, each in sorted(vars(kind).items())
            if not isinstance(each, DESCRIPTORS)
            and (not key.startswith("__") or (isinstance(each, FunctionType) and key in SPOKEN))
        }
        return [*name, members, [self.of(base) for base in kind.__bases__]]

    def _of_object(self, value: Any) -> Any:
        """A dataclass by its fields, another object of the caller's own by its attributes."""
        kind = type(value)
        if is_dataclass(value):
            names = [field.name for field in fields(value)]
        elif _is_installed(kind.__module__):
            return None
        else:
            slots = [name for each in kind.__mro__ for name in vars(each).get("__slots__", ())]
            names = [*slots, *getattr(value, "__dict__", ())]
        held = [[name, self.of(getattr(value, name))] for name in names if hasattr(value, name)]
        return ["object", self.of(kind), held]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was assigned yet
        return None


def _globals_of(code: CodeType, known: Mapping[str, Any]) -> dict[str, Any]:
    """The global values that code may name, inner functions included; of own modules what is taken.

    A name of the code may be that of an attribute; a global of the same name is then taken too,
    which can cost a cell that is computed again and nothing else.
    """
    names = _names_in(code)
    found = {name: known[name] for name in names if name in known}
    modules = {path: value for path, value in found.items() if _is_own_module(value)}
    while modules:
        taken = {
            f"{path}.{name}": vars(module)[name]
            for path, module in modules.items()
            for name in names
            if name in vars(module)
        }
        modules = {path: value for path, value in taken.items() if _is_own_module(value)}
        modules = {path: value for path, value in modules.items() if value not in found.values()}
        found |= taken
    return found


def _names_in(code: CodeType) -> list[str]:
    """The names of globals and attributes in code and in the functions inside it."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return sorted({*code.co_names, *(name for each in inner for name in _names_in(each))})


def _is_own_module(value: object) -> bool:
    return isinstance(value, ModuleType) and not _is_installed(value.__name__)


def _is_installed(module: str | None) -> bool:
    """Whether a module comes with Python or with a package, and so changes with a version only."""
    top = (module or "builtins").partition(".")[0]
    if top in sys.stdlib_module_names or top == "consilience":
        return True
    path = getattr(sys.modules.get(top), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(path).parts)


def _version_of(module: str) -> str:
    top = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", "")) if _is_installed(module) else ""


def _columns(curve: CalibrationCurve) -> list[list[float]]:
    return [column.tolist() for column in (curve.predicted, curve.observed, curve.n_rows)]


def _curve(columns: list[list[float]]) -> CalibrationCurve:
    return CalibrationCurve(*(np.array(column, np.float64) for column in columns))


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
            f"{str(path)!r} is no file of a cross-evaluation of this version; it was left as it "
            "is. Use another file, or one that does not exist.",
            line=1,
        )
