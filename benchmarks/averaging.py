"""How soon do chains over graphs come close to the exact probabilities of arcs?

Rows of a random network of 10 binary variables, whose exact probabilities are known, both priors.
The error is the root mean square over all arcs, after as much CPU time as is shown, with scoring
and warmup. Then alarm with 1,000 rows, where nothing exact is known: R-hat of chains from different
starts. Gadget, of the package sumu, samples partitions with candidate parents too; it runs beside
the library where it is installed.

    CONSILIENCE_DATA=folder python benchmarks/averaging.py [rows]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from bench import data_dir, peer

import consilience as cs

DRAWS = (50, 200, 800)
WAYS = {
    "OrderMCMC": (cs.averaging.OrderMCMC, cs.averaging.OrderModular()),
    "PartitionMCMC": (cs.averaging.PartitionMCMC, cs.averaging.UniformGraphs()),
}


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    net = cs.random_network(cs.random_dag(10, n_arcs=12, max_parents=3, seed=3), seed=5)
    rows = net.sample(n_rows, seed=2)
    print(f"10 variables, {n_rows:,} rows")
    for name, (way, prior) in WAYS.items():
        against_exact(name, way, prior, rows)
    gadget(rows)
    alarm()


def against_exact(name, way, prior, rows) -> None:  # type: ignore[no-untyped-def]
    began = time.process_time()
    exact = cs.average(rows, by=cs.averaging.Subsets(prior=prior, draws=1)).arcs.matrix
    print(f"  exact, {prior!r}: CPU {time.process_time() - began:.2f} s")
    cs.average(rows, by=way(draws=4, chains=1, warmup=1, candidates=9))  # compiles
    for draws in DRAWS:
        by = way(draws=draws, warmup=100, candidates=9, max_parents=9)
        began = time.process_time()
        belief = cs.average(rows, by=by)
        spent = time.process_time() - began
        print(f"  {name:<14} {4 * draws:>5} graphs   CPU {spent:6.2f} s   {told(belief, exact)}")


def told(belief, exact) -> str:  # type: ignore[no-untyped-def]
    error = np.sqrt(((belief.arcs.matrix - exact) ** 2).mean())
    return f"error {error:.4f}   largest R-hat {belief.chains.worst_r_hat:.3f}"


def gadget(rows: cs.Table) -> None:
    """Arcs by sumu's Gadget under the uniform prior, beside the exact ones."""
    sumu = peer("sumu")
    if sumu is None:
        return
    exact = cs.average(rows, by=cs.averaging.Subsets(draws=1)).arcs.matrix
    codes = np.stack([rows.columns[name] for name in rows.variables], axis=1).astype(np.int64)
    for iterations in (2_000, 10_000, 50_000):
        began = time.process_time()
        run = sumu.Gadget(
            data=sumu.Data(codes),
            score={"name": "bdeu", "ess": 1},
            structure_prior={"name": "unif"},
            candidate_parents={"K": 9},
            mcmc={"iters": iterations, "n_indep": 4, "n_dags": 1000},
        )
        dags, _ = run.sample()
        arcs = np.zeros_like(exact)
        for dag in dags:
            for child, parents in dag:
                arcs[list(parents), child] += 1 / len(dags)
        error = np.sqrt(((arcs - exact) ** 2).mean())
        spent = time.process_time() - began
        print(
            f"  Gadget         {iterations:>6} iterations   CPU {spent:6.2f} s   error {error:.4f}"
        )


def alarm() -> None:
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    rows = net.sample(1000, seed=1)
    print("alarm, 1,000 rows")
    for name, (way, _) in WAYS.items():
        began = time.process_time()
        belief = cs.average(rows, by=way(seed=1))
        chains = belief.chains
        print(
            f"  {name:<14} CPU {time.process_time() - began:6.1f} s   R-hat of the log score "
            f"{chains.r_hat_score:.3f}, largest {chains.worst_r_hat:.3f} of "
            f"{int(chains.is_open.sum())} open arcs   averaged graph: SHD "
            f"{cs.shd(belief.averaged(), net.dag)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
