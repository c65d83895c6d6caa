"""Counting: one family extended by each of many candidate parents, and all pairs.

Rows are drawn from the alarm network. Peers get what they need outside the clock: NumPy the
joint code of the common part, pandas and duckdb a frame with categorical or integer columns.

    CONSILIENCE_DATA=... python benchmarks/counting.py [rows]
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
from bench import data_dir, measure, peer, show

import consilience as cs
from consilience.statistics.engines import Memory


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = cs.load(data_dir() / "networks" / "alarm.bif").sample(n_rows, seed=1)
    print(f"alarm, {n_rows:,} rows")
    extensions(table)
    pairs(table)


def extensions(table: cs.Table) -> None:
    rng = np.random.default_rng(20)
    one, two = Memory(table, threads=1), Memory(table, threads=2)
    names = list(table.variables)
    cs.count(
        one, [cs.Family(a, (b,)) for a, b in itertools.combinations(names, 2)]
    )  # packs bitmaps
    cs.count(two, [cs.Family(a, (b,)) for a, b in itertools.combinations(names, 2)])
    pandas_frame, duckdb_query = pandas_peer(table), duckdb_peer(table)
    print("\none family extended by each of the others: CPU ms, best peer / ours")
    ratios = []
    for _ in range(20):
        child, *parents = map(str, rng.choice(names, 3, replace=False))
        asked = [cs.Family(child, (*parents, o)) for o in names if o not in (child, *parents)]
        peers = peer_times(table, asked, pandas_frame, duckdb_query)
        ratios.append(one_request(one, two, asked, peers))
    print(f"  median {np.median(ratios):.1f} x, least {min(ratios):.1f} x")


def peer_times(
    table: cs.Table, asked: list[cs.Family], pandas_frame: Any, duckdb_query: Any
) -> dict[str, float]:
    child, parents = asked[0].child, list(asked[0].parents[:-1])
    others = [family.parents[-1] for family in asked]
    code = joint_code(table, [*parents, child])
    peers = {"bincount": measure(lambda: bincounts(table, code, child, parents, others), 3)[0]}
    few, scale = others[:2], len(others) / 2  # the slow peers answer two and are scaled
    if pandas_frame is not None:
        seconds = measure(lambda: grouped(pandas_frame, child, parents, few), 1)[0]
        peers["pandas"] = scale * seconds
    if duckdb_query is not None:
        seconds = measure(lambda: duckdb_query(child, parents, few), 1)[0]
        peers["duckdb"] = scale * seconds
    return peers


def one_request(one: Memory, two: Memory, asked: list[cs.Family], peers: dict[str, float]) -> float:
    ours = measure(lambda: cs.count(one, asked))[0]
    threads = measure(lambda: cs.count(two, asked))[1]
    best = min(peers.values())
    names = (asked[0].child, *asked[0].parents[:-1])
    cells = np.prod([one.schema[name].n_states for name in names])
    told = "  ".join(f"{name} {1e3 * seconds:8.1f}" for name, seconds in peers.items())
    print(
        f"  {cells:3d} cells  ours {1e3 * ours:6.2f}  (2 threads, wall {1e3 * threads:6.2f})  "
        f"{told}  {best / ours:5.1f} x"
    )
    return best / ours


def bincounts(
    table: cs.Table, code: np.ndarray, child: str, parents: list[str], others: list[str]
) -> list[np.ndarray]:
    size = int(np.prod([table.variables[v].n_states for v in (child, *parents)]))
    answer = []
    for other in others:
        r = table.variables[other].n_states
        answer.append(np.bincount(code * r + table.columns[other], minlength=size * r))
    return answer


def joint_code(table: cs.Table, names: list[str]) -> np.ndarray:
    code = np.zeros(table.n_rows, np.int64)
    for name in names:
        code = code * table.variables[name].n_states + table.columns[name]
    return code


def pandas_peer(table: cs.Table) -> Any:
    return None if peer("pandas") is None else table.to_frame()


def grouped(frame: Any, child: str, parents: list[str], others: list[str]) -> list[Any]:
    return [
        frame.groupby([*parents, other, child], observed=False, sort=False).size()
        for other in others
    ]


def duckdb_peer(table: cs.Table) -> Any:
    duckdb = peer("duckdb")
    if duckdb is None or peer("pandas") is None:
        return None
    import pandas as pd

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    codes = pd.DataFrame({name: np.asarray(column) for name, column in table.columns.items()})
    connection.register("codes", codes)
    connection.execute("CREATE TABLE rows AS SELECT * FROM codes")

    def query(child: str, parents: list[str], others: list[str]) -> list[Any]:
        answers = []
        for other in others:
            columns = ", ".join(f'"{name}"' for name in (*parents, other, child))
            sql = f"SELECT {columns}, count(*) FROM rows GROUP BY {columns}"
            answers.append(connection.execute(sql).fetchall())
        return answers

    return query


def pairs(table: cs.Table) -> None:
    asked = [cs.Family(a, (b,)) for a, b in itertools.combinations(table.variables, 2)]
    warm = Memory(table, threads=1)
    both = Memory(table, threads=2)
    blocks = [
        (np.asarray(column)[:, None] == np.arange(table.variables[name].n_states)).astype(
            np.float32
        )
        for name, column in table.columns.items()
    ]
    one_hot = np.concatenate(blocks, axis=1)
    rows = {
        "ours, bitmaps made anew": measure(lambda: cs.count(Memory(table, threads=1), asked)),
        "ours": measure(lambda: cs.count(warm, asked)),
        "ours, 2 threads": measure(lambda: cs.count(both, asked)),
        "one-hot matrix product": measure(lambda: one_hot.T @ one_hot),
    }
    show(f"all {len(asked)} pairs", rows, "ours")


if __name__ == "__main__":
    main()
