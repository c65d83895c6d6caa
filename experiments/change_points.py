"""Graphs whose parameters change once: arcs found by a score that knows of changes, and by BGe.

Networks of five nodes, 120 steps: each node depends on its own last value, on that of each other
node with probability 0.3; coefficients of size U(0.4, 0.8) with random signs are drawn anew at a
change uniform in 40 .. 79, with a spectral radius of at most 0.9 and unit noise; columns are
standardised. Every set of parents in the last slice is judged, with the prior 1 / C(5, k).

    python experiments/change_points.py --networks 100
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from math import comb, log

import numpy as np

import consilience as cs

NAMES = [f"x{i + 1}" for i in range(5)]


@dataclass(frozen=True)
class EvenInNumber:
    """Every number of parents is equally likely."""

    score_equivalent: bool = False

    def log_prior(self, families):
        return np.array([-log(comb(len(NAMES), min(len(f.parents), 5))) for f in families])


def network(rng):
    """Arcs, and coefficients before and after the change."""
    arcs = np.eye(5, dtype=bool) | (rng.random((5, 5)) < 0.3)

    def coefficients():
        while True:
            found = np.where(arcs, rng.choice([-1, 1], (5, 5)) * rng.uniform(0.4, 0.8, (5, 5)), 0)
            if np.abs(np.linalg.eigvals(found)).max() <= 0.9:
                return found

    return arcs, coefficients(), coefficients()


def series(rng, before, after, n=120):
    change = int(rng.integers(40, 80))
    x = np.zeros((n, 5))
    x[0] = rng.normal(size=5)
    for t in range(1, n):
        x[t] = (before if t < change else after) @ x[t - 1] + rng.normal(size=5)
    return (x - x.mean(axis=0)) / x.std(axis=0)


def found_by(score, panel):
    dag = cs.dynamic.learn(panel, instantaneous=False, score=score, search=cs.Exact())
    arcs = np.zeros((5, 5), bool)
    for start, end in dag.arcs:
        arcs[NAMES.index(end), NAMES.index(start.removesuffix("(t-1)"))] = True
    return arcs


def arcs_found(n):
    """The number of true arcs of n networks; for each judge how many it finds, and false ones."""
    judges = {
        "with changes": cs.dynamic.ChangePoints(hazard=1 / 120),
        "without": cs.dynamic.ChangePoints(hazard=1e-12),
    }
    totals = {name: np.zeros(2, int) for name in judges}
    n_true = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        arcs, before, after = network(rng)
        x = series(rng, before, after)
        panel = cs.dynamic.read_panel(dict(zip(NAMES, x.T, strict=True)), continuous=NAMES)
        n_true += int(arcs.sum())
        for name, judge in judges.items():
            found = found_by(cs.scores.MAP(judge, EvenInNumber()), panel)
            totals[name] += [(found & arcs).sum(), (found & ~arcs).sum()]
    return n_true, totals


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--networks", type=int, default=100)
    n_true, totals = arcs_found(arguments.parse_args().networks)
    for name, (hits, false) in totals.items():
        print(
            f"{name:13s} found {hits / n_true:6.1%} of {n_true} arcs, false {false / n_true:5.1%}"
        )


if __name__ == "__main__":
    main()
