"""One trial: a training set, a test set, and what every estimator makes of them.

The counts of a training set are taken once; all estimators start from them, and all test rows are
predicted in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from preparation import Problem, prepared

import consilience as cs
from consilience.parameters.source_node import with_new_source
from consilience.statistics.counts import Counts

__all__ = [
    "ALPHAS",
    "OURS",
    "PRIOR",
    "SEED",
    "Row",
    "dag_of",
    "fixed",
    "measured",
    "named",
    "network",
    "shuffled",
    "split",
    "tables",
]

Row = dict[str, Any]
Estimators = Mapping[str, Any]

ALPHAS = (1, 10)
PRIOR = "class prior"
LEAST = 1e-9
"""Added to every cell by maximum likelihood: rows with unseen cells are ranked, not given up."""


def _of_alpha(alpha: int) -> dict[str, Any]:
    hierarchies = {"HDS": cs.HDS, "HDMJS": cs.HDMJS, "HDMCS*": cs.HDMCS}
    return {
        f"BMD a={alpha}": cs.Dirichlet(per_parent_state=alpha),
        f"BDeu a={alpha}": cs.Dirichlet(ess=alpha),
        **{f"{name}+1 s={alpha}": h(s=alpha, pseudo_count=1) for name, h in hierarchies.items()},
        **{f"{name} s={alpha}": h(s=alpha) for name, h in hierarchies.items()},
    }


SEED: Estimators = {"MLE": cs.Dirichlet(per_cell=LEAST)} | _of_alpha(1) | _of_alpha(10)
"""The seed's five, with its pseudo-count of 1 and without, for both its values of alpha."""

OURS: Estimators = {
    "HDMJS s=r'": cs.HDMJS(s=cs.PerState(1)),
    "HDMCS* s=r": cs.HDMCS(s=cs.PerState(1)),
    "HDC": cs.HDC(),
}


def named(*names: str) -> dict[str, Any]:
    """Estimators by name."""
    return {name: (SEED | OURS)[name] for name in names}


def split(problem: Problem, n_test: int, seed: int) -> tuple[cs.Table, cs.Table]:
    """Training rows and test rows, stratified by class and source."""
    order = shuffled(problem, problem.table, seed)
    return problem.table.take(order[n_test:]), problem.table.take(order[:n_test])


def shuffled(problem: Problem, rows: cs.Table, seed: int) -> Any:
    """Positions of the rows, shuffled so that every prefix keeps the strata."""
    return cs.simulate.stratified_order(
        rows, by=problem.strata, seed=np.random.default_rng((7, seed))
    )


def dag_of(structure: str, rows: cs.Table, target: str) -> cs.DAG:
    """Naive Bayes, the tree-augmented one, a chain for its tree, or a graph learned."""
    if structure == "NB":
        return cs.naive_bayes(rows, target)
    if structure == "chain":
        features = [name for name in rows.variables if name != target]
        return cs.DAG([*((target, name) for name in features), *pairwise(features)])
    return cs.tan(rows, target) if structure == "TAN" else cs.learn(rows)


@lru_cache(maxsize=4)
def fixed(name: str, structure: str, n_test: int) -> tuple[cs.Table, cs.Table, cs.DAG]:
    """The one split that all repeats share, with the graph of its training rows."""
    problem = prepared(name)
    pool, test = split(problem, n_test, seed=0)
    return pool, test, dag_of(structure, pool, problem.target)


def measured(
    problem: Problem, dag: cs.DAG, rows: cs.Table, test: cs.Table, estimators: Estimators
) -> list[Row]:
    """Measures of every estimator on the test rows, and of the training rows' class shares."""
    counts = tables(dag, rows)
    states = problem.table.variables[problem.target].discrete_states
    shares = np.bincount(rows.column(problem.target), minlength=len(states)) / rows.n_rows
    found = []
    for name, estimator in estimators.items():
        net = network(estimator, counts)
        evaluation = cs.evaluate(
            net.posteriors(test, problem.target),
            test.column(problem.target),
            states=states,
            positive=problem.positive,
            prior=shares,
        )
        found.append({"estimator": name} | _numbers(evaluation.overall))
    prior = {"estimator": PRIOR} | _numbers(evaluation.prior)
    return [{"n": rows.n_rows} | row for row in (*found, prior)]


def tables(dag: cs.DAG, rows: cs.Table) -> list[Counts]:
    """Counts of all families by source."""
    families = [cs.Family(node, dag.parents(node)) for node in dag.nodes]
    return cs.count(rows, families, by_source=True)


def network(estimator: Any, counts: Sequence[Counts]) -> cs.Network:
    """The network that ``cs.fit`` would give, but that all sources are equally likely.

    Every test row tells its source, so the probabilities of the sources do not matter; but a source
    without training rows must not be impossible.
    """
    local = estimator.estimate(counts)
    source = counts[0].source
    has_new = getattr(estimator, "adds_new_source", False)
    node = with_new_source(source) if has_new else source
    root = cs.Categorical(node, (), np.full(node.n_states, 1 / node.n_states))
    return cs.Network.of([root, *local], source=node.name)


def _numbers(measures: Any) -> Row:
    names = ("accuracy", "precision", "recall", "f1", "log_loss", "brier")
    return {name: getattr(measures, name) for name in names}
