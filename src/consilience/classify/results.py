r"""The record of a cross-evaluation, its summaries, and how they are shown.

A contestant (a structure with an estimator; the class prior is one too) has a value of a measure
for each split. Its mean :math:`\bar v` has the standard error :math:`\mathrm{sd}(v_i) / \sqrt n`;
the difference to the best contestant, split by split, has one of its own, which is smaller because
splits that are hard are hard for both. Training sets of folds overlap, so these errors are a guide,
not a test.

By source, a measure is the mean over the splits in which the source was tested, by its rows there.
The worst source and the gap between the best and the worst follow from these.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.classify.cells import Cell
from consilience.classify.evaluation import (
    ABOUT_POSITIVE,
    HEADINGS,
    LOWER_IS_BETTER,
    CalibrationCurve,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLASS_PRIOR", "MEASURES", "CrossEvaluation", "Result", "Summary"]

MEASURES: Final = {**HEADINGS, "log_likelihood": "log-likelihood"}
"""The measures and their headings."""

CLASS_PRIOR = "class prior"
"""The contestant that looks at no feature; it has no structure."""

N_BINS = 10


@dataclass(frozen=True, slots=True)
class Result:
    """One number: a measure of one contestant on one split, overall or of one source.

    ``source`` is None for all test rows together; ``size`` is the number of training rows.
    """

    structure: str
    estimator: str
    split: str
    size: int
    source: str | None
    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class Summary:
    """A measure of one contestant over all splits of one size.

    Parameters
    ----------
    structure, estimator
        The contestant.
    size
        Number of training rows in a learning curve; None for other splits.
    measure, mean, error
        The measure, its mean over the splits and the standard error of that; None for one split.
    n_splits
        Number of splits.
    worst, worst_value, gap
        The source that is worst off, its value, and the difference between the best and the worst
        source; None without sources.
    behind, behind_error
        By how much it is worse than the best contestant, split by split, with its standard error;
        0 for the best itself.
    """

    structure: str
    estimator: str
    size: int | None
    measure: str
    mean: float
    error: float | None
    n_splits: int
    worst: str | None
    worst_value: float | None
    gap: float | None
    behind: float | None
    behind_error: float | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CrossEvaluation:
    """How good contestants are on rows that they did not learn from; ``str`` gives the tables.

    Parameters
    ----------
    target, positive
        The class, and the state that precision, recall and F1 are about.
    splits
        The choice of splits, in words.
    by_size
        Whether sizes of training sets are told apart, as in a learning curve.
    cells
        What each contestant made of each split.
    n_cells
        Number of cells that were asked for; more than there are after an interrupt.
    n_resumed
        Number of cells that were found in the file of an earlier run.
    """

    target: str
    positive: str | None
    splits: str
    by_size: bool
    cells: tuple[Cell, ...]
    n_cells: int
    n_resumed: int

    @property
    def stopped_by(self) -> str:
        """``"end"``, or ``"interrupt"`` if cells are missing."""
        return "end" if len(self.cells) == self.n_cells else "interrupt"

    @property
    def contestants(self) -> tuple[tuple[str, str], ...]:
        """Structure and estimator of each contestant; the class prior has no structure."""
        return tuple(dict.fromkeys((cell.structure, cell.estimator) for cell in self.cells))

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The sizes that are told apart; None for all together."""
        return tuple(sorted({cell.size for cell in self.cells})) if self.by_size else (None,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that were tested."""
        names = (part.source for cell in self.cells for part in cell.parts)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that can be had; without a positive state not all."""
        wanted = MEASURES if self.positive is not None else MEASURES.keys() - ABOUT_POSITIVE
        return tuple(name for name in MEASURES if name in wanted)

    @property
    def results(self) -> tuple[Result, ...]:
        """All numbers, one at a time."""
        return tuple(
            Result(cell.structure, cell.estimator, cell.split, cell.size, part.source, name, value)
            for cell in self.cells
            for part in cell.parts
            for name, value in part.measures.items()
        )

    def summary(self, measure: str) -> tuple[Summary, ...]:
        """One line a contestant and size."""
        _check.known("measure", [measure], MEASURES)
        lines = []
        for size in self.sizes:
            values = {who: self._values(who, size, measure) for who in self.contestants}
            known = {who: found for who, found in values.items() if found}
            best = _best(measure, known)
            lines += [self._line(who, size, measure, known[who], known[best]) for who in known]
        return tuple(lines)

    def by_source(
        self, contestant: tuple[str, str], measure: str, size: int | None = None
    ) -> dict[str, float]:
        """The measure of each source, the mean over its splits by its rows there."""
        found: dict[str, list[tuple[float, float]]] = {}
        for cell in self._cells_of(contestant, size):
            for part in cell.parts:
                if part.source is not None and measure in part.measures:
                    found.setdefault(part.source, []).append((part.measures[measure], part.n_rows))
        return {source: _weighted_mean(pairs) for source, pairs in sorted(found.items())}

    def curve(self, contestant: tuple[str, str], size: int | None = None) -> CalibrationCurve:
        """The calibration curve of a contestant over all splits, in ten bins of equal weight."""
        return _merged([cell.curve for cell in self._cells_of(contestant, size)])

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with one row a result."""
        pandas = _check.extra("pandas", "pandas", "CrossEvaluation.to_frame")
        columns = [field.name for field in fields(Result)]
        rows = [[getattr(result, name) for name in columns] for result in self.results]
        return pandas.DataFrame(rows, columns=columns)

    def to_csv(self, path: str | Path) -> None:
        """Write one line a result; the source of all rows together is empty."""
        _write_csv(path, Result, self.results)

    def summary_to_csv(self, path: str | Path) -> None:
        """Write one line a contestant, size and measure."""
        _write_csv(path, Summary, [line for name in self.measures for line in self.summary(name)])

    def __str__(self) -> str:
        from consilience.classify.tables import text_of

        return text_of(self)

    def __repr__(self) -> str:
        missing = "" if self.stopped_by == "end" else f" of {self.n_cells}"
        return (
            f"CrossEvaluation({len(self.contestants)} contestants, {self.splits}, "
            f"{len(self.cells)}{missing} cells)"
        )

    def _cells_of(self, contestant: tuple[str, str], size: int | None) -> Iterator[Cell]:
        for cell in self.cells:
            is_of_size = size is None or cell.size == size
            if (cell.structure, cell.estimator) == contestant and is_of_size:
                yield cell

    def _values(
        self, contestant: tuple[str, str], size: int | None, measure: str
    ) -> dict[tuple[str, int], float]:
        """The overall measure of each split in which it is defined."""
        return {
            (cell.split, cell.size): cell.parts[0].measures[measure]
            for cell in self._cells_of(contestant, size)
            if measure in cell.parts[0].measures
        }

    def _line(
        self,
        contestant: tuple[str, str],
        size: int | None,
        measure: str,
        values: dict[tuple[str, int], float],
        best: dict[tuple[str, int], float],
    ) -> Summary:
        mean, error = _mean_and_error(list(values.values()))
        sign = 1.0 if measure in LOWER_IS_BETTER else -1.0
        pairs = [(values[split], best[split]) for split in values if split in best]
        losses = [0.0 if mine == other else sign * (mine - other) for mine, other in pairs]
        behind, behind_error = _mean_and_error(losses) if losses else (None, None)
        of_sources = self.by_source(contestant, measure, size)
        worst = _worst(measure, of_sources)
        gap = _spread(list(of_sources.values()))
        return Summary(
            *contestant,
            size,
            measure,
            mean,
            error,
            len(values),
            worst,
            None if worst is None else of_sources[worst],
            gap,
            behind,
            behind_error,
        )


def _is_better(measure: str, one: float, other: float) -> bool:
    """Whether one value of a measure is better than another."""
    return one < other if measure in LOWER_IS_BETTER else one > other


def _best(measure: str, values: dict[Any, dict[Any, float]]) -> Any:
    """The contestant with the best mean, the first of several; None if there is none."""
    best = None
    for who, found in values.items():
        if best is None or _is_better(measure, _mean(found), _mean(values[best])):
            best = who
    return best


def _mean(values: dict[Any, float]) -> float:
    return float(np.mean(list(values.values())))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    mean = float(np.mean(values))
    if len(values) < 2 or not math.isfinite(mean):
        return mean, None
    return mean, float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    values, weights = np.array(pairs).T
    return float(values @ (weights / weights.sum()))


def _worst(measure: str, values: dict[str, float]) -> str | None:
    worst: str | None = None
    for source, value in values.items():
        if worst is None or _is_better(measure, values[worst], value):
            worst = source
    return worst


def _spread(values: Sequence[float]) -> float | None:
    if not values:
        return None
    low, high = min(values), max(values)
    return 0.0 if low == high else high - low  # infinity less infinity would be NaN


def _merged(curves: Sequence[CalibrationCurve]) -> CalibrationCurve:
    """Bins of several curves in order of probability, joined into ten of about equal weight."""
    predicted, observed, n_rows = (
        np.concatenate([getattr(curve, name) for curve in curves])
        for name in ("predicted", "observed", "n_rows")
    )
    order = np.argsort(predicted, kind="stable")
    weight: Floats = n_rows[order]
    middle = np.cumsum(weight) - weight / 2
    bins = np.minimum(middle / weight.sum() * N_BINS, N_BINS - 1).astype(np.int64)
    _, bins = np.unique(bins, return_inverse=True)
    total = np.bincount(bins, weight).astype(np.float64)
    return CalibrationCurve(
        np.bincount(bins, weight * predicted[order]) / total,
        np.bincount(bins, weight * observed[order]) / total,
        total,
    )


def _write_csv(path: str | Path, kind: type, rows: Iterable[Any]) -> None:
    """One line a record, one column a field."""
    names = [field.name for field in fields(kind)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows)
