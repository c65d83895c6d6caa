"""The families of each slice of a network in time, and the ordinary network of many slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from consilience import _check
from consilience.distributions import Distribution
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.early_slices import flat, is_tied, tied_family
from consilience.dynamic.lagged_names import at, split_lag, split_slice
from consilience.network.network import Network

__all__ = ["SliceFamily", "TimedNode", "families_of", "n_parameters", "unrolled"]


class TimedNode(NamedTuple):
    """A variable so many steps before the present; the source has the lag -1."""

    name: str
    lag: int


@dataclass(frozen=True, slots=True, eq=False)
class SliceFamily:
    """A family of one kind of slice.

    ``key`` is where its numbers stand: the node's name for the transition's own, and ``x(0)`` for
    one of a first slice. ``parents`` are in the order of the distribution's ``given``.
    """

    child: str
    parents: tuple[TimedNode, ...]
    local: Distribution
    key: str


def families_of(net: DynamicNetwork) -> list[list[SliceFamily]]:
    """The families of the slices 0 to order - 1, and those of all later ones, in order.

    Nodes whose values are given, and inputs, have none.
    """
    found = []
    for k in range(net.order):
        families = []
        for name, local in net.transition.items():
            node = at(name, k)
            if node in net.conditional:
                continue
            if is_tied(local.parents, k):
                families.append(_of_transition(net, name))
            else:
                mine = net.initial[node]
                parents = tuple(_early(net, parent, k) for parent in mine.parents)
                families.append(SliceFamily(name, parents, mine, node))
        found.append(families)
    return [*found, [_of_transition(net, name) for name in net.transition]]


def n_parameters(net: DynamicNetwork) -> int:
    """Free parameters but those that are known, each family once; nodes without a law have none."""
    own: Mapping[str, Distribution] = {
        family.key: family.local for families in families_of(net) for family in families
    }
    root = 0 if net.source is None else net.initial[net.source].n_parameters
    known = net.record.known
    return root + sum(local.n_parameters - known.get(key, 0) for key, local in own.items())


def unrolled(net: DynamicNetwork, length: int) -> Network:
    """The ordinary network of so many slices.

    Inputs, and nodes whose first values are given, are roots with a flat law (uniform, or standard
    normal) that means nothing: give their values.

    Examples
    --------
    >>> import consilience as cs
    >>> net = cs.dynamic.from_hmm([1, 0], [[0.5, 0.5], [0, 1]], [[0.9, 0.1], [0.2, 0.8]])
    >>> net.unroll(2).dag.arcs
    (('z(0)', 'x(0)'), ('z(0)', 'z(1)'), ('z(1)', 'x(1)'))
    """
    _check.whole("unroll", at_least=1, length=length)
    found: dict[str, Distribution] = {}
    for node, local in net.initial.distributions.items():
        place = split_slice(node)
        if node == net.source or (place is not None and place[1] < length):
            found[node] = replace(local, posterior=None)
    for t in range(net.order, length):
        for name, local in net.transition.items():
            found[at(name, t)] = replace(tied_family(local, t, net.source), posterior=None)
    for t in range(length):
        for name in net.inputs:
            found.setdefault(at(name, t), flat(replace(net.variables[name], name=at(name, t))))
    return Network(found, net.source)


def _of_transition(net: DynamicNetwork, name: str) -> SliceFamily:
    local = net.transition[name]
    parents = tuple(
        TimedNode(parent, -1) if parent == net.source else TimedNode(*split_lag(parent))
        for parent in local.parents
    )
    return SliceFamily(name, parents, local, name)


def _early(net: DynamicNetwork, parent: str, k: int) -> TimedNode:
    if parent == net.source:
        return TimedNode(parent, -1)
    place = split_slice(parent)
    assert place is not None
    return TimedNode(place[0], k - place[1])
