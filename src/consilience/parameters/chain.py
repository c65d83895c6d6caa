r"""The hierarchical Dirichlet chain: every distribution leans on the one that knows one variable less.

Let :math:`V` be the parents of a node :math:`X` and the source, :math:`K` of them. A *back-off order* drops one variable after
the other, so that level :math:`K` has one row for each joint state of :math:`V` and level 0 a single one:

.. math::
    \phi_0 \sim \mathrm{Dirichlet}(1), \qquad
    \phi_{l,g} \sim \mathrm{Dirichlet}(s_l\, w_{l,g}\, \phi_{l-1,up(g)}), \qquad
    s_l \sim \mathrm{Gamma}(\text{shape}, \text{rate})

with :math:`w_{l,g}` proportional to :math:`(\text{customers of } g + 1)^\rho` and of mean one over a level. The concentrations
:math:`s_l` are learned (mode), so the data say how far the sources, and the states of each parent, agree. The means follow
from expected table counts (see ``kernels/chain.py``).

All back-off orders are fitted, with :math:`\rho` of 1/2 and 1, and their tables averaged with weights proportional to the
exponential of their leave-one-out log predictive :math:`\sum N_{gx} \log p_{-1}(x \mid g)`. With more than three
variables the parents are dropped in the order of increasing mutual information with :math:`X`, the source in every position.

Two sources say little about :math:`s`, so the nodes of a network share what they say: the Gamma prior is moved to the
geometric mean of the network's concentrations, one for each kind of dropped variable (the source, the main parent, another
parent), three times. The result is kept if the leave-one-out log predictive of the network gains more than five nats.

References: Teh, Jordan, Beal and Blei (2006), the hierarchy and its tables; Teh, Kurihara and Welling (2008), expected
tables; MacKay and Peto (1995), back-off as a Dirichlet hierarchy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, xlogy

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions.categorical import Categorical
from consilience.kernels.chain import fit_order
from consilience.parameters.sources import by_source_table, source_node
from consilience.statistics.counts import MEMORY_LIMIT, Counts

__all__ = ["HDC"]

RHOS = (0.5, 1.0)
"""Exponents of the strength of a row: how much more a frequent joint state is smoothed."""

MOST_PERMUTED = 3
"""Up to so many variables all back-off orders are fitted."""

LEAST_WEIGHT = 0.01
"""Fits of less weight are dropped from the average."""

SHARING_ROUNDS = 3
LEAST_GAIN = 5.0
"""Nats that sharing the prior of the concentrations must gain."""

FIRST_S, LEAST_S, MOST_S = 5.0, 1e-3, 1e6
FIT_ROUNDS, TOLERANCE = 200, 1e-6

SOURCE, MAIN_PARENT, OTHER_PARENT = range(3)
"""Kinds of dropped variables; each has its own prior of the concentration."""


@dataclass(frozen=True, slots=True)
class HDC:
    r"""Means of a hierarchical Dirichlet chain from P(X | parents, source) back to P(X).

    The concentrations are learned from the counts, which may be fractional; there is nothing to tune for the usual case. It
    has no posterior. A source never seen gets the mean of the level at which the source is dropped.
    Time grows with the number of distinct rows and with the factorial of the number of parents, up to two of them beside the source.

    Parameters
    ----------
    shape, rate
        Gamma prior of the concentrations, in pseudo-counts for a row of average size.

    Examples
    --------
    Without parents and sources there is nothing to lean on but the uniform distribution:

    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "a", "b"]})
    >>> [local] = HDC().estimate(cs.count(table, [cs.Family("x")]))
    >>> local.table.round(3).tolist()
    [0.667, 0.333]
    """

    shape: float = 4.0
    rate: float = 0.1
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.positive("HDC", shape=self.shape, rate=self.rate)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family of a network."""
        n_children = Counter(parent for counts in families for parent in counts.family.parents)
        chains = [_Chain.of(counts, n_children) for counts in families]
        rates = np.full(3, self.rate)
        alone = [_average_of_orders(chain, self.shape, rates) for chain in chains]
        shared = alone
        for _ in range(SHARING_ROUNDS):
            rates = _shared_rates(shared, self.shape, rates)
            shared = [_average_of_orders(chain, self.shape, rates) for chain in chains]
        gain = sum(a.score for a in shared) - sum(a.score for a in alone)
        kept = shared if gain > LEAST_GAIN else alone
        return [
            by_source_table(counts, source_node(counts), average.rows)
            for counts, average in zip(families, kept, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """One back-off order in the form the kernel wants.

    ``kinds[l]`` is the kind of the variable that is dropped between level ``l`` and level ``l - 1``; ``unseen`` are the rows, of
    whatever level, that a source never seen backs off to, one for each parent state.
    """

    up: Integers
    start: Integers
    kinds: Integers
    unseen: Integers


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """The counts of a family, shape (joint states of source and parents, states), and its orders."""

    rows: Floats
    orders: list[_Order]

    @classmethod
    def of(cls, counts: Counts, n_children: Counter[str]) -> _Chain:
        values = counts.to_dense().values
        first = [] if counts.source is None else [counts.source]
        sizes = [variable.n_states for variable in (*first, *counts.given)]
        parents = list(range(len(first), len(sizes)))
        information = dict(zip(parents, _information(counts, values.sum(axis=0)), strict=True))
        names = {axis: counts.given[axis - len(first)].name for axis in parents}
        by_information = sorted(parents, key=lambda axis: (information[axis], names[axis]))
        kinds = [SOURCE] * len(first) + [OTHER_PARENT] * len(parents)
        if parents:
            kinds[max(by_information, key=lambda axis: n_children[names[axis]])] = MAIN_PARENT
        dropped = list(_drop_orders(list(range(len(first))), by_information))
        _check_memory(counts, values.size * len(dropped))
        orders = [
            _order(sizes, np.array(kinds, int), order, has_source=bool(first)) for order in dropped
        ]
        return cls(values.reshape(-1, values.shape[-1]), orders)


@dataclass(frozen=True, slots=True, eq=False)
class _Average:
    """A family's rows, averaged over orders, and what the other families may learn from it.

    ``rows`` has the source never seen last; ``score`` is their leave-one-out log predictive; ``weight`` and ``log_s`` are sums, by
    kind, of the weights of the levels and of the logs of their concentrations.
    """

    rows: Floats
    score: float
    weight: Floats
    log_s: Floats


def _information(counts: Counts, pooled: Floats) -> list[float]:
    """Mutual information of each parent with the child, rounded so that equals are equal."""
    shape = [parent.n_states for parent in counts.given]
    cells = pooled.reshape(*shape, pooled.shape[-1])
    total = cells.sum()
    found = []
    for axis in range(len(shape)):
        others = tuple(other for other in range(len(shape)) if other != axis)
        joint = cells.sum(axis=others) / max(total, 1.0)
        margins = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        ratio = np.divide(joint, margins, out=np.ones_like(joint), where=joint > 0)
        found.append(round(float(xlogy(joint, ratio).sum()), 12))
    return found


def _drop_orders(source: list[int], parents: list[int]) -> Iterator[tuple[int, ...]]:
    """Back-off orders as axes; ``source`` has at most one, ``parents`` are the least informative first."""
    axes = [*source, *parents]
    if len(axes) <= MOST_PERMUTED:
        yield from permutations(axes)
    elif not source:
        yield tuple(parents)
    else:
        for place in range(len(axes)):
            yield (*parents[:place], *source, *parents[place:])


def _order(
    sizes: Sequence[int], kinds: Integers, dropped: tuple[int, ...], *, has_source: bool
) -> _Order:
    kept = list(range(len(sizes)))
    ups, n_rows = [], [prod(sizes)]
    for axis in dropped:
        before = [sizes[other] for other in kept]
        place = kept.index(axis)
        kept.remove(axis)
        after = np.arange(n_rows[-1] // sizes[axis]).reshape([sizes[other] for other in kept])
        ups.append(np.broadcast_to(np.expand_dims(after, place), before).ravel())
        n_rows.append(after.size)
    start = np.cumsum([0, *reversed(n_rows)])
    levels = [np.zeros(1, np.int64), *reversed(ups)]
    up = np.concatenate([level + start[max(l - 1, 0)] for l, level in enumerate(levels)])
    unseen = start[-2] + np.arange(n_rows[0] // sizes[0] if has_source else 0)
    for axis in dropped:
        unseen = up[unseen]
        if axis == 0:
            break
    return _Order(up, start, np.append(SOURCE, kinds[list(reversed(dropped))]), unseen)


def _average_of_orders(chain: _Chain, shape: float, rates: Floats) -> _Average:
    """The average of all orders and exponents, weighted by what each predicts leaving one out."""
    fits = [(order, *_fit(chain, order, rho, shape, rates)) for order, rho in _ways(chain)]
    scores = np.array([float(xlogy(chain.rows, left_out).sum()) for *_, left_out in fits])
    weights = np.exp(scores - logsumexp(scores))
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    rows, left_out = 0.0, 0.0
    weight, log_s = np.zeros(3), np.zeros(3)
    for w, (order, s, mean, one_left_out) in zip(weights, fits, strict=True):
        if w > 0:
            rows += w * np.concatenate([mean[order.start[-2] :], mean[order.unseen]])
            left_out += w * one_left_out
            np.add.at(weight, order.kinds[1:], w)
            np.add.at(log_s, order.kinds[1:], w * np.log(s[1:]))
    return _Average(rows, float(xlogy(chain.rows, left_out).sum()), weight, log_s)


def _ways(chain: _Chain) -> Iterator[tuple[_Order, float]]:
    for order in chain.orders:
        for rho in RHOS if len(order.kinds) > 1 else RHOS[:1]:
            yield order, rho


def _fit(
    chain: _Chain, order: _Order, rho: float, shape: float, rates: Floats
) -> tuple[Floats, Floats, Floats]:
    n_levels = len(order.kinds)
    return fit_order(
        chain.rows,
        order.up,
        order.start,
        rho,
        shape,
        rates[order.kinds],
        np.full(n_levels, LEAST_S),
        np.full(n_levels, MOST_S),
        FIRST_S,
        FIT_ROUNDS,
        TOLERANCE,
    )


def _shared_rates(averages: Sequence[_Average], shape: float, rates: Floats) -> Floats:
    """Rates that put the mean of the Gamma prior at the geometric mean of the concentrations, by kind."""
    weight = sum(average.weight for average in averages)
    log_s = sum(average.log_s for average in averages)
    centre = np.exp(np.divide(log_s, weight, out=np.zeros(3), where=weight > 0))
    return np.where(weight > 0, shape / centre, rates)


def _check_memory(counts: Counts, n_cells: int) -> None:
    # Means of all levels and what is left out, for each order and exponent.
    _check.memory(
        f"HDC of family {counts.child.name!r} with {len(counts.given)} parents",
        8 * 3 * len(RHOS) * n_cells,
        4 * MEMORY_LIMIT,
        "Use fewer parents or states.",
    )
