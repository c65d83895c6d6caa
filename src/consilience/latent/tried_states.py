"""Numbers of states of a hidden node, tried one after the other, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from consilience import _check
from consilience.errors import DataError, InputError
from consilience.incomplete.variational import VariationalBayes
from consilience.structure.scores.likelihood import AIC, BIC
from consilience.structure.scores.predictive import CrossValidated
from consilience.structure.searches.task import Clock

__all__ = [
    "Criterion",
    "TriedStates",
    "best_of",
    "criterion_of",
    "numbers_to_try",
    "price_of",
    "try_each",
]

Criterion: TypeAlias = BIC | AIC | VariationalBayes | CrossValidated
"""What numbers of states can be judged by."""


class Sized(Protocol):
    """A network, in time or not."""

    @property
    def n_parameters(self) -> int: ...


Learned = TypeVar("Learned", bound=Sized)


@dataclass(frozen=True, slots=True, eq=False)
class TriedStates(Generic[Learned]):
    """One number of states: its network, and how it did.

    Attributes
    ----------
    n_states
        Number of states of the hidden node.
    value
        What the criterion says; higher is better.
    log_likelihood
        Of the observed rows, under the network.
    network
        Learned from all rows.
    """

    n_states: int
    value: float
    log_likelihood: float
    network: Learned

    def __repr__(self) -> str:
        return (
            f"TriedStates({self.n_states} states: {self.value:.6g}, log-likelihood "
            f"{self.log_likelihood:.6g}, {self.network.n_parameters} parameters)"
        )


def criterion_of(criterion: Criterion | None) -> Criterion:
    """The criterion that was asked for, or BIC."""
    judge = BIC() if criterion is None else criterion
    if not isinstance(judge, Criterion):
        raise InputError(
            "criterion must be BIC(), AIC(), VariationalBayes() or CrossValidated(), got "
            f"{judge!r}.",
            parameter="criterion",
        )
    return judge


def price_of(judge: Criterion, n_rows: float) -> float:
    """What a parameter costs."""
    return 1.0 if isinstance(judge, AIC) else float(0.5 * np.log(max(float(n_rows), 1.0)))


def try_each(
    asked: Sequence[int], one_number: Callable[[int], TriedStates[Learned]], clock: Clock
) -> tuple[tuple[TriedStates[Learned], ...], str]:
    """All numbers tried, and why it ended; an interrupt keeps those that are finished."""
    tried: list[TriedStates[Learned]] = []
    try:
        for i, n_states in enumerate(asked):
            clock.tell(i / len(asked), partial(str, f"{n_states} states"))
            tried.append(one_number(n_states))
    except KeyboardInterrupt:
        if not tried:
            raise
        return tuple(tried), "interrupt"
    return tuple(tried), "end"


def best_of(tried: Sequence[TriedStates[Learned]], judge: Criterion) -> TriedStates[Learned]:
    """The number that the criterion prefers."""
    finite = [one for one in tried if np.isfinite(one.value)]
    if not finite:
        raise DataError(
            f"{judge!r} has the value {tried[0].value} for every number of states "
            f"({', '.join(str(one.n_states) for one in tried)}), so that none can be chosen. Use a "
            "prior with a larger ess, or another criterion such as cs.BIC()."
        )
    return max(finite, key=lambda one: one.value)


def numbers_to_try(owner: str, **asked: Any) -> list[int]:
    """A single number of states, or several, as a list.

    Examples
    --------
    >>> numbers_to_try("hidden_states", numbers=2), numbers_to_try("hidden_states", numbers=(1, 3))
    ([2], [1, 3])
    """
    [(parameter, given)] = asked.items()
    if isinstance(given, int | np.integer):
        given = [given]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(
            f"{owner}: {parameter} must be a whole number or several, such as range(1, 9), got "
            f"{given!r}.",
            parameter=parameter,
        )
    numbers = list(given)
    if not numbers:
        raise InputError(f"{owner}: there is no number to try.", parameter=parameter)
    for number in numbers:
        _check.whole(owner, at_least=1, **{parameter: number})
    return [int(number) for number in numbers]
