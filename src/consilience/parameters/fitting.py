r"""What a graph asks of an estimator: its families by kind, their statistics, the network.

A table of several sources gives a network in which the source F is a node, a root. Estimators that
keep the sources apart make it the first parent of every node; the others leave it alone, so that
evidence on it is always legal. A DAG that names F itself decides: exactly its children depend on
it, and nothing does if it has none. The distribution of F is the share of the rows,
:math:`P(F = f) = N_f / N`; hierarchical estimators add the reserved state ``new_source`` with
:math:`P(F = f) = N_f / (N + 1)`. What is left, :math:`1 / (N + 1)`, goes in equal parts to
``new_source`` and to the sources without rows, so that evidence on those is possible too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from consilience import _check
from consilience.data.door import Rows
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.distributions import Categorical, Distribution
from consilience.distributions.local_distribution import kinds
from consilience.errors import DataError, GraphError, InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.parameters.choices import choices, has_new_source, kind_of
from consilience.parameters.estimator import (
    Estimator,
    LogisticEstimator,
    LogisticFit,
    Regressor,
    is_apart,
)
from consilience.parameters.fit_record import NO_REPORT, GapReport, Statistics, record_of
from consilience.parameters.held import tables_held
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.source_node import source_shares, with_new_source
from consilience.statistics.counts import MEMORY_LIMIT, Counts, check_table_size
from consilience.statistics.digits import family_moments
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of, notes_on
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, Engine, MomentRequest
from consilience.statistics.together import Together

__all__ = ["FitTask", "fit_task", "source_root"]


def fit_task(
    dag: DAG,
    rows: Rows | Engine,
    estimator: Estimator | Regressor | None = None,
    *,
    gaussian: Regressor | None = None,
    logistic: LogisticEstimator | None = None,
    hidden: Collection[str] = (),
    memory_limit: float = MEMORY_LIMIT,
) -> FitTask:
    """The checked task of fitting this graph to these rows; see :func:`consilience.fit`.

    Columns of ``hidden`` nodes may be without any value.
    """
    engine = engine_of(rows)
    schema = engine.schema
    _check_graph(dag, schema)
    if isinstance(engine, Memory):
        _check_values([node for node in dag.nodes if node not in hidden], engine.table)
    source = "" if schema.source is None else schema.source.name
    kind = {node: kind_of(dag, schema, node) for node in dag.nodes if node != source}
    chosen = choices(
        kind.values(),
        _n_sources(schema),
        estimator=estimator,
        gaussian=gaussian,
        logistic=logistic,
    )
    root = source_root(engine, dag, source, kind, chosen=chosen)
    priors = [getattr(chosen[its], "has_prior", False) for its in kind.values()]
    needs_no_rows = estimator is not None and all(priors)
    return FitTask(engine, dag, source, kind, chosen, memory_limit, root, needs_no_rows)


@dataclass(frozen=True, slots=True)
class FitTask:
    """What is to be fitted: families by kind, each with its estimator.

    ``root`` has the distribution of the source node, if the network has one. If a prior was chosen
    for all families, it is the answer where there are no rows: ``needs_no_rows``.
    """

    engine: Engine
    dag: DAG
    source: str
    kind: Mapping[str, str]
    chosen: Mapping[str, Any]
    memory_limit: float
    root: tuple[Categorical, ...]
    needs_no_rows: bool

    def statistics(self) -> Statistics:
        """Statistics of all families, each over the rows that are complete for it."""
        found = Statistics(self.counts(), self.moments(), self.logistic_fits())
        n_rows = [*(c.n_rows.sum() for c in found.counts), *(m.n_rows.sum() for m in found.moments)]
        if not self.needs_no_rows and (not n_rows or float(n_rows[0]) == 0):
            raise DataError(
                "a network cannot be fitted to a table without rows. For discrete nodes, choose an "
                "estimator with a prior, such as cs.HDC()."
            )
        return found

    def network(
        self, found: Statistics, seen: Statistics | None = None, report: GapReport = NO_REPORT
    ) -> Network:
        """The network estimated from statistics, with its record.

        ``seen`` are those of the rows as they are, if others were estimated from; ``report`` is
        what the record says about the gaps.
        """
        local = self.estimated(found)
        nodes = list(self.kind)
        rows_as_they_are = found if seen is None else seen
        record = record_of(self.chosen, nodes, rows_as_they_are, found, local=local, report=report)
        notes = (*record.notes, *notes_on(self.engine, nodes))
        return self._assembled(local, replace(record, notes=notes))

    def plain_network(self, found: Statistics) -> Network:
        """The network estimated from statistics, without a record: a step of many."""
        return self._assembled(self.estimated(found), Record())

    def _assembled(self, local: Mapping[str, Distribution], record: Record) -> Network:
        root = self.root
        return Network.of(
            [*root, *(local[node] for node in self.kind)],
            source=root[0].child.name if root else None,
            record=record,
        )

    def estimated(self, found: Statistics) -> dict[str, Distribution]:
        """The local distribution of every node but the source."""
        counts, moments = found.counts, found.moments
        tables = self.chosen["table"].estimate(counts) if counts else []
        regressions = self.chosen["regression"].regress(moments) if moments else []
        logistic = (one.distribution for one in found.fits)
        every: list[Distribution] = [*tables, *regressions, *logistic]
        return {local.child.name: local for local in every}

    def parents(self) -> dict[str, tuple[str, ...]]:
        """The parents that each node but the source will have in the network."""
        found: dict[str, tuple[str, ...]] = {}
        for kind in set(self.kind.values()):
            apart, together = self._families(kind)
            found |= {one.child: (self.source, *one.parents) for one in apart}
            found |= {one.child: one.parents for one in together}
        return found

    def bare_parents(self, node: str) -> tuple[str, ...]:
        """The parents of a node but the source."""
        return tuple(name for name in self.dag.parents(node) if name != self.source)

    def counts(self) -> list[Counts]:
        """Counts of the discrete families; by source for those that differ by it."""
        apart, together = self._families("table")
        limit = self.memory_limit
        for families, n_sources in ((apart, _n_sources(self.engine.schema)), (together, 1)):
            for family in families:
                self._check_tables(family, n_sources)
        requests = [
            CountRequest(tuple(families), by_source, limit)
            for families, by_source in ((apart, True), (together, False))
            if families
        ]
        answers = self.engine.gather(Together(tuple(requests))) if requests else []
        counted = [counts for answer in answers for counts in answer]
        found = {counts.child.name: counts for counts in counted}
        return [found[node].to_dense(limit) for node in self.kind if node in found]

    def _check_tables(self, family: Family, n_sources: int) -> None:
        """Refuse a family whose full table needs more than the limit, before rows are counted."""
        schema, names = self.engine.schema, (*family.parents, family.child)
        n_cells = prod((float(schema[name].n_states) for name in names), start=float(n_sources))
        held = tables_held(self.chosen["table"], n_sources, len(family.parents))
        check_table_size(family, held * n_cells, self.memory_limit)

    def moments(self) -> list[Moments]:
        """Moments of the families with a continuous child; fine where digits are lost."""
        apart, together = self._families("regression")
        schema = self.engine.schema
        requests = []
        for families, by_source in ((apart, True), (together, False)):
            for family in families:
                discrete, continuous = kinds(schema[name] for name in family.parents)
                names = (*(variable.name for variable in continuous), family.child)
                by = tuple(variable.name for variable in discrete)
                requests.append(MomentRequest(names, by, by_source, self.memory_limit))
        return family_moments(self.engine, requests)

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


def source_root(
    engine: Engine, dag: DAG, name: str, kind: Mapping[str, str], *, chosen: Mapping[str, Any]
) -> tuple[Categorical, ...]:
    """The distribution of the source node, if the network has one."""
    source = engine.schema.source
    if source is None:
        return ()
    has_new = has_new_source(dag, name, chosen, kind)
    is_apart_somewhere = any(map(is_apart, chosen.values()))
    if not (source.n_states > 1 or has_new or name in dag.nodes or is_apart_somewhere):
        return ()
    [counts] = count(engine, [Family(source.name)])
    if has_new:
        return (source_shares(with_new_source(source), counts.values[0, 0]),)
    return tuple(MLE().estimate([counts]))


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
            advice = "A node that no row has a value of is declared by hidden=."
            _check.unknown("variable", node, schema.variables, advice)
    source = "" if schema.source is None else schema.source.name
    if source in dag.nodes and dag.parents(source):
        raise GraphError(
            f"the source {source!r} must have no parents, but the graph has the arc "
            f"{dag.parents(source)[0]!r} -> {source!r}.",
            arc=(dag.parents(source)[0], source),
        )


def _check_values(nodes: Sequence[str], table: Table) -> None:
    """Refuse a continuous column without any value, of which no regression can be learned."""
    for node in nodes:
        if node not in table.variables or not table.variables[node].is_continuous:
            continue
        if table.n_rows and np.isnan(table.column(node)).all():
            raise DataError(
                f"no row has a value of {node!r}. Leave it out of the graph; or, if it has states, "
                "say them when the table is read (states=); or leave the column out and say "
                f"hidden={{{node!r}: float}}.",
                column=node,
            )
