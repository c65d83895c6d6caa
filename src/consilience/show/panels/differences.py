"""Where sources differ: in whom they see, or in how things hang together there.

The difference of the chosen node from a reference is split into another population and another
mechanism (:mod:`consilience.answers.difference_parts`). The heat map shows for every source and
parent state how far its row of the table is from the reference (half the sum of absolute
differences), with the number of rows; it is hatched where the interval of every number holds the
reference, and empty where there are no rows. Options: ``reference``, a second source; ``state``;
``draws``, the number of networks for the intervals.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.answers.difference_parts import PARTS, DifferenceParts, difference_parts
from consilience.answers.source_differences import FamilyDifference, differences, family_text
from consilience.distributions import Categorical
from consilience.errors import InputError
from consilience.network.network import Network
from consilience.show.panels.question import Grid, Panel, PanelAnswer, Question, grid
from consilience.show.panels.rows_behind import rows_behind
from consilience.show.plot import sources_first
from consilience.show.svg_axes import Chart
from consilience.show.svg_beliefs import PartsLine, parts_chart
from consilience.show.svg_charts import stack
from consilience.show.svg_heat import MOST_CELLS, Cell, heat_chart

__all__ = ["PANEL", "family_lines", "heat_map", "split"]

DRAWS = 300
LEVEL = 0.95


def split(question: Question, node: str, *, draws: int) -> tuple[DifferenceParts, ...]:
    """The difference of every source that is shown, split."""
    net = question.network
    reference = question.options.get("reference")
    if reference is not None:
        _check.known("source", [reference], net.variables[str(net.source)].discrete_states)
    wanted = [one for one in question.shown_sources if one != reference]
    has_posterior = all(
        net[name].posterior is not None for name in net.dag.nodes if name != net.source
    )
    n_draws = draws if has_posterior else 0
    return difference_parts(net, node, reference=reference, sources=wanted, draws=n_draws)


def heat_map(question: Question, node: str) -> Chart | None:
    """Sources by parent states; None if the node does not depend on the source."""
    net = question.subject.network
    local = net[node]
    if not isinstance(local, Categorical) or net.source not in local.parents:
        return None
    axis = local.parents.index(net.source)
    others = [v for v in local.given if v.name != net.source]
    table = sources_first(local.table, axis)
    ends = [] if local.posterior is None else local.posterior.interval(LEVEL)
    low, high = [sources_first(end, axis) for end in ends] or [table, table]
    counted = rows_behind(question.subject, node)
    shape = tuple(v.n_states for v in local.given)
    rows = None if counted is None else _moved(counted.reshape(shape), axis)
    reference = _reference(question, net, node, table)
    code = net.variables[net.source].code
    sources = list(question.shown_sources)
    columns = [", ".join(states) for states in product(*(v.discrete_states for v in others))]
    cells = [
        [
            _cell(
                reference[j],
                (table[f, j], low[f, j], high[f, j]),
                None if rows is None else float(rows[f, j]),
                has_ends=bool(ends),
            )
            for j in range(min(len(columns), MOST_CELLS))
        ]
        for f in map(code, sources)
    ]
    most = max((cell.value for line in cells for cell in line if cell is not None), default=0.0)
    cells = [[_scaled(cell, most) for cell in line] for line in cells]
    given = ", ".join(v.name for v in others)
    label = f"{node} by {net.source}" + (f" and {given}" if given else "")
    label += f"; strongest: {most:.2f} away; hatched: may be none" if most else ""
    return heat_chart(sources, [c or "all" for c in columns], cells, label=label)


def family_lines(families: tuple[FamilyDifference, ...]) -> list[str]:
    """A sentence for each family, the clearest first."""
    return [
        f"{family_text(one)}: {one.verdict}; {one.size:.3g} nats a row, most in {one.source} "
        f"({one.largest:.3g})."
        for one in families
    ]


def _find(question: Question) -> PanelAnswer:
    node, net = question.shown_node, question.subject.network
    notes = _families(net)
    if not isinstance(question.network[node], Categorical) or node == net.source:
        notes.insert(0, f"Differences are split for nodes with a table, and {node} has none.")
        return PanelAnswer("", grid((), ()), tuple(notes))
    parts = split(question, node, draws=int(question.number("draws", DRAWS)))
    state = _state(question, node, parts)
    charts = [_parts(parts, node, state)] if parts else []
    heat = heat_map(question, node)
    if heat is not None:
        charts.append(heat)
    notes.append("Differences are those without findings.")
    clear = [one for one in parts if one.is_clear("difference", state)]
    if parts and parts[0].ends:
        told = ", ".join(f"{one.source} ({_at(one.difference, one, state):+.3f})" for one in clear)
        words = told or "no source"
        notes.insert(0, f"P({node} = {state}) is more than chance away from the rest in: {words}.")
    return PanelAnswer(stack(charts).svg if charts else "", _table(parts), tuple(notes))


def _state(question: Question, node: str, parts: tuple[DifferenceParts, ...]) -> str:
    """The state that was asked for, else the one that differs most."""
    states = question.subject.network.variables[node].discrete_states
    wanted = question.options.get("state")
    if isinstance(wanted, str) and wanted in states:
        return wanted
    if len(states) == 2 or not parts:
        return states[-1]
    return states[int(np.argmax(np.max([np.abs(one.difference) for one in parts], axis=0)))]


def _parts(parts: tuple[DifferenceParts, ...], node: str, state: str) -> Chart:
    lines = [
        PartsLine(
            one.source,
            _at(one.population, one, state),
            _at(one.mechanism, one, state),
            one.is_clear("population", state),
            one.is_clear("mechanism", state),
        )
        for one in parts[:MOST_CELLS]
    ]
    than = "all sources" if parts[0].reference is None else parts[0].reference
    return parts_chart(lines, label=f"P({node} = {state}) less that of {than}")


def _table(parts: tuple[DifferenceParts, ...]) -> Grid:
    ends = [f"{part}: {end}" for part in PARTS for end in ("low", "high")]
    has_ends = any(one.ends for one in parts)
    heads = ["source", "state", *PARTS, *(ends if has_ends else ())]
    rows: list[list[Any]] = []
    for one in parts:
        columns = one.columns
        for k, state in enumerate(one.states):
            rows.append([one.source, state, *(columns[name][k] for name in heads[2:])])
    return grid(heads, rows)


def _families(net: Network) -> list[str]:
    try:
        found = differences(net)
    except InputError as error:
        return [str(error)]
    return [f"{found.title}.", *family_lines(found.families)]


def _at(values: Floats, one: DifferenceParts, state: str) -> float:
    return float(values[one.states.index(state)])


def _reference(question: Question, net: Network, node: str, table: Floats) -> Floats:
    """The rows that those of each source are held against: (parent states, states)."""
    reference = question.options.get("reference")
    if isinstance(reference, str):
        return table[net.variables[str(net.source)].code(reference)]
    shares = net.tables[str(net.source)].table
    return np.asarray(np.tensordot(shares, table, axes=1))


def _cell(
    reference: Floats,
    own: tuple[Floats, Floats, Floats],
    n_rows: float | None,
    *,
    has_ends: bool,
) -> Cell | None:
    if n_rows == 0:
        return None
    row, low, high = own
    distance = float(np.abs(row - reference).sum() / 2)
    is_alike = has_ends and bool(((low <= reference) & (reference <= high)).all())
    text = f"{distance:.2f}" if n_rows is None else f"{n_rows:,.6g}"
    tip = f"distance {distance:.3f}" + ("" if n_rows is None else f", {n_rows:,.6g} rows")
    return Cell(distance, text, tip, is_alike)


def _scaled(cell: Cell | None, most: float) -> Cell | None:
    return None if cell is None else cell._replace(value=cell.value / most if most else 0.0)


def _moved(rows: Floats, axis: int) -> Floats:
    moved = np.moveaxis(rows, axis, 0)
    return moved.reshape(moved.shape[0], -1)


PANEL = Panel("differences", "Differences", ("several sources",), _find, follows=("node", "do"))
