"""Counts and moments of completed rows of a mixed network, added up block by block.

Families whose discrete parents are the same are gathered together, in one :class:`Stratum`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import LinearGaussian
from consilience.errors import DataError
from consilience.inference.row_patterns import Block, Shape
from consilience.inference.rows import joint_code
from consilience.kernels.mixed_cases import add_moments, add_spread
from consilience.network.network import Network
from consilience.statistics.counts import parent_states_of
from consilience.statistics.moments import Moments

__all__ = ["Stratum", "Totals", "family_code", "strata_of"]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Continuous nodes whose families have the same discrete parents, gathered together."""

    nodes: tuple[str, ...]
    names: tuple[str, ...]
    given: tuple[Variable, ...]
    source: Variable | None

    @property
    def n_groups(self) -> tuple[int, int]:
        """Numbers of sources, or one, and of joint states."""
        return (1 if self.source is None else self.source.n_states), parent_states_of(self.given)

    def guard(self, memory_limit: float) -> None:
        """Refuse moments that are too large."""
        n_sources, n_states = self.n_groups
        _check.memory(
            f"the moments of {_check.listed(self.names)} in {n_sources * n_states:,} groups",
            24.0 * n_sources * n_states * (len(self.names) + 1) ** 2,
            memory_limit,
            "Use fewer discrete parents, or raise memory_limit.",
        )

    def moments(self, weight: Floats, mean: Floats, scatter: Floats, n_rows: Floats) -> Moments:
        """Moments of all names from arrays with one axis for all groups."""
        groups, d = self.n_groups, len(self.names)
        return Moments(
            self.names,
            self.given,
            self.source,
            weight.reshape(groups),
            mean.reshape(*groups, d),
            scatter.reshape(*groups, d, d),
            n_rows,
        )


@dataclass(slots=True, eq=False)
class Totals:
    """Statistics that grow block by block; owned by one call."""

    shape: Shape
    strata: Sequence[Stratum]
    centers: Floats
    sources: Column | None
    found: dict[str, Floats] = field(default_factory=dict)
    merged: list[Moments] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = self.shape
        for name, r in shape.n_states.items():
            sizes = [shape.n_states[parent] for parent in shape.families[name]]
            self.found[name] = np.zeros((*sizes, r))
        for one in self.strata:
            (f, j), d = one.n_groups, len(one.names)
            zeros = np.zeros(f * j), np.zeros((f * j, d)), np.zeros((f * j, d, d))
            self.merged.append(one.moments(*zeros, np.zeros(f)))

    def count(self, block: Block, chosen: Integers | slice, weights: Floats) -> None:
        """Add the weights of some completions to the counts."""
        for name, table in self.found.items():
            code = family_code(self.shape, block, name)[chosen]
            table += np.bincount(code, weights, minlength=table.size).reshape(table.shape)

    def gather(
        self,
        block: Block,
        values: Floats,
        weights: Floats,
        *,
        cases: Integers | None = None,
        covariances: Floats | None = None,
    ) -> None:
        """Add values that belong to these cases (all in order, if not given) to the moments."""
        for k, one in enumerate(self.strata):
            at = self._group(block, one)
            group = at if cases is None else np.ascontiguousarray(at[cases])
            columns = self._columns(one)
            n_sources, n_states = one.n_groups
            d, n_groups = len(columns), n_sources * n_states
            weight, mean = np.zeros(n_groups), np.zeros((n_groups, d))
            scatter = np.zeros((n_groups, d, d))
            add_moments(values, columns, group, weights, weight, mean, scatter)
            if covariances is not None:
                places = np.full(len(self.centers), -1)
                places[columns] = np.arange(d)
                add_spread(block.normal, covariances, places, group, weights, scatter)
            n_rows = weight.reshape(n_sources, n_states).sum(axis=1)
            self.merged[k] = self.merged[k].merge(one.moments(weight, mean, scatter, n_rows))

    def counts(self) -> dict[str, Floats]:
        """Counts of all discrete families."""
        return self.found

    def moments(self) -> dict[str, Moments]:
        """Moments of the families of all continuous nodes, in their order in the network."""
        found: dict[str, Moments] = {}
        for one, merged in zip(self.strata, self.merged, strict=True):
            # Means less the centers until here, so that merging blocks costs no digits.
            seen = (merged.weight > 0)[..., None]
            mean = np.where(seen, merged.mean + self.centers[self._columns(one)], 0.0)
            for node in one.nodes:
                found[node] = self._family(node, one, merged, mean)
        return {node: found[node] for node in self.shape.families if node in found}

    def _family(self, node: str, one: Stratum, merged: Moments, mean: Floats) -> Moments:
        names = (*_continuous_parents(self.shape, node), node)
        at = [one.names.index(name) for name in names]
        scatter = merged.scatter[..., at, :][..., at]
        return Moments(
            names, one.given, one.source, merged.weight, mean[..., at], scatter, merged.n_rows
        )

    def _columns(self, one: Stratum) -> Integers:
        place = {name: j for j, name in enumerate(self.shape.continuous)}
        return np.array([place[name] for name in one.names], np.int64)

    def _group(self, block: Block, one: Stratum) -> Integers:
        """The group of each case."""
        row = block.normal.row
        code = joint_code({v.name: v.n_states for v in one.given}, block.codes)
        sources = self.sources
        if one.source is not None and sources is not None:
            code = sources[block.start + row].astype(np.int64) * one.n_groups[1] + code
        return np.array(np.broadcast_to(code, row.shape))  # writable: one type for the kernels


def family_code(shape: Shape, block: Block, name: str) -> Integers:
    """The cell of a discrete family in each completion."""
    axes = (*shape.families[name], name)
    codes = {axis: block.states(shape, axis) for axis in axes}
    return joint_code({axis: shape.n_states[axis] for axis in axes}, codes)


def strata_of(
    net: Network, table: Table, shape: Shape, apart: Collection[str]
) -> tuple[Stratum, ...]:
    """The continuous nodes by their discrete parents; those in ``apart`` by source as well."""
    _check.known("continuous node", apart, shape.continuous)
    if apart and table.schema.source is None:
        raise DataError(
            f"the moments of {_check.listed(apart)} cannot be kept apart by source: the table has "
            "no source."
        )
    groups: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for name in shape.continuous:
        local = net.distributions[name]
        discrete = local.discrete if isinstance(local, LinearGaussian) else ()
        by = tuple(v.name for v in discrete if not (name in apart and v.name == table.source))
        groups.setdefault((by, name in apart), []).append(name)
    found = []
    for (by, is_apart), nodes in groups.items():
        members = {*nodes, *(p for node in nodes for p in _continuous_parents(shape, node))}
        names = tuple(name for name in shape.continuous if name in members)
        source = table.schema.source if is_apart else None
        found.append(Stratum(tuple(nodes), names, tuple(net.variables[n] for n in by), source))
    return tuple(found)


def _continuous_parents(shape: Shape, name: str) -> tuple[str, ...]:
    return tuple(parent for parent in shape.families[name] if parent not in shape.n_states)
