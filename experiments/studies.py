"""The cells of every study: keys, and what is done for each key.

*Fixed test set*: the sizes, the sweep and the learned graph share one split of each data set
(10,000 test rows); a repeat shuffles the training rows, and training sets are nested prefixes. The
other studies split, or draw, anew in every repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from preparation import prepared
from trials import OURS, SEED, Row, dag_of, fixed, measured, named, shuffled, split

import consilience as cs

__all__ = [
    "DELTAS",
    "SIZES",
    "SIZES_BOTH",
    "SOURCE_CASES",
    "STUDIES",
    "TRAINING",
    "Study",
    "of_delta",
]

DATA = ("adult", "diabetes")
STRUCTURES = ("NB", "TAN")
SIZES = (20, 60, 120, 260, 500)
SIZES_BOTH = SIZES[:4]
DELTAS = tuple(i / 10 for i in range(11))
SPARSE_DELTAS = (0.0, 0.4, 0.8)
N_TEST, N_TEST_REFERENCE, N_TEST_BOTH = 10_000, 5_000, 5_000
N_TRAIN_BOTH = 1_000
TRAINING = 1000
"""Seeds of the shuffles of training rows begin here; those of splits at 0."""
N_CHAIN = 2
"""Repeats of the divergence study in which HDC, which is the slowest, takes part."""


class Repeat(NamedTuple):
    repeat: int


class OfData(NamedTuple):
    data: str
    structure: str
    repeat: int


class Diverged(NamedTuple):
    data: str
    structure: str
    simulator: str
    delta: float
    repeat: int


class Study(NamedTuple):
    """Keys for a number of repeats, the work for a key, and what the numbers depend on."""

    title: str
    keys: Any
    work: Any
    settings: dict[str, Any]


# Must-have numbers: naive Bayes on Adult, and why the seed's line is flat


def reference(key: Repeat) -> list[Row]:
    """HDMJS as it is, and three ways in which its counts may see more rows than they should."""
    problem = prepared("adult")
    table = problem.table
    order = shuffled(problem, table, key.repeat)
    test_rows, pool_rows = order[:N_TEST_REFERENCE], order[N_TEST_REFERENCE:]
    pool_rows = pool_rows[shuffled(problem, table.take(pool_rows), TRAINING + key.repeat)]
    dag = dag_of("NB", table, problem.target)
    test, few = table.take(test_rows), table.take(test_rows[:500])
    right = named("HDMJS s=10", "HDMJS+1 s=10") | {
        "add one, by source": cs.Separate(cs.Dirichlet(per_cell=1))
    }
    found = []
    for n in SIZES:
        train = pool_rows[:n]
        found += measured(problem, dag, table.take(train), test, right)
        for name, rows, on in (
            ("counts of train and test", np.append(train, test_rows), test),
            ("counts of train and 500 test rows", np.append(train, test_rows[:500]), few),
            ("counts of all training rows", pool_rows, test),
        ):
            [row, _] = measured(problem, dag, table.take(rows), on, {name: SEED["HDMJS s=10"]})
            found.append(row | {"n": n})
    return found


# First axis: sample size


def full(key: OfData) -> list[Row]:
    """All rows but the test set."""
    problem = prepared(key.data)
    pool, test = split(problem, N_TEST, key.repeat)
    dag = dag_of(key.structure, pool, problem.target)
    return measured(problem, dag, pool, test, SEED | OURS)


def of_all_rows(repeats: int) -> list[OfData]:
    """Both data sets as they are; and Adult as the seed's numbers suggest that it was: complete
    rows, and the chain in column order of the seed's code for the tree.
    """
    inferred = [OfData("adult, complete rows", "chain", i) for i in range(repeats)]
    return [*_of_data(STRUCTURES)(repeats), *inferred]


def sizes(key: OfData) -> list[Row]:
    return _nested(key, SIZES, SEED | OURS)


def sweep(key: OfData) -> list[Row]:
    return _nested(key, (20, 120, 500), SWEEP)


def _nested(key: OfData, sizes: Iterable[int], estimators: Any) -> list[Row]:
    problem = prepared(key.data)
    pool, test, dag = fixed(key.data, key.structure, N_TEST)
    order = shuffled(problem, pool, TRAINING + key.repeat)
    parts = (pool.take(order[:n]) for n in sizes)
    return [row for rows in parts for row in measured(problem, dag, rows, test, estimators)]


def _swept() -> Iterator[tuple[str, Any]]:
    """One parameter at a time, the others s = 10, alpha0 = 1, pseudo_count = 0."""
    strengths = {str(s): s for s in (1, 3, 10, 30, 100)}
    learned = {"one a state": cs.PerState(1), "Gamma(4, 0.1)": cs.Gamma(4, 0.1)}
    for name, h in (("HDS", cs.HDS), ("HDMJS", cs.HDMJS), ("HDMCS*", cs.HDMCS)):
        for text, s in (strengths | learned).items():
            yield f"{name}, s: {text}", h(s=s)
        for alpha0 in (0.1, 10):
            yield f"{name}, alpha0: {alpha0}", h(s=10, alpha0=alpha0)
        for pseudo in (0.01, 0.1, 1):
            yield f"{name}, pseudo_count: {pseudo}", h(s=10, pseudo_count=pseudo)


SWEEP = dict(_swept())


# Second axis: divergence, and both axes


def divergence(key: Diverged) -> list[Row]:
    """Drawn data of the size of the real ones."""
    problem, net = prepared(key.data), diverged(key.data, key.structure, key.simulator, key.delta)
    drawn = draw(net, problem.table, problem.table.n_rows, key.repeat)
    order = shuffled(problem, drawn, key.repeat)
    test, train = drawn.take(order[:N_TEST]), drawn.take(order[N_TEST:])
    estimators = DIVERGENCE | (named("HDC") if key.repeat < N_CHAIN else {})
    dag = net.dag.without(problem.table.source)
    return measured(problem, dag, train, test, estimators)


DIVERGENCE = named(
    "MLE",
    *(
        f"{name}={alpha}"
        for alpha in (1, 10)
        for name in ("BMD a", "HDS+1 s", "HDMJS+1 s", "HDMCS*+1 s")
    ),
)


def both(key: Diverged) -> list[Row]:
    problem, net = prepared(key.data), diverged(key.data, key.structure, key.simulator, key.delta)
    drawn = draw(net, problem.table, N_TEST_BOTH + N_TRAIN_BOTH, key.repeat)
    order = shuffled(problem, drawn, key.repeat)
    test, pool = drawn.take(order[:N_TEST_BOTH]), drawn.take(order[N_TEST_BOTH:])
    order = shuffled(problem, pool, TRAINING + key.repeat)
    dag = net.dag.without(problem.table.source)
    parts = (pool.take(order[:n]) for n in SIZES_BOTH)
    return [row for rows in parts for row in measured(problem, dag, rows, test, SEED | OURS)]


@lru_cache(maxsize=2)
def truth(data: str, structure: str) -> tuple[cs.Network, cs.Network]:
    """Networks of the real rows: each source by itself, and all together."""
    problem = prepared(data)
    dag = dag_of(structure, problem.table, problem.target)
    plain = cs.Dirichlet(ess=1)
    return (
        cs.fit(dag, problem.table, cs.Separate(plain)),
        cs.fit(dag, problem.table, cs.Pooled(plain)),
    )


@lru_cache(maxsize=2)
def diverged(data: str, structure: str, simulator: str, delta: float) -> cs.Network:
    """The network that data are drawn from."""
    net, pooled = truth(data, structure)
    target = prepared(data).target
    if simulator == "permute":
        return cs.simulate.permute_states(net, delta, target=target, seed=1).network
    if simulator == "calibrated":
        return cs.simulate.diverge_calibrated(net, pooled, delta, target=target, seed=1).network
    return cs.simulate.diverge(net, pooled, delta, target=target)


def draw(net: cs.Network, like: cs.Table, n_rows: int, seed: int) -> cs.Table:
    """Rows of the network with the sources' shares of a table; one seed serves all deltas."""
    shares = np.bincount(like.source_codes) / like.n_rows
    parts = [
        net.sample(round(n_rows * shares[f]), given={like.source: name}, seed=_rng(seed, f))
        for f, name in enumerate(like.sources)
    ]
    columns = {
        name: np.concatenate([part.column(name) for part in parts]) for name in parts[0].columns
    }
    codes = np.concatenate([part.source_codes for part in parts])
    return cs.Table(parts[0].schema, columns, codes)


def _rng(seed: int, f: int) -> np.random.Generator:
    return np.random.default_rng((3, seed, f))


# More sources, and learned graphs

BIG, SMALL = (60, 260, 1000, 4000), (60, 260, 600)
SOURCE_CASES = {
    "adult": (5000, BIG),
    "adult by race": (5000, BIG),
    "adult by country": (5000, BIG),
    **{f"adult by education, {n}": (5000, BIG) for n in (2, 4, 8, 16)},
    "diabetes by admission": (5000, BIG),
    "heart by hospital": (300, SMALL),
    "eicu by hospital": (700, (260, 600, 1300)),
}
"""Test rows and sizes of the training sets."""

MANY = {
    "pooled": cs.Dirichlet(per_parent_state=10),
    "separate": cs.Separate(cs.Dirichlet(per_parent_state=10)),
    **named("HDS+1 s=10", "HDMJS+1 s=10", "HDMCS*+1 s=10", "HDS s=10", "HDMJS s=10", "HDMCS* s=10"),
    **OURS,
    "adaptive": cs.estimators.Adaptive(),
}


def sources(key: OfData) -> list[Row]:
    problem = prepared(key.data)
    n_test, sizes = SOURCE_CASES[key.data]
    pool, test = split(problem, n_test, key.repeat)
    dag = dag_of(key.structure, pool, problem.target)
    order = shuffled(problem, pool, TRAINING + key.repeat)
    parts = (pool.take(order[:n]) for n in sizes)
    return [row for rows in parts for row in measured(problem, dag, rows, test, MANY)]


# The list


def _of_data(structures: tuple[str, ...], cases: Iterable[str] = DATA) -> Any:
    return lambda repeats: [
        OfData(*key, repeat) for repeat in range(repeats) for key in product(cases, structures)
    ]


def of_delta(repeats: int, simulator: str = "seed") -> list[Diverged]:
    deltas = DELTAS if simulator == "seed" else SPARSE_DELTAS
    return [
        Diverged(data, structure, simulator, delta, repeat)
        for data, structure, delta in product(DATA, STRUCTURES, deltas)
        for repeat in range(repeats)
    ]


def _texts(estimators: Any) -> dict[str, str]:
    return {name: repr(estimator) for name, estimator in estimators.items()}


STUDIES = {
    "reference": Study(
        "reference", lambda n: [Repeat(i) for i in range(n)], reference, {"test": N_TEST_REFERENCE}
    ),
    "full": Study("full", of_all_rows, full, {"test": N_TEST, "estimators": _texts(SEED | OURS)}),
    "sizes": Study(
        "sizes", _of_data(STRUCTURES), sizes, {"test": N_TEST, "estimators": _texts(SEED | OURS)}
    ),
    "divergence": Study(
        "divergence", of_delta, divergence, {"test": N_TEST, "estimators": _texts(DIVERGENCE)}
    ),
    "both": Study("both", of_delta, both, {"test": N_TEST_BOTH, "estimators": _texts(SEED | OURS)}),
    "sweep": Study(
        "sweep", _of_data(STRUCTURES), sweep, {"test": N_TEST, "estimators": _texts(SWEEP)}
    ),
    "sources": Study(
        "sources", _of_data(STRUCTURES, SOURCE_CASES), sources, {"estimators": _texts(MANY)}
    ),
    "learned": Study(
        "learned",
        _of_data(("learned",)),
        sizes,
        {"test": N_TEST, "estimators": _texts(SEED | OURS)},
    ),
}
