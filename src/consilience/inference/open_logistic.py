r"""Logistic nodes whose continuous parents are not known: quadrature and likelihood weighting.

With :math:`z` the unknown continuous parents of such open nodes, all else is exact once :math:`z`
is known (:mod:`consilience.inference.solving`). So :math:`z` is drawn, from the posterior
:math:`\tilde p(z \mid e)` of the network in which the open nodes have all states alike, and each
draw has the weight

.. math:: w_i = \frac{p(e, z_i)}{\tilde p(e, z_i)}, \qquad
    E[f \mid e] \approx \sum_i \bar w_i\, E[f \mid e, z_i], \quad \bar w_i = w_i / \textstyle\sum_j
    w_j .

Everything but :math:`z` is summed or integrated out, which leaves less to chance than drawing all
nodes would (Rao-Blackwell). The standard error is :math:`\bigl(\sum_i \bar w_i^2 (E[f \mid e, z_i]
- \hat f)^2\bigr)^{1/2}` and the effective size :math:`1 / \sum_i \bar w_i^2`.

If :math:`z` is a single node, nothing is left to chance: the points are an even grid over each
normal component of :math:`\tilde p(z \mid e)`, weighted by its density and by :math:`w_i`. For
functions as smooth as these such sums are exact to about ten digits (Trefethen and Weideman 2014).
In the posterior of :math:`z` itself, and of others with it, each point is a narrow normal of sd
:math:`\tau`, three quarters of a step, which would make the variance too large by
:math:`\tau^2`; so the weights there are those of :math:`p - \tfrac{\tau^2}{2} p''`, whose mixture
is :math:`p` up to :math:`O(\tau^4)` and has its mean and variance.

References: Fung and Chang (1990); Shachter and Peot (1990); Kong (1992).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats, Seed
from consilience.distributions import Logistic
from consilience.inference.draws import draw_posterior
from consilience.inference.evidence import Evidence
from consilience.inference.known_rows import Rows
from consilience.inference.solving import (
    Families,
    closed,
    families_of,
    log_evidence_of_rows,
    open_logistic,
    solve,
)
from consilience.network.network import Network

__all__ = ["WeightedRows", "weighted_rows"]

FAR, STEP = 9.0, 0.01  # of the grid, in standard deviations
WIDTH = 0.75  # sd of what a point stands for, in steps
STEEPEST = 50.0  # change of log odds within one sd, up to which the grid is fine enough
MOST_POINTS = 60_000


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """Rows of evidence and the share of each; one row of share one if all that matters is known.

    ``log_evidence`` is the log density of the evidence, if there are several rows; ``grid`` is the
    node whose values are even grids, one after the other, and how many points each has.
    """

    rows: Rows
    shares: Floats
    is_exact: bool
    log_evidence: float = 0.0
    grid: tuple[str, int] | None = None

    def has_grid_of(self, names: Collection[str]) -> bool:
        """Whether one of these nodes has values on grids."""
        return self.grid is not None and self.grid[0] in names

    def spread(self, means: Floats) -> Floats:
        """Means (rows..., names) as covariances of what each point stands for: its neighborhood."""
        step = np.gradient(self._by_grid(means), axis=1).reshape(means.shape)
        return np.asarray(WIDTH**2 * step[..., :, None] * step[..., None, :])

    def sharpened(self, weights: Floats) -> Floats:
        """Weights (rows...) that are right for points as wide as :meth:`spread` makes them."""
        each = self._by_grid(weights)
        padded = np.pad(each, [(0, 0), (1, 1), *((0, 0),) * (each.ndim - 2)])
        curve = padded[:, 2:] - 2 * each + padded[:, :-2]
        return np.asarray(each - WIDTH**2 / 2 * curve).reshape(weights.shape)

    def _by_grid(self, array: Floats) -> Floats:
        n_points = 0 if self.grid is None else self.grid[1]
        return array.reshape(-1, n_points, *array.shape[1:])

    @property
    def effective_size(self) -> float | None:
        """How many independent draws they are worth; None if exact."""
        return None if self.is_exact else float(1 / (self.shares**2).sum())

    def mean(self, values: Floats) -> Floats:
        """Weighted mean over the first axis (rows or 1)."""
        if len(values) == 1:
            return np.asarray(values[0])
        return np.asarray(np.tensordot(self.shares, values, axes=(0, 0)))

    def standard_errors(self, values: Floats) -> Floats | None:
        """Standard errors of :meth:`mean`; None if exact."""
        if self.is_exact:
            return None
        if len(values) == 1:
            return np.zeros(values.shape[1:])
        away = values - self.mean(values)
        return np.asarray(np.sqrt(np.tensordot(self.shares**2, away**2, axes=(0, 0))))


def weighted_rows(
    net: Network,
    rows: Rows,
    families: Families,
    *,
    n_draws: int,
    seed: Seed,
    memory_limit: float,
) -> WeightedRows | None:
    """The evidence, with values of what must be known in many rows; None if it is impossible."""
    is_open = open_logistic(net, families.joined, rows.values)
    if not is_open:
        return WeightedRows(rows, np.ones(1), is_exact=True)
    flat = closed(net, open_logistic(net, families.every, rows.values))
    log_flat = float(_log_evidence(flat, rows, families, memory_limit)[0])
    if log_flat == -math.inf:
        return None
    parents = _open_parents(net, is_open, rows)
    found, grid = None, None
    if len(parents) == 1:
        found = _grid(net, flat, rows, is_open, parent=parents[0], memory_limit=memory_limit)
    if found is None:
        rng = _check.generator(seed)
        drawn = draw_posterior(
            flat, _evidence(rows), n_draws, rng, also=parents, memory_limit=memory_limit
        )
        if drawn is None:
            return None
        values = {name: drawn[name] for name in parents}
        log_base = np.full(n_draws, -math.log(n_draws))
    else:
        values, log_base, grid = {parents[0]: found[0]}, found[1], (parents[0], found[2])
    more = rows.with_values(values)
    log_density, log_drawn = (
        _log_evidence(each, more, families, memory_limit) for each in (net, flat)
    )
    log_weights = log_base + (log_density - log_drawn)
    largest = float(log_weights.max())
    weights = np.exp(log_weights - largest)
    log_evidence = log_flat + largest + math.log(weights.sum())
    shares = weights / weights.sum()
    return WeightedRows(more, shares, found is not None, log_evidence, grid)


def _grid(
    net: Network,
    flat: Network,
    rows: Rows,
    is_open: Collection[str],
    *,
    parent: str,
    memory_limit: float,
) -> tuple[Floats, Floats, int] | None:
    """Points of the parent, logarithms of their weights, and how many each component has; None if
    that is not good enough.
    """
    families = families_of(flat, rows.names, rows.observed, [parent]).joined
    found = solve(flat, rows, families, (), continuous=[parent], memory_limit=memory_limit)
    [one] = found.conditionals
    shares, means, sds = found.weights.ravel(), one.means.ravel(), np.sqrt(one.variances.ravel())
    kept = shares > 0
    shares, means, sds = shares[kept], means[kept], sds[kept]
    steepness = sum(_slope(net, name, parent) for name in is_open) * float(sds.max())
    # Logistic evidence moves a normal by at most its steepness, in standard deviations.
    n_points = 2 * math.ceil((FAR + steepness) / STEP) + 1
    if steepness > STEEPEST or n_points * len(shares) > MOST_POINTS:
        return None
    t = STEP * (np.arange(n_points) - n_points // 2)
    log_weights = math.log(STEP) - 0.5 * t**2 - 0.5 * math.log(2 * math.pi)
    points = (means[:, None] + sds[:, None] * t).ravel()
    return points, (np.log(shares)[:, None] + log_weights).ravel(), n_points


def _slope(net: Network, name: str, parent: str) -> float:
    """How fast the log odds of a logistic node can change with a parent."""
    local = net.distributions[name]
    if not isinstance(local, Logistic):
        return 0.0
    i = [variable.name for variable in local.continuous].index(parent)
    slopes = local.coefficients[..., i]
    return float((slopes.max(axis=-1) - slopes.min(axis=-1)).max())


def _open_parents(net: Network, is_open: Sequence[str], rows: Rows) -> list[str]:
    return list(
        dict.fromkeys(
            variable.name
            for name in is_open
            for local in [net.distributions[name]]
            if isinstance(local, Logistic)
            for variable in local.continuous
            if variable.name not in rows.values
        )
    )


def _evidence(rows: Rows) -> Evidence:
    """One row as evidence."""
    known = {name: int(codes[0]) for name, codes in rows.known.items()}
    values = {name: float(column[0]) for name, column in rows.values.items()}
    return Evidence(known, rows.likelihoods, {}, values=values)


def _log_evidence(net: Network, rows: Rows, families: Families, memory_limit: float) -> Floats:
    joined = set(families.joined)
    every = families_of(net, rows.names, rows.observed, ()).every
    chosen = [name for name in every if name in joined]
    return log_evidence_of_rows(net, rows, families=chosen, memory_limit=memory_limit)
