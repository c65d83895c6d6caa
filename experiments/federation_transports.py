"""Sites reached in three ways, for ``federation.py``: in process, by folders, by HTTPS."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import consilience as cs
from consilience.sites.exchange import Way
from consilience.sites.folders import watch

SERVE = "import sys; from consilience.cli import main; sys.argv[1:1] = ['site', 'serve']; main()"

Reached = tuple[list[cs.sites.Site | Path | str | Way], Path | None]
"""The sites as ``cs.sites.federation`` takes them, and the folder of the coordinator's keys."""


@contextmanager
def in_process(sites: Sequence[cs.sites.Site]) -> Iterator[Reached]:
    """The sites themselves."""
    yield [*sites], None


@contextmanager
def by_folders(sites: Sequence[cs.sites.Site]) -> Iterator[Reached]:
    """A folder for each site, which a thread watches."""
    stop = threading.Event()
    with TemporaryDirectory() as folder:
        threads, folders = [], []
        for site in sites:
            folders.append(Path(folder) / str(site.name))
            folders[-1].mkdir()
            how = {"stop": stop, "pause": 0.002}
            threads.append(threading.Thread(target=watch, args=(site, folders[-1]), kwargs=how))
            threads[-1].start()
        try:
            yield [*folders], None
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@contextmanager
def by_https(sites: Sequence[cs.sites.Site]) -> Iterator[Reached]:
    """A server with mutual TLS for each site, in a thread."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        keys = Path(folder)
        cs.sites.certify(keys, ["coordinator", *(str(site.name) for site in sites)])
        addresses = [
            stack.enter_context(
                cs.sites.serving(
                    site,
                    "127.0.0.1:0",
                    certificate=keys / f"{site.name}.pem",
                    key=keys / f"{site.name}.key",
                    authority=keys / "authority.pem",
                )
            )
            for site in sites
        ]
        yield [*addresses], keys


TRANSPORTS: dict[str, Callable[[Sequence[cs.sites.Site]], AbstractContextManager[Reached]]] = {
    "in process": in_process,
    "folders": by_folders,
    "HTTPS": by_https,
}


@contextmanager
def processes(tables: dict[str, cs.Table], *, by: str) -> Iterator[Reached]:
    """A process for each site, started as ``consilience site serve``, with a ledger on disk."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        cs.sites.certify(place, ["coordinator", *tables])
        cs.sites.Policy(mode="secure").save(place / "policy.toml")
        ways: list[cs.sites.Site | Path | str | Way] = []
        for name, table in tables.items():
            table.to_frame().to_csv(place / f"{name}.csv", index=False)
            options = ["--policy", str(place / "policy.toml"), "--name", name]
            if by == "folders":
                ways.append(place / name)
                (place / name).mkdir()
                options += ["--folder", str(place / name)]
            else:
                port = _free_port()
                ways.append(f"https://127.0.0.1:{port}")
                options += ["--address", f"127.0.0.1:{port}"]
                options += ["--certificate", str(place / f"{name}.pem")]
                options += ["--key", str(place / f"{name}.key")]
                options += ["--authority", str(place / "authority.pem")]
            command = [sys.executable, "-c", SERVE]
            one = subprocess.Popen(
                [*command, str(place / f"{name}.csv"), *options], stderr=subprocess.DEVNULL
            )
            stack.callback(_ended, one)
        yield ways, place


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(10)


def begun(ways: Reached, study: str, seconds: float = 120.0) -> cs.sites.Federation:
    """The study over sites that may still be starting."""
    end = time.monotonic() + seconds
    while True:
        try:
            return cs.sites.federation(ways[0], study=study, secret=ways[1], seconds=seconds)
        except cs.ConsilienceError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
