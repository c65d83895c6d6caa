"""Engines: rows on disk, mapped, in SQL and on clusters, beside the same rows in memory.

Rows are drawn from the alarm network and written to 20 parquet files with page checksums. Each
measurement runs in a process of its own, one thread, and tells CPU seconds and the growth of its
private memory (``RssAnon``: mapped pages are the system's to drop).

    CONSILIENCE_DATA=... python benchmarks/engines.py [--rows 20000000] [--folder DIR] [--only NAME]
    ... --only dask, --only spark, --only kills-dask, --only kills-spark: clusters of this machine
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as arrow_parquet
from bench import Watch, data_dir, peer, private

import consilience as cs
from consilience.data.extents import extents_of
from consilience.data.text_content import TextForm
from consilience.data.write import to_arrow
from consilience.statistics.engines import Memory
from consilience.statistics.engines.ledger import Returned, schema_hash
from consilience.statistics.request import CountRequest
from consilience.statistics.toggles import ToggleRequest, ToggleRequests

N_FILES = 20
N_TRIPLES = 34
ALONE = (
    *("sketch", "read", "triples-parquet", "pairs-parquet", "first-parquet", "store"),
    *("triples-store", "pairs-store", "first-store", "ges-parquet", "ges-store", "ges-memory"),
    *("duckdb", "duckdb-sets"),
)
MARK = "CONSILIENCE_BENCHMARK"
CLUSTERS = ("dask", "spark", "kills-dask", "kills-spark")


def main() -> None:
    arguments = _arguments()
    folder = Path(arguments.folder)
    if arguments.alone:
        _measured(arguments.alone, folder)
        return
    make_files(folder, arguments.rows)
    chosen = [arguments.only] if arguments.only else ALONE
    found = {}
    for name in chosen:
        if name in CLUSTERS:
            CLUSTER_RUNS[name](folder)
        else:
            found[name] = _in_process(name, folder, arguments.rows)
    if not arguments.only:
        judge(found)


def _arguments() -> Any:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", default="/tmp/consilience-engines")
    parser.add_argument("--only", choices=[*ALONE, *CLUSTERS])
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    return parser.parse_args()


def make_files(folder: Path, n_rows: int) -> None:
    """The rows in files, made by the library's own sampler, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    for k in range(N_FILES):
        path = folder / f"part-{k:02d}.parquet"
        if not path.exists() or arrow_parquet.read_metadata(path).num_rows != n_rows // N_FILES:
            rows = to_arrow(net.sample(n_rows // N_FILES, seed=k + 1))
            arrow_parquet.write_table(rows, path, compression="zstd", write_page_checksum=True)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    print(f"alarm, {n_rows:,} rows x 37 in {N_FILES} parquet files, {size / 1e6:.0f} MB")


def _in_process(name: str, folder: Path, n_rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--alone", name, "--folder", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        print(f"  {name:16} failed: {ran.stderr.strip().splitlines()[-1]}")
        return {}
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    per = ""
    if found.get("families"):
        found["ns"] = 1e9 * found["cpu"] / n_rows / found["families"]
        per = f"{found['ns']:8.3f} ns per row and family ({found['families']:.0f})"
    score = f"score {found['score']!r}" if "score" in found else ""
    if found.get("passes"):
        score += f" in {found['passes']:.0f} passes"
    print(
        f"  {name:16} {found['cpu']:7.2f} s CPU, {found['private']:5.0f} MB private  {per}{score}"
    )
    return found


def _measured(name: str, folder: Path) -> None:
    """Do one thing and print what it took."""
    prepared = WORK[name](folder)
    before, watch = private(), Watch()
    start = time.process_time()
    with watch:
        found = prepared()
    found["cpu"] = time.process_time() - start
    found["private"] = (watch.most - before) / 1e6
    print(json.dumps(found))


def _scan(folder: Path) -> Any:
    """The files with a schema that is known, read by one thread."""
    schema = cs.load(data_dir() / "networks" / "alarm.bif").variables
    return cs.scan(str(folder / "*.parquet"), schema=schema, engine=cs.engines.Threads(1))


def _stored(folder: Path) -> Memory:
    memory = cs.scan(folder / "alarm.store").mapped
    assert memory is not None
    return memory


def _triples(names: list[str]) -> list[cs.Family]:
    rng = np.random.default_rng(1)
    chosen = [list(map(str, rng.choice(names, 3, replace=False))) for _ in range(N_TRIPLES)]
    return [cs.Family(child, tuple(parents)) for child, *parents in chosen]


def _pairs(names: list[str]) -> list[cs.Family]:
    return [cs.Family(a, (b,)) for a, b in itertools.combinations(names, 2)]


def _first(names: list[str]) -> ToggleRequests:
    """What a search asks for first: each variable alone and with each other one."""
    return ToggleRequests(
        tuple(
            ToggleRequest(cs.Family(child), tuple(n for n in names if n != child))
            for child in names
        )
    )


def _counts(rows: Callable[[Path], Any], families: Callable[[list[str]], Any]) -> Any:
    def prepare(folder: Path) -> Callable[[], dict[str, float]]:
        held = rows(folder)
        asked = families(list(held.schema.variables))
        net = cs.load(data_dir() / "networks" / "alarm.bif")
        warm = Memory(net.sample(2000, seed=1), threads=1)
        is_request = isinstance(asked, ToggleRequests)
        run = (lambda r: r.gather(asked)) if is_request else (lambda r: cs.count(r, asked))
        run(warm)
        n = len(asked.requests) ** 2 if is_request else len(asked)
        return lambda: (run(held), {"families": n})[1]

    return prepare


def _sketching(folder: Path) -> Callable[[], dict[str, float]]:
    return lambda: {
        "n_rows": cs.scan(str(folder / "*.parquet"), engine=cs.engines.Threads(1)).n_rows
    }


def _reading(folder: Path) -> Callable[[], dict[str, float]]:
    rows = _scan(folder)
    return lambda: {"n_rows": sum(table.n_rows for table in rows.tables())}


def _storing(folder: Path) -> Callable[[], dict[str, float]]:
    shutil.rmtree(folder / "alarm.store", ignore_errors=True)
    rows = _scan(folder)
    return lambda: {"n_rows": cs.store(rows, folder / "alarm.store").n_rows}


def _searching(rows: Callable[[Path], Any]) -> Any:
    def prepare(folder: Path) -> Callable[[], dict[str, float]]:
        net = cs.load(data_dir() / "networks" / "alarm.bif")
        cs.search(Memory(net.sample(40_000, seed=1), threads=1), search=cs.GES())

        def run() -> dict[str, float]:
            story = cs.search(rows(folder), search=cs.GES())
            return {"score": story.score, "passes": story.passes}

        return run

    return prepare


def _in_memory(folder: Path) -> Memory:
    """A table in memory; its reading is not part of the search."""
    return _HELD[folder]


def _searching_memory(folder: Path) -> Callable[[], dict[str, float]]:
    prepared = _searching(_in_memory)(folder)
    _HELD[folder] = Memory(_scan(folder).to_table(memory_limit=2**34), threads=1)
    return prepared


_HELD: dict[Path, Memory] = {}


def _duckdb(text: Callable[[list[cs.Family]], list[str]]) -> Any:
    def prepare(folder: Path) -> Callable[[], dict[str, float]]:
        duckdb = peer("duckdb")
        names = list(_scan(folder).schema.variables)
        families = _triples(names)[:8]
        connection = duckdb.connect(config={"threads": 1})
        connection.execute(f"CREATE VIEW rows AS SELECT * FROM '{folder}/*.parquet'")

        def run() -> dict[str, float]:
            for statement in text(families):
                connection.execute(statement).fetchall()
            return {"families": len(families)}

        return run

    return prepare


def _listed(family: cs.Family) -> str:
    return ", ".join(f'"{name}"' for name in family.variables)


def _each(families: list[cs.Family]) -> list[str]:
    return [f"SELECT {_listed(f)}, COUNT(*) FROM rows GROUP BY {_listed(f)}" for f in families]


def _together(families: list[cs.Family]) -> list[str]:
    names = ", ".join(sorted({f'"{name}"' for family in families for name in family.variables}))
    sets = ", ".join(f"({_listed(family)})" for family in families)
    return [f"SELECT {names}, COUNT(*) FROM rows GROUP BY GROUPING SETS ({sets})"]


WORK: dict[str, Callable[[Path], Callable[[], dict[str, float]]]] = {
    "sketch": _sketching,
    "read": _reading,
    "triples-parquet": _counts(_scan, _triples),
    "pairs-parquet": _counts(_scan, _pairs),
    "first-parquet": _counts(_scan, _first),
    "store": _storing,
    "triples-store": _counts(_stored, _triples),
    "pairs-store": _counts(_stored, _pairs),
    "first-store": _counts(_stored, _first),
    "ges-parquet": _searching(_scan),
    "ges-store": _searching(_stored),
    "ges-memory": _searching_memory,
    "duckdb": _duckdb(_each),
    "duckdb-sets": _duckdb(_together),
}


def judge(found: dict[str, dict[str, float]]) -> None:
    """The ratios that are promised."""
    ns = {name: one["ns"] for name, one in found.items() if "ns" in one}
    print("\nratios")
    if {"duckdb", "triples-store", "first-parquet"} <= ns.keys():
        print(f"  store, triples: {ns['duckdb'] / ns['triples-store']:.1f} x duckdb")
        print(f"  parquet, first request: {ns['duckdb'] / ns['first-parquet']:.1f} x duckdb")
    if found.get("ges-store") and found.get("ges-memory"):
        store, memory = found["ges-store"], found["ges-memory"]
        print(f"  GES, store / memory: {store['cpu'] / memory['cpu']:.2f}, "
              f"same score: {store['score'] == memory['score']}")  # fmt: skip
    if found.get("ges-parquet") and found.get("ges-memory") and found.get("read"):
        files, memory = found["ges-parquet"], found["ges-memory"]
        reading = found["read"]["cpu"] * files["passes"]
        print(f"  GES, parquet / reading as often: {files['cpu'] / reading:.2f}, "
              f"same score: {files['score'] == memory['score']}")  # fmt: skip


def dask(folder: Path) -> None:
    """Overhead of a request of 16 parts on a warm local cluster."""
    distributed = peer("distributed")
    if distributed is None:
        return
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        _overhead("Dask", folder, cs.engines.Dask(client))


def spark(folder: Path) -> None:
    """The same on Spark."""
    session = _session()
    if session is not None:
        _overhead("Spark", folder, cs.engines.Spark(session))
        session.stop()


def _session() -> Any:
    if peer("pyspark") is None:
        return None
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, MARK: str(os.getpid())}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.log.level", "OFF").getOrCreate()


def _sixteen_files(folder: Path) -> list[str]:
    return sorted(map(str, folder.glob("*.parquet")))[:16]


def _sixteen(folder: Path, engine: Any) -> Any:
    schema = cs.load(data_dir() / "networks" / "alarm.bif").variables
    return cs.scan(_sixteen_files(folder), schema=schema, engine=engine)


def _overhead(name: str, folder: Path, engine: Any) -> None:
    rows = _sixteen(folder, engine)
    families = _triples(list(rows.variables))
    for _ in range(3):
        start = time.perf_counter()
        cs.count(rows, families)
        print(
            f"  {name}: {N_TRIPLES} families over 16 parts {time.perf_counter() - start:.2f} s wall"
        )
    parts = extents_of(_sixteen_files(folder), TextForm())
    idle = _Idle(CountRequest(tuple(families)), rows.schema)
    times = []
    for _ in range(10):
        start, cpu = time.perf_counter(), time.process_time()
        assert len(list(engine.run(idle, parts))) == 16
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    wall, cpu = 1e3 * np.median(times, axis=0)
    print(f"  {name}: 16 parts of no work {wall:.0f} ms wall, {cpu:.0f} ms CPU here (median of 10)")


@dataclass(frozen=True)
class _Idle:
    """The same request and an answer of the same size, but no rows are read."""

    request: CountRequest
    schema: cs.Schema

    def __call__(self, extent: Any) -> Any:
        nothing = self.request.empty(self.schema)
        return Returned(frozenset({extent.id}), 0, schema_hash(self.schema), nothing)


def kills_dask(folder: Path) -> None:
    """A worker killed at a random time, 20 runs: exact, or an error that names the part."""
    distributed = peer("distributed")
    if distributed is None:
        return
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def victims() -> list[int]:
            return [nanny.pid for nanny in cluster.workers.values() if nanny.pid]

        _kills("Dask", 20, _sixteen(folder, cs.engines.Dask(client)), victims)


def kills_spark(folder: Path) -> None:
    """The same on Spark, 5 runs."""
    session = _session()
    if session is None:
        return

    def victims() -> list[int]:
        return [pid for pid, said in _started() if "pyspark" in said and "java" not in said]

    _kills("Spark", 5, _sixteen(folder, cs.engines.Spark(session)), victims)
    session.stop()


def _started() -> list[tuple[int, str]]:
    """The processes that have inherited this one's mark: number and command.

    Not those below it: workers whose own parent was killed go on working.
    """
    mark, found = f"{MARK}={os.getpid()}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or not ours to read
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                said = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append((int(folder.name), said))
    return found


def _kills(name: str, n_runs: int, rows: Any, victims: Callable[[], list[int]]) -> None:
    families = _triples(list(rows.variables))
    expected = [one.table for one in cs.count(rows, families)]
    start = time.perf_counter()
    cs.count(rows, families)
    usual = time.perf_counter() - start
    rng = np.random.default_rng(1)
    found: Counter[str] = Counter()
    while found["killed"] < n_runs:
        hit: list[int] = []
        is_over = threading.Event()
        killer = threading.Timer(float(rng.random()) * usual, _kill, [victims, rng, hit, is_over])
        start = time.perf_counter()
        killer.start()
        outcome = _outcome(rows, families, expected)
        took = time.perf_counter() - start
        is_over.set()
        killer.join()
        if hit or outcome == "wrong":  # else it was over before a worker could be killed
            found.update(["killed", outcome])
            told = ", ".join(f"{k} {n}" for k, n in found.items())
            print(f"  {name}: {took:5.1f} s ({usual:.1f} undisturbed); {told}", flush=True)


def _outcome(rows: Any, families: list[cs.Family], expected: list[Any]) -> str:
    try:
        found = [one.table for one in cs.count(rows, families)]
    except cs.ConsilienceError as problem:
        return "named" if "part" in problem.culprits else "an error that names no part"
    return "exact" if all(map(np.array_equal, found, expected)) else "wrong"


def _kill(
    victims: Callable[[], list[int]], rng: Any, hit: list[int], is_over: threading.Event
) -> None:
    """Kill one of the workers that there are; one may be about to start."""
    while not hit and not is_over.is_set():
        with suppress(ProcessLookupError, ValueError):  # gone already, or none is there
            chosen = int(rng.choice(victims()))
            os.kill(chosen, signal.SIGKILL)
            hit.append(chosen)
        time.sleep(0.05)


CLUSTER_RUNS: dict[str, Callable[[Path], None]] = {
    "dask": dask,
    "spark": spark,
    "kills-dask": kills_dask,
    "kills-spark": kills_spark,
}

if __name__ == "__main__":
    main()
