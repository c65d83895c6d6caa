"""The posterior of a chain as plain data: its counts and its ways, from which all else follows.

A way has its order, its exponent, its two shares and, by level, strengths and their Gamma priors;
the axes are the source, if there is one, and the parents with more than one state.
"""

from __future__ import annotations

import math
from typing import Any

from consilience.files.objects import Content
from consilience.parameters.backoff import OTHER_PARENT, SOURCE, way_of
from consilience.parameters.chain_posterior import ChainPosterior, WeightedWay

__all__ = ["chain", "chain_content"]

MOST_ROWS = 2.0**53  # whole numbers beyond are not told apart
ROUNDING = 1e-6


def chain_content(posterior: ChainPosterior) -> dict[str, Any]:
    """The posterior as plain data."""
    return {
        "n_sources": posterior.n_sources,
        "pooled_share": posterior.pooled_share,
        "counts": posterior.rows.ravel().tolist(),
        "ways": [
            {
                "order": list(one.way.order),
                "rho": float(one.way.rho.max()),
                "shares": [one.share, one.share_unseen],
                "s": one.s.tolist(),
                "shapes": one.shapes.tolist(),
                "rates": one.rates.tolist(),
            }
            for one in posterior.ways
        ],
    }


def chain(content: Content, shape: tuple[int, ...]) -> ChainPosterior:
    """The posterior of a table of this shape that plain data describe."""
    n_sources = content.take("n_sources", int)
    if n_sources != 0 and not (len(shape) > 1 and n_sources == shape[0] - 1 > 0):
        most = f" or {shape[0] - 1}" if len(shape) > 1 else ""
        raise content.fault(f"'n_sources' must be 0{most}, found {n_sources}")
    given = shape[1:-1] if n_sources else shape[:-1]
    sizes = [*([n_sources] if n_sources else []), *(size for size in given if size > 1)]
    rows = content.array("counts", (math.prod(sizes), shape[-1]))
    if not (rows.min() >= 0 and rows.max() <= MOST_ROWS):
        raise content.fault("'counts' must lie between 0 and 2^53")
    parts: list[Any] = content.take("ways", list)
    known = (Content.of(part, content.file, content.where) for part in parts)
    ways = [_way(part, sizes, has_source=n_sources > 0) for part in known]
    for name, total in (
        ("share", sum(one.share for one in ways)),
        ("share of a new source", sum(one.share_unseen for one in ways) if n_sources else 1.0),
    ):
        if abs(total - 1.0) > ROUNDING:
            raise content.fault(f"'ways': the {name} must sum to one, found {total:g}")
    pooled_share = content.number("pooled_share")
    if not 0 <= pooled_share <= 1:
        raise content.fault("'pooled_share' must lie between 0 and 1")
    return ChainPosterior(rows, n_sources, tuple(_normalized(ways)), shape, pooled_share)


def _way(content: Content, sizes: list[int], *, has_source: bool) -> WeightedWay:
    order: list[Any] = content.take("order", list)
    if not all(type(axis) is int for axis in order) or sorted(order) != list(range(len(sizes))):
        raise content.fault(f"'order' must have the axes 0 to {len(sizes) - 1}, each once")
    rho = content.number("rho")
    shares = content.array("shares", (2,))
    if not (0 <= rho <= 1 and (shares >= 0).all() and (shares <= 1 + ROUNDING).all()):
        raise content.fault("'rho' and 'shares' must lie between 0 and 1")
    kinds = [SOURCE if has_source and axis == 0 else OTHER_PARENT for axis in range(len(sizes))]
    way = way_of(sizes, kinds, tuple(order), rho)
    n_levels = len(sizes) + 1
    by_level = (content.positive(key, (n_levels,)) for key in ("s", "shapes", "rates"))
    return WeightedWay(way, float(shares[0]), float(shares[1]), *by_level)


def _normalized(ways: list[WeightedWay]) -> list[WeightedWay]:
    """The ways with shares that sum to one to the last digit."""
    seen = sum(one.share for one in ways)
    unseen = sum(one.share_unseen for one in ways) or 1.0
    return [
        WeightedWay(
            one.way, one.share / seen, one.share_unseen / unseen, one.s, one.shapes, one.rates
        )
        for one in ways
    ]
