"""Every verb of a network of both kinds against enumeration of its joint states.

Given the states of the discrete nodes, the continuous ones are one normal distribution, which is
found by inverting a matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mixed_oracles as oracle
import numpy as np
from scipy.stats import norm

import consilience as cs
from consilience.errors import DataError
from torture import names
from torture.cases import random_table
from torture.discrete import STEP, near
from torture.harness import Topic

TOLERANCE = 1e-8
"""Of the brute force: it inverts matrices and takes small differences of large numbers."""


@dataclass(frozen=True)
class MixedCase:
    """A network of both kinds, what is known, and rows with gaps."""

    seed: int
    folder: Path
    net: cs.Network
    given: Mapping[str, Any]
    table: cs.Table

    def rng(self) -> np.random.Generator:
        """A generator of its own for each claim."""
        return np.random.default_rng((self.seed, 12))

    def row(self, i: int) -> dict[str, Any]:
        """What a row records."""
        return known(self.net, self.table, i)


def known(net: cs.Network, table: cs.Table, i: int) -> dict[str, Any]:
    """What a row says, as evidence."""
    found: dict[str, Any] = {}
    for name, variable in net.variables.items():
        value = table.column(name)[i]
        if variable.is_continuous and not np.isnan(value):
            found[name] = float(value)
        if not variable.is_continuous and value >= 0:
            found[name] = variable.discrete_states[value]
    return found


def prepare(seed: int, folder: Path) -> MixedCase:
    """A case of 2 to 7 nodes without logistic ones; the first discrete root may be the source."""
    rng = np.random.default_rng((seed, 3))
    net = random_network(rng)
    drawn = net.sample(int(rng.integers(1, 12)), seed=seed)
    row = {name: drawn.column(name)[0] for name in net.variables}
    table = with_gaps(rng, drawn, float(rng.choice([0.0, 0.3, 0.6])))
    return MixedCase(seed, folder, net, oracle.random_evidence(rng, net, row), table)


def random_network(rng: np.random.Generator, *, logistic: bool = False) -> cs.Network:
    """A conditional linear Gaussian network with nasty names, or one with logistic nodes too."""
    n = int(rng.integers(2, 8))
    called, is_discrete = names.some(rng, n), rng.random(n) < rng.choice([0.2, 0.5])
    variables = [
        cs.Variable(name, tuple(names.some(rng, int(rng.integers(2, 4)), without=["new_source"])))
        if discrete
        else cs.Variable(name)
        for name, discrete in zip(called, is_discrete, strict=True)
    ]
    local, p_arc = [], rng.uniform(0.2, 0.8)
    for i, child in enumerate(variables):
        parents = [
            v
            for v in variables[:i]
            if rng.random() < p_arc and (logistic or child.is_continuous or not v.is_continuous)
        ]
        local.append(_local(rng, child, parents))
    roots = [one.child.name for one in local if not one.given and not one.child.is_continuous]
    source = roots[0] if roots and rng.random() < 0.5 else None
    return cs.Network.of([local[i] for i in rng.permutation(n)], source=source)


def _local(rng: np.random.Generator, child: cs.Variable, parents: list[cs.Variable]) -> Any:
    sizes = [p.n_states for p in parents if not p.is_continuous]
    n_values = sum(p.is_continuous for p in parents)
    if child.is_continuous:
        intercept, slopes = rng.normal(size=sizes), rng.normal(size=(*sizes, n_values))
        return cs.LinearGaussian(
            child, parents, intercept, slopes, rng.uniform(0.2, 2.0, size=sizes)
        )
    if not n_values:
        return cs.Categorical(child, parents, random_table(rng, child, parents))
    shape = (*sizes, child.n_states)
    return cs.Logistic(child, parents, rng.normal(size=shape), rng.normal(size=(*shape, n_values)))


def with_gaps(rng: np.random.Generator, table: cs.Table, share: float) -> cs.Table:
    """Values lost at random, and weights in a third of the cases."""
    columns = {}
    for name, column in table.columns.items():
        gap = np.nan if column.dtype == float else -1
        columns[name] = np.where(rng.random(table.n_rows) < share, gap, column).astype(column.dtype)
    weights = rng.integers(1, 4, table.n_rows) if rng.random() < 0.3 else None
    return cs.Table(table.schema, columns, table.source_codes, weights)


def query(case: MixedCase) -> int:
    """One variable at a time: shares of states, means and variances, densities."""
    found = oracle.enumerated(case.net, case.given)
    for name, variable in case.net.variables.items():
        belief = case.net.query(name, case.given)
        if not variable.is_continuous:
            near(belief.values, oracle.marginal_states(case.net, found, [name]))
            continue
        mean, covariance = oracle.moments(found, [name])
        near(belief.mean, mean[0], TOLERANCE)
        near(belief.variance, covariance[0, 0], TOLERANCE)
        if name not in case.given:
            near(belief.density(0.3), _density(found, name, 0.3), TOLERANCE)
    return len(case.net.variables)


def _density(found: Mapping[str, Any], name: str, x: float) -> float:
    i = found["continuous"].index(name)
    sds = np.sqrt(found["covariances"][:, i, i])
    return float(oracle.shares(found) @ norm.pdf(x, found["means"][:, i], sds))


def joint_query(case: MixedCase) -> int:
    """Some of both kinds: states, and means and covariances given each of them."""
    asked = [
        str(n) for n in case.rng().permutation(list(case.net.variables))[:4] if n not in case.given
    ]
    discrete = [n for n in asked if not case.net.variables[n].is_continuous]
    continuous = [n for n in asked if n not in discrete]
    if not discrete or not continuous:
        return 0
    found, belief = oracle.enumerated(case.net, case.given), case.net.query(asked, case.given)
    expected = oracle.marginal_states(case.net, found, discrete)
    near(belief.discrete.values, expected)
    at = [found["discrete"].index(n) for n in discrete]
    for codes in np.argwhere(expected > 1e-9):
        keep = (found["states"][:, at] == codes).all(axis=1)
        mean, covariance = oracle.moments(found, continuous, keep)
        variables = [case.net.variables[n] for n in discrete]
        part = belief[tuple(v.states[c] for v, c in zip(variables, codes, strict=True))]
        near(np.atleast_1d(part.mean), mean, TOLERANCE)
        near(part.covariance, covariance, TOLERANCE)
    return 1


def marginals(case: MixedCase) -> int:
    """All nodes at once."""
    found = oracle.enumerated(case.net, case.given)
    for name, belief in case.net.marginals(case.given).items():
        if case.net.variables[name].is_continuous:
            mean, covariance = oracle.moments(found, [name])
            near(belief.mean, mean[0], TOLERANCE)
            near(belief.variance, covariance[0, 0], TOLERANCE)
        else:
            near(belief.values, oracle.marginal_states(case.net, found, [name]))
    return 1


def log_probability(case: MixedCase) -> int:
    """Of states, likelihoods and values."""
    expected = oracle.log_total(oracle.enumerated(case.net, case.given))
    near(cs.log_probability(case.net, case.given), expected, TOLERANCE)
    return 1


def probability(case: MixedCase) -> int:
    """Of an interval, and of a state with it."""
    free = [n for n, v in case.net.variables.items() if v.is_continuous and n not in case.given]
    if not free:
        return 0
    found = oracle.enumerated(case.net, case.given)
    i = found["continuous"].index(free[0])
    sds = np.sqrt(found["covariances"][:, i, i])
    low, high = (norm.cdf(x, found["means"][:, i], sds) for x in (-0.5, 1.0))
    expected = oracle.shares(found) @ (high - low)
    near(case.net.probability({free[0]: (-0.5, 1.0)}, case.given), expected, TOLERANCE)
    return 1


def mpe(case: MixedCase) -> int:
    """States and values of the largest density."""
    found = oracle.enumerated(case.net, case.given)
    log = _log_peaks(found, case.given)
    best, top = case.net.mpe(case.given), int(log.argmax())
    near(best.log_probability, log.max(), TOLERANCE)
    if np.sum(log > log.max() - 1e-6) == 1:
        _check_explanation(case.net, found, top, best)
    return 1


def _log_peaks(found: Mapping[str, Any], given: Mapping[str, Any]) -> np.ndarray:
    """Log density of each joint state with the continuous nodes at their means."""
    free = [i for i, n in enumerate(found["continuous"]) if n not in given]
    log = found["log_weights"].copy()
    for s, covariance in enumerate(found["covariances"]):
        if free:
            spread = np.linalg.slogdet(covariance[np.ix_(free, free)])[1]
            log[s] -= 0.5 * (spread + len(free) * oracle.LOG_2PI)
    return log


def _check_explanation(net: cs.Network, found: Mapping[str, Any], s: int, best: Any) -> None:
    for name, code in zip(found["discrete"], found["states"][s], strict=True):
        assert name not in best or best[name] == net.variables[name].states[code]
    for name, value in zip(found["continuous"], found["means"][s], strict=True):
        if name in best:
            near(best[name], value, TOLERANCE)


def most_probable(case: MixedCase) -> int:
    """The densities of the three best joint states."""
    log = np.sort(_log_peaks(oracle.enumerated(case.net, case.given), case.given))[::-1][:3]
    found = cs.most_probable(case.net, 3, case.given)
    near([one.log_probability for one in found], log, TOLERANCE)
    return 1


def posteriors(case: MixedCase) -> int:
    """Rows together: shares, or mean and sd; equal to single queries."""
    for target, variable in case.net.variables.items():
        answers = case.net.posteriors(case.table, target)
        for i, answer in enumerate(answers):
            given = {n: v for n, v in case.row(i).items() if n != target}
            found = oracle.enumerated(case.net, given)
            single = case.net.query(target, given)
            if variable.is_continuous:
                mean, covariance = oracle.moments(found, [target])
                near(answer, [mean[0], math.sqrt(covariance[0, 0])], TOLERANCE)
                near(answer, [single.mean, single.sd], TOLERANCE)
            else:
                near(answer, oracle.marginal_states(case.net, found, [target]))
                near(answer, single.values)
    return case.table.n_rows * len(case.net.variables)


def log_likelihood(case: MixedCase) -> int:
    """Of what each row records."""
    for i, answer in enumerate(case.net.log_likelihood(case.table)):
        near(answer, oracle.log_total(oracle.enumerated(case.net, case.row(i))), TOLERANCE)
    return case.table.n_rows


def sample(case: MixedCase) -> int:
    """Means of draws given what is known, within seven standard errors."""
    n_rows = 400
    found = oracle.enumerated(case.net, case.given)
    rows = case.net.sample(n_rows, case.given, seed=case.seed)
    for name, variable in case.net.variables.items():
        if variable.is_continuous:
            mean, covariance = oracle.moments(found, [name])
            room = 7 * math.sqrt(max(covariance[0, 0], 0) / n_rows) + 1e-9
            assert abs(rows.column(name).mean() - mean[0]) < room, name
            continue
        share = oracle.marginal_states(case.net, found, [name])
        seen = np.bincount(rows.column(name), minlength=variable.n_states)[: variable.n_states]
        assert (abs(seen / n_rows - share) < 7 * np.sqrt(share / n_rows) + 7 / n_rows).all(), name
    return 1


def do(case: MixedCase) -> int:
    """Setting a root is knowing it; setting any node leaves those above it as they were."""
    rng = case.rng()
    name = str(rng.choice(list(case.net.variables)))
    variable = case.net.variables[name]
    state = 0.7 if variable.is_continuous else variable.discrete_states[0]
    after = case.net.do({name: state})
    for other in case.net.variables:
        given = {} if other in case.net.dag.ancestors(name) else None
        if given is None and not case.net.dag.parents(name) and other != name:
            given = {name: state}
        if given is not None:
            found, belief = oracle.enumerated(case.net, given), after.query(other)
            if case.net.variables[other].is_continuous:
                near(belief.mean, oracle.moments(found, [other])[0][0], TOLERANCE)
            else:
                near(belief.values, oracle.marginal_states(case.net, found, [other]))
    return 1


def expected_counts(case: MixedCase) -> int:
    """Expected counts and moments of every family, one completion at a time."""
    answers = cs.expected_counts(case.net, case.table)
    weights = np.ones(case.table.n_rows) if case.table.weights is None else case.table.weights
    rows = [oracle.enumerated(case.net, case.row(i)) for i in range(case.table.n_rows)]
    for name, local in case.net.tables.items():
        family = [*local.parents, name]
        expected = sum(
            w * oracle.marginal_states(case.net, f, family)
            for w, f in zip(weights, rows, strict=True)
        )
        near(answers[name], expected, TOLERANCE)
    for name in case.net.regressions:
        _check_moments(case, answers[name], name, list(zip(weights, rows, strict=True)))
    return case.table.n_rows


def _check_moments(case: MixedCase, answer: Any, name: str, rows: list[Any]) -> None:
    local = case.net[name]
    asked, discrete = [*(v.name for v in local.continuous), name], [v.name for v in local.discrete]
    sizes = [v.n_states for v in local.discrete]
    for j, codes in enumerate(itertools.product(*map(range, sizes))):
        weight, first, second = 0.0, np.zeros(len(asked)), np.zeros((len(asked), len(asked)))
        for w, found in rows:
            at = [found["discrete"].index(n) for n in discrete]
            keep = (found["states"][:, at] == np.array(codes, int)).all(axis=1)
            share = w * (oracle.shares(found) * keep).sum()
            if share > 0:
                mean, covariance = oracle.moments(found, asked, keep)
                weight, first = weight + share, first + share * mean
                second += share * (covariance + np.outer(mean, mean))
        near(answer.weight[0, j], weight, TOLERANCE)
        if weight > 1e-6:
            rounding = STEP * case.table.total_weight / weight  # of the weights in a mean
            near(answer.mean[0, j], first / weight, TOLERANCE + 10 * rounding)
            near(answer.scatter[0, j], second - np.outer(first, first) / weight, 1e-7)


def impute(case: MixedCase) -> int:
    """Each row gets the states and values of its largest density."""
    found = cs.impute(case.net, case.table).table
    for i in range(case.table.n_rows):
        given = case.row(i)
        every = oracle.enumerated(case.net, given)
        log = _log_peaks(every, given)
        if np.sum(log > log.max() - 1e-6) == 1:
            _check_explanation(case.net, every, int(log.argmax()), known(case.net, found, i))
    return case.table.n_rows


def moments(case: MixedCase) -> int:
    """Weight, mean and scatter of complete rows, by joint states and sources."""
    asked = [n for n, v in case.net.variables.items() if v.is_continuous][:2]
    by = [n for n in case.table.variables if not case.net.variables[n].is_continuous][:1]
    if not asked:
        return 0
    weights = np.ones(case.table.n_rows) if case.table.weights is None else case.table.weights
    answer = cs.moments(case.table, asked, by=by)
    values = np.stack([case.table.column(n) for n in asked], axis=1)
    for j in range(case.net.variables[by[0]].n_states if by else 1):
        mask = ~np.isnan(values).any(axis=1) & ((case.table.column(by[0]) == j) if by else True)
        rows = np.repeat(values[mask], weights[mask].astype(int), axis=0)
        assert answer.weight[0, j] == len(rows)
        if len(rows):
            near(answer.mean[0, j], rows.mean(axis=0), 1e-12)
            away = rows - rows.mean(axis=0)
            near(answer.scatter[0, j], away.T @ away)
    return 1


def regressions(case: MixedCase) -> int:
    """Least squares for each joint state that has rows enough."""
    rows = case.net.sample(60, seed=case.seed)
    pooled = rows.pooled() if rows.source is None else rows
    dag = case.net.dag.without(case.net.source) if case.net.source else case.net.dag
    if not case.net.regressions:
        return 0
    net = cs.fit(dag, pooled, cs.MLE())
    n_tried = 0
    for name in case.net.regressions:
        local = net[name]
        discrete, continuous = [v.name for v in local.discrete], [v.name for v in local.continuous]
        if case.net.source in discrete:
            continue
        for codes in itertools.product(*(range(v.n_states) for v in local.discrete)):
            mask = np.all(
                [rows.column(n) == c for n, c in zip(discrete, codes, strict=True)]
                or [np.ones(60, bool)],
                axis=0,
            )
            if mask.sum() > len(continuous) + 4:
                X = np.column_stack(
                    [np.ones(mask.sum()), *(rows.column(n)[mask] for n in continuous)]
                )
                beta, *_ = np.linalg.lstsq(X, rows.column(name)[mask], rcond=None)
                away = rows.column(name)[mask] - X @ beta
                near([local.intercept[codes], *local.coefficients[codes]], beta, TOLERANCE)
                near(local.sd[codes], math.sqrt(away @ away / (mask.sum() - X.shape[1])), TOLERANCE)
                n_tried += 1
    return n_tried


def em(case: MixedCase) -> int:
    """The objective falls only where the record says so; a likelihood without bound is refused."""
    rng = case.rng()
    table = with_gaps(rng, case.net.sample(40, seed=case.seed), 0.2)
    dag = case.net.dag.without(case.net.source) if case.net.source else case.net.dag
    try:
        found = cs.em(dag, table, cs.MLE(unbiased=False), choice=cs.EM(iterations=12))
    except DataError as error:
        if "without bound" in str(error):
            return 0
        raise
    room = 1e-7 * (1 + abs(found.objective[-1]))
    is_told = any("objective of EM fell" in note for note in found.network.record.notes)
    assert is_told or (np.diff(found.objective) >= -room).all(), found.objective
    return 1


def model_file(case: MixedCase) -> int:
    """JSON keeps every digit of every kind."""
    for ending in (".json", ".json.gz"):
        cs.save(case.net, case.folder / f"net{ending}")
        again = cs.load(case.folder / f"net{ending}")
        assert again.source == case.net.source
        for name, local in case.net.distributions.items():
            assert type(again[name]) is type(local)
            assert again[name].parents == local.parents
            fields = ("table",) if name in case.net.tables else ("intercept", "coefficients")
            for field in (*fields, *(["sd"] if name in case.net.regressions else [])):
                np.testing.assert_array_equal(getattr(again[name], field), getattr(local, field))
    return 2


CLAIMS = {
    **{f.__name__: f for f in (query, joint_query, marginals, log_probability, probability, mpe)},
    **{f.__name__: f for f in (most_probable, posteriors, log_likelihood, sample, do, impute)},
    **{f.__name__: f for f in (expected_counts, moments, regressions, em, model_file)},
}
TOPIC = Topic("mixed", prepare, CLAIMS, n_trials=500)
