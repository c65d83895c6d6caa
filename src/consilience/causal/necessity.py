r"""How far a cause was necessary or sufficient: bounds, and points under monotonicity.

With :math:`y_x` the outcome under x: *both* (PNS) is :math:`P(y_x, \bar y_{x'})`, *necessity* (PN)
is :math:`P(\bar y_{x'} \mid x, y)`, *sufficiency* (PS) is :math:`P(y_x \mid x', \bar y)`. From what
was seen, P(x, y), and experiments, :math:`P(y_x)` and :math:`P(y_{x'})`, the sharp bounds are

.. math::
    \mathrm{PNS} &\ge \max\{0,\, P(y_x) - P(y_{x'}),\, P(y) - P(y_{x'}),\, P(y_x) - P(y)\} \\
    \mathrm{PNS} &\le \min\{P(y_x),\, P(\bar y_{x'}),\, P(x,y) + P(x',\bar y),\,
        P(y_x) - P(y_{x'}) + P(x,\bar y) + P(x',y)\} \\
    \mathrm{PN} &\in \Bigl[\max\Bigl\{0, \frac{P(y) - P(y_{x'})}{P(x,y)}\Bigr\},\;
        \min\Bigl\{1, \frac{P(\bar y_{x'}) - P(x', \bar y)}{P(x,y)}\Bigr\}\Bigr] \\
    \mathrm{PS} &\in \Bigl[\max\Bigl\{0, \frac{P(y_x) - P(y)}{P(x',\bar y)}\Bigr\},\;
        \min\Bigl\{1, \frac{P(y_x) - P(x, y)}{P(x',\bar y)}\Bigr\}\Bigr]

If y never falls when x is given (monotonicity), the lower ends are the values. Without experiments
each :math:`P(y_x)` may lie anywhere between :math:`P(x, y)` and :math:`1 - P(x, \bar y)`, or at
what the graph identifies.

A cause may have a third state, of share r. Where the graph has no common cause of x and y, those
rows are left aside. Otherwise they are part of the population that the experiments are about: then
:math:`P(y)` above is :math:`P(x, y) + P(x', y)`, and r is added where :math:`P(y)` is subtracted
and to the last two upper ends of PNS.

References
----------
J. Tian, J. Pearl (2000). Probabilities of causation: bounds and identification. Annals of
Mathematics and Artificial Intelligence 28.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from consilience import _check
from consilience.causal.assumed import of_graph, of_network
from consilience.causal.effects import effect
from consilience.causal.estimand import graph_of
from consilience.data.door import Rows
from consilience.data.table import Table
from consilience.errors import InputError, ModelError
from consilience.graph.admg import ADMG
from consilience.graph.dag import DAG
from consilience.learning import fit
from consilience.network.network import Network
from consilience.parameters.maximum_likelihood import MLE
from consilience.statistics.family import Family
from consilience.statistics.gather import count, held_rows
from consilience.statistics.request import Engine

__all__ = ["Causation", "causation"]

Ends = tuple[float, float]
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Causation:
    """Bounds of the three probabilities of causation, each a pair (low, high).

    Attributes
    ----------
    necessity
        The outcome would not have occurred without the cause, where both occurred.
    sufficiency
        The cause would have brought the outcome about, where neither occurred.
    both
        The outcome occurs with the cause and would not occur without it.
    monotone
        The same three as points, if the cause never prevents the outcome; None where the data
        contradict that.
    """

    necessity: Ends
    sufficiency: Ends
    both: Ends
    monotone: Mapping[str, float] | None
    assumptions: tuple[str, ...]

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def causation(
    model: Network | DAG | ADMG | None,
    *,
    cause: Mapping[str, Any],
    against: Mapping[str, Any],
    effect: Mapping[str, Any],
    table: Rows | Engine | None = None,
    experiment: Mapping[Any, float] | None = None,
) -> Causation:
    """Bounds of necessity and sufficiency of a cause for an effect.

    Parameters
    ----------
    model
        A network; or a graph with ``table``. None if only ``table`` and ``experiment`` are known.
    cause, against
        The cause's variable with its two states: ``{"x": "yes"}``, ``{"x": "no"}``.
    effect
        The outcome: ``{"y": "yes"}``.
    table
        Rows as they were seen. Those with a third state of the cause are part of the population.
    experiment
        P(y) when x is set, by state of the cause. Without it the model's do() answers, or, where
        the graph does not identify it, nothing beyond what was seen.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"drug": ["yes"] * 2 + ["no"] * 2, "death": ["no", "no", "yes", "no"]})
    >>> causation(None, cause={"drug": "yes"}, against={"drug": "no"}, effect={"death": "yes"},
    ...           table=rows).both
    (0.0, 0.25)
    """
    (x, yes), (x_again, no), (y, state) = (
        _one(name, states)
        for name, states in (("cause", cause), ("against", against), ("effect", effect))
    )
    if x != x_again or str(yes) == str(no) or x == y:
        raise InputError(
            "causation: cause and against are two states of one variable, effect is a state of "
            f"another, got {x}={yes}, {x_again}={no} and {y}={state}.",
            parameter="against",
        )
    table = None if table is None else held_rows(table)
    seen = _seen(model, table, x, (yes, no), y=y, state=state)
    ends = _experiments(
        model, table, x, (yes, no), y=y, state=state, experiment=experiment, seen=seen
    )
    return _bounds(seen, ends, _assumed(model, experiment, (x, y)))


def _one(name: str, states: Mapping[str, Any]) -> tuple[str, Any]:
    """The one variable and its state."""
    if not isinstance(states, Mapping) or len(states) != 1:
        raise InputError(
            f"causation: {name} must map one variable to a state, got {states!r}.", parameter=name
        )
    return next(iter(states.items()))


def _assumed(model: Any, experiment: Any, names: tuple[str, str]) -> tuple[str, ...]:
    """What the bounds take for granted."""
    if experiment is not None:
        return ("The rows and the experiment are about one population.",)
    if model is None:
        return ("Causal Markov. Nothing else: the cause and the outcome may share hidden causes.",)
    return of_network(model, names) if isinstance(model, Network) else of_graph(graph_of(model))


@dataclass(frozen=True, slots=True)
class _Seen:
    """P(x, y), P(x, not y), P(x', y), P(x', not y); the rest has a third state of the cause."""

    xy: float
    xn: float
    oy: float
    on: float

    @property
    def y(self) -> float:
        """P(y) of those with one of the two states."""
        return self.xy + self.oy

    @property
    def rest(self) -> float:
        """P of a third state."""
        return max(0.0, 1 - self.xy - self.xn - self.oy - self.on)


def _seen(
    model: Any, table: Table | Engine | None, x: str, causes: tuple[Any, Any], *, y: str, state: Any
) -> _Seen:
    if table is not None:
        [counts] = count(table, [Family(y, (x,))])
        joint = counts.to_dense().values[0]
        parent, child = counts.given[0], counts.child
    elif isinstance(model, Network):
        for name in (x, y):
            _check.known("node", [name], model.variables)
            if model.variables[name].is_continuous:
                raise ModelError(
                    f"causation: {name!r} is continuous; a cause and its outcome are discrete.",
                    variable=name,
                )
        found = model.query([x, y])
        joint, (parent, child) = found.values, found.variables
    else:
        raise InputError("causation: a graph needs rows to go with it: table=.", parameter="table")
    rows = joint[[parent.code(one) for one in causes]]
    if rows.sum() <= 0:
        raise ModelError(f"{x!r} is never {causes[0]!r} or {causes[1]!r}.", variable=x)
    rows = rows / (rows.sum() if _is_unconfounded(model, x, y) else joint.sum())
    hit = rows[:, child.code(state)]
    miss = rows.sum(axis=1) - hit
    return _Seen(float(hit[0]), float(miss[0]), float(hit[1]), float(miss[1]))


def _is_unconfounded(model: Any, x: str, y: str) -> bool:
    """Whether the graph says that what y would be has nothing to do with what x was."""
    if model is None:
        return False
    graph = graph_of(model.dag if isinstance(model, Network) else model)
    _check.known("node", [x, y], graph.nodes)
    kept = [arc for arc in graph.arcs if arc[0] != x]
    return ADMG(kept, graph.latent, graph.nodes).is_separated(x, y)


def _experiments(
    model: Any,
    table: Table | Engine | None,
    x: str,
    causes: tuple[Any, Any],
    *,
    y: str,
    state: Any,
    experiment: Mapping[Any, float] | None,
    seen: _Seen,
) -> tuple[Ends, Ends]:
    """The ends of P(y) under either cause."""
    if experiment is not None:
        _check.known("state", map(str, causes), [str(key) for key in experiment])
        by_text = {str(key): float(value) for key, value in experiment.items()}
        points = [by_text[str(one)] for one in causes]
        _refuse_contradictions(points, causes, seen)
        return (points[0], points[0]), (points[1], points[1])
    if model is None:
        return (seen.xy, 1 - seen.xn), (seen.oy, 1 - seen.on)
    known = fit(model, table, MLE()) if isinstance(model, DAG) and table is not None else model
    ends = []
    for one in causes:
        found = effect(known, y, do={x: one}, state=state, table=table, draws=1)
        ends.append(found.bounds if found.value is None else (found.value, found.value))
    if None in ends:
        raise ModelError("the data contradict this graph.")
    return ends[0], ends[1]  # type: ignore[return-value]


def _refuse_contradictions(points: Sequence[float], causes: tuple[Any, Any], seen: _Seen) -> None:
    """Refuse experiments that no population with these rows can have had."""
    ends = (seen.xy, 1 - seen.xn), (seen.oy, 1 - seen.on)
    for point, cause, (low, high) in zip(points, causes, ends, strict=True):
        if not low - ROUNDING <= point <= high + ROUNDING:
            raise ModelError(
                f"the experiment and the rows contradict each other: {point:.6g} of those who were "
                f"set to {cause!r} have the outcome, and by the rows it is between {low:.6g} and "
                f"{high:.6g}.",
                state=cause,
            )


def _bounds(seen: _Seen, ends: tuple[Ends, Ends], notes: tuple[str, ...]) -> Causation:
    """The bounds; where an experiment is known up to an interval, its worst and best points."""
    corners = [(a, b) for a in ends[0] for b in ends[1]]
    both = [_both(seen, a, b) for a, b in corners]
    necessity = [_share(seen.y - b, 1 - b - seen.on, seen.xy) for _, b in corners]
    sufficiency = [_share(a - seen.y - seen.rest, a - seen.xy, seen.on) for a, _ in corners]
    is_known = len({*corners}) == 1 and seen.rest <= ROUNDING
    points = None
    if is_known and both[0][0] >= ends[0][0] - ends[1][0] - 1e-12 and ends[0][0] >= ends[1][0]:
        points = {
            "necessity": necessity[0][0],
            "sufficiency": sufficiency[0][0],
            "both": both[0][0],
        }
    return Causation(_hull(necessity), _hull(sufficiency), _hull(both), points, notes)


def _both(seen: _Seen, a: float, b: float) -> Ends:
    rest = seen.rest
    low = max(0.0, a - b, seen.y - b, a - seen.y - rest)
    high = min(a, 1 - b, seen.xy + seen.on + rest, a - b + seen.xn + seen.oy + rest)
    return low, max(low, high)


def _share(low: float, high: float, whole: float) -> Ends:
    if whole <= 0:
        return 0.0, 1.0
    return min(max(0.0, low / whole), 1.0), max(0.0, min(1.0, high / whole))


def _hull(pairs: list[Ends]) -> Ends:
    return min(low for low, _ in pairs), max(high for _, high in pairs)
