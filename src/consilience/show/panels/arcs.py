"""How probable each arc is, where a belief about graphs is given."""

from __future__ import annotations

from typing import Any

from consilience.show.panels.question import Panel, PanelAnswer, Question, grid
from consilience.show.svg_charts import bar_chart, stack

__all__ = ["PANEL"]

N_DRAWN = 40
LEAST = 0.005  # rarer arcs are not listed


def _find(question: Question) -> PanelAnswer:
    graphs = question.subject.graphs
    assert graphs is not None
    found = graphs.arcs.listed(LEAST)
    present = set(question.subject.network.dag.arcs)
    rows: list[list[Any]] = [
        [
            one.start,
            one.end,
            one.probability,
            one.adjacency,
            "yes" if (one.start, one.end) in present else "no",
        ]
        for one in found
    ]
    shown = {f"{row[0]} → {row[1]}": row[2] for row in rows[:N_DRAWN]}
    charts = [bar_chart(shown, label="probability of each arc")] if shown else []
    return PanelAnswer(
        stack(charts).svg if charts else "",
        grid(("from", "to", "probability", "either direction", "in the network"), rows),
        (f"By {graphs.method}, from {len(graphs.graphs):,} graphs.", *graphs.notes),
    )


PANEL = Panel("arcs", "Arcs", ("graphs",), _find)
