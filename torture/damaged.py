"""Damaged model and table files: an error of ours or a valid object, in little time and memory."""

from __future__ import annotations

import gzip
import json
import random
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import test_fuzz as texts
import test_fuzz_tables as tables
from file_networks import chain, family

import consilience as cs
from consilience.data.write import write_rows
from consilience.errors import ConsilienceError
from consilience.files.registry import FORMATS
from torture import cases
from torture.harness import Topic

MOST_SECONDS = 5.0
MOST_BYTES = 2**29
"""By which all damaged inputs together may raise the memory of the process."""


@dataclass(frozen=True)
class Damage:
    """A seed and a folder; each claim has its own generator."""

    seed: int
    folder: Path

    def rng(self) -> random.Random:
        """The same accidents for a claim whatever the others do."""
        return random.Random(self.seed)


@cache
def model_texts(extension: str) -> list[str]:
    """Networks of many kinds in one format; JSON has those that only it can keep as well."""
    rng = np.random.default_rng(1)
    nets = [chain(), family(), texts.strange(), texts.tied(cs.HDMCS(s=2.0))]
    nets += [cases.random_network(rng) for _ in range(3)]
    if extension == ".json":
        nets += [texts.tied(cs.HDMJS(s=cs.Gamma(2, 0.5))), texts.tied(cs.HDS())]
    return [FORMATS[extension].write(net) for net in nets]


def bounded(attempt: Callable[[], None]) -> None:
    """One attempt: our error or none, in bounded time and memory."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(ConsilienceError):
        attempt()
    took = time.process_time() - start
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert took < MOST_SECONDS, f"{took:.1f} s"
    assert grown < MOST_BYTES, f"{grown / 2**20:.0f} MiB"


def model_text(case: Damage) -> int:
    """Accidents of an editor: words lost, repeated, moved, replaced."""
    rng = case.rng()
    for extension, form in FORMATS.items():
        text = texts.broken(rng.choice(model_texts(extension)), rng)

        def attempt(form=form, text=text) -> None:
            form.parse(form.write(form.parse(text, "broken")), "again")

        bounded(attempt)
    return len(FORMATS)


def model_values(case: Damage) -> int:
    """Values inside a JSON file replaced by others."""
    rng = case.rng()
    content = json.loads(rng.choice(model_texts(".json")))
    for _ in range(rng.randint(1, 3)):
        texts.spoil(content, rng)
    bounded(lambda: _use(FORMATS[".json"].parse(json.dumps(content), "broken")))
    return 1


def _use(net: cs.Network) -> None:
    """A network that was read answers, and its numbers are finite."""
    for belief in net.marginals().values():
        assert not hasattr(belief, "values") or np.isfinite(belief.values).all()


def model_bytes(case: Damage) -> int:
    """Accidents of a disk: bits flipped, blocks lost, doubled or swapped, packed and not."""
    rng = case.rng()
    for extension in FORMATS:
        for packed in (False, True):
            content = rng.choice(model_texts(extension)).encode(errors="surrogatepass")
            content = spoiled(gzip.compress(content, mtime=0) if packed else content, rng)
            path = case.folder / f"broken{extension}{'.gz' if packed else ''}"
            path.write_bytes(content)
            bounded(lambda path=path: cs.load(path) and None)
    return 2 * len(FORMATS)


def spoiled(content: bytes, rng: random.Random) -> bytes:
    """The bytes after one to three accidents."""
    for _ in range(rng.randint(1, 3)):
        content = rng.choice([flip, swap_blocks, swap_lines, tables.damaged])(content, rng)
    return content


def flip(content: bytes, rng: random.Random) -> bytes:
    """One bit."""
    found = bytearray(content)
    if found:
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def swap_blocks(content: bytes, rng: random.Random) -> bytes:
    """Two neighbouring blocks."""
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def swap_lines(content: bytes, rng: random.Random) -> bytes:
    """Two lines."""
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def table_bytes(case: Damage) -> int:
    """Csv and parquet files, packed and not; what is read has columns of one length."""
    rng = case.rng()
    for name, content in _table_files().items():
        path = case.folder / name
        path.write_bytes(spoiled(content, rng))
        bounded(lambda path=path: cs.read(path).describe() and None)
    return len(_table_files())


@cache
def _table_files() -> dict[str, bytes]:
    return {**tables.KINDS}


def nasty_tables(case: Damage) -> int:
    """Rows with nasty names, written and damaged, read with and without a schema."""
    rng = case.rng()
    table = cases.prepare(case.seed, case.folder).table
    if table.weights is not None and "weight" in {*table.variables, table.source}:
        return 0
    for ending in (".csv", ".csv.gz", ".parquet"):
        path = case.folder / f"rows{ending}"
        write_rows(table, path)
        path.write_bytes(spoiled(path.read_bytes(), rng))
        bounded(lambda path=path: cs.read(path, source=table.source, schema=table.schema) and None)
        bounded(lambda path=path: cs.read(path) and None)
    return 6


CLAIMS = {f.__name__: f for f in (model_text, model_values, model_bytes, table_bytes, nasty_tables)}
TOPIC = Topic("damaged", Damage, CLAIMS, n_trials=1000)
