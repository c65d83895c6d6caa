r"""The discrete part of a network in time, prepared once for one panel and any numbers.

Variables that every row has are *given*: what they are goes into where a family's numbers start.
The others are *open*, and the message from row to row is a table over the joint states of the open
variables that later rows depend on. Each slice joins its families in an order that keeps the
tables small and sums out a variable as soon as nothing needs it: M chains of K states cost
:math:`M K^{M+1}` a row, not :math:`K^{2M}`. The loops are in ``kernels/interface.py``.

A continuous node with open discrete parents is a likelihood over them, a table of its own for each
row (:class:`RowFactor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.slices import SliceFamily, TimedNode
from consilience.errors import ModelError
from consilience.kernels.interface import Joins, best_path, pass_back, pass_forward

__all__ = ["Frontier", "Member", "Messages", "RowFactor", "open_discrete"]


class Member(NamedTuple):
    """A variable of a family: where it stands, its states, and its stride in the numbers."""

    node: TimedNode
    n_states: int
    stride: int


class Messages(NamedTuple):
    """What passing messages gives: log-likelihoods (of rows, or of sequences), counts, posteriors.

    ``counts`` are laid out as the numbers; ``margins`` has the posterior of each open variable.
    """

    log_likelihood: Floats
    counts: Floats
    margins: dict[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class RowFactor:
    """A table for each of some rows over the joint states of open variables.

    ``place`` is where the tables start among the numbers, row after row.
    """

    family: SliceFamily
    rows: Integers
    scope: tuple[Member, ...]
    place: int

    @property
    def size(self) -> int:
        """Number of joint states."""
        return prod(member.n_states for member in self.scope)


def open_discrete(evidence: SequenceEvidence) -> tuple[str, ...]:
    """Discrete variables that some row has no value of."""
    return tuple(name for name, column in evidence.codes.items() if (column < 0).any())


class Frontier:
    """Messages along the sequences of one panel.

    Parameters
    ----------
    families
        The families of each kind of slice.
    evidence
        The panel.
    starts
        Where the numbers of each table start, by key; ``n_cells`` is their number.
    factors
        The row factors, by key of their family.
    memory_limit
        Bytes of messages and tables.
    """

    def __init__(
        self,
        families: Sequence[Sequence[SliceFamily]],
        evidence: SequenceEvidence,
        starts: Mapping[str, int],
        factors: Mapping[str, RowFactor],
        *,
        memory_limit: float,
    ) -> None:
        self.open = open_discrete(evidence)
        self.evidence, self.factors = evidence, factors
        self._starts, self._limit = starts, memory_limit
        self._order = len(families) - 1
        self._sizes = {
            member.node.name: member.n_states
            for kind in families
            for family in kind
            for member in members_of(family)
            if member.node.name in self.open
        }
        self._depth = _depths(families, self.open)
        self._programs = [self._program(k, kind) for k, kind in enumerate(families)]
        self._check_size()
        self.joins = _flat([one.joins for one in self._programs])
        self.base = self._bases()
        none = np.zeros((evidence.n_rows, 1), np.int64)
        known = [evidence.codes[name] for name in self.open]
        self.codes = np.ascontiguousarray(np.stack(known, axis=1)) if known else none
        sizes = [self._sizes.get(name, 1) for name in self.open]
        self._offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)

    @property
    def size(self) -> int:
        """Joint states of the interface."""
        return max([one.size for one in self._programs], default=1)

    @property
    def _room(self) -> int:
        return max(one.room for one in self._programs)

    def forward(self, numbers: Floats) -> tuple[Floats, Floats]:
        """The messages of all rows, and what each adds to the log-likelihood."""
        messages = np.zeros((self.evidence.n_rows, self.size))
        log = np.zeros(self.evidence.n_rows)
        work = np.zeros(self._room)
        with np.errstate(divide="ignore"):
            pass_forward(
                self.joins,
                numbers,
                self.base,
                self.codes,
                self.evidence.first,
                self._order,
                messages,
                log,
                work,
            )
        return messages, log

    def infer(
        self,
        numbers: Floats,
        *,
        is_filter: bool = False,
        wants_margins: bool = True,
        wants_counts: bool = True,
    ) -> Messages:
        """Log-likelihoods, expected counts (weighted) and posteriors of the open variables.

        What is not wanted is empty.
        """
        messages, log = self.forward(numbers)
        n_rows = self.evidence.n_rows
        margins = np.zeros((n_rows, int(self._offsets[-1]) if wants_margins else 0))
        counts = np.zeros(len(numbers) if wants_counts else 0)
        pass_back(
            self.joins,
            numbers,
            self.base,
            self.codes,
            self.evidence.first,
            self._order,
            is_filter,
            messages,
            self.evidence.weights,
            self._offsets,
            counts,
            margins,
            np.zeros(self._room),
            np.zeros(self._room),
        )
        return Messages(log, counts, self._by_name(margins) if wants_margins else {})

    def best(self, numbers: Floats) -> tuple[dict[str, Integers], Floats]:
        """The most probable states of the open variables, and their log probabilities."""
        evidence = self.evidence
        longest = int(np.diff(evidence.first).max(initial=0))
        cells = max(one.outs for one in self._programs)
        _check.memory(
            "the paths of the most probable states",
            8.0 * longest * cells,
            self._limit,
            "Use shorter sequences or raise memory_limit.",
        )
        choices = np.zeros((longest, max(cells, 1)), np.int64)
        log = np.zeros(len(evidence.first) - 1)
        path = np.full((evidence.n_rows, max(len(self.open), 1)), -1, np.int64)
        with np.errstate(divide="ignore"):
            best_path(
                self.joins,
                numbers,
                self.base,
                self.codes,
                evidence.first,
                self._order,
                choices,
                log,
                path,
                np.zeros(self._room),
            )
        return {name: path[:, v].copy() for v, name in enumerate(self.open)}, log

    def scope_after(self, k: int) -> tuple[TimedNode, ...]:
        """The open variables that rows after a slice of kind k depend on, in their order."""
        return tuple(
            TimedNode(name, lag)
            for name in self.open
            for lag in range(min(self._depth.get(name, 0), k + 1))
        )

    def shape_of(self, scope: Iterable[TimedNode]) -> tuple[int, ...]:
        """Number of states of each of some open variables."""
        return tuple(self._sizes[node.name] for node in scope)

    def _by_name(self, margins: Floats) -> dict[str, Floats]:
        ends = zip(self.open, self._offsets[:-1], self._offsets[1:], strict=True)
        return {name: margins[:, start:stop] for name, start, stop in ends}

    def _program(self, k: int, families: Sequence[SliceFamily]) -> _Program:
        """The joins of a kind of slice, in an order that keeps the tables small."""
        came = self.scope_after(k - 1) if k < self._order else self.scope_after(self._order)
        scope = tuple(TimedNode(node.name, node.lag + 1) for node in came) if k else ()
        after = self.scope_after(k)
        waiting = [family for family in families if self._is_touched(family)]
        joins: list[_Join] = []
        entered = 1 if not scope else prod(self.shape_of(scope))
        while waiting:
            ready = [one for one in waiting if self._is_ready(one, scope)]
            if not ready:
                raise ModelError(f"the slice of {waiting[0].child!r} has a cycle.")
            chosen = min(ready, key=lambda one: self._cost(one, scope, waiting, after))
            waiting.remove(chosen)
            kept = self._kept(chosen, scope, waiting, after)
            joins.append(self._join(chosen, scope, after if not waiting else kept))
            scope = after if not waiting else kept
        if not joins and set(scope) != set(after):
            joins.append(self._join(None, scope, after))
        return _Program(tuple(joins), entered, prod(self.shape_of(after)))

    def _is_touched(self, family: SliceFamily) -> bool:
        if family.child in self.open:
            return True
        return any(member.node.name in self.open for member in members_of(family))

    def _is_ready(self, family: SliceFamily, scope: Sequence[TimedNode]) -> bool:
        return all(parent in scope for parent in family.parents if parent.name in self.open)

    def _needed(self, families: Iterable[SliceFamily]) -> set[TimedNode]:
        return {p for family in families for p in family.parents if p.name in self.open}

    def _kept(
        self,
        chosen: SliceFamily,
        scope: Sequence[TimedNode],
        waiting: Sequence[SliceFamily],
        after: Sequence[TimedNode],
    ) -> tuple[TimedNode, ...]:
        """What stays in the table after a family is joined."""
        now = TimedNode(chosen.child, 0)
        wider = [*scope, now] if chosen.child in self.open else list(scope)
        needed = self._needed(waiting) | set(after)
        return tuple(node for node in wider if node in needed)

    def _cost(
        self,
        one: SliceFamily,
        scope: Sequence[TimedNode],
        waiting: Sequence[SliceFamily],
        after: Sequence[TimedNode],
    ) -> tuple[float, float]:
        others = [other for other in waiting if other is not one]
        kept = self._kept(one, scope, others, after)
        wide = self._sizes.get(one.child, 1) if one.child in self.open else 1
        return (
            float(prod(map(float, self.shape_of(kept)))),
            float(prod(map(float, self.shape_of(scope)))) * wide,
        )

    def _join(
        self,
        family: SliceFamily | None,
        scope: Sequence[TimedNode],
        after: Sequence[TimedNode],
    ) -> _Join:
        brings = family is not None and family.child in self.open
        now = TimedNode(family.child, 0) if family is not None else TimedNode("", 0)
        wide = (*scope, now) if brings else tuple(scope)
        shape = self.shape_of(wide)
        n_cells = prod(map(float, shape))
        _check.memory(
            f"the interface of {_check.listed(sorted({node.name for node in wide}))}",
            40.0 * n_cells,
            self._limit,
            "Use fewer hidden nodes, states or lags, or raise memory_limit.",
        )
        grid = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), np.int64)
        at = {node: grid[axis] for axis, node in enumerate(wide)}
        strides = {} if family is None else self._strides(family)
        f = np.zeros(grid.shape[1], np.int64)
        for node, stride in strides.items():
            f += stride * at[node]
        child = self.open.index(family.child) if brings and family is not None else -1
        return _Join(
            family,
            child,
            self._places(at, scope, grid.shape[1]),
            self._places(at, after, grid.shape[1]),
            f,
            at[now] if brings else np.full(grid.shape[1], -1, np.int64),
            prod(self.shape_of(scope)),
            prod(self.shape_of(after)),
        )

    def _strides(self, family: SliceFamily) -> dict[TimedNode, int]:
        """The stride of each open member in the numbers of its family, or of its row factor."""
        factor = self.factors.get(family.key)
        members = members_of(family) if factor is None else factor.scope
        return {m.node: m.stride for m in members if m.node.name in self.open}

    def _places(
        self, at: Mapping[TimedNode, Integers], scope: Sequence[TimedNode], n: int
    ) -> Integers:
        place = np.zeros(n, np.int64)
        for node in scope:
            place = place * self._sizes[node.name] + at[node]
        return place

    def _check_size(self) -> None:
        _check.memory(
            f"the messages of {self.evidence.n_rows:,} rows",
            8.0 * self.evidence.n_rows * self.size,
            self._limit,
            "Use fewer hidden nodes, states, lags or rows, or raise memory_limit.",
        )

    def _bases(self) -> Integers:
        """Where the numbers of each join start, for each row: shape (rows, joins of a slice)."""
        width = max([len(one.joins) for one in self._programs], default=0)
        base = np.zeros((self.evidence.n_rows, max(width, 1)), np.int64)
        if not width:
            return base
        slices = self.evidence.rows_of_slices(self._order)
        for rows, one in zip(slices, self._programs, strict=True):
            for q, join in enumerate(one.joins):
                base[rows, q] = self.base_of(join.family, rows)
        return base

    def base_of(self, family: SliceFamily | None, rows: Integers) -> Integers:
        """Where the numbers of a family start for some rows, by what is given there."""
        if family is None:
            return np.full(len(rows), self._starts[""], np.int64)
        factor = self.factors.get(family.key)
        if factor is not None:
            return factor.place + np.searchsorted(factor.rows, rows) * factor.size
        return self._starts[family.key] + given_offset(family, self.evidence, rows, self.open)


def members_of(family: SliceFamily) -> tuple[Member, ...]:
    """The discrete variables of a family with their strides in its table, the child last."""
    local = family.local
    nodes = [*zip(family.parents, local.given, strict=True)]
    if not local.child.is_continuous:
        nodes.append((TimedNode(family.child, 0), local.child))
    discrete = [(node, v.n_states) for node, v in nodes if not v.is_continuous]
    found, stride = [], 1
    for node, n_states in reversed(discrete):
        found.append(Member(node, n_states, stride))
        stride *= n_states
    return tuple(reversed(found))


def given_offset(
    family: SliceFamily, evidence: SequenceEvidence, rows: Integers, open_names: Sequence[str]
) -> Integers:
    """What the given discrete members of a family add to where its numbers start."""
    offset = np.zeros(len(rows), np.int64)
    for member in members_of(family):
        name, lag = member.node
        if lag < 0:
            offset += member.stride * evidence.row_sources[rows]
        elif name not in open_names:
            offset += member.stride * evidence.codes[name][rows - lag]
    return offset


class _Join(NamedTuple):
    family: SliceFamily | None
    child: int
    i: Integers
    o: Integers
    f: Integers
    state: Integers
    size_in: int
    size_out: int


class _Program(NamedTuple):
    """The joins of a kind of slice; ``size`` are the joint states after it."""

    joins: tuple[_Join, ...]
    entered: int
    size: int

    @property
    def outs(self) -> int:
        """Cells of all tables after a join."""
        return sum(join.size_out for join in self.joins)

    @property
    def room(self) -> int:
        """Cells of all tables of the slice."""
        return self.entered + self.outs + self.size


def _depths(families: Sequence[Sequence[SliceFamily]], names: Sequence[str]) -> dict[str, int]:
    """How many steps back each open variable is a parent, at most."""
    depth: dict[str, int] = {}
    for kind in families:
        for family in kind:
            for name, lag in family.parents:
                if name in names:
                    depth[name] = max(depth.get(name, 0), lag)
    return depth


def _flat(programs: Sequence[Sequence[_Join]]) -> Joins:
    every = [join for joins in programs for join in joins]
    of_slice = np.append(0, np.cumsum([len(joins) for joins in programs])).astype(np.int64)
    first = np.append(0, np.cumsum([len(join.i) for join in every])).astype(np.int64)

    def numbers(field: str) -> Integers:
        return np.array([getattr(join, field) for join in every], np.int64)

    def cells(field: str) -> Integers:
        parts = [getattr(join, field) for join in every]
        return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)

    return Joins(
        of_slice,
        first,
        numbers("child"),
        numbers("size_in"),
        numbers("size_out"),
        cells("i"),
        cells("o"),
        cells("f"),
        cells("state"),
    )
