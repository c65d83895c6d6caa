"""Checks that every graph makes of the names and pairs it is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from consilience import _check
from consilience.errors import GraphError

__all__ = ["Arc", "check_same_nodes", "unique_names", "unique_pairs"]

Arc = tuple[str, str]


def unique_names(nodes: Iterable[Any]) -> tuple[str, ...]:
    """The nodes as a tuple, refused unless they are different texts."""
    if isinstance(nodes, str):
        raise GraphError(
            f"nodes must be a list of names, such as [{nodes!r}], got the text {nodes!r}.",
            nodes=nodes,
        )
    seen: dict[str, None] = {}
    for name in nodes:
        if not isinstance(name, str) or not name:
            raise GraphError(
                f"a node's name must be text that is not empty, got {name!r}.", node=name
            )
        if name in seen:
            raise GraphError(f"the node {name!r} stands twice.", node=name)
        seen[name] = None
    return tuple(seen)


def unique_pairs(arcs: Iterable[Any]) -> tuple[Arc, ...]:
    """The arcs as a tuple, refused unless they are different pairs of different names."""
    if isinstance(arcs, str):
        raise GraphError(
            f"arcs must be pairs of names, got the text {arcs!r}. DAG.parse reads model strings.",
            arcs=arcs,
        )
    seen: dict[Arc, None] = {}
    for arc in arcs:
        pair = _pair(arc)
        if pair in seen:
            raise GraphError(f"the arc {pair[0]!r} -> {pair[1]!r} stands twice.", arc=pair)
        seen[pair] = None
    return tuple(seen)


def check_same_nodes(first: Iterable[str], second: Iterable[str]) -> None:
    """Refuse two graphs unless they have the same nodes."""
    one, two = set(first), set(second)
    if one != two:
        raise GraphError(
            f"the graphs must have the same nodes; only in the first: "
            f"{_check.listed(sorted(one - two))}; only in the second: "
            f"{_check.listed(sorted(two - one))}.",
            nodes=tuple(sorted(one ^ two)),
        )


def _pair(arc: Any) -> Arc:
    if not isinstance(arc, tuple | list) or len(arc) != 2:
        raise GraphError(f"an arc must be a pair of names (from, to), got {arc!r}.", arc=arc)
    start, end = arc
    if not (isinstance(start, str) and isinstance(end, str) and start and end):
        raise GraphError(
            f"the ends of an arc must be names (text that is not empty), got {arc!r}.", arc=arc
        )
    if start == end:
        raise GraphError(f"the arc {start!r} -> {end!r} joins a node to itself.", arc=(start, end))
    return start, end
