r"""The verb :func:`adjustment_sets`: what to adjust for, and what serves where nothing can be.

A set Z is valid for the effect of X on Y if it has no descendant of a node on a causal path from X
to Y (other than of X itself), and separates X from Y once the first arcs of all causal paths are
removed. Then

.. math:: P(y \mid \mathrm{do}(x)) = \sum_z P(y \mid x, z)\, P(z) .

Minimal sets consist of ancestors of X or Y. They are the minimal separators of X and Y in the moral
graph of these ancestors, in which nodes that may not be used are left out and their neighbours
joined; they are listed by moving from one separator to the next (Shen and Liang 1997).

*Front-door* sets and *instruments* are named where they serve: m intercepts all causal paths, has
no open back-door path from x, and all its back-door paths to y are blocked by x; an instrument
moves x, and is separated from y once the arcs out of x are cut.

References
----------
B. van der Zander, M. Liskiewicz, J. Textor (2014). Constructing separators and adjustment sets in
ancestral graphs. UAI.
J. Pearl (2009). Causality, section 3.3. Cambridge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from consilience.causal.assumed import of_graph
from consilience.causal.estimand import graph_of
from consilience.graph.admg import ADMG
from consilience.graph.dag import DAG
from consilience.graph.separation import closure
from consilience.inference.evidence import names_of

__all__ = ["AdjustmentSets", "adjustment_sets"]

MOST = 1000
"""Minimal sets that are listed."""


@dataclass(frozen=True, slots=True)
class AdjustmentSets:
    """Minimal sets to adjust for, smallest first, and other ways to the effect.

    Attributes
    ----------
    sets
        Minimal sets; none if adjusting cannot give the effect, and one empty set if nothing needs
        to be adjusted for.
    front_door
        Nodes through which the effect can be found if the sets are none.
    instruments
        Nodes that move x and reach y only through it: they bound the effect.
    """

    sets: tuple[frozenset[str], ...]
    front_door: tuple[str, ...]
    instruments: tuple[str, ...]
    assumptions: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[frozenset[str]]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, i: int) -> frozenset[str]:
        return self.sets[i]

    def __contains__(self, names: object) -> bool:
        return isinstance(names, Iterable) and frozenset(names) in self.sets

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def adjustment_sets(
    graph: DAG | ADMG, y: str | Iterable[str], *, do: str | Iterable[str]
) -> AdjustmentSets:
    """Minimal sets of variables to adjust for when the effect of ``do`` on y is estimated.

    At most 1,000 sets are listed.

    Examples
    --------
    >>> [sorted(s) for s in adjustment_sets(DAG.parse("[z][x|z][y|x:z]"), "y", do="x")]
    [['z']]
    """
    whole = graph_of(graph)
    ys, xs = set(names_of(y)), set(names_of(do))
    whole.dag.ancestors([*ys, *xs])
    found = sorted(_minimal_sets(whole, ys, xs), key=lambda s: (len(s), sorted(s)))
    singles = len(ys) == len(xs) == 1
    [one_y], [one_x] = (ys, xs) if singles else ([""], [""])
    return AdjustmentSets(
        tuple(found),
        tuple(_front_doors(whole, one_y, one_x)) if singles else (),
        tuple(_instruments(whole, one_y, one_x)) if singles else (),
        of_graph(whole),
    )


def _minimal_sets(graph: ADMG, y: set[str], x: set[str]) -> Iterator[frozenset[str]]:
    between = _on_causal_paths(graph, y, x)
    forbidden = graph.dag.descendants(list(between)) | between | x | y
    first = {(a, b) for a, b in graph.arcs if a in x and b in between}
    rest = ADMG((arc for arc in graph.arcs if arc not in first), graph.latent, graph.nodes)
    dag = rest.to_dag()
    ancestral = dag.ancestors([*x, *y]) | x | y
    neighbors = _moral(dag, ancestral)
    usable = {node for node in ancestral if node in graph.nodes and node not in forbidden}
    for node in ancestral - usable - x - y:
        _leave_out(neighbors, node)
    yield from _separators(neighbors, x, y)


def _on_causal_paths(graph: ADMG, y: set[str], x: set[str]) -> frozenset[str]:
    """Nodes after X on directed paths from X to Y that do not come back to X."""
    down = closure(
        [c for one in x for c in graph.dag.children(one) if c not in x],
        lambda n: (c for c in graph.dag.children(n) if c not in x),
    )
    up = closure(y, lambda n: (p for p in graph.parents(n) if p not in x))
    return frozenset(down & up)


def _moral(dag: DAG, kept: Collection[str]) -> dict[str, set[str]]:
    neighbors: dict[str, set[str]] = {node: set() for node in kept}
    for node in kept:
        parents = [parent for parent in dag.parents(node) if parent in kept]
        for one, two in (*((p, node) for p in parents), *combinations(parents, 2)):
            neighbors[one].add(two)
            neighbors[two].add(one)
    return neighbors


def _leave_out(neighbors: dict[str, set[str]], node: str) -> None:
    """Take a node out and join its neighbours."""
    around = neighbors.pop(node)
    for other in around:
        neighbors[other].discard(node)
        neighbors[other] |= around - {other}


def _separators(
    neighbors: dict[str, set[str]], x: set[str], y: set[str]
) -> Iterator[frozenset[str]]:
    """All minimal sets of nodes that separate x from y."""
    if any(neighbors[one] & y for one in x):
        return
    start = _near(neighbors, x, y)
    seen, waiting = {start}, [start]
    while waiting and len(seen) <= MOST:
        current = waiting.pop()
        yield current
        side = _side(neighbors, x, current)
        for node in sorted(current):
            grown = side | {node}
            if not any(neighbors[one] & y for one in grown):
                following = _near(neighbors, grown, y)
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)


def _side(neighbors: dict[str, set[str]], x: set[str], border: Collection[str]) -> set[str]:
    """What is joined to x without crossing the border."""
    return closure(x, lambda n: (o for o in neighbors[n] if o not in border))


def _near(neighbors: dict[str, set[str]], inside: set[str], y: set[str]) -> frozenset[str]:
    """The minimal separator of ``inside`` from y that is nearest to ``inside``."""
    border = {o for one in inside for o in neighbors[one]} - inside
    beyond = _side(neighbors, y, border)
    return frozenset(o for one in beyond for o in neighbors[one] if o in border)


def _front_doors(graph: ADMG, y: str, x: str) -> Iterator[str]:
    between = _on_causal_paths(graph, {y}, {x}) - {y}
    for node in sorted(between):
        blocked = ADMG((arc for arc in graph.arcs if node not in arc), graph.latent, graph.nodes)
        intercepts = y not in blocked.dag.descendants(x)
        no_back_door = graph.cut(out_of={x}).is_separated(x, node)
        if intercepts and no_back_door and graph.cut(out_of={node}).is_separated(node, y, given=x):
            yield node


def _instruments(graph: ADMG, y: str, x: str) -> Iterator[str]:
    outside = graph.cut(out_of={x})
    for node in sorted(set(graph.nodes) - {x, y} - graph.dag.descendants(x)):
        if not graph.is_separated(node, x) and outside.is_separated(node, y):
            yield node
