r"""A score that lets each family depend on the source, or not, whichever is better.

The source is a node that may be a parent of every variable and a child of none, and that is left
out of the graph. With several sources a family is judged several ways, each a log-likelihood less
the price of its parameters, and the best is its score:

- ``pooled``: the source is no parent;
- ``by source``: it is one more parent. With F sources that have rows there are F times the
  parameters;
- ``tied``, for discrete children: tables by source around a common base, with a strength that is
  learned (``kernels/tied.py``): the parameters of the base and one more. It is cheap where there
  are many small sources, whose tables would cost too much. It is asked only where the sources
  differ more than chance would make them, a rule on the family's own counts;
- ``intercepts by source``, for continuous children: slopes and variance are common, from the
  products within sources. In each of the q joint states of discrete parents there are
  :math:`F + c + 1` parameters for c continuous parents.

A continuous column that is better with intercepts by source when it has no parents is never judged
pooled: the few means of the sources are easily fitted by those of other columns, whose arcs would
then save the price of the intercepts.

So a difference of margins or means between sources is not taken for dependence between columns:
given the source it explains nothing. Where the sources are alike the score is that of all rows
together.

It is a sum over families and a function of their statistics, but equivalent graphs differ in it:
the source is a fixed root, so that its arcs show directions. ``X -> Y`` with a source that X alone
depends on is no other graph turned round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, TypeAlias, get_args

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats
from consilience.data.variable import Variable
from consilience.errors import InputError
from consilience.kernels.tied import fill_n_log_n, log_likelihoods_by_source
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.many_regressions import RegressionBatch
from consilience.statistics.moments import Moments
from consilience.structure.scores.gaussian import gaussian_log_likelihoods
from consilience.structure.scores.likelihood import (
    AIC,
    BIC,
    EBIC,
    fitted,
    n_free_parameters,
    price_of,
    price_of_arcs,
)
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.score import Batch, batch_of

__all__ = ["BySource"]

POOLED, INTERCEPTS, TIED, APART = "pooled", "intercepts by source", "tied", "by source"

MOST_KNOWN = 1 << 14
"""Numbers of rows whose n log n is remembered."""

Inner: TypeAlias = AIC | BIC | EBIC


@dataclass(frozen=True, slots=True)
class BySource:
    """Each family judged pooled and by source, in some ways more, and scored by the best.

    Not misled by margins or means that differ between sources, and equal to the score of all rows
    together where the sources are alike. The default for several sources, with ``BIC()``. Without
    sources, or with rows of one only, it is the score itself.

    Its limit: the tied way is for discrete children. Many small sources whose continuous columns
    move together still look like dependence, because an intercept for each source costs too much.
    Counts are kept by source, so time and memory grow with the number of sources: a search on 10
    sources of 1,000 rows takes two to three times that of pooled rows, on 50 of 100 about six.

    Parameters
    ----------
    score
        What is weighed against the likelihood: ``BIC()``, ``AIC()`` or ``EBIC(n_variables)``. The
        source is no variable of the graph: ``EBIC`` charges no arc for it.

    Examples
    --------
    Given the source neither column says anything about the other:

    >>> import consilience as cs
    >>> columns = {"x": list("aaaabbbb") * 8, "y": list("aaaabbbb") * 8, "f": list("mmmmnnnn") * 8}
    >>> table = cs.read(columns, source="f")
    >>> cs.learn(table, score=cs.scores.BySource(cs.BIC())).arcs
    ()
    >>> cs.learn(table, score=cs.BIC()).arcs
    (('x', 'y'),)
    """

    score: Inner
    score_equivalent: ClassVar[bool] = False
    equivalent_given_source: ClassVar[bool] = True
    by_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.score, get_args(Inner)):
            raise InputError(
                "BySource: score must be a likelihood less a price for each parameter, cs.BIC(), "
                f"cs.AIC() or cs.scores.EBIC(n_variables), got {self.score!r}.",
                parameter="score",
            )

    def local(self, batch: Batch) -> Floats:
        """The best score of each family."""
        best: Floats = np.max(list(self._judged(batch).values()), axis=0)
        return best

    def ways(self, batch: Batch) -> list[str]:
        """How each family is judged: pooled, by source, tied, or with intercepts by source."""
        found = self._judged(batch)
        names = list(found)
        return [names[i] for i in np.argmax(list(found.values()), axis=0)]

    def _judged(self, batch: Batch) -> dict[str, Floats]:
        """Scores of each family, by the way it is judged; the simpler ways first."""
        flat = batch_of(batch, by_source=True)
        n_sources = _n_sources(flat)
        if n_sources <= 1:
            return {POOLED: self.score.local(flat)}
        if isinstance(flat, CountBatch):
            found = self._tables(flat, n_sources)
        elif isinstance(flat, RegressionBatch):
            found = self._regressions(flat, n_sources)
        else:
            found = self._logistic(flat, n_sources)
        of_arcs = price_of_arcs(self.score, flat)
        return {way: values - of_arcs for way, values in found.items()}

    def _tables(self, counts: CountBatch, n_sources: int) -> dict[str, Floats]:
        pooled, apart, tied, n_rows = np.empty((4, len(counts)))
        log_likelihoods_by_source(
            counts.table,
            counts.shapes,
            float(counts.scale),
            _n_log_n(),
            pooled,
            apart,
            tied,
            n_rows,
        )
        price, n_free = price_of(self.score, n_rows), n_free_parameters(counts)
        return {
            POOLED: pooled - price * n_free,
            TIED: tied - price * (n_free + 1.0),
            APART: apart - price * (n_free * n_sources),
        }

    def _regressions(self, batch: RegressionBatch, n_sources: int) -> dict[str, Floats]:
        seen = _with_rows(batch)
        pooled = seen.pooled()
        price, n_free = price_of(self.score, np.array(pooled.n_rows)), n_free_parameters(pooled)
        n_common = float(pooled.n_parent_states) * (n_sources - 1)
        found = {
            POOLED: gaussian_log_likelihoods(pooled) - price * n_free,
            INTERCEPTS: _bounded(_with_intercepts(seen)) - price * (n_free + n_common),
            APART: _bounded(gaussian_log_likelihoods(_apart(seen, pooled.whole)))
            - price * (n_free * n_sources),
        }
        has_other = np.isfinite(found[INTERCEPTS]) | np.isfinite(found[APART])
        is_barred = has_other & _differs(seen, pooled, price * (n_sources - 1))
        found[POOLED] = np.where(is_barred, -np.inf, found[POOLED])
        return found

    def _logistic(self, batch: LogisticBatch, n_sources: int) -> dict[str, Floats]:
        log_likelihood, n_rows = fitted(batch)
        price, n_free = price_of(self.score, n_rows), n_free_parameters(batch)
        found = {POOLED: log_likelihood - price * n_free}
        if batch.apart is not None:
            found[APART] = batch.apart - price * (n_free * n_sources)
        return found


@cache
def _n_log_n() -> Floats:
    """Of each number n of rows that is met often, n log n."""
    out = np.empty(MOST_KNOWN)
    fill_n_log_n(out)
    return _freeze.read_only(out)


def _n_sources(batch: CountBatch | RegressionBatch | LogisticBatch) -> int:
    """Number of sources that have rows."""
    if isinstance(batch, LogisticBatch):
        return batch.n_sources
    n_rows = batch.moments.n_rows if isinstance(batch, RegressionBatch) else batch.n_rows
    return int((n_rows > 0).sum())


def _with_rows(batch: RegressionBatch) -> RegressionBatch:
    """The batch without the sources that have no rows."""
    is_seen = batch.moments.n_rows > 0
    if is_seen.all():
        return batch
    moments, whole = _some(batch.moments, is_seen), _some(batch.whole, is_seen)
    return RegressionBatch(moments, whole, batch.children, batch.starts, batch.parents)


def _some(moments: Moments, is_kept: Bools) -> Moments:
    source = moments.source
    if source is not None:
        states = zip(source.discrete_states, is_kept, strict=True)
        source = Variable(source.name, tuple(state for state, kept in states if kept))
    arrays = [array[is_kept] for array in moments.arrays]
    return moments.over(arrays, moments.n_rows[is_kept], source=source, given=moments.given)


def _apart(batch: RegressionBatch, whole: Moments) -> RegressionBatch:
    """The families with the source as their first discrete parent."""
    moments = batch.moments
    given = moments.given if moments.source is None else (moments.source, *moments.given)
    arrays = [array.reshape(1, -1, *array.shape[2:]) for array in moments.arrays]
    one = moments.over(arrays, moments.n_rows.sum(keepdims=True), source=None, given=given)
    return RegressionBatch(one, whole, batch.children, batch.starts, batch.parents)


def _with_intercepts(batch: RegressionBatch) -> Floats:
    r"""Log-likelihood of common slopes and variance with an intercept for each source,

    .. math:: \sum_j \Bigl[ -\frac{n_j}{2} \log (2 \pi s_j^2) - \frac{n_j - p_j}{2} \Bigr], \qquad
        s_j^2 = \frac{\mathrm{RSS}_j}{n_j - p_j}, \quad p_j = F_j + \mathrm{rank}_j ,

    where F_j sources have rows in the joint state j. A state with no more rows than coefficients,
    or whose rows lie on a line in each source, is judged by the regression of all states together,
    which has an intercept for each source too.
    """
    moments, n_parents = batch.moments, batch.n_continuous
    within = _within(batch)
    left, n = within.residuals(), moments.weight.sum(axis=0)[:, None]
    n_sources = (moments.weight > 0).sum(axis=0)[:, None]
    is_fine = (n > n_sources + n_parents) & (left.left > 0)
    free = np.where(is_fine, n - n_sources - left.rank, 1.0)
    variance = np.where(is_fine, left.left, 1.0) / free
    values = np.where(is_fine, -0.5 * (n * np.log(2 * np.pi * variance) + free), 0.0)
    is_poor = ~is_fine & (n > 0)
    total: Floats = values.sum(axis=0)
    return total + _by_all_states(batch, is_poor) if is_poor.any() else total


def _by_all_states(batch: RegressionBatch, poor: Bools) -> Floats:
    """What poor states (states, families) add, by the regression of all states together."""
    whole = batch.without_states()
    common = _within(whole)
    found = common.residuals()
    n, n_sources = whole.n_rows, len(whole.moments.weight)
    is_fine = (n > n_sources + batch.n_continuous) & (found.left[0] > 0)
    free = np.where(is_fine, n - n_sources - found.rank[0], 1.0)
    variance = np.where(is_fine, found.left[0], 1.0) / free
    rows = _around_own_means(batch, common.moments)
    wanted = np.tile(poor, (n_sources, 1))
    misfit = batch.misfits_around(common.moments, rows, wanted).sum(axis=0)
    n_poor = (poor * batch.moments.weight.sum(axis=0)[:, None]).sum(axis=0)
    values = -0.5 * n_poor * np.log(2 * np.pi * variance) - 0.5 * misfit / variance
    return np.where(poor.any(axis=0), np.where(is_fine, values, -np.inf), 0.0)


def _around_own_means(batch: RegressionBatch, line: Moments) -> Moments:
    """The rows of all pairs of source and joint state, moved from the mean of all rows of their
    source to that of the line.
    """
    rows, n_states = _apart(batch, batch.whole).moments, batch.moments.weight.shape[1]
    own = np.repeat(batch.whole.mean[:, 0], n_states, axis=0)
    if batch.whole.mean_rest is None or rows.mean_rest is None:
        return replace(rows, mean=rows.mean - own + line.mean[0])
    own_rest = np.repeat(batch.whole.mean_rest[:, 0], n_states, axis=0)
    mean, rest = _sum_finely(rows.mean, rows.mean_rest, -own, -own_rest)
    mean, rest = _sum_finely(mean, rest, line.mean[0], np.zeros(1))
    return replace(rows, mean=mean, mean_rest=rest)


def _sum_finely(
    high: Floats, low: Floats, other_high: Floats, other_low: Floats
) -> tuple[Floats, Floats]:
    """Sums of numbers in two parts, in two parts."""
    total = high + other_high
    taken = total - high
    left = (high - (total - taken)) + (other_high - taken) + low + other_low
    rounded = total + left
    return rounded, left - (rounded - total)


def _within(batch: RegressionBatch) -> RegressionBatch:
    """The families over products around the means of each source; the means are those of the first
    one, whose size alone is read.
    """
    moments = batch.moments
    if moments.is_fine:
        mean = np.broadcast_to(moments.mean[:1], moments.mean.shape)
        one = replace(moments, mean=mean, mean_rest=np.zeros_like(mean)).pooled()
    else:
        sums = [array.sum(axis=0, keepdims=True) for array in (moments.weight, moments.scatter)]
        arrays = sums[0], moments.mean[:1], sums[1]
        n_rows = moments.n_rows.sum(keepdims=True)
        one = moments.over(arrays, n_rows, source=None, given=moments.given)
    return RegressionBatch(one, one, batch.children, batch.starts, batch.parents)


def _differs(batch: RegressionBatch, pooled: RegressionBatch, price: Floats) -> Bools:
    """Whether the child of each family, without any parent, is better with its own intercepts."""
    children = np.unique(batch.children)
    apart, together = (
        RegressionBatch.listed(one.whole, one.whole, children.tolist(), [()] * len(children))
        for one in (batch, pooled)
    )
    gain = _bounded(_with_intercepts(apart)) - gaussian_log_likelihoods(together)
    is_better: Bools = gain > price
    return is_better[np.searchsorted(children, batch.children)]


def _bounded(log_likelihood: Floats) -> Floats:
    """Minus infinity where the likelihood has no bound: a column that is constant in each source
    is no reason to judge it so.
    """
    return np.where(np.isfinite(log_likelihood), log_likelihood, -np.inf)
