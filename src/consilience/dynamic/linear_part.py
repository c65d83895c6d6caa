"""The linear Gaussian part of a network in time, prepared once for one panel and any numbers.

It has the continuous nodes that are hidden or missing somewhere, and those with such a parent.
Their discrete parents are known in every row; a family that has an open discrete parent as well is
*mixed*, and refused before this stage unless it is a likelihood of what is known. The loops are in
``kernels/triangles.py``, ``kernels/kalman.py`` and ``kernels/kalman_back.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.distributions import LinearGaussian
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.frontier import given_offset
from consilience.dynamic.moments_in_time import Sums
from consilience.dynamic.slices import SliceFamily, TimedNode
from consilience.errors import ModelError
from consilience.kernels.kalman import filter_rows
from consilience.kernels.kalman_back import Expected, smooth_rows, spread_rows
from consilience.kernels.triangles import (
    RowValues,
    Slices,
    Triangles,
    empty_triangles,
    find_triangles,
    triangle_bytes,
)

__all__ = ["Gaussians", "LinearPart", "SliceNode", "continuous_columns"]


class Gaussians(NamedTuple):
    """What each row adds to the log-likelihood; mean and sd of the open variables; sums."""

    log_likelihood: Floats
    mean: dict[str, Floats]
    sd: dict[str, Floats]
    sums: dict[str, Sums]


class SliceNode(NamedTuple):
    """A node that a slice adds: its family, or None for a value that is only given.

    ``columns`` has the place of each column of the family, or -1 - c for the given column c.
    """

    child: str
    family: SliceFamily | None
    columns: tuple[int, ...]


class _Kind(NamedTuple):
    """A kind of slice: how many variables come in, the nodes that it adds, the places it keeps."""

    n_before: int
    nodes: tuple[SliceNode, ...]
    kept: tuple[int, ...]
    given: tuple[TimedNode, ...]

    @property
    def size(self) -> int:
        """Number of places."""
        return self.n_before + len(self.nodes)


class _Filtered(NamedTuple):
    """Means of all places of all rows, the triangles, which each row has, and log densities."""

    joint: Floats
    triangles: Triangles
    which: Integers
    log: Floats


def continuous_columns(family: SliceFamily) -> tuple[TimedNode, ...]:
    """The continuous parents of a family in order, then its child."""
    pairs = zip(family.parents, family.local.given, strict=True)
    return (*(node for node, v in pairs if v.is_continuous), TimedNode(family.child, 0))


class LinearPart:
    """Filter and smoother along the sequences of one panel.

    Parameters
    ----------
    families
        For each kind of slice the families of this part.
    given
        For each kind of slice the open nodes whose values are given there.
    names
        The open continuous variables.
    evidence
        The panel.
    memory_limit
        Bytes of the messages.
    open_discrete
        Discrete variables that are not known in all rows; the filter needs all others to be none.
    """

    def __init__(
        self,
        families: Sequence[Sequence[SliceFamily]],
        given: Sequence[Sequence[str]],
        names: Sequence[str],
        evidence: SequenceEvidence,
        *,
        memory_limit: float,
        open_discrete: Sequence[str] = (),
    ) -> None:
        self.names, self.evidence = tuple(names), evidence
        self._open_discrete = open_discrete
        self._limit = memory_limit
        self.order = len(families) - 1
        self._depth = {
            name: max(
                (p.lag for kind in families for f in kind for p in f.parents if p.name == name),
                default=0,
            )
            for name in names
        }
        self._kinds = [
            self._kind(k, *pair) for k, pair in enumerate(zip(families, given, strict=True))
        ]
        self._local = {f.key: f for kind in families for f in kind}
        self._width = max([1, *(kind.size for kind in self._kinds)])
        _check.memory(
            f"the means of {evidence.n_rows:,} rows",
            8.0 * evidence.n_rows * (self._width + 2),
            memory_limit,
            "Use fewer open continuous nodes, lags or rows, or raise memory_limit.",
        )
        self._kind_rows = evidence.rows_of_slices(self.order)
        children = dict.fromkeys(node.child for kind in self._kinds for node in kind.nodes)
        self._recorded = [n for n in children if not np.isnan(evidence.values[n]).all()]
        self._grouped = list(dict.fromkeys(f.child for f in self._local.values() if _is_grouped(f)))
        self.slices = self._slices()
        self.rows = self._row_values()

    @property
    def width(self) -> int:
        """The most places that a slice has."""
        return self._width

    def nodes(self, kind: int) -> tuple[SliceNode, ...]:
        """The nodes that a kind of slice adds, parents first."""
        return self._kinds[kind].nodes

    def kept(self, kind: int) -> tuple[int, ...]:
        """The places that a kind of slice hands on, in their order."""
        return self._kinds[kind].kept

    def n_before(self, kind: int) -> int:
        """How many variables come into a kind of slice."""
        return self._kinds[kind].n_before

    def size(self, kind: int) -> int:
        """Number of places of a kind of slice."""
        return self._kinds[kind].size

    def places_of(self, kind: int) -> list[tuple[int, int]]:
        """The open variables that a kind of slice has a node of, and their places."""
        n = self.n_before(kind)
        return [
            (self.names.index(node.child), n + o)
            for o, node in enumerate(self.nodes(kind))
            if node.child in self.names
        ]

    def scope_after(self, k: int) -> tuple[TimedNode, ...]:
        """The open variables that rows after a slice of kind k depend on, in their order."""
        return tuple(
            TimedNode(name, lag)
            for name in self.names
            for lag in range(min(self._depth[name], k + 1))
        )

    def infer(
        self,
        regressions: Mapping[str, LinearGaussian],
        *,
        is_filter: bool = False,
        wants_sums: bool = False,
    ) -> Gaussians:
        """Log-likelihoods, beliefs about the open variables and, if wanted, sums of families."""
        done = self._filtered(regressions)
        groups = {k: regressions[k].intercept.size for k in self._local} if wants_sums else {}
        if is_filter:
            believed, sd = self._given_past(done)
            sums: dict[str, Sums] = {}
        else:
            believed, sd, sums = self._given_all(done, groups)
        return Gaussians(
            done.log,
            dict(zip(self.names, map(_freeze.read_only, believed), strict=True)),
            dict(zip(self.names, map(_freeze.read_only, sd), strict=True)),
            sums,
        )

    def log_rows(self, regressions: Mapping[str, LinearGaussian]) -> Floats:
        """What each row adds to the log-likelihood."""
        return self._filtered(regressions).log

    def messages(
        self, regressions: Mapping[str, LinearGaussian], rows: Iterable[int]
    ) -> list[tuple[Floats, Floats]]:
        """Mean and root, shape (rank, variables), of what each of some rows hands on."""
        done = self._filtered(regressions)
        steps = self.evidence.steps
        found = []
        for row in rows:
            t, kind = done.which[row], self._kinds[min(int(steps[row]), self.order)]
            begin, end = done.triangles.ends[t]
            root = np.zeros((end - begin, kind.size))
            upper = np.zeros((self._width, self._width))
            cells = np.triu_indices(self._width)
            upper[cells] = done.triangles.root[t, : len(cells[0])]
            root[:, done.triangles.order[t, begin:end]] = upper[begin:end, begin:end]
            kept = list(kind.kept)
            found.append((done.joint[row, kept], root[:, kept]))
        return found

    def numbers(self, regressions: Mapping[str, LinearGaussian]) -> Floats:
        """Intercept, coefficients and sds of all families, as the loops want them."""
        parts = [regressions[key].parameters.ravel() for key in self._local]
        return np.concatenate([*parts, [0.0, 1.0, 0.0]])

    def room(self, n_rows: int) -> Triangles:
        """Empty triangles, at most one for each row; memory is used as they are filled."""
        most = self._limit // triangle_bytes(self._width)
        return empty_triangles(max(2, int(min(n_rows + 1, most))), self._width)

    def _filtered(self, regressions: Mapping[str, LinearGaussian]) -> _Filtered:
        n = self.evidence.n_rows
        joint, log, which = np.empty((n, self._width)), np.empty(n), np.empty(n, np.int64)
        triangles, numbers = self.room(n), self.numbers(regressions)
        first, order = self.evidence.first, self.order
        used = find_triangles(self.slices, self.rows, numbers, first, order, triangles, which)
        if used < 0:
            _check.memory(
                f"the covariances of {n:,} rows with gaps",
                triangle_bytes(self._width) * (n + 1),
                self._limit,
                "Use fewer open continuous nodes, lags or rows, or raise memory_limit.",
            )
        filter_rows(self.slices, self.rows, numbers, first, order, triangles, which, joint, log)
        return _Filtered(joint, triangles, which, log)

    def _given_past(self, done: _Filtered) -> tuple[Floats, Floats]:
        n = self.evidence.n_rows
        believed, sd = np.zeros((2, len(self.names), n))
        for k, rows in enumerate(self._kind_rows):
            for v, place in self.places_of(k):
                believed[v, rows] = done.joint[rows, place]
        spread_rows(self.slices, self.evidence.first, self.order, done.triangles, done.which, sd)
        return believed, sd

    def _given_all(
        self, done: _Filtered, groups: Mapping[str, int]
    ) -> tuple[Floats, Floats, dict[str, Sums]]:
        n = self.evidence.n_rows
        believed, sd = np.zeros((2, len(self.names), n))
        total = sum(groups.values()) + (1 if groups else 0)
        most = max([len(continuous_columns(one)) for one in self._local.values()], default=1)
        centers = self._centers(groups, total, max(most, 2), done)
        squares = np.zeros((*centers.shape, centers.shape[1]))
        expected = Expected(centers, np.zeros(total), np.zeros_like(centers), squares)
        smooth_rows(
            self._placed(groups),
            self.rows,
            self.evidence.first,
            self.order,
            done.triangles,
            done.which,
            done.joint,
            self.evidence.weights,
            believed,
            sd,
            expected,
        )
        return believed, sd, self._sums(groups, expected)

    def _kind(self, k: int, families: Sequence[SliceFamily], given: Iterable[str]) -> _Kind:
        """What a kind of slice adds, parents first, and what stays."""
        came = self.scope_after(k - 1 if k < self.order else self.order) if k else ()
        places = {TimedNode(node.name, node.lag + 1): a for a, node in enumerate(came)}
        n_before = len(came)
        columns: dict[TimedNode, int] = {}
        nodes: list[SliceNode] = []
        for child in given:
            columns[TimedNode(child, 0)] = -1 - len(columns)
            places[TimedNode(child, 0)] = n_before + len(nodes)
            nodes.append(
                SliceNode(child, None, (columns[TimedNode(child, 0)], n_before + len(nodes)))
            )
        waiting = list(families)
        while waiting:
            one = next((f for f in waiting if self._is_ready(f, places)), None)
            if one is None:
                raise ModelError("a slice has a cycle among its continuous nodes.")
            waiting.remove(one)
            *parents, child_node = continuous_columns(one)
            for node in parents:
                if node.name not in self.names:
                    columns.setdefault(node, -1 - len(columns))
            at = [places[n] if n.name in self.names else columns[n] for n in parents]
            places[child_node] = n_before + len(nodes)
            nodes.append(SliceNode(one.child, one, (*at, places[child_node])))
        kept = tuple(places[node] for node in self.scope_after(k))
        return _Kind(n_before, tuple(nodes), kept, tuple(columns))

    def _is_ready(self, family: SliceFamily, places: Mapping[TimedNode, int]) -> bool:
        return all(node in places for node in family.parents if node.name in self.names)

    def _slices(self) -> Slices:
        every = [node for kind in self._kinds for node in kind.nodes]
        sizes = [(len(continuous_columns(f)) + 1) * _n_groups(f) for f in self._local.values()]
        ends = np.append(0, np.cumsum(sizes)).astype(np.int64)
        starts = dict(zip(self._local, ends, strict=False))
        number = [ends[-1] if n.family is None else starts[n.family.key] for n in every]
        return Slices(
            _ends([len(kind.nodes) for kind in self._kinds]),
            np.array([kind.n_before for kind in self._kinds], np.int64),
            _ends([len(node.columns) for node in every]),
            np.array([place for node in every for place in node.columns], np.int64),
            np.array(number, np.int64),
            _places([n.child for n in every], self._recorded),
            _places([n.child for n in every], self._grouped),
            _places([n.child for n in every], self.names),
            np.zeros(len(every), np.int64),
            _ends([len(kind.kept) for kind in self._kinds]),
            np.array([place for kind in self._kinds for place in kind.kept], np.int64),
        )

    def _placed(self, groups: Mapping[str, int]) -> Slices:
        """The slices with the place of each family's moments."""
        if not groups:
            return self.slices
        ends = _ends(list(groups.values()))
        starts = dict(zip(groups, ends, strict=False))
        every = [node for kind in self._kinds for node in kind.nodes]
        place = [ends[-1] if n.family is None else starts[n.family.key] for n in every]
        return self.slices._replace(sums=np.array(place, np.int64))

    def _row_values(self) -> RowValues:
        """Values, joint discrete states, given columns and patterns; no parameters enter."""
        n, values = self.evidence.n_rows, self.evidence.values
        y = np.empty((n, len(self._recorded)))
        for c, child in enumerate(self._recorded):
            y[:, c] = values[child]
        group = np.zeros((n, len(self._grouped)), np.int64)
        known = np.zeros((n, max([0, *(len(kind.given) for kind in self._kinds)])))
        kinds = np.full(n, self.order)
        for k, (rows, kind) in enumerate(zip(self._kind_rows, self._kinds, strict=True)):
            for node in kind.nodes:
                if node.family is not None and _is_grouped(node.family):
                    group[rows, self._grouped.index(node.child)] = given_offset(
                        node.family, self.evidence, rows, self._open_discrete
                    )
            for c, column in enumerate(kind.given):
                known[rows, c] = values[column.name][rows - column.lag]
            if k < self.order:
                kinds[rows] = k
        gaps = [np.isnan(values[child]) for child in self._recorded]
        some = [missing for missing in gaps if missing.any()]
        return RowValues(y, group, known, joint_codes([kinds, *some, *group.T]))

    def _centers(self, groups: Mapping[str, int], n: int, most: int, done: _Filtered) -> Floats:
        """Means of what is known of each column, of hidden ones those of the filter, so that sums
        of products keep their digits.
        """
        centers = np.zeros((max(n, 1), most))
        if not groups:
            return centers
        middle = dict(zip(self.names, self._given_past(done)[0].mean(axis=1), strict=True))
        place = 0
        for key, size in groups.items():
            for c, node in enumerate(continuous_columns(self._local[key])):
                column = self.evidence.values[node.name]
                known = column[~np.isnan(column)]
                centers[place : place + size, c] = known.mean() if known.size else middle[node.name]
            place += size
        return centers

    def _sums(self, groups: Mapping[str, int], expected: Expected) -> dict[str, Sums]:
        centers, counts, sums, squares = expected
        found, place = {}, 0
        for key, size in groups.items():
            d = len(continuous_columns(self._local[key]))
            part = slice(place, place + size)
            weight, total = counts[part], sums[part, :d]
            safe = np.where(weight > 0, weight, 1.0)[:, None]
            away = total / safe
            lower = np.tril(squares[part, :d, :d])
            whole = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
            scatter = whole - weight[:, None, None] * (away[:, :, None] * away[:, None, :])
            mean = np.where(weight[:, None] > 0, away + centers[part, :d], 0.0)
            found[key] = Sums(weight.copy(), mean, scatter)
            place += size
        return found


def joint_codes(parts: Iterable[Integers]) -> Integers:
    """A number for each different row of some columns of codes, none negative."""
    found, n_codes = np.zeros(0, np.int64), 1
    for part in parts:
        codes = part.astype(np.int64, copy=False)
        size = int(codes.max(initial=0)) + 1
        found = codes if not found.size else found * size + codes
        n_codes *= size
        if n_codes > len(codes) + 2**20:
            values, found = np.unique(found, return_inverse=True)
            n_codes = len(values)
    return found


def _is_grouped(family: SliceFamily) -> bool:
    """Whether the numbers of a family depend on discrete states."""
    return family.local.parameters.ndim > 1


def _places(names: Iterable[str], among: Sequence[str]) -> Integers:
    """Where each name stands among others, -1 if it does not."""
    return np.array([among.index(n) if n in among else -1 for n in names], np.int64)


def _n_groups(family: SliceFamily) -> int:
    local = family.local
    return local.intercept.size if isinstance(local, LinearGaussian) else 1


def _ends(sizes: Sequence[int]) -> Integers:
    return np.append(0, np.cumsum(sizes)).astype(np.int64)
