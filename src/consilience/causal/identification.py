r"""May this effect be computed from what was recorded, and how: a sound and complete answer.

Let :math:`Q[S](v) = P(s \mid \mathrm{do}(\text{all others}))` and An(S) the ancestors of S, S
included. With the nodes in a topological order:

1. Only An(Y) matters. With :math:`D = \mathrm{An}(Y)` in the graph without X and
   :math:`D_j` the districts of the graph on D,

   .. math:: P(y \mid \mathrm{do}(x)) = \sum_{D \setminus Y} \prod_j Q[D_j].

2. A district S of the whole graph has
   :math:`Q[S] = \prod_{i \in S} P(v_i \mid \text{pillow}_i)`; the pillow of a node is its district
   among the nodes up to it, with the parents of that district.
3. :math:`Q[C]` from :math:`Q[T]`, :math:`C \subset T`: let A be the ancestors of C within T. If
   A = C, sum the rest out. If A = T, the effect is not identified, and (T, C) is the hedge. Else
   sum T without A out, take the district T' of A that contains C,

   .. math::
       Q[T'] = \prod_{i \in T'} \frac{\sum_{\text{after } i} Q[A]}{\sum_{i \text{ and after}} Q[A]},

   and go on with T'.
4. Conditions: while some z of Z is separated from Y given X and the rest of Z once the arcs into X
   and the arcs out of z are cut, seeing z is as good as setting it, and z moves from Z to X. Then
   the answer is :math:`P(y, z \mid \mathrm{do}(x))` divided by its sum over y.

What this refuses cannot be computed from the recorded variables by any method: two models agree
about all of them and differ in the effect.

References
----------
J. Tian, J. Pearl (2002). A general identification condition for causal effects. AAAI.
I. Shpitser, J. Pearl (2006). Identification of conditional interventional distributions. UAI.
Y. Huang, M. Valtorta (2006). Pearl's calculus of intervention is complete. UAI.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from consilience.causal.expression import Conditional, Expression, free_names, product, ratio, total
from consilience.graph.admg import ADMG
from consilience.graph.separation import closure
from consilience.statistics.family import Family

__all__ = [
    "District",
    "Hedge",
    "Identified",
    "ancestors_within",
    "averaged",
    "conditional_effect",
    "districts_of_question",
    "effect_of_piece",
    "joint_effect",
]


@dataclass(frozen=True, slots=True)
class Hedge:
    """Why an effect is not identified: ``inner`` cannot be told apart inside ``outer``.

    Both sets are connected by hidden causes, every node of ``outer`` leads to ``inner`` inside
    ``outer``, and only ``outer`` contains nodes that are set.
    """

    outer: frozenset[str]
    inner: frozenset[str]

    def __iter__(self) -> Iterator[frozenset[str]]:
        return iter((self.outer, self.inner))

    def __str__(self) -> str:
        outer, inner = (", ".join(sorted(nodes)) for nodes in (self.outer, self.inner))
        return f"{{{outer}}} and {{{inner}}}"


@dataclass(frozen=True, slots=True)
class Identified:
    """An expression for the effect, and what it is about.

    ``do`` and ``given`` are what is set and what is seen after step 4: conditions that are as good
    as interventions have moved.
    """

    expression: Expression
    do: frozenset[str]
    given: frozenset[str]


def conditional_effect(
    graph: ADMG, y: Collection[str], x: Collection[str], z: Collection[str]
) -> Identified | Hedge:
    """P(y | do(x), z), or the hedge that forbids it."""
    moved, kept = _exchanged(graph, y, set(x), [node for node in graph.nodes if node in z])
    found = joint_effect(graph, {*y, *kept}, moved)
    if isinstance(found, Hedge) or not kept:
        return (
            found if isinstance(found, Hedge) else Identified(found, frozenset(moved), frozenset())
        )
    ordered = [node for node in graph.nodes if node in y]
    expression = ratio(found, total(ordered, found))
    return Identified(expression, frozenset(moved), frozenset(kept))


@dataclass(frozen=True, slots=True)
class District:
    """A district of the ancestors of a question, and what of it the question needs.

    ``whole`` is Q of the district. ``kept`` are its nodes that are neither set nor cut off;
    ``effect`` is Q of these, or None if a hedge forbids it.
    """

    district: frozenset[str]
    kept: frozenset[str]
    whole: Expression
    effect: Expression | None
    hedge: Hedge | None


def joint_effect(graph: ADMG, y: Collection[str], x: Collection[str]) -> Expression | Hedge:
    """P(y | do(x)) for sets of nodes, or the hedge that forbids it."""
    parts = districts_of_question(graph, y, x)
    for part in parts:
        if part.hedge is not None:
            return part.hedge
    rest = frozenset().union(*(part.kept for part in parts))
    over = [node for node in graph.dag.topological_order() if node in rest and node not in y]
    return total(over, product(part.effect for part in parts if part.effect is not None))


def districts_of_question(graph: ADMG, y: Collection[str], x: Collection[str]) -> list[District]:
    """The districts among the ancestors of y that P(y | do(x)) needs, each with its part."""
    ancestral = ancestors_within(graph, y, set(graph.nodes))
    order = [node for node in graph.dag.topological_order() if node in ancestral]
    rest = ancestors_within(graph, y, ancestral.difference(x))
    pieces = graph.districts_of(rest)
    found = []
    for district in graph.districts_of(ancestral):
        inside = [piece for piece in pieces if piece <= district]
        if inside:
            found.append(_district(graph, order, district, inside))
    return found


def _district(
    graph: ADMG, order: Sequence[str], district: frozenset[str], pieces: Sequence[frozenset[str]]
) -> District:
    whole = product(_pillowed(graph, order, district))
    parts = [_reduced(graph, order, piece, district, known=whole) for piece in pieces]
    hedge = next((part for part in parts if isinstance(part, Hedge)), None)
    known = [part for part in parts if not isinstance(part, Hedge)]
    kept = frozenset().union(*pieces)
    return District(district, kept, whole, None if hedge else product(known), hedge)


def averaged(
    graph: ADMG, expression: Expression, wanted: Collection[str]
) -> tuple[Expression, tuple[str, ...]]:
    """The expression averaged over variables whose value must not matter, and these variables.

    Any value of such a variable gives the same answer from the true distribution; from rows it does
    not, so all are used, with their probabilities.
    """
    free = free_names(expression).difference(wanted)
    extra = [node for node in graph.dag.topological_order() if node in free]
    chain = [Conditional(Family(name, tuple(extra[:i]))) for i, name in enumerate(extra)]
    if not extra:
        return expression, ()
    return total(extra, product([*chain, expression])), tuple(extra)


def effect_of_piece(graph: ADMG, piece: frozenset[str], source: str) -> Expression | Hedge:
    """Q of a set of nodes connected by hidden causes, from what one source shows.

    The source joins the conditions of every family, so that its state can be fixed.
    """
    ancestral = ancestors_within(graph, piece, set(graph.nodes))
    order = [node for node in graph.dag.topological_order() if node in ancestral]
    [whole] = [district for district in graph.districts_of(ancestral) if piece <= district]
    families = [
        Conditional(Family(node, (source, *_pillow(graph, order[: i + 1], node))))
        for i, node in enumerate(order)
        if node in whole
    ]
    return _reduced(graph, order, piece, whole, known=product(families))


def _exchanged(
    graph: ADMG, y: Collection[str], x: set[str], z: list[str]
) -> tuple[set[str], list[str]]:
    """X and Z after every condition that is as good as an intervention has moved."""
    kept = list(z)
    moved = True
    while moved:
        moved = False
        for node in kept:
            others = [other for other in kept if other != node]
            if graph.cut(into=x, out_of={node}).is_separated(node, y, given={*x, *others}):
                x, kept, moved = {*x, node}, others, True
                break
    return x, kept


def _pillowed(graph: ADMG, order: Sequence[str], district: Collection[str]) -> list[Expression]:
    """P(node | pillow) for each node of a district, in order."""
    return [
        Conditional(Family(node, _pillow(graph, order[: i + 1], node)))
        for i, node in enumerate(order)
        if node in district
    ]


def _pillow(graph: ADMG, before: Sequence[str], node: str) -> tuple[str, ...]:
    """What a node depends on among those up to it: its district there, and its parents."""
    kept = set(before)
    district = closure([node], lambda one: (s for s in graph.siblings(one) if s in kept))
    found = {parent for one in district for parent in graph.parents(one)} | district
    return tuple(other for other in before if other in found and other != node)


def _reduced(
    graph: ADMG,
    order: Sequence[str],
    inner: frozenset[str],
    outer: frozenset[str],
    *,
    known: Expression,
) -> Expression | Hedge:
    """Q[inner] from Q[outer]."""
    while True:
        ancestral = ancestors_within(graph, inner, outer)
        if ancestral == inner:
            return total([node for node in order if node in outer - inner], known)
        if ancestral == outer:
            return Hedge(outer, inner)
        whole = total([node for node in order if node in outer - ancestral], known)
        [outer] = [one for one in graph.districts_of(ancestral) if inner <= one]
        known = _district_of(whole, [node for node in order if node in ancestral], outer)


def _district_of(whole: Expression, order: Sequence[str], district: Collection[str]) -> Expression:
    """Q of a district from Q of all nodes in ``order``."""
    factors = []
    for i, node in enumerate(order):
        if node in district:
            up_to = total(order[i + 1 :], whole)
            factors.append(ratio(up_to, total([node], up_to)))
    return product(factors)


def ancestors_within(graph: ADMG, nodes: Collection[str], among: Collection[str]) -> frozenset[str]:
    """The nodes and their ancestors within a part of the graph."""
    found = closure(nodes, lambda one: (p for p in graph.parents(one) if p in among))
    return frozenset(found)
