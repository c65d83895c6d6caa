"""Local distributions: the table of one node given its parents, and what is known about it.

Posteriors stand in modules of their own (``distributions.dirichlet``), so that a program that only
needs :class:`Categorical` does not load SciPy.
"""

from consilience.distributions.categorical import Categorical, Posterior, proportions

__all__ = ["Categorical", "Posterior", "proportions"]
