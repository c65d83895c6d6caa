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
from consilience.averaging.graph_belief import GraphBelief
from consilience.causal.assumed import LEARNED, MARKOV, NO_HIDDEN, of_network, of_sources
from consilience.causal.class_effects import parent_sets
from consilience.causal.effect_draws import (
    Drawn,
    difference_of,
    drawn_effect,
    interval_of,
    level_of,
    states_of_sources,
)
from consilience.causal.effect_question import Question, check_state
from consilience.causal.estimand import Estimand, identify
from consilience.causal.family_tables import FamilyTables
from consilience.causal.response import bounds_of
from consilience.causal.values import Value
from consilience.data.door import Rows
from consilience.data.row import known_values
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.graph.admg import ADMG
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.inference.intervention import intervene
from consilience.learning import fit
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.parameters.estimator import Estimator
from consilience.parameters.normal_inverse_gamma import NormalInverseGamma
from consilience.statistics.gather import engine_of, held_rows
from consilience.statistics.request import Engine

__all__ = ["Effect", "effect", "intervention_targets"]

DRAWS = 2000


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
    by_model
        The effect under each of several networks.
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
    by_model: tuple[Effect, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __repr__(self) -> str:
        return f"Effect({self})"

    def __str__(self) -> str:
        if self.values:
            shown = ", ".join(f"{value:.6g} ({n or 'many'})" for value, n in self.values)
            return f"{self.question}: {shown}"
        if self.by_model and self.bounds is not None:
            return f"{self.question}: between {_ends(self.bounds)} in {len(self.by_model)} models"
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
    model: Network | Sequence[Network] | GraphBelief | DAG | ADMG | CPDAG,
    y: str,
    *,
    do: Mapping[str, Any],
    against: Mapping[str, Any] | None = None,
    state: Any = None,
    given: Any = None,
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
        A network; several networks, each of which is answered; a belief over graphs
        (:func:`consilience.average`), which is averaged over; or a DAG, a graph with hidden causes
        (:class:`ADMG`) or a class of graphs (:class:`CPDAG`) together with ``table``.
    y, state
        The variable, and its state if it is discrete; a continuous one is judged by its mean.
    do, against
        What is set; the effect is the difference to ``against``. Without ``against`` it is the
        probability or mean itself. ``Soft({...})`` sets a distribution instead of a state.
    given
        What is seen after the intervention; it may name the source.
    estimator
        How rows become tables; by default that of :func:`consilience.fit` for a DAG, with
        ``NormalInverseGamma()`` for the regressions of one source, and
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
    question = Question(y, do, against, state, {} if given is None else given, level, draws)
    question.check()
    rng = _check.generator(seed)
    table = None if table is None else held_rows(table)
    if to is not None or experiments is not None:
        found = _moved(model, question, table, to, experiments=experiments)
        return _of_formula(found, table, question, estimator, rng=rng)
    if isinstance(model, Network):
        return _of_network(model, question, rng)
    if isinstance(model, GraphBelief):
        return _of_belief(model, question, estimator, rng)
    if isinstance(model, Sequence):
        return _of_several(model, question, rng)
    if not isinstance(model, DAG | ADMG | CPDAG):
        raise _not_a_model(model)
    if table is None:
        raise InputError("effect: a graph needs rows to go with it: table=.", parameter="table")
    if isinstance(model, DAG):
        return _of_rows(model, table, estimator, question, rng=rng)
    if isinstance(model, ADMG):
        inside = [name for name in question.given if name in model.nodes]
        found = identify(model, y, do=list(do), given=inside)
        return _of_formula(found, table, question, estimator, rng=rng)
    return _of_class(model, table, question, estimator)


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
    _check.known("node", [y], net.variables)
    check_state("intervention_targets", net.variables[y], state)
    if all(v.is_continuous for name, v in net.variables.items() if name not in (y, net.source)):
        raise InputError(
            "intervention_targets: compares the states of discrete variables, and the network has "
            f"none beside {y!r}. cs.causal.effect says what a number does, as with "
            "do={name: 1}, against={name: 0}.",
            parameter="net",
        )
    found = {}
    for name, variable in net.variables.items():
        if name in (y, net.source) or variable.is_continuous:
            continue
        levels = {
            one: level_of(intervene(net, {name: one}), y, state, {})
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


def _of_network(net: Network, question: Question, rng: np.random.Generator) -> Effect:
    question = replace(question, given=known_values(question.given, net.variables))
    names = [question.y, *question.do, *question.given]
    _check.known("node", names, net.variables)
    return _of_networks([(net, 1.0)], question, rng, of_network(net, names))


def _of_rows(
    dag: DAG,
    table: Table | Engine,
    estimator: Estimator | None,
    question: Question,
    *,
    rng: np.random.Generator,
) -> Effect:
    """From the network of the rows; its regressions have a posterior unless one is chosen."""
    is_one = engine_of(table).schema.source is None
    gaussian = NormalInverseGamma() if estimator is None and is_one else None
    net = fit(dag, table, estimator, gaussian=gaussian)
    found = _of_network(net, question, rng)
    record = net.record
    has_gaps = record is not None and any(record.n_incomplete.values())
    notes = record.notes if record is not None and has_gaps else ()
    return replace(found, notes=(*found.notes, *notes))


def _of_networks(
    nets: Sequence[tuple[Network, float]],
    question: Question,
    rng: np.random.Generator,
    assumptions: Sequence[str],
    *,
    notes: Sequence[str] = (),
) -> Effect:
    """The effect averaged over networks with their weights, in all and by source."""
    for net, _ in nets:
        _check.known("node", [question.y, *question.do, *question.given], net.variables)
        question.check_state(net.variables[question.y])
    source, states = nets[0][0].source, states_of_sources(nets[0][0], question)
    drawn = _drawn_over(nets, question, rng)
    told = tuple(assumptions)

    def answer(extra: Mapping[str, Any], spread: Floats | None) -> Effect:
        value = sum(
            weight
            * difference_of([intervene(net, side) for side in question.sides()], question, extra)
            for net, weight in nets
        )
        ends = interval_of(spread, question.level)
        text = question.given_more(extra).text()
        return Effect(text, float(value), ends, question.level, told, notes=tuple(notes))

    whole = answer({}, None if drawn is None else drawn.pooled)
    parts = {
        state: answer({str(source): state}, None if drawn is None else drawn.by_source.get(state))
        for state in states
    }
    return replace(whole, by_source=parts)


def _drawn_over(
    nets: Sequence[tuple[Network, float]], question: Question, rng: np.random.Generator
) -> Drawn | None:
    """Draws of the effect: each network has its share of them."""
    if len(nets) == 1:
        return drawn_effect(nets[0][0], question, rng)
    weights = np.array([weight for _, weight in nets])
    shares = rng.multinomial(question.draws, weights / weights.sum())
    parts = []
    for (net, _), n_draws in zip(nets, shares, strict=True):
        if n_draws:
            drawn = drawn_effect(net, replace(question, draws=int(n_draws)), rng)
            if drawn is None:
                return None
            parts.append(drawn)
    by_source = {
        state: np.concatenate([part.by_source[state] for part in parts])
        for state in parts[0].by_source
    }
    return Drawn(np.concatenate([part.pooled for part in parts]), by_source)


def _of_belief(
    belief: GraphBelief, question: Question, estimator: Estimator | None, rng: np.random.Generator
) -> Effect:
    """The effect averaged over graphs, each with its posterior probability."""
    nets = belief.networks(estimator)
    set_ones = set(question.do)
    no_cause = sum(weight for net, weight in nets if not set_ones & net.dag.ancestors([question.y]))
    assumed = (MARKOV, NO_HIDDEN, LEARNED, f"Averaged over {len(nets):,} graphs: {belief.method}.")
    note = f"In {no_cause:.1%} of the graphs {_check.listed(set_ones)} is no cause of {question.y}."
    return _of_networks(nets, question, rng, assumed, notes=(note,))


def _of_several(models: Sequence[Network], question: Question, rng: np.random.Generator) -> Effect:
    """The effect under each of several networks, and the ends of all of them."""
    if not models or not all(isinstance(one, Network) for one in models):
        raise _not_a_model(models)
    each = tuple(_of_network(net, question, rng) for net in models)
    values = [float(one.value or 0.0) for one in each]
    return Effect(
        question.text(),
        None,
        None,
        question.level,
        (MARKOV, NO_HIDDEN, f"One of the {len(each)} networks is right."),
        bounds=(min(values), max(values)),
        by_model=each,
    )


def _not_a_model(model: Any) -> InputError:
    return InputError(
        "effect: model must be a Network, several networks, a belief over graphs (cs.average), a "
        f"DAG, cs.causal.ADMG or CPDAG, got a {type(model).__name__}.",
        parameter="model",
    )


def _moved(
    model: Any,
    question: Question,
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
    question: Question,
    estimator: Estimator | None,
    *,
    rng: np.random.Generator,
) -> Effect:
    """From the counts of the families of the estimand; by bounds where there is none."""
    if found.differs:
        found.known_expression()
    if not found.is_identified:
        return _bounded(found, table, question, estimator)
    tables = found.tables(table, question.given, estimator)
    question.check_state(tables.variables[question.y])
    drawn = None
    if all(local.posterior is not None for local in tables.local.values()):
        drawn = tables.draws(question.draws, rng)
    states = () if tables.source is None or tables.is_fixed else tables.source.discrete_states
    told = _assumptions_of(found, table, is_apart=tables.source is not None)

    whole = found.value(tables, tables.values(), memory_limit=MEMORY_LIMIT)
    all_draws = None if drawn is None else found.value(tables, drawn, memory_limit=MEMORY_LIMIT)

    def answer(extra: Mapping[str, Any], code: int | None) -> Effect:
        value = _formula_levels(found, tables, whole, question, code=code)
        spread = None
        if all_draws is not None:
            spread = _formula_levels(found, tables, all_draws, question, code=code)
        ends = interval_of(spread, question.level)
        text = question.given_more(extra).text()
        return Effect(text, float(value), ends, question.level, told, notes=tables.notes)

    parts = {
        state: answer({str(tables.source and tables.source.name): state}, code)
        for code, state in enumerate(states)
    }
    return replace(answer({}, None), by_source=parts)


def _assumptions_of(found: Estimand, table: Table | Engine, *, is_apart: bool) -> tuple[str, ...]:
    """What a formula or bounds take for granted, of sources too."""
    source = engine_of(table).schema.source
    name = None if source is None else source.name
    return (*found.assumptions, *of_sources(name, found.graph, is_apart=is_apart))


def _formula_levels(
    found: Estimand,
    tables: FamilyTables,
    whole: Value,
    question: Question,
    *,
    code: int | None,
) -> Any:
    """The effect by the formula, of one source or of all, on each draw if there are draws."""
    levels: list[Any] = []
    for side in question.sides():
        values = found.distribution(whole, tables, side, question.given, source=code)
        levels.append(values[..., tables.variables[question.y].code(question.state)])
    return levels[0] - sum(levels[1:])


def _bounded(
    found: Estimand, table: Table | Engine, question: Question, estimator: Estimator | None
) -> Effect:
    """The bounds where there is no formula, in all and by source."""
    source = engine_of(table).schema.source
    whole = _bounds_given(found, table, question, estimator)
    if source is None or source.name in question.given or estimator is not None:
        return whole
    parts = {
        state: _bounds_given(found, table, question.given_more({source.name: state}), None)
        for state in source.discrete_states
    }
    return replace(whole, by_source=parts)


def _bounds_given(
    found: Estimand, table: Table | Engine, question: Question, estimator: Estimator | None
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
    question.check_state(ends.variable)
    note = str(found) if ends.is_consistent else f"{found} The data contradict this graph."
    source = engine_of(table).schema.source
    told = _assumptions_of(
        found, table, is_apart=source is not None and source.name in question.given
    )
    return Effect(
        question.text(),
        None,
        None,
        question.level,
        told,
        bounds=ends[question.state] if ends.is_consistent else None,
        notes=(note, *(() if ends.is_sharp else ("The bounds hold but are not sharp.",))),
    )


def _of_class(
    graph: CPDAG, table: Table | Engine, question: Question, estimator: Estimator | None
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
    unmoved = 0.0 if question.against else _adjusted(None, x, table, question, estimator=estimator)
    for one in parent_sets(graph, x):
        value = (
            _adjusted(one.parents, x, table, question, estimator=estimator)
            if one.is_cause(x, question.y)
            else unmoved
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
    parents: Sequence[str] | None,
    x: str,
    table: Table | Engine,
    question: Question,
    *,
    estimator: Estimator | None,
) -> float:
    """The effect of x on y adjusted for the parents of x; with None, x is no cause of y."""
    arcs: list[tuple[str, str]] = []
    if parents is not None:
        arcs = [
            *((parent, x) for parent in parents),
            *((parent, question.y) for parent in parents),
            (x, question.y),
            *((one, two) for i, one in enumerate(parents) for two in parents[i + 1 :]),
        ]
    net = fit(DAG(dict.fromkeys(arcs), nodes=(x, question.y)), table, estimator)
    question.check_state(net.variables[question.y])
    return difference_of([intervene(net, side) for side in question.sides()], question, {})


def _ends(pair: tuple[float, float]) -> str:
    return f"[{pair[0]:.4g}, {pair[1]:.4g}]"
