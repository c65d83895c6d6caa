r"""Log probability of complete rows.

.. math:: \log P(x) = \sum_i \log P(x_i \mid \mathrm{pa}_i)
"""

from __future__ import annotations

import numpy as np

from consilience import _check
from consilience._typing import Codes, Floats
from consilience.data.align import aligned_codes
from consilience.data.table import Table
from consilience.errors import DataError
from consilience.network.network import Network

__all__ = ["log_likelihood"]


def log_likelihood(net: Network, table: Table) -> Floats:
    """Natural log of the probability of each row; minus infinity for an impossible one.

    The weights of the rows are not applied. Every node must be known in every row.

    Raises
    ------
    UnknownNameError
        If a node is not a column of the table.
    DataError
        If a value is missing or a state is not one of the network's.
    """
    columns = {name: _complete_codes(net, table, name) for name in net.distributions}
    total = np.zeros(table.n_rows)
    for local in net.distributions.values():
        code = np.zeros(table.n_rows, np.int64)
        for variable in (*local.given, local.child):
            code = code * variable.n_states + columns[variable.name]
        with np.errstate(divide="ignore"):
            total += np.log(local.table.ravel())[code]
    return total


def _complete_codes(net: Network, table: Table, name: str) -> Codes:
    if name not in table.schema:
        _check.unknown("variable", name, table.variables)
    codes = aligned_codes(table, net.variables[name])
    gaps = np.flatnonzero(codes < 0)
    if gaps.size:
        raise DataError(
            f"column {name!r}, row {gaps[0] + 1}: a value is missing. The log-likelihood needs "
            f"complete rows; {gaps.size} of {table.n_rows} rows have a gap in this column.",
            column=name,
            row=int(gaps[0]) + 1,
        )
    return codes
