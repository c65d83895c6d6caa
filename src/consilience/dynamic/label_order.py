"""One order for the states of hidden nodes in time, so that equal models look equal.

The state that is the most frequent in the long run stands first; shares that differ by 0.001 or
less are ties, told apart by the means, or distributions, of the recorded nodes that depend on
them. In the long run means after many steps from the first slices, without any evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.lagged_names import split_lag
from consilience.dynamic.path_sampling import draw_slices
from consilience.incomplete.canonical import ordered_states, permuted_law

__all__ = ["canonical_labels", "relabelled"]

STEPS = 200
SEQUENCES = 400


def canonical_labels(net: DynamicNetwork, kept: Collection[str] = ()) -> DynamicNetwork:
    """The same network with the states of its hidden nodes in their canonical order, but for those
    whose order is to be kept.
    """
    hidden = [name for name in net.hidden if name not in kept]
    discrete = [name for name in hidden if not net.variables[name].is_continuous]
    if not discrete:
        return net
    shares = _long_run(net, discrete)
    orders = {
        name: ordered_states(shares[name], _traits(net, name, shares[name])) for name in discrete
    }
    return relabelled(net, orders)


def relabelled(net: DynamicNetwork, orders: Mapping[str, Integers]) -> DynamicNetwork:
    """The network in which state k of a node is what was its state ``orders[node][k]``."""

    def moved(local: Distribution) -> Distribution:
        by_node = {}
        for variable in (*local.given, local.child):
            base = split_lag(variable.name)[0]
            early = variable.name.rsplit("(", 1)[0]
            if base in orders or early in orders:
                by_node[variable.name] = orders.get(base, orders.get(early))
        return permuted_law(local, {n: o for n, o in by_node.items() if o is not None})

    initial = replace(
        net.initial, distributions={n: moved(d) for n, d in net.initial.distributions.items()}
    )
    return DynamicNetwork(
        initial,
        {name: moved(local) for name, local in net.transition.items()},
        net.hidden,
        net.inputs,
        net.conditional,
        net.record,
    )


def _long_run(net: DynamicNetwork, names: list[str]) -> dict[str, Floats]:
    """Shares of the states of hidden nodes after many steps, in sequences drawn from the network.

    Hidden nodes that depend on hidden nodes alone are moved exactly, by their joint table.
    """
    exact = _moved_exactly(net, names)
    if exact is not None:
        return exact
    rng = np.random.default_rng(0)
    columns = {
        name: np.zeros((SEQUENCES, STEPS), float if v.is_continuous else np.int64)
        for name, v in net.variables.items()
    }
    draw_slices(net, columns, np.zeros(SEQUENCES, np.int64), 0, rng=rng)
    return {
        name: np.bincount(columns[name].ravel(), minlength=net.variables[name].n_states)
        / (SEQUENCES * STEPS)
        for name in names
    }


def _moved_exactly(net: DynamicNetwork, names: list[str]) -> dict[str, Floats] | None:
    """Shares by powers of the table of one chain; None if the hidden nodes are not of that form."""
    found = {}
    for name in names:
        local = net.transition[name]
        if not isinstance(local, Categorical) or local.parents != (f"{name}(t-1)",):
            return None
        shares = net.initial.tables[f"{name}(0)"].table
        if shares.ndim != 1:
            return None
        powers = np.linalg.matrix_power(0.5 * (local.table + np.eye(len(shares))), 2**20)
        found[name] = np.asarray(shares @ powers)
    return found


def _traits(net: DynamicNetwork, name: str, shares: Floats) -> Iterator[Floats]:
    """Numbers of each state by which states are ordered, smallest first; the next breaks ties."""
    yield -shares
    for other in sorted(net.transition):
        local = net.transition[other]
        if name not in local.parents or other in net.hidden:
            continue
        axes = [v.name for v in local.given if not v.is_continuous]
        if isinstance(local, LinearGaussian):
            means = np.moveaxis(local.intercept, axes.index(name), 0).reshape(len(shares), -1)
            spread = float(means.std()) or 1.0
            yield means.mean(axis=1) / spread
        elif isinstance(local, Categorical):
            table = np.moveaxis(local.table, axes.index(name), 0)
            yield from -table.reshape(len(shares), -1, local.child.n_states).mean(axis=1).T
