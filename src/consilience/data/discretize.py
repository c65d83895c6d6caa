r"""Discretisation: choices that turn numbers into cut points, pooled over all sources.

Cut points :math:`c_1 < \dots < c_k` make :math:`k + 1` states, the intervals :math:`(-\infty, c_1),
[c_1, c_2), \dots, [c_k, \infty)`, closed on the left. They are kept in the variable, so the same
ones can be used on other data: ``cs.Cuts(heart.variables["chol"].cuts)``. Rows count by their
weight, and one of weight zero has no say; missing values have no say and stay missing; a column
without two different values gets one state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from consilience import _check
from consilience._typing import Codes, Floats
from consilience.data.labels import is_plain_number, label
from consilience.data.mdlp import mdl_cut_points
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable, increasing
from consilience.errors import DataError, InputError

if TYPE_CHECKING:
    from consilience.data.door import Rows

__all__ = [
    "MDLP",
    "Cuts",
    "Discretizer",
    "EqualWidth",
    "Quantiles",
    "check_choices",
    "cut",
    "discretize",
    "interval_labels",
    "numbers_of",
]

_ONLY_STATE = "any"


class Discretizer(Protocol):
    """A choice of cut points."""

    def cut_points(
        self, values: Floats, weights: Floats, target: Codes | None
    ) -> tuple[float, ...]:
        """Increasing cut points for values with their weights and target codes.

        None of the values is missing and none of the weights is zero.
        """
        ...


@dataclass(frozen=True, slots=True)
class EqualWidth:
    r"""Intervals of equal width between the smallest and the largest value; some may be empty.

    .. math:: c_i = x_{\min} + \frac{i}{b} (x_{\max} - x_{\min}), \quad i = 1, \dots, b - 1

    Parameters
    ----------
    bins
        Number of states :math:`b`, at least 2.
    """

    bins: int

    def __post_init__(self) -> None:
        _check.whole("EqualWidth", at_least=2, bins=self.bins)

    def cut_points(
        self, values: Floats, weights: Floats, target: Codes | None
    ) -> tuple[float, ...]:
        """Cut points at equal distances."""
        if not values.size:
            return ()
        low, high = float(values.min()), float(values.max())
        share = np.arange(1, self.bins) / self.bins
        points = low * (1 - share) + high * share  # high - low could overflow
        return tuple(np.unique(points[(points > low) & (points <= high)]).tolist())


@dataclass(frozen=True, slots=True)
class Quantiles:
    r"""Intervals that hold about the same weight of rows.

    A cut point is a value :math:`v` of the column, and cutting there puts the rows below :math:`v`
    on one side. For each :math:`i = 1, \dots, b - 1` the value is taken that puts a share as near
    as possible to :math:`i / b` below it. Where many rows are equal, several :math:`i` may take the
    same value; it is used once, and there are fewer states.

    Parameters
    ----------
    bins
        Number of states :math:`b`, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> Quantiles(4).cut_points(np.arange(100.0), np.ones(100), None)
    (25.0, 50.0, 75.0)
    """

    bins: int

    def __post_init__(self) -> None:
        _check.whole("Quantiles", at_least=2, bins=self.bins)

    def cut_points(
        self, values: Floats, weights: Floats, target: Codes | None
    ) -> tuple[float, ...]:
        """Cut points at values that split the weight most evenly."""
        distinct, inverse = np.unique(values, return_inverse=True)
        total = np.bincount(inverse, weights, minlength=len(distinct)).cumsum()
        if len(distinct) < 2 or total[-1] <= 0:
            return ()
        below = total[:-1] / total[-1]  # share below distinct[1:]
        shares = np.arange(1, self.bins) / self.bins
        right = np.searchsorted(below, shares).clip(0, len(below) - 1)
        left = (right - 1).clip(0)
        nearest = np.where(shares - below[left] < below[right] - shares, left, right)
        return tuple(distinct[np.unique(nearest) + 1].tolist())


@dataclass(frozen=True, slots=True)
class Cuts:
    """Cut points that are known.

    Parameters
    ----------
    points
        Increasing numbers; a number ``x`` falls in state ``k`` if exactly ``k`` of them are at or
        below it.
    labels
        Names of the states, one more than points; by default intervals such as ``"<120"`` and
        ``"[120, 140)"``. A name that is itself a number is refused: it could be mistaken for a
        value.

    Examples
    --------
    >>> Cuts([120, 140], labels=["low", "normal", "high"]).points
    (120.0, 140.0)
    """

    points: Sequence[float]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        points = increasing(self.points)
        if points is None:
            raise InputError(
                f"Cuts: points must be increasing numbers, got {self.points!r}.", parameter="points"
            )
        object.__setattr__(self, "points", points)
        given: Any = self.labels
        if given is None:
            return
        is_list = isinstance(given, Iterable) and not isinstance(given, str)
        labels = tuple(given) if is_list else ()
        are_names = all(isinstance(text, str) and not is_plain_number(text) for text in labels)
        if len(labels) != len(points) + 1 or not are_names:
            raise InputError(
                f"Cuts: {len(points)} points need {len(points) + 1} labels that are text and no "
                f"numbers, got {_check.listed(labels) if is_list else repr(given)}.",
                parameter="labels",
            )
        object.__setattr__(self, "labels", labels)

    @classmethod
    def from_variable(cls, variable: Variable) -> Cuts:
        """The cut points and states of a discretised variable."""
        if variable.cuts is None:
            raise InputError(
                f"variable {variable.name!r} has no cut points.", variable=variable.name
            )
        return cls(variable.cuts, variable.states)

    def cut_points(
        self, values: Floats, weights: Floats, target: Codes | None
    ) -> tuple[float, ...]:
        """The points themselves, whatever the values."""
        return tuple(self.points)


@dataclass(frozen=True, slots=True)
class MDLP:
    """Intervals that tell most about a discrete target, by minimum description length.

    The rule is in :mod:`consilience.data.mdlp`. Cut points lie halfway between neighbouring values.
    Rows whose target is missing have no say. A column that says nothing about the target gets one
    state. The time is that of sorting the column once; each split then costs the number of
    candidate cut points in its interval.

    Parameters
    ----------
    target
        Name of the discrete variable.
    """

    target: str

    def cut_points(
        self, values: Floats, weights: Floats, target: Codes | None
    ) -> tuple[float, ...]:
        """Cut points where the entropy of the target falls enough."""
        if target is None:
            raise InputError("MDLP needs the codes of its target.", parameter="target")
        known = target >= 0
        return mdl_cut_points(values[known], weights[known], target[known])


def discretize(table: Rows, choices: Mapping[str, Discretizer]) -> Table:
    """The table with these variables discretised.

    Parameters
    ----------
    table
        A table whose variables are continuous or have numbers for states; or a frame or path.
    choices
        For each variable how to find its cut points: :class:`EqualWidth`, :class:`Quantiles`,
        :class:`Cuts` or :class:`MDLP`, whose target may itself be discretised here by one of the
        others.

    Returns
    -------
    Table
        Ordered variables with ``cuts``; missing values stay missing.

    Examples
    --------
    >>> from consilience.data.read import read
    >>> table = discretize(read({"age": [20.5, 40.5, 60.5]}), {"age": Cuts([30, 50])})
    >>> table.variables["age"].states
    ('<30', '[30, 50)', '>=50')
    """
    from consilience.data.door import as_table  # which needs this module

    table = as_table(table)
    check_choices(choices)
    _check.known("variable", choices, table.variables)
    supervised = {name: choice for name, choice in choices.items() if isinstance(choice, MDLP)}
    for name, choice in choices.items():
        if name not in supervised:
            table = _discretized(table, name, choice, target=None)
    done = table
    for name, supervisor in supervised.items():
        target = _target(table, name, supervisor, supervised)
        done = _discretized(done, name, supervisor, target=target)
    return done


def check_choices(choices: Mapping[str, Any]) -> None:
    """Refuse what is not a choice of cut points for each of some columns."""
    if not isinstance(choices, Mapping):
        raise InputError(
            f"discretize must map columns to choices such as Quantiles(5), got {choices!r}.",
            parameter="discretize",
        )
    for name, choice in choices.items():
        if isinstance(choice, type) or not hasattr(choice, "cut_points"):
            raise InputError(
                f"discretize: {name!r} needs EqualWidth, Quantiles, Cuts or MDLP, got {choice!r}. "
                "Wrap known cut points as Cuts(points).",
                column=name,
            )


def cut(values: Floats, cuts: Sequence[float]) -> Codes:
    """State codes of numbers, -1 for NaN, by increasing cut points."""
    codes = np.searchsorted(np.array(cuts, dtype=np.float64), values, side="right")
    codes[np.isnan(values)] = -1
    return codes.astype(code_type(len(cuts) + 1))


def _discretized(table: Table, name: str, choice: Discretizer, *, target: Codes | None) -> Table:
    values = numbers_of(table, name)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    known = ~np.isnan(values) & (weights > 0)
    points = choice.cut_points(
        values[known], weights[known], None if target is None else target[known]
    )
    states = getattr(choice, "labels", None) or interval_labels(points)
    variable = Variable(name, states, ordered=True, cuts=points)
    return Table(
        schema=Schema({**table.variables, name: variable}, table.schema.source),
        columns={**table.columns, name: cut(values, points)},
        source_codes=table.source_codes,
        weights=table.weights,
        origins={**table.origins, name: f"discretised by {_in_words(choice)}"},
        remarks=table.remarks,
        of_source=table.of_source,
    )


def numbers_of(table: Table, name: str) -> Floats:
    """The numbers of a column that is continuous or has numbers for states; NaN where missing."""
    variable, column = table.variables[name], table.columns[name]
    if variable.is_continuous:
        return column
    if not all(map(is_plain_number, variable.discrete_states)):
        raise DataError(
            f"variable {name!r} cannot be discretised: its states are not numbers: "
            f"{_check.listed(variable.discrete_states)}.",
            column=name,
        )
    return np.array([*map(float, variable.discrete_states), np.nan])[column]


def _target(table: Table, name: str, choice: MDLP, supervised: Mapping[str, MDLP]) -> Codes:
    _check.known("variable", [choice.target], table.variables)
    if choice.target in supervised or table.variables[choice.target].is_continuous:
        raise DataError(
            f"MDLP for {name!r}: the target {choice.target!r} must be discrete before. "
            "Read it with discrete= or discretise it in another way.",
            column=name,
            target=choice.target,
        )
    return table.columns[choice.target]


def _in_words(choice: Any) -> str:
    """A choice in words: ``Quantiles(5)``."""
    values = [getattr(choice, field.name) for field in fields(choice)]
    if isinstance(choice, Cuts):
        values = [f"{point:g}" for point in choice.points[:4]]
        values += ["..."] if len(choice.points) > 4 else []
        return f"Cuts({', '.join(values)})"
    return f"{type(choice).__name__}({', '.join(map(repr, values))})"


def interval_labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Names of the intervals between cut points: ``"<120"``, ``"[120, 140)"``, ``">=140"``."""
    if not cuts:
        return (_ONLY_STATE,)
    texts = _short(cuts)
    inner = [f"[{a}, {b})" for a, b in pairwise(texts)]
    return (f"<{texts[0]}", *inner, f">={texts[-1]}")


def _short(cuts: Sequence[float]) -> list[str]:
    """Whole cut points in full, others to a thousandth of the smallest gap, six digits at least."""
    gap = min((b - a for a, b in pairwise(cuts)), default=math.inf)
    for digits in range(6, 17):
        rounded = [p if p.is_integer() else float(f"{p:.{digits}g}") for p in cuts]
        if all(abs(r - point) <= gap / 1000 for r, point in zip(rounded, cuts, strict=True)):
            return [label(point) for point in rounded]
    return [label(point) for point in cuts]
