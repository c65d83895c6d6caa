r"""Rows whose missing values hang together in large sets, where the whole tree is too large.

What a row knows cuts the tree (:mod:`consilience.inference.cutting`): with :math:`K` its known
nodes, a family f has in this row the table

.. math:: \theta_f \big|_{x_K = e_K}

over its other nodes, and the expected counts of these stand at the known states. So each row has a
tree of its own, which is compiled once; a round puts in the numbers of its tables. One tree for all
rows (:mod:`consilience.inference.large_cases`) is quicker and is used where it fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.inference.cutting import Cut
from consilience.inference.evidence import Scope
from consilience.inference.groups import Batch
from consilience.inference.large_cases import barren_nodes
from consilience.inference.layout import Layout
from consilience.inference.normal_cases import NormalCases
from consilience.inference.traceback import draw_rows
from consilience.inference.whole_sums import WholeSums
from consilience.network.network import Network

__all__ = ["CutCases"]

Place: TypeAlias = tuple[int | slice, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A row with a tree of what it does not know.

    ``places`` has for each family where its cells are in the table, at the known states; ``sets``
    for each scope where its likelihoods are, shape (states...); ``barren`` are the nodes of which
    neither the value nor that of any descendant is known.
    """

    weight: int
    places: Mapping[str, Place]
    batch: Batch
    sets: Mapping[Scope, Integers]
    barren: frozenset[str]

    def with_numbers(self, tables: Mapping[str, Floats], cells: Floats) -> tuple[Batch, float]:
        """The row under other tables, and the log of those of which it knows everything."""
        own = {name: tables[name][place] for name, place in self.places.items()}
        free, likelihoods = self.batch.tree.tables, self._likelihoods(cells)
        sure = [float(one) for name, one in own.items() if name not in free]
        log_sure = sum(map(math.log, sure)) if all(p > 0 for p in sure) else -math.inf
        return self.batch.with_tables({name: own[name] for name in free}, likelihoods), log_sure

    def _likelihoods(self, cells: Floats) -> dict[Scope, Floats]:
        return {scope: cells[where][..., np.newaxis] for scope, where in self.sets.items()}


@dataclass(frozen=True, slots=True, eq=False)
class CutCases:
    """Rows with a tree of their own each."""

    net: Network
    rows: tuple[_Row, ...]

    @classmethod
    def of(
        cls,
        net: Network,
        codes: npt.NDArray[np.int32],
        weights: Integers,
        normal: NormalCases,
        *,
        places: Integers,
        keeps_barren: bool,
        memory_limit: float,
    ) -> CutCases:
        """Compile a tree for each row of codes; ``places`` are theirs among all rows."""
        is_barren = np.zeros(codes.shape, bool)
        if not keeps_barren:
            is_barren = barren_nodes(net, codes, normal, places)
        names, held, rows = list(net.tables), 0.0, []
        each = zip(codes, weights, _sets(net, normal, places), is_barren, strict=True)
        for row, weight, own, barren in each:
            known = {name: int(code) for name, code in zip(names, row, strict=True) if code >= 0}
            cut = Cut.of(net, known)
            held += cut.shape(tuple(own)).cost.bytes
            advice = "Use fewer rows, or raise memory_limit."
            _check.memory("the trees of the incomplete rows", held, memory_limit, advice)
            tree = cut.tree(tuple(own), memory_limit)
            cells = {n: _place(known, (*one.parents, n)) for n, one in net.tables.items()}
            hidden = frozenset(name for name, is_one in zip(names, barren, strict=True) if is_one)
            rows.append(_Row(int(weight), cells, Batch(tree, {}, 1), own, hidden))
        return cls(net, tuple(rows))

    def expect(self, layout: Layout, numbers: Floats, sums: WholeSums) -> WholeSums:
        """The sums with the expected counts of these rows, and their log-likelihood.

        Counts and numbers are of the cells of tables and then of those of likelihoods.
        """
        n_cells = int(layout.first[-1])
        tables = layout.split(numbers[:n_cells])
        found = [layout.split(digits[:n_cells]) for digits in sums.counts]
        normalised = layout.normalised(numbers[:n_cells])
        logs = np.empty(len(self.rows))
        for r, row in enumerate(self.rows):
            batch, log_sure = row.with_numbers(tables, numbers[n_cells:])
            beliefs = {scope: np.empty_like(one) for scope, one in batch.likelihoods.items()}
            weight = np.array([row.weight], np.int64)
            shares, log_evidence = batch.expected_sums(weight, sums.dot, beliefs)
            logs[r] = log_evidence[0] + log_sure
            if not row.weight or logs[r] == -np.inf:
                continue
            each = batch.by_family(shares)
            alone = sums.times(np.ones(1), weight)
            for name, place in row.places.items():
                if name not in row.barren or name not in normalised:
                    for digits, more in zip(found, each.get(name, alone), strict=True):
                        digits[name][place] += more if name in each else more[0]
            for scope, where in row.sets.items():
                share = sums.times(beliefs[scope], weight)[..., 0]
                sums.counts[:, n_cells + where] += share
        return sums.with_logs(logs, np.array([row.weight for row in self.rows], np.int64))

    def draw(
        self, layout: Layout, numbers: Floats, counts: Floats, rng: np.random.Generator
    ) -> None:
        """Add the counts of one random completion of each of these rows to a vector."""
        n_cells = int(layout.first[-1])
        tables, found = layout.split(numbers[:n_cells]), layout.split(counts[:n_cells])
        for row in self.rows:
            batch, _ = row.with_numbers(tables, numbers[n_cells:])
            codes = draw_rows(batch, np.zeros(row.weight, np.int64), rng)
            drawn = {name: codes[:, v] for name, v in batch.tree.index.items()}
            for name, place in row.places.items():
                if name not in row.barren:
                    axes = (*self.net.tables[name].parents, name)
                    at: Any = tuple(drawn.get(n, one) for n, one in zip(axes, place, strict=True))
                    np.add.at(found[name], at, 1.0 if name in batch.tree.tables else len(codes))
            for scope, where in row.sets.items():
                np.add.at(counts, n_cells + where[tuple(drawn[name] for name in scope)], 1.0)


def _place(known: Mapping[str, int], axes: Scope) -> Place:
    return tuple(known.get(axis, slice(None)) for axis in axes)


def _sets(net: Network, normal: NormalCases, places: Integers) -> Iterator[dict[Scope, Integers]]:
    """For each of these rows, by scope, where the likelihoods are among the cells."""
    shapes = [tuple(net.variables[name].n_states for name in scope) for scope in normal.scopes]
    for first in normal.first_cell[places].tolist():
        yield {
            scope: start + np.arange(math.prod(shape)).reshape(shape)
            for scope, shape, start in zip(normal.scopes, shapes, first, strict=True)
            if start >= 0
        }
