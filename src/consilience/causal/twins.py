r"""The verb :func:`twin`: what was and what would have been, in one ordinary network.

If the noises of different nodes are independent, the two worlds together are

.. math:: \prod_v c_v(v, v^* \mid \mathrm{pa}, \mathrm{pa}^*),

where :math:`c_v` couples the rows :math:`P(v \mid \mathrm{pa})` and
:math:`P(v \mid \mathrm{pa}^*)` (:mod:`consilience.causal.couplings`). So :math:`v^*` is a node with
the parents v, pa and pa*, and the table :math:`c_v / P(v \mid \mathrm{pa})`. Only what is set and
its descendants have a copy; equal parents give equal answers.

A continuous node keeps its standardised residual,

.. math:: v^* = \mu^*(\mathrm{pa}^*) + \frac{\sigma^*}{\sigma} \bigl(v - \mu(\mathrm{pa})\bigr),

a normal of standard deviation zero given v, pa and pa*; with one regression for all states this is
:math:`v^* = v + \sum_k \beta_k (\mathrm{pa}_k^* - \mathrm{pa}_k)`.

References
----------
A. Balke, J. Pearl (1994). Probabilistic evaluation of counterfactual queries. AAAI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.causal.couplings import Mechanism
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.distributions.local_distribution import kinds
from consilience.errors import InputError, ModelError
from consilience.inference.intervention import intervene
from consilience.network.network import MEMORY_LIMIT, Network, check_network

__all__ = ["STAR", "copied_nodes", "starred", "twin"]

STAR = "*"
"""What marks the nodes of the other world."""


def twin(
    net: Network,
    *,
    do: Mapping[str, Any],
    mechanism: Mechanism | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Network:
    """The network of both worlds: nodes as they were, and ``"y*"`` as they would have been.

    Evidence about the first world may be partial; sources are nodes as always. The table of a
    copied node has the states of itself twice and of its parents twice; it is refused before it is
    allocated if that is too large.

    Parameters
    ----------
    do
        What is set in the other world.
    mechanism
        How discrete nodes answer in both worlds: ``GumbelMax()``, ``Monotone()`` or
        ``IndependentNoise()``. It must be named if a discrete node is copied.

    Examples
    --------
    >>> import consilience as cs
    >>> x, y = cs.Variable("x", ("0", "1")), cs.Variable("y", ("0", "1"))
    >>> of_y = cs.Categorical(y, (x,), [[0.9, 0.1], [0.4, 0.6]])
    >>> net = cs.Network.of([cs.Categorical(x, (), [0.5, 0.5]), of_y])
    >>> both = cs.causal.twin(net, do={"x": "0"}, mechanism=cs.causal.Monotone())
    >>> round(both.query("y*", given={"x": "1", "y": "1"})["1"], 6)
    0.166667
    """
    check_network("twin", net)
    for name in net.variables:
        if f"{name}{STAR}" in net.variables:
            raise ModelError(
                f"the network has a node {name + STAR!r} beside {name!r}; rename it, since the "
                "other world's nodes are marked so.",
                variable=name + STAR,
            )
    set_ones = intervene(net, do)
    copied = copied_nodes(net, do)
    other = {name: starred(net.variables[name]) for name in copied}
    local: list[Distribution] = list(net.distributions.values())
    for name in net.dag.topological_order():
        if name not in copied:
            continue
        if name in do:
            local.append(replace(set_ones[name], child=other[name]))
        else:
            local.append(_copy(net[name], other, mechanism, memory_limit))
    return Network.of(local, source=net.source, record=net.record)


def copied_nodes(net: Network, do: Mapping[str, Any]) -> frozenset[str]:
    """What is set and its descendants."""
    return net.dag.descendants(list(do)) | frozenset(do)


def starred(variable: Variable) -> Variable:
    """The variable of the other world."""
    return replace(variable, name=f"{variable.name}{STAR}")


def _copy(
    local: Distribution,
    other: Mapping[str, Variable],
    mechanism: Mechanism | None,
    memory_limit: float,
) -> Distribution:
    if isinstance(local, Categorical):
        return _coupled(local, other, _named(mechanism, local.child), memory_limit)
    if isinstance(local, LinearGaussian):
        return _moved(local, other)
    raise ModelError(
        f"node {local.child.name!r} is discrete and has continuous parents; its answer in two "
        "worlds has no table. Cut the continuous parents when the table is read: discretize={...}.",
        variable=local.child.name,
    )


def _named(mechanism: Mechanism | None, child: Variable) -> Mechanism:
    if mechanism is None:
        raise InputError(
            f"node {child.name!r} is discrete: how it answers in two worlds must be named. Choose "
            "mechanism=cs.causal.GumbelMax(), cs.causal.Monotone() or "
            "cs.causal.IndependentNoise().",
            variable=child.name,
        )
    if isinstance(mechanism, type) or not hasattr(mechanism, "couple"):
        raise InputError(
            "mechanism must be cs.causal.GumbelMax(), cs.causal.Monotone() or "
            f"cs.causal.IndependentNoise(), got {mechanism!r}.",
            parameter="mechanism",
        )
    if mechanism.needs_order and child.n_states > 2 and not child.ordered:
        raise InputError(
            f"{type(mechanism).__name__}() needs an order of the states of {child.name!r}. Declare "
            "it (cs.Variable(..., ordered=True), or an ordered column), or choose "
            "cs.causal.GumbelMax().",
            variable=child.name,
        )
    return mechanism


def _coupled(
    local: Categorical, other: Mapping[str, Variable], mechanism: Mechanism, memory_limit: float
) -> Categorical:
    """The table of v* given v, the parents, and those parents that have a copy."""
    star = other[local.child.name]
    moved = [i for i, parent in enumerate(local.given) if parent.name in other]
    given = (local.child, *local.given, *(other[local.given[i].name] for i in moved))
    shape = [variable.n_states for variable in (*given, star)]
    _check.memory(
        f"the table of {star.name!r} given both worlds",
        8.0 * prod(map(float, shape)),
        memory_limit,
        "Use fewer parents or states, or raise memory_limit.",
    )
    table = np.zeros(shape)
    for place in product(*(range(parent.n_states) for parent in local.given)):
        for turned in product(*(range(local.given[i].n_states) for i in moved)):
            there = _with(place, moved, turned)
            p, q = local.table[place], local.table[there]
            where: tuple[Any, ...] = (slice(None), *place, *turned)
            table[where] = _rows(p, q, None if there == place else mechanism)
    return Categorical(star, given, table)


def _rows(p: Floats, q: Floats, mechanism: Mechanism | None) -> Floats:
    """P(v* | v): the coupling by row; where v cannot be, the row of the other world."""
    if mechanism is None:
        return np.eye(len(p))
    joint = mechanism.couple(p, q)
    rows = np.tile(q, (len(p), 1))
    np.divide(joint, p[:, None], out=rows, where=p[:, None] > 0)
    return rows / rows.sum(axis=1, keepdims=True)


def _with(place: tuple[int, ...], where: Sequence[int], turned: tuple[int, ...]) -> tuple[int, ...]:
    changed = dict(zip(where, turned, strict=True))
    return tuple(changed.get(i, code) for i, code in enumerate(place))


def _moved(local: LinearGaussian, other: Mapping[str, Variable]) -> LinearGaussian:
    """The regression of v* on v and the parents of both worlds, without residual."""
    discrete, continuous = kinds(local.given)
    turning = [i for i, parent in enumerate(discrete) if parent.name in other]
    moving = [i for i, parent in enumerate(continuous) if parent.name in other]
    given = (
        local.child,
        *local.given,
        *(other[discrete[i].name] for i in turning),
        *(other[continuous[i].name] for i in moving),
    )
    shape = [v.n_states for v in (*discrete, *(discrete[i] for i in turning))]
    n_slopes = 1 + len(continuous) + len(moving)
    intercept, slopes = np.zeros(shape), np.zeros([*shape, n_slopes])
    for place in product(*(range(parent.n_states) for parent in discrete)):
        for turned in product(*(range(discrete[i].n_states) for i in turning)):
            there = _with(place, turning, turned)
            scale = local.sd[there] / local.sd[place] if local.sd[place] > 0 else 0.0
            here, away = local.coefficients[place], local.coefficients[there]
            kept = np.array([i not in moving for i in range(len(continuous))])
            intercept[(*place, *turned)] = local.intercept[there] - scale * local.intercept[place]
            slopes[(*place, *turned)] = [scale, *(away * kept - scale * here), *away[moving]]
    return LinearGaussian(other[local.child.name], given, intercept, slopes, np.zeros(shape))
