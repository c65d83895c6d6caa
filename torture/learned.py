"""Counts, scores, estimates and completions of small tables against their formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from hierarchy_oracles import rational
from inference_oracles import full_joint
from oracles import count_slowly
from scipy.special import gammaln, xlogy

import consilience as cs
from consilience.errors import ConsilienceError
from torture import cases
from torture.cases import Case
from torture.discrete import near
from torture.harness import Topic

MOST_FOR_FRACTIONS = 30
"""Rows of a table whose hierarchy is summed over all table counts in whole numbers."""


def prepare(seed: int, folder: Path) -> Case:
    """A case whose rows have some weight, so that there is something to learn from."""
    case = cases.prepare(seed, folder)
    weights = case.table.weights
    if weights is not None and not weights.sum():
        table = cs.Table(
            case.table.schema, case.table.columns, case.table.source_codes, weights + 1
        )
        return Case(case.seed, case.folder, case.net, case.given, table)
    return case


def graph(case: Case) -> cs.DAG:
    """The graph without the source."""
    return case.net.dag.without(case.net.source) if case.net.source else case.net.dag


def families(case: Case) -> dict[str, cs.Family]:
    """By child."""
    dag = graph(case)
    return {name: cs.Family(name, tuple(dag.parents(name))) for name in dag.nodes}


def weights_of(case: Case) -> np.ndarray:
    """As floats, one for each row."""
    weights = case.table.weights
    return np.ones(case.table.n_rows) if weights is None else np.asarray(weights, float)


def count(case: Case) -> int:
    """One row at a time, by source and pooled, in any order of the parents."""
    wanted = list(families(case).values())
    for by_source in (False, True):
        found = cs.count(case.table, wanted, by_source=by_source)
        for family, counts in zip(wanted, found, strict=True):
            assert counts.family == family
            expected = count_slowly(case.table, family, by_source=by_source)
            np.testing.assert_array_equal(counts.to_dense().values, expected)
    return 2 * len(wanted)


def mle(case: Case) -> int:
    """Shares of the rows that are complete for the family; of parent states never seen uniform."""
    net = cs.fit(graph(case), case.table, cs.MLE(), gaps=cs.AvailableCases())
    for name, family in families(case).items():
        rows = count_slowly(case.table, family, by_source=False)[0]
        total = rows.sum(axis=1, keepdims=True)
        uniform = np.full_like(rows, 1 / rows.shape[1])
        near(net[name].rows, np.divide(rows, total, out=uniform, where=total > 0))
        assert net[name].parents == family.parents
    _check_source(case, net)
    return 1


def _check_source(case: Case, net: cs.Network) -> None:
    if case.table.source is not None and len(case.table.sources) > 1:
        weight = np.bincount(case.table.source_codes, weights_of(case), len(case.table.sources))
        near(net[case.table.source].table[: len(weight)], weight / weight.sum())


def dirichlet(case: Case) -> int:
    """(N + a) / (N + r a), the prior said in three ways."""
    rng = case.rng()
    size = float(rng.choice([0.1, 1.0, 7.5]))
    way = str(rng.choice(["ess", "per_parent_state", "per_cell"]))
    net = cs.fit(graph(case), case.table, cs.Dirichlet(**{way: size}), gaps=cs.AvailableCases())
    for name, family in families(case).items():
        rows = count_slowly(case.table, family, by_source=False)[0]
        cell = {
            "ess": size / rows.size,
            "per_parent_state": size / rows.shape[1],
            "per_cell": size,
        }[way]
        near(net[name].rows, (rows + cell) / (rows + cell).sum(axis=1, keepdims=True))
    return 1


def separate(case: Case) -> int:
    """Each source by itself: its states are the first axis."""
    if case.table.source is None or len(case.table.sources) < 2:
        return 0
    net = cs.fit(
        graph(case), case.table, cs.Separate(cs.Dirichlet(per_cell=1)), gaps=cs.AvailableCases()
    )
    for name, family in families(case).items():
        rows = count_slowly(case.table, family, by_source=True) + 1.0
        found = net[name].table.reshape(-1, *rows.shape[1:])[: len(rows)]
        near(found, rows / rows.sum(axis=2, keepdims=True))
    return 1


def hierarchical(case: Case) -> int:
    """Means of HDS and HDMCS by sums of fractions over all table counts."""
    if (
        weights_of(case).sum() > MOST_FOR_FRACTIONS
        or not float(weights_of(case).sum()).is_integer()
    ):
        return 0
    if case.table.weights is not None and case.table.weights.dtype.kind == "f":
        return 0
    s, alpha0, n_tried = Fraction(3, 2), Fraction(1), 0
    dag, leave_out = graph(case), cs.AvailableCases()
    pooled = cs.fit(dag, case.table, cs.HDS(s=1.5), gaps=leave_out)
    is_apart = case.table.source is not None and len(case.table.sources) > 1
    apart = cs.fit(dag, case.table, cs.HDMCS(s=1.5), gaps=leave_out) if is_apart else None
    for name, family in families(case).items():
        rows = count_slowly(case.table, family, by_source=True).astype(int)
        if family.parents and len(pooled[name].rows) > 1:
            near(pooled[name].rows, rational(rows.sum(axis=0), s, alpha0)[2], 1e-9)
            n_tried += 1
        if apart is not None:
            found = apart[name].table.reshape(-1, *rows.shape[1:])
            for j in range(rows.shape[1]):
                base, _, theta, _ = rational(rows[:, j], s, alpha0)
                near(found[: len(rows), j], theta, 1e-9)
                near(found[-1, j], base, 1e-9)
                n_tried += 1
    return n_tried


def complete(case: Case) -> Case:
    """The case with the rows that have no gaps."""
    columns = case.table.columns.values()
    rows = case.table.take(np.all([column >= 0 for column in columns], axis=0))
    return Case(case.seed, case.folder, case.net, case.given, rows)


def scores(case: Case) -> int:
    """Log-likelihood, AIC, BIC and BDeu of the complete rows by their formulas."""
    case = complete(case)
    if weights_of(case).sum() < 1:
        return 0
    expected = {cs.scores.LogLikelihood(): 0.0, cs.AIC(): 0.0, cs.BIC(): 0.0, cs.BDeu(ess=3.0): 0.0}
    for family in families(case).values():
        rows = count_slowly(case.table, family, by_source=False)[0]
        q, r = rows.shape
        log = (xlogy(rows, rows).sum() - xlogy(rows.sum(axis=1), rows.sum(axis=1)).sum()).item()
        free, n = q * (r - 1), rows.sum()
        expected[cs.scores.LogLikelihood()] += log
        expected[cs.AIC()] += log - free
        expected[cs.BIC()] += log - 0.5 * free * math.log(n)
        expected[cs.BDeu(ess=3.0)] += _log_evidence(rows, 3.0 / rows.size)
    for score, value in expected.items():
        near(cs.score(graph(case), case.table, score), value, 1e-9)
    return len(expected)


def _log_evidence(rows: np.ndarray, cell: float) -> float:
    n, prior = rows.sum(axis=1), cell * rows.shape[1]
    cells = gammaln(cell + rows) - gammaln(cell)
    return float((gammaln(prior) - gammaln(prior + n)).sum() + cells.sum())


def em(case: Case) -> int:
    """The objective never falls, and the log-likelihood is that of the full joint."""
    found = cs.em(graph(case), case.table, cs.Dirichlet(ess=1.0))
    assert (np.diff(found.objective) >= -1e-8 * (1 + abs(found.objective[-1]))).all(), (
        found.objective
    )
    joint = full_joint(found.network)
    total = 0.0
    for i, weight in enumerate(weights_of(case)):
        table = joint
        for axis, (name, variable) in enumerate(found.network.variables.items()):
            code = int(case.table.column(name)[i])
            if code >= 0:
                assert (
                    variable.discrete_states[code] == case.table.schema[name].discrete_states[code]
                )
                table = np.take(table, [code], axis=axis)
        total += weight * math.log(table.sum()) if weight else 0.0
    near(found.log_likelihood, total, 1e-8)
    return 1


def impute(case: Case) -> int:
    """Each row gets its most probable completion, and nothing known is touched."""
    found = cs.impute(case.net, case.table).table
    for i in range(case.table.n_rows):
        known = case.row(i)
        table = case.weighed(known)
        full = dict(known)
        for name in case.net.variables:
            if name in found.schema:
                state = found.schema[name].discrete_states[int(found.column(name)[i])]
                if name in known and name != case.net.source:
                    assert state == known[name]
                full.setdefault(name, state)
        if set(full) == set(case.net.variables):
            at = tuple(v.states.index(full[n]) for n, v in case.net.variables.items())
            near(table[at] / table.sum(), table.max() / table.sum())
    return case.table.n_rows


def learn(case: Case) -> int:
    """The exact search finds the best of all graphs of up to three variables."""
    names = list(case.table.variables)[:3]
    rows = complete(case).table.select(names).pooled()
    if len(names) < 2 or weights_of(complete(case)).sum() < 1:
        return 0
    score = cs.BDeu(ess=2.0)
    best = cs.score(cs.learn(rows, score=score, search=cs.Exact()), rows, score)
    others = [cs.score(dag, rows, score) for dag in _dags(names)]
    near(best, max(others), 1e-9)
    return len(others)


def _dags(names: list[str]) -> list[cs.DAG]:
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    found = []
    for ways in np.ndindex(*[3] * len(pairs)):
        arcs = [p if w == 1 else p[::-1] for p, w in zip(pairs, ways, strict=True) if w]
        try:
            found.append(cs.DAG(arcs, nodes=names))
        except ConsilienceError:
            continue
    return found


CLAIMS = {
    **{f.__name__: f for f in (count, mle, dirichlet, separate, hierarchical, scores, em, impute)},
    "learn": learn,
}
TOPIC = Topic("learned", prepare, CLAIMS, n_trials=1240)
