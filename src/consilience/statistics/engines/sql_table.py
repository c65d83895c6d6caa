"""The engine next to the data: counts by GROUP BY in a database, from which no row moves.

A family's counts are the numbers of rows of each joint state of its variables,

.. code-block:: sql

    SELECT "smoke", "lung", COUNT(*) FROM "visits" GROUP BY "smoke", "lung"

and many families are one statement where the database knows GROUPING SETS. Names are quoted as
identifiers and never pasted in as they are. Counts of whole numbers are exact, so the scores and
graphs found are those of the rows in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from consilience import _check
from consilience._typing import Integers
from consilience.data.coding import Fragment
from consilience.data.labels import is_null, is_plain_number, label, matcher
from consilience.data.pieces import USUAL_MARKERS, Markers, from_values
from consilience.data.place import Place
from consilience.data.read import column_of
from consilience.data.reading_request import ReadRequest
from consilience.data.text_content import TextForm
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError
from consilience.statistics.counts import Counts, source_axis
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines.ledger import by_total
from consilience.statistics.family import Family
from consilience.statistics.request import Answer, CountRequest, Request
from consilience.statistics.toggles import ToggleRequest

__all__ = ["SqlTable", "sql"]

MOST_VALUES = 1 << 16
"""Different values of a column that are fetched to find its states."""

SETS_A_STATEMENT, COLUMNS_A_STATEMENT = 64, 60  # GROUPING() tells at most 63 columns apart


def sql(
    connection: Any,
    table: str | Sequence[str],
    *,
    source: str | None = None,
    weight: str | None = None,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    states: Mapping[str, Iterable[Any]] | None = None,
    discrete: Iterable[str] = (),
    continuous: Iterable[str] = (),
    missing: Iterable[Any] = USUAL_MARKERS,
    missing_in: Mapping[str, Iterable[Any]] | None = None,
    schema: Schema | Mapping[str, Variable] | None = None,
) -> SqlTable:
    """The engine that counts the rows of a table by SQL, next to the data.

    Counts, and with them scores, searches and the fits of tables, need no rows here: they are made
    by GROUP BY and have the bits of the rows in memory. What needs rows, such as EM and
    regressions, is refused; ``cs.scan(relation)`` streams them.

    Parameters
    ----------
    connection
        A connection of duckdb or of any DB-API 2.0 library whose identifiers are quoted by ``"``.
    table
        Name of a table or view; of one in a schema ``("main", "visits")``.
    source, columns, drop, states, discrete, continuous, missing, missing_in, schema
        See :func:`read`. States that are not declared are sorted, since rows of a database have no
        order.
    weight
        The column that says how many rows each row stands for: whole numbers.

    Examples
    --------
    >>> import sqlite3
    >>> from contextlib import closing
    >>> import consilience as cs
    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     _ = connection.execute("CREATE TABLE visits (smoke TEXT, lung TEXT)")
    ...     rows = [("yes", "yes"), ("yes", "no"), ("no", "no")]
    ...     _ = connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
    ...     visits = cs.engines.sql(connection, "visits")
    ...     (lung,) = cs.count(visits, cs.Family("lung", ("smoke",)))
    ...     lung.given[0].states, lung.table.tolist()
    (('no', 'yes'), [[[1, 0], [1, 1]]])
    """
    request = ReadRequest.of(
        source=source,
        weight=weight,
        columns=columns,
        drop=drop,
        states=states,
        discrete=discrete,
        continuous=continuous,
        missing=missing,
        missing_in=missing_in,
        discretize=None,
        schema=schema,
        partial=False,
        of_source=None,
        form=TextForm(),
    )
    return SqlTable(_Database(connection, table, weight), request)


class SqlTable:
    """Rows of a table in a database, of which statistics are counted there.

    Made by :func:`sql`. It stands in for the rows themselves where a request is worked on.
    """

    def __init__(self, database: _Database, request: ReadRequest) -> None:
        self._database = database
        self._request = request
        self.schema = _schema(database, request)
        self._codes: dict[str, dict[Any, int]] = {}
        self._rows: Integers | None = None

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name to :class:`Variable`; the source is not one of them."""
        return self.schema.variables

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources; empty if the rows have none."""
        return () if self.schema.source is None else self.schema.source.discrete_states

    @property
    def n_rows(self) -> int:
        """Number of rows, by their weights."""
        return int(self._by_source().sum())

    @property
    def table(self) -> NoReturn:
        """Refused: the rows stay in the database."""
        _refuse_rows()

    def to_table(self) -> NoReturn:
        """Refused: the rows stay in the database."""
        _refuse_rows()

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        nothing = request.empty(self.schema)
        is_nothing = isinstance(nothing, list) and not nothing
        stand_in: Any = self
        return nothing if is_nothing else request.work(stand_in)

    def count(self, request: CountRequest) -> list[Counts]:
        """Counts of all families of a request."""
        for family in request.families:
            self._check_family(family, request)
        source = source_axis(self.schema, by_source=request.by_source)
        axes = [
            (*([source.name] if source else []), *family.variables) for family in request.families
        ]
        cells = self._cells({frozenset(names) for names in axes})
        rows = self._by_source()
        rows = rows if source else rows.sum(keepdims=True)
        return [
            self._counts(family, source, rows, cells[frozenset(names)])
            for family, names in zip(request.families, axes, strict=True)
        ]

    def toggle(self, requests: Sequence[ToggleRequest]) -> CountBatch:
        """Counts of families and of all their neighbors."""
        families = tuple(family for request in requests for family in request.families)
        first = requests[0]
        counted = self.count(CountRequest(families, first.by_source, first.memory_limit))
        return CountBatch.of(counted, by_source=True)

    def moments(self, request: Any) -> NoReturn:
        """Refused: moments need rows."""
        _refuse_rows()

    def __repr__(self) -> str:
        sources = f", {len(self.sources)} sources" if self.sources else ""
        return f"SqlTable({self._database.name}: {len(self.variables)} variables{sources})"

    def _check_family(self, family: Family, request: CountRequest) -> None:
        for name in family.variables:
            if self.schema[name].is_continuous:
                raise InputError(
                    f"family {family.child!r}: {name!r} is continuous and cannot be counted.",
                    variable=name,
                )
        sizes = [float(self.schema[name].n_states) for name in family.variables]
        n_sources = len(self.sources) if request.by_source else 1
        n_rows = float(self._by_source().sum())
        _check.memory(
            f"family {family.child!r} with {len(family.parents)} parents",
            8 * min(float(np.prod(sizes)) * max(n_sources, 1), n_rows * sizes[-1]),
            request.memory_limit,
            "Use fewer parents or states, or raise memory_limit.",
        )

    def _counts(
        self,
        family: Family,
        source: Variable | None,
        rows: Integers,
        cells: Mapping[str, Integers],
    ) -> Counts:
        """The counts of a family from its cells, only the parent states that occur at first."""
        child = self.schema[family.child]
        given = tuple(self.schema[name] for name in family.parents)
        parents = [cells[name] for name in family.parents]
        is_known = np.all([cells[name] >= 0 for name in family.variables], axis=0)
        states = np.stack(parents, axis=1) if parents else np.zeros((len(is_known), 0), np.int64)
        seen, place = np.unique(states[is_known], axis=0, return_inverse=True)
        table = np.zeros((len(rows), len(seen), child.n_states), np.int64)
        first = cells[source.name][is_known] if source else np.zeros(is_known.sum(), np.int64)
        at = first, place.reshape(-1), cells[family.child][is_known]
        np.add.at(table, at, cells[""][is_known])
        sparse = Counts(child, given, source, table, rows, seen=seen)
        counts: Counts = by_total(sparse, int(rows.sum()))
        return counts

    def _cells(self, sets: Iterable[frozenset[str]]) -> dict[frozenset[str], dict[str, Integers]]:
        """Joint states of sets of variables, as columns of codes, and under ``""`` their rows."""
        found = {}
        for names, rows in self._database.grouped(sets):
            columns = list(zip(*rows, strict=True)) or [()] * (len(names) + 1)
            cells = {
                name: np.array([self._code(name, value) for value in column], np.int64)
                for name, column in zip(names, columns, strict=False)
            }
            cells[""] = np.array([int(n) for n in columns[-1]], np.int64)
            found[frozenset(names)] = cells
        return found

    def _code(self, name: str, value: Any) -> int:
        known = self._codes.setdefault(name, {})
        key = (type(value), value)
        if key not in known:
            known[key] = _code(self.schema[name], value, self._request.markers_of(name))
        return known[key]

    def _by_source(self) -> Integers:
        """Weight of the rows of each source."""
        if self._rows is None:
            source = self.schema.source
            names = frozenset(() if source is None else (source.name,))
            cells = self._cells([names])[names]
            codes = cells[source.name] if source else np.zeros(len(cells[""]), np.int64)
            if (codes < 0).any():
                raise DataError(f"some rows have no source ({source.name!r}).")  # type: ignore[union-attr]
            rows = np.zeros(max(1, len(self.sources)), np.int64)
            np.add.at(rows, codes, cells[""])
            self._rows = rows
        return self._rows


class _Database:
    """A table in a database, and the statements that are made about it."""

    def __init__(self, connection: Any, table: str | Sequence[str], weight: str | None) -> None:
        parts = (table,) if isinstance(table, str) else tuple(table)
        self.name = ".".join(map(_quoted, parts))
        self._connection = connection
        self._error = _error_of(connection)
        self.columns = self._column_names()
        _check.known("column", [] if weight is None else [weight], self.columns)
        self._total = "COUNT(*)" if weight is None else f"SUM({_quoted(weight)})"
        if weight is not None:
            self._check_weights(_quoted(weight), weight)
        self._has_sets = self._knows_sets()

    def distinct(self, column: str) -> list[Any]:
        """The different values of a column, at most one more than are enough."""
        name = _quoted(column)
        cursor = self._run(f"SELECT DISTINCT {name} FROM {self.name}")
        return [row[0] for row in cursor.fetchmany(MOST_VALUES + 1)]

    def grouped(
        self, sets: Iterable[frozenset[str]]
    ) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """For each set of columns their names, and for each joint value the values and the rows."""
        wanted = sorted((sorted(one) for one in sets), key=lambda one: (len(one), one))
        if not self._has_sets:
            for names in wanted:
                yield names, self._one_set(names)
            return
        for chosen in _chunks(wanted):
            yield from self._many_sets(chosen)

    def _one_set(self, names: list[str]) -> list[tuple[Any, ...]]:
        listed = ", ".join(map(_quoted, names))
        if not names:
            return [
                tuple(r) for r in self._run(f"SELECT {self._total} FROM {self.name}").fetchall()
            ]
        text = f"SELECT {listed}, {self._total} FROM {self.name} GROUP BY {listed}"
        return [tuple(row) for row in self._run(text).fetchall()]

    def _many_sets(
        self, sets: list[list[str]]
    ) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        columns = sorted({name for one in sets for name in one})
        if not columns:
            yield [], self._one_set([])
            return
        listed = ", ".join(map(_quoted, columns))
        groups = ", ".join(f"({', '.join(map(_quoted, one))})" for one in sets)
        text = (
            f"SELECT {listed}, GROUPING({listed}), {self._total} FROM {self.name} "
            f"GROUP BY GROUPING SETS ({groups})"
        )
        rows: dict[int, list[Any]] = {}
        for row in self._run(text).fetchall():
            rows.setdefault(int(row[-2]), []).append(row)
        bit = {name: 1 << (len(columns) - 1 - k) for k, name in enumerate(columns)}
        place = {name: k for k, name in enumerate(columns)}
        for one in sets:
            left_out = sum(bit.values()) - sum(bit[name] for name in one)
            at = [*(place[name] for name in one), len(columns) + 1]
            yield one, [tuple(row[k] for k in at) for row in rows.get(left_out, ())]

    def _column_names(self) -> list[str]:
        cursor = self._run(f"SELECT * FROM {self.name} WHERE 1 = 0")
        return [str(column[0]) for column in cursor.description]

    def _check_weights(self, quoted: str, weight: str) -> None:
        bad = f"{quoted} IS NULL OR {quoted} < 0 OR {quoted} <> CAST({quoted} AS BIGINT)"
        n_bad = self._run(f"SELECT COUNT(*) FROM {self.name} WHERE {bad}").fetchall()[0][0]
        if n_bad:
            raise DataError(
                f"column {weight!r}: {n_bad} weights are not whole numbers of at least zero, which "
                "cs.engines.sql needs. Use cs.scan(relation) for others.",
                column=weight,
            )

    def _knows_sets(self) -> bool:
        name = _quoted(self.columns[0])
        try:
            self._run(
                f"SELECT GROUPING({name}) FROM {self.name} WHERE 1 = 0 "
                f"GROUP BY GROUPING SETS (({name}))"
            ).fetchall()
        except self._error:
            return False
        return True

    def _run(self, text: str) -> Any:
        run = getattr(self._connection, "execute", None)  # a cursor of duckdb sees no views of ours
        if run is not None:
            return run(text)
        cursor = self._connection.cursor()
        cursor.execute(text)
        return cursor


def _refuse_rows() -> NoReturn:
    raise InputError(
        "this needs rows, and cs.engines.sql moves none. Use cs.scan(relation), which streams "
        "them, or cs.read(relation).",
        parameter="rows",
    )


def _chunks(sets: list[list[str]]) -> Iterator[list[list[str]]]:
    """The sets in statements of bounded size."""
    chosen: list[list[str]] = []
    columns: set[str] = set()
    for one in sets:
        is_full = len(chosen) == SETS_A_STATEMENT or len(columns | {*one}) > COLUMNS_A_STATEMENT
        if chosen and is_full:
            yield chosen
            chosen, columns = [], set()
        chosen.append(one)
        columns |= {*one}
    if chosen:
        yield chosen


def _quoted(name: str) -> str:
    """A name as an identifier of SQL, whatever it holds."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError(f"a name in a database must be text that is not empty, got {name!r}.")
    return '"' + name.replace('"', '""') + '"'


def _error_of(connection: Any) -> type[Exception]:
    """The class of the errors of a DB-API library."""
    library = type(connection).__module__.partition(".")[0]
    error = getattr(sys.modules.get(library), "Error", None) or getattr(connection, "Error", None)
    if not (isinstance(error, type) and issubclass(error, Exception)):
        raise InputError(
            "sql: connection must be one of duckdb or of a DB-API 2.0 library, got one of type "
            f"{type(connection).__name__}.",
            parameter="connection",
        )
    return error


def _schema(database: _Database, request: ReadRequest) -> Schema:
    names = tuple(database.columns)
    name = request.source_name
    has_source = request.source is not None or (bool(request.known_sources) and name in names)
    source = name if has_source else None
    _check.known("column", [] if source is None else [source], names)
    variables = {}
    for column in request.variables(names, source):
        variables[column] = _variable(database, column, request)
    if source is None:
        return Schema(variables)
    found = [label(v) for v in database.distinct(source) if not is_null(v)]
    states = dict.fromkeys([*request.known_sources, *sorted(found)])
    return Schema(variables, Variable(source, tuple(states)))


def _variable(database: _Database, name: str, request: ReadRequest) -> Variable:
    if request.schema is not None:
        return request.schema.variables[name]
    place = Place(name)
    if name in request.states or name in request.continuous:
        fragments = [Fragment(None, 0, place)]
    else:
        values = [value for value in database.distinct(name) if not is_null(value)]
        _check_few(name, values)
        piece = from_values(sorted(values, key=label), request.markers_of(name), place)
        fragments = [Fragment(piece, len(values), place)]
    return column_of(name, fragments, request)[0]


def _check_few(name: str, values: Sequence[Any]) -> None:
    if len(values) > MOST_VALUES and not all(is_plain_number(label(v)) for v in values):
        raise DataError(
            f"column {name!r} has more than {MOST_VALUES:,} different values. Leave it out with "
            f"drop={[name]!r}.",
            column=name,
        )


def _code(variable: Variable, value: Any, markers: Markers) -> int:
    """The code of a value of the database, -1 if it is missing."""
    text = "" if is_null(value) else label(value)
    if is_null(value) or markers.match(text):
        return -1
    code = matcher(variable.discrete_states, variable.cuts)(text)
    if code is None:
        raise DataError(
            f"column {variable.name!r}: the state {text!r} is not one of those found before. "
            f"{variable.accepted(text)}",
            column=variable.name,
            state=text,
        )
    return code
