r"""What several experts' graphs say about arcs, each expert being wrong now and then.

A pair of nodes is in one of three conditions: an arc one way, an arc the other way, none. An expert
reports the true one with probability :math:`1 - \epsilon`, and each of the others with
:math:`\epsilon / 2`. Taken apart from the other pairs, an arc i -> j has the log weight

.. math:: \sum_e \log P(\text{report}_e \mid i \to j) - \log P(\text{report}_e \mid \text{none}) ,

with :math:`\lambda = \log\frac{1 - \epsilon}{\epsilon / 2}` this is :math:`\lambda` for each expert
who has the arc, 0 for one who has it the other way round, and :math:`-\lambda` for one who has
none. An expert who does not know one of the two nodes says nothing.

References
----------
M. Richardson, P. Domingos (2003). Learning with knowledge from multiple experts. Proceedings of
ICML 20.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.statistics.family import Family

__all__ = ["ExpertPrior"]


@dataclass(frozen=True, slots=True, eq=False)
class ExpertPrior:
    """Arcs are as likely as experts' graphs make them.

    Parameters
    ----------
    experts
        The graph, or the network, of each expert by name. Their nodes may differ.
    error
        How often an expert is wrong about a pair, above 0 and below two thirds (at which a report
        would say nothing); one number for all.

    Examples
    --------
    >>> from consilience.graph.dag import DAG
    >>> prior = ExpertPrior({"ann": DAG([("a", "b")]), "bob": DAG([("b", "a")])}, error=0.2)
    >>> prior.log_prior([Family("b", ("a",)), Family("a")]).round(6)  # log 8 from ann, 0 from bob
    array([2.079442, 0.      ])
    """

    experts: Mapping[str, DAG | Network]
    error: float = 0.1
    score_equivalent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _freeze.own(self)
        _check.positive("ExpertPrior", error=self.error)
        if not self.error < 2 / 3:
            raise InputError(
                f"ExpertPrior: error must be below 2/3, got {self.error!r}.", parameter="error"
            )
        if not isinstance(self.experts, Mapping) or not self.experts:
            raise InputError(
                "ExpertPrior: experts must be a mapping from names to graphs.", parameter="experts"
            )
        for name, one in self.experts.items():
            if not isinstance(one, DAG | Network):
                raise InputError(
                    f"ExpertPrior: expert {name!r} must have a DAG or a Network, got a "
                    f"{type(one).__name__}.",
                    parameter="experts",
                )

    def check_variables(self, variables: Collection[str]) -> None:
        """Refuse an expert's node that is no variable."""
        named = (node for dag in self._graphs() for node in dag.nodes)
        _check.known("variable of ExpertPrior", named, variables)

    def log_prior(self, families: Sequence[Family]) -> Floats:
        """Log weight of the arcs of each family."""
        graphs = [(frozenset(dag.nodes), frozenset(dag.arcs)) for dag in self._graphs()]
        weight = math.log1p(-self.error) - math.log(self.error / 2)
        known: dict[tuple[str, str], int] = {}
        for one in families:
            for parent in one.parents:
                arc = (parent, one.child)
                if arc not in known:
                    known[arc] = sum(_vote(arc, *graph) for graph in graphs)
        return np.array(
            [weight * sum(known[parent, one.child] for parent in one.parents) for one in families],
            np.float64,
        )

    def _graphs(self) -> list[DAG]:
        return [
            one if isinstance(one, DAG) else one.dag.without(one.source) if one.source else one.dag
            for one in self.experts.values()
        ]


def _vote(arc: tuple[str, str], nodes: Collection[str], arcs: Collection[tuple[str, str]]) -> int:
    """What an expert says for (1) or against (-1) an arc; 0 if nothing, or the other way round."""
    if not set(arc) <= set(nodes) or arc[::-1] in arcs:
        return 0
    return 1 if arc in arcs else -1
