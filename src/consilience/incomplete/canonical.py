r"""One order for the states of a hidden node, so that equal models look equal.

Nothing in the rows says which state of a hidden node is the first: with its states exchanged, in
its own table and as a parent, a network gives every row the same probability. Learners that start
at random therefore end in any of the orders. Here the most frequent state stands first,

.. math:: P(H = 1) \ge P(H = 2) \ge \dots ,

or, with ``by``, the state with the smallest mean code :math:`E(X \mid H = h)` of an observed
variable :math:`X`. Both are statements about the joint distribution, so the answer does not depend
on the order that the learner happened to find, nor on the orders of other hidden nodes.

Learners stop a little before the top of their climb, so that states with equal shares come out with
shares that differ by chance. Numbers that follow each other at a distance of 0.001 or less are
therefore taken to be equal. States that are equal in this are told apart by the distributions
:math:`P(X = x \mid H = h)` of the other discrete variables, in the order of the variables' names
and of their states, the largest probability first; if these are equal too, by their shares to nine
digits. States that are equal in all of it keep their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, Distribution, LinearGaussian, Posterior
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import InputError
from consilience.network.network import Network
from consilience.parameters.chain_posterior import ChainPosterior

__all__ = ["canonical", "ordered_states", "permuted", "permuted_law"]

TIE = 1e-3
"""Probabilities and mean codes this close may be equal but for where a learner stopped."""

DIGITS = 9
"""Probabilities that agree to so many digits are equal but for rounding."""


def canonical(net: Network, hidden: Iterable[str], *, by: str | None = None) -> Network:
    """The same network with the states of its hidden nodes in their canonical order.

    The names of the states keep their places; what they stand for moves. A state of probability
    zero stands behind all others. Shares that differ by 0.001 or less are ties, broken by what the
    states are like.

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
    >>> net = cs.latent.canonical(cs.Network.of([kind, sign]), ["kind"])
    >>> net["kind"].table.tolist(), net["sign"].table.tolist()
    ([0.7, 0.3], [[0.0, 1.0], [1.0, 0.0]])
    """
    if not isinstance(net, Network):
        raise InputError(
            f"canonical: net must be a Network, got a {type(net).__name__}.", parameter="net"
        )
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise InputError(
            f"canonical: hidden must be a list of names, got {hidden!r}.", parameter="hidden"
        )
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

    Posteriors of tables that are Dirichlet or of a chain move with them; others are left out where
    states moved.
    """
    moved = {
        name: order for name, order in orders.items() if not np.array_equal(order, np.sort(order))
    }
    if not moved:
        return net
    return Network.of(
        [permuted_law(local, moved) for local in net.distributions.values()],
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
    shares = np.asarray(net.query(name).values).round(DIGITS)
    return ordered_states(shares, _traits(net, name, shares, hidden, by=by))


def ordered_states(shares: Floats, traits: Iterable[Floats]) -> Integers:
    """The states by rising traits, each of which breaks the ties of those before it.

    What is still tied stands by falling share, and states without any behind all others.
    """
    tied = [[k for k in range(len(shares)) if shares[k] > 0]]
    for trait in traits:
        if all(len(group) < 2 for group in tied):
            break
        tied = [part for group in tied for part in _parted(group, trait)]
    possible = [k for group in tied for k in sorted(group, key=lambda k: (-shares[k], k))]
    return np.array([*possible, *np.flatnonzero(shares == 0)], np.int64)


def _traits(
    net: Network, name: str, shares: Floats, hidden: Sequence[str], *, by: str | None
) -> Iterator[Floats]:
    """Numbers of each state by which states are ordered, smallest first; the next breaks ties."""
    if by is not None:
        beliefs = _beliefs(net, name, shares, by)
        yield beliefs @ np.arange(beliefs.shape[1])
    yield -shares
    for other in sorted(net.variables):
        if other not in hidden and not net.variables[other].is_continuous:
            yield from -_beliefs(net, name, shares, other).T


def _beliefs(net: Network, name: str, shares: Floats, other: str) -> Floats:
    """The distribution of another variable given each state; zeros for impossible states."""
    beliefs = np.zeros((len(shares), net.variables[other].n_states))
    for k, state in enumerate(net.variables[name].discrete_states):
        if shares[k] > 0:
            beliefs[k] = net.query(other, given={name: state}).values
    return beliefs


def _parted(group: Sequence[int], trait: Floats) -> list[list[int]]:
    """The states of a group by rising trait, those without a gap between them together."""
    rising = sorted(group, key=lambda k: (trait[k], k))
    parts = [rising[:1]]
    for last, k in pairwise(rising):
        if trait[k] - trait[last] > TIE:
            parts.append([])
        parts[-1].append(k)
    return parts


def permuted_law(local: Distribution, orders: Mapping[str, Integers]) -> Distribution:
    """A local distribution in which state ``k`` of a variable is what was ``orders[name][k]``."""
    discrete = local.given if isinstance(local, Categorical) else local.discrete
    axes = [variable.name for variable in discrete]
    if not isinstance(local, LinearGaussian):
        axes.append(local.child.name)
    if not set(axes) & set(orders):
        return local
    parameters, posterior = local.parameters, local.posterior
    for axis, name in enumerate(axes):
        if name in orders:
            parameters = np.take(parameters, orders[name], axis=axis)
            posterior = _moved(posterior, axis, orders[name])
    if isinstance(local, Categorical):
        return Categorical(local.child, local.given, parameters, posterior)
    return local.with_parameters(parameters)


def _moved(posterior: Posterior | None, axis: int, order: Integers) -> Posterior | None:
    if isinstance(posterior, DirichletPosterior):
        return DirichletPosterior(np.take(posterior.concentration, order, axis=axis))
    return posterior.permuted(axis, order) if isinstance(posterior, ChainPosterior) else None
