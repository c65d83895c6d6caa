r"""How far a predictor would have answered otherwise, had a protected attribute been another.

For a row with attribute a and features x, :math:`X_{a'}` are the features it would have had under
:math:`a'`. The predictor f is fair to the row if the law of :math:`f(X_{a'}, a')` given the row is
a point at f(x, a); and approximately so at (eps, delta) if

.. math:: P\bigl(|f(x, a) - f(X_{a'}, a')| > \epsilon \mid \text{row}\bigr) < \delta
    \quad \text{for all } a' \ne a .

Discrete features are summed over exactly, in the twin network of a named mechanism; over all
mechanisms there are bounds (:mod:`consilience.causal.what_if`). Continuous features that the row
determines are computed; what is left open is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.causal.assumed import IN_NETWORK, INDEPENDENT
from consilience.causal.couplings import Mechanism
from consilience.causal.fair_predictors import only_columns
from consilience.causal.twins import STAR, copied_nodes, twin
from consilience.causal.what_if import World, widened
from consilience.data.table import Table, code_type
from consilience.data.variable import Variable
from consilience.errors import ModelError
from consilience.incomplete.imputation import impute
from consilience.network.network import Network

__all__ = ["CounterfactualFairness", "Curve", "audit"]

SAME = 1e-12
"""Changes up to this much beyond eps are none."""
MOST_STATES = 50_000
"""Joint states of the changed features that are summed over."""
ROUNDING = 1e-6
"""A standard deviation this small beside the mean is rounding."""
DRAWS = 50
"""Draws for each row where the features of the other world are left open."""

Predict = Callable[[Table], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The probability of a change beyond eps: on average over rows, and of the worst row.

    Both are None where discrete features change and no mechanism was named. ``low`` and ``high``
    bound the average over all mechanisms; None where no bounds are known. ``error`` is the standard
    error of a drawn average; None if it is exact.
    """

    eps: Floats
    mean: Floats | None
    worst: Floats | None
    low: Floats | None
    high: Floats | None
    error: Floats | None

    def __post_init__(self) -> None:
        _freeze.own(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CounterfactualFairness:
    """What setting a protected attribute does to a predictor.

    Attributes
    ----------
    is_graphical
        Whether the predictor uses nothing that the attribute causes: fair whatever the mechanism.
    changes
        By state of the attribute: the expected prediction there minus the prediction here, for each
        row. Empty where a mechanism must be named and was not.
    curve
        delta(eps) at the eps asked for.
    share
        Share of the rows whose prediction can change at all; by some mechanism if none was named.
    by_source
        The average absolute change in each source.
    """

    is_graphical: bool
    changes: Mapping[str, Floats]
    curve: Curve
    share: float
    by_source: Mapping[str, float]
    assumptions: tuple[str, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def is_fair(self) -> bool:
        """Whether no row's prediction changes."""
        return self.is_graphical or self.share <= SAME


def audit(
    net: Network,
    table: Table,
    predict: Predict,
    *,
    protected: str,
    target: str,
    uses: frozenset[str],
    mechanism: Mechanism | None,
    eps: Sequence[float],
    seed: Any,
) -> CounterfactualFairness:
    """The counterfactual fairness of a predictor under one network."""
    follows = copied_nodes(net, {protected: None}) - {protected, target}
    changed = follows & uses & frozenset(table.variables)
    features = [name for name in net.dag.topological_order() if name in changed]
    is_graphical = protected not in uses and not (uses & follows)
    states = _states(net, table, protected)
    here = predict(table)
    known = frozenset(table.variables) - {target}
    task = _Task(net, table, predict, protected, tuple(features), known, mechanism, here, seed)
    levels = np.asarray(eps, dtype=float)
    with_none = np.array([0.0, *levels])
    found = {str(state): task.world(state, with_none) for state in states}
    return _summed(found, table, levels, is_graphical, mechanism=mechanism)


def _states(net: Network, table: Table, protected: str) -> list[Any]:
    variable = net.variables[protected]
    if not variable.is_continuous:
        return list(variable.discrete_states)
    values = np.unique(table.column(protected))
    return [float(v) for v in values[~np.isnan(values)]]


@dataclass(frozen=True, slots=True, eq=False)
class _There:
    """One world: expected change, probability of a change beyond each eps, and its bounds.

    The first eps is 0. Without a mechanism there are bounds alone.
    """

    change: Floats | None  # (rows,)
    beyond: Floats | None  # (rows, eps)
    low: Floats | None
    high: Floats | None
    is_drawn: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    net: Network
    table: Table
    predict: Predict
    protected: str
    features: tuple[str, ...]
    known: frozenset[str]
    mechanism: Mechanism | None
    here: Floats
    seed: Any

    def world(self, state: Any, eps: Floats) -> _There:
        """What happens to all rows when the attribute is set to a state."""
        is_other = _is_other(self.net, self.table, self.protected, state)
        if all(not self.net.variables[name].is_continuous for name in self.features):
            return self._summed(state, eps, is_other)
        return self._computed(state, eps, is_other)

    def _summed(self, state: Any, eps: Floats, is_other: Floats) -> _There:
        """Discrete features: the joint law of the changed ones, row by row that differs."""
        sizes = [self.net.variables[name].n_states for name in self.features]
        if prod(sizes) > MOST_STATES:
            raise ModelError(
                f"the features that {self.protected!r} causes have {prod(sizes):,} joint states; "
                f"at most {MOST_STATES:,} are summed over.",
                variable=self.protected,
            )
        seen = only_columns(self.table, self.known, self.net)
        rows, place = _different_rows(seen)
        part, about = self.table.take(rows), seen.take(rows)
        there = [self.predict(self._set(part, state, codes)) for codes in np.ndindex(*sizes)]
        moved = np.stack(there, axis=1) - self.here[rows][:, None]  # (rows, joint states)
        beyond = (np.abs(moved)[:, None, :] > eps[None, :, None] + SAME) * 1.0
        ends = self._ends(about, state, sizes, beyond)
        low, high = (None, None) if ends is None else (e[place] * is_other[:, None] for e in ends)
        if self.mechanism is None and self.features and ends is not None:
            return _There(None, None, low, high, is_drawn=False)
        laws = self._laws(about, state, prod(sizes))
        return _There(
            np.einsum("rj,rj->r", laws, moved)[place] * is_other,
            np.einsum("rj,rej->re", laws, beyond)[place] * is_other[:, None],
            low,
            high,
            is_drawn=False,
        )

    def _laws(self, about: Table, state: Any, n_states: int) -> Floats:
        """The joint law of the changed features given each row: shape (rows, joint states)."""
        if not self.features:
            return np.ones((about.n_rows, 1))
        both = twin(self.net, do={self.protected: state}, mechanism=self.mechanism)
        names = [name + STAR for name in self.features]
        laws = np.zeros((about.n_rows, n_states))
        for i, row in enumerate(_coded(self.net, about)):
            given = {n: self.net.variables[n].discrete_states[code] for n, code in row.items()}
            laws[i] = both.query(names, given=given).values.ravel()
        return laws

    def _set(self, part: Table, state: Any, codes: Sequence[int]) -> Table:
        """The rows with the attribute set and the changed features in one joint state."""
        n = part.n_rows
        features = {
            name: np.full(n, code, code_type(self.net.variables[name].n_states))
            for name, code in zip(self.features, codes, strict=True)
        }
        return self._moved(part, state, features)

    def _moved(self, part: Table, state: Any, features: Mapping[str, Any]) -> Table:
        """The rows with the attribute set and the changed features as they would have been."""
        attribute = {}
        if self.protected in part.columns:
            variable = self.net.variables[self.protected]
            code = float(state) if variable.is_continuous else variable.code(state)
            attribute[self.protected] = np.full_like(part.column(self.protected), code)
        return replace(part, columns={**part.columns, **attribute, **features})

    def _ends(
        self, about: Table, state: Any, sizes: Sequence[int], beyond: Floats
    ) -> tuple[Floats, Floats] | None:
        """Bounds over all mechanisms, for complete rows of networks of tables."""
        variable = self.net.variables[self.protected]
        changed = frozenset(self.features)
        between = self.net.dag.descendants(self.protected) & self.net.dag.ancestors(
            list(self.features)
        )
        if variable.is_continuous or not between <= changed or not self.net.is_discrete:
            return None
        low, high = np.zeros(beyond.shape[:2]), np.zeros(beyond.shape[:2])
        do = {self.protected: variable.code(state)}
        for i, row in enumerate(_coded(self.net, about)):
            if any(p not in row for n in changed for p in (*self.net.dag.parents(n), n)):
                return None
            world = World(self.net, row, do, changed)
            for e in range(beyond.shape[1]):
                goal = beyond[i, e].reshape(sizes)
                low[i, e], high[i, e], _ = world.extremes(self.features, goal)
        return low, high

    def _computed(self, state: Any, eps: Floats, is_other: Floats) -> _There:
        """Continuous features: computed where the row determines them, drawn where it does not."""
        both = twin(self.net, do={self.protected: state}, mechanism=self.mechanism)
        wide = widened(only_columns(self.table, self.known, self.net), both)
        found = {name: both.posteriors(wide, name + STAR) for name in self.features}
        is_sure = all(_is_sure(self.net.variables[n], values) for n, values in found.items())
        if is_sure:
            worlds = [{name: values[:, 0] for name, values in found.items()}]
        else:
            filled = impute(both, wide, draws=DRAWS, seed=self.seed).tables
            worlds = [{n: one.column(n + STAR) for n in self.features} for one in filled]
        there = [self.predict(self._moved(self.table, state, columns)) for columns in worlds]
        moved = np.stack(there, axis=1) - self.here[:, None]
        beyond = (np.abs(moved)[:, None, :] > eps[None, :, None] + SAME).mean(axis=2)
        return _There(
            moved.mean(axis=1) * is_other,
            beyond * is_other[:, None],
            None,
            None,
            is_drawn=not is_sure,
        )


def _is_sure(variable: Variable, answers: Floats) -> bool:
    """Whether the rows determine a continuous feature of the other world."""
    if not variable.is_continuous:
        return False
    mean, sd = answers.T
    return bool(np.all(sd <= ROUNDING * (1 + np.abs(mean))))


def _is_other(net: Network, table: Table, protected: str, state: Any) -> Floats:
    """1 where a row's attribute is another than the state, 0 where it is the same."""
    variable = net.variables[protected]
    column = table.column(protected)
    same = column == (float(state) if variable.is_continuous else variable.code(state))
    return 1.0 - same


def _different_rows(seen: Table) -> tuple[Any, Any]:
    """Positions of rows that differ, and for each row which of them it equals."""
    codes = [np.asarray(column, dtype=float) for column in seen.columns.values()]
    sources = [] if seen.source_codes is None else [np.asarray(seen.source_codes, dtype=float)]
    stacked = np.stack([*codes, *sources], axis=1)
    _, rows, place = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    return rows, place.ravel()


def _coded(net: Network, about: Table) -> Iterator[dict[str, int]]:
    """What is known of each row, in codes."""
    names = [n for n in net.variables if n in about.variables or n == about.source]
    columns = {n: about.column(n) for n in names}
    for i in range(about.n_rows):
        yield {n: int(columns[n][i]) for n in names if columns[n][i] >= 0}


def _summed(
    found: Mapping[str, _There],
    table: Table,
    eps: Floats,
    is_graphical: bool,
    *,
    mechanism: Mechanism | None,
) -> CounterfactualFairness:
    """The worst world of each row, averaged over the rows."""
    weights = np.ones(table.n_rows) if table.weights is None else np.asarray(table.weights, float)
    shares = weights / weights.sum()
    worlds = list(found.values())
    beyond, low, high = (
        _worst([getattr(one, name) for one in worlds]) for name in ("beyond", "low", "high")
    )
    error = None
    if beyond is not None and any(one.is_drawn for one in worlds):
        error = np.sqrt((shares**2) @ (beyond * (1 - beyond)) / DRAWS)[1:]
    curve = Curve(
        eps,
        None if beyond is None else (shares @ beyond)[1:],
        None if beyond is None else beyond.max(axis=0)[1:],
        None if low is None else (shares @ low)[1:],
        None if high is None else (shares @ high)[1:],
        error,
    )
    changes = {state: one.change for state, one in found.items() if one.change is not None}
    can_change = high if beyond is None else beyond
    named = () if mechanism is None else (f"Mechanism: {mechanism!r}.",)
    return CounterfactualFairness(
        is_graphical,
        changes,
        curve,
        0.0 if can_change is None else float(shares @ (can_change[:, 0] > SAME)),
        _by_source(changes, table, weights),
        (IN_NETWORK, INDEPENDENT, *named),
    )


def _worst(worlds: Sequence[Floats | None]) -> Floats | None:
    """The largest number of each row over the worlds; None if a world has none."""
    known = [one for one in worlds if one is not None]
    return np.max(known, axis=0) if known and len(known) == len(worlds) else None


def _by_source(changes: Mapping[str, Floats], table: Table, weights: Floats) -> dict[str, float]:
    """The average of the largest absolute change, in each source."""
    if not changes:
        return {}
    largest = np.max([np.abs(change) for change in changes.values()], axis=0)
    return {
        name: float(np.average(largest[rows], weights=weights[rows]))
        for code, name in enumerate(table.sources)
        if (rows := np.asarray(table.source_codes) == code).any()
    }
