"""One node: what is believed of it before and after the findings, and the table behind it.

Every parent state of every source has its numbers with the ends of their 95 % credible intervals,
where the network has a posterior, and the number of rows that show it, where rows are given.
Options: ``state``, the state whose probabilities are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import Any

import numpy as np

from consilience._typing import Floats
from consilience.distributions import Categorical
from consilience.errors import ImpossibleEvidenceError
from consilience.network.factor import Factor
from consilience.network.network import Network
from consilience.show.belief import density_curve
from consilience.show.known_beliefs import beliefs_given
from consilience.show.panels.question import Panel, PanelAnswer, Question, Subject, grid
from consilience.show.panels.rows_behind import rows_behind
from consilience.show.svg_axes import Chart
from consilience.show.svg_beliefs import BeliefLine, belief_chart, density_chart
from consilience.show.svg_charts import Interval, interval_chart, stack
from consilience.show.text import layout_of

__all__ = ["LEVEL", "PANEL", "Parameters", "believed", "chosen_state", "parameters"]

LEVEL = 0.95
N_DRAWN = 40
N_LISTED = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """The numbers of a node.

    Parameters
    ----------
    by
        The variables whose states label the rows.
    columns
        States of a table; intercept, coefficients and sd of a regression.
    values, low, high
        One row for each joint state; the ends are None without a posterior.
    n_rows
        Rows behind each joint state; None if they are not known.
    """

    by: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    values: Floats
    low: Floats | None
    high: Floats | None
    n_rows: Floats | None


@lru_cache(maxsize=64)
def parameters(subject: Subject, node: str) -> Parameters:
    """The numbers of a node of the subject's network."""
    local = subject.network[node]
    by, columns, values = layout_of(local)
    low = high = None
    if local.posterior is not None:
        low, high = (end.reshape(values.shape) for end in local.posterior.interval(LEVEL))
    labels = tuple(islice(product(*(v.discrete_states for v in by)), N_LISTED))
    counted = rows_behind(subject, node)
    if counted is not None and len(counted) != len(values):
        counted = None
    return Parameters(tuple(v.name for v in by), labels, tuple(columns), values, low, high, counted)


def believed(net: Network, node: str, given: Mapping[str, Any]) -> Any:
    """What is believed of a node; None if what is given cannot happen.

    A node that is known is the belief that it is so.
    """
    try:
        found = net.query(node, given) if node not in given else beliefs_given(net, given)[node]
    except ImpossibleEvidenceError:
        return None
    if not isinstance(found, str):
        return found
    variable = net.variables[node]
    is_it = [float(state == found) for state in variable.discrete_states]
    return Factor((variable,), np.array(is_it))


def chosen_state(question: Question, node: str) -> str:
    """The state that was asked for, else the second of two, else the first."""
    states = question.subject.network.variables[node].discrete_states
    wanted = question.options.get("state")
    if isinstance(wanted, str) and wanted in states:
        return wanted
    return states[1] if len(states) == 2 else states[0]


def _find(question: Question) -> PanelAnswer:
    node = question.shown_node
    net = question.network
    charts, notes = _beliefs(question, net, node)
    found = parameters(question.subject, node)
    drawn = _drawn(question, found, node)
    rows = [[*label, *cells] for label, cells in zip(found.labels, _cells(found), strict=False)]
    if len(found.values) > N_LISTED:
        notes.append(f"The first {N_LISTED:,} of {len(found.values):,} parent states are listed.")
    if found.low is None:
        notes.append("The network keeps no posterior of this node, so there are no intervals.")
    if node in question.do:
        notes.append(f"{node} is set from outside; its own table is not used.")
    return PanelAnswer(stack([*charts, *drawn]).svg, grid(_heads(found), rows), tuple(notes))


def _beliefs(question: Question, net: Network, node: str) -> tuple[list[Chart], list[str]]:
    """The belief before and after, and in sentences how far it moved."""
    before, after = (
        believed(question.subject.network, node, {}),
        believed(net, node, question.given),
    )
    if after is None:
        return [], ["What is given cannot happen, in no source."]
    sources = question.shown_sources if net.source not in (node, *question.given) else ()
    each = {
        one: found
        for one in sources
        if (found := believed(net, node, {**question.given, str(net.source): one})) is not None
    }
    if not isinstance(after, Factor):
        return _numbers(question, node, before, after, each=each)
    states = net.variables[node].discrete_states
    is_moved = bool(question.given or question.do)
    lines = [
        BeliefLine(
            state,
            float(after.values[k]),
            float(before.values[k]) if is_moved else None,
            {one: float(found.values[k]) for one, found in each.items()},
        )
        for k, state in enumerate(states[:N_DRAWN])
    ]
    state = chosen_state(question, node)
    k = states.index(state)
    told = [f"P({node} = {state}) is {after.values[k]:.4f}"]
    if is_moved:
        told.append(f"it was {before.values[k]:.4f} before the findings")
    gone = [one for one in sources if one not in each]
    notes = [", ".join(told) + "."]
    notes += [f"What is given cannot happen in {one}." for one in gone]
    words = f"{node}{' given the findings' if is_moved else ''}"
    strokes = "; strokes are sources" if each else ""
    tick = "; the tick is before" if is_moved else ""
    return [belief_chart(lines, label=f"{words}{strokes}{tick}")], notes


def _numbers(
    question: Question, node: str, before: Any, after: Any, *, each: Mapping[str, Any]
) -> tuple[list[Chart], list[str]]:
    """The density of a continuous node before and after, and the mean in each source."""
    if not hasattr(after, "sd"):
        return [], [f"{node} is known: {float(after):.6g}."]
    told = [f"{node} has the mean {after.mean:.5g} and the sd {after.sd:.4g}"]
    is_moved = bool(question.given or question.do)
    if is_moved:
        told.append(f"it had {before.mean:.5g} and {before.sd:.4g} before the findings")
    note = ", ".join(told) + "."
    curve, old = _curve(after), _curve(before) if is_moved else None
    if curve is None:
        return [], [note]
    words = "; dashed: before" if old is not None else ""
    words += "; strokes are means in sources" if each else ""
    means = {one: float(found.mean) for one, found in each.items()}
    return [density_chart(curve, old, means, label=f"density of {node}{words}")], [note]


def _curve(belief: Any) -> tuple[Floats, Floats] | None:
    x, density = density_curve(belief)
    return None if density is None else (x, density)


def _drawn(question: Question, found: Parameters, node: str) -> list[Chart]:
    """The numbers of one column with their intervals, a line for each parent state."""
    local = question.subject.network[node]
    is_table = isinstance(local, Categorical)
    column = chosen_state(question, node) if is_table else found.columns[0]
    k = found.columns.index(column)
    lines = []
    for j, label in enumerate(found.labels):
        if not _is_shown(question, found, label):
            continue
        value = float(found.values[j, k])
        ends = (
            (value, value)
            if found.low is None or found.high is None
            else (float(found.low[j, k]), float(found.high[j, k]))
        )
        rows = "" if found.n_rows is None else f"n {found.n_rows[j]:,.6g}"
        lines.append(Interval(", ".join(label) or "all", value, *ends, rows))
    words = f"P({node} = {column} | {', '.join(found.by)})" if found.by else f"P({node} = {column})"
    by = f", by {', '.join(found.by)}" if found.by else ""
    title = words if is_table else f"{column} of {node}{by}"
    if len(lines) > N_DRAWN:
        title += f"; the first {N_DRAWN} of {len(lines):,}"
    bounds = (0.0, 1.0) if is_table else None
    return [interval_chart(lines[:N_DRAWN], bounds=bounds, label=title)] if lines else []


def _is_shown(question: Question, found: Parameters, label: tuple[str, ...]) -> bool:
    source = question.subject.network.source
    if question.sources is None or source not in found.by:
        return True
    return label[found.by.index(source)] in question.sources


def _heads(found: Parameters) -> list[str]:
    each = [
        c if found.low is None else f"{c}{end}"
        for c in found.columns
        for end in (("",) if found.low is None else ("", ": low", ": high"))
    ]
    return [*found.by, *each, "rows"]


def _cells(found: Parameters) -> Iterator[list[Any]]:
    for j in range(len(found.values)):
        cells: list[Any] = []
        for k in range(len(found.columns)):
            cells.append(float(found.values[j, k]))
            if found.low is not None and found.high is not None:
                cells += [float(found.low[j, k]), float(found.high[j, k])]
        cells.append(None if found.n_rows is None else float(found.n_rows[j]))
        yield cells


PANEL = Panel("node", "Node", (), _find, follows=("node", "given", "do"))
