"""Pieces of the continuous part of rows, and the cases of them, as ``normal_cases.py`` has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Bools, Floats, Integers
from consilience.distributions import LinearGaussian
from consilience.inference.evidence import Scope
from consilience.inference.known_rows import alike
from consilience.kernels.normal_cases import NormalArrays
from consilience.network.network import Network

__all__ = ["CaseBuilder", "Words", "pieces_of_rows"]

Words = npt.NDArray[np.int32]

Piece = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes, parents first, and those of them that are hidden."""


def pieces_of_rows(
    parents: Sequence[Sequence[int]], is_known: Bools, *, keeps_barren: bool
) -> dict[Piece, Integers]:
    """The pieces of all rows, each with the rows that have it."""
    found: dict[Piece, list[Integers]] = {}
    if not is_known.size:
        return {}
    for where in alike(is_known):
        known = is_known[where[0]].tolist()
        matters = [True] * len(known) if keeps_barren else _lead_to_known(parents, known)
        for piece in _pieces_of(parents, known, matters):
            found.setdefault(piece, []).append(where)
    return {piece: np.sort(np.concatenate(rows)) for piece, rows in found.items()}


def _pieces_of(
    parents: Sequence[Sequence[int]], is_known: Sequence[bool], matters: Sequence[bool]
) -> list[Piece]:
    """The pieces of a row that knows these nodes; nodes stand after their parents."""
    group = list(range(len(parents)))

    def root(j: int) -> int:
        while group[j] != j:
            group[j] = j = group[group[j]]
        return j

    for j, above in enumerate(parents):
        for p in above:
            if matters[j] and not is_known[p]:
                group[root(j)] = root(p)
    members: dict[int, list[int]] = {}
    for j in range(len(parents)):
        if matters[j]:
            members.setdefault(root(j), []).append(j)
    return [(tuple(one), tuple(j for j in one if not is_known[j])) for one in members.values()]


def _lead_to_known(parents: Sequence[Sequence[int]], is_known: Sequence[bool]) -> list[bool]:
    """Which nodes are known, or have a descendant that is."""
    matters = list(is_known)
    for j in range(len(parents) - 1, -1, -1):
        if matters[j]:
            for p in parents[j]:
                matters[p] = True
    return matters


class CaseBuilder:
    """Collects cases, piece after piece."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        codes: Mapping[str, Words],
        n_rows: int,
        *,
        memory_limit: float,
    ) -> None:
        self._net, self._names, self._codes = net, names, codes
        self._memory_limit = memory_limit
        self._order = {name: i for i, name in enumerate(codes)}
        self.scopes: list[Scope] = []
        self.first_cell = np.full((n_rows, 0), -1)
        self.n_cells = 0
        self._blocks: list[tuple[Integers, int]] = []  # rows and cells of each
        self._cases: list[tuple[Integers, Integers, Integers, int]] = []  # rows, units, cells, m
        self._units: list[tuple[Integers, Integers, Integers, Integers]] = []
        self._n_units, self._n_bytes = 0, 0.0

    def add(self, members: tuple[int, ...], hidden: tuple[int, ...], rows: Integers) -> None:
        """The cases of one piece in all rows that have it."""
        local = [self._net.regressions[self._names[j]] for j in members]
        discrete = {v.name for one in local for v in one.discrete}
        scope = sorted(discrete, key=self._order.__getitem__)
        is_known = np.ones((len(rows), len(scope)), bool)
        for i, name in enumerate(scope):
            is_known[:, i] = self._codes[name][rows] >= 0
        for places in alike(is_known):
            pattern = is_known[places[0]].tolist()
            free = tuple(n for n, known in zip(scope, pattern, strict=True) if not known)
            self._add_alike(members, hidden, local, scope, free=free, rows=rows[places])

    def arrays(self, values: Floats) -> tuple[NormalArrays, Integers]:
        """Everything in flat arrays, and the cell of each case."""
        row, unit, cell = (
            np.concatenate([np.zeros(0, np.int64), *(one[k] for one in self._cases)])
            for k in range(3)
        )
        n_hidden = np.concatenate(
            [np.zeros(0, np.int64), *(np.full(len(one[0]), one[3]) for one in self._cases)]
        )
        members, codes, hidden, sizes = (
            [one[k] for one in self._units] for k in range(4)
        )  # sizes: of members and hidden nodes of each unit
        n_members = np.concatenate([np.zeros((0, 2), np.int64), *sizes])
        flat = [np.concatenate([np.zeros(0, np.int64), *one]) for one in (members, codes, hidden)]
        order = np.argsort(unit, kind="stable")
        arrays = NormalArrays(
            np.ascontiguousarray(values),
            row,
            unit,
            np.append(0, np.cumsum(n_hidden)),
            order,
            np.append(0, np.cumsum(np.bincount(unit, minlength=self._n_units))),
            flat[0],
            np.append(0, np.cumsum(n_members[:, 0])),
            flat[1],
            flat[2],
            np.append(0, np.cumsum(n_members[:, 1])),
            np.append(0, np.cumsum(n_members[:, 1] ** 2)),
        )
        return arrays, cell

    def blocks(self) -> tuple[Integers, Integers]:
        """Where the cells of each scope of each row start, and their rows."""
        rows = np.concatenate([np.zeros(0, np.int64), *(one for one, _ in self._blocks)])
        sizes = np.concatenate(
            [np.zeros(0, np.int64), *(np.full(len(one), n) for one, n in self._blocks)]
        )
        return np.append(0, np.cumsum(sizes)), rows

    def _add_alike(
        self,
        members: tuple[int, ...],
        hidden: tuple[int, ...],
        local: Sequence[LinearGaussian],
        scope: Sequence[str],
        *,
        free: Scope,
        rows: Integers,
    ) -> None:
        """Cases of rows in which the same discrete parents are missing."""
        n_states = {name: self._net.variables[name].n_states for name in scope}
        sizes = [n_states[name] for name in free]
        n_free = math.prod(sizes)
        self._guard(len(rows) * float(n_free), len(members), scope)
        states = dict(zip(free, np.indices(sizes).reshape(len(free), n_free), strict=True))
        codes = {
            name: np.broadcast_to(states[name], (len(rows), n_free))
            if name in states
            else np.broadcast_to(self._codes[name][rows, None], (len(rows), n_free))
            for name in scope
        }
        joint = np.zeros((len(rows), n_free), np.int64)
        for name in scope:
            joint = joint * n_states[name] + codes[name]
        _, first, unit = np.unique(joint.ravel(), return_index=True, return_inverse=True)
        parts = {name: codes[name].ravel()[first].astype(np.int64) for name in scope}
        each = np.stack([_joint(one, parts, len(first)) for one in local], axis=1)
        n = len(first)
        self._units.append(
            (
                np.tile(np.array(members, np.int64), n),
                each.ravel(),
                np.tile(np.array(hidden[::-1], np.int64), n),
                np.tile(np.array([[len(members), len(hidden)]], np.int64), (n, 1)),
            )
        )
        cell = self._cells(rows, free, n_free)
        case = np.repeat(rows, n_free).astype(np.int64), self._n_units + unit.ravel()
        self._cases.append((*case, cell, len(hidden)))
        self._n_units += n

    def _cells(self, rows: Integers, free: Scope, n_free: int) -> Integers:
        """The cells of these rows and a scope, new ones if it has none; -1 if nothing is free."""
        if not free:
            return np.full(len(rows), -1)
        if free not in self.scopes:
            self.scopes.append(free)
            column = np.full((len(self.first_cell), 1), -1)
            self.first_cell = np.concatenate([self.first_cell, column], axis=1)
        first = self.first_cell[:, self.scopes.index(free)]
        new = rows[first[rows] < 0]
        first[new] = self.n_cells + n_free * np.arange(len(new))
        self.n_cells += n_free * len(new)
        self._blocks.append((new, n_free))
        return (first[rows][:, None] + np.arange(n_free)).ravel()

    def _guard(self, n_cases: float, width: int, scope: Sequence[str]) -> None:
        self._n_bytes += n_cases * 8.0 * (8 + width)
        _check.memory(
            f"the joint states of missing {_check.listed(scope)} above continuous nodes",
            self._n_bytes,
            self._memory_limit,
            "Use fewer rows or discrete parents, or raise memory_limit.",
        )


def _joint(local: LinearGaussian, codes: Mapping[str, Integers], n: int) -> Integers:
    """The joint state of a node's discrete parents, the last varying fastest."""
    code = np.zeros(n, np.int64)
    for variable in local.discrete:
        code = code * variable.n_states + codes[variable.name]
    return code
