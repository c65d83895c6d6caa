"""Graphs as text: one bracket a node, ``[C|A:B]`` for the node C with the parents A and B.

::

    graph = bracket*
    bracket = "[" name ("|" name (":" name)*)? "]"

A name is any text without ``[``, ``]``, ``|`` and ``:``; white space around names and brackets
means nothing. Every parent has a bracket of its own, before or after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from consilience.errors import GraphError

__all__ = ["is_writable", "parse_brackets", "show_bracket", "write_brackets"]

_MARKS = "[]|:"
_TOKEN = re.compile(r"[\[\]|:]|[^\[\]|:]+")
_CONTEXT = 20


def parse_brackets(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The arcs and the nodes of a model string, both in the order of the text."""
    if not isinstance(text, str):
        raise GraphError(f"a model string must be text, got {text!r}.", text=text)
    tokens = [
        (match.start() + len(part) - len(part.lstrip()), part.strip())
        for match in _TOKEN.finditer(text)
        if (part := match.group()).strip()
    ]
    tokens.append((len(text), ""))
    nodes: list[str] = []
    arcs: list[tuple[str, str]] = []
    i = 0
    while tokens[i][1]:
        i, child, parents = _bracket(text, tokens, i)
        nodes.append(child)
        arcs.extend((parent, child) for parent in parents)
    _check_parents(arcs, set(nodes))
    return arcs, nodes


def write_brackets(parents: Mapping[str, Sequence[str]]) -> str:
    """The model string of a graph given as the parents of each node."""
    for name in parents:
        if not is_writable(name):
            raise GraphError(
                f"the node {name!r} cannot stand in a model string: names must be free of "
                f"'[', ']', '|' and ':' and of white space at their ends.",
                node=name,
            )
    return "".join(show_bracket(node, of_node) for node, of_node in parents.items())


def is_writable(name: str) -> bool:
    """Whether a model string can hold the name and give it back."""
    return name == name.strip() and not any(mark in name for mark in _MARKS)


def show_bracket(node: str, parents: Iterable[str]) -> str:
    """One node with its parents, ``[C|A:B]``, to be read; names that do not fit in quotes."""
    child, *others = (name if is_writable(name) else repr(name) for name in (node, *parents))
    return f"[{child}|{':'.join(others)}]" if others else f"[{child}]"


def _bracket(text: str, tokens: list[tuple[int, str]], i: int) -> tuple[int, str, list[str]]:
    if tokens[i][1] != "[":
        _expected(text, tokens[i], "'['")
    child = _name(text, tokens, i + 1)
    parents: list[str] = []
    i += 2
    accepted = "'|' or ']'"
    while tokens[i][1] == ("|" if not parents else ":"):
        parents.append(_name(text, tokens, i + 1))
        i += 2
        accepted = "':' or ']'"
    if tokens[i][1] != "]":
        _expected(text, tokens[i], accepted)
    return i + 1, child, parents


def _name(text: str, tokens: list[tuple[int, str]], i: int) -> str:
    name = tokens[i][1]
    if not name or name in _MARKS:
        _expected(text, tokens[i], "a name")
    return name


def _expected(text: str, token: tuple[int, str], what: str) -> NoReturn:
    position, found = token
    shown = repr(found) if found else "the end of the text"
    start = max(0, position - _CONTEXT)
    before = ("..." if start else "") + text[start:position]
    raise GraphError(
        f"model string, position {position + 1}: expected {what}, found {shown} after {before!r}. "
        "A model string looks like '[A][B|A][C|A:B]'.",
        position=position,
        expected=what,
    )


def _check_parents(arcs: list[tuple[str, str]], nodes: set[str]) -> None:
    for parent, child in arcs:
        if parent not in nodes:
            raise GraphError(
                f"model string: {parent!r} is a parent of {child!r} but has no bracket of its own. "
                f"Add '[{parent}]'.",
                node=parent,
            )
