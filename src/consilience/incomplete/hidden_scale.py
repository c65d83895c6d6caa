r"""The zero, the unit and the sign of hidden continuous nodes, which no row tells.

With :math:`h' = (h - a) / s` in place of a hidden node :math:`h`, its own regression divided by
:math:`s`, and :math:`\beta_h s` and :math:`\beta_0 + \beta_h a` in those of its children, a network
gives every row the same density. The rule here: a hidden node has the intercept 0 and the sd 1 (a
root: mean 0, sd 1), in the first joint state of its discrete parents if it has any, and its first
recorded child, in the order of the graph, rises with it in its own first joint state.

Steps of EM estimate zero and unit freely and are brought back by this rule, which converges faster
than holding them (Liu, Rubin, Wu 1998: parameter expansion).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from consilience import _check
from consilience.distributions import LinearGaussian
from consilience.network.network import Network

__all__ = ["note_on_scale", "standardized", "standardized_network"]


def standardized(
    regressions: Mapping[str, LinearGaussian], hidden: Sequence[str]
) -> dict[str, LinearGaussian]:
    """The regressions with hidden continuous nodes, parents first, brought to their rule."""
    found = dict(regressions)
    for name in hidden:
        children = [n for n, local in found.items() if name in local.parents]
        first = next((n for n in children if n not in hidden), next(iter(children), None))
        own = found[name]
        zero, unit = float(own.intercept.ravel()[0]), float(own.sd.ravel()[0])
        if first is not None and _slope(found[first], name) < 0:
            unit = -unit
        found[name] = LinearGaussian(
            own.child,
            own.given,
            (own.intercept - zero) / unit,
            own.coefficients / unit,
            own.sd / abs(unit),
        )
        for child in children:
            found[child] = _moved(found[child], name, zero, unit)
    return found


def standardized_network(net: Network, hidden: Sequence[str]) -> Network:
    """The network with its hidden continuous nodes brought to their rule."""
    if not hidden:
        return net
    order = [name for name in net.dag.topological_order() if name in hidden]
    changed = standardized(net.regressions, order)
    return replace(net, distributions={**net.distributions, **changed})


def note_on_scale(hidden: Sequence[str]) -> list[str]:
    """What the numbers of hidden continuous nodes mean, if there are any."""
    if not hidden:
        return []
    return [
        f"Hidden and continuous: {_check.listed(hidden)}. No row tells their zero, unit and sign: "
        "the intercept is 0 and the sd 1 (given the first states of discrete parents), and the "
        "first recorded child rises with them. Variances of their families are over n."
    ]


def _slope(local: LinearGaussian, name: str) -> float:
    at = [v.name for v in local.continuous].index(name)
    return float(local.coefficients.reshape(local.intercept.size, -1)[0, at])


def _moved(local: LinearGaussian, name: str, zero: float, unit: float) -> LinearGaussian:
    at = [v.name for v in local.continuous].index(name)
    slopes = np.array(local.coefficients)
    intercept = local.intercept + slopes[..., at] * zero
    slopes[..., at] *= unit
    return LinearGaussian(local.child, local.given, intercept, slopes, local.sd)
