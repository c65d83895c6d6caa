"""The extensions of model files, each with the module of its format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from consilience import _check
from consilience.errors import FormatError

__all__ = ["EXTENSIONS", "check_model_path", "extension_of", "is_model_path"]

EXTENSIONS: Mapping[str, str] = {
    ".json": "native",
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".xml": "xmlbif",
    ".xdsl": "xdsl",
    ".net": "hugin",
}


def is_model_path(path: str | os.PathLike[str]) -> bool:
    """Whether the extension of a file is one of those that :func:`load` knows.

    >>> is_model_path("heart.json.gz"), is_model_path("heart.csv")
    (True, False)
    """
    return extension_of(path) in EXTENSIONS


def check_model_path(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose extension does not say how a model is written."""
    file = Path(path)
    if not is_model_path(file):
        raise FormatError(
            f"a model cannot be written to {file.name!r}. Known extensions: "
            f"{_check.listed(EXTENSIONS)}, each also with '.gz'.",
            file=file.name,
        )


def extension_of(path: str | os.PathLike[str]) -> str:
    """The extension of a file, in small letters, without that of a packed one."""
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix
