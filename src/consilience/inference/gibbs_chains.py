r"""Gibbs sampling in many chains at once: the rows of every column are the chains.

A discrete node is drawn from :math:`P(x \mid \text{Markov blanket})`. A continuous one with the
regression :math:`N(m, s^2)` and linear children :math:`y = c + b x + \varepsilon` is normal with

.. math:: \frac1{v} = \frac1{s^2} + \sum_y \frac{b_y^2}{s_y^2}, \qquad
    \mu = v \Bigl(\frac m{s^2} + \sum_y \frac{b_y (y - c_y)}{s_y^2}\Bigr) ;

with logistic children such a draw is a proposal, accepted with the ratio of their probabilities
(Metropolis and Hastings). Chains start at weighted draws, chosen in proportion to their weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from consilience._typing import Column, Floats
from consilience.errors import ModelError
from consilience.inference.estimate_ways import Gibbs, LikelihoodWeighting
from consilience.inference.evidence import Evidence
from consilience.inference.family_logs import codes_together, given_blanket, log_family
from consilience.inference.proposals import Block, weighted_blocks
from consilience.network.network import Network

__all__ = ["chain_blocks"]

STARTS = 20  # weighted draws for each chain

Chains = dict[str, Column]


def chain_blocks(
    net: Network, evidence: Evidence, way: Gibbs, rng: np.random.Generator, *, most: int
) -> Iterator[Block]:
    """Sweeps after the first ones, each a block of one row a chain."""
    _refuse_zeros(net, evidence)
    chains = _started(net, evidence, way, rng)
    known = {*evidence.known, *evidence.values}
    hidden = [name for name in net.dag.topological_order() if name not in known]
    blank = np.zeros(way.chains)
    for sweep in range(way.burn_in + max(1, -(-most // way.chains))):
        for name in hidden:
            if name in net.regressions:
                chains[name] = _drawn_value(net, name, chains, rng)
            else:
                chains[name] = _drawn_state(net, name, chains, evidence, rng=rng)
        if sweep >= way.burn_in:
            yield dict(chains), blank


def _refuse_zeros(net: Network, evidence: Evidence) -> None:
    """Zeros, at what is known, can leave parts of the states that no chain crosses."""
    for name, local in net.tables.items():
        names = (*local.parents, name)
        at = tuple(evidence.known.get(n, slice(None)) for n in names)
        if not local.table[at].all():
            raise ModelError(
                f"Gibbs sampling: the table of {name!r} has probabilities of zero, which chains "
                "may not cross; use by=cs.inference.LikelihoodWeighting().",
                variable=name,
            )
    for name, regression in net.regressions.items():
        if not regression.sd.all():
            raise ModelError(
                f"Gibbs sampling: {name!r} is determined by its parents, so that chains do not "
                "move; use by=cs.inference.LikelihoodWeighting().",
                variable=name,
            )


def _started(net: Network, evidence: Evidence, way: Gibbs, rng: np.random.Generator) -> Chains:
    n = STARTS * way.chains
    columns, log = next(iter(weighted_blocks(net, evidence, LikelihoodWeighting(), rng, most=n)))
    weights = np.exp(log - log.max()) if log.max() > -np.inf else np.ones(len(log))
    chosen = rng.choice(len(log), size=way.chains, p=weights / weights.sum())
    return {
        name: column[chosen]
        if net.variables[name].is_continuous
        else column[chosen].astype(np.int64)
        for name, column in columns.items()
    }


def _drawn_state(
    net: Network, name: str, chains: Chains, evidence: Evidence, *, rng: np.random.Generator
) -> Column:
    shares = given_blanket(net, name, chains)
    if name in evidence.likelihoods:
        shares = shares * evidence.likelihoods[name]
    sums = shares.cumsum(axis=1)
    u = rng.random(len(sums)) * sums[:, -1]
    return (u[:, None] >= sums[:, :-1]).sum(axis=1)


def _drawn_value(net: Network, name: str, chains: Chains, rng: np.random.Generator) -> Column:
    mean, variance = _prior(net, name, chains)
    precision, pull = 1 / variance, mean / variance
    children = net.dag.children(name)
    for child in children:
        if child in net.regressions:
            slope, rest, spread = _as_child(net, child, name, chains)
            precision = precision + slope**2 / spread
            pull = pull + slope * rest / spread
    drawn = pull / precision + rng.standard_normal(len(mean)) / np.sqrt(precision)
    logistic = [child for child in children if child in net.logistic]
    if not logistic:
        return drawn
    moved = {**chains, name: drawn}
    log = sum(log_family(net, c, moved) - log_family(net, c, chains) for c in logistic)
    return np.where(np.log(rng.random(len(mean))) < log, drawn, chains[name])


def _prior(net: Network, name: str, chains: Chains) -> tuple[Floats, Floats]:
    """Mean and variance of a node given its parents."""
    local = net.regressions[name]
    n = len(chains[name])
    states = np.broadcast_to(codes_together(net, [v.name for v in local.discrete], chains), n)
    values = [chains[v.name] for v in local.continuous]
    together = np.stack(values, axis=1) if values else np.zeros((n, 0))
    return local.means(states, together), local.sd.ravel()[states] ** 2


def _as_child(net: Network, child: str, name: str, chains: Chains) -> tuple[Floats, Floats, Floats]:
    """The slope of a child by one of its parents, what the others leave of it, and its variance."""
    local = net.regressions[child]
    mean, variance = _prior(net, child, chains)
    states = codes_together(net, [v.name for v in local.discrete], chains)
    at = [v.name for v in local.continuous].index(name)
    slope = local.coefficients.reshape(local.sd.size, -1)[states, at]
    return slope, chains[child] - mean + slope * chains[name], variance
