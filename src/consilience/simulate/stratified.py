r"""Subsamples that keep the shares of strata: the joint states of some variables and the source.

Of :math:`M` rows, of which stratum :math:`s` has :math:`m_s`, a subsample of :math:`N` rows should
have the quota :math:`N m_s / M` of each stratum, and a row of each if it has as many rows as there
are strata. :func:`stratified_subsample` rounds the quotas by largest remainders. No rounding of
that kind gives training sets of growing size, each within the next; :func:`stratified_order` does,
by a shuffle whose *every* prefix keeps the shares: first a row of each stratum, the largest first;
from then on, row :math:`j` of a stratum may stand no earlier than place
:math:`\lfloor (j-1) M / m_s \rfloor + 1` and should stand no later than
:math:`\lceil j M / m_s \rceil`, and of the rows that may stand at a place the one is taken that
should stand soonest. Were the first rows not put first, this would keep all the bounds (Steiner and
Yeomans 1993).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from consilience import _check
from consilience._typing import Integers, Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.errors import InputError

__all__ = ["stratified_order", "stratified_subsample"]


def stratified_subsample(
    table: Rows, n_rows: int, *, by: Sequence[str], seed: Seed = None
) -> Table:
    """A random subsample that keeps the shares of the strata, its rows in their old order.

    Shares are rounded by largest remainders, ties in the order of the states. Every stratum that
    has rows keeps at least one if there are no more strata than ``n_rows``; what that takes is
    taken from the other strata in proportion.

    Parameters
    ----------
    table
        The rows; each counts once, whatever its weight.
    n_rows
        Size of the subsample.
    by
        Discrete variables whose joint states, within each source, are the strata. A missing value
        counts as one more state.
    seed
        An int, a NumPy generator, or None for fresh entropy.
    """
    _check.whole("stratified_subsample", at_least=0, n_rows=n_rows)
    table = as_table(table)
    if n_rows > table.n_rows:
        raise InputError(
            f"stratified_subsample: n_rows must be at most the {table.n_rows:,} rows of the table, "
            f"got {n_rows:,}.",
            parameter="n_rows",
        )
    strata = _strata(table, by)
    sizes = apportion(n_rows, [len(rows) for rows in strata])
    rng = _check.generator(seed)
    chosen = [rng.permutation(rows)[:n] for rows, n in zip(strata, sizes, strict=True)]
    return table.take(np.sort(np.concatenate([np.empty(0, np.int64), *chosen])))


def stratified_order(table: Rows, *, by: Sequence[str], seed: Seed = None) -> Integers:
    """A shuffle of the row positions whose prefixes all keep the shares of the strata.

    A prefix at least as long as the number of strata has a row of each. No stratum has more than
    its quota rounded up; one with a quota of at least one row falls short of it, rounded down, by
    no more than what the rarer ones were given beyond theirs.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": ["no", "no", "no", "yes"] * 25})
    >>> order = stratified_order(table, by=["ill"], seed=1)
    >>> [int(table.column("ill")[order[:n]].sum()) for n in (4, 8, 40)]
    [1, 2, 10]
    """
    table = as_table(table)
    strata = _strata(table, by)
    rng = _check.generator(seed)
    shuffled = [rng.permutation(strata[k]) for k in rng.permutation(len(strata))]
    turns = _turns([len(rows) for rows in shuffled])
    order = np.empty(table.n_rows, np.int64)
    for k, rows in enumerate(shuffled):
        order[turns == k] = rows
    return order


def apportion(total: int, sizes: Sequence[int]) -> list[int]:
    """Whole numbers with this total in proportion to the sizes, none of them 0 if that can be."""
    answer, free = [0] * len(sizes), list(range(len(sizes)))
    has_room = total >= len(sizes)
    while has_room:
        whole = sum(sizes[k] for k in free)
        small = [k for k in free if total * sizes[k] < whole]
        if not small:
            break
        for k in small:
            answer[k] = 1
        total -= len(small)
        free = [k for k in free if not answer[k]]
    for k, n in zip(free, _largest_remainders(total, [sizes[k] for k in free]), strict=True):
        answer[k] = n
    return answer


def _largest_remainders(total: int, sizes: Sequence[int]) -> list[int]:
    """Quotas rounded down, and one more for those with the largest remainders."""
    whole = sum(sizes)
    quotas = [divmod(total * size, whole) for size in sizes]
    answer = [quota for quota, _ in quotas]
    by_remainder = sorted(range(len(sizes)), key=lambda k: -quotas[k][1])
    for k in by_remainder[: total - sum(answer)]:
        answer[k] += 1
    return answer


def _strata(table: Table, by: Sequence[str]) -> list[Integers]:
    """Row positions of each stratum that has rows, in the order of the states, missing first."""
    _check.names("stratified samples", by=by)
    names = [*by, *([] if table.source is None or table.source in by else [table.source])]
    code = np.zeros(table.n_rows, np.int64)
    for name in names:
        n_states = table.schema[name].n_states
        joint = code * (n_states + 1) + table.column(name) + 1
        _, code = np.unique(joint, return_inverse=True)  # dense again, so that it cannot overflow
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code))
    return np.split(order, ends[:-1]) if table.n_rows else []


def _turns(sizes: Sequence[int]) -> Integers:
    """Which stratum stands at each place, by the rule of the module's docstring."""
    n_rows, n_strata = sum(sizes), len(sizes)
    turns = np.empty(n_rows, np.int64)
    turns[:n_strata] = sorted(range(n_strata), key=lambda k: -sizes[k])
    taken = [1] * n_strata
    # (place before the earliest allowed, stratum)
    waiting = [(n_rows // sizes[k], k) for k in range(n_strata) if sizes[k] > 1]
    heapq.heapify(waiting)
    ready: list[tuple[int, int]] = []  # (place where it should stand at the latest, stratum)
    for place in range(n_strata, n_rows):
        while waiting and waiting[0][0] <= place:
            k = heapq.heappop(waiting)[1]
            heapq.heappush(ready, (-(-(taken[k] + 1) * n_rows // sizes[k]), k))
        k = heapq.heappop(ready)[1]
        turns[place] = k
        taken[k] += 1
        if taken[k] < sizes[k]:
            heapq.heappush(waiting, (taken[k] * n_rows // sizes[k], k))
    return turns
