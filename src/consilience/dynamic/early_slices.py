"""The first slices of a network in time: which families are the transition's own, and the rest.

At slice k a family whose lags are all at most k is the transition's; another one has its own
distribution over the parents that exist. Inputs, and nodes whose first values are given, are roots
there with a flat law that means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from consilience import _check
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.lagged_names import at, split_lag, split_slice
from consilience.errors import GraphError, ModelError
from consilience.network.network import Network

__all__ = [
    "check_transition",
    "early_parents",
    "flat",
    "is_tied",
    "renamed",
    "tied_family",
    "whole_initial",
]

SAME = 1e-12
"""Relative difference of numbers that count as the same."""


class _Roles(Protocol):
    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def hidden(self) -> tuple[str, ...]: ...

    @property
    def conditional(self) -> tuple[str, ...]: ...


def early_parents(parents: Sequence[str], k: int, source: str | None = None) -> tuple[str, ...]:
    """The parents of a family that exist at slice k, by their names there.

    >>> early_parents(["z(t-1)", "z(t-2)", "y"], 1)
    ('z(0)', 'y(1)')
    """
    found = []
    for parent in parents:
        name, lag = split_lag(parent)
        if parent == source:
            found.append(parent)
        elif lag <= k:
            found.append(at(name, k - lag))
    return tuple(found)


def is_tied(parents: Sequence[str], k: int) -> bool:
    """Whether a family's parents all exist at slice k."""
    return all(split_lag(parent)[1] <= k for parent in parents)


def renamed(local: Distribution, names: Mapping[str, str]) -> Distribution:
    """The same distribution with other names of its variables; those not named stay."""
    child = replace(local.child, name=names.get(local.child.name, local.child.name))
    given = tuple(replace(v, name=names.get(v.name, v.name)) for v in local.given)
    return replace(local, child=child, given=given)


def tied_family(local: Distribution, k: int, source: str | None) -> Distribution:
    """A family of the transition as that of slice k."""
    names = {
        node: at(split_lag(node)[0], k - split_lag(node)[1])
        for node in (local.child.name, *local.parents)
        if node != source
    }
    return renamed(local, names)


def flat(variable: Variable) -> Distribution:
    """A law that means nothing, for a root whose value is given."""
    if variable.is_continuous:
        return LinearGaussian(variable, (), np.zeros(()), np.zeros(0), np.ones(()))
    return Categorical(variable, (), np.full(variable.n_states, 1.0 / variable.n_states))


def check_transition(
    local: Sequence[Distribution], inputs: Collection[str], source: str | None
) -> dict[str, Variable]:
    """The variables of the nodes and inputs; a family that cannot be one in time is refused."""
    variables: dict[str, Variable] = {}
    for one in local:
        name = one.child.name
        if split_lag(name)[1]:
            raise GraphError(
                f"the transition has a distribution of {name!r}, which lies in the past. Its "
                "children are nodes of the current slice; their parents may be lagged.",
                node=name,
            )
        if name in variables:
            raise ModelError(f"two distributions of the transition have the child {name!r}.")
        variables[name] = one.child
    if not local:
        raise ModelError("a dynamic network needs at least one node.")
    for name in inputs:
        if name in variables:
            raise ModelError(
                f"{name!r} is an input and cannot have a distribution as well.", variable=name
            )
    _check_parents(local, variables, inputs, source)
    _check.known("input", inputs, variables)
    return variables


def _check_parents(
    local: Sequence[Distribution],
    variables: dict[str, Variable],
    inputs: Collection[str],
    source: str | None,
) -> None:
    """Add the inputs to the variables; refuse parents that are none of these, or other ones."""
    given = [(one.child.name, variable) for one in local for variable in one.given]
    for name, variable in given:
        base = split_lag(variable.name)[0]
        if variable.name == source:
            continue
        if base in inputs and base not in variables:
            variables[base] = replace(variable, name=base)
        if base not in variables:
            _check.unknown("node", base, variables, f"It is a parent of {name!r}.")
        if variables[base].states != variable.states:
            raise ModelError(
                f"node {name!r} and its parent {variable.name!r} disagree about the states of "
                f"{base!r}.",
                variable=name,
            )


def whole_initial(
    initial: Network | None, transition: Mapping[str, Distribution], order: int, roles: _Roles
) -> Network:
    """The network of the first slices with all families of the transition put in and checked."""
    source = None if initial is None else initial.source
    said = {} if initial is None else dict(initial.distributions)
    if initial is not None:
        _check_nodes(initial, transition, order, roles)
    found: dict[str, Distribution] = {}
    if source is not None:
        found[source] = said[source]
    for k in range(order):
        for name, local in transition.items():
            found[at(name, k)] = _early_law(name, k, local, said, roles=roles, source=source)
    for one in list(found.values()):
        for parent in one.given:
            base = split_slice(parent.name)
            if parent.name not in found and base is not None and base[0] in roles.inputs:
                found[parent.name] = flat(parent)
    return Network(found, source)


def _early_law(
    name: str,
    k: int,
    local: Distribution,
    said: Mapping[str, Distribution],
    *,
    roles: _Roles,
    source: str | None,
) -> Distribution:
    """The law of a node in an early slice: none, the transition's own, or the one that is said."""
    node = at(name, k)
    if node in roles.conditional:
        return flat(replace(local.child, name=node))
    if is_tied(local.parents, k):
        own = tied_family(local, k, source)
        if node in said:
            _check_same(said[node], own, name)
        return own
    if node not in said:
        raise ModelError(
            f"the initial network has no node {node!r}, whose family in the transition reaches "
            "back before the first step. Give its distribution, or name it in conditional= if its "
            "value is given.",
            variable=node,
        )
    return said[node]


def _check_nodes(
    initial: Network, transition: Mapping[str, Distribution], order: int, roles: _Roles
) -> None:
    """Refuse nodes of other slices and arcs that lead back in time."""
    steps = {}
    for node in initial.distributions:
        if node == initial.source:
            continue
        found = split_slice(node)
        is_known = found is not None and (found[0] in transition or found[0] in roles.inputs)
        if found is None or not is_known or found[1] >= order:
            raise ModelError(
                f"the initial network has the node {node!r}; its nodes are those of the transition "
                f"in the slices 0 to {order - 1}, such as {at(next(iter(transition)), 0)!r}.",
                variable=node,
            )
        steps[node] = found[1]
    for parent, child in initial.dag.arcs:
        if parent != initial.source and steps[parent] > steps[child]:
            raise GraphError(
                f"the arc {parent!r} -> {child!r} of the initial network leads backward in time. "
                "Arcs lead from earlier slices to later ones, or stay in a slice.",
                arc=(parent, child),
            )


def _check_same(said: Distribution, own: Distribution, name: str) -> None:
    """Refuse a family of an early slice that differs from the transition's own."""
    is_same = (
        type(said) is type(own)
        and said.parents == own.parents
        and said.child.states == own.child.states
        and np.allclose(said.parameters, own.parameters, rtol=SAME, atol=SAME)
    )
    if not is_same:
        raise ModelError(
            f"the initial network gives {said.child.name!r} another distribution than the "
            f"transition gives {name!r}, whose parents all exist there. It is one family in all "
            f"slices: leave {said.child.name!r} out of the initial network, or make both equal.",
            variable=said.child.name,
        )
