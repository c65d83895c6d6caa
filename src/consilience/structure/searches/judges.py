"""The judge of each family: tables, regressions or logistic fits, picked once for each child."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from consilience.structure.searches.judge import Grounds, Judge, Key
from consilience.structure.searches.logistic_judge import LogisticJudge
from consilience.structure.searches.regression_judge import RegressionJudge
from consilience.structure.searches.table_judge import TableJudge

__all__ = ["Judges"]


class Judges:
    """The judges of some variables' families.

    Parameters
    ----------
    grounds
        What families are judged by.
    possible
        For each variable the set of all parents that it may have.
    """

    def __init__(self, grounds: Grounds, possible: Sequence[int]) -> None:
        self.tables = tables = TableJudge(grounds)
        regressions, logistic = RegressionJudge(grounds), LogisticJudge(grounds, tables)
        self.every: tuple[Judge, ...] = tables, regressions, logistic
        continuous = grounds.continuous
        self.of: list[Judge] = [
            regressions if continuous >> child & 1 else logistic if mask & continuous else tables
            for child, mask in enumerate(possible)
        ]

    @property
    def n_scored(self) -> int:
        """Number of families that were scored."""
        return sum(judge.n_scored for judge in self.every)

    def split(self, keys: Iterable[Key]) -> Iterator[tuple[Judge, list[Key]]]:
        """Families by judge."""
        some: dict[int, list[Key]] = {}
        for key in keys:
            some.setdefault(self.every.index(self.of[key[0]]), []).append(key)
        return ((self.every[i], mine) for i, mine in some.items())

    def several(self, keys: Iterable[Key]) -> dict[Key, float]:
        """Scores of some families; minus infinity where there is none."""
        found: dict[Key, float] = {}
        for judge, mine in self.split(keys):
            found.update(zip(mine, judge.several(mine).tolist(), strict=True))
        return found

    def left_out(self) -> dict[str, set[Key]]:
        """Families without a score, by reason."""
        found: dict[str, set[Key]] = {"would have exceeded the memory limit": set()}
        for judge in self.every:
            found["would have exceeded the memory limit"] |= judge.too_large
            found[judge.reason] = found.get(judge.reason, set()) | judge.refused
        return found
