r"""How hidden nodes are completed before a graph over them is searched: softly or by labels.

Both give tables over the hidden nodes, on which any search with any score runs as on observed
rows. A soft completion is the joint posterior of all hidden nodes, summed over the rows: a table
with a row for each of their joint states, whose weights are expected counts,

.. math:: N(l_1, \dots, l_k) = \sum_x w_x P(l_1, \dots, l_k \mid x) ,

so that the expected counts of every family are sums of it; nothing is approximated.

Under a network without arcs these posteriors are products, and what is uncertain looks independent:
the counts say less about dependence than the rows do. So the network is let go for a few steps: the
joint distribution :math:`\pi` of the hidden nodes is made free and improved by EM,
:math:`\pi(l) \leftarrow N(l) / N`, with the models of the groups as they are. After one step these
are the expected counts of structural EM (Friedman 1997); after a few the dependence that the rows
show has come out; after many it is overfitted. A completion offers several depths, and the
observed rows judge the graphs that come of them.

References
----------
N. Friedman (1997). Learning belief networks in the presence of missing values and hidden variables.
ICML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema
from consilience.errors import InputError
from consilience.incomplete.hidden import with_hidden
from consilience.inference.ways import Exact
from consilience.latent.joint import (
    Groups,
    by_block,
    by_node,
    each_posterior,
    evidence_of,
    expected_joint,
    hidden_in_blocks,
    joint_prior,
)
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.statistics.engines.memory import LEAST_WEIGHT

__all__ = [
    "Completion",
    "HardCompletion",
    "SoftCompletion",
    "hidden_posteriors",
    "observed_with_hidden",
]


MOST_JOINT_STATES = 1 << 20
"""Posteriors of hidden nodes with more joint states than this go through the junction tree."""


class Completion(Protocol):
    """How the hidden nodes are completed."""

    def complete(
        self, net: Network, table: Table, groups: Groups, memory_limit: float = MEMORY_LIMIT
    ) -> Iterator[tuple[str, Table]]:
        """Tables over the hidden nodes, each with a word about it."""
        ...


@dataclass(frozen=True, slots=True)
class SoftCompletion:
    """Expected joint counts of the hidden nodes.

    Parameters
    ----------
    depths
        For each completion, how many steps of EM the joint distribution of the hidden nodes is
        free; 1 gives the expected counts under the network. Increasing.

    Examples
    --------
    >>> SoftCompletion().depths
    (1, 2, 4, 8)
    """

    depths: tuple[int, ...] = (1, 2, 4, 8)

    def __post_init__(self) -> None:
        if not isinstance(self.depths, Iterable):
            raise InputError(
                "SoftCompletion: depths must be a list of increasing whole numbers, such as "
                f"(1, 2, 4), got {self.depths!r}.",
                parameter="depths",
            )
        object.__setattr__(self, "depths", tuple(self.depths))
        for depth in self.depths:
            _check.whole("SoftCompletion", at_least=1, depths=depth)
        if not self.depths or list(self.depths) != sorted(set(self.depths)):
            raise InputError(
                f"SoftCompletion: depths must be increasing whole numbers, got {self.depths!r}.",
                parameter="depths",
            )

    def complete(
        self, net: Network, table: Table, groups: Groups, memory_limit: float = MEMORY_LIMIT
    ) -> Iterator[tuple[str, Table]]:
        """A table of weighted joint states for each depth."""
        hidden = hidden_in_blocks(groups)
        prior = joint_prior(net, hidden, memory_limit)
        shape, prior = prior.shape, by_block(prior, groups)
        evidence, weights = evidence_of(net, table, groups), _weights(table)
        for step in range(1, self.depths[-1] + 1):
            prior = expected_joint(prior, evidence, weights)
            if step in self.depths:
                yield f"depth {step}", _weighted_states(net, hidden, prior.reshape(shape))


@dataclass(frozen=True, slots=True)
class HardCompletion:
    """The most probable state of each hidden node, row by row, as if it had been observed.

    Labels throw away how sure they are, and the errors in them hide dependence; there is one
    completion. Hidden nodes may have more joint states than can be enumerated.
    """

    def complete(
        self, net: Network, table: Table, groups: Groups, memory_limit: float = MEMORY_LIMIT
    ) -> Iterator[tuple[str, Table]]:
        """One table with a row for each row."""
        posteriors = hidden_posteriors(net, table, groups, memory_limit)
        columns = {name: belief.argmax(axis=1) for name, belief in posteriors.items()}
        schema = Schema({name: net.variables[name] for name in groups})
        coded = {
            name: column.astype(code_type(net.variables[name].n_states))
            for name, column in columns.items()
        }
        yield "labels", Table(schema, coded, weights=table.weights)


def hidden_posteriors(
    net: Network, table: Table, groups: Groups, memory_limit: float = MEMORY_LIMIT
) -> dict[str, Floats]:
    """The posterior of each hidden node in every row, shape (rows, states).

    All of them at once if their joint states are few, by a junction tree one by one otherwise.
    """
    if prod(net.variables[name].n_states for name in groups) > MOST_JOINT_STATES:
        wide = observed_with_hidden(net, table, groups)
        return {
            name: net.posteriors(wide, name, by=Exact(memory_limit=memory_limit)) for name in groups
        }
    prior = by_block(joint_prior(net, hidden_in_blocks(groups), memory_limit), groups)
    found = each_posterior(prior, evidence_of(net, table, groups), table.n_rows)
    return by_node(found, groups, net)


def observed_with_hidden(net: Network, table: Table, groups: Groups) -> Table:
    """The observed columns of a table, and the hidden nodes as columns that are all missing."""
    hidden = {name: net.variables[name].discrete_states for name in groups}
    names = [name for name in net.variables if name not in hidden]
    return with_hidden(table.select(names), net.dag, hidden)


def _weights(table: Table) -> Floats:
    return np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)


def _weighted_states(net: Network, hidden: Sequence[str], counts: Floats) -> Table:
    """The joint states of the hidden nodes, each with its expected count as the weight."""
    kept = np.nonzero(counts >= LEAST_WEIGHT)
    columns = {
        name: codes.astype(code_type(net.variables[name].n_states))
        for name, codes in zip(hidden, kept, strict=True)
    }
    schema = Schema({name: net.variables[name] for name in hidden})
    return Table(schema, columns, weights=counts[kept])
