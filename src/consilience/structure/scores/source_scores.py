r"""Scores of one graph for several sources.

``PerSource(score)`` gives every source parameters of its own: the sum over the sources of a score
of their counts. ``BHD`` ties them by a hierarchy (``parameters/hierarchy.py``). With the joint
states :math:`(j, k)` of parents and child as the states, the sources f as the groups, and constants
s and A for the whole network, let

.. math::
    a \sim \mathrm{Dirichlet}\!\left(\frac{A}{n}, \dots, \frac{A}{n}\right), \quad
    \theta_f \mid a \sim \mathrm{Dirichlet}(s\, a), \quad
    N_f \mid \theta_f \sim \mathrm{Multinomial}(\theta_f), \qquad
    E(N, n) = \log P(N)

for a table N of n states. The score is

.. math:: \mathrm{BHD} = E(N_{f, jk},\; qr) - E(N_{f, j},\; q) .

By the aggregation of the Dirichlet the second table has exactly the prior that the first implies
for it, so the difference is the log probability of the child's column given those of the parents
under one model of all columns; so the score is equivalent. The evidence is exact: a finite sum,
without bound or sampling. Where that takes too long, E may be the lower bound of collapsed
variational Bayes instead, for *all* families: E is then still a function of the set of columns,
so the score stays equivalent, which a mixture of both would not be. All joint states never seen
are one state with their prior together, so the work does not grow with the number of parent states.

References
----------
L. Azzimonti, G. Corani, M. Scutari (2022). A Bayesian hierarchical score for structure learning
from related data sets. International Journal of Approximate Reasoning 142. (There with a
variational approximation of the evidence.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.errors import DataError, InputError
from consilience.kernels.hierarchy import approximate, can_be_exact
from consilience.parameters.hierarchy import MOST_WORK, log_evidence_of
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.many_regressions import RegressionBatch
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.priors import MAP
from consilience.structure.scores.score import (
    Batch,
    Refusing,
    Score,
    check_score,
    child_of,
    may_refuse,
    takes_gaps,
    whole_counts,
)

__all__ = ["BHD", "PerSource", "bounded"]

MOST_KEPT = 8192
"""Bytes of the largest table whose evidence is remembered."""


@dataclass(frozen=True, slots=True)
class PerSource:
    """One graph, separate parameters: the sum over the sources of a score of their counts.

    Without sources it is the score itself. A prior over graphs must count once, not once a source:
    write ``MAP(PerSource(score), prior)``. The penalty of ``EBIC`` on the number of parents does
    count once a source here; once in all it is that of
    ``MAP(PerSource(BIC()), VariableSelection(1 / (1 + p**gamma)))`` for p variables.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"f": {"x": ["a", "b"]}, "g": {"x": ["a", "a"]}})
    >>> dag = cs.DAG(nodes=["x"])
    >>> round(cs.score(dag, table, cs.scores.PerSource(cs.scores.K2())), 6)  # log(1/6) + log(1/3)
    -2.890372
    """

    score: Score
    by_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_score("PerSource", self.score)
        if self.score.by_source:
            raise InputError(
                f"PerSource: the score of one source's counts cannot be {self.score!r}, which "
                "compares the sources itself. Give one of pooled counts, such as cs.BDeu().",
                parameter="score",
            )
        if isinstance(self.score, MAP):
            raise InputError(
                "PerSource: the prior over graphs of a MAP would count once for each source. Put "
                "it outside: cs.scores.MAP(cs.scores.PerSource(score), prior).",
                parameter="score",
            )

    @property
    def score_equivalent(self) -> bool:
        """Whether the score of one source is."""
        return self.score.score_equivalent

    @property
    def needs_complete_rows(self) -> bool:
        """Whether the score of one source does."""
        return not takes_gaps(self.score)

    @property
    def may_refuse(self) -> bool:
        """Whether the score may."""
        return may_refuse(self.score)

    @property
    def refusal(self) -> Callable[[Family], str]:
        """Why the score cannot judge a family; there only if the score has it."""
        return cast("Refusing", self.score).refusal

    def local(self, batch: Batch) -> Floats:
        """Sum over the sources of the score of each family."""
        if isinstance(batch, LogisticBatch):
            raise InputError(
                f"PerSource: {child_of(batch)!r} is discrete and has continuous parents; such a "
                "family is judged for all sources together only. Leave out logistic=True, or "
                "PerSource.",
                variable=child_of(batch),
            )
        if isinstance(batch, RegressionBatch):
            return self._regressions(batch)
        counts = CountBatch.of(batch, by_source=True)
        by_source = [self.score.local(_slice(counts, f)) for f in range(len(counts.n_rows))]
        return np.sum(by_source, axis=0)

    def _regressions(self, batch: RegressionBatch) -> Floats:
        """The sum over the sources for continuous children."""
        total = np.zeros(len(batch))
        for source, one in zip(_names(batch), batch.by_source(), strict=True):
            values = self.score.local(one)
            if np.isposinf(values).any():
                family = batch.families[int(values.argmax())]
                raise DataError(
                    f"source {source!r}: column {family.child!r} is constant there or a linear "
                    f"function of {_check.listed(family.parents)}, so that the likelihood has no "
                    "bound. Leave the column out, or judge the sources together, without "
                    "PerSource.",
                    source=source,
                    column=family.child,
                )
            total += values
        return total


@dataclass(frozen=True, slots=True)
class BHD:
    """Log evidence of a family for sources that are alike but not equal, by an exact hierarchy.

    Finds arcs that the sources share though their tables differ, and is not misled by variables
    whose margins differ from source to source. The rows must have whole-number weights. Mixing
    exact and approximate numbers would make equivalent graphs differ: if the exact evidence of a
    family would take too long, ``cs.learn`` and ``cs.search`` begin anew with a lower bound for all
    families and say so; for a given graph it is an error.

    Parameters
    ----------
    s
        How alike the sources are: each one's joint distribution of child and parents varies around
        the common one as after ``s`` rows of it.
    ess
        How many rows the uniform prior of the common distribution is worth.
    bound
        Judge all families by a lower bound of the evidence, which is always had quickly.

    Examples
    --------
    With s of 1 and a common share p of "yes" the two rows of the north have the probability
    p (p + 1) / 2 and the row of the south 1 - p; the mean over p from 0 to 1 is 1/8.

    >>> import consilience as cs
    >>> table = cs.read({"north": {"x": ["yes", "yes"]}, "south": {"x": ["no"]}})
    >>> round(cs.score(cs.DAG(nodes=["x"]), table, cs.BHD(s=1, ess=2)), 6)
    -2.079442
    """

    s: float = 10.0
    ess: float = 10.0
    bound: bool = False
    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = True
    may_refuse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.positive("BHD", s=self.s, ess=self.ess)
        if not isinstance(self.bound, bool):
            raise InputError(
                f"BHD: bound must be True or False, got {self.bound!r}.", parameter="bound"
            )

    def local(self, batch: Batch) -> Floats:
        """Log evidence of the child of each family given its parents; -inf if it is refused."""
        counts = whole_counts("BHD", batch, by_source=True)
        q, r = counts.n_parent_states, counts.n_states
        ends = np.cumsum(counts.shapes.prod(axis=1))
        out = np.empty(len(counts))
        for i, (end, shape) in enumerate(zip(ends, counts.shapes, strict=True)):
            joint = counts.table[end - shape.prod() : end].reshape(shape)
            parents = joint.sum(axis=2)
            found = self._log_evidence(joint, q[i] * r[i]), self._log_evidence(parents, q[i])
            if found[0] is None or found[1] is None:
                out[i] = -np.inf
            else:
                out[i] = found[0] - found[1]
        return out

    def refusal(self, family: Family) -> str:
        """Why a family has minus infinity, and the choices."""
        return (
            f"BHD: the exact evidence of {family.child!r} given {_check.listed(family.parents)} "
            "would take too long: too many rows, sources and joint states. Use a lower bound for "
            "all families, BHD(bound=True), or fewer parents (max_parents) or states."
        )

    def _log_evidence(self, table: Integers, n_states: float) -> float | None:
        """Log evidence of a table whose first axis are the sources; None if it takes too long."""
        states = table.reshape(len(table), -1)
        seen = states[:, states.any(axis=0)]
        # In one order whatever the order of variables and states: equal tables are solved once.
        seen = seen[:, np.lexsort(seen)]
        content = seen.astype(np.min_scalar_type(seen.max(initial=0)))
        solve = _solved if content.nbytes <= MOST_KEPT else _solved.__wrapped__
        return solve(
            content.tobytes(),
            content.dtype.str,
            len(seen),
            float(n_states),
            s=self.s,
            ess=self.ess,
            bound=self.bound,
        )


def bounded(score: Score) -> Score | None:
    """The score with a lower bound in place of exact numbers; None if it knows no such thing."""
    if isinstance(score, MAP):
        inner = bounded(score.score)
        return None if inner is None else MAP(inner, score.prior)
    if isinstance(score, BHD) and not score.bound:
        return BHD(score.s, score.ess, bound=True)
    return None


@lru_cache(maxsize=1 << 13)
def _solved(
    content: bytes,
    dtype: str,
    n_sources: int,
    n_states: float,
    *,
    s: float,
    ess: float,
    bound: bool,
) -> float | None:
    """Log evidence of a table (sources, states seen); None if it takes too long."""
    table = np.frombuffer(content, dtype).reshape(n_sources, -1).astype(np.int64)
    n_seen = table.shape[1]
    if n_seen == 0 or n_states == 1:
        return 0.0
    prior = np.full(n_seen, ess / n_states)
    if n_seen < n_states:
        table = np.hstack([table, np.zeros((n_sources, 1), np.int64)])
        prior = np.append(prior, ess * ((n_states - n_seen) / n_states))
    if bound:
        return float(approximate(table.astype(np.float64), s, prior, np.empty(len(prior))))
    if not can_be_exact(table[None], s, prior, MOST_WORK)[0]:
        return None
    return log_evidence_of(table, s, prior)


def _names(batch: RegressionBatch) -> tuple[str, ...]:
    source = batch.moments.source
    return ("all rows",) if source is None else source.discrete_states


def _slice(counts: CountBatch, f: int) -> CountBatch:
    """The batch of one source's counts."""
    sizes = counts.shapes.prod(axis=1)
    parts = sizes // len(counts.n_rows)
    firsts = np.cumsum(sizes) - sizes + f * parts
    table = [counts.table[first : first + n] for first, n in zip(firsts, parts, strict=True)]
    shapes = counts.shapes.copy()
    shapes[:, 0] = 1
    return CountBatch(
        counts.children,
        counts.given,
        None,
        _freeze.read_only(np.concatenate(table)),
        _freeze.read_only(shapes),
        counts.n_rows[f : f + 1],
        counts.scale,
        counts.seen,
    )
