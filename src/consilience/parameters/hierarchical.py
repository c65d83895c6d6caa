r"""Hierarchical estimators: one hierarchy, seen three ways.

With the counts N[f, pa, x] of source f, parent state pa and state x:

========= =========== ====================== =========== ========================
estimator batches     groups                 states      afterwards
========= =========== ====================== =========== ========================
HDS       one         pa (pooled over f)     x
HDMJS     one         f                      (pa, x)     divided by the sum over x
HDMCS     pa          f                      x
========= =========== ====================== =========== ========================

A source never seen is one more group, without rows: its distribution is the base. ``pseudo_count``
is added to every cell first (0 by default; the first seed's text has 1).

References: Azzimonti, Corani and Zaffalon (2019); the exact solution is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import InputError
from consilience.parameters.hierarchy import Hierarchy, solve
from consilience.parameters.maximum_likelihood import pooled_rows
from consilience.parameters.sources import by_source_table, source_node
from consilience.parameters.strength import ONE_PER_STATE, Gamma, PerState, Strength, check_strength
from consilience.statistics.counts import MEMORY_LIMIT, Counts

__all__ = ["HDMCS", "HDMJS", "HDS", "HierarchicalPosterior"]

N_DRAWS = 4000
"""Draws behind an interval; the ends of a 95 % interval move by about 2 % of its length."""


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalPosterior:
    """The posterior of a table that came from a hierarchy.

    Parameters
    ----------
    view
        How the hierarchy's (batches, groups, states) become the table: a key of ``VIEWS``.
    hierarchy
        The posterior itself.
    shape
        Shape of the table.
    """

    view: str
    hierarchy: Hierarchy
    shape: tuple[int, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every part was solved exactly."""
        return all(self.hierarchy.is_exact)

    def mean(self) -> Floats:
        """The table: posterior means, or for joint states the predictive conditional."""
        return VIEWS[self.view](self.hierarchy.mean(), self.shape)

    def variance(self) -> Floats:
        """Variance of every entry: exact, or for joint states from draws with a fixed seed."""
        if self.view == "joint states":
            return self._over_draws(lambda draws: draws.var(axis=0, keepdims=True))[0]
        return VIEWS[self.view](self.hierarchy.variance(), self.shape)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every entry, from draws with a fixed seed."""
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.", parameter="level")
        ends = [(1 - level) / 2, (1 + level) / 2]
        low, high = self._over_draws(lambda draws: np.quantile(draws, ends, axis=0))
        return low, high

    def draw(self, rng: np.random.Generator) -> Floats:
        """One table drawn from the posterior: table counts, then the base, then the groups."""
        return VIEWS[self.view](self.hierarchy.draw(rng, 1)[0], self.shape)

    def _over_draws(self, summary: Callable[[Floats], Floats]) -> list[Floats]:
        """Each number of a summary over draws, which are made and summed up batch by batch."""
        hierarchy, rng = self.hierarchy, np.random.default_rng(0)
        n_batches, n_groups, r = hierarchy.counts.shape
        _check.memory(
            f"{N_DRAWS} draws of a table of shape {self.shape}",
            3.0 * 8.0 * N_DRAWS * n_groups * r,
            4 * MEMORY_LIMIT,
            "Draw networks one after the other instead: cs.draws.",
        )
        which = hierarchy.draw_strengths(rng, N_DRAWS)
        draws = (hierarchy.draw_batch(rng, batch, which) for batch in range(n_batches))
        if self.view == "joint states":
            return list(summary(_joint_states(next(draws), (N_DRAWS, *self.shape))))
        found = np.stack([summary(batch) for batch in draws], axis=1)
        return [VIEWS[self.view](one, self.shape) for one in found]


def _parents_as_groups(values: Floats, shape: tuple[int, ...]) -> Floats:
    return values.reshape(shape)


def _sources_as_groups(values: Floats, shape: tuple[int, ...]) -> Floats:
    return values.transpose(1, 0, 2).reshape(shape)


def _joint_states(values: Floats, shape: tuple[int, ...]) -> Floats:
    table = values.reshape(shape)
    total = table.sum(axis=-1, keepdims=True)
    return np.divide(table, total, out=np.full(shape, 1 / shape[-1]), where=total > 0)


VIEWS: dict[str, Callable[[Floats, tuple[int, ...]], Floats]] = {
    "parents as groups": _parents_as_groups,
    "sources as groups": _sources_as_groups,
    "joint states": _joint_states,
}


@dataclass(frozen=True, slots=True)
class HDS:
    """Parent states share a base; the sources are pooled. A node without parents has a plain prior.

    Parameters
    ----------
    s
        Strength of the tie: a number, ``PerState(1)`` or ``Gamma(shape, rate)`` to learn it.
    alpha0
        Prior of the base for every state.
    pseudo_count
        Added to every cell before anything else.
    """

    s: Strength = ONE_PER_STATE
    alpha0: float = 1.0
    pseudo_count: float = 0.0
    by_source: ClassVar[bool] = False
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_choice("HDS", self.s, self.alpha0, self.pseudo_count)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, with its posterior."""
        return [self._table(counts) for counts in families]

    def _table(self, counts: Counts) -> Categorical:
        rows = pooled_rows(counts) + self.pseudo_count
        shape = tuple(variable.n_states for variable in (*counts.given, counts.child))
        if not counts.given:
            root = DirichletPosterior(rows[0] + _plain_size(self.s, shape[-1]) / shape[-1])
            return Categorical(counts.child, (), root.mean(), root)
        hierarchy = solve(rows[None], self.s, self.alpha0)
        posterior = HierarchicalPosterior("parents as groups", hierarchy, shape)
        return Categorical(counts.child, counts.given, posterior.mean(), posterior)


@dataclass(frozen=True, slots=True)
class HDMCS:
    """For each parent state, the sources share a base. Parameters as for :class:`HDS`."""

    s: Strength = ONE_PER_STATE
    alpha0: float = 1.0
    pseudo_count: float = 0.0
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_choice("HDMCS", self.s, self.alpha0, self.pseudo_count)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, the source its first parent, with its
        posterior.
        """
        return [self._table(counts) for counts in families]

    def _table(self, counts: Counts) -> Categorical:
        rows = with_new_source(counts, self.pseudo_count)
        hierarchy = solve(rows.transpose(1, 0, 2), self.s, self.alpha0)
        return _by_source(counts, "sources as groups", hierarchy)


@dataclass(frozen=True, slots=True)
class HDMJS:
    """The sources share a base over the joint states of parents and child.

    Parameters as for :class:`HDS`; ``PerState(1)`` counts joint states, and ``pseudo_count`` goes
    to each.
    """

    s: Strength = ONE_PER_STATE
    alpha0: float = 1.0
    pseudo_count: float = 0.0
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_choice("HDMJS", self.s, self.alpha0, self.pseudo_count)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, the source its first parent, with its
        posterior.
        """
        return [self._table(counts) for counts in families]

    def _table(self, counts: Counts) -> Categorical:
        rows = with_new_source(counts, self.pseudo_count)
        hierarchy = solve(rows.reshape(1, len(rows), -1), self.s, self.alpha0)
        return _by_source(counts, "joint states", hierarchy)


def with_new_source(counts: Counts, pseudo_count: float) -> Floats:
    """Counts (sources, parent states, states) with a last source without rows, if there are
    sources.
    """
    rows = counts.to_dense().values + pseudo_count
    if counts.source is None:
        return rows
    return np.concatenate([rows, np.zeros_like(rows[:1])])


def _by_source(counts: Counts, view: str, hierarchy: Hierarchy) -> Categorical:
    source = source_node(counts)
    given = counts.given if source is None else (source, *counts.given)
    shape = tuple(variable.n_states for variable in (*given, counts.child))
    posterior = HierarchicalPosterior(view, hierarchy, shape)
    return by_source_table(counts, source, posterior.mean(), posterior)


def _check_choice(owner: str, s: Strength, alpha0: float, pseudo_count: float) -> None:
    check_strength(owner, s)
    _check.positive(owner, alpha0=alpha0)
    _check.non_negative(owner, pseudo_count=pseudo_count)


def _plain_size(s: Strength, n_states: int) -> float:
    if isinstance(s, Gamma):
        return s.shape / s.rate
    return s.weight * n_states if isinstance(s, PerState) else float(s)
