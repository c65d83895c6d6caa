"""How often intervals of a fused Gaussian network cover the true coefficients.

The setting of Córdoba-Sánchez et al. (2015): eight sources of 50 rows from bnlearn's gaussian.test
network, the graph given. Once the sources are alike, once their coefficients differ by a normal
deviation of sd 0.2. Printed are the shares of 90 % intervals of the coefficients of true arcs that
hold the truth (where sources differ: the mean over sources), and how often the record says that the
sources differ.

    CONSILIENCE_DATA=... python experiments/fused_intervals.py [--repeats 1000] [--differing 100]
"""

from __future__ import annotations

import click
import numpy as np
from fusion import N_ROWS, N_SOURCES, TRUE, drawn, network

import consilience as cs
from consilience.data.table import Table
from consilience.fusion.parameters import Pooled, parameters_of
from consilience.fusion.voters import Voter

LEVEL, SPREAD = 0.9, 0.2
CHOICES = {
    "Merged()": cs.fusion.Merged(),
    "PrecisionMatrices()": cs.fusion.PrecisionMatrices(),
    "InverseVariance()": cs.fusion.InverseVariance(),
    "LinearPool()": cs.fusion.LinearPool(),
}


@click.command(help=__doc__)
@click.option("--repeats", default=1000, show_default=True)
@click.option("--differing", default=100, show_default=True, help="Repeats of sources that differ.")
def main(repeats: int, differing: int) -> None:
    for spread, n in ((0.0, repeats), (SPREAD, differing)):
        found = [repeat(seed, spread) for seed in range(n)]
        click.echo(f"sd of coefficients between sources {spread:g}, {n} repeats")
        for name in CHOICES:
            covered = np.mean([one[name][0] for one in found])
            told = np.mean([one[name][1] for one in found])
            click.echo(f"  {name:<20} covers {covered:.1%}, told to differ {told:.1%}")


def repeat(seed: int, spread: float) -> dict[str, tuple[float, bool]]:
    """For each choice the share of coefficients covered, and whether a note warns."""
    rng = np.random.default_rng([7, seed])
    nets = [deviating(spread, rng) for _ in range(N_SOURCES)]
    tables = {f"{k + 1}": drawn(net, N_ROWS, rng) for k, net in enumerate(nets)}
    truth = {
        node: np.mean([net[node].coefficients for net in nets], axis=0)
        for node in TRUE.nodes
        if TRUE.parents(node)
    }
    return {name: judged(pooled(tables, choice), truth) for name, choice in CHOICES.items()}


def deviating(spread: float, rng: np.random.Generator) -> cs.Network:
    """The network with coefficients of one source."""
    net = network()
    local = {
        node: cs.LinearGaussian(
            line.child,
            line.given,
            line.intercept,
            line.coefficients + spread * rng.standard_normal(line.coefficients.shape),
            line.sd,
        )
        for node, line in net.regressions.items()
    }
    return cs.Network(local)


def pooled(tables: dict[str, Table], choice: cs.fusion.Merged) -> Pooled:
    voters = [Voter(name, TRUE, table) for name, table in tables.items()]
    return parameters_of(choice, TRUE, voters, dict.fromkeys(tables, 1.0), source="source")


def judged(found: Pooled, truth: dict[str, np.ndarray]) -> tuple[float, bool]:
    inside = []
    for node, values in truth.items():
        low, high = cs.estimators.parameter_intervals(found.network, node, level=LEVEL)
        order = [found.network[node].parents.index(p) for p in TRUE.parents(node)]
        inside += [low[1 + i] <= v <= high[1 + i] for i, v in zip(order, values, strict=True)]
    return float(np.mean(inside)), any("too narrow" in note for note in found.notes)


if __name__ == "__main__":
    main()
