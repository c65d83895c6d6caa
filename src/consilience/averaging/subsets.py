r"""Exact beliefs about graphs, by dynamic programming over sets of variables.

.. math:: P(i \to j \mid D) = \frac{\sum_{G \ni i \to j} P(G)\, e^{\mathrm{score}(G)}}
    {\sum_G P(G)\, e^{\mathrm{score}(G)}}

with a score that is a log evidence, or close to one. The sums are over all graphs
(``lattice_sums.py``); graphs to stand for all are drawn with their probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from consilience import _check
from consilience._typing import Floats, Seed
from consilience.averaging.belief_ways import Asked, Found, weighted
from consilience.averaging.lattice_sums import SetPrior, UniformGraphs
from consilience.errors import InputError
from consilience.structure.scores.priors import MAP
from consilience.structure.searches.family_sets import scores_by_set
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import Task

__all__ = ["Subsets", "set_weights"]

MEMORY = 2**32
"""Bytes; enough for 23 variables."""


@dataclass(frozen=True, slots=True)
class Subsets:
    """Exact probabilities of all arcs.

    Parameters
    ----------
    prior
        ``UniformGraphs()``, all graphs equally likely, good to 16 variables (18 take a quarter of a
        minute); or ``OrderModular()``, graphs as likely as they have orders, to 20 and a few more.
        What is known of single arcs goes into the score:
        ``cs.scores.MAP(score, cs.scores.ArcPrior(...))``.
    draws
        Graphs that are drawn with their probabilities, to answer questions with.
    max_parents
        Most parents of a node; no limit if None. A limit makes scoring faster.
    seed
        Of the graphs drawn.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> belief = cs.average(rows, by=cs.averaging.Subsets())
    >>> round(belief.arcs.adjacency("x", "y"), 4), round(belief.arcs["x", "y"], 4)
    (1.0, 0.5)
    """

    prior: SetPrior = field(default_factory=UniformGraphs)
    draws: int = 1000
    max_parents: int | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        _check.whole("Subsets", at_least=1, draws=self.draws)
        if self.max_parents is not None:
            _check.whole("Subsets", at_least=0, max_parents=self.max_parents)
        if isinstance(self.prior, type) or not hasattr(self.prior, "sums"):
            raise InputError(
                "Subsets: prior must be cs.averaging.UniformGraphs() or "
                f"cs.averaging.OrderModular(), got {self.prior!r}.",
                parameter="prior",
            )

    def believe(self, asked: Asked) -> Found:
        """Exact probabilities of arcs, and graphs drawn with theirs."""
        task = asked.task()
        scores = task.local_scores(self.max_parents)
        weights = set_weights(task, scores)
        sums = self.prior.sums(weights)
        rng = _check.generator(self.seed)
        log_evidence = None
        if not isinstance(task.score, MAP):  # whose prior is not apart from what the rows say
            alone = self.prior.sums(np.where(weights > -np.inf, 0.0, -np.inf))
            log_evidence = sums.log_total - alone.log_total
        return Found(
            sums.arcs(),
            weighted(task, (sums.draw(rng) for _ in range(self.draws))),
            log_evidence=log_evidence,
            n_scored=scores.n_scored,
            notes=scores.notes(),
        )


def set_weights(task: Task, scores: LocalScores) -> Floats:
    """Scores of all families, shape (variables, sets of the others)."""
    p = len(task.names)
    _check.memory(
        f"sums over all graphs on {p} variables",
        8.0 * (3 * p + 6) * 2.0 ** (p - 1),
        MEMORY,
        "Use cs.averaging.PartitionMCMC(), cs.averaging.OrderMCMC() or cs.averaging.Bootstrap().",
    )
    weights = np.empty((p, 1 << max(p - 1, 0)))
    for child, values in enumerate(scores_by_set(task, scores, prune=False)):
        weights[child] = values
        beat(task.clock, (child + 1) / p, lambda: "scoring families")
    return weights
