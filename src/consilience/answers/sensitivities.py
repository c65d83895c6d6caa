r"""The verb :func:`sensitivity`: how an answer depends on every parameter of a network.

Derivatives come from one backward pass (:mod:`consilience.answers.parameter_slopes`). Since a
probability is a ratio of two lines in an entry of a table under proportional covariation,

.. math:: R(\delta) = \frac{N + \delta\,\partial N}{Z + \delta\,\partial Z} ,

what a change does, and the smallest one that flips a decision, are exact. The decision is the most
probable state, or whether an event has at least the probability ``threshold``; it changes where

.. math:: N_a + \delta\,\partial N_a = N_b + \delta\,\partial N_b .

References
----------
A. Darwiche (2003). A differential approach to inference in Bayesian networks. Journal of the ACM.
H. Chan, A. Darwiche (2002). When do numbers really matter? JAIR.
R. Ballester-Ripoll, M. Leonelli (2023). You only derive once (YODO). IJAR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.answers.asked_answers import Asked
from consilience.answers.parameter_slopes import Slopes, slopes_of
from consilience.answers.sources_asked import Between, asked_of
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.network.network import Given, Network, check_network

__all__ = ["Flip", "ParameterEffect", "Sensitivity", "sensitivity"]

BEYOND = 1e-9  # how far a new value goes past the point where two states are equal
POSSIBLE = 1e-6  # share of its probability that the evidence must keep
MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class ParameterEffect:
    """One parameter and what a change of it does to the answer.

    Parameters
    ----------
    node, parents, parameter
        Which: the node, the states of its parents in words, and the state, ``"intercept"``,
        ``"sd"`` or the name of a continuous parent.
    value, derivative
        The parameter, and the derivative of the answer with respect to it.
    low, high
        The answer if the parameter is less or more by the stated change.
    """

    node: str
    parents: str
    parameter: str
    value: float
    derivative: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Flip:
    """A change of one entry of a table, others of its row in proportion, that flips a decision.

    Parameters
    ----------
    node, parents, state
        The entry: its node, the codes of the parents' states, and the state.
    value, new_value
        The entry before and after.
    decision, new_decision
        What is most probable before and after, in words.
    """

    node: str
    parents: tuple[int, ...]
    state: str
    value: float
    new_value: float
    decision: str
    new_decision: str

    def applied(self, net: Network) -> Network:
        """The network with the changed row."""
        local = net.tables[self.node]
        table = local.table.copy()
        k = local.child.code(self.state)
        row = table[self.parents]
        left = float(row.sum() - row[k])
        others = (
            row * ((1 - self.new_value) / left)
            if left > 0
            else np.full(len(row), (1 - self.new_value) / (len(row) - 1))
        )
        others[k] = self.new_value
        table[self.parents] = others / others.sum()
        return Network(
            {**net.distributions, self.node: local.with_parameters(table)}, net.source, net.record
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sensitivity:
    """How an answer depends on every parameter.

    Parameters
    ----------
    query
        What was asked, in words.
    states
        The states, or joint states, that the answer is over; ``("yes",)`` of an event and
        ``("mean",)`` of a continuous variable.
    answer
        The answer: a number for each of them, in the shape of the query; a single one of an event
        or a mean.
    derivatives
        By node, shape (query..., parameters...): of tables under proportional covariation; of
        regressions by intercept, slopes and sd; of logistic nodes by intercept and slopes.
    effects
        The parameters that matter most for the state in ``focus``, the most important first.
    focus, change
        That state; and by how much the parameters are changed: entries of tables by this much,
        others by this share of themselves.
    flips
        The smallest changes of single entries that flip the decision, the smallest first.
    between
        The two sources whose difference this is, or None.
    """

    query: str
    states: tuple[str, ...]
    answer: Floats
    derivatives: Mapping[str, Floats]
    effects: tuple[ParameterEffect, ...]
    focus: str
    change: float
    flips: tuple[Flip, ...] = ()
    between: Between | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def columns(self) -> Columns:
        """The parameters that matter most, one in each row."""
        return {
            "node": [e.node for e in self.effects],
            "given": [e.parents or None for e in self.effects],
            "parameter": [e.parameter for e in self.effects],
            "value": [e.value for e in self.effects],
            "derivative": [e.derivative for e in self.effects],
            "low": [e.low for e in self.effects],
            "high": [e.high for e in self.effects],
        }

    @property
    def flip(self) -> Flip | None:
        """The smallest change of one entry that flips the decision, if any does."""
        return self.flips[0] if self.flips else None

    @property
    def title(self) -> str:
        """The answer, in words."""
        now = float(self.answer.ravel()[self.states.index(self.focus)])
        of = "" if self.between is None else f", {self.between[0]} less {self.between[1]}"
        what = self.query if not self.answer.ndim else f"{self.query}={self.focus}"
        return f"Sensitivity of {what}{of}: {now:.4g} now, parameters changed by {self.change:g}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What flips the decision."""
        one = self.flip
        if one is None:
            return ()
        return (
            f"the decision changes from {one.decision} to {one.new_decision} if P({one.node}="
            f"{one.state}) of one row goes from {one.value:.4g} to {one.new_value:.4g}.",
        )

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("Sensitivity", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns, self.notes)


def sensitivity(
    net: Network,
    query: str | Sequence[str] | Mapping[str, Any],
    given: Given = None,
    *,
    change: float = 0.1,
    threshold: float = 0.5,
    between: Sequence[str] | None = None,
) -> Sensitivity:
    """The derivative of an answer with respect to every parameter, and what flips a decision.

    Parameters
    ----------
    query
        A variable, several discrete ones, or an event such as ``{"lung": "yes"}``. Of a continuous
        variable the answer is its mean.
    given
        What is known.
    change
        By how much parameters are changed for the tornado chart: entries of tables by this much,
        within zero and one and exactly; all others by this share of themselves, to first order.
    threshold
        The probability from which an event decides; states compete with each other.
    between
        Two sources; the answer is that of the first less that of the second.

    Raises
    ------
    ModelError
        If a logistic node that matters has unknown continuous parents, or an sd is zero.

    Examples
    --------
    >>> import consilience as cs
    >>> ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    >>> net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]),
    ...     cs.Categorical(test, (ill,), [[0.9, 0.1], [0.1, 0.9]])])
    >>> found = cs.sensitivity(net, {"ill": "yes"}, {"test": "yes"})
    >>> found.derivatives["ill"].round(4)  # of 0.9 p / (0.9 p + 0.1 (1 - p)) at p = 0.5
    array([-0.36,  0.36])
    >>> found.flip.node, round(found.flip.new_value, 4)  # the event gets improbable
    ('ill', 0.9)
    """
    check_network("sensitivity", net)
    _check.positive("sensitivity", change=change)
    question = Asked.of("sensitivity", net, query, given)
    asked, weights = question.names, question.weights
    states = ("mean",) if net.variables[asked[0]].is_continuous else question.states
    events = None if weights is None else weights[None]
    sides = [slopes_of(net, asked, events, known) for known in asked_of(net, given, between)]
    signs = [1.0] if len(sides) == 1 else [1.0, -1.0]
    answers = np.asarray(sum(s * one.answers for s, one in zip(signs, sides, strict=True)))
    is_single = len(states) == 1
    shape = () if is_single else tuple(net.variables[name].n_states for name in asked)
    derivatives = {
        name: np.asarray(sum(s * one.of_answers(name) for s, one in zip(signs, sides, strict=True)))
        for name in net.distributions
    }
    focus = 0 if is_single else int(np.abs(answers).argmax())
    return Sensitivity(
        question.words,
        states,
        answers.reshape(shape),
        {n: d.reshape(*shape, *net[n].parameters.shape) for n, d in derivatives.items()},
        tuple(_effects(net, sides, signs, derivatives, focus=focus, change=change)),
        states[focus],
        change,
        tuple(_flips(net, sides[0], states, threshold)) if len(sides) == 1 else (),
        None if between is None else (between[0], between[1]),
    )


def _effects(
    net: Network,
    sides: Sequence[Slopes],
    signs: Sequence[float],
    derivatives: Mapping[str, Floats],
    *,
    focus: int,
    change: float,
) -> Iterator[ParameterEffect]:
    """The parameters whose change moves the answer furthest."""
    places: list[tuple[float, str, int, float, float]] = []
    for name, local in net.distributions.items():
        ends = [
            _changed(local, sides, signs, derivatives[name][focus], focus=focus, by=side * change)
            for side in (-1.0, 1.0)
        ]
        reach = np.maximum(ends[0], ends[1]) - np.minimum(ends[0], ends[1])
        flat = [array.ravel() for array in (reach, *ends)]
        if isinstance(local, Categorical) and local.child.n_states == 2:
            flat[0][::2] = 0.0  # the first of two states mirrors the second
        largest = np.argsort(-flat[0], kind="stable")[:MOST_LISTED]
        places += [
            (float(flat[0][i]), name, int(i), float(flat[1][i]), float(flat[2][i]))
            for i in largest
            if flat[0][i] > 0
        ]
    places.sort(key=lambda place: -place[0])
    for _, name, i, low, high in places[:MOST_LISTED]:
        local = net.distributions[name]
        parents, parameter = _label(local, i)
        yield ParameterEffect(
            name,
            parents,
            parameter,
            float(local.parameters.ravel()[i]),
            float(derivatives[name][focus].ravel()[i]),
            low,
            high,
        )


def _changed(
    local: Distribution,
    sides: Sequence[Slopes],
    signs: Sequence[float],
    slope: Floats,
    *,
    focus: int,
    by: float,
) -> Floats:
    """The answer if each parameter of a node is changed: of tables exactly, else to first order."""
    name, values = local.child.name, local.parameters
    now = sum(s * float(one.answers[focus]) for s, one in zip(signs, sides, strict=True))
    if not isinstance(local, Categorical):
        return np.asarray(now + slope * by * np.abs(values))
    step = np.clip(values + by, 0.0, 1.0) - values
    total = np.zeros_like(values)
    for sign, one in zip(signs, sides, strict=True):
        below = one.total + step * one.of_total[name]
        above = one.sums[focus] + step * one.of_sums[name][focus]
        kept = one.answers[focus]
        total += sign * np.where(below > 0, above / np.where(below > 0, below, 1.0), kept)
    return total


def _label(local: Distribution, i: int) -> tuple[str, str]:
    """The parents' states of the i-th parameter in words, and its name."""
    *codes, last = np.unravel_index(i, local.parameters.shape)
    if isinstance(local, Categorical):
        given, parameter = local.given, local.child.discrete_states[int(last)]
    else:
        given = local.discrete
        names = ["intercept", *(v.name for v in local.continuous)]
        if isinstance(local, LinearGaussian):
            parameter = [*names, "sd"][int(last)]
        else:
            parameter = f"{local.child.discrete_states[int(codes[-1])]}: {names[int(last)]}"
    states = [f"{v.name}={v.discrete_states[int(c)]}" for v, c in zip(given, codes, strict=False)]
    return ", ".join(states), parameter


def _flips(net: Network, side: Slopes, states: tuple[str, ...], threshold: float) -> Iterator[Flip]:
    """For each entry that can flip the decision alone, the smallest change that does."""
    if states == ("mean",):
        return
    words: tuple[str, ...]
    if len(states) == 1:
        _check.within("sensitivity", 0.0, 1.0, threshold=threshold)
        sums = np.array([side.sums[0], threshold * side.total])
        words = (f"at least {threshold:g}", f"below {threshold:g}")
        best = 0 if sums[0] >= sums[1] else 1
    else:
        sums, words, best = side.sums, states, int(side.sums.argmax())
    found = []
    for name, local in net.tables.items():
        of_sums = side.of_sums[name]
        if len(states) == 1:
            of_sums = np.stack([of_sums[0], threshold * side.of_total[name]])
        left = side.of_total[name].ravel() / side.total
        found += _flips_of(local, sums, of_sums, best=best, left=left)
    found.sort(key=lambda one: one[0])
    for _, name, i, other, new in found[:MOST_LISTED]:
        *parents, k = (int(c) for c in np.unravel_index(i, net.tables[name].table.shape))
        local = net.tables[name]
        yield Flip(
            name,
            tuple(parents),
            local.child.discrete_states[k],
            float(local.table.ravel()[i]),
            new,
            words[best],
            words[other],
        )


def _flips_of(
    local: Categorical, sums: Floats, of_sums: Floats, *, best: int, left: Floats
) -> list[tuple[float, str, int, int, float]]:
    """Size, node, entry, new decision and new value of changes that flip the decision.

    ``left`` is the relative derivative of the evidence, which must stay possible.
    """
    values = local.table.ravel()
    least, which = np.full(values.size, np.inf), np.zeros(values.size, np.int64)
    for other in range(len(sums)):
        if other == best:
            continue
        gap = sums[best] - sums[other]
        closing = (of_sums[other] - of_sums[best]).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            step = gap / closing
        step = np.where(closing == 0, np.inf, step)
        step = step + np.sign(step) * BEYOND * np.maximum(1.0, np.abs(step))
        is_legal = (values + step >= 0) & (values + step <= 1) & np.isfinite(step)
        is_possible = 1 + np.where(is_legal, step, 0.0) * left > POSSIBLE
        step = np.where(is_legal & is_possible, step, np.inf)
        is_less = np.abs(step) < np.abs(least)
        least, which = np.where(is_less, step, least), np.where(is_less, other, which)
    return [
        (abs(float(least[i])), local.child.name, int(i), int(which[i]), float(values[i] + least[i]))
        for i in np.flatnonzero(np.isfinite(least))
    ]
