"""How many tables of a family an estimator holds at the worst time, for the guard of memory.

The numbers were measured: the peak of what NumPy allocates, in tables of 8 bytes for each source,
parent state and state. Counts, prior, posterior and means are some; a strength that is learned is
integrated over a grid, with a base for each of its points; and a chain has its tables for every way
to back off. How many points a grid has depends on the rows; the most are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from consilience.parameters.chain import HDC
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.hierarchical import HDMCS, HDMJS, HDS
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import Adaptive, Pooled, Separate
from consilience.parameters.shrinkage import Shrinkage
from consilience.parameters.strength import Gamma

__all__ = ["tables_held"]

OTHERS = 9.0
"""What is taken for an estimator that is not listed."""

GRID = 190.0
"""Tables of a base: two for each of 95 steps of 0.4, over which the log of a strength can range."""

Held: TypeAlias = Callable[[Any, int, int], float]


def tables_held(estimator: object, n_sources: int, n_parents: int) -> float:
    """Tables, with an entry for each source, that are held while a family is estimated.

    Parameters
    ----------
    estimator
        For tables.
    n_sources
        Number of sources that are kept apart; 1 if they are not.
    n_parents
        Number of parents, the source left out.

    Examples
    --------
    >>> tables_held(MLE(), n_sources=1, n_parents=3)
    4.0
    """
    return HELD.get(type(estimator), _other)(estimator, max(n_sources, 1), n_parents)


def _other(_estimator: object, _n_sources: int, _n_parents: int) -> float:
    return OTHERS


def _plain(n_tables: float) -> Held:
    return lambda _estimator, _n_sources, _n_parents: n_tables


def _tied(n_tables: float) -> Held:
    """A hierarchy over sources: two bases for each point of the grid if its strength is learned."""

    def held(estimator: Any, n_sources: int, _n_parents: int) -> float:
        grid = GRID if isinstance(estimator.s, Gamma) else 0.0
        return n_tables + (grid + 3.0) / n_sources

    return held


def _chain(_estimator: object, n_sources: int, n_parents: int) -> float:
    return 13.0 if n_sources == 1 else 16.0 + 6.0 * n_parents


def _wrapped(estimator: Any, n_sources: int, n_parents: int) -> float:
    return 1.0 + tables_held(estimator.estimator, n_sources, n_parents)


HELD: Mapping[type, Held] = {
    MLE: _plain(4.0),
    Dirichlet: _plain(7.0),
    Shrinkage: _plain(7.5),
    HDS: _plain(7.5),
    HDMJS: _tied(6.0),
    HDMCS: _tied(6.5),
    HDC: _chain,
    Adaptive: _tied(13.0),
    Pooled: _wrapped,
    Separate: _wrapped,
}
