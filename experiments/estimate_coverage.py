"""Do the standard errors of estimated answers say how far they are from the exact ones?

Random discrete and mixed networks, random evidence, one query each. Among answers with an effective
size of at least 1,000 whose true probability is between 0.02 and 0.98, intervals of 1.96 standard
errors should cover the exact answer in 95 of 100 cases.

    python experiments/estimate_coverage.py [--queries 2000] [--seed 1]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click
import numpy as np

import consilience as cs

WAYS = {
    "logic sampling": cs.inference.LogicSampling(draws=30_000),
    "likelihood weighting": cs.inference.LikelihoodWeighting(draws=20_000),
    "adaptive importance": cs.inference.AdaptiveImportance(draws=10_000),
    "Gibbs": cs.inference.Gibbs(draws=20_000, chains=400, burn_in=30),
}


def mixed_network(rng: np.random.Generator) -> cs.Network:
    """Three discrete nodes, and three continuous ones that depend on them and on each other."""
    dag = cs.random_dag(["a", "b", "c"], p_arc=0.6, seed=rng)
    local = list(cs.random_network(dag, n_states=2, seed=rng).distributions.values())
    variables = {one.child.name: one.child for one in local}
    for name in ("x", "y", "z"):
        child = cs.Variable(name)
        chosen = [v for v in variables.values() if rng.random() < 0.5]
        given = [v for v in chosen if not v.is_continuous] + [v for v in chosen if v.is_continuous]
        shape = [v.n_states for v in given if not v.is_continuous]
        n_continuous = sum(v.is_continuous for v in given)
        local.append(
            cs.LinearGaussian(
                child,
                tuple(given),
                rng.normal(0, 1, shape),
                rng.normal(0, 0.7, (*shape, n_continuous)),
                rng.uniform(0.7, 1.5, shape),
            )
        )
        variables[name] = child
    return cs.Network.of(local)


def questions(seed: int, *, values: bool) -> Iterator[tuple[cs.Network, str, dict[str, object]]]:
    """Networks, a discrete variable, and evidence from a row of the network."""
    for number, rng in enumerate(np.random.default_rng(seed).spawn(100_000)):
        if number % 2:
            net = mixed_network(rng)
        else:
            dag = cs.random_dag([f"x{i}" for i in range(7)], p_arc=0.4, max_parents=3, seed=rng)
            net = cs.random_network(dag, n_states=2, seed=rng)
        row = net.sample(1, seed=rng)
        discrete = [n for n, v in net.variables.items() if not v.is_continuous]
        target = str(rng.choice(discrete))
        others = [n for n in net.variables if n != target and (values or n in discrete)]
        chosen = rng.choice(others, size=2, replace=False)
        given: dict[str, object] = {}
        for name in map(str, chosen):
            value = row.column(name)[0]
            variable = net.variables[name]
            given[name] = (
                float(value) if variable.is_continuous else variable.discrete_states[int(value)]
            )
        yield net, target, given


def coverage(way: Any, n: int, seed: int) -> tuple[float, int]:
    """Share of intervals that cover the exact answer, and how many questions were asked."""
    hits, kept, asked = 0, 0, 0
    is_logic = isinstance(way, cs.inference.LogicSampling)
    for net, target, given in questions(seed, values=not is_logic):
        asked += 1
        exact = net.query(target, given).values[0]
        if not 0.02 <= exact <= 0.98:
            continue
        found = net.query(target, given, by=replace(way, seed=asked))
        if found.effective_size is None or found.effective_size < 1000:
            continue
        kept += 1
        hits += abs(found.values[0] - exact) <= 1.96 * found.standard_errors[0]
        if kept == n:
            break
    return hits / kept, asked


@click.command()
@click.option("--queries", default=2000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(queries: int, seed: int) -> None:
    """Coverage of intervals of 1.96 standard errors."""
    for name, way in WAYS.items():
        share, asked = coverage(way, queries, seed)
        print(f"{name}: {share:.2%} of {queries} queries ({asked} asked)", flush=True)


if __name__ == "__main__":
    main()
