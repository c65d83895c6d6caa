"""Fusion of networks by vote: the study of Córdoba-Sánchez et al. (2015) again, and beyond it.

**Paper.** Eight sources of 50 rows are drawn from bnlearn's gaussian.test network with parameters
fitted to its 5,000 rows; each learns a graph by hill climbing with BIC (no tabu list, no restarts);
arcs are voted on at thresholds 1 to 8. Measures are the structural Hamming distance (SHD) between
classes, and true, false and missed arcs; and the coefficients of true and false parents when the
parameters are fused by the paper's weights.

**Variants.** More sources, unequal sizes, sources that diverge (the signs of A in C and F are
turned, D does not depend on B), noise (a normal error of sd 1 on every value), and missing values
(each with probability 0.05). Graphs of the vote against those from all rows, pooled (BIC) or with
parameters of their own by source (PerSource(BIC)); networks by the mean log-likelihood of 200 new
rows from each source, against pooled and hierarchical fits.

**Heart.** Four hospitals, eight discrete variables, five folds: log-likelihood of rows left out.

    CONSILIENCE_DATA=... python experiments/fusion.py run [--repeats 100] [--variants 30]
    python experiments/fusion.py summary

``run`` can be stopped and goes on where it was; ``summary`` writes tables and figures.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import click
import fusion_report
import numpy as np
from cells import finished, run
from preparation import prepared

import consilience as cs
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.fusion.choosing import choose
from consilience.fusion.parameters import parameters_of
from consilience.fusion.source_weights import weights_of
from consilience.fusion.united_tables import by_source, complete_rows, pooled_table
from consilience.fusion.voters import Voter, arc_gains
from consilience.fusion.votes import count_votes

NAMES = tuple("ABCDEFG")
TRUE = cs.DAG(
    [("A", "C"), ("B", "C"), ("B", "D"), ("A", "F"), ("D", "F"), ("E", "F"), ("G", "F")], NAMES
)
CLIMB = cs.HillClimb(tabu=0, restarts=0)
N_SOURCES, N_ROWS, N_TEST = 8, 50, 200
UNEQUAL = (10, 15, 20, 25, 40, 60, 90, 140)
VARIANTS = (
    "as in the paper",
    "4 sources",
    "16 sources",
    "32 sources",
    "unequal sizes",
    "1 source diverges",
    "3 sources diverge",
    "noise",
    "missing values",
)
HEART = ("age", "sex", "cp", "restecg", "thalach", "exang", "oldpeak", "disease")
N_SPLITS, N_FOLDS = 4, 5

Row = dict[str, Any]
RESULTS = click.option("--results", type=click.Path(path_type=Path), default=Path("results/fusion"))


@dataclass(frozen=True)
class Paper:
    seed: int


@dataclass(frozen=True)
class Variant:
    variant: str
    seed: int


@dataclass(frozen=True)
class Heart:
    repeat: int
    fold: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("run")
@click.option("--repeats", default=100, show_default=True)
@click.option("--variants", default=30, show_default=True, help="Repeats of each variant.")
@click.option("--processes", default=1, show_default=True)
@RESULTS
def run_all(repeats: int, variants: int, processes: int, results: Path) -> None:
    """Compute what is not there yet."""
    studies: dict[str, tuple[Any, list[Any]]] = {
        "paper": (papers_study, [Paper(seed) for seed in range(repeats)]),
        "variants": (
            variant_study,
            [Variant(name, seed) for seed in range(variants) for name in VARIANTS],
        ),
        "heart": (heart_study, [Heart(*key) for key in product(range(N_SPLITS), range(N_FOLDS))]),
    }
    for name, (work, keys) in studies.items():
        settings = {"search": repr(CLIMB), "rows": N_ROWS, "test": N_TEST}
        path = results / f"{name}.jsonl"
        run(path, keys, work, processes=processes, title=f"fusion {name}", settings=settings)


@main.command()
@RESULTS
def summary(results: Path) -> None:
    """Write the tables and figures of the cells that are finished."""
    parts = {name: finished(results / f"{name}.jsonl") for name in ("paper", "variants", "heart")}
    text = fusion_report.tables(parts)
    (results / "tables.md").write_text(text, encoding="utf-8")
    click.echo(text)
    fusion_report.figures(parts, results)
    fusion_report.votes_of_a_seed(fused_seed(0), TRUE, results)


@lru_cache(maxsize=1)
def network() -> cs.Network:
    """gaussian.test with its graph and fitted parameters."""
    folder = os.environ.get("CONSILIENCE_DATA")
    path = Path(folder or "") / "bnlearn" / "gaussian.test.csv.gz"
    if not folder or not path.exists():
        sys.exit(f"no data: {path.name} is needed in the folder bnlearn of CONSILIENCE_DATA.")
    return cs.fit(TRUE, cs.read(path))


def drawn(net: cs.Network, n_rows: int, rng: np.random.Generator) -> Table:
    """Rows with the columns in the order of the paper's names."""
    return net.sample(n_rows, seed=rng).select(NAMES)


def fused_seed(seed: int) -> cs.fusion.Fusion:
    """The vote of one seed, for a picture."""
    rng = np.random.default_rng([1, seed])
    tables = {f"{k + 1}": drawn(network(), N_ROWS, rng) for k in range(N_SOURCES)}
    return cs.fuse(tables, search=CLIMB)


def papers_study(key: Paper) -> list[Row]:
    """Sources, thresholds and rules on one draw of eight sources."""
    rng = np.random.default_rng([1, key.seed])
    tables = {f"{k + 1}": drawn(network(), N_ROWS, rng) for k in range(N_SOURCES)}
    voters = learned(tables)
    votes = counted(voters)
    rows = [measured(voter.dag) | {"what": "source"} for voter in voters]
    for t, (name, order) in product(range(1, N_SOURCES + 1), orders().items()):
        rows.append(measured(choose(votes, t, order)[0]) | {"what": name, "threshold": t})
    rows += [measured(dag) | {"what": name} for name, dag in automatic(voters, tables).items()]
    return rows + coefficients(voters, tables)


def learned(tables: dict[str, Table]) -> list[Voter]:
    """Each source with the graph it learns from its complete rows."""
    voters = []
    for name, table in tables.items():
        rows = complete_rows(table)
        dag = cs.learn(rows, search=CLIMB)
        voters.append(Voter(name, dag, table, gains=arc_gains(dag, rows, cs.BIC())))
    return voters


def counted(voters: list[Voter], weights: Any = None, ballots: Any = None) -> cs.fusion.Votes:
    choice = cs.fusion.EqualWeights() if weights is None else weights
    return count_votes(
        voters,
        cs.fusion.ArcVotes() if ballots is None else ballots,
        weights_of(choice, voters),
        by_strength=choice.by_strength,
    )


def elected(votes: cs.fusion.Votes, rule: Any, rows: Table, order: Any = None) -> cs.DAG:
    """The graph at the threshold that a rule chooses."""
    arranged = cs.fusion.StrongestFirst() if order is None else order
    level = rule.threshold(votes, lambda t: choose(votes, t, arranged)[0], rows)
    return choose(votes, level, arranged)[0]


def orders() -> dict[str, Any]:
    return {
        "row by row": cs.fusion.RowByRow(),
        "strongest first": cs.fusion.StrongestFirst(),
        "strongest first, reversed": cs.fusion.StrongestFirst(reverse=True),
    }


def measured(dag: cs.DAG) -> Row:
    found = cs.confusion(dag, TRUE)
    return {"shd": cs.shd(dag, TRUE), "tp": found.tp, "fp": found.fp, "fn": found.fn}


def automatic(voters: list[Voter], tables: dict[str, Table]) -> dict[str, cs.DAG]:
    """Graphs that know nothing of the truth: rules for the threshold, ballots, weights."""
    rows = pooled_table(tables)
    votes, classes = counted(voters), counted(voters, ballots=cs.fusion.ClassVotes())
    halves = counted(voters, ballots=cs.fusion.ClassVotes(0.5))
    best, majority = cs.fusion.BestScore(), cs.fusion.Majority()
    return {
        "best score": elected(votes, best, rows),
        "best score, row by row": elected(votes, best, rows, cs.fusion.RowByRow()),
        "best score, shared parameters": elected(votes, cs.fusion.BestScore(shared=True), rows),
        "majority": elected(votes, majority, rows),
        "best score of classes": elected(classes, best, rows),
        "majority of classes": elected(classes, majority, rows),
        "majority of classes, halves": elected(halves, majority, rows),
        "best score by strength": elected(counted(voters, cs.fusion.StrengthWeights()), best, rows),
        "best score, held-out weights": elected(
            counted(voters, cs.fusion.HeldOutWeights()), best, rows
        ),
        "all rows": cs.learn(rows, search=CLIMB, score=cs.BIC()),
    }


def coefficients(voters: list[Voter], tables: dict[str, Table]) -> list[Row]:
    """Fused coefficients of true and false parents at each threshold, and those of the sources."""
    rows, votes = [], counted(voters)
    for t in range(1, N_SOURCES + 1):
        dag = choose(votes, t, cs.fusion.RowByRow())[0]
        for name, choice in (
            ("inverse variances", cs.fusion.InverseVariance()),
            ("matrices", cs.fusion.PrecisionMatrices()),
        ):
            net = parameters_along(dag, tables, choice)
            rows += [one | {"by": name, "threshold": t} for one in told(net)]
    for voter in voters:
        rows += [one | {"by": "a source alone"} for one in told(cs.fit(voter.dag, voter.table))]
    return rows


def parameters_along(dag: cs.DAG, tables: dict[str, Table], choice: Any) -> cs.Network:
    voters = [Voter(name, dag, table) for name, table in tables.items()]
    weights = dict.fromkeys(tables, 1.0)
    return parameters_of(choice, dag, voters, weights, source="source").network


def told(net: cs.Network) -> list[Row]:
    """A row for each coefficient: of a true or a false parent, and how far from the truth."""
    true = network()
    rows = []
    for node in net.dag.nodes:
        for parent, value in zip(net[node].parents, net[node].coefficients, strict=True):
            is_true = parent in TRUE.parents(node)
            # With false parents among the others the best coefficient may differ: only those of
            # families with all true parents have the true one as their target.
            has_all = set(TRUE.parents(node)) <= set(net[node].parents)
            target = 0.0
            if is_true:
                target = float(true[node].coefficients[TRUE.parents(node).index(parent)])
            rows.append(
                {
                    "what": "coefficient",
                    "is_true": is_true,
                    "has_all": has_all,
                    "arc": f"{parent}{node}",
                    "value": float(value),
                    "error": float(value) - target,
                }
            )
    return rows


def variant_study(key: Variant) -> list[Row]:
    """Graphs and networks of one draw of a variant."""
    rng = np.random.default_rng([2, VARIANTS.index(key.variant), key.seed])
    tables, tests = variant_rows(key.variant, rng)
    pool = pooled_table(tables)
    complete = complete_rows(pool)
    voters = learned(tables)
    votes, best = counted(voters), cs.fusion.BestScore()
    classes = counted(voters, ballots=cs.fusion.ClassVotes())
    graphs = {
        "vote, best score": elected(votes, best, complete),
        "vote, shared parameters": elected(votes, cs.fusion.BestScore(shared=True), complete),
        "vote, majority": elected(votes, cs.fusion.Majority(), complete),
        "vote of classes, majority": elected(classes, cs.fusion.Majority(), complete),
        "vote, row weights": elected(counted(voters, cs.fusion.RowWeights()), best, complete),
        "vote, held-out weights": elected(
            counted(voters, cs.fusion.HeldOutWeights()), best, complete
        ),
        "all rows, pooled": cs.learn(complete, search=CLIMB, score=cs.BIC()),
        "all rows, by source": cs.learn(
            complete, search=CLIMB, score=cs.scores.PerSource(cs.BIC())
        ),
    }
    sources = [cs.shd(voter.dag, TRUE) for voter in voters]
    rows = [{"graph": "a source alone", "shd": float(np.mean(sources))}]
    rows += [{"graph": name, "shd": cs.shd(dag, TRUE)} for name, dag in graphs.items()]
    return rows + predicted(graphs, voters, pool, tests)


def variant_rows(
    variant: str, rng: np.random.Generator
) -> tuple[dict[str, Table], dict[str, Table]]:
    """Rows to learn from and new rows, by source."""
    number = variant.split()[0]
    n_sources = int(number) if variant.endswith("sources") else N_SOURCES
    n_diverging = int(number) if "diverge" in variant else 0
    sizes = UNEQUAL if variant == "unequal sizes" else (N_ROWS,) * n_sources
    tables, tests = {}, {}
    for k, n_rows in enumerate(sizes):
        net = diverging() if k < n_diverging else network()
        table, test = drawn(net, n_rows, rng), drawn(net, N_TEST, rng)
        if variant == "noise":
            table, test = noisy(table, rng), noisy(test, rng)
        if variant == "missing values":
            table = with_gaps(table, rng)
        tables[f"{k + 1}"], tests[f"{k + 1}"] = table, test
    return tables, tests


def diverging() -> cs.Network:
    """A source that differs: A acts the other way on C and F, and D does not depend on B."""
    net = network()
    local = dict(net.distributions)
    for node in ("C", "F"):
        old = local[node]
        slopes = np.array(old.coefficients)
        slopes[old.parents.index("A")] *= -1
        local[node] = cs.LinearGaussian(old.child, old.given, old.intercept, slopes, old.sd)
    d = local["D"]
    local["D"] = cs.LinearGaussian(d.child, (), 9.0, np.zeros(0), 4.6)
    return cs.Network(local)


def noisy(table: Table, rng: np.random.Generator) -> Table:
    columns = {
        name: column + rng.standard_normal(table.n_rows) for name, column in table.columns.items()
    }
    return Table(table.schema, columns)


def with_gaps(table: Table, rng: np.random.Generator) -> Table:
    columns = {
        name: np.where(rng.random(table.n_rows) < 0.05, np.nan, column)
        for name, column in table.columns.items()
    }
    return Table(table.schema, columns)


def predicted(
    graphs: dict[str, cs.DAG], voters: list[Voter], pool: Table, tests: dict[str, Table]
) -> list[Row]:
    """Mean log-likelihood of a new row, the mean over sources, for each way to a network."""
    plain = Table(Schema(pool.variables), pool.columns)
    tables = {voter.name: voter.table for voter in voters}
    tied = {"gaussian": cs.estimators.HierarchicalGaussian()}
    vote, pooled = graphs["vote, best score"], graphs["all rows, pooled"]
    nets = {
        "vote, merged": cs.fit(vote, plain),
        "vote, inverse variances": parameters_along(vote, tables, cs.fusion.InverseVariance()),
        "vote, hierarchical": cs.fit(vote, pool, **tied),
        "all rows, pooled": cs.fit(pooled, plain),
        "all rows, hierarchical": cs.fit(pooled, pool, **tied),
    }
    rows = [
        {
            "network": name,
            "fit": float(np.mean([mean_fit(net, pool, *item) for item in tests.items()])),
        }
        for name, net in nets.items()
    ]
    own = [
        float(cs.fit(voter.dag, voter.table).log_likelihood(tests[voter.name]).mean())
        for voter in voters
        if enough(voter.dag, voter.table)
    ]
    return [*rows, {"network": "a source alone", "fit": float(np.mean(own))}]


def enough(dag: cs.DAG, table: Table) -> bool:
    """Whether every regression has more rows than coefficients."""
    return complete_rows(table).n_rows > 2 + max(len(dag.parents(node)) for node in dag.nodes)


def mean_fit(net: cs.Network, pool: Table, name: str, test: Table) -> float:
    """Mean log-likelihood of rows of a source, given the source if the network knows it."""
    if net.source is None:
        return float(net.log_likelihood(test).mean())
    source = pool.schema.source
    codes = np.full(test.n_rows, source.discrete_states.index(name), pool.source_codes.dtype)
    rows = Table(Schema(test.variables, source), test.columns, codes)
    # P(row, source) / P(source): what the network says about the row given where it comes from.
    share = net[net.source].table[net.variables[net.source].discrete_states.index(name)]
    return float(net.log_likelihood(rows).mean() - np.log(share))


def heart_study(key: Heart) -> list[Row]:
    """Five folds of the heart data, by hospital."""
    table = prepared("heart by hospital").table.select(HEART)
    rng = np.random.default_rng([3, key.repeat])
    fold = rng.permutation(table.n_rows) % N_FOLDS
    train, test = table.take(fold != key.fold), complete_rows(table.take(fold == key.fold))
    fused = cs.fuse(train, search=CLIMB)
    complete = complete_rows(train)
    pooled = cs.learn(complete, search=CLIMB, score=cs.BIC())
    plain = Table(Schema(train.variables), train.columns)
    nets = {
        "vote, merged": cs.fit(fused.dag, plain),
        "vote, linear pool": cs.fuse(
            train, search=CLIMB, parameters=cs.fusion.LinearPool()
        ).network,
        "vote, hierarchical": cs.fit(fused.dag, train, cs.HDMCS()),
        "all rows, pooled": cs.fit(pooled, plain),
        "all rows, hierarchical": cs.fit(pooled, train, cs.HDMCS()),
    }
    parts = by_source(test)
    own = np.mean(
        [
            cs.fit(fused.sources[name], part).log_likelihood(parts[name]).mean()
            for name, part in by_source(train).items()
        ]
    )
    rows = [
        {
            "network": name,
            "fit": float(np.mean([mean_fit(net, train, *item) for item in parts.items()])),
            "arcs": sum(net.source not in arc for arc in net.dag.arcs),
        }
        for name, net in nets.items()
    ]
    arcs = float(np.mean([len(dag.arcs) for dag in fused.sources.values()]))
    told = {"threshold": fused.threshold}
    return [row | told for row in [*rows, {"network": "a source alone", "fit": own, "arcs": arcs}]]


if __name__ == "__main__":
    main()
