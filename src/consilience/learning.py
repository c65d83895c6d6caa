r"""The verb :func:`fit`: check the input, choose, dispatch.

A table of several sources gives a network in which the source F is a node, a root. Estimators that
keep the sources apart make it the first parent of every node; the others leave it alone, so that
evidence on it is always legal. A DAG that names F itself decides: exactly its children depend on
it, and nothing does if it has none. The distribution of F is the share of the rows,
:math:`P(F = f) = N_f / N`; hierarchical estimators add the reserved state ``new_source`` with
:math:`P(F = f) = N_f / (N + 1)`. What is left, :math:`1 / (N + 1)`, goes in equal parts to
``new_source`` and to the sources without rows, so that evidence on those is possible too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience import _check
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.distributions.categorical import Categorical
from consilience.errors import DataError, GraphError, InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator
from consilience.parameters.hierarchical import HDMCS, HierarchicalPosterior
from consilience.parameters.hierarchy import Hierarchy
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import (
    Adaptive,
    check_estimator,
    evidence_of_pooling,
    tied_sources,
)
from consilience.parameters.sources import source_shares, with_new_source
from consilience.parameters.stacked import StackedPosterior
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine

__all__ = ["fit"]


def fit(
    dag: DAG,
    rows: Table | Engine,
    estimator: Estimator | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> Network:
    """The network with this graph whose tables are estimated from the rows.

    A row counts for a family if no variable of the family is missing in it; the record says how
    many rows each family used and how many it could not, and how many parent states no row shows
    (in each source, where the sources are kept apart).

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table, and the source if the graph is to say what
        depends on it.
    rows
        A table or an engine.
    estimator
        How counts become tables; by default ``Dirichlet(ess=1)`` for one source and
        ``HDMCS(s=PerState(1))`` for several.
    memory_limit
        Bytes of all counts; more are refused before they are allocated. Tables and posteriors come
        on top, a few times as much.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"smoke": ["yes", "yes", "no", "no"], "cough": ["yes", "no", "no", "no"]})
    >>> net = cs.fit(cs.DAG([("smoke", "cough")]), table, cs.MLE())
    >>> net["cough"].table.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    engine = engine_of(rows)
    schema = engine.schema
    _check_graph(dag, schema)
    if estimator is None:
        estimator = HDMCS() if _n_sources(schema) > 1 else Dirichlet()
    check_estimator(estimator)
    counts = _count(engine, dag, estimator, memory_limit)
    if not counts or counts[0].n_rows.sum() == 0:
        raise DataError("a network cannot be fitted to a table without rows.")
    local = estimator.estimate(counts)
    root = _source_root(engine, dag, estimator)
    return Network.of(
        [*root, *local],
        source=root[0].child.name if root else None,
        record=_record(estimator, counts, local),
    )


def _n_sources(schema: Schema) -> int:
    return 0 if schema.source is None else schema.source.n_states


def _count(engine: Engine, dag: DAG, estimator: Estimator, memory_limit: float) -> list[Counts]:
    """Counts of all nodes but the source, in order; by source for the families that differ by
    it.
    """
    source = "" if engine.schema.source is None else engine.schema.source.name
    nodes = [node for node in dag.nodes if node != source]
    keeps_apart = getattr(estimator, "by_source", False) and source != ""
    dependent = set(dag.children(source) if source in dag.nodes else nodes)
    apart = [node for node in nodes if keeps_apart and node in dependent]
    families = {
        node: Family(
            node, tuple(p for p in dag.parents(node) if not (node in apart and p == source))
        )
        for node in nodes
    }
    together = [node for node in nodes if node not in apart]
    counted = [
        *count(engine, [families[n] for n in apart], by_source=True, memory_limit=memory_limit),
        *count(engine, [families[n] for n in together], memory_limit=memory_limit),
    ]
    found = {counts.child.name: counts for counts in counted}
    return [found[node] for node in nodes]


def _source_root(engine: Engine, dag: DAG, estimator: Estimator) -> list[Categorical]:
    """The distribution of the source node, if the network has one."""
    source = engine.schema.source
    is_named = source is not None and source.name in dag.nodes
    adds_new = getattr(estimator, "adds_new_source", False)
    keeps_apart = getattr(estimator, "by_source", False)
    if source is None or not (source.n_states > 1 or adds_new or is_named or keeps_apart):
        return []
    [counts] = count(engine, [Family(source.name)])
    is_plain_parent = is_named and bool(dag.children(source.name)) and not keeps_apart
    if adds_new and not is_plain_parent:
        return [source_shares(with_new_source(source), counts.values[0, 0])]
    return MLE().estimate([counts])


def _check_graph(dag: DAG, schema: Schema) -> None:
    if not isinstance(dag, DAG):
        raise InputError(
            f"dag must be a DAG, got a {type(dag).__name__}. A model string is read by "
            "cs.DAG.parse(...)."
        )
    for node in dag.nodes:
        if node not in schema:
            _check.unknown("variable", node, schema.variables)
    source = "" if schema.source is None else schema.source.name
    if source in dag.nodes and dag.parents(source):
        raise GraphError(
            f"the source {source!r} must have no parents, but the graph has the arc "
            f"{dag.parents(source)[0]!r} -> {source!r}.",
            arc=(dag.parents(source)[0], source),
        )


def _record(estimator: Estimator, counts: Sequence[Counts], local: Sequence[Categorical]) -> Record:
    incomplete = {c.child.name: float(c.n_incomplete.sum()) for c in counts}
    posteriors = {one.child.name: one.posterior for one in local}
    tied = {
        c.child.name: tied_sources(c, estimator, posteriors[c.child.name])
        for c in counts
        if len(c.sources) > 1
    }
    notes = []
    if any(incomplete.values()):
        notes.append(
            "Rows with a gap were left out family by family (available cases); that is sound only "
            "if values are missing completely at random."
        )
    rough = [
        name
        for name, posterior in posteriors.items()
        if isinstance(posterior, HierarchicalPosterior | StackedPosterior)
        and not posterior.is_exact
    ]
    if rough:
        notes.append(
            "Solved by collapsed variational Bayes, not exactly, because their counts are "
            f"fractional or too large: {_check.listed(rough)}."
        )
    return Record(
        method=repr(estimator),
        n_rows={c.child.name: float(c.n_complete.sum()) for c in counts},
        n_incomplete=incomplete,
        unidentified={c.child.name: _n_unseen(c) for c in counts},
        pooling={name: evidence_of_pooling(hierarchy) for name, hierarchy in tied.items()},
        notes=(*notes, *_note_on_evidence(estimator, tied)),
    )


def _note_on_evidence(estimator: Estimator, tied: Mapping[str, Hierarchy]) -> list[str]:
    """What to know about the evidence of pooling where it is not exact."""
    bounded = [name for name, hierarchy in tied.items() if not all(hierarchy.is_exact)]
    if not bounded:
        return []
    use = ", and so do the weights of the tables" if isinstance(estimator, Adaptive) else ""
    return [
        "The evidence of pooling compares a variational lower bound for tied sources with exact "
        f"numbers for pooled and separate ones{use}, because counts are fractional or too large: "
        f"{_check.listed(bounded)}."
    ]


def _n_unseen(counts: Counts) -> int:
    """Parent states that no row shows, in each source if the counts are by source."""
    n_seen = int((counts.table.sum(axis=2) > 0).sum())
    return counts.table.shape[0] * counts.n_parent_states - n_seen
