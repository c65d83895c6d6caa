"""The verbs :func:`learn`, :func:`search`, :func:`score` and :func:`choose_order` of panels.

The lagged table of a panel is an ordinary table, so every score, search and constraint serves.
Arcs lead into nodes of the current slice only: lagged nodes and inputs are roots, and what they
score by themselves, which is the same for every graph, is left out. Orders are compared on the
same rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from consilience import _check, _freeze
from consilience._typing import Seed
from consilience.data.table import Table
from consilience.discovery import search as search_table
from consilience.dynamic.graphs_in_time import check_graph, order_of, vector_autoregression
from consilience.dynamic.lagged_names import lagged, split_lag
from consilience.dynamic.lagged_rows import lagged_table, windows
from consilience.dynamic.panel import Panel
from consilience.dynamic.segment_score import in_time
from consilience.errors import DataError, InputError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.incomplete.structural_em import StructuralEM
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine
from consilience.structure.family_scores import family_scores
from consilience.structure.scores.likelihood import AIC, BIC, EBIC, LogLikelihood
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.default_search import MOST_VARIABLES
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.task import Progress, Search, SearchResult
from consilience.structure.source_ways import default_score

__all__ = ["OrderChoice", "choose_order", "learn", "score", "search"]


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """Orders compared on the same rows.

    Attributes
    ----------
    order
        The order of the best score.
    scores
        The score of the transition for each order.
    n_rows
        Rows that all were judged on: those with as many steps before them as the largest order.
    graphs
        The graph that was judged for each order.
    """

    order: int
    scores: Mapping[int, float]
    n_rows: int
    graphs: Mapping[int, DAG]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


class _Found(NamedTuple):
    """What a search over a lagged table found, with what it was asked on."""

    story: SearchResult
    table: Table
    engine: Engine
    score: Score | None


def learn(
    panel: Panel,
    order: int = 1,
    *,
    instantaneous: bool = True,
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
    """The graph of the transition that fits the panel best, as far as the search can tell.

    Takes the arguments of :func:`search`, which returns the whole story.

    Examples
    --------
    >>> import consilience as cs
    >>> panel = cs.dynamic.read_panel({"x": list("aabb") * 20, "y": list("abba") * 20})
    >>> cs.dynamic.learn(panel, instantaneous=False).arcs  # each is what the other was
    (('y(t-1)', 'x'), ('x(t-1)', 'y'))
    """
    found = _search(
        panel,
        order,
        instantaneous,
        score,
        search=search,
        gaps=gaps,
        wanted=(require, forbid, tiers),
        seconds=seconds,
        seed=seed,
        progress=progress,
        memory_limit=memory_limit,
        logistic=logistic,
    )
    return _pruned(found.story.dag)


def search(
    panel: Panel,
    order: int = 1,
    *,
    instantaneous: bool = True,
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
    """The record of a search for the graph of the transition.

    Parameters
    ----------
    panel
        The sequences; rows with gaps are used as in :func:`consilience.search`, row by row of the
        lagged table.
    order
        How many steps back parents may lie.
    instantaneous
        Whether arcs may stay inside the slice.
    score, search, gaps, seconds, seed, progress, memory_limit, logistic
        As in :func:`consilience.search`, but that many columns are searched by ``HillClimb()`` if
        nothing else is chosen. The score of the record is that of the transition: lagged
        nodes and inputs count nothing.
    require, forbid
        Arcs such as ``("x(t-1)", "y")`` that the graph must have and must not have.
    tiers
        Groups of variables from the earliest to the latest, for arcs inside the slice.
    """
    found = _search(
        panel,
        order,
        instantaneous,
        score,
        search=search,
        gaps=gaps,
        wanted=(require, forbid, tiers),
        seconds=seconds,
        seed=seed,
        progress=progress,
        memory_limit=memory_limit,
        logistic=logistic,
    )
    return _of_transition(found, panel.inputs, memory_limit=memory_limit)


def score(dag: DAG, panel: Panel, score: Score, *, memory_limit: float = MEMORY_LIMIT) -> float:
    """Score of the transition of a graph: the sum over the families of the current slice.

    Examples
    --------
    >>> import consilience as cs
    >>> panel = cs.dynamic.read_panel({"x": ["a", "a", "b", "b", "a"]})
    >>> round(cs.dynamic.score(cs.DAG(nodes=["x"]), panel, cs.BIC()), 6)  # 4 log(1/2) - log(4)/2
    -3.465736
    """
    _refuse_no_panel(panel)
    if not isinstance(dag, DAG):
        raise InputError(f"dag must be a DAG, got a {type(dag).__name__}.")
    check_score("score", score, panel.rows.variables)
    check_graph(dag)
    order = order_of(dag)
    table = lagged_table(panel, order)
    _check.known("variable", dag.nodes, table.variables)
    judge = in_time(score, panel, table, order, memory_limit=memory_limit)
    return _transition_score(table, dag, judge, panel.inputs, memory_limit=memory_limit)


def choose_order(
    panel: Panel,
    orders: Iterable[int],
    *,
    score: Score | None = None,
    search: Search | None = None,
    instantaneous: bool = True,
    seed: Seed = 0,
    memory_limit: float = MEMORY_LIMIT,
) -> OrderChoice:
    """The order whose transition scores best, all orders judged on the same rows.

    If all variables are continuous, the graphs are full vector autoregressions; otherwise the best
    graph of each order is searched for. Scores of continuous nodes are of the likelihood at its
    maximum, with variances over the number of rows.

    Examples
    --------
    >>> import consilience as cs
    >>> panel = cs.dynamic.read_panel({"x": list("aabb") * 20})  # the last but one decides
    >>> cs.dynamic.choose_order(panel, [1, 2, 3]).order
    2
    """
    _refuse_no_panel(panel)
    tried = sorted({*orders})
    if not tried:
        raise InputError("choose_order: give at least one order.", parameter="orders")
    for order in tried:
        _check.whole("choose_order", at_least=1, order=order)
    largest = tried[-1]
    wide = windows(panel, largest, largest)
    if not wide.n_rows:
        raise DataError(
            f"choose_order: no sequence has {largest + 1} steps. Lower the largest order.",
            order=largest,
        )
    judge = BIC() if score is None else score
    check_score("choose_order", judge, panel.rows.variables)
    judge = in_time(judge, panel, wide, largest, memory_limit=memory_limit)
    names = [name for name in panel.rows.variables if name not in panel.inputs]
    is_linear = all(panel.rows.variables[name].is_continuous for name in names)
    graphs: dict[int, DAG] = {}
    scores: dict[int, float] = {}
    for order in tried:
        if is_linear and not panel.inputs:
            graphs[order] = vector_autoregression(names, order)
        else:
            graphs[order] = _found(
                panel,
                wide,
                order,
                instantaneous,
                judge=judge,
                search=search,
                seed=seed,
                memory_limit=memory_limit,
            )
        scores[order] = _transition_score(
            wide, graphs[order], judge, panel.inputs, memory_limit=memory_limit
        )
        if is_linear and isinstance(judge, LogLikelihood | BIC | AIC | EBIC):
            scores[order] += _at_the_maximum(graphs[order], names, float(wide.total_weight))
    best = max(tried, key=lambda order: scores[order])
    return OrderChoice(best, scores, wide.n_rows, graphs)


def _at_the_maximum(dag: DAG, names: Sequence[str], n: float) -> float:
    """What the likelihood gains if variances are over n, as at its maximum, and not over n - p.

    A graph of one order is judged the same by both; between orders, whose numbers of coefficients
    differ, the maximum is what penalties are meant for.
    """
    sizes = [1 + len(dag.parents(name)) for name in names]
    return sum(0.5 * n * math.log(n / (n - p)) - 0.5 * p for p in sizes)


def _found(
    panel: Panel,
    wide: Table,
    order: int,
    instantaneous: bool,
    *,
    judge: Score,
    search: Search | None,
    seed: Seed,
    memory_limit: float,
) -> DAG:
    names = [lagged(n, lag) for lag in range(order + 1) for n in panel.rows.variables]
    table = wide.select(names)
    forbidden = _forbidden(panel, order, instantaneous=instantaneous)
    found = search_table(
        table,
        score=judge,
        search=_chosen(search, table, None),
        forbid=forbidden,
        seed=seed,
        memory_limit=memory_limit,
    )
    return _pruned(found.dag)


def _chosen(search: Search | None, table: Table, seconds: float | None) -> Search | None:
    """The search of a lagged table. Its past is given, so restarts cost little: they are worth
    their while, unless there are so few columns that the best graph of all may be found.
    """
    if search is None and seconds is None and len(table.variables) > MOST_VARIABLES:
        return HillClimb()
    return search


def _refuse_no_panel(panel: object) -> None:
    if not isinstance(panel, Panel):
        raise InputError(
            f"a Panel is wanted, got a {type(panel).__name__}; cs.dynamic.read_panel(...) makes "
            "one.",
            parameter="panel",
        )


def _search(
    panel: Panel,
    order: int,
    instantaneous: bool,
    score: Score | None,
    *,
    search: Search | None,
    gaps: StructuralEM | None,
    wanted: tuple[Iterable[Arc], Iterable[Arc], Iterable[Iterable[str]]],
    seconds: float | None,
    seed: Seed,
    progress: Progress | None,
    memory_limit: float,
    logistic: bool,
) -> _Found:
    _refuse_no_panel(panel)
    _check.whole("search", at_least=1, order=order)
    require = list(wanted[0])
    check_graph(DAG(require), order=order)
    table = lagged_table(panel, order)
    if not table.n_rows:
        raise DataError(
            f"no sequence has {order + 1} steps, so an order of {order} cannot be learned. Lower "
            "the order.",
            order=order,
        )
    forbidden = {*map(tuple, wanted[1]), *_forbidden(panel, order, instantaneous=instantaneous)}
    forbidden |= _across(wanted[2], table)
    for arc in require:
        if tuple(arc) in forbidden:
            raise InputError(
                f"the arc {arc[0]!r} -> {arc[1]!r} is required, and not allowed: it stays inside "
                "the slice, leads into an input, or is forbidden.",
                arc=arc,
            )
    score = in_time(score, panel, table, order, memory_limit=memory_limit)
    engine = engine_of(table)
    found = search_table(
        engine,
        score=score,
        search=_chosen(search, table, seconds),
        gaps=gaps,
        require=require,
        forbid=sorted(forbidden),  # type: ignore[arg-type]
        seconds=seconds,
        seed=seed,
        progress=progress,
        memory_limit=memory_limit,
        logistic=logistic,
    )
    return _Found(found, table, engine, score)


def _forbidden(panel: Panel, order: int, *, instantaneous: bool) -> set[tuple[str, str]]:
    """Arcs into the past and into inputs, and inside the slice if they are not wanted."""
    names = list(panel.rows.variables)
    every = [lagged(name, lag) for lag in range(order + 1) for name in names]
    roots = [node for node in every if split_lag(node)[1] or node in panel.inputs]
    found = {(start, end) for start, end in product(every, roots) if start != end}
    if not instantaneous:
        inner = [name for name in names if name not in panel.inputs]
        found |= {(start, end) for start, end in product(inner, inner) if start != end}
    return found


def _across(tiers: Iterable[Iterable[str]], table: Table) -> set[tuple[str, str]]:
    """Arcs inside the slice that lead back to an earlier group."""
    groups = [list(group) for group in tiers]
    for group in groups:
        _check.known("variable", group, table.variables)
    return {
        (start, end)
        for late, group in enumerate(groups)
        for early in groups[:late]
        for start, end in product(group, early)
    }


def _pruned(dag: DAG) -> DAG:
    """The graph without lagged nodes that are nobody's parents."""
    used = {start for start, _ in dag.arcs}
    nodes = [node for node in dag.nodes if not split_lag(node)[1] or node in used]
    current = [node for node in nodes if not split_lag(node)[1]]
    return DAG(dag.arcs, nodes=[*current, *(node for node in nodes if split_lag(node)[1])])


def _transition_score(
    table: Table, dag: DAG, score: Score, inputs: Sequence[str], *, memory_limit: float
) -> float:
    engine = engine_of(table)
    found = family_scores(engine, dag, score, memory_limit=memory_limit)
    return float(
        sum(one for node, one in found.items() if not split_lag(node)[1] and node not in inputs)
    )


def _of_transition(found: _Found, inputs: Sequence[str], *, memory_limit: float) -> SearchResult:
    """The record with lagged nodes and inputs taken out of graph and score."""
    story, table, engine, score = found
    dag = _pruned(story.dag)
    judge = default_score(engine) if score is None else score
    roots = [node for node in story.dag.nodes if split_lag(node)[1] or node in inputs]
    by_roots = 0.0
    if roots and not _has_gaps(table):
        scored = family_scores(engine, DAG(nodes=roots), judge, memory_limit=memory_limit)
        by_roots = float(sum(scored.values()))
    kept = [node for node in story.n_rows if not split_lag(node)[1]]
    return replace(
        story,
        dag=dag,
        cpdag=CPDAG.of(dag),
        score=story.score - by_roots,
        n_rows={node: story.n_rows[node] for node in kept},
        by_source={n: way for n, way in story.by_source.items() if not split_lag(n)[1]},
    )


def _has_gaps(table: Table) -> bool:
    return any(
        bool((column != column).any() if column.dtype == float else (column < 0).any())
        for column in table.columns.values()
    )
