"""The verbs :func:`learn`, :func:`search` and :func:`score`: check the input, choose, dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.table import Table
from consilience.errors import GraphError, InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.columns import check_continuous, check_counts, check_spread
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.constraints import Constraints, without_logistic
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.local import unjudged
from consilience.structure.searches.mixed import MixedScores
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
    logistic: bool = False,
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
    return _search(rows, score, search, wanted, seconds, seed, progress, memory_limit, logistic).dag


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
    logistic: bool = False,
) -> SearchResult:
    """The record of a search for the graph of the rows: graph, class, score, trace, why it ended.

    The source is not a variable of the graph. Rows with gaps are refused: families would be judged
    by different rows.

    Parameters
    ----------
    rows
        A table or an engine. Discrete variables have tables, continuous ones regressions, one for
        each joint state of their discrete parents.
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
    logistic
        Whether continuous variables may be parents of discrete ones, by logistic regression. Such
        families are fitted one by one, which is slow, and equivalent graphs then differ in score.
        Without it these arcs are left out, and a note says so.
    """
    wanted = {"require": require, "forbid": forbid, "tiers": tiers}
    return _search(rows, score, search, wanted, seconds, seed, progress, memory_limit, logistic)


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
    check_score("score", score, engine.schema.variables)
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
    variables = engine.schema.variables
    families = [Family(node, dag.parents(node)) for node in dag.nodes]
    mixed = [one for one in families if any(variables[v].is_continuous for v in one.variables)]
    tables = [one for one in families if one not in mixed]
    found: dict[str, float] = {}
    if tables:
        counts = count(engine, tables, by_source=score.by_source, memory_limit=memory_limit)
        check_counts(counts)
        found = dict(zip((f.child for f in tables), score.local(counts).tolist(), strict=True))
    if mixed:
        found |= _mixed_scores(engine, dag, mixed, score, memory_limit)
    for family in families:
        if not np.isfinite(found[family.child]):
            raise unjudged(score, family)
    return {node: found[node] for node in dag.nodes}


def _mixed_scores(
    engine: Engine, dag: DAG, families: list[Family], score: Score, memory_limit: float
) -> dict[str, float]:
    """Scores of families that have a continuous variable."""
    strata = _strata(engine, dag.nodes, memory_limit)
    involved = {name for family in families for name in family.variables}
    discrete = [Family(name) for name in sorted(involved - set(strata.names))]
    if discrete:
        check_counts(count(engine, discrete))
    check_continuous(engine, strata)
    scores = MixedScores(engine, strata, score, dag.nodes, memory_limit=memory_limit)
    place = {node: i for i, node in enumerate(dag.nodes)}
    found = {}
    for family in families:
        key = place[family.child], sum(1 << place[parent] for parent in family.parents)
        found[family.child] = float(scores.several(key[0], [key[1]])[0])
        if found[family.child] == -np.inf:
            raise scores.error(*key)
    return found


def _search(
    rows: Table | Engine,
    score: Score | None,
    search: Search | None,
    wanted: dict[str, Iterable[Any]],
    seconds: float | None,
    seed: Seed,
    progress: Progress | None,
    memory_limit: float,
    logistic: bool,
) -> SearchResult:
    engine = engine_of(rows)
    if score is None:
        score = BIC()
    if search is None:
        search = HillClimb() if seconds is None else HillClimb(restarts=PATIENCE)
    check_score("search", score, engine.schema.variables)
    _check_search(search)
    if seconds is not None:
        _check.positive("search", seconds=seconds)
    names = sorted(engine.schema.variables)
    source = engine.schema.source
    constraints = Constraints.of(names, source=None if source is None else source.name, **wanted)
    strata = _strata(engine, names, memory_limit)
    if not logistic:
        is_continuous = np.array([name in strata.names for name in names], bool)
        constraints = without_logistic(constraints, is_continuous)
    clock = Clock(seconds, progress)
    discrete = [Family(name) for name in names if name not in strata.names]
    counts = count(engine, discrete) if discrete else []
    n_rows = check_counts(counts) if discrete or not names else 0.0
    if strata.names:
        n_rows = check_continuous(engine, strata)
        check_spread(strata, score)
    rng = _check.generator(seed)
    task = Task(
        engine,
        score,
        constraints,
        rng,
        clock,
        memory_limit,
        n_rows=n_rows,
        strata=strata,
        logistic=logistic,
    )
    return search.search(task)


def _check_search(search: object) -> None:
    if isinstance(search, type) or not hasattr(search, "search"):
        raise InputError(f"search must be a choice such as cs.HillClimb(), got {search!r}.")


def _strata(engine: Engine, names: Iterable[str], memory_limit: float) -> Strata:
    """The moments of the continuous variables among these, by name."""
    continuous = sorted(name for name in names if engine.schema[name].is_continuous)
    return Strata(engine, continuous, memory_limit=memory_limit)
