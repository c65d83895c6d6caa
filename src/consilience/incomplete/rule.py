"""What is done about gaps when a graph is searched for, and the words for it.

- A score made for gaps (``PNAL()``, ``NAL()``) judges each family by the rows complete for it.
- With any other score structural EM completes the rows, in fractions; a score that is defined for
  whole rows only is refused.
- Without a score it is structural EM with the score that rows without gaps would have, or PNAL if
  the rows are not in memory or the search goes by tests, each of which has its own complete rows.

Structural EM is the more exact by far wherever it can be had (``docs/scores.md`` has the table).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from consilience import _check
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.incomplete.graph_fitter import innermost
from consilience.incomplete.structural_em import StructuralEM
from consilience.incomplete.variational import VariationalBayes
from consilience.statistics.counts import Counts
from consilience.statistics.engines.memory import Memory
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.scores.bayesian import BDJ, K2, BDe, BDeu
from consilience.structure.scores.nml import FNML, QNML
from consilience.structure.scores.node_average import PNAL
from consilience.structure.scores.predictive import CrossValidated, HeldOut
from consilience.structure.scores.score import Score, takes_gaps
from consilience.structure.scores.source_scores import BHD
from consilience.structure.source_ways import default_score

__all__ = ["Method", "check_gaps", "columns_with_gaps", "method_for", "table_of"]


PRICE_OF_REGRESSIONS = 1.0
"""Of PNAL: log densities of regressions vary more from row to row than log probabilities."""

OF_WHOLE_ROWS = (BHD, CrossValidated, FNML, HeldOut, QNML)
"""Scores that are not defined for fractions of rows."""

INSTEAD = (
    " The rows are not in memory, where structural EM, the default for a table, completes them; a "
    "table may have another graph."
)

WITH_PRIOR = (BDJ, K2, BDe, BDeu)
"""Scores whose prior the variational bound can have."""


@dataclass(frozen=True, slots=True)
class Method:
    """How graphs are judged despite gaps.

    Attributes
    ----------
    score
        The score.
    completion
        How rows are completed first; None if the score takes gaps as they are.
    missing
        The columns with gaps.
    is_second_best
        Whether structural EM, the default, would have needed rows in memory.
    """

    score: Score
    completion: StructuralEM | None
    missing: tuple[str, ...]
    is_second_best: bool = False

    @property
    def judged_by(self) -> str:
        """The score in words, and what was done about gaps."""
        if self.completion is None:
            return f"{self.score!r}, each family by the rows complete for it"
        if isinstance(self.completion.em, VariationalBayes):
            return f"the variational bound with the prior of {self.score!r}"
        return f"{self.score!r}, rows completed by structural EM"

    def note(self, n_rows: Mapping[str, float]) -> str:
        """What was done, and how many rows each family had, in a sentence or two."""
        where = f"Gaps in {_check.listed(self.missing)}"
        if self.completion is not None:
            return (
                f"{where}: structural EM completed the rows, so that each family had all "
                f"{max(n_rows.values(), default=0):g} of them. It takes values to be missing at "
                "random."
            )
        used = ", ".join(f"{node!r} {n:g}" for node, n in n_rows.items())
        return (
            f"{where}: each family was judged by the rows complete for it ({used}). That takes "
            "values to be missing completely at random." + (INSTEAD if self.is_second_best else "")
        )


def check_gaps(gaps: object) -> None:
    """Refuse what is not a choice of what to do about gaps."""
    if gaps is not None and not isinstance(gaps, StructuralEM):
        raise InputError(
            f"gaps must be cs.StructuralEM(), got {gaps!r}. For the node-average likelihood give "
            "the score cs.scores.PNAL().",
            parameter="gaps",
        )


def columns_with_gaps(counts: Sequence[Counts], strata: Strata) -> tuple[str, ...]:
    """The variables that are missing in some rows, from counts of each alone and from moments.

    One that no row has a value of is refused: nothing tells which arcs it has.
    """
    found = [one.child.name for one in counts if one.n_incomplete.any()]
    for one in counts:
        if one.child.name in found and not one.n_complete.any():
            raise DataError(
                f"no row has a value of {one.child.name!r}, so nothing tells which arcs it has. "
                "Leave the column out (table.select), or give it a place in a graph of yours and "
                "fit that.",
                column=one.child.name,
            )
    return tuple(sorted([*found, *(strata.gaps if strata.names else ())]))


def method_for(
    engine: Engine,
    missing: Sequence[str],
    score: Score | None,
    gaps: StructuralEM | None,
    *,
    logistic: bool = False,
    by_tests: bool = False,
) -> Method:
    """The method for rows with gaps in these columns, by the rule at the top of this module."""
    if gaps is None and score is not None and takes_gaps(score):
        return Method(score, None, tuple(missing))
    has_numbers = any(one.is_continuous for one in engine.schema.variables.values())
    if gaps is None and score is None and (by_tests or not isinstance(engine, Memory)):
        price = PNAL(c=PRICE_OF_REGRESSIONS) if has_numbers else PNAL()
        return Method(price, None, tuple(missing), is_second_best=not by_tests)
    if logistic and has_numbers:
        raise DataError(
            f"{missing[0]!r} has gaps, and rows are not completed for continuous parents of "
            "discrete variables. Leave out logistic=True, or use a score for gaps, "
            "cs.scores.PNAL(c=1).",
            column=missing[0],
        )
    if score is not None:
        _refuse_whole_rows(score, missing)
    table_of(engine)
    completion = gaps or StructuralEM()
    if isinstance(completion.em, VariationalBayes):
        return Method(_of_bound(score, engine), completion, tuple(missing))
    chosen = default_score(engine) if score is None else score
    return Method(chosen, completion, tuple(missing))


def _of_bound(score: Score | None, engine: Engine) -> Score:
    """The score whose prior the bound has; others, and continuous columns, are refused."""
    numbers = [name for name, one in engine.schema.variables.items() if one.is_continuous]
    if numbers:
        raise DataError(
            f"{numbers[0]!r} is continuous, and the variational bound weighs tables only. Use "
            "cs.StructuralEM(), or discretize the column.",
            column=numbers[0],
        )
    if score is None:
        return BDeu()
    if not isinstance(score, WITH_PRIOR):
        raise InputError(
            f"the variational bound needs the Dirichlet prior of a score, which {score!r} has not. "
            "Use cs.BDeu(), cs.scores.BDe(...), cs.scores.K2() or cs.scores.BDJ().",
            parameter="score",
        )
    return score


def _refuse_whole_rows(score: Score, missing: Sequence[str]) -> None:
    """Refuse a score that cannot judge rows completed in fractions."""
    if isinstance(innermost(score), OF_WHOLE_ROWS):
        raise DataError(
            f"{missing[0]!r} has gaps, which are completed in fractions, and the score {score!r} "
            "needs whole rows. Use cs.scores.PNAL(), which takes gaps as they are, or a score that "
            "accepts fractions, such as cs.BIC() or cs.BDeu().",
            column=missing[0],
        )


def table_of(engine: Engine) -> Table:
    """The rows of an engine in memory."""
    if not isinstance(engine, Memory):
        raise InputError(
            "structural EM completes rows in memory, and these are not there. Give "
            "a table, or use a score for gaps: cs.scores.PNAL().",
            parameter="rows",
        )
    return engine.table
