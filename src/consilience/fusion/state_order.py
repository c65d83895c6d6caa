"""The states of a network's nodes in another order, which changes nothing that it says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.network.network import Network

__all__ = ["reordered"]


def reordered(net: Network, variables: Mapping[str, Variable]) -> Network:
    """The network whose nodes have their states in the order of ``variables``.

    Nodes that are not among them stay as they are. Distributions that change lose their posterior.
    """
    local = [_reordered(each, variables) for each in net.distributions.values()]
    return Network.of(local, source=net.source, record=net.record)


def _reordered(local: Distribution, variables: Mapping[str, Variable]) -> Distribution:
    child = variables.get(local.child.name, local.child)
    given = tuple(variables.get(parent.name, parent) for parent in local.given)
    if all(
        a.states == b.states
        for a, b in zip((child, *given), (local.child, *local.given), strict=True)
    ):
        return local
    numbers = local.parameters
    discrete = [v for v in (*local.given, local.child) if not v.is_continuous]
    for axis, old in enumerate(discrete):
        states = variables.get(old.name, old).discrete_states
        numbers = np.take(numbers, [old.discrete_states.index(s) for s in states], axis=axis)
    if isinstance(local, Categorical):
        return Categorical(child, given, numbers)
    if isinstance(local, LinearGaussian):
        return LinearGaussian(child, given, numbers[..., 0], numbers[..., 1:-1], numbers[..., -1])
    return Logistic(child, given, numbers[..., 0], numbers[..., 1:])
