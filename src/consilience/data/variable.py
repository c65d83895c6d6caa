"""The nouns :class:`Variable` and :class:`Schema`: what a table or a network is about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from consilience import _check, _freeze
from consilience.data.labels import interval, is_number, label, matcher
from consilience.errors import InputError, UnknownNameError

__all__ = ["NEW_SOURCE", "Schema", "Variable", "increasing"]

NEW_SOURCE = "new_source"
"""The reserved state of a network's source node for a source never seen."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One column of a table or one node of a network.

    Parameters
    ----------
    name
        Any text that is not empty.
    states
        The states of a discrete variable, in order; None for a continuous one.
    ordered
        Whether the order of the states means something (``low < high``).
    cuts
        For a discretised variable, the increasing cut points between its states: a number ``x``
        falls in state ``k`` if exactly ``k`` cuts are at or below it, that is, intervals are closed
        on the left.

    Examples
    --------
    >>> Variable("sex", ("F", "M")).n_states
    2
    >>> Variable("age").is_continuous
    True
    """

    name: str
    states: tuple[str, ...] | None = None
    ordered: bool = False
    cuts: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a variable's name must be text, got {self.name!r}.", name=self.name)
        if self.states is None:
            if self.cuts is not None:
                raise InputError(
                    f"variable {self.name!r} has cut points but no states.", variable=self.name
                )
            return
        given: Any = self.states
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(
                f"variable {self.name!r}: states must be a sequence of texts, got {given!r}.",
                variable=self.name,
            )
        object.__setattr__(self, "states", tuple(self.states))
        if not self.states or not all(isinstance(s, str) and s for s in self.states):
            raise InputError(
                f"variable {self.name!r}: states must be texts that are not empty, at least one of "
                f"them; got {_check.listed(self.states)}.",
                variable=self.name,
            )
        if len(set(self.states)) < len(self.states):
            twice = next(s for s in self.states if self.states.count(s) > 1)
            raise InputError(
                f"variable {self.name!r}: the state {twice!r} stands twice.",
                variable=self.name,
                state=twice,
            )
        self._check_cuts(self.states)

    def _check_cuts(self, states: tuple[str, ...]) -> None:
        if self.cuts is None:
            return
        cuts = increasing(self.cuts)
        if cuts is None or len(cuts) != len(states) - 1:
            raise InputError(
                f"variable {self.name!r}: {len(states)} states need {len(states) - 1} increasing "
                f"cut points, got {self.cuts!r}.",
                variable=self.name,
            )
        object.__setattr__(self, "cuts", cuts)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    @property
    def is_continuous(self) -> bool:
        """Whether the variable takes real numbers rather than states."""
        return self.states is None

    @property
    def n_states(self) -> int:
        """Number of states; a continuous variable has none to count and raises."""
        return len(self.discrete_states)

    @property
    def discrete_states(self) -> tuple[str, ...]:
        """The states, for code that needs a discrete variable."""
        if self.states is None:
            raise InputError(
                f"variable {self.name!r} is continuous; a discrete one is needed here. "
                "Read it with discretize= or discrete=.",
                variable=self.name,
            )
        return self.states

    def code(self, state: Any) -> int:
        """Position of a state, given as text or as a number that stands for it (1, 1.0 or "1").

        A number stands for the interval that it falls in, if the variable has cut points.

        >>> Variable("age", ("<30", ">=30"), cuts=(30.0,)).code(63)
        1
        """
        states = self.discrete_states
        text = label(state)
        if self.cuts is not None and is_number(state):
            code = interval(float(state), self.cuts)
        else:
            code = states.index(text) if text in states else matcher(states, self.cuts)(text)
        if code is not None:
            return code
        raise UnknownNameError(
            f"variable {self.name!r} has no state {text!r}. {self.accepted(text)}",
            variable=self.name,
            state=text,
        )

    def accepted(self, text: str) -> str:
        """What would have been accepted in place of a text that is no state, near misses first."""
        states = self.discrete_states
        numbers = "" if self.cuts is None else ", or a number"
        return f"{_check.meant(text, states)}Known states: {_check.listed(states)}{numbers}."


@dataclass(frozen=True, slots=True)
class Schema:
    """The variables of a table in order, and the source variable if there are sources.

    The source's states are the names of the sources. It is not one of ``variables``.
    """

    variables: Mapping[str, Variable]
    source: Variable | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.variables, Mapping):
            raise InputError(
                f"a schema must map names to variables, got {self.variables!r}.", parameter="schema"
            )
        _freeze.own(self)
        for name, variable in self.variables.items():
            if not isinstance(variable, Variable):
                raise InputError(
                    f"schema: {name!r} needs a Variable, got {variable!r}. "
                    f"Write Variable({name!r}, states).",
                    variable=name,
                )
            if name != variable.name:
                raise InputError(f"the variable {variable.name!r} is filed under {name!r}.")
        if self.source is not None and self.source.name in self.variables:
            raise InputError(
                f"{self.source.name!r} is the source and cannot be a variable as well.",
                variable=self.source.name,
            )

    def __getitem__(self, name: str) -> Variable:
        """The variable of that name; the source counts as one."""
        if name in self.variables:
            return self.variables[name]
        if self.source is not None and name == self.source.name:
            return self.source
        _check.unknown("variable", name, self.variables)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __contains__(self, name: object) -> bool:
        return name in self.variables or (self.source is not None and name == self.source.name)


def increasing(points: Any) -> tuple[float, ...] | None:
    """The points as floats, or None if they are not finite increasing numbers."""
    if isinstance(points, str) or not isinstance(points, Iterable):
        return None
    try:
        floats = tuple(map(float, points))
    except (TypeError, ValueError, OverflowError):
        return None
    is_finite = all(map(math.isfinite, floats))
    return floats if is_finite and all(a < b for a, b in pairwise(floats)) else None
