"""The scores of the families of one graph, whatever the kinds of their variables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from consilience.graph.dag import DAG
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.columns import check_continuous, check_counts
from consilience.structure.scores.score import Score, takes_gaps
from consilience.structure.searches.judge import Grounds, mask_of
from consilience.structure.searches.judges import Judges

__all__ = ["family_scores", "strata_of"]


def family_scores(
    engine: Engine, dag: DAG, score: Score, *, memory_limit: float
) -> dict[str, float]:
    """Score of each node's family, in the order of the nodes.

    The source may be a node like any other, if the score does not keep sources apart.
    """
    strata = strata_of(engine, dag.nodes, memory_limit)
    discrete = [Family(node) for node in dag.nodes if node not in strata.names]
    if discrete:
        check_counts(count(engine, discrete), gaps=takes_gaps(score))
    if strata.names:
        check_continuous(engine, strata, gaps=takes_gaps(score))
    place = {node: i for i, node in enumerate(dag.nodes)}
    parents = [mask_of(place[parent] for parent in dag.parents(node)) for node in dag.nodes]
    judges = Judges(Grounds(engine, strata, score, dag.nodes, memory_limit), parents)
    found = judges.several(enumerate(parents))
    for (child, mask), value in found.items():
        if value == -np.inf:
            raise judges.of[child].error(child, mask)
    return {node: found[key] for node, key in zip(dag.nodes, enumerate(parents), strict=True)}


def strata_of(engine: Engine, names: Iterable[str], memory_limit: float) -> Strata:
    """The moments of the continuous variables among these, by name."""
    continuous = sorted(name for name in names if engine.schema[name].is_continuous)
    return Strata(engine, continuous, memory_limit=memory_limit)
