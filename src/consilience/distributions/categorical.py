r"""The local distribution of a discrete variable with discrete parents.

.. math:: \theta_{jk} = P(X = k \mid \mathrm{Pa} = j), \qquad \sum_k \theta_{jk} = 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.errors import ModelError

__all__ = ["Categorical", "Posterior", "proportions"]

TOLERANCE = 1e-9  # rounding of a sum over a few hundred states is below 1e-13


class Posterior(Protocol):
    """What is known about a table beyond its entries; arrays have the shape of the table."""

    def variance(self) -> Floats:
        """Posterior variance of every entry."""
        ...

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every entry."""
        ...

    def draw(self, rng: np.random.Generator) -> Floats:
        """One table drawn from the posterior."""
        ...

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Tables drawn from the posterior, without end."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Categorical:
    """P(child | parents) as a table.

    Parameters
    ----------
    child
        The variable whose distribution this is.
    given
        The parents, one axis of the table each, in this order.
    table
        Probabilities; shape ``(states of each parent..., states of the child)``; the last axis sums
        to one.
    posterior
        The posterior of the table, if the estimator that made it has one.
    """

    child: Variable
    given: tuple[Variable, ...]
    table: Floats
    posterior: Posterior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", tuple(self.given))
        object.__setattr__(self, "table", np.asarray(self.table, dtype=np.float64, order="C"))
        _freeze.own(self)
        self._check_shape()
        self._check_rows()

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents, in the order of the axes."""
        return tuple(parent.name for parent in self.given)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: parent states times (states - 1)."""
        return self.table.size - self.table.size // self.child.n_states

    @property
    def parameters(self) -> Floats:
        """The table: what the posterior is about."""
        return self.table

    def with_parameters(self, parameters: Floats) -> Categorical:
        """The distribution with this table."""
        return Categorical(self.child, self.given, parameters)

    @property
    def rows(self) -> Floats:
        """The same table with one row per parent state: shape (parent states, states)."""
        return self.table.reshape(-1, self.child.n_states)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def __repr__(self) -> str:
        from consilience.show.text import local_text

        return local_text(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _check_shape(self) -> None:
        wanted = tuple(variable.n_states for variable in (*self.given, self.child))
        if self.table.shape != wanted:
            raise ModelError(
                f"the table of {self.child.name!r} given {list(self.parents)} must have shape "
                f"{wanted}, got {self.table.shape}.",
                variable=self.child.name,
            )
        names = (*self.parents, self.child.name)
        if len(set(names)) < len(names):
            raise ModelError(
                f"the family of {self.child.name!r} names a variable twice: {list(names)}.",
                variable=self.child.name,
            )

    def _check_rows(self) -> None:
        rows = self.rows
        off = np.abs(rows.sum(axis=1) - 1)
        if not (off.max() <= TOLERANCE and rows.min() >= 0):
            bad = ~(off <= TOLERANCE) | ~np.all(rows >= 0, axis=1)
            row = int(np.flatnonzero(bad)[0])
            raise ModelError(
                f"the table of {self.child.name!r} is not a distribution{self._where(row)}: "
                f"{_shown(rows[row])} (sum {rows[row].sum():.10g}). Entries must be zero or "
                "more and sum to one.",
                variable=self.child.name,
                row=row,
            )

    def _where(self, row: int) -> str:
        codes = np.unravel_index(row, self.table.shape[:-1]) if self.given else ()
        states = [
            f"{parent.name}={parent.discrete_states[code]}"
            for parent, code in zip(self.given, codes, strict=True)
        ]
        return f" given {', '.join(states)}" if states else ""


def proportions(rows: Floats) -> Floats:
    """Rows divided by their sums; a row without counts is uniform."""
    totals = rows.sum(axis=1, keepdims=True)
    uniform = np.full_like(rows, 1 / rows.shape[1])
    return np.divide(rows, totals, out=uniform, where=totals > 0)


def _shown(row: Floats) -> str:
    shown = ", ".join(f"{entry:.6g}" for entry in row[:8])
    return f"[{shown}{', ...' if len(row) > 8 else ''}]"
