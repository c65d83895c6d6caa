"""Posteriors as plain data, each kind with its way out and its way back.

A hierarchy is kept as its counts and its prior and is solved again when it is read, so that a file
holds nothing that follows from the rest. Those of regressions stand in ``normal_posteriors.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.distributions import (
    Categorical,
    Distribution,
    LinearGaussian,
    Logistic,
    Posterior,
)
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.distributions.laplace import LaplacePosterior
from consilience.distributions.normal_inverse_gamma import (
    NormalInverseGammaPosterior,
    TiedGaussianPosterior,
)
from consilience.errors import InputError, ModelError
from consilience.files import normal_posteriors as normal
from consilience.files.chain_posteriors import chain, chain_content
from consilience.files.objects import Content, shown
from consilience.parameters.chain_posterior import ChainPosterior
from consilience.parameters.hierarchical import VIEWS, HierarchicalPosterior
from consilience.parameters.hierarchy import solve
from consilience.parameters.stacked import StackedPosterior
from consilience.parameters.strength import Gamma, PerState, Strength

__all__ = ["posterior_from", "to_content"]

MOST_ROWS = 2.0**53  # whole numbers beyond are not distinct


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of posterior becomes plain data and comes back to parameters of this shape."""

    posterior: type
    owner: type[Distribution]
    to_content: Callable[[Any], dict[str, Any]]
    from_content: Callable[[Content, tuple[int, ...]], Posterior]


def to_content(local: Distribution) -> dict[str, Any] | None:
    """The posterior of a distribution as plain data; None if it has none."""
    return None if local.posterior is None else _content(local.posterior, local.child.name)


def _content(posterior: Posterior, variable: str) -> dict[str, Any]:
    if type(posterior) is StackedPosterior:
        return {"kind": STACKED, "parts": [_content(part, variable) for part in posterior.parts]}
    for name, kind in POSTERIORS.items():
        if type(posterior) is kind.posterior:
            return {"kind": name, **kind.to_content(posterior)}
    raise ModelError(
        f"the posterior of {variable!r} is a {type(posterior).__name__}, which JSON "
        f"cannot hold; known: {_check.listed([*POSTERIORS, STACKED])}.",
        variable=variable,
    )


def posterior_from(
    content: Content, shape: tuple[int, ...], owner: type[Distribution]
) -> Posterior:
    """The posterior that plain data describe, of a distribution with parameters of this shape."""
    kind = content.take("kind", str)
    known = [name for name, one in POSTERIORS.items() if one.owner is owner]
    if kind == STACKED:
        return _stacked(content, shape, owner)
    if kind not in known:
        raise content.fault(
            f"unknown kind of posterior {kind!r}; known: {_check.listed([*known, STACKED])}"
        )
    try:
        return POSTERIORS[kind].from_content(content, shape)
    except InputError as problem:
        if problem.culprits.get("file") == content.file:
            raise
        raise content.fault(str(problem).rstrip(".")) from problem


def _dirichlet_content(posterior: DirichletPosterior) -> dict[str, Any]:
    return {"concentration": posterior.concentration.ravel().tolist()}


def _dirichlet(content: Content, shape: tuple[int, ...]) -> DirichletPosterior:
    return DirichletPosterior(content.array("concentration", shape))


def _hierarchical_content(posterior: HierarchicalPosterior) -> dict[str, Any]:
    hierarchy = posterior.hierarchy
    return {
        "view": posterior.view,
        "counts_shape": list(hierarchy.counts.shape),
        "counts": hierarchy.counts.ravel().tolist(),
        "alpha0": _one_or_all(hierarchy.alpha0.tolist()),
        "strength": _strength_content(hierarchy.strength),
    }


def _hierarchical(content: Content, shape: tuple[int, ...]) -> HierarchicalPosterior:
    view = content.take("view", str)
    if view not in VIEWS:
        raise content.fault(f"unknown view {view!r}; known: {_check.listed(VIEWS)}")
    possible = _shapes(view, shape)
    if (found := content.take("counts_shape", list)) not in possible:
        known = " or ".join(map(str, possible))
        raise content.fault(f"'counts_shape' must be {known}, found {shown(str(found))}")
    counts = content.array("counts", tuple(possible[possible.index(found)]))
    if not (counts.min() >= 0 and counts.max() <= MOST_ROWS):
        raise content.fault("'counts' must lie between 0 and 2^53")
    hierarchy = solve(counts, _strength(content), _alpha0(content, counts.shape[-1]))
    return HierarchicalPosterior(view, hierarchy, shape)


def _alpha0(content: Content, n_states: int) -> float | Floats:
    if isinstance(content.fields.get("alpha0"), list):
        each = content.array("alpha0", (n_states,))
        content.within("alpha0", each)
        return each
    return content.within("alpha0", np.array([content.number("alpha0")])).item()


def _one_or_all(numbers: list[float]) -> float | list[float]:
    """One number if all are equal."""
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _stacked(
    content: Content, shape: tuple[int, ...], owner: type[Distribution]
) -> StackedPosterior:
    parts: list[Any] = content.take("parts", list)
    if len(shape) < 2 or len(parts) != shape[0]:
        wanted = shape[0] if len(shape) > 1 else "no"
        raise content.fault(f"'parts' must be a list of {wanted} posteriors, found {len(parts)}")
    known = (Content.of(part, content.file, content.where) for part in parts)
    return StackedPosterior(tuple(posterior_from(part, shape[1:], owner) for part in known))


def _shapes(view: str, shape: tuple[int, ...]) -> list[list[int]]:
    """Shapes that counts (batches, groups, states) may have in a view of a table of this shape.

    The source, if there is one, is the first axis of the table.
    """
    r, n_rows = shape[-1], math.prod(shape[:-1])
    n_sources = {1, shape[0]} if len(shape) > 1 else {1}
    if view == "parents as groups":
        return [[1, n_rows, r]]
    if view == "joint states":
        return [[1, n, n_rows // n * r] for n in sorted(n_sources)]
    return [[n_rows // n, n, r] for n in sorted(n_sources)]


def _strength_content(strength: Strength) -> dict[str, list[float]]:
    if isinstance(strength, PerState):
        return {"per_state": [float(strength.weight)]}
    if isinstance(strength, Gamma):
        return {"gamma": [float(strength.shape), float(strength.rate)]}
    return {"s": [float(strength)]}


def _strength(content: Content) -> Strength:
    strength = content.inner("strength")
    ways = [way for way in STRENGTHS if way in strength.fields]
    if len(ways) != 1 or len(strength.floats(ways[0])) != STRENGTHS[ways[0]]:
        raise content.fault(
            '\'strength\' must be one of {"s": [x]}, {"per_state": [x]}, {"gamma": [x, y]}'
        )
    numbers = content.within(ways[0], strength.floats(ways[0])).tolist()
    if ways[0] == "s":
        return numbers[0]
    return PerState(*numbers) if ways[0] == "per_state" else Gamma(*numbers)


STACKED = "stacked"
"""The kind of independent posteriors along the first axis, of any distribution."""

POSTERIORS: Mapping[str, _Kind] = {
    "dirichlet": _Kind(DirichletPosterior, Categorical, _dirichlet_content, _dirichlet),
    "hierarchical": _Kind(HierarchicalPosterior, Categorical, _hierarchical_content, _hierarchical),
    "chain": _Kind(ChainPosterior, Categorical, chain_content, chain),
    "normal inverse gamma": _Kind(
        NormalInverseGammaPosterior,
        LinearGaussian,
        normal.normal_inverse_gamma_content,
        normal.normal_inverse_gamma,
    ),
    "tied gaussian": _Kind(
        TiedGaussianPosterior, LinearGaussian, normal.tied_gaussian_content, normal.tied_gaussian
    ),
    "laplace": _Kind(LaplacePosterior, Logistic, normal.laplace_content, normal.laplace),
}

STRENGTHS = {"s": 1, "per_state": 1, "gamma": 2}
"""Ways to say a strength, and how many numbers each needs."""
