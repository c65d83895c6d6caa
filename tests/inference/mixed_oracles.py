"""Random networks of both kinds, and brute force: dense joints, one for each joint state."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import consilience as cs

LOG_2PI = math.log(2 * math.pi)


def random_mixed(
    rng: np.random.Generator,
    n: int,
    *,
    p_discrete: float = 0.5,
    p_arc: float = 0.4,
    p_zero: float = 0.0,
) -> cs.Network:
    """A conditional linear Gaussian network; ``p_zero`` is the share of sds that are zero."""
    is_discrete = rng.random(n) < p_discrete
    variables = [
        cs.Variable(f"x{i}", tuple(f"s{k}" for k in range(rng.integers(2, 4))))
        if is_discrete[i]
        else cs.Variable(f"x{i}")
        for i in range(n)
    ]
    order = rng.permutation(n)
    local: dict[int, Any] = {}
    for place, i in enumerate(order):
        parents = [
            variables[j]
            for j in order[:place]
            if rng.random() < p_arc and (is_discrete[j] or not is_discrete[i])
        ]
        local[i] = _random_local(rng, variables[i], parents, p_zero)
    return cs.Network.of([local[i] for i in range(n)])


def _random_local(rng, child, parents, p_zero):
    sizes = [p.n_states for p in parents if not p.is_continuous]
    if not child.is_continuous:
        table = rng.dirichlet(np.ones(child.n_states), size=sizes)
        return cs.Categorical(child, parents, table)
    n_continuous = sum(p.is_continuous for p in parents)
    sd = np.where(rng.random(sizes) < p_zero, 0.0, rng.uniform(0.2, 2.0, size=sizes))
    intercept, slopes = rng.normal(size=sizes), rng.normal(size=(*sizes, n_continuous))
    return cs.LinearGaussian(child, parents, intercept, slopes, sd)


def kinds(net: cs.Network) -> tuple[list[str], list[str]]:
    discrete = [n for n, v in net.variables.items() if not v.is_continuous]
    return discrete, [n for n, v in net.variables.items() if v.is_continuous]


def dense(net: cs.Network, states: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of all continuous nodes given states, by inverting I - B."""
    _, names = kinds(net)
    n, place = len(names), {name: i for i, name in enumerate(names)}
    a, B, v = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    for name in names:
        local = net[name]
        at = tuple(states[p.name] for p in local.given if not p.is_continuous)
        a[place[name]], v[place[name]] = local.intercept[at], local.sd[at] ** 2
        for p, slope in zip(local.continuous, local.coefficients[at], strict=True):
            B[place[name], place[p.name]] = slope
    inverse = np.linalg.inv(np.eye(n) - B)
    return inverse @ a, inverse @ np.diag(v) @ inverse.T


def conditioned(mean, covariance, seen: list[int], values: np.ndarray):
    """Log density of what is seen, and mean and covariance of everything given it."""
    if not seen:
        return 0.0, mean, covariance
    S = covariance[np.ix_(seen, seen)]
    gain = covariance[:, seen] @ np.linalg.inv(S)
    away = values - mean[seen]
    log = -0.5 * (away @ np.linalg.solve(S, away) + np.linalg.slogdet(S)[1] + len(seen) * LOG_2PI)
    return float(log), mean + gain @ away, covariance - gain @ covariance[seen, :]


def enumerated(net: cs.Network, given: dict[str, Any]) -> dict[str, Any]:
    """All joint states: P(state, given), and mean and covariance of continuous nodes given it.

    Evidence is hard, or a likelihood of a discrete node.
    """
    discrete, continuous = kinds(net)
    seen = [i for i, name in enumerate(continuous) if name in given]
    values = np.array([given[continuous[i]] for i in seen])
    states, log_weights, means, covariances = [], [], [], []
    for codes in itertools.product(*(range(net.variables[n].n_states) for n in discrete)):
        at = dict(zip(discrete, codes, strict=True))
        p = _prior(net, at) * _weight(net, at, given)
        if p > 0:
            log, mean, covariance = conditioned(*dense(net, at), seen, values)
            states.append(codes)
            log_weights.append(math.log(p) + log)
            means.append(mean)
            covariances.append(covariance)
    return {
        "discrete": discrete,
        "continuous": continuous,
        "states": np.array(states, int).reshape(len(states), len(discrete)),
        "log_weights": np.array(log_weights),
        "means": np.array(means),
        "covariances": np.array(covariances),
    }


def _prior(net, at):
    return math.prod(
        local.table[tuple(at[p] for p in (*local.parents, name))]
        for name, local in net.tables.items()
    )


def _weight(net, at, given):
    weight = 1.0
    for name, code in at.items():
        if name in given:
            value, state = given[name], net.variables[name].states[code]
            if isinstance(value, cs.Likelihood):
                weight *= value.values.get(state, 0.0)
            else:
                weight *= state == value
    return weight


def log_total(found: dict[str, Any]) -> float:
    largest = found["log_weights"].max()
    return float(largest + np.log(np.exp(found["log_weights"] - largest).sum()))


def shares(found: dict[str, Any]) -> np.ndarray:
    return np.exp(found["log_weights"] - log_total(found))


def marginal_states(net, found, names: list[str]) -> np.ndarray:
    table = np.zeros([net.variables[n].n_states for n in names])
    at = [found["discrete"].index(n) for n in names]
    for codes, share in zip(found["states"], shares(found), strict=True):
        table[tuple(codes[at])] += share
    return table


def moments(found, names: list[str], keep: np.ndarray | None = None):
    """Mean and covariance of continuous nodes over the joint states (that are kept)."""
    weights = shares(found) if keep is None else shares(found) * keep
    weights = weights / weights.sum()
    at = [found["continuous"].index(n) for n in names]
    means = found["means"][:, at]
    mean = weights @ means
    away = means - mean
    within = np.einsum("s,sij->ij", weights, found["covariances"][:, at][:, :, at])
    return mean, within + (weights[:, None] * away).T @ away


def random_evidence(rng, net, row, *, share: float = 0.4) -> dict[str, Any]:
    """Some of a drawn row's states and values, and some likelihoods."""
    given: dict[str, Any] = {}
    for name, variable in net.variables.items():
        if rng.random() < share:
            if variable.is_continuous:
                given[name] = float(row[name])
            elif rng.random() < 0.3:
                weights = rng.uniform(0.1, 1.0, variable.n_states)
                given[name] = cs.Likelihood(dict(zip(variable.states, weights, strict=True)))
            else:
                given[name] = variable.states[int(row[name])]
    return given


def drawn_row(net: cs.Network, seed: int) -> dict[str, Any]:
    table = net.sample(1, seed=seed)
    return {name: table.column(name)[0] for name in net.variables}
