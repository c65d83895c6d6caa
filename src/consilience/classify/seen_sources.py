"""Sources between training and prediction: which were seen, and what stands for the others."""

from __future__ import annotations

import numpy as np

from consilience._typing import Codes
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.inference.known_sources import codes_of_sources
from consilience.network.network import Network

__all__ = ["has_new_source", "seen_sources", "with_known_sources", "with_seen_sources"]


def seen_sources(
    source: Variable | None, codes: Codes | None
) -> tuple[Variable | None, Codes | None]:
    """The source without states that no row has: such a state is a source never seen."""
    if source is None or codes is None:
        return None, None
    seen, positions = np.unique(codes, return_inverse=True)
    if len(seen) == source.n_states:
        return source, codes
    states = tuple(source.discrete_states[code] for code in seen)
    return Variable(source.name, states), positions.astype(code_type(len(states)))


def with_seen_sources(table: Table) -> Table:
    """The table whose sources are those that have rows."""
    source, codes = seen_sources(table.schema.source, table.source_codes)
    schema = Schema(table.variables, source)
    return Table(schema, table.columns, codes, table.weights, table.origins)


def with_known_sources(table: Table, net: Network) -> Table:
    """The rows with the network's source as a variable, so that it may be unknown.

    A source that the network has never seen is its state ``new_source`` if it has that, and unknown
    otherwise. A network without sources needs none.
    """
    if net.source is None or table.source_codes is None:
        return Table(Schema(table.variables), table.columns, weights=table.weights)
    node = net.variables[net.source]
    column = codes_of_sources(node, table.sources)[table.source_codes]
    return Table(
        Schema({**table.variables, node.name: node}),
        {**table.columns, node.name: column},
        weights=table.weights,
    )


def has_new_source(net: Network) -> bool:
    """Whether the network has a state for a source never seen."""
    return net.source is not None and NEW_SOURCE in net.variables[net.source].discrete_states
