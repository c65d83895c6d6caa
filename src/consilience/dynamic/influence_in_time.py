r"""The verb :func:`influence`: naive Bayes models whose hidden states influence each other in time.

Each group of observed variables has one hidden chain. First every chain is learned alone, a hidden
Markov model with the group's variables as its emissions. Then the smoothed states serve as labels,
the graph from the slice before is searched for among them, and all parameters are learned again
together by EM in the network with these arcs; labels, search and EM are repeated as long as

.. math:: \mathrm{BIC} = \log L - \tfrac{d}{2} \log n

of the observed rows rises. Influence within a slice is not looked for: time gives the direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Integers, Seed
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.dynamic.dynamic_fit import em, fit
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.first_choices import Estimated
from consilience.dynamic.graph_search import search
from consilience.dynamic.graphs_in_time import hidden_markov
from consilience.dynamic.lagged_names import lagged
from consilience.dynamic.panel import Panel
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score
from consilience.structure.searches.task import Progress

__all__ = ["InfluenceInTime", "RoundOfInfluence", "influence"]

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class RoundOfInfluence:
    """A network on the way: its BIC and log-likelihood, its arcs between slices."""

    score: float
    log_likelihood: float
    n_arcs: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InfluenceInTime:
    """Hidden chains and how they influence one another from slice to slice.

    Attributes
    ----------
    network
        The network in time: hidden chains, named as the groups, and observed nodes.
    dag
        The arcs between the chains, from ``a(t-1)`` to ``b``.
    groups
        For each chain its observed variables.
    score, log_likelihood
        Of the observed rows.
    trace
        The networks that were tried, chains without influence first.
    """

    network: DynamicNetwork
    dag: DAG
    groups: Mapping[str, tuple[str, ...]]
    score: float
    log_likelihood: float
    trace: tuple[RoundOfInfluence, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"InfluenceInTime({len(self.groups)} chains, {len(self.dag.arcs)} arcs, score "
            f"{self.score:.6g})"
        )


def influence(
    panel: Panel,
    groups: Mapping[str, Iterable[str]],
    *,
    states: int | Mapping[str, int] = 2,
    estimator: Estimator | None = None,
    score: Score | None = None,
    alone: EM | None = None,
    together: EM | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> InfluenceInTime:
    """Which hidden chains influence which, and the network of all.

    Parameters
    ----------
    panel
        The sequences; values may be missing.
    groups
        For each hidden chain the discrete variables that it emits; no variable in two groups.
    states
        Number of states of each chain, one for all or by name.
    estimator
        How expected counts become tables; ``Dirichlet(ess=1)`` if not given.
    score
        Of the graph among labels; ``BIC()`` if not given.
    alone, together
        How EM climbs for each chain alone (4 starts, 60 steps) and for all (20 steps).
    seed
        Of random starts.
    progress
        Called now and then with None and a text.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = {"x": list("aabb") * 30, "y": list("abba") * 30}
    >>> panel = cs.dynamic.read_panel(rows)
    >>> found = cs.dynamic.influence(panel, groups={"u": ["x"], "v": ["y"]}, seed=1)
    >>> sorted(found.groups), found.network.hidden
    (['u', 'v'], ('u', 'v'))
    """
    chosen = _checked(panel, groups, states)
    task = _Task(
        panel,
        {name: tuple(members) for name, members in groups.items()},
        chosen,
        Dirichlet(ess=1.0) if estimator is None else estimator,
        BIC() if score is None else score,
        EM(iterations=60, restarts=3) if alone is None else alone,
        EM(iterations=20, restarts=0) if together is None else together,
        progress,
    )
    return task.found(_check.generator(seed))


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """What is asked, checked."""

    panel: Panel
    groups: Mapping[str, tuple[str, ...]]
    states: Mapping[str, int]
    estimator: Estimator
    judge: Score
    alone: EM
    together: EM
    progress: Progress | None

    def found(self, rng: np.random.Generator) -> InfluenceInTime:
        """Chains alone, then rounds of labels, search and EM while the score rises."""
        labels: dict[str, Integers] = {}
        for name, members in self.groups.items():
            self._tell(f"influence: {name} alone")
            net = fit(
                hidden_markov(members, chains=[name]),
                self.panel,
                self.estimator,
                hidden={name: self.states[name]},
                gaps=self.alone,
                seed=rng,
            )
            labels[name] = net.smooth(self.panel).probabilities[name].argmax(axis=1)
        plain = DAG([(lagged(name, 1), name) for name in self.groups])
        best = self._learned(plain, labels)
        trace, tried = [_round(best)], {frozenset(plain.arcs)}
        for _ in range(ROUNDS):
            dag = search(self._labelled(labels), 1, instantaneous=False, score=self.judge).dag
            if frozenset(dag.arcs) in tried:
                break
            tried.add(frozenset(dag.arcs))
            found = self._learned(dag, labels)
            trace.append(_round(found))
            self._tell(f"influence: {len(dag.arcs)} arcs, score {found.score:.6g}")
            if found.score <= best.score:
                break
            best = found
            beliefs = best.network.smooth(self.panel).probabilities
            labels = {name: beliefs[name].argmax(axis=1) for name in self.groups}
        return replace(best, trace=tuple(trace))

    def _learned(self, dag: DAG, labels: Mapping[str, Integers]) -> InfluenceInTime:
        """The network with these arcs, by EM from where the labels say."""
        emissions = [(name, x) for name, members in self.groups.items() for x in members]
        whole = DAG([*dag.arcs, *emissions], nodes=list(self.groups))
        panel = self._labelled(labels, keeps_rows=True)
        begin = fit(whole, panel, self.estimator, initial=Estimated())
        story = em(
            whole,
            self.panel,
            self.estimator,
            hidden=dict(self.states),
            choice=self.together,
            start=begin,
        )
        net, n = story.network, len(self.panel)
        score = story.log_likelihood - 0.5 * net.n_parameters * float(np.log(n))
        return InfluenceInTime(net, dag, self.groups, score, story.log_likelihood, ())

    def _labelled(self, labels: Mapping[str, Integers], *, keeps_rows: bool = False) -> Panel:
        """The panel of labels, with the rows beside them if wanted."""
        rows = self.panel.rows
        variables = {
            name: Variable(name, tuple(str(k + 1) for k in range(self.states[name])))
            for name in self.groups
        }
        columns = {name: labels[name].astype(code_type(self.states[name])) for name in self.groups}
        if keeps_rows:
            variables = {**rows.variables, **variables}
            columns = {**rows.columns, **columns}
        table = Table(
            Schema(variables, rows.schema.source), columns, rows.source_codes, rows.weights
        )
        return replace(self.panel, rows=table, inputs=())

    def _tell(self, text: str) -> None:
        if self.progress is not None:
            self.progress(None, text)


def _round(found: InfluenceInTime) -> RoundOfInfluence:
    return RoundOfInfluence(found.score, found.log_likelihood, len(found.dag.arcs))


def _checked(panel: object, groups: object, states: int | Mapping[str, int]) -> dict[str, int]:
    """The number of states of each chain; groups that cannot be are refused."""
    if not isinstance(panel, Panel):
        raise InputError(
            f"a Panel is wanted, got a {type(panel).__name__}; cs.dynamic.read_panel(...) makes "
            "one.",
            parameter="panel",
        )
    if not isinstance(groups, Mapping) or not groups:
        raise InputError(
            f"influence: groups must map hidden chains to lists of variables, got {groups!r}.",
            parameter="groups",
        )
    variables, seen = panel.rows.variables, set()
    for name, members in groups.items():
        _check.names("influence", groups=members)
        _check.known("variable", members, variables)
        if name in variables:
            raise InputError(
                f"influence: the chain {name!r} has the name of a column.", variable=name
            )
        for member in members:
            if member in seen:
                raise InputError(f"influence: {member!r} stands in two groups.", variable=member)
            if variables[member].is_continuous:
                raise InputError(
                    f"influence: {member!r} is continuous; groups have discrete variables. Read it "
                    "with discretize=.",
                    variable=member,
                )
            seen.add(member)
    of_chain = states if isinstance(states, Mapping) else dict.fromkeys(groups, states)
    _check.known("chain of states", of_chain, groups)
    for name in groups:
        if name not in of_chain:
            _check.unknown("chain of states", name, of_chain)
        _check.whole("influence", at_least=2, **{name: of_chain[name]})
    return {name: int(of_chain[name]) for name in groups}
