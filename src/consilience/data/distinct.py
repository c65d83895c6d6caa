r"""Equal rows merged into weights.

The columns of a row are written as one whole number in a mixed radix, :math:`\mathrm{key} = (\dots
(x_1 r_2 + x_2) r_3 + \dots)` with :math:`r_i` the number of states and one more for missing. Before
a key would leave 63 bits, the keys so far are replaced by their ranks of first sight (one hash
pass), which are at most as many as there are rows; once all rows are seen to differ, nothing is
left to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from consilience._lazy import later
from consilience._typing import Column, Floats, Integers
from consilience.data.labels import LARGEST_EXACT
from consilience.data.table import Table

__all__ = ["distinct", "rows_alike"]

arrow = later("pyarrow")

_LARGEST_KEY = 2**63 - 1


def distinct(table: Table) -> Table:
    """The table with equal rows of one source merged: first-seen order, weights added.

    Missing equals missing. Whole-number weights are added exactly; the result is int64 if all sums
    are whole.

    Examples
    --------
    >>> from consilience.data.read import read
    >>> distinct(read({"a": ["x", "y", "x"]})).weights.tolist()
    [2, 1]
    """
    if not table.n_rows:
        return table
    ranks, n_distinct = _ranks(_columns(table), table.n_rows)
    kept = table.take(_first_rows(ranks))
    return Table(
        schema=kept.schema,
        columns=kept.columns,
        source_codes=kept.source_codes,
        weights=_sums(table, ranks, n_distinct),
        origins=kept.origins,
        remarks=kept.remarks,
        of_source=kept.of_source,
    )


def rows_alike(
    columns: Iterable[tuple[Column, int]], n_rows: int
) -> tuple[npt.NDArray[np.intp], Integers]:
    """The first row of each kind, and for each row the rank of its kind by first sight.

    Parameters
    ----------
    columns
        Codes from -1 on and the number of states; or floats and 0.
    n_rows
        Length of the columns.
    """
    ranks, _ = _ranks(columns, n_rows)
    return _first_rows(ranks), ranks


def _columns(table: Table) -> Iterator[tuple[Column, int]]:
    for name in (*table.variables, *([table.source] if table.source else [])):
        variable = table.schema[name]
        yield table.column(name), 0 if variable.is_continuous else variable.n_states


def _ranks(columns: Iterable[tuple[Column, int]], n_rows: int) -> tuple[Integers, int]:
    """For each row the rank by first sight of its like, and how many different rows there are."""
    keys, bound = np.zeros(n_rows, dtype=np.int64), 1
    for column, n_states in columns:
        digits, radix = column, n_states + 1
        if not n_states:
            digits, radix = _first_seen(_bits(column))
            if radix == n_rows:
                return digits, radix
        if bound * radix > _LARGEST_KEY:
            keys, bound = _first_seen(keys)
            if bound == n_rows:
                return keys, bound
        keys *= radix
        keys += digits
        bound *= radix
    return _first_seen(keys)


def _bits(column: Floats) -> Integers:
    """Equal integers for equal floats: one NaN, and -0.0 as 0.0."""
    return np.where(np.isnan(column), np.nan, column + 0.0).view(np.int64)


def _first_seen(keys: Integers) -> tuple[Integers, int]:
    """Ranks of the keys by first sight, and how many there are."""
    encoded = arrow.array(keys).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def _first_rows(ranks: Integers) -> npt.NDArray[np.intp]:
    """The rows where a rank is seen first: those above every rank before."""
    highest = np.maximum.accumulate(ranks)
    return np.flatnonzero(np.append(True, highest[1:] > highest[:-1]))


def _sums(table: Table, ranks: Integers, n_distinct: int) -> Integers | Floats:
    if table.weights is None:
        return np.bincount(ranks, minlength=n_distinct)
    if table.weights.dtype == np.int64:
        counts = np.zeros(n_distinct, dtype=np.int64)
        np.add.at(counts, ranks, table.weights)
        return counts
    sums = np.bincount(ranks, table.weights, minlength=n_distinct).astype(np.float64, copy=False)
    is_whole = np.all((np.floor(sums) == sums) & (sums < LARGEST_EXACT))
    return sums.astype(np.int64) if is_whole else sums
