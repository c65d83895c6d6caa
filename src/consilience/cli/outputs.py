"""The files of a command, looked at before any work is done.

An input that is not there is told at once. An output is refused if writing it would fail or destroy
an input.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from consilience.cli.common import Refusal

__all__ = [
    "STANDARD_INPUT",
    "OutputFile",
    "check_folder",
    "check_inputs",
    "check_outputs",
    "force_option",
]

STANDARD_INPUT = "-"

force_option = click.option(
    "--force", is_flag=True, help="Let the output replace a file that the command reads."
)


class OutputFile(click.Path):
    """The path of a file to write; a name that ends as a folder's does is refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, whose last slash it would not keep."""
        import consilience as cs

        if isinstance(value, str) and value.endswith(cs.files.SEPARATORS):
            self.fail(f"{value!r} is the name of a folder. Name a file.", param, ctx)
        return super().convert(value, param, ctx)


def check_inputs(inputs: Iterable[str]) -> None:
    """Refuse files that are not there; model strings are none, nor is standard input."""
    import consilience as cs

    for text in inputs:
        if text != STANDARD_INPUT and not text.lstrip().startswith("["):
            cs.data.check_file(Path(text))


def check_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[str], *, force: bool = False
) -> None:
    """Refuse files that cannot be written, that are read too, or that are one and the same.

    Links of both kinds are seen through. What is read may be replaced with ``force``; inputs that
    are no files, such as model strings, are passed over.
    """
    import consilience as cs

    named = [path for path in outputs if path is not None]
    for path in named:
        cs.files.check_target(path)
    for one, other in combinations(named, 2):
        if os.path.realpath(one) == os.path.realpath(other) or _is_same_file(one, other):
            raise Refusal(f"{str(one)!r} and {str(other)!r} are the same file. Name two.")
    for path, read in ((path, read) for path in named for read in inputs if not force):
        if _is_same_file(path, read):
            raise Refusal(
                f"the output {str(path)!r} would replace {read!r}, which is read. Name another "
                "file, or allow it with --force."
            )


def check_folder(folder: Path, files: Iterable[str], inputs: Iterable[str], *, force: bool) -> None:
    """Refuse a folder that cannot be made, or whose files of these names are read."""
    import consilience as cs

    if folder.exists() and not folder.is_dir():
        raise Refusal(f"{str(folder)!r} is a file; --output names a folder.")
    if folder.exists():
        check_outputs([folder / name for name in files], inputs, force=force)
    else:
        cs.files.check_target(folder)


def _is_same_file(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one).is_file() and Path(one).samefile(other)
    except OSError:  # there is no other file, or it is a model string
        return False
