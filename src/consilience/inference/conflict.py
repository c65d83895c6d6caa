"""The error for evidence of probability zero; it names a part that is impossible already."""

from __future__ import annotations

from itertools import combinations
from typing import NoReturn

from consilience import _check
from consilience._typing import Bools, Integers
from consilience.errors import ImpossibleEvidenceError
from consilience.inference.event import shortened
from consilience.inference.event_nodes import is_event
from consilience.inference.evidence import Evidence
from consilience.inference.known_rows import rows_of
from consilience.inference.solving import families_of, is_possible
from consilience.network.network import Network

__all__ = ["refuse_impossible", "refuse_impossible_rows"]

MOST_PAIRS = 300  # queries that are spent on finding a smallest conflict
MOST_DELETIONS = 60


def refuse_impossible(net: Network, evidence: Evidence, memory_limit: float) -> NoReturn:
    """Raise, naming a smallest conflict of up to two findings, else a minimal one."""
    names = _conflict(net, evidence, memory_limit)
    findings = ", ".join(_finding(net, evidence, name) for name in names)
    what = (
        "what is given is impossible" if len(names) > 1 else "one finding is impossible by itself"
    )
    raise ImpossibleEvidenceError(
        f"{what}: {findings} has probability zero under the network.", conflict=names
    )


def refuse_impossible_rows(numbers: Integers, is_impossible: Bools, so_that: str = "") -> None:
    """Raise if a row is impossible, naming the first by its number, which counts from zero."""
    if is_impossible.any():
        row = int(numbers[is_impossible].min()) + 1
        raise ImpossibleEvidenceError(
            f"row {row} has probability zero under the network{so_that}.", row=row
        )


def _conflict(net: Network, evidence: Evidence, memory_limit: float) -> tuple[str, ...]:
    names = evidence.names

    def is_impossible(part: tuple[str, ...]) -> bool:
        rows = rows_of(net, evidence.only(part))
        families = families_of(net, rows.names, rows.observed, ()).every
        return not is_possible(net, rows, families, memory_limit=memory_limit)

    if len(names) * (len(names) + 1) // 2 <= MOST_PAIRS:
        for size in (1, 2):
            for part in combinations(names, size):
                if is_impossible(part):
                    return part
    if len(names) > MOST_DELETIONS:
        return names
    for name in names:
        fewer = tuple(other for other in names if other != name)
        if is_impossible(fewer):
            names = fewer
    return names


def _finding(net: Network, evidence: Evidence, name: str) -> str:
    variable = net.variables[name]
    if name in evidence.values:
        return f"{name}={evidence.values[name]:g}"
    if name in evidence.known:
        state = variable.discrete_states[evidence.known[name]]
        return repr(shortened(name)) if is_event(variable, state) else f"{name}={state}"
    vector = evidence.likelihoods[name]
    states = [state for state, x in zip(variable.discrete_states, vector, strict=True) if x > 0]
    return f"{name} in ({_check.listed(states)})"
