r"""The record of a cross-evaluation, its summaries, and how they are shown.

A contestant (a structure with an estimator; the class priors are such too) has a value of a
measure for each split. Its mean :math:`\bar v` over :math:`n` splits has the standard error

.. math:: \mathrm{sd}(v_i) \sqrt{\frac 1n + \frac{n_{test}}{n_{train}}}

where the second term, the correction of Nadeau and Bengio (2003), is there for folds: their
training sets overlap, and repeats divide the same rows anew, so that more of them do not make the
error vanish. For sources left out, and for the repeats of a learning curve, it is 0. The difference
to the best contestant, split by split, has an error of the same kind, which is smaller because
splits that are hard are hard for both.

The calibration error is that of all predictions together, from the joined bins of all splits: the
mean of those of single splits, which have few rows a bin, would be too large. It has no error.

The joint log-likelihood is compared only if all graphs have the same nodes. After an interrupt,
only splits that all contestants finished count.

By source, a measure is the mean over the splits in which the source was tested, by its rows there.
The worst source and the gap between the best and the worst follow from these.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from consilience import _check, _freeze, _write
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

__all__ = ["CLASS_PRIOR", "MEASURES", "SOURCE_PRIOR", "CrossEvaluation", "Result", "Summary"]

LOG_LIKELIHOOD: Final = "log_likelihood"
CALIBRATION: Final = "calibration_error"

MEASURES: Final = {**HEADINGS, LOG_LIKELIHOOD: "log-likelihood"}
"""The measures and their headings."""

Values: TypeAlias = dict[tuple[str, int], float]
"""A measure by the name and the size of a split."""

CLASS_PRIOR = "class prior"
"""The contestant that looks at no feature; it has no structure."""

SOURCE_PRIOR = "class prior by source"
"""The contestant that looks at the source alone; it has no structure."""


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
        The measure, its mean over the splits and the standard error of that, for folds the
        corrected one; None for one split. The calibration error is that of all splits together,
        without an error.
    n_splits
        Number of splits that count: those that all contestants finished.
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
    overlap
        Test rows for each training row if the splits divide the same rows anew, else 0: what is
        added to ``1 / n`` in the variance of a mean.
    n_bins
        Number of bins of the calibration curves.
    has_gaps
        Whether values are missing among the rows that were learned from.
    refused
        By structure and estimator, why a contestant could not learn from the rows of some split. It
        has no cells.
    """

    target: str
    positive: str | None
    splits: str
    by_size: bool
    cells: tuple[Cell, ...]
    n_cells: int
    n_resumed: int
    overlap: float = 0.0
    n_bins: int = 10
    has_gaps: bool = False
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def stopped_by(self) -> str:
        """``"end"``, or ``"interrupt"`` if cells are missing."""
        return "end" if len(self.cells) == self.n_cells else "interrupt"

    @property
    def contestants(self) -> tuple[tuple[str, str], ...]:
        """Structure and estimator of each contestant; the class priors have no structure."""
        return tuple(dict.fromkeys((cell.structure, cell.estimator) for cell in self.cells))

    @property
    def finished(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes of the splits that all contestants finished."""
        n_contestants = len(self.contestants)
        n_cells = Counter((cell.split, cell.size) for cell in self.cells)
        return tuple(key for key, n in n_cells.items() if n == n_contestants)

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The sizes that are told apart and finished; None for all together."""
        return tuple(sorted({size for _, size in self.finished})) if self.by_size else (None,)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the summaries should know."""
        found = []
        if self.stopped_by == "interrupt":
            n_splits = len(self.finished)
            word = "split" if n_splits == 1 else "splits"
            found.append(f"Compared on {n_splits} {word}, those that every contestant finished.")
        for (structure, estimator), why in self.refused.items():
            found.append(f"{structure} with {estimator} is left out, since it refused rows: {why}")
        if self.has_gaps:
            found.append(
                "Rows to learn from have gaps: each family was learned from the rows complete for "
                "it. A fit by EM, which is what 'learn' does, is the same for naive Bayes and "
                "differs for other structures."
            )
        if not self._has_same_nodes:
            found.append(
                "The graphs have different nodes, so their joint log-likelihoods are not compared."
            )
        return tuple(found)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that were tested."""
        names = (part.source for cell in self.cells for part in cell.parts)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that can be compared.

        Without a positive state not all; the joint log-likelihood only of graphs of the same nodes.
        """
        left_out = set() if self.positive is not None else set(ABOUT_POSITIVE)
        if not self._has_same_nodes:
            left_out.add(LOG_LIKELIHOOD)
        return tuple(name for name in MEASURES if name not in left_out)

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
        """One line a contestant and size; none if the measure cannot be compared."""
        _check.known("measure", [measure], MEASURES)
        if measure == LOG_LIKELIHOOD and not self._has_same_nodes:
            return ()
        lines = []
        for size in self.sizes:
            values = {who: self._values(who, size, measure) for who in self.contestants}
            known = {who: found for who, found in values.items() if found}
            means = {who: self._mean(who, size, measure, known[who]) for who in known}
            best = _best(measure, means)
            for who, mean in means.items():
                behind = self._behind(measure, (mean, known[who]), (means[best], known[best]))
                lines.append(self._line(who, size, measure, (mean, known[who]), behind=behind))
        return tuple(lines)

    def by_source(
        self, contestant: tuple[str, str], measure: str, size: int | None = None
    ) -> dict[str, float]:
        """The measure of each source, the mean over its splits by its rows there.

        The calibration error is that of all its rows together.
        """
        if measure == CALIBRATION:
            return self._calibration_by_source(contestant, size)
        found: dict[str, list[tuple[float, float]]] = {}
        for cell in self._cells_of(contestant, size):
            for part in cell.parts:
                if part.source is not None and measure in part.measures:
                    found.setdefault(part.source, []).append((part.measures[measure], part.n_rows))
        return {source: _weighted_mean(pairs) for source, pairs in sorted(found.items())}

    def curve(self, contestant: tuple[str, str], size: int | None = None) -> CalibrationCurve:
        """The calibration curve of a contestant over all splits, in bins of about equal weight."""
        return _merged([cell.curve for cell in self._cells_of(contestant, size)], self.n_bins)

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

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __str__(self) -> str:
        from consilience.classify.printed_tables import text_of

        return "\n\n".join([text_of(self), *self.notes])

    def __repr__(self) -> str:
        missing = "" if self.stopped_by == "end" else f" of {self.n_cells}"
        return (
            f"CrossEvaluation({len(self.contestants)} contestants, {self.splits}, "
            f"{len(self.cells)}{missing} cells)"
        )

    def _cells_of(self, contestant: tuple[str, str], size: int | None) -> Iterator[Cell]:
        finished = set(self.finished)
        for cell in self.cells:
            is_wanted = (size is None or cell.size == size) and (cell.split, cell.size) in finished
            if (cell.structure, cell.estimator) == contestant and is_wanted:
                yield cell

    @property
    def _has_same_nodes(self) -> bool:
        return len({cell.nodes for cell in self.cells if cell.structure}) <= 1

    def _calibration_by_source(
        self, contestant: tuple[str, str], size: int | None
    ) -> dict[str, float]:
        found: dict[str, list[CalibrationCurve]] = {}
        for cell in self._cells_of(contestant, size):
            for part in cell.parts:
                if part.source is not None and part.curve is not None:
                    found.setdefault(part.source, []).append(part.curve)
        return {name: _merged(found[name], self.n_bins).error for name in sorted(found)}

    def _values(self, contestant: tuple[str, str], size: int | None, measure: str) -> Values:
        """The overall measure of each split in which it is defined."""
        return {
            (cell.split, cell.size): cell.parts[0].measures[measure]
            for cell in self._cells_of(contestant, size)
            if measure in cell.parts[0].measures
        }

    def _mean(
        self, contestant: tuple[str, str], size: int | None, measure: str, values: Values
    ) -> float:
        if measure == CALIBRATION:
            return self.curve(contestant, size).error
        return float(np.mean(list(values.values())))

    def _error(self, measure: str, values: Sequence[float]) -> float | None:
        """The standard error of a mean, corrected for training sets that overlap."""
        if measure == CALIBRATION or len(values) < 2 or not np.isfinite(values).all():
            return None
        return float(np.std(values, ddof=1)) * math.sqrt(1 / len(values) + self.overlap)

    def _behind(
        self, measure: str, mine: tuple[float, Values], best: tuple[float, Values]
    ) -> tuple[float | None, float | None]:
        """By how much one contestant is worse than the best, and the error of that."""
        sign = 1.0 if measure in LOWER_IS_BETTER else -1.0
        (mean, values), (best_mean, best_values) = mine, best
        if measure == CALIBRATION:
            return sign * (mean - best_mean), None
        pairs = [(values[split], best_values[split]) for split in values if split in best_values]
        losses = [0.0 if one == other else sign * (one - other) for one, other in pairs]
        return (float(np.mean(losses)), self._error(measure, losses)) if losses else (None, None)

    def _line(
        self,
        contestant: tuple[str, str],
        size: int | None,
        measure: str,
        found: tuple[float, Values],
        *,
        behind: tuple[float | None, float | None],
    ) -> Summary:
        mean, values = found
        of_sources = self.by_source(contestant, measure, size)
        worst = _worst(measure, of_sources)
        return Summary(
            *contestant,
            size,
            measure,
            mean,
            self._error(measure, list(values.values())),
            len(values),
            worst,
            None if worst is None else of_sources[worst],
            _spread(list(of_sources.values())),
            *behind,
        )


def _is_better(measure: str, one: float, other: float) -> bool:
    """Whether one value of a measure is better than another."""
    return one < other if measure in LOWER_IS_BETTER else one > other


def _best(measure: str, means: dict[Any, float]) -> Any:
    """The contestant with the best mean, the first of several; None if there is none."""
    best = None
    for who, mean in means.items():
        if best is None or _is_better(measure, mean, means[best]):
            best = who
    return best


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


def _merged(curves: Sequence[CalibrationCurve], n_bins: int) -> CalibrationCurve:
    """Bins of several curves in order of probability, joined into some of about equal weight."""
    predicted, observed, n_rows = (
        np.concatenate([getattr(curve, name) for curve in curves])
        for name in ("predicted", "observed", "n_rows")
    )
    order = np.argsort(predicted, kind="stable")
    weight: Floats = n_rows[order]
    middle = np.cumsum(weight) - weight / 2
    bins = np.minimum(middle / weight.sum() * n_bins, n_bins - 1).astype(np.int64)
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
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)
    _write.write_text(lines.getvalue(), path)
