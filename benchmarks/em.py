"""EM: CPU time for each row and step, beside the peers, from the same start to the same estimate.

(a) alarm with 10 % of the values missing completely at random. pyAgrum needs milliseconds a row, so
    it gets the first rows only; its time for each row does not depend on their number. pgmpy drops
    every row that has a gap, so it cannot take part.
(b) A latent class with 3 states and 20 features of 3 states: pomegranate (a mixture model, in
    single precision) and pgmpy (the first rows only).
(c) asia with 20 % missing: the log-likelihood that is reached, beside pyAgrum's.

Time for a step is the difference between a long and a short run from the same start, divided by the
steps between, so that preparation does not count; it is told apart. A step is one expectation and
one maximization for everybody: ``EMsetMaxIter(k)`` of pyAgrum and ``max_iter=k`` of pomegranate and
pgmpy end after k of them, ``EM(iterations=k)`` of ours makes one maximization more at the end.
pyAgrum's k steps give the tables of k plain steps by ``cs.expected_counts`` (printed). Ours leaves
out missing values below which nothing is known, which ends in the same place in fewer steps, so
its tables on the way differ from pyAgrum's and its log-likelihood is higher.

    CONSILIENCE_DATA=... python benchmarks/em.py [rounds] [cases, such as ab]
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # one thread for everybody

import logging
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from batch import pyagrum_network
from bench import data_dir, peer

import consilience as cs
from consilience.inference.cases import Cases

PRIOR, ASIA_PRIOR = 0.01, 1e-6
"""Added to every cell by everybody: pyAgrum refuses parent states that no row has without it."""

AGRUM_ROWS, AGRUM_STEPS = 200, (2, 4)
PGMPY_ROWS, PGMPY_STEPS = 200, (1, 3)
OUR_STEPS, POMEGRANATE_STEPS = (2, 12), (2, 7)
N_CLASSES, N_FEATURES, N_STATES = 3, 20, 3

Run = Callable[[int], Any]


@dataclass(frozen=True)
class Contestant:
    """Who runs EM for so many steps on so many rows."""

    run: Run
    n_rows: int
    steps: tuple[int, int]


@dataclass(frozen=True)
class Time:
    """CPU seconds: of a step for each row, and of the shorter run with all that comes before."""

    step: float
    short: float


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    only = sys.argv[2] if len(sys.argv) > 2 else "abc"
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for n_rows in (10_000, 100_000):
        if "a" in only:
            alarm(n_rows, rounds)
    for n_rows in (10_000, 100_000):
        if "b" in only:
            latent_class(n_rows, rounds)
    if "c" in only:
        asia()


def alarm(n_rows: int, rounds: int) -> None:
    """Case (a)."""
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    table = cs.simulate.with_gaps(net.sample(n_rows, seed=1), cs.simulate.MCAR(0.1), seed=2)
    start = flattened(net)
    print(f"\n(a) alarm, 10 % missing, {n_rows:,} rows")
    whole(net, table, cs.Dirichlet(per_cell=PRIOR))
    contestants = {"consilience": ours(net.dag, table, cs.Dirichlet(per_cell=PRIOR), start)}
    part = table.take(slice(0, AGRUM_ROWS))
    if peer("pyagrum") is not None:
        contestants["pyAgrum"] = Contestant(
            lambda steps: pyagrum_em(part, start, steps), AGRUM_ROWS, AGRUM_STEPS
        )
    show(contest(contestants, rounds), contestants)
    if "pyAgrum" in contestants:
        agree_with_pyagrum(part, start)


def agree_with_pyagrum(table: cs.Table, start: cs.Network) -> None:
    """Plain steps of ours are pyAgrum's; what the faster steps of ``cs.em`` reach is told too."""
    steps = AGRUM_STEPS[1]
    theirs = from_pyagrum(pyagrum_em(table, start, steps), start)
    plain = start
    for _ in range(steps):
        plain = stepped(plain, table)
    reached = ours(start.dag, table, cs.Dirichlet(per_cell=PRIOR), start).run(steps - 1)
    print(
        f"  after {steps} steps: largest difference of a table to plain steps of ours "
        f"{difference(theirs, plain):.1e}; log-likelihood pyAgrum "
        f"{theirs.log_likelihood(table).sum():.4f}, cs.em {reached.log_likelihood:.4f}"
    )


def latent_class(n_rows: int, rounds: int) -> None:
    """Case (b)."""
    names = [f"x{j:02d}" for j in range(N_FEATURES)]
    dag = cs.DAG([("class", name) for name in names])
    truth = cs.random_network(dag, n_states=N_STATES, total=30.0, seed=5)
    table = truth.sample(n_rows, seed=6).select(names)
    start = flattened(truth)
    print(f"\n(b) {N_CLASSES} classes, {N_FEATURES} features, {n_rows:,} rows")
    whole(start, table, cs.MLE())
    contestants = {"consilience": ours(dag, table, cs.MLE(), start)}
    codes = np.stack([table.column(name) for name in names], axis=1).astype(np.int64)
    torch = peer("torch")
    if torch is not None and peer("pomegranate") is not None:
        torch.set_num_threads(1)
        contestants["pomegranate"] = Contestant(
            lambda steps: pomegranate_em(codes, start, names, steps), n_rows, POMEGRANATE_STEPS
        )
    part = table.take(slice(0, PGMPY_ROWS))
    if peer("pgmpy") is not None:
        contestants["pgmpy"] = Contestant(
            lambda steps: pgmpy_em(part, start, steps), PGMPY_ROWS, PGMPY_STEPS
        )
    show(contest(contestants, rounds), contestants)
    agree_on_classes(contestants, table, part)


def agree_on_classes(
    contestants: Mapping[str, Contestant], table: cs.Table, part: cs.Table
) -> None:
    """Largest difference of the tables after the same number of maximizations."""
    for name, rows in (("pomegranate", table), ("pgmpy", part)):
        if name not in contestants:
            continue
        steps = contestants[name].steps[1]
        theirs = contestants[name].run(steps)
        start = theirs[1]
        mine = ours(start.dag, rows, cs.MLE(), start).run(steps - 1).network
        apart = difference(cs.latent.canonical(theirs[0], ["class"]), mine)
        print(f"  {name}: largest difference of a table after {steps} steps {apart:.1e}")


def asia() -> None:
    """Case (c)."""
    net = cs.load(data_dir() / "networks" / "asia.bif")
    gum = peer("pyagrum")
    print(
        "\n(c) asia, 20 % missing, 2,000 rows: log-likelihood reached, and CPU seconds", flush=True
    )
    for seed in (1, 2):
        table = cs.simulate.with_gaps(
            net.sample(2_000, seed=seed), cs.simulate.MCAR(0.2), seed=seed
        )
        cs.em(net.dag, table.take(slice(0, 100)))  # compiles
        began = time.process_time()
        mine = cs.em(net.dag, table, cs.Dirichlet(per_cell=ASIA_PRIOR))
        cpu = time.process_time() - began
        text = f"consilience {mine.log_likelihood:.6f} ({cpu:.3f} s)"
        if gum is not None:
            began = time.process_time()
            learner = learner_of(table, net, ASIA_PRIOR)
            learner.useEMWithRateCriterion(1e-8)
            learner.EMsetMaxIter(1_000)
            theirs = from_pyagrum(learner.learnParameters(pyagrum_network(net).dag(), False), net)
            reached = float(theirs.log_likelihood(table).sum())
            cpu = time.process_time() - began
            ahead = (mine.log_likelihood - reached) / abs(reached)
            text += f"   pyAgrum {reached:.6f} ({cpu:.1f} s)   ours is ahead by {ahead:+.1e}"
        print(f"  seed {seed}: {text}")


def contest(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, Time]:
    """The fewest CPU seconds of everybody's short and long runs, over rounds by turns."""
    fewest: dict[tuple[str, int], float] = {}
    for one in contestants.values():
        one.run(one.steps[0])  # compiles, imports
    for _ in range(rounds):
        for name, one in contestants.items():
            for steps in one.steps:
                began = time.process_time()
                one.run(steps)
                cpu = time.process_time() - began
                fewest[name, steps] = min(cpu, fewest.get((name, steps), np.inf))
    return {
        name: Time(
            (fewest[name, one.steps[1]] - fewest[name, one.steps[0]])
            / (one.steps[1] - one.steps[0])
            / one.n_rows,
            fewest[name, one.steps[0]],
        )
        for name, one in contestants.items()
    }


def show(times: Mapping[str, Time], contestants: Mapping[str, Contestant]) -> None:
    mine = times["consilience"].step
    for name, spent in times.items():
        one = contestants[name]
        ratio = "" if name == "consilience" else f"   {spent.step / mine:10.1f} x ours"
        print(
            f"  {name:<12} {1e6 * spent.step:12.4f} microseconds a row and step "
            f"({one.n_rows:,} rows; {one.steps[0]} steps and all before {spent.short:.3f} s){ratio}"
        )


def whole(net: cs.Network, table: cs.Table, estimator: Any) -> None:
    """What a whole call takes: preparation, and EM with its default choice."""
    hidden = {name: N_CLASSES for name in net.variables if name not in table.variables}
    cs.em(net.dag, table.take(slice(0, 100)), estimator, hidden=hidden)  # compiles
    began = time.process_time()
    Cases.of(net, table)
    prepared = time.process_time() - began
    began = time.process_time()
    story = cs.em(net.dag, table, estimator, hidden=hidden)
    spent = time.process_time() - began
    print(
        f"  preparation {prepared:.3f} s; cs.em to the end {spent:.3f} s: {len(story.starts)} "
        f"starts, {story.n_iterations} steps of the best one"
    )


def ours(dag: cs.DAG, table: cs.Table, estimator: Any, start: cs.Network) -> Contestant:
    hidden = {name: N_CLASSES for name in dag.nodes if name not in table.variables}

    def run(steps: int) -> cs.gaps.Convergence:
        choice = cs.EM(iterations=steps, tolerance=1e-300, accelerate=False)
        story = cs.em(dag, table, estimator, choice=choice, hidden=hidden, start=start)
        if story.stopped_by != "iterations":
            raise SystemExit(f"EM came to rest in fewer than {steps} steps: no time of a step")
        return story

    return Contestant(run, table.n_rows, OUR_STEPS)


def flattened(net: cs.Network) -> cs.Network:
    """The network half way to uniform tables, a start that is not the end."""
    return cs.Network.of(
        [
            cs.Categorical(one.child, one.given, 0.5 * one.table + 0.5 / one.child.n_states)
            for one in net.tables.values()
        ]
    )


def stepped(net: cs.Network, table: cs.Table) -> cs.Network:
    """One plain step of EM, every family completed in every row."""
    counts = cs.expected_counts(net, table)
    cells = {name: counts[name] + PRIOR for name in net.tables}
    return cs.Network.of(
        [
            cs.Categorical(one.child, one.given, cells[name] / cells[name].sum(-1, keepdims=True))
            for name, one in net.tables.items()
        ]
    )


def difference(a: cs.Network, b: cs.Network) -> float:
    return max(float(np.abs(a[name].table - b[name].table).max()) for name in a.variables)


def learner_of(table: cs.Table, net: cs.Network, prior: float) -> Any:
    frame = table.to_frame().astype(object)
    frame = frame.where(frame.notna(), "?")
    learner = peer("pyagrum").BNLearner(frame, pyagrum_network(net), ["?"])
    learner.setNumberOfThreads(1)
    learner.useSmoothingPrior(prior)
    return learner


def pyagrum_em(table: cs.Table, start: cs.Network, steps: int) -> Any:
    learner = learner_of(table, start, PRIOR)
    learner.useEMWithDiffCriterion(1e-300, 0.0)  # no random noise on the start
    learner.EMsetMaxIter(steps)
    return learner.learnParameters(pyagrum_network(start), False)


def from_pyagrum(bn: Any, like: cs.Network) -> cs.Network:
    local = []
    for name, one in like.tables.items():
        axes = list(reversed(bn.cpt(name).names))
        order = [axes.index(other) for other in (*one.parents, name)]
        local.append(cs.Categorical(one.child, one.given, bn.cpt(name).toarray().transpose(order)))
    return cs.Network.of(local)


def pomegranate_em(
    codes: np.ndarray, start: cs.Network, names: list[str], steps: int
) -> tuple[cs.Network, cs.Network]:
    torch = peer("torch")
    from pomegranate.distributions import Categorical
    from pomegranate.gmm import GeneralMixtureModel

    tables = np.stack([start[name].table for name in names])  # (features, classes, states)
    parts = [Categorical(tables[:, k].astype(np.float32)) for k in range(N_CLASSES)]
    shares = start["class"].table.astype(np.float32)
    model = GeneralMixtureModel(parts, priors=shares, max_iter=steps, tol=-np.inf)
    model.fit(torch.from_numpy(codes))
    found = {name: [] for name in names}
    for part in model.distributions:
        for name, row in zip(names, part.probs.detach().numpy().astype(float), strict=True):
            found[name].append(row / row.sum())
    share = model.priors.detach().numpy().astype(float)
    local = [cs.Categorical(start.variables["class"], (), share / share.sum())]
    local += [cs.Categorical(start[n].child, start[n].given, np.array(found[n])) for n in names]
    return cs.Network.of(local), start


def pgmpy_em(table: cs.Table, start: cs.Network, steps: int) -> tuple[cs.Network, cs.Network]:
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteEM

    names = list(start.variables)
    states = {name: list(range(start.variables[name].n_states)) for name in names}
    model = DiscreteBayesianNetwork(start.dag.arcs, latents={"class"})
    estimator = DiscreteEM(
        state_names=states,
        latent_card={"class": N_CLASSES},
        max_iter=steps,
        atol=0.0,
        init_cpds={name: _cpd(start[name], states) for name in names},
        show_progress=False,
    )
    import pandas as pd

    estimator.fit(model, pd.DataFrame({n: table.column(n) for n in names if n != "class"}))
    found = {one.variable: np.asarray(one.get_values()).T for one in estimator.parameters_}
    local = [
        cs.Categorical(one.child, one.given, found[name].reshape(one.table.shape))
        for name, one in start.tables.items()
    ]
    return cs.Network.of(local), start


def _cpd(local: cs.Categorical, states: Mapping[str, list[int]]) -> Any:
    from pgmpy.factors.discrete import TabularCPD

    axes = (local.child.name, *local.parents)
    return TabularCPD(
        local.child.name,
        local.child.n_states,
        local.rows.T,
        list(local.parents),
        [len(states[name]) for name in local.parents],
        state_names={name: states[name] for name in axes},
    )


if __name__ == "__main__":
    main()
