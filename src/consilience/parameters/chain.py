r"""The hierarchical Dirichlet chain: a distribution leans on the one that knows one variable less.

Let :math:`V` be the parents of a node :math:`X` and the source, :math:`K` variables in all (a
parent with one state counts for nothing). A
*back-off order* drops one after the other, so that level :math:`K` has a row for each joint state
of :math:`V` and level 0 a single row:

.. math::
    \phi_0 \sim \mathrm{Dirichlet}(1), \qquad
    \phi_{l,g} \sim \mathrm{Dirichlet}(s_l\, w_{l,g}\, \phi_{l-1,up(g)}), \qquad
    s_l \sim \mathrm{Gamma}(\text{shape}_l, \text{rate}_l)

The weights :math:`w_{l,g}` are proportional to :math:`(n_{l,g} + 1)^\rho`, with :math:`n` the
customers of a row, and their mean over a level is one; where the source is dropped they are equal,
since a source with more rows is no more like the others. The strengths :math:`s_l` are learned (the
mode of their logarithms), so the data say how far the sources, and the states of each parent,
agree. Their prior is wide for a level that drops the source and narrow for one that drops a parent.
The means follow from expected table counts; ``kernels/chain.py`` has the equations.

All back-off orders are fitted, each with :math:`\rho` of 0 (equal weights) and 1 (as if the joint
states of parents and child had one Dirichlet prior), and their tables are averaged with weights
proportional to :math:`\exp \sum_{gx} N_{gx} \log p(x \mid g)`, where each observation is predicted
by all others. A source with few rows of a family is given the orders that drop the source first
(``small_sources.py``). With more than three variables the parents are dropped by increasing mutual
information with :math:`X`, and the source in every position.

A few sources say little about :math:`s`, so the nodes of a network share what they say: the mean of
the Gamma prior is moved to the geometric mean of the network's strengths, one for each kind of
dropped variable (the source, the main parent, another parent), three times over. The result is kept
if the network's leave-one-out log predictive gains more than five nats. The main parent of a node
is the one with the most children in the network: the class of a naive Bayes or a TAN network.

References: MacKay and Peto (1995) and Teh, Jordan, Beal and Blei (2006), the hierarchy; Teh,
Kurihara and Welling (2008), expected tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import factorial
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlogy

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical, Posterior
from consilience.errors import InputError
from consilience.kernels.chain import begin, fit_order, settle, settle_from
from consilience.parameters.backoff import (
    MAIN_PARENT,
    OTHER_PARENT,
    SOURCE,
    Way,
    way_of,
)
from consilience.parameters.chain_posterior import (
    FIT_ROUNDS,
    TOLERANCE,
    ChainPosterior,
    WeightedWay,
)
from consilience.parameters.small_sources import gain_of_pooling, guesses, own_shares
from consilience.parameters.source_node import by_source_table, source_node
from consilience.parameters.strength import AMONG_PARENT_STATES, AMONG_SOURCES, Gamma
from consilience.statistics.counts import MEMORY_LIMIT, Counts

__all__ = ["HDC", "FittedChain", "HeldChain", "fitted_chains"]

RHOS = (0.0, 1.0)
"""Exponents of the weight of a row: how much more a frequent joint state is smoothed. Only levels
that drop a parent have them.
"""

MOST_PERMUTED = 3
"""Up to so many variables all back-off orders are fitted."""

LEAST_WEIGHT = 0.01
"""Fits of less weight are left out of the average."""

SHARING_TOLERANCES = (1e-3, 1e-3, TOLERANCE)
"""Of the rounds in which families share the prior: the first ones only show where it goes."""

LEAST_GAIN = 5.0
"""Nats by which sharing the prior of the strengths must predict better to be kept."""

FIRST_S, LEAST_S, MOST_S = 5.0, 1e-3, 1e6

VOTE = 0.5
"""What the prediction of a source from the others counts for a source never seen."""


@dataclass(frozen=True, slots=True)
class HDC:
    r"""A hierarchical Dirichlet chain from P(X | parents, source) back to P(X): the default.

    The strength of all smoothing is learned from the counts, which may be fractional. A source
    never seen lies between the rows P(X | parents) that the sources lean on and those of all rows
    together, as predicting each source from the others says.

    Intervals and draws come from Gibbs steps (``parameters/chain_posterior.py``), made when they
    are first asked for. The tables are those at the mode of log strengths; posterior means over
    the strengths differ a little.

    Time grows with the number of back-off orders (6 for two parents and a source) and with the
    number of different rows; memory with the table times twice the orders.

    Parameters
    ----------
    parents, sources
        Gamma priors of the strengths with which a level that knows a parent, or the source, leans
        on the one that does not. A strength is a number of pseudo-counts for a row of average
        weight. That of the sources is wide: two sources say little about a third, and many that
        agree may tie it as closely as they do.

    Examples
    --------
    Without parents and sources there is only the uniform distribution to lean on:

    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "a", "a", "b"]})
    >>> [local] = HDC().estimate(cs.count(table, [cs.Family("x")]))
    >>> local.table.round(3).tolist()
    [0.667, 0.333]
    """

    parents: Gamma = AMONG_PARENT_STATES
    sources: Gamma = AMONG_SOURCES
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True
    has_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("parents", "sources"):
            if not isinstance(getattr(self, name), Gamma):
                raise InputError(
                    f"HDC: {name} must be a prior such as cs.Gamma(1, 0.1), got "
                    f"{getattr(self, name)!r}.",
                    parameter=name,
                )

    def __repr__(self) -> str:
        plain = {"parents": AMONG_PARENT_STATES, "sources": AMONG_SOURCES}
        given = [f"{k}={getattr(self, k)!r}" for k, v in plain.items() if getattr(self, k) != v]
        return f"HDC({', '.join(given)})"

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family; the families of a network share the prior."""
        return [
            fitted.local(fitted.means, fitted.posterior())
            for fitted in fitted_chains(families, self)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Priors:
    """Gamma priors of the strengths by kind of dropped variable: shapes and rates."""

    shapes: Floats
    rates: Floats

    @classmethod
    def of(cls, choice: HDC) -> Priors:
        """The priors of the choice, before the families share them."""
        by_kind = [choice.sources, choice.parents, choice.parents]
        return cls(np.array([g.shape for g in by_kind]), np.array([g.rate for g in by_kind]))


@dataclass(frozen=True, slots=True, eq=False)
class FittedChain:
    """A family with its chain as fitted: the ways that are averaged, their shares and strengths.

    Parameters
    ----------
    counts
        The family's counts.
    source
        The source with its reserved state; None if the counts are pooled.
    rows
        The counts as numbers, shape (joint states of source and parents, states).
    ways, shares, s
        The ways of positive weight; their weights, shape (ways, 2), for sources seen and for one
        never seen, each summing to one; their strengths by level.
    means
        The averaged rows, those of a source never seen last.
    priors
        Of the strengths, as shared by the families.
    pooled_share
        How far a source never seen lies from the base towards all rows together
        (``small_sources.py``).
    """

    counts: Counts
    source: Variable | None
    rows: Floats
    ways: list[Way]
    shares: Floats
    s: list[Floats]
    means: Floats
    priors: Priors
    pooled_share: float

    def row_shares(self, way: int) -> Floats:
        """The weight of a way in each row of the sources seen, shape (rows, 1)."""
        return _row_shares(self.rows, self.ways[way], *self.shares[way])

    def weighted(self, way: int, mean: Floats) -> Floats:
        """What the means of a way add to the rows, in the shape of ``means``."""
        seen = mean[self.ways[way].start[-2] :]
        if self.source is None:
            return self.shares[way, 0] * seen
        base, together = guesses(self.rows, self.ways[way], self.s[way], mean)
        unseen = base + self.pooled_share * (together - base)
        return np.concatenate([self.row_shares(way) * seen, self.shares[way, 1] * unseen])

    def posterior(self) -> ChainPosterior:
        """The posterior of the table."""
        shapes, rates = self.priors.shapes, self.priors.rates
        ways = [
            WeightedWay(way, float(a), float(b), s, shapes[way.kinds], rates[way.kinds])
            for way, (a, b), s in zip(self.ways, self.shares, self.s, strict=True)
        ]
        given = self.counts.given if self.source is None else (self.source, *self.counts.given)
        shape = tuple(variable.n_states for variable in (*given, self.counts.child))
        n_sources = 0 if self.source is None else self.source.n_states - 1
        return ChainPosterior(self.rows, n_sources, tuple(ways), shape, self.pooled_share)

    def begun(self) -> list[tuple[Floats, Floats]]:
        """Means and weights of all rows of each way, from which other counts can settle."""
        found = []
        for way, s in zip(self.ways, self.s, strict=True):
            rows = settle(self.rows, way.up, way.start, way.rho, s, FIT_ROUNDS, TOLERANCE)
            found.append((rows[3], rows[2]))
        return found

    def settled(self, counts: Counts, begun: Sequence[tuple[Floats, Floats]]) -> FittedChain:
        """The same ways, shares and strengths with the means of other counts of the family, which
        settle from where those of a fit began (:meth:`begun`).
        """
        rows = counts.to_dense().values.reshape(self.rows.shape)
        means = np.zeros_like(self.means)
        for i, (way, s) in enumerate(zip(self.ways, self.s, strict=True)):
            mean, weight = (array.copy() for array in begun[i])
            settle_from(rows, way.up, way.start, way.rho, s, mean, weight, FIT_ROUNDS, TOLERANCE)
            means += self.weighted(i, mean)
        return replace(self, counts=counts, rows=rows, means=means)

    def local(self, means: Floats, posterior: Posterior | None = None) -> Categorical:
        """The local distribution with rows in the shape of ``means``.

        A source without rows of this family has the rows of a source never seen.
        """
        if self.source is not None:
            by_source = means.reshape(self.source.n_states, -1, means.shape[-1]).copy()
            is_empty = self.counts.table.sum(axis=(1, 2)) == 0
            by_source[:-1][is_empty] = by_source[-1]
            means = by_source.reshape(means.shape)
        return by_source_table(self.counts, self.source, means, posterior)


def fitted_chains(families: Sequence[Counts], choice: HDC) -> list[FittedChain]:
    """The chain of each family; the families of a network share the prior."""
    sources = [source_node(counts) for counts in families]
    n_children = Counter(parent for counts in families for parent in counts.family.parents)
    chains = [_Chain.of(counts, n_children) for counts in families]
    own = priors = Priors.of(choice)
    every = [_averaged(chain, own) for chain in chains]
    kept_ways = [_kept_ways(*pair) for pair in zip(chains, every, strict=True)]
    chains, alone = [chain for chain, _ in kept_ways], [average for _, average in kept_ways]
    shared = alone
    for tolerance in SHARING_TOLERANCES:
        priors = _shared_priors(chains, shared, priors)
        shared = [
            _averaged(chain, priors, last, tolerance)
            for chain, last in zip(chains, shared, strict=True)
        ]
    gain = sum(average.score for average in shared) - sum(average.score for average in alone)
    kept, priors = (shared, priors) if gain > LEAST_GAIN else (alone, own)
    pooled_share = _pooled_share(chains, kept)
    return [
        _kept(counts, source, chain, average, priors=priors, pooled_share=pooled_share)
        for counts, source, chain, average in zip(families, sources, chains, kept, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeldChain:
    """A chain as fitted before, for counts that have changed a little: ways, shares and strengths
    are held, and only the means settle anew.

    Parameters
    ----------
    choice
        The chain.
    fitted, begun
        The fits of all families by child, and from where their means settle.
    """

    choice: HDC
    fitted: Mapping[str, FittedChain]
    begun: Mapping[str, list[tuple[Floats, Floats]]]
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    @classmethod
    def of(cls, choice: HDC, families: Sequence[Counts]) -> HeldChain:
        """The chain fitted to these counts."""
        fitted = {one.counts.child.name: one for one in fitted_chains(families, choice)}
        return cls(choice, fitted, {name: one.begun() for name, one in fitted.items()})

    def __repr__(self) -> str:
        return repr(self.choice)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family."""
        names = [counts.child.name for counts in families]
        anew = [
            self.fitted[name].settled(counts, self.begun[name])
            for name, counts in zip(names, families, strict=True)
        ]
        return [fitted.local(fitted.means, fitted.posterior()) for fitted in anew]


@dataclass(frozen=True, slots=True, eq=False)
class _Average:
    """Rows averaged over all ways, and how they came about.

    ``base`` and ``together`` are the guesses at a source never seen (``small_sources.py``);
    ``score`` is the leave-one-out log predictive; ``weights`` and ``s`` are those of each way,
    ``unseen_weights`` those for a source never seen.
    """

    rows: Floats
    base: Floats
    together: Floats
    score: float
    weights: Floats
    unseen_weights: Floats
    s: list[Floats]


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """Counts of a family, shape (joint states of source and parents, states), and its ways."""

    rows: Floats
    ways: list[Way]

    @classmethod
    def of(cls, counts: Counts, n_children: Counter[str]) -> _Chain:
        source = [] if counts.source is None else [counts.source]
        given = [parent for parent in counts.given if parent.n_states > 1]
        sizes = [variable.n_states for variable in (*source, *given)]
        _check_memory(counts, len(sizes))
        values = counts.to_dense().values  # (sources, parent states, states)
        ranked = _by_information(given, values.sum(axis=0))
        parents = [len(source) + i for i in ranked]
        kinds = [SOURCE] * len(source) + [OTHER_PARENT] * len(given)
        if given:
            main = max(reversed(ranked), key=lambda i: n_children[given[i].name])
            kinds[len(source) + main] = MAIN_PARENT
        orders = list(_orders(list(range(len(source))), parents))
        ways = [
            way_of(sizes, kinds, order, rho)
            for order in orders
            for rho in (RHOS if given else RHOS[:1])
        ]
        return cls(values.reshape(-1, values.shape[-1]), ways)


def _kept_ways(chain: _Chain, average: _Average) -> tuple[_Chain, _Average]:
    """The chain and its average without the ways of no weight."""
    kept = np.flatnonzero(average.weights + average.unseen_weights)
    return (
        _Chain(chain.rows, [chain.ways[i] for i in kept]),
        replace(
            average,
            weights=average.weights[kept],
            unseen_weights=average.unseen_weights[kept],
            s=[average.s[i] for i in kept],
        ),
    )


def _kept(
    counts: Counts,
    source: Variable | None,
    chain: _Chain,
    average: _Average,
    *,
    priors: Priors,
    pooled_share: float,
) -> FittedChain:
    """What the averaging left of the ways of a chain."""
    kept, left = _kept_ways(chain, average)
    shares = np.stack([left.weights, left.unseen_weights], axis=1)
    unseen = average.base + pooled_share * (average.together - average.base)
    means = np.concatenate([average.rows, unseen])
    return FittedChain(
        counts, source, kept.rows, kept.ways, shares, left.s, means, priors, pooled_share
    )


def _pooled_share(chains: Sequence[_Chain], averages: Sequence[_Average]) -> float:
    """How far a source never seen lies from the base towards all rows together."""
    gain = 0.0
    for chain, average in zip(chains, averages, strict=True):
        if average.unseen_weights.any():
            best = int(average.unseen_weights.argmax())
            gain += gain_of_pooling(
                chain.rows,
                chain.ways[best],
                average.s[best],
                n_rounds=FIT_ROUNDS,
                tolerance=TOLERANCE,
            )
    return float(expit(VOTE * gain))


def _by_information(given: Sequence[Variable], pooled: Floats) -> list[int]:
    """Positions of the parents by increasing mutual information with the child; equals by name."""
    cells = pooled.reshape([*(parent.n_states for parent in given), pooled.shape[-1]])
    total = max(float(cells.sum()), np.finfo(float).tiny)
    ranks = []
    for axis, parent in enumerate(given):
        joint = cells.sum(axis=tuple(i for i in range(len(given)) if i != axis)) / total
        margins = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        ratio = np.divide(joint, margins, out=np.ones_like(joint), where=joint > 0)
        # Rounded, so that equals but for rounding do not depend on the order of the parents.
        ranks.append((round(float(xlogy(joint, ratio).sum()), 12), parent.name))
    return sorted(range(len(given)), key=ranks.__getitem__)


def _orders(source: list[int], parents: list[int]) -> Iterator[tuple[int, ...]]:
    """Back-off orders of the axes; ``parents`` has the least informative first."""
    axes = (*source, *parents)
    if len(axes) <= MOST_PERMUTED:
        yield from permutations(axes)
    elif not source:
        yield axes
    else:
        for place in range(len(axes)):
            yield (*parents[:place], *source, *parents[place:])


def _averaged(
    chain: _Chain, priors: Priors, last: _Average | None = None, tolerance: float = TOLERANCE
) -> _Average:
    """All ways fitted and averaged, weighted by how well each predicts what is left out.

    With the average under other priors, the fits start from its strengths.
    """
    strengths, tables, unseen, predictions = [], [], [], []
    for i, way in enumerate(chain.ways):
        first = np.full(len(way.kinds), FIRST_S) if last is None else last.s[i]
        s, mean, left_out = _fitted(chain, way, priors, first, tolerance=tolerance)
        strengths.append(s)
        tables.append(mean[way.start[-2] :])
        unseen.append(guesses(chain.rows, way, s, mean))
        predictions.append(left_out)
    scores = np.array([_log_predictive(chain, left_out) for left_out in predictions])
    weights = _weights(scores)
    # A way that drops the source after a parent would leave a new source without that parent.
    drops_source_first = np.array([way.drops_source_first for way in chain.ways])
    unseen_weights = _weights(np.where(drops_source_first, scores, -np.inf))
    by_row = [
        _row_shares(chain.rows, way, *pair)
        for way, pair in zip(chain.ways, np.stack([weights, unseen_weights], axis=1), strict=True)
    ]
    base, together = (_weighted(unseen_weights, guess) for guess in zip(*unseen, strict=True))
    score = _log_predictive(chain, _weighted(by_row, predictions))
    rows = _weighted(by_row, tables)
    return _Average(rows, base, together, score, weights, unseen_weights, strengths)


def _row_shares(rows: Floats, way: Way, share: float, share_unseen: float) -> Floats:
    """The weight of a way in each row, shape (rows, 1), by how many rows its source has."""
    if SOURCE not in way.kinds[1:]:
        return np.full((len(rows), 1), share)
    own = own_shares(rows, way.sizes[0])
    by_source = own * share + (1.0 - own) * share_unseen
    return np.repeat(by_source, len(rows) // way.sizes[0])[:, None]


def _weights(scores: Floats) -> Floats:
    """Weights that sum to one; those below a hundredth are zero, but the best stays."""
    if np.isneginf(scores).all():  # no source, so there is no way that drops it
        return np.zeros_like(scores)
    weights = np.exp(scores - scores.max())
    weights[weights < min(LEAST_WEIGHT * weights.sum(), 1.0)] = 0.0
    return weights / weights.sum()


def _fitted(
    chain: _Chain, way: Way, priors: Priors, first: Floats, *, tolerance: float = TOLERANCE
) -> tuple[Floats, Floats, Floats]:
    least, most = np.full(len(way.kinds), LEAST_S), np.full(len(way.kinds), MOST_S)
    mean, weight = begin(chain.rows, way.up, way.start, way.rho, first)
    s, left_out = fit_order(
        chain.rows,
        way.up,
        way.start,
        way.rho,
        priors.shapes[way.kinds],
        priors.rates[way.kinds],
        least,
        most,
        first,
        mean,
        weight,
        FIT_ROUNDS,
        tolerance,
    )
    return s, mean, left_out


def _log_predictive(chain: _Chain, left_out: Floats) -> float:
    return float(xlogy(chain.rows, left_out).sum())


def _weighted(weights: Iterable[Floats | float], arrays: Sequence[Floats]) -> Floats:
    total = np.zeros_like(arrays[0])
    for weight, array in zip(weights, arrays, strict=True):
        total += weight * array
    return total


def _shared_priors(
    chains: Sequence[_Chain], averages: Sequence[_Average], priors: Priors
) -> Priors:
    """Priors whose means are the geometric means of the strengths, by kind."""
    weight, log_s = np.zeros(3), np.zeros(3)
    for chain, average in zip(chains, averages, strict=True):
        for share, way, s in zip(average.weights, chain.ways, average.s, strict=True):
            weight += share * np.bincount(way.kinds[1:], minlength=3)
            log_s += share * np.bincount(way.kinds[1:], np.log(s[1:]), minlength=3)
    mean = np.exp(np.divide(log_s, weight, out=np.zeros(3), where=weight > 0))
    return Priors(priors.shapes, np.where(weight > 0, priors.shapes / mean, priors.rates))


def _check_memory(counts: Counts, n_variables: int) -> None:
    # A fit has the means of all levels (less than twice the table), predictions and customers.
    n_orders = factorial(n_variables) if n_variables <= MOST_PERMUTED else n_variables
    n_cells = len(counts.table) * counts.n_parent_states * counts.child.n_states
    _check.memory(
        f"HDC: the fits of family {counts.child.name!r} with {len(counts.given)} parents",
        8.0 * 4 * len(RHOS) * n_orders * n_cells,
        MEMORY_LIMIT,
        "Use fewer parents or states, or a plain prior: cs.Dirichlet().",
    )
