"""ADVI, the seed's method, beside the exact answer: tables, and the classifier they make.

The peer is the one of ``benchmarks/hierarchical.py``: NumPyro's mean-field normal guide, Adam with
10,000 steps, means from 20,000 draws. It compiles for every shape of table, half a minute each; so
the classifier has the five features of five states, whose tables are solved in one program. The
table of the class is the exact one for both.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from preparation import prepared
from studies import N_TEST, TRAINING, Study
from trials import Row, fixed, shuffled, tables

import consilience as cs
from consilience.parameters.source_node import by_source_table

__all__ = ["ADVI"]

FEATURES = ("age", "race", "hours-per-week", "education-num", "fnlwgt")
ESTIMATORS = {"HDMJS s=10": cs.HDMJS(s=10), "HDMCS* s=10": cs.HDMCS(s=10)}


class Advi(NamedTuple):
    estimator: str
    n: int


def advi(key: Advi) -> Row:
    """Naive Bayes on Adult by ADVI and exactly: errors, seconds, accuracy and log loss."""
    problem = prepared("adult")
    pool, test, _ = fixed("adult", "NB", N_TEST)
    rows = pool.take(shuffled(problem, pool, TRAINING)[: key.n])
    counts = tables(cs.DAG([(problem.target, feature) for feature in FEATURES]), rows)
    local, exact_seconds = _timed(ESTIMATORS[key.estimator], counts)
    exact = [_by_source(one, table) for one, table in zip(counts, local, strict=True)]
    theta, seconds = _by_advi([table.posterior.hierarchy for table in local[1:]])
    is_joint = key.estimator.startswith("HDMJS")
    rough = [exact[0]]
    for i, one in enumerate(counts[1:]):
        part = theta[i] if is_joint else theta[2 * i : 2 * i + 2].transpose(1, 0, 2)
        joint = part.reshape(one.table.shape)
        rough.append(joint / joint.sum(axis=-1, keepdims=True))
    errors = [np.abs(a - b).max() for a, b in zip(rough[1:], exact[1:], strict=True)]
    answers = {"exact": _measures(counts, exact, test), "advi": _measures(counts, rough, test)}
    return {
        "largest_error": max(errors),
        "median_error": float(np.median(errors)),
        "exact_seconds": exact_seconds,
        "advi_seconds": seconds,
        **{f"{name}_accuracy": found.accuracy for name, found in answers.items()},
        **{f"{name}_log_loss": found.log_loss for name, found in answers.items()},
    }


def _timed(estimator: Any, counts: Any) -> tuple[Any, float]:
    estimator.estimate(counts)  # compiled once
    start = time.process_time()
    local = estimator.estimate(counts)
    return local, time.process_time() - start


def _by_source(counts: Any, table: Any) -> Any:
    """The table without the source never seen: (sources, parent states, states)."""
    n_sources, q, r = counts.table.shape
    return table.table.reshape(-1, q, r)[:n_sources]


def _by_advi(hierarchies: list[Any]) -> tuple[Any, float]:
    """Posterior means of theta for all batches of all tables, one after the other, and seconds."""
    benchmarks = str(Path(__file__).parents[1] / "benchmarks")
    if benchmarks not in sys.path:
        sys.path.append(benchmarks)
    from hierarchical import advi as peer

    counts = np.concatenate([hierarchy.counts[:, :-1] for hierarchy in hierarchies])
    answer = peer(counts, float(hierarchies[0].s[0]), hierarchies[0].alpha0)
    if answer is None:
        sys.exit("ADVI needs NumPyro: pip install 'consilience[bench]'.")
    return answer.theta, answer.seconds


def _measures(counts: Any, by_source: list[Any], test: cs.Table) -> Any:
    problem = prepared("adult")
    source = counts[0].source
    root = cs.Categorical(source, (), np.full(source.n_states, 1 / source.n_states))
    local = [
        by_source_table(one, source, rows) for one, rows in zip(counts, by_source, strict=True)
    ]
    net = cs.Network.of([root, *local], source=source.name)
    return cs.classify.evaluate_network(
        net, test.select([problem.target, *FEATURES]), problem.target
    ).overall


ADVI = Study(
    "advi",
    lambda _: [Advi(name, n) for n in (20, 120, 500) for name in ESTIMATORS],
    advi,
    {"features": FEATURES, "estimators": {name: repr(e) for name, e in ESTIMATORS.items()}},
)
