r"""Joint states of all variables, row by row, read off a junction tree from the root down.

After the first pass the table of a clique holds, for each state of its separator, the weights of
the joint states of the variables that it eliminates, everything below summed out. So the cliques
are gone through from the root to the leaves, each given the states chosen above:

.. math:: P(x \mid e) = \prod_c P(x_{\mathrm{residual}(c)} \mid x_{\mathrm{separator}(c)}, e) .

Drawn, this is an exact joint draw; expanded, all joint states with their probabilities, from which
those whose first factors are already too small are cut; and maximised, after a first pass with
maxima in the place of sums, the most probable joint state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.inference.conflict import refuse_impossible_rows
from consilience.inference.evidence import Scope
from consilience.inference.groups import Batch, Upward
from consilience.inference.junction import JunctionTree

__all__ = ["best_rows", "draw_rows", "expand_rows"]

States = npt.NDArray[np.int32]

MOST_CELLS = 1 << 20
"""Cells of all cliques of a block of rows when the best completions are looked for."""


def draw_rows(
    batch: Batch, each: Integers, rng: np.random.Generator, numbers: Integers | None = None
) -> States:
    """A joint draw of all variables for each of these rows of a batch: shape (draws, variables).

    A row may be asked for several times. ``numbers`` are those by which an impossible row is named.
    """
    codes = np.empty((len(each), len(batch.tree.index)), np.int32)
    place = np.full(batch.n_rows, -1)
    for up in _possible(batch, numbers):
        place[up.rows] = np.arange(len(up.rows))
        chosen = np.flatnonzero(place[each] >= 0)
        at, part = place[each[chosen]], np.empty((len(chosen), codes.shape[1]), np.int32)
        for c in _from_the_root(batch.tree):
            weights = np.cumsum(_residual(batch.tree, up, c, at, codes=part), axis=1)
            wanted = rng.random(len(at)) * weights[:, -1]
            state = (weights <= wanted[:, None]).sum(axis=1)
            _set_residual(batch.tree, up, c, np.minimum(state, weights.shape[1] - 1), codes=part)
        codes[chosen] = part
        place[up.rows] = -1
    return codes


def expand_rows(batch: Batch, smallest: float) -> tuple[Integers, States, Floats]:
    """All joint states of all rows with their probability: rows, codes (states, variables), shares.

    States of a smaller probability than ``smallest`` are cut and the others of the row scaled up;
    the most probable way down from the root is always kept.
    """
    found = [_expanded(batch.tree, up, smallest) for up in _possible(batch)]
    rows, codes, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, codes, shares / np.bincount(rows, shares, minlength=batch.n_rows)[rows]


def best_rows(
    tree: JunctionTree,
    codes: States,
    log_likelihoods: Mapping[Scope, Floats] | None = None,
    numbers: Integers | None = None,
) -> States:
    """The most probable joint state for each row of codes, -1 for what is not known.

    ``log_likelihoods`` are over scopes that cliques hold, shape (rows, states...).
    """
    cells = int(tree.starts(tree.arrays.n_states)[0][-1])
    step, more = max(1, MOST_CELLS // max(cells, 1)), log_likelihoods or {}
    parts = [
        _best(
            tree,
            codes[i : i + step],
            {scope: one[i : i + step] for scope, one in more.items()},
            None if numbers is None else numbers[i : i + step],
        )
        for i in range(0, len(codes), step)
    ]
    return np.concatenate(parts)


def _possible(batch: Batch, numbers: Integers | None = None) -> Iterator[Upward]:
    for up in batch.upward():
        refuse_impossible_rows(
            up.rows if numbers is None else numbers[up.rows], np.isneginf(up.log_evidence)
        )
        yield up


def _from_the_root(tree: JunctionTree) -> range:
    return range(len(tree.arrays.parent) - 1, -1, -1)


def _members(tree: JunctionTree, c: int) -> tuple[Integers, Integers]:
    """Variables that a clique shares with its parent, and those that it eliminates."""
    start, stop = tree.arrays.start[c : c + 2]
    middle = start + tree.arrays.n_shared[c]
    return tree.arrays.axes[start:middle], tree.arrays.axes[middle:stop]


def _residual(tree: JunctionTree, up: Upward, c: int, at: Integers, *, codes: States) -> Floats:
    """Weights of the residual states of a clique given the separator: shape (rows, states)."""
    shared, residual = _members(tree, c)
    n = len(up.rows)
    table = up.tables[n * up.start[c] : n * up.start[c + 1]]
    cells = table.reshape(int(up.sizes[shared].prod()), int(up.sizes[residual].prod()), n)
    above = np.zeros(len(at), np.int64)
    for v in shared:
        if up.sizes[v] > 1:
            above = above * up.sizes[v] + codes[:, v]
    weights: Floats = cells[above, :, at]
    return weights


def _set_residual(
    tree: JunctionTree, up: Upward, c: int, state: Integers, *, codes: States
) -> None:
    _, residual = _members(tree, c)
    digits = np.unravel_index(state, tuple(up.sizes[residual]))
    for v, digit in zip(residual, digits, strict=True):
        codes[:, v] = digit if up.sizes[v] > 1 else up.states[v]


def _expanded(tree: JunctionTree, up: Upward, smallest: float) -> tuple[Integers, States, Floats]:
    at = np.arange(len(up.rows))
    codes = np.empty((len(at), len(tree.index)), np.int32)
    share = np.ones(len(at))
    for c in _from_the_root(tree):
        weights = _residual(tree, up, c, at, codes=codes)
        weights *= (share / weights.sum(axis=1))[:, None]
        is_kept = weights >= smallest
        is_kept[np.arange(len(at)), weights.argmax(axis=1)] = True
        partial, state = np.nonzero(is_kept)
        at, codes, share = at[partial], codes[partial], weights[partial, state]
        _set_residual(tree, up, c, state, codes=codes)
    is_kept = share >= smallest
    is_kept[_largest_of_each(at, share)] = True
    return up.rows[at[is_kept]], codes[is_kept], share[is_kept]


def _largest_of_each(groups: Integers, values: Floats) -> Integers:
    """Where each group has its largest value."""
    order = np.lexsort((values, groups))
    return order[np.append(groups[order][1:] != groups[order][:-1], True)]


def _best(
    tree: JunctionTree,
    codes: States,
    more: Mapping[Scope, Floats],
    numbers: Integers | None,
) -> States:
    arrays, n = tree.arrays, len(codes)
    homes = {scope: tree.clique_of(scope) for scope in more}
    sizes = arrays.n_states.astype(np.int64)
    start = tree.starts(arrays.n_states)[0]
    tables = np.empty(n * start[-1])
    messages: dict[int, Floats] = {}
    for c in range(len(arrays.parent)):
        shared, residual = _members(tree, c)
        axes = [*shared, *residual]
        table = tables[n * start[c] : n * start[c + 1]].reshape(*sizes[axes], n)
        with np.errstate(divide="ignore"):
            table[...] = np.log(tree.potential_of(c))[..., None]
        for v in residual:
            known = codes[:, v]
            is_against = (known >= 0) & (np.arange(sizes[v])[:, None] != known)
            table += np.where(is_against, -np.inf, 0.0).reshape(_along(axes, [v], sizes, n))
        for scope, home in homes.items():
            if home == c:
                table += _laid_out(tree, axes, scope, more[scope])
        child = arrays.first_child[c]
        while child >= 0:
            names = _members(tree, child)[0]
            table += messages.pop(child).reshape(_along(axes, names, sizes, n))
            child = arrays.next_child[child]
        flat = table.reshape(int(sizes[shared].prod()), int(sizes[residual].prod()), n)
        messages[c] = flat.max(axis=1)
    up = Upward(np.arange(n), sizes, np.zeros_like(sizes), start, tables, np.zeros(n))
    best, rows = codes.copy(), np.arange(n)
    for c in _from_the_root(tree):
        weights = _residual(tree, up, c, rows, codes=best)
        refuse_impossible_rows(
            rows if numbers is None else numbers, np.isneginf(weights.max(axis=1))
        )
        _set_residual(tree, up, c, weights.argmax(axis=1), codes=best)
    return best


def _laid_out(tree: JunctionTree, axes: list[int], scope: Scope, log: Floats) -> Floats:
    """A likelihood, shape (rows, states...), along the axes of a clique's table, rows last."""
    variables = [tree.index[name] for name in scope]
    order = sorted(range(len(variables)), key=lambda i: axes.index(variables[i]))
    turned = np.moveaxis(log.transpose(0, *(i + 1 for i in order)), 0, -1)
    sizes = iter(turned.shape[:-1])
    shape = [next(sizes) if v in variables else 1 for v in axes]
    return turned.reshape(*shape, len(log))


def _along(
    axes: list[int], names: Integers | list[int], sizes: Integers, n: int
) -> tuple[int, ...]:
    """The shape of a message in a clique's table; separators stand in the order of the clique."""
    return (*(int(sizes[v]) if v in names else 1 for v in axes), n)
