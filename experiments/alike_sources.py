"""Does the table of differences find differences where there are none?

Sources of unequal size, 4 to 100 of them, draw their rows from one network; a family that
``cs.differences`` names is a false alarm.

    python experiments/alike_sources.py [--seeds 20]
"""

from __future__ import annotations

import click
import numpy as np

import consilience as cs


def false_alarms(seed: int) -> tuple[int, int, int]:
    """Number of sources, families named, and families."""
    rng = np.random.default_rng(seed)
    n_sources = int(np.exp(rng.uniform(np.log(4), np.log(101))))
    dag = cs.random_dag([f"x{i}" for i in range(8)], p_arc=0.3, max_parents=3, seed=rng)
    truth = cs.random_network(
        dag, n_states={n: int(rng.integers(2, 5)) for n in dag.nodes}, seed=rng
    )
    sizes = rng.lognormal(4.0, 1.0, n_sources).astype(int) + 5
    frames = {f"s{i}": truth.sample(int(n), seed=rng).to_frame() for i, n in enumerate(sizes)}
    states = {name: truth.variables[name].discrete_states for name in dag.nodes}
    net = cs.fit(dag, cs.read(frames, states=states))
    found = cs.differences(net)
    return n_sources, len(found.differing), len(found.families)


@click.command()
@click.option("--seeds", default=20, show_default=True)
def main(seeds: int) -> None:
    """Families that are named although all sources are alike."""
    found = [false_alarms(seed) for seed in range(seeds)]
    for seed, (n_sources, named, families) in enumerate(found):
        print(f"seed {seed}: {n_sources} sources, {named} of {families} families named", flush=True)
    named, families = sum(one[1] for one in found), sum(one[2] for one in found)
    print(f"in all {named} of {families}: none named in {1 - named / families:.1%}")


if __name__ == "__main__":
    main()
