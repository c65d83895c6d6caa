"""The moral graph: the undirected graph on which elimination orders and junction trees are built.

Two nodes are neighbors if an arc joins them or if they have a child in common. A set separates two
others in the DAG if and only if it does so in the moral graph of the three and their ancestors.

References
----------
S. L. Lauritzen, D. J. Spiegelhalter (1988). Local computations with probabilities on graphical
structures and their application to expert systems. J. of the Royal Statistical Society B 50(2).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from consilience._freeze import FrozenMap
from consilience.graph.dag import DAG

__all__ = ["moral_graph"]


def moral_graph(dag: DAG) -> Mapping[str, tuple[str, ...]]:
    """The neighbors of every node once parents are married; both in the order of the nodes.

    Time grows with the sum of the squared sizes of the families.

    Examples
    --------
    >>> moral_graph(DAG.parse("[A][B][C|A:B]"))["A"]
    ('B', 'C')
    """
    neighbors: dict[str, set[str]] = {node: set() for node in dag.nodes}
    for child in dag.nodes:
        for one, two in permutations((child, *dag.parents(child)), 2):
            neighbors[one].add(two)
    position = {node: i for i, node in enumerate(dag.nodes)}
    return FrozenMap({k: tuple(sorted(v, key=position.__getitem__)) for k, v in neighbors.items()})
