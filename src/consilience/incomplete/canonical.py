r"""One order for the states of a hidden node, so that equal models look equal.

Nothing in the rows says which state of a hidden node is the first: with its states exchanged, in
its own table and as a parent, a network gives every row the same probability. Learners that start
at random therefore end in any of the orders. Here the most frequent state stands first,

.. math:: P(H = 1) \ge P(H = 2) \ge \dots ,

or, with ``by``, the state with the smallest mean code :math:`E(X \mid H = h)` of an observed
variable :math:`X`. Both are statements about the joint distribution, so the answer does not depend
on the order that the learner happened to find, nor on the orders of other hidden nodes. States that
are equal in this (to nine digits) are ordered by the mean codes of the other discrete variables, in
the order of their names; states that are equal in all of these too keep their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from consilience import _check
from consilience._typing import Integers
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import InputError
from consilience.network.network import Network

__all__ = ["canonical", "permuted"]

DIGITS = 9
"""Probabilities and means that agree to so many digits are equal but for rounding."""


def canonical(net: Network, hidden: Iterable[str], *, by: str | None = None) -> Network:
    """The same network with the states of its hidden nodes in their canonical order.

    The names of the states keep their places; what they stand for moves. A state of probability
    zero stands behind all others.

    Parameters
    ----------
    net
        A network; continuous nodes may be children of the hidden ones.
    hidden
        Discrete nodes whose states have no meaning of their own.
    by
        An observed discrete variable whose states have an order, such as the severity of a symptom:
        the hidden states are ordered by its mean code, smallest first. If not given, the most
        frequent state is the first.

    Examples
    --------
    >>> import consilience as cs
    >>> kind = cs.Categorical(cs.Variable("kind", ("1", "2")), (), [0.3, 0.7])
    >>> sign = cs.Categorical(cs.Variable("sign", ("no", "yes")), (kind.child,), [[1, 0], [0, 1]])
    >>> net = cs.canonical(cs.Network.of([kind, sign]), ["kind"])
    >>> net["kind"].table.tolist(), net["sign"].table.tolist()
    ([0.7, 0.3], [[0.0, 1.0], [1.0, 0.0]])
    """
    _check.names("canonical", hidden=hidden)
    names = list(hidden)
    _check.known("node", names, net.variables)
    for name in names:
        if net.variables[name].is_continuous:
            raise InputError(
                f"canonical: node {name!r} is continuous; states have an order, numbers have one "
                "already.",
                variable=name,
            )
    if by is not None:
        _check_by(net, names, by)
    return permuted(net, {name: _order(net, name, names, by) for name in names})


def permuted(net: Network, orders: Mapping[str, Integers]) -> Network:
    """The network in which state ``k`` of a node is what was its state ``orders[node][k]``.

    Posteriors of tables that are Dirichlet move with them; others are left out where states moved.
    """
    moved = {
        name: order for name, order in orders.items() if not np.array_equal(order, np.sort(order))
    }
    if not moved:
        return net
    return Network.of(
        [_permuted(local, moved) for local in net.distributions.values()],
        source=net.source,
        record=net.record,
    )


def _check_by(net: Network, hidden: Sequence[str], by: str) -> None:
    _check.known("node", [by], net.variables)
    if by in hidden or net.variables[by].is_continuous:
        what = "hidden itself" if by in hidden else "continuous"
        raise InputError(
            f"canonical: by must be an observed discrete variable, but {by!r} is {what}.",
            parameter="by",
        )


def _order(net: Network, name: str, hidden: Sequence[str], by: str | None) -> Integers:
    """The states of a node from the first to the last of the canonical order."""
    states = net.variables[name].discrete_states
    shares = [round(float(share), DIGITS) for share in net.query(name).values]
    keys: list[tuple[float, ...]] = [(-share,) for share in shares]
    if by is not None:
        keys = [
            (0.0, *_means(net, name, state, [by]), -share) if share > 0 else (1.0,)
            for state, share in zip(states, shares, strict=True)
        ]
    if len(set(keys)) < len(keys):
        others = sorted(
            other
            for other, variable in net.variables.items()
            if other not in hidden and not variable.is_continuous
        )
        keys = [
            (*key, *_means(net, name, state, others)) if share > 0 else key
            for key, state, share in zip(keys, states, shares, strict=True)
        ]
    return np.array(sorted(range(len(keys)), key=lambda k: keys[k]), np.int64)


def _means(net: Network, name: str, state: str, others: Sequence[str]) -> list[float]:
    """Mean codes of some variables given a state."""
    beliefs = [np.asarray(net.query(other, given={name: state}).values) for other in others]
    return [round(float(belief @ np.arange(len(belief))), DIGITS) for belief in beliefs]


def _permuted(local: Distribution, orders: Mapping[str, Integers]) -> Distribution:
    discrete = local.given if isinstance(local, Categorical) else local.discrete
    axes = [variable.name for variable in discrete]
    if not isinstance(local, LinearGaussian):
        axes.append(local.child.name)
    if not set(axes) & set(orders):
        return local
    parameters, posterior = local.parameters, local.posterior
    concentration = posterior.concentration if isinstance(posterior, DirichletPosterior) else None
    for axis, name in enumerate(axes):
        if name in orders:
            parameters = np.take(parameters, orders[name], axis=axis)
            if concentration is not None:
                concentration = np.take(concentration, orders[name], axis=axis)
    if isinstance(local, Categorical) and concentration is not None:
        moved = DirichletPosterior(concentration)
        return Categorical(local.child, local.given, parameters, moved)
    return local.with_parameters(parameters)
