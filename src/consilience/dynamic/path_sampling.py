"""Sequences drawn from a network in time, from the first slice on or from what went before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers, Seed
from consilience.data.read import read
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Schema, Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.lagged_names import at
from consilience.dynamic.panel import Panel
from consilience.dynamic.slices import SliceFamily, families_of
from consilience.dynamic.time_grid import Clock
from consilience.errors import DataError, InputError, ModelError

__all__ = ["draw_slices", "draw_under_each", "input_columns", "sample_panel"]


def sample_panel(
    net: DynamicNetwork, n: int, length: int, *, inputs: Any = None, seed: Seed = None
) -> Panel:
    """So many sequences of this length, named 1, 2, ...; hidden nodes are columns too.

    ``inputs`` has a row for each step of each sequence, one sequence after the other, or for each
    step of all of them. A source never seen is not drawn.

    Raises
    ------
    ModelError
        If the first slices have no law to draw from.
    """
    _check.whole("sample", at_least=1, n=n, length=length)
    rng = _check.generator(seed)
    if net.conditional:
        raise ModelError(
            f"sample: the network has no law for {net.conditional[0]!r}, whose value is given. Fit "
            "it with initial=cs.dynamic.Estimated() or cs.dynamic.Stationary().",
            variable=net.conditional[0],
        )
    columns = _blank(net, n, length)
    for name, column in input_columns(net, inputs, n, length, owner="sample").items():
        columns[name][:] = column.reshape(n, length)
    sources = _drawn_sources(net, n, rng)
    draw_slices(net, columns, sources, 0, rng=rng)
    return _panel(net, columns, sources, n, length=length)


def draw_slices(
    net: DynamicNetwork,
    columns: Mapping[str, Column],
    sources: Integers,
    known: int,
    *,
    rng: np.random.Generator,
    before: int = 0,
) -> None:
    """Fill the columns, shape (sequences, steps), from step ``known`` on.

    ``before`` are the steps of each sequence before the first column.
    """
    kinds = families_of(net)
    order = list(net.dag.topological_order())
    length = next(iter(columns.values())).shape[1]
    for t in range(known, length):
        kind = kinds[min(t + before, net.order)]
        local = {family.child: family for family in kind}
        within = order if t + before >= net.order else _early_order(net, t + before)
        for name in (node for node in within if node in local):
            columns[name][:, t] = draw_family(
                local[name], local[name].local, columns, sources, t=t, rng=rng
            )


def draw_under_each(
    net: DynamicNetwork,
    stacked: Mapping[str, Floats],
    columns: Mapping[str, Column],
    sources: Integers,
    *,
    known: int,
    rng: np.random.Generator,
) -> None:
    """Fill the columns, shape (sequences, steps), from step ``known`` on, all beyond the first
    slices; each row under a set of parameters of its own.

    ``stacked`` has for each node the parameters of each row: ``local.parameters`` with the joint
    discrete states as one axis, shape (rows, joint states, ...).
    """
    steady = {family.child: family for family in families_of(net)[-1]}
    order = [name for name in net.dag.topological_order() if name in steady]
    row = np.arange(len(sources))
    for t in range(known, next(iter(columns.values())).shape[1]):
        for name in order:
            family = steady[name]
            states, values = _parents_at(family, family.local, columns, sources, t=t)
            mine = stacked[name][row, states]
            if isinstance(family.local, Categorical):
                columns[name][:, t] = _states(mine, rng)
            elif isinstance(family.local, LinearGaussian):
                mean = mine[:, 0] + (mine[:, 1:-1] * values).sum(axis=1)
                columns[name][:, t] = mean + mine[:, -1] * rng.standard_normal(len(row))
            else:
                linear = mine[..., 0] + np.einsum("ikn,in->ik", mine[..., 1:], values)
                linear -= linear.max(axis=1, keepdims=True)
                columns[name][:, t] = _states(np.exp(linear), rng)


def draw_family(
    family: SliceFamily,
    local: Distribution,
    columns: Mapping[str, Column],
    sources: Integers,
    *,
    t: int,
    rng: np.random.Generator,
) -> Column:
    """Values of a node at step t, given the columns at the steps up to it."""
    n = len(sources)
    states, matrix = _parents_at(family, local, columns, sources, t=t)
    if isinstance(local, Categorical):
        return _states(local.rows[states], rng)
    if isinstance(local, LinearGaussian):
        mean = local.means(states, matrix)
        return np.asarray(mean + local.sd.ravel()[states] * rng.standard_normal(n))
    return _states(np.exp(local.log_probabilities(states, matrix)), rng)


def _parents_at(
    family: SliceFamily,
    local: Distribution,
    columns: Mapping[str, Column],
    sources: Integers,
    *,
    t: int,
) -> tuple[Integers, Floats]:
    """Joint states of the discrete parents at step t, and values of the continuous ones."""
    n = len(sources)
    states: Integers = np.zeros(n, np.int64)
    values = []
    for (name, lag), variable in zip(family.parents, local.given, strict=True):
        if variable.is_continuous:
            values.append(columns[name][:, t - lag])
        else:
            codes = sources if lag < 0 else columns[name][:, t - lag]
            states = states * variable.n_states + codes.astype(np.int64)
    return states, np.stack(values, axis=1) if values else np.zeros((n, 0))


def input_columns(
    net: DynamicNetwork, inputs: Any, n: int, length: int, *, owner: str
) -> dict[str, Column]:
    """The inputs of so many sequences and steps, one sequence after the other.

    Raises
    ------
    InputError
        If the network has inputs and none are given.
    DataError
        If there are not as many rows as steps, or a value is missing.
    """
    if not net.inputs:
        if inputs is not None:
            raise InputError(f"{owner}: the network has no inputs.", parameter="inputs")
        return {}
    if inputs is None:
        raise InputError(
            f"{owner}: the network has the inputs {_check.listed(net.inputs)}, which are needed "
            "for every step: give a frame of them with inputs=.",
            parameter="inputs",
        )
    table = (
        inputs
        if isinstance(inputs, Table)
        else (read(inputs, schema={name: net.variables[name] for name in net.inputs}))
    )
    _check.known("column", net.inputs, table.variables)
    if table.n_rows not in (n * length, length):
        several = f", or {n * length}, one for each step of each sequence" if n > 1 else ""
        raise DataError(
            f"{owner}: inputs need {length} rows, one a step{several}; got {table.n_rows}.",
            parameter="inputs",
        )
    found = {}
    for name in net.inputs:
        column = table.column(name)
        is_missing = np.isnan(column) if column.dtype == np.float64 else column < 0
        if is_missing.any():
            row = int(np.flatnonzero(is_missing)[0]) + 1
            where = "any row; give it a column" if is_missing.all() else f"row {row}"
            raise DataError(
                f"{owner}: the input {name!r} has no value in {where}; inputs are needed for "
                "every step.",
                column=name,
                row=row,
            )
        found[name] = column if table.n_rows == n * length else np.tile(column, n)
    return found


def _early_order(net: DynamicNetwork, k: int) -> list[str]:
    """The variables of an early slice, parents first."""
    every = net.initial.dag.topological_order()
    return [name for node in every for name in net.transition if node == at(name, k)]


def _states(rows: Floats, rng: np.random.Generator) -> Integers:
    """A state for each row of probabilities; one of probability zero is never drawn."""
    ends = np.cumsum(rows, axis=1)
    drawn = rng.random(len(rows)) * ends[:, -1]
    return np.asarray((drawn[:, None] >= ends).sum(axis=1), np.int64)


def _blank(net: DynamicNetwork, n: int, length: int) -> dict[str, Column]:
    return {
        name: np.zeros((n, length), np.float64 if variable.is_continuous else np.int64)
        for name, variable in net.variables.items()
    }


def _drawn_sources(net: DynamicNetwork, n: int, rng: np.random.Generator) -> Integers:
    if net.source is None:
        return np.zeros(n, np.int64)
    root = net.initial.tables[net.source]
    shares = root.table.copy()
    for code, state in enumerate(root.child.discrete_states):
        if state == NEW_SOURCE:
            shares[code] = 0.0
    return _states(np.repeat(shares[None], n, axis=0), rng)


def _panel(
    net: DynamicNetwork, columns: Mapping[str, Column], sources: Integers, n: int, *, length: int
) -> Panel:
    coded = {
        name: column.ravel()
        if net.variables[name].is_continuous
        else column.ravel().astype(code_type(net.variables[name].n_states))
        for name, column in columns.items()
    }
    source: Variable | None = None
    codes = None
    if net.source is not None:
        states = net.initial.variables[net.source].discrete_states
        source = Variable(net.source, tuple(s for s in states if s != NEW_SOURCE))
        codes = np.repeat(sources, length).astype(code_type(source.n_states))
    return Panel(
        Table(Schema(net.variables, source), coded, codes),
        tuple(str(s + 1) for s in range(n)),
        np.arange(0, n * length + 1, length),
        np.tile(np.arange(length, dtype=float), n),
        Clock("order", 1.0),
        net.inputs,
        notes=("Drawn from a network.",),
    )
