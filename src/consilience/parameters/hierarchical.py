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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior, batches
from consilience.errors import InputError
from consilience.parameters.hierarchy import Hierarchy, solve, solve_each
from consilience.parameters.maximum_likelihood import pooled_rows
from consilience.parameters.source_node import source_node
from consilience.parameters.strength import (
    AMONG_PARENT_STATES,
    AMONG_SOURCES,
    Gamma,
    PerState,
    Strength,
    check_strength,
)
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
        return next(self.draws(rng))

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draws without end, made in batches, each twice as large as the last."""
        hierarchy = self.hierarchy
        for n in batches(hierarchy.counts.size):
            which = hierarchy.draw_strengths(rng, n)
            each = [
                hierarchy.draw_batch(rng, b, which, self.shape[-1])
                for b in range(len(hierarchy.counts))
            ]
            for drawn in np.stack(each, axis=1):
                yield VIEWS[self.view](drawn, self.shape)

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
        draws = (hierarchy.draw_batch(rng, b, which, self.shape[-1]) for b in range(n_batches))
        if self.view == "joint states":
            return list(summary(next(draws).reshape(N_DRAWS, *self.shape)))
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
        Strength of the tie: a number, ``PerState(1)``, or ``Gamma(shape, rate)`` to learn it, as by
        default. Learning it takes about fifty solutions where a given one takes one.
    alpha0
        Prior of the base: one number for every state, or by node a number for each of its states,
        in their order (nodes that are not named have ones). What the states share of it is what
        is expected of a node without rows.
    pseudo_count
        Added to every cell before anything else.

    Examples
    --------
    Nothing is known but that the first state is three times as probable:

    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "b"], "y": ["c", "d"]}).take([])
    >>> net = cs.fit(cs.DAG([("x", "y")]), table, HDS(alpha0={"y": [1.5, 0.5]}))
    >>> net["y"].table.round(3).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """

    s: Strength = AMONG_PARENT_STATES
    alpha0: float | Mapping[str, Sequence[float]] = 1.0
    pseudo_count: float = 0.0
    by_source: ClassVar[bool] = False
    adds_new_source: ClassVar[bool] = True
    has_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.alpha0, Mapping):
            each = {node: _numbers(node, numbers) for node, numbers in self.alpha0.items()}
            object.__setattr__(self, "alpha0", _freeze.FrozenMap(each))
        plain = 1.0 if isinstance(self.alpha0, Mapping) else self.alpha0
        _check_choice("HDS", self.s, plain, self.pseudo_count)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, with its posterior."""
        if isinstance(self.alpha0, Mapping):
            _check.known("discrete node", self.alpha0, [one.child.name for one in families])
        rows = [pooled_rows(counts) + self.pseudo_count for counts in families]
        hierarchies = iter(self._hierarchies(families, rows))
        return [
            _with_posterior(counts, None, "parents as groups", next(hierarchies))
            if counts.given
            else self._root(counts, one[0])
            for counts, one in zip(families, rows, strict=True)
        ]

    def _hierarchies(self, families: Sequence[Counts], rows: Sequence[Floats]) -> list[Hierarchy]:
        """Those of the families with parents."""
        tied = [(counts, one[None]) for counts, one in zip(families, rows, strict=True)]
        tied = [(counts, one) for counts, one in tied if counts.given]
        if isinstance(self.alpha0, Mapping):
            return [solve(one, self.s, self._prior(counts)) for counts, one in tied]
        return solve_each([one for _, one in tied], self.s, self.alpha0)

    def _prior(self, counts: Counts) -> Floats:
        """Prior of the base of one family, by state."""
        r = counts.child.n_states
        if not isinstance(self.alpha0, Mapping):
            return np.full(r, self.alpha0)
        prior = np.array(self.alpha0.get(counts.child.name, np.ones(r)))
        if len(prior) != r:
            raise InputError(
                f"HDS: alpha0 of {counts.child.name!r} must have a number for each of its "
                f"{r} states, got {len(prior)}.",
                parameter="alpha0",
            )
        return prior

    def _root(self, counts: Counts, row: Floats) -> Categorical:
        prior = self._prior(counts)
        size = _plain_size(self.s, len(row))
        posterior = DirichletPosterior(row + size * (prior / prior.sum()))
        return Categorical(counts.child, (), posterior.mean(), posterior)


@dataclass(frozen=True, slots=True)
class HDMCS:
    """For each parent state, the sources share a base. Parameters as for :class:`HDS`."""

    s: Strength = AMONG_SOURCES
    alpha0: float = 1.0
    pseudo_count: float = 0.0
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True
    has_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_choice("HDMCS", self.s, self.alpha0, self.pseudo_count)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, the source its first parent, with its
        posterior.
        """
        all_rows = (with_new_source(counts, self.pseudo_count) for counts in families)
        hierarchies = solve_each(
            [rows.transpose(1, 0, 2) for rows in all_rows], self.s, self.alpha0
        )
        return [
            _with_posterior(counts, source_node(counts), "sources as groups", hierarchy)
            for counts, hierarchy in zip(families, hierarchies, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class HDMJS:
    """The sources share a base over the joint states of parents and child.

    Parameters as for :class:`HDS`; ``PerState(1)`` counts joint states, and ``pseudo_count`` goes
    to each.
    """

    s: Strength = AMONG_SOURCES
    alpha0: float = 1.0
    pseudo_count: float = 0.0
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True
    has_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_choice("HDMJS", self.s, self.alpha0, self.pseudo_count)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family, the source its first parent, with its
        posterior.
        """
        all_rows = (with_new_source(counts, self.pseudo_count) for counts in families)
        hierarchies = solve_each(
            [rows.reshape(1, len(rows), -1) for rows in all_rows], self.s, self.alpha0
        )
        return [
            _with_posterior(counts, source_node(counts), "joint states", hierarchy)
            for counts, hierarchy in zip(families, hierarchies, strict=True)
        ]


def with_new_source(counts: Counts, pseudo_count: float) -> Floats:
    """Counts (sources, parent states, states) with a last source without rows, if there are
    sources.
    """
    table = counts.to_dense().table
    n_sources, q, r = table.shape
    rows = np.zeros((n_sources + (counts.source is not None), q, r))
    np.divide(table, counts.scale, out=rows[:n_sources])
    if pseudo_count:
        rows[:n_sources] += pseudo_count
    return rows


def _with_posterior(
    counts: Counts, source: Variable | None, view: str, hierarchy: Hierarchy
) -> Categorical:
    given = counts.given if source is None else (source, *counts.given)
    shape = tuple(variable.n_states for variable in (*given, counts.child))
    posterior = HierarchicalPosterior(view, hierarchy, shape)
    return Categorical(counts.child, given, _freeze.read_only(posterior.mean()), posterior)


def _numbers(node: str, numbers: Sequence[float]) -> tuple[float, ...]:
    """The prior of a node's base, checked."""
    each = None if isinstance(numbers, str | bytes) else np.asarray(numbers, object)
    if each is None or each.ndim != 1:
        raise InputError(
            f"HDS: alpha0 of {node!r} must be a list of numbers, one for each state, "
            f"got {numbers!r}.",
            parameter="alpha0",
        )
    for number in each.tolist():
        _check.within(f"HDS: for {node!r}", alpha0=number)
    return tuple(map(float, each))


def _check_choice(owner: str, s: Strength, alpha0: float, pseudo_count: float) -> None:
    check_strength(owner, s)
    _check.within(owner, alpha0=alpha0)
    _check.non_negative(owner, pseudo_count=pseudo_count)


def _plain_size(s: Strength, n_states: int) -> float:
    if isinstance(s, Gamma):
        return s.shape / s.rate
    return s.weight * n_states if isinstance(s, PerState) else float(s)
