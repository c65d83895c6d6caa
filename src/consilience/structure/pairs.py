r"""What one variable tells about another, given a class if there is one: the weights of trees.

The weight of an arc is the gain in log-likelihood, in nats per row, of the family with the arc over
the family without it. Two discrete variables have their information (``information.py``), the same
in both directions. A continuous child :math:`X` has a regression in each state :math:`c` of the
class, with a variance of its own; another variable, a regressor or a discrete parent, lowers the
sum of squares :math:`S_c` that is left, at the cost of :math:`k_c` coefficients, and of

.. math:: \sum_c \frac{\nu_c}{2} \Bigl(\log \frac{S_c}{S_c'}
    - \mathrm{E}\Bigl[\log \frac{S_c}{S_c'}\Bigr]\Bigr), \qquad
    \mathrm{E}\Bigl[\log \frac{S}{S'}\Bigr] = \psi\bigl(\tfrac{\nu}{2}\bigr)
        - \psi\bigl(\tfrac{\nu - k}{2}\bigr)

the second term is what a variable without any influence would gain (:math:`\nu` rows less the
coefficients before). So a column of many states has no head start. States of the class that leave
no row to judge by add nothing.

Rows of several sources are compared within them: every source has intercepts of its own in each
state of the class, and the coefficients of the arc are common, or of each source, whichever gains
more. For discrete variables ``information.py`` does the same.

Between two continuous variables the gain is the same in both directions, so that a tree does not
depend on the order of the columns. With one slope and one variance for all sources,
:math:`1 - S'/S` is the squared correlation of the products within sources; and by itself every
source has slope and variance of its own, so that it is that of the source:

.. math:: 1 - \frac{S_c'}{S_c}
    = \frac{(\sum_f P_{fc}^{zx})^2}{\sum_f P_{fc}^{zz} \sum_f P_{fc}^{xx}}, \qquad
    1 - \frac{S_{fc}'}{S_{fc}} = \frac{(P_{fc}^{zx})^2}{P_{fc}^{zz} P_{fc}^{xx}}

(:math:`P` are sums of products around the means of source and class). Slopes by source around a
common variance would gain differently when turned round.

A continuous parent of a discrete child would need a logistic regression; it has minus infinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeVar

import numpy as np
from scipy.special import digamma

from consilience._typing import Floats
from consilience.errors import DataError
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.information import conditional_information, information_within

__all__ = ["has_several_sources", "pair_weights"]

Statistic = TypeVar("Statistic", Counts, Moments)

MOST_CELLS = 1 << 23
"""Cells of counts that are asked for at once."""

EXACT = 1e-12
"""A smaller share of a sum of squares is rounding."""


def pair_weights(
    engine: Engine,
    names: Sequence[str],
    target: str | None = None,
    *,
    memory_limit: float = MEMORY_LIMIT,
) -> Floats:
    """Weight of each arc, shape (parents, children); minus infinity where it may not be.

    Rows count for a pair if they have a value of both and of the target. The diagonal is zero.
    """
    weights = np.zeros((len(names), len(names)))
    schema = engine.schema
    discrete = [i for i, name in enumerate(names) if not schema[name].is_continuous]
    continuous = [i for i, name in enumerate(names) if schema[name].is_continuous]
    for i, j, counts in _counted(engine, names, discrete, target, memory_limit=memory_limit):
        weights[i, j] = weights[j, i] = _information(counts)
    given = () if target is None else (target,)
    strata = Strata(engine, [names[i] for i in continuous], memory_limit=memory_limit)
    by_source = has_several_sources(engine)
    for i, j in combinations(continuous, 2):
        found = _with_rows(strata.of((names[i], names[j]), given, by_source=by_source))
        pair = [found.names.index(names[i]), found.names.index(names[j])]
        gain = _gain_of_slopes(found.weight, found.scatter[..., pair, :][..., pair])
        weights[i, j] = weights[j, i] = gain
    for i in discrete:
        for j in continuous:
            found = _with_rows(strata.of((names[j],), (*given, names[i]), by_source=by_source))
            place = found.names.index(names[j])
            n_states = schema[names[i]].n_states
            shape = (found.weight.shape[0], -1, n_states)
            weights[i, j] = _gain_of_states(
                found.weight.reshape(shape),
                found.mean[..., place].reshape(shape),
                found.scatter[..., place, place].reshape(shape),
            )
            weights[j, i] = -np.inf
    return weights


def has_several_sources(engine: Engine) -> bool:
    """Whether the rows come from more than one source."""
    source = engine.schema.source
    return source is not None and source.n_states > 1


def _counted(
    engine: Engine,
    names: Sequence[str],
    discrete: Sequence[int],
    target: str | None,
    *,
    memory_limit: float,
) -> Iterator[tuple[int, int, Counts]]:
    """The counts of all pairs of discrete variables, as many at once as memory allows."""
    schema, by_source = engine.schema, has_several_sources(engine)
    beside = 1 if target is None else schema[target].n_states
    if by_source and schema.source is not None:
        beside *= schema.source.n_states
    asked: list[tuple[int, int]] = []
    n_cells = 0
    for i, j in [*combinations(discrete, 2), (-1, -1)]:
        size = beside * schema[names[i]].n_states * schema[names[j]].n_states if i >= 0 else 0
        if asked and (i < 0 or n_cells + size > MOST_CELLS):
            given = () if target is None else (target,)
            families = [Family(names[a], (names[b], *given)) for a, b in asked]
            found = count(engine, families, by_source=by_source, memory_limit=memory_limit)
            for (a, b), counts in zip(asked, found, strict=True):
                yield a, b, counts
            asked, n_cells = [], 0
        asked.append((i, j))
        n_cells += size


def _with_rows(statistic: Statistic) -> Statistic:
    if statistic.n_rows.sum() == 0:
        raise DataError("a tree cannot be learned from a table without rows.")
    return statistic


def _information(counts: Counts) -> float:
    counts = _with_rows(counts)
    sizes = (*(parent.n_states for parent in counts.given), counts.child.n_states)
    table = counts.to_dense().values.reshape(len(counts.table), sizes[0], -1, sizes[-1])
    by_source = np.moveaxis(table, 2, 3)  # (sources, x_j, x_i, states of the target)
    if len(by_source) == 1:
        return conditional_information(by_source[0])
    return information_within(by_source)


def _gain_of_slopes(weight: Floats, scatter: Floats) -> float:
    """Gain of a regression between two variables; scatter (sources, classes, 2, 2)."""
    freedom = np.maximum(weight - 1, 0.0)
    ways = [_gain_of_correlation(scatter.sum(axis=0), freedom.sum(axis=0))]
    if len(weight) > 1:
        ways.append(_gain_of_correlation(scatter, freedom))
    n_rows = float(weight.sum())
    return max(ways) / n_rows if n_rows > 0 else 0.0


def _gain_of_correlation(scatter: Floats, freedom: Floats) -> float:
    """Gain in nats of a slope in each group of rows; scatter (..., 2, 2)."""
    zz, zx, xx = scatter[..., 0, 0], scatter[..., 0, 1], scatter[..., 1, 1]
    explained = np.divide(zx * zx, zz, out=np.zeros_like(zx), where=zz > 0)
    return _gain(xx, freedom, explained, (zz > 0).astype(float))


def _gain_of_states(weight: Floats, mean: Floats, scatter: Floats) -> float:
    """Gain of a mean for each state of a parent; arrays (sources, classes, states)."""
    rows = weight.sum(axis=2)
    share = np.divide(weight, rows[..., None], out=np.zeros_like(weight), where=weight > 0)
    off = np.where(weight > 0, mean - (share * mean).sum(axis=2, keepdims=True), 0.0)
    own = (weight * off * off).sum(axis=2)
    n_own = np.maximum((weight > 0).sum(axis=2) - 1, 0)
    total = (scatter.sum(axis=2) + own).sum(axis=0)
    return _better_gain(
        weight,
        total,
        np.maximum(rows - 1, 0.0).sum(axis=0),
        _common_states(weight, share, off),
        by_source=(own.sum(axis=0), n_own.sum(axis=0).astype(float)),
    )


def _common_states(weight: Floats, share: Floats, off: Floats) -> tuple[Floats, Floats]:
    """What effects of the states that all sources share explain, and their number, by class.

    The normal equations of effects beside an intercept for each source and class.
    """
    n_states = weight.shape[2]
    inner = np.einsum("fcd,de->cde", weight, np.eye(n_states))
    inner -= np.einsum("fcd,fce->cde", weight, share)
    values, vectors = np.linalg.eigh(inner)
    is_informed = values > EXACT * np.maximum(values[:, -1:], 1.0)
    along = np.einsum("cdk,cd->ck", vectors, (weight * off).sum(axis=0))
    explained = np.divide(along * along, values, out=np.zeros_like(along), where=is_informed)
    return explained.sum(axis=1), is_informed.sum(axis=1).astype(float)


def _better_gain(
    weight: Floats,
    total: Floats,
    freedom: Floats,
    common: tuple[Floats, Floats],
    *,
    by_source: tuple[Floats, Floats],
) -> float:
    """The larger of two gains in nats per row; each has what is explained and coefficients."""
    n_rows = float(weight.sum())
    if n_rows == 0:
        return 0.0
    ways = (common,) if len(weight) == 1 else (common, by_source)
    return max(_gain(total, freedom, *way) for way in ways) / n_rows


def _gain(total: Floats, freedom: Floats, explained: Floats, n_more: Floats) -> float:
    """Gain in nats over what coefficients without influence would gain, summed over classes."""
    is_defined = (total > 0) & (n_more > 0) & (freedom - n_more > 0.5)
    if not is_defined.any():
        return 0.0
    total, freedom, explained, n_more = (
        array[is_defined] for array in (total, freedom, explained, n_more)
    )
    left = np.maximum(1 - explained / total, EXACT)
    chance = digamma(freedom / 2) - digamma((freedom - n_more) / 2)
    return float((freedom / 2 * (-np.log(left) - chance)).sum())
