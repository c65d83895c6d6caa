"""A question as numbers: the belief in states, the probability of an event, a mean and an sd."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.row import known_values
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference.estimate_ways import Way
from consilience.inference.evidence import evidence_of, names_of
from consilience.inference.queries import query as posterior
from consilience.network.factor import Factor
from consilience.network.network import Given, Network

__all__ = ["Asked"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What is asked of a network.

    Parameters
    ----------
    owner
        The verb, for messages.
    words
        The question in words.
    names
        The variables.
    states
        What the numbers of the answer are about.
    weights
        Of an event, shape (states of each variable...); None if every joint state is asked for.
    """

    owner: str
    words: str
    names: tuple[str, ...]
    states: tuple[str, ...]
    weights: Floats | None

    @classmethod
    def of(cls, owner: str, net: Network, query: object, given: Given) -> Asked:
        """Check a question: a name, names of discrete variables, or an event."""
        known = known_values(given, net.variables)
        if isinstance(query, Mapping):
            found = cls._event(owner, net, query)
        else:
            names = tuple(names_of(query))
            _check.known("node", names, net.variables)
            continuous = [n for n in names if net.variables[n].is_continuous]
            if continuous and len(names) > 1:
                raise InputError(
                    f"{owner}: the continuous variable {continuous[0]!r} is asked for alone.",
                    variable=continuous[0],
                )
            states = ("mean", "sd") if continuous else _joint_states(net, names)
            found = cls(owner, ", ".join(names), names, states, None)
        given_too = [name for name in found.names if name in known]
        if given_too or not found.names or len({*found.names}) < len(found.names):
            what = f"{given_too[0]!r} is given" if given_too else "each variable is named once"
            raise InputError(f"{owner}: {what}.", parameter="query")
        return found

    @classmethod
    def _event(cls, owner: str, net: Network, query: Mapping[str, Any]) -> Asked:
        event = evidence_of(net.variables, query)
        if event.values or event.soft or not event.names:
            raise InputError(
                f"{owner}: an event is states of discrete variables, such as {{'lung': 'yes'}}; "
                f"got {dict(query)!r}.",
                parameter="query",
            )
        weights = np.ones(())
        for name in event.names:
            r = net.variables[name].n_states
            vector = event.likelihoods.get(name, np.eye(r)[event.known.get(name, 0)])
            weights = weights[..., None] * vector
        words = ", ".join(f"{name}={state}" for name, state in query.items())
        return cls(owner, words, tuple(event.names), ("yes",), weights)

    def answer(self, net: Network, known: Mapping[str, Any], by: Way | None) -> Floats:
        """What a network says; shape (states,)."""
        found = posterior(net, list(self.names), known, by=by)
        if not isinstance(found, Factor):
            return np.array([found.mean, found.sd])
        return self.normalized(found.values[None], 0.0)[0]

    def normalized(self, weights: Floats, log_scale: float) -> Floats:
        """Shares of the joint states or of the event, by row; shape (rows, states)."""
        flat = weights.reshape(len(weights), -1)
        total = flat.sum(axis=1, keepdims=True)
        if log_scale == -math.inf or not (total > 0).all():
            raise ImpossibleEvidenceError(
                f"{self.owner}: what is given has probability zero, in the network or in one that "
                "was drawn from its posterior."
            )
        if self.weights is None:
            return np.asarray(flat / total)
        return np.asarray((flat @ self.weights.reshape(-1, 1)) / total)


def _joint_states(net: Network, names: Sequence[str]) -> tuple[str, ...]:
    states = [net.variables[name].discrete_states for name in names]
    return tuple(", ".join(each) for each in product(*states))
