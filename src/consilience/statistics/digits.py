"""Moments of families with a continuous child, fine where others have too few digits.

All families are asked for in one pass over the rows. Those whose columns are nearly functions of
each other are asked for again, together, with twice the digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from consilience.kernels.regressions import has_lost
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine, MomentRequest
from consilience.statistics.scales import check_not_tiny, check_scales
from consilience.statistics.together import Together

__all__ = ["family_moments", "loses_digits"]

SHARED = 0.5
"""Share of the work of all families apart up to which all their columns are done together."""


def family_moments(engine: Engine, requests: Sequence[MomentRequest]) -> list[Moments]:
    """The moments of families; the child is the last variable of each request.

    Raises
    ------
    DataError
        If the products of a column vanish; if digits are lost and a column is too small or too
        large for fine moments.
    """
    if not requests:
        return []
    found = _from_one(engine, requests) or engine.gather(Together(tuple(requests)))
    for moments in found:
        check_not_tiny(moments)
    lost = [i for i, moments in enumerate(found) if loses_digits(moments)]
    if lost:
        again = tuple(replace(requests[i], fine=True) for i in lost)
        fine = engine.gather(Together(again))
        for i, moments in zip(lost, fine, strict=True):
            for level in _levels(moments):
                check_scales(level)
            found[i] = moments
    return found


def _from_one(engine: Engine, requests: Sequence[MomentRequest]) -> list[Moments]:
    """The moments of families as parts of those of all their columns together, if that is less
    work and no row has a gap in any of them; else nothing.
    """
    first = requests[0]
    names = tuple(dict.fromkeys(name for one in requests for name in one.names))
    alike = all(
        (one.by, one.by_source, one.fine) == (first.by, first.by_source, False) for one in requests
    )
    apart = sum(len(one.names) ** 2 for one in requests)
    if not alike or len(requests) < 2 or len(names) ** 2 > SHARED * apart:
        return []
    [whole] = engine.gather(Together((replace(first, names=names),)))
    if whole.n_incomplete.any():
        return []
    place = {name: k for k, name in enumerate(names)}
    return [_part(whole, one.names, [place[name] for name in one.names]) for one in requests]


def _part(whole: Moments, names: tuple[str, ...], places: list[int]) -> Moments:
    return Moments(
        names,
        whole.given,
        whole.source,
        whole.weight,
        whole.mean[..., places],
        whole.scatter[..., places, :][..., places],
        whole.n_rows,
    )


def loses_digits(moments: Moments) -> bool:
    """Whether a regression of the last variable on the others has too few digits.

    In a group of rows, in a joint state of all sources, or in all rows together.
    """
    if moments.is_fine:
        return False
    return any(map(_is_lost, _levels(moments)))


def _levels(moments: Moments) -> list[Moments]:
    """The moments by group, by joint state of all sources, and of all rows together."""
    pooled = moments if moments.source is None else moments.pooled()
    # The same object where there are no sources, or no states, to be put together.
    return list({id(one): one for one in (moments, pooled, pooled.without_states())}.values())


def _is_lost(moments: Moments) -> bool:
    weight, mean, scatter = (array.reshape(-1, *array.shape[2:]) for array in moments.arrays)
    return bool(has_lost(weight, mean, scatter))
