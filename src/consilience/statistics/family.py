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

    def with_parent(self, parent: str) -> Family:
        """The family with one more parent, last in order."""
        return Family(self.child, (*self.parents, parent))
