"""The records of an evaluation, and how they are shown; :func:`evaluate` fills them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from consilience import _check, _freeze
from consilience._typing import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CalibrationCurve", "Evaluation", "Gap", "Measures"]

HEADINGS: Final = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "brier": "Brier",
    "log_loss": "log loss",
    "calibration_error": "calibration",
}
ABOUT_POSITIVE: Final = frozenset({"precision", "recall", "f1"})
LOWER_IS_BETTER: Final = frozenset({"brier", "log_loss", "calibration_error"})

NAME_WIDTH = 24
N_SHOWN = 30  # sources; more would hide the summary


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationCurve:
    """What was predicted and what came true, bin by bin, from low to high probability.

    Parameters
    ----------
    predicted
        Mean probability of each bin.
    observed
        Share of each bin that came true.
    n_rows
        Weight of each bin.
    """

    predicted: Floats
    observed: Floats
    n_rows: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def error(self) -> float:
        """Mean absolute difference of predicted and observed, each bin with its weight.

        Chance alone makes it larger the fewer rows a bin has.
        """
        return float(self.n_rows @ abs(self.predicted - self.observed)) / float(self.n_rows.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Measures of one set of rows; :mod:`consilience.classify.measures` has the formulas.

    Parameters
    ----------
    n_rows
        Weight of the rows.
    accuracy
        Share of rows whose most probable state is the true one.
    precision, recall, f1
        About the positive state. None without one, and where undefined: precision if no row is
        predicted positive, recall if none is, F1 if neither.
    brier
        Mean squared error over all states, from 0 to 2.
    log_loss
        In nats; infinite if a true state has probability zero.
    n_impossible
        Weight of the rows whose true state has probability zero.
    curve
        The calibration curve.
    """

    n_rows: float
    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    brier: float
    log_loss: float
    n_impossible: float
    curve: CalibrationCurve

    @property
    def calibration_error(self) -> float:
        """Mean absolute difference of predicted and observed along the calibration curve."""
        return self.curve.error


@dataclass(frozen=True, slots=True)
class Gap:
    """How far sources are apart in one measure.

    Parameters
    ----------
    worst, value
        The source that is worst off (the first of several) and its measure.
    spread
        Largest difference between two sources; infinite if only some are.
    """

    worst: str
    value: float
    spread: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """How good class probabilities are; ``str`` gives a table of all measures.

    Parameters
    ----------
    states, positive
        The states of the class, and the one that precision, recall and F1 are about.
    overall
        Measures of all rows.
    prior
        Measures of the class prior on the same rows.
    by_source
        Measures of each source that has rows.
    n_unknown
        Weight of the rows that were left out because their true state is not known.
    """

    states: tuple[str, ...]
    positive: str | None
    overall: Measures
    prior: Measures
    by_source: Mapping[str, Measures]
    n_unknown: float

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def gaps(self) -> dict[str, Gap]:
        """For each measure the worst source and the spread; empty without sources.

        A source in which a measure is undefined does not count for it.
        """
        found = {name: _gap(name, self.by_source) for name in HEADINGS}
        return {name: gap for name, gap in found.items() if gap is not None}

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame: one row for all rows, one for the class prior, one for each source.

        The column ``line`` says which: ``"all"``, ``"class prior"`` or ``"source"``; the column
        ``source`` has the source's name. What is undefined is missing.
        """
        pandas = _check.extra("pandas", "pandas", "Evaluation.to_frame")
        names = ("n_rows", *HEADINGS, "n_impossible")
        rows = [
            {"line": kind, "source": source, **{name: getattr(each, name) for name in names}}
            for kind, source, each in self._lines()
        ]
        frame = pandas.DataFrame(rows)
        return frame.astype(dict.fromkeys(names, "float64"))

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        return "\n".join([self.title(), *(_line(row, widths) for row in cells)])

    def __repr__(self) -> str:
        sources = f", {len(self.by_source)} sources" if self.by_source else ""
        return (
            f"Evaluation({_amount(self.overall.n_rows)} rows{sources}, "
            f"accuracy {self.overall.accuracy:.3f}, log loss {self.overall.log_loss:.3f})"
        )

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _lines(self) -> Iterator[tuple[str, str | None, Measures]]:
        yield "all", None, self.overall
        yield "class prior", None, self.prior
        for source, measures in self.by_source.items():
            yield "source", source, measures

    def title(self) -> str:
        """How many rows and which states, in words."""
        positive = "" if self.positive is None else f", positive state {self.positive!r}"
        notes = [
            f"{_amount(self.overall.n_rows)} rows, states {_check.listed(self.states)}{positive}"
        ]
        if self.n_unknown:
            notes.append(f"{_amount(self.n_unknown)} rows of unknown state left out")
        if self.overall.n_impossible:
            notes.append(f"{_amount(self.overall.n_impossible)} rows whose state had probability 0")
        return "; ".join(notes)

    def cells(self) -> list[list[str]]:
        """The table with its headings."""
        shown = [
            name for name in HEADINGS if self.positive is not None or name not in ABOUT_POSITIVE
        ]
        cells = [["", "rows", *(HEADINGS[name] for name in shown)]]
        for k, (kind, source, each) in enumerate(self._lines()):
            if k < N_SHOWN + 2:
                name = kind if source is None else source
                numbers = [_number(getattr(each, measure)) for measure in shown]
                cells.append([_cut(name), _amount(each.n_rows), *numbers])
        if len(self.by_source) > N_SHOWN:
            more = f"and {len(self.by_source) - N_SHOWN} more"
            cells.append([more, *[""] * (len(shown) + 1)])
        if len(self.by_source) > 1:
            gaps: dict[str, Any] = self.gaps
            worst = [_cut(gaps[m].worst) if m in gaps else "-" for m in shown]
            spread = [_number(gaps[m].spread) if m in gaps else "-" for m in shown]
            cells += [["worst source", "", *worst], ["spread", "", *spread]]
        return cells


def _gap(measure: str, by_source: Mapping[str, Measures]) -> Gap | None:
    values = {name: getattr(each, measure) for name, each in by_source.items()}
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return None
    choose = max if measure in LOWER_IS_BETTER else min
    worst = choose(known, key=lambda name: known[name])
    low, high = min(known.values()), max(known.values())
    spread = 0.0 if low == high else high - low  # infinity less infinity would be NaN
    return Gap(worst, known[worst], spread)


def _amount(weight: float) -> str:
    return f"{weight:,.0f}" if weight.is_integer() else f"{weight:,.1f}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return "inf" if math.isinf(value) else f"{value:.3f}"


def _cut(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 3]}..."


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = (
        f"{cell:<{width}}" if k == 0 else f"{cell:>{width}}"
        for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
