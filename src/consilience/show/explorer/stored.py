"""Panels that go with a file: drawn once by the library, given nothing, and packed.

The node that a page opens with has every panel. Other nodes have those that are cheap to draw, the
nearest in the graph first, as long as all of it stays small enough to be mailed; the page says
which nodes a panel is there for.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

from consilience.network.network import Network
from consilience.show.panels.question import Panel, Question, Subject
from consilience.show.panels.registry import panels

__all__ = ["ROOM", "stored_panels"]

ROOM = 36_000
"""Letters that packed panels may take."""
BY_NODE = ("node", "differences")
"""Panels that are stored for more than one node."""
DIGITS = 6

Stored = dict[str, dict[str, Any]]


def stored_panels(subject: Subject) -> dict[str, Any]:
    """The answers by panel and node as packed JSON, and the node that the page opens with."""
    first = Question(subject).shown_node
    ready = [one for one in panels() if not one.missing(subject)]
    stored: Stored = {one.name: {first: _answer(one, subject, first)} for one in ready}
    text = _packed(stored)
    more = [one for one in ready if one.name in BY_NODE]
    for node in _nearest(subject.network, first):
        for one in more:
            stored[one.name][node] = _answer(one, subject, node)
        longer = _packed(stored)
        if len(longer) > ROOM:
            break
        text = longer
    return {"first": first, "packed": text}


def _answer(panel: Panel, subject: Subject, node: str) -> dict[str, Any]:
    found = panel.answer(Question(subject, node=node))
    rows = [[_short(cell) for cell in row] for row in found.table["rows"]]
    table = {"columns": list(found.table["columns"]), "rows": rows}
    return {"svg": found.svg, "table": table, "notes": list(found.notes)}


def _short(cell: Any) -> Any:
    """A number with as many digits as anyone reads."""
    return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell


def _nearest(net: Network, first: str) -> Iterator[str]:
    """The other nodes but for the source, those fewer arcs away first."""
    seen, edge = {first, str(net.source)}, [first]
    while edge:
        around = [n for e in edge for n in (*net.dag.parents(e), *net.dag.children(e))]
        edge = [name for name in dict.fromkeys(around) if name not in seen]
        seen.update(edge)
        yield from edge
    yield from (name for name in net.dag.nodes if name not in seen)


def _packed(stored: Stored) -> str:
    text = json.dumps(stored, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
