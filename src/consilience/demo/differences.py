r"""Which families differ between sources: a plain measure from counts alone.

Every source may have its own table, or all may share one. For one family, with the counts
:math:`N_{fjk}` and a dot for a sum, own tables fit better by

.. math:: G = \sum_{fjk} N_{fjk} \log\frac{N_{fjk}}{N_{fj\cdot}}
    - \sum_{jk} N_{\cdot jk} \log\frac{N_{\cdot jk}}{N_{\cdot j\cdot}} \ge 0

and need :math:`d = (F - 1)\,q\,(r - 1)` more parameters. They are worth it if :math:`G - \tfrac d2
\log N > 0` (the penalty of BIC; Schwarz 1978). The measure is careful: a small source that differs
may go unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

import consilience as cs
from consilience._typing import Floats

__all__ = ["Difference", "differences"]


@dataclass(frozen=True, slots=True)
class Difference:
    """What own tables for each source would bring one family, and what they would cost."""

    family: cs.Family
    gain: float
    n_extra: int
    n_rows: float

    @property
    def worth(self) -> float:
        """Gain less the penalty for the extra parameters, in nats; own tables pay if positive."""
        return self.gain - self.n_extra / 2 * float(np.log(self.n_rows))


def differences(table: cs.Table, dag: cs.DAG) -> list[Difference]:
    """The families of a graph, those that differ most between the sources first."""
    families = [cs.Family(node, dag.parents(node)) for node in dag.nodes]
    found = [_difference(counts) for counts in cs.count(table, families, by_source=True)]
    return sorted(found, key=lambda difference: -difference.worth)


def _difference(counts: cs.Counts) -> Difference:
    rows = counts.to_dense().values  # (sources, parent states, states)
    gain = _log_likelihood(rows) - _log_likelihood(rows.sum(axis=0))
    n_sources = int((counts.n_complete > 0).sum())
    n_extra = (n_sources - 1) * counts.n_parent_states * (counts.child.n_states - 1)
    return Difference(counts.family, gain, n_extra, float(counts.n_complete.sum()))


def _log_likelihood(rows: Floats) -> float:
    """The log-likelihood of counts under their own proportions."""
    return float(xlogy(rows, rows).sum() - xlogy(rows.sum(axis=-1), rows.sum(axis=-1)).sum())
