"""Networks in time: sources tied by a hierarchy, and intervals of forecasts.

(a) Eight hospitals with 3 to 30 sequences of 8 steps each; the rows of their transitions are drawn
    from a Dirichlet of size 12 around a common base. Held-out log loss a step of the hierarchical
    fit, pooled and separate, over 20 seeds.
(b) Vector autoregressions of two variables (spectral radius below 0.9), series of 50 steps: how
    often 90 % intervals hold the values of the steps 1 to 8, with the posterior of the parameters
    (``draws``) and without.

    python experiments/dynamic.py [a, b or ab] [series of b]
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import sys

import numpy as np
import pandas as pd

import consilience as cs

K, STEPS, SIZE = 3, 8, 12.0
LEVEL, DRAWS, AHEAD = 0.9, 400, 8


def hospital_rows(rng: np.random.Generator, moves: np.ndarray, n: int, tag: str) -> pd.DataFrame:
    """So many sequences of one hospital."""
    net = cs.dynamic.from_hmm(np.full(K, 1 / K), moves, np.eye(K))
    frame = net.sample(n, STEPS, seed=int(rng.integers(2**31))).to_frame()
    frame["sequence"] = frame["sequence"] + tag
    return frame[["sequence", "time", "x"]]


def losses(seed: int) -> dict[str, float]:
    """Held-out log loss a step by estimator."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(K, 2.0), K)
    sizes = np.linspace(3, 30, 8).astype(int)
    seen, later = [], []
    for f, n in enumerate(sizes):
        moves = np.array([rng.dirichlet(SIZE * row) for row in base])
        seen.append(hospital_rows(rng, moves, int(n), f"/{f}").assign(hospital=f"h{f}"))
        later.append(hospital_rows(rng, moves, 40, f"/t{f}").assign(hospital=f"h{f}"))
    choices = {"sequence": "sequence", "time": "time", "source": "hospital"}
    states = {"x": [str(k + 1) for k in range(K)]}
    panel = cs.dynamic.read_panel(pd.concat(seen), states=states, **choices)
    test = cs.dynamic.read_panel(pd.concat(later), states=states, **choices)
    dag = cs.DAG([("x(t-1)", "x")])
    table = test.lagged(1)
    found = {}
    for name, estimator in (
        ("hierarchical", cs.HDMCS(s=10)),
        ("strength learned", cs.HDMCS(s=cs.Gamma(4, 0.1))),
        ("default", None),
        ("pooled", cs.Dirichlet(per_cell=1)),
        ("separate", cs.Separate(cs.Dirichlet(per_cell=1))),
    ):
        local = cs.dynamic.fit(dag, panel, estimator)["x"]
        rows = local.table
        if "hospital" in local.parents:
            rows = rows[table.source_codes]
            log = np.log(rows[np.arange(len(rows)), table.column("x(t-1)"), table.column("x")])
        else:
            log = np.log(rows[table.column("x(t-1)"), table.column("x")])
        found[name] = float(-log.mean())
    return found


def sources(n_seeds: int = 20) -> None:
    """Print the losses and their differences from the hierarchical fit."""
    every = pd.DataFrame([losses(seed) for seed in range(n_seeds)])
    print(every.mean().round(4).to_string())
    for other in ("pooled", "separate"):
        for mine in ("hierarchical", "strength learned", "default"):
            gap = every[other] - every[mine]
            error = gap.std(ddof=1) / np.sqrt(n_seeds)
            print(f"{other} less {mine}: {gap.mean():.4f} ({gap.mean() / error:.1f} s.e.)")


def series(rng: np.random.Generator) -> np.ndarray:
    """A series of a stable vector autoregression, its future included."""
    while True:
        moves = rng.normal(scale=0.6, size=(2, 2))
        if np.abs(np.linalg.eigvals(moves)).max() < 0.9:
            break
    noise = np.eye(2) + 0.3
    net = cs.dynamic.from_var(["a", "b"], rng.normal(size=2), [moves], noise)
    panel = net.sample(1, 50 + AHEAD, seed=int(rng.integers(2**31)))
    return np.stack([panel.rows.column("a"), panel.rows.column("b")], axis=1)


def coverage(n_series: int) -> None:
    """Print how often the intervals hold the value, by step."""
    rng = np.random.default_rng(0)
    dag = cs.dynamic.vector_autoregression(["a", "b"])
    held = {name: np.zeros((n_series, AHEAD)) for name in ("draws", "plug-in")}
    for k in range(n_series):
        data = series(rng)
        panel = cs.dynamic.read_panel({"a": data[:50, 0], "b": data[:50, 1]}, continuous=["a", "b"])
        net = cs.dynamic.fit(dag, panel)
        for name, draws in (("draws", DRAWS), ("plug-in", None)):
            future = net.forecast(panel, AHEAD, draws=draws, seed=k)
            for j, variable in enumerate("ab"):
                ends = future.interval(variable, LEVEL)
                truth = data[50:, j]
                held[name][k] += 0.5 * ((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    for name, one in held.items():
        print(f"{name:8s}", " ".join(f"{100 * share:.1f}" for share in one.mean(axis=0)), "%")


if __name__ == "__main__":
    cases = sys.argv[1] if len(sys.argv) > 1 else "ab"
    if "a" in cases:
        sources()
    if "b" in cases:
        coverage(int(sys.argv[2]) if len(sys.argv) > 2 else 4_000)
