r"""The page as one HTML file that needs no server and asks nothing of anyone.

Tables, cliques and coordinates of a discrete network stand in the file, and the page's own modules
find the beliefs by propagation through the junction tree, exactly. The tree is over the nodes
without the source: each source has tables of its own, and

.. math:: P(x \mid e) = \sum_f P(F = f \mid e) \, P(x \mid e, F = f).

Modules do not load from a disk, so they are joined: lines that import are dropped, and so is the
word ``export``, in an order in which each file stands after those that it needs. The policy of the
file allows the one script and the one style sheet by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from consilience._typing import Floats
from consilience.inference.cutting import Cut
from consilience.network.network import Network

__all__ = ["LARGEST", "joined_modules", "page_file", "page_of", "tree_of"]

LARGEST = 4_000_000
"""Cells of all cliques and sources that a page propagates through."""
FIRST = "main.js"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


def page_of(
    net: Network,
    facts: Mapping[str, Any],
    first: Mapping[str, Any],
    panels: Mapping[str, Any],
    *,
    second: tuple[Network, Mapping[str, Any]] | None = None,
) -> str:
    """One HTML file.

    Parameters
    ----------
    net
        The network.
    facts
        What the page knows before anything is asked.
    first
        The beliefs given nothing, for a page that cannot answer.
    panels
        Panels that the library has drawn, packed.
    second
        A second network, and the places of both.
    """
    still = why_still(net)
    embedded = {
        "model": facts,
        "tree": None if still else tree_of(net),
        "still": still,
        "first": first if still else None,
        "panels": panels,
        "second": None if second is None or still else _second(*second),
    }
    script, style = joined_modules(), page_file("style.css")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; "
        f"style-src 'sha256-{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    index = page_file("index.html")
    for old, new in {
        '<link rel="stylesheet" href="page/style.css">': (
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
            f"<style>{style}</style>"
        ),
        '<script type="module" src="page/main.js"></script>': (
            f'<script type="application/json" id="embedded">{_json(embedded)}</script>\n'
            f"<script>{script}</script>"
        ),
    }.items():
        index = index.replace(old, new, 1)
    return index


def _second(net: Network, places: Mapping[str, Any]) -> dict[str, Any]:
    """What the page needs of a second network: its places, and its tables if they can answer."""
    states = {
        name: {"states": None if one.is_continuous else list(one.discrete_states)}
        for name, one in net.variables.items()
    }
    tree = None if why_still(net) else tree_of(net)
    return {"places": places, "source": net.source, "nodes": states, "tree": tree}


def why_still(net: Network) -> str:
    """Why a page of this network cannot answer; empty if it can."""
    if not net.is_discrete:
        return (
            "This file shows beliefs given nothing: it answers for networks whose nodes are all "
            "discrete. consilience explore answers for all networks."
        )
    cells = _cells(net)
    if cells <= LARGEST:
        return ""
    return (
        "This file shows beliefs given nothing: its junction tree would have "
        f"{cells:,.0f} cells, and a file answers up to {LARGEST:,}. consilience explore answers "
        "for larger networks."
    )


def tree_of(net: Network) -> dict[str, Any]:
    """Cliques and tables of a discrete network, ready for JSON; numbers as base64 of float64."""
    cut = _without_source(net)
    names = list(cut.n_states)
    index = {name: i for i, name in enumerate(names)}
    shape = cut.shape(())
    tables, numbers = [], []
    for name in names:
        local = net.tables[name]
        table, axes = local.table, [*local.parents, name]
        by_source = net.source in axes
        if by_source:
            table = np.moveaxis(table, axes.index(str(net.source)), 0)
        tables.append([[index[axis] for axis in axes if axis != net.source], int(by_source)])
        numbers.append(np.ascontiguousarray(table, "<f8").ravel())
    prior = np.ones(1) if net.source is None else net.tables[net.source].table
    return {
        "names": names,
        "sizes": [cut.n_states[name] for name in names],
        "cliques": [[index[name] for name in clique] for clique in shape.cliques],
        "shared": list(shape.n_shared),
        "parent": list(shape.parent),
        "tables": tables,
        "prior": _base64(np.asarray(prior, "<f8")),
        "numbers": _base64(np.concatenate([*numbers, np.zeros(0)])),
    }


@cache
def page_file(name: str) -> str:
    """The text of a file of the page."""
    return (files("consilience.show.explorer") / "page" / name).read_text(encoding="utf-8")


@cache
def joined_modules(first: str = FIRST) -> str:
    """A module of the page and all that it needs as one script."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for needed in IMPORT.findall(page_file(name)):
                visit(needed)
            order[name] = None

    visit(first)
    parts = [EXPORT.sub("", IMPORT.sub("", page_file(name))) for name in order]
    return '"use strict";\n' + "\n".join(parts)


def _without_source(net: Network) -> Cut:
    return Cut.of(net, {} if net.source is None else {net.source: 0})


def _cells(net: Network) -> float:
    n_sources = 1 if net.source is None else net.variables[net.source].n_states
    return _without_source(net).shape(()).cost.total_cells * n_sources


def _base64(numbers: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, "<f8").tobytes()).decode()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: Any) -> str:
    """JSON that no name in it can end the element of."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
