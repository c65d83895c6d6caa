"""A graph as a standalone SVG text: no fonts, scripts, styles or identifiers from or for elsewhere.

The picture has no background and middle tones for what lies on it, so that it can be shown on a
light and on a dark page; having no identifiers and no style sheet, many of them can stand in one
page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from consilience import _check
from consilience.distributions import Categorical
from consilience.graph.admg import ADMG
from consilience.graph.cpdag import CPDAG
from consilience.network.network import Network
from consilience.show import marks, picture as pic
from consilience.show.boxes import Box
from consilience.show.marks import LEGEND_STEP, MARGIN, TITLE_SIZE, number as _n, plain as _text
from consilience.show.picture import COLORS, Graph, Picture

__all__ = ["graph_group", "svg_graph"]


def svg_graph(
    model: Graph,
    *,
    title: str | None = None,
    beliefs: Mapping[str, Any] | None = None,
    highlight: Iterable[str] | None = None,
) -> str:
    """The picture of a graph, or of a network's graph, as the text of an SVG file.

    Parameters
    ----------
    model
        A graph, in which edges without direction have no heads and hidden common causes are dashed
        curves with two; or a network, whose nodes then tell
        their states when pointed at, and whose source is marked. Arcs from a source with more than
        five children are drawn as short stubs at the children.
    title
        A line above the picture.
    beliefs
        For some of the nodes what is believed, as ``net.marginals(...)`` gives it: a ``Factor``
        or the probability of each state, drawn as at most eight bars; a ``Mixture``, shown as mean
        ± sd; for a known node its state, which is set off among all of them, or its number.
    highlight
        Nodes to be set off, with the arcs between them.

    Raises
    ------
    UnknownNameError
        If beliefs or highlight name a node that does not exist.
    InputError
        If a belief is not a probability.

    Examples
    --------
    >>> from consilience.graph.dag import DAG
    >>> svg_graph(DAG([("smoke", "lung")])).startswith("<svg ")
    True
    """
    _check.names("svg", highlight=() if highlight is None else highlight)
    chosen = frozenset(() if highlight is None else highlight)
    drawn = pic.picture(model, beliefs)
    _check.known("node", sorted(chosen), drawn.labels)
    head = 0.0 if title is None else TITLE_SIZE + 14
    legend = _legend(drawn)
    words = [marks.legend_width(line) for _, line in legend]
    words += [] if title is None else [marks.title_width(title)]
    width = max([drawn.layout.width, *words]) + 2 * MARGIN
    foot = 12.0 + LEGEND_STEP * len(legend) if legend else 0.0
    height = drawn.layout.height + head + foot + 2 * MARGIN
    body = [
        *([] if title is None else [marks.title_line(title, MARGIN, MARGIN + TITLE_SIZE - 3)]),
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN + head)})">',
        *graph_group(drawn, model, chosen),
        *marks.legend_lines(legend, drawn.layout.height + 12),
        "</g>",
    ]
    return "\n".join(
        [marks.opening(width, height, _description(model, title)), *body, "</svg>", ""]
    )


def graph_group(drawn: Picture, model: Graph, chosen: Collection[str]) -> list[str]:
    """Arcs, hidden causes and nodes of a picture; those that are chosen are set off."""
    return [
        *_arcs(drawn, chosen),
        *_bows(drawn),
        *(_node(name, drawn, model, name in chosen) for name in drawn.labels),
    ]


def _description(model: Graph, title: str | None) -> str:
    dag = model.dag if isinstance(model, Network | ADMG) else model
    if isinstance(dag, CPDAG):
        count = (
            f"graph of {len(dag.nodes)} nodes, {len(dag.directed)} arcs and "
            f"{len(dag.undirected)} edges without direction"
        )
        return count.capitalize() if title is None else f"{title}: {count}"
    kind = "network" if isinstance(model, Network) else "graph"
    count = f"{kind} of {len(dag.nodes)} nodes and {len(dag.arcs)} arcs"
    if isinstance(model, ADMG):
        count += f", {len(model.latent)} pairs with a hidden common cause"
    return count[0].upper() + count[1:] if title is None else f"{title}: {count}"


def _arcs(drawn: Picture, chosen: Collection[str]) -> list[str]:
    """All arcs, those that are set off last so that they lie on top."""
    lines = []
    for arc, points in drawn.layout.routes.items():
        is_chosen = arc[0] in chosen and arc[1] in chosen
        is_told = arc[0] == drawn.source and arc[1] in drawn.differing
        color = "highlight" if is_chosen else "source" if is_told else "arc"
        has_head = frozenset(arc) not in drawn.edges
        line = marks.line(points, COLORS[color], 2.4 if is_chosen else 1.4, has_head=has_head)
        lines.append((is_chosen, marks.arc(arc, line, sign="→" if has_head else "-")))
    return [line for _, line in sorted(lines, key=lambda item: item[0])]


def _bows(drawn: Picture) -> list[str]:
    """The hidden common causes."""
    return [
        marks.arc(pair, marks.bow(bow, COLORS["hidden"], 1.4), kind="hidden", sign="↔")
        for pair, bow in drawn.bows.items()
    ]


def _node(name: str, drawn: Picture, model: Graph, is_chosen: bool) -> str:
    box = drawn.layout.boxes[name]
    bars = drawn.bars.get(name, ())
    is_known = any(bar.is_known for bar in bars)
    kind = "highlight" if is_chosen else "source" if name == drawn.source else ""
    fill = COLORS[f"{kind} box" if kind else "box"]
    stroke = COLORS["known" if is_known else kind or "border"]
    label_y = box.top + pic.BOX_HEIGHT / 2 if bars else box.y
    width = 2.6 if is_known else 2 if is_chosen else 1.2
    frame = marks.box(box, drawn.labels[name], label_y, fill, stroke=stroke, stroke_width=width)
    return (
        f'<g class="{"source node" if name == drawn.source else "node"}">'
        f"<title>{_text(_tooltip(name, model))}</title>"
        f"{frame}{_bars(box, bars, COLORS['known'] if is_known else COLORS['bar'])}</g>"
    )


def _tooltip(name: str, model: Graph) -> str:
    if not isinstance(model, Network):
        return name
    local = model[name]
    given = f" given {', '.join(local.parents)}" if local.parents else ""
    role = " (source)" if name == model.source else ""
    size = " by ".join(map(str, local.parameters.shape))
    if local.child.is_continuous:
        return f"{name}{role}{given}\ncontinuous\nparameters: {size}"
    states = local.child.discrete_states
    shown = ", ".join(states[:12]) + (f" and {len(states) - 12} more" if len(states) > 12 else "")
    what = "table" if isinstance(local, Categorical) else "parameters"
    return f"{name}{role}{given}\n{len(states)} states: {shown}\n{what}: {size}"


def _bars(box: Box, bars: tuple[pic.Bar, ...], color: str) -> str:
    if not bars:
        return ""
    size = pic.BAR_FONT_SIZE
    left = box.right - 9 - pic.text_width("100.0%", size) - 6 - pic.BAR_WIDTH
    lines = [f'<g font-size="{_n(size)}" fill="{COLORS["faint ink"]}">']
    for i, bar in enumerate(bars):
        y = box.top + pic.BOX_HEIGHT + pic.BAR_HEIGHT * (i + 0.5) - 2
        bold = ' font-weight="700"' if bar.is_known else ""
        if bar.probability is None:
            lines.append(
                f'<text x="{_n(box.x)}" y="{_n(y)}" dy="0.35em" text-anchor="middle"{bold}>'
                f"{_text(bar.state)}</text>"
            )
            continue
        share = pic.BAR_WIDTH * min(bar.probability, 1.0)
        lines.append(
            f'<text x="{_n(box.left + 9)}" y="{_n(y)}" dy="0.35em"{bold}>'
            f"{_text(pic.shortened(bar.state, pic.STATE_LENGTH))}</text>"
            f'<rect x="{_n(left)}" y="{_n(y - 4.5)}" width="{_n(pic.BAR_WIDTH)}" height="9" rx="2" '
            f'fill="{COLORS["bar ground"]}"/>'
            f'<rect x="{_n(left)}" y="{_n(y - 4.5)}" width="{_n(share)}" height="9" rx="2" '
            f'fill="{color}"/>'
            f'<text x="{_n(box.right - 9)}" y="{_n(y)}" dy="0.35em" text-anchor="end">'
            f"{100 * bar.probability:.1f}%</text>"
        )
    return "".join([*lines, "</g>"])


def _legend(drawn: Picture) -> list[tuple[str, str]]:
    """Signs and words that explain the colour of the source."""
    hidden = []
    if drawn.bows:
        hidden = [(marks.bow_sign(), "a hidden common cause")]
    if drawn.source is None:
        return hidden
    color, name = COLORS["source"], drawn.labels[drawn.source]
    box = (
        f'<rect x="0.5" y="-6.5" width="22" height="13" rx="4" fill="{COLORS["source box"]}" '
        f'stroke="{color}" stroke-width="1.2"/>'
    )
    arrow = marks.sign(color, 1.4)
    words = f"an arc from {name} that matters"
    return [*hidden, (box, f"{name}: the source of a row"), (arrow, words)]
