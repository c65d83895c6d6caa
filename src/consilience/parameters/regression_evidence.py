r"""How far the sources of a continuous family agree: the evidence of three models.

With the normal equations of the rows on standardized parents (``standardized.py``), in each joint
state of the discrete parents and with one residual variance for all its sources,

.. math::
    \sigma^2 \sim \mathrm{InvGamma}\bigl(\tfrac12, \tfrac12 s_0^2\bigr), \qquad
    \mu \mid \sigma^2 \sim N(0, \sigma^2 I),
    \qquad b_f \mid \mu, \sigma^2 \sim N(\mu, \sigma^2 \Lambda):

- pooled: :math:`\Lambda = 0`, one regression for all sources;
- hierarchical: :math:`\Lambda` as learned (``tied.py``), and :math:`\tfrac12 \log K` less for
  each of its entries, K the number of sources with rows;
- separate: :math:`b_f \mid \sigma^2 \sim N(0, \sigma^2 I)` for each source by itself.

The prior of the coefficients is worth one row; :math:`s_0^2` is the residual variance of all rows
together. Everything but :math:`\Lambda` is integrated out exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import gammaln

from consilience._typing import Floats
from consilience.parameters.standardized import standardized
from consilience.parameters.tied import Equations, misfit, tie
from consilience.statistics.moments import Moments

__all__ = ["evidence_of_pooled_regressions"]

ONE_ROW = 1.0


def evidence_of_pooled_regressions(moments: Moments) -> Mapping[str, float]:
    """Log evidence of a family's rows if the sources are pooled, tied, or kept apart.

    Empty if the parents determine the child, where densities have no bound.
    """
    scale = standardized(moments)
    if scale.variance == 0:
        return {}
    p, n_states = len(moments.names), moments.weight.shape[1]
    first = np.zeros((n_states, p))
    first[:, 0] = scale.level
    matrix, vector, constant = scale.equations(moments, first)
    share, none = np.arange(p), np.zeros((n_states, p, p))
    weight = moments.weight.sum(axis=0)
    tied = Equations(matrix, vector, constant, share, none, weight, ONE_ROW)
    spread = tie(tied).spread
    n_sources = int((moments.weight.sum(axis=1) > 0).sum())

    def evidence(residual: Floats, log_determinants: Floats) -> float:
        shape, rate = (1 + weight) / 2, (scale.variance + residual) / 2
        fit = gammaln(shape) - shape * np.log(rate)
        prior = 0.5 * np.log(scale.variance / 2) - gammaln(0.5)
        density = -weight / 2 * np.log(2 * np.pi) - log_determinants / 2
        return float((fit + prior + density).sum())

    # Each source by itself is a common mean of its own: sources take the place of joint states.
    apart = Equations(
        matrix.reshape(1, -1, p, p),
        vector.reshape(1, -1, p),
        constant.reshape(1, -1),
        share,
        np.zeros((constant.size, p, p)),
        prior=ONE_ROW,
    )
    separate = [part.reshape(constant.shape).sum(axis=0) for part in misfit(apart, np.zeros(p))]
    return {
        "pooled": evidence(*misfit(tied, np.zeros(p))),
        "hierarchical": evidence(*misfit(tied, spread)) - p / 2 * math.log(max(n_sources, 1)),
        "separate": evidence(*separate),
    }
