"""Networks to pgmpy and back (extra ``pgmpy``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience import _check
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.errors import InputError, ModelError
from consilience.network.network import Network

__all__ = ["from_pgmpy", "to_pgmpy"]

SOURCE = "source"


def to_pgmpy(net: Network) -> Any:
    """A ``DiscreteBayesianNetwork``, or a ``LinearGaussianBayesianNetwork`` if all is continuous.

    The source is kept in the attribute ``graph["source"]``. Posteriors, the record, cut points and
    whether states are ordered are left out.

    Raises
    ------
    ModelError
        If the network has discrete and continuous nodes, which pgmpy cannot express.
    """
    models = _check.extra("pgmpy.models", "pgmpy", "to_pgmpy")
    if not net.is_discrete and net.tables:
        raise ModelError(
            "to_pgmpy: the network has discrete and continuous nodes, such as "
            f"{next(iter(net.tables))!r} and {next(iter(net.regressions), '')!r}; a network of "
            "pgmpy is all discrete or all linear Gaussian."
        )
    kind = "DiscreteBayesianNetwork" if net.is_discrete else "LinearGaussianBayesianNetwork"
    found = getattr(models, kind)()
    found.add_nodes_from(net.dag.nodes)
    found.add_edges_from(net.dag.arcs)
    found.add_cpds(*(_cpd(local) for local in net.distributions.values()))
    if net.source is not None:
        found.graph[SOURCE] = net.source
    return found


def from_pgmpy(model: Any, *, source: str | None = None) -> Network:
    """The network of a pgmpy model, discrete or linear Gaussian.

    Parameters
    ----------
    model
        A model with a conditional distribution for every node.
    source
        The node that says where a row comes from; ``model.graph["source"]`` if not given.

    Raises
    ------
    InputError
        If a node has no distribution, or one of another kind.
    """
    _check.extra("pgmpy", "pgmpy", "from_pgmpy")
    cpds = {name: model.get_cpds(name) for name in model.nodes()}
    for name, cpd in cpds.items():
        if not (hasattr(cpd, "get_values") or hasattr(cpd, "beta")):
            raise InputError(
                f"from_pgmpy: node {name!r} needs a TabularCPD or a LinearGaussianCPD, found "
                f"{type(cpd).__name__}.",
                node=name,
            )
    variables = {name: Variable(name, _states(name, cpd)) for name, cpd in cpds.items()}
    named = source if source is not None else model.graph.get(SOURCE)
    if named is not None:
        _check.known("node", [named], variables)
    return Network.of([_local(cpd, name, variables) for name, cpd in cpds.items()], source=named)


def _cpd(local: Distribution) -> Any:
    if isinstance(local, LinearGaussian):
        beta = [float(local.intercept), *local.coefficients.tolist()]
        kind = _check.extra("pgmpy.factors.continuous", "pgmpy", "to_pgmpy").LinearGaussianCPD
        return kind(local.child.name, beta, float(local.sd), list(local.parents))
    kind = _check.extra("pgmpy.factors.discrete", "pgmpy", "to_pgmpy").TabularCPD
    variables = (local.child, *local.given)
    return kind(
        local.child.name,
        local.child.n_states,
        local.parameters.reshape(-1, local.child.n_states).T,
        evidence=list(local.parents) or None,
        evidence_card=[parent.n_states for parent in local.given] or None,
        state_names={one.name: list(one.discrete_states) for one in variables},
    )


def _states(name: str, cpd: Any) -> tuple[str, ...] | None:
    return tuple(map(str, cpd.state_names[name])) if hasattr(cpd, "get_values") else None


def _local(cpd: Any, name: str, variables: dict[str, Variable]) -> Distribution:
    child = variables[name]
    if child.is_continuous:
        beta, given = np.asarray(cpd.beta, float), tuple(variables[p] for p in cpd.evidence)
        return LinearGaussian(child, given, beta[0], beta[1:], np.asarray(cpd.std, float))
    axes = list(cpd.variables)
    table = np.moveaxis(np.asarray(cpd.values, float), axes.index(name), -1)
    given = tuple(variables[axis] for axis in axes if axis != name)
    return Categorical(child, given, table / table.sum(axis=-1, keepdims=True))
