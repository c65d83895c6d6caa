r"""Models adapted at home: what all sites have in common goes out, a site's own rows stay.

A hierarchical fit (``HDMCS``, ``HDMJS``) gives each source the mean

.. math:: E[\theta_{fjx}] = \sum_m w_m \frac{N_{fjx} + s_m E[a_{jx}]}{N_{fj} + s_m}

of its own counts and a base that all share. :func:`shared_prior` takes from a fitted network the
bases :math:`E[a]`, the strengths :math:`s_m` and their weights :math:`w_m`, and no count of any
source; :func:`adapt` joins them with rows at home. The tables are those that the fit had for this
source, to the bit, and a site that never took part adapts the model in the same way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from consilience import _check, _freeze, _write
from consilience._typing import Floats
from consilience.data.door import Rows
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import ModelError
from consilience.files.native import loaded
from consilience.files.objects import Content
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.parameters.hierarchical import HierarchicalPosterior
from consilience.parameters.hierarchy import Hierarchy
from consilience.sites.message import variables_from, variables_to
from consilience.statistics.family import Family
from consilience.statistics.gather import count, engine_of
from consilience.statistics.request import Engine

__all__ = ["NodePrior", "SharedPrior", "adapt", "shared_prior"]

FORMAT = "consilience shared prior"


@dataclass(frozen=True, slots=True, eq=False)
class NodePrior:
    """What the sources share about one node.

    Parameters
    ----------
    child, parents
        The family, without the source.
    view
        How the hierarchy is laid out: "sources as groups" or "joint states".
    s, weights
        Values of the strength and their posterior probabilities.
    base
        E[a] for each value of the strength, shape (values, batches, states).
    """

    child: str
    parents: tuple[str, ...]
    view: str
    s: Floats
    weights: Floats
    base: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)


@dataclass(frozen=True, slots=True, eq=False)
class SharedPrior:
    """What all sources of a hierarchical fit share: graph, bases and strengths, no counts.

    Parameters
    ----------
    variables
        The variables.
    nodes
        What is shared about each of them.
    """

    variables: Mapping[str, Variable]
    nodes: tuple[NodePrior, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, numbers with all their digits."""
        content = {
            "format": FORMAT,
            "variables": variables_to(self.variables),
            "nodes": [
                {
                    "child": one.child,
                    "parents": list(one.parents),
                    "view": one.view,
                    "s": one.s.tolist(),
                    "weights": one.weights.tolist(),
                    "shape": list(one.base.shape),
                    "base": one.base.ravel().tolist(),
                }
                for one in self.nodes
            ],
        }
        _write.write_text(json.dumps(content, allow_nan=False) + "\n", path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SharedPrior:
        """Read what :meth:`save` wrote."""
        name = os.fspath(path)
        content = Content.of(loaded(Path(path).read_text("utf-8"), name), name, "the file")
        if content.take("format", str) != FORMAT:
            raise content.fault(f"'format' must be {FORMAT!r}")
        variables = variables_from(content, "variables")
        nodes = [
            _read_node(Content.of(one, name, "a node"), variables)
            for one in content.take("nodes", list)
        ]
        return cls(variables, tuple(nodes))


def shared_prior(net: Network) -> SharedPrior:
    """What the sources of a fitted network share.

    Parameters
    ----------
    net
        A network fitted by ``cs.HDMCS()`` or ``cs.HDMJS()`` to several sources.

    Raises
    ------
    ModelError
        If a table did not come from such a hierarchy.
    """
    nodes = []
    for name in net.dag.nodes:
        if name == net.source:
            continue
        posterior, parents = net[name].posterior, net[name].parents
        if (
            not isinstance(posterior, HierarchicalPosterior)
            or posterior.view not in SHARED
            or parents[:1] != (net.source,)
        ):
            raise ModelError(
                f"the table of {name!r} shares no base between sources. Fit several sources with "
                "cs.HDMCS() or cs.HDMJS().",
                node=name,
            )
        found = posterior.hierarchy
        nodes.append(
            NodePrior(name, parents[1:], posterior.view, found.s, found.weights, found.base)
        )
    variables = {n: v for n, v in net.variables.items() if n != net.source}
    return SharedPrior(variables, tuple(nodes))


SHARED = ("sources as groups", "joint states")


def adapt(prior: SharedPrior, rows: Rows | Engine) -> Network:
    """The network for the source whose rows these are.

    Parameters
    ----------
    prior
        What the sources share.
    rows
        The rows at home, which do not leave; the columns must have the prior's states.

    Examples
    --------
    >>> import consilience as cs
    >>> tables = {"rome": {"x": list("aab")}, "oslo": {"x": list("abb")}}
    >>> net = cs.fit(cs.DAG(nodes=["x"]), cs.read(tables), cs.HDMCS(s=2.0))
    >>> home = adapt(shared_prior(net), cs.read(tables["rome"]))
    >>> bool((home["x"].table == net["x"].table[0]).all())
    True
    """
    engine = engine_of(rows)
    for name, variable in prior.variables.items():
        _check.known("variable", [name], engine.schema.variables)
        if engine.schema[name].states != variable.states:
            raise ModelError(
                f"{name!r} has the states {_check.listed(engine.schema[name].states or ())} here "
                f"and {_check.listed(variable.states or ())} in the model. Read the rows with "
                "states=.",
                variable=name,
            )
    families = [Family(one.child, one.parents) for one in prior.nodes]
    tables = [
        _adapted(one, prior.variables, counts.to_dense().table[0] / counts.scale)
        for one, counts in zip(prior.nodes, count(engine, families), strict=True)
    ]
    return Network.of(tables, source=None, record=Record(method="adapted to rows at home"))


def _adapted(one: NodePrior, variables: Mapping[str, Variable], counts: Floats) -> Categorical:
    """The table of one node from a base and counts of shape (parent states, states)."""
    given = tuple(variables[name] for name in one.parents)
    is_joint = one.view == "joint states"
    grouped = counts.reshape(1, 1, -1) if is_joint else counts[:, None, :]
    hierarchy = Hierarchy(
        grouped,
        float(one.weights @ one.s),
        np.ones(grouped.shape[-1]),
        one.s,
        one.weights,
        one.base,
        0.0,
        (True,) * len(grouped),
    )
    shape = (1, *(each.n_states for each in (*given, variables[one.child])))
    table = HierarchicalPosterior(one.view, hierarchy, shape).mean()[0]
    return Categorical(variables[one.child], given, _freeze.read_only(np.ascontiguousarray(table)))


def _read_node(content: Content, variables: Mapping[str, Variable]) -> NodePrior:
    child, parents = content.take("child", str), tuple(content.texts("parents"))
    for name in (child, *parents):
        if name not in variables:
            raise content.fault(f"the variable {name!r} is not declared")
    view = content.take("view", str)
    if view not in SHARED:
        raise content.fault(f"'view' must be one of {_check.listed(SHARED)}")
    s, weights = content.floats("s"), content.floats("weights")
    shape = _shape(view, variables, child, parents)
    base = content.floats("base")
    if len(s) != len(weights) or base.size != len(s) * shape[0] * shape[1]:
        raise content.fault("'s', 'weights' and 'base' do not fit together")
    return NodePrior(child, parents, view, s, weights, base.reshape(len(s), *shape))


def _shape(
    view: str, variables: Mapping[str, Variable], child: str, parents: Sequence[str]
) -> tuple[int, int]:
    n_parent_states = int(np.prod([variables[name].n_states for name in parents]))
    n_states: Any = variables[child].n_states
    if view == "joint states":
        return 1, n_parent_states * n_states
    return n_parent_states, n_states
