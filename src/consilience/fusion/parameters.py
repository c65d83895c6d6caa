"""Parameters of the fused graph: from merged statistics, or from what the sources say.

:class:`Merged` fits the graph to the rows of all sources together. Counts add and moments merge, so
this is what the sources' statistics give without any row leaving its source; any estimator may do
it, also one that keeps the sources apart. Every other choice takes the opinion of each source
(:mod:`consilience.fusion.opinions`) and pools them family by family
(:mod:`consilience.fusion.pools`, :mod:`consilience.fusion.coefficient_pooling`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.errors import InputError
from consilience.fusion.family_answers import Opinion, Wanted
from consilience.fusion.opinions import opinions_of
from consilience.fusion.pools import LinearPool
from consilience.fusion.united_tables import pooled_table, recoded
from consilience.fusion.voters import Voter
from consilience.graph.dag import DAG
from consilience.learning import fit
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = ["Merged", "Pool", "parameters_of"]


class Pool(Protocol):
    """How the opinions of the sources about a family become one distribution."""

    @property
    def needs_rows(self) -> bool:
        """Whether the sources must have rows; networks alone do not do."""
        ...

    @property
    def needs_variance(self) -> bool:
        """Whether it looks at variances of parameters, which may take draws."""
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
        tables, least squares for regressions. Otherwise the network has
        the source as a node, and an estimator that keeps the sources apart, such as ``HDMCS()``,
        makes others depend on it.
    """

    estimator: Any = None
    gaussian: Any = None
    logistic: Any = None

    def network(self, dag: DAG, voters: Sequence[Voter], source: str) -> Network:
        """The network of the graph; all sources must have rows."""
        tables = {voter.name: voter.table for voter in voters if voter.table is not None}
        rows = pooled_table(tables, source)
        if self == Merged():
            return fit(dag, recoded(rows, rows.variables))
        return fit(dag, rows, self.estimator, gaussian=self.gaussian, logistic=self.logistic)


def parameters_of(
    choice: Merged | Pool,
    dag: DAG,
    voters: Sequence[Voter],
    weights: Mapping[str, float],
    *,
    source: str,
) -> tuple[Network, list[str]]:
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
    found, partial = opinions_of(wanted, voters, with_variance=choice.needs_variance)
    local = []
    for family, opinions in zip(wanted, found, strict=True):
        pool = LinearPool() if family.child.name in partial else choice
        local.append(pool.pool(opinions, _weights(opinions, weights)))
    notes = _notes(found, wanted, partial)
    return Network.of(local, record=Record(method=repr(choice), notes=tuple(notes))), notes


def _merged(
    choice: Merged, dag: DAG, wanted: Sequence[Wanted], voters: Sequence[Voter], *, source: str
) -> tuple[Network, list[str]]:
    """The merged fit; families that no source has are pooled instead."""
    lacking = [one for one in wanted if not any(set(one.names) <= set(v.dag.nodes) for v in voters)]
    if not lacking:
        return choice.network(dag, voters, source), []
    children = {family.child.name for family in lacking}
    kept = DAG((arc for arc in dag.arcs if arc[1] not in children), dag.nodes)
    net = choice.network(kept, voters, source)
    if net.source is not None:
        raise InputError(
            f"Merged: no source has all variables of the families of {_check.listed(children)}, so "
            "their distributions cannot be kept apart by source. Use a pooled estimator.",
            parameter="parameters",
        )
    found, partial = opinions_of(lacking, voters, with_variance=False)
    rows = {voter.name: float(voter.n_rows or 0.0) for voter in voters}
    local = dict(net.distributions)
    for family, opinions in zip(lacking, found, strict=True):
        local[family.child.name] = LinearPool().pool(opinions, _weights(opinions, rows))
    notes = _notes(found, lacking, partial)
    return Network(local, None, net.record), notes


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
