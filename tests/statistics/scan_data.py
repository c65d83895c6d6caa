"""A small table of three hospitals, and ways to have its rows elsewhere than in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import consilience as cs
from consilience.data.extents import HeldRows
from consilience.data.parts import arrow_part
from consilience.data.write import to_arrow, write_rows
from consilience.statistics.engines.scans import Scan
from consilience.statistics.engines.tasks import Task

SEED = 5


def hospitals(n_rows: int = 600, gaps: float = 0.0, weights: str = "none") -> cs.Table:
    """Rows of a network of six variables in three hospitals that differ in one of them."""
    rng = np.random.default_rng(SEED)
    place = rng.integers(0, 3, n_rows)
    smoke = rng.random(n_rows) < np.array([0.2, 0.5, 0.7])[place]
    lung = rng.random(n_rows) < np.where(smoke, 0.6, 0.1)
    cough = rng.random(n_rows) < np.where(lung, 0.8, 0.2)
    age = rng.integers(0, 4, n_rows)
    xray = np.where(rng.random(n_rows) < 0.9, lung, ~lung)
    tired = (age + cough + (rng.random(n_rows) < 0.3)) // 2
    frame: dict[str, Any] = {
        "smoke": np.where(smoke, "yes", "no"),
        "lung": np.where(lung, "ill", "well"),
        "cough": np.where(cough, "yes", "no"),
        "age": np.array(["child", "young", "old", "very old"])[age],
        "xray": np.where(xray, "dark", "clear"),
        "tired": np.array(["a", "b", "c", "d"])[tired],
    }
    for name in frame:
        column = frame[name].astype(object)
        column[rng.random(n_rows) < gaps] = None
        frame[name] = column
    frame["hospital"] = np.array(["va", "cleveland", "zurich"])[place]
    if weights != "none":
        n = rng.integers(0, 5, n_rows)
        frame["n"] = n if weights == "whole" else n / 4
    return cs.read(frame, source="hospital", weight=None if weights == "none" else "n")


def in_files(table: cs.Table, folder: Path, n_files: int, kind: str = "parquet") -> str:
    """The rows in several files; the glob that names them."""
    folder.mkdir(exist_ok=True)
    for k, rows in enumerate(np.array_split(np.arange(table.n_rows), n_files)):
        write_rows(table.take(rows), folder / f"part-{k:03d}.{kind}")
    return str(folder / f"*.{kind}")


def scanned(data: Any, table: cs.Table, **choices: Any) -> Scan:
    """A scan of rows that :func:`in_files` wrote."""
    weight = None if table.weights is None else "weight"
    return cs.scan(data, source=table.source, weight=weight, **choices)


class Shuffled:
    """A runner whose answers arrive in random order."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def run(self, task: Task[Any], extents: list[Any]) -> Iterator[Any]:
        for k in np.random.default_rng(self._seed).permutation(len(extents)):
            yield task(extents[k])


def in_parts(table: cs.Table, cuts: list[int], runner: Any) -> Scan:
    """The rows in parts that begin at these rows, some of which may be empty."""
    ends = [0, *sorted(cuts), table.n_rows]
    pieces = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    extents = [HeldRows(f"part {k}", arrow_part(to_arrow(one))) for k, one in enumerate(pieces)]
    whole = scanned(to_arrow(table), table, schema=table.schema)
    return Scan(extents, runner, whole._request, schema=table.schema)


def check_bits(rows: Any, table: cs.Table, gappy_rows: Any, gappy: cs.Table) -> None:
    """Counts, graphs with their scores, fitted tables and EM are those of the rows in memory."""
    families = [cs.Family("lung", ("smoke",)), cs.Family("tired", ("age",))]
    for by_source in (False, True):
        found, expected = (cs.count(r, families, by_source=by_source) for r in (rows, table))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.table, other.table)
    climb = cs.HillClimb(tabu=0, restarts=0, max_parents=1)
    for choices in ({"search": cs.GES()}, {"score": cs.BHD(), "search": climb}):
        one, other = (cs.search(r, **choices) for r in (rows, table))
        assert (one.dag, one.score) == (other.dag, other.score)
    assert_same_bits(cs.fit(one.dag, rows, cs.HDMCS()), cs.fit(one.dag, table, cs.HDMCS()))
    check_em(gappy_rows, gappy)


def check_em(rows: Any, table: cs.Table) -> None:
    """EM gives the tables and the log-likelihood of the rows in memory."""
    dag = cs.DAG([("smoke", "lung"), ("lung", "cough"), ("lung", "xray"), ("cough", "tired")])
    one, other = (cs.em(dag, r, cs.Dirichlet(), choice=cs.EM(iterations=3)) for r in (rows, table))
    assert one.log_likelihood == other.log_likelihood
    assert_same_bits(one.network, other.network)


def assert_same_bits(one: cs.Network, other: cs.Network) -> None:
    """Same graph, and tables that are equal to the last bit."""
    assert one.dag == other.dag
    for node in one.dag.nodes:
        np.testing.assert_array_equal(one[node].table, other[node].table, err_msg=node)
