r"""Networks in time from, and to, the matrices of well-known models.

Vector autoregressions: with :math:`B_0` the arcs inside the slice, :math:`B_l` those of lag l and
:math:`D` the variances,

.. math:: A_l = (I - B_0)^{-1} B_l, \qquad \Sigma = (I - B_0)^{-1} D (I - B_0)^{-\top},

and back by the factor of :math:`\Sigma` in the order of the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.graphs_in_time import vector_autoregression
from consilience.dynamic.lagged_names import at, lagged, split_lag
from consilience.dynamic.stationary_law import is_stable, stationary_initial
from consilience.dynamic.var_matrices import VAR, matrices_of
from consilience.errors import InputError, ModelError
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = ["HMM", "array_of", "factor_of", "from_hmm", "from_var", "to_hmm", "to_var"]

SYMMETRY = 1e-10
NO_NOISE = 1e-14
"""Share of its variance that counts as no noise of its own."""


class HMM(NamedTuple):
    """The tables of a hidden Markov model: (states,), (states, states), (states, symbols)."""

    start: Floats
    transition: Floats
    emission: Floats


def from_var(
    names: Sequence[str],
    intercept: Any,
    coefficients: Sequence[Any],
    covariance: Any,
) -> DynamicNetwork:
    """The network of a vector autoregression.

    The first slices have the stationary law, if there is one; otherwise their values are given.

    Examples
    --------
    >>> net = from_var(["a", "b"], [1.0, 0.0], [[[0.5, 0.0], [0.2, 0.3]]], [[1.0, 0.5], [0.5, 2.0]])
    >>> net["b"].parents, net["b"].coefficients.round(12).tolist()
    (('a(t-1)', 'b(t-1)', 'a'), [-0.05, 0.3, 0.5])
    """
    graph = vector_autoregression(names, max(len(coefficients), 1))
    n, order = len(names), len(coefficients)
    lags = array_of("coefficients", coefficients, (order, n, n))
    constant = array_of("intercept", intercept, (n,))
    noise = array_of("covariance", covariance, (n, n))
    unit, variances = factor_of(noise)
    inverse = np.linalg.inv(unit)  # I - B0
    rows = [constant, *lags]
    within = np.eye(n) - inverse
    transition: list[Distribution] = []
    for i, name in enumerate(names):
        given = tuple(Variable(parent) for parent in graph.parents(name))
        slopes = [inverse[i] @ lag for lag in rows[1:]]
        coefficient = np.concatenate([*slopes, within[i, :i]])
        transition.append(
            LinearGaussian(
                Variable(name),
                given,
                np.asarray(inverse[i] @ constant),
                coefficient,
                np.sqrt(variances[i]),
            )
        )
    return _with_start(names, transition, order)


def _with_start(
    names: Sequence[str], transition: Sequence[Distribution], order: int
) -> DynamicNetwork:
    conditional = tuple(at(name, k) for k in range(order) for name in names)
    given = DynamicNetwork(
        None,  # type: ignore[arg-type]
        transition,  # type: ignore[arg-type]
        conditional=conditional,
        record=Record(
            "from_var", notes=("There is no stationary law: the first values are given.",)
        ),
    )
    if not is_stable(given):
        return given
    return DynamicNetwork(
        stationary_initial(given),
        transition,  # type: ignore[arg-type]
        record=Record("from_var", notes=("The first slices have the stationary law.",)),
    )


def to_var(net: DynamicNetwork) -> VAR:
    """The matrices of a network of continuous nodes without hidden ones, sources or inputs.

    Raises
    ------
    ModelError
        If a node is discrete or hidden, or the network has inputs or a source.
    """
    for name, local in net.transition.items():
        if not isinstance(local, LinearGaussian) or local.discrete or name in net.hidden:
            raise ModelError(
                f"to_var: {name!r} is hidden, discrete, or has a discrete parent; a vector "
                "autoregression has recorded continuous nodes only.",
                variable=name,
            )
    if net.inputs:
        raise ModelError(f"to_var: the network has the input {net.inputs[0]!r}.")
    return matrices_of(dict(net.transition), net.order)  # type: ignore[arg-type]


def from_hmm(
    start: Any, transition: Any, emission: Any, *, name: str = "z", observed: str = "x"
) -> DynamicNetwork:
    """The network of a hidden Markov model with one hidden chain and one observed node.

    States are named 1, 2, ..., and so are symbols.

    Examples
    --------
    >>> net = from_hmm([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.0, 1.0]])
    >>> net["z"].parents, to_hmm(net).transition.tolist()
    (('z(t-1)',), [[0.9, 0.1], [0.2, 0.8]])
    """
    first = np.asarray(start, float)
    if first.ndim != 1 or not first.size:
        raise InputError("from_hmm: start must have a probability for each state.")
    k = len(first)
    moves = array_of("transition", transition, (k, k))
    shown = np.asarray(emission, float)
    if shown.ndim != 2 or len(shown) != k:
        raise InputError(
            f"from_hmm: emission must have shape ({k}, symbols), got {shown.shape}.",
            parameter="emission",
        )
    states = tuple(str(i + 1) for i in range(k))
    symbols = tuple(str(i + 1) for i in range(shown.shape[1]))
    chain, before = Variable(name, states), Variable(lagged(name, 1), states)
    initial = Network.of([Categorical(Variable(at(name, 0), states), (), first)])
    return DynamicNetwork(
        initial,
        [  # type: ignore[arg-type]
            Categorical(chain, (before,), moves),
            Categorical(Variable(observed, symbols), (chain,), shown),
        ],
        hidden=(name,),
        record=Record("from_hmm"),
    )


def to_hmm(net: DynamicNetwork) -> HMM:
    """The three tables of a network of discrete nodes whose hidden chains have order one.

    Several hidden nodes become one chain over their joint states, several observed nodes one symbol
    for each of their joint states; the last varies fastest. Recorded nodes may depend on hidden
    ones and on recorded ones of the same slice only.

    Raises
    ------
    ModelError
        If the network is not of this form.
    """
    observed = [name for name in net.transition if name not in net.hidden]
    _refuse_other_hmm(net, observed)
    shape = [net.variables[name].n_states for name in net.hidden]
    symbols = [net.variables[name].n_states for name in observed]
    hidden = list(product(*map(range, shape)))
    shown = list(product(*map(range, symbols)))
    _check.memory(
        "the tables of the flattened chains",
        8.0 * len(hidden) * (len(hidden) + len(shown)),
        2**31,
        "Use fewer chains or states.",
    )
    names = list(net.hidden)
    first = np.array([_joint(net, names, z, {}, t=0) for z in hidden])
    named = [dict(zip(names, z, strict=True)) for z in hidden]
    moves = np.array([[_joint(net, names, z, before, t=1) for z in hidden] for before in named])
    emission = np.array([[_emitted(net, observed, x, z) for x in shown] for z in named])
    return HMM(first, moves, emission)


def _refuse_other_hmm(net: DynamicNetwork, observed: Sequence[str]) -> None:
    if not net.hidden:
        raise ModelError("to_hmm: the network has no hidden node.")
    if net.inputs or net.source is not None:
        raise ModelError("to_hmm: the network has inputs or a source, which the tables cannot say.")
    for name, local in net.transition.items():
        allowed = {
            *(lagged(hidden, lag) for hidden in net.hidden for lag in (0, 1)),
            *(() if name in net.hidden else observed),
        }
        wrong = [parent for parent in local.parents if parent not in allowed]
        if name not in net.hidden:
            wrong += [parent for parent in local.parents if split_lag(parent)[1]]
        if not isinstance(local, Categorical) or wrong:
            what = f"has the parent {wrong[0]!r}" if wrong else "is no table"
            raise ModelError(
                f"to_hmm: {name!r} {what}; hidden nodes depend on hidden ones of this slice and "
                "the last, recorded ones on nodes of this slice.",
                variable=name,
            )


def _joint(
    net: DynamicNetwork,
    names: Sequence[str],
    states: Sequence[int],
    before: dict[str, int],
    *,
    t: int,
) -> float:
    """Probability of joint hidden states, in the first slice or given those before."""
    now = dict(zip(names, states, strict=True))
    found = 1.0
    for name in names:
        local = net.transition[name] if t else net.initial[at(name, 0)]
        assert isinstance(local, Categorical)
        key = []
        for parent in local.parents:
            if t:
                base, lag = split_lag(parent)
                key.append(before[base] if lag else now[base])
            else:
                key.append(now[parent.removesuffix("(0)")])
        found *= float(local.table[(*key, now[name])])
    return found


def _emitted(
    net: DynamicNetwork, names: Sequence[str], symbols: Sequence[int], states: dict[str, int]
) -> float:
    now = {**states, **dict(zip(names, symbols, strict=True))}
    found = 1.0
    for name in names:
        local = net.transition[name]
        assert isinstance(local, Categorical)
        found *= float(local.table[(*(now[parent] for parent in local.parents), now[name])])
    return found


def array_of(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """The values as numbers of this shape; other ones are refused by name."""
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    is_shaped = array.shape == shape
    if not is_shaped or not np.isfinite(array).all():
        got = "some that are not" if is_shaped else f"shape {np.shape(values)}"
        raise InputError(
            f"{name} must be finite numbers of shape {shape}, got {got}.", parameter=name
        )
    return array


def factor_of(covariance: Floats, name: str = "covariance") -> tuple[Floats, Floats]:
    """A unit lower triangle U and variances d with U diag(d) U' the covariance, which may be
    singular: a variable without noise of its own has no part in later ones.
    """
    size = float(np.abs(covariance).max(initial=0.0))
    if np.abs(covariance - covariance.T).max(initial=0.0) > SYMMETRY * size:
        raise InputError(f"{name} must be symmetric.", parameter=name)
    n = len(covariance)
    unit, variances = np.eye(n), np.zeros(n)
    rest = covariance.copy()
    for i in range(n):
        variances[i] = max(float(rest[i, i]), 0.0)
        has_none = variances[i] <= NO_NOISE * covariance[i, i]
        # Of a variable without noise, no other one may have a covariance left with it.
        others = np.sqrt(NO_NOISE * np.maximum(np.diag(covariance)[i + 1 :], 0.0) * size)
        is_broken = has_none and bool((np.abs(rest[i + 1 :, i]) > 10 * others).any())
        if rest[i, i] < -SYMMETRY * size or is_broken:
            raise InputError(f"{name} must have no negative eigenvalue.", parameter=name)
        if has_none:
            variances[i] = 0.0
            continue
        unit[i + 1 :, i] = rest[i + 1 :, i] / variances[i]
        rest[i + 1 :, i + 1 :] -= np.outer(unit[i + 1 :, i], rest[i, i + 1 :])
    return unit, variances
