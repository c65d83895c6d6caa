"""What a notebook shows of graphs, and of the records that hold one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consilience.fusion.fusion_record import Fusion
from consilience.graph.admg import ADMG
from consilience.graph.arc_comparison import GraphComparison
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.latent.influence_record import Influence
from consilience.network.network import Network
from consilience.show.html import bar, grid, heading, notes
from consilience.show.influence import svg_influence
from consilience.show.picture import Graph
from consilience.show.svg import svg_graph
from consilience.show.svg_fusion import svg_fusion
from consilience.show.svg_pair import svg_pair

__all__ = [
    "MOST_NODES",
    "compared",
    "counted",
    "drawn_graph",
    "drawn_influence",
    "fused",
    "scrolled_graph",
]

MOST_NODES = 60
"""Larger graphs are listed in a notebook, not drawn."""

MOST_ARCS = 240


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def drawn_graph(model: Graph) -> str:
    """A graph with its name and size; the parents of each node if it is too large to draw."""
    return heading(type(model).__name__, _size(model)) + scrolled_graph(model)


def scrolled_graph(model: Graph, *, highlight: Iterable[str] = ()) -> str:
    """The picture of a graph, or a list of its nodes if it is too large to draw."""
    graph = model.dag if isinstance(model, Network) else model
    if not _is_small(graph):
        return _listed(graph)
    return _scrolled(svg_graph(model, highlight=sorted(highlight)))


def compared(found: GraphComparison) -> str:
    """Both graphs side by side, and how far they agree."""
    about = heading("GraphComparison", f"structural Hamming distance {found.shd}")
    kinds = {
        "in both": found.shared,
        "directed differently": found.turned,
        "only learned": found.extra,
        "only in the other": found.missing,
    }
    lines = [(kind, str(len(arcs)), _arrows(arcs)) for kind, arcs in kinds.items()]
    table = grid(("arcs", "number", ""), lines)
    is_small = _is_small(found.learned) and _is_small(found.other)
    return about + (_scrolled(svg_pair(found.learned, found.other)) if is_small else "") + table


def fused(fusion: Fusion) -> str:
    """The fused graph with its votes, and what became of every arc."""
    n = len(fusion.sources)
    about = heading("Fusion", f"{counted(n, 'source')}, threshold {fusion.threshold:.4g} votes")
    lines = [
        (
            f"{d.arc[0]} → {d.arc[1]}",
            bar(d.votes / max(d.out_of, 1e-9), f"{d.votes:.3g} of {d.out_of:.3g}"),
            d.outcome,
        )
        for d in sorted(fusion.decisions, key=lambda d: (not d.is_in, -d.votes))
    ]
    drawn = _scrolled(svg_fusion(fusion)) if _is_small(fusion.dag) else ""
    return about + drawn + grid(("arc", "votes", "outcome"), lines) + notes(fusion.notes)


def drawn_influence(found: Influence) -> str:
    """The graph with each model folded into one box."""
    about = heading("Influence", f"BIC {found.score:,.2f}; stopped by {found.stopped_by}")
    if _is_small(found.dag):
        return about + _scrolled(svg_influence(found))
    return about + _listed(found.dag)


def _is_small(graph: DAG | CPDAG | ADMG) -> bool:
    lines = graph.directed + graph.undirected if isinstance(graph, CPDAG) else graph.arcs
    n_lines = len(lines) + (len(graph.latent) if isinstance(graph, ADMG) else 0)
    return len(graph.nodes) <= MOST_NODES and n_lines <= MOST_ARCS


def _size(model: Graph) -> str:
    if isinstance(model, CPDAG):
        edges = f"{counted(len(model.undirected), 'edge')} without direction"
        return (
            f"{counted(len(model.nodes), 'node')}, {counted(len(model.directed), 'arc')}, {edges}"
        )
    dag = model if isinstance(model, DAG) else model.dag
    size = f"{counted(len(dag.nodes), 'node')}, {counted(len(dag.arcs), 'arc')}"
    if isinstance(model, DAG):
        return size
    if isinstance(model, ADMG):
        return f"{size}, {counted(len(model.latent), 'hidden common cause')}"
    source = f", source {model.source}" if model.source is not None else ""
    return f"{size}, {counted(model.n_parameters, 'parameter')}{source}"


def _listed(graph: DAG | CPDAG | ADMG) -> str:
    if isinstance(graph, ADMG):
        cells = [
            (n, ", ".join(graph.parents(n)), ", ".join(graph.siblings(n))) for n in graph.nodes
        ]
        return grid(("node", "parents", "hidden cause with"), cells)
    if isinstance(graph, CPDAG):
        cells = [
            (n, ", ".join(graph.parents(n)), ", ".join(graph.neighbors(n))) for n in graph.nodes
        ]
        return grid(("node", "parents", "joined without direction"), cells)
    return grid(("node", "parents"), [(n, ", ".join(graph.parents(n))) for n in graph.nodes])


def _arrows(arcs: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{start} → {end}" for start, end in arcs[:8])
    return shown if len(arcs) <= 8 else f"{shown} and {len(arcs) - 8} more"


def _scrolled(picture: str) -> str:
    return f'<div style="overflow-x:auto">{picture}</div>'
