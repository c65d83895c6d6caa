r"""The verb :func:`effect`: what setting x does to y, how surely, and for which source.

.. math:: P(y \mid \mathrm{do}(x)) - P(y \mid \mathrm{do}(x')), \qquad
    E[y \mid \mathrm{do}(x)] - E[y \mid \mathrm{do}(x')]

for a state of a discrete y and the mean of a continuous one. A network answers by cutting the arcs
into x. A DAG is fitted to the rows first. A graph with hidden causes is answered by its estimand
(:mod:`consilience.causal.estimand`) from the counts of a few families; where there is none, the
answer is its bounds. A class of equivalent graphs gives one value for each set of parents that x
can have (:mod:`consilience.causal.class_effects`).

Intervals are those of posterior draws: tables and regressions are drawn, and the effect is computed
on each draw. With independent Dirichlet posteriors this is the exact posterior of the effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.causal.class_effects import parent_sets
from consilience.causal.estimand import Estimand, identify
from consilience.causal.expression import Conditional, product, total
from consilience.causal.family_tables import drawn_tables
from consilience.causal.response import bounds_of
from consilience.causal.values import DRAW, Value, value_of
from consilience.data.door import Rows
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.errors import InputError
from consilience.graph.admg import ADMG
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.inference.intervention import intervene
from consilience.learning import fit
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.parameters.estimator import Estimator
from consilience.parameters.uncertainty import draws as draw_networks
from consilience.statistics.family import Family
from consilience.statistics.gather import engine_of, held_rows
from consilience.statistics.request import Engine

__all__ = ["Effect", "effect", "intervention_targets"]

DRAWS = 2000
MARKOV = (
    "Causal Markov: each variable depends on its direct causes in the graph and on nothing else."
)
NO_HIDDEN = "The variables of the graph have no hidden common causes."
LEARNED = (
    "Faithfulness: independences in the rows come from the graph, not from cancelling effects."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Effect:
    """A causal effect with its interval, by source and in all.

    Attributes
    ----------
    question
        What was asked.
    value
        The effect; None if the data do not determine it.
    interval
        Ends of its central credible interval; None without a posterior.
    by_source
        The effect in each source, and in one never seen (``new_source``) if the model has it.
    bounds
        Lowest and highest value that the data allow, where it is not identified; else None.
    values
        For a class of graphs, pairs (value, number of members), smallest first.
    """

    question: str
    value: float | None
    interval: tuple[float, float] | None
    level: float
    assumptions: tuple[str, ...]
    by_source: Mapping[str, Effect] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    values: tuple[tuple[float, int | None], ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __repr__(self) -> str:
        return f"Effect({self})"

    def __str__(self) -> str:
        if self.values:
            shown = ", ".join(f"{value:.6g} ({n or 'many'})" for value, n in self.values)
            return f"{self.question}: {shown}"
        if self.value is None:
            ends = "" if self.bounds is None else f"; between {_ends(self.bounds)}"
            return f"{self.question} is not identified{ends}"
        around = (
            "" if self.interval is None else f", {self.level:.0%} interval {_ends(self.interval)}"
        )
        return f"{self.question} = {self.value:.6g}{around}"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def effect(
    model: Network | DAG | ADMG | CPDAG,
    y: str,
    *,
    do: Mapping[str, Any],
    against: Mapping[str, Any] | None = None,
    state: Any = None,
    given: Mapping[str, Any] | None = None,
    table: Rows | Engine | None = None,
    estimator: Estimator | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: Seed = 1,
    to: str | None = None,
    experiments: Mapping[str, Sequence[str]] | None = None,
) -> Effect:
    """The effect on y of setting variables from outside.

    Parameters
    ----------
    model
        A network; or a DAG, a graph with hidden causes (:class:`ADMG`) or a class of graphs
        (:class:`CPDAG`) together with ``table``.
    y, state
        The variable, and its state if it is discrete; a continuous one is judged by its mean.
    do, against
        What is set; the effect is the difference to ``against``. Without ``against`` it is the
        probability or mean itself. ``Soft({...})`` sets a distribution.
    given
        What is seen after the intervention; it may name the source.
    estimator
        How rows become tables; by default that of :func:`consilience.fit` for a DAG, and
        ``cs.Dirichlet(per_cell=1)`` for the formula of an ADMG.
    level, draws, seed
        Of the credible interval.
    to, experiments
        For the effect in the source ``to``, from studies in other sources of the table; see
        :func:`identify`. The graph must have the source as a node.

    Examples
    --------
    >>> import consilience as cs
    >>> x, y = cs.Variable("x", ("no", "yes")), cs.Variable("y", ("no", "yes"))
    >>> of_y = cs.Categorical(y, (x,), [[0.9, 0.1], [0.4, 0.6]])
    >>> net = cs.Network.of([cs.Categorical(x, (), [0.5, 0.5]), of_y])
    >>> found = effect(net, "y", do={"x": "yes"}, against={"x": "no"}, state="yes")
    >>> round(found.value, 6)
    0.5
    """
    question = _Question(y, do, against, state, given or {}, level, draws)
    question.check()
    rng = _check.generator(seed)
    table = None if table is None else held_rows(table)
    if to is not None or experiments is not None:
        found = _moved(model, question, table, to, experiments=experiments)
        return _of_formula(found, table, question, estimator, rng=rng)
    if isinstance(model, Network):
        return _of_network(model, question, rng, ())
    if table is None:
        raise InputError("effect: a graph needs rows to go with it: table=.", parameter="table")
    if isinstance(model, DAG):
        return _of_network(fit(model, table, estimator), question, rng, ())
    if isinstance(model, ADMG):
        inside = [name for name in question.given if name in model.nodes]
        found = identify(model, y, do=list(do), given=inside)
        return _of_formula(found, table, question, estimator, rng=rng)
    if isinstance(model, CPDAG):
        return _of_class(model, table, question, estimator)
    raise InputError(
        f"effect: model must be a Network, DAG, cs.causal.ADMG or CPDAG, got a "
        f"{type(model).__name__}.",
        parameter="model",
    )


def intervention_targets(
    net: Network,
    y: str,
    *,
    state: Any = None,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: Seed = 1,
) -> dict[str, Effect]:
    """The single interventions on discrete variables that change y, strongest first.

    For each variable the largest difference between two of its states; the effect's question says
    which.
    """
    found = {}
    for name, variable in net.variables.items():
        if name in (y, net.source) or variable.is_continuous:
            continue
        levels = {
            one: _level(intervene(net, {name: one}), y, state, {})
            for one in variable.discrete_states
        }
        best, worst = max(levels, key=levels.__getitem__), min(levels, key=levels.__getitem__)
        found[name] = effect(
            net,
            y,
            do={name: best},
            against={name: worst},
            state=state,
            level=level,
            draws=draws,
            seed=seed,
        )
    ordered = sorted(found, key=lambda name: (-float(found[name].value or 0.0), name))
    return {name: found[name] for name in ordered}


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, checked."""

    y: str
    do: Mapping[str, Any]
    against: Mapping[str, Any] | None
    state: Any
    given: Mapping[str, Any]
    level: float
    draws: int

    def check(self) -> None:
        for name, states in (("do", self.do), ("against", self.against or self.do)):
            if not isinstance(states, Mapping) or not states:
                raise InputError(
                    f"effect: {name} must map variables to states, got {states!r}.", parameter=name
                )
        if self.against is not None and set(self.do) != set(self.against):
            raise InputError(
                "effect: do and against must set the same variables, got "
                f"{_check.listed(self.do)} and {_check.listed(self.against)}.",
                parameter="against",
            )
        if not 0 < self.level < 1:
            raise InputError(
                f"effect: level must lie between 0 and 1, got {self.level!r}.", parameter="level"
            )
        _check.whole("effect", at_least=1, draws=self.draws)

    def sides(self) -> list[Mapping[str, Any]]:
        """What is set on both sides of the difference."""
        return [self.do] if self.against is None else [self.do, self.against]

    def check_state(self, variable: Variable) -> None:
        if variable.is_continuous and self.state is not None:
            raise InputError(
                f"effect: {self.y!r} is continuous and is judged by its mean; leave state out.",
                parameter="state",
            )
        if not variable.is_continuous:
            if self.state is None:
                raise InputError(
                    f"effect: name the state of {self.y!r} in state=. States: "
                    f"{_check.listed(variable.discrete_states)}.",
                    parameter="state",
                )
            variable.code(self.state)

    def text(self) -> str:
        what = f"E[{self.y}" if self.state is None else f"P({self.y}={self.state}"
        end = "]" if self.state is None else ")"
        seen = "".join(f", {name}={value}" for name, value in self.given.items())
        sides = [
            f"{what} | do({', '.join(f'{n}={v}' for n, v in side.items())}){seen}{end}"
            for side in self.sides()
        ]
        return " - ".join(sides)


def _of_network(
    net: Network, question: _Question, rng: np.random.Generator, notes: Sequence[str]
) -> Effect:
    _check.known("node", [question.y, *question.do, *question.given], net.variables)
    question.check_state(net.variables[question.y])
    sources = () if net.source is None or net.source in question.given else (net.source,)
    states = [state for name in sources for state in net.variables[name].discrete_states]
    drawn = _drawn_levels(net, question, rng)
    everything = [*question.given.items()]

    def answer(extra: Mapping[str, Any], spread: Floats | None) -> Effect:
        levels = [
            _level(intervene(net, side), question.y, question.state, {**dict(everything), **extra})
            for side in question.sides()
        ]
        one = replace_given(question, extra)
        return Effect(
            one.text(),
            levels[0] - sum(levels[1:]),
            _interval(spread, question.level),
            question.level,
            (MARKOV, NO_HIDDEN),
            notes=tuple(notes),
        )

    whole = answer({}, None if drawn is None else drawn.pooled)
    parts = {
        state: answer({net.source: state}, None if drawn is None else drawn.by_source.get(state))  # type: ignore[dict-item]
        for state in states
    }
    return replace(whole, by_source=parts)


def replace_given(question: _Question, extra: Mapping[str, Any]) -> _Question:
    """The same question, given more."""
    return replace(question, given={**question.given, **extra})


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """The effect on each posterior draw: in all, and by source."""

    pooled: Floats
    by_source: Mapping[str, Floats]


def _drawn_levels(net: Network, question: _Question, rng: np.random.Generator) -> _Drawn | None:
    """The effect on posterior draws, or None where a distribution that matters has none."""
    needed = net.dag.ancestors([question.y, *question.given]) | {question.y, *question.given}
    fixed = {*question.do, net.source}
    if any(net[name].posterior is None for name in needed if name not in fixed):
        return None
    if net.is_discrete and not question.given:
        return _drawn_tables(net, question, needed, rng)
    return _drawn_networks(net, question, rng)


def _drawn_tables(
    net: Network, question: _Question, needed: frozenset[str], rng: np.random.Generator
) -> _Drawn:
    """By the truncated product of drawn tables, all draws at once."""
    y, source = net.variables[question.y], net.source
    tables = {
        name: drawn_tables(net.tables[name], question.draws, rng)
        for name in net.dag.topological_order()
        if name in needed and name != source and name not in question.do
    }
    total_effect: Any = 0.0
    for sign, side in zip((1.0, -1.0), question.sides(), strict=False):
        found = _truncated(net, question.y, side, tables)
        names = (DRAW, *([source] if source in found.names else []), question.y)
        values = found.values.transpose([found.names.index(n) for n in names if n in found.names])
        total_effect = total_effect + sign * values[..., y.code(question.state)]
    if source is None or source not in found.names:
        pooled = np.broadcast_to(total_effect, (question.draws,))
        states = () if source is None else net.variables[source].discrete_states
        return _Drawn(pooled, dict.fromkeys(states, pooled))
    shares = net.tables[source].table
    by_source = dict(zip(net.variables[source].discrete_states, total_effect.T, strict=True))
    return _Drawn(total_effect @ shares, by_source)


def _truncated(
    net: Network, y: str, side: Mapping[str, Any], tables: Mapping[str, Floats]
) -> Value:
    """P(y | do, source) on each draw: the product of the tables of all that is not set."""
    set_net = intervene(net, side)
    kept = set_net.dag.ancestors(y) | {y}
    known: dict[Family, Value] = {}
    for name in kept:
        if name == net.source:
            continue
        family = Family(name, set_net.dag.parents(name))
        first = () if name in side else (DRAW,)
        known[family] = Value(
            (*first, *family.variables),
            set_net.tables[name].table if name in side else tables[name],
        )
    over = [name for name in kept if name not in (y, net.source)]
    expression = total(over, product(Conditional(family) for family in known))
    return value_of(expression, known, net.variables, memory_limit=MEMORY_LIMIT)


def _drawn_networks(net: Network, question: _Question, rng: np.random.Generator) -> _Drawn:
    """By whole networks drawn one after the other, for continuous nodes and conditions."""
    source = None if net.source in question.given else net.source
    states = () if source is None else net.variables[source].discrete_states
    rows: list[list[float]] = []
    for drawn in draw_networks(net, question.draws, seed=rng):
        sides = [intervene(drawn, side) for side in question.sides()]
        rows.append(
            [
                _difference(sides, question, extra)
                for extra in ({}, *({source: state} for state in states))
            ]
        )
    columns = np.array(rows).T
    return _Drawn(columns[0], dict(zip(states, columns[1:], strict=True)))


def _difference(sides: Sequence[Network], question: _Question, extra: Mapping[Any, Any]) -> float:
    levels = [
        _level(side, question.y, question.state, {**question.given, **extra}) for side in sides
    ]
    return levels[0] - sum(levels[1:])


def _level(net: Network, y: str, state: Any, given: Mapping[str, Any]) -> float:
    """The probability of the state, or the mean."""
    belief: Any = net.query(y, given=given)
    return float(belief.mean) if net.variables[y].is_continuous else float(belief[state])


def _moved(
    model: Any,
    question: _Question,
    table: Table | Engine | None,
    to: str | None,
    *,
    experiments: Mapping[str, Sequence[str]] | None,
) -> Estimand:
    """The estimand of the effect in another source."""
    if not isinstance(model, DAG | ADMG) or table is None:
        raise InputError(
            "effect: an effect is moved to another source from a graph and rows: model= a DAG or "
            "cs.causal.ADMG, table= rows with sources.",
            parameter="to",
        )
    source = engine_of(table).schema.source
    if source is None:
        raise InputError("effect: the table has no sources to move from.", parameter="table")
    return identify(
        model,
        question.y,
        do=list(question.do),
        source=source.name,
        to=to,
        experiments=experiments,
    )


def _of_formula(
    found: Estimand,
    table: Any,
    question: _Question,
    estimator: Estimator | None,
    *,
    rng: np.random.Generator,
) -> Effect:
    """From the counts of the families of the estimand; by bounds where there is none."""
    if found.differs:
        found.known_expression()
    if not found.is_identified:
        return _bounded(found, table, question, estimator)
    tables, source = found.tables(table, question.given, estimator)
    question.check_state(tables.variables[question.y])
    value = _formula_levels(found, tables.values(source), tables, question)
    spread = None
    if all(local.posterior is not None for local in tables.local.values()):
        drawn = tables.draws(question.draws, rng, source)
        spread = _formula_levels(found, drawn, tables, question, first=DRAW)
    return Effect(
        question.text(),
        float(value),
        _interval(spread, question.level),
        question.level,
        found.assumptions,
        notes=tables.notes,
    )


def _formula_levels(
    found: Estimand,
    tables: Mapping[Family, Value],
    about: Any,
    question: _Question,
    *,
    first: str | None = None,
) -> Any:
    """The effect by the formula, on the tables or on each draw of them."""
    expression = found.known_expression()
    whole = value_of(expression, tables, about.variables, memory_limit=MEMORY_LIMIT)
    code = about.variables[question.y].code(question.state)
    levels = []
    for side in question.sides():
        values = found.at(whole, about, found.checked_states(side, question.given), first)
        levels.append((values / values.sum(axis=-1, keepdims=True))[..., code])
    return levels[0] - sum(levels[1:])


def _bounded(
    found: Estimand, table: Table | Engine, question: _Question, estimator: Estimator | None
) -> Effect:
    ends = bounds_of(
        found,
        table,
        question.do,
        question.given,
        against=question.against,
        estimator=estimator,
        memory_limit=MEMORY_LIMIT,
    )
    note = str(found) if ends.is_consistent else f"{found} The data contradict this graph."
    return Effect(
        question.text(),
        None,
        None,
        question.level,
        found.assumptions,
        bounds=ends[question.state] if ends.is_consistent else None,
        notes=(note, *(() if ends.is_sharp else ("The bounds hold but are not sharp.",))),
    )


def _of_class(
    graph: CPDAG, table: Table | Engine, question: _Question, estimator: Estimator | None
) -> Effect:
    """One value for each set of parents that x can have; equal values together."""
    if len(question.do) != 1 or question.given:
        raise InputError(
            "effect: a class of graphs is asked about one variable that is set, without given=.",
            parameter="do",
        )
    [x] = question.do
    _check.known("node", [x, question.y], graph.nodes)
    values: dict[float, int | None] = {}
    for one in parent_sets(graph, x):
        value = (
            _adjusted(one.parents, x, table, question, estimator=estimator)
            if one.is_cause(x, question.y)
            else 0.0
        )
        known = values.get(value, 0)
        values[value] = None if known is None or one.n_members is None else known + one.n_members
    open_arcs = ", ".join(f"{a} - {b}" for a, b in graph.undirected)
    return Effect(
        question.text(),
        None,
        None,
        question.level,
        (MARKOV, NO_HIDDEN, LEARNED, f"The rows cannot direct: {open_arcs or 'nothing'}."),
        bounds=(min(values), max(values)),
        values=tuple(sorted(values.items())),
    )


def _adjusted(
    parents: Sequence[str],
    x: str,
    table: Table | Engine,
    question: _Question,
    *,
    estimator: Estimator | None,
) -> float:
    """The effect of x on y adjusted for the parents of x."""
    arcs = [
        *((parent, x) for parent in parents),
        *((parent, question.y) for parent in parents),
        (x, question.y),
        *((one, two) for i, one in enumerate(parents) for two in parents[i + 1 :]),
    ]
    net = fit(DAG(dict.fromkeys(arcs)), table, estimator)
    question.check_state(net.variables[question.y])
    return _difference([intervene(net, side) for side in question.sides()], question, {})


def _interval(spread: Floats | None, level: float) -> tuple[float, float] | None:
    if spread is None:
        return None
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _ends(pair: tuple[float, float]) -> str:
    return f"[{pair[0]:.4g}, {pair[1]:.4g}]"
