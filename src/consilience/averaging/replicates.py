r"""Beliefs about graphs from replicates of the rows: how often a search finds each arc again.

The strength of a pair is the share of replicates whose graph joins it; a pair that the class of the
graph leaves without direction counts half for each. Which pairs are to be believed is read off the
strengths themselves: with their empirical distribution :math:`\hat F` over all pairs, an ideal one
would have a share :math:`t` of pairs at 0 and the rest at 1. The :math:`t` closest to it,

.. math:: \hat t = \arg\min_t \int_0^1 \bigl| \hat F(x) - t \bigr|\, dx ,

gives the threshold :math:`\hat F^{-1}(\hat t)`. The integral is least at the median of
:math:`\hat F(x)` for x between 0 and 1, which is :math:`\hat F(1/2)`: the threshold is the largest
strength of at most one half.

References
----------
N. Friedman, M. Goldszmidt, A. Wyner (1999). Data analysis with Bayesian networks: a bootstrap
approach. Proceedings of UAI 15.
M. Scutari, R. Nagarajan (2013). Identifying significant edges in graphical models of molecular
networks. Artificial Intelligence in Medicine 57.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Bools, Floats, Seed
from consilience.averaging.belief_ways import Asked, Found
from consilience.averaging.graph_belief import WeightedGraph
from consilience.data.table import Table
from consilience.discovery import search
from consilience.errors import InputError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.task import Search

__all__ = ["Bootstrap", "data_driven_threshold"]


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The graphs that a search finds on rows drawn again, with replacement.

    Rows with gaps are dealt with as :func:`consilience.search` does. It is no posterior: strengths
    say how stable a search is.

    Parameters
    ----------
    replicates
        How many times rows are drawn and a graph is searched for.
    within_sources
        Whether each source keeps its number of rows; otherwise rows are drawn from all.
    search
        How graphs are looked for; the default of :func:`consilience.learn` if not given.
    seed
        Of the rows drawn and of the searches.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> belief = cs.average(rows, by=cs.averaging.Bootstrap(replicates=20, seed=1))
    >>> belief.arcs.adjacency("x", "y"), belief.averaged().arcs
    (1.0, (('x', 'y'),))
    """

    replicates: int = 200
    within_sources: bool = True
    search: Search | None = None
    seed: Seed = 0
    searches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.whole("Bootstrap", at_least=1, replicates=self.replicates)
        if self.search is not None and not hasattr(self.search, "search"):
            raise InputError(
                f"Bootstrap: search must be a choice such as cs.HillClimb(), got {self.search!r}.",
                parameter="search",
            )

    def believe(self, asked: Asked) -> Found:
        """Strengths of arcs, and the graphs found."""
        table = asked.rows
        if not isinstance(table, Table):
            raise InputError(
                f"Bootstrap: rows must be a Table to be drawn again, got a {type(table).__name__}.",
                parameter="rows",
            )
        names = asked.constraints.names
        place = {name: i for i, name in enumerate(names)}
        strengths, found, n_scored = np.zeros((len(names), len(names))), Counter[DAG](), 0
        for k, rng in enumerate(_check.generator(self.seed).spawn(self.replicates)):
            result = search(
                self._drawn(table, rng),
                score=asked.score,
                search=self.search,
                seed=rng,
                memory_limit=asked.memory_limit,
                logistic=asked.logistic,
                **asked.wanted,
            )
            found[result.dag] += 1
            n_scored += result.n_scored
            _add_strengths(strengths, result.dag, asked.constraints.allowed, place)
            beat(asked.clock, k / self.replicates, lambda: "replicates")
        strengths /= self.replicates
        ordered = sorted(found.items(), key=lambda one: (-one[1], one[0].arcs))
        return Found(
            strengths,
            tuple(WeightedGraph(dag, n / self.replicates) for dag, n in ordered),
            threshold=data_driven_threshold(strengths + strengths.T),
            n_scored=n_scored,
            notes=(f"Strengths from {self.replicates} replicates; they are no probabilities.",),
        )

    def _drawn(self, table: Table, rng: np.random.Generator) -> Table:
        """As many rows as there are, drawn again; one drawn twice has the weight two."""
        weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
        codes = table.source_codes
        if not self.within_sources or codes is None:
            codes = np.zeros(table.n_rows, np.int32)
        times = np.zeros(table.n_rows, np.int64)
        for f in np.unique(codes[weights > 0]):
            mine = codes == f
            total = weights[mine].sum()
            times[mine] = rng.multinomial(max(1, round(total)), weights[mine] / total)
        drawn = times > 0
        return replace(table.take(drawn), weights=times[drawn])


def data_driven_threshold(adjacencies: Floats) -> float:
    """Strength above which pairs are to be believed (Scutari and Nagarajan 2013).

    Parameters
    ----------
    adjacencies
        Strength of each pair, a symmetric matrix.

    Examples
    --------
    >>> strengths = np.zeros((3, 3))
    >>> strengths[0, 1], strengths[0, 2], strengths[1, 2] = 0.9, 0.2, 0.1
    >>> data_driven_threshold(strengths + strengths.T)
    0.2
    """
    pairs = adjacencies[np.triu_indices(len(adjacencies), 1)]
    return float(pairs[pairs <= 0.5].max(initial=0.0))


def _add_strengths(strengths: Floats, dag: DAG, allowed: Bools, place: dict[str, int]) -> None:
    """One for each directed arc of the class; half for each direction of the others."""
    graph = CPDAG.of(dag)
    undirected = {frozenset(edge) for edge in graph.undirected}
    for start, end in dag.arcs:
        i, j = place[start], place[end]
        is_either = frozenset((start, end)) in undirected and allowed[j, i]
        strengths[i, j] += 0.5 if is_either else 1.0
        strengths[j, i] += 0.5 if is_either else 0.0
