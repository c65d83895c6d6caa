"""Sampling: a million rows of the alarm network, beside the peers.

CONSILIENCE_DATA=... python benchmarks/sampling.py [rows]
"""

from __future__ import annotations

import sys

from bench import Timing, data_dir, frame_of, measure, peer, show

import consilience as cs
from consilience.inference.sampling import sample


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    path = data_dir() / "networks" / "alarm.bif"
    net = cs.load(path)
    rows: dict[str, Timing] = {
        "consilience, 1 thread": measure(lambda: sample(net, n_rows, given={}, seed=1, threads=1)),
        "consilience, 2 threads": measure(lambda: sample(net, n_rows, given={}, seed=1, threads=2)),
    }
    for name, contest in PEERS.items():
        timing = contest(net, str(path), n_rows)
        if timing is not None:
            rows[name] = timing
    show(f"alarm, {n_rows:,} rows", rows, "consilience, 1 thread")
    peers = [cpu for name, (cpu, _) in rows.items() if "consilience" not in name]
    if peers:
        print(f"  fastest peer / ours: {min(peers) / rows['consilience, 1 thread'][0]:.1f} x")


def pyagrum(net: cs.Network, path: str, n_rows: int) -> Timing | None:
    gum = peer("pyagrum")
    if gum is None:
        return None
    bn = gum.loadBN(path)
    generator = gum.BNDatabaseGenerator(bn)
    return measure(lambda: generator.drawSamples(n_rows), 1)


def pgmpy(net: cs.Network, path: str, n_rows: int) -> Timing | None:
    if peer("pgmpy") is None:
        return None
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from pgmpy.readwrite import BIFReader

    model = BIFReader(path).get_model()
    part = n_rows // 10
    cpu, wall = measure(lambda: model.simulate(part, show_progress=False), 1)
    return cpu * n_rows / part, wall * n_rows / part


def pybnesian(net: cs.Network, path: str, n_rows: int) -> Timing | None:
    pbn = peer("pybnesian")
    if pbn is None:
        return None
    model = pbn.DiscreteBN(list(net.dag.nodes), list(net.dag.arcs))
    model.fit(frame_of(net.sample(200_000, seed=2)))
    return measure(lambda: model.sample(n_rows, 1), 1)


def bnlearn_port(net: cs.Network, path: str, n_rows: int) -> Timing | None:
    port = peer("pybnlearn")
    if port is None:
        return None
    model = port.read_bif(path)
    return measure(lambda: port.rbn(model, n_rows), 1)


PEERS = {
    "pyAgrum": pyagrum,
    "pgmpy (a tenth of the rows, scaled)": pgmpy,
    "PyBNesian": pybnesian,
    "bnlearn-port": bnlearn_port,
}


if __name__ == "__main__":
    main()
