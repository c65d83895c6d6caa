"""The source as a node: its states, its distribution, and tables with the source as first axis."""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats
from consilience.data.variable import NEW_SOURCE, Variable
from consilience.distributions.categorical import Categorical, Posterior
from consilience.errors import DataError
from consilience.statistics.counts import Counts

__all__ = ["by_source_table", "source_node", "source_shares", "with_new_source"]


def source_node(counts: Counts) -> Variable | None:
    """The source variable with the reserved state last; None if the counts have no sources."""
    return None if counts.source is None else with_new_source(counts.source)


def with_new_source(source: Variable) -> Variable:
    """The source variable with the reserved state last."""
    states = source.discrete_states
    if NEW_SOURCE in states:
        raise DataError(
            f"a source is named {NEW_SOURCE!r}, which is reserved for a source never seen. "
            "Give the source another name.",
            source=NEW_SOURCE,
        )
    return Variable(source.name, (*states, NEW_SOURCE))


def source_shares(source: Variable, rows: Floats) -> Categorical:
    r"""The distribution of the source node with its reserved state.

    .. math:: P(F = f) = \frac{N_f}{N + 1}, \qquad P(\text{new}) = \frac{1}{N + 1}

    Sources without rows share the last part equally with the new source, so that evidence on them
    is possible: with 3, 0 and 0 rows the shares are 3/4, 1/12, 1/12 and, for the new one, 1/12.
    """
    shares = np.append(rows, 0.0)
    has_none = shares == 0
    shares[has_none] = 1.0 / has_none.sum()
    return Categorical(source, (), shares / (rows.sum() + 1.0))


def by_source_table(
    counts: Counts, source: Variable | None, rows: Floats, posterior: Posterior | None = None
) -> Categorical:
    """The local distribution with rows of shape (sources, parent states, states)."""
    given = counts.given if source is None else (source, *counts.given)
    shape = [variable.n_states for variable in (*given, counts.child)]
    return Categorical(counts.child, given, rows.reshape(shape), posterior)
