"""Each source with a graph of its own: learned from its rows, or the one it came with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.table import Table
from consilience.discovery import search as search_graph
from consilience.errors import DataError
from consilience.fusion.united_tables import complete_rows, recoded
from consilience.fusion.voters import Voter, arc_gains
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.network.network import Network
from consilience.structure.scores.score import Score
from consilience.structure.searches.task import Progress, Search

__all__ = ["Opened", "Task", "forbidden_arcs", "voters_of"]

Opened: TypeAlias = Table | Network | DAG
"""What a source can be, once files and frames are read."""


@dataclass(frozen=True, slots=True)
class Task:
    """How each source's graph is learned."""

    score: Score
    search: Search | None
    require: tuple[Arc, ...]
    forbid: tuple[Arc, ...]
    logistic: bool
    seed: Seed


def voters_of(
    opened: Mapping[str, Opened], task: Task, progress: Progress | None
) -> tuple[list[Voter], list[str]]:
    """Each source with its graph, and what to know about how it was learned."""
    voters, notes = [], []
    for k, (name, item) in enumerate(opened.items()):
        if isinstance(item, Table):
            voter, remarks = _learned(name, item, task)
            notes += remarks
        elif isinstance(item, Network):
            dag = item.dag if item.source is None else item.dag.without(item.source)
            voter = Voter(name, dag, network=item)
        else:
            voter = Voter(name, item)
        if voter.table is None and (task.require or task.forbid):
            notes.append("Graphs that were given are as they are: require and forbid change none.")
        if not voter.dag.nodes:
            raise DataError(f"fuse: source {name!r} has no variables.", source=name)
        voters.append(voter)
        if progress is not None:
            progress((k + 1) / len(opened), name)
    return voters, list(dict.fromkeys(notes))


def _learned(name: str, table: Table, task: Task) -> tuple[Voter, list[str]]:
    rows, still = _varying(table)
    whole = complete_rows(rows)
    has = set(rows.variables)
    try:
        found = search_graph(
            rows,
            score=task.score,
            search=task.search,
            require=[arc for arc in task.require if set(arc) <= has],
            forbid=[arc for arc in task.forbid if set(arc) <= has],
            logistic=task.logistic,
            seed=task.seed,
        )
    except DataError as problem:
        raise DataError(f"fuse: source {name!r}: {problem}", source=name) from problem
    can_tell = whole.n_rows > 0 and not _still(whole)
    gains = arc_gains(found.dag, whole, task.score) if can_tell else {}
    notes = []
    if whole.n_rows < table.n_rows:
        notes.append(
            f"Source {name!r}: {table.n_rows - whole.n_rows} of {table.n_rows} rows have gaps."
        )
    if still:
        notes.append(
            f"Source {name!r}: {_check.listed(still)} did not vary in its rows, so that it did not "
            "vote on arcs from and to it."
        )
    return Voter(name, found.dag, table, gains=gains), [*notes, *found.notes]


def _varying(rows: Table) -> tuple[Table, list[str]]:
    """The rows without numbers that are all the same, which tell nothing of arcs; their names."""
    still = _still(rows)
    kept = {name: one for name, one in rows.variables.items() if name not in still}
    return (recoded(rows, kept) if still else rows), still


def _still(rows: Table) -> list[str]:
    """Continuous columns that have one value only, or none."""
    numbers = [name for name, variable in rows.variables.items() if variable.is_continuous]
    values = {name: rows.column(name) for name in numbers}
    known = {name: column[~np.isnan(column)] for name, column in values.items()}
    return [name for name, column in known.items() if not len(column) or np.ptp(column) == 0]


def forbidden_arcs(voters: Sequence[Voter], task: Task) -> set[Arc]:
    """Arcs that a class of graphs must not vote for: no source could have found them."""
    kinds: dict[str, bool] = {}
    for voter in voters:
        rows_or_network = voter.network if voter.table is None else voter.table
        if rows_or_network is not None:
            kinds |= {name: v.is_continuous for name, v in rows_or_network.variables.items()}
    mixed = {(a, b) for a in kinds for b in kinds if kinds[a] != kinds[b]}
    if not task.logistic:  # logistic nodes differ between the graphs of a class, in both directions
        mixed = {(a, b) for a, b in mixed if kinds[a]}
    return {*task.forbid, *mixed}
