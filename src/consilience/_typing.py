"""Names for the array types that the library passes around."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Codes", "Column", "Floats", "Integers", "Seed", "Words"]

Codes: TypeAlias = npt.NDArray[np.int8 | np.int16 | np.int32]
"""State codes of one discrete column in the smallest integer type; -1 is missing."""

Bools: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

Words: TypeAlias = npt.NDArray[np.uint64]
"""Bitmaps: row ``64 w + b`` is bit ``b`` of word ``w``."""

Column: TypeAlias = npt.NDArray[Any]
"""Codes of a discrete column or the float64 values of a continuous one."""

Seed: TypeAlias = int | np.random.Generator | None
