"""Graphs as text: one bracket a node, ``[C|A:B]`` for the node C with the parents A and B.

::

    graph = bracket*
    bracket = "[" name ("|" name (":" name)*)? "]"

A name is any text without ``[``, ``]``, ``|`` and ``:``; white space around names and brackets
means nothing. Any other name stands in double quotes (:mod:`consilience._quote`), as in
``["a:b"][C|"a:b"]``. Every parent has a bracket of its own, before or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, NoReturn

from consilience._quote import parts_between, quoted
from consilience.errors import GraphError, InputError

__all__ = ["parse_brackets", "write_bracket", "write_brackets"]

_MARKS = "[]|:"
_CONTEXT = 20


class _Token(NamedTuple):
    """A sign or a name, and where it stands; the end of the text is neither."""

    position: int
    text: str
    is_name: bool

    def is_sign(self, sign: str) -> bool:
        return not self.is_name and self.text == sign


def parse_brackets(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The arcs and the nodes of a model string, both in the order of the text."""
    if not isinstance(text, str):
        raise GraphError(f"a model string must be text, got {text!r}.", text=text)
    tokens = _tokens(text)
    nodes: list[str] = []
    arcs: list[tuple[str, str]] = []
    i = 0
    while i < len(tokens) - 1:
        i, child, parents = _bracket(text, tokens, i)
        nodes.append(child)
        arcs.extend((parent, child) for parent in parents)
    _check_parents(arcs, set(nodes))
    return arcs, nodes


def write_brackets(parents: Mapping[str, Sequence[str]]) -> str:
    """The model string of a graph given as the parents of each node."""
    return "".join(write_bracket(node, of_node) for node, of_node in parents.items())


def write_bracket(node: str, parents: Iterable[str]) -> str:
    """One node with its parents: ``[C|A:B]``."""
    joined = ":".join(quoted(parent, _MARKS) for parent in parents)
    name = quoted(node, _MARKS)
    return f"[{name}|{joined}]" if joined else f"[{name}]"


def _tokens(text: str) -> list[_Token]:
    """Names and signs in their order, and the end of the text."""
    tokens: list[_Token] = []
    try:
        parts = parts_between(text, _MARKS)
    except InputError as problem:
        raise GraphError(f"model string {problem}", text=text) from problem
    for part in parts:
        if part.name or part.is_quoted:
            tokens.append(_Token(part.start, part.name, is_name=True))
        tokens.append(_Token(part.end, part.sign, is_name=False))
    return tokens


def _bracket(text: str, tokens: list[_Token], i: int) -> tuple[int, str, list[str]]:
    if not tokens[i].is_sign("["):
        _expected(text, tokens[i], "'['")
    child = _name(text, tokens, i + 1)
    parents: list[str] = []
    i += 2
    accepted = "'|' or ']'"
    while tokens[i].is_sign(":" if parents else "|"):
        parents.append(_name(text, tokens, i + 1))
        i += 2
        accepted = "':' or ']'"
    if not tokens[i].is_sign("]"):
        _expected(text, tokens[i], accepted)
    return i + 1, child, parents


def _name(text: str, tokens: list[_Token], i: int) -> str:
    if not tokens[i].is_name:
        _expected(text, tokens[i], "a name")
    return tokens[i].text


def _expected(text: str, token: _Token, what: str) -> NoReturn:
    position, found, _ = token
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
