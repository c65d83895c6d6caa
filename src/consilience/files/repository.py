"""Linear Gaussian networks of the Bayesian network repository, as JSON.

::

    {"nodes": ["a", "b"], "arcs": [["a", "b"]],
     "cpds": {"a": {"parents": [], "coefficients": {"(Intercept)": [0.5]}, "variance": [2.0]},
              "b": {"parents": ["a"], "coefficients": {"(Intercept)": [1.0], "a": [0.25]},
                    "variance": [0.09]}}}

All nodes are continuous. Each number stands in a list of its own.
"""

from __future__ import annotations

import numpy as np

from consilience.data.variable import Variable
from consilience.distributions import LinearGaussian
from consilience.files.draft import assemble
from consilience.files.objects import Content
from consilience.network.network import Network

__all__ = ["is_gaussian", "parse_gaussian"]

INTERCEPT = "(Intercept)"


def is_gaussian(root: Content) -> bool:
    """Whether a JSON object is such a network."""
    return "format" not in root.fields and {"nodes", "cpds"} <= set(root.fields)


def parse_gaussian(root: Content) -> Network:
    """The network of a JSON object."""
    names = root.texts("nodes")
    if not names or len(set(names)) < len(names):
        raise root.fault("'nodes' must be names, at least one of them and each once")
    variables = {name: Variable(name) for name in names}
    cpds = root.inner("cpds")
    if unknown := [name for name in cpds.fields if name not in variables]:
        raise root.fault(f"{unknown[0]!r} in 'cpds' is not one of the nodes")
    locals_ = [
        _regression(
            Content(cpds.take(name, dict), root.file, f"node {name!r}"), variables[name], variables
        )
        for name in names
    ]
    return assemble(root.file, variables, [], others=locals_)


def _regression(node: Content, child: Variable, variables: dict[str, Variable]) -> LinearGaussian:
    parents = node.texts("parents")
    if unknown := [name for name in parents if name not in variables]:
        raise node.fault(f"the parent {unknown[0]!r} is not one of the nodes")
    found = node.inner("coefficients")
    if set(found.fields) != {INTERCEPT, *parents}:
        raise node.fault(f"'coefficients' must be those of {INTERCEPT!r} and of every parent")
    numbers = {name: float(found.array(name, (1,))[0]) for name in found.fields}
    variance = node.array("variance", (1,))[0]
    if variance < 0:
        raise node.fault(f"'variance' must be zero or more, found {variance:g}")
    return LinearGaussian(
        child,
        tuple(variables[name] for name in parents),
        np.array(numbers[INTERCEPT]),
        np.array([numbers[name] for name in parents]),
        np.sqrt(variance),
    )
