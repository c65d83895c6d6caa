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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Codes, Floats
from consilience.data.table import Table, code_type
from consilience.errors import InputError, MemoryLimitError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM, em
from consilience.inference.cases import Cases
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.maximum_likelihood import MLE
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.structure.scores.likelihood import AIC, BIC, EBIC, LogLikelihood
from consilience.structure.scores.node_average import NAL, PNAL
from consilience.structure.scores.score import Score
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import Clock, SearchResult, Step, Task

__all__ = ["RESTARTS", "StructuralEM", "first_graphs", "structural_em"]

SHARE_OF_MEMORY = 0.5
"""Of the memory limit; if all completions may need more, some are drawn."""

LEAST_SHARE = 1e-6
"""Completions of a smaller posterior are cut."""

LEAST_WEIGHT = 2.0**-26
"""Weights that can be counted; smaller ones are left out."""

RISE = 1e-9
"""What counts as a rise, relative to the objective."""

OF_LIKELIHOOD = (LogLikelihood, AIC, BIC, EBIC, NAL, PNAL)
"""Scores that are the largest log-likelihood less a price."""

First: TypeAlias = Callable[[Sequence[float]], Iterable[tuple[DAG, bool]]]
"""Graphs to begin with, by prices of PNAL, and whether looking for them was interrupted."""

Find: TypeAlias = Callable[[Table, DAG], SearchResult]
"""The search on a table without gaps, from a graph on."""

PRICES = (0.25, 0.5, 0.08, 1e6)
"""Of PNAL for the first graphs; the last leaves no arc that is not required."""

PRICES_IF_DRAWN = (0.5, 0.25, 0.08, 1e6)
"""With much missing a low price lets in so many arcs that inference takes long."""

RESTARTS = 20
"""Restarts in vain of the search for a first graph, and of the default search."""

STARTS = 3
"""First graphs, unless completions are drawn, which takes longer."""


@dataclass(frozen=True, slots=True)
class StructuralEM:
    """Complete the rows under the current network, search, refit by EM, and again (Friedman 1997).

    For discrete variables, any score that bears fractional counts and any search. A search that has
    a ``start=`` begins at the current graph.

    Parameters
    ----------
    start
        The first graph; if not given, the graphs that hill climbing finds with ``PNAL`` at the
        prices 0.25, 0.5 and 0.08.
    starts
        How many of these are gone on from, at most 4, the fourth without arcs; the best end is
        kept. If not given 3, or 1 if completions are drawn (the one with twice the price).
    iterations
        How often rows are completed and graphs searched from a start, at most.
    draws
        How many random completions stand for a row where all of them would be too many.
    em
        How the parameters of each graph are fitted.
    """

    start: DAG | None = None
    starts: int | None = None
    iterations: int = 20
    draws: int = 10
    em: EM = field(default_factory=EM)

    def __post_init__(self) -> None:
        _check.whole("StructuralEM", at_least=1, iterations=self.iterations, draws=self.draws)
        if self.starts is not None:
            _check.whole("StructuralEM", at_least=1, starts=self.starts)
            if self.starts > len(PRICES):
                raise InputError(
                    f"StructuralEM: starts must be at most {len(PRICES)}, got {self.starts!r}.",
                    parameter="starts",
                )
        if self.start is not None and not isinstance(self.start, DAG):
            raise InputError(
                f"StructuralEM: start must be a DAG or None, got {self.start!r}.", parameter="start"
            )
        if not isinstance(self.em, EM):
            raise InputError(
                f"StructuralEM: em must be a choice such as cs.EM(), got {self.em!r}.",
                parameter="em",
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """A fitted graph, the rows as it completes them, what it is worth, and if EM was cut short."""

    dag: DAG
    network: Network
    completed: Table
    objective: float
    is_cut: bool


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
    fitter = _Fitter(table, choice, score, rng, memory_limit)
    n_starts = choice.starts or (STARTS if fitter.is_exact else 1)
    begun = first(PRICES if fitter.is_exact else PRICES_IF_DRAWN)
    runs = _runs(
        begun, n_starts, lambda: _Run(fitter, find, clock), choice.iterations, keep_start=keep_start
    )
    best = max(runs, key=lambda run: run.best.objective)
    last = runs[-1].stopped_by
    return SearchResult(
        best.best.dag,
        CPDAG.of(best.best.dag),
        best.best.objective,
        tuple(best.trace),
        sum(run.n_scored for run in runs),
        last if last in ("seconds", "interrupt") else best.stopped_by,
        clock.seconds,
        (*fitter.notes(), *_notes(runs, best)),
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


def first_graphs(
    choice: StructuralEM, task: Callable[[Score], Task], max_parents: int | None
) -> First:
    """The graphs to begin with: the given one, or those found with prices of PNAL, and no arcs."""

    def begin(prices: Sequence[float]) -> Iterator[tuple[DAG, bool]]:
        if choice.start is not None:
            one = task(PNAL())
            yield one.to_dag(start_of(choice.start, one, one.local_scores(max_parents))), False
            return
        seen: list[DAG] = []
        for price in prices:
            one = task(PNAL(c=price))
            found = HillClimb(restarts=RESTARTS, max_parents=max_parents).search(one)
            if found.dag not in seen:
                seen.append(found.dag)
                yield found.dag, found.stopped_by == "interrupt"

    return begin


class _Run:
    """Structural EM from one start; the best model so far and the story."""

    best: _Model

    def __init__(self, fitter: _Fitter, find: Find, clock: Clock) -> None:
        self._fitter, self._find, self._clock = fitter, find, clock
        self.trace: list[Step] = []
        self.n_scored = 0
        self.stopped_by = "iterations"
        self.is_limited = False

    def climb(self, start: DAG, iterations: int, *, keep_start: bool) -> None:
        """Complete, search and refit until nothing better is found."""
        self._keep(self._fitter.fitted(start, None), "start")
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
        if found.stopped_by != "optimum":
            self.stopped_by = found.stopped_by
            return False
        try:
            model = self._fitter.refitted(found.dag, self.best, at_any_loss=not keep_start)
        except MemoryLimitError:
            if not keep_start:
                raise
            model, self.is_limited = None, True
        if model is not None and model.is_cut:
            self.stopped_by = "interrupt"
            return False
        if model is None or (keep_start and not _is_rise(reached, model.objective)):
            self.stopped_by = "optimum"
            return False
        self._keep(model, f"iteration {iteration}")
        return True

    def _keep(self, model: _Model, what: str) -> None:
        self.best = model
        note = f"{what}: {len(model.dag.arcs)} arcs"
        self.trace.append(Step(model.objective, self.n_scored, note))


def _notes(runs: list[_Run], best: _Run) -> list[str]:
    """What to say of the starts, and of an end for want of memory."""
    notes = []
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


class _Fitter:
    """What fits graphs to the rows with gaps; a private helper of one search."""

    def __init__(
        self,
        table: Table,
        choice: StructuralEM,
        score: Score,
        rng: np.random.Generator,
        memory_limit: float,
    ) -> None:
        self._table, self._choice, self._score = table, choice, score
        self._rng, self._memory_limit = rng, memory_limit
        self._estimator = _estimator(score)
        n_bytes = 4.0 * len(table.variables) * _most_completions(table)
        self.is_exact = n_bytes <= SHARE_OF_MEMORY * memory_limit

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know."""
        if self.is_exact:
            return ()
        return (
            f"Rows have too many completions to list all; {self._choice.draws} random ones stand "
            "for each row.",
        )

    def refitted(self, dag: DAG, before: _Model, *, at_any_loss: bool) -> _Model | None:
        """The graph fitted by EM from its estimates on the completed rows on.

        None if it is the same graph, or worse on the completed rows: a search that does not begin
        at the current graph may end below it.
        """
        worth = [self._worth(one, before.completed) for one in (dag, before.dag)]
        if dag == before.dag or (worth[0] <= worth[1] and not at_any_loss):
            return None
        counts = self._counts(dag, before.completed)
        # Draws lack rare states by chance, and what is zero once stays zero.
        estimator = self._estimator if self.is_exact else Dirichlet(ess=1.0)
        source = before.network.source
        root = [] if source is None else [before.network[source]]
        return self.fitted(dag, Network.of([*root, *estimator.estimate(counts)], source=source))

    def fitted(self, dag: DAG, start: Network | None) -> _Model:
        """The graph fitted to the rows with gaps by EM, and its objective."""
        found = em(
            dag,
            self._table,
            self._estimator,
            choice=self._choice.em,
            start=start,
            seed=self._rng,
            memory_limit=self._memory_limit,
        )
        tables = {node: local.table for node, local in found.network.tables.items()}
        completed = self._completed(found.network, tables)
        gain = self._worth(dag, completed) - self._log_likelihood(dag, completed, tables)
        is_cut = found.stopped_by == "interrupt"
        return _Model(dag, found.network, completed, found.log_likelihood + gain, is_cut)

    def _completed(self, network: Network, tables: dict[str, Floats]) -> Table:
        """The rows without gaps: all completions, or some drawn, with their weights."""
        if self.is_exact:
            cases = Cases.of(network, self._table, memory_limit=self._memory_limit)
            found = cases.completions(tables, LEAST_SHARE)
            return _table(self._table, found.columns, found.weights)
        draws = self._choice.draws
        many = self._table.take(np.tile(np.arange(self._table.n_rows), draws))
        cases = Cases.of(network, many, memory_limit=self._memory_limit)
        weights = np.ones(many.n_rows) if many.weights is None else many.weights
        return _table(self._table, cases.completed(tables, self._rng), weights / draws)

    def _worth(self, dag: DAG, completed: Table) -> float:
        """Score of a graph on completed rows."""
        counts = self._counts(dag, completed, by_source=self._score.by_source)
        return float(self._score.local(counts).sum())

    def _log_likelihood(self, dag: DAG, completed: Table, tables: dict[str, Floats]) -> float:
        """Log-likelihood of completed rows: under the tables, or the largest if they maximise it.

        For scores of the likelihood the difference to the score is then the price of the graph.
        """
        counts = self._counts(dag, completed)
        if isinstance(self._estimator, MLE):
            return float(LogLikelihood().local(counts).sum())
        total = 0.0
        for one in counts:
            rows = one.to_dense().values[0]
            theta = tables[one.child.name].reshape(rows.shape)
            total += float((rows[rows > 0] * np.log(theta[rows > 0])).sum())
        return total

    def _counts(self, dag: DAG, completed: Table, *, by_source: bool = False) -> list[Counts]:
        families = [Family(node, dag.parents(node)) for node in dag.nodes]
        return count(completed, families, by_source=by_source, memory_limit=self._memory_limit)


def _estimator(score: object) -> MLE | Dirichlet:
    """Maximum likelihood for scores of the likelihood, else the prior of the score."""
    while hasattr(score, "score"):  # a prior over graphs, or sources apart
        score = score.score
    if isinstance(score, OF_LIKELIHOOD):
        return MLE()
    return Dirichlet(ess=float(getattr(score, "ess", 1.0)))


def _most_completions(table: Table) -> float:
    """How many completions the rows have at most, those that will be cut left out."""
    each = np.ones(table.n_rows)
    for name, variable in table.variables.items():
        each[table.column(name) < 0] *= variable.n_states
    return float(np.minimum(each, 1 / LEAST_SHARE).sum())


def _table(table: Table, columns: dict[str, Codes], weights: Floats) -> Table:
    """Completed rows as a table with the schema of another, equal ones merged."""
    kept = np.flatnonzero(weights >= LEAST_WEIGHT)
    given = table.schema.source
    every = [*table.variables.values(), *([] if given is None else [given])]
    coded = {one.name: columns[one.name][kept].astype(code_type(one.n_states)) for one in every}
    source = None if given is None else coded.pop(given.name)
    return Table(table.schema, coded, source, weights[kept].astype(np.float64)).distinct()
