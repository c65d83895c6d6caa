"""What a graph in time asks of a panel: its families, early ones included, and their statistics.

The families of the transition are counted over the rows that have all their lags; where the first
values are given, over the rows of the lagged table. A family of an early slice of its own is
counted over the first rows of the sequences. All of them are ordinary statistics of ordinary
tables, by source, so every estimator serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _check
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.early_slices import early_parents, flat, is_tied, tied_family
from consilience.dynamic.first_choices import Conditional, Diffuse, Estimated, Initial, Stationary
from consilience.dynamic.graphs_in_time import check_graph, order_of
from consilience.dynamic.lagged_names import at, lagged, split_lag, split_slice
from consilience.dynamic.lagged_rows import first_slices, windows
from consilience.dynamic.panel import Panel
from consilience.errors import DataError, GraphError, InputError
from consilience.graph.dag import DAG
from consilience.incomplete.hidden import Hidden, blank_columns, continuous_of, hidden_variables
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.parameters.choices import choices, kind_of
from consilience.parameters.estimator import LogisticFit
from consilience.parameters.fit_record import Statistics
from consilience.parameters.fitting import FitTask, source_root
from consilience.parameters.known_numbers import Known, WithKnown, with_known
from consilience.statistics.counts import Counts
from consilience.statistics.gather import engine_of
from consilience.statistics.moments import Moments

__all__ = ["FitPlan", "plan_of"]

ROWS_FOR_PER_VARIANCE = 2
"""Rows that a regression needs beyond its coefficients to say something about its variance."""


@dataclass(frozen=True, slots=True, eq=False)
class FitPlan:
    """A checked graph in time and its panel.

    Attributes
    ----------
    panel
        The panel with a column, missing in every row, for each hidden node.
    nodes
        The nodes of the current slice that have a family, in the order of the graph.
    parents
        Their parents, lagged names included and the source not unless the graph names it.
    own
        For each node of an early slice with a family of its own its parents there.
    conditional
        Nodes of early slices whose values are given.
    counted_from
        For each node of ``nodes`` the first step whose rows count.
    task
        The task of estimating all these families.
    fixed
        Distributions of early nodes that are kept as they are.
    tables
        Tables that are known.
    notes
        What is said about the first slices.
    """

    panel: Panel
    dag: DAG
    order: int
    hidden: tuple[str, ...]
    inputs: tuple[str, ...]
    nodes: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    own: Mapping[str, tuple[str, ...]]
    conditional: tuple[str, ...]
    counted_from: Mapping[str, int]
    task: FitTask
    fixed: Mapping[str, Distribution]
    tables: Mapping[str, Distribution]
    notes: tuple[str, ...]

    @property
    def known(self) -> Mapping[str, Known]:
        """What is known of some nodes."""
        kinds = [one for one in self.task.chosen.values() if isinstance(one, WithKnown)]
        return kinds[0].known if kinds else {}

    @property
    def kept(self) -> dict[str, Distribution]:
        """All distributions that no step changes."""
        return {**self.fixed, **self.tables}

    def told_apart(self) -> set[str]:
        """Hidden nodes whose states are told apart by what is known, so that they have an order."""
        families = [(at(name, 0), law.parents) for name, law in self._fixed_tables().items()]
        families += [
            (name, self.parents[name] if name in self.parents else self.own[name])
            for name, one in self.known.items()
            if one.is_by_state
        ]
        nodes = {_base_of(node) for child, parents in families for node in (child, *parents)}
        return nodes & set(self.hidden)

    def statistics(self, panel: Panel | None = None) -> Statistics:
        """Statistics of all families over the rows that are complete for them.

        Those of another panel of the same sequences, if one is given.
        """
        rows = self.panel if panel is None else panel
        groups: list[tuple[Table, list[str]]] = []
        for start in sorted(set(self.counted_from.values())):
            names = [name for name in self.nodes if self.counted_from[name] == start]
            groups.append((windows(rows, self.order, start), names))
        early = first_slices(rows, self.order)
        for k in range(self.order):
            names = [node for node in self.own if node.endswith(f"({k})")]
            if names:
                groups.append((early.take(rows.lengths > k), names))
        return self._gathered(groups)

    def network(
        self,
        local: Mapping[str, Distribution],
        record: Record | None = None,
        initial: Network | None = None,
    ) -> DynamicNetwork:
        """The network of estimated families."""
        if initial is None:
            early = [local[node] if node in local else self.fixed[node] for node in self._early()]
            others = self._flat_parents(early, local)
            source = self.task.root[0].child.name if self.task.root else None
            every = [*self.task.root, *others, *early]
            initial = Network.of(every, source=source) if every else None
        return DynamicNetwork(
            initial,  # type: ignore[arg-type]
            [local[name] for name in self.nodes],  # type: ignore[arg-type]
            hidden=self.hidden,
            inputs=self.inputs,
            conditional=self.conditional,
            record=Record() if record is None else record,
        )

    def template(self) -> DynamicNetwork:
        """A network of the same structure, its numbers flat."""
        given = self.task.parents()
        found = {name: self._flat_law(name, given[name]) for name in (*self.nodes, *self.own)}
        return self.network({**found, **self.tables})

    def _flat_law(self, name: str, parents: Sequence[str]) -> Distribution:
        schema = self.task.engine.schema
        source = self.task.root[0].child if self.task.root else None
        child = schema[name]
        given = tuple(
            source if source is not None and p == source.name else schema[p] for p in parents
        )
        shape = [v.n_states for v in given if not v.is_continuous]
        n = sum(v.is_continuous for v in given)
        if child.is_continuous:
            return LinearGaussian(
                child, given, np.zeros(shape), np.zeros((*shape, n)), np.ones(shape)
            )
        r = child.n_states
        if n:
            return Logistic(child, given, np.zeros((*shape, r)), np.zeros((*shape, r, n)))
        return Categorical(child, given, np.full((*shape, r), 1.0 / r))

    def _fixed_tables(self) -> dict[str, Distribution]:
        """Laws of first slices that are kept and have states, by node."""
        return {
            _base_of(node): law
            for node, law in self.fixed.items()
            if not isinstance(law, LinearGaussian) or law.discrete
        }

    def _early(self) -> list[str]:
        return [*self.own, *self.fixed]

    def _flat_parents(
        self, early: Sequence[Distribution], local: Mapping[str, Distribution]
    ) -> list[Distribution]:
        """Distributions of the parents of early families that are none themselves: those that the
        transition says, values that are given, and inputs.
        """
        source = self.task.root[0].child.name if self.task.root else None
        found: dict[str, Distribution] = {}
        waiting = list(early)
        have = {one.child.name for one in early}
        while waiting:
            for variable in waiting.pop().given:
                node = variable.name
                if node in have or node == source:
                    continue
                have.add(node)
                name, step = node.rsplit("(", 1)
                k = int(step[:-1])
                if node in self.conditional or name in self.inputs:
                    found[node] = flat(variable)
                else:
                    found[node] = tied_family(local[name], k, source)
                    waiting.append(found[node])
        return list(found.values())

    def _gathered(self, groups: Sequence[tuple[Table, list[str]]]) -> Statistics:
        counts: dict[str, Counts] = {}
        moments: dict[str, Moments] = {}
        fits: dict[str, LogisticFit] = {}
        for table, names in groups:
            kind = {name: self.task.kind[name] for name in names}
            part = replace(self.task, engine=engine_of(table), kind=kind)
            found = part.statistics()
            counts |= {one.child.name: one for one in found.counts}
            moments |= {one.names[-1]: one for one in found.moments}
            fits |= {one.distribution.child.name: one for one in found.fits}
        order = self.task.kind
        return Statistics(
            [counts[name] for name in order if name in counts],
            [moments[name] for name in order if name in moments],
            [fits[name] for name in order if name in fits],
        )


def plan_of(
    dag: DAG,
    panel: Panel,
    estimator: Any,
    *,
    gaussian: Any,
    logistic: Any,
    hidden: Hidden | None,
    initial: Initial | None,
    known: Mapping[str, Known],
    memory_limit: float,
) -> FitPlan:
    """The checked plan of a fit; see :func:`consilience.dynamic.fit`."""
    _check_arguments(dag, panel)
    states = hidden_variables({} if hidden is None else hidden)
    wide = _with_hidden(panel, dag, states)
    source = wide.rows.source
    check_graph(dag, source=source)
    nodes, inputs = _nodes(dag, wide, source)
    order = order_of(dag)
    parents = {name: _parents(dag, name) for name in nodes}
    way, notes = _way(
        initial, wide, nodes, parents, hidden=tuple(states), order=order, source=source
    )
    conditional, own, fixed = _first(way, nodes, parents, states, order=order, source=source)
    counted = {
        name: _counted_from(way, parents[name], tuple(states), name, order=order, source=source)
        for name in nodes
    }
    task = _task(
        wide,
        dag,
        nodes,
        parents,
        own=own,
        order=order,
        source=source,
        said=(estimator, gaussian, logistic),
        memory_limit=memory_limit,
    )
    _refuse_hidden_parents(task, states, wide)
    _refuse_short(task, wide, order)
    task = with_known(task, known)
    return FitPlan(
        wide,
        dag,
        order,
        tuple(states),
        inputs,
        nodes,
        parents,
        own,
        conditional,
        counted,
        task,
        fixed,
        _known_tables(task, known),
        notes,
    )


def _check_arguments(dag: object, panel: object) -> None:
    if not isinstance(dag, DAG):
        raise InputError(
            f"dag must be a DAG, got a {type(dag).__name__}. A model string is read by "
            "cs.DAG.parse(...)."
        )
    if not isinstance(panel, Panel):
        raise InputError(
            f"a Panel is wanted, got a {type(panel).__name__}; cs.dynamic.read_panel(...) makes "
            "one.",
            parameter="panel",
        )


def _with_hidden(panel: Panel, dag: DAG, states: Mapping[str, Variable]) -> Panel:
    """The panel with a column, missing in every row, for each hidden node."""
    rows = panel.rows
    bases = {split_lag(node)[0] for node in dag.nodes}
    for name in states:
        if name in rows.schema:
            raise InputError(
                f"hidden: {name!r} is a column of the panel; a hidden node is one that the panel "
                "does not have.",
                variable=name,
            )
        _check.known("node", [name], dict.fromkeys(sorted(bases)))
    if not states:
        return panel
    blank = blank_columns(states, rows.n_rows)
    table = Table(
        Schema({**rows.variables, **states}, rows.schema.source),
        {**rows.columns, **blank},
        rows.source_codes,
        rows.weights,
        rows.origins,
    )
    return replace(panel, rows=table)


def _nodes(dag: DAG, panel: Panel, source: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes with a family, and the inputs of the graph."""
    bases = dict.fromkeys(split_lag(node)[0] for node in dag.nodes if node != source)
    for name in bases:
        if name not in panel.rows.variables:
            advice = "A node that no row has a value of is declared by hidden=."
            _check.unknown("variable", name, panel.rows.variables, advice)
    inputs = tuple(name for name in panel.inputs if name in bases)
    for name in inputs:
        if name in dag.nodes and dag.parents(name):
            raise GraphError(
                f"{name!r} is an input, which is given, but the graph has the arc "
                f"{dag.parents(name)[0]!r} -> {name!r}.",
                arc=(dag.parents(name)[0], name),
            )
    if source is not None and source in dag.nodes and dag.parents(source):
        raise GraphError(
            f"the source {source!r} must have no parents, but the graph has the arc "
            f"{dag.parents(source)[0]!r} -> {source!r}.",
            arc=(dag.parents(source)[0], source),
        )
    return tuple(name for name in bases if name not in inputs), inputs


def _parents(dag: DAG, name: str) -> tuple[str, ...]:
    return dag.parents(name) if name in dag.nodes else ()


def _way(
    initial: Initial | None,
    panel: Panel,
    nodes: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    *,
    hidden: Sequence[str],
    order: int,
    source: str | None,
) -> tuple[Initial, tuple[str, ...]]:
    """What the first slices are, and what is said about it."""
    n = int((panel.lengths > 0).sum())
    many = f"{n:,} sequence{'s' * (n != 1)}"
    recorded = [name for name in nodes if name not in hidden]
    levels = continuous_of(hidden, panel.rows.variables)
    is_free = [name for name in (*recorded, *levels) if not is_tied(parents[name], 0)]
    if initial is not None:
        if isinstance(initial, Estimated):
            _refuse_too_few(panel, is_free, parents, order, source=source)
        kind = repr(initial) if isinstance(initial, Diffuse) else type(initial).__name__
        return initial, (f"First slices: {kind.removesuffix('()')} ({many}).",)
    if n < 2:
        note = "One sequence says nothing about its own start: "
        given = [name for name in is_free if name not in levels]
        if given:
            note += f"the first values of {_check.listed(given)} are given; "
        if levels:
            note += f"that of {_check.listed(levels)} is diffuse; "
        if len(levels) < len(hidden):
            note += "of hidden states the first law rests on one sequence and the prior; "
        return Conditional(), (note.rstrip("; ") + ".",) if is_free or hidden else ()
    lacking = _too_few(panel, is_free, parents, order, source=source)
    if lacking:
        return Conditional(), (
            f"First slices: {many} are too few to estimate the first law of {lacking!r}, so the "
            "first values are given, and those of hidden continuous nodes are diffuse.",
        )
    return Estimated(), (f"First slices: estimated from {many}.",)


def _too_few(
    panel: Panel,
    names: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    order: int,
    *,
    source: str | None,
) -> str | None:
    """A continuous node whose first law the sequences cannot tell."""
    variables = panel.rows.variables
    for k in range(order):
        n_rows = int((panel.lengths > k).sum())
        for name in names:
            if is_tied(parents[name], k) or not variables[name].is_continuous:
                continue
            early = early_parents(parents[name], k, source)
            n = sum(variables[p.rsplit("(", 1)[0]].is_continuous for p in early if p != source)
            if n_rows < 1 + n + ROWS_FOR_PER_VARIANCE:
                return at(name, k)
    return None


def _refuse_too_few(
    panel: Panel,
    names: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    order: int,
    *,
    source: str | None,
) -> None:
    lacking = _too_few(panel, names, parents, order, source=source)
    if lacking is not None:
        raise DataError(
            f"{panel.n_sequences} sequence{'s are' if panel.n_sequences > 1 else ' is'} too few to "
            f"estimate the law of {lacking!r}: a first slice has one row a sequence. Use "
            "initial=cs.dynamic.Conditional(), cs.dynamic.Diffuse() for hidden continuous nodes, "
            "cs.dynamic.Stationary() or a network.",
            variable=lacking,
        )


def _first(
    way: Initial,
    nodes: Sequence[str],
    parents: Mapping[str, tuple[str, ...]],
    hidden: Mapping[str, Variable],
    *,
    order: int,
    source: str | None,
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]], dict[str, Distribution]]:
    """Early nodes that are given, those with families of their own, and those that are kept."""
    given: list[str] = []
    own: dict[str, tuple[str, ...]] = {}
    fixed: dict[str, Distribution] = {}
    variance = way.variance if isinstance(way, Diffuse) else Diffuse().variance
    for k in range(order):
        for name in nodes:
            node = at(name, k)
            tied = is_tied(parents[name], k)
            if isinstance(way, Network):
                if not tied:
                    fixed[node] = way[node]
            elif name in hidden and hidden[name].is_continuous and not isinstance(way, Estimated):
                if not tied:
                    fixed[node] = _diffuse(node, variance)
            elif name in hidden or isinstance(way, Estimated):
                if not tied:
                    own[node] = early_parents(parents[name], k, source)
            elif not (tied and _has_hidden(parents[name], tuple(hidden))):
                given.append(node)
    return tuple(given), own, fixed


def _diffuse(node: str, variance: float) -> LinearGaussian:
    return LinearGaussian(Variable(node), (), np.zeros(()), np.zeros(0), np.sqrt(variance))


def _known_tables(task: FitTask, known: Mapping[str, Known]) -> dict[str, Distribution]:
    """The tables that are known, as they will stand in the network."""
    found: dict[str, Distribution] = {}
    for name, one in known.items():
        if one.table is not None:
            every = {**task.engine.schema.variables, **{r.child.name: r.child for r in task.root}}
            given = tuple(every[parent] for parent in task.parents()[name])
            shape = [v.n_states for v in (*given, every[name])]
            found[name] = Categorical(every[name], given, np.broadcast_to(one.table, shape).copy())
    return found


def _refuse_hidden_parents(task: FitTask, states: Mapping[str, Variable], panel: Panel) -> None:
    """Refuse a discrete child of a hidden continuous node."""
    levels = continuous_of(tuple(states), panel.rows.variables)
    for node, kind in task.kind.items():
        hidden = [p for p in task.bare_parents(node) if _base_of(p) in levels]
        if kind == "logistic" and hidden:
            raise DataError(
                f"{node!r} is a discrete child of {hidden[0]!r}, which is hidden and continuous: "
                "that has no exact answer. Turn the arc around, make the hidden node discrete "
                f"(hidden={{{_base_of(hidden[0])!r}: 3}}), or read {node!r} as a number.",
                variable=node,
            )


def _base_of(node: str) -> str:
    """The variable of a node of any slice."""
    first = split_slice(node)
    return split_lag(node)[0] if first is None else first[0]


def _refuse_short(task: FitTask, panel: Panel, order: int) -> None:
    """Refuse sequences of which none has a step after its first ones."""
    longest = int(panel.lengths.max(initial=0))
    if longest <= order and not task.needs_no_rows:
        raise DataError(
            f"the longest sequence has {longest} step{'s' * (longest != 1)} and the graph reaches "
            f"{order} back, so no row tells how a step follows from those before it. Give longer "
            "sequences or use smaller lags."
        )


def _has_hidden(parents: Sequence[str], hidden: Sequence[str]) -> bool:
    return any(split_lag(parent)[0] in hidden for parent in parents)


def _counted_from(
    way: Initial,
    parents: Sequence[str],
    hidden: Sequence[str],
    name: str,
    *,
    order: int,
    source: str | None,
) -> int:
    """The first step whose rows count for a family of the transition."""
    is_given = isinstance(way, Conditional | Diffuse | Stationary) and name not in hidden
    if is_given and not _has_hidden(parents, hidden):
        return order
    return max((split_lag(parent)[1] for parent in parents if parent != source), default=0)


def _task(
    panel: Panel,
    dag: DAG,
    nodes: Sequence[str],
    parents: Mapping[str, Sequence[str]],
    *,
    own: Mapping[str, Sequence[str]],
    order: int,
    source: str | None,
    said: tuple[Any, Any, Any],
    memory_limit: float,
) -> FitTask:
    """The task of estimating all families: those of the transition and early ones."""
    rows = panel.rows
    variables = {
        lagged(name, lag): replace(variable, name=lagged(name, lag))
        for lag in range(order + 1)
        for name, variable in rows.variables.items()
    }
    variables |= {
        at(name, k): replace(variable, name=at(name, k))
        for k in range(order)
        for name, variable in rows.variables.items()
    }
    schema = Schema(variables, rows.schema.source)
    arcs = [(parent, name) for name in nodes for parent in parents[name]]
    arcs += [(parent, node) for node in own for parent in own[node]]
    is_named = [source] if source is not None and source in dag.nodes else []
    bag = DAG(arcs, nodes=[*nodes, *own, *is_named])
    kind = {node: kind_of(bag, schema, node) for node in (*nodes, *own)}
    n_sources = 0 if rows.schema.source is None else rows.schema.source.n_states
    estimator, gaussian, logistic = said
    chosen = choices(
        kind.values(), n_sources, estimator=estimator, gaussian=gaussian, logistic=logistic
    )
    engine = engine_of(first_slices(panel, 1))
    root = source_root(engine, bag, source or "", kind, chosen=chosen)
    blank = Table(
        schema,
        {
            name: np.zeros(0, np.float64 if v.is_continuous else code_type(v.n_states))
            for name, v in variables.items()
        },
        None if rows.schema.source is None else np.zeros(0, code_type(n_sources)),
    )
    priors = [getattr(chosen[its], "has_prior", False) for its in kind.values()]
    needs_no_rows = estimator is not None and all(priors)
    return FitTask(
        engine_of(blank), bag, source or "", kind, chosen, memory_limit, root, needs_no_rows
    )
