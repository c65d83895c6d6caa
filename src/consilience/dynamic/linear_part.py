"""The linear Gaussian part of a network in time, prepared once for one panel and any numbers.

It has the continuous nodes that are missing somewhere, and those with such a parent. Their discrete
parents are known in every row; a family that has an open discrete parent as well is *mixed*, and
refused before this stage unless it is a likelihood of what is known. The loops are in
``kernels/kalman.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions import LinearGaussian
from consilience.dynamic.evidence_in_time import SequenceEvidence
from consilience.dynamic.frontier import given_offset
from consilience.dynamic.moments_in_time import Sums
from consilience.dynamic.slices import SliceFamily, TimedNode
from consilience.errors import ModelError
from consilience.kernels.kalman import Additions, RowNumbers, filter_rows, smooth_rows

__all__ = ["Gaussians", "LinearPart", "continuous_columns"]


class Gaussians(NamedTuple):
    """What each row adds to the log-likelihood; mean and sd of the open variables; sums."""

    log_likelihood: Floats
    mean: dict[str, Floats]
    sd: dict[str, Floats]
    sums: dict[str, Sums]


class _Node(NamedTuple):
    """A node that a slice adds: its family, or None for a value that is only given."""

    child: str
    family: SliceFamily | None
    size: int
    parents: tuple[int, ...]
    kept: tuple[int, ...]
    columns: tuple[int, ...]


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
    """

    def __init__(
        self,
        families: Sequence[Sequence[SliceFamily]],
        given: Sequence[Sequence[str]],
        names: Sequence[str],
        evidence: SequenceEvidence,
        *,
        memory_limit: float,
    ) -> None:
        self.names, self.evidence = tuple(names), evidence
        self._order = len(families) - 1
        self._depth = {
            name: max(
                (p.lag for kind in families for f in kind for p in f.parents if p.name == name),
                default=0,
            )
            for name in names
        }
        every = [self._nodes(k, *pair) for k, pair in enumerate(zip(families, given, strict=True))]
        self._kinds = every
        self._keys = list(dict.fromkeys(f.key for kind in families for f in kind))
        self._local = {f.key: f for kind in families for f in kind}
        self.additions = self._additions()
        n = evidence.n_rows
        self.width = max([len(self.scope_after(k)) for k in range(self._order + 1)], default=0)
        _check.memory(
            f"the means and covariances of {n:,} rows",
            8.0 * n * (self.width + self.width**2),
            memory_limit,
            "Use fewer open continuous nodes, lags or rows, or raise memory_limit.",
        )
        self._slots = max([len(kind) for kind in every], default=0)
        self._columns = max([sum(len(node.columns) for node in kind) for kind in every], default=0)
        self._most = max([len(node.parents) for kind in every for node in kind], default=0)
        self._fixed = self._known_numbers()

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
        rows = self._numbers(regressions)
        means, covariances, log = self._forward(rows)
        n, n_names = self.evidence.n_rows, len(self.names)
        believed, spread = np.zeros((n, n_names)), np.zeros((n, n_names))
        groups = self._groups(regressions) if wants_sums else {}
        total = sum(groups.values()) + (1 if wants_sums else 0)
        most = max([len(continuous_columns(self._local[key])) for key in self._keys], default=1)
        centers = self._centers(regressions, groups, total, most)
        counts, sums = np.zeros(total), np.zeros((total, most))
        squares = np.zeros((total, most, most))
        smooth_rows(
            self._placed(groups),
            rows,
            self.evidence.first,
            self._order,
            is_filter,
            means,
            covariances,
            self.evidence.weights,
            believed,
            spread,
            centers,
            counts,
            sums,
            squares,
        )
        found = self._sums(groups, counts, sums, squares, centers=centers) if wants_sums else {}
        sd = np.sqrt(spread)
        return Gaussians(
            log,
            {name: believed[:, v] for v, name in enumerate(self.names)},
            {name: sd[:, v] for v, name in enumerate(self.names)},
            found,
        )

    def forward(self, regressions: Mapping[str, LinearGaussian]) -> tuple[Floats, Floats, Floats]:
        """Messages of all rows (means, covariances) and what each adds to the log-likelihood."""
        return self._forward(self._numbers(regressions))

    def _forward(self, rows: RowNumbers) -> tuple[Floats, Floats, Floats]:
        n = self.evidence.n_rows
        means = np.zeros((n, max(self.width, 1)))
        covariances = np.zeros((n, max(self.width, 1), max(self.width, 1)))
        log = np.zeros(n)
        filter_rows(self.additions, rows, self.evidence.first, self._order, means, covariances, log)
        return means, covariances, log

    def _nodes(
        self, k: int, families: Sequence[SliceFamily], given: Iterable[str]
    ) -> tuple[_Node, ...]:
        """The nodes that a kind of slice adds, parents first, and what stays after each."""
        came = (
            self.scope_after(min(k, self._order) - 1)
            if k < self._order
            else (self.scope_after(self._order))
        )
        scope = [TimedNode(node.name, node.lag + 1) for node in came] if k else []
        after = self.scope_after(k)
        waiting: list[SliceFamily | str] = [*given, *families]
        found = []
        while waiting:
            ready = (one for one in waiting if isinstance(one, str) or self._is_ready(one, scope))
            one = next(ready, None)
            if one is None:
                raise ModelError("a slice has a cycle among its continuous nodes.")
            waiting.remove(one)
            child = one if isinstance(one, str) else one.child
            wide = [*scope, TimedNode(child, 0)]
            needed = {p for f in waiting if not isinstance(f, str) for p in f.parents} | set(after)
            kept = list(after) if not waiting else [node for node in wide if node in needed]
            found.append(self._node(child, one, scope, wide, kept=kept))
            scope = kept
        return tuple(found)

    def _node(
        self,
        child: str,
        one: SliceFamily | str,
        scope: Sequence[TimedNode],
        wide: Sequence[TimedNode],
        *,
        kept: Sequence[TimedNode],
    ) -> _Node:
        at = {node: place for place, node in enumerate(wide)}
        places = tuple(at[node] for node in kept)
        if isinstance(one, str):
            return _Node(child, None, len(scope), (), places, ())
        columns = continuous_columns(one)
        parents = tuple(at[node] for node in columns[:-1] if node.name in self.names)
        of_columns = [at[n] if n.name in self.names else -1 for n in columns[:-1]]
        return _Node(child, one, len(scope), parents, places, (*of_columns, len(scope)))

    def _is_ready(self, family: SliceFamily, scope: Sequence[TimedNode]) -> bool:
        return all(node in scope for node in family.parents if node.name in self.names)

    def _additions(self) -> Additions:
        every = [node for kind in self._kinds for node in kind]

        def starts(field: str) -> Integers:
            return np.append(0, np.cumsum([len(getattr(n, field)) for n in every])).astype(np.int64)

        def cells(field: str) -> Integers:
            return np.array([c for node in every for c in getattr(node, field)], np.int64)

        return Additions(
            np.append(0, np.cumsum([len(kind) for kind in self._kinds])).astype(np.int64),
            np.array([node.size for node in every], np.int64),
            starts("parents"),
            cells("parents"),
            starts("kept"),
            cells("kept"),
            starts("columns"),
            cells("columns"),
            np.array(
                [self.names.index(n.child) if n.child in self.names else -1 for n in every],
                np.int64,
            ),
            np.zeros(len(every), np.int64),
        )

    def _placed(self, groups: Mapping[str, int]) -> Additions:
        """The additions with the place of each family's moments."""
        if not groups:
            return self.additions
        starts = dict(zip(groups, np.append(0, np.cumsum(list(groups.values()))), strict=False))
        dump = sum(groups.values())
        every = [node for kind in self._kinds for node in kind]
        place = [dump if n.family is None else starts[n.family.key] for n in every]
        return self.additions._replace(place=np.array(place, np.int64))

    def _kind_rows(self) -> list[Integers]:
        kinds = np.minimum(self.evidence.steps, self._order)
        return [np.flatnonzero(kinds == k) for k in range(self._order + 1)]

    def _known_numbers(self) -> tuple[Floats, Integers, Floats]:
        """Values, joint discrete states and given columns of all rows; no parameters enter."""
        n = self.evidence.n_rows
        y = np.full((n, max(self._slots, 1)), np.nan)
        group = np.zeros((n, max(self._slots, 1)), np.int64)
        known = np.zeros((n, max(self._columns, 1)))
        for rows, kind in zip(self._kind_rows(), self._kinds, strict=True):
            place = 0
            for o, node in enumerate(kind):
                y[rows, o] = self.evidence.values[node.child][rows]
                if node.family is not None:
                    group[rows, o] = given_offset(node.family, self.evidence, rows, ())
                    for c, column in enumerate(continuous_columns(node.family)):
                        if node.columns[c] < 0:
                            values = self.evidence.values[column.name]
                            known[rows, place + c] = values[rows - column.lag]
                place += len(node.columns)
        return y, group, known

    def _numbers(self, regressions: Mapping[str, LinearGaussian]) -> RowNumbers:
        n, slots = self.evidence.n_rows, max(self._slots, 1)
        y, group, known = self._fixed
        base, variance = np.zeros((n, slots)), np.zeros((n, slots))
        slopes = np.zeros((n, slots, max(self._most, 1)))
        for rows, kind in zip(self._kind_rows(), self._kinds, strict=True):
            place = 0
            for o, node in enumerate(kind):
                if node.family is None:  # a value without a law: what is given, without spread
                    base[rows, o] = y[rows, o]
                    continue
                local = regressions[node.family.key]
                states = group[rows, o]
                every = local.coefficients.reshape(local.intercept.size, -1)
                base[rows, o] = local.intercept.ravel()[states]
                variance[rows, o] = local.variance.ravel()[states]
                a = 0
                for c, at in enumerate(node.columns[:-1]):
                    if at < 0:
                        base[rows, o] += every[states, c] * known[rows, place + c]
                    else:
                        slopes[rows, o, a] = every[states, c]
                        a += 1
                place += len(node.columns)
        return RowNumbers(base, slopes, variance, y, group, known)

    def _groups(self, regressions: Mapping[str, LinearGaussian]) -> dict[str, int]:
        return {key: regressions[key].intercept.size for key in self._keys}

    def _centers(
        self,
        regressions: Mapping[str, LinearGaussian],
        groups: Mapping[str, int],
        n: int,
        most: int,
    ) -> Floats:
        """Means of what is known of each column, so that sums of products keep their digits."""
        centers = np.zeros((max(n, 1), most))
        place = 0
        for key, size in groups.items():
            for c, node in enumerate(continuous_columns(self._local[key])):
                column = self.evidence.values[node.name]
                known = column[~np.isnan(column)]
                centers[place : place + size, c] = known.mean() if known.size else 0.0
            place += size
        return centers

    def _sums(
        self,
        groups: Mapping[str, int],
        counts: Floats,
        sums: Floats,
        squares: Floats,
        *,
        centers: Floats,
    ) -> dict[str, Sums]:
        found, place = {}, 0
        for key, size in groups.items():
            d = len(continuous_columns(self._local[key]))
            part = slice(place, place + size)
            weight, total = counts[part], sums[part, :d]
            safe = np.where(weight > 0, weight, 1.0)[:, None]
            away = total / safe
            scatter = squares[part, :d, :d] - weight[:, None, None] * (
                away[:, :, None] * away[:, None, :]
            )
            mean = np.where(weight[:, None] > 0, away + centers[part, :d], 0.0)
            found[key] = Sums(weight.copy(), mean, scatter)
            place += size
        return found
