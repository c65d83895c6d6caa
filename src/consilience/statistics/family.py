"""The noun :class:`Family`: a child with its parents, by name."""

from __future__ import annotations

from dataclasses import dataclass

from consilience import _check
from consilience.errors import GraphError

__all__ = ["Family"]


@dataclass(frozen=True, slots=True)
class Family:
    """A child and its parents; the order of the parents is the order of the axes of their tables.

    Examples
    --------
    >>> Family("lung", ("smoke",)).variables
    ('smoke', 'lung')
    """

    child: str
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: object = self.parents
        if isinstance(given, str):
            raise GraphError(
                f"the parents of {self.child!r} must be a list of names, got the text {given!r}.",
                child=self.child,
            )
        object.__setattr__(self, "parents", tuple(self.parents))
        if len(set(self.variables)) < len(self.variables):
            raise GraphError(
                f"the family of {self.child!r} with the parents {_check.listed(self.parents)} "
                "names a variable twice.",
                child=self.child,
            )

    @property
    def variables(self) -> tuple[str, ...]:
        """The parents in order, then the child."""
        return (*self.parents, self.child)
