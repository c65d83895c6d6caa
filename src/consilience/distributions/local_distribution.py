"""What all local distributions have in common: a child, parents, and their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consilience.data.variable import Variable
from consilience.errors import ModelError

__all__ = ["check_names", "kinds"]


def kinds(variables: Iterable[Variable]) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """The discrete and the continuous ones, each in their order."""
    every = tuple(variables)
    return (
        tuple(variable for variable in every if not variable.is_continuous),
        tuple(variable for variable in every if variable.is_continuous),
    )


def check_names(child: Variable, given: Sequence[Variable]) -> None:
    """Refuse a family that names a variable twice."""
    names = [variable.name for variable in (*given, child)]
    if len(set(names)) < len(names):
        raise ModelError(
            f"the family of {child.name!r} names a variable twice: {names}.", variable=child.name
        )
