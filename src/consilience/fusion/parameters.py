"""Parameters of the fused graph: from merged statistics, or from what the sources say.

:class:`Merged` fits the graph to the rows of all sources together. Counts add and moments merge, so
this is what the sources' statistics give without any row leaving its source; any estimator may do
it, also one that keeps the sources apart. Every other choice takes the opinion of each source
(:mod:`consilience.fusion.opinions`) and pools them family by family
(:mod:`consilience.fusion.pools`, :mod:`consilience.fusion.coefficient_pooling`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.errors import InputError
from consilience.fusion.family_answers import Lines, Opinion, Wanted
from consilience.fusion.heterogeneity import (
    Heterogeneity,
    heterogeneity_of,
    note_on,
    of_counts,
    of_lines,
)
from consilience.fusion.opinions import opinions_of
from consilience.fusion.pools import LinearPool
from consilience.fusion.united_tables import pooled_table, recoded
from consilience.fusion.voters import Voter
from consilience.graph.dag import DAG
from consilience.learning import fit
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.statistics.family import Family
from consilience.statistics.gather import count, moments

__all__ = ["Merged", "Pool", "Pooled", "parameters_of"]


class Pool(Protocol):
    """How the opinions of the sources about a family become one distribution."""

    @property
    def needs_rows(self) -> bool:
        """Whether the sources must have rows; networks alone do not do."""
        ...

    def pool(self, opinions: Sequence[Opinion], weights: Floats) -> Distribution:
        """The distribution of one family; a weight for each opinion, which need not sum to one."""
        ...


@dataclass(frozen=True, slots=True)
class Merged:
    """The fit to the rows of all sources together, from their merged statistics.

    Parameters
    ----------
    estimator, gaussian, logistic
        As for :func:`consilience.fit`. If nothing is given, the sources are one: ``HDC()`` for
        tables, least squares for regressions, with the posterior under a flat prior. Otherwise the
        network has the source as a node, and an estimator that keeps the sources apart, such as
        ``HDMCS()``, makes others depend on it.
    """

    estimator: Any = None
    gaussian: Any = None
    logistic: Any = None

    def network(self, dag: DAG, voters: Sequence[Voter], source: str) -> Network:
        """The network of the graph; all sources must have rows."""
        rows = self.rows(voters, source)
        if self == Merged():
            return fit(dag, recoded(rows, rows.variables))
        return fit(dag, rows, self.estimator, gaussian=self.gaussian, logistic=self.logistic)

    def rows(self, voters: Sequence[Voter], source: str) -> Table:
        """The rows of all sources in one table."""
        tables = {voter.name: voter.table for voter in voters if voter.table is not None}
        return pooled_table(tables, source)


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """The network of a fused graph, how far its sources differ by child, and what to know."""

    network: Network
    heterogeneity: Mapping[str, Heterogeneity]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)


def parameters_of(
    choice: Merged | Pool,
    dag: DAG,
    voters: Sequence[Voter],
    weights: Mapping[str, float],
    *,
    source: str,
) -> Pooled:
    """The network of the fused graph, and what to know about it.

    Raises
    ------
    InputError
        If rows are needed and a source has none.
    """
    _check_rows(choice, voters)
    variables = _variables(voters)
    wanted = [
        Wanted(variables[node], tuple(variables[p] for p in dag.parents(node)))
        for node in dag.nodes
    ]
    if isinstance(choice, Merged):
        return _merged(choice, dag, wanted, voters, source=source)
    found, partial = opinions_of(wanted, voters)
    local = []
    for family, opinions in zip(wanted, found, strict=True):
        pool = LinearPool() if family.child.name in partial else choice
        local.append(pool.pool(opinions, _weights(opinions, weights)))
    apart = {
        family.child.name: heterogeneity_of(opinions)
        for family, opinions in zip(wanted, found, strict=True)
        if family.child.name not in partial
    }
    net = Network.of(local, record=Record(method=repr(choice)))
    return _with_notes(net, apart, _notes(found, wanted, partial))


def _with_notes(
    net: Network, apart: Mapping[str, Heterogeneity | None], notes: Sequence[str]
) -> Pooled:
    """What was pooled, with the notes in the record of the network too."""
    known = {name: one for name, one in apart.items() if one is not None}
    every = [*notes, *note_on(known)]
    record = replace(net.record, notes=(*net.record.notes, *every))
    return Pooled(Network(net.distributions, net.source, record), known, tuple(every))


def _merged(
    choice: Merged, dag: DAG, wanted: Sequence[Wanted], voters: Sequence[Voter], *, source: str
) -> Pooled:
    """The merged fit; families that no source has are pooled instead."""
    lacking = [one for one in wanted if not any(set(one.names) <= set(v.dag.nodes) for v in voters)]
    whole = [one for one in wanted if one not in lacking]
    if not lacking:
        net = choice.network(dag, voters, source)
        return _with_notes(net, _apart_in_rows(net, whole, choice.rows(voters, source)), [])
    children = {family.child.name for family in lacking}
    kept = DAG((arc for arc in dag.arcs if arc[1] not in children), dag.nodes)
    net = choice.network(kept, voters, source)
    if net.source is not None:
        raise InputError(
            f"Merged: no source has all variables of the families of {_check.listed(children)}, so "
            "their distributions cannot be kept apart by source. Use a pooled estimator.",
            parameter="parameters",
        )
    found, partial = opinions_of(lacking, voters)
    rows = {voter.name: float(voter.n_rows or 0.0) for voter in voters}
    local = dict(net.distributions)
    for family, opinions in zip(lacking, found, strict=True):
        local[family.child.name] = LinearPool().pool(opinions, _weights(opinions, rows))
    notes = _notes(found, lacking, partial)
    apart = _apart_in_rows(net, whole, choice.rows(voters, source))
    return _with_notes(Network(local, None, net.record), apart, notes)


def _apart_in_rows(
    net: Network, wanted: Sequence[Wanted], rows: Table
) -> dict[str, Heterogeneity | None]:
    """How far the rows of the sources differ about each family that does not depend on them."""
    found: dict[str, Heterogeneity | None] = {}
    for family in wanted:
        *parents, child = family.names
        if net.source in net[child].parents:
            continue
        if family.kind == "table":
            [counts] = count(rows, Family(child, tuple(parents)), by_source=True)
            found[child] = of_counts(counts.to_dense().values)
        elif family.kind == "regression":
            names = [*(parent.name for parent in family.continuous), child]
            by = [parent.name for parent in family.discrete]
            one = moments(rows, names, by=by, by_source=True)
            found[child] = of_lines(Lines(one.weight, one.mean, one.scatter))
    return found


def _check_rows(choice: Merged | Pool, voters: Sequence[Voter]) -> None:
    if not isinstance(choice, Merged) and not choice.needs_rows:
        return
    for voter in voters:
        if voter.table is None:
            raise InputError(
                f"{type(choice).__name__}: source {voter.name!r} has no rows. For finished "
                "networks use cs.fusion.InverseVariance(), cs.fusion.LinearPool(), "
                "cs.fusion.LogarithmicPool() or "
                "cs.fusion.DemocraticPool().",
                source=voter.name,
            )


def _variables(voters: Sequence[Voter]) -> dict[str, Variable]:
    variables: dict[str, Variable] = {}
    for voter in voters:
        known = voter.network.variables if voter.network is not None else {}
        known = voter.table.variables if voter.table is not None else known
        for node in voter.dag.nodes:
            variables.setdefault(node, known[node])
    return variables


def _weights(opinions: Sequence[Opinion], weights: Mapping[str, float]) -> Floats:
    return np.array([weights[opinion.source] for opinion in opinions])


def _notes(
    found: Sequence[Sequence[Opinion]], wanted: Sequence[Wanted], partial: Sequence[str]
) -> list[str]:
    notes = []
    if partial:
        notes.append(
            "No source has all variables of these families; each source says what it knows given "
            f"the parents it has, and that is pooled linearly: {_check.listed(partial)}."
        )
    unseen = [
        f"{family.child.name} ({n})"
        for family, opinions in zip(wanted, found, strict=True)
        if (n := int((~np.any([op.is_known for op in opinions], axis=0)).sum()))
    ]
    if unseen:
        notes.append(
            "No source has enough rows of some joint states of the discrete parents in these "
            f"families (how many): {_check.listed(unseen)}."
        )
    return notes
