r"""Forecasts: the law of the steps after the last row of each sequence.

Exactly, by adding steps without values to the panel and filtering; a continuous node is then a
mixture of normal laws, of one or of as many as the open discrete parents have joint states. Or by
draws: parameters from their posterior, the present given those parameters, then the steps one
after the other, so that the intervals know that the parameters are estimates. Inputs are needed
for every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from consilience import _check, _freeze
from consilience._typing import Column, Floats, Integers, Seed
from consilience.data.table import Table
from consilience.distributions import Distribution
from consilience.dynamic.beliefs_in_time import line_of, log_source, try_weights, with_sources
from consilience.dynamic.collapse_choice import Collapse
from consilience.dynamic.collapsed import approximation_of
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.early_slices import is_tied, tied_family
from consilience.dynamic.evidence_in_time import SequenceEvidence, evidence_of
from consilience.dynamic.lagged_names import at
from consilience.dynamic.lagged_rows import take_rows
from consilience.dynamic.panel import Panel
from consilience.dynamic.panel_frames import row_keys
from consilience.dynamic.path_sampling import draw_slices, draw_under_each, input_columns
from consilience.dynamic.present_state import present_of
from consilience.dynamic.timeline import Families, Timeline
from consilience.errors import DataError, InputError, ModelError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Forecast", "forecast"]

MEMORY = 2**31
HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Forecast:
    """The steps after the last row of each sequence: sequence after sequence, step after step.

    Attributes
    ----------
    panel
        The coming steps as a panel without values, with their times.
    mean, sd
        Of each continuous node, shape (rows,).
    probabilities
        Of each discrete node, shape (rows, states).
    states
        The states of each discrete node.
    parts
        For each continuous node the weights, means and sds of the normal laws it is a mixture of,
        each of shape (rows, parts); empty if it was drawn.
    drawn
        For each continuous node its drawn values, shape (draws, rows); empty if it was not drawn.
    history
        The panel that the forecast starts from.
    approximation
        How the answer is approximate; empty if it is exact, or drawn.
    """

    panel: Panel
    mean: Mapping[str, Floats]
    sd: Mapping[str, Floats]
    probabilities: Mapping[str, Floats]
    states: Mapping[str, tuple[str, ...]]
    parts: Mapping[str, tuple[Floats, Floats, Floats]]
    drawn: Mapping[str, Floats]
    history: Panel
    approximation: str = ""

    def __post_init__(self) -> None:
        _freeze.own(self)

    def interval(self, name: str, level: float = 0.9) -> Floats:
        """Ends of the central interval that holds the value with this probability, (rows, 2)."""
        _check.known("continuous node", [name], self.mean)
        _check.share("interval", level=level)
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        if name in self.drawn:
            return np.asarray(np.quantile(self.drawn[name], ends, axis=0).T)
        return np.stack([_quantile(self.parts[name], end) for end in ends], axis=1)

    def to_frame(self, level: float = 0.9) -> pd.DataFrame:
        """A pandas frame: sequence, time, mean, sd and interval, ``P(x=a)`` of every state."""
        pandas = _check.extra("pandas", "pandas", "Forecast.to_frame")
        columns: dict[str, Any] = dict(row_keys(self.panel))
        for name, mean in self.mean.items():
            ends = self.interval(name, level)
            columns |= {
                name: mean,
                f"{name} sd": self.sd[name],
                f"{name} low": ends[:, 0],
                f"{name} high": ends[:, 1],
            }
        for name, table in self.probabilities.items():
            columns |= {f"P({name}={s})": table[:, k] for k, s in enumerate(self.states[name])}
        frame: pd.DataFrame = pandas.DataFrame(columns)
        return frame

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        n = self.panel.n_sequences
        how = f", {len(next(iter(self.drawn.values())))} draws" if self.drawn else ""
        steps = int(self.panel.lengths.max(initial=0))
        told = f"; {self.approximation}" if self.approximation else ""
        return f"Forecast({n:,} sequences, {steps} steps{how}{told})"


def forecast(
    net: DynamicNetwork,
    panel: Panel,
    steps: int,
    *,
    inputs: Any = None,
    draws: int | None = None,
    by: Collapse | None = None,
    seed: Seed = 0,
) -> Forecast:
    """The coming steps of each sequence; see the method of the network.

    Raises
    ------
    InputError
        If the network has inputs and none are given, or both ``draws`` and ``by`` are.
    ModelError
        If there is no exact answer (without draws), or a distribution has no posterior (with them).
    """
    _check.whole("forecast", at_least=1, steps=steps)
    columns = input_columns(net, inputs, panel.n_sequences, steps, owner="forecast")
    if draws is not None:
        _check.whole("forecast", at_least=2, draws=draws)
        if by is not None:
            raise InputError(
                "forecast: paths are drawn (draws=) or regimes collapsed (by=), not both.",
                parameter="by",
            )
        return _by_draws(net, panel, steps, columns, draws=draws, rng=_check.generator(seed))
    return _by_filter(net, panel, steps, columns, by=by)


def _by_filter(
    net: DynamicNetwork,
    panel: Panel,
    steps: int,
    inputs: Mapping[str, Column],
    *,
    by: Collapse | None,
) -> Forecast:
    """Steps without values at the end of the panel, believed given all rows."""
    future = _future(panel, steps, inputs)
    short, given = _recent(net, panel)
    whole = _joined(short, future)
    evidence, families = evidence_of(given, whole), Families.of(given)
    tries = with_sources(given, evidence)
    rows = np.flatnonzero(whole.steps >= np.repeat(short.lengths, whole.lengths))
    lines = [line_of(given, one, by, MEMORY) for one in tries]
    found = [
        one.believe(families)
        if isinstance(one, Timeline)
        else one.believe(families, is_filter=True, parts_of=rows)
        for one in lines
    ]
    prior = np.array([log_source(given, one) for one in tries])
    log = prior + np.array([evidence.by_sequence(one.log_rows) for one in found])
    weights = np.repeat(try_weights(evidence, log), whole.lengths, axis=1)[:, rows]
    probabilities, parts = {}, {}
    for name in net.transition:
        if net.variables[name].is_continuous:
            parts[name] = _mixed([one.parts_of(name, rows) for one in found], weights)
        else:
            tables = [one.probabilities[name][rows] for one in found]
            probabilities[name] = np.einsum("fr,frk->rk", weights, np.array(tables))
    mean = {name: (w * m).sum(axis=1) for name, (w, m, _) in parts.items()}
    sd = {
        name: np.sqrt((w * (s**2 + (m - mean[name][:, None]) ** 2)).sum(axis=1))
        for name, (w, m, s) in parts.items()
    }
    told = approximation_of(lines[0])
    return Forecast(future, mean, sd, probabilities, _states(net), parts, {}, panel, told)


def _by_draws(
    net: DynamicNetwork,
    panel: Panel,
    steps: int,
    inputs: Mapping[str, Column],
    *,
    draws: int,
    rng: np.random.Generator,
) -> Forecast:
    """Paths drawn, each under parameters of its own."""
    future = _future(panel, steps, inputs)
    n = panel.n_sequences
    drawn: dict[str, Column] = {
        name: np.zeros((draws, n, steps), float if v.is_continuous else np.int64)
        for name, v in net.variables.items()
        if name in net.transition
    }
    evidence = evidence_of(net, panel)
    if _recent(net, panel)[1] is not net:
        _draw_together(net, evidence, inputs, drawn, rng=rng)
    else:
        _draw_one_by_one(net, evidence, inputs, drawn, rng=rng)
    flat = {name: paths.reshape(draws, -1) for name, paths in drawn.items()}
    values = {n: v for n, v in flat.items() if net.variables[n].is_continuous}
    tables = {
        name: np.stack([(flat[name] == k).mean(axis=0) for k in range(v.n_states)], axis=1)
        for name, v in net.variables.items()
        if name in flat and not v.is_continuous
    }
    return Forecast(
        future,
        {name: one.mean(axis=0) for name, one in values.items()},
        {name: one.std(axis=0, ddof=1) for name, one in values.items()},
        tables,
        _states(net),
        {},
        values,
        panel,
    )


def _draw_together(
    net: DynamicNetwork,
    evidence: SequenceEvidence,
    inputs: Mapping[str, Column],
    drawn: Mapping[str, Column],
    *,
    rng: np.random.Generator,
) -> None:
    """Fill the paths of all draws at once: the last rows of every sequence are known."""
    draws, n, steps = next(iter(drawn.values())).shape
    order = net.order
    last = evidence.first[1:][:, None] - order + np.arange(order)[None, :]
    wide = {}
    for name in net.variables:
        past = evidence.column(name)[last]
        coming = inputs[name].reshape(n, steps) if name in inputs else np.zeros((n, steps))
        one = np.concatenate([past, coming.astype(past.dtype)], axis=1)
        wide[name] = np.tile(one, (draws, 1))
    stacked = {}
    for name, stream in _streams(net, rng).items():
        local = net.transition[name]
        sets = np.array([next(stream) for _ in range(draws)])
        inner = local.parameters.shape[sum(not v.is_continuous for v in local.given) :]
        stacked[name] = np.repeat(sets.reshape(draws, -1, *inner), n, axis=0)
    sources = np.tile(evidence.sources, draws)
    draw_under_each(net, stacked, wide, sources, known=order, rng=rng)
    for name, paths in drawn.items():
        paths[:] = wide[name][:, order:].reshape(draws, n, steps)


def _draw_one_by_one(
    net: DynamicNetwork,
    evidence: SequenceEvidence,
    inputs: Mapping[str, Column],
    drawn: Mapping[str, Column],
    *,
    rng: np.random.Generator,
) -> None:
    """Fill the paths of each draw, its present drawn under its parameters."""
    draws, n, steps = next(iter(drawn.values())).shape
    for d, one in enumerate(_drawn_networks(net, draws, rng)):
        for chosen, columns, sources, before in present_of(one, evidence, rng):
            width = min(before, net.order)
            wide = {
                name: np.concatenate(
                    [columns[name], np.zeros((len(chosen), steps), columns[name].dtype)], axis=1
                )
                for name in columns
            }
            for name, column in inputs.items():
                wide[name][:, width:] = column.reshape(n, steps)[chosen]
            draw_slices(one, wide, sources, width, rng=rng, before=before - width)
            for name, paths in drawn.items():
                paths[d, chosen] = wide[name][:, width:]


def _streams(net: DynamicNetwork, rng: np.random.Generator) -> dict[str, Iterator[Floats]]:
    """Parameters of each family, drawn from its posterior without end."""
    streams = {}
    for name, local in net.transition.items():
        if local.posterior is None:
            example = "NormalInverseGamma" if local.child.is_continuous else "HDC"
            raise ModelError(
                f"forecast: the distribution of {name!r} has no posterior to draw from. Fit with "
                f"an estimator that has one, such as cs.estimators.{example}(), and without known= "
                "of this node; or forecast without draws.",
                variable=name,
            )
        streams[name] = local.posterior.draws(rng)
    return streams


def _drawn_networks(
    net: DynamicNetwork, draws: int, rng: np.random.Generator
) -> Iterator[DynamicNetwork]:
    """Networks whose families are drawn from their posteriors, each family once a draw.

    First slices are kept: a forecast starts after them.
    """
    streams = _streams(net, rng)
    for _ in range(draws):
        found: dict[str, Distribution] = {
            name: local.with_parameters(next(streams[name]))
            for name, local in net.transition.items()
        }
        yield _with_transition(net, found)


def _with_transition(net: DynamicNetwork, transition: Mapping[str, Distribution]) -> DynamicNetwork:
    """The network with another transition; first slices that are its own follow."""
    early = dict(net.initial.distributions)
    for k in range(net.order):
        for name, local in transition.items():
            node = at(name, k)
            if node not in net.conditional and is_tied(local.parents, k):
                early[node] = tied_family(local, k, net.source)
    return DynamicNetwork(
        replace(net.initial, distributions=early),
        transition,
        net.hidden,
        net.inputs,
        net.conditional,
    )


def _future(panel: Panel, steps: int, inputs: Mapping[str, Column]) -> Panel:
    """The coming steps of all sequences, without values but for the inputs."""
    n = panel.n_sequences
    if (panel.lengths == 0).any():
        raise DataError("forecast: a sequence has no rows.")
    last = np.repeat(panel.first[1:] - 1, steps)
    ahead = np.tile(np.arange(1, steps + 1), n)
    taken = panel.rows.take(last)
    columns: dict[str, Column] = {}
    for name, column in taken.columns.items():
        nothing = np.nan if column.dtype == np.float64 else -1
        columns[name] = inputs.get(name, np.full(len(column), nothing, column.dtype))
    kept = tuple(name for name in panel.inputs if name in inputs)
    return replace(
        panel,
        rows=replace(taken, columns=columns),
        first=np.arange(0, n * steps + 1, steps),
        ticks=panel.ticks[last] + ahead * panel.clock.step,
        inputs=kept,
        notes=(),
    )


def _joined(panel: Panel, future: Panel) -> Panel:
    """Each sequence followed by its coming steps."""
    both = [_rows_of(panel, s) for s in range(panel.n_sequences)]
    n = len(panel)
    order: list[Integers] = []
    for s, rows in enumerate(both):
        order += [rows, n + _rows_of(future, s)]
    chosen = np.concatenate(order)
    columns = {
        name: np.concatenate([column, future.rows.column(name)])[chosen]
        for name, column in panel.rows.columns.items()
    }
    codes, weights = panel.rows.source_codes, panel.rows.weights
    table = Table(
        panel.rows.schema,
        columns,
        _appended(codes, future.rows.source_codes, chosen),
        _appended(weights, future.rows.weights, chosen),
    )
    first = np.append(0, np.cumsum(panel.lengths + future.lengths)).astype(np.int64)
    ticks = np.concatenate([panel.ticks, future.ticks])[chosen]
    return replace(panel, rows=table, first=first, ticks=ticks, inputs=future.inputs)


def _appended(column: Any, more: Any, chosen: Integers) -> Any:
    return None if column is None else np.concatenate([column, more])[chosen]


def _rows_of(panel: Panel, s: int) -> Integers:
    return np.arange(panel.first[s], panel.first[s + 1])


def _recent(net: DynamicNetwork, panel: Panel) -> tuple[Panel, DynamicNetwork]:
    """The last rows alone, and a network for which their values are given, if they say all."""
    order = net.order
    has_source = net.source is None or panel.rows.source == net.source
    if net.hidden or not has_source or bool((panel.lengths < order).any()):
        return panel, net
    ends = np.repeat(panel.first[1:], panel.lengths)
    kept = np.arange(len(panel)) >= ends - order
    short = take_rows(panel, kept)
    for name in net.transition:
        column = short.rows.column(name) if name in short.rows.variables else np.full(1, np.nan)
        if (np.isnan(column) if column.dtype == np.float64 else column < 0).any():
            return panel, net
    given = tuple(at(name, k) for k in range(order) for name in net.transition)
    root = None if net.source is None else net.source
    initial = (
        None if root is None else replace(net.initial, distributions={root: net.initial[root]})
    )
    return short, DynamicNetwork(
        initial,  # type: ignore[arg-type]
        net.transition,
        net.hidden,
        net.inputs,
        given,
    )


def _mixed(
    found: Sequence[tuple[Floats, Floats, Floats]], weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """The normal laws of all tries, each with the weight of its try; (rows, parts)."""
    shares = [w * mine[0] for w, mine in zip(weights[:, :, None], found, strict=True)]
    return (
        np.concatenate(shares, axis=1),
        np.concatenate([mine[1] for mine in found], axis=1),
        np.concatenate([mine[2] for mine in found], axis=1),
    )


def _quantile(parts: tuple[Floats, Floats, Floats], share: float) -> Floats:
    """Where mixtures of normal laws have this share below them, by halving."""
    weights, means, sds = parts
    safe = np.where(sds > 0, sds, 1e-300)
    low = (means - 40 * sds).min(axis=1)
    high = (means + 40 * sds).max(axis=1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        with np.errstate(over="ignore"):
            below = (weights * ndtr((middle[:, None] - means) / safe)).sum(axis=1)
        low, high = np.where(below < share, middle, low), np.where(below < share, high, middle)
    return np.asarray(0.5 * (low + high))


def _states(net: DynamicNetwork) -> dict[str, tuple[str, ...]]:
    return {name: v.discrete_states for name, v in net.variables.items() if not v.is_continuous}
