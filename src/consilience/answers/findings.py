r"""Findings and what they do: whether they agree with each other, and what they did to a belief.

The conflict of findings :math:`e_1, \dots, e_n` (Jensen, Chamberlain, Nordahl and Jensen 1991) is

.. math:: \log\frac{\prod_i P(e_i)}{P(e)}, \qquad \text{and of one against the rest} \qquad
    \log\frac{P(e_i)\,P(e_{-i})}{P(e)} .

Findings that go together under the network make each other more probable, so that it is negative;
above zero they are as improbable together as if they came from different cases.

How far a finding moved the belief in a state :math:`t` is told in two ways: by leaving it out,
:math:`P(t \mid e) - P(t \mid e_{-i})`, and by its Shapley share, the mean over all orders in which
the findings may come of what it adds when it comes,

.. math:: \sum_{S \not\ni i} \frac{|S|!\,(n - |S| - 1)!}{n!}
    \bigl(P(t \mid e_S, e_i) - P(t \mid e_S)\bigr) .

Shares add up to :math:`P(t \mid e) - P(t)`; what leaving out tells need not. They need the belief
given every set of findings, which is one batch of rows, and are told for up to 12 findings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.answers.answer_columns import Columns, Frame, columns_frame, columns_text
from consilience.answers.sources_asked import Between, asked_of, value_text
from consilience.errors import InputError, MemoryLimitError
from consilience.inference.conflict import refuse_impossible
from consilience.inference.estimate_ways import Way
from consilience.inference.evidence import Evidence, evidence_of
from consilience.inference.groups import Batch
from consilience.inference.junction import compiled
from consilience.inference.queries import log_probability, query
from consilience.network.factor import Factor
from consilience.network.network import MEMORY_LIMIT, Given, Network, check_network

__all__ = ["BeliefShift", "Conflict", "conflict", "explain"]

MOST_FINDINGS = 12
"""Of Shapley shares: they need the belief given every set of findings."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conflict:
    """How far findings contradict each other, in nats; above zero they do.

    Parameters
    ----------
    total
        Log of the product of their probabilities less the log probability of all together.
    by_finding
        The same for each finding against all others.
    given
        What is given, in words.
    between
        The two sources whose difference this is, or None.
    """

    total: float
    by_finding: Mapping[str, float]
    given: Mapping[str, str]
    between: Between | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def columns(self) -> Columns:
        """Finding, what is given, and its conflict with the rest, the largest first."""
        names = sorted(self.by_finding, key=lambda name: -self.by_finding[name])
        return {
            "finding": names,
            "given": [self.given[name] for name in names],
            "conflict": [self.by_finding[name] for name in names],
        }

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("Conflict", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)

    @property
    def title(self) -> str:
        """The conflict in all, in words."""
        if self.between is not None:
            return f"Conflict in {self.between[0]} less that in {self.between[1]}: {self.total:.4g}"
        what = "the findings contradict each other" if self.total > 0 else "they go together"
        return f"Conflict {self.total:.4g}: {what}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BeliefShift:
    """What each finding did to the belief in a target.

    Parameters
    ----------
    target, state
        The variable, and the state that the table is about; ``"mean"`` of a continuous one.
    states
        All its states, or ``("mean",)``; what the arrays below are over.
    before, after
        The belief without and with the findings.
    left_out
        By finding, the belief less what it would be without this one.
    shares
        By finding, its Shapley share; None for more than 12 findings.
    given
        What is given, in words.
    between
        The two sources whose difference this is, or None.
    """

    target: str
    state: str
    states: tuple[str, ...]
    before: Floats
    after: Floats
    left_out: Mapping[str, Floats]
    shares: Mapping[str, Floats] | None
    given: Mapping[str, str]
    between: Between | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def columns(self) -> Columns:
        """Finding, what is given, and how far it moved the state, the furthest first."""
        k = self.states.index(self.state)
        told = self.left_out if self.shares is None else self.shares
        names = sorted(told, key=lambda name: -abs(float(told[name][k])))
        shares = self.shares
        return {
            "finding": names,
            "given": [self.given[name] for name in names],
            "share": [None if shares is None else float(shares[name][k]) for name in names],
            "left out": [float(self.left_out[name][k]) for name in names],
        }

    @property
    def title(self) -> str:
        """The belief before and after, in words."""
        k = self.states.index(self.state)
        what = f"mean of {self.target}" if self.state == "mean" else f"{self.target}={self.state}"
        of = "" if self.between is None else f", {self.between[0]} less {self.between[1]}"
        return f"{what}{of}: {self.before[k]:.4g} before, {self.after[k]:.4g} after the findings"

    def to_frame(self) -> Frame:
        """The columns as a pandas frame."""
        return columns_frame("BeliefShift", self.columns)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)


def conflict(
    net: Network,
    given: Given,
    *,
    between: Sequence[str] | None = None,
    by: Way | None = None,
) -> Conflict:
    """How far the findings contradict each other under the network, in all and one by one.

    Parameters
    ----------
    given
        The findings: states, sets, likelihoods, values.
    between
        Two sources; the answer is the conflict in the first less that in the second.
    by
        How probabilities are found.

    Raises
    ------
    ImpossibleEvidenceError
        If the findings cannot occur together.

    Examples
    --------
    >>> import consilience as cs
    >>> ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    >>> net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]),
    ...     cs.Categorical(test, (ill,), [[0.9, 0.1], [0.1, 0.9]])])
    >>> round(cs.conflict(net, {"ill": "yes", "test": "no"}).total, 4)  # log(0.25 / 0.05)
    1.6094
    """
    check_network("conflict", net)
    each = [_conflict(net, known, by) for known in asked_of(net, given, between)]
    if between is None:
        return each[0]
    first, second = each
    return Conflict(
        first.total - second.total,
        {name: value - second.by_finding[name] for name, value in first.by_finding.items()},
        first.given,
        (between[0], between[1]),
    )


def explain(
    net: Network,
    target: str | Mapping[str, str],
    given: Given,
    *,
    between: Sequence[str] | None = None,
    by: Way | None = None,
) -> BeliefShift:
    """Which findings moved the belief in a variable, and how far.

    Parameters
    ----------
    target
        A variable, or one with the state that matters, ``{"lung": "yes"}``; otherwise the table is
        about the state whose belief moved furthest.
    given
        The findings.
    between
        Two sources; the answer is what is true of the first less what is of the second.
    by
        How beliefs are found.

    Examples
    --------
    >>> import consilience as cs
    >>> ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    >>> net = cs.Network.of([cs.Categorical(ill, (), [0.5, 0.5]),
    ...     cs.Categorical(test, (ill,), [[0.9, 0.1], [0.1, 0.9]])])
    >>> cs.explain(net, {"ill": "yes"}, {"test": "yes"})
    ill=yes: 0.5 before, 0.9 after the findings
    finding  given  share  left out
    test     yes      0.4       0.4
    """
    check_network("explain", net)
    name, state = _target(net, target)
    each = [_shift(net, name, known, by) for known in asked_of(net, given, between)]
    before, after, left_out, shares = each[0]
    if between is not None:
        before, after = before - each[1][0], after - each[1][1]
        left_out = {key: move - each[1][2][key] for key, move in left_out.items()}
        others = each[1][3]
        if shares is not None and others is not None:
            shares = {key: move - others[key] for key, move in shares.items()}
    variable = net.variables[name]
    states = ("mean",) if variable.is_continuous else variable.discrete_states
    furthest = states[int(np.abs(after - before).argmax())]
    known = {key: value_text(value) for key, value in asked_of(net, given, None)[0].items()}
    return BeliefShift(
        name,
        furthest if state is None else state,
        states,
        before,
        after,
        left_out,
        shares,
        known,
        None if between is None else (between[0], between[1]),
    )


def _conflict(net: Network, known: Mapping[str, Any], by: Way | None) -> Conflict:
    names = [name for name in known if name != net.source]
    base = {name: value for name, value in known.items() if name not in names}
    if not names:
        raise InputError("conflict: there are no findings; give at least one.", parameter="given")
    log_base = log_probability(net, base, by=by) if base else 0.0
    log_all = log_probability(net, known, by=by) - log_base
    if log_all == -math.inf:
        refuse_impossible(net, evidence_of(net.variables, known), MEMORY_LIMIT)
    alone = {n: log_probability(net, {**base, n: known[n]}, by=by) - log_base for n in names}
    others = {
        n: log_probability(net, {k: v for k, v in known.items() if k != n}, by=by) - log_base
        for n in names
    }
    return Conflict(
        sum(alone.values()) - log_all,
        {n: alone[n] + others[n] - log_all for n in names},
        {n: value_text(known[n]) for n in names},
    )


def _target(net: Network, target: object) -> tuple[str, str | None]:
    if isinstance(target, Mapping):
        if len(target) != 1:
            raise InputError(
                f"explain: one variable is explained at a time, got {dict(target)}.",
                parameter="target",
            )
        [(name, state)] = target.items()
        _check.known("node", [name], net.variables)
        variable = net.variables[name]
        if variable.is_continuous:
            raise InputError(
                f"explain: {name!r} is continuous and its mean is explained; name it alone.",
                variable=name,
            )
        return name, variable.discrete_states[variable.code(state)]
    if not isinstance(target, str):
        raise InputError(f"explain: a variable is wanted, got {target!r}.", parameter="target")
    _check.known("node", [target], net.variables)
    return target, None


_Shift = tuple[Floats, Floats, dict[str, Floats], dict[str, Floats] | None]


def _shift(net: Network, target: str, known: Mapping[str, Any], by: Way | None) -> _Shift:
    """Belief before and after, moves by leaving out, and shares; the source is no finding."""
    names = [name for name in known if name != net.source]
    if target in known:
        raise InputError(f"explain: {target!r} is given.", variable=target)
    if not names:
        raise InputError("explain: there are no findings; give at least one.", parameter="given")
    n = len(names)
    if n > MOST_FINDINGS:
        sets = np.array([0, (1 << n) - 1, *((1 << n) - 1 - (1 << i) for i in range(n))], object)
    else:
        sets = np.arange(1 << n).astype(object)
    beliefs = _beliefs(net, target, known, names, sets=sets, by=by)
    at = {int(held): i for i, held in enumerate(sets)}
    after = beliefs[at[(1 << n) - 1]]
    left_out = {name: after - beliefs[at[(1 << n) - 1 - (1 << i)]] for i, name in enumerate(names)}
    shares = _shapley(beliefs, names) if n <= MOST_FINDINGS else None
    return beliefs[at[0]], after, left_out, shares


def _shapley(beliefs: Floats, names: Sequence[str]) -> dict[str, Floats]:
    """Shares from the beliefs given every set, numbered by its bits."""
    n = len(names)
    sets = np.arange(1 << n)
    sizes = np.array([held.bit_count() for held in range(1 << n)])
    weights = np.array(
        [math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in range(n)]
    )
    shares = {}
    for i, name in enumerate(names):
        without = sets[(sets >> i) & 1 == 0]
        gains = beliefs[without | (1 << i)] - beliefs[without]
        shares[name] = np.asarray(weights[sizes[without]] @ gains)
    return shares


def _beliefs(
    net: Network,
    target: str,
    known: Mapping[str, Any],
    names: Sequence[str],
    *,
    sets: Any,
    by: Way | None,
) -> Floats:
    """P(target | findings of the set), or its mean, for each set of findings given by its bits."""
    evidence = evidence_of(net.variables, known)
    is_hard = len(evidence.known) == len(known)
    if by is None and is_hard and net.is_discrete:
        try:
            return _batch(net, target, evidence, names, sets=sets)
        except MemoryLimitError:
            pass
    base = {name: value for name, value in known.items() if name not in names}
    each = []
    for held in sets:
        some = {name: known[name] for i, name in enumerate(names) if held >> i & 1}
        belief = query(net, target, {**base, **some}, by=by)
        each.append(belief.values if isinstance(belief, Factor) else np.array([belief.mean]))
    return np.stack(each)


def _batch(
    net: Network, target: str, evidence: Evidence, names: Sequence[str], *, sets: Any
) -> Floats:
    """The same for states of discrete nodes, all sets at once."""
    tree = compiled(net, last=[target])
    columns = {}
    for name, code in evidence.known.items():
        column = np.full(len(sets), code, np.int32)
        if name in names:
            i = names.index(name)
            column[[not held >> i & 1 for held in sets]] = -1
        columns[name] = column
    found, log = Batch(tree, columns, len(sets)).posteriors(target)
    if (log == -np.inf).any():
        refuse_impossible(net, evidence, MEMORY_LIMIT)
    return found
