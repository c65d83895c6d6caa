r"""The verb :func:`information_value`: what it would be worth to know one more variable.

With :math:`u(p)` what a belief :math:`p` about the target costs, the entropy :math:`-\sum_t p_t
\log p_t` or the least expected loss :math:`\min_d \sum_t L(d, t)\, p_t`, the value of X is

.. math:: u\bigl(P(T \mid e)\bigr) - \sum_x P(x \mid e)\; u\bigl(P(T \mid e, x)\bigr) ,

which is never negative, and zero if X is d-separated from T given e. By Bayes' rule all that is
needed is :math:`P(X \mid e, t)` for every X and every state t: as many passes through the junction
tree as the target has states, for all variables together. A continuous X is integrated over by
quadrature. The value of several questions is that of knowing all the answers; the next best
question is added to those before it (greedily).

References
----------
R. Howard (1966). Information value theory. IEEE Transactions on Systems Science and Cybernetics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, xlogy

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.answers.quadrature import joint_information, panels
from consilience.answers.sources_asked import Between, asked_of
from consilience.errors import InputError
from consilience.inference.estimate_ways import Way
from consilience.inference.evidence import Likelihood, Soft
from consilience.inference.queries import marginals, query
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Given, Network, check_network

__all__ = ["InformationValue", "Question", "information_value"]

ROUNDING = 1e-13  # nats, or share of the largest loss: a value below it is none
MOST_BRANCHES = 10_000

Loss = Mapping[str, Mapping[str, float]]
"""What a decision costs in each state of the target: ``{"treat": {"yes": 0, "no": 1}, ...}``."""


class Question(NamedTuple):
    """One of a sequence of questions, and what all up to this one are worth together."""

    name: str
    value: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InformationValue:
    """What each variable would tell about a target, the best first.

    Parameters
    ----------
    target
        What is asked about.
    now
        Entropy of the belief in nats, or least expected loss, before any question.
    values
        By variable, the expected reduction of it.
    questions
        The next best questions, one after the other.
    costs
        Of asking for a variable, if they were given.
    unit
        ``"nats"`` or ``"loss"``.
    between
        The two sources whose difference this is, or None.
    """

    target: str
    now: float
    values: Mapping[str, float]
    questions: tuple[Question, ...] = ()
    costs: Mapping[str, float] | None = None
    unit: str = "nats"
    between: Between | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def columns(self) -> Columns:
        """Variable, value, share of what is unknown now; cost and what is left, if there are any.

        What is left is the value for each unit of cost, or, of a loss, the value less the cost.
        """
        names = list(self.values)
        is_share = self.now > 0 and self.between is None
        return {
            "variable": names,
            "value": [self.values[name] for name in names],
            "share": [self.values[name] / self.now if is_share else None for name in names],
            "cost": [None if self.costs is None else self.costs[name] for name in names],
            ("gain" if self.unit == "loss" else "per cost"): [
                None if self.costs is None else worth(self.values[n], self.costs[n], self.unit)
                for n in names
            ],
        }

    @property
    def title(self) -> str:
        """What is unknown now, in words."""
        if self.between is not None:
            return f"Value of knowing for {self.target}, {self.between[0]} less {self.between[1]}"
        what = "expected loss" if self.unit == "loss" else "nats unknown"
        asked = ", then ".join(question.name for question in self.questions)
        return f"Value of knowing for {self.target}: {self.now:.4g} {what} now; ask {asked}"

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("InformationValue", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)


def information_value(
    net: Network,
    target: str,
    given: Given = None,
    *,
    among: Sequence[str] | None = None,
    loss: Loss | None = None,
    costs: Mapping[str, float] | None = None,
    n_questions: int = 1,
    between: Sequence[str] | None = None,
    by: Way | None = None,
) -> InformationValue:
    """What it would be worth to know each variable that is not known yet, for a belief in one.

    Parameters
    ----------
    target
        The variable whose belief matters.
    given
        What is known already.
    among
        The variables that can be asked for; if not given all but the source.
    loss
        What each decision costs in each state of the target; if not given the value is the expected
        reduction of entropy, in nats.
    costs
        Of asking for a variable, zero or more; one that is not named costs 1 with entropy and 0
        with a loss. Variables are then ranked by value per cost, or by value less cost.
    n_questions
        How many next best questions are wanted; more than one need discrete variables.
    between
        Two sources; the answer is the values in the first less those in the second.
    by
        How beliefs are found.

    Examples
    --------
    >>> import consilience as cs
    >>> ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    >>> net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]),
    ...     cs.Categorical(test, (ill,), [[0.9, 0.1], [0.1, 0.9]])])
    >>> round(cs.information_value(net, "ill").values["test"], 4)  # log(2) - H(0.1)
    0.3681
    """
    check_network("information_value", net)
    if not isinstance(target, str):
        raise InputError(
            f"information_value: a variable is wanted, got {target!r}.", parameter="target"
        )
    _check.known("node", [target], net.variables)
    _check.whole("information_value", at_least=1, n_questions=n_questions)
    sides = asked_of(net, given, between)
    names = _candidates(net, target, sides[0], among)
    price = _Price.of(net, target, loss)
    charged = _costs(names, costs, price)
    if between is not None:
        first, second = (price.values(net, target, known, names, by=by) for known in sides)
        differences = {name: first[name] - second[name] for name in names}
        ranked = sorted(names, key=lambda name: -abs(differences[name]))
        now = price.now(net, target, sides[0], by) - price.now(net, target, sides[1], by)
        return InformationValue(
            target,
            now,
            {name: differences[name] for name in ranked},
            unit=price.unit,
            between=(between[0], between[1]),
        )
    values = price.values(net, target, sides[0], names, by=by)
    ranked = _ranked(values, charged, price.unit)
    questions = _sequence(net, target, sides[0], n_questions, price=price, costs=charged, by=by)
    if not questions and ranked:
        questions = (Question(ranked[0], values[ranked[0]]),)
    return InformationValue(
        target,
        price.now(net, target, sides[0], by),
        {name: values[name] for name in ranked},
        questions,
        None if costs is None else charged,
        price.unit,
    )


def worth(value: float, cost: float, unit: str) -> float:
    """What variables are ranked by: value per cost, or, of a loss, value less cost."""
    if unit == "loss":
        return value - cost
    return value / cost if cost > 0 else (np.inf if value > 0 else 0.0)


def _ranked(values: Mapping[str, float], costs: Mapping[str, float], unit: str) -> list[str]:
    return sorted(values, key=lambda n: (-worth(values[n], costs[n], unit), -values[n]))


def _candidates(
    net: Network, target: str, known: Mapping[str, Any], among: Sequence[str] | None
) -> list[str]:
    if target in known and not isinstance(
        known[target], Likelihood | Soft | set | frozenset | list
    ):
        raise InputError(f"information_value: {target!r} is given.", variable=target)
    if among is None:
        return [n for n in net.variables if n not in known and n not in (target, net.source)]
    _check.names("information_value", among=among)
    _check.known("node", among, net.variables)
    for name in among:
        if name in known or name == target:
            raise InputError(
                f"information_value: {name!r} is known or asked about; it cannot be a question.",
                variable=name,
            )
    return list(dict.fromkeys(among))


def _costs(
    names: Sequence[str], costs: Mapping[str, float] | None, price: _Price
) -> dict[str, float]:
    usual = 0.0 if price.unit == "loss" else 1.0
    if costs is None:
        return dict.fromkeys(names, usual)
    _check.known("question", costs, names)
    _check.non_negative("information_value", **{f"costs[{n!r}]": c for n, c in costs.items()})
    return {name: float(costs.get(name, usual)) for name in names}


class _Price(NamedTuple):
    """What a belief costs: entropy, or the least of a loss of shape (decisions, states)."""

    loss: Floats | None

    @classmethod
    def of(cls, net: Network, target: str, loss: Loss | None) -> _Price:
        if loss is None:
            return cls(None)
        variable = net.variables[target]
        if variable.is_continuous:
            raise InputError(
                f"information_value: a loss is stated by state, and {target!r} is continuous.",
                variable=target,
            )
        rows = list(loss.values()) if isinstance(loss, Mapping) else []
        table = np.full((len(rows), variable.n_states), np.nan)
        for d, by_state in enumerate(rows):
            for state, number in by_state.items() if isinstance(by_state, Mapping) else ():
                _check.finite("information_value", **{f"loss in {state!r}": number})
                table[d, variable.code(state)] = number
        if not rows or np.isnan(table).any():
            raise InputError(
                "information_value: a loss needs a finite number for every decision and every "
                f"state of {target!r}: {_check.listed(variable.discrete_states)}.",
                parameter="loss",
            )
        return cls(table)

    @property
    def unit(self) -> str:
        return "nats" if self.loss is None else "loss"

    def of_beliefs(self, joint: Floats) -> Floats:
        """The cost of each column of a table P(t, x), times P(x)."""
        if self.loss is not None:
            return np.asarray((self.loss @ joint).min(axis=0))
        return np.asarray(entr(joint).sum(axis=0) + xlogy(joint.sum(axis=0), joint.sum(axis=0)))

    def now(self, net: Network, target: str, known: Mapping[str, Any], by: Way | None) -> float:
        belief = query(net, target, known, by=by)
        if isinstance(belief, Factor):
            return float(self.of_beliefs(belief.values[:, None])[0])
        x, weights = panels([belief])
        return float(weights @ entr(belief.density(x)))

    def values(
        self,
        net: Network,
        target: str,
        known: Mapping[str, Any],
        names: Sequence[str],
        *,
        by: Way | None,
    ) -> dict[str, float]:
        """The value of each of these variables."""
        if net.variables[target].is_continuous:
            return {n: _about_continuous(net, target, known, n, by=by) for n in names}
        belief = query(net, target, known, by=by).values
        found = _given_states(net, target, known, belief, by=by)
        now = float(self.of_beliefs(belief[:, None])[0])
        least = ROUNDING * (1.0 if self.loss is None else float(np.abs(self.loss).max()))
        hard = _is_hard(known)
        values = {}
        for name in names:
            if hard and net.dag.is_separated(name, target, given=list(known)):
                values[name] = 0.0
                continue
            later = float(self.of_beliefs(_joint(belief, [one[name] for one in found])).sum())
            values[name] = now - later if now - later > least else 0.0
        return values


def _given_states(
    net: Network, target: str, known: Mapping[str, Any], belief: Floats, *, by: Way | None
) -> list[dict[str, Any]]:
    """All marginals for each state of the target; those of the first possible one if impossible."""
    states = net.variables[target].discrete_states
    found = {
        t: marginals(net, {**known, target: state}, by=by)
        for t, state in enumerate(states)
        if belief[t] > 0
    }
    any_of_them = next(iter(found.values()))
    return [found.get(t, any_of_them) for t in range(len(states))]


def _joint(belief: Floats, each: Sequence[Factor | Mixture]) -> Floats:
    """P(t, x) with a column for each state of X, or for each node of a quadrature."""
    tables = [one for one in each if isinstance(one, Factor)]
    if tables:
        return np.stack([p * one.values for p, one in zip(belief, tables, strict=True)])
    mixtures = [one for one in each if isinstance(one, Mixture)]
    x, weights = panels([one for one, p in zip(mixtures, belief, strict=True) if p > 0])
    joint = np.stack(
        [p * one.density(x) * weights for p, one in zip(belief, mixtures, strict=True)]
    )
    return np.asarray(joint * (belief / np.maximum(joint.sum(axis=1), 1e-300))[:, None])


def _about_continuous(
    net: Network, target: str, known: Mapping[str, Any], name: str, *, by: Way | None
) -> float:
    """Mutual information of a continuous target and another variable."""
    if _is_hard(known) and net.dag.is_separated(name, target, given=list(known)):
        return 0.0
    belief: Any = query(net, [name, target], known, by=by)
    if isinstance(belief, MixedBelief):
        shares = belief.discrete.values
        each = [
            belief.mixtures.get((x,), next(iter(belief.mixtures.values())))
            for x in range(len(shares))
        ]
        joint = _joint(shares, each)
        rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
        value = float((xlogy(joint, joint) - xlogy(joint, rows * columns)).sum())
    else:
        value = joint_information(belief)
    return value if value > ROUNDING else 0.0


def _is_hard(known: Mapping[str, Any]) -> bool:
    """Whether all that is given is states and values, so that separation in the graph tells all."""
    return not any(
        isinstance(v, Likelihood | Soft | set | frozenset | list | tuple) for v in known.values()
    )


def _sequence(
    net: Network,
    target: str,
    known: Mapping[str, Any],
    n_questions: int,
    *,
    price: _Price,
    costs: Mapping[str, float],
    by: Way | None,
) -> tuple[Question, ...]:
    """The next best questions, each beside those before it; none if one is enough."""
    if n_questions == 1:
        return ()
    left = [n for n in costs if not net.variables[n].is_continuous]
    now, asked = price.now(net, target, known, by), list[Question]()
    while left and len(asked) < n_questions:
        totals, settled = dict.fromkeys(left, 0.0), now
        for share, given in _branches(net, known, [q.name for q in asked], by):
            settled -= share * price.now(net, target, given, by)
            for name, value in price.values(net, target, given, left, by=by).items():
                totals[name] += share * value
        best = _ranked(totals, costs, price.unit)[0]
        asked.append(Question(best, settled + totals[best]))
        left.remove(best)
    return tuple(asked)


def _branches(
    net: Network, known: Mapping[str, Any], asked: Sequence[str], by: Way | None
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Every possible answer to the questions so far, with its probability."""
    if not asked:
        yield 1.0, dict(known)
        return
    sizes = [net.variables[name].n_states for name in asked]
    if np.prod(sizes, dtype=float) > MOST_BRANCHES:
        raise InputError(
            f"information_value: the questions {_check.listed(asked)} have more than "
            f"{MOST_BRANCHES:,} answers together; ask for fewer questions.",
            parameter="n_questions",
        )
    joint = query(net, asked, known, by=by)
    states = [net.variables[name].discrete_states for name in asked]
    for share, answer in zip(joint.values.ravel(), product(*states), strict=True):
        if share > 0:
            yield float(share), {**known, **dict(zip(asked, answer, strict=True))}
