r"""Two graphs over the same nodes, arc by arc: what they share and where they differ.

An arc is *shared* if both graphs have it, *turned* if they join the two nodes in opposite
directions, *extra* if only the learned graph joins them and *missing* if only the other one does. A
v-structure is a pair of arcs :math:`a \to c \leftarrow b` with :math:`a, b` not adjacent; graphs
with the same adjacencies and the same v-structures are equivalent (Verma and Pearl 1990).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from consilience.errors import GraphError
from consilience.graph.dag import DAG
from consilience.graph.distance import Confusion, confusion, shd, shd_dags
from consilience.graph.names import Arc

__all__ = [
    "ArcDifferences",
    "FamilyDifference",
    "GraphComparison",
    "ScoreComparison",
    "VStructure",
    "arc_differences",
    "compare",
    "v_structures",
]

VStructure = tuple[str, str, str]
"""Parent, child, other parent; the parents in the order of their names."""

N_ARCS = 12  # a printed line lists at most so many
N_FAMILIES = 20


@dataclass(frozen=True, slots=True)
class ArcDifferences:
    """Arcs that two graphs share or not; ``turned`` has them as in the learned graph."""

    shared: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    extra: tuple[Arc, ...]
    missing: tuple[Arc, ...]


@dataclass(frozen=True, slots=True)
class FamilyDifference:
    """A node whose parents differ, and what that is worth: scores in both graphs."""

    node: str
    learned_parents: tuple[str, ...]
    other_parents: tuple[str, ...]
    learned: float
    other: float

    @property
    def difference(self) -> float:
        """Score in the learned graph less that in the other."""
        return self.learned - self.other


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """Scores of both graphs; families whose parents differ, the largest difference first."""

    method: str
    learned: float
    other: float
    families: tuple[FamilyDifference, ...]

    @property
    def difference(self) -> float:
        """Score of the learned graph less that of the other; above 0 the learned one fits better.

        The sum over the families that differ, which rounds less than the difference of the totals.
        """
        return sum((family.difference for family in self.families), 0.0)


@dataclass(frozen=True, slots=True)
class GraphComparison:
    """How far two graphs agree; printed, it is a report.

    Attributes
    ----------
    learned, other
        The two graphs.
    shd, shd_dags
        Structural Hamming distance between their classes and between the graphs as they are.
    arcs, adjacencies, v_structures
        How many of the learned graph's arcs, of its arcs without direction, and of its v-structures
        the other graph has too.
    shared, turned, extra, missing
        The arcs: in both, in both but turned round (as in the learned graph), in the learned graph
        only, in the other only.
    shared_v_structures, extra_v_structures, missing_v_structures
        The v-structures in the same way, as (parent, child, parent).
    scores
        What the differences are worth on rows; None if no rows were given.
    """

    learned: DAG
    other: DAG
    shd: int
    shd_dags: int
    arcs: Confusion
    adjacencies: Confusion
    v_structures: Confusion
    shared: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    extra: tuple[Arc, ...]
    missing: tuple[Arc, ...]
    shared_v_structures: tuple[VStructure, ...]
    extra_v_structures: tuple[VStructure, ...]
    missing_v_structures: tuple[VStructure, ...]
    scores: ScoreComparison | None = None

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __str__(self) -> str:
        lines = [*_counts(self), "", *_distances(self), *_arcs(self), *_colliders(self)]
        return "\n".join([*lines, *([] if self.scores is None else ["", *_scores(self.scores)])])

    def __repr__(self) -> str:
        return (
            f"GraphComparison(SHD {self.shd}, arcs: {len(self.shared)} shared, "
            f"{len(self.turned)} turned, {len(self.extra)} extra, {len(self.missing)} missing)"
        )


def compare(learned: DAG, other: DAG) -> GraphComparison:
    """The comparison of two graphs over the same nodes, without scores."""
    for graph in (learned, other):
        _check_dag(graph)
    arcs = arc_differences(learned, other)
    ours, theirs = v_structures(learned), v_structures(other)
    shared = tuple(one for one in ours if one in set(theirs))
    extra = tuple(one for one in ours if one not in set(theirs))
    missing = tuple(one for one in theirs if one not in set(ours))
    return GraphComparison(
        learned,
        other,
        shd(learned, other),
        shd_dags(learned, other),
        confusion(learned, other),
        confusion(learned, other, skeleton=True),
        Confusion(len(shared), len(extra), len(missing)),
        arcs.shared,
        arcs.turned,
        arcs.extra,
        arcs.missing,
        shared,
        extra,
        missing,
    )


def arc_differences(learned: DAG, other: DAG) -> ArcDifferences:
    """Which arcs the graphs share, in the order of the learned graph, then of the other.

    Examples
    --------
    >>> found = arc_differences(DAG.parse("[A][B|A][C|B]"), DAG.parse("[A|B][B][C|A]"))
    >>> found.turned, found.extra, found.missing
    ((('A', 'B'),), (('B', 'C'),), (('A', 'C'),))
    """
    ours, theirs = set(learned.arcs), set(other.arcs)
    return ArcDifferences(
        shared=tuple(arc for arc in learned.arcs if arc in theirs),
        turned=tuple(arc for arc in learned.arcs if arc[::-1] in theirs),
        extra=tuple(arc for arc in learned.arcs if not {arc, arc[::-1]} & theirs),
        missing=tuple(arc for arc in other.arcs if not {arc, arc[::-1]} & ours),
    )


def v_structures(dag: DAG) -> tuple[VStructure, ...]:
    """All pairs of arcs into one node from nodes that are not adjacent.

    Examples
    --------
    >>> v_structures(DAG.parse("[A][B][C|A:B][D|C]"))
    (('A', 'C', 'B'),)
    """
    arcs = set(dag.arcs)
    return tuple(
        (one, node, two)
        for node in dag.nodes
        for one, two in combinations(sorted(dag.parents(node)), 2)
        if not {(one, two), (two, one)} & arcs
    )


def _check_dag(graph: object) -> None:
    if not isinstance(graph, DAG):
        raise GraphError(
            f"compare_graphs: got a {type(graph).__name__}; expected two DAGs. A CPDAG has "
            "to_dag(), a network and the record of a search have dag."
        )


def _counts(found: GraphComparison) -> Iterator[str]:
    yield f"{'':14}shared  only learned  only other  precision  recall     F1"
    kinds = {
        "arcs": found.arcs,
        "adjacencies": found.adjacencies,
        "v-structures": found.v_structures,
    }
    for name, counts in kinds.items():
        shares = f"{counts.precision:9.3f}  {counts.recall:6.3f}  {counts.f1:5.3f}"
        yield f"{name:14}{counts.tp:6}  {counts.fp:12}  {counts.fn:10}  {shares}"


def _distances(found: GraphComparison) -> Iterator[str]:
    same = " (equivalent)" if found.shd == 0 else ""
    yield f"SHD of the classes   {found.shd}{same}"
    yield f"SHD of the graphs    {found.shd_dags}{' (equal)' if found.shd_dags == 0 else ''}"


def _arcs(found: GraphComparison) -> Iterator[str]:
    kinds = {
        "turned round": found.turned,
        "only in learned": found.extra,
        "only in other": found.missing,
    }
    for name, arcs in kinds.items():
        if arcs:
            yield f"{name:<21}{_listed([f'{start} -> {end}' for start, end in arcs])}"


def _colliders(found: GraphComparison) -> Iterator[str]:
    kinds = {
        "v-structures lost": found.missing_v_structures,
        "v-structures new": found.extra_v_structures,
    }
    for name, triples in kinds.items():
        if triples:
            yield f"{name:<21}{_listed([f'{a} -> {c} <- {b}' for a, c, b in triples])}"


def _scores(found: ScoreComparison) -> Iterator[str]:
    yield f"score                {found.method}"
    yield f"learned              {found.learned:,.4f}"
    yield f"other                {found.other:,.4f}"
    yield f"difference           {found.difference:+,.4f}"
    if not found.families:
        return
    yield ""
    yield "  difference  family: parents in learned / in other"
    for family in found.families[:N_FAMILIES]:
        parents = f"{_parents(family.learned_parents)} / {_parents(family.other_parents)}"
        yield f"{family.difference:+12,.4f}  {family.node}: {parents}"
    if len(found.families) > N_FAMILIES:
        yield f"{'...':>12}  and {len(found.families) - N_FAMILIES} more"


def _parents(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "-"


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:N_ARCS])
    return shown if len(texts) <= N_ARCS else f"{shown} and {len(texts) - N_ARCS} more"
