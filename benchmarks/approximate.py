"""Estimated answers beside the peers', and a network that does not fit in memory.

Likelihood weighting of alarm, time to a standard error of 0.001 on hailfinder and andes, all
marginals of link with ten findings under 128 MiB.

CONSILIENCE_DATA=... python benchmarks/approximate.py [weighting|error|link]
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from bench import Timing, data_dir, measure, peer, show

import consilience as cs

N_DRAWS = 100_000
LIMIT = 128 * 2**20
ERROR = 0.001


def findings(net: cs.Network, n: int, seed: int = 1) -> dict[str, str]:
    """States of some nodes in a row of the network."""
    row, rng = net.sample(1, seed=seed), np.random.default_rng(seed)
    names = rng.choice(list(net.variables), n, replace=False)
    return {str(k): net.variables[k].discrete_states[int(row.column(k)[0])] for k in names}


def weighting() -> None:
    """100,000 weighted draws of alarm with four findings, the marginals of all nodes."""
    path = str(data_dir() / "networks" / "alarm.bif")
    net = cs.load(path)
    given = findings(net, 4)
    target = next(name for name in net.variables if name not in given)
    by = cs.inference.LikelihoodWeighting(draws=N_DRAWS, seed=1)
    rows: dict[str, Timing] = {
        "consilience, one posterior": measure(lambda: net.query(target, given, by=by)),
        "consilience, all marginals": measure(lambda: net.marginals(given, by=by)),
    }
    for name, contest in PEERS.items():
        timing = contest(path, given, target)
        if timing is not None:
            rows[name] = timing
    show(f"alarm, likelihood weighting, {N_DRAWS:,} draws", rows, "consilience, one posterior")
    others = [cpu for name, (cpu, _) in rows.items() if "consilience" not in name]
    if others:
        ours = rows["consilience, all marginals"][0]
        print(f"  fastest peer / ours (all marginals): {min(others) / ours:.1f} x")


def pgmpy(path: str, given: dict[str, str], target: str) -> Timing | None:
    """A tenth of the draws, scaled."""
    if peer("pgmpy") is None:
        return None
    import logging

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from pgmpy.factors.discrete import State
    from pgmpy.readwrite import BIFReader
    from pgmpy.sampling import BayesianModelSampling

    sampler = BayesianModelSampling(BIFReader(path).get_model())
    evidence = [State(name, state) for name, state in given.items()]
    cpu, wall = measure(
        lambda: sampler.likelihood_weighted_sample(
            evidence=evidence, size=N_DRAWS // 10, show_progress=False
        ),
        1,
    )
    return 10 * cpu, 10 * wall


def pyagrum(path: str, given: dict[str, str], target: str) -> Timing | None:
    """Weighted sampling until so many draws."""
    gum = peer("pyagrum")
    if gum is None:
        return None

    def work() -> None:
        engine = gum.WeightedSampling(gum.loadBN(path))
        engine.setEvidence(given)
        engine.setMaxIter(N_DRAWS)
        engine.setEpsilon(1e-12)
        engine.setMinEpsilonRate(1e-12)
        engine.setMaxTime(1000)
        engine.makeInference()
        engine.posterior(target)

    return measure(work, 1)


def bnlearn_port(path: str, given: dict[str, str], target: str) -> Timing | None:
    """Its query by likelihood weighting."""
    port = peer("pybnlearn")
    if port is None:
        return None
    model = port.read_bif(path)
    state = cs.load(path).variables[target].discrete_states[0]
    try:
        return measure(
            lambda: port.cpquery(
                model, event={target: state}, evidence=given, method="lw", n=N_DRAWS
            ),
            1,
        )
    except (AttributeError, TypeError, ValueError) as problem:
        print(f"skipped: bnlearn-port cannot be asked this way ({problem})")
        return None


PEERS: dict[str, Callable[[str, dict[str, str], str], Timing | None]] = {
    "pgmpy (a tenth of the draws, scaled)": pgmpy,
    "pyAgrum": pyagrum,
    "bnlearn-port": bnlearn_port,
}


def error() -> None:
    """CPU time until every marginal has a standard error of 0.001, ten findings."""
    for name in ("hailfinder", "andes"):
        path = str(data_dir() / "networks" / f"{name}.bif")
        net = cs.load(path)
        given = findings(net, 5)
        exact = net.marginals(given)
        target = next(iter(exact))
        rows: dict[str, Timing] = {}
        for label, by in {
            "consilience, likelihood weighting": cs.inference.LikelihoodWeighting(
                error=ERROR, seconds=60
            ),
            "consilience, adaptive importance": cs.inference.AdaptiveImportance(
                error=ERROR, seconds=60
            ),
        }.items():
            cpu, wall = time.process_time(), time.perf_counter()
            found = net.query(target, given, by=by)
            rows[label] = time.process_time() - cpu, time.perf_counter() - wall
            away = np.abs(found.values - exact[target].values).max()
            print(
                f"{name}, {label}: standard error {found.standard_errors.max():.2g}, "
                f"off by {away:.2g}"
            )
        for label in ("WeightedSampling", "ImportanceSampling", "GibbsSampling"):
            timing = _sampled_by_pyagrum(path, given, target, label, exact[target].values)
            if timing is not None:
                rows[f"pyAgrum, {label}"] = timing
        show(f"{name}, a standard error of {ERROR}", rows, "consilience, adaptive importance")


def _sampled_by_pyagrum(
    path: str, given: dict[str, str], target: str, label: str, exact: Any
) -> Timing | None:
    """As many draws as a standard error of 0.001 needs at most, by its own estimate of it."""
    gum = peer("pyagrum")
    if gum is None:
        return None
    engine = getattr(gum, label)(gum.loadBN(path))
    engine.setEvidence(given)
    engine.setEpsilon(ERROR)
    engine.setMinEpsilonRate(1e-9)
    engine.setMaxIter(10_000_000)
    engine.setMaxTime(60)
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        engine.makeInference()
    except Exception as problem:  # noqa: BLE001 - whatever the peer raises is its result
        print(f"pyAgrum, {label}: {problem}")
        return None
    found = time.process_time() - cpu, time.perf_counter() - wall
    off = np.abs(engine.posterior(target).toarray() - exact).max()
    print(f"pyAgrum, {label}: {engine.messageApproximationScheme()}; off by {off:.2g}")
    return found


def link() -> None:
    """All marginals of link with ten findings in 128 MiB, against those in 2 GiB."""
    net = cs.load(data_dir() / "networks" / "link.bif.gz")
    given = findings(net, 10)
    usual = net.cost(None, given).bytes
    tracemalloc.start()
    cpu = time.process_time()
    found = net.marginals(given, by=cs.inference.Best(memory_limit=LIMIT))
    cpu = time.process_time() - cpu
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    exact = net.marginals(given)
    off = max(float(np.abs(found[name].values - one.values).max()) for name, one in exact.items())
    is_exact = all(one.standard_errors is None for one in found.values())
    print(
        f"\nlink, ten findings, {usual / 1e6:.0f} MB by one tree; limit {LIMIT / 1e6:.0f} MB:\n"
        f"  {'exact' if is_exact else 'estimated'}, CPU {cpu:.1f} s, peak {peak / 1e6:.0f} MB, "
        f"largest difference {off:.2g}"
    )


def main() -> None:
    parts = {"weighting": weighting, "error": error, "link": link}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
