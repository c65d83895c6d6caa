"""The verb :func:`average`: check the input, choose the way, dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.belief_ways import Asked, Found, Way
from consilience.averaging.graph_belief import GraphBelief
from consilience.averaging.lattice_sums import OrderModular, UniformGraphs
from consilience.averaging.partition_mcmc import PartitionMCMC
from consilience.averaging.subsets import Subsets
from consilience.data.door import Rows
from consilience.errors import InputError, TooDearError
from consilience.graph.names import Arc
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of, held_rows
from consilience.statistics.request import Engine
from consilience.structure.scores.bayesian import BDeu
from consilience.structure.scores.bge import BGe
from consilience.structure.scores.score import Score, check_score
from consilience.structure.scores.source_scores import bounded
from consilience.structure.searches.constraints import Constraints, without_logistic
from consilience.structure.searches.task import Clock, Progress
from consilience.structure.source_ways import default_score, has_sources

__all__ = ["average"]


def average(
    rows: Rows | Engine,
    *,
    score: Score | None = None,
    by: Way | None = None,
    require: Iterable[Arc] = (),
    forbid: Iterable[Arc] = (),
    tiers: Iterable[Iterable[str]] = (),
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
    logistic: bool = False,
) -> GraphBelief:
    """What the rows say about all graphs: probabilities of arcs, and graphs that stand for all.

    Parameters
    ----------
    rows
        A table or an engine. Rows with gaps go with ``Bootstrap()``, which searches as
        :func:`learn` does; fill them otherwise (:func:`impute`).
    score
        Log evidence of a graph. If not given ``BDeu(ess=1)``, ``BGe()`` if all variables are
        continuous, ``BIC()``, which comes close to an evidence, if they are mixed or for a
        bootstrap; with several sources ``BySource(BIC())``. ``BHD()`` and ``PerSource(BDeu())``
        serve several sources as well, and ``MAP(score, prior)`` adds what is known of arcs.
    by
        The way: ``cs.averaging.Subsets()``, ``OrderMCMC()``, ``PartitionMCMC()`` or
        ``Bootstrap()``. If not given, exact sums under the uniform prior for at most 16 variables,
        by orders for at most 20, and partition MCMC for more.
    require, forbid, tiers
        Constraints on all graphs, as in :func:`learn`.
    progress
        Called now and then with the share done (None if unknown) and a text.
    memory_limit
        Bytes of the counts of one request, and of the scores that a walk keeps.
    logistic
        Whether continuous variables may be parents of discrete ones.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> belief = cs.average(rows)
    >>> round(belief.arcs.adjacency("x", "y"), 3), belief.averaged().arcs
    (1.0, (('x', 'y'),))
    >>> round(belief.query("x", given={"y": "a"})["a"], 3)
    0.988
    """
    engine = engine_of(rows)
    way = _default_way(engine) if by is None else by
    _check_way(way)
    chosen = _default_score(engine, way) if score is None else score
    check_score("average", chosen, engine.schema.variables)
    names = sorted(engine.schema.variables)
    if not names:
        raise InputError("average: the rows have no variables.", parameter="rows")
    source = engine.schema.source
    wanted: dict[str, Any] = {
        "require": list(require),
        "forbid": list(forbid),
        "tiers": tiers if isinstance(tiers, str) else list(tiers),
    }
    constraints = Constraints.of(names, source=None if source is None else source.name, **wanted)
    if not logistic:
        is_continuous = np.array([engine.schema[name].is_continuous for name in names], bool)
        constraints = without_logistic(constraints, is_continuous)
    clock = Clock(None, progress)
    asked = Asked(
        held_rows(engine), engine, chosen, constraints, wanted, clock, memory_limit, logistic
    )
    return _belief(asked, way, *_believed(asked, way))


def _believed(asked: Asked, way: Way) -> tuple[Found, Score]:
    """What the way finds, and by which score; a score that is too dear is replaced by a bound."""
    try:
        return way.believe(asked), asked.score
    except TooDearError:
        other = bounded(asked.score)
        if other is None:
            raise
        found = way.believe(replace(asked, score=other))
        note = "The exact evidence would take too long; families were judged by its lower bound."
        return replace(found, notes=(note, *found.notes)), other


def _belief(asked: Asked, way: Way, found: Found, score: Score) -> GraphBelief:
    nodes = tuple(asked.engine.schema.variables)
    return GraphBelief(
        ArcBeliefs(asked.constraints.names, found.arcs).in_order(nodes),
        found.graphs,
        asked.rows,
        score,
        f"{way!r}, {score!r}",
        found.threshold,
        found.log_evidence,
        found.chains,
        found.n_scored,
        asked.clock.seconds,
        found.notes,
    )


def _default_way(engine: Engine) -> Way:
    """The first way that takes no more than seconds."""
    p = len(engine.schema.variables)
    if p <= UniformGraphs.most_variables:
        return Subsets()
    if p <= OrderModular.most_variables:
        return Subsets(prior=OrderModular(), max_parents=6)
    return PartitionMCMC()


def _default_score(engine: Engine, way: Way) -> Score:
    kinds = {variable.is_continuous for variable in engine.schema.variables.values()}
    is_evidence = not getattr(way, "searches", False)
    if has_sources(engine) or len(kinds) > 1 or not is_evidence:
        return default_score(engine)
    return BGe() if kinds == {True} else BDeu(ess=1.0)


def _check_way(way: object) -> None:
    if isinstance(way, type) or not hasattr(way, "believe"):
        raise InputError(
            "average: by must be a choice such as cs.averaging.Subsets(), got " + f"{way!r}.",
            parameter="by",
        )
