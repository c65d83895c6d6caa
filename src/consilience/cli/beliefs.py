"""Beliefs on the screen and as plain data: of states, of numbers, and of both together.

A continuous node has a mixture of normal distributions; its mean, its sd and a few quantiles are
printed, and the standard error of the mean if the answer was estimated from draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from consilience.cli.common import grid_of, print_facts, screen

if TYPE_CHECKING:
    from rich.console import Console

    import consilience as cs

    Belief: TypeAlias = cs.Factor | cs.Mixture | cs.MixedBelief

__all__ = ["facts_of_given", "number", "plain_belief", "plain_given", "print_belief"]

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)


def print_belief(belief: Belief) -> None:
    """Print a belief of any kind as tables."""
    import consilience as cs

    console = screen()
    if isinstance(belief, cs.Factor):
        _print_states(console, belief)
    elif isinstance(belief, cs.Mixture):
        _print_numbers(console, belief)
    else:
        _print_both(console, belief)


def plain_belief(belief: Belief) -> dict[str, Any]:
    """A belief of any kind as lists and numbers."""
    import consilience as cs

    if isinstance(belief, cs.Factor):
        return {"query": list(belief.names), "probabilities": _plain_states(belief)}
    if isinstance(belief, cs.Mixture):
        return {"query": list(belief.names), **_plain_numbers(belief)}
    states = _plain_states(belief.discrete)
    for entry, (_, mixture) in zip(states, _parts(belief), strict=True):
        entry["continuous"] = None if mixture is None else _plain_marginals(mixture)
    return {
        "query": list(belief.names),
        "probabilities": states,
        **_plain_numbers(belief.continuous),
    }


def facts_of_given(net: cs.Network, known: Mapping[str, Any], log_given: float) -> dict[str, str]:
    """How probable what is given is; of numbers there is a density, whose unit is theirs."""
    if _has_numbers(net, known):
        return {"log density(given)": f"{log_given:.7g}"}
    return {"P(given)": f"{math.exp(log_given):.7g}", "log P(given)": f"{log_given:.7g}"}


def plain_given(net: cs.Network, known: Mapping[str, Any], log_given: float) -> dict[str, Any]:
    """What is given, and how probable it is, as plain data."""
    what = "density" if _has_numbers(net, known) else "probability"
    return {"given": dict(known), f"log_{what}_of_given": log_given}


def number(value: float) -> str:
    """A number of the data, seven digits."""
    return f"{value:.7g}"


def _has_numbers(net: cs.Network, known: Iterable[str]) -> bool:
    return any(net.variables[name].is_continuous for name in known)


def _print_states(console: Console, belief: cs.Factor) -> None:
    header = (*belief.names, *_heading(belief))
    rows = [(*states, *cells) for (states, _), cells in zip(*_shown(belief), strict=True)]
    console.print(grid_of(header, rows, n_left=len(header)))
    _print_effort(console, belief.effective_size)


def _print_numbers(console: Console, belief: cs.Mixture) -> None:
    header = ("node", "mean", "sd", *(f"{100 * p:g} %" for p in QUANTILES))
    if belief.standard_errors is not None:
        header = (*header, "standard error")
    rows = []
    for each in _plain_marginals(belief):
        numbers = (each["mean"], each["sd"], *each["quantiles"].values())
        error = (f"{each['standard_error']:.2g}",) if "standard_error" in each else ()
        rows.append((each["node"], *map(number, numbers), *error))
    console.print(grid_of(header, rows))
    if len(belief.names) > 1:
        _print_correlations(console, belief)
    console.print()
    if belief.effective_size is None:
        print_facts(console, {"distribution": _shape(belief)})
    _print_effort(console, belief.effective_size, blank=False)


def _shape(belief: cs.Mixture) -> str:
    n = belief.n_components
    if n > 1:
        return f"mixture of {n:,} normal distributions"
    return "normal" if belief.covariance.any() else "certain"


def _print_correlations(console: Console, belief: cs.Mixture) -> None:
    sds = belief.sd
    rows = [
        (
            name,
            *(
                f"{belief.covariance[i, j] / (sds[i] * sds[j]):.4f}" if sds[i] * sds[j] else "-"
                for j in range(i + 1)
            ),
            *("" for _ in range(i + 1, len(sds))),
        )
        for i, name in enumerate(belief.names)
    ]
    console.print("\nCorrelations:")
    console.print(grid_of(("", *belief.names), rows))


def _print_both(console: Console, belief: cs.MixedBelief) -> None:
    continuous = belief.names[len(belief.discrete.names) :]
    moments = [f"{what} of {name}" for name in continuous for what in ("mean", "sd")]
    header = (*belief.discrete.names, *_heading(belief.discrete), *moments)
    rows = []
    _, shown = _shown(belief.discrete)
    for ((states, _), mixture), shares in zip(_parts(belief), shown, strict=True):
        if mixture is None:
            cells = ["-"] * len(moments)
        else:
            found = _plain_marginals(mixture, quantiles=())
            cells = [number(each[what]) for each in found for what in ("mean", "sd")]
        rows.append((*states, *shares, *cells))
    console.print(grid_of(header, rows, n_left=len(belief.discrete.names)))
    console.print("\nWhatever the states are:")
    _print_numbers(console, belief.continuous)


def _print_effort(console: Console, effective_size: float | None, *, blank: bool = True) -> None:
    if effective_size is not None:
        if blank:
            console.print()
        worth = f"from weighted draws that are worth {effective_size:,.0f} independent ones"
        print_facts(console, {"estimated": worth})


def _heading(belief: cs.Factor) -> tuple[str, ...]:
    return ("probability",) if belief.standard_errors is None else ("probability", "standard error")


def _shown(
    belief: cs.Factor,
) -> tuple[list[tuple[tuple[str, ...], float]], list[tuple[str, ...]]]:
    """The entries, and each one's probability as text, with its standard error if it has one."""
    entries = _entries(belief)
    shown: list[tuple[str, ...]] = [(f"{p:.7g}",) for _, p in entries]
    if belief.standard_errors is not None:
        errors = belief.standard_errors.ravel().tolist()
        shown = [(*cells, f"{error:.2g}") for cells, error in zip(shown, errors, strict=True)]
    return entries, shown


def _entries(belief: cs.Factor) -> list[tuple[tuple[str, ...], float]]:
    states = product(*belief.states.values())
    return list(zip(states, belief.values.ravel().tolist(), strict=True))


def _parts(
    belief: cs.MixedBelief,
) -> list[tuple[tuple[tuple[str, ...], float], cs.Mixture | None]]:
    """Each joint state with its probability, and the numbers given it unless it is impossible."""
    return [
        (entry, belief[entry[0]] if entry[1] > 0 else None) for entry in _entries(belief.discrete)
    ]


def _plain_states(belief: cs.Factor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"states": dict(zip(belief.names, states, strict=True)), "probability": p}
        for states, p in _entries(belief)
    ]
    if belief.standard_errors is not None:
        for entry, error in zip(found, belief.standard_errors.ravel().tolist(), strict=True):
            entry["standard_error"] = error
    return found


def _plain_numbers(belief: cs.Mixture) -> dict[str, Any]:
    return {
        "continuous": _plain_marginals(belief),
        "covariance": belief.covariance.tolist(),
        "components": belief.n_components,
        "effective_size": belief.effective_size,
    }


def _plain_marginals(
    belief: cs.Mixture, quantiles: tuple[float, ...] = QUANTILES
) -> list[dict[str, Any]]:
    found = []
    for name in belief.names:
        one = belief.marginal(name)
        entry: dict[str, Any] = {"node": name, "mean": one.mean, "sd": one.sd}
        if quantiles:
            entry["quantiles"] = {f"{p:g}": one.quantile(p) for p in quantiles}
        if one.standard_errors is not None:
            entry["standard_error"] = float(one.standard_errors[0])
        found.append(entry)
    return found
