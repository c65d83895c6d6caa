r"""Many tests at once: the share of false rejections, kept low.

Of :math:`m` p-values in increasing order the largest :math:`k` with
:math:`p_{(k)} \le k \alpha / m` and all smaller ones are rejected; in the mean at most a share
:math:`\alpha` of the rejections is false (if the tests are independent or depend positively). The
*adjusted* p-values :math:`\min_{j \ge k} p_{(j)} m / j` say the same with :math:`\alpha` itself as
the limit.

References
----------
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate. JRSS B 57.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Floats
from consilience.errors import InputError
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.contingency import GSquare
from consilience.structure.independence.statements import (
    IndependenceTest,
    Statements,
    Verdicts,
)

__all__ = ["BenjaminiHochberg", "bh_adjusted"]


@dataclass(frozen=True, slots=True)
class BenjaminiHochberg:
    """Another test whose p-values are adjusted for there being many.

    In a batch the p-values of the batch are adjusted. A search makes its tests as usual and then
    adjusts the largest p-value of each pair of variables over all pairs: edges beyond the rate of
    false discoveries, which is the ``alpha`` of the test, are taken out.

    Parameters
    ----------
    of
        The test.

    Examples
    --------
    >>> import consilience as cs
    >>> test = cs.independence.BenjaminiHochberg(of=cs.independence.GSquare(alpha=0.01))
    >>> test.alpha
    0.01
    """

    of: IndependenceTest = field(default_factory=GSquare)

    def __post_init__(self) -> None:
        if isinstance(self.of, type) or not hasattr(self.of, "judge"):
            raise InputError(
                "BenjaminiHochberg: of must be a test such as cs.independence.GSquare(), got "
                f"{self.of!r}.",
                parameter="of",
            )

    @property
    def alpha(self) -> float:
        """The rate of false discoveries."""
        return self.of.alpha

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, p-values adjusted over the batch."""
        found = self.of.judge(rows, asked)
        return Verdicts(found.statistic, found.df, bh_adjusted(found.p_value), found.n_rows)


def bh_adjusted(p_values: Floats) -> Floats:
    """Adjusted p-values, in the order of the given ones.

    Examples
    --------
    >>> bh_adjusted(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")[::-1]
    scaled = p_values[order] * m / np.arange(m, 0, -1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0) if m else scaled
    return adjusted
