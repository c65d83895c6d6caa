"""What other processes and the machine do: kills, a full disk, closed pipes, one cache for four.

Each trial starts processes of its own, so there are few. Where something is not allowed (mounting,
another user), the claim is skipped and says so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import consilience as cs
from consilience.data.write import write_rows
from consilience.errors import ConsilienceError
from consilience.files.registry import FORMATS
from torture import ROOT
from torture.harness import Skipped, Topic

SRC = str(Path(cs.__file__).parents[1])
RUN = "import sys; from consilience.cli import main; main(prog_name='consilience')"
KILLS = 10
TIMEOUT = 600


@dataclass(frozen=True)
class Place:
    """A folder with a model and rows of it."""

    seed: int
    folder: Path
    model: Path
    rows: Path


def prepare(seed: int, folder: Path) -> Place:
    """A model of three nodes and 200 rows with gaps."""
    place = Place(seed, folder, folder / "model.json", folder / "rows.csv")
    net = network(seed)
    cs.save(net, place.model)
    table = net.sample(200, seed=seed)
    columns = {
        n: np.where(np.arange(200) % 7 == i, -1, c).astype(c.dtype)
        for i, (n, c) in enumerate(table.columns.items())
    }
    write_rows(cs.Table(table.schema, columns), place.rows)
    return place


def network(seed: int) -> cs.Network:
    """A collider."""
    return cs.random_network(cs.DAG([("a", "c"), ("b", "c")]), n_states=3, seed=seed)


def environment(**more: str) -> dict[str, str]:
    """That of this process, with the package that this process has."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([SRC, str(ROOT)]), **more}


def python(
    code: str, *arguments: str, prefix: Sequence[str] = (), **env: str
) -> subprocess.CompletedProcess[str]:
    """A program that ran to its end."""
    return subprocess.run(
        [*prefix, sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=environment(**env),
        check=False,
    )


def killed_writers(place: Place) -> int:
    """A writer killed at any moment leaves the old file or the new one."""
    done = python(
        "from torture.writer import main; main()", str(place.folder), str(place.seed), str(KILLS)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split()[-1])


@contextlib.contextmanager
def full_disk(folder: Path, old: dict[str, bytes]) -> Iterator[Path]:
    """A disk of 64 KiB with these files and no room for more."""
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        raise Skipped("mounting a small disk is not allowed here")
    try:
        for name, content in old.items():
            (disk / name).write_bytes(content)
        with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 512)
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


OLD = b"the old file\n"
ROW_ENDINGS = (".csv", ".csv.gz", ".parquet")


def full_disk_verbs(place: Place) -> int:
    """A verb that cannot write says which file, and leaves the old one whole."""
    net, table = cs.load(place.model), cs.read(place.rows)
    verbs = {f"m{end}": lambda p: cs.save(net, p) for end in [*FORMATS, ".json.gz"]}
    verbs |= {f"r{end}": lambda p: write_rows(table, p) for end in ROW_ENDINGS}
    with full_disk(place.folder, dict.fromkeys(verbs, OLD)) as disk:
        before = sorted(p.name for p in disk.iterdir())
        for name, verb in verbs.items():
            said = _refusal(lambda verb=verb, name=name: verb(disk / name))
            assert name in said, f"{name} is not named: {said!r}"
            assert (disk / name).read_bytes() == OLD, f"{name} is not what it was"
            assert sorted(p.name for p in disk.iterdir()) == before, "a draft is left"
    return len(verbs)


def _refusal(attempt: Callable[[], None]) -> str:
    """What our error says; nothing if there was none."""
    try:
        attempt()
    except ConsilienceError as error:
        return str(error)
    return ""


def commands(place: Place) -> dict[str, list[str]]:
    """For the name of an output the command that writes it, but for the output's path."""
    model, rows = str(place.model), str(place.rows)
    return {
        "learned.json": ["learn", rows, "--target", "c", "-o"],
        "fused.json": ["fuse", rows, str(shutil.copy(rows, place.folder / "other.csv")), "-o"],
        "predicted.csv": ["predict", model, rows, "--target", "c", "-o"],
        "imputed.parquet": ["impute", model, rows, "-o"],
        "sampled.csv.gz": ["sample", model, "50", "-o"],
        "converted.bif": ["convert", model],
    }


def full_disk_commands(place: Place) -> int:
    """A command on a full disk says in one line which file it could not write."""
    name, arguments = _one(commands(place), place.seed)
    with full_disk(place.folder, {name: OLD}) as disk:
        done = python(RUN, *arguments, str(disk / name))
        assert done.returncode > 0, f"{name}: exit {done.returncode}"
        assert "Traceback" not in done.stderr, f"{name}: {done.stderr[-300:]}"
        assert name in done.stderr, f"{name} is not named: {done.stderr[-300:]}"
        assert (disk / name).read_bytes() == OLD, f"{name} is not what it was"
    return 1


def _one(choices: dict[str, list[str]], seed: int) -> tuple[str, list[str]]:
    """The choice that is due; as many seeds as there are choices try them all."""
    return list(choices.items())[seed % len(choices)]


def talkers(place: Place) -> dict[str, list[str]]:
    """Commands that write to stdout."""
    model, rows = str(place.model), str(place.rows)
    return {
        "query": ["query", model, "c"],
        "json": ["query", model, "c", "--json"],
        "show": ["show", model],
        "sample": ["sample", model, "20000"],
        "predict": ["predict", model, rows, "--target", "c"],
        "help": ["--help"],
    }


def closed_pipes(place: Place) -> int:
    """A reader that goes away early gets no traceback."""
    name, arguments = _one(talkers(place), place.seed)
    with subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as run:
        run.stdout.close()
        _check_quiet(name, run.stderr.read().decode())
    return 1


def full_stdout(place: Place) -> int:
    """A stdout that takes nothing is one line of error, and an exit code that is not zero."""
    if not Path("/dev/full").exists():
        raise Skipped("there is no /dev/full here")
    name, arguments = _one(talkers(place), place.seed)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=TIMEOUT,
            check=False,
        )
    _check_quiet(name, done.stderr.decode())
    assert done.returncode != 0, f"{name}: exit 0 although nothing could be written"
    return 1


def _check_quiet(name: str, said: str) -> None:
    assert "Traceback" not in said, f"{name}: {said[-300:]}"
    assert "Exception ignored" not in said, f"{name}: {said[-300:]}"


ANSWER = """
import sys
import consilience as cs
net = cs.load(sys.argv[1])
ask = {
    "sample": lambda: [*net.sample(100, seed=3).columns.values()],
    "count": lambda: [cs.count(cs.read(sys.argv[2]), [cs.Family("c", ("a", "b"))])[0].table],
    "query": lambda: [net.query("a", {"c": net.variables["c"].states[0]}).values],
}
print(*(array.tobytes().hex() for array in ask[sys.argv[3]]()))
"""


def question(place: Place) -> list[str]:
    """A program that compiles some kernels and prints the bits of its answer."""
    what = ("query", "sample", "count")[place.seed % 3]
    return [sys.executable, "-c", ANSWER, str(place.model), str(place.rows), what]


def one_cache(place: Place) -> int:
    """Four processes that compile into one empty cache at once all answer, with equal bits."""
    cache = place.folder / "cache"
    cache.mkdir()
    runs = [
        subprocess.Popen(
            question(place),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(NUMBA_CACHE_DIR=str(cache)),
        )
        for _ in range(4)
    ]
    answers = [run.communicate(timeout=TIMEOUT) for run in runs]
    for run, (_, said) in zip(runs, answers, strict=True):
        assert run.returncode == 0, said[-500:]
    assert len({answer for answer, _ in answers}) == 1, "the bits differ"
    assert answers[0][0].strip()
    return 4


def read_only_packages(place: Place) -> int:
    """A user who may write nowhere gets the same answer, and nothing is written."""
    prefix = _as_nobody()
    site = place.folder / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(cs.__file__).parent, site / "consilience", ignore=ignored)
    for path in [site, *site.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    place.folder.chmod(0o755)
    before = sorted(str(p) for p in site.rglob("*"))
    try:
        done = subprocess.run(
            [*prefix, *question(place)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(site), "HOME": "/nonexistent"},
            check=False,
        )
        assert done.returncode == 0, done.stderr[-500:]
        assert done.stdout == python(*question(place)[2:]).stdout
        assert sorted(str(p) for p in site.rglob("*")) == before
    finally:
        for path in [site, *site.rglob("*")]:
            path.chmod(0o755)
    return 1


def _as_nobody() -> list[str]:
    """What makes a command run as a user without rights; nothing if this user has none."""
    if os.getuid():
        return []
    if shutil.which("setpriv") is None:
        raise Skipped("setpriv, which runs a command as another user, is not here")
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    tried = subprocess.run([*prefix, sys.executable, "-c", ""], capture_output=True, check=False)
    if tried.returncode:
        raise Skipped("another user may not run this Python here")
    return prefix


TOPICS = [
    Topic("killed", prepare, {"writers": killed_writers}, n_trials=10),
    Topic(
        "full_disk",
        prepare,
        {"verbs": full_disk_verbs, "commands": full_disk_commands},
        n_trials=12,
    ),
    Topic("stdout", prepare, {"closed_pipes": closed_pipes, "full": full_stdout}, n_trials=12),
    Topic("one_cache", prepare, {"four_processes": one_cache}, n_trials=10),
    Topic("read_only", prepare, {"packages": read_only_packages}, n_trials=3),
]
