"""Local distributions: how one node depends on its parents, and what is known about that.

:class:`Categorical` for a discrete node with discrete parents, :class:`Logistic` for a discrete one
with continuous parents, :class:`LinearGaussian` for a continuous one. Posteriors stand in modules
of their own (``distributions.dirichlet``), so that a program that only needs a distribution does
not load SciPy.
"""

from typing import TypeAlias

from consilience.distributions.categorical import Categorical, Posterior, proportions
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.logistic import Logistic

__all__ = [
    "Categorical",
    "Distribution",
    "LinearGaussian",
    "Logistic",
    "Posterior",
    "proportions",
]

Distribution: TypeAlias = Categorical | LinearGaussian | Logistic
"""Any local distribution: ``child``, ``given``, ``parents``, ``parameters``, ``posterior``."""
