"""The scores of the families of one graph, whatever the kinds of their variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from consilience.graph.dag import DAG
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.columns import check_continuous, check_counts
from consilience.structure.scores.score import Score, takes_gaps
from consilience.structure.searches.local import unjudged
from consilience.structure.searches.mixed import MixedScores

__all__ = ["family_scores", "strata_of"]


def family_scores(
    engine: Engine, dag: DAG, score: Score, *, memory_limit: float
) -> dict[str, float]:
    """Score of each node's family, in the order of the nodes.

    The source may be a node like any other, if the score does not keep sources apart.
    """
    schema = engine.schema
    families = [Family(node, dag.parents(node)) for node in dag.nodes]
    mixed = [one for one in families if any(schema[v].is_continuous for v in one.variables)]
    tables = [one for one in families if one not in mixed]
    found: dict[str, float] = {}
    if tables:
        counts = count(engine, tables, by_source=score.by_source, memory_limit=memory_limit)
        check_counts(counts, gaps=takes_gaps(score))
        found = dict(zip((f.child for f in tables), score.local(counts).tolist(), strict=True))
    if mixed:
        found |= _mixed_scores(engine, dag, mixed, score, memory_limit)
    for family in families:
        if not np.isfinite(found[family.child]):
            raise unjudged(score, family)
    return {node: found[node] for node in dag.nodes}


def strata_of(engine: Engine, names: Iterable[str], memory_limit: float) -> Strata:
    """The moments of the continuous variables among these, by name."""
    continuous = sorted(name for name in names if engine.schema[name].is_continuous)
    return Strata(engine, continuous, memory_limit=memory_limit)


def _mixed_scores(
    engine: Engine, dag: DAG, families: Sequence[Family], score: Score, memory_limit: float
) -> dict[str, float]:
    """Scores of families that have a continuous variable."""
    strata = strata_of(engine, dag.nodes, memory_limit)
    involved = {name for family in families for name in family.variables}
    discrete = [Family(name) for name in sorted(involved - set(strata.names))]
    if discrete:
        check_counts(count(engine, discrete), gaps=takes_gaps(score))
    check_continuous(engine, strata, gaps=takes_gaps(score))
    scores = MixedScores(engine, strata, score, dag.nodes, memory_limit=memory_limit)
    place = {node: i for i, node in enumerate(dag.nodes)}
    found = {}
    for family in families:
        key = place[family.child], sum(1 << place[parent] for parent in family.parents)
        found[family.child] = float(scores.several(key[0], [key[1]])[0])
        if found[family.child] == -np.inf:
            raise scores.error(*key)
    return found
