"""What the columns must be like before graphs are judged on them.

Rows that are there, values that are there, and continuous columns that vary on their own: a column
that is constant, or a linear function of others, would have a likelihood without bound. Scores on
different rows cannot be compared, hence no gaps, unless the score is made for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from consilience import _check
from consilience.errors import DataError
from consilience.graph.dag import DAG
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count, moments
from consilience.statistics.many_regressions import RegressionBatch
from consilience.statistics.request import Engine
from consilience.statistics.scales import check_not_tiny
from consilience.statistics.strata import Strata
from consilience.structure.precision import judged
from consilience.structure.scores.gaussian import unbounded
from consilience.structure.scores.score import Batch, Score

__all__ = ["check_continuous", "check_counts", "check_spread", "rows_used"]

ROUNDING = 1e-14
"""A column whose standard deviation is no more than this share of its mean is constant."""


def check_counts(counts: Sequence[Counts], *, gaps: bool = False) -> float:
    """Refuse a table without rows, and gaps unless allowed; return the weight of the rows."""
    if not counts or counts[0].n_rows.sum() == 0:
        raise DataError("a graph cannot be judged on a table without rows.")
    if not gaps:
        _refuse_gaps({one.child.name: float(one.n_incomplete.sum()) for one in counts})
    return float(counts[0].n_rows.sum()) / counts[0].scale


def check_continuous(engine: Engine, strata: Strata, *, gaps: bool = False) -> float:
    """Refuse no rows, columns without spread, and gaps unless allowed; return the rows' weight."""
    found = strata.by()
    n_rows = float(found.n_rows.sum())
    if n_rows == 0:
        raise DataError("a graph cannot be judged on a table without rows.")
    check_not_tiny(found)
    if found.n_incomplete.sum() > 0 and not gaps:
        alone = {name: moments(engine, [name]) for name in strata.names}
        _refuse_gaps({name: float(one.n_incomplete.sum()) for name, one in alone.items()})
    for name in strata.names:
        known = strata.of([name], ())
        i = known.names.index(name)
        mean, weight = float(known.mean[0, 0, i]), float(known.weight.sum())
        if weight == 0:
            raise DataError(f"column {name!r} has no value in any row. Leave it out.", column=name)
        if known.scatter[0, 0, i, i] <= weight * (ROUNDING * mean) ** 2:
            raise DataError(
                f"column {name!r} is constant up to rounding ({mean:g} in every row); a continuous "
                "variable needs a variance. Leave it out, or read it with discrete=.",
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
    values = judged(strata, whole, score.local)
    if np.isposinf(values).any():
        raise unbounded(_smallest(strata, whole.families[int(np.isposinf(values).argmax())]))


def rows_used(engine: Engine, dag: DAG, *, memory_limit: float) -> dict[str, float]:
    """For each node, the weight of the rows that are complete for its family."""
    variables = engine.schema.variables
    families = [Family(node, dag.parents(node)) for node in dag.nodes]
    continuous = {
        one.child: [name for name in one.variables if variables[name].is_continuous]
        for one in families
    }
    plain = [one for one in families if not continuous[one.child]]
    counts = count(engine, plain, memory_limit=memory_limit) if plain else []
    found = {one.child.name: float(one.n_complete.sum()) for one in counts}
    for one in families:
        names = continuous[one.child]
        if names:
            by = [name for name in one.variables if name not in names]
            found[one.child] = float(moments(engine, names, by=by).weight.sum())
    return {node: found[node] for node in dag.nodes}


def _refuse_gaps(gaps: Mapping[str, float]) -> None:
    columns = [name for name, n in gaps.items() if n > 0]
    if columns:
        raise DataError(
            f"{gaps[columns[0]]:g} rows have no value of {columns[0]!r} (gaps in "
            f"{_check.listed(columns)}); families would be judged by different rows. Use a "
            "score for gaps, cs.scores.PNAL() or cs.scores.NAL(); or cs.learn, or cs.average with "
            "by=cs.averaging.Bootstrap(), which complete rows; or read the table without these "
            "columns or rows.",
            column=columns[0],
        )


def _smallest(strata: Strata, family: Family) -> Family:
    """The family without the parents that its linear function does not need."""
    for parent in family.parents:
        fewer = Family(family.child, tuple(one for one in family.parents if one != parent))
        batch = RegressionBatch.of(strata.by(), [fewer])
        if judged(strata, batch, _is_on_a_line):
            family = fewer
    return family


def _is_on_a_line(batch: Batch) -> bool:
    return isinstance(batch, RegressionBatch) and batch.residuals().left[0, 0] == 0
