r"""The verb :func:`fit`: check the input, choose, dispatch.

A table of several sources gives a network in which the source is a node, a root. It is the parent
of exactly those nodes that the DAG makes its children; without any it stands alone, so that
evidence on it is always legal. Its distribution is the share of the rows, :math:`P(F = f) = N_f /
N`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from consilience import _check
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.distributions.categorical import Categorical
from consilience.errors import DataError, GraphError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.maximum_likelihood import MLE
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine

__all__ = ["Estimator", "fit"]


class Estimator(Protocol):
    """A choice of how counts become tables."""

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distributions of all families of a network."""
        ...


def fit(dag: DAG, rows: Table | Engine, estimator: Estimator | None = None) -> Network:
    """The network with this graph whose tables are estimated from the rows.

    A row counts for a family if no variable of the family is missing in it; the record says how
    many rows each family used and how many it could not, and how many parent states no row shows.

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table, and the source if it has arcs.
    rows
        A table or an engine.
    estimator
        How counts become tables; by default ``Dirichlet(ess=1)``.

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
    estimator = Dirichlet() if estimator is None else estimator
    families = [Family(node, dag.parents(node)) for node in dag.nodes if node != _source(schema)]
    roots = [Family(_source(schema))] if _has_source_node(dag, schema) else []
    counts = count(engine, [*roots, *families])
    if not counts or counts[0].n_rows.sum() == 0:
        raise DataError("a network cannot be fitted to a table without rows.")
    local = [*MLE().estimate(counts[: len(roots)]), *estimator.estimate(counts[len(roots) :])]
    source = _source(schema) if roots else None
    return Network.of(local, source=source, record=_record(estimator, counts[len(roots) :]))


def _source(schema: Schema) -> str:
    return "" if schema.source is None else schema.source.name


def _has_source_node(dag: DAG, schema: Schema) -> bool:
    has_several = schema.source is not None and schema.source.n_states > 1
    return has_several or _source(schema) in dag.nodes


def _check_graph(dag: DAG, schema: Schema) -> None:
    for node in dag.nodes:
        if node not in schema:
            _check.unknown("variable", node, schema.variables)
    source = _source(schema)
    if source in dag.nodes and dag.parents(source):
        raise GraphError(
            f"the source {source!r} must have no parents, but the graph has the arc "
            f"{dag.parents(source)[0]!r} -> {source!r}.",
            arc=(dag.parents(source)[0], source),
        )


def _record(estimator: Estimator, counts: Sequence[Counts]) -> Record:
    incomplete = {c.child.name: float(c.n_incomplete.sum()) for c in counts}
    notes: tuple[str, ...] = ()
    if any(incomplete.values()):
        notes = (
            "Rows with a gap were left out family by family (available cases); that is sound only "
            "if values are missing completely at random.",
        )
    return Record(
        method=repr(estimator),
        n_rows={c.child.name: float(c.n_complete.sum()) for c in counts},
        n_incomplete=incomplete,
        unidentified={c.child.name: _n_unseen(c) for c in counts},
        notes=notes,
    )


def _n_unseen(counts: Counts) -> int:
    seen = counts.table.sum(axis=(0, 2)) > 0
    return counts.n_parent_states - int(seen.sum())
