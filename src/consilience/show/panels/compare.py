"""A second network beside the first: its arcs, its tables, and what it believes of the node.

Both graphs have one layout. The distance of two tables is half the sum of absolute differences of
their rows, averaged over the parent states; families with other parents or states have none. Where
the networks have not the same sources, the tables are those of all sources together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.distributions import Categorical
from consilience.graph.arc_comparison import arc_differences
from consilience.graph.dag import DAG
from consilience.network.factor import Factor
from consilience.network.network import Network
from consilience.show.panels.node import believed
from consilience.show.panels.question import Panel, PanelAnswer, Question, grid
from consilience.show.svg_axes import Chart, nested
from consilience.show.svg_beliefs import BeliefLine, belief_chart
from consilience.show.svg_charts import bar_chart, stack
from consilience.show.svg_pair import svg_pair

__all__ = ["PANEL", "table_distances"]

MOST_NODES = 24
N_DRAWN = 20


def table_distances(net: Network, other: Network) -> dict[str, float]:
    """How far the tables of the families that both have are apart, the furthest first.

    Unless both have the same sources, these are summed out.
    """
    is_alike = _sources(net) == _sources(other)
    found = {}
    for name in net.tables:
        if name in (net.source, other.source) or name not in other.tables:
            continue
        mine, theirs = (
            one.tables[name] if is_alike else without_source(one, name) for one in (net, other)
        )
        if _is_same_family(mine, theirs):
            apart = np.abs(mine.table - _in_order(mine, theirs)).sum(axis=-1)
            found[name] = float(apart.mean() / 2)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _sources(net: Network) -> tuple[str, ...] | None:
    return None if net.source is None else net.variables[net.source].discrete_states


def without_source(net: Network, name: str) -> Categorical:
    """P(x | parents but for the source), all sources together.

    A parent state that cannot happen has the mean of the sources' rows.
    """
    local = net.tables[name]
    if net.source is None or net.source not in local.parents:
        return local
    axis = local.parents.index(net.source)
    mean = np.tensordot(net.tables[net.source].table, local.table, axes=(0, axis))
    given = tuple(v for v in local.given if v.name != net.source)
    joint = np.asarray(net.query([*(v.name for v in given), name]).values)
    whole = joint.sum(axis=-1, keepdims=True)
    table = np.where(whole > 0, joint / np.where(whole > 0, whole, 1.0), mean)
    return Categorical(local.child, given, table)


def _is_same_family(local: Categorical, other: Categorical) -> bool:
    mine = {v.name: set(v.discrete_states) for v in (*local.given, local.child)}
    return mine == {v.name: set(v.discrete_states) for v in (*other.given, other.child)}


def _in_order(local: Categorical, other: Categorical) -> Any:
    """The other's table with its axes and states in the order of the first."""
    axes = [*(other.parents.index(name) for name in local.parents), len(other.parents)]
    table = np.transpose(other.table, axes)
    for axis, variable in enumerate((*local.given, local.child)):
        theirs = (*other.given, other.child)[axes[axis]].discrete_states
        table = np.take(table, [theirs.index(s) for s in variable.discrete_states], axis=axis)
    return table


def _find(question: Question) -> PanelAnswer:
    net, other = question.subject.network, question.subject.compare
    assert other is not None
    first, second = _graphs(net, other)
    shared = arc_differences(first, second)
    charts = []
    if 0 < len(first.nodes) <= MOST_NODES:
        names = (question.subject.name, "the other")
        charts.append(nested(svg_pair(first, second, names=names), "both graphs"))
    charts += _bars(question, other)
    distances = table_distances(net, other)
    shown = {name: x for name, x in list(distances.items())[:N_DRAWN] if x > 0}
    if shown:
        charts.append(bar_chart(shown, label="distance of the tables of a family"))
    kinds = {
        "in both": shared.shared,
        "only in the first": shared.extra,
        "only in the second": shared.missing,
        "directed differently": shared.turned,
    }
    rows: list[list[Any]] = [
        [kind, f"{a} → {b}", None] for kind, arcs in kinds.items() for a, b in arcs
    ]
    rows += [["table", name, x] for name, x in distances.items()]
    counts = ", ".join(f"{len(arcs)} {kind}" for kind, arcs in kinds.items())
    notes = [f"Of the arcs {counts}."]
    absent = sorted({*net.dag.nodes} ^ {*other.dag.nodes})
    if absent:
        notes.append(f"Only one of the networks has: {', '.join(absent)}.")
    return PanelAnswer(
        stack(charts).svg if charts else "", grid(("what", "where", "distance"), rows), tuple(notes)
    )


def _graphs(net: Network, other: Network) -> tuple[DAG, DAG]:
    """Both graphs over the nodes that both have, without the sources."""
    both = [
        n for n in net.dag.nodes if n in other.dag.nodes and n not in (net.source, other.source)
    ]
    known = set(both)
    first, second = (
        DAG([arc for arc in one.dag.arcs if known.issuperset(arc)], nodes=both)
        for one in (net, other)
    )
    return first, second


def _bars(question: Question, other: Network) -> list[Chart]:
    """What both believe of the chosen node, if both know it and the findings."""
    node = question.shown_node
    is_shared = all(name in other.variables for name in (node, *question.given))
    if not is_shared or other.variables[node].is_continuous:
        return []
    mine = believed(question.network, node, question.given)
    theirs = believed(other, node, question.given)
    if not isinstance(mine, Factor) or not isinstance(theirs, Factor):
        return []
    places = {state: k for k, state in enumerate(theirs.variables[0].discrete_states)}
    lines = [
        BeliefLine(
            state,
            float(mine.values[k]),
            float(theirs.values[places[state]]) if state in places else None,
        )
        for k, state in enumerate(mine.variables[0].discrete_states[:N_DRAWN])
    ]
    return [belief_chart(lines, label=f"{node}; the tick is the other network")]


PANEL = Panel("compare", "Compare", ("a second network",), _find, follows=("node", "given", "do"))
