r"""Structural EM: the graph of incomplete rows, by completing them again and again.

Under the current network every row has a posterior over what is missing in it. The completions,
weighted by it, are an ordinary table without gaps, so that any score and any search apply. The
search begins at the current graph; the graph it finds is fitted to the incomplete rows by EM, and
the rows are completed anew.

With BIC, let :math:`Q(G)` be the score of a graph on the completed rows. If :math:`Q(G') \ge
Q(G)`, then by Jensen's inequality the BIC of what was observed, :math:`\sum_i \log P(x_i^{obs})
- \tfrac12 d \log n`, is no lower for :math:`G'` fitted to the completed rows, and EM only raises
it (Friedman 1997). With other scores the graphs are compared by

.. math:: \log P(x^{obs} \mid \hat\theta) + \log P(x^* \mid G) - \log P(x^* \mid \hat\theta)

where :math:`x^*` are the completed rows (Cheeseman and Stutz 1996); for BIC it is the BIC of what
was observed. The best graph so far is kept, and the search ends when nothing better is found.

The parameters :math:`\hat\theta` are the posterior means under the prior of the score, or those of
maximum likelihood if it has none; each source has its own if the score keeps the sources apart. The
shares of the sources are left out, so that the objective without gaps is the score.

Missing values of continuous variables are filled by their expectation given what a row knows and
each completion of its states, and their covariance is added to the moments: expected statistics,
exactly. A score that judges families by source in the better of several ways (``BySource``) has the
rows completed by a network in which the tables of those nodes depend on the source that it judges
so on the rows completed before.

Fitted by variational Bayes instead, graphs are compared by the bound on their log evidence
(:mod:`consilience.incomplete.variational`). For fixed :math:`q(h)` the bound is the Bayesian
Dirichlet score of the expected counts and the entropy of :math:`q`, so that a graph with a better
score on completed rows has a better bound up to the step from :math:`q` to the posterior means that
complete them; a graph is taken only if its own bound is higher.

Like EM it takes values to be missing at random.

References
----------
N. Friedman (1997). Learning belief networks in the presence of missing values and hidden variables.
ICML 14.
N. Friedman (1998). The Bayesian structural EM algorithm. UAI 14.
P. Cheeseman, J. Stutz (1996). Bayesian classification (AutoClass): theory and results. Advances in
Knowledge Discovery and Data Mining.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from consilience import _check
from consilience.data.table import Table
from consilience.errors import InputError, MemoryLimitError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM
from consilience.incomplete.graph_fitter import Fitter, Model
from consilience.incomplete.variational import VariationalBayes
from consilience.statistics.engines.memory import Memory
from consilience.structure.scores.score import Score
from consilience.structure.searches.task import Clock, SearchResult, Step

__all__ = ["StructuralEM", "structural_em"]

RISE = 1e-9
"""What counts as a rise, relative to the objective."""

First: TypeAlias = Callable[[Sequence[float]], Iterable[tuple[DAG, bool]]]
"""Graphs to begin with, by prices of PNAL, and whether looking for them was interrupted."""

Find: TypeAlias = Callable[[Memory, DAG], SearchResult]
"""The search on rows without gaps, from a graph on."""

PRICES = (0.25, 0.5, 0.08, 1e6)
"""Of PNAL for the first graphs; the last leaves no arc that is not required."""

PRICES_IF_DRAWN = (0.5, 0.25, 0.08, 1e6)
"""With much missing a low price lets in so many arcs that inference takes long."""

MOST_STARTS = len(PRICES) + 1
"""The graph of the complete rows, and those of the prices."""

STARTS = 3
"""First graphs, unless completions are drawn, which takes longer."""


@dataclass(frozen=True, slots=True)
class StructuralEM:
    """Complete the rows under the current network, search, refit by EM, and again (Friedman 1997).

    For any score that bears fractional counts and any search. A search that has a ``start=`` begins
    there in the first round and at the current graph in the others.

    Parameters
    ----------
    start
        The first graph; if not given, the start of the search if it has one, the graph of the
        complete rows if these are at least half, and of discrete tables the graphs that hill
        climbing finds with ``PNAL`` at the prices 0.25, 0.5 and 0.08.
    starts
        How many of these are gone on from, at most 5, the last without arcs; the best end is
        kept. If not given 3, or 1 if completions are drawn (the one with twice the price).
    iterations
        How often rows are completed and graphs searched from a start, at most.
    draws
        How many random completions stand for a row where all of them would be too many.
    em
        How the parameters of each graph are fitted: ``EM()``; or ``cs.gaps.VariationalBayes()``,
        and then graphs are judged by the variational bound on their log evidence, for discrete
        tables and scores with a Dirichlet prior (``BDeu()`` if no score is given).
    """

    start: DAG | None = None
    starts: int | None = None
    iterations: int = 20
    draws: int = 10
    em: EM | VariationalBayes = field(default_factory=EM)

    def __post_init__(self) -> None:
        _check.whole("StructuralEM", at_least=1, iterations=self.iterations, draws=self.draws)
        if self.starts is not None:
            _check.whole("StructuralEM", at_least=1, starts=self.starts)
            if self.starts > MOST_STARTS:
                raise InputError(
                    f"StructuralEM: starts must be at most {MOST_STARTS}, got {self.starts!r}.",
                    parameter="starts",
                )
        if self.start is not None and not isinstance(self.start, DAG):
            raise InputError(
                f"StructuralEM: start must be a DAG or None, got {self.start!r}.", parameter="start"
            )
        if not isinstance(self.em, EM | VariationalBayes):
            raise InputError(
                "StructuralEM: em must be a choice such as cs.EM() or cs.gaps.VariationalBayes(), "
                f"got {self.em!r}.",
                parameter="em",
            )


def structural_em(
    table: Table,
    choice: StructuralEM,
    score: Score,
    *,
    first: First,
    find: Find,
    keep_start: bool,
    clock: Clock,
    rng: np.random.Generator,
    memory_limit: float,
) -> SearchResult:
    """The record of structural EM; its score is the objective on what was observed.

    Parameters
    ----------
    table
        Rows with gaps; all variables discrete.
    choice, score
        What to do, and how completed rows are judged.
    first
        The first graphs, which honor the constraints; one whose inference needs too much memory is
        passed over.
    find
        The search on completed rows, from a graph on; it honors the constraints.
    keep_start
        Whether a first graph may be the answer; otherwise only what the search has found.
    clock, rng, memory_limit
        Budget and progress; what is random; bytes.
    """
    fitter = Fitter(
        table, score, rng, draws=choice.draws, climb=choice.em, memory_limit=memory_limit
    )
    n_starts = choice.starts or (STARTS if fitter.is_exact else 1)
    begun = first(PRICES if fitter.is_exact else PRICES_IF_DRAWN)
    runs = _runs(
        begun, n_starts, lambda: _Run(fitter, find, clock), choice.iterations, keep_start=keep_start
    )
    best = max(runs, key=lambda run: (keep_start or run.is_found, run.best.objective))
    last = runs[-1].stopped_by
    return SearchResult(
        best.best.dag,
        CPDAG.of(best.best.dag),
        best.best.objective,
        tuple(best.trace),
        sum(run.n_scored for run in runs),
        last if last in ("seconds", "interrupt") else best.stopped_by,
        clock.seconds,
        (*fitter.notes(), *_notes(runs, best, keep_start=keep_start)),
        by_source=fitter.ways(best.best.dag, best.best.completed),
    )


def _runs(
    begun: Iterable[tuple[DAG, bool]],
    n_starts: int,
    new: Callable[[], _Run],
    iterations: int,
    *,
    keep_start: bool,
) -> list[_Run]:
    """Structural EM from so many starts, those left out whose inference needs too much memory."""
    runs: list[_Run] = []
    refused: MemoryLimitError | None = None
    for start, is_cut in begun:
        run = new()
        try:
            run.climb(start, 0 if is_cut else iterations, keep_start=keep_start)
        except MemoryLimitError as error:
            refused = error
            continue
        if is_cut:
            run.stopped_by = "interrupt"
        runs.append(run)
        if len(runs) == n_starts or run.stopped_by in ("seconds", "interrupt"):
            break
    if not runs and refused is not None:
        raise refused
    return runs


class _Run:
    """Structural EM from one start; the best model so far and the story."""

    best: Model

    def __init__(self, fitter: Fitter, find: Find, clock: Clock) -> None:
        self._fitter, self._find, self._clock = fitter, find, clock
        self.trace: list[Step] = []
        self.n_scored = 0
        self.stopped_by = "iterations"
        self.is_limited = False
        self.is_found = False  # whether the best graph is one that the search has given
        self.has_ended = False  # whether some search came to its end

    def climb(self, start: DAG, iterations: int, *, keep_start: bool) -> None:
        """Complete, search and refit until nothing better is found."""
        self._keep(self._fitter.fitted(start), "start")
        if self.best.is_cut:
            self.stopped_by = "interrupt"
            return
        try:
            for iteration in range(1, iterations + 1):
                if not self._goes_on(iteration, keep_start=keep_start or iteration > 1):
                    return
        except KeyboardInterrupt:
            self.stopped_by = "interrupt"

    def _goes_on(self, iteration: int, *, keep_start: bool) -> bool:
        """Whether one more round has found something better."""
        reached = self.best.objective
        self._clock.tell(None, lambda: f"structural EM {iteration}, score {reached:.2f}")
        found = self._find(self.best.completed, self.best.dag)
        self.n_scored += found.n_scored
        cut_by = "" if found.stopped_by == "optimum" else found.stopped_by
        self.has_ended = self.has_ended or not cut_by
        model = None if cut_by and keep_start else self._refitted(found.dag, keep_start=keep_start)
        if model is not None and model.is_cut:
            cut_by = "interrupt"
        self.is_found = self.is_found or not keep_start
        is_rise = model is not None and _is_rise(reached, model.objective)
        is_better = not keep_start or (is_rise and not cut_by)
        if model is not None and is_better:
            self._keep(model, f"iteration {iteration}")
        if cut_by:
            self.stopped_by = cut_by
            return False
        if model is None or not is_better:
            self.stopped_by = "optimum"
            return False
        return True

    def _refitted(self, dag: DAG, *, keep_start: bool) -> Model | None:
        try:
            return self._fitter.refitted(dag, self.best, at_any_loss=not keep_start)
        except MemoryLimitError:
            if not keep_start:
                raise
            self.is_limited = True
            return None

    def _keep(self, model: Model, what: str) -> None:
        self.best = model
        note = f"{what}: {len(model.dag.arcs)} arcs"
        self.trace.append(Step(model.objective, self.n_scored, note))


def _notes(runs: list[_Run], best: _Run, *, keep_start: bool) -> list[str]:
    """What to say of the starts, and of an end for want of time or memory."""
    notes = []
    if not best.has_ended:
        what = (
            "what the search had reached when it was stopped."
            if best.is_found
            else "the one that structural EM began with"
            + ("." if keep_start else ", which the search itself might not give.")
        )
        notes.append(f"No search on completed rows came to its end: the graph is {what}")
    if len(runs) > 1:
        ends = ", ".join(f"{run.best.objective:.2f}" for run in runs)
        notes.append(f"The best of {len(runs)} starts, which reached {ends}.")
    if best.is_limited:
        notes.append(
            "Structural EM ended where inference in the next graph would have exceeded the memory "
            "limit. Use max_parents, or raise memory_limit."
        )
    return notes


def _is_rise(before: float, after: float) -> bool:
    return after > before + RISE * abs(before)
