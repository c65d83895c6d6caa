r"""Networks in time from, and to, the matrices of linear Gaussian state space models.

.. math:: z(t) = A z(t-1) + B u(t) + w, \quad w \sim N(0, Q), \qquad
    x(t) = C z(t) + D u(t) + v, \quad v \sim N(0, R), \qquad z(0) \sim N(m_0, P_0) .

Inputs act on the hidden layer from slice 1 on, on the observed one from slice 0 on. Noise that is
not diagonal becomes arcs inside the slice: with :math:`Q = U \mathrm{diag}(d) U^\top` and
:math:`U` a unit lower triangle, node i has the coefficients of row i of :math:`U^{-1} A` and of
:math:`I - U^{-1}`, and the variance :math:`d_i`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions import Distribution, LinearGaussian
from consilience.dynamic.conversions import array_of, factor_of
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.lagged_names import at, lagged, split_lag
from consilience.errors import InputError, ModelError
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = ["StateSpace", "from_state_space", "to_state_space"]


class StateSpace(NamedTuple):
    """The matrices of a linear Gaussian state space model; constants and inputs may be zero.

    ``hidden``, ``observed`` and ``inputs`` name the coordinates of z, x and u.
    """

    A: Floats
    C: Floats
    process: Floats
    noise: Floats
    B: Floats
    D: Floats
    mean: Floats
    covariance: Floats
    hidden_intercept: Floats
    observed_intercept: Floats
    hidden: tuple[str, ...]
    observed: tuple[str, ...]
    inputs: tuple[str, ...]


def from_state_space(
    A: Any,
    C: Any,
    process: Any,
    noise: Any,
    *,
    B: Any = None,
    D: Any = None,
    mean: Any,
    covariance: Any,
) -> DynamicNetwork:
    """The network of a state space model with hidden nodes ``z1 ..``, observed ``x1 ..`` and inputs
    ``u1 ..``; ``mean`` and ``covariance`` are those of z(0).

    Coefficients that are zero are no arcs, but for a hidden node's own last value.

    Examples
    --------
    >>> net = from_state_space([[0.5]], [[2.0]], [[1.0]], [[4.0]], mean=[0.0], covariance=[[9.0]])
    >>> net["x1"].coefficients.tolist(), net["x1"].sd.item(), net.initial["z1(0)"].sd.item()
    ([2.0], 2.0, 3.0)
    >>> to_state_space(net).process.tolist()
    [[1.0]]
    """
    n, k = len(np.atleast_1d(A)), len(np.atleast_1d(C))
    moves, shows = array_of("A", A, (n, n)), array_of("C", C, (k, n))
    m = _n_inputs(B, D)
    on_hidden = np.zeros((n, m)) if B is None else array_of("B", B, (n, m))
    on_shown = np.zeros((k, m)) if D is None else array_of("D", D, (k, m))
    first_mean, first = array_of("mean", mean, (n,)), array_of("covariance", covariance, (n, n))
    z, x, u = (_numbered("z", n), _numbered("x", k), _numbered("u", m))
    past = [lagged(name, 1) for name in z]
    return DynamicNetwork(
        Network.of(
            _layer([at(name, 0) for name in z], first_mean, [], [], noise=("covariance", first))
        ),
        [  # type: ignore[arg-type]
            *_layer(
                z,
                np.zeros(n),
                [*past, *u],
                np.hstack([moves, on_hidden]),
                noise=("process", array_of("process", process, (n, n))),
                keep=past,
            ),
            *_layer(
                x,
                np.zeros(k),
                [*z, *u],
                np.hstack([shows, on_shown]),
                noise=("noise", array_of("noise", noise, (k, k))),
            ),
        ],
        hidden=tuple(z),
        inputs=tuple(u),
        record=Record("from_state_space"),
    )


def to_state_space(net: DynamicNetwork) -> StateSpace:
    """The matrices of a network of continuous nodes, hidden ones of order 1 and observed ones that
    depend on nodes of their own slice.

    Raises
    ------
    ModelError
        If a node is discrete or has another parent, or if nothing is hidden.
    """
    if not net.hidden:
        raise ModelError("to_state_space: the network has no hidden nodes; see to_var.")
    hidden = tuple(name for name in net.transition if name in net.hidden)
    observed = tuple(name for name in net.transition if name not in net.hidden)
    _check_families(net, hidden)
    z = _matrices(net, hidden, [*(lagged(name, 1) for name in hidden), *net.inputs])
    x = _matrices(net, observed, [*hidden, *net.inputs])
    n = len(hidden)
    early = {name: net.initial[at(name, 0)] for name in hidden}
    start = _solved([at(name, 0) for name in hidden], list(early.values()), [])
    return StateSpace(
        z.slopes[:, :n],
        x.slopes[:, :n],
        z.covariance,
        x.covariance,
        z.slopes[:, n:],
        x.slopes[:, n:],
        start.intercept,
        start.covariance,
        z.intercept,
        x.intercept,
        hidden,
        observed,
        net.inputs,
    )


def _n_inputs(B: Any, D: Any) -> int:
    """How many inputs the matrices have, which must say the same."""
    widths = {}
    for name, matrix in (("B", B), ("D", D)):
        if matrix is not None and np.ndim(matrix) != 2:
            raise InputError(
                f"{name} must have one row for each node and one column for each input, got shape "
                f"{np.shape(matrix)}.",
                parameter=name,
            )
        if matrix is not None:
            widths[name] = int(np.shape(matrix)[1])
    if len(set(widths.values())) > 1:
        raise InputError(
            f"B has {widths['B']} inputs and D has {widths['D']}; give an input that does not act "
            "a column of zeros.",
            parameter="D",
        )
    return max(widths.values(), default=0)


def _numbered(letter: str, n: int) -> list[str]:
    return [f"{letter}{i + 1}" for i in range(n)]


class _Layer(NamedTuple):
    intercept: Floats
    slopes: Floats
    covariance: Floats


def _layer(
    names: Sequence[str],
    intercept: Floats,
    parents: Sequence[str],
    slopes: Any,
    *,
    noise: tuple[str, Floats],
    keep: Sequence[str] = (),
) -> list[Distribution]:
    """The families of nodes that depend on these parents; name and covariance of their noise."""
    unit, variances = factor_of(noise[1], noise[0])
    inverse = np.linalg.inv(unit)
    every = np.asarray(slopes, float).reshape(len(names), len(parents))
    found: list[Distribution] = []
    for i, name in enumerate(names):
        numbers = np.concatenate([inverse[i] @ every, -inverse[i, :i]])
        own = [keep[i]] if keep else []
        chosen = [
            (parent, value)
            for parent, value in zip([*parents, *names[:i]], numbers, strict=True)
            if value != 0.0 or parent in own
        ]
        found.append(
            LinearGaussian(
                Variable(name),
                tuple(Variable(parent) for parent, _ in chosen),
                np.asarray(inverse[i] @ intercept),
                np.array([value for _, value in chosen]),
                np.sqrt(variances[i]),
            )
        )
    return found


def _check_families(net: DynamicNetwork, hidden: Sequence[str]) -> None:
    for name, local in net.transition.items():
        if not isinstance(local, LinearGaussian) or local.discrete:
            raise ModelError(
                f"to_state_space: {name!r} is discrete or has a discrete parent; all nodes must be "
                "continuous.",
                variable=name,
            )
        for parent in local.parents:
            base, lag = split_lag(parent)
            is_own_layer = (base in hidden) == (name in hidden)
            is_fine = base in net.inputs and not lag
            if name in hidden:
                is_fine = is_fine or (is_own_layer and lag <= 1)
            else:
                is_fine = is_fine or (base in net.transition and not lag)
            if not is_fine:
                raise ModelError(
                    f"to_state_space: {name!r} has the parent {parent!r}; hidden nodes depend on "
                    "hidden ones of this slice and the last, observed ones on nodes of this slice.",
                    variable=name,
                )


def _matrices(net: DynamicNetwork, names: Sequence[str], parents: Sequence[str]) -> _Layer:
    return _solved(names, [net.transition[name] for name in names], parents)


def _solved(
    names: Sequence[str], families: Sequence[Distribution], parents: Sequence[str]
) -> _Layer:
    """Means and covariance of some nodes given others, arcs among themselves solved."""
    within, slopes = np.zeros((len(names), len(names))), np.zeros((len(names), len(parents)))
    constant, variances = np.zeros(len(names)), np.zeros(len(names))
    for i, local in enumerate(families):
        assert isinstance(local, LinearGaussian)
        constant[i], variances[i] = float(local.intercept), float(local.variance)
        for parent, value in zip(local.parents, local.coefficients, strict=True):
            if parent in names:
                within[i, names.index(parent)] = value
            else:
                slopes[i, parents.index(parent)] = value
    whole = np.linalg.inv(np.eye(len(names)) - within)
    return _Layer(whole @ constant, whole @ slopes, (whole * variances) @ whole.T)
