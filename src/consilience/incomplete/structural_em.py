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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats
from consilience.data.table import Table, code_type
from consilience.errors import DataError, InputError, MemoryLimitError, ModelError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM, Convergence, em
from consilience.inference.completion import completed, completions, expected_values
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Regressor
from consilience.parameters.fitting import fit_task
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.normal_inverse_gamma import NormalInverseGamma
from consilience.parameters.regression import log_likelihood_of
from consilience.statistics.counts import Counts
from consilience.statistics.engines.memory import LEAST_WEIGHT, Memory
from consilience.statistics.engines.spread import Spread
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.structure.family_scores import family_scores, strata_of
from consilience.structure.scores.bayesian import BDJ, K2, BDe, BDs
from consilience.structure.scores.by_source import POOLED, BySource
from consilience.structure.scores.likelihood import AIC, BIC, EBIC, LogLikelihood
from consilience.structure.scores.node_average import NAL, PNAL
from consilience.structure.scores.priors import MAP
from consilience.structure.scores.score import Batch, Score, batch_of
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.starts import Start, start_of
from consilience.structure.searches.task import Clock, SearchResult, Step, Task
from consilience.structure.source_ways import ways_of

__all__ = ["RESTARTS", "FirstGraphs", "StructuralEM", "innermost", "structural_em"]

SHARE_OF_MEMORY = 0.5
"""Of the memory limit; if all completions may need more, some are drawn."""

LEAST_SHARE = 1e-6
"""Completions of a smaller posterior are cut."""

RISE = 1e-9
"""What counts as a rise, relative to the objective."""

OF_LIKELIHOOD = (LogLikelihood, AIC, BIC, EBIC, NAL, PNAL)
"""Scores that are the largest log-likelihood less a price."""

First: TypeAlias = Callable[[Sequence[float]], Iterable[tuple[DAG, bool]]]
"""Graphs to begin with, by prices of PNAL, and whether looking for them was interrupted."""

Find: TypeAlias = Callable[[Memory, DAG], SearchResult]
"""The search on rows without gaps, from a graph on."""

PRICES = (0.25, 0.5, 0.08, 1e6)
"""Of PNAL for the first graphs; the last leaves no arc that is not required."""

PRICES_IF_DRAWN = (0.5, 0.25, 0.08, 1e6)
"""With much missing a low price lets in so many arcs that inference takes long."""

RESTARTS = 20
"""Restarts in vain of the search for a first graph, and of the default search."""

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
            if self.starts > MOST_STARTS:
                raise InputError(
                    f"StructuralEM: starts must be at most {MOST_STARTS}, got {self.starts!r}.",
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
    completed: Memory
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


def innermost(score: object) -> object:
    """The score of one source's rows, without priors over graphs and sources kept apart."""
    while hasattr(score, "score"):
        score = score.score
    return score


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


@dataclass(frozen=True, slots=True, eq=False)
class FirstGraphs:
    """The graphs to begin with: the given one; or that of the complete rows, those found with
    prices of PNAL if all variables are discrete, and the one without arcs.

    Parameters
    ----------
    start
        The given one, if any.
    task
        The task of a search on the rows with gaps, by score.
    of_complete_rows
        The search on the complete rows, if they are enough.
    max_parents
        The most parents.
    is_discrete
        Whether all variables are discrete.
    """

    start: Start | None
    task: Callable[[Score], Task]
    of_complete_rows: Callable[[], SearchResult] | None
    max_parents: int | None
    is_discrete: bool

    def __call__(self, prices: Sequence[float]) -> Iterator[tuple[DAG, bool]]:
        """The graphs in turn, each once, and whether looking for it was interrupted."""
        start = self.start
        if start is not None:
            yield self._begun(_Indifferent() if isinstance(start, DAG) else PNAL()), False
            return
        seen: list[DAG] = []
        for dag, is_cut in self._candidates(prices):
            if dag not in seen:
                seen.append(dag)
                yield dag, is_cut

    def _candidates(self, prices: Sequence[float]) -> Iterator[tuple[DAG, bool]]:
        if self.of_complete_rows is not None:
            result = self.of_complete_rows()
            yield result.dag, result.stopped_by == "interrupt"
        if self.is_discrete:
            yield from map(self._found, prices)
        else:
            yield self._begun(_Indifferent()), False

    def _begun(self, score: Score) -> DAG:
        one = self.task(score)
        return one.to_dag(start_of(self.start, one, one.local_scores(self.max_parents)))

    def _found(self, price: float) -> tuple[DAG, bool]:
        climb = HillClimb(restarts=RESTARTS, max_parents=self.max_parents)
        try:
            result = climb.search(self.task(PNAL(c=price)))
        except ModelError:  # no row is complete for a family that is required, but EM can fit it
            return self._begun(_Indifferent()), False
        return result.dag, result.stopped_by == "interrupt"


@dataclass(frozen=True, slots=True)
class _Indifferent:
    """Every family is as good as any other: for a graph that is taken as it is given."""

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False
    needs_complete_rows: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Zero for each family."""
        return np.zeros(len(batch_of(batch)))


class _Run:
    """Structural EM from one start; the best model so far and the story."""

    best: _Model

    def __init__(self, fitter: _Fitter, find: Find, clock: Clock) -> None:
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

    def _refitted(self, dag: DAG, *, keep_start: bool) -> _Model | None:
        try:
            return self._fitter.refitted(dag, self.best, at_any_loss=not keep_start)
        except MemoryLimitError:
            if not keep_start:
                raise
            self.is_limited = True
            return None

    def _keep(self, model: _Model, what: str) -> None:
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
        source = table.schema.source
        self._apart = source.name if source is not None and score.by_source else None
        judge = score.score if isinstance(score, MAP) else score
        self._looks_for_ways = isinstance(judge, BySource)
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
        grown = self._grown(dag, before.completed)
        # Draws lack rare states by chance, and what is zero once stays zero.
        estimator = self._estimator(grown) if self.is_exact else Dirichlet(ess=1.0)
        task = fit_task(grown, before.completed, estimator, memory_limit=self._memory_limit)
        try:
            start = task.plain_network(task.statistics())
        except DataError:  # too few rows for a regression
            start = None
        return self._fitted(dag, grown, start)

    def fitted(self, dag: DAG) -> _Model:
        """A first graph fitted to the rows with gaps by EM, and its objective."""
        return self._fitted(dag, self._grown(dag, None), None)

    def _fitted(self, dag: DAG, grown: DAG, start: Network | None) -> _Model:
        try:
            found = self._climbed(grown, None, start)
        except DataError:
            # A column that is constant in some joint state, or too few rows for a regression.
            found = self._climbed(grown, NormalInverseGamma(), None)
        completed = self._completed(found.network)
        gain = self._worth(dag, completed) - self._log_likelihood(grown, completed, found.network)
        observed = found.log_likelihood - _log_shares(self._table, found.network)
        is_cut = found.stopped_by == "interrupt"
        return _Model(dag, found.network, completed, observed + gain, is_cut)

    def _climbed(
        self, grown: DAG, gaussian: Regressor | None, start: Network | None
    ) -> Convergence:
        return em(
            grown,
            self._table,
            self._estimator(grown),
            gaussian=gaussian,
            choice=self._choice.em,
            start=start,
            seed=self._rng,
            memory_limit=self._memory_limit,
        )

    def _completed(self, network: Network) -> Memory:
        """The rows without gaps: all completions, or some drawn, with their weights."""
        table, limit = self._table, self._memory_limit
        weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
        if not self.is_exact:
            draws = self._choice.draws
            many = table.take(np.tile(np.arange(table.n_rows), draws))
            columns = completed(network, many, self._rng, memory_limit=limit)
            return Memory(_table(table, columns, np.tile(weights, draws) / draws).distinct())
        found = completions(network, table, LEAST_SHARE, memory_limit=limit)
        shares = found.shares * weights[found.rows]
        kept = np.flatnonzero(shares >= LEAST_WEIGHT)
        columns = {name: codes[kept] for name, codes in found.codes.items()}
        if not network.regressions:
            return Memory(_table(table, columns, shares[kept]).distinct())
        known = {name: table.column(name)[found.rows[kept]] for name in network.regressions}
        values, spread = expected_values(network, {**columns, **known}, memory_limit=limit)
        filled = _table(table, {**columns, **values}, shares[kept])
        return Memory(filled, spread=[Spread(*one) for one in spread])

    def ways(self, dag: DAG, completed: Memory) -> dict[str, str]:
        """How each family depends on the source in completed rows, if the score tells."""
        limit = self._memory_limit
        strata = strata_of(completed, dag.nodes, limit)
        return ways_of(completed, dag, self._score, strata, memory_limit=limit)

    def _worth(self, dag: DAG, completed: Memory) -> float:
        """Score of a graph on completed rows."""
        limit = self._memory_limit
        return sum(family_scores(completed, dag, self._score, memory_limit=limit).values())

    def _log_likelihood(self, dag: DAG, completed: Memory, network: Network) -> float:
        """Log-likelihood of completed rows: under the network, or the largest if it maximises it.

        For scores of the likelihood the difference to the score is then the price of the graph.
        """
        limit, source = self._memory_limit, self._table.source
        if isinstance(innermost(self._score), OF_LIKELIHOOD):
            each = family_scores(completed, dag, LogLikelihood(), memory_limit=limit)
            return sum(value for node, value in each.items() if node != source)
        task = fit_task(dag, completed, self._estimator(dag), memory_limit=limit)
        counts = [one.pooled() for one in task.counts()]
        return sum(_of_table(one, network.tables[one.child.name].table) for one in counts) + sum(
            log_likelihood_of(network.regressions[one.names[-1]], one) for one in task.moments()
        )

    def _counts(self, dag: DAG, rows: Table) -> list[Counts]:
        nodes = [node for node in dag.nodes if node != self._table.source]
        families = [Family(node, dag.parents(node)) for node in nodes]
        families = [one for one in families if not rows.schema[one.child].is_continuous]
        return count(rows, families, memory_limit=self._memory_limit)

    def _grown(self, dag: DAG, completed: Memory | None) -> DAG:
        """The graph of the network: the source is the first parent of nodes that depend on it.

        These are all nodes if the score keeps the sources apart, and those that it judges so on
        rows completed before if it looks for the better way.
        """
        if self._apart is None:
            return dag
        dependent = list(dag.nodes)
        if self._looks_for_ways:
            ways = {} if completed is None else self.ways(dag, completed)
            dependent = [node for node, way in ways.items() if way != POOLED]
        arcs = [(self._apart, node) for node in dependent]
        return DAG([*arcs, *dag.arcs], [self._apart, *dag.nodes])

    def _estimator(self, dag: DAG) -> MLE | Dirichlet:
        """How the network of a graph follows from counts: by the prior of the score, if any."""
        score = innermost(self._score)
        if isinstance(score, OF_LIKELIHOOD):
            return MLE()
        if self._apart is None and not isinstance(score, BDs):
            return _prior(score)
        plain = dag if self._apart is None else dag.without(self._apart)
        counts = self._counts(plain, self._table)
        return Dirichlet(tables={one.child.name: self._prior_table(score, one) for one in counts})

    def _prior_table(self, score: object, counts: Counts) -> Floats:
        """Prior counts of a family; every source has the whole prior if they are kept apart."""
        table, parents = self._table, counts.family.parents
        prior = _prior(score).prior(counts)
        if self._apart is None:
            return prior / _share_seen(table, parents)
        n_sources = table.schema[self._apart].n_states
        if not isinstance(score, BDs):
            return np.stack([prior] * n_sources)
        parts = [table.take(np.flatnonzero(table.source_codes == f)) for f in range(n_sources)]
        return np.stack([prior / _share_seen(one, parents) for one in parts])


def _prior(score: object) -> Dirichlet:
    """The prior of a score; for BDs that of all parent states, seen or not."""
    if isinstance(score, BDe):
        return Dirichlet(ess=score.ess, network=score.network)
    if isinstance(score, K2 | BDJ):
        return Dirichlet(per_cell=1.0 if isinstance(score, K2) else 0.5)
    return Dirichlet(ess=float(getattr(score, "ess", 1.0)))


def _share_seen(table: Table, parents: Sequence[str]) -> float:
    """Share of the parent states that some row has, or may have as far as it is known."""
    if not parents:
        return 1.0
    seen = np.zeros([table.variables[name].n_states for name in parents], bool)
    codes = np.stack([table.column(name) for name in parents], axis=1)
    if table.weights is not None:
        codes = codes[table.weights > 0]
    for row in np.unique(codes, axis=0).tolist():
        seen[tuple(slice(None) if code < 0 else code for code in row)] = True
    return float(seen.mean()) or 1.0


def _log_shares(table: Table, network: Network) -> float:
    """Log probability of the rows' sources, which the scores of graphs leave out."""
    if network.source is None or table.source_codes is None:
        return 0.0
    shares = network.tables[network.source].table
    n_rows = np.bincount(table.source_codes, table.weights, minlength=len(shares))
    return float(n_rows[n_rows > 0] @ np.log(shares[n_rows > 0]))


def _of_table(counts: Counts, table: Floats) -> float:
    """Log-likelihood of counts under a table."""
    rows = counts.to_dense().values[0]
    theta = table.reshape(rows.shape)
    return float((rows[rows > 0] * np.log(theta[rows > 0])).sum())


def _most_completions(table: Table) -> float:
    """How many completions the rows have at most, those that will be cut left out."""
    each = np.ones(table.n_rows)
    for name, variable in table.variables.items():
        if not variable.is_continuous:
            each[table.column(name) < 0] *= variable.n_states
    return float(np.minimum(each, 1 / LEAST_SHARE).sum())


def _table(table: Table, columns: Mapping[str, Column], weights: Floats) -> Table:
    """Completed rows as a table with the schema of another."""
    given = table.schema.source
    every = [*table.variables.values(), *([] if given is None else [given])]
    if given is not None and given.name not in columns:  # the only source is no node
        columns = {**columns, given.name: np.zeros(len(weights), np.int32)}
    coded: dict[str, Column] = {}
    for one in every:
        kind = np.float64 if one.is_continuous else code_type(one.n_states)
        coded[one.name] = columns[one.name].astype(kind)
    source = None if given is None else coded.pop(given.name)
    return Table(table.schema, coded, source, weights.astype(np.float64))
