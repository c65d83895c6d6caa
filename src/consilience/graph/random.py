r"""Random graphs and all graphs: to simulate from, and to test against.

The number of DAGs on :math:`n` labelled nodes of which :math:`k` have no parents is

.. math:: a_{n,k} = \binom{n}{k} \sum_{s=1}^{n-k} (2^k - 1)^s\, 2^{k(n-k-s)}\, a_{n-k,s},
    \qquad a_{n,n} = 1,

since each of the :math:`s` nodes that have no parents once the :math:`k` are taken away must have
one among them. Drawing :math:`k`, then :math:`s`, and so on with these weights, then the names,
then the arcs gives every DAG the same probability; the numbers are exact integers.

References
----------
R. W. Robinson (1973). Counting labeled acyclic digraphs. In New Directions in the Theory of Graphs.
J. Kuipers, G. Moffa (2015). Uniform random generation of large acyclic digraphs. Statistics and
Computing 25(2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np

from consilience import _check
from consilience._typing import Integers, Seed
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc, unique_names

__all__ = ["all_dags", "count_dags", "random_dag", "uniform_dag"]

LARGEST_ALL = 5
LARGEST_UNIFORM = 100


def random_dag(
    nodes: int | Iterable[str],
    *,
    n_arcs: int | None = None,
    p_arc: float | None = None,
    max_parents: int | None = None,
    seed: Seed = None,
) -> DAG:
    """A random DAG of a given density: a random order of the nodes, then random arcs along it.

    Not every DAG is equally likely (one that fits many orders is more so); see :func:`uniform_dag`.

    Parameters
    ----------
    nodes
        Names, or how many nodes there are; these are then called ``X1``, ``X2``, ...
    n_arcs
        Number of arcs, exactly: pairs are drawn at random, and a pair whose child has
        ``max_parents`` already is passed over. Give either this or ``p_arc``.
    p_arc
        Probability of each pair to be joined, independently; of more than ``max_parents`` parents a
        random choice is kept.
    max_parents
        Largest number of parents of a node; None for no bound.
    seed
        A whole number, a NumPy generator, or None for a fresh one.

    Examples
    --------
    >>> len(random_dag(10, n_arcs=15, max_parents=3, seed=1).arcs)
    15
    """
    names = _names(nodes)
    rng = _check.generator(seed)
    if (n_arcs is None) == (p_arc is None):
        raise InputError("random_dag: give either n_arcs or p_arc.", parameter="n_arcs")
    cap = len(names)
    if max_parents is not None:
        _check.whole("random_dag", at_least=0, max_parents=max_parents)
        cap = min(cap, max_parents)
    order = rng.permutation(len(names))
    if p_arc is not None:
        parents = _independent(len(names), p_arc, cap, rng)
    else:
        n_parents = _spread(len(names), n_arcs or 0, cap, rng)
        parents = [rng.choice(j, n, replace=False) for j, n in enumerate(n_parents)]
    return _along(names, order, parents)


def uniform_dag(nodes: int | Iterable[str], seed: Seed = None) -> DAG:
    """A DAG drawn with equal probability from all DAGs on these nodes; at most 100 of them.

    Parameters
    ----------
    nodes
        Names, or how many nodes there are; these are then called ``X1``, ``X2``, ...
    seed
        A whole number, a NumPy generator, or None for a fresh one.
    """
    names = _names(nodes)
    if len(names) > LARGEST_UNIFORM:
        raise InputError(
            f"uniform_dag: at most {LARGEST_UNIFORM} nodes, got {len(names)}. "
            "random_dag has no such bound.",
            parameter="nodes",
        )
    rng = _check.generator(seed)
    shuffled = [names[i] for i in rng.permutation(len(names))]
    arcs: set[Arc] = set()
    before: list[str] = []
    last: list[str] = []
    for size in _level_sizes(len(names), rng):
        level = [shuffled.pop() for _ in range(size)]
        for child in level:
            chosen = [*_subset(last, rng, at_least=min(1, len(last))), *_subset(before, rng)]
            arcs.update((parent, child) for parent in chosen)
        before += last
        last = level
    return DAG((pair for pair in product(names, names) if pair in arcs), names)


def count_dags(n_nodes: int) -> int:
    r"""The number of DAGs on labelled nodes: 1, 1, 3, 25, 543, 29281, 3781503, ...

    .. math:: a_n = \sum_{k=1}^{n} (-1)^{k+1} \binom{n}{k} 2^{k(n-k)} a_{n-k}, \qquad a_0 = 1

    Examples
    --------
    >>> count_dags(4)
    543
    """
    _check.whole("count_dags", at_least=0, n_nodes=n_nodes)
    counts = [1]
    for n in range(1, n_nodes + 1):
        ways = [comb(n, k) * counts[n - k] << k * (n - k) for k in range(1, n + 1)]
        counts.append(sum(ways[::2]) - sum(ways[1::2]))
    return counts[n_nodes]


def all_dags(nodes: int | Iterable[str]) -> Iterator[DAG]:
    """Every DAG on these nodes, each once; at most 5 nodes (29281 graphs)."""
    names = _names(nodes)
    if len(names) > LARGEST_ALL:
        raise InputError(
            f"all_dags: at most {LARGEST_ALL} nodes, got {len(names)}. "
            "uniform_dag draws from larger sets.",
            parameter="nodes",
        )
    return _all_dags(names)


def _names(nodes: int | Iterable[str]) -> tuple[str, ...]:
    if isinstance(nodes, int | np.integer):
        _check.whole("random graph", at_least=0, nodes=nodes)
        return tuple(f"X{i + 1}" for i in range(nodes))
    return unique_names(nodes)


def _independent(n_nodes: int, p_arc: float, cap: int, rng: np.random.Generator) -> list[Integers]:
    _check.non_negative("random_dag", p_arc=p_arc)
    if p_arc > 1:
        raise InputError(f"random_dag: p_arc must be at most 1, got {p_arc!r}.", parameter="p_arc")
    drawn = [np.flatnonzero(rng.random(j) < p_arc) for j in range(n_nodes)]
    return [of if len(of) <= cap else rng.choice(of, cap, replace=False) for of in drawn]


def _spread(n_nodes: int, n_arcs: int, cap: int, rng: np.random.Generator) -> Integers:
    # Drawing pairs one by one and passing over full children has the law of these rounds: draw all
    # that is left, cut each child at the cap, go on among the children that are not full.
    _check.whole("random_dag", at_least=0, n_arcs=n_arcs)
    n_candidates = np.arange(n_nodes)
    most = int(np.minimum(n_candidates, cap).sum())
    if n_arcs > most:
        raise InputError(
            f"random_dag: {n_nodes} nodes with at most {cap} parents each have room for {most} "
            f"arcs, got n_arcs={n_arcs}.",
            parameter="n_arcs",
        )
    n_parents = np.zeros(n_nodes, dtype=np.int64)
    while left := n_arcs - int(n_parents.sum()):
        n_open = np.where(n_parents < cap, n_candidates - n_parents, 0)
        drawn = n_parents + rng.multivariate_hypergeometric(n_open, left)
        n_parents = np.minimum(drawn, cap)
    return n_parents


def _along(names: Sequence[str], order: Integers, parents: Sequence[Integers]) -> DAG:
    # parents[j] holds places before j in the order; a child's arcs stand in the order of the nodes.
    arcs = (
        (names[start], names[order[j]])
        for j, places in enumerate(parents)
        for start in sorted(order[places])
    )
    return DAG(arcs, names)


def _level_sizes(n_nodes: int, rng: np.random.Generator) -> Iterator[int]:
    weights = _n_by_roots(n_nodes)
    while n_nodes:
        size = 1 + _draw(weights, rng)
        yield size
        n_nodes -= size
        weights = _ways(size, n_nodes)


@cache
def _n_by_roots(n: int) -> tuple[int, ...]:
    """Numbers of DAGs on n nodes with 1, ..., n nodes that have no parents."""
    some = (comb(n, k) * sum(_ways(k, n - k)) for k in range(1, n))
    return (*some, 1) if n else ()


def _ways(k: int, m: int) -> tuple[int, ...]:
    """Ways to put k roots before the DAGs on m nodes, by the number of roots of these."""
    return tuple(
        (2**k - 1) ** s * n_dags << k * (m - s) for s, n_dags in enumerate(_n_by_roots(m), start=1)
    )


def _draw(weights: Sequence[int], rng: np.random.Generator) -> int:
    point = _below(sum(weights), rng)
    for i, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return i
    raise AssertionError("unreachable")


def _subset(names: Sequence[str], rng: np.random.Generator, *, at_least: int = 0) -> list[str]:
    bits = at_least + _below(2 ** len(names) - at_least, rng)
    return [name for i, name in enumerate(names) if bits >> i & 1]


def _below(bound: int, rng: np.random.Generator) -> int:
    """A whole number from 0 to bound - 1, of any size, each with the same probability."""
    n_bits = (bound - 1).bit_length()
    n_bytes = (n_bits + 7) // 8
    while True:
        drawn = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - n_bits)
        if drawn < bound:
            return drawn


def _all_dags(names: Sequence[str]) -> Iterator[DAG]:
    pairs = list(combinations(range(len(names)), 2))
    for joints in product((None, 0, 1), repeat=len(pairs)):
        arcs = [
            pair[::-1] if turned else pair
            for pair, turned in zip(pairs, joints, strict=True)
            if turned is not None
        ]
        if _is_acyclic(arcs, len(names)):
            yield DAG(((names[a], names[b]) for a, b in arcs), names)


def _is_acyclic(arcs: Iterable[tuple[int, int]], n_nodes: int) -> bool:
    parents = [0] * n_nodes  # bit i of entry j: an arc from i to j
    for a, b in arcs:
        parents[b] |= 1 << a
    left = 2**n_nodes - 1
    while left:
        kept = sum(1 << j for j in range(n_nodes) if left >> j & 1 and parents[j] & left)
        if kept == left:
            return False
        left = kept
    return True
