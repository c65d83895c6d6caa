r"""The law of the first slices under which all slices have the same one.

For continuous nodes the window of L slices moves by a matrix :math:`C` (``companion``) with noise
:math:`Q`: if all eigenvalues of :math:`C` are smaller than one, its mean and covariance solve
:math:`m = C m + c` and :math:`P = C P C^\top + Q`. For discrete nodes the joint states of L slices
are a Markov chain with a unique :math:`\pi = \pi M`. From the joint law each node of the first
slices gets its distribution given all nodes before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.early_slices import is_tied, tied_family
from consilience.dynamic.lagged_names import at, split_lag
from consilience.dynamic.var_matrices import VAR, companion, matrices_of
from consilience.errors import ModelError
from consilience.network.network import Network

__all__ = ["is_stable", "stationary_initial"]

UNIT = 1e-9
"""Distance from one within which an eigenvalue counts as one."""

LIMIT = 2**28
"""Bytes of the tables of a stationary law."""


def is_stable(net: DynamicNetwork) -> bool:
    """Whether a network of continuous nodes has a stationary law."""
    matrices = matrices_of(dict(net.transition), net.order)  # type: ignore[arg-type]
    return _radius(matrices) < 1 - UNIT


def stationary_initial(net: DynamicNetwork) -> Network:
    """The network of the first slices of the stationary law.

    Raises
    ------
    ModelError
        If there is none: a unit root, states that are never left, inputs, or continuous and
        discrete nodes that depend on each other.
    """
    if net.inputs:
        raise ModelError(
            f"there is no stationary law: it would change with the input {net.inputs[0]!r}. Use "
            "initial=cs.dynamic.Estimated() or cs.dynamic.Conditional().",
            variable=net.inputs[0],
        )
    names = _needed(net)
    root = [] if net.source is None else [net.initial[net.source]]
    if not names:
        return net.initial
    kinds = {net.variables[name].is_continuous for name in names}
    if len(kinds) > 1 or any(
        isinstance(net.transition[n], LinearGaussian) and _discrete(net, n) for n in names
    ):
        raise ModelError(
            "there is no closed form of the stationary law of continuous and discrete nodes that "
            f"depend on each other ({_check.listed(names)}). Use initial=cs.dynamic.Estimated() or "
            "cs.dynamic.Conditional().",
            variable=names[0],
        )
    source = None if net.source is None else net.initial.variables[net.source]
    uses = source is not None and any(net.source in net.transition[n].parents for n in names)
    of_source = [{name: net.transition[name] for name in names}]
    if uses and source is not None:
        of_source = [_at_source(net, names, f) for f in range(source.n_states)]
    law = _gaussian if kinds == {True} else _discrete_law
    found = [law(one, net) for one in of_source]
    mine = _stacked(source, found) if uses and source is not None else found[0]
    return Network.of([*root, *_tied(mine, net)], source=net.source)


def _needed(net: DynamicNetwork) -> list[str]:
    """Nodes whose first slices the transition does not say, and all that they depend on."""
    wanted = [n for n, local in net.transition.items() if not is_tied(local.parents, 0)]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            bases = [split_lag(p)[0] for p in net.transition[name].parents if p != net.source]
            wanted += bases
    return [node for node in net.dag.topological_order() if node in found]


def _discrete(net: DynamicNetwork, name: str) -> bool:
    local = net.transition[name]
    return any(not v.is_continuous and v.name != net.source for v in local.given)


def _at_source(net: DynamicNetwork, names: Sequence[str], f: int) -> dict[str, Distribution]:
    """The transition of some nodes in one source."""
    found: dict[str, Distribution] = {}
    for name in names:
        local = net.transition[name]
        if net.source not in local.parents:
            found[name] = local
            continue
        given = tuple(v for v in local.given if v.name != net.source)
        axes = [v.name for v in local.given if not v.is_continuous]
        axis = axes.index(net.source)
        parameters = np.take(local.parameters, f, axis=axis)
        if isinstance(local, Categorical):
            found[name] = Categorical(local.child, given, parameters)
        else:
            found[name] = LinearGaussian(
                local.child, given, parameters[..., 0], parameters[..., 1:-1], parameters[..., -1]
            )
    return found


def _gaussian(transition: dict[str, Distribution], net: DynamicNetwork) -> list[Distribution]:
    matrices = matrices_of(transition, net.order)  # type: ignore[arg-type]
    radius = _radius(matrices)
    if radius >= 1 - UNIT:
        raise ModelError(
            "there is no stationary law: the largest eigenvalue of the transition of "
            f"{_check.listed(matrices.names)} has the size {radius:.6g}, which must be below one "
            "(a unit root, or growth). Use initial=cs.dynamic.Conditional(), "
            "cs.dynamic.Estimated(), or cs.dynamic.Diffuse() for hidden nodes.",
            eigenvalue=radius,
            variables=tuple(matrices.names),
        )
    moves = companion(matrices)
    n, order = len(matrices.names), net.order
    noise = np.zeros_like(moves)
    noise[:n, :n] = matrices.covariance
    constant = np.zeros(len(moves))
    constant[:n] = matrices.intercept
    mean = np.asarray(np.linalg.solve(np.eye(len(moves)) - moves, constant), float)
    covariance = solve_discrete_lyapunov(moves, noise)
    # The latest slice stands first in the window; slice k of the first ones is at order - 1 - k.
    place = [(order - 1 - k) * n + i for k in range(order) for i in range(n)]
    names = [at(name, k) for k in range(order) for name in matrices.names]
    return _regressions(names, mean[place], covariance[np.ix_(place, place)])


def _regressions(names: Sequence[str], mean: Floats, covariance: Floats) -> list[Distribution]:
    """Each node given all before it, from a joint mean and covariance."""
    found: list[Distribution] = []
    for i, name in enumerate(names):
        before = covariance[:i, :i]
        slopes = np.linalg.pinv(before, hermitian=True) @ covariance[:i, i]
        variance = covariance[i, i] - slopes @ covariance[:i, i]
        found.append(
            LinearGaussian(
                Variable(name),
                tuple(Variable(one) for one in names[:i]),
                np.asarray(mean[i] - slopes @ mean[:i]),
                slopes,
                np.sqrt(max(float(variance), 0.0)),
            )
        )
    return found


def _tied(found: list[Distribution], net: DynamicNetwork) -> list[Distribution]:
    """Those that the transition does not say itself, and its own families for the others."""
    kept: list[Distribution] = []
    for local in found:
        name, k = local.child.name.rsplit("(", 1)
        own, step = net.transition[name], int(k[:-1])
        kept.append(tied_family(own, step, net.source) if is_tied(own.parents, step) else local)
    return kept


def _radius(matrices: VAR) -> float:
    return float(np.abs(np.linalg.eigvals(companion(matrices))).max())


def _discrete_law(transition: dict[str, Distribution], net: DynamicNetwork) -> list[Distribution]:
    names, order = list(transition), net.order
    sizes = [net.variables[name].n_states for name in names]
    one = prod(sizes)
    total = float(one) ** order
    _check.memory(
        f"the stationary law of {_check.listed(names)}",
        8.0 * total * max(total, one),
        LIMIT,
        "Use initial=cs.dynamic.Estimated().",
    )
    shape = sizes * order
    grid = np.indices(shape).reshape(len(shape), -1)  # slices from the earliest to the latest
    now = np.indices(sizes).reshape(len(sizes), -1)
    moves = np.ones((grid.shape[1], one))
    n = len(names)
    for i, local in enumerate(transition.values()):
        assert isinstance(local, Categorical)
        key: list[Integers] = []
        for parent in local.parents:
            name, lag = split_lag(parent)
            j = names.index(name)
            column = now[j][None, :] if lag == 0 else grid[(order - lag) * n + j][:, None]
            key.append(np.broadcast_to(column, moves.shape))
        key.append(np.broadcast_to(now[i][None, :], moves.shape))
        moves = moves * local.table[tuple(key)]
    joint = _stationary(moves, one, order, names)
    return _tables([at(m, k) for k in range(order) for m in names], shape, joint, net)


def _stationary(moves: Floats, one: int, order: int, names: Sequence[str]) -> Floats:
    """The unique law of windows that a step leaves as it is."""
    n = len(moves)
    matrix = np.zeros((n, n))
    rest = np.arange(n) % (n // one)  # the window without its earliest slice
    for k in range(one):
        np.add.at(matrix, (np.arange(n), rest * one + k), moves[:, k])
    left = matrix.T - np.eye(n)
    spectrum = np.linalg.svd(left, compute_uv=False)
    if (spectrum < UNIT * max(1.0, float(spectrum[0]))).sum() > 1:
        raise ModelError(
            f"there is no single stationary law of {_check.listed(names)}: some states are never "
            "left, so that where a sequence ends depends on where it starts. Use "
            "initial=cs.dynamic.Estimated().",
        )
    system = np.concatenate([left, np.ones((1, n))])
    target = np.append(np.zeros(n), 1.0)
    found = np.linalg.lstsq(system, target, rcond=None)[0]
    found = np.maximum(found, 0.0)
    return np.asarray(found / found.sum())


def _tables(
    names: Sequence[str], shape: Sequence[int], joint: Floats, net: DynamicNetwork
) -> list[Distribution]:
    """Each node given all before it, from a joint table."""
    found: list[Distribution] = []
    variables = [replace(net.variables[name.rsplit("(", 1)[0]], name=name) for name in names]
    margins = [joint.reshape(-1, prod(shape[i:])).sum(axis=1) for i in range(len(shape) + 1)]
    for i, (before, here) in enumerate(pairwise(margins)):
        r = shape[i]
        rows = here.reshape(-1, r)
        uniform = np.full_like(rows, 1.0 / r)
        table = np.divide(rows, before[:, None], out=uniform, where=before[:, None] > 0)
        table = table / table.sum(axis=1, keepdims=True)
        given = tuple(variables[:i])
        found.append(Categorical(variables[i], given, table.reshape(*shape[:i], r)))
    return found


def _stacked(source: Variable, found: Sequence[Sequence[Distribution]]) -> list[Distribution]:
    """The same nodes of several sources with the source as their first parent."""
    stacked: list[Distribution] = []
    for locals_ in zip(*found, strict=True):
        one = locals_[0]
        parameters = np.stack([local.parameters for local in locals_])
        given = (source, *one.given)
        if isinstance(one, Categorical):
            stacked.append(Categorical(one.child, given, parameters))
        else:
            stacked.append(
                LinearGaussian(
                    one.child, given, parameters[..., 0], parameters[..., 1:-1], parameters[..., -1]
                )
            )
    return stacked
