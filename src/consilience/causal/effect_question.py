"""What is asked of an effect: which variable, what is set, what is seen, how surely.

``Soft({...})`` sets a distribution instead of a state: the effect is then the average over its
states, each with its share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from consilience import _check
from consilience.data.variable import Variable
from consilience.errors import InputError
from consilience.inference.evidence import Soft

__all__ = ["Question", "check_state", "hard_sides", "set_text"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, checked."""

    y: str
    do: Mapping[str, Any]
    against: Mapping[str, Any] | None
    state: Any
    given: Mapping[str, Any]
    level: float
    draws: int

    def check(self) -> None:
        """Refuse what cannot be asked of any model."""
        for name, states in (("do", self.do), ("against", self.against or self.do)):
            if not isinstance(states, Mapping) or not states:
                raise InputError(
                    f"effect: {name} must map variables to states, got {states!r}.", parameter=name
                )
        if self.against is not None and set(self.do) != set(self.against):
            raise InputError(
                "effect: do and against must set the same variables, got "
                f"{_check.listed(self.do)} and {_check.listed(self.against)}.",
                parameter="against",
            )
        seen = set(self.given) if isinstance(self.given, Mapping) else set()
        places = {"do": set(self.do), "given": seen}
        for name, others in (("do", {self.y}), ("given", {self.y, *self.do})):
            if twice := places[name] & others:
                raise InputError(
                    f"effect: {min(twice)!r} is in {name}= and is also set or asked for; each "
                    "variable has one place.",
                    parameter=name,
                )
        _check.share("effect", level=self.level)
        _check.whole("effect", at_least=1, draws=self.draws)

    def sides(self) -> list[Mapping[str, Any]]:
        """What is set on both sides of the difference."""
        return [self.do] if self.against is None else [self.do, self.against]

    def check_state(self, variable: Variable) -> None:
        """Refuse a question without the state of a discrete y, or with that of a continuous one."""
        check_state("effect", variable, self.state)

    def text(self) -> str:
        """The question in words of probability."""
        what = f"E[{self.y}" if self.state is None else f"P({self.y}={self.state}"
        end = "]" if self.state is None else ")"
        seen = "".join(f", {name}={value}" for name, value in self.given.items())
        sides = [
            f"{what} | do({', '.join(set_text(n, v) for n, v in side.items())}){seen}{end}"
            for side in self.sides()
        ]
        return " - ".join(sides)

    def given_more(self, extra: Mapping[str, Any]) -> Question:
        """The same question, given more."""
        return replace(self, given={**self.given, **extra})


def check_state(owner: str, variable: Variable, state: Any, *, parameter: str = "state") -> None:
    """Refuse a discrete variable without one of its states, and a continuous one with a state."""
    if variable.is_continuous and state is not None:
        raise InputError(
            f"{owner}: {variable.name!r} is continuous and is judged by its mean; leave "
            f"{parameter} out.",
            parameter=parameter,
        )
    if not variable.is_continuous:
        if state is None:
            raise InputError(
                f"{owner}: name the state of {variable.name!r} in {parameter}=. States: "
                f"{_check.listed(variable.discrete_states)}.",
                parameter=parameter,
            )
        variable.code(state)


def set_text(name: str, state: Any) -> str:
    """A variable and what it is set to: ``x=yes``, or ``x~(no 0.3, yes 0.7)``."""
    if not isinstance(state, Soft):
        return f"{name}={state}"
    return f"{name}~({', '.join(f'{one} {share:g}' for one, share in state.values.items())})"


def hard_sides(side: Mapping[str, Any]) -> Iterator[tuple[float, dict[str, Any]]]:
    """The certain interventions that a soft one is a mixture of, each with its share.

    Examples
    --------
    >>> list(hard_sides({"x": Soft({"no": 1, "yes": 3}), "z": "b"}))
    [(0.25, {'x': 'no', 'z': 'b'}), (0.75, {'x': 'yes', 'z': 'b'})]
    """
    if not isinstance(side, Mapping):
        raise InputError(f"do must map variables to states, got {side!r}.", parameter="do")
    choices = [_shares(state) for state in side.values()]
    for chosen in product(*choices):
        share = 1.0
        for one, _ in chosen:
            share *= one
        yield share, dict(zip(side, (state for _, state in chosen), strict=True))


def _shares(state: Any) -> list[tuple[float, Any]]:
    if not isinstance(state, Soft):
        return [(1.0, state)]
    whole = sum(state.values.values())
    return [(share / whole, one) for one, share in state.values.items() if share > 0]
