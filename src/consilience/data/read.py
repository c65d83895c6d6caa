"""The front door: from files, frames and columns of many sources to one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers
from consilience.data.coding import Fragment, code_as, code_freely, floats, is_ordered, kind_of
from consilience.data.discretize import Discretizer, discretize as discretize_table
from consilience.data.labels import LARGEST_EXACT
from consilience.data.notes import noted
from consilience.data.parts import parts_of
from consilience.data.pieces import USUAL_MARKERS
from consilience.data.reading_request import ReadRequest
from consilience.data.source_column import Sourced, with_sources
from consilience.data.table import Table
from consilience.data.text_content import TextForm
from consilience.data.variable import Schema, Variable

__all__ = ["column_of", "read", "weights_of"]


def read(
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
) -> Table:
    """A table from files, data frames or columns of one or many sources.

    Parameters
    ----------
    data
        A path to a ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz`` or ``.parquet`` file, or ``"-"``
        for text on standard input; a list of such paths, whose rows are appended; a data frame
        (pandas, polars, pyarrow, duckdb, or anything that Arrow's stream interface or narwhals
        understands); a dict of columns; or a dict with any of these for each source. Not every part
        needs every column: what a part never recorded is missing there. The row labels of a pandas
        frame are not read.
    source
        The column that names the source of each row; for a dict of sources the name that the source
        variable gets, ``"source"`` by default. A column of that name in such a part must be equal
        to its key throughout.
    weight
        The column that says how many rows each row stands for: numbers of at least zero, none
        missing. A row of weight zero counts as no row; but a state that only such rows have is a
        state all the same.
    columns
        The variables to read, in this order; all columns by default.
    drop
        Columns to leave out, such as an identifier of the rows. Their variables are missing in
        every row if a schema has them.
    states
        For a column the states it can take, in order. They are kept even if no row has them, and
        any other value is an error.
    discrete, continuous
        Columns that are one or the other whatever the rule below says.
    missing
        The texts that stand for a missing value. A number among them stands for equal numbers too.
        Null and NaN are always missing, and nothing else is ever taken for it: ``None``, ``NA`` and
        ``nan`` as text are states. They mean the same in text, among the categories of a
        categorical type and in every kind of file. A text listed here that ``states`` or ``schema``
        declare to be a state of its column is that state. The empty text can never be a state.
    missing_in
        For some columns what else is missing there: ``missing_in={"chol": [0]}``.
    discretize
        For a column of numbers how to cut it into states; see
        :func:`consilience.data.discretize.discretize`. Use ``Cuts(other.variables["age"].cuts)``
        for the cut points of another table.
    schema
        The variables to read, as a :class:`Schema` or as a mapping such as ``net.variables``. The
        table gets exactly these variables: columns that the data lack are missing, others are not
        read (an error if one is likely a misspelt name of one that lacks), and a value that is none
        of the states is an error. A variable with cut points takes
        numbers as well as its own states. Sources known to the schema come first.
    partial
        Whether columns of the schema may lack even if others have names much like theirs.
    of_source
        The columns that belong to the source, such as the number of beds of a hospital; searches
        make them no children of the others. If not given, the columns with one value within each
        source, unless that may be chance (:mod:`consilience.data.notes`).
    sep
        The sign between two values of a text file: a comma by default, a tab in a ``.tsv`` file.
        With it a text file may have any extension.
    encoding
        The encoding of text files, by any name that Python knows, such as ``"latin-1"``.

    Returns
    -------
    Table
        ``origins`` and ``describe()`` say why each variable is discrete or continuous, and
        ``notes`` what looks odd: identifiers, numbers with a stray label, spikes.

    Raises
    ------
    DataError
        A value that cannot be used, with its source, column and row (counted from one in its own
        file or frame).
    FormatError
        A file that cannot be read, with the line where that is known.
    UnknownNameError
        A column that the data do not have.
    MissingFileError
        A file that is not there.
    MemoryLimitError
        A packed file that unfolds to more than 8 GiB.

    Notes
    -----
    *States are text*: 1, 1.0 and ``"1"`` are one state (:mod:`consilience.data.labels`). Their
    order is that declared by ``states``, by a schema or by a categorical type; otherwise that of
    first sight, the sources in the given order; numbers are sorted. A boolean column has the states
    ``False`` and ``True``.

    *Discrete or continuous* is decided on all sources together: what was declared; categories,
    booleans and text that is not all numbers are discrete; numbers are continuous if any has a
    fraction or if there are more than 20 different whole numbers, and discrete otherwise; a column
    without values is continuous.

    Examples
    --------
    >>> table = read({"rome": {"sex": ["F", "M"], "age": [71.5, 64.0]}, "oslo": {"sex": ["M"]}})
    >>> table.sources, table.variables["sex"].states, table.missing["oslo"]["age"]
    (('rome', 'oslo'), ('F', 'M'), 1.0)
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
        discretize=discretize,
        schema=schema,
        partial=partial,
        of_source=of_source,
        form=TextForm(sep, encoding),
    )
    parts = parts_of(data, request.wanted, request.form)
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    rows = with_sources(parts, names, request)
    variables, coded, origins = {}, {}, {}
    for name in request.variables(names, rows.name):
        variables[name], coded[name], origins[name] = column_of(name, rows.fragments(name), request)
    table = Table(
        schema=Schema(variables, rows.variable),
        columns=coded,
        source_codes=rows.codes,
        weights=None if weight is None else weights_of(weight, rows, names),
        origins=origins,
    )
    cuts = {name: choice for name, choice in request.discretize.items() if name in variables}
    return discretize_table(noted(table, request.of_source), cuts)


def column_of(
    name: str, fragments: Sequence[Fragment], request: ReadRequest
) -> tuple[Variable, Column, str]:
    """A variable, its column, and why it is what it is."""
    if request.schema is not None:
        variable = request.schema.variables[name]
        return variable, code_as(variable, fragments, known_from="in the schema"), "schema"
    if name in request.states:
        states = request.states[name]
        variable = Variable(name, states, ordered=is_ordered(fragments, states))
        return variable, code_as(variable, fragments, known_from="among those declared"), "declared"
    if name in request.declared:
        is_discrete, origin = name in request.discrete, "declared"
    else:
        is_discrete, origin = kind_of(fragments)
    if is_discrete:
        return *code_freely(name, fragments), origin
    return Variable(name), floats(fragments), origin


def weights_of(weight: str, rows: Sourced, names: Sequence[str]) -> Integers | Floats:
    """The weights of all rows: whole numbers as int64, else float64."""
    _check.known("column", [weight], names)
    fragments = rows.fragments(weight)
    for fragment in fragments:
        values = floats([fragment])
        bad = np.flatnonzero(~(values >= 0))
        if bad.size:
            value = None if np.isnan(values[bad[0]]) else float(values[bad[0]])
            raise fragment.place.error(
                int(bad[0]),
                f"a weight must be a number of at least zero, {_got(value)}.",
                value=value,
            )
    weights = floats(fragments)
    if np.any(np.floor(weights) != weights):
        return weights
    if np.all(weights < LARGEST_EXACT):
        return weights.astype(np.int64)
    exact = [f.piece.whole() for f in fragments if f.piece is not None]
    whole = [part for part in exact if part is not None]
    return weights if len(whole) < len(fragments) else np.concatenate(whole)


def _got(value: float | None) -> str:
    return "and this row has none" if value is None else f"got {value:g}"
