"""A folder of request and reply files, which a person can read and carry.

The coordinator writes ``000001.request``, the site ``000001.reply`` beside it; both begin with a
line of JSON. Files appear whole or not at all, and the size of a reply is checked before it is
read. The folder may be on a shared disk, or its files may be carried to and fro by hand.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from consilience import _check, _write
from consilience.errors import InputError, MissingFileError, SiteError
from consilience.sites.message import MOST_BYTES, digest

if TYPE_CHECKING:
    from consilience.sites.site import Site

__all__ = ["Folder", "watch"]

ASKER = "folder"
"""Who asks, as a site knows it: whoever may write to the folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The way to a site through a folder.

    Parameters
    ----------
    path
        The folder; the site watches it.
    pause
        Seconds between two looks.
    """

    path: Path
    pause: float = 0.005

    @property
    def place(self) -> str:
        """Where the site is, for errors."""
        return str(self.path)

    def ask(self, data: bytes, limit: int, seconds: float) -> bytes:
        """The reply to a request.

        Parameters
        ----------
        data
            The request.
        limit
            Most bytes of the reply; a longer one is not read.
        seconds
            How long to wait.
        """
        if not self.path.is_dir():
            raise SiteError(f"there is no folder {self.place!r} to ask in.", site=self.place)
        name = _free_name(self.path, data)
        answered = self.path / f"{name}.reply"
        with _write.written(self.path / f"{name}.request") as stream:
            stream.write(data)
        end = time.monotonic() + seconds
        while not answered.exists():
            if time.monotonic() > end:
                raise SiteError(
                    f"the site at {self.place!r} gave no reply within {seconds:g} seconds.",
                    site=self.place,
                )
            time.sleep(self.pause)
        return _read(answered, limit, self.place)


def watch(
    site: Site,
    folder: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    pause: float = 0.005,
    stop: Event | None = None,
) -> int:
    """Answer the requests in a folder that have no reply yet, until the time is up.

    Parameters
    ----------
    site
        Who answers.
    folder
        The folder; it must be there.
    seconds
        How long to watch; zero answers what is there, None watches until interrupted.
    pause
        Seconds between two looks.
    stop
        Ends the watch once it is set.

    Returns
    -------
    int
        Number of requests that were answered.
    """
    path = Path(folder)
    if not path.is_dir():
        raise MissingFileError(f"there is no folder {str(path)!r}.", file=str(path))
    if seconds is not None:
        _check.non_negative("watch", seconds=seconds)
    end = None if seconds is None else time.monotonic() + seconds
    n_answered = 0
    while True:
        for request in sorted(path.glob("*.request")):
            n_answered += _answer(site, request)
        is_late = end is not None and time.monotonic() >= end
        if is_late or (stop is not None and stop.wait(pause)):
            return n_answered
        if stop is None:
            time.sleep(pause)


def _answer(site: Site, request: Path) -> int:
    reply = request.with_suffix(".reply")
    if reply.exists():
        return 0
    try:
        if request.stat().st_size > MOST_BYTES:
            raise InputError(f"{str(request)!r} is larger than a message can be.")
        data = request.read_bytes()
    except FileNotFoundError:  # taken away meanwhile
        return 0
    answer = site.answer(data, ASKER)
    with _write.written(reply) as stream:
        stream.write(answer)
    return 1


def _free_name(folder: Path, data: bytes) -> str:
    """A name for a request after those that are there, with the beginning of its hash."""
    numbers = (one.name.split("-")[0] for one in folder.glob("*.request"))
    last = max((int(text) for text in numbers if text.isdigit()), default=0)
    return f"{last + 1:06d}-{digest(data)[:8]}"


def _read(path: Path, limit: int, place: str) -> bytes:
    size = path.stat().st_size
    if size > limit:
        raise SiteError(
            f"the reply of the site at {place!r} has {size:,} bytes, and at most {limit:,} were "
            "asked for; it was not read.",
            site=place,
        )
    return path.read_bytes()
