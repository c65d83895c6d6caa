"""The noun :class:`Factor`: an array whose axes are variables and whose entries go by state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.errors import InputError
from consilience.network.propagation_report import PropagationReport

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Factor"]

SHOWN = 40


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Factor:
    """A labelled array: the answer to a query.

    Parameters
    ----------
    variables
        One for each axis.
    values
        Numbers, shape ``(states of each variable...)``.
    standard_errors
        Of the values, if they were estimated from draws; None if they are exact.
    effective_size
        How many independent draws the weighted ones are worth; None if the values are exact.
    propagation
        Of an answer by loopy propagation, whether its messages settled.

    Examples
    --------
    >>> belief = Factor((Variable("lung", ("yes", "no")),), np.array([0.1, 0.9]))
    >>> belief["yes"]
    0.1
    """

    variables: tuple[Variable, ...]
    values: Floats
    standard_errors: Floats | None = None
    effective_size: float | None = None
    propagation: PropagationReport | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))
        _freeze.own(self)
        wanted = tuple([variable.n_states for variable in self.variables])
        if self.values.shape != wanted:
            raise InputError(
                f"a factor over {_check.listed(self.names)} must have shape {wanted}, "
                f"got {self.values.shape}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the axes."""
        return tuple(variable.name for variable in self.variables)

    @property
    def states(self) -> Mapping[str, tuple[str, ...]]:
        """The states of each variable, by name."""
        return _freeze.FrozenMap({v.name: v.discrete_states for v in self.variables})

    def __getitem__(self, states: Any) -> float:
        """The entry for one state of each variable, in their order: ``joint["yes", "no"]``."""
        given = states if isinstance(states, tuple) else (states,)
        if len(given) != len(self.variables):
            raise InputError(
                f"this factor needs one state for each of {_check.listed(self.names)}; "
                f"got {len(given)}."
            )
        place = tuple(v.code(state) for v, state in zip(self.variables, given, strict=True))
        return float(self.values[place])

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with a column for each variable and the column ``probability``."""
        pd = _check.extra("pandas", "pandas", "Factor.to_frame")
        rows = list(product(*self.states.values()))
        columns = {name: [row[i] for row in rows] for i, name in enumerate(self.names)}
        return pd.DataFrame({**columns, "probability": self.values.ravel()})

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def __repr__(self) -> str:
        return f"Factor over {_check.listed(self.names)}\n{self}"

    def __str__(self) -> str:
        rows = [self._head(), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        report = [] if self.propagation is None else [str(self.propagation)]
        return "\n".join([*lines, *self._cut(), *report])

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _head(self) -> tuple[str, ...]:
        errors = () if self.standard_errors is None else ("standard error",)
        return (*self.names, "probability", *errors)

    def _rows(self) -> list[tuple[str, ...]]:
        states = islice(product(*self.states.values()), SHOWN)
        numbers = self.values.ravel()[:SHOWN]
        rows = [(*state, f"{number:.7g}") for state, number in zip(states, numbers, strict=True)]
        if self.standard_errors is None:
            return rows
        errors = self.standard_errors.ravel()[:SHOWN]
        return [(*row, f"{error:.2g}") for row, error in zip(rows, errors, strict=True)]

    def _cut(self) -> list[str]:
        left_out = self.values.size - SHOWN
        return [f"... and {left_out:,} more"] if left_out > 0 else []
