"""How fast are causal questions? Decisions and formulas, a large graph, and counterfactual rows.

Graphs of four nodes with hidden common causes are decided and their formula is made, pyAgrum beside
it. Alarm gets ten hidden common causes. A million rows of the law-school model with all marks seen
are asked what would have been, beside DoWhy's gcm on a hundred rows, ten thousand and a million
(each call of it has a large fixed cost); DoWhy pins other versions of what the library
needs, so it runs in a Python of its own, which DOWHY_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from bench import data_dir, measure, peer

import consilience as cs
from consilience.errors import GraphError

N_GRAPHS = 500
N_ROWS = 1_000_000
PEER_ROWS = 100, 10_000, 1_000_000
TARGETS = {"four nodes": 1e-3, "alarm": 50e-3}

SCM = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import networkx as nx, numpy as np, pandas as pd
from dowhy import gcm
n = int(sys.argv[1]); rng = np.random.default_rng(1)
r, s = (rng.random(n) < .2) * 1.0, (rng.random(n) < .45) * 1.0
gpa = 3 - .3 * r + .1 * s + .3 * rng.normal(size=n)
lsat = 36 - 5 * r - .6 * s + 4 * rng.normal(size=n)
fya = .1 - .5 * r - .1 * s + .2 * gpa + .02 * lsat + .7 * rng.normal(size=n)
rows = pd.DataFrame({"R": r, "S": s, "GPA": gpa, "LSAT": lsat, "FYA": fya})
arcs = [("R", "GPA"), ("S", "GPA"), ("R", "LSAT"), ("S", "LSAT")]
arcs += [(a, "FYA") for a in ("R", "S", "GPA", "LSAT")]
model = gcm.InvertibleStructuralCausalModel(nx.DiGraph(arcs))
for node in rows:
    parents = [a for a, b in arcs if b == node]
    model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor())
                               if parents else gcm.EmpiricalDistribution())
gcm.config.disable_progress_bars()
gcm.fit(model, rows)
times = []
for _ in range(3):
    start = time.process_time()
    gcm.counterfactual_samples(model, {"R": lambda value: 0.0}, observed_data=rows)
    times.append(time.process_time() - start)
print(json.dumps(sorted(times)[1] / n))
"""


def main() -> None:
    four_nodes()
    alarm()
    counterfactual_rows()


def four_nodes() -> None:
    """Decision and formula of random graphs of four nodes."""
    graphs = drawn_graphs(N_GRAPHS)
    ours = measure(lambda: [_formula(graph) for graph in graphs])[0] / N_GRAPHS
    print(
        f"four nodes, decision and formula: {1e3 * ours:.3f} ms a graph "
        f"({_verdict(ours <= TARGETS['four nodes'])} 1 ms)"
    )
    gum = peer("pyagrum")
    if gum is not None:
        models = [_peer_model(gum, graph) for graph in graphs]
        theirs = (
            measure(lambda: [gum.causalImpact(one, on="d", doing="a") for one in models])[0]
            / N_GRAPHS
        )
        print(f"  pyAgrum, decision and potential: {1e3 * theirs:.3f} ms a graph")


def alarm() -> None:
    """The effect of a node of alarm with ten hidden common causes."""
    dag = cs.load(data_dir() / "networks" / "alarm.bif").dag
    rng = np.random.default_rng(1)
    times = []
    for _ in range(20):
        pairs = [tuple(map(str, rng.choice(dag.nodes, 2, replace=False))) for _ in range(40)]
        latent = [pair for i, pair in enumerate(pairs) if set(pair) not in map(set, pairs[:i])]
        graph = cs.causal.ADMG(dag.arcs, latent[:10], dag.nodes)
        y = str(rng.choice([n for n in dag.nodes if len(dag.ancestors(n)) > 5]))
        x = str(rng.choice(sorted(dag.ancestors(y))))
        times.append(measure(lambda g=graph, y=y, x=x: _formula(g, y, x), repeats=3)[0])
    print(
        f"alarm with ten hidden causes: median {1e3 * np.median(times):.1f} ms, largest "
        f"{1e3 * max(times):.1f} ms ({_verdict(max(times) < TARGETS['alarm'])} 50 ms)"
    )


def counterfactual_rows() -> None:
    """A million Gaussian rows, and DoWhy's gcm."""
    net = law_school()
    rows = net.sample(N_ROWS, seed=1)
    cs.causal.counterfactuals(net, rows.take(slice(0, 1000)), "FYA", do={"R": 0.0})
    start = time.process_time()
    found = cs.causal.counterfactuals(net, rows, "FYA", do={"R": 0.0})
    ours = (time.process_time() - start) / N_ROWS
    shift = found[:, 0] - rows.column("FYA")
    wanted = rows.column("R") * (0.5 + 0.2 * 0.3 + 0.02 * 5)
    print(
        f"counterfactuals: {1e6 * ours:.3f} microseconds a row, largest error "
        f"{np.abs(shift - wanted).max():.1g}"
    )
    python = os.environ.get("DOWHY_PYTHON")
    if python is None or not Path(python).exists():
        print("skipped: DOWHY_PYTHON does not name a Python with dowhy")
        return
    for n_rows in PEER_ROWS:
        told = subprocess.run(
            [python, "-c", SCM, str(n_rows)], capture_output=True, text=True, check=True
        )
        theirs = float(json.loads(told.stdout.splitlines()[-1]))
        print(
            f"  DoWhy's gcm, {n_rows:,} rows: {1e6 * theirs:.2f} microseconds a row, "
            f"{theirs / ours:.0f} x ours"
        )


def law_school() -> cs.Network:
    """R and S as numbers; the marks depend on both, the last one on all."""
    r, s, gpa, lsat, fya = (cs.Variable(name) for name in ("R", "S", "GPA", "LSAT", "FYA"))

    def linear(child: Any, given: Any, intercept: float, slopes: Any, sd: float) -> Any:
        return cs.LinearGaussian(child, given, np.array(intercept), np.array(slopes), np.array(sd))

    return cs.Network.of(
        [
            linear(r, (), 0.2, [], 0.4),
            linear(s, (), 0.45, [], 0.5),
            linear(gpa, (r, s), 3.0, [-0.3, 0.1], 0.3),
            linear(lsat, (r, s), 36.0, [-5.0, -0.6], 4.0),
            linear(fya, (r, s, gpa, lsat), 0.1, [-0.5, -0.1, 0.2, 0.02], 0.7),
        ]
    )


def drawn_graphs(n: int) -> list[cs.causal.ADMG]:
    """Random graphs with hidden causes on four nodes."""
    rng = np.random.default_rng(1)
    pairs = list(combinations("abcd", 2))
    found: list[cs.causal.ADMG] = []
    while len(found) < n:
        kinds = rng.integers(0, 3, len(pairs))
        arcs = [(b, a) if k == 2 else (a, b) for (a, b), k in zip(pairs, kinds, strict=True) if k]
        latent = [pair for pair in pairs if rng.random() < 0.5]
        try:
            found.append(cs.causal.ADMG(arcs, latent, list("abcd")))
        except GraphError:
            continue
    return found


def _formula(graph: cs.causal.ADMG, y: str = "d", x: str = "a") -> cs.causal.Estimand:
    return cs.causal.identify(graph, y, do=x)


def _peer_model(gum: Any, graph: cs.causal.ADMG) -> Any:
    net = gum.BayesNet()
    for node in graph.nodes:
        net.add(gum.LabelizedVariable(node, node, 2))
    for tail, head in graph.arcs:
        net.addArc(tail, head)
    net.generateCPTs()
    hidden = [(f"h{i}", list(pair)) for i, pair in enumerate(graph.latent)]
    return gum.CausalModel(net, hidden, True)


def _verdict(is_met: bool) -> str:
    return "meets" if is_met else "misses"


if __name__ == "__main__":
    main()
