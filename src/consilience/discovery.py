"""The verbs :func:`learn`, :func:`search` and :func:`score`: check the input, choose, dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.table import Table
from consilience.errors import DataError, GraphError, InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.local import unjudged
from consilience.structure.searches.task import Clock, Progress, Search, SearchResult, Task

__all__ = ["learn", "node_scores", "score", "search"]

PATIENCE = 1000
"""Restarts in vain of the default search when it is given time to use."""


def learn(
    rows: Table | Engine,
    *,
    score: Score | None = None,
    search: Search | None = None,
    require: Iterable[Arc] = (),
    forbid: Iterable[Arc] = (),
    tiers: Iterable[Iterable[str]] = (),
    seconds: float | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> DAG:
    """The graph that fits the rows best, as far as the search can tell.

    Takes the arguments of :func:`search`, which returns the whole story.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> cs.learn(table).arcs
    (('y', 'x'),)
    """
    wanted = {"require": require, "forbid": forbid, "tiers": tiers}
    return _search(rows, score, search, wanted, seconds, seed, progress, memory_limit).dag


def search(
    rows: Table | Engine,
    *,
    score: Score | None = None,
    search: Search | None = None,
    require: Iterable[Arc] = (),
    forbid: Iterable[Arc] = (),
    tiers: Iterable[Iterable[str]] = (),
    seconds: float | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> SearchResult:
    """The record of a search for the graph of the rows: graph, class, score, trace, why it ended.

    The source is not a variable of the graph. Rows with gaps are refused: families would be judged
    by different rows.

    Parameters
    ----------
    rows
        A table or an engine; all variables must be discrete.
    score
        How graphs are judged; ``BIC()`` if not given, on the rows of all sources together.
    search
        How graphs are looked through; ``HillClimb()`` if not given.
    require, forbid
        Arcs that the graph must have and must not have, as pairs (from, to).
    tiers
        Groups of variables from the earliest to the latest; no arc leads back to an earlier group.
    seconds
        Budget of time; the best graph so far is returned when it is used up. The default search
        uses it to restart ten times as patiently.
    seed
        Of all that is random in the search: a whole number or a NumPy generator.
    progress
        Called now and then with the share done (None if unknown) and a text.
    memory_limit
        Bytes of the counts of one request; families that need more are left out and noted.
    """
    wanted = {"require": require, "forbid": forbid, "tiers": tiers}
    return _search(rows, score, search, wanted, seconds, seed, progress, memory_limit)


def score(
    dag: DAG, rows: Table | Engine, score: Score, *, memory_limit: float = MEMORY_LIMIT
) -> float:
    """Score of a graph on rows: the sum over its families; natural logarithm, higher is better.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "b", "b"]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.BIC()), 6)  # 4 log(1/2) - log(4)/2
    -3.465736
    """
    return float(sum(node_scores(dag, rows, score, memory_limit=memory_limit).values()))


def node_scores(
    dag: DAG, rows: Table | Engine, score: Score, *, memory_limit: float = MEMORY_LIMIT
) -> dict[str, float]:
    """Score of each node's family; their sum is the score of the graph."""
    engine = engine_of(rows)
    check_score("score", score)
    if not isinstance(dag, DAG):
        raise InputError(f"dag must be a DAG, got a {type(dag).__name__}.")
    source = engine.schema.source
    if source is not None and source.name in dag.nodes:
        raise GraphError(
            f"the graph has the source {source.name!r} as a node; scores are of the variables "
            f"alone. Leave it out: dag.without({source.name!r}).",
            node=source.name,
        )
    _check.known("variable", dag.nodes, engine.schema.variables)
    families = [Family(node, dag.parents(node)) for node in dag.nodes]
    if not families:
        return {}
    counts = count(engine, families, by_source=score.by_source, memory_limit=memory_limit)
    _check_complete(counts)
    scores = score.local(counts)
    for family, value in zip(families, scores, strict=True):
        if not np.isfinite(value):
            raise unjudged(score, family)
    return dict(zip(dag.nodes, map(float, scores), strict=True))


def _search(
    rows: Table | Engine,
    score: Score | None,
    search: Search | None,
    wanted: dict[str, Iterable[Any]],
    seconds: float | None,
    seed: Seed,
    progress: Progress | None,
    memory_limit: float,
) -> SearchResult:
    engine = engine_of(rows)
    if score is None:
        score = BIC()
    if search is None:
        search = HillClimb() if seconds is None else HillClimb(restarts=PATIENCE)
    check_score("search", score)
    _check_search(search)
    if seconds is not None:
        _check.positive("search", seconds=seconds)
    names = sorted(engine.schema.variables)
    for name in names:
        engine.schema[name].discrete_states  # noqa: B018 - refuses a continuous variable
    source = engine.schema.source
    constraints = Constraints.of(names, source=None if source is None else source.name, **wanted)
    clock = Clock(seconds, progress)
    _check_complete(count(engine, [Family(name) for name in names]))
    rng = _check.generator(seed)
    return search.search(Task(engine, score, constraints, rng, clock, memory_limit))


def _check_search(search: object) -> None:
    if isinstance(search, type) or not hasattr(search, "search"):
        raise InputError(f"search must be a choice such as cs.HillClimb(), got {search!r}.")


def _check_complete(counts: list[Counts]) -> None:
    """Refuse a table without rows, and gaps: scores on different rows cannot be compared."""
    if not counts or counts[0].n_rows.sum() == 0:
        raise DataError("a graph cannot be judged on a table without rows.")
    gaps = {one.child.name: float(one.n_incomplete.sum()) for one in counts}
    columns = [name for name, n in gaps.items() if n > 0]
    if columns:
        raise DataError(
            f"{gaps[columns[0]]:g} rows have no value of {columns[0]!r} (gaps in "
            f"{_check.listed(columns)}); families would be judged by different rows. Read the "
            "table without these columns or rows, or fill the gaps first.",
            column=columns[0],
        )
