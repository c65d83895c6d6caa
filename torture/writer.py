"""Writers that are killed at random moments: each is forked, writes again and again, and is killed.

Run as ``main`` of a process of its own, which has no other threads when it forks.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import consilience as cs
from consilience.cli import main as command

WAYS: dict[str, Callable[[Path, Path], None]] = {
    "saved.json": lambda model, out: cs.save(cs.load(model), out),
    "saved.xdsl.gz": lambda model, out: cs.save(cs.load(model), out),
    "converted.bif": lambda model, out: _run("convert", model, out),
    "sampled.csv": lambda model, out: _run("sample", model, 300, "--seed", 1, "-o", out),
    "sampled.parquet": lambda model, out: _run("sample", model, 300, "--seed", 1, "-o", out),
}


def _run(*arguments: object) -> None:
    command([str(one) for one in arguments], standalone_mode=False)


def main() -> None:
    """Kill so many writers of the kind that is due, and print how many were killed."""
    folder, seed, n_kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng, n_done = random.Random(seed), 0
    models = _models(folder, seed)
    name, write = list(WAYS.items())[seed % len(WAYS)]
    allowed = _contents(folder, models, name, write)
    for _ in range(n_kills):
        _kill_one(models, folder / name, write, rng)
        content = (folder / name).read_bytes()
        if content not in allowed:
            sys.exit(f"{name}: a killed writer left {len(content)} bytes that are neither file")
        n_done += 1
    print(n_done)


def _models(folder: Path, seed: int) -> list[Path]:
    """Two models of different size, so that their outputs differ."""
    found = []
    for k in (2, 4):
        found.append(folder / f"model{k}.json")
        dag = cs.DAG([("a", "c"), ("b", "c")])
        cs.save(cs.random_network(dag, n_states=k, seed=seed), found[-1])
    return found


def _contents(
    folder: Path, models: list[Path], name: str, write: Callable[..., None]
) -> list[bytes]:
    """What the file holds after each model was written whole; the last stands there."""
    found = []
    for model in models:
        write(model, folder / name)
        found.append((folder / name).read_bytes())
    assert found[0] != found[1]
    return found


def _kill_one(
    models: list[Path], out: Path, write: Callable[..., None], rng: random.Random
) -> None:
    """A child writes one model after the other until it is killed."""
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        while True:
            for model in models:
                write(model, out)
    time.sleep(rng.uniform(0.001, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
