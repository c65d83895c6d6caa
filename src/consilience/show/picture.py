"""What the SVG and the matplotlib picture have in common: labels, sizes, colours, curves.

The colours are chosen to be read on white and on black, since the picture itself has no background.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from consilience import _check
from consilience.answers.source_differences import differences
from consilience.errors import InputError, MemoryLimitError
from consilience.graph.admg import ADMG
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture
from consilience.network.network import Network
from consilience.show.bows import Bow, extent, placed_bows, shifted
from consilience.show.boxes import Arc, Point
from consilience.show.layout import Layout, layout

__all__ = [
    "COLORS",
    "SOURCE_COLORS",
    "STATE_COLORS",
    "Bar",
    "Graph",
    "Picture",
    "curve",
    "differing_nodes",
    "picture",
    "plain",
    "shortened",
    "text_width",
    "together",
    "told_apart",
    "wrapped",
]

Graph: TypeAlias = DAG | CPDAG | ADMG | Network
"""What is drawn as a graph."""

COLORS: Final = {
    "box": "#f1f5f9",
    "border": "#7b8ba1",
    "ink": "#1f2937",
    "faint ink": "#526075",
    "words": "#6a7688",
    "arc": "#7b8ba1",
    "bar": "#1d5fd0",
    "bar ground": "#dbe3ec",
    "source box": "#fdf0d5",
    "source": "#a16207",
    "highlight box": "#dbeafe",
    "highlight": "#2f6fe4",
    "hidden": "#b0568f",
    "known": "#b45309",
}

STATE_COLORS: Final = (  # Okabe and Ito's, told apart by colour-blind readers too
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7F7F7F",
    "#000000",
)

SOURCE_COLORS: Final = (*STATE_COLORS[:7], "currentColor")
"""The same with the colour of the page instead of black."""

FONT_SIZE = 13.0
LABEL_LENGTH = 44  # characters; longer names are cut in the middle
PADDING = 13.0
BOX_HEIGHT = 30.0
BAR_HEIGHT = 17.0
BAR_FONT_SIZE = 10.5
BAR_WIDTH = 56.0
STATE_LENGTH = 14
N_BARS = 8  # a box shows at most this many states
MAX_SOURCE_ARCS = 5  # a source with more children is drawn as a hub


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a node and its probability; a line of words alone has none.

    ``is_known`` is the state that the node was found in.
    """

    state: str
    probability: float | None
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph ready to be drawn.

    Parameters
    ----------
    layout
        Where everything is.
    labels
        What is written in each box: the name, cut if it is very long.
    bars
        The states shown in each box, if beliefs were given.
    source
        The node that says where rows come from, or None.
    edges
        Pairs of nodes that are joined without direction.
    bows
        Curves between nodes that share a hidden cause.
    differing
        The nodes in which sources differ in practice; all that depend on the source if the network
        does not tell.
    """

    layout: Layout
    labels: Mapping[str, str]
    bars: Mapping[str, tuple[Bar, ...]]
    source: str | None
    edges: frozenset[frozenset[str]] = frozenset()
    bows: Mapping[Arc, Bow] = field(default_factory=dict)
    differing: frozenset[str] = frozenset()


def picture(model: Graph, beliefs: Mapping[str, Any] | None = None) -> Picture:
    """Labels, sizes and layout of a graph or of a network's graph."""
    dag = _laid_out(model)
    source = model.source if isinstance(model, Network) else None
    beliefs = {} if beliefs is None else beliefs
    _check.known("node", beliefs, dag.nodes)
    labels = {name: shortened(name, LABEL_LENGTH) for name in dag.nodes}
    bars = {name: _lines(name, belief, model) for name, belief in beliefs.items()}
    sizes = {
        name: _size(label, bars.get(name, ()), len(dag.parents(name)))
        for name, label in labels.items()
    }
    is_hub = source is not None and len(dag.children(source)) > MAX_SOURCE_ARCS
    edges = frozenset(map(frozenset, model.undirected)) if isinstance(model, CPDAG) else frozenset()
    drawn = layout(dag, sizes, hub=source if is_hub else None)
    differing = differing_nodes(model) if isinstance(model, Network) else frozenset()
    found = Picture(drawn, labels, bars, source, edges, differing=differing)
    if not isinstance(model, ADMG) or not model.latent:
        return found
    return _with_room(replace(found, bows=placed_bows(model.latent, drawn.boxes, model.arcs)))


def _with_room(drawn: Picture) -> Picture:
    """The picture moved and widened so that the curves beside it are in it."""
    left, top, right, bottom = extent(drawn.bows.values())
    dx, dy = max(0.0, -left), max(0.0, -top)
    known = drawn.layout
    moved = Layout(
        {name: replace(box, x=box.x + dx, y=box.y + dy) for name, box in known.boxes.items()},
        {arc: tuple((x + dx, y + dy) for x, y in points) for arc, points in known.routes.items()},
        known.stubs,
        max(known.width, right) + dx,
        max(known.height, bottom) + dy,
    )
    bows = {pair: shifted(bow, dx, dy) for pair, bow in drawn.bows.items()}
    return replace(drawn, layout=moved, bows=bows)


def differing_nodes(net: Network) -> frozenset[str]:
    """The nodes in which sources differ in practice; all their children if it is not known."""
    if net.source is None:
        return frozenset()
    children = net.dag.children(net.source)
    if not set(children) & set(net.record.pooling):
        return frozenset(children)
    try:
        found = differences(net)
    except MemoryLimitError:
        return frozenset(children)
    unknown = (one.family for one in found.families if one.gain is None)
    return frozenset([*found.differing, *unknown])


def together(dag: DAG, more: Iterable[Arc]) -> DAG:
    """The graph with more arcs, each turned round if it would close a cycle."""
    for start, end in more:
        closes = start in dag.descendants(end)
        dag = dag.add(end, start) if closes else dag.add(start, end)
    return dag


def curve(points: Sequence[Point]) -> list[tuple[Point, Point, Point]]:
    """The cubic pieces of a route: two control points and the end of each.

    A piece between points of the same x is straight; the others begin and end vertically, so that
    all join smoothly.
    """
    pieces = []
    for (x, y), (end_x, end_y) in pairwise(points):
        bend = 0.52 * (end_y - y)
        pieces.append(((x, y + bend), (end_x, end_y - bend), (end_x, end_y)))
    return pieces


def shortened(text: str, length: int) -> str:
    """A text of at most so many characters, the middle of a longer one left out."""
    text = " ".join(text.split()) or repr(text)
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return f"{text[: length - 1 - tail]}…{text[-tail:]}"


def told_apart(names: Iterable[str], length: int) -> dict[str, str]:
    """Names of at most so many characters; those that would read alike without their beginning.

    >>> told_apart(["University hospital 1 in town", "University hospital 2 in town"], 16)
    {'University hospital 1 in town': '…1 in town', 'University hospital 2 in town': '…2 in town'}
    """
    shown = {name: shortened(name, length) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in shown.items():
        alike.setdefault(text, []).append(name)
    for group in alike.values():
        start = _common(group) if len(group) > 1 else 0
        if start:
            rests = told_apart([name[start:] for name in group], length - 1)
            shown |= {name: f"…{rests[name[start:]]}" for name in group}
    return shown


def _common(names: Sequence[str]) -> int:
    """Where the word starts in which the names begin to differ."""
    first, last = min(names), max(names)
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    prefix = first[:n]
    word = re.sub(r"^.*\W", "", prefix, flags=re.DOTALL)
    return len(prefix) - len(word) or len(prefix)


def plain(text: str) -> str:
    """A short text that matplotlib does not take for mathematics."""
    return shortened(text, 60).replace("$", r"\$")


def wrapped(text: str, width: int = 42) -> str:
    """A short text for an axis, in lines of at most so many letters, none of them cut off."""
    return "\n".join(textwrap.wrap(plain(text), width, break_on_hyphens=False))


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a common sans-serif font of that size."""
    return size * sum(map(_em, text))


def _em(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    for letters, width in _WIDTHS.items():
        if letter in letters:
            return width
    return 0.69 if letter.isupper() else 0.6


_WIDTHS: Final = {"ijlI.,:;'|!": 0.28, 'frt()[]{}-/ "': 0.37, "mwMW@%…": 0.88, "_": 0.5}


def _laid_out(model: Graph) -> DAG:
    """The graph whose layout is drawn; edges without direction lead from earlier nodes."""
    if isinstance(model, CPDAG):
        return together(DAG(model.directed, model.nodes), model.undirected)
    return model if isinstance(model, DAG) else model.dag


def _lines(name: str, belief: Any, model: Graph) -> tuple[Bar, ...]:
    """What a box says: bars of a discrete node, mean and sd of a continuous one, a given value."""
    if isinstance(belief, Mixture):
        one = belief.marginal(name)
        return (Bar(f"{one.mean:.4g} ± {one.sd:.3g}", None),)
    if isinstance(belief, Factor):
        belief = dict(zip(belief.variables[0].discrete_states, belief.values, strict=True))
    known = belief if isinstance(belief, str) else None
    if known is not None:
        others = model.variables[name].states if isinstance(model, Network) else ()
        belief = {**dict.fromkeys(others or (), 0.0), known: 1.0}
    if not isinstance(belief, Mapping):
        return (Bar(f"= {float(belief):.6g}", None, is_known=True),)
    _check_belief(name, belief, model)
    return tuple(replace(bar, is_known=bar.state == known) for bar in _bars(belief))


def _check_belief(name: str, belief: Mapping[str, float], model: Graph) -> None:
    if isinstance(model, Network):
        if model.variables[name].is_continuous:
            raise InputError(
                f"node {name!r} is continuous and has no states; its belief is a Mixture, as "
                "net.marginals() gives it, or a number.",
                node=name,
            )
        _check.known(f"state of {name!r}", belief, model.variables[name].discrete_states)
    for state, probability in belief.items():
        if not 0 <= probability <= 1 + 1e-9:
            raise InputError(
                f"node {name!r}: the probability of state {state!r} must be between 0 and 1, "
                f"got {probability!r}.",
                node=name,
                state=state,
            )


def _bars(belief: Mapping[str, float]) -> tuple[Bar, ...]:
    """The most probable states in their own order; the rest as one bar."""
    if len(belief) <= N_BARS:
        return tuple(Bar(state, float(p)) for state, p in belief.items())
    likely = sorted(belief, key=lambda state: -belief[state])[: N_BARS - 1]
    shown = tuple(Bar(state, float(p)) for state, p in belief.items() if state in likely)
    rest = sum(p for state, p in belief.items() if state not in likely)
    return (*shown, Bar(f"{len(belief) - len(shown)} more", float(rest)))


def _size(label: str, bars: Sequence[Bar], n_parents: int) -> tuple[float, float]:
    """Wide enough for the label, the bars and the tips of the arcs."""
    tips = 10.0 * min(n_parents, 12) + 16
    width = max(text_width(label, FONT_SIZE) + 2 * PADDING, tips, 52.0)
    if not bars:
        return round(width), BOX_HEIGHT
    if bars[0].probability is None:
        inside = text_width(bars[0].state, BAR_FONT_SIZE) + 2 * PADDING
        return round(max(width, inside)), BOX_HEIGHT + BAR_HEIGHT
    states = max(text_width(shortened(bar.state, STATE_LENGTH), BAR_FONT_SIZE) for bar in bars)
    inside = states + BAR_WIDTH + text_width("100.0%", BAR_FONT_SIZE) + 12 + 2 * 9
    return round(max(width, inside)), BOX_HEIGHT + BAR_HEIGHT * len(bars) + 5
