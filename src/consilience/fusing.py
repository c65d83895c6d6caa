"""The verb :func:`fuse`: open what is given, learn each source's graph, vote, pool parameters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.door import as_table
from consilience.data.parts import source_name
from consilience.data.read import read
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError
from consilience.files.registry import FORMATS, load
from consilience.fusion.choosing import Order, StrongestFirst, choose
from consilience.fusion.fusion_record import Fusion
from consilience.fusion.parameters import Merged, Pool, Pooled, parameters_of
from consilience.fusion.pools import LinearPool
from consilience.fusion.source_graphs import Opened, Task, forbidden_arcs, voters_of
from consilience.fusion.source_weights import EqualWeights, Weighting, weights_of
from consilience.fusion.state_order import reordered
from consilience.fusion.thresholds import BestScore, Majority, Rule
from consilience.fusion.united_tables import (
    by_source,
    complete_rows,
    pooled_table,
    recoded,
    united_variables,
)
from consilience.fusion.voters import Voter
from consilience.fusion.votes import ArcVotes, Ballots, Votes, count_votes
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.network.network import Network
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.task import Progress, Search

__all__ = ["fuse"]

SOURCE = "source"


def fuse(
    sources: Any,
    *,
    score: Score | None = None,
    search: Search | None = None,
    votes: Ballots | None = None,
    weights: Weighting | Mapping[str, float] | None = None,
    threshold: float | Rule | None = None,
    order: Order | None = None,
    parameters: Merged | Pool | None = None,
    require: Iterable[Arc] = (),
    forbid: Iterable[Arc] = (),
    logistic: bool = False,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Fusion:
    """One network from the networks of many sources: a vote on arcs, and pooled parameters.

    Each source with rows learns its own graph; an arc enters the fused graph if enough sources have
    it and it closes no cycle; then the parameters are estimated along the fused graph.

    Sources may have different variables: the fused graph is over all of them, and a source that
    lacks a variable abstains from the votes on its arcs (:mod:`consilience.fusion.votes`), and so
    does one in which a continuous variable has the same value in all rows, with a note. A source
    whose rows have gaps learns its graph as :func:`consilience.learn` does; its strengths of arcs,
    which break ties, are those of its complete rows.

    Parameters
    ----------
    sources
        A table with several sources; or a dict by name, or a list, of tables, networks, DAGs, data
        frames, dicts of columns, or paths of ``.csv`` and ``.parquet`` tables and of model files.
        Frames and files of rows are read together, so that they agree about states.
    score, search
        How each source's graph is learned; hill climbing with BIC if not given. The score also
        gives the gains that break ties.
    votes
        ``ArcVotes()`` (if not given) counts arcs, ``ClassVotes()`` classes of equivalent graphs.
    weights
        How much each source counts in the vote and in opinion pools: ``EqualWeights()`` (if not
        given), ``RowWeights()``, ``StrengthWeights()``, ``HeldOutWeights()``, or a number for each
        source.
    threshold
        How many votes of all sources an arc needs, or how that is chosen: ``BestScore()`` (if not
        given, where all sources have rows of all variables) or ``Majority()`` (elsewhere).
    order
        In which order arcs enter: ``StrongestFirst()`` (if not given) or ``RowByRow()``; both can
        turn arcs round instead of dropping them.
    parameters
        ``Merged()`` (if not given, where all sources have rows), ``InverseVariance()``,
        ``PrecisionMatrices()``, ``LinearPool()`` (if not given, for networks),
        ``LogarithmicPool()`` or ``DemocraticPool()``.
    require, forbid
        Arcs that the graph of every source that has both variables must have and must not have.
    logistic
        Whether continuous variables may be parents of discrete ones.
    seed
        Of all that is random in the searches.
    progress
        Called after each source with the share done and a text.

    Returns
    -------
    Fusion
        Graph, network, votes, decisions and notes.

    Examples
    --------
    >>> import consilience as cs
    >>> dags = {"rome": "[a][b|a][c|b]", "oslo": "[a][b|a][c|a]", "bonn": "[a][b|a][c|b]"}
    >>> fused = fuse({name: cs.DAG.parse(text) for name, text in dags.items()})
    >>> fused.dag, fused.threshold
    (DAG.parse('[a][b|a][c|b]'), 2.0)
    >>> fused.votes["a", "c"], fused.votes.voters(("a", "c"))
    (1.0, ('oslo',))
    """
    score = BIC() if score is None else score
    check_score("fuse", score)
    task = Task(score, search, tuple(require), tuple(forbid), logistic, seed)
    opened, source = _opened(sources)
    _check_arcs(task, opened)
    voters, notes = voters_of(opened, task, progress)
    weighting = EqualWeights() if weights is None else weights
    shares = weights_of(weighting, voters)
    counted = count_votes(
        voters,
        ArcVotes()
        if votes is None
        else _choice("votes", votes, "ballot", "cs.fusion.ClassVotes()"),
        shares,
        by_strength=getattr(weighting, "by_strength", False),
        forbidden=forbidden_arcs(voters, task),
    )
    arranged = (
        StrongestFirst()
        if order is None
        else _choice("order", order, "arrange", "cs.fusion.StrongestFirst()")
    )
    level, rule, remarks = _threshold(threshold, counted, arranged, voters, source=source)
    dag, decisions = choose(counted, level, arranged)
    pooled = _parameters(parameters, dag, voters, shares, source=source)
    return Fusion(
        dag,
        None if pooled is None else pooled.network,
        counted,
        level,
        rule,
        decisions,
        {voter.name: voter.dag for voter in voters},
        shares,
        (*notes, *remarks, *(() if pooled is None else pooled.notes)),
        {} if pooled is None else pooled.heterogeneity,
    )


def _choice(name: str, choice: Any, method: str, example: str) -> Any:
    if isinstance(choice, type) or not hasattr(choice, method):
        raise InputError(
            f"fuse: {name} must be a choice such as {example}, got {choice!r}.", parameter=name
        )
    return choice


def _opened(sources: Any) -> tuple[dict[str, Opened], str]:
    """What each source gave, by name, in the same states; and the name of the source variable."""
    if isinstance(getattr(sources, "schema", None), Schema):  # a table, or rows that are scanned
        sources = as_table(sources)
        if len(sources.sources) < 2:
            raise DataError(
                "fuse: the table has no sources to fuse. Read it with source=..., or give a dict "
                "of tables."
            )
        return dict(by_source(sources)), str(sources.source)
    named = _named(sources)
    found = {name: item for name, item in named.items() if isinstance(item, Opened)}
    raw = {name: _path_or_rows(name, i) for name, i in named.items() if name not in found}
    found |= {name: item for name, item in raw.items() if isinstance(item, Network)}
    rows = {name: item for name, item in raw.items() if name not in found}
    if rows:
        found |= by_source(read(rows, source=SOURCE))
    return _in_one_schema({name: found[name] for name in named}), SOURCE


def _check_arcs(task: Task, opened: Mapping[str, Opened]) -> None:
    """Refuse required and forbidden arcs between variables that no source has."""
    known: dict[str, None] = {}
    for item in opened.values():
        known |= dict.fromkeys(item.nodes if isinstance(item, DAG) else item.variables)
    for arc in (*task.require, *task.forbid):
        _check.known("variable", arc, known)


def _named(sources: Any) -> dict[str, Any]:
    if isinstance(sources, Mapping):
        named = {source_name(name): item for name, item in sources.items()}
        if len(named) < len(sources):
            listed = _check.listed(map(source_name, sources))
            raise InputError(f"fuse: two sources have the same name as text: {listed}.")
    elif isinstance(sources, Sequence) and not isinstance(sources, str):
        names = [_stem(item) or f"source {i + 1}" for i, item in enumerate(sources)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"fuse: two sources would be named {twice!r}. Give a dict with a name for each.",
                source=twice,
            )
        named = dict(zip(names, sources, strict=True))
    else:
        raise InputError(
            "fuse: sources must be a table with sources, or a dict or list of tables, networks, "
            f"DAGs or paths; got a {type(sources).__name__}.",
            parameter="sources",
        )
    if len(named) < 2:
        raise InputError(f"fuse: at least two sources are needed, got {len(named)}.")
    return named


def _stem(item: Any) -> str | None:
    """The name of a file without its extensions."""
    if not isinstance(item, str | os.PathLike):
        return None
    name = Path(item).name.removesuffix(".gz")
    return Path(name).stem


def _path_or_rows(name: str, item: Any) -> Any:
    """A network from a model file; anything else is for :func:`read`."""
    if isinstance(item, str | os.PathLike):
        suffix = Path(Path(item).name.lower().removesuffix(".gz")).suffix
        return load(item) if suffix in FORMATS else item
    is_rows = isinstance(item, Mapping) or not isinstance(item, Sequence | int | float)
    if not is_rows or item is None:
        raise InputError(
            f"fuse: source {name!r} must be a table, a network, a DAG, a data frame or a path; got "
            f"a {type(item).__name__}. One table of columns is read by cs.read(..., source=...).",
            source=name,
        )
    return item


def _in_one_schema(found: Mapping[str, Opened]) -> dict[str, Opened]:
    """Tables in the states that all sources together have; networks must have them already."""
    for name, item in found.items():
        if isinstance(item, Table) and item.source is not None:
            raise InputError(
                f"fuse: the table of source {name!r} has sources of its own. Give such a table "
                "alone.",
                source=name,
            )
    variables = united_variables(
        {name: _variables(item) for name, item in found.items() if not isinstance(item, DAG)}
    )
    return {name: _recoded(name, item, variables) for name, item in found.items()}


def _variables(item: Table | Network) -> dict[str, Variable]:
    source = None if isinstance(item, Table) else item.source
    return {name: v for name, v in item.variables.items() if name != source}


def _recoded(name: str, item: Opened, variables: Mapping[str, Variable]) -> Opened:
    if isinstance(item, Table):
        with_values = by_source(pooled_table({name: item}))[name]
        return recoded(with_values, {n: variables[n] for n in with_values.variables})
    if isinstance(item, Network):
        for node, variable in _variables(item).items():
            if set(variable.states or ()) != set(variables[node].states or ()):
                raise DataError(
                    f"fuse: the network of source {name!r} has the states "
                    f"{_check.listed(variable.discrete_states)} of {node!r}, but all sources "
                    f"together have {_check.listed(variables[node].discrete_states)}. Networks "
                    "must agree about states: fit them to tables read with states=.",
                    source=name,
                    variable=node,
                )
        return reordered(item, {node: variables[node] for node in _variables(item)})
    return item


def _threshold(
    threshold: float | Rule | None,
    votes: Votes,
    order: Order,
    voters: Sequence[Voter],
    *,
    source: str,
) -> tuple[float, str, list[str]]:
    """The threshold, how it was chosen in words, and notes about that."""
    n_sources = len(voters)
    if isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool):
        if not 0 < threshold <= n_sources:
            raise InputError(
                f"fuse: threshold must be above 0 and at most {n_sources}, the number of sources; "
                f"got {threshold!r}.",
                parameter="threshold",
            )
        return float(threshold), "given", []
    rows, why_not = _rows_to_score(voters, source)
    notes = []
    if threshold is None:
        threshold = Majority() if rows is None else BestScore()
        if rows is None and why_not:
            notes.append(f"The threshold is that of a majority, since {why_not}.")
    rule = _choice("threshold", threshold, "threshold", "cs.fusion.Majority(), or a number")
    level = rule.threshold(votes, lambda at: choose(votes, at, order)[0], rows)
    return level, repr(rule), notes


def _rows_to_score(voters: Sequence[Voter], source: str) -> tuple[Table | None, str]:
    """Complete rows of all sources together; None and why not if there are none to compare on."""
    tables = {voter.name: voter.table for voter in voters if voter.table is not None}
    if len(tables) < len(voters):
        return None, "" if not tables else "not all sources have rows"
    names = [set(voter.dag.nodes) for voter in voters]
    if any(each != names[0] for each in names):
        return None, "the sources have different variables, so graphs cannot be scored on all rows"
    return complete_rows(pooled_table(tables, source)), ""


def _parameters(
    choice: Merged | Pool | None,
    dag: DAG,
    voters: Sequence[Voter],
    weights: Mapping[str, float],
    *,
    source: str,
) -> Pooled | None:
    bare = [voter.name for voter in voters if voter.table is None and voter.network is None]
    if bare:
        if choice is not None:
            raise InputError(
                f"fuse: source {bare[0]!r} is a graph without parameters, so there is nothing to "
                "pool. Leave parameters= out.",
                parameter="parameters",
                source=bare[0],
            )
        return None
    if choice is None:
        has_rows = all(voter.table is not None for voter in voters)
        choice = Merged() if has_rows else LinearPool()
    elif not isinstance(choice, Merged):
        _choice("parameters", choice, "pool", "cs.fusion.Merged() or cs.fusion.LinearPool()")
    return parameters_of(choice, dag, voters, weights, source=source)
