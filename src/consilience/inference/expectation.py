"""Expected statistics of rows with gaps under one network: the first half of a step of EM."""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats
from consilience.data.door import Rows
from consilience.inference.cases import Cases
from consilience.inference.conflict import refuse_impossible_rows
from consilience.inference.evidence_rows import log_likelihood, rows_for
from consilience.inference.ways import Exact, exact_of
from consilience.network.network import Network, check_network
from consilience.statistics.moments import Moments

__all__ = ["expected_counts"]


def expected_counts(
    net: Network, table: Rows, *, by: Exact | None = None
) -> dict[str, Floats | Moments]:
    """For each node the expected statistics of its family, summed over the rows.

    Of a discrete node the sum of the posteriors of its family, in the shape of its table; of a
    continuous one the expected :class:`Moments` of its continuous parents and itself by the joint
    states of its discrete parents. A row counts with its weight. With nothing missing they are
    counts and moments. A source that the network does not know is its state ``new_source`` if it
    has that, and missing otherwise.

    Raises
    ------
    ImpossibleEvidenceError
        If a row has probability zero; the message names it.
    ModelError
        If a discrete node has continuous parents, or a continuous node a sd of zero: then missing
        values have no exact statistics.
    """
    check_network("expected_counts", net)
    table = rows_for(net, table)
    cases = Cases.of(net, table, keeps_barren=True, memory_limit=exact_of(by).memory_limit)
    found = cases.expected(net)
    if found.log_likelihood == -np.inf:
        log = log_likelihood(net, table, by=by)
        counts = np.ones(table.n_rows) if table.weights is None else table.weights
        refuse_impossible_rows(np.arange(table.n_rows), np.isneginf(log) & (counts > 0))
    every: dict[str, Floats | Moments] = {**cases.layout.split(found.counts), **found.moments}
    return {name: every[name] for name in net.variables}
