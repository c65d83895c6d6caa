"""Networks in time as JSON: two networks of the library's own format, and what ties them together.

::

    {"format": "consilience dynamic network", "version": 1,
     "hidden": ["z"], "inputs": [], "conditional": [], "record": {...},
     "initial": {"format": "consilience network", ...},
     "transition": {"format": "consilience network", ...}}

The transition is written with its lagged nodes, inputs and source as roots, which mean nothing and
are left out again when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from consilience.distributions import Distribution
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.early_slices import flat
from consilience.errors import ConsilienceError
from consilience.files import native
from consilience.files.objects import Content
from consilience.network.network import Network

__all__ = ["parse", "write"]

FORMAT = "consilience dynamic network"
VERSION = 1


def write(net: DynamicNetwork) -> str:
    """A JSON text."""
    local = list(net.transition.values())
    roots = {
        variable.name: flat(variable)
        for one in local
        for variable in one.given
        if variable.name not in net.transition
    }
    every: Iterable[Distribution] = [*roots.values(), *local]
    about = native.write(replace(net.initial, record=net.record))
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "hidden": list(net.hidden),
        "inputs": list(net.inputs),
        "conditional": list(net.conditional),
        "initial": json.loads(about),
        "transition": json.loads(native.write(Network.of(list(every)))),
    }
    lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in fields.items()]
    return "{" + ",\n ".join(lines) + "}\n"


def parse(text: str, name: str) -> DynamicNetwork:
    """The network in time of a JSON text; ``name`` is the file that errors speak of."""
    root = Content.of(native.loaded(text, name), name, "the file")
    if root.take("format", str) != FORMAT:
        raise root.fault(f"'format' must be {FORMAT!r}, got {root.take('format', str)!r}")
    if (version := root.take("version", int)) != VERSION:
        raise root.fault(f"version {version} cannot be read; version {VERSION} can")
    initial = native.parse(json.dumps(root.take("initial", dict)), name)
    transition = native.parse(json.dumps(root.take("transition", dict)), name)
    listed = {key: tuple(root.texts(key)) for key in ("hidden", "inputs", "conditional")}
    record = initial.record
    first = {node.rsplit("(", 1)[0] for node in initial.distributions}
    current = [
        one
        for node, one in transition.distributions.items()
        if node in first and node not in listed["inputs"] and node != initial.source
    ]
    try:
        return DynamicNetwork(
            replace(initial, record=type(record)()),
            current,  # type: ignore[arg-type]
            listed["hidden"],
            listed["inputs"],
            listed["conditional"],
            record,
        )
    except ConsilienceError as problem:
        raise root.fault(str(problem).rstrip(".")) from problem
