"""Exact inference: all marginals under evidence on a tenth of the nodes, beside the peers.

For each network: the time to compile, the median time of a query after that (five bodies of
evidence, each a part of a row drawn from the network), and the largest difference from pyAgrum's
answers. pyAgrum compiles at its first propagation, so its compile time includes one. `link` is done
by us alone unless `--all` is given: pyAgrum needs minutes and 10 GiB for it. So it is with
Shafer-Shenoy on networks of more than a million cells. pgmpy is asked for alarm
only, by variable elimination, which is faster than its belief propagation.

    CONSILIENCE_DATA=... python benchmarks/inference.py [--all]
"""

from __future__ import annotations

import gzip
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench import data_dir, peer

import consilience as cs
from consilience.inference.junction import compiled

NAMES = ["alarm", "hailfinder", "andes", "pigs", "diabetes", "water", "mildew", "link"]
BODIES = 5
ENGINES = {"LazyPropagation": 2e7, "ShaferShenoyInference": 1e6}


def main() -> None:
    folder = data_dir() / "networks"
    warm = cs.load(folder / "asia.bif")
    warm.marginals()
    warm.marginals(given={"xray": "yes"})
    print("CPU seconds; query is the median over bodies of evidence, answers as labelled objects")
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in NAMES:
            ratios += [contest(name, unpacked(folder, name, Path(scratch)))]
    told = [ratio for ratio in ratios if ratio is not None]
    if told:
        print(f"\nbest peer / ours: median {np.median(told):.1f} x, least {min(told):.1f} x")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory of this process, peers included: {peak:.2f} GiB")


def unpacked(folder: Path, name: str, scratch: Path) -> Path:
    plain = folder / f"{name}.bif"
    if plain.exists():
        return plain
    path = scratch / f"{name}.bif"
    path.write_bytes(gzip.decompress((folder / f"{name}.bif.gz").read_bytes()))
    return path


def contest(name: str, path: Path) -> float | None:
    net = cs.load(path)
    bodies = evidence(net)
    start = time.process_time()
    tree = compiled(net)
    compile_time = time.process_time() - start
    start = time.process_time()
    net.marginals()
    without = time.process_time() - start
    times, answers = [], []
    for given in bodies:
        start = time.process_time()
        answers.append(net.marginals(given=given))
        times.append(time.process_time() - start)
    ours = float(np.median(times))
    print(
        f"\n{name}: {tree.shape.cost.total_cells:.3g} cells\n"
        f"  consilience           compile {compile_time:8.4f}   query {ours:8.5f}   "
        f"without evidence {without:8.4f}"
    )
    best = None
    for engine, most_cells in ENGINES.items():
        if tree.shape.cost.total_cells <= most_cells or "--all" in sys.argv:
            seconds = pyagrum(engine, path, bodies, answers, ours)
            best = min(filter(None, (best, seconds)), default=None)
        else:
            print(f"  {engine:<21} skipped (see --all)")
    if name == "alarm":
        pgmpy(path, bodies[:2], ours)
    return None if best is None else best / ours


def evidence(net: cs.Network) -> list[dict[str, str]]:
    rng = np.random.default_rng(10)
    names = list(net.variables)
    rows = net.sample(BODIES, seed=11)
    bodies = []
    for row in range(BODIES):
        chosen = rng.choice(names, max(1, len(names) // 10), replace=False)
        bodies.append({str(v): net.variables[v].states[rows.columns[v][row]] for v in chosen})
    return bodies


def pyagrum(
    engine: str, path: Path, bodies: list[dict[str, str]], answers: list[Any], ours: float
) -> float | None:
    gum = peer("pyagrum")
    if gum is None:
        return None
    bn = gum.loadBN(str(path))
    start = time.process_time()
    inference = getattr(gum, engine)(bn)
    inference.makeInference()
    compile_time = time.process_time() - start
    times, difference = [], 0.0
    for given, answer in zip(bodies, answers, strict=True):
        start = time.process_time()
        inference.setEvidence(given)
        inference.makeInference()
        posteriors = {name: inference.posterior(name) for name in answer}
        times.append(time.process_time() - start)
        for name, one in posteriors.items():
            difference = max(difference, float(np.abs(one.toarray() - answer[name].values).max()))
    query = float(np.median(times))
    print(
        f"  {engine:<21} compile {compile_time:8.4f}   query {query:8.5f}   "
        f"{query / ours:6.1f} x ours   largest difference {difference:.1e}"
    )
    return query


def pgmpy(path: Path, bodies: list[dict[str, str]], ours: float) -> None:
    if peer("pgmpy") is None:
        return
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    model = BIFReader(str(path)).get_model()
    inference = VariableElimination(model)
    times = []
    for given in bodies:
        free = [name for name in model.nodes() if name not in given]
        start = time.process_time()
        for name in free[:3]:
            inference.query([name], evidence=given, show_progress=False)
        times.append((time.process_time() - start) * len(free) / 3)
    query = float(np.median(times))
    print(
        f"  pgmpy, three nodes scaled up            query {query:8.5f}   {query / ours:6.1f} x ours"
    )


if __name__ == "__main__":
    main()
