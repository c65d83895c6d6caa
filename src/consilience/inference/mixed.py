r"""Exact inference in networks of discrete and continuous nodes.

With :math:`d` the discrete and :math:`x` the continuous nodes, and evidence about both,

.. math:: P(d, e) = \prod_i P(d_i \mid \mathrm{pa}_i) \prod_{\text{components } c} p(e_c \mid d_c) .

Each component of continuous nodes (:mod:`consilience.inference.gaussian`) gives one factor over its
discrete parents :math:`d_c`, which is the clique that eliminating its nodes first leaves in a
strong junction tree (Lauritzen and Jensen 2001); the rest is discrete elimination. The posterior of
a continuous node is then a mixture over :math:`P(d_c \mid e)`, whole and exact. A discrete node
with continuous parents (logistic) is a factor like any other once these are known; while one is
not, the node is *open*, and :mod:`consilience.inference.weighting` helps.

What cannot matter is left out first: nodes that lead neither to what is asked nor to what is known,
and all that the evidence cuts off from the question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.inference.gaussian import Component, Conditional, components, condition
from consilience.inference.log_elimination import LogFactor, eliminate_logs, shape_of_logs
from consilience.inference.rows import Rows, sliced
from consilience.inference.triangulation import Triangulation
from consilience.network.network import Network

__all__ = [
    "Families",
    "Solution",
    "closed",
    "components_of",
    "factors_of_rows",
    "families_of",
    "is_possible",
    "log_evidence_of_rows",
    "open_logistic",
    "shape_of_factors",
    "shape_of_question",
    "solve",
]


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


def shape_of_factors(
    net: Network,
    factors: Sequence[LogFactor],
    *,
    kept: Sequence[str] = (),
    last: Sequence[str] = (),
    n_rows: int = 1,
) -> Triangulation:
    """How the factors would be eliminated, ``last`` and then ``kept`` at the end."""
    scopes = [factor.names for factor in factors]
    return _shape(net, scopes, kept, last, n_rows)


def _shape(
    net: Network,
    scopes: Sequence[Sequence[str]],
    kept: Sequence[str],
    last: Sequence[str] = (),
    n_rows: int = 1,
) -> Triangulation:
    names = dict.fromkeys(name for scope in (*scopes, kept) for name in scope)
    n_states = {name: net.variables[name].n_states for name in names}
    return shape_of_logs(scopes, n_states, kept=kept, last=last, copies=2 * n_rows)


def families_of(
    net: Network, names: Collection[str], observed: Collection[str], asked: Collection[str]
) -> Families:
    """The families that matter if something is said about ``names`` and ``observed`` are known."""
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
    return tuple(
        name
        for name in families
        for local in [net.distributions[name]]
        if isinstance(local, Logistic) and any(v.name not in observed for v in local.continuous)
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
        solve(flat, rows, families, (), (), memory_limit=memory_limit).log_evidence[0] > -np.inf
    )


def solve(
    net: Network,
    rows: Rows,
    families: Sequence[str],
    discrete: Sequence[str],
    continuous: Sequence[str],
    *,
    memory_limit: float,
) -> Solution:
    """The joint posterior of discrete nodes and, given them and more, of continuous ones.

    None of the nodes asked for is known, and no logistic one among the families is open.
    """
    factors, conditionals = factors_of_rows(
        net, rows, families, continuous, memory_limit=memory_limit
    )
    kept = tuple(dict.fromkeys([*discrete, *(n for one in conditionals for n in one.free)]))
    shape = shape_of_factors(net, factors, kept=kept, n_rows=rows.n_rows)
    shape.cost.check(memory_limit)
    found = eliminate_logs(factors, shape.order, kept=kept).result
    weights, log_evidence = _normalized(found)
    sizes = [net.variables[name].n_states for name in kept]
    weights = np.broadcast_to(weights, (len(weights), *sizes))
    return Solution(kept, weights, log_evidence, conditionals)


def log_evidence_of_rows(
    net: Network, rows: Rows, *, memory_limit: float, families: Sequence[str] | None = None
) -> Floats:
    """Log density of what each row knows, likelihoods included; shape (rows or 1,)."""
    if families is None:
        families = families_of(net, rows.names, rows.observed, ()).every
    return solve(net, rows, families, (), (), memory_limit=memory_limit).log_evidence


def shape_of_question(
    net: Network, rows: Rows, families: Sequence[str], asked: Collection[str]
) -> Triangulation:
    """How the discrete part of a question would be eliminated; nothing is allocated."""
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
    return _shape(net, scopes, tuple(dict.fromkeys(kept)))


def factors_of_rows(
    net: Network,
    rows: Rows,
    families: Sequence[str],
    continuous: Collection[str] = (),
    *,
    memory_limit: float,
    at_mode: bool = False,
) -> tuple[list[LogFactor], tuple[Conditional, ...]]:
    """Logarithms of tables, likelihoods and components, known states sliced.

    The second answer has the components with nodes among ``continuous``. With ``at_mode`` the
    factor of a component is the density of all its nodes at the most probable place.
    """
    pool = _Pool()
    for name in families:
        if not net.variables[name].is_continuous:
            pool.add(_of_discrete(net.distributions[name], rows))
            if name in rows.likelihoods:
                pool.add(_factor((name,), rows.likelihoods[name][None], rows))
    conditionals = []
    for part in components_of(net, rows, families):
        asked = [node for node in part.nodes if node in continuous]
        one = condition(net, part, rows, asked, memory_limit=memory_limit)
        if at_mode:
            pool.add(_over(one, one.log_mode, one.n_certain))
        elif any(node in rows.values for node in part.nodes):
            pool.add(_over(one, one.log_likelihood, one.n_dropped))
        if asked:
            conditionals.append(one)
    return list(pool.factors.values()), tuple(conditionals)


class _Pool:
    """Factors, those over the same variables added up at once: long tables have many of them."""

    def __init__(self) -> None:
        self.factors: dict[tuple[str, ...], LogFactor] = {}

    def add(self, factor: LogFactor) -> None:
        other = self.factors.get(factor.names)
        if other is not None:
            ranks = [one.rank for one in (factor, other) if one.rank is not None]
            rank = np.asarray(sum(ranks)) if ranks else None
            factor = LogFactor(factor.names, factor.log + other.log, rank)
        self.factors[factor.names] = factor


def components_of(net: Network, rows: Rows, families: Sequence[str]) -> list[Component]:
    """The components of the continuous nodes among the families."""
    nodes = [name for name in families if isinstance(net.distributions[name], LinearGaussian)]
    return components(net, nodes, rows.values)


def _is_free(net: Network, name: str, rows: Rows) -> bool:
    return not net.variables[name].is_continuous and name not in rows.known


def _factor(names: tuple[str, ...], values: Floats, rows: Rows) -> LogFactor:
    """The logarithm of an array with an axis a name after its rows, known states sliced."""
    with np.errstate(divide="ignore"):
        log = np.log(values)
    free = tuple(name for name in names if name not in rows.known)
    return LogFactor(free, sliced(log, names, rows.known))


def _over(one: Conditional, log: Floats, rank: Integers) -> LogFactor:
    shape = (len(log), *one.shape)
    ranks = rank.reshape(len(rank), *one.shape) if rank.any() else None
    return LogFactor(one.free, log.reshape(shape), ranks)


def _of_discrete(local: Distribution, rows: Rows) -> LogFactor:
    """The logarithm of a discrete node's distribution at the known states of each row."""
    if isinstance(local, Categorical):
        return _factor((*local.parents, local.child.name), local.table[None], rows)
    if not isinstance(local, Logistic):
        raise TypeError(f"the distribution of {local.child.name!r} is not of a discrete node.")
    names = tuple(v.name for v in (*local.discrete, local.child))
    columns = np.broadcast_arrays(*(rows.values[v.name] for v in local.continuous))
    values = np.stack(columns, axis=-1)  # (rows or 1, continuous parents)
    linear = local.intercept + np.tensordot(values, local.coefficients, axes=(1, -1))
    linear -= linear.max(axis=-1, keepdims=True)
    linear -= np.log(np.exp(linear).sum(axis=-1, keepdims=True))
    return LogFactor(
        tuple(n for n in names if n not in rows.known), sliced(linear, names, rows.known)
    )


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
