"""Answers about one body of evidence: posteriors of some nodes or of all, and densities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError, MemoryLimitError
from consilience.inference.conditioning import marginals_by_cases, solve_by_cases
from consilience.inference.conflict import refuse_impossible
from consilience.inference.cutting import tree_for
from consilience.inference.evidence import Evidence
from consilience.inference.gaussian import condition
from consilience.inference.junction import Beliefs, JunctionTree
from consilience.inference.known_rows import Rows, rows_of
from consilience.inference.open_logistic import WeightedRows, weighted_rows
from consilience.inference.sets import evidence_with_sets
from consilience.inference.solving import (
    SAFE,
    Families,
    Solution,
    components_of,
    families_of,
    is_possible,
    log_evidence_of_rows,
    open_logistic,
    solve,
)
from consilience.inference.ways import Exact
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Network

__all__ = ["all_marginals", "belief", "log_evidence", "refuse_conflict"]

NEGLIGIBLE = 1e-16
"""Share of the largest weight below which a component of a mixture is left out."""
FEWEST = 5.0  # effective draws: the standard errors of fewer say nothing


def belief(
    net: Network,
    asked: Sequence[str],
    evidence: Evidence,
    way: Exact,
    *,
    fewest: float = FEWEST,
) -> Factor | Mixture | MixedBelief:
    """The joint posterior of some nodes: of discrete ones, of continuous ones, or of both.

    One from draws that are worth less than ``fewest`` independent ones is refused.
    """
    memory_limit = way.memory_limit
    rows = rows_of(net, evidence)
    families = families_of(net, rows.names, rows.observed, asked)
    refuse_conflict(net, evidence, rows, families, memory_limit=memory_limit)
    weighted = weighted_rows(
        net,
        rows,
        families,
        n_draws=way.n_draws,
        seed=way.seed,
        memory_limit=memory_limit,
    )
    if weighted is None:
        refuse_impossible(net, evidence, memory_limit)
    _refuse_chance(weighted, way, fewest)
    if len(weighted.shares) > 1:  # what was drawn is known now and cuts more off
        names = weighted.rows.names
        families = families_of(net, names, weighted.rows.observed, asked)
    free = [name for name in asked if name not in weighted.rows.observed]
    discrete = [name for name in free if not net.variables[name].is_continuous]
    continuous = [name for name in free if net.variables[name].is_continuous]
    found = _solved(
        net,
        weighted.rows,
        families.joined,
        discrete,
        continuous=continuous,
        memory_limit=memory_limit,
    )
    if len(weighted.shares) == 1 and found.log_evidence[0] == -math.inf:
        refuse_impossible(net, evidence, memory_limit)
    return _belief(net, asked, weighted, found, memory_limit=memory_limit)


def _solved(
    net: Network,
    rows: Rows,
    families: Sequence[str],
    discrete: Sequence[str],
    *,
    continuous: Sequence[str],
    memory_limit: float,
) -> Solution:
    """The posterior in one go, or case by case if that takes too much memory."""
    try:
        return solve(
            net, rows, families, discrete, continuous=continuous, memory_limit=memory_limit
        )
    except MemoryLimitError:
        found = None
        if net.is_discrete and rows.n_rows == 1:
            found = solve_by_cases(net, rows, families, discrete, memory_limit=memory_limit)
        if found is None:
            raise
        return found


def all_marginals(net: Network, evidence: Evidence, way: Exact) -> dict[str, Factor | Mixture]:
    """The posterior of every variable that is not known.

    All that can be read off the junction tree is read off it; a continuous node whose component has
    discrete parents that no clique holds together is a question of its own, and so is every node
    if the evidence must be estimated, or has densities that no float holds.
    """
    rows = rows_of(net, evidence)
    every = families_of(net, rows.names, rows.observed, ()).every if net.logistic else ()
    known = {*evidence.known, *evidence.values}
    asked = [name for name in net.variables if name not in known]
    found: dict[str, Factor | Mixture] = {}
    if not open_logistic(net, every, rows.values):
        given = evidence_with_sets(net, evidence, way.memory_limit)
        if given is not None:
            found = _read_off(net, rows, given, asked, memory_limit=way.memory_limit)
    for name in asked:
        if name not in found:
            one = belief(net, [name], evidence, way)
            assert not isinstance(one, MixedBelief)  # of one variable
            found[name] = one
    return {name: found[name] for name in asked}


def _read_off(
    net: Network, rows: Rows, given: Evidence, asked: Sequence[str], *, memory_limit: float
) -> dict[str, Factor | Mixture]:
    """The posteriors that the junction tree tells."""
    try:
        tree, left = tree_for(net, given, memory_limit=memory_limit)
    except MemoryLimitError:
        cases = marginals_by_cases(net, given, memory_limit) if net.is_discrete else None
        if cases is None:
            raise
        marginals, log = cases
        if log == -math.inf:
            refuse_impossible(net, given, memory_limit)
        return {name: Factor((net.variables[name],), marginals[name]) for name in asked}
    with tree.propagated(left) as beliefs:
        if given.is_cut and not beliefs.log_evidence - given.log_scale > SAFE:
            return {}
        if beliefs.log_evidence == -math.inf:
            if log_evidence_of_rows(net, rows, memory_limit=memory_limit)[0] == -math.inf:
                refuse_impossible(net, given, memory_limit)
            return {}
        values = beliefs.marginals()
        is_open = open_logistic(net, tuple(net.logistic), rows.values)
        unsure = {*is_open, *(n for name in is_open for n in net.dag.descendants(name))}
        wanted = {*asked} - unsure
        found: dict[str, Factor | Mixture] = {
            name: Factor((variable,), values[name])
            for name, variable in net.variables.items()
            if name in wanted and name in values
        }
        for name, mean, variance, weights in _normals(
            net, rows, tree, beliefs, memory_limit=memory_limit
        ):
            if name in wanted:
                found[name] = _one_mixture(name, weights, mean, variance)
    return found


def _normals(
    net: Network, rows: Rows, tree: JunctionTree, beliefs: Beliefs, *, memory_limit: float
) -> Iterator[tuple[str, Floats, Floats, Floats]]:
    """Continuous nodes, means and variances by joint state of their component, and its shares."""
    for name, value in rows.values.items():
        yield name, value, np.zeros(1), np.ones(1)
    for part in components_of(net, rows, tuple(net.regressions)):
        first = net.regressions[part.nodes[0]]
        if len(part.nodes) == 1 and not first.given:  # alone: nothing is known about it
            yield (
                first.child.name,
                first.intercept.reshape(1),
                first.variance.reshape(1),
                np.ones(1),
            )
            continue
        free = tuple(name for name in part.discrete if name not in rows.known)
        clique, hidden = tree.clique_of(free), [n for n in part.nodes if n not in rows.values]
        if clique is not None and hidden:
            one = condition(net, part, rows, hidden, memory_limit=memory_limit)
            weights = beliefs.joint(clique, free).ravel() if free else np.ones(1)
            for i, name in enumerate(one.asked):
                yield name, one.means[0, :, i], one.variances[0, :, i], weights


def _one_mixture(name: str, weights: Floats, means: Floats, variances: Floats) -> Mixture:
    kept = weights > NEGLIGIBLE * weights.max()
    shares, flat_means, covariances = _merged(
        weights[kept], means[kept][:, None], variances[kept][:, None, None]
    )
    return Mixture((name,), shares / shares.sum(), flat_means, covariances)


def log_evidence(net: Network, evidence: Evidence, way: Exact) -> float:
    """Log probability of states, log density of values; minus infinity if impossible."""
    memory_limit = way.memory_limit
    rows = rows_of(net, evidence)
    every = families_of(net, rows.names, rows.observed, ()).every
    weighted = weighted_rows(
        net,
        rows,
        Families(every, ()),
        n_draws=way.n_draws,
        seed=way.seed,
        memory_limit=memory_limit,
    )
    if weighted is None:
        return -math.inf
    if len(weighted.shares) > 1:
        return weighted.log_evidence + evidence.log_scale
    log = log_evidence_of_rows(net, rows, families=every, memory_limit=memory_limit)
    return float(log[0]) + evidence.log_scale


def refuse_conflict(
    net: Network, evidence: Evidence, rows: Rows, families: Families, *, memory_limit: float
) -> None:
    """What is cut off from a question cannot change its answer, but can rule the evidence out."""
    cut_off = families.cut_off
    has_zero = (
        any(not vector.all() for vector in rows.likelihoods.values())
        or any(not net.tables[name].table.all() for name in cut_off if name in net.tables)
        or any(not net.regressions[name].sd.all() for name in cut_off if name in net.regressions)
    )
    if has_zero and not is_possible(net, rows, families.cut_off, memory_limit=memory_limit):
        refuse_impossible(net, evidence, memory_limit)


def _refuse_chance(weighted: WeightedRows, way: Exact, fewest: float) -> None:
    """Draws of which one or two have all the weight: the answer and its errors are chance."""
    size = weighted.effective_size
    if size is not None and size < min(fewest, way.n_draws / 2):
        raise InputError(
            f"what is given is too improbable to be estimated by draws: {way.n_draws:,} of them "
            f"are worth {size:.2g}. Give the continuous parents of logistic nodes, or more draws: "
            f"by=cs.inference.Exact(draws={10 * way.n_draws:_}).",
            parameter="draws",
        )


def _belief(
    net: Network,
    asked: Sequence[str],
    weighted: WeightedRows,
    found: Solution,
    *,
    memory_limit: float,
) -> Factor | Mixture | MixedBelief:
    discrete = [name for name in asked if not net.variables[name].is_continuous]
    continuous = [name for name in asked if net.variables[name].is_continuous]
    if not continuous:
        return _factor(net, discrete, weighted, found)
    cells = found.weights[0].size * len(weighted.shares)
    _check.memory(
        f"the mixture of {_check.listed(continuous)} for the joint states of "
        f"{_check.listed(found.names)}",
        24.0 * cells * len(continuous) ** 2,
        memory_limit,
        "Ask for fewer variables at once.",
    )
    means, covariances = _moments(continuous, weighted, found)
    if not discrete:
        return _mixture(continuous, weighted, found.weights, means, covariances=covariances)
    mixtures = {}
    factor = _factor(net, discrete, weighted, found)
    known = {name: int(codes[0]) for name, codes in weighted.rows.known.items()}
    for at in np.argwhere(factor.values > 0):
        place = dict(zip(discrete, map(int, at), strict=True))
        if any(known.get(name, code) != code for name, code in place.items()):
            continue
        mask = _mask(found, place)
        mixtures[tuple(map(int, at))] = _mixture(
            continuous, weighted, found.weights * mask, means, covariances=covariances
        )
    return MixedBelief(factor, mixtures)


def _mask(found: Solution, place: Mapping[str, int]) -> Floats:
    """One where the kept nodes have these states, else zero."""
    mask = np.zeros(found.weights.shape[1:])
    mask[tuple(place.get(name, slice(None)) for name in found.names)] = 1.0
    return mask


def _factor(net: Network, names: Sequence[str], weighted: WeightedRows, found: Solution) -> Factor:
    free = [name for name in names if name in found.names]
    others = tuple(i + 1 for i, name in enumerate(found.names) if name not in free)
    kept = [name for name in found.names if name in free]
    each = found.weights.sum(axis=others).transpose(0, *(kept.index(n) + 1 for n in free))
    shape = [net.variables[name].n_states for name in names]
    known = {name: int(codes[0]) for name, codes in weighted.rows.known.items()}
    place = tuple(known.get(name, slice(None)) for name in names)
    full, errors = np.zeros(shape), np.zeros(shape)
    values = weighted.mean(each)
    full[place] = values / values.sum()
    found_errors = weighted.standard_errors(each)
    if found_errors is None:
        return Factor(tuple(net.variables[name] for name in names), full)
    errors[place] = found_errors
    return Factor(
        tuple(net.variables[name] for name in names), full, errors, weighted.effective_size
    )


def _moments(
    names: Sequence[str], weighted: WeightedRows, found: Solution
) -> tuple[Floats, Floats]:
    """Means (rows or 1, kept states..., names) and covariances of the names."""
    values = weighted.rows.values
    d, place = len(names), {name: i for i, name in enumerate(names)}
    sizes = found.weights.shape[1:]
    lengths = [len(values[name]) for name in names if name in values]
    n = max([*lengths, *(len(one.means) for one in found.conditionals)])
    means = np.zeros((n, *sizes, d))
    has_grid = weighted.has_grid_of(names)
    has_rows = has_grid or any(len(one.at) > 1 for one in found.conditionals)
    covariances = np.zeros((n if has_rows else 1, *sizes, d, d))
    for name, i in place.items():
        if name in values:
            means[..., i] = _along_rows(values[name], sizes)
    for one in found.conditionals:
        at = [place[name] for name in one.asked]
        shape = [r if name in one.free else 1 for name, r in zip(found.names, sizes, strict=True)]
        order = [one.free.index(name) for name in found.names if name in one.free]
        a = len(at)
        mean = one.means.reshape(-1, *one.shape, a).transpose(0, *(i + 1 for i in order), -1)
        means[..., at] = mean.reshape(-1, *shape, a)
        both = one.covariances.reshape(-1, *one.shape, a, a)
        both = both.transpose(0, *(i + 1 for i in order), -2, -1).reshape(-1, *shape, a, a)
        block: Any = (..., *np.ix_(at, at))
        covariances[block] = both
    if has_grid:
        covariances += weighted.spread(means)
    return means, covariances


def _along_rows(column: Floats, sizes: Sequence[int]) -> Floats:
    return column.reshape(-1, *(1 for _ in sizes))


def _mixture(
    names: Sequence[str],
    weighted: WeightedRows,
    weights: Floats,
    means: Floats,
    *,
    covariances: Floats,
) -> Mixture:
    """The mixture over rows and kept states, without components that weigh next to nothing."""
    d, axes = len(names), tuple(range(1, weights.ndim))
    full = weights * weighted.shares.reshape(-1, *(1 for _ in axes))
    if weighted.has_grid_of(names):
        full = weighted.sharpened(full)
    flat, shape = full.ravel(), full.shape
    kept = flat > NEGLIGIBLE * flat.max()
    shares, flat_means, flat_covariances = _merged(
        flat[kept],
        np.broadcast_to(means, (*shape, d)).reshape(-1, d)[kept],
        np.broadcast_to(covariances, (*shape, d, d)).reshape(-1, d, d)[kept],
    )
    shares, errors = shares / shares.sum(), None
    if not weighted.is_exact:
        total = full.sum(axis=axes)
        each = (full[..., None] * means).sum(axis=axes) / np.where(total > 0, total, 1.0)[:, None]
        away = each - shares @ flat_means
        errors = np.sqrt(((total[:, None] * away) ** 2).sum(axis=0)) / total.sum()
    return Mixture(
        tuple(names), shares, flat_means, flat_covariances, errors, weighted.effective_size
    )


def _merged(shares: Floats, means: Floats, covariances: Floats) -> tuple[Floats, Floats, Floats]:
    """Equal components put together, in the order of first sight."""
    if len(shares) == 1:
        return shares, means, covariances
    both = np.concatenate([means, covariances.reshape(len(means), -1)], axis=1)
    _, first, rank = np.unique(both, axis=0, return_index=True, return_inverse=True)
    summed: Floats = np.bincount(rank.ravel(), shares).astype(np.float64)
    order = np.argsort(first)
    return summed[order], means[first[order]], covariances[first[order]]
