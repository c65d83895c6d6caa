r"""Clusters of sources: which of them have the same network, by evidence.

Between one network for all sources and one for each lies a partition of the sources, with a graph
and tables for each part. Its score is the sum of the scores of the parts, each of the best graph
that is found for the rows of its sources together,

.. math:: S(\{C_1, \dots, C_k\}) = \sum_c \max_G S(G \mid \text{rows of } C_c) .

With a score that is a log evidence, such as BDeu, differences of S are log Bayes factors (up to the
graphs, of which the best is taken): sources are put together where the rows that they share tell
more than what tells them apart. The search goes from single sources up, joining the pair of parts
that gains most or loses least; in the partitions of the way with at most ``most`` parts single
sources are moved to other parts while that gains. Each union of sources that is looked at takes a
search over graphs: about :math:`K^2` of them for K sources.

Reference: P. Lopez-Cruz, P. Larranaga, J. DeFelipe, C. Bielza (2014). Bayesian network modeling of
the consensus between experts: an application to neuron classification. International J. of
Approximate Reasoning 55(1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.discovery import search as search_graph
from consilience.errors import DataError
from consilience.graph.dag import DAG
from consilience.structure.scores.bayesian import BDeu
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.task import Progress, Search, SearchResult

__all__ = ["Clusters", "clusters"]

Part = frozenset[str]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clusters:
    """Sources that belong together, and what speaks for it.

    Parameters
    ----------
    members
        The sources of each cluster, the largest cluster first.
    graphs
        The graph of each cluster.
    scores
        The score of the best partition that was found, by number of clusters.
    margins
        For each source what the best other place would cost: another cluster, or one of its own. A
        small number says that it might belong there.
    score
        The words for the score.
    """

    members: tuple[tuple[str, ...], ...]
    graphs: tuple[DAG, ...]
    scores: Mapping[int, float]
    margins: Mapping[str, float]
    score: str

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def labels(self) -> dict[str, int]:
        """The number of the cluster of each source, from 0 on."""
        return {source: k for k, part in enumerate(self.members) for source in part}

    def graph_of(self, source: str) -> DAG:
        """The graph of the cluster that a source is in."""
        _check.known("source", [source], self.labels)
        return self.graphs[self.labels[source]]

    def rows_of(self, rows: Rows, cluster: int) -> Table:
        """The rows of one cluster, for a fit of its own: ``cs.fit(found.graphs[0], ...)``."""
        return _rows(as_table(rows), self.members[cluster])

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        lines = [f"{len(self.members)} clusters of {len(self.labels)} sources, by {self.score}"]
        for k, (part, graph) in enumerate(zip(self.members, self.graphs, strict=True)):
            lines.append(f"  {k}: {', '.join(part)}  ({len(graph.arcs)} arcs)")
        best = max(self.scores.values())
        tried = (f"{k}: {value - best:.1f}" for k, value in sorted(self.scores.items()))
        lines.append(f"score beside the best, by number of clusters: {', '.join(tried)}")
        return "\n".join(lines)


def clusters(
    rows: Rows,
    score: Score | None = None,
    *,
    most: int = 5,
    search: Search | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Clusters:
    """Which sources have the same network, by evidence; the number of clusters is chosen too.

    Parameters
    ----------
    rows
        A table of several sources without gaps.
    score
        What judges a graph on the rows of some sources; if not given, ``BDeu()``, and ``BIC()`` if
        a variable is continuous. Its values must be comparable between rows, as log evidence and
        BIC are.
    most
        The largest number of clusters.
    search
        How graphs are searched for, as in :func:`consilience.learn`.
    seed
        Of the search.
    progress
        Called now and then with None and a text.

    Raises
    ------
    DataError
        If there is one source only, or a value is missing.

    Examples
    --------
    Two of four sources have y equal to x, in the others it is the opposite:

    >>> import consilience as cs
    >>> x = list("ab") * 20
    >>> same, other = {"x": x, "y": x}, {"x": x, "y": list("ba") * 20}
    >>> table = cs.read({"rome": same, "oslo": other, "bonn": same, "riga": other})
    >>> found = cs.fusion.clusters(table)
    >>> found.members
    (('rome', 'bonn'), ('oslo', 'riga'))
    """
    table = as_table(rows)
    is_discrete = not any(one.is_continuous for one in table.variables.values())
    chosen = (BDeu() if is_discrete else BIC()) if score is None else score
    check_score("clusters", chosen)
    _check.whole("clusters", at_least=1, most=most)
    _check_rows(table)
    task = _Task(table, chosen, search, seed, progress, {})
    sources = [source for source in table.sources if len(task.places[source])]
    way = _upwards(task, [frozenset([source]) for source in sources])
    tried = {k: _moved(task, parts) for k, parts in way.items() if k <= most}
    scores = {k: task.total(parts) for k, parts in tried.items()}
    best = max(scores, key=lambda k: (scores[k], -k))
    parts = sorted(tried[best], key=lambda part: (-len(part), min(map(sources.index, part))))
    return Clusters(
        tuple(tuple(s for s in sources if s in part) for part in parts),
        tuple(task.found(part).dag for part in parts),
        scores,
        {source: _margin(task, parts, source) for source in sources},
        repr(chosen),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """The rows and what was found for unions of their sources, which are searched once."""

    table: Table
    score: Score
    search: Search | None
    seed: Seed
    progress: Progress | None
    cache: dict[Part, SearchResult]

    @property
    def places(self) -> Mapping[str, Sequence[int]]:
        codes = self.table.source_codes
        return {s: np.flatnonzero(codes == k).tolist() for k, s in enumerate(self.table.sources)}

    def found(self, part: Part) -> SearchResult:
        """The best graph of the rows of some sources."""
        if part not in self.cache:
            if self.progress is not None:
                self.progress(None, f"clusters: graph {len(self.cache) + 1}, {len(part)} sources")
            rows = _rows(self.table, part)
            self.cache[part] = search_graph(
                rows, score=self.score, search=self.search, seed=self.seed
            )
        return self.cache[part]

    def value(self, part: Part) -> float:
        return self.found(part).score if part else 0.0

    def total(self, parts: Sequence[Part]) -> float:
        return sum(map(self.value, parts))


def _upwards(task: _Task, parts: list[Part]) -> dict[int, list[Part]]:
    """The partition for each number of parts, joined pair by pair."""
    way = {len(parts): list(parts)}
    while len(parts) > 1:

        def gain(pair: tuple[Part, Part]) -> float:
            return task.value(pair[0] | pair[1]) - task.value(pair[0]) - task.value(pair[1])

        one, other = max(combinations(parts, 2), key=gain)
        parts = [part for part in parts if part not in (one, other)] + [one | other]
        way[len(parts)] = list(parts)
    return way


def _moved(task: _Task, parts: list[Part]) -> list[Part]:
    """The partition with single sources moved to other parts while that gains."""
    is_moving = True
    while is_moving and len(parts) > 1:
        is_moving = False
        for source in sorted(frozenset().union(*parts)):
            home = next(part for part in parts if source in part)
            if len(home) == 1:
                continue
            gains = {part: _change(task, home, part, source) for part in parts if part != home}
            to = max(gains, key=lambda part: gains[part])
            if gains[to] > 0:
                kept = [part for part in parts if part not in (home, to)]
                parts, is_moving = [*kept, home - {source}, to | {source}], True
    return parts


def _change(task: _Task, home: Part, to: Part, source: str) -> float:
    """What the score gains if a source moves from one part to another, which may be empty."""
    after = task.value(home - {source}) + task.value(to | {source})
    return after - task.value(home) - task.value(to)


def _margin(task: _Task, parts: Sequence[Part], source: str) -> float:
    home = next(part for part in parts if source in part)
    others: list[Part] = [part for part in parts if part != home]
    others += [frozenset()] * (len(home) > 1)
    return -max((_change(task, home, part, source) for part in others), default=-np.inf)


def _rows(table: Table, part: Part | Sequence[str]) -> Table:
    """The rows of some sources, as rows of one."""
    codes = [k for k, source in enumerate(table.sources) if source in part]
    own = np.zeros(table.n_rows, int) if table.source_codes is None else table.source_codes
    is_in = np.isin(own, codes)
    columns = {name: column[is_in] for name, column in table.columns.items()}
    weights = None if table.weights is None else table.weights[is_in]
    schema = type(table.schema)(table.schema.variables)
    return Table(schema, columns, None, weights, table.origins)


def _check_rows(table: Table) -> None:
    if len(table.sources) < 2:
        raise DataError(
            "clusters: the table has no sources to be put together; read it with source=, or as a "
            "mapping of one frame a source."
        )
    for name, column in table.columns.items():
        is_gap = np.isnan(column) if column.dtype == float else column < 0
        if is_gap.any():
            raise DataError(
                f"clusters: column {name!r} has {int(is_gap.sum())} missing values, and scores of "
                "rows that were completed cannot be compared. Give complete rows, or rows filled "
                "once: cs.impute(cs.fit(cs.learn(table), table), table, draws=1).tables[0].",
                column=name,
            )
