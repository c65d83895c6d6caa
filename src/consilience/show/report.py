"""The verb :func:`report`: a network, its rows and what it predicts, as one page without script.

What was found comes first, in sentences with numbers; then the data by source, the gaps, the graph,
the differences between sources, the parameters with their intervals, calibration and predictions on
rows not learned from, and where all of it comes from. Pictures and tables are those of the
explorer's panels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from consilience import _check
from consilience.answers.source_differences import differences
from consilience.classify.refits import Predicted
from consilience.data.door import Rows, as_rows_of
from consilience.errors import InputError
from consilience.network.network import Network
from consilience.show.panels import (
    differences as apart,
    evaluation,
    gaps,
    node as of_node,
    provenance,
)
from consilience.show.panels.question import PanelAnswer, Question, Subject, grid
from consilience.show.report_parts import (
    CELL_LENGTH,
    document,
    figure,
    section,
    sentences,
    table,
    with_intervals,
)
from consilience.show.svg import svg_graph
from consilience.show.svg_charts import bar_chart, stack

__all__ = ["report"]

SECTIONS: Final = {
    "sources": "Sources",
    "gaps": "Gaps",
    "graph": "Graph",
    "differences": "Differences between sources",
    "parameters": "Parameters",
    "calibration": "Calibration",
    "predictions": "Predictions",
    "provenance": "Provenance",
}
MOST_NODES = 80  # larger graphs are listed
MOST_FAMILIES = 20  # whose parameters are listed
N_PARAMETERS = 24  # parent states of each
N_WORST = 15
COMMAND = 6000  # letters of the call that makes the network again


def report(
    net: Network,
    rows: Rows,
    *,
    target: str | None = None,
    folds: int = 5,
    title: str | None = None,
) -> str:
    """A network and its rows as one HTML file: no script, nothing loaded, readable on paper.

    Predictions are made on rows not learned from: the graph is fitted again to the training rows of
    every fold. If that cannot be, they are called in-sample.

    Parameters
    ----------
    net
        The network.
    rows
        Rows, usually those that it was fitted from: a table, or what ``cs.read`` takes.
    target
        The node that is predicted; without one there are no predictions.
    folds
        Number of folds; 0 to predict the rows by the network as it is.
    title
        The heading.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": ["no", "yes"] * 20, "fever": ["low", "high", "low", "low"] * 10})
    >>> net = cs.fit(cs.naive_bayes(table, "ill"), table)
    >>> page = report(net, table, target="ill")
    >>> "<script" in page, page.count("<section")
    (False, 8)
    """
    if folds != 0:
        _check.whole("report", at_least=2, folds=folds)
    read = as_rows_of(net.variables, net.source, rows)
    name = "A network and its sources" if title is None else title
    subject = Subject(net, read, target, name=name)
    question = Question(subject)
    found = _predicted(subject, folds)
    parts = {
        "sources": _sources(subject),
        "gaps": _shown(gaps.PANEL.answer(question)),
        "graph": _graph(net),
        "differences": _differences(question),
        "parameters": _parameters(question),
        "calibration": _calibration(question, found),
        "predictions": _predictions(question, found),
        "provenance": _shown(provenance.PANEL.answer(question), length=COMMAND),
    }
    sections = [section(key, heading, parts[key]) for key, heading in SECTIONS.items()]
    findings = "".join(f"<li>{each}</li>" for each in map(_item, _findings(subject, found)))
    head = f'<h1>{_item(name)}</h1><ul class="findings">{findings}</ul>{_contents()}'
    return document(name, head + "".join(sections))


def _item(text: str) -> str:
    """A sentence without its paragraph."""
    return sentences([text], kind="x").removeprefix('<p class="x">').removesuffix("</p>\n")


def _contents() -> str:
    names = [
        "sources",
        "gaps",
        "graph",
        "differences",
        "parameters",
        "calibration",
        "predictions",
        "provenance",
    ]
    links = "".join(f'<li><a href="#{name}">{name.capitalize()}</a></li>' for name in names)
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


def _predicted(subject: Subject, folds: int) -> Predicted | None:
    """What is predicted of the target; None if there is none, or it cannot be."""
    if subject.target is None or evaluation.PANEL.missing(subject):
        return None
    return evaluation.predictions(subject, folds)


def _findings(subject: Subject, found: Predicted | None) -> Iterator[str]:
    """What a reader should know first."""
    net = subject.network
    counted = provenance.rows_by_source(subject)
    each = ", ".join(f"{name} {n:,.6g}" for name, n in list(counted.items())[:8])
    where = f" of {len(counted)} sources ({each})" if len(counted) > 1 else ""
    size = f"{len(net.dag.nodes)} nodes, {len(net.dag.arcs)} arcs"
    yield f"{sum(counted.values()):,.6g} rows{where}, {size}."
    yield from gaps.PANEL.answer(Question(subject)).notes[:2]
    yield from _apart(net)
    if subject.target is not None and len(subject.sources) > 1:
        yield from _target_by_source(subject)
    if found is not None:
        yield from evaluation.quality(subject, found)
    empty = int(sum(net.record.unidentified.values()))
    if empty:
        yield (
            f"{empty:,} parent states have no rows, or too few for a regression; their numbers are "
            "the prior's or borrowed."
        )


def _apart(net: Network) -> Iterator[str]:
    if net.source is None or not net.dag.children(net.source):
        return
    found = differences(net)
    yield f"{found.title}."
    for one in found.families[:3]:
        if one.family in found.differing:
            yield from apart.family_lines((one,))


def _target_by_source(subject: Subject) -> Iterator[str]:
    """The lowest and the highest probability of a state of the target among the sources."""
    net, target = subject.network, str(subject.target)
    if net.variables[target].is_continuous:
        return
    state = of_node.chosen_state(Question(subject), target)
    each = {one: net.query(target, {str(net.source): one})[state] for one in subject.sources}
    low, high = min(each, key=lambda s: each[s]), max(each, key=lambda s: each[s])
    yield (
        f"P({target} = {state}) is {net.query(target)[state]:.3f} in all, from {each[low]:.3f} in "
        f"{low} to {each[high]:.3f} in {high}."
    )


def _shown(answer: PanelAnswer, *, length: int = CELL_LENGTH) -> list[str]:
    return [sentences(answer.notes), figure(answer.svg), table(answer.table, length=length)]


def _sources(subject: Subject) -> list[str]:
    assert subject.table is not None
    counted = provenance.rows_by_source(subject)
    missing = subject.table.missing
    total = sum(counted.values()) or 1.0
    rows: list[list[Any]] = [
        [name, n, n / total, float(np.mean(list(missing[name].values()) or [0.0]))]
        for name, n in counted.items()
    ]
    chart = bar_chart(dict(list(counted.items())[:40]), label="rows by source")
    heads = ("source", "rows", "share of rows", "share of values missing")
    description = [[r.variable, r.kind, r.content] for r in subject.table.describe().rows]
    return [
        figure(stack([chart]).svg),
        table(grid(heads, rows)),
        table(grid(("variable", "kind", "states or range"), description), caption="Variables"),
    ]


def _graph(net: Network) -> list[str]:
    arcs = [[start, end] for start, end in net.dag.arcs if start != net.source]
    drawn = svg_graph(net) if len(net.dag.nodes) <= MOST_NODES else ""
    notes = [] if drawn else [f"The graph has {len(net.dag.nodes)} nodes; its arcs are listed."]
    return [sentences(notes), figure(drawn), table(grid(("from", "to"), arcs))]


def _differences(question: Question) -> list[str]:
    answer = apart.PANEL.answer(question)
    if apart.PANEL.missing(question.subject):
        return _shown(answer)
    net = question.subject.network
    try:
        found = differences(net)
    except InputError as error:
        return [sentences([str(error)])]
    rows = [list(row) for row in zip(*found.columns.values(), strict=True)]
    return [
        sentences([f"{found.title}.", *found.notes]),
        table(grid(list(found.columns), rows), caption="Families, the clearest first"),
        figure(answer.svg),
        table(
            with_intervals(answer.table),
            caption=f"{question.shown_node} split, by source and state",
        ),
    ]


def _parameters(question: Question) -> list[str]:
    net = question.subject.network
    first = question.shown_node
    names = [first, *(n for n in net.dag.nodes if n not in (first, net.source))]
    parts = [sentences([f"Numbers with the ends of their {of_node.LEVEL:.0%} credible intervals."])]
    if any(net[name].posterior is None for name in names):
        parts = [sentences(["Some nodes keep no posterior; their numbers have no intervals."])]
    for name in names[:MOST_FAMILIES]:
        answer = of_node.PANEL.answer(Question(question.subject, node=name))
        given = [p for p in net[name].parents if p != net.source]
        words = f"{name} given {', '.join(given)}" if given else name
        parts.append(figure(answer.svg) if name == first else "")
        parts.append(table(with_intervals(answer.table), caption=words, n_rows=N_PARAMETERS))
    if len(names) > MOST_FAMILIES:
        parts.append(sentences([f"... and {len(names) - MOST_FAMILIES} more nodes."]))
    return parts


def _calibration(question: Question, found: Predicted | None) -> list[str]:
    if found is None:
        return [sentences(evaluation.PANEL.missing(question.subject))]
    curve = found.evaluation.overall.curve
    rows = [
        [float(p), float(o), float(n)]
        for p, o, n in zip(curve.predicted, curve.observed, curve.n_rows, strict=True)
    ]
    heads = ("predicted probability", "share that came true", "rows")
    return [
        sentences([f"On {found.where}."]),
        figure(stack([evaluation.reliability(found.evaluation)]).svg),
        table(grid(heads, rows), caption="All rows, bin by bin"),
    ]


def _predictions(question: Question, found: Predicted | None) -> list[str]:
    if found is None:
        return [sentences(evaluation.PANEL.missing(question.subject))]
    subject = question.subject
    heads = ("of", *evaluation.COLUMNS)
    losses = {name: one.log_loss for name, one in found.evaluation.by_source.items()}
    finite = {name: x for name, x in list(losses.items())[:40] if np.isfinite(x)}
    chart = stack([bar_chart(finite, label="log loss by source")]).svg if len(finite) > 1 else ""
    worst = evaluation.worst_rows(subject, found, N_WORST)
    names = ("row", "source", "true state", "predicted", "probability of the true state")
    why = [f"It could not be refitted by folds: {found.reason}."] if found.reason else []
    return [
        sentences([f"On {found.where}.", *why]),
        table(grid(heads, evaluation.measure_rows(found.evaluation))),
        figure(chart),
        table(grid(names, worst), caption="The rows predicted worst"),
    ]
