"""How fast is hill climbing? BIC, one thread, CPU seconds, the peers in the same run.

Columns are shuffled and renamed. A faster search that ends lower is no gain, so final scores are
printed as differences to the best peer's. Last come the growth with rows and with variables.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from bench import data_dir, peer
from graph_peers import PEERS, shuffled_sample

import consilience as cs
from consilience.statistics.engines.memory import Memory

CASES = (
    ("alarm", 10_000),
    ("alarm", 100_000),
    ("alarm", 1_000_000),
    ("insurance", 100_000),
    ("hailfinder", 100_000),
    ("andes", 10_000),
)
SEARCHES = {
    "HillClimb(0, 0)": cs.HillClimb(tabu=0, restarts=0),
    "HillClimb(10, 0)": cs.HillClimb(tabu=10, restarts=0),
    "HillClimb(0, 3)": cs.HillClimb(tabu=0, restarts=3),
    "HillClimb()": cs.HillClimb(),
}
"""tabu, restarts: the first optimum; with a tabu list; with a few restarts; the default."""

SLOWEST_PEER_ROWS = 200_000
"""pyAgrum and bnlearn-port are left out above this many rows: minutes, and never the fastest."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cases", default="", help="such as alarm:10000,andes:10000")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--peers", default=",".join(PEERS))
    asked = arguments.parse_args()
    wanted = [c.split(":") for c in asked.cases.split(",") if c]
    cases = [(name, int(rows)) for name, rows in wanted] or CASES
    contestants = [p for p in asked.peers.split(",") if p and peer(PEERS[p][0]) is not None]
    for name, n_rows in cases:
        net = cs.load(data_dir() / "networks" / f"{name}.bif")
        frame, table, _ = shuffled_sample(net, n_rows, asked.seed)
        compare(f"{name}, {n_rows:,} rows", frame, table, contestants)
    if not wanted:
        grow()


def compare(title: str, frame: Any, table: cs.Table, contestants: list[str]) -> None:
    found = {}
    for label, search in SEARCHES.items():
        found[label] = timed(
            lambda s=search: cs.learn(Memory(table, threads=1), search=s), repeats=3
        )
    for label in contestants:
        if label == "PyBNesian" or table.n_rows < SLOWEST_PEER_ROWS:
            climb = PEERS[label][1]
            found[label] = timed(lambda c=climb: c(frame, table), repeats=1)
    scores = {label: cs.score(dag, table, cs.BIC()) for label, (_, dag) in found.items()}
    others = [label for label in found if label not in SEARCHES]
    fastest = min((found[label][0] for label in others), default=np.nan)
    best = max((scores[label] for label in others), default=np.nan)
    print(f"\n{title}: CPU seconds, times faster than the fastest peer, score less the best peer's")
    for label, (seconds, _) in found.items():
        lead = scores[label] - best
        print(
            f"  {label:<18} {seconds:9.4f} s   {fastest / seconds:6.1f} x   {lead:+10.1f}",
            flush=True,
        )


def timed(work: Any, repeats: int) -> tuple[float, cs.DAG]:
    """Median CPU seconds and the graph; compiled code is warm."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        dag = work()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), dag


def grow() -> None:
    """CPU seconds to the first optimum for random networks of more and more variables."""
    print("\ngrowth with variables, 10,000 rows, three states, two parents on average")
    for n in (200, 500, 1000):
        rng = np.random.default_rng(n)
        dag = cs.random_dag([f"v{i:04d}" for i in range(n)], n_arcs=2 * n, max_parents=4, seed=rng)
        table = cs.random_network(dag, n_states=3, seed=rng).sample(10_000, seed=rng)
        for label, search in list(SEARCHES.items())[:3]:
            rows = Memory(table, threads=1)
            seconds, found = timed(lambda r=rows, s=search: cs.learn(r, search=s), 1)
            close = cs.shd(found, dag)
            print(f"  {n:5} variables  {label:<18} {seconds:8.2f} s   SHD {close}", flush=True)


if __name__ == "__main__":
    main()
