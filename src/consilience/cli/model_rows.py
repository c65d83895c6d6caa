"""Rows for a model: which columns a file must have, and which source its rows come from.

The source of a row stands in the column that has the name of the model's source, or in that of
``--source``. A file without it is from one source: that of ``--source-name``, or, as for ``learn``,
the one that the file is named after. A source that the model does not know is its state
``new_source`` if it has that, else it is summed out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from consilience.cli.bundles import bundled
from consilience.cli.common import (
    Refusal,
    listed,
    markers,
    missing_option,
    partial_option,
    row_source_option,
    source_of_file,
)
from consilience.cli.engines import scan_rows
from consilience.cli.file_options import Files

if TYPE_CHECKING:
    import consilience as cs
    from consilience._typing import Codes

__all__ = [
    "RowChoices",
    "RowSources",
    "as_they_are",
    "check_columns",
    "row_options",
    "rows_where_they_are",
    "sources_of",
]


@dataclass(frozen=True, slots=True)
class RowChoices:
    """What the options say about rows for a model."""

    source: str | None
    source_name: str | None
    missing: tuple[str, ...]
    partial: bool

    @property
    def markers(self) -> tuple[str, ...]:
        """The texts that stand for a missing value."""
        return markers(self.missing)


row_options: Final = bundled(
    "choices",
    RowChoices,
    [
        row_source_option,
        click.option(
            "--source-name",
            metavar="NAME",
            help="The source of all rows, if no column names it; '' if it is not known.  "
            "[default: the file is named after it, if the sources of the model are files or one "
            "of them has that name]",
        ),
        missing_option,
        partial_option,
    ],
)


@dataclass(frozen=True, slots=True)
class RowSources:
    """The sources of rows in codes of the model, and what there is to tell of them."""

    codes: Codes | None
    told: str | None

    def beside(self, net: cs.Network, rows: cs.Table) -> cs.Table:
        """The rows with their source as a column that the model knows, if it has one."""
        import consilience as cs

        if net.source is None or self.codes is None:
            return rows
        variables = {**rows.variables, net.source: net.variables[net.source]}
        return cs.Table(cs.Schema(variables), {**rows.columns, net.source: self.codes})


def check_columns(
    net: cs.Network,
    paths: Sequence[str],
    not_needed: Sequence[str | None],
    *,
    partial: bool,
    form: Mapping[str, Any],
) -> None:
    """Refuse a file that lacks the column of a node, unless that is allowed.

    Columns that are not needed may lack, but not be misspelt.
    """
    import consilience as cs

    for path in () if partial else paths:
        names = cs.data.column_names(path, **form)
        others = [name for name in names if name not in (*net.variables, *not_needed)]
        absent = [name for name in net.variables if name not in (*names, net.source)]
        near = {name: cs.data.misspelt(name, others) for name in absent}
        lacking = [name for name in absent if name not in not_needed or near[name] is not None]
        if lacking:
            hint = "" if near[lacking[0]] is None else f" Is it {near[lacking[0]]!r}?"
            rest = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            raise Refusal(
                f"{path} has no column {lacking[0]!r}{rest}, which is a node of the model.{hint} "
                "If it was not recorded, say so with --partial."
            )


def rows_where_they_are(
    net: cs.Network,
    data: str,
    choices: RowChoices,
    files: Files,
    *,
    engine: str | None,
    not_needed: str | None = None,
) -> cs.engines.Scan:
    """The rows of a scan as nodes of the model, the source among them."""
    import consilience as cs

    nodes = {name: v for name, v in net.variables.items() if name != net.source}
    if choices.source is not None or choices.source_name is not None:
        raise click.UsageError("--source and --source-name go with rows in memory.")
    if cs.engines.is_store(data):
        return scan_rows(data, engine)
    paths, form = cs.data.files_of(data), files.form
    names = {name for path in paths for name in cs.data.column_names(path, **form)}
    check_columns(net, paths, [not_needed, net.source], partial=choices.partial, form=form)
    source = net.variables[net.source] if net.source in names and net.source else None
    how = {**files.reading(), "columns": None, "missing": choices.markers}
    return scan_rows(data, engine, schema=cs.Schema(nodes, source), partial=True, **how)


def as_they_are(
    path: str, names: Sequence[str], missing: Sequence[str] = ("",), *, form: Mapping[str, Any]
) -> cs.Table:
    """Columns of a file as they stand there: whole numbers, such as those of persons, are kept."""
    import numpy as np

    import consilience as cs

    read = partial(cs.read, path, columns=names, missing=missing, **form)
    table = read()
    whole = [
        name
        for name, variable in table.variables.items()
        if variable.is_continuous and _is_whole(table.column(name), np)
    ]
    return read(discrete=whole) if whole else table


def sources_of(
    net: cs.Network, path: str, choices: RowChoices, n_rows: int, *, form: Mapping[str, Any]
) -> RowSources:
    """The source of each row in codes of the model's, -1 if not known, and what is to be told."""
    import consilience as cs

    if net.source is None:
        _refuse_sources(choices)
        return RowSources(None, None)
    node = net.variables[net.source]
    column, name = _where(net, node, path, choices, form=form)
    if column is None and not name:
        told = f"no column {node.name!r}: the source was summed out"
        return RowSources(_unknown(node, n_rows), told)
    read: Any = path if column is not None else {node.name: [name] * n_rows}
    column = column or node.name
    new = cs.data.NEW_SOURCE
    table, unseen = cs.data.read_known(
        read,
        {column: cs.Variable(column, node.states)},
        missing=choices.markers if name is None else (),
        stand_ins={column: new} if new in node.discrete_states else {},
        **form,
    )
    whole = None if name is None else f"{path} is from {name!r}"
    return RowSources(table.column(column), _on_unseen(node, unseen.get(column, {})) or whole)


def _unknown(node: cs.Variable, n_rows: int) -> Codes:
    """The source of rows of which nothing says it."""
    import consilience as cs

    rows: dict[str, list[None]] = {node.name: [None] * n_rows}
    return cs.read(rows, schema={node.name: node}).column(node.name)


def _refuse_sources(choices: RowChoices) -> None:
    """Refuse options about sources for a model that has none."""
    for option, value in (("source", choices.source), ("source-name", choices.source_name)):
        if value is not None:
            raise Refusal(f"the model has no source, so --{option} {value!r} says nothing.")


def _where(
    net: cs.Network, node: cs.Variable, path: str, choices: RowChoices, *, form: Mapping[str, Any]
) -> tuple[str | None, str | None]:
    """The column of the sources, or the one source of all rows, if either is known."""
    import consilience as cs

    if choices.source in net.variables and choices.source != net.source:
        raise Refusal(f"--source {choices.source!r} is another node; the source is {net.source!r}.")
    names = cs.data.column_names(path, **form)
    if choices.source is not None and choices.source not in names:
        raise Refusal(f"unknown column {choices.source!r}. Known: {listed(names)}.")
    column = choices.source or (net.source if net.source in names else None)
    if column is not None:
        if choices.source_name is not None:
            raise Refusal(
                f"the column {column!r} of {path} names the sources; --source-name says it again."
            )
        return column, None
    if choices.source_name is not None:
        return None, choices.source_name
    name = source_of_file(path)
    is_one = node.name == USUAL_SOURCE or _is_known(node, name)
    return None, name if is_one else None


USUAL_SOURCE = "source"
"""The name of the source if sources are files."""


def _on_unseen(node: cs.Variable, unseen: Mapping[str, int]) -> str | None:
    """Sources that the model does not know, their rows, and what was done about them."""
    import consilience as cs

    if not unseen:
        return None
    has_new = cs.data.NEW_SOURCE in node.discrete_states
    done = f"taken as {cs.data.NEW_SOURCE!r}" if has_new else "summed out"
    names = listed([f"{name} ({n:,} row{'s' * (n != 1)})" for name, n in unseen.items()])
    return f"{names}: not known to the model, {done}"


def _is_known(node: cs.Variable, name: str) -> bool:
    import consilience as cs

    try:
        node.code(name)
    except cs.ConsilienceError:
        return False
    return True


def _is_whole(values: Any, np: Any) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size) and bool((known == np.floor(known)).all())
