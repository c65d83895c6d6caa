"""Reading and writing networks: one table from the extension of a file to its format."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consilience import _check, _write
from consilience._lazy import later
from consilience.data.packed import check_file, unpack
from consilience.errors import FormatError, ModelError
from consilience.files.draft import fault
from consilience.files.extensions import EXTENSIONS, extension_of
from consilience.network.network import Network

if TYPE_CHECKING:
    from consilience.dynamic.dynamic_network import DynamicNetwork

__all__ = ["FORMATS", "Format", "load", "save"]

OWN = ".json"
"""The library's own format, which alone holds networks in time."""
IN_TIME = '"consilience dynamic network"'
"""What the beginning of such a file says."""
_in_time = later("consilience.files.dynamic_native")

TEXT_LIMIT = 2**31  # bytes of a file after unpacking


@dataclass(frozen=True, slots=True)
class Format:
    """How the text of a file becomes a network, and back: ``parse`` and ``write`` of a module.

    ``decode`` gives the text of the bytes, and a note if that took a guess.
    """

    module: Any
    decode: Callable[[bytes, str], tuple[str, str | None]]

    @property
    def parse(self) -> Callable[[str, str], Network]:
        """The network of a text; the second text is the name of the file, for errors."""
        parse: Callable[[str, str], Network] = self.module.parse
        return parse

    @property
    def write(self) -> Callable[[Network], str]:
        """The text of a network."""
        write: Callable[[Network], str] = self.module.write
        return write


def load(path: str | os.PathLike[str], *, source: str | None = None) -> Network | Any:
    """The network in a file; the extension says in which format it is, ``.gz`` that it is packed.

    A JSON file may hold a network in time, a :class:`consilience.dynamic.DynamicNetwork`.

    ==================  ======================================
    ``.json``           the library's own; keeps everything. Linear Gaussian networks of the
                        Bayesian network repository are read too
    ``.bif``            interchange format of the repositories
    ``.xmlbif, .xml``   XMLBIF 0.3
    ``.xdsl``           GeNIe
    ``.net``            Hugin
    ==================  ======================================

    Parameters
    ----------
    path
        The file.
    source
        Name of the node that is the source, for files that do not say it.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FormatError
        If the extension is unknown or the text cannot be understood; the message names file and
        line.
    UnknownNameError
        If ``source`` is not a node.
    MemoryLimitError
        If a table would be larger than 1 GiB, or the unpacked text larger than 2 GiB.
    """
    file = Path(path)
    form = _format(file)
    check_file(file)
    text, note = form.decode(_unpacked(file), file.name)
    if form is FORMATS[OWN] and IN_TIME in text[:200]:
        return _in_time.parse(text, file.name)
    net = form.parse(text, file.name)
    if source is None and note is None:
        return net
    if source is not None:
        _check.known("node", [source], net.distributions)
    notes = net.record.notes if note is None else (*net.record.notes, note)
    return replace(
        net,
        source=net.source if source is None else source,
        record=replace(net.record, notes=notes),
    )


def save(net: Network | DynamicNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network to a file; the extension says in which format, as in :func:`load`.

    Everything is prepared first and the file appears whole or not at all. A file that was there
    keeps its mode, a symbolic link stays. Equal networks give equal files. All digits are kept.
    Formats other than JSON lose the posterior, the record, cut points and whether the states are
    ordered.

    Raises
    ------
    FormatError
        If the extension is unknown.
    ModelError
        If the format cannot express the network.
    MissingFileError
        If the folder does not exist.
    WriteError
        If the file cannot be written: it is a folder, the disk is full, and the like.
    """
    file = Path(path)
    data = _write.encoded(_text(net, _format(file), file.name), file.name)
    if file.suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    with _write.written(path) as stream:
        stream.write(data)


def _text(net: Network | DynamicNetwork, form: Format, name: str) -> str:
    if isinstance(net, Network):
        return form.write(net)
    if form is not FORMATS[OWN]:
        raise ModelError(
            f"{name!r}: only JSON can hold a network in time. Name the file '.json', or save "
            "net.unroll(length), an ordinary network."
        )
    text: str = _in_time.write(net)
    return text


def _format(file: Path) -> Format:
    name = file.name.lower().removesuffix(".gz")
    extension = extension_of(file)
    if extension not in FORMATS:
        raise FormatError(
            f"unknown extension {extension or name!r} of {file.name!r}. Known: "
            f"{_check.listed(FORMATS)}, each also with '.gz'.",
            file=file.name,
        )
    return FORMATS[extension]


def _unpacked(file: Path) -> bytes:
    if file.suffix.lower() != ".gz":
        n_bytes = file.stat().st_size
        _check.memory(f"the text of {file.name}", n_bytes, TEXT_LIMIT, "Split it.")
        return file.read_bytes()
    try:
        return unpack(file, TEXT_LIMIT, "Split it.")
    except (gzip.BadGzipFile, zlib.error, EOFError) as problem:
        raise fault(file.name, None, f"not a gzip file, or a broken one ({problem}).") from problem


# What the bytes of a file mean. A byte order mark decides; otherwise XML says what it is, and text
# is UTF-8 or, failing that, Latin-1, in which every byte is a character.

_MARKS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECLARED = re.compile(
    rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]{0,40})[\"']"
)
LATIN = "latin-1"


def _decode_json(data: bytes, file: str) -> tuple[str, str | None]:
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as problem:
        raise fault(file, None, f"not UTF-8 text: {problem.reason}.") from problem


def _decode_text(data: bytes, file: str, declared: str = "utf-8") -> tuple[str, str | None]:
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), declared)
    try:
        return data.decode(encoding), None
    except LookupError as problem:
        raise fault(file, 1, f"unknown encoding {encoding!r}.") from problem
    except UnicodeError:
        note = (
            f"The file is not {encoding} text; it was read as Latin-1, and names may be misspelt."
        )
        return data.decode(LATIN), note


def _decode_xml(data: bytes, file: str) -> tuple[str, str | None]:
    declared = _DECLARED.match(data)
    return _decode_text(data, file, declared[1].decode() if declared else "utf-8")


_DECODERS = {"native": _decode_json, "xmlbif": _decode_xml, "xdsl": _decode_xml}

FORMATS: Mapping[str, Format] = {
    extension: Format(later(f"consilience.files.{name}"), _DECODERS.get(name, _decode_text))
    for extension, name in EXTENSIONS.items()
}
