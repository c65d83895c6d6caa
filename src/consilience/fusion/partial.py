"""Opinions of sources that lack some parents of a family."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.fusion.family_answers import Opinion, Wanted

__all__ = ["extended"]

SMALLEST = 1e-12


def extended(opinion: Opinion, family: Wanted) -> Opinion:
    """The opinion as one about all parents of the family, the same whatever the new ones are."""
    own = opinion.distribution
    shape = [p.n_states for p in family.discrete]
    kept = [p in own.given for p in family.discrete]
    size = [n if is_kept else 1 for n, is_kept in zip(shape, kept, strict=True)]

    def spread(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        rest = array.shape[sum(kept) :]
        return np.broadcast_to(array.reshape([*size, *rest]), (*shape, *rest))

    own_shape = [n for n, is_kept in zip(shape, kept, strict=True) if is_kept]
    is_known = spread(opinion.is_known.reshape(own_shape)).ravel()
    if isinstance(own, Categorical):
        if family.kind == "table":
            table = Categorical(family.child, family.given, spread(own.table))
            return Opinion(opinion.source, table, is_known)
        logits = np.log(np.maximum(spread(own.table), SMALLEST))
        none = np.zeros((*logits.shape, len(family.continuous)))
        local = Logistic(family.child, family.given, logits, none)
        return Opinion(opinion.source, local, is_known)
    places = [i for i, p in enumerate(family.continuous) if p in own.given]
    known = spread(own.coefficients)
    slopes = np.zeros((*known.shape[:-1], len(family.continuous)))
    slopes[..., places] = known
    if isinstance(own, Logistic):
        logistic = Logistic(family.child, family.given, spread(own.intercept), slopes)
        return Opinion(opinion.source, logistic, is_known)
    line = LinearGaussian(family.child, family.given, spread(own.intercept), slopes, spread(own.sd))
    return Opinion(opinion.source, line, is_known)
