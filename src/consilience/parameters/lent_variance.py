r"""Residual variance that the joint states of the discrete parents lend each other.

A joint state with a few rows more than coefficients has a residual variance that may be far too
small by chance; a row a little aside then counts as impossible. With the residual sum of squares
:math:`R_j` and the degrees of freedom :math:`\nu_j` of each joint state,

.. math::
    \hat\sigma_j^2 = \frac{R_j + \lambda \sum_{i \ne j} R_i}{\nu_j + \lambda \sum_{i \ne j} \nu_i},
    \qquad \lambda = \frac{d}{\sum_i \nu_i} .

What another joint state tells counts :math:`\lambda` times, so that all others together are worth
at most :math:`d` rows: nearly all there is for a joint state with next to no rows, nothing beside
thousands of them. It is the posterior under an inverse-gamma prior that the other joint states
give. With one joint state the variance is its own. Joint states with too few rows for a regression
of their own, which are tied to the others already (``few_rows.py``), neither lend nor take.

References
----------
G. K. Smyth (2004). Linear models and empirical Bayes methods for assessing differential expression
in microarray experiments. Statistical Applications in Genetics and Molecular Biology 3. (There the
prior is learned, from all groups with the own one.)
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Bools, Floats

__all__ = ["LENT", "with_lent"]

LENT = 2.0
"""Rows that the residual variance of the other joint states is worth."""


def with_lent(
    residual: Floats, freedom: Floats, is_own: Bools, *, lent: float
) -> tuple[Floats, Floats]:
    """Residuals and degrees of freedom of joint states with what the others lend them.

    Parameters
    ----------
    residual, freedom
        Of each joint state.
    is_own
        Which of them have regressions of their own.
    lent
        How many rows all others together are worth.

    >>> with_lent(np.array([8.0, 0.0]), np.array([4.0, 0.0]), np.array([True, True]), lent=2.0)
    (array([8., 4.]), array([4., 2.]))
    """
    total = freedom[is_own].sum()
    share = np.where(is_own, lent / total if total > 0 else 0.0, 0.0)
    return (
        residual + share * (residual[is_own].sum() - residual),
        freedom + share * (total - freedom),
    )
