r"""The verbs :func:`counterfactual` and :func:`counterfactuals`: what would have happened to a row.

With a named mechanism the answer is a query on the twin network (:mod:`consilience.causal.twins`).
Over *all* mechanisms with independent noises there are bounds. For a complete row, a node that
answered v to its parents pa answers to other parents pa* by some row q with

.. math:: 0 \le q_j \le \min\Bigl(1, \frac{P(j \mid \mathrm{pa}^*)}{P(v \mid \mathrm{pa})}\Bigr),
    \qquad \sum_j q_j = 1,

free of the other nodes. The extreme of a linear function over such rows is a greedy fill: as much
as allowed goes to the best state, then to the second. Along a chain of nodes one works backwards.
Where a node's best row depends on nodes that are not its parents, letting it depend on them gives
bounds that hold but need not be reached; rows that miss values are averaged over what they can be,
which also only holds. ``is_sharp`` says which.

What is given about nodes that the intervention does not change needs no mechanism: then the answer
is that of do().
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.causal.assumed import GAUSSIAN, IN_NETWORK, INDEPENDENT
from consilience.causal.couplings import Mechanism
from consilience.causal.effect_question import hard_sides, set_text
from consilience.causal.kept_residuals import kept_residuals
from consilience.causal.response import Bounds
from consilience.causal.twins import STAR, copied_nodes, starred, twin
from consilience.data.door import Rows, as_rows_of
from consilience.data.row import known_values
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.distributions import Categorical
from consilience.errors import InputError, ModelError
from consilience.inference.evidence import Likelihood, Soft
from consilience.inference.intervention import intervene
from consilience.network.factor import Factor
from consilience.network.network import MEMORY_LIMIT, Network, check_network

__all__ = ["Counterfactual", "World", "counterfactual", "counterfactuals", "widened"]

MOST_COMPLETIONS = 100_000
"""Completions of a row that are averaged over."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counterfactual:
    """What would have happened to a row.

    Attributes
    ----------
    belief
        The distribution of y in the other world; None where a mechanism must be named and was not.
    bounds
        Lowest and highest probability of each state over all mechanisms; None for a continuous y.
    is_sharp
        Whether some mechanism reaches the bounds.
    """

    question: str
    belief: Any
    bounds: Bounds | None
    assumptions: tuple[str, ...]

    @property
    def is_sharp(self) -> bool:
        """Whether some mechanism reaches the bounds."""
        return self.bounds is None or self.bounds.is_sharp

    def __repr__(self) -> str:
        said = "a mechanism must be named" if self.belief is None else str(self.belief)
        ends = "" if self.bounds is None else f"; {self.bounds!r}"
        return f"Counterfactual({self.question}: {said}{ends})"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def counterfactual(
    net: Network,
    y: str,
    *,
    do: Mapping[str, Any],
    given: Any,
    mechanism: Mechanism | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Counterfactual:
    """The distribution that y would have had, had the nodes of ``do`` been set, for a row.

    Parameters
    ----------
    y, do
        What is asked, and what is set in the other world.
    given
        What the row shows; it may be partial. A mapping, or a row of a frame.
    mechanism
        How discrete nodes answer in both worlds; see :mod:`consilience.causal.couplings`. Without
        one, the belief is given only where no mechanism is needed. Bounds over all are given
        always.
    """
    _check_asked(net, y, do)
    given = known_values(given, net.variables)
    copied = copied_nodes(net, do)
    changed = _changed(net, y, copied, do, given=given)
    question = _text(y, do, given)
    assumptions = _assumptions(net, changed, mechanism)
    if not changed:
        belief = (
            _known(net, y, do, given)
            if y in (given if y not in do else do)
            else _set(net, y, do, given)
        )
        return Counterfactual(question, belief, _point(belief), assumptions)
    is_open = any(name in net.tables for name in changed)
    belief = None
    if mechanism is not None or not is_open:
        both = twin(net, do=do, mechanism=mechanism, memory_limit=memory_limit)
        belief = _starless(both.query(y + STAR, given=given), net.variables[y])
    bounds = None
    if not net.variables[y].is_continuous:
        bounds = _bounds(net, y, do, given, changed=changed) if is_open else _point(belief)
    if (
        belief is None
        and bounds is not None
        and bounds.is_sharp
        and np.allclose(bounds.low, bounds.high, rtol=0, atol=1e-12)
    ):
        belief = Factor((net.variables[y],), bounds.low / bounds.low.sum())
    return Counterfactual(question, belief, bounds, assumptions)


def counterfactuals(
    net: Network,
    table: Rows,
    y: str,
    *,
    do: Mapping[str, Any],
    mechanism: Mechanism | None = None,
) -> Floats:
    """For each row the distribution that y would have had: shape (rows, states); mean and sd of a
    continuous y. Nodes that the rows have no column of are hidden.
    """
    _check_asked(net, y, do)
    table = as_rows_of(net.variables, net.source, table)
    if y not in copied_nodes(net, do):
        return net.posteriors(widened(table, net), y)
    kept = kept_residuals(net, table, y, do)
    if kept is None:
        return _by_twin(net, table, y, do, mechanism=mechanism)
    values, is_known = kept
    answers = np.stack([values, np.zeros(table.n_rows)], axis=1)
    if not is_known.all():
        rest = table.take(np.flatnonzero(~is_known))
        answers[~is_known] = _by_twin(net, rest, y, do, mechanism=mechanism)
    return answers


def _check_asked(net: Network, y: str, do: Mapping[str, Any]) -> None:
    """Refuse what is not a network, one of its nodes, and states that its nodes have."""
    check_network("counterfactual", net)
    if not isinstance(y, str):
        raise InputError(f"counterfactual: y must be one node, got {y!r}.", parameter="y")
    _check.known("node", [y], net.variables)
    intervene(net, do)


def _by_twin(
    net: Network, table: Table, y: str, do: Mapping[str, Any], *, mechanism: Mechanism | None
) -> Floats:
    both = twin(net, do=do, mechanism=mechanism)
    return both.posteriors(widened(table, both), y + STAR)


def widened(table: Table, both: Network) -> Table:
    """The rows with columns for the other world and for hidden nodes, which nobody recorded."""
    known = {*table.variables, both.source}
    new = {name: v for name, v in both.variables.items() if name not in known}
    n_rows = table.n_rows
    columns = {
        name: np.full(n_rows, np.nan)
        if variable.is_continuous
        else np.full(n_rows, -1, code_type(variable.n_states))
        for name, variable in new.items()
    }
    schema = Schema({**table.schema.variables, **new}, table.schema.source)
    return replace(table, schema=schema, columns={**table.columns, **columns})


def _changed(
    net: Network, y: str, copied: frozenset[str], do: Mapping[str, Any], *, given: Mapping[str, Any]
) -> frozenset[str]:
    """The copied nodes, not set themselves, whose two answers matter for y*.

    They matter if something is given about them or about what follows from them; otherwise the
    other world is that of do().
    """
    follows = copied - frozenset(do)
    if y not in follows:
        return frozenset()
    seen = net.dag.ancestors(list(given)) | frozenset(given)
    if not follows & seen:
        return frozenset()
    return follows & (net.dag.ancestors(y) | {y})


def _set(net: Network, y: str, do: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """The answer where nothing is known about what follows from the nodes that are set.

    Then no node needs to answer in both worlds: what follows exists in the other world alone, and
    what causes the nodes that are set is shared.
    """
    copied = copied_nodes(net, do)
    if y not in copied:
        return net.query(y, given=dict(given))
    follows = copied - frozenset(do)
    seen = {name: state for name, state in given.items() if name not in follows}
    other = {name: starred(net.variables[name]) for name in copied}
    set_ones = intervene(net, do)
    first = [local for name, local in net.distributions.items() if name not in follows]
    second = [
        replace(local, child=other[name], given=tuple(other.get(p.name, p) for p in local.given))
        for name, local in set_ones.distributions.items()
        if name in copied
    ]
    both = Network.of([*first, *second], source=net.source)
    return _starless(both.query(y + STAR, given=seen), net.variables[y])


def _bounds(
    net: Network,
    y: str,
    do: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    changed: frozenset[str],
) -> Bounds:
    """Bounds over all mechanisms; averaged over completions of what the row misses."""
    for name in changed:
        if name not in net.tables:
            raise ModelError(
                f"bounds over all mechanisms are for tables; {name!r} is not one.", variable=name
            )
    variable = net.variables[y]
    involved = {p for name in changed for p in (*net.dag.parents(name), name)}
    known = {name: state for name, state in given.items() if _is_state(state)}
    missing = [n for n in net.dag.topological_order() if n in involved and n not in known]
    net.query(y, given=dict(given))  # refuses a row that cannot occur
    weights = net.query(missing, given=dict(given)) if missing else None
    n_completions = prod(net.variables[name].n_states for name in missing)
    if n_completions > MOST_COMPLETIONS:
        raise ModelError(
            f"bounds would average over {n_completions:,} completions of the row; at most "
            f"{MOST_COMPLETIONS:,} are tried. Give more of {_check.listed(missing)}.",
            nodes=tuple(missing),
        )
    low, high = np.zeros(variable.n_states), np.zeros(variable.n_states)
    is_sharp = not missing
    row = {name: net.variables[name].code(known[name]) for name in involved if name in known}
    worlds = [
        (share, {name: net.variables[name].code(state) for name, state in hard.items()})
        for share, hard in hard_sides(do)
    ]
    for place in product(*(range(net.variables[name].n_states) for name in missing)):
        weight = 1.0 if weights is None else float(weights.values[place])
        complete = {**row, **dict(zip(missing, place, strict=True))}
        for share, target in worlds if weight > 0 else ():
            world = World(net, complete, target, changed)
            for state in range(variable.n_states):
                goal = (np.arange(variable.n_states) == state) * 1.0
                lowest, highest, is_reached = world.extremes((y,), goal)
                low[state] += share * weight * lowest
                high[state] += share * weight * highest
                is_sharp = is_sharp and is_reached
    assumed = (IN_NETWORK, INDEPENDENT)
    return Bounds(variable, low, high, is_sharp=is_sharp, assumptions=assumed)


def _is_state(value: Any) -> bool:
    """Whether evidence is one state, not several or a likelihood."""
    return not isinstance(value, Likelihood | Soft | set | frozenset | list | tuple)


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A complete row, and what is set in the other world; all in codes.

    ``changed`` are the nodes that answer in both worlds.
    """

    net: Network
    row: Mapping[str, int]
    do: Mapping[str, int]
    changed: frozenset[str]

    def extremes(self, names: tuple[str, ...], goal: Floats) -> tuple[float, float, bool]:
        """The lowest and highest expected goal over all mechanisms, and whether they are reached.

        ``goal`` is a function of some changed nodes, with one axis for each of ``names``.
        """
        low, one = self._largest(names, -goal)
        high, two = self._largest(names, goal)
        return -low, high, one and two

    def _largest(self, names: tuple[str, ...], goal: Floats) -> tuple[float, bool]:
        """Nodes are taken backwards; the value left is a function of the nodes still open."""
        order = [n for n in self.net.dag.topological_order() if n in self.changed]
        value, is_sharp = goal, True
        for name in reversed(order):
            if name not in names:
                continue
            parents = [p for p in self.net.dag.parents(name) if p in self.changed]
            others = [n for n in names if n != name and n not in parents]
            names, value, is_reached = self._backwards(name, parents, others, names, value=value)
            is_sharp = is_sharp and is_reached
        return float(value), is_sharp

    def _backwards(
        self,
        name: str,
        parents: Sequence[str],
        others: Sequence[str],
        names: tuple[str, ...],
        *,
        value: Floats,
    ) -> tuple[tuple[str, ...], Floats, bool]:
        """The value with one node taken out, each of its rows filled in the best way."""
        kept = (*parents, *others)
        arranged = _arranged(names, value, (*kept, name), self.net)
        result = np.zeros(arranged.shape[:-1])
        is_sharp = True
        for place in product(*(range(self.net.variables[p].n_states) for p in parents)):
            caps = self._caps(name, dict(zip(parents, place, strict=True)))
            goals = arranged[place].reshape(-1, arranged.shape[-1])
            best = np.array([_greedy(caps, goal) for goal in goals])
            result[place] = best.reshape(arranged[place].shape[:-1])
            is_sharp = is_sharp and (len(goals) == 1 or _agree(caps, goals, best))
        return kept, result, is_sharp

    def _caps(self, name: str, there: Mapping[str, int]) -> Floats:
        """The most that each state of a node may get, given its parents in the other world."""
        local = self.net.tables[name]
        here = tuple(self.row[parent] for parent in local.parents)
        away = tuple(
            there.get(parent, self.do.get(parent, self.row[parent])) for parent in local.parents
        )
        seen = self.row[name]
        if here == away:
            return (np.arange(local.child.n_states) == seen) * 1.0
        return np.minimum(1.0, local.table[away] / local.table[(*here, seen)])


def _arranged(
    names: tuple[str, ...], value: Floats, wanted: tuple[str, ...], net: Network
) -> Floats:
    """The array with one axis for each wanted name, spread along those it lacks."""
    order = [names.index(name) for name in wanted if name in names]
    shape = [net.variables[name].n_states if name in names else 1 for name in wanted]
    full = [net.variables[name].n_states for name in wanted]
    return np.broadcast_to(value.transpose(order).reshape(shape), full)


def _greedy(caps: Floats, goal: Floats) -> float:
    """The largest sum of q and goal over rows q below the caps."""
    return float(_filled(caps, goal) @ goal)


def _filled(caps: Floats, goal: Floats) -> Floats:
    left, row = 1.0, np.zeros(len(caps))
    for state in np.argsort(-goal, kind="stable"):
        row[state] = min(caps[state], left)
        left -= row[state]
    return row


def _agree(caps: Floats, goals: Floats, best: Floats) -> bool:
    """Whether one row is best for all goals at once."""
    for goal in goals:
        row = _filled(caps, goal)
        if np.allclose(goals @ row, best, rtol=0, atol=1e-12):
            return True
    return False


def _point(belief: Any) -> Bounds | None:
    if not isinstance(belief, Factor):
        return None
    variable, values, assumed = belief.variables[0], belief.values, (IN_NETWORK, INDEPENDENT)
    return Bounds(variable, values, values, is_sharp=True, assumptions=assumed)


def _known(net: Network, y: str, do: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """The belief about a node that is set, or given and not changed."""
    return intervene(net, {y: do.get(y, given.get(y))}).query(y)


def _starless(belief: Any, variable: Variable) -> Any:
    """The belief about y*, under the name y."""
    if isinstance(belief, Factor):
        return Factor((variable,), belief.values)
    return replace(belief, names=(variable.name,))


def _assumptions(
    net: Network, changed: frozenset[str], mechanism: Mechanism | None
) -> tuple[str, ...]:
    tables = [name for name in sorted(changed) if isinstance(net.distributions[name], Categorical)]
    named = (
        [f"Mechanism of {_check.listed(tables)}: {mechanism!r}."] if tables and mechanism else []
    )
    continuous = [GAUSSIAN] if any(name in net.regressions for name in changed) else []
    return (IN_NETWORK, INDEPENDENT, *named, *continuous)


def _text(y: str, do: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    done = ", ".join(set_text(name, state) for name, state in do.items())
    seen = ", ".join(f"{name}={state}" for name, state in given.items())
    return f"P({y} had {done} been set | {seen})"
