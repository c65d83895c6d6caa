"""Independent rows from a network, drawn node by node, parents first (logic sampling).

Each node has a random key and each row a number that depends only on the key and on the row's
place, so the same seed gives the same rows on any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Codes, Integers, Seed
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema
from consilience.distributions.categorical import Categorical
from consilience.errors import InputError
from consilience.kernels.counting import fold
from consilience.kernels.sampling import draw_states
from consilience.kernels.threads import each_part
from consilience.network.network import Network

__all__ = ["sample"]

ROWS_A_BLOCK = 1 << 14  # the codes of a block for all parents of a node stay in the first caches


def sample(
    net: Network, n_rows: int, *, given: Mapping[str, Any], seed: Seed, threads: int | None = None
) -> Table:
    """A table of rows drawn from the network, with its source as the table's source.

    Parameters
    ----------
    n_rows
        Number of rows.
    given
        States that are fixed in all rows. A node can be given if all its parents are, roots and the
        source always.
    seed
        An int, a NumPy generator, or None for fresh entropy. The same int gives the same rows.
    threads
        Number of threads, by default one for each core; the rows do not depend on it.
    """
    _check.whole("sample", at_least=0, n_rows=n_rows)
    fixed = _fixed_codes(net, given)
    rng = _check.generator(seed)
    keys = {name: rng.integers(0, 2**64, dtype=np.uint64) for name in net.distributions}
    thresholds = {name: _thresholds(net[name]) for name in net.distributions}
    columns = {
        name: np.empty(n_rows, code_type(variable.n_states))
        for name, variable in net.variables.items()
    }

    def work(row_from: int, row_to: int) -> None:
        for start in range(row_from, row_to, ROWS_A_BLOCK):
            rows = slice(start, min(start + ROWS_A_BLOCK, row_to))
            for name in net.dag.topological_order():
                if name in fixed:
                    columns[name][rows] = fixed[name]
                else:
                    code = _parent_code(net[name], columns, rows)
                    stride, flat = thresholds[name]
                    draw_states(keys[name], start, code, stride, flat, columns[name][rows])

    n_parts = min(threads or os.cpu_count() or 1, max(1, n_rows // ROWS_A_BLOCK))
    each_part(n_rows, n_parts, work)
    source = None if net.source is None else net.variables[net.source]
    source_codes = None if net.source is None else columns.pop(net.source)
    variables = {name: net.variables[name] for name in columns}
    origins = dict.fromkeys(columns, "drawn from a network")
    return Table(Schema(variables, source), columns, source_codes, origins=origins)


def _fixed_codes(net: Network, given: Mapping[str, Any]) -> dict[str, int]:
    _check.known("node", given, net.distributions)
    for name in given:
        free = [parent for parent in net.dag.parents(name) if parent not in given]
        if free:
            raise InputError(
                f"rows cannot be drawn forward given {name!r}: its parents {_check.listed(free)} "
                "are not given. Give them as well, or only nodes without parents.",
                variable=name,
            )
    return {name: net.variables[name].code(state) for name, state in given.items()}


def _thresholds(local: Categorical) -> tuple[int, Integers]:
    """Stride and cumulative sums of the rows in units of 2^-53, flat; see :func:`draw_states`."""
    q, r = local.rows.shape
    stride = r if r > 4 else 2 if r <= 2 else 4
    thresholds = np.full((q, stride), 2**53)
    thresholds[:, :r] = np.ceil(np.cumsum(local.rows, axis=1) * 2.0**53)
    last_possible = r - 1 - np.argmax(local.rows[:, ::-1] > 0, axis=1)
    thresholds[np.arange(stride) >= last_possible[:, None]] = 2**53
    return stride, thresholds.ravel()


def _parent_code(local: Categorical, columns: Mapping[str, Codes], rows: slice) -> Codes:
    code = np.zeros(rows.stop - rows.start, np.int32)
    for parent in local.given:
        fold(code, columns[parent.name][rows], parent.n_states)
    return code
