r"""Is what is refused truly unknown, and do the intervals of causal answers cover?

``completeness`` looks for a *witness* of every refusal. Each hidden cause is a root with two states
(four if that fails), all tables are drawn, and J is the Jacobian of P(v) with respect to the free
directions of all rows. The question is not determined by P(v) if its gradient lies outside the row
space of J: some change of the tables leaves P(v) as it is and moves the answer. All graphs of three
nodes and some of four are tried. ``peer`` holds pyAgrum's decisions against ours.

``coverage`` draws tables of the front-door graph from the prior, 200 rows from them, and asks
whether 90 % intervals of P(y | do x) and of the contrast hold the truth.

``fairness`` draws tables of two groups, half of them with equal rates, and asks the same of 95 %
intervals of gaps.

    python experiments/causal.py completeness [--graphs 400] [--seed 1]
    python experiments/causal.py peer [--graphs 1500] [--every 1] [--seed 1]
    python experiments/causal.py coverage [--data-sets 4000] [--draws 1000] [--seed 1]
    python experiments/causal.py fairness [--tables 4000] [--seed 1]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import click
import numpy as np

import consilience as cs
from consilience._typing import Floats
from consilience.errors import GraphError

N_ROWS = 200
LEVEL = 0.9
OUTSIDE = 1e-6
"""A gradient whose relative distance from the row space is more than this lies outside it."""

Factor = tuple[tuple[str, ...], Floats]
"""The names of the axes, the child last, and the table."""


def all_graphs(nodes: str) -> Iterator[cs.causal.ADMG]:
    """Every graph with hidden causes on some nodes."""
    pairs = list(combinations(nodes, 2))
    for kinds in product((None, False, True), repeat=len(pairs)):
        arcs = [
            (b, a) if is_turned else (a, b)
            for (a, b), is_turned in zip(pairs, kinds, strict=True)
            if is_turned is not None
        ]
        try:
            cs.DAG(arcs, list(nodes))
        except GraphError:
            continue
        for chosen in product((False, True), repeat=len(pairs)):
            latent = [pair for pair, is_in in zip(pairs, chosen, strict=True) if is_in]
            yield cs.causal.ADMG(arcs, latent, list(nodes))


def drawn_graph(nodes: str, rng: np.random.Generator) -> cs.causal.ADMG:
    """One of these graphs, each equally likely."""
    while True:
        pairs = list(combinations(nodes, 2))
        kinds = rng.integers(0, 3, len(pairs))
        arcs = [(b, a) if k == 2 else (a, b) for (a, b), k in zip(pairs, kinds, strict=True) if k]
        latent = [pair for pair in pairs if rng.random() < 0.5]
        try:
            return cs.causal.ADMG(arcs, latent, list(nodes))
        except GraphError:
            continue


def residual(
    graph: cs.causal.ADMG, y: str, x: str, z: str | None, *, n_states: int, seed: int
) -> float:
    """How far the gradient of P(y = 1 | do(x = 1), z = 1) lies outside the row space of P(v)."""
    factors = _drawn_factors(graph, n_states, np.random.default_rng(seed))
    sizes = {name: s for names, t in factors for name, s in zip(names, t.shape, strict=True)}
    names = tuple(sizes)
    visible = graph.nodes
    set_x = np.array([0.0, 1.0])
    done = [((x,), set_x) if f[0][-1] == x else f for f in factors]
    fixed = {y: 1} if z is None else {y: 1, z: 1}
    rows, above, below = [], [], []
    for i, (axes, table) in enumerate(factors):
        rest = _product([f for j, f in enumerate(factors) if j != i], names, sizes)
        acted = _product([f for j, f in enumerate(done) if j != i], names, sizes)
        for change in _directions(table):
            moved = _aligned((axes, change), names)
            rows.append(_kept(rest * moved, names, visible).ravel())
            there = acted * moved if axes[-1] != x else np.zeros_like(acted)
            above.append(_at(there, names, fixed))
            below.append(_at(there, names, {k: v for k, v in fixed.items() if k != y}))
    whole = _product(done, names, sizes)
    n, d = _at(whole, names, fixed), _at(whole, names, {k: v for k, v in fixed.items() if k != y})
    gradient = (np.array(above) * d - n * np.array(below)) / d**2
    return _outside(np.array(rows), gradient)


def witness(graph: cs.causal.ADMG, y: str, x: str, z: str | None = None) -> float:
    """The largest residual over hidden causes of two states, then four, and a few draws."""
    best = 0.0
    for n_states, seed in ((2, 1), (2, 2), (4, 1), (4, 2)):
        best = max(best, residual(graph, y, x, z, n_states=n_states, seed=seed))
        if best > OUTSIDE:
            return best
    return best


def _outside(rows: Floats, gradient: Floats) -> float:
    """The part of the gradient outside the span of the columns of ``rows``, relatively."""
    size = float(np.linalg.norm(gradient))
    if size < OUTSIDE:
        return 0.0
    weights, *_ = np.linalg.lstsq(rows, gradient, rcond=1e-10)
    return float(np.linalg.norm(rows @ weights - gradient)) / size


def _drawn_factors(graph: cs.causal.ADMG, n_states: int, rng: np.random.Generator) -> list[Factor]:
    hidden = {pair: " ".join(pair) for pair in graph.latent}
    found: list[Factor] = [((name,), rng.dirichlet(np.ones(n_states))) for name in hidden.values()]
    for node in graph.nodes:
        causes = [name for pair, name in hidden.items() if node in pair]
        shape = [2] * len(graph.parents(node)) + [n_states] * len(causes)
        found.append(((*graph.parents(node), *causes, node), rng.dirichlet([1, 1], size=shape)))
    return found


def _directions(table: Floats) -> Iterator[Floats]:
    """Changes of a table that keep its rows distributions, one row and one state at a time."""
    for place in product(*(range(n) for n in table.shape[:-1])):
        for state in range(1, table.shape[-1]):
            change = np.zeros_like(table)
            change[(*place, 0)], change[(*place, state)] = -1.0, 1.0
            yield change


def _aligned(factor: Factor, names: Sequence[str]) -> Floats:
    axes, table = factor
    order = [axes.index(name) for name in names if name in axes]
    shape = [table.shape[axes.index(name)] if name in axes else 1 for name in names]
    return table.transpose(order).reshape(shape)


def _product(factors: Sequence[Factor], names: Sequence[str], sizes: Mapping[str, int]) -> Floats:
    value = np.ones([sizes[name] for name in names])
    for factor in factors:
        value = value * _aligned(factor, names)
    return value


def _kept(values: Floats, names: Sequence[str], kept: Sequence[str]) -> Floats:
    return values.sum(axis=tuple(i for i, name in enumerate(names) if name not in kept))


def _at(values: Floats, names: Sequence[str], fixed: Mapping[str, int]) -> float:
    place = tuple(fixed.get(name, slice(None)) for name in names)
    return float(np.sum(values[place]))


def peer_decides(graph: cs.causal.ADMG, y: str, x: str, z: str | None) -> bool:
    """Whether pyAgrum calls the effect identified."""
    import pyagrum as gum

    net = gum.BayesNet()
    for node in graph.nodes:
        net.add(gum.LabelizedVariable(node, node, 2))
    for tail, head in graph.arcs:
        net.addArc(tail, head)
    net.generateCPTs()
    hidden = [(f"h{i}", list(pair)) for i, pair in enumerate(graph.latent)]
    model = gum.CausalModel(net, hidden, True)  # arcs between children of a hidden cause are kept
    known: Any = set() if z is None else {z}
    _, answer, _ = gum.causalImpact(model, on=y, doing=x, knowing=known)
    return answer is not None


def front_door_covers(
    n_sets: int, n_draws: int, seed: int, *, n_rows: int = N_ROWS
) -> tuple[float, float]:
    """Shares of data sets whose interval holds the truth: of P(y | do x) and of the contrast."""
    graph = cs.causal.ADMG([("x", "m"), ("m", "y")], latent=[("x", "y")])
    found = cs.causal.identify(graph, "y", do="x")
    x, m, y = (cs.Variable(name, ("0", "1")) for name in "xmy")
    rng = np.random.default_rng(seed)
    cells = list(product("01", repeat=3))
    columns = {name: [cell[i] for cell in cells] for i, name in enumerate("xmy")}
    n_level = n_contrast = 0
    for _ in range(n_sets):
        tables = [rng.dirichlet([1, 1], size=shape) for shape in ((), (2,), (2, 2))]
        net = cs.Network.of(
            [
                cs.Categorical(child, given, table)
                for child, given, table in zip((x, m, y), ((), (x,), (x, m)), tables, strict=True)
            ]
        )
        joint = tables[0][:, None, None] * tables[1][:, :, None] * tables[2]
        counts = rng.multinomial(n_rows, joint.ravel())
        rows = cs.read(
            {**columns, "n": counts}, weight="n", states={key: ["0", "1"] for key in "xmy"}
        )
        truth = [found.query(net, {"x": state})["1"] for state in "01"]
        options = {"state": "1", "table": rows, "level": LEVEL, "draws": n_draws, "seed": rng}
        level = cs.causal.effect(graph, "y", do={"x": "1"}, **options).interval
        contrast = cs.causal.effect(
            graph, "y", do={"x": "1"}, against={"x": "0"}, **options
        ).interval
        n_level += level[0] <= truth[1] <= level[1]
        n_contrast += contrast[0] <= truth[1] - truth[0] <= contrast[1]
    return n_level / n_sets, n_contrast / n_sets


def gaps_cover(n_tables: int, seed: int, *, is_equal: bool) -> dict[str, float]:
    """Shares of tables whose 95 % intervals hold the true signed gap, for two groups."""
    rng = np.random.default_rng(seed)
    cells = list(product("ab", "01", "01"))  # group, truth, prediction
    columns = {name: [cell[i] for cell in cells] for i, name in enumerate(("group", "y"))}
    predicted = np.array([float(cell[2]) for cell in cells])
    hits = {"selection": 0, "opportunity": 0}
    for _ in range(n_tables):
        sizes = rng.integers(60, 2001, 2)
        base = rng.uniform(0.3, 0.7, 2)
        rates = rng.uniform(0.1, 0.9, (2, 2))  # group, truth: P(selected)
        if is_equal:
            base[1], rates[1] = base[0], rates[0]
        joint = np.stack([1 - base, base], axis=1)[..., None] * np.stack([1 - rates, rates], -1)
        counts = np.concatenate(
            [rng.multinomial(n, p.ravel()) for n, p in zip(sizes, joint, strict=True)]
        )
        table = cs.read(
            {**columns, "n": counts}, weight="n", states={"group": ["a", "b"], "y": ["0", "1"]}
        )
        report = cs.causal.fairness(
            predicted, table, protected="group", target="y", positive="1", seed=rng
        )
        truths = {"selection": joint[..., 1].sum(axis=1), "opportunity": rates[:, 1]}
        fields = {"selection": "selection_rate", "opportunity": "true_positive_rate"}
        for name, truth in truths.items():
            seen = [getattr(report.groups[g], fields[name]) for g in "ab"]
            signed = truth[0] - truth[1] if seen[0] >= seen[1] else truth[1] - truth[0]
            low, high = getattr(report.gaps, f"{name}_difference").interval
            hits[name] += low <= signed <= high
    return {name: n / n_tables for name, n in hits.items()}


@click.group()
def main() -> None:
    """Simulations of causal answers."""


@main.command()
@click.option("--graphs", default=400, help="Refused graphs of four nodes.")
@click.option("--seed", default=1)
def completeness(graphs: int, seed: int) -> None:
    """A witness for every refusal."""
    three = list(all_graphs("abc"))
    rng = np.random.default_rng(seed)
    for z in (None, "b"):
        told = "" if z is None else " given b"
        given = () if z is None else z
        refused = [
            g for g in three if not cs.causal.identify(g, "c", do="a", given=given).is_identified
        ]
        known = [g for g in three if g not in refused]
        least = min(witness(g, "c", "a", z) for g in refused)
        most = max(residual(g, "c", "a", z, n_states=2, seed=1) for g in known)
        print(
            f"three nodes{told}: {len(refused)} refused, smallest residual {least:.2g}; "
            f"{len(known)} identified, largest {most:.2g}",
            flush=True,
        )
    found: list[float] = []
    while len(found) < graphs:
        graph = drawn_graph("abcd", rng)
        if not cs.causal.identify(graph, "d", do="a").is_identified:
            found.append(witness(graph, "d", "a"))
    n_shown = sum(one > OUTSIDE for one in found)
    print(f"four nodes: {n_shown} of {graphs} refusals have a witness, smallest {min(found):.2g}")


@main.command()
@click.option("--graphs", default=1500, help="Graphs of four nodes.")
@click.option("--every", default=1, help="Of the graphs of three nodes, every so many.")
@click.option("--seed", default=1)
def peer(graphs: int, every: int, seed: int) -> None:
    """How often pyAgrum decides as the library does."""
    try:
        import pyagrum  # noqa: F401
    except ImportError:
        print("pyAgrum is not installed")
        return
    rng = np.random.default_rng(seed)
    questions: dict[str, list[tuple[cs.causal.ADMG, str | None]]] = {
        "three nodes": [(g, None) for g in list(all_graphs("abc"))[::every]],
        "three nodes, given one": [(g, "b") for g in list(all_graphs("abc"))[::every]],
        "four nodes": [(drawn_graph("abcd", rng), None) for _ in range(graphs)],
    }
    for name, asked in questions.items():
        same = 0
        for graph, z in asked:
            y, given = graph.nodes[-1], () if z is None else z
            ours = cs.causal.identify(graph, y, do="a", given=given).is_identified
            same += peer_decides(graph, y, "a", z) == ours
        print(f"{name}: pyAgrum agrees on {same} of {len(asked)}", flush=True)


@main.command()
@click.option("--data-sets", default=4000)
@click.option("--draws", default=1000)
@click.option("--seed", default=1)
def coverage(data_sets: int, draws: int, seed: int) -> None:
    """Front-door intervals."""
    level, contrast = front_door_covers(data_sets, draws, seed)
    print(
        f"{data_sets:,} data sets of {N_ROWS} rows, 90 % intervals cover: P(y | do x) "
        f"{level:.2%}, contrast {contrast:.2%}"
    )


@main.command()
@click.option("--tables", default=4000)
@click.option("--seed", default=1)
def fairness(tables: int, seed: int) -> None:
    """Intervals of gaps between two groups."""
    for is_equal in (False, True):
        found = gaps_cover(tables, seed, is_equal=is_equal)
        told = ", ".join(f"{name} {share:.2%}" for name, share in found.items())
        print(
            f"{tables:,} tables, {'equal' if is_equal else 'other'} rates, 95 % intervals: {told}",
            flush=True,
        )


if __name__ == "__main__":
    main()
