r"""Beliefs about graphs from chains over orders of the variables.

The state is an order; it weighs :math:`\prod_x a_x(\text{before } x)`, the sum over all graphs
along it. A step takes one variable out and puts it back at a place drawn from all (Gibbs). A graph
along the order is drawn now and then. Graphs are then as probable as under the prior by orders
(:class:`OrderModular`): one that follows many orders is visited more often.

References
----------
N. Friedman, D. Koller (2003). Being Bayesian about network structure. Machine Learning 50.
J. Kuipers, P. Suter, G. Moffa (2022). Efficient sampling and structure learning of Bayesian
networks. Journal of Computational and Graphical Statistics 31.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._typing import Integers, Seed
from consilience.averaging.belief_ways import Asked, Found
from consilience.averaging.graph_walk import Bytes, Walk, check_plan, walked
from consilience.kernels.graph_walks import walk_orders

__all__ = ["OrderMCMC"]


@dataclass(frozen=True, slots=True)
class OrderMCMC:
    """Chains over orders: quick to mix, with the prior that favours graphs with many orders.

    Parameters
    ----------
    draws
        Graphs that each chain keeps.
    chains
        Number of chains; each starts from an order of its own, so that R-hat can tell whether
        they meet.
    warmup
        Rounds before the first graph that is kept; a round has as many steps as variables.
    thin
        Rounds for each graph that is kept.
    candidates
        Candidate parents of each variable, all of whose sets are scored; one parent more may come
        from outside. Time and memory double with each.
    max_parents
        Most parents of a node; no limit but the candidates if None.
    seed
        Of all that is random.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> belief = cs.average(rows, by=cs.averaging.OrderMCMC(draws=200, chains=2, seed=1))
    >>> belief.chains.has_met, belief.arcs.adjacency("x", "y") > 0.99
    (True, True)
    """

    draws: int = 1000
    chains: int = 4
    warmup: int = 500
    thin: int = 4
    candidates: int = 8
    max_parents: int | None = 6
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_plan("OrderMCMC", self)

    def believe(self, asked: Asked) -> Found:
        """Shares of arcs in the graphs drawn."""
        return walked(asked, self, _WALK)


def _begin(order: Integers, _arcs: Bytes) -> Integers:
    return order


def _layers(order: Integers) -> Integers:
    """The place of each variable."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


_WALK = Walk(walk_orders, _begin, _layers, needs_near=False)
