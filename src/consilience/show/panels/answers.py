"""What stands behind the belief in the chosen node.

Its interval (``cs.intervals``), what the findings did (``cs.explain``), which parameters matter
(``cs.sensitivity``), and what to ask next (``cs.information_value``). What cannot be told is said
in the words of the function that was asked. Options: ``state``; ``draws`` of the interval.
"""

from __future__ import annotations

from typing import Any

from consilience.answers.answer_intervals import AnswerIntervals, intervals
from consilience.answers.findings import BeliefShift, explain
from consilience.answers.next_questions import InformationValue, information_value
from consilience.answers.sensitivities import Sensitivity, sensitivity
from consilience.errors import ConsilienceError
from consilience.show.answers import information_bars, shift_bars, tornado_ends
from consilience.show.panels.node import chosen_state
from consilience.show.panels.question import Panel, PanelAnswer, Question, grid
from consilience.show.svg_axes import Chart
from consilience.show.svg_charts import Interval, bar_chart, interval_chart, stack

__all__ = ["PANEL"]

DRAWS, FEW_DRAWS = 500, 60  # few where networks are asked one by one
N_DRAWN = 12
MOST_NODES = 60
"""In larger networks the next questions are about the neighbours of the node."""

Row = list[Any]


def _find(question: Question) -> PanelAnswer:
    if question.shown_node in question.given:
        why = f"There is a finding about {question.shown_node}; choose a node without one."
        return PanelAnswer("", grid((), ()), (why,))
    charts: list[Chart] = []
    rows: list[Row] = []
    notes: list[str] = []
    for ask in (_interval, _shift, _parameters, _questions):
        try:
            drawn, told, words = ask(question)
        except ConsilienceError as error:
            notes.append(str(error))
            continue
        charts += drawn
        rows += told
        notes += words
    heads = ("what", "of", "value", "low", "high")
    return PanelAnswer(stack(charts).svg if charts else "", grid(heads, rows), tuple(notes))


Found = tuple[list[Chart], list[Row], list[str]]


def _interval(question: Question) -> Found:
    usual = DRAWS if question.network.is_discrete else FEW_DRAWS
    draws = int(question.number("draws", usual))
    found = intervals(question.network, question.shown_node, question.given, draws=draws)
    lines = [Interval(*line) for line in _numbers(found)[:N_DRAWN]]
    is_share = not question.network.variables[question.shown_node].is_continuous
    bounds = (0.0, 1.0) if is_share else None
    chart = interval_chart(lines, bounds=bounds, label=found.title)
    return [chart], [["interval", *line] for line in _numbers(found)], []


def _numbers(found: AnswerIntervals) -> list[Row]:
    columns = found.columns
    names = ("state", "answer", "low", "high")
    return [list(line) for line in zip(*(columns[name] for name in names), strict=True)]


def _shift(question: Question) -> Found:
    if not question.given:
        return [], [], ["Nothing is known, so that no finding moved this belief."]
    found: BeliefShift = explain(question.network, _target(question), question.given)
    bars = shift_bars(found, N_DRAWN)
    rows = [["moved by", name, value, None, None] for name, value in bars.items()]
    return [bar_chart(bars, label=found.title)], rows, []


def _parameters(question: Question) -> Found:
    target: Any = _target(question)
    found: Sensitivity = sensitivity(question.network, target, question.given)
    now, ends = tornado_ends(found, N_DRAWN)
    lines = [Interval(name, now, min(pair), max(pair)) for name, pair in ends.items()]
    rows = [["depends on", name, now, *pair] for name, pair in ends.items()]
    label = f"the answer if a parameter changes by {found.change:g}"
    return ([interval_chart(lines, label=label)] if lines else []), rows, [f"{found.title}."]


def _questions(question: Question) -> Found:
    net, node = question.network, question.shown_node
    among = None
    if len(net.dag.nodes) > MOST_NODES:
        near = {*net.dag.markov_blanket(node)} - {*question.given, str(net.source)}
        among = sorted(near) or None
    found: InformationValue = information_value(net, node, question.given, among=among)
    bars = information_bars(found, N_DRAWN)
    rows = [["ask", name, value, None, None] for name, value in bars.items()]
    label = f"what each answer would tell about {node}, in {found.unit}"
    return ([bar_chart(bars, label=label)] if bars else []), rows, []


def _target(question: Question) -> Any:
    node = question.shown_node
    if question.network.variables[node].is_continuous:
        return node
    return {node: chosen_state(question, node)}


PANEL = Panel("answers", "Answers", (), _find, follows=("node", "given", "do"))
