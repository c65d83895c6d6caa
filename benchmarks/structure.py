"""How good are the graphs? Rows of known networks, columns shuffled and renamed at random.

In file order greedy searches look better than they are: ties fall to the first column. Prints,
for each network and contestant, the score above that of the true graph, the structural Hamming
distance between equivalence classes, and CPU seconds; then whether the default search was no worse
than every peer in every run, and whether the search with a budget was better on average.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench import data_dir, peer
from graph_peers import PEERS, shuffled_sample

import consilience as cs


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--networks", default="alarm,insurance,hailfinder,andes")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--seconds", type=float, default=30.0)
    asked = arguments.parse_args()
    contestants: dict[str, Callable[[Any, cs.Table], cs.DAG]] = {
        "cs.learn": lambda _, table: cs.learn(table),
        f"cs.learn {asked.seconds:g} s": lambda _, table: cs.learn(table, seconds=asked.seconds),
        **{name: climb for name, (module, climb) in PEERS.items() if peer(module) is not None},
    }
    for network in asked.networks.split(","):
        net = cs.load(data_dir() / "networks" / f"{network}.bif")
        runs = {name: [] for name in contestants}
        for seed in range(1, asked.seeds + 1):
            frame, table, truth = shuffled_sample(net, asked.rows, seed)
            best = cs.score(truth, table, cs.BIC())
            for name, climb in contestants.items():
                start = time.process_time()
                dag = climb(frame, table)
                seconds = time.process_time() - start
                gain = cs.score(dag, table, cs.BIC()) - best
                runs[name].append((gain, cs.shd(dag, truth), seconds))
        _show(network, {name: np.array(found) for name, found in runs.items()})


def _show(network: str, runs: dict[str, Any]) -> None:
    print(f"\n{network}: score above the true graph's (each run), mean SHD, mean CPU seconds")
    for name, found in runs.items():
        gains = " ".join(f"{gain:+8.1f}" for gain in found[:, 0])
        print(
            f"  {name:<16} {gains}   mean {found[:, 0].mean():+8.1f}   "
            f"SHD {found[:, 1].mean():5.1f}   CPU {found[:, 2].mean():7.2f} s"
        )
    ours, patient, *others = runs.values()
    if others:
        worst = min((ours[:, 0] - other[:, 0]).min() for other in others)
        lead = patient[:, 0].mean() - max(other[:, 0].mean() for other in others)
        closer = min(other[:, 1].mean() for other in others) - patient[:, 1].mean()
        print(f"  default against the best peer, worst run: {worst:+.1f}")
        print(f"  with a budget, means: score {lead:+.1f}, SHD closer by {closer:.1f}", flush=True)


if __name__ == "__main__":
    main()
