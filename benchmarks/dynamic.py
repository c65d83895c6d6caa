"""Networks in time beside the peers: CPU time on one thread, same estimates.

(a) Categorical hidden Markov model of 5 states on one series of a million steps: a step of EM,
    hmmlearn ("scaling").
(b) 3 states on 5,000 sequences of 200 steps: hmmlearn ("scaling") and pomegranate.
(c) Smoothing a factorial model of 2 chains of 3 states: pyAgrum's ``KTBNInference``.
(d) Learning the graph of 8 variables from 300 sequences of 20, 200 and 2,000 steps, and of 20
    variables from 300 of 200: pyAgrum's ``KTBNLearner``, its files read.
(e) A vector autoregression of order 4, 10 variables, 100,000 steps: statsmodels.

Time for a step of EM is the difference between a long and a short run from the same start, divided
by the steps between, so that preparation does not count.

    python benchmarks/dynamic.py [cases, such as ab]
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # one thread for everybody

import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from bench import peer

import consilience as cs

SHORT, LONG = 2, 7

TIMES = 5
"""Of so many runs the quickest counts."""


def cpu(work: Any) -> tuple[float, Any]:
    """CPU seconds, and the answer."""
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def hmm_tables(rng: np.random.Generator, k: int, m: int) -> tuple[Any, Any, Any]:
    """Start, moves and emissions of a chain that rather stays."""
    moves = 0.8 * np.eye(k) + 0.2 * rng.dirichlet(np.ones(k), k)
    return np.full(k, 1 / k), moves, rng.dirichlet(np.ones(m), k)


def drawn(rng: np.random.Generator, k: int, m: int, n: int, length: int) -> np.ndarray:
    """Symbols of sequences of a hidden Markov model, shape (sequences, steps)."""
    net = cs.dynamic.from_hmm(*hmm_tables(rng, k, m))
    panel = net.sample(1_000, n * length // 1_000, seed=1)
    return panel.rows.column("x").reshape(n, length).astype(np.int64)


def panel_of(symbols: np.ndarray, m: int) -> cs.dynamic.Panel:
    """The symbols as a panel."""
    states = np.array([str(j + 1) for j in range(m)])
    names = np.repeat(np.arange(len(symbols)), symbols.shape[1])
    rows = {"s": names, "x": states[symbols.ravel()]}
    return cs.dynamic.read_panel(rows, sequence="s", states={"x": list(states)})


def our_step(panel: cs.dynamic.Panel, tables: Any, k: int) -> tuple[float, Any]:
    """Seconds of a step of ours, and the network after the long run."""
    start, graph = cs.dynamic.from_hmm(*tables), cs.dynamic.hidden_markov(["x"])

    def run(steps: int) -> Any:
        choice = cs.EM(iterations=steps, tolerance=1e-300, accelerate=False)
        states = [str(j + 1) for j in range(k)]
        return cs.dynamic.em(
            graph,
            panel,
            cs.MLE(),
            hidden={"z": states},
            start=start,
            choice=choice,
            initial=cs.dynamic.Estimated(),
        )

    run(1)
    short = min(cpu(lambda: run(SHORT))[0] for _ in range(TIMES))
    long = min(cpu(lambda: run(LONG))[0] for _ in range(TIMES))
    return (long - short) / (LONG - SHORT), run(LONG).network


def hmmlearn_step(symbols: np.ndarray, tables: Any, k: int, m: int) -> tuple[float, Any] | None:
    """Seconds of a step of hmmlearn, and its model after as many steps as ours."""
    library = peer("hmmlearn.hmm")
    if library is None:
        return None
    column, lengths = symbols.reshape(-1, 1), [symbols.shape[1]] * len(symbols)

    def run(steps: int) -> Any:
        model = library.CategoricalHMM(
            k, n_iter=steps, tol=-np.inf, implementation="scaling", init_params=""
        )
        model.n_features = m
        model.startprob_, model.transmat_, model.emissionprob_ = (t.copy() for t in tables)
        return model.fit(column, lengths)

    short, _ = cpu(lambda: run(SHORT))
    long, _ = cpu(lambda: run(LONG))
    return (long - short) / (LONG - SHORT), run(LONG + 1)


def told(case: str, ours: float, theirs: float, unit: str, scale: float, wanted: float) -> None:
    """One line of result."""
    print(
        f"{case}: ours {ours * scale:,.1f} {unit}, theirs {theirs * scale:,.1f} {unit}, "
        f"{theirs / ours:.1f} x (wanted {wanted:g} x)",
        flush=True,
    )


def baum_welch(k: int, m: int, n: int, length: int, wanted: float, *, pomegranate: bool) -> None:
    """Steps of EM on sequences of symbols."""
    rng = np.random.default_rng(0)
    symbols = drawn(rng, k, m, n, length)
    tables = hmm_tables(np.random.default_rng(9), k, m)
    seconds, net = our_step(panel_of(symbols, m), tables, k)
    scale = 1e9 / symbols.size
    found = hmmlearn_step(symbols, tables, k, m)
    if found is not None:
        told(f"{n:,} x {length:,}, {k} states, hmmlearn", seconds, found[0], "ns", scale, wanted)
        apart = np.abs(net["z"].table - found[1].transmat_).max()
        print(f"   largest difference of the moves after {LONG + 1} steps: {apart:.1e}")
    if pomegranate:
        theirs = pomegranate_step(symbols, tables)
        if theirs is not None:
            told(f"{n:,} x {length:,}, {k} states, pomegranate", seconds, theirs, "ns", scale, 10)


def pomegranate_step(symbols: np.ndarray, tables: Any) -> float | None:
    """Seconds of a step of pomegranate."""
    torch, library = peer("torch"), peer("pomegranate.hmm")
    if torch is None or library is None:
        return None
    torch.set_num_threads(1)
    categorical = peer("pomegranate.distributions").Categorical
    x = torch.tensor(symbols[:, :, None])

    def run(steps: int) -> None:
        start, moves, emissions = tables
        shown = [categorical([row]) for row in emissions.astype(np.float32)]
        model = library.DenseHMM(
            shown,
            edges=moves.astype(np.float32) * 0.99,
            starts=start.astype(np.float32),
            ends=np.full(len(start), 0.01, np.float32),
            max_iter=steps,
            tol=1e-30,
        )
        model.fit(x)

    run(1)
    short, _ = cpu(lambda: run(1))
    long, _ = cpu(lambda: run(3))
    return (long - short) / 2


def factorial(length: int = 10_000) -> None:
    """Smoothing two chains of three states, one observed node of three symbols."""
    rng = np.random.default_rng(3)
    names, states = ("a", "b"), ("1", "2", "3")
    moves = {n: 0.7 * np.eye(3) + 0.3 * rng.dirichlet(np.ones(3), 3) for n in names}
    starts = {n: rng.dirichlet(np.ones(3)) for n in names}
    shown = rng.dirichlet(np.ones(3), (3, 3))
    variables = {n: cs.Variable(n, states) for n in (*names, "x")}
    net = cs.dynamic.DynamicNetwork(
        cs.Network.of(
            [cs.Categorical(cs.Variable(f"{n}(0)", states), (), starts[n]) for n in names]
        ),
        [
            *(
                cs.Categorical(variables[n], (cs.Variable(f"{n}(t-1)", states),), moves[n])
                for n in names
            ),
            cs.Categorical(variables["x"], (variables["a"], variables["b"]), shown),
        ],
        hidden=names,
    )
    frame = net.sample(1, length, seed=1).to_frame()
    panel = cs.dynamic.read_panel(frame, time="time", columns=["x"], states={"x": list(states)})
    net.smooth(panel)
    ours = float(np.median([cpu(lambda: net.smooth(panel))[0] for _ in range(5)]))
    long = net.sample(100, 1_000, seed=2).to_frame()
    many = cs.dynamic.read_panel(long, columns=["x"], states={"x": list(states)})
    per_step = cpu(lambda: net.smooth(many))[0] / 100_000
    library, gum = peer("pyagrum.ktbn"), peer("pyagrum")
    if library is None or gum is None:
        return
    model = library.KTBN(2)
    for n in (*names, "x"):
        model.addTemporal(gum.LabelizedVariable(n, n, list(states)))
    for n in names:
        model.addArc(n, 0, n, 1)
        for t in (0, 1):
            model.addArc(n, t, "x", t)
    for n in names:
        model.cpt(n, 0).fillWith(starts[n].tolist())
        filled(model.cpt(n, 1), {f"{n}": moves[n]}, n)
    for t in (0, 1):
        fill_emission(model.cpt("x", t), shown)
    codes = panel.rows.column("x")
    engine = library.KTBNInference(model)
    for t, code in enumerate(codes):
        engine.addObservation("x", t, int(code))
    for n in names:
        engine.addTarget(n)
    theirs, _ = cpu(lambda: engine.makeInference(length))
    middle = length // 2
    apart = np.abs(
        np.array(engine.posterior("a", middle).tolist())
        - net.smooth(panel).probabilities["a"][middle]
    ).max()
    told(f"factorial smoothing, {length:,} steps", ours / length, theirs / length, "us", 1e6, 50)
    print(f"   ours a step of 100,000: {per_step * 1e6:.2f} us; largest difference {apart:.1e}")


def filled(cpt: Any, moves: dict[str, np.ndarray], name: str) -> None:
    """Fill the table of a chain given its last state."""
    order = list(cpt.names)  # the child first, then the parent
    instance = peer("pyagrum").Instantiation(cpt)
    table = moves[name]
    while not instance.end():
        values = [instance.val(i) for i in range(len(order))]
        cpt.set(instance, float(table[values[1], values[0]]))
        instance.inc()


def fill_emission(cpt: Any, shown: np.ndarray) -> None:
    """Fill the table of the observed node given both chains."""
    order = [name.split("[")[0] for name in cpt.names]
    instance = peer("pyagrum").Instantiation(cpt)
    while not instance.end():
        value = {name: instance.val(i) for i, name in enumerate(order)}
        cpt.set(instance, float(shown[value["a"], value["b"], value["x"]]))
        instance.inc()


def learning(n: int = 300, length: int = 20, n_nodes: int = 8) -> None:
    """The graph of a network of binary variables of order one."""
    rng = np.random.default_rng(4)
    names = [f"v{i}" for i in range(n_nodes)]
    states = ("0", "1")
    local = []
    for i, name in enumerate(names):
        given = [f"{name}(t-1)", f"{names[i - 1]}(t-1)"]
        table = rng.dirichlet(np.full(2, 0.6), (2, 2))
        parents = tuple(cs.Variable(p, states) for p in given)
        local.append(cs.Categorical(cs.Variable(name, states), parents, table))
    first = cs.Network.of(
        [cs.Categorical(cs.Variable(f"{v}(0)", states), (), [0.5, 0.5]) for v in names]
    )
    frame = cs.dynamic.DynamicNetwork(first, local).sample(n, length, seed=1).to_frame()
    panel = cs.dynamic.read_panel(frame, sequence="sequence", time="time", discrete=names)

    def ours() -> Any:
        return cs.dynamic.learn(panel, score=cs.BIC(), search=cs.HillClimb(tabu=0, restarts=0))

    ours()
    seconds = float(np.median([cpu(ours)[0] for _ in range(5)]))
    dag = ours()
    default = cpu(lambda: cs.dynamic.learn(panel, score=cs.BIC()))
    library = peer("pyagrum.ktbn")
    if library is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        for s, (_, one) in enumerate(frame.groupby("sequence", sort=False)):
            one[names].to_csv(Path(folder) / f"traj{s + 1}.csv", index=False)

        def theirs() -> Any:
            learner = library.KTBNLearner(folder, "traj", n, 2, set())
            learner.useScoreBIC().useGreedyHillClimbing()
            return learner.learnKTBN()

        model = theirs()
        their_seconds = float(np.median([cpu(theirs)[0] for _ in range(5)]))
    arcs = {(f"{a}(t-1)" if s == 0 else a, b) for (a, s), (b, t) in model.arcs() if t == 1}
    case = f"learning {n_nodes} variables, {n:,} x {length:,}"
    told(case, seconds, their_seconds, "ms", 1e3, 10)
    both = {frozenset(arc) for arc in arcs} & {frozenset(arc) for arc in dag.arcs}
    print(
        f"   arcs: ours {len(dag.arcs)}, theirs {len(arcs)}, in common {len(both)}; the default "
        f"search takes {default[0] * 1e3:,.0f} ms and finds {len(default[1].arcs)}"
    )


def autoregression(n: int = 10, order: int = 4, length: int = 100_000) -> None:
    """A vector autoregression fitted by both."""
    rng = np.random.default_rng(5)
    names = [f"v{i}" for i in range(n)]
    lags = [
        np.diag(rng.uniform(-0.2, 0.3, n)) + 0.02 * rng.normal(size=(n, n)) for _ in range(order)
    ]
    noise = np.eye(n) + 0.3
    root = np.linalg.cholesky(noise)
    data = np.zeros((length, n))
    for t in range(order, length):
        data[t] = sum(a @ data[t - 1 - i] for i, a in enumerate(lags)) + root @ rng.normal(size=n)
    columns = {name: data[:, i] for i, name in enumerate(names)}
    panel = cs.dynamic.read_panel(columns, continuous=names)
    graph = cs.dynamic.vector_autoregression(names, order)

    def ours() -> Any:
        return cs.dynamic.fit(
            graph, panel, cs.MLE(unbiased=False), initial=cs.dynamic.Conditional()
        )

    ours()
    seconds = float(np.median([cpu(ours)[0] for _ in range(3)]))
    library = peer("statsmodels.tsa.api")
    if library is None:
        return
    theirs = float(
        np.median([cpu(lambda: library.VAR(data).fit(order, trend="c"))[0] for _ in range(3)])
    )
    fitted = library.VAR(data).fit(order, trend="c")
    apart = np.abs(cs.dynamic.to_var(ours()).coefficients - fitted.coefs).max()
    told("VAR(4), 10 x 100,000, statsmodels", seconds, theirs, "ms", 1e3, 3)
    print(f"   largest difference of the coefficients: {apart:.1e}")


def main() -> None:
    """Run the cases asked for."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    cases = sys.argv[1] if len(sys.argv) > 1 else "abcde"
    if "a" in cases:
        baum_welch(5, 8, 1, 1_000_000, 3, pomegranate=False)
    if "b" in cases:
        baum_welch(3, 6, 5_000, 200, 6, pomegranate=True)
    if "c" in cases:
        factorial()
    if "d" in cases:
        for length in (20, 200, 2_000):
            learning(length=length)
        learning(length=200, n_nodes=20)
    if "e" in cases:
        autoregression()


if __name__ == "__main__":
    main()
