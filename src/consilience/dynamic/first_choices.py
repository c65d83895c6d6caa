"""What the first slices of a network in time are taken to be when it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from consilience import _check
from consilience.errors import InputError
from consilience.network.network import Network

__all__ = ["Conditional", "Diffuse", "Estimated", "Initial", "Stationary", "check_initial"]


@dataclass(frozen=True, slots=True)
class Estimated:
    """The first slices have distributions of their own, estimated from the first steps of all
    sequences; many sequences are needed to tell them.
    """


@dataclass(frozen=True, slots=True)
class Conditional:
    """The first steps of recorded nodes are given: they have no likelihood and no parameters.

    Hidden nodes still have a law there, and recorded ones that depend on them their likelihood.
    """


@dataclass(frozen=True, slots=True)
class Stationary:
    """The first slices have the law that the transition leaves as it is.

    The transition is estimated first; then the law follows from it.
    """


@dataclass(frozen=True, slots=True)
class Diffuse:
    """Hidden continuous nodes have in their first slices, each by itself, mean zero and this
    variance, which says as good as nothing if it is large beside what the values tell. All other
    nodes are as in :class:`Conditional`.
    """

    variance: float = 1e6

    def __post_init__(self) -> None:
        _check.positive("Diffuse", variance=self.variance)


Initial: TypeAlias = Estimated | Conditional | Diffuse | Stationary | Network
"""What the first slices are: a choice, or a network over ``x(0)`` and so on that is kept."""


def check_initial(initial: object) -> None:
    """Refuse what is no choice for the first slices."""
    if initial is not None and not isinstance(
        initial, Estimated | Conditional | Diffuse | Stationary | Network
    ):
        raise InputError(
            "fit: initial must be cs.dynamic.Estimated(), cs.dynamic.Conditional(), "
            "cs.dynamic.Diffuse(), cs.dynamic.Stationary() or a network of the first slices, got "
            f"{initial!r}.",
            parameter="initial",
        )
