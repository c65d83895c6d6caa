r"""Which sets of parents cannot be best, known before they are scored.

For tables, and scores that are a log-likelihood less a price :math:`\lambda` for each free
parameter (or less still more, growing with the set). A parent Z added to a set Q of parents of X
gains at most

.. math:: N \min\{H(X \mid Q), H(Z)\} - \lambda (r_X - 1)(r_Z - 1)\, q_Q ,

and to a larger set than Q it gains less and costs more. If this is not positive, no set that has
both Q and Z needs to be looked at: without Z it is at least as good.

References
----------
C. de Campos, Q. Ji (2011). Efficient structure learning of Bayesian networks using constraints.
Journal of Machine Learning Research 12.
C. de Campos, M. Scanagatta, G. Corani, M. Zaffalon (2018). Entropy-based pruning for learning
Bayesian networks using BIC. Artificial Intelligence 260.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.structure.scores.likelihood import AIC, BIC, EBIC
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import Task

__all__ = ["Pruning", "pruning_of"]

SLACK = 1e-9
"""Sets within this share of the bound are scored: the bound is computed with rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Pruning:
    """What the bound needs to know of each variable.

    Attributes
    ----------
    price
        What a free parameter costs at least.
    n_states
        Number of states of each variable.
    information
        :math:`N H(X)` of each variable, in nats.
    """

    price: float
    n_states: Integers
    information: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def is_hopeless(self, child: int, more: int, scores: Floats, n_parent_states: Floats) -> Bools:
        """Whether the parent ``more`` and any larger set are useless for the child.

        ``scores`` and ``n_parent_states`` are those of the sets that ``more`` would be added to.
        """
        r = float(self.n_states[child] - 1)
        left = -(scores + self.price * r * n_parent_states)  # N H(child | set), at most
        cost = self.price * r * (self.n_states[more] - 1) * n_parent_states
        gain = np.minimum(left, self.information[more])
        return gain + SLACK * np.abs(scores) < cost

    def most_parent_states(self) -> float:
        r"""Sets with more parent states than this are hopeless for every child.

        Since the price grows with :math:`(r_Z - 1) q_Q \ge q / 2` for the whole set.
        """
        r = np.maximum(self.n_states - 1, 1)
        return float((2 * self.information / (self.price * r)).max(initial=1.0)) * (1 + SLACK)


def pruning_of(task: Task, scores: LocalScores) -> Pruning | None:
    """The bound for the score of a task; None if none is known."""
    names = task.names
    if type(task.score) not in (AIC, BIC, EBIC) or task.strata.names:
        return None
    price = 1.0 if type(task.score) is AIC else 0.5 * float(np.log(max(1.0, task.n_rows)))
    if price == 0:
        return None
    n_states = np.array([task.engine.schema[name].n_states for name in names], np.int64)
    scores.total([0] * len(names))  # in one request
    alone = np.array([scores.one(child, 0) for child in range(len(names))])
    return Pruning(price, n_states, np.maximum(0.0, -(alone + price * (n_states - 1))))
