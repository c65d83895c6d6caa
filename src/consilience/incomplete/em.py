r"""EM: parameters from rows with gaps, by expected counts and their maximum in turn.

With the observed part :math:`x_i` of each row and the hidden rest :math:`h`,

.. math:: N^t_{jk} = \sum_i P(\mathrm{Pa} = j, X = k \mid x_i, \theta^t), \qquad
    \theta^{t+1} = \arg\max_\theta \sum_{jk} (N^t_{jk} + a_{jk}) \log \theta_{jk} .

The objective :math:`\sum_i \log P(x_i \mid \theta) + \sum_{jk} a_{jk} \log \theta_{jk}` never
falls; it ends in a stationary point, so that restarts can find a better one. All rows are used,
whatever they lack. It is sound if the values are missing at random: if what is missing depends on
what was recorded, and not beyond that on what was not. A variable that one source never measured is
learned from the others.

Dempster, Laird and Rubin (1977); Lauritzen (1995). The steps are in ``climbing.py``, the starts in
``ascent.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.data.door import Rows
from consilience.errors import DataError, ImpossibleEvidenceError, InputError
from consilience.graph.dag import DAG
from consilience.incomplete.ascent import Climber, while_climbing
from consilience.incomplete.canonical import canonical
from consilience.incomplete.climbing import Climb
from consilience.incomplete.em_record import report_of, with_rounds
from consilience.incomplete.first_tables import (
    check_start,
    like,
    random_start,
    template,
    with_smoothed_tables,
)
from consilience.incomplete.hidden import Hidden, continuous_of, engine_with_hidden
from consilience.incomplete.hidden_scale import note_on_scale, standardized_network
from consilience.incomplete.recorded import impossible_row, never_recorded, recorded_by_source
from consilience.incomplete.restarts import ended_by, number_of_starts
from consilience.inference.case_requests import CasesRequest, RowsOfEngine, prepared
from consilience.inference.cases import Cases
from consilience.network.network import Network
from consilience.parameters.estimator import Estimator, Regressor
from consilience.parameters.fit_record import GapReport, Statistics
from consilience.parameters.fitting import FitTask, fit_task
from consilience.parameters.pooling import Separate
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine
from consilience.structure.searches.task import Progress

__all__ = ["EM", "Convergence", "climb_rows", "em", "refuse_logistic"]


@dataclass(frozen=True, slots=True)
class EM:
    """How EM climbs.

    Parameters
    ----------
    iterations
        The most steps of one start.
    tolerance
        A start ends when the objective grows by less than this share of itself in a step (two steps
        if they are accelerated). With an estimator that has no objective, when no parameter moves
        by more than the root of it.
    restarts
        Further starts, from random tables; the best end is kept. If not given, none, or 9 if no row
        has a value of some node.
    accelerate
        Whether to extrapolate after every second step; a guard keeps the objective from falling.
    """

    iterations: int = 500
    tolerance: float = 1e-8
    restarts: int | None = None
    accelerate: bool = True

    def __post_init__(self) -> None:
        _check.whole("EM", at_least=1, iterations=self.iterations)
        _check.positive("EM", tolerance=self.tolerance)
        if self.restarts is not None:
            _check.whole("EM", at_least=0, restarts=self.restarts)

    def __repr__(self) -> str:
        plain = EM()
        given = [
            f"{name}={getattr(self, name)!r}"
            for name in ("iterations", "tolerance", "restarts", "accelerate")
            if getattr(self, name) != getattr(plain, name)
        ]
        return f"EM({', '.join(given)})"


Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Convergence(Generic[Found]):
    """What EM found, and how.

    Attributes
    ----------
    network
        The network of the best start.
    objective
        The objective after each step of the best start, the first from where it started.
    log_likelihood
        Log probability of all that the rows record under the network.
    stopped_by
        Why the best start ended: ``"tolerance"``, ``"iterations"`` or ``"interrupt"``.
    starts
        The objective that each start reached.
    """

    network: Found
    objective: Floats
    log_likelihood: float
    stopped_by: str
    starts: tuple[float, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def n_iterations(self) -> int:
        """Number of steps of the best start."""
        return len(self.objective) - 1

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"Convergence(log-likelihood {self.log_likelihood:.6g}, {self.n_iterations} steps, "
            f"{len(self.starts)} starts, stopped by {self.stopped_by})"
        )


def em(
    dag: DAG,
    rows: Rows | Engine,
    estimator: Estimator | Regressor | None = None,
    *,
    gaussian: Regressor | None = None,
    choice: EM | None = None,
    hidden: Hidden | None = None,
    start: Network | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Convergence[Network]:
    """The network that EM finds for this graph, and the story of the climb.

    :func:`consilience.fit` gives the network alone, with the main points in its record.

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table, hidden nodes, and the source if the graph
        is to say what depends on it.
    rows
        A table or an engine; or a frame or path, which is read by the default rules. A graph of
        tables whose rows are not in memory takes one pass for all steps if the different cases fit
        there, else one pass a step; the answer has the same bits.
    estimator, gaussian
        How expected counts and moments become distributions, as in :func:`consilience.fit`.
    choice
        How EM climbs; ``EM()`` if not given.
    hidden
        For each node that no row has a value of, the number of its states or their names, or
        ``float`` if it is continuous. The states are put in a canonical order, the most frequent
        first. A continuous one has the intercept 0 and the sd 1 (a root: mean 0, sd 1), and its
        first recorded child rises with it.
    start
        A network with this graph to start from; otherwise the estimates from the rows complete for
        each family, smoothed.
    seed
        Of the random starts.
    progress
        Called now and then with None and a text.
    memory_limit
        Bytes of the tables of inference.

    Examples
    --------
    Of four rows two have no value of x, and one of these goes with y = b:

    >>> import consilience as cs
    >>> rows = cs.read({"x": ["a", "b", None, None], "y": ["a", "b", "a", "b"]})
    >>> story = cs.em(cs.DAG([("x", "y")]), rows, cs.MLE())
    >>> story.network["x"].table.round(3), round(story.log_likelihood, 3)  # 4 log(1/2)
    (array([0.5, 0.5]), -2.773)
    """
    choice = EM() if choice is None else choice
    if not isinstance(choice, EM):
        raise InputError(f"em: choice must be cs.EM(...), got {choice!r}.", parameter="choice")
    hidden = {} if hidden is None else hidden
    engine = engine_with_hidden(engine_of(rows), dag, hidden)
    task = fit_task(
        dag, engine, estimator, gaussian=gaussian, hidden=tuple(hidden), memory_limit=memory_limit
    )
    refuse_logistic(task, hidden)
    if start is not None:
        check_start(start, task.parents(), engine.schema, hidden)
    return climb_rows(
        task,
        task.statistics(),
        choice,
        hidden=hidden,
        start=start,
        seed=seed,
        progress=progress,
    )


def climb_rows(
    task: FitTask,
    seen: Statistics,
    choice: EM,
    *,
    hidden: Collection[str] = (),
    start: Network | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Convergence[Network]:
    """EM for a checked task whose statistics ``seen`` are known; see :func:`em`."""
    unseen = (*hidden, *never_recorded(task.engine, task.kind, hidden))
    return _Run(task, seen, choice, unseen, start, _check.generator(seed), progress).convergence()


def refuse_logistic(task: FitTask, hidden: Mapping[str, object] | None = None) -> None:
    """Refuse discrete nodes with continuous parents, whose gaps nothing here fills."""
    levels = [name for name, states in (hidden or {}).items() if states is float]
    for name in levels:
        for child in task.dag.children(name) if name in task.dag.nodes else ():
            if task.kind.get(child) == "logistic":
                raise DataError(
                    f"{child!r} is a discrete child of {name!r}, which is hidden and continuous: "
                    "that has no exact answer. Turn the arc around, make the hidden node discrete "
                    f"(hidden={{{name!r}: 3}}), or treat {child!r} as a number.",
                    variable=child,
                )
    logistic = [node for node, kind in task.kind.items() if kind == "logistic"]
    if logistic:
        raise DataError(
            f"rows have gaps and {logistic[0]!r} is a discrete node with continuous parents, for "
            "which EM has no exact step. Say gaps=cs.AvailableCases() to leave incomplete rows out "
            "of each family, or turn the arc around.",
            variable=logistic[0],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """One call of EM."""

    task: FitTask
    seen: Statistics
    choice: EM
    hidden: tuple[str, ...]
    start: Network | None
    rng: np.random.Generator
    progress: Progress | None

    def convergence(self) -> Convergence[Network]:
        """The best of all starts, and the network that its end asks for."""
        climber = Climber(
            self.task,
            self.seen,
            self.choice,
            [one.child.name for one in self.task.root],
            self._prepared,
            self._start,
            self.n_starts,
            self.progress,
            is_flat=bool(self.levels),
            scaled=self.levels,
        )
        done = climber.ascent()
        best, step, space = done.best, done.step, done.space
        told = self._report(best, len(done.climbs))
        if done.rounds is not None:
            told = with_rounds(told, done.rounds)
        found = done.task.network(step.statistics(done.expected), self.seen, told)
        found = self._scaled(found, done.task, step.statistics(done.expected))
        log_likelihood = space.expect(space.of_network(found)).log_likelihood
        if step.log_prior is not None and done.rounds is None:
            reached = log_likelihood + step.log_prior(space.of_network(found))
            if reached >= best.objective[-1]:  # variances over n - 1 are not the highest point
                best.objective.append(reached)
        return Convergence(
            canonical(found, [name for name in self.hidden if name not in self.levels]),
            np.array(best.objective),
            log_likelihood,
            ended_by(done.climbs, best),
            tuple(one.objective[-1] for one in done.climbs),
        )

    @property
    def levels(self) -> tuple[str, ...]:
        """The hidden continuous nodes, parents first."""
        order = [n for n in self.task.dag.topological_order() if n in self.hidden]
        return continuous_of(order, self.task.engine.schema.variables)

    def _scaled(self, net: Network, task: FitTask, used: Statistics) -> Network:
        """The network with zero, unit and sign of hidden continuous nodes, whose families have
        variances over n.
        """
        if not self.levels:
            return net
        plain = replace(task, chosen=while_climbing(task.chosen)).estimated(used)
        touched = {
            name: local
            for name, local in plain.items()
            if {name, *local.parents} & set(self.levels)
        }
        whole = replace(net, distributions={**net.distributions, **touched})
        return standardized_network(whole, self.levels)

    def _prepared(self, task: FitTask) -> tuple[Network, Cases | RowsOfEngine]:
        """A network of the graph, and the rows prepared for it."""
        net = self._template(task)
        apart = [one.names[-1] for one in self.seen.moments if one.source is not None]
        request = CasesRequest(net, apart, memory_limit=self.task.memory_limit)
        return net, prepared(self.task.engine, request)

    def _report(self, best: Climb, n_starts: int) -> GapReport:
        told = report_of(
            self.choice, best, n_starts, self.seen, hidden=self.hidden, continuous=self.levels
        )
        alone = _alone_in_a_source(self.task)
        notes = (*(told.notes or ()), *note_on_scale(self.levels), *alone)
        return replace(told, notes=notes)

    def _template(self, task: FitTask) -> Network:
        """A network of the graph: the one to start from if it has the same order of parents."""
        start, parents = self.start, task.parents()
        if start is not None and all(start[n].parents == names for n, names in parents.items()):
            root = {one.child.name: one for one in task.root}
            local = {**root, **{name: start[name] for name in parents}}
            if all(
                v.states == local[v.name].child.states for one in local.values() for v in one.given
            ):
                return Network(local, task.root[0].child.name if task.root else None)
        return template(task, self.seen, self.hidden)

    def _start(self, climbing: FitTask, net: Network, number: int) -> Network:
        """Where a start begins: as given, from the complete rows, or at random."""
        if self.start is not None and number == 0:
            self._refuse_impossible(self.start)
            return like(net, self.start)
        if not self.hidden and number == 0:
            return with_smoothed_tables(net)
        return random_start(climbing, net, self.hidden, rng=self.rng)

    @property
    def n_starts(self) -> int:
        """Number of starts: one, and the restarts."""
        is_blind = bool(self.hidden) and self.start is None
        is_continuous = len(self.levels) == len(self.hidden)
        return number_of_starts(
            self.choice.restarts, is_blind=is_blind, is_continuous=is_continuous
        )

    def _refuse_impossible(self, start: Network) -> None:
        """Refuse a start that excludes a row: what is zero once stays zero."""
        request = CasesRequest(start, memory_limit=self.task.memory_limit)
        if prepared(self.task.engine, request).expected(start).log_likelihood > -np.inf:
            return
        row = impossible_row(start, self.task.engine)
        where = "a row" if row is None else f"row {row}"
        raise ImpossibleEvidenceError(
            f"em: the network to start from gives {where} the probability zero, and EM could "
            "never use it. Give one without zeros, such as a fit with cs.Dirichlet().",
            **({} if row is None else {"row": row}),
        )


def _alone_in_a_source(task: FitTask) -> list[str]:
    """A note on variables that a source never recorded, if nothing ties it to the others."""
    if task.source == "" or not any(isinstance(one, Separate) for one in task.chosen.values()):
        return []
    lacking = [
        f"{one.name!r} in {one.source!r}"
        for one in recorded_by_source(task.engine, list(task.kind))
        if one.n_rows > 0 and one.n_recorded == 0
    ]
    if not lacking:
        return []
    return [
        f"Never recorded, and learned from nothing because sources are kept apart: "
        f"{', '.join(lacking)}. Pooled or hierarchical estimators learn them from the others."
    ]
