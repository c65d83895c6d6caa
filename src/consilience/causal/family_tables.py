r"""Tables of the families of an estimand: read off a network, or estimated from counts.

From a network they are what its visible variables show, :math:`P(x \mid pa) = P(x, pa) / P(pa)`;
hidden nodes are summed out and never looked at otherwise. From rows they are estimated from the
counts of these families and nothing else, so that any engine serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.causal.values import DRAW, Value
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior, draw_logs
from consilience.errors import DataError, InputError, ModelError
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator, is_apart
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine

__all__ = ["FamilyTables", "drawn_tables", "tables_of"]

SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTables:
    """Tables of some families, with what is to be known about them.

    Parameters
    ----------
    variables
        By name; states of all that the families are about.
    local
        The table of each family, with its posterior if there is one. Its parents may begin with the
        source.
    unseen
        For each family with parent states that nothing determines, where they are: shape (parent
        states...), the source first if the tables have an axis for it.
    source, shares
        The source variable, if the tables have an axis for it, and the share of each source.
    chosen
        The code of the one source that is asked about; None for all.
    notes
        What to know: rows left out, parent states that only the prior fills.
    """

    variables: Mapping[str, Variable]
    local: Mapping[Family, Categorical]
    unseen: Mapping[Family, Floats]
    source: Variable | None
    notes: tuple[str, ...]
    shares: Floats | None = None
    chosen: int | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def is_fixed(self) -> bool:
        """Whether one source was chosen."""
        return self.chosen is not None

    def values(self) -> dict[Family, Value]:
        """The tables as they were estimated; of sources kept apart, with one more axis first."""
        return {family: self._value(family, local.table) for family, local in self.local.items()}

    def draws(self, n_draws: int, rng: np.random.Generator) -> dict[Family, Value]:
        """Tables drawn from their posteriors, with one more axis first."""
        return {
            family: self._value(family, drawn_tables(local, n_draws, rng), (DRAW,))
            for family, local in self.local.items()
        }

    def _value(self, family: Family, table: Floats, first: tuple[str, ...] = ()) -> Value:
        gaps = self.unseen.get(family)
        if self.source is not None and self.chosen is not None:
            table = np.take(table, self.chosen, axis=len(first))
            gaps = None if gaps is None else gaps[self.chosen]
        elif self.source is not None:
            first = (*first, self.source.name)
        names = (*first, *family.variables)
        if gaps is None:
            return Value(names, table)
        return Value(names, table, np.broadcast_to(gaps[..., None], table.shape))


def tables_of(
    data: Network | Table | Engine,
    families: Sequence[Family],
    *,
    estimator: Estimator | None = None,
    given: Mapping[str, Any] | None = None,
) -> FamilyTables:
    """The tables of families, from a network (given what is known) or from rows."""
    if isinstance(data, Network):
        if estimator is not None:
            raise InputError("an estimator goes with rows, not with a network.", parameter="data")
        return _from_network(data, families, given or {})
    return _from_rows(data, families, Dirichlet(per_cell=1.0) if estimator is None else estimator)


def _from_network(
    net: Network, families: Sequence[Family], given: Mapping[str, Any]
) -> FamilyTables:
    local, unseen = {}, {}
    for family in families:
        _check.known("node", family.variables, net.variables)
        _refuse_continuous(family, net.variables)
        joint = net.query(list(family.variables), given=dict(given)).values
        total = joint.sum(axis=-1)
        table = np.full_like(joint, 1 / joint.shape[-1])
        np.divide(joint, total[..., None], out=table, where=total[..., None] > 0)
        parents = tuple(net.variables[name] for name in family.parents)
        local[family] = Categorical(net.variables[family.child], parents, table)
        if np.any(total <= 0):
            unseen[family] = (total <= 0) * 1.0
    return FamilyTables(_variables(net.variables, families), local, unseen, None, ())


def _from_rows(
    rows: Table | Engine, families: Sequence[Family], estimator: Estimator
) -> FamilyTables:
    engine = engine_of(rows)
    schema = engine.schema
    known = {
        **schema.variables,
        **({} if schema.source is None else {schema.source.name: schema.source}),
    }
    for family in families:
        _check.known("variable", family.variables, known)
        _refuse_continuous(family, known)
    keeps_apart = is_apart(estimator) and schema.source is not None
    counts = [one.to_dense() for one in count(engine, families, by_source=keeps_apart)]
    if counts and not counts[0].n_rows.sum():
        raise DataError("an effect cannot be estimated from a table without rows.")
    tables = estimator.estimate(counts)
    local = dict(zip(families, tables, strict=True))
    source = tables[0].given[0] if keeps_apart and tables else None
    seen_none = {
        family: gaps
        for family, one in zip(families, counts, strict=True)
        if np.any(gaps := _without_rows(one, keeps_apart=keeps_apart))
    }
    has_prior = getattr(estimator, "has_prior", False) or any(t.posterior for t in tables)
    notes = [*_notes_on_gaps(counts), *(_notes_on_prior(seen_none, known) if has_prior else ())]
    return FamilyTables(
        _variables(known, families),
        local,
        {} if has_prior else seen_none,
        source,
        tuple(notes),
        None if source is None else _source_shares(counts[0], source.n_states),
    )


def _variables(known: Mapping[str, Variable], families: Sequence[Family]) -> dict[str, Variable]:
    return {name: known[name] for family in families for name in family.variables}


def _refuse_continuous(family: Family, known: Mapping[str, Variable]) -> None:
    for name in family.variables:
        if known[name].is_continuous:
            raise ModelError(
                f"{name!r} is continuous; an estimand with hidden causes is computed for discrete "
                "variables. Cut it when the table is read: discretize={...}.",
                variable=name,
            )


def _without_rows(counts: Counts, *, keeps_apart: bool) -> Floats:
    """Parent states that no row shows: shape (states of each parent...), sources first if apart."""
    shape = [parent.n_states for parent in counts.given]
    if keeps_apart:
        return (counts.table.sum(axis=2) == 0).reshape(-1, *shape) * 1.0
    return (counts.table.sum(axis=(0, 2)) == 0).reshape(shape) * 1.0


def _source_shares(counts: Counts, n_states: int) -> Floats:
    """The share of each source in the rows; one never seen, if there is such a state, is one row
    more.
    """
    rows = np.ones(n_states)
    rows[: len(counts.n_rows)] = counts.n_rows + counts.n_incomplete
    return rows / rows.sum()


def _notes_on_gaps(counts: Sequence[Counts]) -> Iterator[str]:
    most = max(counts, key=lambda one: float(one.n_incomplete.sum()), default=None)
    if most is not None and most.n_incomplete.sum() > 0:
        yield (
            f"Rows with missing values are left out family by family: up to "
            f"{most.n_incomplete.sum():g} rows (of {most.family.child!r})."
        )


def _notes_on_prior(
    unseen: Mapping[Family, Floats], variables: Mapping[str, Variable]
) -> Iterator[str]:
    for family, gaps in unseen.items():
        places = np.argwhere(
            gaps.reshape(-1, *gaps.shape[gaps.ndim - len(family.parents) :])[0] > 0
        )
        shown = "; ".join(_state_text(family, place, variables) for place in places[:SHOWN])
        more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
        yield f"No row has {shown}{more}: there P({family.child} | ...) is the prior's alone."


def _state_text(family: Family, place: Floats, variables: Mapping[str, Variable]) -> str:
    return ", ".join(
        f"{name}={variables[name].discrete_states[code]}"
        for name, code in zip(family.parents, place, strict=True)
    )


def drawn_tables(local: Categorical, n_draws: int, rng: np.random.Generator) -> Floats:
    """Tables drawn from a posterior: shape (draws, parents..., states)."""
    posterior = local.posterior
    if posterior is None:
        raise ModelError(
            f"the table of {local.child.name!r} has no posterior, so the answer has no interval. "
            "Choose an estimator with one, such as cs.Dirichlet(per_cell=1).",
            variable=local.child.name,
        )
    if isinstance(posterior, DirichletPosterior):
        shape = (n_draws, *posterior.concentration.shape)
        return np.exp(draw_logs(np.broadcast_to(posterior.concentration, shape).copy(), rng))
    drawn = posterior.draws(rng)
    return np.stack([next(drawn) for _ in range(n_draws)])
