"""Pictures of a vote with matplotlib (extra ``plot``): sources, thresholds, and the matrix.

All graphs of a figure have the same layout, that of the fused graph with the arcs that others have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience import _check
from consilience.errors import InputError
from consilience.fusion.choosing import Order, StrongestFirst, choose
from consilience.fusion.fusion_record import Fusion
from consilience.graph.dag import DAG
from consilience.graph.names import Arc, check_same_nodes
from consilience.show.arc_matrix import draw_matrix
from consilience.show.pair import Look, drawn_arcs
from consilience.show.patches import MARGIN, draw_arc, draw_node, frame, inches
from consilience.show.picture import COLORS, Picture, picture, shortened, together

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["plot_fusion", "plot_thresholds", "plot_votes"]

HEAD = 34.0  # for the title of a panel
FOOT = 30.0  # for the legend
GAP = 16.0
SMALLEST_PANEL = 190.0  # so that its title fits
POINTS = 0.72  # of a line's width
WIDEST = 1500.0  # of a figure, in units of a layout

VOTED: Final = {
    "entered": Look("#009E73", 1.9),
    "dropped": Look("#D55E00", 1.9, (7, 4), 3.5),
    "lacking": Look("#0072B2", 1.5, (2, 2.5), -3.5),
}
"""An arc of a source that is in the fused graph, one that is not, one that the source lacks."""

JUDGED: Final = {
    "true": Look("#009E73", 1.9),
    "false": Look("#D55E00", 1.9, (7, 4), 3.5),
    "missed": Look("#0072B2", 1.5, (2, 2.5), -3.5),
}
"""The same beside a graph that is known to be true."""

KEPT: Final = {"kept": Look(COLORS["ink"], 1.5)}
WORDS: Final = {
    "entered": "in the fused graph",
    "dropped": "dropped",
    "lacking": "in the fused graph, but not here",
    "true": "true",
    "false": "false",
    "missed": "missed",
    "kept": "",
}


@dataclass(frozen=True, slots=True)
class _Panel:
    """One graph of a figure: its title and its arcs by kind."""

    title: str
    kinds: Mapping[str, tuple[Arc, ...]]


def plot_fusion(fusion: Fusion, *, truth: DAG | None = None, max_panels: int = 12) -> NDArray[Any]:
    """The graph of every source: which arcs entered the fused graph, and which did not.

    Parameters
    ----------
    fusion
        What :func:`consilience.fuse` gives.
    truth
        A graph that is known to be true; then arcs are marked true, false or missed instead, as in
        Figure 2 of Córdoba-Sánchez et al. (2015).
    max_panels
        With more sources those are drawn whose graphs differ most from the fused one, or from the
        truth.
    """
    _check_truth(fusion, truth)
    _check.whole("plot", at_least=1, max_panels=max_panels)
    shown = _most_different(fusion.sources, fusion.dag if truth is None else truth, max_panels)
    panels = [
        _Panel(
            _counted(name, len(dag.arcs)),
            _voted(dag, fusion.dag) if truth is None else _judged(dag, truth),
        )
        for name, dag in shown.items()
    ]
    drawn = _layout(fusion.dag if truth is None else truth, shown.values(), fusion)
    n_sources = len(fusion.sources)
    note = (
        f"the {len(shown)} of {n_sources} sources that differ most"
        if len(shown) < n_sources
        else ""
    )
    return _figure(drawn, panels, VOTED if truth is None else JUDGED, note)


def plot_thresholds(
    fusion: Fusion,
    *,
    thresholds: Iterable[float] | None = None,
    truth: DAG | None = None,
    order: Order | None = None,
) -> NDArray[Any]:
    """The graph that each threshold would give.

    Parameters
    ----------
    fusion
        What :func:`consilience.fuse` gives.
    thresholds
        Which to draw; 1 to the number of sources if not given, or a dozen of them.
    truth
        A graph that is known to be true; then arcs are marked true, false or missed, as in Figure 3
        of Córdoba-Sánchez et al. (2015).
    order
        In which order arcs enter; ``StrongestFirst()`` if not given.
    """
    _check_truth(fusion, truth)
    n_sources = len(fusion.sources)
    step = math.ceil(n_sources / 12)
    asked = range(step, n_sources + 1, step) if thresholds is None else thresholds
    arranged = StrongestFirst() if order is None else order
    graphs = {f"{t:g}": choose(fusion.votes, t, arranged)[0] for t in asked}
    if not graphs:
        raise InputError("plot: there is no threshold to draw.", parameter="thresholds")
    panels = [
        _Panel(
            _counted(f"threshold {name}", len(dag.arcs)),
            {"kept": dag.arcs} if truth is None else _judged(dag, truth),
        )
        for name, dag in graphs.items()
    ]
    drawn = _layout(fusion.dag if truth is None else truth, graphs.values(), fusion)
    return _figure(drawn, panels, KEPT if truth is None else JUDGED, "")


def plot_votes(fusion: Fusion, ax: Axes | None = None) -> Axes:
    """The matrix of votes as a heat map; the arcs of the fused graph are framed.

    Parameters
    ----------
    fusion
        What :func:`consilience.fuse` gives.
    ax
        Where to draw; a new figure if not given.
    """
    votes = fusion.votes
    return draw_matrix(
        votes.nodes,
        votes.matrix,
        most=len(votes.weights),
        framed=fusion.dag.arcs,
        title=f"votes of {len(votes.weights)} sources; threshold {fusion.threshold:.3g}",
        ax=ax,
    )


def _check_truth(fusion: Fusion, truth: DAG | None) -> None:
    if truth is not None:
        check_same_nodes(fusion.dag.nodes, truth.nodes)


def _most_different(sources: Mapping[str, DAG], wanted: DAG, n: int) -> dict[str, DAG]:
    """So many sources with the most arcs too many or too few, in their own order."""
    if len(sources) <= n:
        return dict(sources)
    away = {name: len(set(dag.arcs) ^ set(wanted.arcs)) for name, dag in sources.items()}
    chosen = set(sorted(sources, key=lambda name: -away[name])[:n])
    return {name: dag for name, dag in sources.items() if name in chosen}


def _counted(name: str, n_arcs: int) -> str:
    return f"{shortened(name, 22)}: {n_arcs} arc{'' if n_arcs == 1 else 's'}"


def _voted(dag: DAG, fused: DAG) -> dict[str, tuple[Arc, ...]]:
    return {
        "lacking": tuple(a for a in fused.arcs if a not in dag.arcs and set(a) <= set(dag.nodes)),
        "entered": tuple(arc for arc in dag.arcs if arc in fused.arcs),
        "dropped": tuple(arc for arc in dag.arcs if arc not in fused.arcs),
    }


def _judged(dag: DAG, truth: DAG) -> dict[str, tuple[Arc, ...]]:
    return {
        "missed": tuple(arc for arc in truth.arcs if arc not in dag.arcs),
        "true": tuple(arc for arc in dag.arcs if arc in truth.arcs),
        "false": tuple(arc for arc in dag.arcs if arc not in truth.arcs),
    }


def _layout(first: DAG, others: Iterable[DAG], fusion: Fusion) -> Picture:
    """The layout of a graph with all arcs that others have, the strongest votes first."""
    joined = {frozenset(arc) for arc in first.arcs}
    shown = {arc for dag in others for arc in dag.arcs}
    more = []
    for arc in [*StrongestFirst().arrange(fusion.votes), *fusion.dag.arcs]:
        if frozenset(arc) not in joined and (arc in shown or arc in fusion.dag.arcs):
            joined.add(frozenset(arc))
            more.append(arc)
    return picture(together(first, more))


def _figure(
    drawn: Picture, panels: Sequence[_Panel], looks: Mapping[str, Look], note: str
) -> NDArray[Any]:
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    width = max(drawn.layout.width + 2 * MARGIN, SMALLEST_PANEL)
    height = drawn.layout.height + 2 * MARGIN + HEAD
    n_columns = _columns(len(panels), width, height)
    n_lines = math.ceil(len(panels) / n_columns)
    size = inches(n_columns * (width + GAP), n_lines * (height + GAP) + FOOT)
    figure, grid = pyplot.subplots(
        n_lines, n_columns, figsize=size, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(h_pad=0.07, w_pad=0.07)
    for ax, panel in zip(grid.flat, panels, strict=False):
        _draw(ax, drawn, panel, looks)
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    _legend(figure, panels, looks, note)
    return np.asarray(grid)


def _columns(n_panels: int, width: float, height: float) -> int:
    """So many columns that the figure is neither too wide nor much wider than high."""
    most = max(1, int(WIDEST / (width + GAP)))
    even = math.ceil(math.sqrt(1.6 * n_panels * (height + GAP) / (width + GAP)))
    return min(n_panels, most, max(1, even))


def _draw(ax: Axes, drawn: Picture, panel: _Panel, looks: Mapping[str, Look]) -> None:
    for one in drawn_arcs(drawn.layout, panel.kinds, looks):
        look = looks[one.kind]
        dashes = [each / look.width for each in look.dashes]  # which matplotlib multiplies again
        draw_arc(ax, one.points, look.color, linewidth=POINTS * look.width, dashes=dashes)
    for name, box in drawn.layout.boxes.items():
        draw_node(ax, box, drawn.labels[name], COLORS["box"], edge=COLORS["border"])
    title = panel.title.replace("$", r"\$")
    ax.set_title(title, fontsize=9, loc="left")
    frame(ax, drawn.layout)


def _legend(figure: Figure, panels: Sequence[_Panel], looks: Mapping[str, Look], note: str) -> None:
    lines = _check.extra("matplotlib.lines", "plot", "plot")
    occurring = [kind for kind in looks if any(panel.kinds.get(kind) for panel in panels)]
    handles: list[Any] = [
        lines.Line2D(
            [],
            [],
            color=looks[kind].color,
            linewidth=POINTS * looks[kind].width,
            linestyle=(0, [each / looks[kind].width for each in looks[kind].dashes] or None),
            label=WORDS[kind],
        )
        for kind in occurring
        if WORDS[kind]
    ]
    if note:
        handles.append(lines.Line2D([], [], linestyle="", label=note))
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=len(handles),
            frameon=False,
            fontsize=9,
            handlelength=3.2,
        )
