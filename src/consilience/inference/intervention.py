"""Setting nodes from outside: arcs into them are cut, their state is certain (Pearl 2009)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions import Categorical, LinearGaussian
from consilience.errors import InputError
from consilience.inference.evidence import Soft
from consilience.network.network import Network

__all__ = ["intervene"]


def intervene(net: Network, states: Mapping[str, Any]) -> Network:
    """The network in which these nodes have no parents and one certain state or value each.

    A continuous node is set to a number: it becomes a constant, a normal of standard deviation 0.
    ``Soft({...})`` sets a node to a distribution instead of a state.
    """
    if not isinstance(states, Mapping):
        raise InputError(f"do: states are given as a mapping of node to state, got {states!r}.")
    _check.known("node", states, net.distributions)
    distributions = dict(net.distributions)
    for name, state in states.items():
        variable = net.variables[name]
        if variable.is_continuous:
            distributions[name] = LinearGaussian(
                variable, (), _number(name, state), np.zeros(0), np.zeros(())
            )
            continue
        distributions[name] = Categorical(variable, (), _shares(variable, state))
    return Network(distributions, net.source, net.record)


def _shares(variable: Variable, state: Any) -> Floats:
    """The distribution that a discrete node is set to."""
    shares = np.zeros(variable.n_states)
    wanted = state.values if isinstance(state, Soft) else {state: 1.0}
    for one, share in wanted.items():
        shares[variable.code(one)] = share
    return shares / shares.sum()


def _number(name: str, value: Any) -> Floats:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value)):
        raise InputError(
            f"do: {name!r} is continuous and is set to a number, got {value!r}.", variable=name
        )
    return np.array(float(value))
