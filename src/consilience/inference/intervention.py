"""Setting nodes from outside: arcs into them are cut, their state is certain (Pearl 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience import _check
from consilience.distributions.categorical import Categorical
from consilience.errors import InputError
from consilience.network.network import Network

__all__ = ["intervene"]


def intervene(net: Network, states: Mapping[str, Any]) -> Network:
    """The network in which these nodes have no parents and one certain state each."""
    if not isinstance(states, Mapping):
        raise InputError(f"do: states are given as a mapping of node to state, got {states!r}.")
    _check.known("node", states, net.distributions)
    distributions = dict(net.distributions)
    for name, state in states.items():
        variable = net.variables[name]
        table = np.zeros(variable.n_states)
        table[variable.code(state)] = 1.0
        distributions[name] = Categorical(variable, (), table)
    return Network(distributions, net.source, net.record)
