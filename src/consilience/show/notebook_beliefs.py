"""What a notebook shows of beliefs about graphs."""

from __future__ import annotations

import numpy as np

from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.graph_belief import GraphBelief
from consilience.averaging.graph_chains import GraphChains
from consilience.averaging.source_multinets import Multinets
from consilience.show.graph_beliefs import svg_belief
from consilience.show.html import N_LINES, bar, facts, grid, heading, line_chart, notes, number
from consilience.show.notebook_graphs import counted

__all__ = ["arcs", "believed", "chains", "multinets"]

MOST_DRAWN = 40
"""Nodes of a graph that is still drawn."""


def believed(belief: GraphBelief) -> str:
    """The averaged graph, and the most probable pairs."""
    known = {"by": belief.method, "families scored": f"{belief.n_scored:,}"}
    if belief.log_evidence is not None:
        known["log evidence"] = f"{belief.log_evidence:,.4f}"
    if belief.chains is not None:
        known["largest R-hat"] = f"{belief.chains.worst_r_hat:.3f}"
    drawn = svg_belief(belief) if len(belief.nodes) <= MOST_DRAWN else ""
    about = heading("GraphBelief", f"{counted(len(belief.graphs), 'graph')} stand for all")
    return about + facts(known) + drawn + _listed(belief.arcs) + notes(belief.notes)


def arcs(found: ArcBeliefs) -> str:
    """The most probable pairs."""
    return heading("ArcBeliefs", counted(len(found.nodes), "node")) + _listed(found)


def chains(found: GraphChains) -> str:
    """The log score of the first chain, and what the diagnoses say."""
    known = {
        "R-hat of the log score": f"{found.r_hat_score:.3f}",
        "largest R-hat": f"{found.worst_r_hat:.3f}",
        "the chains": "have met" if found.has_met else "have not met",
    }
    about = heading(
        "GraphChains",
        f"{counted(found.n_chains, 'chain')} of {counted(found.n_draws, 'graph')}",
    )
    steps = np.arange(found.n_draws, dtype=np.float64)
    drawn = line_chart(steps, found.log_scores[0], label="log score of the first chain")
    return about + drawn + facts(known)


def multinets(found: Multinets) -> str:
    """Whether the graphs of the sources differ, where, and whose tables do."""
    known = {
        "the graphs differ with probability": f"{found.probability:.3f}",
        "log Bayes factor": f"{found.log_bayes_factor:.2f}",
    }
    differences = found.differences()
    lines = [
        (
            one.source,
            f"{one.start} → {one.end}",
            "only here" if one.is_joined else "lacks here",
            bar(one.probability, f"{one.probability:.3f}"),
        )
        for one in differences[:N_LINES]
    ]
    head = ("source", "arc", "", "probability")
    table = grid(head, lines, n=len(differences)) if lines else ""
    nodes = sorted(found.tables_differ.items(), key=lambda one: -one[1])
    tables = [(node, bar(p, f"{p:.3f}")) for node, p in nodes[:N_LINES]]
    shown = grid(("node", "its tables differ by source"), tables, n=len(nodes))
    about = heading("Multinets", counted(len(found.sources), "source"))
    return about + facts(known) + table + shown + notes(found.notes)


def _listed(found: ArcBeliefs) -> str:
    listed = found.listed(0.01)
    lines = [
        (
            one.start,
            one.end,
            bar(one.adjacency, f"{one.adjacency:.3f}"),
            number(f"{one.probability:.3f}"),
            number(f"{one.direction:.3f}"),
        )
        for one in listed[:N_LINES]
    ]
    head = ("from", "to", "adjacency", "probability", "direction")
    return grid(head, lines, n=len(listed)) if lines else ""
