r"""Scores by normalised maximum likelihood: no prior, no parameter.

The likelihood at its maximum is divided by its sum over all data sets of the same size, which for
one variable of :math:`r` states and :math:`n` rows is

.. math:: C(n, r) = \sum_{n_1 + \dots + n_r = n} \frac{n!}{n_1! \cdots n_r!}
    \prod_k \left(\frac{n_k}{n}\right)^{n_k} .

With :math:`q` parent states and :math:`N_j` rows of each

.. math::
    \mathrm{fNML} = \log L - \sum_j \log C(N_j, r), \qquad
    \mathrm{qNML} = \log L - \log C(N, qr) + \log C(N, q) .

The normalisers are exact, by the recurrence :math:`C(n, r + 2) = C(n, r + 1) + C(n, r)\, n / r` up
to :math:`r = n` and by a sum of at most :math:`n` positive terms beyond, so that no number of joint
states is too large.

References
----------
P. Kontkanen, P. Myllymäki (2007). A linear-time algorithm for computing the multinomial stochastic
complexity. Information Processing Letters 103.
T. Mononen, P. Myllymäki (2008). Computing the multinomial stochastic complexity in sub-linear time.
Probabilistic Graphical Models.
T. Silander, T. Roos, P. Kontkanen, P. Myllymäki (2008). Factorized normalized maximum likelihood
criterion for learning Bayesian network structures. Probabilistic Graphical Models.
T. Silander, J. Leppä-aho, E. Jääsaari, T. Roos (2018). Quotient normalized maximum likelihood
criterion for learning Bayesian network structures. AISTATS.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from consilience._typing import Floats
from consilience.kernels.scoring import fill_pair_normalizers, log_normalizer, log_normalizers
from consilience.structure.scores.likelihood import fitted
from consilience.structure.scores.score import Batch, whole_counts

__all__ = ["FNML", "QNML"]

SMALL = 4096
"""From here on the series of C(n, 2) is as exact as its sum."""


@dataclass(frozen=True, slots=True)
class FNML:
    """Factorised normalised maximum likelihood: each row of a table is normalised by itself.

    Rows must have whole-number weights.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": ["a", "b"]})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.FNML()), 6)  # log(1/4) - log(5/2)
    -2.302585
    """

    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Normalised log-likelihood of each family."""
        counts = whole_counts("FNML", batch, by_source=False)
        out = np.empty(len(counts))
        log_normalizers(counts.table, counts.shapes, _pairs(), out)
        return fitted(counts)[0] - out


@dataclass(frozen=True, slots=True)
class QNML:
    """Quotient normalised maximum likelihood: child and parents jointly over the parents alone.

    Rows must have whole-number weights.
    """

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Normalised log-likelihood of each family."""
        counts = whole_counts("QNML", batch, by_source=False)
        log_likelihood, n_rows = fitted(counts)
        q = counts.n_parent_states
        joint, parents = (
            [_log_normalizer(int(n), float(r)) for n, r in zip(n_rows, states, strict=True)]
            for states in (q * counts.n_states, q)
        )
        return log_likelihood - np.subtract(joint, parents)


@lru_cache(maxsize=1 << 14)
def _log_normalizer(n: int, r: float) -> float:
    return float(log_normalizer(n, r, _pairs()))


@lru_cache(maxsize=1)
def _pairs() -> Floats:
    """C(n, 2) for all small n."""
    found = np.empty(SMALL)
    fill_pair_normalizers(found)
    return found
