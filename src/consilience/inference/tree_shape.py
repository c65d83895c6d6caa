"""A junction tree before it holds numbers: its cliques and potentials, and what they cost.

A clique holds the tables of some families. Its potential is their product and has only their
variables. The others stand last among those that the clique does not share with its parent, so
that the loops over them are long and need one number of the potential.

A marginal is read off where it is shortest: a child of the clique that eliminates the variable may
have it in its separator, which is shorter than the table.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from consilience.inference.evidence import Scope
from consilience.inference.triangulation import (
    Cost,
    Held,
    Triangulation,
    cells_of,
    interaction,
    triangulate,
)
from consilience.network.network import Network

__all__ = ["TreeShape", "n_states_of", "scopes_of_tables", "shape_of_tables", "tree_shape"]

HELD = Held(cliques=1, messages=2)
"""The tables of one propagation; its messages, up and down. The potentials come on top."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Cliques, children before their parents, and what each of them does.

    Attributes
    ----------
    order
        All variables, in the order of elimination.
    cliques
        Variables of each clique; those shared with the parent first, in the parent's order.
    n_shared
        How many of them are shared with the parent.
    parent
        Number of the parent clique, -1 for a root.
    cost
        What the tree takes.
    home
        The clique in which each variable is eliminated.
    family
        For each table a clique that holds it.
    held
        The variables of each potential, in the order of the clique.
    below
        For each variable a child of its home whose separator has it, the shortest one, or -1.
    is_read
        For each clique whether marginals need its table: no separator has a variable of it.
    """

    order: Scope
    cliques: tuple[Scope, ...]
    n_shared: tuple[int, ...]
    parent: tuple[int, ...]
    cost: Cost
    home: Mapping[str, int]
    family: Mapping[str, int]
    held: tuple[Scope, ...]
    below: Mapping[str, int]
    is_read: tuple[bool, ...]


def tree_shape(
    net: Network, *, last: Sequence[str] = (), scopes: Collection[Scope] = ()
) -> TreeShape:
    """The cliques of the tree of a network and what they take; nothing is allocated."""
    return shape_of_tables(n_states_of(net), scopes_of_tables(net), scopes, last=last)


def shape_of_tables(
    n_states: Mapping[str, int],
    tables: Mapping[str, Scope],
    scopes: Collection[Scope] = (),
    *,
    last: Sequence[str] = (),
) -> TreeShape:
    """The cliques of the tree of some variables with tables and likelihoods over these scopes."""
    graph = interaction((*tables.values(), *scopes), n_states)
    shape = triangulate(graph, n_states, last=last, held=HELD)
    home = {name: c for c, own in enumerate(_residuals(shape)) for name in own}
    position = {name: i for i, name in enumerate(shape.order)}
    family = {name: home[min(axes, key=position.__getitem__)] for name, axes in tables.items()}
    held, below = _held(shape, tables, family), _below(shape, n_states, home)
    is_read = tuple(any(below[name] < 0 for name in own) for own in _residuals(shape))
    rest = [cells_of(own, n_states) for own, r in zip(_residuals(shape), is_read, strict=True) if r]
    more = sum(cells_of(names, n_states) for names in held) + max(rest, default=0.0)
    cliques = _runs_last(shape, held)
    return TreeShape(
        shape.order,
        cliques,
        shape.n_shared,
        shape.parent,
        replace(shape.cost, bytes=shape.cost.bytes + 8 * more),
        home,
        family,
        tuple(
            tuple(name for name in clique if name in names)
            for clique, names in zip(cliques, held, strict=True)
        ),
        below,
        is_read,
    )


def n_states_of(net: Network) -> dict[str, int]:
    """Numbers of states of the discrete nodes."""
    return {name: v.n_states for name, v in net.variables.items() if not v.is_continuous}


def scopes_of_tables(net: Network) -> dict[str, Scope]:
    """The variables of each table, its child last."""
    return {name: (*local.parents, name) for name, local in net.tables.items()}


def _residuals(shape: Triangulation) -> Iterator[Scope]:
    """The variables that each clique does not share with its parent."""
    for clique, n_shared in zip(shape.cliques, shape.n_shared, strict=True):
        yield clique[n_shared:]


def _held(
    shape: Triangulation, tables: Mapping[str, Scope], family: Mapping[str, int]
) -> list[set[str]]:
    """The variables of the tables that each clique holds."""
    held: list[set[str]] = [set() for _ in shape.cliques]
    for name, axes in tables.items():
        held[family[name]].update(axes)
    return held


def _below(
    shape: Triangulation, n_states: Mapping[str, int], home: Mapping[str, int]
) -> dict[str, int]:
    """For each variable the child of its home with the shortest separator that has it, or -1."""
    below, shortest = dict.fromkeys(n_states, -1), dict.fromkeys(n_states, math.inf)
    for child, (members, n_shared) in enumerate(zip(shape.cliques, shape.n_shared, strict=True)):
        separator = members[:n_shared]
        length = cells_of(separator, n_states)
        for name in separator:
            if home[name] == shape.parent[child] and length < shortest[name]:
                below[name], shortest[name] = child, length
    return below


def _runs_last(shape: Triangulation, held: Sequence[Collection[str]]) -> tuple[Scope, ...]:
    """The cliques, each with its separator in the order of its parent, then what its tables have,
    then the rest.
    """
    cliques = list(shape.cliques)
    for c in reversed(range(len(cliques))):
        n_shared = shape.n_shared[c]
        shared, own = cliques[c][:n_shared], cliques[c][n_shared:]
        if shared:
            shared = tuple(name for name in cliques[shape.parent[c]] if name in shared)
        has = tuple(name for name in own if name in held[c])
        cliques[c] = (*shared, *has, *(name for name in own if name not in held[c]))
    return tuple(cliques)
