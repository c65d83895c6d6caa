r"""How far the distribution of a family in one source is from another, in nats a row.

Rows of tables are weighted by how often their parent states occur in the source. Regressions are
compared as normal distributions, with M the mean of :math:`(1, u)(1, u)^\top` over the parents,

.. math:: \log\frac{s_c}{s_f} + \frac{s_f^2 + (b_f - b_c)^\top M\,(b_f - b_c)}{2 s_c^2} -
    \frac12 ,

and logistic nodes at the values of parents in rows drawn from the network.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from consilience._typing import Floats
from consilience.data.variable import NEW_SOURCE
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.inference.queries import query
from consilience.inference.sampling import sample
from consilience.network.network import SEED, Network

__all__ = ["divergence", "family_weights"]

N_SAMPLED = 2000


def family_weights(net: Network, name: str) -> Floats:
    """P(discrete parents | source): an axis for the source, and one for each of the others.

    A source that never occurs has the shares of all together.
    """
    names = [v.name for v in net[name].given if not v.is_continuous and v.name != net.source]
    joint = np.asarray(query(net, [str(net.source), *names]).values)
    total = joint.reshape(len(joint), -1).sum(axis=1).reshape(-1, *[1] * len(names))
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), joint.sum(axis=0))


def divergence(
    net: Network, name: str, source: str, other: str | None, *, weights: Floats
) -> float:
    """KL of one source from another, or from what the sources have in common if none is named.

    ``weights`` are those of :func:`family_weights`.
    """
    local = net[name]
    own = net.variables[str(net.source)].code(source)
    if isinstance(local, Categorical):
        tables = _source_first(net, local.table, [*local.parents])
        common = _common(net, tables, other, weights)
        rows = (xlogy(tables[own], tables[own]) - xlogy(tables[own], common)).sum(axis=-1)
        return max(0.0, float(np.where(weights[own] > 0, weights[own] * rows, 0.0).sum()))
    if isinstance(local, LinearGaussian):
        return _of_regressions(net, local, source, other, weights=weights)
    return _of_logistic(net, local, source, other)


def _source_first(net: Network, table: Floats, axes: list[str]) -> Floats:
    return np.moveaxis(table, axes.index(str(net.source)), 0)


def _common(net: Network, tables: Floats, other: str | None, weights: Floats) -> Floats:
    """The table of another source, of the source never seen, or the mean of all by their rows."""
    variable = net.variables[str(net.source)]
    if other is not None:
        return tables[variable.code(other)]
    if NEW_SOURCE in variable.discrete_states:
        return tables[variable.code(NEW_SOURCE)]
    shares = net.tables[variable.name].table
    own = shares.reshape(-1, *[1] * (weights.ndim - 1)) * weights + 1e-300
    own = own.reshape(*own.shape, *[1] * (tables.ndim - own.ndim))
    return np.asarray((own * tables).sum(axis=0) / own.sum(axis=0))


def _of_regressions(
    net: Network, local: LinearGaussian, source: str, other: str | None, *, weights: Floats
) -> float:
    axes = [v.name for v in local.discrete]
    parameters = _source_first(net, local.parameters, axes)
    variable = net.variables[str(net.source)]
    common = _common(net, parameters, other, weights)
    own = parameters[variable.code(source)]
    if other is None:  # that of a source never seen holds what is unknown about its coefficients
        known = [k for k, state in enumerate(variable.discrete_states) if state != NEW_SOURCE]
        shares = net.tables[variable.name].table[known]
        variances = np.tensordot(shares / shares.sum(), parameters[known][..., -1] ** 2, axes=1)
    else:
        variances = common[..., -1] ** 2
    total = 0.0
    for place in np.ndindex(*own.shape[:-1]):
        weight = float(weights[(variable.code(source), *place)])
        if weight > 0:
            moments = _parent_moments(net, local, source, place)
            away = own[place][:-1] - common[place][:-1]
            total += weight * _of_normals(
                own[place][-1] ** 2, float(away @ moments @ away), float(variances[place])
            )
    return max(0.0, total)


def _of_normals(own: float, away: float, common: float) -> float:
    if common == 0 or own == 0:
        return 0.0 if own == common and away == 0 else float("inf")
    return 0.5 * (np.log(common / own) + (own + away) / common - 1)


def _parent_moments(
    net: Network, local: LinearGaussian, source: str, place: tuple[int, ...]
) -> Floats:
    """Means of products of (1, parents) given the source and states of the discrete parents."""
    names = [v.name for v in local.continuous]
    moments = np.ones((1, 1))
    if names:
        discrete = [v for v in local.discrete if v.name != net.source]
        given: dict[str, Any] = {str(net.source): source}
        given |= {v.name: v.discrete_states[k] for v, k in zip(discrete, place, strict=True)}
        belief: Any = query(net, names, given)
        mean = np.atleast_1d(belief.mean)
        full = np.concatenate([[1.0], mean])
        moments = np.outer(full, full)
        moments[1:, 1:] += belief.covariance
    return moments


def _of_logistic(net: Network, local: Logistic, source: str, other: str | None) -> float:
    """The mean over rows drawn from the source."""
    rows = sample(net, N_SAMPLED, given={str(net.source): source}, seed=SEED)
    values = np.stack([rows.column(v.name) for v in local.continuous], axis=1)
    tables = np.exp(local.log_tables(values))  # (rows, discrete..., states)
    axes = [v.name for v in local.discrete]
    by_source = np.moveaxis(tables, axes.index(str(net.source)) + 1, 0)
    others = [v.name for v in local.discrete if v.name != net.source]
    at = (np.arange(len(values)), *(rows.column(n).astype(np.int64) for n in others))
    each = np.stack([one[at] for one in by_source])  # (sources, rows, states)
    variable = net.variables[str(net.source)]
    own = each[variable.code(source)]
    known = [k for k, state in enumerate(variable.discrete_states) if state != NEW_SOURCE]
    shares = net.tables[variable.name].table[known]
    if other is not None:
        common = each[variable.code(other)]
    else:
        common = np.tensordot(shares / shares.sum(), each[known], axes=1)
    return max(0.0, float((xlogy(own, own) - xlogy(own, common)).sum(axis=-1).mean()))
