"""What is given: states, sets of them, likelihoods, values, and distributions to come out.

=====================================  ====================================================
``given={"smoke": "yes"}``             hard evidence: the state is known
``given={"cp": {"typical", "none"}}``  one of these states
``given={"xray": Likelihood({...})}``  virtual evidence: the likelihood of each state, in any unit
``given={"age": Soft({...})}``         soft evidence (Jeffrey 1965): the posterior of the
                                       variable *is* this distribution
``given={"bp": 120.5}``                the value of a continuous variable, or a number in one of
                                       the intervals of a variable that was cut
``given=frame.iloc[0]``                a row of a frame: all values that are not missing
=====================================  ====================================================

Likelihoods are divided by their largest entry, and the logarithms of what they lack are kept apart,
so that they may be as small or large as the densities of a long measurement. Virtual evidence is
combined with what the network says; soft evidence replaces it. Several soft
distributions are made to hold at once by iterative proportional fitting.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.data.row import known_values
from consilience.data.variable import Variable
from consilience.errors import InputError

__all__ = ["Evidence", "Likelihood", "Scope", "Soft", "evidence_of", "names_of"]

LARGEST_LIKELIHOOD = 1e300

Scope: TypeAlias = tuple[str, ...]
"""Names of discrete variables, an axis of an array each."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Virtual evidence: how likely the finding is under each state; states left out have zero."""

    values: Mapping[Any, float]

    def __post_init__(self) -> None:
        _check_numbers("Likelihood", self.values)
        _freeze.own(self)


@dataclass(frozen=True, slots=True)
class Soft:
    """Soft evidence: the distribution that comes out; states left out have zero."""

    values: Mapping[Any, float]

    def __post_init__(self) -> None:
        _check_numbers("Soft", self.values)
        _freeze.own(self)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Evidence in codes: known states, likelihood vectors, and distributions that must come out.

    ``exp(log_scale)`` is the factor by which the likelihoods were made smaller; ``values`` are
    those of continuous variables, and ``sets`` likelihoods over several variables at once, none of
    them known; ``is_cut`` says that entries of these were too small for a float.
    """

    known: Mapping[str, int]
    likelihoods: Mapping[str, Floats]
    soft: Mapping[str, Floats]
    log_scale: float = 0.0
    values: Mapping[str, float] = field(default_factory=dict)
    sets: Mapping[Scope, Floats] = field(default_factory=dict)
    is_cut: bool = False

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def names(self) -> tuple[str, ...]:
        """All variables that something is said about."""
        return (*self.known, *self.likelihoods, *self.soft, *self.values)

    def with_likelihoods(self, more: Mapping[str, Floats]) -> Evidence:
        """The same evidence, these likelihoods put in or in place of the old; nothing soft."""
        likelihoods = {**self.likelihoods, **more}
        return Evidence(self.known, likelihoods, {}, self.log_scale, self.values)

    def only(self, names: Collection[str]) -> Evidence:
        """The evidence about these variables alone, their likelihoods up to a factor."""
        return Evidence(
            {name: code for name, code in self.known.items() if name in names},
            {name: vector for name, vector in self.likelihoods.items() if name in names},
            {name: vector for name, vector in self.soft.items() if name in names},
            values={name: value for name, value in self.values.items() if name in names},
        )


def names_of(names: object) -> list[str]:
    """One name or several as a list of texts."""
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise InputError(f"variables are asked for by name or by a list of names, got {names!r}.")
    return list(names)


def evidence_of(variables: Mapping[str, Variable], given: Any) -> Evidence:
    """Check what a user gave, by variable or as a row of a frame, and turn it into codes."""
    known: dict[str, int] = {}
    likelihoods: dict[str, Floats] = {}
    soft: dict[str, Floats] = {}
    values: dict[str, float] = {}
    log_scale = 0.0
    for name, value in known_values(given, variables).items():
        variable = variables[name]
        if variable.is_continuous:
            values[name] = _number(variable, value)
        elif isinstance(value, Likelihood):
            vector = _vector(variable, value.values, "likelihood")
            likelihoods[name] = vector / vector.max()
            log_scale += math.log(vector.max())
        elif isinstance(value, Soft):
            soft[name] = _distribution(variable, value.values)
        elif isinstance(value, Collection) and not isinstance(value, str | bytes):
            codes = sorted({variable.code(state) for state in _states(variable, value)})
            if len(codes) == 1:
                known[name] = codes[0]
            else:
                likelihoods[name] = np.isin(np.arange(variable.n_states), codes).astype(float)
        else:
            known[name] = variable.code(value)
    return Evidence(known, likelihoods, soft, log_scale, values)


def _number(variable: Variable, value: Any) -> float:
    if isinstance(value, tuple | list | set) and len(value) == 2:
        raise InputError(
            f"given {variable.name!r}: an interval cannot be given, only a number. Intervals are "
            f"asked for: net.probability({{{variable.name!r}: (low, high)}}, given=...).",
            variable=variable.name,
        )
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value)):
        raise InputError(
            f"given {variable.name!r}: a number is wanted for a continuous variable, got "
            f"{value!r}.",
            variable=variable.name,
        )
    return float(value)


def _check_numbers(owner: str, values: Any) -> None:
    is_mapping = isinstance(values, Mapping)
    if not (is_mapping and all(isinstance(x, numbers.Real) for x in values.values())):
        raise InputError(
            f"{owner}: a number for each state is wanted, such as {{'yes': 0.9, 'no': 0.1}}; "
            f"got {values!r}.",
            parameter="values",
        )


def _states(variable: Variable, value: Collection[Any]) -> Collection[Any]:
    if isinstance(value, Mapping):
        raise InputError(
            f"given {variable.name!r}: say what the numbers mean, cs.Likelihood({{...}}) or "
            "cs.Soft({...}).",
            variable=variable.name,
        )
    if len(value) == 0:
        raise InputError(
            f"given {variable.name!r}: a set of states must not be empty.", variable=variable.name
        )
    return value


def _vector(variable: Variable, values: Mapping[Any, float], kind: str) -> Floats:
    vector = np.zeros(variable.n_states)
    codes = [variable.code(state) for state in values]
    if len(set(codes)) < len(codes):
        raise InputError(
            f"given {variable.name!r}: a {kind} names a state twice: {dict(values)}.",
            variable=variable.name,
        )
    for code, number in zip(codes, values.values(), strict=True):
        vector[code] = number if number < LARGEST_LIKELIHOOD else np.inf
    if not (np.all(np.isfinite(vector)) and np.all(vector >= 0) and vector.any()):
        raise InputError(
            f"given {variable.name!r}: a {kind} must have numbers of zero or more, at least one "
            f"of them positive; got {dict(values)}.",
            variable=variable.name,
        )
    return vector


def _distribution(variable: Variable, values: Mapping[Any, float]) -> Floats:
    vector = _vector(variable, values, "distribution")
    if abs(vector.sum() - 1) > 1e-9:
        raise InputError(
            f"given {variable.name!r}: soft evidence must sum to one, got {vector.sum():.10g}.",
            variable=variable.name,
        )
    return vector / vector.sum()
