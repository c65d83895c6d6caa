r"""Beliefs about graphs from chains over ordered partitions of the variables.

Every graph has its layers: the variables without parents, those whose parents are all among them,
and so on; each has a parent in the layer just before its own. The state is an ordered partition
into layers, and weighs

.. math:: \prod_x \bigl[ a_x(\text{all layers before}) - a_x(\text{those but the last}) \bigr] ,

the sum over the graphs with these layers. Each graph belongs to one partition, so that the prior
over graphs is uniform. A step takes one variable out and puts it back, into a layer or as a layer
of its own, at a place drawn from all (Gibbs). Where a variable has children, all of them would
have to move with it, which such steps cannot do. So between them a graph is drawn and changed:
parents of single variables are drawn anew among all that do not descend from them (Gibbs), arcs are
turned round with new parents for both ends, and arcs whose other parents are shared are turned
alone (which leads through the equivalence class). The walk goes on from the layers of the new
graph.

References
----------
J. Kuipers, G. Moffa (2017). Partition MCMC for inference on acyclic digraphs. Journal of the
American Statistical Association 112.
M. Grzegorczyk, D. Husmeier (2008). Improving the structure MCMC sampler for Bayesian networks by
introducing a new edge reversal move. Machine Learning 71.
R. J. B. Goudie, S. Mukherjee (2016). A Gibbs sampler for learning DAGs. JMLR 17.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._typing import Integers, Seed
from consilience.averaging.belief_ways import Asked, Found
from consilience.averaging.graph_walk import Bytes, Walk, check_plan, walked
from consilience.kernels.graph_walks import layers_of, walk_layers

__all__ = ["PartitionMCMC"]


@dataclass(frozen=True, slots=True)
class PartitionMCMC:
    """Chains over ordered partitions: all graphs are equally likely beforehand.

    The parameters are those of :class:`OrderMCMC`; ``thin`` is smaller, since a round changes more.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> belief = cs.average(rows, by=cs.averaging.PartitionMCMC(draws=200, chains=2, seed=1))
    >>> belief.chains.has_met, belief.arcs.adjacency("x", "y") > 0.99
    (True, True)
    """

    draws: int = 1000
    chains: int = 4
    warmup: int = 500
    thin: int = 2
    candidates: int = 8
    max_parents: int | None = 6
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_plan("PartitionMCMC", self)

    def believe(self, asked: Asked) -> Found:
        """Shares of arcs in the graphs drawn."""
        return walked(asked, self, _WALK)


def _begin(order: Integers, arcs: Bytes) -> Integers:
    """The layers of a graph."""
    layers = np.empty_like(order)
    layers_of(arcs, layers)
    return layers


def _layers(layers: Integers) -> Integers:
    return layers


_WALK = Walk(walk_layers, _begin, _layers, needs_near=True)
