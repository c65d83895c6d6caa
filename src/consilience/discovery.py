"""The verbs :func:`learn`, :func:`search` and :func:`score`: check the input, choose, dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Bools, Seed
from consilience.data.door import Rows
from consilience.data.table import Table
from consilience.errors import GraphError, InputError, TooDearError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.incomplete.first_graphs import RESTARTS, FirstGraphs
from consilience.incomplete.rule import Method, check_gaps, columns_with_gaps, method_for, table_of
from consilience.incomplete.structural_em import StructuralEM, structural_em
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import columns_of_source, engine_of, notes_on
from consilience.statistics.request import Engine, is_dear
from consilience.structure.columns import rows_used
from consilience.structure.family_scores import family_scores
from consilience.structure.scores.score import Score, check_score
from consilience.structure.scores.source_scores import bounded
from consilience.structure.searches.constraints import (
    Constraints,
    without_arcs_into,
    without_logistic,
)
from consilience.structure.searches.default_search import default_search
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.plays import Passes, found_by
from consilience.structure.searches.rows_task import Look, look_at, task_on
from consilience.structure.searches.task import Clock, Progress, Search, SearchResult, Task
from consilience.structure.source_ways import default_score, note_on_sources, ways_of

__all__ = ["learn", "node_scores", "score", "search"]

ENOUGH = 0.5
"""Share of complete rows from which on their graph is one that structural EM begins with."""


def learn(
    rows: Rows | Engine,
    *,
    score: Score | None = None,
    search: Search | None = None,
    gaps: StructuralEM | None = None,
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
    (('x', 'y'),)
    """
    wanted = {"require": require, "forbid": forbid, "tiers": tiers}
    return _search(
        rows,
        score,
        search,
        gaps,
        wanted=wanted,
        seconds=seconds,
        seed=seed,
        progress=progress,
        memory_limit=memory_limit,
        logistic=logistic,
    ).dag


def search(
    rows: Rows | Engine,
    *,
    score: Score | None = None,
    search: Search | None = None,
    gaps: StructuralEM | None = None,
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

    The source is not a variable of the graph. No row with gaps is dropped: structural EM completes
    them; with ``score=PNAL()`` each family is judged by the rows complete for it. ``judged_by``,
    ``n_rows`` and the notes of the record say it.

    Parameters
    ----------
    rows
        A table or an engine; or a frame or path, which is read by the default rules. Discrete
        variables have tables, continuous ones regressions, one for
        each joint state of their discrete parents.
    score
        How graphs are judged. If not given ``BIC()``, with several sources
        ``BySource(BIC())``, which does not take a difference between sources for dependence; give
        ``BIC()`` to pool them. With gaps it is the same score on completed rows.
    search
        How graphs are looked through. If not given ``Exact()`` where that takes a fraction of a
        second (at most 14 variables, of few states or rows), else ``Sweep()``; structural EM
        climbs by ``HillClimb()``. ``searched_by`` of the record says which.
    gaps
        How rows with gaps are completed; ``StructuralEM()`` if not given, unless the score is one
        for gaps. Without gaps it does nothing.
    require, forbid
        Arcs that the graph must have and must not have, as pairs (from, to).
    tiers
        Groups of variables from the earliest to the latest; no arc leads back to an earlier group.
    seconds
        Budget of time; the best graph so far is returned when it is used up. The default search
        uses it for up to 1,000 restarts in a row that find nothing better, unless it is exact.
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
    return _search(
        rows,
        score,
        search,
        gaps,
        wanted=wanted,
        seconds=seconds,
        seed=seed,
        progress=progress,
        memory_limit=memory_limit,
        logistic=logistic,
    )


def score(
    dag: DAG, rows: Rows | Engine, score: Score, *, memory_limit: float = MEMORY_LIMIT
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
    dag: DAG, rows: Rows | Engine, score: Score, *, memory_limit: float = MEMORY_LIMIT
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
    return family_scores(engine, dag, score, memory_limit=memory_limit)


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """What is asked of a search apart from the rows and the score."""

    search: Search | None
    is_patient: bool
    constraints: Constraints
    clock: Clock
    rng: np.random.Generator
    memory_limit: float
    logistic: bool

    @property
    def is_tree(self) -> bool:
        """Whether the search weighs edges within sources, whatever the score."""
        return bool(getattr(self.search, "within_sources", False))

    def found(self, task: Task) -> SearchResult:
        """The record of the search that was asked for, or of the default one."""
        search = self.search or default_search(task, is_patient=self.is_patient)
        return replace(found_by(search, task), searched_by=repr(search))

    def look(self, rows: Engine) -> Look:
        """The rows with the statistics of each variable alone."""
        return look_at(rows, self.constraints.names, self.memory_limit)

    def task(self, look: Look, score: Score) -> Task:
        """The task of a search on rows without gaps, or with a score that takes them."""
        return task_on(
            look,
            score,
            self.constraints,
            rng=self.rng,
            clock=self.clock,
            memory_limit=self.memory_limit,
            logistic=self.logistic,
        )


def _search(
    rows: Rows | Engine,
    score: Score | None,
    search: Search | None,
    gaps: StructuralEM | None,
    *,
    wanted: dict[str, Iterable[Any]],
    seconds: float | None,
    seed: Seed,
    progress: Progress | None,
    memory_limit: float,
    logistic: bool,
) -> SearchResult:
    engine = engine_of(rows)
    if score is not None:
        check_score("search", score, engine.schema.variables)
    if search is not None:
        _check_search(search)
    check_gaps(gaps)
    if seconds is not None:
        _check.positive("search", seconds=seconds)
    names = sorted(engine.schema.variables)
    source = engine.schema.source
    constraints = Constraints.of(names, source=None if source is None else source.name, **wanted)
    if getattr(search, "takes_constraints", True):
        constraints = without_arcs_into(constraints, columns_of_source(engine))
    if not logistic:
        is_continuous = np.array([engine.schema[name].is_continuous for name in names], bool)
        constraints = without_logistic(constraints, is_continuous)
    question = _Question(
        search,
        seconds is not None,
        constraints,
        Clock(seconds, progress),
        _check.generator(seed),
        memory_limit,
        logistic,
    )
    if is_dear(engine):
        engine = Passes(engine)
    look = question.look(engine)
    missing = columns_with_gaps(look.counts, look.strata)
    if not missing:
        chosen = default_score(engine) if score is None else score
        found = _over_all_rows(question, look, chosen)
    else:
        by_tests = getattr(search, "by_tests", False)
        method = method_for(engine, missing, score, gaps, logistic=logistic, by_tests=by_tests)
        found = _despite_gaps(question, look, method)
    n_passes = engine.n_passes if isinstance(engine, Passes) else 0
    return replace(found, notes=(*found.notes, *notes_on(engine, names)), passes=n_passes)


def _over_all_rows(question: _Question, look: Look, score: Score) -> SearchResult:
    before = question.rng.bit_generator.state
    try:
        task = question.task(look, score)
        found = question.found(task)
    except TooDearError as error:
        question.rng.bit_generator.state = before
        return _by_bound(question, look, score, error)
    n_rows = dict.fromkeys(found.dag.nodes, task.n_rows)
    ways = ways_of(look.rows, found.dag, score, look.strata, memory_limit=question.memory_limit)
    about = note_on_sources(look.rows, score, ways, is_tree=question.is_tree)
    notes = (*about, *found.notes)
    return replace(found, judged_by=repr(score), n_rows=n_rows, by_source=ways, notes=notes)


def _by_bound(question: _Question, look: Look, score: Score, error: TooDearError) -> SearchResult:
    """The record of a search that began anew, all families judged by a bound."""
    other = bounded(score)
    if other is None:
        raise error
    found = _over_all_rows(question, look, other)
    family: Family = error.culprits["family"]
    note = (
        f"The exact evidence of {family.child!r} given {_check.listed(family.parents)} would take "
        "too long, so all families were judged by its lower bound."
    )
    return replace(found, notes=(note, *found.notes))


def _despite_gaps(question: _Question, look: Look, method: Method) -> SearchResult:
    """The record of a search on rows with gaps, by the method that was chosen."""
    if method.completion is None:
        found = question.found(question.task(look, method.score))
        n_rows = rows_used(look.rows, found.dag, memory_limit=question.memory_limit)
    else:
        found = _completing(question, look, method.score, method.completion)
        n_rows = dict.fromkeys(found.dag.nodes, float(table_of(look.rows).total_weight))
    about = note_on_sources(look.rows, method.score, found.by_source, is_tree=question.is_tree)
    notes = (method.note(n_rows), *about, *found.notes)
    return replace(found, judged_by=method.judged_by, n_rows=n_rows, notes=notes)


def _completing(
    question: _Question, look: Look, score: Score, choice: StructuralEM
) -> SearchResult:
    """Structural EM; a search that has a start begins there, later at the current graph."""
    search: Any = question.search or HillClimb(restarts=RESTARTS)
    is_climb = bool(getattr(search, "has_start", False))
    start = search.start if is_climb and choice.start is None else choice.start

    def find(completed: Memory, dag: DAG) -> SearchResult:
        begun: Search = replace(search, start=dag) if is_climb else search
        return begun.search(question.task(question.look(completed), score))

    def of_complete_rows() -> SearchResult:
        return search.search(question.task(question.look(Memory(whole)), score))

    table = table_of(look.rows)
    whole = table.take(_is_complete(table))
    is_enough = whole.n_rows >= ENOUGH * table.n_rows and _can_vary(whole)
    found = structural_em(
        table,
        choice,
        score,
        first=FirstGraphs(
            start,
            lambda one: question.task(look, one),
            of_complete_rows if is_enough else None,
            getattr(search, "max_parents", None),
            is_discrete=not look.strata.names,
        ),
        find=find,
        keep_start=is_climb,
        clock=question.clock,
        rng=question.rng,
        memory_limit=question.memory_limit,
    )
    return replace(found, searched_by=repr(search))


def _is_complete(table: Table) -> Bools:
    """The rows without a gap."""
    is_complete = np.ones(table.n_rows, bool)
    for name, column in table.columns.items():
        is_complete &= ~np.isnan(column) if table.variables[name].is_continuous else column >= 0
    return is_complete


def _can_vary(table: Table) -> bool:
    """Whether a graph can be judged on these rows: no continuous column is constant in them."""
    columns = (table.columns[n] for n, v in table.variables.items() if v.is_continuous)
    return table.n_rows > 1 and all(column.min() < column.max() for column in columns)


def _check_search(search: object) -> None:
    if isinstance(search, type) or not hasattr(search, "search"):
        raise InputError(f"search must be a choice such as cs.HillClimb(), got {search!r}.")
