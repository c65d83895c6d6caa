"""What is believed of every node, those that are known included."""

from __future__ import annotations

from typing import Any

from consilience.data.row import known_values
from consilience.inference.evidence import evidence_of
from consilience.network.network import Given, Network

__all__ = ["beliefs_given"]


def beliefs_given(net: Network, given: Given) -> dict[str, Any]:
    """By node the belief; of a node that is known its state, or its number.

    >>> import consilience as cs
    >>> net = cs.random_network(cs.DAG([("a", "b")]), seed=1)
    >>> beliefs_given(net, {"a": 1})["a"]
    '1'
    """
    found = net.marginals(given)
    values = known_values(given, net.variables) if not isinstance(given, list) else {}
    return {
        name: found[name] if name in found else _known(net, name, values[name])
        for name in net.variables
    }


def _known(net: Network, name: str, value: Any) -> Any:
    variable = net.variables[name]
    known = evidence_of({name: variable}, {name: value}).known
    return float(value) if variable.is_continuous else variable.discrete_states[int(known[name])]
