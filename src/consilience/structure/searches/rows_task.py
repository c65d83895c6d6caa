"""From rows to the task of a search: the statistics of each variable alone, checked.

A search needs to know what is continuous, whether anything is missing, and how many rows there are
before it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.columns import check_continuous, check_counts, check_spread
from consilience.structure.family_scores import strata_of
from consilience.structure.scores.score import Score, takes_gaps
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.task import Clock, Task

__all__ = ["Look", "look_at", "task_on"]


class Look(NamedTuple):
    """Rows, the moments of their continuous variables and the counts of each discrete one."""

    rows: Engine
    strata: Strata
    counts: Sequence[Counts]


def look_at(rows: Engine, names: Sequence[str], memory_limit: float) -> Look:
    """The rows with the statistics of each variable alone."""
    strata = strata_of(rows, names, memory_limit)
    discrete = [Family(name) for name in names if name not in strata.names]
    return Look(rows, strata, count(rows, discrete) if discrete else [])


def task_on(
    look: Look,
    score: Score,
    constraints: Constraints,
    *,
    rng: np.random.Generator,
    clock: Clock,
    memory_limit: float,
    logistic: bool = False,
) -> Task:
    """The task of a search on rows without gaps, or with a score that takes them."""
    rows, strata, counts = look
    gaps = takes_gaps(score)
    n_rows = 0.0
    if counts or not strata.names:
        n_rows = check_counts(counts, gaps=gaps)
    if strata.names:
        n_rows = check_continuous(rows, strata, gaps=gaps)
        if not strata.gaps:
            check_spread(strata, score)
    return Task(
        rows,
        score,
        constraints,
        rng,
        clock,
        memory_limit,
        n_rows=n_rows,
        strata=strata,
        logistic=logistic,
    )
