"""How well the target is predicted: overall, by source, reliability, and the rows predicted worst.

Without folds the network predicts the rows that it was fitted from, and the panel says so; with the
option ``folds`` the same graph is fitted to the training rows of every fold. Option ``n_worst`` is
how many of the worst rows are listed; ``row 118`` is the 118th row of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np

from consilience.classify.evaluation import Evaluation, Measures
from consilience.classify.refits import Predicted, predicted
from consilience.show.panels.question import Grid, Panel, PanelAnswer, Question, Subject, grid
from consilience.show.svg_axes import Chart
from consilience.show.svg_charts import bar_chart, stack
from consilience.show.svg_series import reliability_chart

__all__ = [
    "COLUMNS",
    "PANEL",
    "measure_rows",
    "predictions",
    "quality",
    "reliability",
    "worst_rows",
]

COLUMNS: Final = {
    "rows": "n_rows",
    "accuracy": "accuracy",
    "log loss": "log_loss",
    "Brier": "brier",
    "calibration error": "calibration_error",
}
N_WORST = 10
MOST_CURVES = 7


@lru_cache(maxsize=16)
def predictions(subject: Subject, folds: int) -> Predicted:
    """What is predicted of the target in every row."""
    assert subject.table is not None
    assert subject.target is not None
    return predicted(subject.network, subject.table, subject.target, folds=folds)


def measure_rows(found: Evaluation) -> list[list[Any]]:
    """One line for all rows, one for the class prior, one for each source."""
    lines = [("all", found.overall), ("class prior", found.prior), *found.by_source.items()]
    return [[name, *_numbers(one)] for name, one in lines]


def worst_rows(subject: Subject, found: Predicted, n: int) -> list[list[Any]]:
    """The rows whose true state was least probable: where, truth, and its probability."""
    assert subject.table is not None
    known = np.flatnonzero(found.truth >= 0)
    chances = found.probabilities[known, found.truth[known]]
    order = known[np.argsort(chances, kind="stable")[:n]]
    table, states = subject.table, found.evaluation.states
    lines = []
    for i in order.tolist():
        source = "" if table.source_codes is None else table.sources[int(table.source_codes[i])]
        probability = float(found.probabilities[i, found.truth[i]])
        guess = states[int(found.probabilities[i].argmax())]
        lines.append([i + 1, source, states[int(found.truth[i])], guess, probability])
    return lines


def reliability(found: Evaluation) -> Chart:
    """The calibration curves of all rows and of each source."""
    each = {name: one.curve for name, one in list(found.by_source.items())[:MOST_CURVES]}
    curves = {"all": found.overall.curve, **(each if len(found.by_source) > 1 else {})}
    of = "the predicted state" if found.positive is None else found.positive
    return reliability_chart(curves, label=f"reliability of the probability of {of}")


def quality(subject: Subject, found: Predicted) -> Iterator[str]:
    """How good the predictions are, in sentences."""
    measured = found.evaluation
    yield (
        f"{subject.target} is predicted with accuracy {measured.overall.accuracy:.3f} and log loss "
        f"{measured.overall.log_loss:.3f} ({found.where}); the class prior has "
        f"{measured.prior.accuracy:.3f} and {measured.prior.log_loss:.3f}."
    )
    if found.reason:
        yield f"It could not be refitted by folds: {found.reason}."
    error = measured.overall.calibration_error
    yield f"Predicted probabilities are off by {error:.3f} on average (calibration error)."
    worst = measured.gaps.get("log_loss")
    if worst is not None and len(measured.by_source) > 1:
        yield f"Predictions are worst in {worst.worst}: log loss {worst.value:.3f}."


def _find(question: Question) -> PanelAnswer:
    subject = question.subject
    found = predictions(subject, int(question.number("folds", 0)))
    measured = found.evaluation
    worst = worst_rows(subject, found, int(question.number("n_worst", N_WORST)))
    charts = [reliability(measured)]
    if len(measured.by_source) > 1:
        losses = {name: one.log_loss for name, one in measured.by_source.items()}
        finite = {name: x for name, x in losses.items() if np.isfinite(x)}
        charts.insert(0, bar_chart(finite, label=f"log loss of {subject.target} by source"))
    return PanelAnswer(stack(charts).svg, _table(measured, worst), _notes(subject, found, worst))


def _table(measured: Evaluation, worst: list[list[Any]]) -> Grid:
    rows = measure_rows(measured)
    for number, source, truth, guess, probability in worst:
        name = f"row {number}" + (f" ({source})" if source else "")
        loss = -float(np.log(probability)) if probability > 0 else None
        rows.append([name, 1, float(truth == guess), loss, None, None])
    return grid(("of", *COLUMNS), rows)


def _notes(subject: Subject, found: Predicted, worst: list[list[Any]]) -> tuple[str, ...]:
    notes = [*quality(subject, found)]
    notes += [
        f"row {number}{f' ({source})' if source else ''}: {subject.target} is {truth}, which had "
        f"probability {probability:.3g}; {guess} was predicted."
        for number, source, truth, guess, probability in worst
    ]
    return tuple(notes)


def _numbers(one: Measures) -> list[float | None]:
    values = [getattr(one, field) for field in COLUMNS.values()]
    return [float(value) if np.isfinite(value) else None for value in values]


PANEL = Panel("evaluation", "Evaluation", ("rows", "a target", "a discrete target"), _find)
