r"""Sums over all graphs on some variables, and graphs drawn with their probabilities.

The weight of a graph is the product of the weights :math:`w_x(P)` of its families. What is summed
is said by a prior over graphs:

- :class:`OrderModular`: a graph counts once for each order of the variables that it follows. With
  :math:`a_x(U) = \sum_{P \subseteq U} w_x(P)` the sum over all orders is
  :math:`f(S) = \sum_{x \in S} a_x(S \setminus x) f(S \setminus x)` (Koivisto and Sood 2004).
- :class:`UniformGraphs`: a graph counts once. Peeled off by sets R of nodes without children,
  :math:`Z(S) = \sum_R (-1)^{|R| + 1} Z(S \setminus R) \prod_{x \in R} a_x(S \setminus R)`, in which
  the signs leave each graph counted once (Tian and He 2009).

From the sums that begin with each set and those that end with it, the weight with which each family
enters the total follows for all families at once (:attr:`LatticeSums.families`). For the uniform
prior this rests on a fact that leaves no signs: for each graph and node x there is one set U with
no parents outside it after which x alone can come next, namely the nodes that x does not lead to.

References
----------
M. Koivisto, K. Sood (2004). Exact Bayesian structure discovery in Bayesian networks. Journal of
Machine Learning Research 5. M. Koivisto (2006). Advances in exact Bayesian structure discovery in
Bayesian networks. Proceedings of UAI 22.
J. Tian, R. He (2009). Computing posterior probabilities of structural features in Bayesian
networks. Proceedings of UAI 25.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.averaging.lattice_draws import (
    Draw,
    draws_along_orders,
    draws_in_layers,
    set_at,
)
from consilience.errors import PrecisionError
from consilience.kernels.averages import (
    graphs_from_below,
    graphs_to_the_top,
    orders_from_below,
    orders_to_the_top,
    sum_of_subsets,
    sum_of_supersets,
)

__all__ = ["LatticeSums", "OrderModular", "SetPrior", "UniformGraphs"]

MOST_LOST = 1e-6
"""Share of the total that rounding may take; far less is usual."""


@dataclass(frozen=True, slots=True, eq=False)
class LatticeSums:
    """What is known of all graphs together.

    Attributes
    ----------
    log_total
        Log of the sum over all graphs.
    families
        Probability of each family, shape (variables, sets of the others).
    draw
        Draws one graph with its probability.
    """

    log_total: float
    families: Floats
    draw: Draw

    def __post_init__(self) -> None:
        _freeze.own(self)

    def arcs(self) -> Floats:
        """Probability of each arc, from (row) to (column)."""
        p = len(self.families)
        matrix = np.zeros((p, p))
        places = np.arange(self.families.shape[1])
        for child in range(p):
            others = [i for i in range(p) if i != child]
            for v, start in enumerate(others):
                matrix[start, child] = self.families[child][places >> v & 1 == 1].sum()
        return matrix


class SetPrior(Protocol):
    """How graphs count before any row is seen, apart from what their families do."""

    def sums(self, weights: Floats) -> LatticeSums:
        """Sums over all graphs, given log weights of shape (variables, sets of the others)."""
        ...


@dataclass(frozen=True, slots=True)
class OrderModular:
    """A graph is as likely as it has orders: sparse graphs are favoured, quickly summed.

    Graphs of one equivalence class differ in it. Time and memory grow as :math:`p 2^p`.

    Examples
    --------
    Of the three graphs on two variables the empty one follows both orders, the others one each:

    >>> sums = OrderModular().sums(np.zeros((2, 2)))
    >>> round(float(sums.arcs()[0, 1]), 6)
    0.25
    """

    most_variables: ClassVar[int] = 20

    def sums(self, weights: Floats) -> LatticeSums:
        """Sums over all orders and the graphs along each."""
        within = _within(weights)
        p = len(weights)
        below, above = np.empty((2, 1 << p))
        orders_from_below(within, below)
        orders_to_the_top(within, above)
        families = np.empty_like(weights)
        for x in range(p):
            sets = set_at(np.arange(1 << p - 1), x)
            entering = below[sets] + above[sets | 1 << x]
            sum_of_supersets(entering)
            families[x] = weights[x] + entering

        total = float(below[-1])
        draw = draws_along_orders(weights, within, below)
        return LatticeSums(total, _probabilities(families, total), draw)


@dataclass(frozen=True, slots=True)
class UniformGraphs:
    """All graphs are equally likely, and so are those of one equivalence class.

    Time grows as :math:`3^p`, memory as :math:`p 2^p`. Sums have signs: a few digits are lost, more
    with more variables. It is an error if fewer than six are left.

    Examples
    --------
    >>> sums = UniformGraphs().sums(np.zeros((2, 2)))
    >>> round(float(sums.arcs()[0, 1]), 6)
    0.333333
    """

    most_variables: ClassVar[int] = 16

    def sums(self, weights: Floats) -> LatticeSums:
        """Sums over all graphs."""
        within = _within(weights)
        p = len(weights)
        below, above, room = np.empty((3, 1 << p))
        graphs_from_below(within, below, room)
        families = np.empty_like(weights)
        graphs_to_the_top(within, below, above, families)
        for x in range(p):
            sum_of_supersets(families[x])
        families += weights

        total = float(below[-1])
        draw = draws_in_layers(weights, within, above)
        return LatticeSums(total, _probabilities(families, total), draw)


def _within(weights: Floats) -> Floats:
    """The weights summed over the subsets of each set."""
    within = np.array(weights, np.float64, order="C")
    for row in within:
        sum_of_subsets(row)
    return within


def _probabilities(families: Floats, total: float) -> Floats:
    """Probabilities of families, those of each child summing to one."""
    found = np.exp(families - total)
    sums = found.sum(axis=1, keepdims=True)
    lost = float(np.abs(sums - 1.0).max(initial=0.0))
    if not lost < MOST_LOST:
        raise PrecisionError(
            f"the sum over all graphs lost too many digits (a share of {lost:.1g}). Use "
            "cs.averaging.Subsets(prior=cs.averaging.OrderModular()), or "
            "cs.averaging.PartitionMCMC().",
            lost=lost,
        )
    return _freeze.read_only(found / sums)
