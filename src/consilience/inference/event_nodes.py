"""Events over discrete variables as nodes: whether an event holds is a function of their states.

An event is a likelihood of ones and zeros over the set of its variables. As a node of the network,
a child of these with the states ``fails`` and ``holds``, it is evidence or question like any other,
and every way to answer knows how to treat it. Its table grows with the number of joint states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Bools
from consilience.data.row import known_values
from consilience.data.variable import Variable
from consilience.distributions import Categorical
from consilience.errors import InputError
from consilience.inference.event import (
    Event,
    Joined,
    Tree,
    holds,
    names_in,
    shortened,
    text_of,
    tree_of,
)
from consilience.network.network import Given, Network

__all__ = ["conditioned", "grid", "is_event", "is_open", "split_given", "with_nodes"]

HOLDS = "holds"
STATES = ("fails", HOLDS)


def is_event(variable: Variable, state: str) -> bool:
    """Whether a node and its state say that an event holds; its name then says which."""
    return variable.states == STATES and state == HOLDS


def split_given(given: Given, variables: Mapping[str, Variable]) -> tuple[Given, tuple[Tree, ...]]:
    """What is given without its events, and the events; what "and" joins is given each by itself.

    ``given`` may be an event, or a list of events and of what else may be given.
    """
    if isinstance(given, Event):
        return None, tuple(_each(tree_of(given)))
    if not isinstance(given, list | tuple) or hasattr(given, "_asdict"):
        return given, ()
    if not all(isinstance(one, Event | Mapping) for one in given):
        return given, ()  # refused where evidence is read
    events = tuple(t for one in given if isinstance(one, Event) for t in _each(tree_of(one)))
    known: dict[str, Any] = {}
    for one in given:
        if isinstance(one, Event):
            continue
        for name, value in known_values(one, variables).items():
            if name in known:
                raise InputError(f"{name!r} is given twice.", variable=name)
            known[name] = value
    return known, events


def _each(tree: Tree) -> list[Tree]:
    """The events of which all must hold."""
    if isinstance(tree, Joined) and tree.word == "and":
        return [one for part in tree.parts for one in _each(part)]
    return [tree]


def is_open(tree: Tree, variables: Mapping[str, Variable]) -> bool:
    """Whether an event is about a continuous variable; its comparisons are checked."""
    names = names_in(tree)
    _check.known("node", names, variables)
    holds(tree, variables, {name: np.zeros((), np.intp) for name in names})
    return any(variables[name].is_continuous for name in names)


def conditioned(
    net: Network, given: Given, memory_limit: float, owner: str
) -> tuple[Network, Given]:
    """The network with nodes for the events that are given, and what is given with their states.

    Raises
    ------
    InputError
        If an event is about a continuous variable; the message begins with ``owner``.
    """
    rest, events = split_given(given, net.variables)
    if not events:
        return net, rest
    for tree in events:
        if is_open(tree, net.variables):
            raise InputError(
                f"{owner}: the event {text_of(tree)!r} is about a continuous variable; such ones "
                "are given to net.query, net.marginals, net.probability and net.sample only.",
                parameter="given",
            )
    larger, nodes = with_nodes(net, events, memory_limit)
    return larger, {**known_values(rest, net.variables), **dict.fromkeys(nodes, HOLDS)}


def with_nodes(
    net: Network, events: Sequence[Tree], memory_limit: float
) -> tuple[Network, list[str]]:
    """The network with a node for each event, and the names of these nodes."""
    local = list(net.distributions.values())
    nodes: list[str] = []
    for tree in events:
        name = text_of(tree)
        while name in net.variables or name in nodes:
            name += " "
        parents = tuple(net.variables[parent] for parent in names_in(tree))
        inside = grid(tree, parents, memory_limit).astype(float)
        table = np.stack([1.0 - inside, inside], axis=-1)
        local.append(Categorical(Variable(name, STATES), parents, table))
        nodes.append(name)
    return Network.of(local, source=net.source, record=net.record), nodes


def grid(tree: Tree, variables: Sequence[Variable], memory_limit: float) -> Bools:
    """Whether an event holds for each joint state of discrete variables, an axis each."""
    sizes = [variable.n_states for variable in variables]
    _check.memory(
        f"the event {shortened(text_of(tree))!r} over {len(sizes)} variables",
        16.0 * prod(map(float, sizes)),
        memory_limit,
        "Ask for its parts.",
    )
    axes = np.meshgrid(*map(np.arange, sizes), indexing="ij", sparse=True)
    named = {variable.name: variable for variable in variables}
    columns = dict(zip(named, axes, strict=True))
    return np.broadcast_to(holds(tree, named, columns), sizes)
