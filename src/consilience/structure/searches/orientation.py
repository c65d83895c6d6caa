r"""From pairs that are joined to a partially directed graph: colliders, knowledge, Meek's rules.

Two variables X and Y that are not joined, both joined to Z, are parents of Z if Z does not help to
separate them: if it is not in the set that did (*standard*), or in none (*conservative*) or less
than half (*majority*) of all sets out of the neighbors of X or of Y that separate them. A triple
with Z in some but not all of these sets, or in exactly half, is *ambiguous* and stays open.

All colliders are found before any arc is directed. What contradicts itself is marked as a conflict
and not decided by who comes first:

- an edge that two colliders direct against each other, or a collider against background knowledge,
  is not directed by them (knowledge is);
- arcs of colliders that close a cycle are not directed;
- a triple one of whose arcs was taken back is ambiguous.

Meek's rules then direct what follows; ambiguous triples do not count as known non-colliders. If the
rules would close a cycle, what they direct is left open, which is a conflict too.

References
----------
P. Spirtes, C. Glymour, R. Scheines (2000). Causation, Prediction, and Search. MIT Press.
J. Ramsey, J. Zhang, P. Spirtes (2006). Adjacency-faithfulness and conservative causal inference.
UAI.
D. Colombo, M. H. Maathuis (2014). Order-independent constraint-based causal structure learning.
JMLR 15.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from consilience import _check
from consilience._typing import Bools
from consilience.errors import GraphError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.graph.meek import Triple, meek_closure
from consilience.structure.searches.constraint_record import Conflict
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.skeletons import (
    Asker,
    Skeleton,
    statements_about,
    useful_parents,
)

__all__ = ["ORIENTATIONS", "Oriented", "oriented", "unshielded"]

ORIENTATIONS = ("standard", "conservative", "majority")

Numbers = tuple[int, int, int]
"""A triple as numbers: one end, the middle, the other end, which is larger than the first."""


@dataclass(frozen=True, slots=True)
class Oriented:
    """What became of a skeleton.

    Attributes
    ----------
    cpdag
        The partially directed graph.
    dag
        A DAG with its skeleton and its arcs, and if there is one with its colliders only.
    ambiguous
        Triples of which it is not clear whether they are colliders.
    conflicts
        What contradicted itself.
    new_colliders
        Colliders that the DAG has and the graph has not, because no DAG agrees with the graph.
    """

    cpdag: CPDAG
    dag: DAG
    ambiguous: tuple[Triple, ...]
    conflicts: tuple[Conflict, ...]
    new_colliders: tuple[Triple, ...]


def oriented(asker: Asker, skeleton: Skeleton, rule: str, max_given: int | None = None) -> Oriented:
    """The graph that follows from the pairs that are joined and the sets that separate others."""
    constraints = asker.task.constraints
    names = constraints.names
    known, conflicts = _known_arcs(skeleton, constraints)
    if rule == "standard":
        colliders, unclear = _by_kept_sets(skeleton)
    else:
        colliders, unclear = _by_all_sets(asker, skeleton, rule, max_given)
    arcs, doubtful, more = _directed(names, colliders, known)
    conflicts += more
    triples = tuple(_named(names, one) for one in sorted({*unclear, *doubtful}))
    graph = _graph(names, skeleton.adjacent, arcs)
    try:
        graph = meek_closure(graph, triples)
    except GraphError as error:
        cycle = error.culprits["cycle"]
        why = f"what follows from the arcs closes a cycle of {_check.listed(cycle)}"
        conflicts.append(Conflict((cycle[0], cycle[1]), why))
    dag, new = _extended(graph)
    return Oriented(graph, dag, triples, tuple(conflicts), new)


def unshielded(adjacent: Bools) -> Iterator[Numbers]:
    """Triples whose ends are joined to the middle and not to each other."""
    for z in range(len(adjacent)):
        for x, y in combinations(np.flatnonzero(adjacent[z]).tolist(), 2):
            if not adjacent[x, y]:
                yield x, z, y


def _by_kept_sets(skeleton: Skeleton) -> tuple[list[Numbers], set[Numbers]]:
    """Colliders, and open triples: no test has parted their ends."""
    colliders, unclear = [], set()
    for x, z, y in unshielded(skeleton.adjacent):
        given = skeleton.separating(x, y)
        if given is None:
            unclear.add((x, z, y))
        elif z not in given:
            colliders.append((x, z, y))
    return colliders, unclear


def _by_all_sets(
    asker: Asker, skeleton: Skeleton, rule: str, max_given: int | None
) -> tuple[list[Numbers], set[Numbers]]:
    """Colliders and ambiguous triples by all separating sets out of the ends' neighbors."""
    triples = list(unshielded(skeleton.adjacent))
    found = _separating_sets(asker, skeleton, triples, max_given)
    colliders, unclear = [], set()
    for x, z, y in triples:
        sets = found[x, y]
        share = sum(z in given for given in sets) / len(sets) if sets else 0.5
        if share == 0 or (rule == "majority" and share < 0.5):
            colliders.append((x, z, y))
        elif share != 1 and not (rule == "majority" and share > 0.5):
            unclear.add((x, z, y))
    return colliders, unclear


def _separating_sets(
    asker: Asker, skeleton: Skeleton, triples: Sequence[Numbers], max_given: int | None
) -> dict[tuple[int, int], set[tuple[int, ...]]]:
    """All separating sets of the ends of triples, that of the skeleton among them."""
    found: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    ends = np.zeros_like(skeleton.adjacent)
    for x, _, y in triples:
        kept = skeleton.separating(x, y)
        found[x, y] = set() if kept is None else {kept}
        ends[x, y] = ends[y, x] = kept is not None
    pools = skeleton.adjacent & useful_parents(asker.task)
    largest = int(pools.sum(axis=0).max(initial=0))
    for size in range(1 + (largest if max_given is None else min(largest, max_given))):
        for asked in statements_about(ends, pools, size):
            p_value = asker.ask(asked).p_value
            for i in np.flatnonzero(p_value > asker.alpha).tolist():
                x, y = sorted((int(asked.x[i]), int(asked.y[i])))
                found[x, y].add(tuple(asked.given[i].tolist()))
    return found


def _known_arcs(
    skeleton: Skeleton, constraints: Constraints
) -> tuple[set[tuple[int, int]], list[Conflict]]:
    """Arcs of joined pairs that only one direction is allowed for, free of cycles.

    Forbidden arcs may leave a cycle as the only possibility: its pair that came nearest to being
    parted is parted.
    """
    allowed, required = constraints.allowed | constraints.required, constraints.required
    conflicts: list[Conflict] = []
    while True:
        one_way = skeleton.adjacent & allowed & ~allowed.T
        inside = one_way & _in_cycles(one_way)
        if not inside.any():
            return {(int(i), int(j)) for i, j in np.argwhere(one_way)}, conflicts
        pairs = [(int(i), int(j)) for i, j in np.argwhere(inside & ~required)]
        x, y = max(pairs, key=lambda pair: (skeleton.p_value(*pair), (-pair[0], -pair[1])))
        skeleton.part(x, y)
        skeleton.told.pop((min(x, y), max(x, y)), None)
        why = "knowledge leaves it only a direction that closes a cycle, so it was taken out"
        conflicts.append(Conflict((constraints.names[x], constraints.names[y]), why))


def _directed(
    names: Sequence[str], colliders: Iterable[Numbers], known: set[tuple[int, int]]
) -> tuple[set[tuple[int, int]], set[Numbers], list[Conflict]]:
    """Arcs of knowledge and of colliders without conflicts; triples in doubt; the conflicts."""
    heads: dict[tuple[int, int], list[Numbers]] = {}
    for x, z, y in colliders:
        heads.setdefault((x, z), []).append((x, z, y))
        heads.setdefault((y, z), []).append((x, z, y))
    arcs, reasons = set(known), {}
    for i, j in heads:
        if (j, i) in known:
            reasons[i, j] = f"a collider has its head at {names[j]!r}, knowledge at {names[i]!r}"
        elif (j, i) in heads and (i, j) not in known:
            reasons[i, j] = "colliders have their heads at both ends"
        else:
            arcs.add((i, j))
    matrix = np.zeros((len(names), len(names)), bool)
    matrix[tuple(np.array(sorted(arcs), np.int64).reshape(-1, 2).T)] = True
    for i, j in np.argwhere(matrix & _in_cycles(matrix)).tolist():
        if (i, j) not in known:
            arcs.discard((i, j))
            reasons[i, j] = "arcs of colliders close a cycle"
    edges = {(min(arc), max(arc)): why for arc, why in sorted(reasons.items())}
    conflicts = [Conflict((names[i], names[j]), why) for (i, j), why in edges.items()]
    return arcs, {one for arc in reasons for one in heads[arc]}, conflicts


def _in_cycles(arcs: Bools) -> Bools:
    """Pairs whose ends are reached from each other."""
    _, part = connected_components(csr_array(arcs), connection="strong")
    return np.asarray(part[:, None] == part[None, :])


def _graph(names: Sequence[str], adjacent: Bools, arcs: set[tuple[int, int]]) -> CPDAG:
    edges = [(i, j) for i, j in np.argwhere(np.triu(adjacent)).tolist()]
    free = [edge for edge in edges if edge not in arcs and edge[::-1] not in arcs]
    return CPDAG(
        [(names[i], names[j]) for i, j in sorted(arcs)],
        [(names[i], names[j]) for i, j in free],
        names,
    )


def _extended(graph: CPDAG) -> tuple[DAG, tuple[Triple, ...]]:
    """A DAG that agrees with the graph, or one with more colliders if there is none."""
    try:
        return graph.to_dag(), ()
    except GraphError:
        order = DAG(graph.directed, graph.nodes).topological_order()
        place = {node: i for i, node in enumerate(order)}
        edges = [(a, b) if place[a] < place[b] else (b, a) for a, b in graph.undirected]
        dag = DAG((*graph.directed, *edges), graph.nodes)
        before = set(_colliders(DAG(graph.directed, graph.nodes), dag))
        return dag, tuple(one for one in _colliders(dag, dag) if one not in before)


def _colliders(dag: DAG, whole: DAG) -> Iterator[Triple]:
    """Pairs of parents that are not joined in the whole graph, with their child between."""
    joined = {frozenset(arc) for arc in whole.arcs}
    for node in sorted(dag.nodes):
        for a, b in combinations(sorted(dag.parents(node)), 2):
            if frozenset((a, b)) not in joined:
                yield a, node, b


def _named(names: Sequence[str], triple: Numbers) -> Triple:
    return names[triple[0]], names[triple[1]], names[triple[2]]
