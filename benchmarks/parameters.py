"""Parameters: maximum likelihood for the alarm network, beside the peers.

Everyone starts from the rows as the library itself holds them: ours a table, the others a pandas
frame of categoricals. Ours makes its bitmaps inside the clock.

    CONSILIENCE_DATA=... python benchmarks/parameters.py [rows]
"""

from __future__ import annotations

import sys
from typing import Any

from bench import Timing, data_dir, frame_of, measure, peer, show

import consilience as cs
from consilience.statistics.engines import Memory


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    path = data_dir() / "networks" / "alarm.bif"
    net = cs.load(path)
    table = net.sample(n_rows, seed=1)
    ours = "consilience, 1 thread"
    rows: dict[str, Timing] = {
        ours: measure(lambda: cs.fit(net.dag, Memory(table, threads=1), cs.MLE())),
        "consilience, 2 threads": measure(
            lambda: cs.fit(net.dag, Memory(table, threads=2), cs.MLE())
        ),
    }
    if peer("pandas") is not None:
        frame = frame_of(table)
        for name, contest in PEERS.items():
            timing = contest(net, frame)
            if timing is not None:
                rows[name] = timing
    show(f"maximum likelihood, alarm, {n_rows:,} rows", rows, ours)
    peers = [cpu for name, (cpu, _) in rows.items() if "consilience" not in name]
    if peers:
        print(f"  fastest peer / ours: {min(peers) / rows[ours][0]:.1f} x")


def pybnesian(net: cs.Network, frame: Any) -> Timing | None:
    pbn = peer("pybnesian")
    if pbn is None:
        return None

    def fit() -> None:
        pbn.DiscreteBN(list(net.dag.nodes), list(net.dag.arcs)).fit(frame)

    return measure(fit)


def pyagrum(net: cs.Network, frame: Any) -> Timing | None:
    gum = peer("pyagrum")
    if gum is None:
        return None
    part = frame.iloc[: len(frame) // 10].astype(str)

    def fit() -> None:
        bn = gum.BayesNet()
        for variable in net.variables.values():
            bn.add(gum.LabelizedVariable(variable.name, "", list(variable.states)))
        for start, end in net.dag.arcs:
            bn.addArc(start, end)
        gum.BNLearner(part, bn).learnParameters(bn.dag())

    cpu, wall = measure(fit, 1)
    return 10 * cpu, 10 * wall


PEERS = {"PyBNesian": pybnesian, "pyAgrum (a tenth of the rows, scaled)": pyagrum}


if __name__ == "__main__":
    main()
