"""Networks with logistic nodes, in rows that have the values of all continuous ones.

Then every joint state of the others has a density that is a product over the nodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import consilience as cs
from consilience.data.table import code_type
from torture.discrete import near
from torture.harness import Topic
from torture.mixed import TOLERANCE, MixedCase, known, model_file, random_network


def prepare(seed: int, folder: Path) -> MixedCase:
    """A case in which all values are recorded, and some states are not."""
    rng = np.random.default_rng((seed, 4))
    net = random_network(rng, logistic=True)
    drawn = net.sample(int(rng.integers(1, 12)), seed=seed)
    gaps = {n: rng.random(drawn.n_rows) < 0.4 for n in drawn.columns}
    columns = {
        n: c
        if c.dtype == float
        else np.where(gaps[n], -1, c).astype(code_type(net.variables[n].n_states))
        for n, c in drawn.columns.items()
    }
    table = cs.Table(drawn.schema, columns, drawn.source_codes)
    return MixedCase(seed, folder, net, known(net, table, 0), table)


def complete_log(net: cs.Network, row: Mapping[str, Any]) -> float:
    """Log density of a complete row, node by node."""
    total = 0.0
    for name, local in net.distributions.items():
        at = [
            net.variables[p.name].states.index(row[p.name])
            for p in local.given
            if not p.is_continuous
        ]
        values = np.array([row[p.name] for p in local.given if p.is_continuous])
        if name in net.regressions:
            mean = local.intercept[tuple(at)] + local.coefficients[tuple(at)] @ values
            total += norm.logpdf(row[name], mean, local.sd[tuple(at)])
            continue
        code = net.variables[name].states.index(row[name])
        if name in net.tables:
            total += math.log(local.table[(*at, code)])
        else:
            linear = local.intercept[tuple(at)] + local.coefficients[tuple(at)] @ values
            total += linear[code] - np.log(np.exp(linear).sum())
    return float(total)


def completions(
    net: cs.Network, given: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """All joint states that fit a row with all values, and the log density of each."""
    free = [n for n, v in net.variables.items() if not v.is_continuous and n not in given]
    rows = [
        {**given, **dict(zip(free, states, strict=True))}
        for states in itertools.product(*(net.variables[n].discrete_states for n in free))
    ]
    with np.errstate(divide="ignore"):
        return rows, np.array([complete_log(net, row) for row in rows])


def rows(case: MixedCase) -> int:
    """Log-likelihood and posteriors of rows that have all values."""
    logs = case.net.log_likelihood(case.table)
    discrete = [n for n, v in case.net.variables.items() if not v.is_continuous]
    answers = {n: case.net.posteriors(case.table, n) for n in discrete}
    for i in range(case.table.n_rows):
        _, log = completions(case.net, case.row(i))
        near(logs[i], np.logaddexp.reduce(log), TOLERANCE)
        for name in discrete:
            given = {n: v for n, v in case.row(i).items() if n != name}
            near(answers[name][i], _share(case.net, given, name))
    return case.table.n_rows


def _share(net: cs.Network, given: Mapping[str, Any], name: str) -> np.ndarray:
    every, log = completions(net, given)
    weight = np.exp(log - log.max())
    states = net.variables[name].discrete_states
    found = np.array([weight[[row[name] == s for row in every]].sum() for s in states])
    return found / found.sum()


def query(case: MixedCase) -> int:
    """Single questions about a row that has all values."""
    _, log = completions(case.net, case.given)
    near(cs.log_probability(case.net, case.given), np.logaddexp.reduce(log), TOLERANCE)
    for name, variable in case.net.variables.items():
        if not variable.is_continuous and name not in case.given:
            near(case.net.query(name, case.given).values, _share(case.net, case.given, name))
    best = case.net.mpe(case.given)
    near(best.log_probability, log.max(), TOLERANCE)
    near(complete_log(case.net, {**case.given, **best}), log.max(), TOLERANCE)
    return 1


def sample(case: MixedCase) -> int:
    """Rows drawn without evidence have finite densities."""
    assert np.isfinite(case.net.log_likelihood(case.net.sample(50, seed=case.seed))).all()
    return 1


CLAIMS = {
    "rows": rows,
    "query": query,
    "sample": sample,
    "model_file": model_file,
}
TOPIC = Topic("logistic", prepare, CLAIMS, n_trials=300)
