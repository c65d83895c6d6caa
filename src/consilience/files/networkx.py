"""Graphs and networks to NetworkX and back (extra ``networkx``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from consilience import _check
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.distributions.local_distribution import kinds
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network

__all__ = ["from_networkx", "to_networkx"]

ARRAYS: Final[Mapping[type[Distribution], tuple[str, ...]]] = {
    Categorical: ("table",),
    LinearGaussian: ("intercept", "coefficients", "sd"),
    Logistic: ("intercept", "coefficients"),
}
"""The attributes of a node that hold its distribution."""


def to_networkx(model: DAG | Network) -> Any:
    """A ``networkx.DiGraph`` of a graph or a network.

    The nodes of a network have the attributes ``states`` (None if continuous), ``ordered``,
    ``cuts``, ``parents`` in the order of the axes, and the arrays of their distribution: ``table``,
    or ``intercept`` and ``coefficients``, and ``sd`` if continuous. The graph has the attribute
    ``source``. Posteriors and the record are left out.
    """
    networkx = _check.extra("networkx", "networkx", "to_networkx")
    graph = networkx.DiGraph()
    dag = model.dag if isinstance(model, Network) else model
    if not isinstance(dag, DAG):
        raise InputError(
            f"to_networkx: a DAG or a Network is needed, got a {type(model).__name__}."
        )
    graph.add_nodes_from(dag.nodes)
    graph.add_edges_from(dag.arcs)
    if isinstance(model, Network):
        graph.graph["source"] = model.source
        for name, local in model.distributions.items():
            graph.nodes[name].update(_attributes(local))
    return graph


def from_networkx(graph: Any) -> DAG | Network:
    """The network of a directed graph whose nodes have the attributes of :func:`to_networkx`.

    Without any such attribute it is the graph alone. Names of nodes must be texts.

    Raises
    ------
    InputError
        If the graph has no directions, or only some nodes have a distribution.
    GraphError
        If it has a cycle, two arcs between the same nodes, or a node whose name is no text.
    """
    _check.extra("networkx", "networkx", "from_networkx")
    if not getattr(graph, "is_directed", bool)():
        raise InputError("from_networkx: a directed graph of networkx is needed.")
    nodes = dict(graph.nodes(data=True))
    has_distribution = {name for name, found in nodes.items() if "states" in found}
    if not has_distribution:
        return DAG([tuple(edge[:2]) for edge in graph.edges], nodes)
    if lacking := [name for name in nodes if name not in has_distribution]:
        raise InputError(
            f"from_networkx: the node {lacking[0]!r} has no 'states'. Either all nodes have the "
            "attributes of a distribution or none.",
            node=lacking[0],
        )
    variables = {name: _variable(name, found) for name, found in nodes.items()}
    return Network.of(
        [_distribution(variables, name, found) for name, found in nodes.items()],
        source=graph.graph.get("source"),
    )


def _attributes(local: Distribution) -> dict[str, Any]:
    child = local.child
    known = {
        "states": child.states,
        "ordered": child.ordered,
        "cuts": child.cuts,
        "parents": local.parents,
    }
    return {**known, **{key: getattr(local, key) for key in ARRAYS[type(local)]}}


def _variable(name: str, found: dict[str, Any]) -> Variable:
    return Variable(name, found["states"], found.get("ordered", False), found.get("cuts"))


def _distribution(variables: dict[str, Variable], name: str, found: dict[str, Any]) -> Distribution:
    parents = found.get("parents", ())
    _check.known("node", parents, variables)
    child, given = variables[name], tuple(variables[parent] for parent in parents)
    kind = LinearGaussian if child.is_continuous else Logistic if kinds(given)[1] else Categorical
    wanted = ARRAYS[kind]
    if lacking := [key for key in wanted if key not in found]:
        raise InputError(f"from_networkx: the node {name!r} has no {lacking[0]!r}.", node=name)
    return kind(child, given, *(found[key] for key in wanted))
