r"""The hidden sets of rows, and the cases in them; ``kernels/cases.py`` says what these are.

Rows that agree become one. Each falls apart into hidden sets; a row and one of its sets are a pair,
and the pairs whose families stand at the same states are a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Bools, Floats, Integers
from consilience.data.distinct import rows_alike
from consilience.data.table import Table
from consilience.inference.case_graph import CaseGraph, flat_lists
from consilience.inference.case_pool import summed
from consilience.inference.evidence import Scope
from consilience.inference.evidence_rows import network_columns
from consilience.inference.layout import Layout
from consilience.inference.normal_cases import NormalCases, normal_order
from consilience.inference.whole_sums import weights_of
from consilience.kernels.cases import (
    CaseArrays,
    case_offsets,
    hidden_sets,
    hide_barren,
    joint_places,
    merge_cases,
)
from consilience.network.network import Network

__all__ = ["CaseRows", "Pairs", "counted_families"]

MOST_JOINT_STATES = 512
"""Hidden sets with more joint states than this go through the junction tree."""

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CaseRows:
    """The rows of a table in codes of the network, shape (rows, discrete nodes), and values.

    Rows without continuous values that agree are one.
    """

    codes: npt.NDArray[np.int32]
    values: Floats
    weights: Integers
    scale: int

    @classmethod
    def of(cls, net: Network, table: Table) -> CaseRows:
        columns = network_columns(net, table)
        names = [name for name in net.variables if name not in net.regressions]
        weights, scale = weights_of(table)
        values = np.full((table.n_rows, len(net.regressions)), np.nan)
        for j, name in enumerate(normal_order(net)):
            if name in columns:
                values[:, j] = columns[name]
        first: Integers = np.arange(table.n_rows)
        if not net.regressions and table.n_rows:
            coded = ((columns[n], net.variables[n].n_states) for n in names if n in columns)
            first, ranks = rows_alike(coded, table.n_rows)
            weights = summed(ranks, weights, len(first))
        codes = np.full((len(first), len(names)), -1, np.int32)
        for v, name in enumerate(names):
            if name in columns:
                codes[:, v] = columns[name][first]
        return cls(codes, values[first], weights, scale)

    def by_name(self, net: Network) -> dict[str, npt.NDArray[np.int32]]:
        """The codes of each discrete node."""
        names = [name for name in net.variables if name not in net.regressions]
        return {name: self.codes[:, v] for v, name in enumerate(names)}


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a row and one of its hidden sets; sets are numbered, equal ones alike.

    ``members[s]`` are the variables of set ``s``, ``barren[s]`` their children that are barren, and
    ``n_joint[s]`` the number of joint states of the members.
    """

    rows: Integers
    of_set: npt.NDArray[np.int32]
    members: tuple[tuple[int, ...], ...]
    barren: tuple[tuple[int, ...], ...]
    n_joint: Floats

    @classmethod
    def of(cls, net: Network, rows: CaseRows, normal: NormalCases, *, keeps_barren: bool) -> Pairs:
        graph = CaseGraph.of(net, normal.scopes)
        # A likelihood is known to those above it, and then joins them: it is no state to be found.
        has = normal.first_cell >= 0
        absent = np.where(has, 0, -2 if keeps_barren else -1)
        codes = np.concatenate([rows.codes, absent], axis=1).astype(np.int32)
        if not keeps_barren:
            hide_barren(codes, *graph.children)
        codes[:, rows.codes.shape[1] :][has] = -1
        pair_rows, starts, members = hidden_sets(codes, *graph.neighbors, *graph.children)
        n = len(graph.n_states)
        ranks, firsts = _ranks_of_sets(starts, members, 2 * n)
        listed = [members[starts[p] : starts[p + 1]] for p in firsts]
        sets = tuple(tuple(one[one < n].tolist()) for one in listed)
        barren = tuple(tuple((one[one >= n] - n).tolist()) for one in listed)
        n_joint = np.array([np.prod([float(graph.n_states[v]) for v in one]) for one in sets])
        return cls(pair_rows, ranks.astype(np.int32), sets, barren, n_joint)

    @property
    def is_small(self) -> Bools:
        """Whether the joint states of each set are few enough to be enumerated."""
        return self.n_joint <= MOST_JOINT_STATES

    def cases(
        self,
        net: Network,
        layout: Layout,
        rows: CaseRows,
        normal: NormalCases,
        *,
        kept: Bools,
        memory_limit: float,
    ) -> CaseArrays:
        """The cases of the pairs that are kept, equal ones merged."""
        shape = _Shape.of(net, layout, normal.scopes)
        is_small = self.is_small
        sets = [one if small else () for one, small in zip(self.members, is_small, strict=True)]
        touched = [shape.touched(*one) for one in zip(sets, self.barren, strict=True)]
        touched_flat, touched_first = flat_lists(touched)
        n_families = np.diff(touched_first)
        pairs = np.flatnonzero(kept)
        pair_rows, of_set = self.rows[pairs], self.of_set[pairs]
        first = _firsts(n_families[of_set])
        _check.memory(
            "the cases of the incomplete rows", 4.0 * first[-1], memory_limit, "Use fewer rows."
        )
        offset = np.empty(first[-1], np.int32)
        key = np.empty(len(pairs), np.uint64)
        case_offsets(
            rows.codes,
            pair_rows,
            of_set,
            first,
            touched_flat,
            touched_first,
            layout.first[:-1],
            shape.axes,
            shape.strides,
            shape.axes_first,
            layout.first[-1] + normal.first_cell,
            offset,
            key,
        )
        order = np.lexsort((key, of_set))
        case_of = np.empty(len(pairs), np.int64)
        leaders = merge_cases(order, of_set, first, offset, case_of)
        weight = summed(case_of, rows.weights[pair_rows], len(leaders))
        case_first = _firsts(n_families[of_set[leaders]])
        taken = np.arange(case_first[-1])
        taken += np.repeat(first[leaders] - case_first[:-1], np.diff(case_first))
        n_joint = np.where(is_small, self.n_joint, 1).astype(np.int64)
        inside, inside_first = shape.inside(sets, touched_flat, touched_first, n_joint)
        return CaseArrays(
            of_set[leaders],
            weight,
            case_first,
            offset[taken],
            n_joint,
            n_families,
            inside,
            inside_first,
        )


def _firsts(sizes: Integers) -> Integers:
    """Where parts of these sizes start, one after the other, and where the last one ends."""
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def _ranks_of_sets(
    starts: Integers, members: npt.NDArray[np.int32], n_variables: int
) -> tuple[Integers, Integers]:
    """For each set of members a number, equal sets alike; and the first set of each number."""
    n_sets = len(starts) - 1
    if not n_sets:
        return _NONE, _NONE
    n_words = n_variables // 32 + 1
    words = np.zeros((n_sets, n_words), np.int64)
    of_set = np.repeat(np.arange(n_sets), np.diff(starts))
    used = members[: starts[-1]].astype(np.int64)
    np.add.at(words, (of_set, used // 32), np.int64(1) << (used % 32))
    first, ranks = rows_alike(((column, 2**32) for column in words.T), n_sets)
    return ranks, first


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """The families of a network, and likelihoods over scopes, as flat arrays: variables and
    strides of each.
    """

    n_states: Integers
    axes: npt.NDArray[np.int32]
    strides: Integers
    axes_first: Integers
    families_of: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, net: Network, layout: Layout, scopes: Sequence[Scope]) -> _Shape:
        index = {name: v for v, name in enumerate(layout.shapes)}
        axes = [[index[n] for n in (*net.tables[name].parents, name)] for name in layout.shapes]
        axes += [[index[n] for n in scope] for scope in scopes]
        shapes = [*layout.shapes.values()]
        shapes += [tuple(net.variables[n].n_states for n in scope) for scope in scopes]
        strides = [[int(np.prod(one[i + 1 :])) for i in range(len(one))] for one in shapes]
        n_states = [*(net.variables[name].n_states for name in index), *(1 for _ in scopes)]
        families = [[f for f, one in enumerate(axes) if v in one] for v in range(len(index))]
        families += [[len(index) + s] for s in range(len(scopes))]
        return cls(
            np.array(n_states, np.int64),
            np.array([v for one in axes for v in one], np.int32),
            np.array([step for one in strides for step in one], np.int64),
            np.append(0, np.cumsum([len(one) for one in axes])).astype(np.int64),
            tuple(map(tuple, families)),
        )

    def touched(self, members: tuple[int, ...], barren: tuple[int, ...]) -> list[int]:
        """The families that have one of these variables, without those of the barren ones.

        Families are numbered like their children.
        """
        return sorted({f for v in members for f in self.families_of[v]} - set(barren))

    def inside(
        self,
        sets: Sequence[tuple[int, ...]],
        touched: Integers,
        touched_first: Integers,
        n_joint: Integers,
    ) -> tuple[npt.NDArray[np.int32], Integers]:
        """How far into the families of each set every joint state of its members leads, and where
        these numbers start; ``touched`` are the families, set after set.
        """
        first = _firsts(n_joint * np.diff(touched_first))
        inside = np.empty(first[-1], np.int32)
        joint_places(
            *flat_lists(sets),
            touched,
            touched_first,
            self.n_states,
            self.axes,
            self.strides,
            self.axes_first,
            inside,
            first,
        )
        return inside, first


def counted_families(net: Network, layout: Layout, rows: CaseRows, is_kept: Bools) -> Integers:
    """Counts of the families of which the kept rows have everything, as a vector."""
    index = {name: v for v, name in enumerate(layout.shapes)}
    tables = [np.zeros(0, np.int64)]
    for name, shape in layout.shapes.items():
        columns = [rows.codes[:, index[n]] for n in (*net.tables[name].parents, name)]
        known = np.flatnonzero(is_kept & np.logical_and.reduce([c >= 0 for c in columns]))
        place = np.ravel_multi_index([column[known] for column in columns], shape)
        tables.append(summed(place, rows.weights[known], int(np.prod(shape))))
    return np.concatenate(tables)
