"""What judges families: one judge for each kind of family, behind one set of methods.

Variables are numbers, places in a list of names; sets of parents are bit masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.errors import ConsilienceError, MemoryLimitError
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.statistics.toggles import ToggleRequest, ToggleRequests
from consilience.structure.scores.score import Score
from consilience.structure.searches.class_masks import bits

__all__ = ["Ahead", "Around", "Grounds", "Judge", "Key", "SetScores", "in_parts", "mask_of"]

Key: TypeAlias = tuple[int, int]
"""A family: its child and its parents."""

Around: TypeAlias = tuple[int, int, Sequence[int]]
"""A family and the variables that may be added to its parents: child, parents, candidates."""

SetScores: TypeAlias = Callable[[Integers], Iterator[Floats]]
"""Scores of very many sets of parents, part by part."""


class Judge(Protocol):
    """How families of one kind are judged.

    Attributes
    ----------
    n_scored
        Number of families that were scored.
    too_large, refused
        Families that exceed the memory limit, and those that the score cannot judge.
    reason
        Why the score refuses a family, after "families".
    """

    n_scored: int
    too_large: set[Key]
    refused: set[Key]

    @property
    def reason(self) -> str: ...

    def neighbors(self, child: int, parents: int, candidates: Sequence[int]) -> Floats:
        """Scores with each parent taken and each candidate added, by number.

        Entry ``child`` is the score of the family as it is. All others have minus infinity.
        """
        ...

    def prepare(self, families: Sequence[Around]) -> dict[Key, Floats]:
        """Ask for what the neighbors of several families need, together.

        Returns the scores of the neighbors as far as this gives them.
        """
        ...

    def several(self, keys: Sequence[Key]) -> Floats:
        """Scores of some families; minus infinity for those too large or refused."""
        ...

    def scored_sets(self, child: int, candidates: Sequence[int]) -> SetScores:
        """A function that scores very many sets, whose bit ``v`` stands for ``candidates[v]``."""
        ...

    def error(self, child: int, parents: int) -> ConsilienceError:
        """Why a family has no score."""
        ...


class Ahead(Protocol):
    """Scores of families of discrete variables that need not be exact yet (``look_ahead.py``).

    Scores raise a ``MemoryLimitError`` where the counts would exceed the limit.
    """

    def around(self, families: Sequence[Around]) -> Floats:
        """Scores of families, without each parent and with each candidate, one after the other."""
        ...

    def several(self, keys: Sequence[Key]) -> Floats:
        """Scores of some families."""
        ...

    def table(self, family: Family) -> Counts:
        """The exact counts of one large family, for the scores of very many sets."""
        ...

    def prepare_tables(self, families: Sequence[Family]) -> None:
        """Ask for several such tables together, unless they are too large together."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """What families are judged by.

    Parameters
    ----------
    engine, strata
        Where the rows are, and the moments of their continuous variables.
    score
        How families are judged.
    names
        The variables.
    memory_limit
        Bytes of the statistics of one request.
    ahead
        Scores of tables while a search is played with guesses; None if the rows are asked.
    """

    engine: Engine
    strata: Strata
    score: Score
    names: tuple[str, ...]
    memory_limit: float
    ahead: Ahead | None = None

    @property
    def continuous(self) -> int:
        """The set of continuous variables."""
        schema = self.engine.schema
        return mask_of(i for i, name in enumerate(self.names) if schema[name].is_continuous)

    def names_of(self, parents: int) -> tuple[str, ...]:
        """The names of a set."""
        return tuple([self.names[i] for i in bits(parents)])

    def family(self, child: int, parents: int) -> Family:
        """A family by name."""
        return Family(self.names[child], self.names_of(parents))

    def toggles(self, families: Sequence[Around]) -> ToggleRequests:
        """The request for families, without each parent and with each candidate."""
        how = self.score.by_source, self.memory_limit
        return ToggleRequests(
            tuple(
                [
                    ToggleRequest(
                        self.family(child, parents), tuple(map(self.names.__getitem__, more)), *how
                    )
                    for child, parents, more in families
                ]
            )
        )

    def key(self, family: Family) -> Key:
        """A family by number."""
        parents = mask_of(self.names.index(name) for name in family.parents)
        return self.names.index(family.child), parents

    def around(self, child: int, parents: int, candidates: Sequence[int], found: Floats) -> Floats:
        """By number, the scores of a family, without each parent and with each candidate."""
        values = np.full(len(self.names), -np.inf)
        values[[child, *bits(parents), *candidates]] = found
        return values

    def text(self, child: int, parents: int) -> str:
        """A family in a sentence."""
        return f"{self.names[child]!r} given {_check.listed(self.names_of(parents))}"

    def too_large(self, what: str, child: int, parents: int) -> MemoryLimitError:
        """The error for a family whose statistics exceed the memory limit."""
        return MemoryLimitError(
            f"the {what} of {self.text(child, parents)} exceed the limit of "
            f"{_check.bytes_text(self.memory_limit)}. Raise memory_limit.",
            family=self.family(child, parents),
        )


def in_parts(judge: Judge, child: int, candidates: Sequence[int], size: int) -> SetScores:
    """A function that scores very many sets as single families, some at a time."""

    def parts(masks: Integers) -> Iterator[Floats]:
        for start in range(0, len(masks), size):
            some = masks[start : start + size].tolist()
            sets = [mask_of([candidates[v] for v in bits(one)]) for one in some]
            yield judge.several([(child, parents) for parents in sets])

    return parts


def mask_of(numbers: Iterable[int]) -> int:
    """The set of some numbers."""
    mask = 0
    for i in numbers:
        mask |= 1 << int(i)
    return mask
