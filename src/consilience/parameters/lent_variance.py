r"""Residual variance that the joint states of the discrete parents lend each other.

A joint state with a few rows more than coefficients has a residual variance that may be far too
small by chance; a row a little aside then counts as impossible. With the residual sum of squares
:math:`R_j` and the degrees of freedom :math:`\nu_j` of each joint state,

.. math::
    \hat\sigma_j^2 = \frac{R_j + \lambda_j \sum_{i \ne j} R_i}
        {\nu_j + \lambda_j \sum_{i \ne j} \nu_i},
    \qquad \lambda_j = \frac{d}{\sum_i \nu_i} \min\Bigl(1, \frac{p_j}{q}\Bigr) .

What another joint state tells counts :math:`\lambda_j` times, so that all others together are worth
at most :math:`d` rows: nearly all there is for a joint state with next to no rows, little beside
many. It is the posterior under an inverse-gamma prior that the other joint states give. With one
joint state the variance is its own.

What the rows contradict is not lent: :math:`p_j` is the two-sided p-value of the F test that the
variance of a joint state is that of all others together, and below :math:`q` the loan shrinks with
it. Rows with one and the same value of the child tell nothing of its variance and take the whole
loan. Joint states with too few rows for a regression
of their own, which are tied to the others already (``few_rows.py``), neither lend nor take.

References
----------
G. K. Smyth (2004). Linear models and empirical Bayes methods for assessing differential expression
in microarray experiments. Statistical Applications in Genetics and Molecular Biology 3. (There the
prior is learned, from all groups with the own one.)
"""

from __future__ import annotations

import numpy as np

from consilience._lazy import later
from consilience._typing import Bools, Floats

__all__ = ["LENT", "with_lent"]

special = later("scipy.special")

LENT = 2.0
"""Rows that the residual variance of the other joint states is worth."""

DOUBT = 0.01
"""Variances whose p-value of being alike is smaller are lent in part only."""


def with_lent(
    residual: Floats, freedom: Floats, is_own: Bools, *, is_constant: Bools, lent: float
) -> tuple[Floats, Floats]:
    """Residuals and degrees of freedom of joint states with what the others lend them.

    Parameters
    ----------
    residual, freedom
        Of each joint state.
    is_own
        Which of them have regressions of their own.
    is_constant
        Which of them have one value of the child.
    lent
        How many rows all others together are worth.

    >>> own = np.array([True, True])
    >>> with_lent(np.array([8.0, 0.0]), np.array([4.0, 4.0]), own, is_constant=~own | [False, True],
    ...     lent=2.0)
    (array([8., 2.]), array([4., 5.]))
    """
    total = freedom[is_own].sum()
    others, left = total - freedom, residual[is_own].sum() - residual
    share = np.where(is_constant, 1.0, _likeness(residual, freedom, left, others))
    share = np.where(is_own & (others > 0), share * lent / max(total, 1e-300), 0.0)
    return residual + share * left, freedom + share * others


def _likeness(residual: Floats, freedom: Floats, left: Floats, others: Floats) -> Floats:
    """One where the rows do not contradict that variances are alike, less where they do."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (residual / freedom) / (left / others)
        below = special.fdtr(freedom, others, ratio)
    p_value = 2 * np.minimum(below, 1 - below)
    return np.where(np.isnan(p_value), 0.0, np.minimum(1.0, p_value / DOUBT))
