"""The noun :class:`MixedBelief`: the joint posterior of discrete and continuous variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience.errors import InputError
from consilience.network.factor import Factor
from consilience.network.mixture import Mixture

__all__ = ["MixedBelief"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MixedBelief:
    """P(discrete) and P(continuous | discrete): the answer to a query about both kinds.

    Parameters
    ----------
    discrete
        The joint posterior of the discrete variables.
    mixtures
        For each joint state of them that is possible, by its codes, the posterior of the continuous
        variables.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> ill = Factor((Variable("ill", ("no", "yes")),), np.array([0.8, 0.2]))
    >>> low, high = (Mixture(("bp",), [1.0], [[m]], [[[9.0]]]) for m in (110, 140))
    >>> belief = MixedBelief(ill, {(0,): low, (1,): high})
    >>> belief.discrete["yes"], belief["yes"].mean, belief.continuous.mean
    (0.2, 140.0, 116.0)
    """

    discrete: Factor
    mixtures: Mapping[tuple[int, ...], Mixture]

    def __post_init__(self) -> None:
        _freeze.own(self)
        possible = {tuple(map(int, at)) for at in np.argwhere(self.discrete.values > 0)}
        if not self.mixtures or not possible <= set(self.mixtures):
            raise InputError("a mixed belief needs a mixture for every state that is possible.")
        if len({mixture.names for mixture in self.mixtures.values()}) > 1:
            raise InputError("the mixtures of a mixed belief must be over the same variables.")

    @property
    def names(self) -> tuple[str, ...]:
        """The discrete variables and then the continuous ones."""
        return (*self.discrete.names, *next(iter(self.mixtures.values())).names)

    def __getitem__(self, states: Any) -> Mixture:
        """The continuous variables given one state of each discrete one: ``belief["yes"]``."""
        given = states if isinstance(states, tuple) else (states,)
        probability = self.discrete[given]  # refuses what is no state
        variables = self.discrete.variables
        place = tuple(v.code(state) for v, state in zip(variables, given, strict=True))
        if probability == 0 or place not in self.mixtures:
            raise InputError(
                f"{_check.listed(given)} has probability zero, so that "
                f"{_check.listed(self.names[len(given) :])} has no distribution given it."
            )
        return self.mixtures[place]

    @property
    def continuous(self) -> Mixture:
        """The continuous variables whatever the discrete ones are."""
        parts = [(self.discrete.values[at], mixture) for at, mixture in self.mixtures.items()]
        parts = [(weight, mixture) for weight, mixture in parts if weight > 0]
        weights = np.concatenate([weight * mixture.weights for weight, mixture in parts])
        return Mixture(
            parts[0][1].names,
            weights / weights.sum(),
            np.concatenate([mixture.means for _, mixture in parts]),
            np.concatenate([mixture.covariances for _, mixture in parts]),
            effective_size=self.discrete.effective_size,
        )

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        continuous = next(iter(self.mixtures.values())).names
        return (
            f"MixedBelief over {_check.listed(self.discrete.names)} and "
            f"{_check.listed(continuous)}\n{self.discrete}\n{self.continuous}"
        )
