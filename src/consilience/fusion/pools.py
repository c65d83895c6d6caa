r"""Opinion pools: one distribution from those of the sources.

Weights :math:`w_f` of the sources sum to one.

Tables, in every parent state :math:`j` by itself, over the sources that have seen it:

.. math::
    \text{linear} \quad \theta_{jk} = \sum_f w_f \theta_{fjk}, \qquad
    \text{logarithmic} \quad \theta_{jk} \propto \prod_f \theta_{fjk}^{w_f} ,

and *democratic*: the sources are put into clusters of similar opinions, and only the cluster with
most members (of largest total weight) is pooled, linearly (Etminani et al. 2013). Their idea leaves
the clustering open; here it is complete linkage on the total variation distance :math:`\tfrac12
\sum_k |\theta_{fjk} - \theta_{gjk}|`, cut at ``within``: no two members of a cluster are further
apart. Clusters of the same largest weight are pooled together.

Regressions :math:`N(a_f + b_f^\top z, v_f)`:

- logarithmic: exact, since a product of normal densities is normal. With :math:`\tau_f = w_f /
  v_f`, the intercept and the coefficients are the means of :math:`a_f, b_f` with weights
  :math:`\tau_f`, and :math:`1 / v = \sum_f \tau_f`;
- linear: the pool is a mixture; the regression has its mean at every :math:`z`,
  :math:`\sum_f w_f (a_f + b_f^\top z)`, and its variance averaged over the parents,
  :math:`\sum_f w_f v_f + E_z \sum_f w_f (m_f(z) - m(z))^2`;
- democratic: clusters by Fisher's distance of normals, :math:`d^2 = E_z (m_f - m_g)^2 / (s_f s_g) +
  2 \log^2(s_f / s_g)`, brought to a total variation by :math:`2 \Phi(d / 2) - 1`, which is exact
  for equal variances.

Logistic nodes: the logarithmic pool is exact, the mean of the coefficients; the other two pools use
it as well (a linear pool of logistic nodes is none).

The linear and the democratic pool keep a posterior where all sources have one, that of the weighted
mean (:mod:`consilience.fusion.fused_posteriors`); the logarithmic pool is a judgement about
opinions, and has none.

References
----------
M. Stone (1961). The opinion pool. Annals of Mathematical Statistics 32.
C. Genest, J. Zidek (1986). Combining probability distributions: a critique and an annotated
bibliography. Statistical Science 1.
K. Etminani, M. Naghibzadeh, J. M. Peña (2013). DemocraticOP: a democratic way of aggregating
Bayesian network parameters. International Journal of Approximate Reasoning 54(5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import ndtr

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.errors import InputError, ModelError
from consilience.fusion.family_answers import Opinion
from consilience.fusion.fused_posteriors import (
    Spread,
    pooled_spread,
    with_spread,
    with_table_posterior,
)

__all__ = ["DemocraticPool", "LinearPool", "LogarithmicPool", "mean_coefficients", "shares"]

SMALLEST = 1e-300
SMALLEST_SHARE = 1e-12  # of the largest variance: an exact fit is not given all weight


@dataclass(frozen=True, slots=True)
class LinearPool:
    """The weighted mean of what the sources say."""

    needs_rows: ClassVar[bool] = False

    def pool(self, opinions: Sequence[Opinion], weights: Floats) -> Distribution:
        """The distribution of one family."""
        local = opinions[0].distribution
        if isinstance(local, Categorical):
            return _mean_table(local, opinions, shares(opinions, weights))
        if isinstance(local, Logistic):
            return mean_coefficients(opinions, shares(opinions, weights))
        return _mixture_line(opinions, shares(opinions, weights))


@dataclass(frozen=True, slots=True)
class LogarithmicPool:
    """The weighted geometric mean of what the sources say, normalised.

    A state that one source excludes is excluded.
    """

    needs_rows: ClassVar[bool] = False

    def pool(self, opinions: Sequence[Opinion], weights: Floats) -> Distribution:
        """The distribution of one family."""
        local, w = opinions[0].distribution, shares(opinions, weights)
        if isinstance(local, Categorical):
            rows = _geometric_means(_tables(opinions), w, local.child.name)
            return local.with_parameters(_normal(rows).reshape(local.table.shape))
        if isinstance(local, Logistic):
            return mean_coefficients(opinions, w)
        variance = _variances(opinions)
        precision = w / variance
        total = precision.sum(axis=0)
        line = mean_coefficients(opinions, precision / total)
        return line.with_parameters(_with_sd(line, np.sqrt(1 / total)))


@dataclass(frozen=True, slots=True)
class DemocraticPool:
    """The weighted mean over the largest cluster of similar opinions.

    Parameters
    ----------
    within
        Total variation distance that the members of a cluster may have, between 0 and 1.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> ill = Variable("ill", ("no", "yes"))
    >>> said = [Opinion(f"{p}", Categorical(ill, (), [1 - p, p]), np.ones(1, bool))
    ...         for p in (0.1, 0.12, 0.8)]
    >>> DemocraticPool(within=0.1).pool(said, np.ones(3)).table.round(4).tolist()
    [0.89, 0.11]
    """

    within: float = 0.1
    needs_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("DemocraticPool", within=self.within)
        if self.within >= 1:
            raise InputError(
                f"DemocraticPool: within must be below 1, got {self.within!r}.", parameter="within"
            )

    def pool(self, opinions: Sequence[Opinion], weights: Floats) -> Distribution:
        """The distribution of one family."""
        local, w = opinions[0].distribution, shares(opinions, weights)
        if isinstance(local, Logistic):
            return mean_coefficients(opinions, w)
        kept = w * self._in_majority(_distances(opinions), w)
        kept /= kept.sum(axis=0)
        if isinstance(local, Categorical):
            return _mean_table(local, opinions, kept)
        return _mixture_line(opinions, kept)

    def _in_majority(self, distances: Floats, weights: Floats) -> Floats:
        """Which sources belong to the largest cluster, shape (sources, joint states)."""
        member = np.zeros(weights.shape)
        for j in range(weights.shape[1]):
            judges = np.flatnonzero(weights[:, j] > 0)
            cluster = _clusters(distances[j][np.ix_(judges, judges)], self.within)
            size = np.bincount(cluster, weights[judges, j])
            member[judges, j] = np.isclose(size, size.max())[cluster]
        return member


def shares(opinions: Sequence[Opinion], weights: Floats) -> Floats:
    """The weight of each source in each joint state, over those that have seen it; sum one.

    Where none has, all count.
    """
    known = np.stack([opinion.is_known for opinion in opinions]).astype(float)
    known[:, known.sum(axis=0) == 0] = 1.0
    raw = known * np.asarray(weights, float)[:, None]
    raw = np.where(raw.sum(axis=0) > 0, raw, known)  # those with weight have not seen it
    return np.asarray(raw / raw.sum(axis=0))


def _mean_table(local: Categorical, opinions: Sequence[Opinion], weights: Floats) -> Categorical:
    """The mean table; with its posterior if all sources tell how well they know theirs."""
    rows = np.einsum("fj,fjk->jk", weights, _tables(opinions))
    pooled = local.with_parameters(_normal(rows).reshape(local.table.shape))
    known = [np.reshape(op.variance, rows.shape) for op in opinions if op.variance is not None]
    if len(known) < len(opinions):
        return pooled
    return with_table_posterior(pooled, np.einsum("fj,fjk->jk", weights**2, np.stack(known)))


def mean_coefficients(opinions: Sequence[Opinion], weights: Floats) -> Distribution:
    """Means of the parameters with a weight for each source and joint state."""
    local = opinions[0].distribution
    every = np.stack([_flat(opinion.distribution, weights.shape[1]) for opinion in opinions])
    mean = np.einsum("fj,fj...->j...", weights, every)
    return local.with_parameters(mean.reshape(local.parameters.shape))


def _flat(local: Distribution, n_states: int) -> Floats:
    """The parameters with one leading axis for the joint states of the discrete parents."""
    parameters = local.parameters
    n_kept = 2 if isinstance(local, Logistic) else 1
    return parameters.reshape(n_states, *parameters.shape[parameters.ndim - n_kept :])


def _tables(opinions: Sequence[Opinion]) -> Floats:
    tables = [op.distribution for op in opinions]
    return np.stack([local.rows for local in tables if isinstance(local, Categorical)])


def _normal(rows: Floats) -> Floats:
    return rows / rows.sum(axis=1, keepdims=True)


def _variances(opinions: Sequence[Opinion]) -> Floats:
    """Residual variances (sources, joint states), none next to zero beside the others."""
    lines = [op.distribution for op in opinions]
    found = np.stack([line.variance.ravel() for line in lines if isinstance(line, LinearGaussian)])
    floor = SMALLEST_SHARE * found.max(axis=0)
    return np.maximum(found, np.maximum(floor, SMALLEST))


def _geometric_means(tables: Floats, weights: Floats, child: str) -> Floats:
    """Weighted geometric means, up to a factor; a state that a source excludes is excluded."""
    is_excluded = ((tables == 0) & (weights[:, :, None] > 0)).any(axis=0)
    if is_excluded.all(axis=1).any():
        raise ModelError(
            f"LogarithmicPool: every state of {child!r} is excluded by some source in the same "
            "parent state, so that nothing is left. Use cs.fusion.LinearPool(), or networks "
            "fitted with a "
            "prior.",
            variable=child,
        )
    logs = np.einsum("fj,fjk->jk", weights, np.log(np.where(tables == 0, 1.0, tables)))
    logs[is_excluded] = -np.inf
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def _with_sd(line: Distribution, sd: Floats) -> Floats:
    parameters = np.array(line.parameters)
    parameters[..., -1] = sd.reshape(parameters.shape[:-1])
    return parameters


def _mixture_line(opinions: Sequence[Opinion], weights: Floats) -> Distribution:
    """The regression with the mean of a mixture, and its variance averaged over the parents."""
    mean = mean_coefficients(opinions, weights)
    n_states = weights.shape[1]
    middle = _flat(mean, n_states)[:, :-1]
    spread = np.stack([_flat(op.distribution, n_states)[:, :-1] - middle for op in opinions])
    z, covariance = _parents(opinions, weights)
    between = _mean_square(spread, z, covariance)
    within = np.stack([_flat(op.distribution, n_states)[:, -1] ** 2 for op in opinions])
    variance = (weights * (within + between)).sum(axis=0)
    line = mean.with_parameters(_with_sd(mean, np.sqrt(variance)))
    spreads = [op.spread for op in opinions if op.spread is not None]
    if not isinstance(line, LinearGaussian) or len(spreads) < len(opinions):
        return line
    every = np.repeat(weights[:, :, None], middle.shape[1], axis=2)
    return with_spread(line, pooled_spread(spreads, every, z, _freedom(weights * within, spreads)))


def _freedom(variance: Floats, spreads: Sequence[Spread]) -> Floats:
    """Degrees of freedom of a sum of variances (Satterthwaite), shape (joint states,)."""
    each = variance**2 / np.stack([spread.freedom for spread in spreads])
    total = each.sum(axis=0)
    return np.divide(variance.sum(axis=0) ** 2, total, out=np.ones_like(total), where=total > 0)


def _parents(opinions: Sequence[Opinion], weights: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of the continuous parents in the mixture of the sources."""
    n = _flat(opinions[0].distribution, weights.shape[1]).shape[1] - 2
    shape = (weights.shape[1], n)
    means = np.stack([np.zeros(shape) if op.mean is None else op.mean for op in opinions])
    covariances = np.stack(
        [np.zeros((*shape, n)) if op.covariance is None else op.covariance for op in opinions]
    )
    mean = np.einsum("fj,fjn->jn", weights, means)
    away = means - mean
    total = covariances + away[..., :, None] * away[..., None, :]
    return mean, np.einsum("fj,fjnm->jnm", weights, total)


def _mean_square(lines: Floats, mean: Floats, covariance: Floats) -> Floats:
    """Expected square of linear functions (..., joint states, 1 + n) of the parents."""
    at_mean = lines[..., 0] + np.einsum("...jn,jn->...j", lines[..., 1:], mean)
    spread = np.einsum("...jn,jnm,...jm->...j", lines[..., 1:], covariance, lines[..., 1:])
    return np.asarray(at_mean**2 + spread)


def _distances(opinions: Sequence[Opinion]) -> Floats:
    """Total variation between the sources, shape (joint states, sources, sources)."""
    if isinstance(opinions[0].distribution, Categorical):
        tables = _tables(opinions).transpose(1, 0, 2)
        apart = np.abs(tables[:, :, None] - tables[:, None]).sum(axis=-1)
        return np.asarray(apart / 2)
    n_states = len(opinions[0].is_known)
    lines = np.stack([_flat(op.distribution, n_states)[:, :-1] for op in opinions])
    sd = np.sqrt(_variances(opinions))
    even = np.full(sd.shape, 1 / len(opinions))
    apart = _mean_square(lines[:, None] - lines[None], *_parents(opinions, even))
    square = apart / (sd[:, None] * sd[None]) + 2 * np.log(sd[:, None] / sd[None]) ** 2
    return np.asarray(2 * ndtr(np.sqrt(square) / 2) - 1).transpose(2, 0, 1)


def _clusters(distances: Floats, within: float) -> Integers:
    if len(distances) == 1:
        return np.zeros(1, np.int64)
    tree = linkage(squareform(distances, checks=False), "complete")
    return np.asarray(fcluster(tree, within + 1e-12, "distance"), np.int64)
