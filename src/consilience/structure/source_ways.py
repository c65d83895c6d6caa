"""What a search has assumed about the sources, in words and by node."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from consilience import _check
from consilience.graph.dag import DAG
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.many_regressions import RegressionBatch
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.precision import judged
from consilience.structure.scores.by_source import POOLED, BySource
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.priors import MAP
from consilience.structure.scores.score import Batch, Score

__all__ = ["default_score", "has_sources", "note_on_sources", "note_on_tree", "ways_of"]


def has_sources(engine: Engine) -> bool:
    """Whether the rows may come from several sources."""
    source = engine.schema.source
    return source is not None and source.n_states > 1


def default_score(engine: Engine) -> Score:
    """How graphs are judged by default: by BIC, with several sources by the best way."""
    return BySource(BIC()) if has_sources(engine) else BIC()


def ways_of(
    engine: Engine,
    dag: DAG,
    score: Score,
    strata: Strata,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> dict[str, str]:
    """For each node how its family depends on the source; empty if the score does not tell."""
    judge = score
    while isinstance(judge, MAP):
        judge = judge.score
    if not isinstance(judge, BySource) or not has_sources(engine):
        return {}
    found = {}
    for node in dag.nodes:
        family = Family(node, dag.parents(node))
        batch = _batch(engine, family, strata, memory_limit)
        (found[node],) = judged(strata, batch, judge.ways)
    return found


def _batch(engine: Engine, family: Family, strata: Strata, memory_limit: float) -> Batch:
    """The statistics of one family by source."""
    continuous = [name for name in family.variables if name in strata.names]
    if not continuous:
        return count(engine, [family], by_source=True, memory_limit=memory_limit)
    if family.child not in continuous:
        return LogisticBatch.of(engine, [family], by_source=True, memory_limit=memory_limit)
    given = tuple(sorted(name for name in family.parents if name not in continuous))
    return RegressionBatch.of(strata.by(given, by_source=True), [family])


def note_on_tree(engine: Engine) -> tuple[str, ...]:
    """What a tree has assumed about the sources; nothing if there is only one."""
    source = engine.schema.source
    if source is None or not has_sources(engine):
        return ()
    return (
        f"Edges were weighed within the {source.n_states} sources, whatever the score, so that "
        "margins or means that differ between sources make none. To pool the sources, learn from "
        "table.pooled().",
    )


def note_on_sources(
    engine: Engine,
    score: Score,
    ways: Mapping[str, str],
    *,
    is_tree: bool = False,
) -> tuple[str, ...]:
    """What was assumed about the sources, in a sentence or two; nothing if there is only one.

    A tree whose edges are weighed within sources (``is_tree``) does not follow the score.
    """
    source = engine.schema.source
    if source is None or not has_sources(engine):
        return ()
    if is_tree:
        return (*note_on_tree(engine), *([_dependent(ways)] if ways else []))
    n = source.n_states
    advice = " cs.scores.BySource(cs.BIC()) tells them apart."
    if ways:
        return (
            f"Each family was judged with the {n} sources pooled and apart, and the better way "
            f"kept. {_dependent(ways)}",
        )
    if score.by_source:
        return (f"The score keeps the {n} sources apart.",)
    return (
        f"The rows of the {n} sources were judged together, so that differences between sources "
        f"may look like arcs.{advice}",
    )


def _dependent(ways: Mapping[str, str]) -> str:
    named = sorted((way, node) for node, way in ways.items() if way != POOLED)
    if not named:
        return "No column depends on the source."
    parts = [
        f"{_check.listed([node for _, node in group])} ({way})"
        for way, group in groupby(named, key=lambda one: one[0])
    ]
    return f"Columns that depend on the source: {'; '.join(parts)}."
