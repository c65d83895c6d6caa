"""Passes over rows that are not in memory: searches that look ahead beside plain ones, and EM.

(a) alarm and insurance: passes, families, CPU of counting and of everything, and whether graph and
    score have the bits of the plain search. The rows are in memory but asked like dear ones, so the
    CPU of a pass is that of its counting.
(b) GES straight from parquet files: passes, peak memory beyond imports, CPU, and the score in
    memory to the last bit.
(c) EM on alarm with 10 % missing, in memory and in parts: CPU for each row and step, the bits,
    and the private memory from few files and from many.

    CONSILIENCE_DATA=... python benchmarks/passes.py [rows] [cases, such as ac] [parts]
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from bench import Watch, data_dir, private

import consilience as cs
from consilience.inference.case_requests import CasesRequest, prepared
from consilience.statistics.engines import Batches, Memory
from consilience.statistics.request import Answer, Request

SEARCHES = {
    "GES()": cs.GES(),
    "HillClimb(tabu=0, restarts=0)": cs.HillClimb(tabu=0, restarts=0),
    "HillClimb(tabu=10, restarts=5)": cs.HillClimb(tabu=10, restarts=5),
    "the default": None,
    "HillClimb()": cs.HillClimb(),
}

ROWS_PER_PART = 131_072


class Plain:
    """Rows in memory, whose requests and their CPU are counted."""

    def __init__(self, table: cs.Table) -> None:
        self.memory, self.schema = Memory(table, threads=1), table.schema
        self.n_requests, self.seconds = 0, 0.0

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        self.n_requests += 1
        start = time.process_time()
        answer = self.memory.gather(request)
        self.seconds += time.process_time() - start
        return answer


class Dear(Plain):
    """The same rows, asked as if each request were dear."""

    def scout(self) -> cs.Table:
        """A sample of the rows."""
        return Batches(self.schema, [self.memory.table]).scout()


@dataclass(frozen=True)
class Files:
    """Tables read from parquet files part by part; starts anew when it is iterated over."""

    paths: tuple[Path, ...]
    schema: cs.Schema

    def __iter__(self) -> Iterator[cs.Table]:
        for path in self.paths:
            file = pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
            for batch in file.iter_batches(ROWS_PER_PART):
                yield cs.read(batch, schema=self.schema.variables)


def passes(name: str, n_rows: int) -> None:
    """Print one line for each search."""
    table = cs.load(data_dir() / "networks" / f"{name}.bif").sample(n_rows, seed=1)
    print(f"\n{name}, {n_rows:,} rows: plain | look ahead")
    for text, search in SEARCHES.items():
        plain, dear = Plain(table), Dear(table)
        seconds = [time.process_time()]
        one = cs.search(plain, search=search)
        seconds.append(time.process_time())
        two = cs.search(dear, search=search)
        seconds.append(time.process_time())
        whole = np.diff(seconds)
        same = one.dag == two.dag and one.score == two.score and one.trace == two.trace
        print(
            f"{text:31} {plain.n_requests:4} passes {one.n_scored:6} families {plain.seconds:6.2f} "
            f"of {whole[0]:6.2f} s | {two.passes:2} passes {two.plays:2} plays {two.n_fetched:6} "
            f"families {dear.seconds:6.2f} of {whole[1]:6.2f} s | counting x "
            f"{dear.seconds / plain.seconds:.2f} | {'same bits' if same else 'DIFFERENT'}",
            flush=True,
        )


def from_parquet(n_rows: int, folder: Path) -> None:
    """GES from files, and in memory."""
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    paths, schema = [], None
    for k in range(20):
        part = net.sample(n_rows // 20, seed=k)
        schema = part.schema
        path = folder / f"{k:02}.parquet"
        part.to_frame().to_parquet(path, write_page_checksum=True, compression="zstd")
        paths.append(path)
    assert schema is not None
    files = Files(tuple(paths), schema)
    before, start = _peak(), time.process_time()
    n_read = sum(part.n_rows for part in files)
    reading = time.process_time() - start
    start = time.process_time()
    found = cs.search(Batches(schema, files), search=cs.GES())
    seconds, peak = time.process_time() - start, _peak() - before
    print(
        f"\nGES from parquet, {n_read:,} rows: {found.passes} passes, {seconds:.1f} s CPU, reading "
        f"{reading:.1f} s a pass (x {seconds / reading / found.passes:.2f}), peak {peak:.0f} MB",
        flush=True,
    )
    whole = cs.read(paths, schema=schema.variables)
    plain = cs.search(whole, search=cs.GES())
    print(f"in memory the same score to the last bit: {plain.score == found.score}")


def em(n_rows: int, n_parts: int, folder: Path) -> None:
    """EM in memory and in parts, and the memory that it takes from files of few and many parts."""
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    full, rng = net.sample(n_rows, seed=1), np.random.default_rng(0)
    columns = {
        name: np.where(rng.random(n_rows) < 0.1, -1, column).astype(column.dtype)
        for name, column in full.columns.items()
    }
    table = cs.Table(full.schema, columns)
    ways = {"in memory": table, f"{n_parts} parts": Batches(table.schema, _cut(table, n_parts))}
    cs.em(net.dag, table.take(slice(0, 1000)), cs.Dirichlet())  # compiles
    found = {}
    for text, rows in ways.items():
        request = CasesRequest(net)
        start = time.process_time()
        cases = prepared(Memory(rows) if isinstance(rows, cs.Table) else rows, request)
        preparing = time.process_time() - start
        steps = [_seconds(lambda cases=cases: cases.expected(net)) for _ in range(20)]
        runs = [_em(net.dag, rows, 102) for _ in range(3)]
        found[text] = runs[0][1]
        whole = min(seconds for seconds, _ in runs)
        print(
            f"EM {text:10}: {1e9 * float(np.median(steps)) / n_rows:7.1f} ns per row and step, "
            f"preparation {preparing:.2f} s; until it converges {whole:.2f} s (least of 3)",
            flush=True,
        )
    one, two = found.values()
    tables = ((one.network[n].table, two.network[n].table) for n in net.variables)
    is_same = one.log_likelihood == two.log_likelihood and all((a == b).all() for a, b in tables)
    print(f"same bits: {is_same}")
    for n in (n_parts, 8 * n_parts):
        _em_from_files(net, table, n, folder / str(n))


def _cut(table: cs.Table, n_parts: int) -> list[cs.Table]:
    ends = np.linspace(0, table.n_rows, n_parts + 1).astype(int)
    return [table.take(slice(a, b)) for a, b in pairwise(ends)]


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _em(dag: cs.DAG, rows: Any, iterations: int) -> tuple[float, Any]:
    """CPU seconds and the record; it may converge before so many iterations."""
    how = cs.EM(iterations=iterations, tolerance=1e-300, accelerate=False)
    start = time.process_time()
    found = cs.em(dag, rows, cs.Dirichlet(), choice=how)
    return time.process_time() - start, found


def _em_from_files(net: cs.Network, table: cs.Table, n_parts: int, folder: Path) -> None:
    folder.mkdir()
    for k, part in enumerate(_cut(table, n_parts)):
        cs.data.write_rows(part, folder / f"{k:03}.parquet")
    engine = cs.engines.Threads(1)
    rows = cs.scan(folder, schema=table.schema, engine=engine)
    before, watch = private(), Watch()
    with watch:
        seconds, _ = _em(net.dag, rows, 2)
    growth = (watch.most - before) / 1e6
    print(f"EM from {n_parts} files: {seconds:.2f} s CPU, {growth:.0f} MB of private memory more")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run what was asked for."""
    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    cases = sys.argv[2] if len(sys.argv) > 2 else "abc"
    n_parts = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    if "a" in cases:
        for name in ("alarm", "insurance"):
            passes(name, n_rows)
    if "b" in cases:
        with tempfile.TemporaryDirectory() as folder:
            from_parquet(n_rows, Path(folder))
    if "c" in cases:
        with tempfile.TemporaryDirectory() as folder:
            em(n_rows, n_parts, Path(folder))


if __name__ == "__main__":
    main()
