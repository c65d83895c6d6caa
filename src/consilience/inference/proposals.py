r"""Weighted rows: drawn from a network of the same graph with what is known held fixed.

With :math:`Q` the distributions that are drawn from, a row x with the evidence e weighs

.. math:: w(x) = \prod_{i \in e} P(e_i \mid \mathrm{pa}_i)
    \prod_{i \notin e} \frac{P(x_i \mid \mathrm{pa}_i)}{Q(x_i \mid \mathrm{pa}_i)} .

Likelihood weighting has Q = P. Where the evidence is improbable, Q leans towards it: at first by
what loopy propagation says the children of a discrete node make of its states, :math:`Q \propto P\,
\lambda`, then stage by stage by weighted counts and regressions of draws. A share :data:`PLAIN` of
P stays in every Q, which bounds the weights.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from consilience._typing import Column, Floats
from consilience.distributions import Categorical, LinearGaussian, proportions
from consilience.errors import InputError, ModelError
from consilience.inference.draws import draw_forward
from consilience.inference.estimate_ways import (
    AdaptiveImportance,
    LogicSampling,
    Sampler,
)
from consilience.inference.evidence import Evidence
from consilience.inference.family_logs import codes_together, log_family
from consilience.inference.loopy import state_likelihoods
from consilience.network.network import Network

__all__ = ["Block", "relevant", "weighted_blocks"]

Block: TypeAlias = tuple[Mapping[str, Column], Floats]
"""Columns of rows, and the logarithms of their weights."""

ROWS = 1 << 15  # of a block
PLAIN = 0.1
FEWEST = 20.0  # effective draws of a parent state from which its row is learned
WIDER = 1.2  # how much wider than what was learned a regression is drawn


def relevant(net: Network, names: list[str]) -> Network:
    """The network of these nodes and their ancestors; all of it if there are none."""
    kept = {*names, *net.dag.ancestors(names)} if names else set(net.variables)
    if len(kept) == len(net.variables):
        return net
    local = {name: one for name, one in net.distributions.items() if name in kept}
    return Network(local, net.source if net.source in kept else None)


def weighted_blocks(
    net: Network, evidence: Evidence, way: Sampler, rng: np.random.Generator, *, most: int
) -> Iterator[Block]:
    """Blocks of weighted rows, at most so many rows in all."""
    _refuse_points(net, evidence)
    draw = _drawing(net, evidence, way, rng)
    done = 0
    while done < most:
        n = min(ROWS, most - done)
        yield draw(n)
        done += n


def _refuse_points(net: Network, evidence: Evidence) -> None:
    for name in evidence.values:
        if not net.regressions[name].sd.all():
            raise ModelError(
                f"{name!r} is given and determined by its parents, so that no draw can be weighed "
                "by its density; use by=cs.inference.Exact().",
                variable=name,
            )


def _drawing(
    net: Network, evidence: Evidence, way: Sampler, rng: np.random.Generator
) -> Callable[[int], Block]:
    if isinstance(way, LogicSampling):
        if evidence.values:
            name = next(iter(evidence.values))
            raise InputError(
                f"logic sampling: no draw meets the value of the continuous variable {name!r}; use "
                "by=cs.inference.LikelihoodWeighting().",
                variable=name,
            )
        nothing = Evidence({}, {}, {})
        return lambda n: _accepted(net, evidence, _columns(net, nothing, n, rng))
    proposal = net
    if isinstance(way, AdaptiveImportance) and evidence.names:
        proposal = _adapted(net, evidence, way, rng)
    return lambda n: _weighed(net, proposal, evidence, _columns(proposal, evidence, n, rng))


def _columns(
    net: Network, evidence: Evidence, n: int, rng: np.random.Generator
) -> dict[str, Column]:
    fixed = Evidence(evidence.known, {}, {}, values=evidence.values)
    return draw_forward(net, fixed, {}, n, rng=rng, threads=os.cpu_count() or 1)


def _accepted(net: Network, evidence: Evidence, columns: Mapping[str, Column]) -> Block:
    """All draws; those that do not meet what is known weigh nothing."""
    n = len(next(iter(columns.values())))
    meets = np.ones(n, bool)
    for name, code in evidence.known.items():
        meets &= columns[name] == code
    log = np.where(meets, 0.0, -np.inf)
    return columns, log + _virtual(evidence, columns, n)


def _weighed(
    net: Network, proposal: Network, evidence: Evidence, columns: Mapping[str, Column]
) -> Block:
    n = len(next(iter(columns.values())))
    log = _virtual(evidence, columns, n)
    for name in (*evidence.known, *evidence.values):
        log = log + log_family(net, name, columns)
    for name, local in proposal.distributions.items():
        if local is not net.distributions[name]:
            log = log + log_family(net, name, columns) - log_family(proposal, name, columns)
    return columns, np.broadcast_to(log, n)


def _virtual(evidence: Evidence, columns: Mapping[str, Column], n: int) -> Floats:
    log = np.zeros(n)
    with np.errstate(divide="ignore"):
        for name, vector in evidence.likelihoods.items():
            log += np.log(vector)[columns[name]]
    return log


def _adapted(
    net: Network, evidence: Evidence, way: AdaptiveImportance, rng: np.random.Generator
) -> Network:
    """The network to draw from: leaning by loopy propagation, then learned from weighted draws."""
    behind = net.dag.ancestors(list(evidence.names)) | {*evidence.likelihoods}
    hidden = [
        n for n in net.variables if n in behind and n not in (*evidence.known, *evidence.values)
    ]
    likely = state_likelihoods(net, evidence)
    proposal = _replaced(
        net,
        {
            name: _leaning(net.tables[name], likely[name])
            for name in hidden
            if name in likely and name in net.tables
        },
    )
    best, most = proposal, -1.0
    for _ in range(way.stages):
        columns, log = _weighed(
            net, proposal, evidence, _columns(proposal, evidence, way.stage_draws, rng)
        )
        if not log.max() > -np.inf:
            break
        weights = np.exp(log - log.max())
        size = float(weights.sum() ** 2 / (weights**2).sum())
        if size > most:
            best, most = proposal, size
        if size > 0.5 * way.stage_draws:
            break
        proposal = _learned(net, proposal, hidden, columns, weights=weights)
    return best


def _replaced(net: Network, local: Mapping[str, Categorical | LinearGaussian]) -> Network:
    return Network({**net.distributions, **local}, net.source) if local else net


def _leaning(local: Categorical, likely: Floats) -> Categorical:
    rows = local.table * likely
    total = rows.sum(axis=-1, keepdims=True)
    leaning = np.where(total > 0, rows / np.where(total > 0, total, 1.0), local.table)
    return local.with_parameters(PLAIN * local.table + (1 - PLAIN) * leaning)


def _learned(
    net: Network,
    proposal: Network,
    hidden: list[str],
    columns: Mapping[str, Column],
    *,
    weights: Floats,
) -> Network:
    """Distributions learned from weighted draws, half way from those that were drawn from."""
    found: dict[str, Categorical | LinearGaussian] = {}
    for name in hidden:
        if name in net.tables:
            found[name] = _learned_table(net, proposal, name, columns, weights=weights)
        elif name in net.regressions:
            one = _learned_regression(net, name, columns, weights)
            if one is not None:
                found[name] = one
    return _replaced(proposal, found)


def _learned_table(
    net: Network, proposal: Network, name: str, columns: Mapping[str, Column], *, weights: Floats
) -> Categorical:
    local, old = net.tables[name], proposal.tables[name].rows
    r = local.child.n_states
    code = codes_together(net, (*local.parents, name), columns)
    counts: Floats
    squares: Floats
    counts, squares = (
        np.bincount(code, w, minlength=local.table.size).reshape(-1, r).astype(np.float64)
        for w in (weights, weights**2)
    )
    total, square = counts.sum(axis=1), squares.sum(axis=1)
    size = np.where(square > 0, total**2 / np.where(square > 0, square, 1.0), 0.0)
    trust = (size / (size + FEWEST))[:, None]
    rows = trust * proportions(counts) + (1 - trust) * old
    rows = np.where(local.rows > 0, (1 - PLAIN) * rows + PLAIN * local.rows, 0.0)
    return local.with_parameters(proportions(rows).reshape(local.table.shape))


def _learned_regression(
    net: Network, name: str, columns: Mapping[str, Column], weights: Floats
) -> LinearGaussian | None:
    """The weighted regression of each joint state that has draws enough; wider, to be safe."""
    local = net.regressions[name]
    states = codes_together(net, [v.name for v in local.discrete], columns)
    parents = [columns[v.name] for v in local.continuous]
    design = np.stack([np.ones(len(weights)), *parents], axis=1)
    parameters = local.parameters.reshape(local.sd.size, -1).copy()
    for state in np.unique(states):
        at = (states == state) & (weights > 0)
        w = weights[at]
        size = float(w.sum() ** 2 / (w**2).sum()) if at.any() else 0.0
        if size < FEWEST * (2 + len(parents)) or local.sd.ravel()[state] == 0:
            continue
        root = np.sqrt(w)[:, None]
        slope, *_ = np.linalg.lstsq(design[at] * root, columns[name][at] * root[:, 0], rcond=None)
        away = columns[name][at] - design[at] @ slope
        sd = WIDER * math.sqrt(float(w @ away**2 / w.sum()))
        parameters[state] = [*slope, max(sd, 0.1 * parameters[state][-1])]
    if np.array_equal(parameters.reshape(local.parameters.shape), local.parameters):
        return None
    return local.with_parameters(parameters.reshape(local.parameters.shape))
