"""What the columns must be like before graphs are judged on them.

Rows that are there, values that are there, and continuous columns that vary on their own: a column
that is constant, or a linear function of others, would have a likelihood without bound. Scores on
different rows cannot be compared, hence no gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from consilience import _check
from consilience.errors import DataError
from consilience.kernels.regressions import COLLINEAR
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import moments
from consilience.statistics.regressions import RegressionBatch
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.scores.gaussian import unbounded
from consilience.structure.scores.score import Score

__all__ = ["check_continuous", "check_counts", "check_spread"]

ROUNDING = 1e-14
"""A column whose standard deviation is no more than this share of its mean is constant."""

SMALL_WEIGHT = 1e-6
"""A standardised coefficient below it is rounding."""


def check_counts(counts: Sequence[Counts]) -> float:
    """Refuse a table without rows, and gaps; return the weight of the rows."""
    if not counts or counts[0].n_rows.sum() == 0:
        raise DataError("a graph cannot be judged on a table without rows.")
    _refuse_gaps({one.child.name: float(one.n_incomplete.sum()) for one in counts})
    return float(counts[0].n_rows.sum()) / counts[0].scale


def check_continuous(engine: Engine, strata: Strata) -> float:
    """Refuse no rows, gaps and columns without spread; return the weight of the rows."""
    found = strata.by()
    n_rows = float(found.n_rows.sum())
    if n_rows == 0:
        raise DataError("a graph cannot be judged on a table without rows.")
    if found.n_incomplete.sum() > 0:
        alone = {name: moments(engine, [name]) for name in strata.names}
        _refuse_gaps({name: float(one.n_incomplete.sum()) for name, one in alone.items()})
    for i, name in enumerate(strata.names):
        mean = float(found.mean[0, 0, i])
        if found.scatter[0, 0, i, i] <= n_rows * (ROUNDING * mean) ** 2:
            raise DataError(
                f"column {name!r} is constant ({mean:g} in every row); a continuous variable needs "
                "a variance. Leave it out, or read it with discrete=.",
                column=name,
            )
    return n_rows


def check_spread(strata: Strata, score: Score) -> None:
    """Refuse columns that are linear functions of others, if the score cannot bear them.

    A score is asked for the complete graph, in which every column is explained by all before it.
    """
    found = strata.by(by_source=score.by_source)
    whole = RegressionBatch.listed(
        found, found, range(len(found.names)), [range(i) for i in range(len(found.names))]
    )
    values = score.local(whole)
    if np.isposinf(values).any():
        raise unbounded(_smallest(strata, whole.families[int(np.isposinf(values).argmax())]))


def _refuse_gaps(gaps: Mapping[str, float]) -> None:
    columns = [name for name, n in gaps.items() if n > 0]
    if columns:
        raise DataError(
            f"{gaps[columns[0]]:g} rows have no value of {columns[0]!r} (gaps in "
            f"{_check.listed(columns)}); families would be judged by different rows. Read the "
            "table without these columns or rows, or fill the gaps first.",
            column=columns[0],
        )


def _smallest(strata: Strata, family: Family) -> Family:
    """The family without the parents that its linear function does not need."""
    place = [strata.names.index(name) for name in family.variables]
    scatter = strata.by().scatter[0, 0][np.ix_(place, place)]
    size = np.sqrt(np.diag(scatter))
    correlation = scatter / np.outer(size, size)
    weights = np.linalg.lstsq(correlation[:-1, :-1], correlation[:-1, -1], rcond=COLLINEAR)[0]
    kept = [p for p, w in zip(family.parents, weights, strict=True) if abs(w) > SMALL_WEIGHT]
    return Family(family.child, tuple(kept))
