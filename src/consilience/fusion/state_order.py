"""The states of a network's nodes in another order, which changes nothing that it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.distributions.categorical import Posterior
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.fusion.fused_posteriors import with_table_posterior
from consilience.network.network import Network

__all__ = ["reordered"]


def reordered(net: Network, variables: Mapping[str, Variable]) -> Network:
    """The network whose nodes have their states in the order of ``variables``.

    Nodes that are not among them stay as they are. Where a table changes, its posterior becomes the
    Dirichlet with the same means and total variances; that of a regression stays where it is
    conjugate.
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
    discrete = [v for v in (*local.given, local.child) if not v.is_continuous]
    places = [
        [old.discrete_states.index(s) for s in variables.get(old.name, old).discrete_states]
        for old in discrete
    ]
    numbers = _taken(local.parameters, places)
    if isinstance(local, Categorical):
        table = Categorical(child, given, numbers)
        if local.posterior is None:
            return table
        variance = _taken(local.posterior.variance().reshape(local.table.shape), places)
        return with_table_posterior(table, variance.reshape(table.rows.shape))
    if isinstance(local, LinearGaussian):
        terms = numbers[..., 0], numbers[..., 1:-1], numbers[..., -1]
        return LinearGaussian(child, given, *terms, _conjugate(local.posterior, places))
    return Logistic(child, given, numbers[..., 0], numbers[..., 1:])


def _taken(numbers: Floats, places: Sequence[Sequence[int]]) -> Floats:
    """The array with its first axes in these orders."""
    for axis, order in enumerate(places):
        numbers = np.take(numbers, order, axis=axis)
    return numbers


def _conjugate(posterior: Posterior | None, places: Sequence[Sequence[int]]) -> Posterior | None:
    if not isinstance(posterior, NormalInverseGammaPosterior):
        return None
    return NormalInverseGammaPosterior(
        _taken(posterior.mean, places),
        _taken(posterior.scale, places),
        _taken(posterior.shape, places),
        _taken(posterior.rate, places),
        posterior.center,
        posterior.unit,
    )
