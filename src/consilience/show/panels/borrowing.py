"""How much sources lend each other: from separate tables to pooled ones.

The graph is fitted again at every position: the sources apart, tied by ``HDMCS`` of growing
strength s, and pooled; the last position is the network as it is. The picture shows the chosen
node's probability in each source by position, and with the option ``folds`` the log loss on rows
not learned from. Other options: ``state``, and ``position``, for the table of one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from consilience import _check
from consilience.classify.refits import aligned_rows, graph_of, predicted
from consilience.classify.seen_sources import with_seen_sources
from consilience.graph.dag import DAG
from consilience.learning import fit
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.hierarchical import HDMCS
from consilience.parameters.pooling import Pooled, Separate
from consilience.show.panels.node import believed, chosen_state
from consilience.show.panels.question import Panel, PanelAnswer, Question, Subject, grid
from consilience.show.svg_axes import Chart
from consilience.show.svg_charts import stack
from consilience.show.svg_series import series_chart

__all__ = ["FITTED", "PANEL", "POSITIONS", "held_out_losses", "refitted"]

FITTED = "as fitted"
POOLED = "pooled"
POSITIONS: Final[Mapping[str, Any]] = {
    "separate": Separate(Dirichlet()),
    **{f"s = {s:g}": HDMCS(s=s) for s in (0.1, 1.0, 10.0, 100.0, 1000.0)},
    POOLED: Pooled(Dirichlet()),
}
"""The estimators from separate to pooled."""

MOST_LINES = 12


@lru_cache(maxsize=64)
def refitted(subject: Subject, position: str) -> Network:
    """The network at one of the positions; as it is for :data:`FITTED`."""
    if position == FITTED:
        return subject.network
    _check.known("position", [position], POSITIONS)
    assert subject.table is not None
    net, table = subject.network, subject.table
    rows = with_seen_sources(aligned_rows(net, table))
    return fit(_graph(net, position), rows, POSITIONS[position])


def _graph(net: Network, position: str) -> DAG:
    """The network's graph; pooled tables do not depend on the source, which then has no arcs."""
    graph = graph_of(net)
    is_apart = position == POOLED and net.source in graph.nodes
    return graph.without(str(net.source)) if is_apart else graph


@lru_cache(maxsize=64)
def held_out_losses(
    subject: Subject, target: str, position: str, folds: int
) -> Mapping[str, float]:
    """Log loss of a node given the others on rows not learned from, in all and by source."""
    assert subject.table is not None
    choices = None if position == FITTED else {"estimator": POSITIONS[position]}
    net = refitted(subject, position)
    found = predicted(net, subject.table, target, folds=folds, choices=choices)
    if not found.folds:
        return {}
    measured = found.evaluation
    each = {name: one.log_loss for name, one in measured.by_source.items()}
    return {"all": measured.overall.log_loss, **each}


def _find(question: Question) -> PanelAnswer:
    node, subject = question.shown_node, question.subject
    state = chosen_state(question, node)
    places = [*POSITIONS, FITTED]
    beliefs = _beliefs(question, node, state, places)
    charts = [_chart(places, beliefs, f"P({node} = {state}) by source")]
    folds = int(question.number("folds", 0))
    target = subject.target if subject.target is not None else node
    losses = [held_out_losses(subject, target, p, folds) if folds else {} for p in places]
    notes = ["The strip marks the network as it was fitted."]
    if any(losses):
        charts.append(_losses(places, losses, target))
        known = [(one["all"], place) for one, place in zip(losses, places, strict=True) if one]
        notes.append(f"On {folds} folds {target} is predicted best at: {min(known)[1]}.")
    names = ["all", *question.shown_sources]
    rows = [
        [place, one, beliefs[one][k], losses[k].get(one)]
        for k, place in enumerate(places)
        for one in names
    ]
    heads = ("position", "source", f"P({node} = {state})", f"held-out log loss of {target}")
    return PanelAnswer(stack(charts).svg, grid(heads, rows), tuple(notes))


def _beliefs(
    question: Question, node: str, state: str, places: list[str]
) -> dict[str, list[float | None]]:
    """The probability of the state in all and by source, at every position."""
    found: dict[str, list[float | None]] = {"all": []}
    code = question.subject.network.variables[node].code(state)
    for place in places:
        net = refitted(question.subject, place)
        net = net.do(question.do) if question.do else net
        sides = {"all": {}, **{s: {str(net.source): s} for s in question.shown_sources}}
        for name, known in sides.items():
            belief = believed(net, node, {**question.given, **known})
            value = None if belief is None else float(belief.values[code])
            found.setdefault(name, []).append(value)
    return found


def _losses(places: list[str], losses: list[Mapping[str, float]], target: str) -> Chart:
    names = list(dict.fromkeys(name for one in losses for name in one))
    lines: dict[str, list[float | None]] = {n: [one.get(n) for one in losses] for n in names}
    return _chart(places, lines, f"log loss of {target} on rows not learned from")


def _chart(places: list[str], lines: Mapping[str, list[float | None]], label: str) -> Chart:
    shown = {
        name: [np.nan if x is None or not np.isfinite(x) else x for x in values]
        for name, values in list(lines.items())[:MOST_LINES]
    }
    more = f"; {MOST_LINES} of {len(lines)}" if len(lines) > MOST_LINES else ""
    return series_chart(places, shown, marked=places.index(FITTED), label=f"{label}{more}")


PANEL = Panel(
    "borrowing",
    "Borrowing",
    ("several sources", "rows", "every column", "discrete nodes"),
    _find,
    follows=("node", "given", "do"),
)
