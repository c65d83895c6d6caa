r"""The verb :func:`fit`: check the input, choose, dispatch.

Each family is fitted by its kind: a discrete child with discrete parents from counts, a continuous
child from centred moments, a discrete child with continuous parents (a logistic node) by Newton's
method on an engine.

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
from dataclasses import dataclass
from typing import Any

from consilience import _check
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.distributions import Categorical, Distribution
from consilience.distributions.families import kinds
from consilience.errors import DataError, GraphError, InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.parameters.choices import choices, has_new_source, kind_of, method_of
from consilience.parameters.estimator import (
    Estimator,
    LogisticEstimator,
    LogisticFit,
    Regressor,
    is_apart,
)
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.sources import source_shares, with_new_source
from consilience.parameters.story import record_of
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine, MomentRequest
from consilience.statistics.together import Together

__all__ = ["fit"]


def fit(
    dag: DAG,
    rows: Table | Engine,
    estimator: Estimator | Regressor | None = None,
    *,
    gaussian: Regressor | None = None,
    logistic: LogisticEstimator | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Network:
    """The network with this graph whose local distributions are estimated from the rows.

    A row counts for a family if no variable of the family is missing in it; the record says how
    many rows each family used and how many it could not, and how many parent states have too few
    rows of their own (in each source, where the sources are kept apart).

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table, and the source if the graph is to say what
        depends on it.
    rows
        A table or an engine.
    estimator
        How counts become tables; by default ``Dirichlet(ess=1)`` for one source and
        ``HDMCS(s=PerState(1))`` for several. It serves continuous children too if it can, as
        ``MLE()`` does.
    gaussian
        How moments become the regressions of continuous children. By default it does with the
        sources what the estimator of tables does: ``MLE()`` where they are pooled (or one),
        ``HierarchicalGaussian()`` where they are tied, ``Separate(MLE())`` where they are apart.
    logistic
        How discrete children of continuous parents are fitted; by default ``LogisticRegression()``,
        ``HierarchicalLogistic()`` or ``Separate(LogisticRegression())`` in the same way.
    memory_limit
        Bytes of all counts, and of the moments of a family; more are refused before they are
        allocated. Tables and posteriors come on top, a few times as much.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"smoke": ["yes", "yes", "no", "no"], "cough": ["yes", "no", "no", "no"]})
    >>> net = cs.fit(cs.DAG([("smoke", "cough")]), table, cs.MLE())
    >>> net["cough"].table.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    >>> mixed = cs.read({"drug": ["a", "a", "b", "b"], "weight": [1.5, 2.5, 5.5, 4.5]})
    >>> cs.fit(cs.DAG([("drug", "weight")]), mixed)["weight"].intercept.tolist()
    [2.0, 5.0]
    """
    engine = engine_of(rows)
    schema = engine.schema
    _check_graph(dag, schema)
    source = "" if schema.source is None else schema.source.name
    kind = {node: kind_of(dag, schema, node) for node in dag.nodes if node != source}
    chosen = choices(
        kind.values(),
        _n_sources(schema),
        estimator=estimator,
        gaussian=gaussian,
        logistic=logistic,
    )
    task = _Task(engine, dag, source, kind, chosen, memory_limit)
    counts, moments = task.counts(), task.moments()
    if not (counts or moments) or _n_all_rows(counts, moments) == 0:
        raise DataError("a network cannot be fitted to a table without rows.")
    root = task.source_root()
    fits = task.logistic_fits()
    local = _estimated(chosen, counts, moments, fits)
    return Network.of(
        [*root, *(local[node] for node in kind)],
        source=root[0].child.name if root else None,
        record=record_of(method_of(chosen), chosen, list(kind), counts, moments, fits, local),
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be fitted: families by kind, each with its estimator."""

    engine: Engine
    dag: DAG
    source: str
    kind: Mapping[str, str]
    chosen: Mapping[str, Any]
    memory_limit: float

    def counts(self) -> list[Counts]:
        """Counts of the discrete families; by source for those that differ by it."""
        apart, together = self._families("table")
        limit = self.memory_limit
        counted = [
            *count(self.engine, apart, by_source=True, memory_limit=limit),
            *count(self.engine, together, memory_limit=limit),
        ]
        found = {counts.child.name: counts for counts in counted}
        return [found[node] for node in self.kind if node in found]

    def moments(self) -> list[Moments]:
        """Moments of the families with a continuous child, in one pass over the rows."""
        apart, together = self._families("regression")
        schema = self.engine.schema
        requests = []
        for families, by_source in ((apart, True), (together, False)):
            for family in families:
                discrete, continuous = kinds(schema[name] for name in family.parents)
                names = (*(variable.name for variable in continuous), family.child)
                by = tuple(variable.name for variable in discrete)
                requests.append(MomentRequest(names, by, by_source, self.memory_limit))
        return self.engine.gather(Together(tuple(requests))) if requests else []

    def logistic_fits(self) -> list[LogisticFit]:
        """The fits of logistic nodes."""
        apart, together = self._families("logistic")
        if not (apart or together):
            return []
        estimator = self.chosen["logistic"]
        return [
            *(estimator.regress_states(self.engine, apart, by_source=True) if apart else []),
            *(estimator.regress_states(self.engine, together) if together else []),
        ]

    def source_root(self) -> list[Categorical]:
        """The distribution of the source node, if the network has one."""
        source = self.engine.schema.source
        if source is None:
            return []
        has_new = has_new_source(self.dag, self.source, self.chosen, self.kind)
        is_apart_somewhere = any(map(is_apart, self.chosen.values()))
        is_named = self.source in self.dag.nodes
        if not (source.n_states > 1 or has_new or is_named or is_apart_somewhere):
            return []
        [counts] = count(self.engine, [Family(source.name)])
        if has_new:
            return [source_shares(with_new_source(source), counts.values[0, 0])]
        return MLE().estimate([counts])

    def _families(self, kind: str) -> tuple[list[Family], list[Family]]:
        """Families of one kind: those whose sources are kept apart, and the others."""
        nodes = [node for node, its in self.kind.items() if its == kind]
        keeps_apart = bool(nodes) and is_apart(self.chosen[kind]) and self.source != ""
        is_named = self.source in self.dag.nodes
        dependent = set(self.dag.children(self.source) if is_named else nodes)
        apart = [node for node in nodes if keeps_apart and node in dependent]
        return (
            [
                Family(node, tuple(p for p in self.dag.parents(node) if p != self.source))
                for node in apart
            ],
            [Family(node, self.dag.parents(node)) for node in nodes if node not in apart],
        )


def _estimated(
    chosen: Mapping[str, Any],
    counts: Sequence[Counts],
    moments: Sequence[Moments],
    fits: Sequence[LogisticFit],
) -> dict[str, Distribution]:
    """The local distribution of every node but the source."""
    tables = chosen["table"].estimate(counts) if counts else []
    regressions = chosen["regression"].regress(moments) if moments else []
    every: list[Distribution] = [*tables, *regressions, *(one.distribution for one in fits)]
    return {local.child.name: local for local in every}


def _n_all_rows(counts: Sequence[Counts], moments: Sequence[Moments]) -> float:
    return float((counts[0].n_rows if counts else moments[0].n_rows).sum())


def _n_sources(schema: Schema) -> int:
    return 0 if schema.source is None else schema.source.n_states


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
