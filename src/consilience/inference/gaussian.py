r"""Joint normal distributions of connected continuous nodes, and what they are given some of them.

Given a joint state :math:`s` of the discrete parents, continuous nodes follow
:math:`x = a_s + B_s x + \epsilon`, so that

.. math:: x = W_s (a_s + \epsilon), \quad W_s = (I - B_s)^{-1}, \quad
    \mathrm{Cov}(x) = L_s L_s^\top, \quad L_s = W_s \,\mathrm{diag}(\sigma_s) .

Only the rows of :math:`W_s` of observed and asked nodes are formed, from the children back to the
roots. Arcs out of observed nodes are cut, their values are constants in the regressions of their
children, and what this leaves connected is a *component*. The rows of :math:`L_s` that belong to
observed nodes are made orthonormal one after the other, :math:`L_o = R Q`, which is conditioning
on one node after the other:

.. math:: z = R^{-1}(x_o - E x_o), \quad \log p(x_o) = -\sum_i \bigl(\tfrac12 z_i^2 + \log R_{ii}
    + \tfrac12 \log 2\pi\bigr), \quad
    E[x_a \mid x_o] = E x_a + L_a Q^\top z, \quad
    \mathrm{Cov}(x_a \mid x_o) = P P^\top, \; P = L_a (I - Q^\top Q) .

Nothing is subtracted from a variance, so none becomes negative. A node that those before it
determine has :math:`R_{ii} = 0`: if its value is the one determined, it drops out, otherwise the
state :math:`s` is impossible. How many dropped out is counted, since a state that gives a point
mass to what was seen beats every state that gives it a density.

All joint states are done at once, and all rows that know the same nodes.

References: Lauritzen (1992); Lauritzen and Jensen (2001); Björck (1994) on orthogonalization.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions.linear_gaussian import LOG_ROOT_2PI, MATCHES, LinearGaussian
from consilience.inference.known_rows import Rows, joint_code
from consilience.inference.triangulation import MORE_MEMORY
from consilience.network.network import Network

__all__ = ["Component", "Conditional", "components", "condition"]

DETERMINED = 1e-10  # share of a node's sd that those before it must leave, or it counts as none
COPIES = 4  # arrays of the size of the largest one that are held at a time


@dataclass(frozen=True, slots=True)
class Component:
    """Continuous nodes that unobserved ones connect, parents first, and their discrete parents."""

    nodes: tuple[str, ...]
    discrete: tuple[str, ...]


def components(net: Network, names: Collection[str], observed: Collection[str]) -> list[Component]:
    """The components of these continuous nodes."""
    group = {name: name for name in names}

    def root(name: str) -> str:
        while group[name] != name:
            group[name] = name = group[group[name]]
        return name

    order = net.dag.topological_order() if len(group) > 1 else names
    ordered = [name for name in order if name in group]
    for name in ordered:
        for parent in net.dag.parents(name):
            if parent in group and parent not in observed:
                group[root(name)] = root(parent)
    members: dict[str, list[str]] = {}
    for name in ordered:
        members.setdefault(root(name), []).append(name)
    return [Component(tuple(nodes), _discrete_parents(net, nodes)) for nodes in members.values()]


def _discrete_parents(net: Network, nodes: Sequence[str]) -> tuple[str, ...]:
    parents = (parent for node in nodes for parent in net.dag.parents(node))
    return tuple(dict.fromkeys(p for p in parents if not net.variables[p].is_continuous))


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """A component given its observed nodes: likelihood and posterior for each joint state.

    Parameters
    ----------
    free
        The discrete parents that are not known.
    shape
        Numbers of their states.
    asked
        The nodes whose posterior is wanted.
    log_likelihood
        Log density of the observed nodes, shape (rows or 1, joint states of ``free``).
    n_dropped
        How many of them are determined by the others, in the same shape.
    log_mode
        Log density of all nodes with the unobserved ones where it is largest; the nodes without
        variance, ``n_certain`` of them, dropped.
    means
        Posterior means, shape (rows or 1, joint states, asked).
    roots
        P of the formula, shape (states, asked, nodes), for the joint states numbered by ``at``.
    at
        Shape (rows or 1, joint states).
    """

    free: tuple[str, ...]
    shape: tuple[int, ...]
    asked: tuple[str, ...]
    log_likelihood: Floats
    n_dropped: Integers
    log_mode: Floats
    n_certain: Integers
    means: Floats
    roots: Floats
    at: Integers

    @property
    def covariances(self) -> Floats:
        """Posterior covariances, shape (rows or 1, joint states, asked, asked)."""
        each = self.roots @ self.roots.swapaxes(1, 2)
        return np.asarray((0.5 * (each + each.swapaxes(1, 2)))[self.at])

    @property
    def variances(self) -> Floats:
        """Posterior variances, shape (rows or 1, joint states, asked)."""
        return np.asarray((self.roots**2).sum(axis=2)[self.at])


def condition(
    net: Network,
    component: Component,
    rows: Rows,
    asked: Collection[str] = (),
    *,
    memory_limit: float,
) -> Conditional:
    """The component given what the rows know of it; ``asked`` nodes are not among the known."""
    observed = [name for name in component.nodes if name in rows.values]
    wanted = tuple(name for name in component.nodes if name in asked)
    free = tuple(name for name in component.discrete if name not in rows.known)
    shape = tuple(net.variables[name].n_states for name in free)
    _guard(net, component, rows, len(observed) + len(wanted), memory_limit=memory_limit)
    codes, at = _states(net, component, rows, shape)
    if not observed and wanted == component.nodes and len(wanted) == 1:
        return _alone(net.regressions[wanted[0]], rows, free, shape, codes=codes, at=at)
    joint = _joint(net, component, rows, (*observed, *wanted), codes=codes)
    o = len(observed)
    Q, R = _orthonormal(joint.L[:, :o])
    prior, size = _means(joint, rows, at)
    with np.errstate(over="ignore"):  # a value too far out for a float is impossible
        z, log, dropped = _innovations(rows, observed, at, R, prior=prior, size=size)
    gain = joint.L[:, o:] @ Q.swapaxes(1, 2)
    roots = joint.L[:, o:] - gain @ Q
    roots -= (roots @ Q.swapaxes(1, 2)) @ Q  # what rounding left the first time
    means = prior[..., o:] + np.matmul(gain[at], z[..., None])[..., 0]
    least = -0.5 * np.where(log[..., None] > -np.inf, z, 0.0) ** 2
    log_mode = np.where(log > -np.inf, least.sum(axis=-1) - joint.log_sds[at], -np.inf)
    n_certain = np.broadcast_to(joint.n_certain[at], log.shape)
    return Conditional(free, shape, wanted, log, dropped, log_mode, n_certain, means, roots, at)


def _alone(
    local: LinearGaussian,
    rows: Rows,
    free: tuple[str, ...],
    shape: tuple[int, ...],
    *,
    codes: Mapping[str, Integers],
    at: Integers,
) -> Conditional:
    """A node that is not known, all of whose continuous parents are: it is as its parents say."""
    state = joint_code({v.name: v.n_states for v in local.discrete}, codes)
    intercept, sd = local.intercept.ravel()[state], local.sd.ravel()[state]
    means = intercept[at]
    if local.continuous:
        columns = np.broadcast_arrays(*(rows.values[v.name] for v in local.continuous))
        slopes = local.coefficients.reshape(local.sd.size, -1)[state]
        means = means + np.matmul(slopes[at], np.stack(columns, axis=-1)[:, :, None])[..., 0]
    log = np.zeros(means.shape)
    is_spread = sd > 0
    log_mode = -np.log(np.where(is_spread, sd, 1.0)) - LOG_ROOT_2PI * is_spread
    n_certain = np.broadcast_to((~is_spread).astype(np.int64)[at], log.shape)
    return Conditional(
        free,
        shape,
        (local.child.name,),
        log,
        np.zeros(log.shape, np.int64),
        np.broadcast_to(log_mode[at], log.shape),
        n_certain,
        means[..., None],
        sd[:, None, None],
        at,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """Prior moments of some nodes for each joint state, as functions of known parents."""

    constant: Floats  # (states, m)
    slopes: Floats  # (states, m, known parents)
    known_parents: tuple[str, ...]
    size: Floats  # (states, m): of the terms of the constant, to judge rounding by
    L: Floats  # (states, m, nodes)
    log_sds: Floats  # (states,): sum of log(sd sqrt(2 pi)) of the nodes that have one
    n_certain: Integers  # (states,): nodes without variance


def _guard(net: Network, component: Component, rows: Rows, m: int, *, memory_limit: float) -> None:
    sizes = [float(net.variables[name].n_states) for name in component.discrete]
    known = [name in rows.known for name in component.discrete]
    n_free = math.prod(r for r, is_known in zip(sizes, known, strict=True) if not is_known)
    met = math.prod(r for r, is_known in zip(sizes, known, strict=True) if is_known)
    n_states = n_free * min(met, rows.n_rows)
    needed = 8 * COPIES * (n_states * (m + 1) * (len(component.nodes) + m) + n_free * rows.n_rows)
    what = (
        f"the joint distribution of {_check.listed(component.nodes)} for the {n_states:,.0f} joint "
        f"states of {_check.listed(component.discrete)}"
    )
    _check.memory(what, needed, memory_limit, f"Ask for less, give more, {MORE_MEMORY}")


def _states(
    net: Network, component: Component, rows: Rows, shape: tuple[int, ...]
) -> tuple[dict[str, Integers], Integers]:
    """Codes of the joint states: those of known parents met in the rows, times all free ones.

    The second answer is, for each row and joint state of the free parents, its number.
    """
    n_states = {name: net.variables[name].n_states for name in component.discrete}
    known = [name for name in component.discrete if name in rows.known]
    free = [name for name in component.discrete if name not in rows.known]
    code = joint_code({name: n_states[name] for name in known}, rows.known)
    n_met = math.prod(n_states[name] for name in known)
    met: Integers = np.arange(n_met)
    if n_met > len(code):
        met, code = np.unique(code, return_inverse=True)
    n_free = math.prod(shape)
    codes: dict[str, Integers] = {}
    pairs = ((known, np.repeat(met, n_free)), (free, np.tile(np.arange(n_free), len(met))))
    for names, left in pairs:
        for name in reversed(names):
            left, codes[name] = np.divmod(left, n_states[name])
    return codes, code[:, None] * n_free + np.arange(n_free)


def _joint(
    net: Network,
    component: Component,
    rows: Rows,
    shown: Sequence[str],
    *,
    codes: Mapping[str, Integers],
) -> _Joint:
    nodes = component.nodes
    n, m, place = max(map(len, codes.values()), default=1), len(shown), _places(nodes)
    every = [net.distributions[node] for node in nodes]
    regressions = [local for local in every if isinstance(local, LinearGaussian)]
    parents = (parent for local in regressions for parent in local.parents)
    known = _places(tuple(dict.fromkeys(name for name in parents if name in rows.values)))
    W = np.zeros((len(nodes), n, m))
    for i, name in enumerate(shown):
        W[place[name], :, i] = 1.0
    constant, size, slopes = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m, len(known)))
    L, log_sds, n_certain = np.zeros((n, m, len(nodes))), np.zeros(n), np.zeros(n, np.int64)
    for j in reversed(range(len(nodes))):
        local, w = regressions[j], W[j]
        at = joint_code({v.name: v.n_states for v in local.discrete}, codes)
        intercept, sd = local.intercept.ravel()[at], local.sd.ravel()[at]
        slope = local.coefficients.reshape(local.sd.size, -1)[at]
        constant += w * intercept[:, None]
        size += np.abs(w * intercept[:, None])
        L[:, :, j] = w * sd[:, None]
        log_sds += np.log(np.where(sd > 0, sd, 1.0)) + LOG_ROOT_2PI * (sd > 0)
        n_certain += sd == 0
        for c, parent in enumerate(v.name for v in local.continuous):
            if parent in known:
                slopes[:, :, known[parent]] += w * slope[:, c, None]
            else:
                W[place[parent]] += w * slope[:, c, None]
    return _Joint(constant, slopes, tuple(known), size, L, log_sds, n_certain)


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


def _orthonormal(rows: Floats) -> tuple[Floats, Floats]:
    """Q and R with ``rows = R Q`` for each state; a row that others determine is zero in Q."""
    n, o, k = rows.shape
    Q, R = np.zeros((n, o, k)), np.zeros((n, o, o))
    for i in range(o):
        left, before = rows[:, i, :, None], Q[:, :i]
        for _ in range(2):  # the second time removes what rounding left
            share = before @ left
            left = left - before.swapaxes(1, 2) @ share
            R[:, i, :i] += share[..., 0]
        length, whole = (np.sqrt((x**2).sum(axis=-1)) for x in (left[..., 0], rows[:, i]))
        is_spread = length > DETERMINED * whole
        R[:, i, i] = np.where(is_spread, length, 0.0)
        safe = np.where(is_spread, length, 1.0)
        Q[:, i] = np.where(is_spread[:, None], left[..., 0] / safe[:, None], 0.0)
    return Q, R


def _means(joint: _Joint, rows: Rows, at: Integers) -> tuple[Floats, Floats]:
    """Prior means, shape (rows or 1, joint states, m), and the sizes of the terms in them."""
    mean, size = joint.constant[at], joint.size[at]
    if not joint.known_parents:
        return mean, size
    columns = np.broadcast_arrays(*(rows.values[name] for name in joint.known_parents))
    values = np.stack(columns, axis=-1)[:, None, :, None]  # (rows or 1, 1, known parents, 1)
    slopes = joint.slopes[at]
    moved = np.matmul(slopes, values)[..., 0]
    return mean + moved, size + np.matmul(np.abs(slopes), np.abs(values))[..., 0]


def _innovations(
    rows: Rows, observed: Sequence[str], at: Integers, R: Floats, *, prior: Floats, size: Floats
) -> tuple[Floats, Floats, Integers]:
    """The z of the formula, log density of the observed, and how many of them dropped out."""
    n_rows = max([prior.shape[0], *(len(rows.values[name]) for name in observed)])
    z = np.zeros((n_rows, at.shape[1], len(observed)))  # (rows or 1, joint states, o)
    log, dropped = np.zeros(z.shape[:2]), np.zeros(z.shape[:2], np.int64)
    for i, name in enumerate(observed):
        value, scale = rows.values[name][:, None], R[at, i, i]
        terms = R[at, i, :i] * z[..., :i]
        away = value - prior[..., i] - terms.sum(axis=-1)
        is_spread = scale > 0
        safe = np.where(is_spread, scale, 1.0)
        z[..., i] = np.where(is_spread, away / safe, 0.0)
        density = -0.5 * z[..., i] ** 2 - np.log(safe) - LOG_ROOT_2PI
        if is_spread.all():
            log += density
        else:
            terms_size = np.abs(value) + size[..., i] + np.abs(terms).sum(axis=-1)
            matched = np.where(np.abs(away) <= MATCHES * terms_size, 0.0, -np.inf)
            log += np.where(is_spread, density, matched)
            dropped += ~is_spread
    return z, log, dropped
