"""Columns too small for moments, and too small or too large for fine ones.

What rounding leaves of a product is 1e-32 of it, and products are divided by products: outside the
range of ``LEAST`` to ``MOST`` these numbers are no floats.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Bools
from consilience.errors import DataError
from consilience.statistics.moments import Moments

__all__ = ["check_not_tiny", "check_scales"]

LEAST, MOST = 1e-200, 1e200
"""Of sums of squares, around the mean and around zero."""


TINY = 1e-150
"""Of a mean: products of smaller values around it are no floats, and look like none."""


def check_not_tiny(moments: Moments) -> None:
    """Refuse columns of values so small that their products vanish.

    Raises
    ------
    DataError
        If mean and spread of a column are not zero but too small for their squares.
    """
    spread = np.einsum("...kk->...k", moments.scatter)
    size = np.abs(moments.mean)
    has_values = (size > 0) | (spread > 0)
    is_tiny = has_values & (size < TINY) & (spread < TINY**2) & (moments.weight[..., None] > 1)
    if is_tiny.any():
        name = moments.names[int(is_tiny.any(axis=(0, 1)).argmax())]
        raise DataError(
            f"the values of {name!r} are too small for their products to be floats, so that "
            "nothing can be said of their spread. Multiply the column by a constant, so that its "
            "standard deviation is near one.",
            column=name,
        )


def check_scales(moments: Moments, used: Bools | None = None) -> None:
    """Refuse columns whose fine moments would not be right.

    Parameters
    ----------
    moments
        The fine moments.
    used
        The variables of each group that matter, in the shape of the means; all of them if None.

    Raises
    ------
    DataError
        If the sum of squares of a column is too small or too large; a constant is not too small.
    """
    spread = np.einsum("...kk->...k", moments.scatter)
    with np.errstate(over="ignore", invalid="ignore"):
        square = spread + moments.weight[..., None] * moments.mean**2
        is_small, is_large = (spread != 0) & (spread < LEAST), ~(square <= MOST)
    is_refused = is_small | is_large
    if used is not None:
        is_refused &= used
    if is_refused.any():
        place = int(is_refused.any(axis=(0, 1)).argmax())
        raise _refused(moments.names[place], is_large=bool(is_large[..., place].any()))


def _refused(name: str, *, is_large: bool) -> DataError:
    size, way = ("large", "Divide") if is_large else ("small", "Multiply")
    return DataError(
        f"the values of {name!r} are too {size} to tell what is left of columns that are nearly "
        f"functions of each other. {way} the column by a constant, so that its standard deviation "
        "is near one.",
        column=name,
    )
