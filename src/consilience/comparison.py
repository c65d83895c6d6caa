"""The verb :func:`compare_graphs`: two graphs, and what their differences are worth on rows."""

from __future__ import annotations

from dataclasses import replace

from consilience.data.door import Rows
from consilience.discovery import node_scores
from consilience.errors import InputError
from consilience.graph.arc_comparison import (
    FamilyDifference,
    GraphComparison,
    ScoreComparison,
    compare,
)
from consilience.graph.dag import DAG
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine
from consilience.structure.scores.score import Score
from consilience.structure.source_ways import default_score

__all__ = ["compare_graphs"]


def compare_graphs(
    learned: DAG, other: DAG, *, table: Rows | Engine | None = None, score: Score | None = None
) -> GraphComparison:
    """How far two graphs agree, and with rows, which of the differences gain or cost how much.

    Parameters
    ----------
    learned, other
        Two graphs over the same nodes. Precision and recall take the other one as the truth.
    table
        Rows, as a table, a frame, a path or an engine: both graphs are scored on them.
    score
        How; as :func:`learn` does if not given. It needs a table.

    Returns
    -------
    GraphComparison
        Distances, arcs and v-structures that are shared or not, and in ``scores`` the families
        whose parents differ, the largest difference of scores first; where an arc is turned round
        and the graphs stay equivalent, these cancel. ``print`` gives a report.

    Raises
    ------
    GraphError
        If the graphs have different nodes. The source of a network is one: compare
        ``net.dag.without(net.source)``.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5})
    >>> found = compare_graphs(cs.DAG([("x", "y")]), cs.DAG(nodes=["x", "y"]), table=rows)
    >>> found.shd, found.extra
    (1, (('x', 'y'),))
    >>> round(found.scores.difference, 6)  # 20 log 2 - log(20)/2, for one parameter more
    12.365077
    """
    if table is None and score is not None:
        raise InputError("compare_graphs: a score needs rows: table=...", parameter="score")
    found = compare(learned, other)
    if table is None:
        return found
    engine = engine_of(table)
    by_default = default_score(engine)
    return replace(found, scores=_scores(found, engine, by_default if score is None else score))


def _scores(found: GraphComparison, rows: Engine, score: Score) -> ScoreComparison:
    ours, theirs = (node_scores(dag, rows, score) for dag in (found.learned, found.other))
    families = [
        FamilyDifference(
            node, found.learned.parents(node), found.other.parents(node), ours[node], theirs[node]
        )
        for node in found.learned.nodes
        if set(found.learned.parents(node)) != set(found.other.parents(node))
    ]
    families.sort(key=lambda family: (-abs(family.difference), family.node))
    return ScoreComparison(
        repr(score), sum(ours.values(), 0.0), sum(theirs.values(), 0.0), tuple(families)
    )
