r"""What is asked of a test of independence, and what it answers.

A *statement* says that two variables are independent given some others,
:math:`X \perp Y \mid Z`. Learners make very many tests at once, so statements are held flat, as
numbers of variables, all with equally many given ones, and so are the answers. A test finds rows
that speak against a statement: a p-value of at most ``alpha`` rejects it, and the variables are
taken for dependent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.errors import InputError

if TYPE_CHECKING:
    from consilience.structure.independence.asked_rows import AskedRows

__all__ = [
    "IndependenceTest",
    "PartTest",
    "Statements",
    "Verdict",
    "Verdicts",
    "check_alpha",
    "check_part",
]


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """Statements with equally many given variables, as places in the names of the tested rows.

    Parameters
    ----------
    x, y
        The two variables of each statement. The answer is the same if they change places; those
        with the same ``x`` and the same given variables are counted together.
    given
        The given variables in increasing order, shape (statements, given variables).
    """

    x: Integers
    y: Integers
    given: Integers

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __len__(self) -> int:
        return len(self.x)

    def take(self, some: Integers) -> Statements:
        """Some of the statements."""
        return Statements(self.x[some], self.y[some], self.given[some])


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Answers to statements; arrays of shape (statements,), or (sources, statements) of parts.

    Attributes
    ----------
    statistic
        How far the rows are from independence.
    df
        Degrees of freedom of its distribution under independence; infinite for the normal one.
        Where it is zero the rows cannot tell.
    p_value
        Probability of a statistic at least as large under independence; one where ``df`` is zero.
    n_rows
        Weight of the rows that the test used: those complete for it.
    """

    statistic: Floats
    df: Floats
    p_value: Floats
    n_rows: Floats

    @classmethod
    def empty(cls, *shape: int) -> Verdicts:
        """Answers to be written into: nothing is told yet."""
        return cls(np.zeros(shape), np.zeros(shape), np.ones(shape), np.zeros(shape))

    def put(self, some: Integers, found: Verdicts) -> None:
        """Write the answers of some statements, the last axis."""
        self.statistic[..., some] = found.statistic
        self.df[..., some] = found.df
        self.p_value[..., some] = found.p_value
        self.n_rows[..., some] = found.n_rows

    def of_source(self, f: int) -> Verdicts:
        """The answers of one source."""
        return Verdicts(self.statistic[f], self.df[f], self.p_value[f], self.n_rows[f])

    def __iter__(self) -> Iterator[tuple[float, float, float, float]]:
        arrays = (self.statistic, self.df, self.p_value, self.n_rows)
        return zip(*(array.tolist() for array in arrays), strict=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one test of independence says.

    Attributes
    ----------
    x, y, given
        The statement: ``x`` and ``y`` are independent given the others.
    statistic
        How far the rows are from it.
    df
        Degrees of freedom of the statistic under independence; infinite for the normal
        distribution, zero where the rows cannot tell.
    p_value
        Probability of a statistic at least as large under independence.
    n_rows
        Weight of the rows that the test used: those in which all its variables are known.
    test
        The choice that was made.
    """

    x: str
    y: str
    given: tuple[str, ...]
    statistic: float
    df: float
    p_value: float
    n_rows: float
    test: IndependenceTest

    @property
    def is_independent(self) -> bool:
        """Whether the statement stands: the p-value exceeds the test's ``alpha``."""
        return self.p_value > self.test.alpha

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


class IndependenceTest(Protocol):
    """How statements are judged. A choice: it holds parameters, never rows."""

    @property
    def alpha(self) -> float:
        """The p-value up to which a statement is rejected."""
        ...

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """One answer a statement, in any case the same one for the same statement and rows."""
        ...


class PartTest(IndependenceTest, Protocol):
    """A test that can also be made within each source."""

    @property
    def adds_up(self) -> bool:
        """Whether statistics of separate rows, and their degrees of freedom, may be summed."""
        ...

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """Answers of shape (sources, statements); one source if they are pooled."""
        ...


def check_alpha(owner: str, alpha: float) -> None:
    """Refuse a level that is no probability between zero and one."""
    _check.positive(owner, alpha=alpha)
    if alpha >= 1:
        raise InputError(f"{owner}: alpha must be below 1, got {alpha!r}.", parameter="alpha")


def check_part(owner: str, of: object) -> None:
    """Refuse what is not a test that can be made within a source."""
    if isinstance(of, type) or not hasattr(of, "parts"):
        raise InputError(
            f"{owner}: of must be a test such as cs.independence.GSquare(), got {of!r}.",
            parameter="of",
        )
