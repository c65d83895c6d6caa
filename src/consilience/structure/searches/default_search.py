r"""The search that is used when none is chosen.

With few variables the best graph of all is soon found, and no other search is worth its while:
:class:`Exact`, if there are at most 14 variables and its work is small. Otherwise :class:`Sweep`.

The work is the number of cells of all tables, or of regressions, that an exact search looks at.
With d discrete variables of :math:`r_v` states and c continuous ones it is

.. math:: W = a\, s\, 2^c \prod_{v=1}^{d} (1 + r_v),

where :math:`s` is the number of sources if the score keeps them apart, else 1, and :math:`a` is 1
if one number for each set of variables tells the scores of all its families
(``set_scores.py``), else the number of variables. For tables it is at most :math:`a s 2^d` times
the number of rows. A cell of a pooled table takes some 15 nanoseconds, one of a table by source a
microsecond, a regression twenty: the limits below are a quarter of a second each.
"""

from __future__ import annotations

import math

from consilience.structure.scores.custom import CustomScore
from consilience.structure.scores.score import takes_gaps
from consilience.structure.searches.exact import Exact
from consilience.structure.searches.sweep import Sweep
from consilience.structure.searches.task import Search, Task

__all__ = ["MOST_VARIABLES", "default_search"]

MOST_VARIABLES = 14

MOST_CELLS, MOST_CELLS_BY_SOURCE, MOST_REGRESSIONS = 1 << 24, 1 << 18, 1 << 13
"""Work that is soon done."""

SMALL_TABLE = 1 << 16
"""Cells of a table that is kept whole, seen or not."""

PATIENCE = 1000
"""Restarts in vain when there is time to use."""


def default_search(task: Task, *, is_patient: bool) -> Search:
    """The search for a task; a patient one goes on with restarts where it is not exact."""
    if is_soon_exact(task):
        return Exact()
    return Sweep(restarts=PATIENCE if is_patient else 0)


def is_soon_exact(task: Task) -> bool:
    """Whether the best graph of all is found within a fraction of a second."""
    p = len(task.names)
    can_refuse = hasattr(task.score, "refusal") or isinstance(task.score, CustomScore)
    if not 0 < p <= MOST_VARIABLES or can_refuse or takes_gaps(task.score):
        return False
    if task.logistic and not task.has_one_kind:
        return False
    sizes, n_sources = _sizes(task)
    n_continuous = len(task.strata.names)
    n_parts = 1 if task.has_one_kind and task.is_equivalent else p
    work = n_parts * n_sources * 2.0**n_continuous * math.prod(1.0 + r for r in sizes)
    if n_continuous:
        return work <= MOST_REGRESSIONS
    work = min(work, n_parts * n_sources * 2.0**p * max(1.0, task.n_rows))
    is_small = _largest_table(task, sizes, n_sources) <= task.memory_limit
    return is_small and work <= (MOST_CELLS if n_sources == 1 else MOST_CELLS_BY_SOURCE)


def _sizes(task: Task) -> tuple[list[int], int]:
    """Numbers of states of the discrete variables, and of sources that are kept apart."""
    schema = task.engine.schema
    variables = [schema[name] for name in task.names]
    source = schema.source
    n_sources = source.n_states if source is not None and task.score.by_source else 1
    return [v.n_states for v in variables if not v.is_continuous], max(1, n_sources)


def _largest_table(task: Task, sizes: list[int], n_sources: int) -> float:
    """Bytes of the counts of all variables together; of large ones only what was seen is kept."""
    n_rows = max(1.0, task.n_rows)
    seen = max(SMALL_TABLE, 2 * n_rows, n_rows * max(sizes))
    return 8.0 * n_sources * min(math.prod(map(float, sizes)), seen)
