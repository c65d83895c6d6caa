"""Networks in time as plain text for a terminal."""

from __future__ import annotations

from consilience import _check
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.show.text import local_text, outline, rows_of_nodes

__all__ = ["description_in_time"]


def description_in_time(net: DynamicNetwork, name: str | None, *, max_rows: int) -> str:
    """The network in words, or the table of one node of the transition or of the first slices.

    Examples
    --------
    >>> import consilience as cs
    >>> net = cs.dynamic.from_hmm([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.3, 0.7]])
    >>> print(description_in_time(net, None, max_rows=5))
    DynamicNetwork(2 nodes, order 1, hidden z, 5 parameters)
    <BLANKLINE>
    node  states  parameters  parents
    z          2           2  z(t-1)
    x          2           2  z
    <BLANKLINE>
    z(t-1)
    └─ z
       └─ x
    <BLANKLINE>
    First slices: z(0), x(0)
    """
    if name is not None:
        known = {**net.transition, **net.initial.distributions}
        _check.known("node", [name], known)
        return local_text(known[name], max_rows=max_rows)
    order = [node for node in net.dag.topological_order() if node in net.transition]
    nodes = rows_of_nodes([net[node] for node in order])
    first = [node for node in net.initial.dag.nodes if node != net.source]
    told = ["", f"First slices: {', '.join(first)}"] if first else []
    return "\n".join([repr(net), "", *nodes, "", outline(net.dag), *told])
