r"""Influence between naive Bayes models: a graph over the hidden classes of groups of variables.

Each group of observed variables is a naive Bayes model with a hidden class :math:`L_i`; arcs
between the hidden nodes say which model influences which:

.. math:: P(x) = \sum_{l} \prod_i P(l_i \mid \mathrm{pa}_i) \prod_{x_j \in \text{group } i}
    P(x_j \mid l_i) .

1. Each model is learned alone by EM. 2. The hidden nodes are completed
(:mod:`consilience.latent.soft_labels`). 3. A graph over them is searched, by BIC on the completed
rows: up to terms that no arc changes, the score of the paper,
:math:`M \sum_i I(L_i; \mathrm{Pa}_i) - \tfrac12 d \log M`. 4. All parameters are relearned
together by EM in the network with these arcs, from where they are. 2 to 4 are repeated as long as
the BIC of the *observed* rows grows, then with single moves (add, delete or reverse an arc) instead
of whole searches as long as it grows again:

.. math:: \log P(x_1, \dots, x_M) - \tfrac12 d \log M ,

which is also what the models without arcs are compared by: they are the answer if no graph is
better. A group may have several hidden nodes, and then each of its variables depends on all of
them: :math:`L_i` is a vector. (That the score finds the true graph with enough rows is known for
rows that are complete, not for hidden classes.)

References
----------
R. Ajoodha, B. Rosman (2017). Tracking influence between naive Bayes models using score-based
structure learning. PRASA-RobMech.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import InputError, UnknownNameError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.incomplete.canonical import canonical
from consilience.incomplete.em import EM, Convergence, em
from consilience.latent.influence_record import Influence, InfluenceStep
from consilience.latent.joint import blocks_of, hidden_in_blocks
from consilience.latent.moves import AfterMove, AfterSearch, Relearning
from consilience.latent.soft_labels import Completion, SoftCompletion
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.network.record import Record
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.task import Clock, Progress, Search

__all__ = ["influence", "influence_network"]

ALONE = EM(restarts=4)
TOGETHER = EM(iterations=100, tolerance=1e-6)
COMPLETION = (
    "completion",
    "complete",
    "a choice: cs.latent.SoftCompletion() or cs.latent.HardCompletion()",
)
SEARCH = ("search", "search", "a choice such as cs.HillClimb()")
RELEARN = ("relearn", "propose", "a choice: cs.latent.AfterSearch() or cs.latent.AfterMove()")
"""Choices: the parameter, the method that it must have, and what is accepted."""

GAIN = 1e-6
"""A score must grow by more than this share to have grown."""


def influence(
    table: Rows,
    groups: Mapping[str, Sequence[str]],
    *,
    n_states: int | Mapping[str, int] = 3,
    completion: Completion | None = None,
    search: Search | None = None,
    relearn: Relearning | None = None,
    score: Score | None = None,
    estimator: Estimator | None = None,
    require: Iterable[Arc] = (),
    forbid: Iterable[Arc] = (),
    tiers: Iterable[Iterable[str]] = (),
    alone: EM = ALONE,
    together: EM = TOGETHER,
    iterations: int = 20,
    seed: Seed = 0,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Influence:
    """The network of naive Bayes models that influence one another, and how it was found.

    Time and memory grow with the number of joint states of all hidden nodes: 3 to the power of 10
    for ten groups with three states. Missing values are summed out; sources are pooled.

    Parameters
    ----------
    table
        The rows: a table, a frame or a path; the variables of the groups are discrete.
    groups
        For each hidden node, its observed variables. Hidden nodes with the same variables are one
        group, whose variables depend on all of them; otherwise no variable is in two groups.
        Variables in none are left out.
    n_states
        Number of states of the hidden nodes: one for all, or one for each.
    completion
        ``SoftCompletion()`` if not given, or ``HardCompletion()``.
    search
        Of the graph over the hidden nodes; ``HillClimb(tabu=5, restarts=5, max_parents=3)`` if not
        given.
    relearn
        ``AfterSearch()`` if not given, or ``AfterMove()``.
    score
        Of the search on completed rows; ``BIC()`` if not given. Networks are always compared by the
        BIC of the observed rows.
    estimator
        How expected counts become tables; ``Dirichlet(per_cell=1)`` if not given.
    require, forbid, tiers
        Arcs between hidden nodes that the graph must have and must not have, and lists of hidden
        nodes from the earliest to the latest, as in :func:`consilience.search`.
    alone, together
        EM of each model alone, and of all in the network with arcs, which starts where the last one
        ended.
    iterations
        Rounds of completing, searching and relearning, at most.
    seed
        Of the starts of EM and of the search.
    progress
        Called now and then with the share done (None: unknown) and a text.
    memory_limit
        Bytes; more joint states are refused.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({name: ["n", "y"] * 40 for name in ("a1", "a2", "a3", "b1", "b2", "b3")})
    >>> groups = {"A": ["a1", "a2", "a3"], "B": ["b1", "b2", "b3"]}
    >>> cs.influence(rows, groups, n_states=2).dag.arcs
    (('B', 'A'),)
    """
    task = _Task.of(
        as_table(table), groups, n_states, estimator or Dirichlet(per_cell=1), together=together
    )
    _check_em(alone=alone)
    check_score("influence", BIC() if score is None else score)
    for given, wanted in ((completion, COMPLETION), (search, SEARCH), (relearn, RELEARN)):
        _check_choice(given, *wanted)
    _check.whole("influence", at_least=0, iterations=iterations)
    required = tuple(require)
    forbidden = _forbidden(tuple(task.groups), required, forbid, tiers)
    rng, clock = _check.generator(seed), Clock(None, progress)
    rounds = _Rounds(
        task,
        SoftCompletion() if completion is None else completion,
        BIC() if score is None else score,
        HillClimb(tabu=5, restarts=5, max_parents=3) if search is None else search,
        forbidden,
        required,
        rng,
        clock,
        memory_limit,
    )
    first = task.alone(alone, rng, clock)
    trace = [first.step("models alone")]
    if required:
        first = task.grown(first, DAG(required, first.dag.nodes), rng)
        trace.append(first.step("required arcs"))
    climb = _Climb(first, trace, {first.dag})
    way = AfterSearch() if relearn is None else relearn
    stopped_by = rounds.climb(climb, way, iterations)
    return task.record(climb.best, climb.trace, stopped_by)


def influence_network(
    dag: DAG,
    table: Rows,
    groups: Mapping[str, Sequence[str]],
    *,
    n_states: int | Mapping[str, int] = 3,
    estimator: Estimator | None = None,
    alone: EM = ALONE,
    together: EM = TOGETHER,
    seed: Seed = 0,
) -> Influence:
    """The network of naive Bayes models with a given graph over their hidden nodes.

    The parameters are learned as in :func:`influence`: each model alone, then all together.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({name: ["n", "y"] * 40 for name in ("a1", "a2", "b1", "b2")})
    >>> groups = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    >>> found = cs.latent.influence_network(cs.DAG([("A", "B")]), rows, groups, n_states=2)
    >>> found.network.dag.parents("B"), found.network.dag.parents("b1")
    (('A',), ('B',))
    """
    task = _Task.of(
        as_table(table), groups, n_states, estimator or Dirichlet(per_cell=1), together=together
    )
    _check_em(alone=alone)
    if not isinstance(dag, DAG):
        _refuse("dag", "a graph over the groups: cs.DAG([...])", dag)
    _check.known("group", dag.nodes, groups)
    whole = DAG(dag.arcs, nodes=tuple(groups))
    rng = _check.generator(seed)
    first = task.alone(alone, rng, Clock())
    trace, best = [first.step("models alone")], first
    if whole.arcs:
        best = task.grown(first, whole, rng)
        trace.append(best.step("together"))
    return task.record(best, trace, "given graph")


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A network with its graph over the hidden nodes and what the observed rows say of it."""

    network: Network
    dag: DAG
    log_likelihood: float
    score: float

    def step(self, note: str) -> InfluenceStep:
        return InfluenceStep(self.score, self.log_likelihood, len(self.dag.arcs), note)


@dataclass(slots=True)
class _Climb:
    """The best network so far, all that were tried, and their graphs."""

    best: _Found
    trace: list[InfluenceStep]
    seen: set[DAG]

    def keep(self, found: _Found, note: str) -> None:
        self.seen.add(found.dag)
        self.trace.append(found.step(note))
        if found.score > self.best.score:
            self.best = found


@dataclass(frozen=True, slots=True, eq=False)
class _Rounds:
    """How a round goes: complete, search, relearn."""

    task: _Task
    completion: Completion
    score: Score
    search: Search
    forbidden: Sequence[Arc]
    required: Sequence[Arc]
    rng: np.random.Generator
    clock: Clock
    memory_limit: float

    def climb(self, climb: _Climb, way: Relearning, iterations: int) -> str:
        """Go round as long as that gains, then by single moves; why it ended."""
        single = isinstance(way, AfterMove)
        try:
            for i in range(iterations):
                if self.has_gained(climb, way, f"round {i + 1}"):
                    continue
                if single:
                    return "no gain"
                way, single = AfterMove(), True
        except KeyboardInterrupt:
            return "interrupt"
        return "iterations"

    def has_gained(self, climb: _Climb, way: Relearning, name: str) -> bool:
        """Go one round from the best network; whether a better one was found."""
        task, start = self.task, climb.best
        completions = self.completion.complete(
            start.network, task.table, task.groups, self.memory_limit
        )
        for note, completed in completions:
            dag = way.propose(
                completed,
                start.dag,
                score=self.score,
                search=self.search,
                forbidden=self.forbidden,
                required=self.required,
                blocks=blocks_of(task.groups),
                rng=self.rng,
            )
            if dag not in climb.seen:
                text = f"{name}, {note}: {len(dag.arcs)} arcs; best score {climb.best.score:.2f}"
                self.clock.tell(None, partial(str, text))
                climb.keep(
                    task.relearned(start.network, dag, completed, self.rng), f"{name}, {note}"
                )
        return climb.best.score > start.score + GAIN * abs(start.score)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """What is to be learned: rows without sources, groups, and how parameters are estimated."""

    table: Table
    groups: Mapping[str, tuple[str, ...]]
    n_states: Mapping[str, int]
    n_sources: int
    estimator: Estimator
    together: EM

    @classmethod
    def of(
        cls,
        table: Table,
        groups: Mapping[str, Sequence[str]],
        n_states: int | Mapping[str, int],
        estimator: Estimator,
        *,
        together: EM,
    ) -> _Task:
        _check_groups(table, groups)
        _check_em(together=together)
        states = _states(groups, n_states)
        names = list(dict.fromkeys(name for observed in groups.values() for name in observed))
        rows = Table(
            Schema({name: table.variables[name] for name in names}),
            {name: table.columns[name] for name in names},
            weights=table.weights,
        )
        listed = {name: tuple(groups[name]) for name in hidden_in_blocks(groups)}
        n_sources = 1 if table.source is None else len(table.sources)
        return cls(rows, listed, states, n_sources, estimator, together)

    def alone(self, choice: EM, rng: np.random.Generator, clock: Clock) -> _Found:
        """The models without arcs between them."""
        models: list[Convergence[Network]] = []
        for block in blocks_of(self.groups):
            done = len(models) / len(self.groups)
            clock.tell(done, partial(str, f"model {_check.listed(block)} alone"))
            observed = self.groups[block[0]]
            dag = DAG([(name, one) for one in observed for name in block], [*block, *observed])
            hidden = {name: self.n_states[name] for name in block}
            rows = self.table.select(observed)
            found = em(dag, rows, self.estimator, hidden=hidden, choice=choice, seed=rng)
            _stop_if_interrupted(found)
            models.append(found)
        local = [one for found in models for one in found.network.distributions.values()]
        net = Network.of(local, record=_record(models, "alone", choice))
        total = sum(found.log_likelihood for found in models)
        return self._found(net, DAG(nodes=tuple(self.groups)), total)

    def grown(self, start: _Found, dag: DAG, rng: np.random.Generator) -> _Found:
        """The network with these arcs, from models without them."""
        [(_, completed)] = SoftCompletion((1,)).complete(start.network, self.table, self.groups)
        return self.relearned(start.network, dag, completed, rng)

    def relearned(
        self, net: Network, dag: DAG, completed: Table, rng: np.random.Generator
    ) -> _Found:
        """The network with these arcs, its parameters learned together from where they are."""
        families = [Family(name, dag.parents(name)) for name in dag.nodes]
        tables = dict(
            zip(dag.nodes, self.estimator.estimate(count(completed, families)), strict=True)
        )
        start = Network.of([tables.get(name, local) for name, local in net.distributions.items()])
        found = em(
            start.dag,
            self.table,
            self.estimator,
            hidden={name: list(net.variables[name].discrete_states) for name in self.groups},
            choice=self.together,
            start=start,
            seed=rng,
        )
        _stop_if_interrupted(found)
        record = _record([found], "together", self.together)
        net = Network(found.network.distributions, None, record)
        return self._found(net, dag, found.log_likelihood)

    def record(self, best: _Found, trace: Sequence[InfluenceStep], stopped_by: str) -> Influence:
        """The record."""
        net = canonical(best.network, self.groups)
        record = replace(
            net.record,
            method=f"influence, EM with {self.estimator!r}",
            notes=(*self._notes(best), *net.record.notes),
        )
        return Influence(
            Network(net.distributions, None, record),
            best.dag,
            self.groups,
            best.score,
            best.log_likelihood,
            tuple(trace),
            stopped_by,
        )

    def _notes(self, best: _Found) -> list[str]:
        notes = [
            f"{len(self.groups)} hidden nodes; the most frequent state of each is the first. No "
            "row is complete for a family with one of them.",
            f"BIC of the observed rows: {best.score:.6g}.",
        ]
        if share := _share_missing(self.table):
            notes.append(
                f"Gaps ({share:.3g} % of the values of the groups) were summed out, which is sound "
                "if values are missing at random."
            )
        if self.n_sources > 1:
            notes.append(f"The {self.n_sources} sources were pooled.")
        return notes

    def _found(self, net: Network, dag: DAG, log_likelihood: float) -> _Found:
        n_rows = max(float(self.table.total_weight), 1.0)
        score = log_likelihood - 0.5 * net.n_parameters * np.log(n_rows)
        return _Found(net, dag, float(log_likelihood), float(score))


def _record(found: Sequence[Convergence[Network]], name: str, choice: EM) -> Record:
    """The rows of all families as EM tells them, and whether it ended."""
    records = [one.network.record for one in found]
    n_open = sum(one.stopped_by == "iterations" for one in found)
    which = f" of {n_open} of {len(found)} models" if len(found) > 1 else ""
    return Record(
        n_rows={node: n for one in records for node, n in one.n_rows.items()},
        n_incomplete={node: n for one in records for node, n in one.n_incomplete.items()},
        unidentified={node: n for one in records for node, n in one.unidentified.items()},
        notes=(
            f"EM{which} did not converge in {choice.iterations} steps; raise "
            f"{name}=EM(iterations=...).",
        )
        if n_open
        else (),
    )


def _share_missing(table: Table) -> float:
    """Values of the table that are missing, in percent of the weight of all."""
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
    missing = sum(float(weights @ (column < 0)) for column in table.columns.values())
    return 100 * missing / max(float(weights.sum()) * len(table.columns), 1e-300)


def _stop_if_interrupted(found: Convergence[Network]) -> None:
    """EM keeps what it has when it is interrupted; the whole learner stops then."""
    if found.stopped_by == "interrupt":
        raise KeyboardInterrupt


def _states(
    groups: Mapping[str, Sequence[str]], n_states: int | Mapping[str, int]
) -> dict[str, int]:
    """The number of states of each hidden node."""
    if isinstance(n_states, Mapping):
        _check.known("group", n_states, groups)
        for name in groups:
            if name not in n_states:
                raise InputError(
                    f"n_states: no number for the group {name!r}. Give one for every group, or a "
                    "single number for all.",
                    group=name,
                )
        states = {name: n_states[name] for name in groups}
    else:
        states = dict.fromkeys(groups, n_states)
    for number in states.values():
        _check.whole("influence", at_least=2, n_states=number)
    return states


def _forbidden(
    names: tuple[str, ...],
    require: Iterable[Arc],
    forbid: Iterable[Arc],
    tiers: Iterable[Iterable[str]],
) -> list[Arc]:
    """The arcs between hidden nodes that no graph may have."""
    try:
        bounds = Constraints.of(names, require=require, forbid=forbid, tiers=tiers)
    except UnknownNameError as problem:
        _check.unknown("group", problem.culprits["name"], names)
    return [(names[i], names[j]) for i, j in np.argwhere(~bounds.allowed) if i != j]


def _check_em(**given: object) -> None:
    for name, one in given.items():
        if not isinstance(one, EM):
            _refuse(name, "a choice cs.EM(...)", one)


def _check_choice(given: object, name: str, method: str, accepted: str) -> None:
    """Refuse what lacks the working method of a choice, and a class in place of a choice."""
    if given is not None and (isinstance(given, type) or not hasattr(given, method)):
        _refuse(name, accepted, given)


def _refuse(name: str, accepted: str, given: object) -> NoReturn:
    is_short = isinstance(given, str | int | float | type) or given is None
    shown = repr(given) if is_short else f"a {type(given).__name__}"
    raise InputError(f"influence: {name} must be {accepted}, got {shown}.", parameter=name)


def _check_groups(table: Table, groups: Mapping[str, Sequence[str]]) -> None:
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(
            f"influence: groups must map each model to its variables, got {groups!r}.",
            parameter="groups",
        )
    owner: dict[str, str] = {}
    for group, names in groups.items():
        _check.names("influence", **{f"group {group!r}": names})
        if not isinstance(names, Iterable):
            raise InputError(
                f"influence: the group {group!r} must be a list of names, got {names!r}.",
                group=group,
            )
        _check.known("variable", names, table.variables)
        if group in table.schema:
            raise InputError(
                f"influence: the group {group!r} has the name of a column; its hidden node needs "
                "a name of its own.",
                group=group,
            )
        if not names:
            raise InputError(f"influence: the group {group!r} has no variables.", group=group)
        if len(set(names)) < len(names):
            raise InputError(
                f"influence: the group {group!r} names a variable twice: {_check.listed(names)}.",
                group=group,
            )
        for name in names:
            table.variables[name].n_states  # noqa: B018 - a continuous variable raises
            if name in owner and set(groups[owner[name]]) != set(names):
                raise InputError(
                    f"influence: the variable {name!r} is in the groups {owner[name]!r} and "
                    f"{group!r}; it may be in one, unless both have the same variables.",
                    variable=name,
                )
            owner[name] = group
