r"""Are values missing completely at random? What the recorded values can tell, and what not.

If gaps fall completely at random (MCAR), then whether :math:`x` is missing, :math:`M_x`, is
independent of everything that is recorded. For each variable :math:`x` with gaps this is put to the
test against

- every other variable :math:`y`, over the rows that have :math:`y`: likelihood ratio
  :math:`G = 2 \sum N_{mk} \log (N_{mk} / E_{mk})` with Williams' correction, summed over the
  sources (so that a column that one hospital never measured is not held against the others), states
  taken together until each is expected five times in both groups;
- the source itself, if there are several;
- a network, if one is given: the mean of :math:`P(x \mid \text{rest of the row})` over the rows
  that lack :math:`x` against that over the rows that have it, by Hotelling's test. Under MCAR the
  two are equal whatever else the rows lack, and their difference is the bias that leaving rows out
  would bring.

P-values are corrected for their number (Holm 1979). A rejection says that values are *not* missing
completely at random: methods that leave rows out are then biased, those that use what is recorded
(EM, data augmentation) need not be. Whether gaps depend on the lost values themselves (MNAR) cannot
be seen in any table: two mechanisms, one MAR and one MNAR, can give the same recorded values.

References
----------
R. Little (1988). A test of missing completely at random. Journal of the American Statistical
Association 83. D. Williams (1976). Improved likelihood ratio tests. Biometrika 63.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc, fdtrc

from consilience import _check
from consilience._typing import Bools, Floats, Integers
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.network.network import Network

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GapAssessment", "GapTest", "assess_gaps"]

EXPECTED = 5.0  # rows, in each group, from which on the chi-square distribution can be trusted
N_PARTS = 4  # of the values of a continuous variable
NETWORK = "its prediction by the network"
FLAT = 1e-10  # share of the largest variance below which a direction has none


@dataclass(frozen=True, slots=True)
class GapTest:
    """One test: do the gaps of a variable depend on something that is recorded?

    Attributes
    ----------
    variable
        The variable with gaps.
    against
        The other variable, the source, or ``"its prediction by the network"``.
    statistic
        G, or Hotelling's F for a prediction.
    degrees_of_freedom
        Of the chi-square distribution, or the first ones of F; 0 if too few rows tell anything.
    p_value, adjusted
        By itself, and corrected for the number of tests.
    """

    variable: str
    against: str
    statistic: float
    degrees_of_freedom: int
    p_value: float
    adjusted: float = 1.0


@dataclass(frozen=True, slots=True)
class GapAssessment:
    """All tests of gaps that fall completely at random, the clearest first.

    Attributes
    ----------
    tests
        By rising p-value.
    level
        The chance of any false rejection, if all gaps fall completely at random.
    incomplete
        The variables that some rows have and others lack.
    unmeasured
        The variables that no row has a value of; there is nothing to compare their gaps with.
    """

    tests: tuple[GapTest, ...]
    level: float
    incomplete: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def rejected(self) -> tuple[GapTest, ...]:
        """The tests that say that gaps depend on something recorded."""
        return tuple(test for test in self.tests if test.adjusted <= self.level)

    @property
    def is_mcar(self) -> bool:
        """Whether nothing speaks against gaps completely at random; no proof that they do."""
        return not self.rejected

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, one row per test."""
        pandas = _check.extra("pandas", "pandas", "GapAssessment.to_frame")
        names = GapTest.__slots__
        return pandas.DataFrame({n: [getattr(t, n) for t in self.tests] for n in names})

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __str__(self) -> str:
        if not (self.tests or self.incomplete or self.unmeasured):
            return "There are no gaps."
        n = len(self.tests)
        if not (self.tests or self.incomplete):
            head = "There are no other gaps, and nothing to test."
        elif self.is_mcar:
            head = f"Nothing in {n} tests speaks against gaps completely at random (MCAR)."
        else:
            head = f"Not missing completely at random: {len(self.rejected)} of {n} tests say so."
        lines = [
            f"  gaps of {test.variable!r} depend on {_what(test.against)} (p {test.adjusted:.2g})"
            for test in self.rejected[:12]
        ]
        if len(self.rejected) > 12:
            lines.append(f"  and {len(self.rejected) - 12} more")
        tail = "Whether gaps depend on the lost values themselves (MNAR) cannot be tested."
        empty = [f"No row has a value of {_check.listed(self.unmeasured)}."]
        return "\n".join([*(empty if self.unmeasured else ()), head, *lines, tail])


def assess_gaps(table: Rows, net: Network | None = None, *, level: float = 0.05) -> GapAssessment:
    """Tests of gaps completely at random (MCAR) against gaps that recorded values explain (MAR).

    Parameters
    ----------
    table
        Rows with gaps: a table, a frame or a path.
    net
        A network of the same variables, fitted to these rows by EM or data augmentation; adds for
        each variable one test directed at what matters, the bias of its distribution.
    level
        The chance of any false rejection.

    Raises
    ------
    InputError
        If the network has no variable of the table.
    DataError
        If there are no rows, or none with a positive weight.

    Examples
    --------
    >>> import consilience as cs
    >>> sick, test = ["yes"] * 40 + ["no"] * 40, ["+"] * 20 + ["-"] * 20 + [None] * 30 + ["-"] * 10
    >>> print(assess_gaps(cs.read({"sick": sick, "test": test})))
    Not missing completely at random: 1 of 1 tests say so.
      gaps of 'test' depend on 'sick' (p 1.1e-14)
    Whether gaps depend on the lost values themselves (MNAR) cannot be tested.
    """
    table = as_table(table)
    _check_table(table)
    _check_network(table, net)
    if not (isinstance(level, float | np.floating) and 0 < level < 1):
        raise InputError(
            f"assess_gaps: level must lie between 0 and 1, got {level!r}.", parameter="level"
        )
    rows = _Rows.of(table)
    tests = sorted(_tests(rows, net), key=lambda test: test.p_value)
    return GapAssessment(tuple(_holm(tests)), float(level), rows.incomplete, rows.unmeasured)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What the tests need of a table: gaps, states, sources and weights."""

    table: Table
    gaps: dict[str, Bools]
    sources: Integers
    weights: Floats

    @classmethod
    def of(cls, table: Table) -> _Rows:
        gaps = {
            name: np.isnan(column) if table.variables[name].is_continuous else column < 0
            for name, column in table.columns.items()
        }
        n_rows, codes = table.n_rows, table.source_codes
        return cls(
            table,
            gaps,
            np.zeros(n_rows, np.int64) if codes is None else codes.astype(np.int64),
            np.ones(n_rows) if table.weights is None else table.weights.astype(np.float64),
        )

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The variables that some rows have and others lack; rows of weight zero do not count."""
        counted = self.weights > 0
        n_rows = int(counted.sum())
        return tuple(x for x, gap in self.gaps.items() if 0 < gap[counted].sum() < n_rows)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The variables that no row has a value of."""
        return tuple(x for x, gap in self.gaps.items() if gap[self.weights > 0].all())

    def states(self, name: str) -> Integers:
        """Codes of a column, -1 for gaps; of a continuous one the quarter of its known values."""
        column = self.table.columns[name]
        if not self.table.variables[name].is_continuous:
            return column.astype(np.int64)
        known = column[~self.gaps[name]]
        parts = np.arange(1, N_PARTS) / N_PARTS
        cuts = np.unique(np.quantile(known, parts)) if known.size else np.empty(0)
        return np.where(self.gaps[name], -1, np.searchsorted(cuts, column, side="right"))


def _check_table(table: Table) -> None:
    if table.n_rows == 0:
        raise DataError("gaps cannot be assessed in a table without rows.")
    if table.total_weight == 0:
        raise DataError(
            f"gaps cannot be assessed in {table.n_rows:,} rows that all have the weight 0. Some "
            "row must have a positive weight."
        )


def _check_network(table: Table, net: Network | None) -> None:
    if net is None:
        return
    if not isinstance(net, Network):
        raise InputError(
            "assess_gaps: net must be a Network of the table's variables, or None, got a "
            f"{type(net).__name__}.",
            parameter="net",
        )
    if not set(net.variables) & set(table.variables):
        raise InputError(
            "assess_gaps: net must have variables of the table, but its nodes "
            f"{_check.listed(net.variables)} are none of {_check.listed(table.variables)}.",
            parameter="net",
        )


def _tests(rows: _Rows, net: Network | None) -> Iterator[GapTest]:
    everywhere = np.zeros(rows.table.n_rows, np.int64)
    for x in rows.incomplete:
        if len(rows.table.sources) > 1:
            yield _independence(rows, x, str(rows.table.source), rows.sources, strata=everywhere)
        for y in rows.table.variables:
            if y != x:
                yield _independence(rows, x, y, rows.states(y), strata=rows.sources)
        if net is not None and x in net.variables and not net.variables[x].is_continuous:
            yield _prediction(rows, x, net)


def _independence(rows: _Rows, x: str, y: str, states: Integers, *, strata: Integers) -> GapTest:
    """G of the gaps of x and the states of y, summed over strata."""
    known = states >= 0
    shape = (int(strata.max(initial=0)) + 1, 2, int(states.max(initial=0)) + 1)
    place = np.ravel_multi_index(
        (strata[known], rows.gaps[x][known].astype(np.int64), states[known]), shape
    )
    counts: Floats = np.bincount(place, rows.weights[known], int(np.prod(shape))).astype(float)
    parts = [_corrected_g(one) for one in counts.reshape(shape)]
    g, degrees = sum(part[0] for part in parts), sum(part[1] for part in parts)
    p_value = float(chdtrc(degrees, g)) if degrees else 1.0
    return GapTest(x, y, float(g), degrees, p_value)


def _corrected_g(counts: Floats) -> tuple[float, int]:
    """G of a table of two rows and its degrees of freedom, rare states taken together."""
    group, total = counts.sum(axis=1), float(counts.sum())
    if total == 0 or group.min() == 0:
        return 0.0, 0
    parts = _grouped(counts.sum(axis=0) * group.min() / total)
    if len(parts) < 2:
        return 0.0, 0
    table = np.stack([counts[:, part].sum(axis=1) for part in parts], axis=1)
    column = table.sum(axis=0)
    expected = np.outer(group, column) / total
    logs = np.log(np.where(table > 0, table, expected) / expected)
    degrees = len(parts) - 1
    spread = (total * (1 / group).sum() - 1) * (total * (1 / column).sum() - 1)
    return 2 * float((table * logs).sum()) / (1 + spread / (6 * total * degrees)), degrees


def _grouped(expected: Floats) -> list[list[int]]:
    """States by themselves where enough are expected, the others together."""
    order = np.argsort(-expected, kind="stable")
    parts = [[int(k)] for k in order if expected[k] >= EXPECTED]
    rare = [int(k) for k in order if 0 < expected[k] < EXPECTED]
    if rare and expected[rare].sum() >= EXPECTED:
        parts.append(rare)
    elif rare and parts:
        parts[-1] += rare
    return parts


def _prediction(rows: _Rows, x: str, net: Network) -> GapTest:
    """Hotelling's test of the mean prediction of x in rows that lack it and in rows that do not."""
    predicted = net.posteriors(rows.table, x)
    found = [
        _hotelling(predicted[here], rows.gaps[x][here], rows.weights[here])
        for f in np.unique(rows.sources[rows.weights > 0])
        for here in [(rows.sources == f) & (rows.weights > 0)]
    ]
    informed = [one for one in found if one[1]]
    if not informed:
        return GapTest(x, NETWORK, 0.0, 0, 1.0)
    statistic, degrees, p_values = zip(*informed, strict=True)
    if len(informed) == 1:
        return GapTest(x, NETWORK, statistic[0], degrees[0], p_values[0])
    log_sum = -2 * float(np.log(np.maximum(p_values, 1e-300)).sum())  # Fisher's, over the sources
    return GapTest(
        x, NETWORK, log_sum, 2 * len(informed), float(chdtrc(2 * len(informed), log_sum))
    )


def _hotelling(values: Floats, is_missing: Bools, weights: Floats) -> tuple[float, int, float]:
    """F, its first degrees of freedom and its p-value; unequal covariances."""
    groups = [(values[mask], weights[mask]) for mask in (is_missing, ~is_missing)]
    smaller = min(float(weight.sum()) for _, weight in groups)
    parts = _grouped(np.average(values, axis=0, weights=weights) * smaller)
    if len(parts) < 2:
        return 0.0, 0, 1.0
    means, covariance = [], np.zeros((len(parts) - 1,) * 2)
    for points, weight in groups:
        scores = np.stack([points[:, part].sum(axis=1) for part in parts[1:]], axis=1)
        mean = np.average(scores, axis=0, weights=weight)
        off = scores - mean
        covariance += (off * weight[:, None]).T @ off / (weight.sum() * (weight.sum() - 1))
        means.append(mean)
    size, axes = np.linalg.eigh(covariance)
    is_open = size > max(FLAT * size.max(initial=0.0), 1e-20)
    degrees, left = int(is_open.sum()), smaller - 1
    if degrees == 0 or left < degrees + 1:
        return 0.0, 0, 1.0
    along = (axes.T @ (means[0] - means[1]))[is_open]
    f = float((along**2 / size[is_open]).sum()) * (left - degrees + 1) / (left * degrees)
    return f, degrees, float(fdtrc(degrees, left - degrees + 1, f))


def _holm(tests: Sequence[GapTest]) -> list[GapTest]:
    """The tests, by rising p-value, with p-values corrected for their number."""
    n_informed = sum(test.degrees_of_freedom > 0 for test in tests)
    adjusted, largest = [], 0.0
    for rank, test in enumerate(tests):
        if test.degrees_of_freedom:
            largest = max(largest, min(1.0, test.p_value * (n_informed - rank)))
        adjusted.append(replace(test, adjusted=largest if test.degrees_of_freedom else 1.0))
    return adjusted


def _what(against: str) -> str:
    return against if against == NETWORK else repr(against)
