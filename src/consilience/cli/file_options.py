"""How files of rows are written and which of their columns are read: options of many commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from consilience.cli.bundles import bundled
from consilience.cli.common import Refusal, listed
from consilience.cli.quoting import name_and_rest

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["Files", "file_options"]

TAB_NAMES = ("tab", "\\t")  # what people type for a tab in a shell


@dataclass(frozen=True, slots=True)
class Files:
    """What the options say about files and columns."""

    columns: tuple[str, ...]
    drop: tuple[str, ...]
    missing_in: tuple[str, ...]
    sep: str | None
    encoding: str

    @property
    def form(self) -> dict[str, Any]:
        """How text files are written, as arguments of what reads them."""
        sep = "\t" if self.sep in TAB_NAMES else self.sep
        return {"sep": sep, "encoding": self.encoding}

    def reading(self) -> dict[str, Any]:
        """The arguments of ``read`` for new rows."""
        return {
            "columns": self.columns or None,
            "drop": self.drop,
            "missing_in": _by_column(self.missing_in),
            **self.form,
        }

    def reading_as(self, net: cs.Network, paths: Sequence[str]) -> dict[str, Any]:
        """The arguments of ``read`` for rows of a network: what is not chosen is missing."""
        return {**self.reading(), "columns": None, "drop": self.dropped(net, paths)}

    def dropped(self, net: cs.Network, paths: Sequence[str]) -> tuple[str, ...]:
        """The columns that are not read, of rows of a network."""
        import consilience as cs

        names = {n: None for path in paths for n in cs.data.column_names(path, **self.form)}
        for name in (*self.columns, *self.drop):
            if name not in names:
                raise Refusal(f"unknown column {name!r}. Known: {listed(list(names))}.")
        kept = {*(self.columns or names), net.source} - set(self.drop)
        return tuple(name for name in names if name not in kept)


file_options: Final = bundled(
    "files",
    Files,
    [
        click.option(
            "--columns", multiple=True, metavar="COL", help="Column to read; repeatable. [all]"
        ),
        click.option(
            "--drop", multiple=True, metavar="COL", help="Column to leave out; repeatable."
        ),
        click.option(
            "--missing-in",
            multiple=True,
            metavar="COL=TEXT",
            help="Text that stands for a missing value in one column; repeatable.",
        ),
        click.option(
            "--sep",
            metavar="SIGN",
            help="Sign between two values of a text file, such as ';' or tab. [a comma; a tab in "
            ".tsv files]",
        ),
        click.option(
            "--encoding",
            default="utf-8",
            metavar="NAME",
            help="Encoding of text files, such as latin-1. [utf-8]",
        ),
    ],
)


def _by_column(texts: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        column, marker = name_and_rest(f"--missing-in {text!r}", text, "=")
        if not column or "=" not in text:
            raise click.UsageError(f"--missing-in {text!r}: expected COL=TEXT, such as chol=0.")
        found.setdefault(column, []).append(marker)
    return found
