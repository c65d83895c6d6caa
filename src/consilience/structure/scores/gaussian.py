r"""Log-likelihood of continuous children: a regression for each joint state of discrete parents.

With :math:`n_j` rows in the joint state j, :math:`p_j` coefficients (the intercept, and the parents
that are no linear functions of others) and the residual sum of squares :math:`\mathrm{RSS}_j`,

.. math:: \log L = \sum_j \Bigl[ -\frac{n_j}{2} \log (2 \pi s_j^2)
    - \frac{\mathrm{RSS}_j}{2 s_j^2} \Bigr], \qquad s_j^2 = \frac{\mathrm{RSS}_j}{n_j - p_j} .

The variance has the denominator :math:`n - p`, as in the estimates. The sum over a graph is then
still the same for equivalent graphs: what the denominator adds depends on the number of parents
alone, and a covered arc that is turned only exchanges two of these numbers.

A state that cannot have a variance of its own, because it has no more rows than coefficients or
because its rows lie exactly on a line, is judged by the regression over all states together; a fit
ties such a state to the others instead (``parameters/few_rows.py``). If the regression over all
has too few rows the family has minus infinity, and if all rows lie on a line plus infinity: the
likelihood has no bound. Rows lie on a line if they do so up to the rounding of the values to 16
digits.
"""

from __future__ import annotations

import numpy as np

from consilience import _check
from consilience._typing import Bools, Floats
from consilience.errors import DataError
from consilience.kernels.regressions import log_likelihoods
from consilience.statistics.family import Family
from consilience.statistics.many_regressions import RegressionBatch

__all__ = ["gaussian_log_likelihoods", "too_few_rows", "unbounded"]


def gaussian_log_likelihoods(batch: RegressionBatch) -> Floats:
    """Log-likelihood of each family, with variances of denominator n - p."""
    found, moments = batch.residuals(), batch.moments
    total, poor = np.empty(len(batch)), np.empty(found.left.shape, bool)
    if log_likelihoods(moments.weight[0], batch.starts, found.left, found.rank, total, poor):
        total += _by_all_states(batch, poor)
    return total


def _by_all_states(batch: RegressionBatch, poor: Bools) -> Floats:
    """What the states without a variance of their own add, by the regression of all states."""
    whole = batch.without_states().residuals()
    n_rows = float(batch.whole.weight[0, 0])
    is_short = n_rows <= batch.n_continuous + 1
    is_on_a_line = whole.left[0] == 0
    free = np.where(is_short, 1.0, n_rows - 1 - whole.rank[0])
    variance = np.where(is_on_a_line, 1.0, whole.left[0]) / free
    n = (poor * batch.moments.weight[0][:, None]).sum(axis=0)
    misfit = batch.misfits(poor).sum(axis=0)
    values = -0.5 * n * np.log(2 * np.pi * variance) - 0.5 * misfit / variance
    values[is_on_a_line] = np.inf
    values[is_short] = -np.inf
    return np.where(poor.any(axis=0), values, 0.0)


def too_few_rows(family: Family, n_rows: float) -> DataError:
    """The error for a family whose regression has more coefficients than rows."""
    return DataError(
        f"{n_rows:g} rows are too few for the regression of {family.child!r} on "
        f"{_check.listed(family.parents)}: there must be more rows than coefficients. Use fewer "
        "parents (max_parents), or cs.scores.BGe(), whose prior makes up for rows.",
        family=family,
    )


def unbounded(family: Family) -> DataError:
    """The error for a family whose rows lie exactly on a line."""
    others = _check.listed(sorted(family.parents))
    return DataError(
        f"column {family.child!r} is a linear function of {others} in every row, up to rounding, "
        "so that the likelihood has no bound. Leave one of these columns out, or use "
        "cs.scores.BGe(), "
        "whose prior keeps variances above zero.",
        column=family.child,
        family=family,
    )
