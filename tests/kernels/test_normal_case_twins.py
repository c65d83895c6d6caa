"""Hidden values of normal rows against normal equations, on what the library asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import consilience as cs
from consilience.inference import normal_cases as module
from consilience.inference.cases import Cases

LOG_2PI = math.log(2 * math.pi)


def network():
    g = cs.Variable("g", ("u", "v"))
    x, y, z, w = (cs.Variable(name) for name in "xyzw")
    return cs.Network.of(
        [
            cs.Categorical(g, (), [0.4, 0.6]),
            cs.LinearGaussian(x, (g,), [0.0, 1.0], np.zeros((2, 0)), [1.0, 0.5]),
            cs.LinearGaussian(y, (x, g), [0.5, -0.5], [[1.0], [2.0]], [0.7, 1.5]),
            cs.LinearGaussian(z, (y, x), 0.0, [0.5, -1.0], 0.3),
            cs.LinearGaussian(w, (z,), 1.0, [2.0], 1.0),
        ]
    )


@pytest.fixture
def asked(monkeypatch):
    """What each kernel was given, copied before and after, by name."""
    found = {name: [] for name in ("condition_cases", "square_roots", "add_draws", "add_moments")}
    for name, calls in found.items():
        monkeypatch.setattr(module, name, recorded(getattr(module, name), calls))
    net = network()
    table = net.sample(25, seed=1)
    rng = np.random.default_rng(2)
    columns = {n: c.copy() for n, c in table.columns.items()}
    for column in columns.values():
        column[rng.random(25) < 0.4] = -1 if column.dtype == np.int8 else np.nan
    rows = Cases.of(net, cs.Table(table.schema, columns, None, rng.integers(0, 3, 25)))
    rows.expected(net)
    theta = rows.layout.flatten({name: local.table for name, local in net.tables.items()})
    rows.draw(theta, np.random.default_rng(3), net.regressions)
    return found


def recorded(kernel, calls):
    def called(*arguments):
        before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        kernel(*arguments)
        calls.append((before, [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]))

    return called


def hidden_of(cases, u):
    return cases.hidden[cases.starts[u] : cases.starts[u + 1]].tolist()


def members_of(cases, u):
    part = slice(cases.member_starts[u], cases.member_starts[u + 1])
    return list(zip(cases.members[part].tolist(), cases.codes[part].tolist(), strict=True))


def residuals(cases, local, u, values):
    """Standardized residuals of a unit's nodes at these values."""
    found = []
    for j, code in members_of(cases, u):
        parents = local.arcs.parents[local.arcs.starts[j] : local.arcs.starts[j + 1]]
        begin = local.slope_offsets[j] + code * len(parents)
        mean = local.intercept[local.offsets[j] + code]
        mean += local.slopes[begin : begin + len(parents)] @ values[parents]
        found.append((values[j] - mean) / local.sd[local.offsets[j] + code])
    return np.array(found)


def solved(cases, local, g):
    """Mean and covariance of the hidden values of a case, and the log density of the others."""
    u = cases.unit[g]
    hidden, values = hidden_of(cases, u), cases.values[cases.row[g]].copy()
    values[hidden] = 0.0
    values = np.nan_to_num(values)
    r = residuals(cases, local, u, values)
    columns = [residuals(cases, local, u, values + np.eye(len(values))[h]) - r for h in hidden]
    A = np.array(columns).reshape(len(hidden), len(r)).T
    covariance = np.linalg.inv(A.T @ A)
    mean = -covariance @ A.T @ r
    left = r + A @ mean
    log_sd = sum(math.log(local.sd[local.offsets[j] + code]) for j, code in members_of(cases, u))
    log = 0.5 * (np.linalg.slogdet(covariance)[1] - left @ left) - log_sd
    return mean, covariance, log - 0.5 * (len(r) - len(hidden)) * LOG_2PI


def test_conditioned_cases_solve_the_normal_equations(asked):
    (_, [cases, local, means, log_density, roots]), *_ = asked["condition_cases"]
    assert len(cases.row) > 25
    for g in range(len(cases.row)):
        mean, covariance, log = solved(cases, local, g)
        m, u = len(mean), cases.unit[g]
        found = means[cases.mean_starts[g] : cases.mean_starts[g] + m]
        root = roots[cases.root_starts[u] : cases.root_starts[u] + m * m].reshape(m, m)
        np.testing.assert_allclose(found, mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-9, atol=1e-11)
        assert log_density[g] == pytest.approx(log, rel=1e-9, abs=1e-10)


def test_square_roots_become_covariances(asked):
    (before, after), *_ = asked["square_roots"]
    cases = before[0]
    for u in range(len(cases.starts) - 1):
        m = len(hidden_of(cases, u))
        part = slice(cases.root_starts[u], cases.root_starts[u] + m * m)
        root, found = before[1][part].reshape(m, m), after[1][part].reshape(m, m)
        np.testing.assert_allclose(found, root @ root.T, rtol=1e-12, atol=1e-14)


def test_draws_add_the_root_times_noise(asked):
    ([cases, roots, chosen, starts, noise, before], after), *_ = asked["add_draws"]
    assert len(chosen)
    twin = before.copy()
    for i, g in enumerate(chosen):
        u = cases.unit[g]
        m = len(hidden_of(cases, u))
        root = roots[cases.root_starts[u] : cases.root_starts[u] + m * m].reshape(m, m)
        part = slice(starts[i], starts[i] + m)
        twin[part] += root @ noise[part]
    np.testing.assert_allclose(after[-1], twin, rtol=1e-12)


def test_moments_are_weighted_sums_of_families(asked):
    calls = [after for _, after in asked["add_moments"]]
    assert {len(after[6]) > 0 for after in calls} == {False, True}  # with and without covariances
    for after in calls:
        check_moments(*after)


def check_moments(
    cases, arcs, chosen, starts, means, weights, covariances, offsets, total, mean, products
):
    families = {}
    for i, g in enumerate(chosen):
        u, values = cases.unit[g], cases.values[cases.row[g]].copy()
        hidden = hidden_of(cases, u)
        m = len(hidden)
        values[hidden] = means[starts[i] : starts[i] + m]
        spread = np.zeros((len(values), len(values)))
        if len(covariances):
            part = covariances[cases.root_starts[u] : cases.root_starts[u] + m * m]
            spread[np.ix_(hidden, hidden)] = part.reshape(m, m)
        for j, code in members_of(cases, u):
            of = [*arcs.parents[arcs.starts[j] : arcs.starts[j + 1]], j]
            item = weights[i], values[of], spread[np.ix_(of, of)]
            families.setdefault((j, code), []).append(item)
    for (j, code), items in families.items():
        weight, d = sum(w for w, _, _ in items), len(items[0][1])
        if weight == 0:
            continue
        center = sum(w * x for w, x, _ in items) / weight
        twin = sum(w * (np.outer(x - center, x - center) + s) for w, x, s in items)
        at, to = offsets.means[j] + code * d, offsets.products[j] + code * d * d
        assert total[offsets.groups[j] + code] == pytest.approx(weight)
        np.testing.assert_allclose(mean[at : at + d], center, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(products[to : to + d * d], twin.ravel(), rtol=1e-9, atol=1e-10)
