r"""The verb :func:`fair_predictor`: predictors that do not change with a protected attribute.

- :class:`NonDescendants`: the target given what the attribute does not cause. Exact, whatever the
  mechanism, and often poor.
- :class:`Residuals`: what the model predicts in each world of the attribute, averaged over the
  worlds with the attribute's own probabilities,
  :math:`f(x) = \sum_a P(a)\, E[y \mid a, x_a]`, where :math:`x_a` are the features that the row
  would have had under a. In a linear Gaussian network :math:`x_a` keeps the residuals, so f is the
  regression on residuals; it is exactly fair under the model.
- :class:`HiddenCauses`: the target given the hidden causes that the row tells about,
  :math:`f(x) = E[y \mid E[u \mid x]]`, for discrete ones :math:`\sum_u P(u \mid x) P(y \mid u)`.
  Invariant in linear Gaussian networks; in discrete ones it must be audited.

References
----------
M. Kusner, J. Loftus, C. Russell, R. Silva (2017). Counterfactual fairness. NeurIPS.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.causal.assumed import GAUSSIAN, IN_NETWORK, INDEPENDENT
from consilience.causal.twins import STAR, copied_nodes, twin
from consilience.causal.what_if import widened
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import InputError, ModelError
from consilience.network.network import Network

__all__ = [
    "FairPredictor",
    "HiddenCauses",
    "NonDescendants",
    "Residuals",
    "fair_predictor",
    "only_columns",
]


@dataclass(frozen=True, slots=True)
class NonDescendants:
    """Use what the protected attribute does not cause."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """Average the predictions over the worlds of the attribute; the features that it causes are
    continuous and keep their residuals.
    """


@dataclass(frozen=True, slots=True)
class HiddenCauses:
    """Use the hidden causes that the row tells about: the nodes that the rows do not record."""


Way: TypeAlias = NonDescendants | Residuals | HiddenCauses


@dataclass(frozen=True, slots=True)
class FairPredictor:
    """A function of a table: probabilities of the target's states, shape (rows, states), or the
    mean of a continuous target for each row.
    """

    net: Network
    target: str
    protected: str
    by: Way

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the prediction may depend on."""
        names = frozenset(self.net.variables) - {self.target, self.net.source}
        if isinstance(self.by, NonDescendants):
            return names - self.net.dag.descendants(self.protected) - {self.protected}
        return names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the predictor to be fair."""
        if isinstance(self.by, NonDescendants):
            return (IN_NETWORK,)
        return (IN_NETWORK, INDEPENDENT, GAUSSIAN)

    def __call__(self, table: Table) -> Floats:
        """The predictions for the rows of a table."""
        if isinstance(self.by, NonDescendants):
            return _predicted(self.net, only_columns(table, self.columns, self.net), self.target)
        if isinstance(self.by, Residuals):
            return _over_worlds(self, table)
        return _from_causes(self, table)


def fair_predictor(
    net: Network, target: str, protected: str, *, by: Way | None = None
) -> FairPredictor:
    """A predictor of the target that the protected attribute does not move, under this network.

    Judge it with :func:`fairness` under other networks too: fair in one model may be unfair in
    another.
    """
    _check.known("node", [target, protected], net.variables)
    if target == protected:
        raise InputError("the target is not the protected attribute.", parameter="target")
    return FairPredictor(net, target, protected, NonDescendants() if by is None else by)


def only_columns(table: Table, kept: Collection[str], net: Network) -> Table:
    """The rows with some columns, and the other nodes of the network as never recorded."""
    columns, variables = {}, {}
    for name, variable in net.variables.items():
        if name == net.source:
            continue
        is_known = name in kept and name in table.variables
        variables[name] = table.variables[name] if is_known else variable
        columns[name] = table.column(name) if is_known else _nothing(variable, table.n_rows)
    return replace(table, schema=Schema(variables, table.schema.source), columns=columns)


def _nothing(variable: Variable, n_rows: int) -> Any:
    if variable.is_continuous:
        return np.full(n_rows, np.nan)
    return np.full(n_rows, -1, code_type(variable.n_states))


def _predicted(net: Network, table: Table, target: str) -> Floats:
    found = net.posteriors(table, target)
    return found[:, 0] if net.variables[target].is_continuous else found


def _over_worlds(fair: FairPredictor, table: Table) -> Floats:
    """The predictions in every world of the attribute, weighted by its probabilities."""
    net, name = fair.net, fair.protected
    variable = net.variables[name]
    belief: Any = net.query(name)
    if variable.is_continuous:
        worlds: list[tuple[Any, float]] = [(float(belief.mean), 1.0)]
    else:
        shares = belief.values
        worlds = [(s, float(p)) for s, p in zip(variable.discrete_states, shares, strict=True)]
    total: Any = 0.0
    for state, share in worlds:
        total = total + share * _in_world(fair, table, state)
    return np.asarray(total)


def _in_world(fair: FairPredictor, table: Table, state: Any) -> Floats:
    """The predictions with the attribute set and the features as they would have been."""
    net, name = fair.net, fair.protected
    known = only_columns(table, frozenset(table.variables) - {fair.target}, net)
    follows = copied_nodes(net, {name: state}) - {name, fair.target}
    changed = [one for one in net.variables if one in follows and one in table.variables]
    columns = dict(known.columns)
    columns[name] = _constant(net.variables[name], state, table.n_rows)
    for one in changed:
        if not net.variables[one].is_continuous:
            raise ModelError(
                f"Residuals() is for continuous features; {name!r} causes {one!r}, which is "
                "discrete and has no residual. Use NonDescendants() or HiddenCauses().",
                variable=one,
            )
    if changed:
        both = twin(_without_target(net, fair.target), do={name: state})
        wide = widened(only_columns(table, frozenset(table.variables), both), both)
        columns |= {one: both.posteriors(wide, one + STAR)[:, 0] for one in changed}
    return _predicted(net, replace(known, columns=columns), fair.target)


def _without_target(net: Network, target: str) -> Network:
    """The network without the target, which is asked for and never given; its children stay only
    if it has none.
    """
    if net.dag.children(target):
        return net
    kept = [local for name, local in net.distributions.items() if name != target]
    return Network.of(kept, source=net.source)


def _constant(variable: Variable, state: Any, n_rows: int) -> Any:
    if variable.is_continuous:
        return np.full(n_rows, float(state))
    return np.full(n_rows, variable.code(state), code_type(variable.n_states))


def _from_causes(fair: FairPredictor, table: Table) -> Floats:
    """The target given the hidden causes alone."""
    net = fair.net
    hidden = [
        n for n in net.variables if n not in table.variables and n not in (fair.target, net.source)
    ]
    if not hidden:
        raise ModelError(
            "HiddenCauses() needs a node of the network that the rows do not record; they record "
            "all. Fit with hidden={...}.",
            variable=fair.target,
        )
    known = only_columns(table, frozenset(table.variables) - {fair.target}, net)
    discrete = [name for name in hidden if not net.variables[name].is_continuous]
    if len(discrete) > 1 or (discrete and len(hidden) > 1):
        raise ModelError(
            f"HiddenCauses() takes one discrete hidden cause or continuous ones, got "
            f"{_check.listed(hidden)}.",
            nodes=tuple(hidden),
        )
    if discrete:
        belief = net.posteriors(known, discrete[0])
        given = [{discrete[0]: state} for state in net.variables[discrete[0]].discrete_states]
        answers = np.array([_answer_given(net, fair.target, one) for one in given])
        return belief @ answers
    columns = {
        **only_columns(table, (), net).columns,
        **{name: net.posteriors(known, name)[:, 0] for name in hidden},
    }
    return _predicted(net, replace(known, columns=columns), fair.target)


def _answer_given(net: Network, target: str, given: dict[str, Any]) -> Any:
    belief: Any = net.query(target, given=given)
    return belief.mean if net.variables[target].is_continuous else belief.values
