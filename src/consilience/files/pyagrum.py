"""Networks to pyAgrum and back (extra ``pyagrum``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience import _check
from consilience.data.variable import Variable
from consilience.distributions import Categorical
from consilience.errors import ModelError
from consilience.network.network import Network

__all__ = ["from_pyagrum", "to_pyagrum"]

SOURCE = "source"


def to_pyagrum(net: Network) -> Any:
    """A ``pyagrum.BayesNet`` with the same nodes, states and tables.

    The source is kept as the property ``source``. Posteriors, the record, cut points and whether
    states are ordered are left out.

    Raises
    ------
    ModelError
        If a node is continuous or has a continuous parent, which a ``BayesNet`` cannot express.
    """
    gum = _check.extra("pyagrum", "pyagrum", "to_pyagrum")
    for name in net.distributions:
        if name not in net.tables:
            what = "is" if net.variables[name].is_continuous else "has a parent that is"
            raise ModelError(
                f"to_pyagrum: node {name!r} {what} continuous; a BayesNet of pyAgrum has tables "
                "only. Discretise the rows and fit the network to them.",
                variable=name,
            )
    found = gum.BayesNet()
    for name, variable in net.variables.items():
        found.add(gum.LabelizedVariable(name, name, list(variable.discrete_states)))
    for name, local in net.tables.items():
        for parent in reversed(local.parents):  # the axes of a table are the arcs, turned round
            found.addArc(parent, name)
        found.cpt(name).fillWith(local.table.ravel().tolist())
    if net.source is not None:
        found.setProperty(SOURCE, net.source)
    return found


def from_pyagrum(model: Any, *, source: str | None = None) -> Network:
    """The network of a ``pyagrum.BayesNet``.

    Parameters
    ----------
    model
        Any ``BayesNet``; what its variables call labels are the states.
    source
        The node that says where a row comes from; the property ``source`` if not given.
    """
    _check.extra("pyagrum", "pyagrum", "from_pyagrum")
    variables = {
        name: Variable(name, tuple(model.variable(name).labels()))
        for name in sorted(model.names(), key=model.idFromName)
    }
    named = source if source is not None else model.propertyWithDefault(SOURCE, "") or None
    if named is not None:
        _check.known("node", [named], variables)
    return Network.of([_table(model, name, variables) for name in variables], source=named)


def _table(model: Any, name: str, variables: dict[str, Variable]) -> Categorical:
    cpt = model.cpt(name)
    axes = list(reversed(cpt.names))
    parents = [axis for axis in axes if axis != name]
    table = np.moveaxis(cpt.toarray(), axes.index(name), -1)
    sums = table.sum(axis=-1, keepdims=True)
    return Categorical(variables[name], tuple(variables[one] for one in parents), table / sums)
