"""Slow and plain definitions that the algorithms on graphs are judged by."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import strategies as st

from consilience.graph import DAG, all_dags

NAMES = ("A", "B", "C", "D")
FOUR = tuple(all_dags(NAMES))


@st.composite
def dags(draw, max_nodes=9, min_nodes=1):
    order = draw(st.permutations([f"n{i}" for i in range(draw(st.integers(min_nodes, max_nodes)))]))
    pairs = list(combinations(order, 2))
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return DAG(arcs, nodes=sorted(order))


def subsets(items):
    items = tuple(items)
    return chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))


def skeleton(arcs):
    return frozenset(map(frozenset, arcs))


def colliders(arcs):
    arcs = set(arcs)
    return frozenset(
        (frozenset((a, b)), c)
        for a, c in arcs
        for b, d in arcs
        if c == d and a != b and (a, b) not in arcs and (b, a) not in arcs
    )


def is_blocked(dag, path, given):
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        is_collider = {before, after} <= set(dag.parents(node))
        opened = {node, *dag.descendants(node)} & set(given)
        if (is_collider and not opened) or (not is_collider and node in given):
            return True
    return False


def simple_paths(dag, start, end, seen=()):
    if start == end:
        yield (*seen, end)
        return
    for step in (*dag.parents(start), *dag.children(start)):
        if step not in seen:
            yield from simple_paths(dag, step, end, (*seen, start))


def is_separated_by_paths(dag, x, y, given):
    return all(is_blocked(dag, path, given) for path in simple_paths(dag, x, y))


def is_separated_by_moral_graph(dag, x, y, given):
    kept = {*x, *y, *given}
    while more := {p for node in kept for p in dag.parents(node)} - kept:
        kept |= more
    joined = {frozenset(pair) for c in kept for pair in combinations((c, *dag.parents(c)), 2)}
    seen, waiting = set(x), list(x)
    while waiting:
        node = waiting.pop()
        near = {other for pair in joined if node in pair for other in pair} - seen - set(given)
        seen |= near
        waiting += near
    return seen.isdisjoint(y)
