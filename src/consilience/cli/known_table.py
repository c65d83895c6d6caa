"""The rows of one or more files as a table of a model's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience.cli.common import markers, parts
from consilience.cli.file_options import Files

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["known_table"]


def known_table(
    net: cs.Network,
    rows: tuple[str, ...],
    source: str | None,
    missing: tuple[str, ...],
    *,
    files: Files,
) -> cs.Table:
    """The rows in the states of the model; columns that are no nodes are not read."""
    import consilience as cs

    return cs.read(
        parts(rows, source),
        source=source or net.source,
        missing=markers(missing),
        schema=net.variables,
        partial=True,
        **files.reading_as(net, rows),
    )
