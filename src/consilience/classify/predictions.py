"""Probabilities of the classes of rows, for every row."""

from __future__ import annotations

import numpy as np

from consilience._typing import Codes, Floats, Integers
from consilience.data.table import Table
from consilience.distributions.categorical import proportions
from consilience.inference.evidence_rows import log_of_states
from consilience.network.network import Network

__all__ = ["class_probabilities", "log_of_classes"]


def class_probabilities(
    network: Network, target: str, table: Table, n_rows: int
) -> tuple[Floats, int]:
    """Posteriors of all rows, and how many of them the network held impossible.

    The source, if the network has one, is a variable of the table. A row that is impossible gets
    the probabilities of the classes given its source alone. The table may have no variable at all.
    """
    if not table.variables:
        return np.tile(network.query(target).values, (n_rows, 1)), 0
    answer = network.posteriors(table, target)
    impossible = np.flatnonzero(answer.sum(axis=1) == 0)
    if impossible.size and network.source is not None and network.source in table.variables:
        shares = proportions(network.query([network.source, target]).values)
        codes = table.column(network.source)[impossible]
        prior = network.query(target).values
        answer[impossible] = np.where(codes[:, None] >= 0, shares[codes], prior)
    elif impossible.size:
        answer[impossible] = network.query(target).values
    return answer, len(impossible)


def log_of_classes(
    network: Network, target: str, table: Table, classes: Codes | Integers, *, probabilities: Floats
) -> Floats:
    """Log probability of one class in each row, also where no float holds the probability."""
    if not table.variables:
        with np.errstate(divide="ignore"):
            return np.log(probabilities[np.arange(len(classes)), classes])
    return log_of_states(network, table, target, classes, posteriors=probabilities)
