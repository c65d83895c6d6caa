r"""Likelihood-ratio tests of independence for variables of both kinds.

- X and Y discrete, all given variables too: :math:`G^2` with adjusted degrees of freedom.
- X or Y continuous: a regression of the continuous one on the continuous given variables, with
  coefficients and a variance for each joint state j of the discrete given ones. Y is one regressor
  more, or splits each j by its states k. With what the regressions leave,

  .. math:: \Lambda = \sum_j n_j \log \frac{\mathrm{RSS}_j}{n_j}
      - \sum_{jk} n_{jk} \log \frac{\mathrm{RSS}_{jk}}{n_{jk}} .

  If Y says nothing, every RSS is chi-square with the rows less the coefficients as its degrees of
  freedom :math:`\nu`, and :math:`E \log \mathrm{RSS} = \psi(\nu / 2) + \log 2 \sigma^2`: the mean
  of :math:`\Lambda` is known exactly, and the statistic is :math:`\Lambda` times the number of
  coefficients and variances that Y adds, over that mean (Bartlett 1937). So it is chi-square to a
  much higher order than :math:`\Lambda` itself, which rejects too often where cells have few rows.
- X and Y discrete, some given variable continuous: logistic regressions, for each joint state of
  the discrete given variables, without Y and with one for each of its states too. The child is the
  one of fewer states, of equally many the first by name.

Cells whose rows are no more than two above their coefficients cannot have a variance; they are left
out of both models, and ``n_rows`` says how many rows were used.

References
----------
M. S. Bartlett (1937). Properties of sufficiency and statistical tests. Proceedings of the Royal
Society A 160.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from consilience import _check
from consilience._typing import Bools, Floats
from consilience.errors import DataError
from consilience.parameters.logistic_newton import logistic_problems, newton
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.many_regressions import RegressionBatch, Residuals
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.contingency import (
    chi_square_p,
    from_tables,
    g_squares,
)
from consilience.structure.independence.correlation import residuals_by_source
from consilience.structure.independence.statements import Statements, Verdicts, check_alpha
from consilience.structure.precision import judged

__all__ = ["LikelihoodRatio"]

LEAST_FREE = 2
"""Rows beyond its coefficients that a cell needs, at least, to have a variance."""


@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    """The likelihood-ratio test for discrete and continuous variables, in any combination.

    Parameters
    ----------
    alpha
        P-value up to which independence is rejected.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"drug": list("ab") * 6, "weight": [1.1, 4.2, 2.3, 6.4, 3.5, 5.6] * 2})
    >>> found = cs.independence.test(table, "drug", "weight", by=cs.independence.LikelihoodRatio())
    >>> found.df, found.is_independent  # a mean and a variance more
    (2.0, False)
    """

    alpha: float = 0.05
    adds_up: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_alpha("LikelihoodRatio", self.alpha)

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        found = Verdicts.empty(rows.n_sources(by_source=by_source), len(asked))
        is_number = rows.is_continuous
        with_number = is_number[asked.x] | is_number[asked.y]
        given_number = is_number[asked.given].any(axis=1)
        tables = np.flatnonzero(~with_number & ~given_number)
        if tables.size:
            some = asked.take(tables)
            found.put(
                tables, from_tables(rows, some, g_squares, by_source=by_source, adjusted=True)
            )
        regressions = np.flatnonzero(with_number)
        if regressions.size:
            found.put(regressions, _regressed(rows, asked.take(regressions), by_source=by_source))
        for one in np.flatnonzero(~with_number & given_number):
            some = asked.take(np.array([one]))
            found.put(np.array([one]), _classified(rows, some, by_source=by_source))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Regressions of equal kind by source, joint state and statement: (sources, states, n)."""

    n_rows: Floats
    left: Floats
    rank: Floats

    @property
    def free(self) -> Floats:
        """Rows less coefficients."""
        return self.n_rows - 1 - self.rank

    def terms(self, is_kept: Bools) -> tuple[Floats, Floats, Floats]:
        """Of each kept cell n log(RSS / n), its mean but for the variance, and its parameters."""
        n, left = np.where(is_kept, self.n_rows, 1.0), np.where(is_kept, self.left, 1.0)
        with np.errstate(divide="ignore"):
            value = n * np.log(left / n)
        mean = n * (digamma(np.where(is_kept, self.free, 2.0) / 2) + np.log(2 / n))
        return (
            np.where(is_kept, value, 0.0),
            np.where(is_kept, mean, 0.0),
            np.where(is_kept, self.rank + 2, 0.0),
        )


def _regressed(rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
    """Statements of which x or y is continuous, those with the same moments together."""
    is_number = rows.is_continuous
    turned = ~is_number[asked.x]
    x, y = np.where(turned, asked.y, asked.x), np.where(turned, asked.x, asked.y)
    found = Verdicts.empty(rows.n_sources(by_source=by_source), len(asked))
    groups: dict[tuple[tuple[str, ...], bool, frozenset[str]], list[int]] = {}
    for i, given in enumerate(asked.given):
        discrete = rows.name(given[~is_number[given]])
        numbers = {*rows.name(given[is_number[given]]), rows.names[x[i]]}
        splits = not is_number[y[i]]
        by = (*discrete, rows.names[y[i]]) if splits else discrete
        if not splits:
            numbers.add(rows.names[y[i]])
        gaps = frozenset(numbers & rows.strata.gaps)
        groups.setdefault((by, splits, gaps), []).append(i)
    rows.strata.prepare([by for by, _, gaps in groups if not gaps], by_source=by_source)
    for (by, splits, gaps), some in groups.items():
        moments = rows.strata.of(gaps, by, by_source=by_source)
        place = {name: i for i, name in enumerate(moments.names)}
        given = [[place[name] for name in rows.name(g) if name in place] for g in asked.given[some]]
        child = [place[name] for name in rows.name(x[some])]
        if splits:
            batch = RegressionBatch.listed(moments, moments, child, given)
            answer = judged(rows.strata, batch, _split_by_states)
        else:
            more = [
                [*one, place[name]] for one, name in zip(given, rows.name(y[some]), strict=True)
            ]
            pairs = [one for pair in zip(given, more, strict=True) for one in pair]
            batch = RegressionBatch.listed(moments, moments, np.repeat(child, 2).tolist(), pairs)
            answer = judged(rows.strata, batch, _with_one_more)
        found.put(np.array(some), answer)
    return found


def _with_one_more(batch: RegressionBatch) -> Verdicts:
    """Pairs of regressions, without and with y as the last regressor."""
    cells = _cells(batch.moments, residuals_by_source(batch))
    one, two = (_Cells(*(a[..., i::2] for a in _arrays(cells))) for i in (0, 1))
    is_kept = (two.free >= LEAST_FREE) & (one.left > 0) & (two.rank > one.rank)
    return _compared(one, two, is_kept, is_kept)


def _split_by_states(batch: RegressionBatch) -> Verdicts:
    """Regressions in each state of y, the last discrete variable, and in all of them together."""
    moments = batch.moments
    r = moments.given[-1].n_states
    fine = _cells(moments, residuals_by_source(batch))
    shape = (fine.left.shape[0], -1, r, fine.left.shape[2])
    is_kept = (fine.free >= LEAST_FREE).reshape(shape)
    is_kept &= is_kept.sum(axis=2, keepdims=True) > 1
    merged = [_without_last(moments, is_kept[..., i]) for i in range(shape[3])]
    whole = [
        residuals_by_source(
            RegressionBatch.listed(
                one, one, [int(batch.children[i])], [batch.parents[a:b].tolist()]
            )
        )
        for i, (one, a, b) in enumerate(
            zip(merged, batch.starts[:-1], batch.starts[1:], strict=True)
        )
    ]
    alone = [_cells(one, found) for one, found in zip(merged, whole, strict=True)]
    coarse = _Cells(*(np.concatenate(a, axis=2) for a in zip(*map(_arrays, alone), strict=True)))
    is_told = (coarse.left > 0) & is_kept.any(axis=2)
    kept = (is_kept & is_told[:, :, None]).reshape(fine.left.shape)
    return _compared(coarse, fine, is_told, kept)


def _compared(coarse: _Cells, fine: _Cells, in_coarse: Bools, in_fine: Bools) -> Verdicts:
    """The ratio of both models, over its mean."""
    less, more = coarse.terms(in_coarse), fine.terms(in_fine)
    ratio, mean, df = (
        sign * (b.sum(axis=1) - a.sum(axis=1))
        for sign, a, b in zip((-1, -1, 1), less, more, strict=True)
    )
    scale = np.divide(df, mean, out=np.zeros_like(df), where=(df > 0) & (mean > 0))
    with np.errstate(invalid="ignore"):
        statistic = np.where(scale > 0, np.maximum(ratio, 0.0) * scale, 0.0)
    n_rows = np.where(in_coarse, coarse.n_rows, 0.0).sum(axis=1)
    df = np.where(scale > 0, df, 0.0)
    return Verdicts(statistic, df, chi_square_p(statistic, df), n_rows)


def _cells(moments: Moments, found: list[Residuals]) -> _Cells:
    left = np.stack([one.left for one in found])
    rank = np.stack([one.rank for one in found]).astype(np.float64)
    return _Cells(np.broadcast_to(moments.weight[..., None], left.shape), left, rank)


def _arrays(cells: _Cells) -> tuple[Floats, Floats, Floats]:
    return cells.n_rows, cells.left, cells.rank


def _without_last(moments: Moments, is_kept: Bools) -> Moments:
    """The kept cells (sources, joint states, states), all states of the last variable together."""
    n_sources, _, r = is_kept.shape
    *given, last = moments.given
    flat = is_kept.reshape(-1, r)
    arrays = [array.reshape(-1, r, *array.shape[2:]) for array in moments.arrays]
    kept = [np.where(flat.reshape(*flat.shape, *[1] * (a.ndim - 2)), a, 0.0) for a in arrays]
    rows = np.zeros(len(flat))
    one = moments.over(kept, rows, source=moments.source, given=(last,)).without_states()
    back = [array.reshape(n_sources, -1, *array.shape[2:]) for array in one.arrays]
    return moments.over(back, moments.n_rows, source=moments.source, given=tuple(given))


def _classified(rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
    """One statement of discrete variables given continuous ones, by logistic regression."""
    child, other = sorted(
        (int(asked.x[0]), int(asked.y[0])), key=lambda v: (rows.n_states[v], rows.names[v])
    )
    given = rows.name(asked.given[0])
    discrete = tuple(name for name in given if not rows.engine.schema[name].is_continuous)
    engine = _complete_rows(rows, asked)
    less = Family(rows.names[child], given)
    numbers = tuple(name for name in given if name not in discrete)
    more = Family(rows.names[child], (*discrete, rows.names[other], *numbers))
    problems = logistic_problems(
        engine, [less, more], 0.0, by_source=by_source, limit=rows.memory_limit
    )
    one, two = newton(engine, problems, rows.memory_limit)
    n_coefficients = 1 + len(numbers)
    (counts,) = count(
        engine,
        Family(less.child, (*discrete, rows.names[other])),
        by_source=by_source,
        memory_limit=rows.memory_limit,
    )
    table = counts.to_dense(rows.memory_limit).values
    split = table.reshape(len(table), -1, rows.n_states[other], table.shape[-1])
    df = n_coefficients * (_n_free(split).sum(axis=(1, 2)) - _n_free(split.sum(axis=2)).sum(axis=1))
    ratio = 2 * (two.log_likelihood.sum(axis=1) - one.log_likelihood.sum(axis=1))
    df = np.maximum(df, 0.0)
    statistic = np.where(df > 0, np.maximum(ratio, 0.0), 0.0)
    arrays = statistic, df, chi_square_p(statistic, df), table.sum(axis=(1, 2))
    return Verdicts(*(array[:, None] for array in arrays))


def _n_free(counts: Floats) -> Floats:
    """States that occur, less one, along the last axis."""
    return np.maximum((counts > 0).sum(axis=-1) - 1, 0).astype(np.float64)


def _complete_rows(rows: AskedRows, asked: Statements) -> Engine:
    """The rows in which all variables of a statement are known: both models see the same ones."""
    engine, names = rows.engine, rows.name(np.concatenate([asked.x, asked.y, asked.given[0]]))
    if not isinstance(engine, Memory):
        _refuse_gaps(rows, names)
        return engine
    table = engine.table
    is_known = np.ones(table.n_rows, bool)
    for name in names:
        column = table.column(name)
        is_known &= ~np.isnan(column) if table.variables[name].is_continuous else column >= 0
    return engine if is_known.all() else Memory(table.take(is_known))


def _refuse_gaps(rows: AskedRows, names: tuple[str, ...]) -> None:
    """Refuse gaps in rows that are not in memory, where complete rows could be picked."""
    discrete = [Family(name) for name in names if not rows.engine.schema[name].is_continuous]
    counted = count(rows.engine, discrete)
    found = {one.child.name for one in counted if one.n_incomplete.sum() > 0}
    found |= rows.strata.gaps & {*names}
    if found:
        raise DataError(
            f"{_check.listed(sorted(found))} have gaps, and the test of discrete variables given "
            "continuous ones needs complete rows, which can be picked from a table in memory only.",
            column=min(found),
        )
