"""The noun :class:`Scan` and the verb :func:`scan`: rows that are not in memory.

The states of all columns are found in one pass of their own (:mod:`consilience.data.sketch`) unless
they are given, and are fixed from then on. Each request of a learner is one more pass, mapped over
the extents of the data by a runner; whatever the runner, the answers have the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from consilience import _check
from consilience.data.describe import Description, DescriptionRow, titled
from consilience.data.discretize import Cuts, Discretizer, discretize as discretize_table
from consilience.data.extents import Extent, Fingerprint, extents_of
from consilience.data.fixed_rows import FixedRows
from consilience.data.frames import WEIGHT
from consilience.data.notes import is_no_chance, notes_on_source
from consilience.data.pieces import USUAL_MARKERS
from consilience.data.reading_request import ReadRequest
from consilience.data.row_sample import RowSample, appended
from consilience.data.sketch import VARIED, Sketch, schema_of
from consilience.data.table import Table
from consilience.data.text_content import TextForm
from consilience.data.variable import Schema, Variable
from consilience.errors import InputError
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.engines.batches import SAMPLE
from consilience.statistics.engines.ledger import Returned, by_total, collected, schema_hash
from consilience.statistics.engines.memory import Memory
from consilience.statistics.engines.runners import Threads
from consilience.statistics.engines.store_files import (
    ROWS,
    StoredRows,
    is_store,
    read_manifest,
)
from consilience.statistics.engines.tasks import (
    Asking,
    Runner,
    Sampling,
    Sketching,
    Tallying,
    Task,
    n_bytes_a_row,
    tables_of,
)
from consilience.statistics.request import Answer, Request

__all__ = ["Scan", "scan"]

_PLAIN = ReadRequest.of(
    source=None,
    weight=None,
    columns=None,
    drop=(),
    states=None,
    discrete=(),
    continuous=(),
    missing=USUAL_MARKERS,
    missing_in=None,
    discretize=None,
    schema=None,
    partial=False,
    of_source=None,
    form=TextForm(),
)
"""The request of ``scan(data)`` without any argument."""


class Scan:
    """Rows that are not in memory, with the face of a table where that needs no rows.

    Every verb that takes rows takes a scan. It is an engine: each request is a pass over the files.
    Made by :func:`scan`.

    Parameters
    ----------
    extents
        Where the rows are.
    runner
        Who reads them.
    request
        How they are read.
    schema
        The variables; None if they are to be found in a pass.
    origins
        Why each variable is what it is, where the schema is given.
    sample
        Rows of the scout, by which searches guess what they will ask for.
    """

    def __init__(
        self,
        extents: Iterable[Extent],
        runner: Runner,
        request: ReadRequest,
        *,
        schema: Schema | None = None,
        origins: Mapping[str, str] | None = None,
        sample: int = SAMPLE,
    ) -> None:
        self.n_passes = 0
        self._extents = list(extents)
        self._runner = runner
        self._request = request
        self._sample = sample
        self._rows: dict[str, int | None] = {
            extent.id: getattr(extent, "n_rows", None) for extent in self._extents
        }
        self.origins: Mapping[str, str] = {}
        if schema is None:
            schema, self.origins = schema_of(self._sketch, request)
        else:
            self.origins = origins or dict.fromkeys(schema.variables, "schema")
        self._fixed = FixedRows.of(self._cut(schema), request)

    @property
    def schema(self) -> Schema:
        """What the rows are about."""
        return self._fixed.schema

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name to :class:`Variable`, in column order; the source is not one of them."""
        return self.schema.variables

    @property
    def source(self) -> str | None:
        """Name of the source variable, or None."""
        return None if self.schema.source is None else self.schema.source.name

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources; empty if the rows have none."""
        return () if self.schema.source is None else self.schema.source.discrete_states

    @property
    def n_rows(self) -> int:
        """Number of rows, whatever their weights."""
        if None in self._rows.values():
            return int(self._sketch.n_rows.sum())
        return sum(n for n in self._rows.values() if n is not None)

    @property
    def inputs(self) -> tuple[Fingerprint, ...]:
        """The files that the rows are in, as they were when they were first looked at."""
        found = (getattr(extent, "fingerprint", None) for extent in self._extents)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def has_weights(self) -> bool:
        """Whether rows stand for several, or for a part of one."""
        return self._request.weight is not None

    @property
    def mapped(self) -> Memory | None:
        """The engine of a store that is mapped as a whole; None for all other rows."""
        if len(self._extents) == 1 and isinstance(self._extents[0], StoredRows):
            return self._extents[0].memory()
        return None

    @property
    def total_weight(self) -> float:
        """Number of rows that the rows stand for: the sum of the weights."""
        if self.mapped is not None:
            return self.mapped.table.total_weight
        return float(self._sketch.weight.sum()) if self.has_weights else self.n_rows

    @property
    def n_parts(self) -> int:
        """Number of parts that workers take."""
        return len(self._extents)

    @property
    def missing(self) -> Mapping[str, Mapping[str, float]]:
        """Share missing as ``missing[source][column]``, the one key being ``"all"`` if none."""
        if self.mapped is not None:
            return self.mapped.table.missing
        return self._sketch.missing_shares(tuple(self.variables))

    @cached_property
    def of_source(self) -> tuple[str, ...]:
        """The variables that belong to the source: they have one value within each source."""
        if self._request.of_source is not None:
            _check.known("column", self._request.of_source, self.variables)
            return self._request.of_source
        if len(self.sources) < 2:
            return ()
        return tuple(name for name in self.variables if _is_of_source(self._sketch, name))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the columns."""
        return self.notes_on(self.variables)

    def notes_on(self, names: Iterable[str]) -> tuple[str, ...]:
        """What a reader should know about these columns."""
        chosen = set(names)
        found = [name for name in self.of_source if name in chosen]
        return tuple(notes_on_source(self.source, found))

    def describe(self) -> Description:
        """Kind, states, missing values of every variable and why it is discrete or continuous."""
        if self.mapped is not None:
            return self.mapped.table.describe()
        sketch = self._sketch
        rows = [
            DescriptionRow(
                name,
                variable.states,
                sketch.span(name) if variable.is_continuous else None,
                sketch.missing_share(name),
                self.origins.get(name, ""),
                name in self.of_source,
            )
            for name, variable in self.variables.items()
        ]
        title = titled(self.n_rows, float(sketch.weight.sum()), self.schema)
        return Description(title, tuple(rows), self.notes)

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows, in one pass over them."""
        nothing = request.empty(self.schema)
        if isinstance(nothing, list) and not nothing:
            return nothing
        if self.mapped is not None:
            return request.work(self.mapped)
        threads = 1 if len(self._extents) > 1 else None
        task = Asking(self._fixed, request, threads)
        found = self._passed(task, schema_hash(self.schema), request.merge)
        return nothing if found is None else by_total(found.answer, found.n_rows)

    def scout(self) -> Table:
        """A sample of the rows that does not depend on how they are cut into parts."""
        n_rows = self.n_rows
        first, start = {}, 0
        for part, n in self._rows.items():
            first[part] = start
            start += n or 0
        size = min(self._sample, n_rows)
        task = Sampling(self._fixed, first, max(size, 1))
        found = self._passed(
            task, schema_hash(self.schema), lambda a, b: RowSample.merge(a, b, max(size, 1))
        )
        return RowSample.empty(self.schema).rows if found is None else found.answer.rows

    def tables(self) -> Iterator[Table]:
        """The rows in order, as tables of at most 131,072 rows; read by this process."""
        for extent in self._extents:
            for table in tables_of(extent, self._fixed):
                yield replace(table, origins=self.origins)

    def to_table(self, *, memory_limit: float = MEMORY_LIMIT) -> Table:
        """All rows in memory; refused before they are read if they need more than the limit."""
        if self.mapped is not None:
            return self.mapped.table
        _check.memory(
            f"a table of {self.n_rows:,} rows",
            float(self.n_rows) * (n_bytes_a_row(self.schema) + 8 * self.has_weights),
            memory_limit,
            "Take a sample, scan.scout(), or say scan.to_table(memory_limit=...).",
        )
        tables = [*self.tables()] or [RowSample.empty(self.schema).rows]
        return replace(appended(tables), of_source=self.of_source, origins=self.origins)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        sources = f", {len(self.sources)} sources" if self.sources else ""
        n_rows = "" if None in self._rows.values() else f"{self.n_rows:,} rows, "
        parts = f"{self.n_parts} part{'s' * (self.n_parts != 1)}"
        return f"Scan({n_rows}{len(self.variables)} variables{sources}, {parts}, {self._runner})"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    @cached_property
    def _sketch(self) -> Sketch:
        found = self._passed(Sketching(self._request), "", Sketch.merge)
        if found is None:
            raise InputError("there are no rows to scan.", parameter="data")
        return found.answer

    def _cut(self, schema: Schema) -> Schema:
        """The schema with the columns cut that are to be, by the values of all rows."""
        asked = self._request.discretize
        choices = {name: one for name, one in asked.items() if name in schema.variables}
        needed = {name: _looked_at(name, one, schema) for name, one in choices.items()}
        tallies = self._tallies(schema, {k: v for k, v in needed.items() if v})
        variables = dict(schema.variables)
        for name in choices:
            rows = tallies.get(name, RowSample.empty(schema).rows)
            together = {one: choices[one] for one in (name, *needed[name]) if one in choices}
            variables[name] = discretize_table(rows, together).variables[name]
        return Schema(variables, schema.source)

    def _tallies(self, schema: Schema, columns: dict[str, tuple[str, ...]]) -> dict[str, Table]:
        """The different values of columns, in one pass."""
        if not columns:
            return {}
        task = Tallying(FixedRows.of(schema, self._request), columns, MEMORY_LIMIT)
        found = self._passed(task, schema_hash(schema), task.merge)
        return {} if found is None else found.answer

    def _passed(self, task: Task[Any], schema: str, merge: Any) -> Returned[Any] | None:
        """What comes of a task for all extents."""
        self.n_passes += 1
        arrivals = self._counted(self._runner.run(task, self._extents))
        return collected(arrivals, self._rows, schema, merge)

    def _counted(self, arrivals: Iterator[Returned[Any]]) -> Iterator[Returned[Any]]:
        """The same answers; rows of parts that were not known are known afterwards."""
        for one in arrivals:
            yield one
            for part in one.ids:
                self._rows[part] = one.n_rows


def scan(
    data: Any,
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
    discretize: Mapping[str, Discretizer] | None = None,
    schema: Schema | Mapping[str, Variable] | None = None,
    partial: bool = False,
    of_source: Iterable[str] | None = None,
    sep: str | None = None,
    encoding: str = "utf-8",
    engine: Runner | None = None,
    sample: int = SAMPLE,
) -> Scan:
    """Rows that stay where they are; every verb that takes rows takes them.

    The arguments are those of :func:`read`, with the same meaning and the same rules; what follows
    is what differs.

    Parameters
    ----------
    data
        A path of a ``.parquet``, ``.csv`` or ``.tsv`` file, a list of paths, a glob
        (``"visits/*.parquet"``), a folder; a dict with one of these for each source; a store
        (:func:`store`); a ``pyarrow.dataset``; a relation of duckdb, a table of ibis; a data frame
        of Dask or Spark, whose rows stay there; or anything that :func:`read` takes.
    source, weight, columns, drop, states, discrete, continuous, missing, missing_in
        See :func:`read`.
    discretize
        For a column of numbers how to cut it into states. All choices but ``Cuts`` need a pass for
        the different values, and are refused where these need more than 1 GiB.
    schema
        The variables. With them, or with ``states`` of all columns and no source, no pass is needed
        to find the states. Its states and sources are all there are.
    partial, of_source, sep, encoding
        See :func:`read`.
    engine
        Who reads: ``cs.engines.Threads(n)``, which is the default with all cores,
        ``cs.engines.Processes(n)``, ``cs.engines.Dask(client)`` or ``cs.engines.Spark(session)``.
        The answers do not depend on it.
    sample
        Rows of the sample by which searches guess what they will ask for, to make few passes. The
        answers do not depend on it.

    Raises
    ------
    DataError
        A value that cannot be used, or a state or source that was not found before, with its file,
        row group, column and row; a file that was changed between two passes.
    FormatError
        A file that is damaged: page checksums are verified where there are any.
    WorkerError
        Workers that died again and again.

    Examples
    --------
    >>> import consilience as cs
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     cs.data.write_rows(cs.read({"x": ["a", "b", "b"]}), f"{folder}/one.csv")
    ...     cs.data.write_rows(cs.read({"x": ["b", "c"]}), f"{folder}/two.csv")
    ...     rows = cs.scan(f"{folder}/*.csv")
    ...     (x,) = cs.count(rows, cs.Family("x"))
    ...     rows.n_rows, rows.variables["x"].states, x.table.tolist()
    (5, ('a', 'b', 'c'), [[[1, 3, 1]]])
    """
    _check.whole("scan", at_least=1, sample=sample)
    _check_runner(engine)
    form = TextForm(sep, encoding)
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
        discretize=discretize,
        schema=schema,
        partial=partial,
        of_source=of_source,
        form=form,
    )
    if is_store(data):
        return _of_store(os.fspath(data), request, engine, sample)
    extents, runner = _located(data, form, engine)
    return Scan(extents, runner, request, schema=_known(request, extents), sample=sample)


def _located(data: Any, form: TextForm, engine: Runner | None) -> tuple[list[Extent], Runner]:
    """Where the rows are, and who reads them."""
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        from consilience.statistics.engines.dask_runner import current_dask, dask_partitions

        return dask_partitions(data), engine or current_dask() or Threads()
    if library == "pyspark":
        from consilience.statistics.engines.spark_runner import Spark, spark_partitions

        return spark_partitions(data), Spark(data.sparkSession)
    return extents_of(data, form), engine or Threads()


def _of_store(path: str, request: ReadRequest, engine: Runner | None, sample: int) -> Scan:
    """The rows of a store: mapped as a whole, or in parts for an engine."""
    if request != replace(_PLAIN, form=request.form):
        raise InputError(
            f"store {path!r} says itself what its rows are: only engine= and sample= go with it.",
            file=path,
        )
    manifest = read_manifest(path)
    schema, weighted = manifest.schema, any(one.weights for one in manifest.segments)
    whole = max((one.n_rows for one in manifest.segments), default=1)
    extents = StoredRows.of(path, manifest, max(whole, 1) if engine is None else ROWS)
    reading = replace(
        _PLAIN,
        schema=schema,
        source=None if schema.source is None else schema.source.name,
        weight=WEIGHT if weighted else None,
        of_source=manifest.of_source,
    )
    return Scan(
        extents,
        engine or Threads(1),
        reading,
        schema=schema,
        origins=manifest.origins,
        sample=sample,
    )


def _check_runner(engine: Any) -> None:
    if engine is not None and not callable(getattr(engine, "run", None)):
        raise InputError(
            "scan: engine must be a choice such as cs.engines.Threads(4) or "
            f"cs.engines.Dask(client), got {engine!r}.",
            parameter="engine",
        )


def _looked_at(name: str, choice: Discretizer, schema: Schema) -> tuple[str, ...]:
    """The columns whose values a choice of cut points needs; none if they are known."""
    if isinstance(choice, Cuts):
        return ()
    target = getattr(choice, "target", name)
    return (name, target) if target != name and target in schema.variables else (name,)


def _known(request: ReadRequest, extents: Iterable[Extent]) -> Schema | None:
    """The schema if it was given whole, sources included."""
    if request.schema is None:
        return None
    has_source = request.source is not None or any(
        getattr(extent, "source", None) is not None for extent in extents
    )
    return None if has_source and request.schema.source is None else request.schema


def _is_of_source(sketch: Sketch, name: str) -> bool:
    seen = sketch.column(name)
    has_rows = seen.n_known > 0
    values = seen.value[has_rows]
    if any(value is VARIED for value in values):
        return False
    n_rows = seen.n_known[has_rows]
    by_value: dict[str, int] = {}
    for value, n in zip(values, n_rows.tolist(), strict=True):
        by_value[value] = by_value.get(value, 0) + n
    return is_no_chance(n_rows, np.array([*by_value.values()], np.int64))
