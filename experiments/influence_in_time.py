"""Four hidden chains in a ring, each with four observations: which arcs between slices are found.

P(z = 1 | own previous, left neighbour's previous) = [[.1, .45], [.55, .9]] +- U(0, 0.05); each
chain emits four observations of three states with tables from a Dirichlet(0.7); 200 sequences of
25 steps.

    python experiments/influence_in_time.py --seeds 10
"""

from __future__ import annotations

import argparse

import numpy as np

import consilience as cs

CHAINS = ["a", "b", "c", "d"]
GROUPS = {name: [f"{name}{i + 1}" for i in range(4)] for name in CHAINS}
WANTED = {(f"{name}(t-1)", name) for name in CHAINS} | {
    (f"{CHAINS[i - 1]}(t-1)", CHAINS[i]) for i in range(4)
}


def ring(rng, n_sequences=200, length=25):
    """Sequences of the observations, and the hidden states."""
    moves = np.array([[0.1, 0.45], [0.55, 0.9]])
    tables = [moves + rng.choice([-1, 1], (2, 2)) * rng.uniform(0, 0.05, (2, 2)) for _ in CHAINS]
    shows = rng.dirichlet(np.full(3, 0.7), (4, 4, 2))
    z = np.zeros((n_sequences, length, 4), int)
    z[:, 0] = rng.integers(0, 2, (n_sequences, 4))
    for t in range(1, length):
        for i in range(4):
            p = tables[i][z[:, t - 1, i], z[:, t - 1, i - 1]]
            z[:, t, i] = rng.random(n_sequences) < p
    columns = {"id": np.repeat(np.arange(n_sequences), length).astype(str)}
    columns["step"] = np.tile(np.arange(length), n_sequences)
    for i, name in enumerate(CHAINS):
        for j in range(4):
            table = shows[i, j][z[:, :, i].ravel()]
            drawn = (rng.random(len(table))[:, None] > table.cumsum(axis=1)).sum(axis=1)
            columns[f"{name}{j + 1}"] = np.array(["x", "y", "z"])[np.minimum(drawn, 2)]
    panel = cs.dynamic.read_panel(columns, sequence="id", time="step")
    return panel, z.reshape(-1, 4)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=10)
    whole, false = 0, 0
    n = arguments.parse_args().seeds
    for seed in range(n):
        panel, _ = ring(np.random.default_rng(seed))
        found = cs.dynamic.influence(panel, groups=GROUPS, states=2, seed=seed)
        arcs = set(found.dag.arcs)
        whole += arcs >= WANTED
        false += len(arcs - WANTED)
        print(
            f"seed {seed}: {len(arcs & WANTED)} of 8 arcs, {len(arcs - WANTED)} false", flush=True
        )
    print(f"all 8 arcs in {whole} of {n} seeds; {false} false arcs in all")


if __name__ == "__main__":
    main()
