"""Questions for one source, for all of them, or for the difference between two.

A question about one source has it among what is given; without it the sources are summed out.
``between=("a", "b")`` asks the question of both: every number of the answer is that of ``a`` less
that of ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consilience import _check
from consilience.data.row import known_values
from consilience.data.variable import NEW_SOURCE
from consilience.errors import InputError
from consilience.network.network import Given, Network

__all__ = ["Between", "asked_of", "known_sources", "value_text"]

Between = tuple[str, str]
"""Two sources: the numbers are those of the first less those of the second."""


def asked_of(net: Network, given: Given, between: Sequence[str] | None) -> list[dict[str, Any]]:
    """What is given in each of the questions: one, or one for each of two sources."""
    known = {name: _single(value) for name, value in known_values(given, net.variables).items()}
    if between is None:
        return [known]
    if net.source is None:
        raise InputError(
            "between: this network has no source, so that there are no two to compare.",
            parameter="between",
        )
    if net.source in known:
        raise InputError(
            f"between: the source {net.source!r} is given already; leave it out.",
            variable=net.source,
        )
    states = net.variables[net.source].discrete_states
    is_pair = isinstance(between, list | tuple) and len(between) == 2 and between[0] != between[1]
    if not is_pair:
        raise InputError(
            f"between: two sources are wanted, such as {tuple(states[:2])!r}; got {between!r}.",
            parameter="between",
        )
    _check.known("source", between, states)
    return [{**known, net.source: one} for one in between]


def known_sources(net: Network) -> tuple[str, ...]:
    """The states of the source node but for ``new_source``; empty without one."""
    if net.source is None:
        return ()
    states = net.variables[net.source].discrete_states
    return tuple(state for state in states if state != NEW_SOURCE)


def _single(value: Any) -> Any:
    """One state instead of a set of one."""
    is_set = isinstance(value, set | frozenset | list | tuple)
    return next(iter(value)) if is_set and len(value) == 1 else value


def value_text(value: Any) -> str:
    """What is given about one variable, in words."""
    numbers = getattr(value, "values", None)
    if isinstance(numbers, Mapping):
        return ", ".join(f"{state}: {x:g}" for state, x in numbers.items())
    if isinstance(value, set | frozenset | list | tuple):
        return " or ".join(sorted(map(str, value)))
    return f"{value:g}" if isinstance(value, float) else str(value)
