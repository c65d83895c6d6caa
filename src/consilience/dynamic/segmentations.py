r"""Sums over all segmentations of sequences.

With the log evidence :math:`e(a, b)` of the steps a to b - 1 of a sequence and the hazard h,

.. math:: F(b) = \log \sum_a \exp\bigl(F(a) + e(a, b) + (b-a-1) \log(1-h) + [a > 0] \log h\bigr),

:math:`F(T)` is the log evidence of all, and with the same sum from the right, :math:`B`, the
probability of a change at t is :math:`h \exp(F(t) + B(t) - F(T))`. Time and memory grow with the
square of the length. The loops of the evidence are in ``kernels/segments.py``.

References
----------
P. Fearnhead (2006). Exact and efficient Bayesian inference for multiple changepoint problems.
Statistics and Computing 16.
M. Grzegorczyk, D. Husmeier (2011). Non-homogeneous dynamic Bayesian networks for continuous data.
Machine Learning 83.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers
from consilience.data.table import Table
from consilience.dynamic.change_choices import ChangePoints, SegmentPrior
from consilience.errors import InputError
from consilience.kernels.segments import regression_segments, table_segments
from consilience.statistics.family import Family

__all__ = ["FamilyRows", "Segmented", "segmented"]


class Segmented(NamedTuple):
    """The answers of one sequence: probability of a change at each step, log evidence of all
    segmentations and of the one without a change, and where the most probable segments start.
    """

    probability: Floats
    log_evidence: float
    log_evidence_none: float
    starts: tuple[int, ...]


class FamilyRows(NamedTuple):
    """The rows of a family in the order of time: values of parents and child, joint states.

    ``n_states`` is that of a discrete child, or 0. ``group`` is -1 in rows that lack a value.
    """

    x: Floats
    y: Column
    group: Integers
    n_groups: int
    n_states: int

    @classmethod
    def of(cls, family: Family, table: Table) -> FamilyRows:
        """The rows of a family in a table in the order of time; the source says nothing, since it
        does not change in a sequence.
        """
        parents = [name for name in family.parents if name != table.source]
        names = [*parents, family.child]
        child = table.variables[family.child]
        lacks = np.zeros(table.n_rows, bool)
        group, n_groups = np.zeros(table.n_rows, np.int64), 1
        columns = [np.ones(table.n_rows)]
        for name in names:
            column, variable = table.column(name), table.variables[name]
            lacks |= np.isnan(column) if variable.is_continuous else column < 0
            if name == family.child:
                continue
            if variable.is_continuous:
                columns.append(column)
            else:
                group = group * variable.n_states + column
                n_groups *= variable.n_states
        if not child.is_continuous and len(columns) > 1:
            raise InputError(
                f"change points: {family.child!r} is discrete and has a continuous parent, whose "
                "evidence has no closed form. Discretize the parent or turn the arc around.",
                variable=family.child,
            )
        group[lacks] = -1
        y = table.column(family.child).astype(np.float64 if child.is_continuous else np.int64)
        n_states = 0 if child.is_continuous else child.n_states
        return cls(np.stack(columns, axis=1), y, group, n_groups, n_states)

    @property
    def n_complete(self) -> int:
        """Rows that have all values."""
        return int((self.group >= 0).sum())

    def add_evidence(self, rows: slice, prior: SegmentPrior, evidence: Floats) -> None:
        """Add the log evidence of all segments of some rows, shape (rows, rows + 1)."""
        if self.n_states:
            cell = prior.ess / (self.n_groups * self.n_states)
            table_segments(
                self.y[rows], self.group[rows], self.n_groups, self.n_states, cell, evidence
            )
            return
        p = self.x.shape[1]
        mean, precision = np.zeros(p), np.full(p, prior.slope_precision)
        mean[0], precision[0] = prior.mean, prior.precision
        regression_segments(
            np.ascontiguousarray(self.x[rows]),
            self.y[rows],
            self.group[rows],
            self.n_groups,
            mean,
            1.0 / precision,
            prior.shape,
            prior.scale,
            evidence,
        )


def segmented(
    families: Sequence[FamilyRows], rows: slice, choice: ChangePoints, *, memory_limit: float
) -> Segmented:
    """All segmentations of a sequence, in which the parameters of some families change together."""
    n = rows.stop - rows.start
    _check.memory(
        f"the evidence of all segments of {n:,} steps",
        8.0 * n * (n + 1),
        memory_limit,
        "Use shorter sequences or raise memory_limit.",
    )
    evidence = np.zeros((n, n + 1))
    for one in families:
        one.add_evidence(rows, choice.prior, evidence)
    change, stay = np.log(choice.hazard), np.log1p(-choice.hazard)
    a, b = np.arange(n)[:, None], np.arange(n + 1)[None, :]
    whole = evidence + (b - a - 1) * stay + np.where(a > 0, change, 0.0)
    ahead, back, best = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    came = np.zeros(n + 1, np.int64)
    for stop in range(1, n + 1):
        ahead[stop] = np.logaddexp.reduce(ahead[:stop] + whole[:stop, stop])
        ways = best[:stop] + whole[:stop, stop]
        came[stop] = ways.argmax()
        best[stop] = ways[came[stop]]
    for start in range(n - 1, 0, -1):
        back[start] = np.logaddexp.reduce(whole[start, start + 1 :] + back[start + 1 :])
    probability = np.zeros(n)
    probability[1:] = np.exp(ahead[1:n] + back[1:n] - ahead[n])
    none = float(evidence[0, n] + (n - 1) * stay) if n else 0.0
    return Segmented(probability, float(ahead[n]), none, _starts(came, n))


def _starts(came: Integers, n: int) -> tuple[int, ...]:
    found, stop = [], n
    while stop > 0:
        stop = int(came[stop])
        found.append(stop)
    return tuple(reversed(found))
