r"""Exact inference about one body of evidence, or rows alike: what matters, and its elimination.

With :math:`d` the discrete and :math:`x` the continuous nodes, and evidence about both,

.. math:: P(d, e) = \prod_i P(d_i \mid \mathrm{pa}_i) \prod_{\text{components } c} p(e_c \mid d_c) .

Each component of continuous nodes (:mod:`consilience.inference.gaussian`) gives one factor over its
discrete parents :math:`d_c`, which is the clique that eliminating its nodes first leaves in a
strong junction tree (Lauritzen and Jensen 2001); the rest is discrete elimination. The posterior of
a continuous node is then a mixture over :math:`P(d_c \mid e)`, whole and exact. A discrete node
with continuous parents (logistic) is a factor like any other once these are known; while one is
not, the node is *open*, and :mod:`consilience.inference.open_logistic` helps.

What cannot matter is left out first: nodes that lead neither to what is asked nor to what is known,
and all that the evidence cuts off from the question.

One row is eliminated with scaled products. Densities may differ by factors that no float holds:
then, and where some of them are point masses, and for many rows at once, logarithms are used.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, Logistic
from consilience.distributions.linear_gaussian import LOG_ROOT_2PI
from consilience.inference.elimination import Labeled, eliminate
from consilience.inference.gaussian import (
    Component,
    Conditional,
    components,
    condition,
)
from consilience.inference.known_rows import Rows, sliced
from consilience.inference.log_elimination import LogFactor, eliminate_logs
from consilience.inference.triangulation import Held, Triangulation, interaction, triangulate
from consilience.network.network import Network

__all__ = [
    "Best",
    "Drawing",
    "Families",
    "Pool",
    "Scaled",
    "Solution",
    "best_states",
    "closed",
    "components_of",
    "families_of",
    "is_possible",
    "log_evidence_of_rows",
    "open_logistic",
    "pool_of_rows",
    "scopes_of_question",
    "shape_of_scopes",
    "solve",
]

LOWEST = -650.0
"""Entries of a likelihood whose logarithm is so far below the largest are taken for zero."""
SAFE = -600.0
"""Log probability down to which that cannot be seen in any digit of the answer."""
SUMMED = Held(cliques=1)
"""Products that are summed while they are formed: at most this."""
ONE_MORE, THREE_MORE = 1, 3  # tables on the way to the largest product; of logarithms


@dataclass(frozen=True, slots=True)
class Families:
    """The nodes whose distributions matter for a question, and those only for the evidence."""

    joined: tuple[str, ...]
    cut_off: tuple[str, ...]

    @property
    def every(self) -> tuple[str, ...]:
        """Both."""
        return (*self.joined, *self.cut_off)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The posterior of some discrete nodes, and of continuous ones given them.

    Parameters
    ----------
    names
        The discrete nodes: those asked for, and those on which the continuous ones depend.
    weights
        Their posterior, shape (rows or 1, states...); all zero in a row that is impossible.
    log_evidence
        Log density of what each row knows, as far as it is joined to the question.
    conditionals
        For each component with nodes that are asked for, their posterior given its parents.
    """

    names: tuple[str, ...]
    weights: Floats
    log_evidence: Floats
    conditionals: tuple[Conditional, ...]


def shape_of_scopes(
    net: Network,
    scopes: Sequence[Sequence[str]],
    *,
    kept: Sequence[str] = (),
    last: Sequence[str] = (),
    held: Held = SUMMED,
) -> Triangulation:
    """How factors over these scopes are eliminated, ``last`` and then ``kept`` at the end."""
    graph = interaction((*scopes, kept))
    n_states = {name: net.variables[name].n_states for name in graph}
    return triangulate(graph, n_states, last=(*last, *kept), held=held)


def families_of(
    net: Network, names: Collection[str], observed: Collection[str], asked: Collection[str]
) -> Families:
    """The families that matter if something is known about ``names`` and ``observed`` are known."""
    wanted = [*names, *asked]
    relevant = {*wanted, *net.dag.ancestors(wanted)} if wanted else set()
    families = [name for name in net.dag.topological_order() if name in relevant]
    around: dict[str, list[str]] = {}
    for name in families:
        for member in (name, *net.dag.parents(name)):
            if member not in observed:
                around.setdefault(member, []).append(name)
    reached, frontier = set(), [name for name in asked if name not in observed]
    seen = set(frontier)
    while frontier:
        for family in around.get(frontier.pop(), ()):
            reached.add(family)
            for member in (family, *net.dag.parents(family)):
                if member not in observed and member not in seen:
                    seen.add(member)
                    frontier.append(member)
    return Families(
        tuple(name for name in families if name in reached),
        tuple(name for name in families if name not in reached),
    )


def open_logistic(
    net: Network, families: Collection[str], observed: Collection[str]
) -> tuple[str, ...]:
    """The logistic nodes among them that have a continuous parent whose value is not known."""
    if not net.logistic:
        return ()
    return tuple(
        name
        for name in families
        if name in net.logistic
        and any(v.name not in observed for v in net.logistic[name].continuous)
    )


def closed(net: Network, names: Collection[str]) -> Network:
    """The network in which these discrete nodes have no parents and all states alike.

    For logistic nodes, whose probabilities are never zero, the same evidence stays possible.
    """
    if not names:
        return net
    variables = {name: net.variables[name] for name in names}
    flat = {
        name: Categorical(variable, (), np.full(variable.n_states, 1 / variable.n_states))
        for name, variable in variables.items()
    }
    return Network({**net.distributions, **flat}, net.source)


def is_possible(net: Network, rows: Rows, families: Sequence[str], *, memory_limit: float) -> bool:
    """Whether the families allow what the row knows; open logistic nodes allow everything."""
    flat = closed(net, open_logistic(net, families, rows.values))
    return bool(
        solve(flat, rows, families, (), continuous=(), memory_limit=memory_limit).log_evidence[0]
        > -np.inf
    )


def solve(
    net: Network,
    rows: Rows,
    families: Sequence[str],
    discrete: Sequence[str],
    *,
    continuous: Sequence[str],
    memory_limit: float,
) -> Solution:
    """The joint posterior of discrete nodes and, given them and more, of continuous ones.

    None of the nodes asked for is known, and no logistic one among the families is open.
    """
    pool = pool_of_rows(net, rows, families, continuous, memory_limit=memory_limit)
    kept = tuple(dict.fromkeys([*discrete, *(n for one in pool.conditionals for n in one.free)]))
    shape = shape_of_scopes(net, pool.scopes, kept=kept, held=pool.held())
    shape.cost.check(memory_limit)
    weights, log_evidence = pool.posterior(shape.order, kept)
    sizes = [net.variables[name].n_states for name in kept]
    weights = np.broadcast_to(weights, (len(weights), *sizes))
    return Solution(kept, weights, log_evidence, tuple(pool.conditionals))


def log_evidence_of_rows(
    net: Network, rows: Rows, *, memory_limit: float, families: Sequence[str] | None = None
) -> Floats:
    """Log density of what each row knows, likelihoods included; shape (rows or 1,)."""
    if families is None:
        families = families_of(net, rows.names, rows.observed, ()).every
    return solve(net, rows, families, (), continuous=(), memory_limit=memory_limit).log_evidence


@dataclass(frozen=True, slots=True)
class Best:
    """The most probable codes of discrete nodes, and values of continuous ones; log probability,
    minus infinity if nothing is possible.
    """

    codes: Mapping[str, int]
    values: Mapping[str, float]
    log_probability: float


def best_states(
    net: Network, rows: Rows, asked: Sequence[str] | None, *, memory_limit: float
) -> Best:
    """The most probable states of some discrete nodes of one row, all else summed out.

    If none are named, those of all nodes that are not known, and values of the continuous ones: the
    density of everything together is maximized. No logistic node that matters is open.
    """
    wanted = [n for n in net.variables if n not in rows.observed] if asked is None else asked
    discrete = [n for n in wanted if not net.variables[n].is_continuous]
    every = families_of(net, rows.names, rows.observed, discrete).every
    if asked is None:
        families = [n for n in every if n in net.regressions]
        families += [n for n in net.variables if n not in net.regressions]
        pool = pool_of_rows(net, rows, families, memory_limit=memory_limit, at_mode=True)
        _add_modes(pool, net, rows, [n for n in net.regressions if n not in families])
    else:
        pool = pool_of_rows(net, rows, every, memory_limit=memory_limit)
    shape = shape_of_scopes(net, pool.scopes, last=discrete, held=pool.held(keeps_steps=True))
    shape.cost.check(memory_limit)
    codes, log_probability = pool.best(shape.order, discrete)
    if log_probability == -math.inf or asked is not None:
        return Best(codes, {}, log_probability)
    known = {**rows.known, **{name: np.array([code]) for name, code in codes.items()}}
    continuous = [n for n in wanted if net.variables[n].is_continuous]
    given = Rows(known, rows.values)
    found = pool_of_rows(net, given, tuple(net.regressions), continuous, memory_limit=memory_limit)
    values = {
        name: float(mean)
        for one in found.conditionals
        for name, mean in zip(one.asked, one.means[0, 0], strict=True)
    }
    return Best(codes, values, log_probability)


def _add_modes(pool: Pool, net: Network, rows: Rows, names: Sequence[str]) -> None:
    """Densities at the mean of nodes that lead to nothing that is known."""
    for name in names:
        local = net.regressions[name]
        axes = tuple(v.name for v in local.discrete)
        is_spread = local.sd > 0
        log = np.where(is_spread, -np.log(np.where(is_spread, local.sd, 1.0)) - LOG_ROOT_2PI, 0.0)
        free = tuple(axis for axis in axes if axis not in rows.known)
        certain = sliced((~is_spread).astype(float)[None], axes, rows.known).astype(np.int64)
        rank = certain if certain.any() else None
        pool.add(LogFactor(free, sliced(log[None], axes, rows.known), rank))


def scopes_of_question(
    net: Network, rows: Rows, families: Sequence[str], asked: Collection[str]
) -> tuple[list[list[str]], list[str]]:
    """The scopes of the factors of a question, and what is kept; nothing is allocated."""
    parts = components_of(net, rows, families)
    scopes = [
        [n for n in (*net.dag.parents(name), name) if _is_free(net, n, rows)]
        for name in families
        if not net.variables[name].is_continuous
    ]
    scopes += [[n for n in part.discrete if n not in rows.known] for part in parts]
    kept = [name for name in asked if _is_free(net, name, rows)]
    for part in parts:
        if set(part.nodes) & set(asked):
            kept += [name for name in part.discrete if name not in rows.known]
    return scopes, list(dict.fromkeys(kept))


@dataclass(slots=True, eq=False)
class Pool:
    """The factors of a question: tables of one row as they are, and logarithms of all others.

    Factors over the same variables are added up in logarithms at once: long tables have many.
    """

    tables: list[Labeled] = field(default_factory=list)
    logs: dict[tuple[str, ...], LogFactor] = field(default_factory=dict)
    conditionals: list[Conditional] = field(default_factory=list)

    @property
    def scopes(self) -> list[tuple[str, ...]]:
        """The variables of each factor."""
        return [*(one.names for one in self.tables), *self.logs]

    def held(self, *, keeps_steps: bool = False) -> Held:
        """What eliminating these factors holds: of several rows every product, for each of them."""
        n = max((len(one.log) for one in self.logs.values()), default=1)
        if n == 1 and not keeps_steps:
            return SUMMED
        return Held(steps=n, largest=ONE_MORE if n == 1 else THREE_MORE * n)

    def add(self, factor: LogFactor) -> None:
        other = self.logs.get(factor.names)
        if other is not None:
            ranks = [one.rank for one in (factor, other) if one.rank is not None]
            rank = np.asarray(sum(ranks)) if ranks else None
            factor = LogFactor(factor.names, factor.log + other.log, rank)
        self.logs[factor.names] = factor

    def posterior(self, order: Sequence[str], kept: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Shares of the joint states of what is kept, (rows, states...), and log evidence."""
        scaled = self.scaled()
        if scaled is not None:
            found = eliminate(scaled.factors, order, kept=kept)
            if scaled.holds(found.log_scale):
                total = found.values.sum() if found.log_scale > -math.inf else 1.0
                log = found.log_scale + scaled.log_scale + math.log(total)
                return (found.values / total)[None], np.array([log])
        return _normalized(eliminate_logs(self._as_logs(), order, kept=kept).result)

    def best(self, order: Sequence[str], names: Collection[str]) -> tuple[dict[str, int], float]:
        """The codes of these variables that give the maximum of one row, and its logarithm."""
        scaled = self.scaled()
        if scaled is not None:
            found = eliminate(scaled.factors, order, maximize=names)
            if scaled.holds(found.log_scale):
                steps = [LogFactor(one.names, one.values[None]) for one in found.steps]
                return _traced(steps), found.log_scale + scaled.log_scale
        logs = eliminate_logs(self._as_logs(), order, maximize=names)
        log = float(logs.result.log.item())
        if log == -math.inf:
            return {}, log
        return _traced([step for step in logs.steps if step.names[-1] in names]), log

    def drawing(self, order: Sequence[str]) -> Drawing | None:
        """How to draw all variables of one row, the last eliminated first; None if impossible."""
        scaled = self.scaled()
        if scaled is not None:
            found = eliminate(scaled.factors, order, keeps_steps=True)
            if scaled.holds(found.log_scale):
                steps = [(one.names, one.values) for one in reversed(found.steps)]
                return None if found.log_scale == -math.inf else Drawing(steps)
        logs = eliminate_logs(self._as_logs(), order)
        if logs.result.log.item() == -math.inf:
            return None
        return Drawing([(one.names, _weights(one)) for one in reversed(logs.steps)])

    def scaled(self) -> Scaled | None:
        """All factors of one row, divided by their largest entries; None if logarithms are needed.

        A likelihood that is zero everywhere is kept, and makes the evidence impossible.
        """
        factors, log_scale, is_cut = list(self.tables), 0.0, False
        for one in self.logs.values():
            if one.rank is not None or len(one.log) > 1:
                return None
            log = one.log[0]
            largest = float(log.max())
            if largest > -math.inf:
                log, log_scale = log - largest, log_scale + largest
                is_cut = is_cut or bool(((log < LOWEST) & (log > -math.inf)).any())
            factors.append(Labeled(one.names, np.where(log < LOWEST, 0.0, np.exp(log))))
        return Scaled(factors, log_scale, is_cut)

    def _as_logs(self) -> list[LogFactor]:
        with np.errstate(divide="ignore"):
            tables = [LogFactor(one.names, np.log(one.values)[None]) for one in self.tables]
        return [*tables, *self.logs.values()]


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Factors with no entry above one; the log of what they lack; if small entries are cut off."""

    factors: list[Labeled]
    log_scale: float
    is_cut: bool

    def holds(self, log: float) -> bool:
        """Whether a result whose scaled logarithm is this lacks nothing that could be seen.

        What is lost of a product is less than a float holds beside the rest of it, so the rest
        must shrink as much again before that matters.
        """
        return log > SAFE or not (self.is_cut or self._least() < SAFE)

    def _least(self) -> float:
        """Log of the product of the smallest entries that are not zero."""
        positive = (one.values[one.values > 0] for one in self.factors)
        return sum(math.log(values.min()) for values in positive if values.size)


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """For each variable weights of its states given those before it: names, the variable last."""

    steps: Sequence[tuple[tuple[str, ...], Floats]]


def pool_of_rows(
    net: Network,
    rows: Rows,
    families: Sequence[str],
    continuous: Collection[str] = (),
    *,
    memory_limit: float,
    at_mode: bool = False,
) -> Pool:
    """The factors of these families and of likelihoods, known states sliced.

    The components with nodes among ``continuous`` are kept with their posteriors. With ``at_mode``
    the factor of a component is the density of all its nodes at the most probable place.
    """
    pool = Pool()
    for name in families:
        if name in net.tables:
            _add_table(pool, net.tables[name], rows)
        elif name in net.logistic:
            pool.add(_of_logistic(net.logistic[name], rows))
        if name in rows.likelihoods:
            pool.add(_log_factor((name,), rows.likelihoods[name][None], rows))
    for part in components_of(net, rows, families):
        asked = [node for node in part.nodes if node in continuous]
        one = condition(net, part, rows, asked, memory_limit=memory_limit)
        if at_mode:
            pool.add(_over(one, one.log_mode, one.n_certain))
        elif any(node in rows.values for node in part.nodes):
            pool.add(_over(one, one.log_likelihood, one.n_dropped))
        if asked:
            pool.conditionals.append(one)
    return pool


def components_of(net: Network, rows: Rows, families: Sequence[str]) -> list[Component]:
    """The components of the continuous nodes among the families."""
    if not net.regressions:
        return []
    return components(net, [name for name in families if name in net.regressions], rows.values)


def _is_free(net: Network, name: str, rows: Rows) -> bool:
    return not net.variables[name].is_continuous and name not in rows.known


def _add_table(pool: Pool, local: Categorical, rows: Rows) -> None:
    names = (*local.parents, local.child.name)
    if rows.n_rows > 1 and any(len(rows.known.get(name, ())) > 1 for name in names):
        pool.add(_log_factor(names, local.table[None], rows))
        return
    at = tuple(rows.known[name][0] if name in rows.known else slice(None) for name in names)
    free = tuple(name for name in names if name not in rows.known)
    pool.tables.append(Labeled(free, local.table[at]))


def _log_factor(names: tuple[str, ...], values: Floats, rows: Rows) -> LogFactor:
    """The logarithm of an array with an axis per name after its rows, known states sliced."""
    with np.errstate(divide="ignore"):
        log = np.log(values)
    free = tuple(name for name in names if name not in rows.known)
    return LogFactor(free, sliced(log, names, rows.known))


def _over(one: Conditional, log: Floats, rank: Integers) -> LogFactor:
    shape = (len(log), *one.shape)
    ranks = rank.reshape(len(rank), *one.shape) if rank.any() else None
    return LogFactor(one.free, log.reshape(shape), ranks)


def _of_logistic(local: Logistic, rows: Rows) -> LogFactor:
    """The logarithm of a logistic node's probabilities at the known values of each row."""
    names = tuple(v.name for v in (*local.discrete, local.child))
    columns = np.broadcast_arrays(*(rows.values[v.name] for v in local.continuous))
    log = local.log_tables(np.stack(columns, axis=-1))
    return LogFactor(tuple(n for n in names if n not in rows.known), sliced(log, names, rows.known))


def _normalized(found: LogFactor) -> tuple[Floats, Floats]:
    """Shares of each row's entries, of the highest rank only, and the log of their sum."""
    log = found.log
    axes = tuple(range(1, log.ndim))
    if found.rank is not None:
        possible = np.where(log > -np.inf, found.rank, -1)
        log = np.where(possible == possible.max(axis=axes, keepdims=True), log, -np.inf)
    largest = log.max(axis=axes, keepdims=True)
    safe = np.where(largest > -np.inf, largest, 0.0)
    weights = np.exp(log - safe)
    total = weights.sum(axis=axes, keepdims=True)
    with np.errstate(divide="ignore"):
        log_total = (safe + np.log(total)).reshape(len(log))
    return np.divide(weights, total, out=weights, where=total > 0), log_total


def _traced(steps: Sequence[LogFactor]) -> dict[str, int]:
    """The states that gave the maximum, from the last step back to the first."""
    codes: dict[str, int] = {}
    for step in reversed(steps):
        at = (0, *(codes[name] for name in step.names[:-1]))
        log = step.log[at]
        if step.rank is not None:
            rank = np.where(log > -np.inf, np.broadcast_to(step.rank, step.log.shape)[at], -1)
            log = np.where(rank == rank.max(), log, -np.inf)
        codes[step.names[-1]] = int(log.argmax())
    return codes


def _weights(product: LogFactor) -> Floats:
    """Entries of a step for one row, the largest of the last axis one; of the highest rank only."""
    log = product.log[0]
    if product.rank is not None:
        rank = np.where(log > -np.inf, product.rank[0], -1)
        log = np.where(rank == rank.max(axis=-1, keepdims=True), log, -np.inf)
    largest = log.max(axis=-1, keepdims=True)
    return np.asarray(np.exp(log - np.where(largest > -np.inf, largest, 0.0)))
