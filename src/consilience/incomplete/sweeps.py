r"""One sweep of data augmentation: complete the rows, take their statistics, draw parameters.

.. math::
    z^{(t+1)} \sim P(z \mid x, \theta^{(t)}), \qquad
    \theta^{(t+1)} \sim P(\theta \mid x, z^{(t+1)}),

where :math:`x` is what the rows record and :math:`z` what they lack. The first line draws all gaps
of a row jointly and exactly, states and values; of the completed rows only the counts and moments
of the families are kept, which is all that the Dirichlet and normal-inverse-gamma distributions of
the second line need.

The prior of regressions (:class:`consilience.estimators.NormalInverseGamma`) is scaled by the rows
themselves, here by the completed ones. It is worth a hundredth of a row, so this matters only
where there is next to nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior, draw_logs
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.local_distribution import kinds
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.inference.cases import Cases
from consilience.network.network import Network
from consilience.parameters.estimator import Estimator, Regressor, is_apart
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import innermost
from consilience.parameters.stacked import StackedPosterior
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.moments import Moments

__all__ = ["State", "Sweeper", "apart_nodes", "prior_network"]


class State(NamedTuple):
    """Where a chain stands: parameters, and their means given the completed rows; as vectors."""

    parameters: Floats
    means: Floats


class Sweeper:
    """Sweeps for a network of tables with Dirichlet priors, and regressions.

    Parameters
    ----------
    net
        The graph, with the prior of each table as its posterior; a source node is not drawn.
    table
        The rows.
    gaussian
        How moments become regressions with normal-inverse-gamma posteriors.
    apart
        Nodes whose regressions are kept apart by source.
    """

    def __init__(
        self,
        net: Network,
        table: Table,
        gaussian: Regressor,
        apart: Sequence[str],
        *,
        memory_limit: float,
    ) -> None:
        self.net, self._gaussian = net, gaussian
        of_sources = [name for name in apart if name in net.regressions]
        self._cases = Cases.of(net, table, apart=of_sources, memory_limit=memory_limit)
        self._drawn = [name for name in net.variables if name != net.source]
        layout = self._cases.layout
        self._prior = layout.flatten({name: _concentration(net, name) for name in net.tables})
        self._fixed = layout.flatten({name: one.table for name, one in net.tables.items()})
        drawn = [name for name in net.tables if name != net.source]
        self._cells = _cells_by_width(layout.shapes, layout.first, drawn)
        shapes = {name: net[name].parameters.shape for name in (*net.tables, *net.regressions)}
        self._shapes = shapes
        self._first = np.append(0, np.cumsum([int(np.prod(one)) for one in shapes.values()]))

    def split(self, vector: Floats) -> dict[str, Floats]:
        """Parameters of the nodes that are drawn; leading axes of the vector stay in front."""
        ends = zip(self._shapes.items(), self._first[:-1], self._first[1:], strict=True)
        found = {
            name: vector[..., start:stop].reshape(*vector.shape[:-1], *shape)
            for (name, shape), start, stop in ends
        }
        return {name: found[name] for name in self._drawn}

    def start(self, rng: np.random.Generator) -> State:
        """Tables and levels far apart from chain to chain, no dependence between the variables.

        Tables have the prior and one row for each state.
        """
        tables, means = self._tables(self._prior + 1.0, rng)
        normal, levels = self._cases.normal, []
        at = dict(zip(normal.names, zip(normal.centers, normal.spreads, strict=True), strict=True))
        for name, local in self.net.regressions.items():
            center, spread = at[name][0], at[name][1] or 1.0
            parameters = np.zeros(self._shapes[name])
            noise = rng.standard_normal(local.intercept.shape)
            parameters[..., 0] = center + spread * noise
            parameters[..., -1] = spread
            levels.append(parameters.ravel())
        return State(np.concatenate([tables, *levels]), np.concatenate([means, *levels]))

    def sweep(self, state: State, rng: np.random.Generator) -> State:
        """Statistics of a random completion, then tables and regressions drawn given them."""
        theta, regressions = self._split(state.parameters)
        found = self._cases.draw(theta, rng, regressions)
        tables, means = self._tables(self._prior + found.counts, rng)
        drawn, expected = [tables], [means]
        for local in self._regressions(found.moments):
            assert local.posterior is not None  # checked there
            drawn.append(local.posterior.draw(rng).ravel())
            expected.append(local.parameters.ravel())
        return State(np.concatenate(drawn), np.concatenate(expected))

    def _split(self, vector: Floats) -> tuple[Floats, dict[str, LinearGaussian]]:
        """The cells of the tables, and the regressions."""
        place, found = len(self._prior), {}
        for name, local in self.net.regressions.items():
            size = int(np.prod(self._shapes[name]))
            part = vector[place : place + size].reshape(self._shapes[name])
            found[name] = local.with_parameters(part)
            place += size
        return vector[: len(self._prior)], found

    def _tables(self, concentration: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Tables drawn from their Dirichlet distributions, and their means."""
        tables, means = self._fixed.copy(), self._fixed.copy()
        for cells in self._cells:  # (rows, states)
            rows = concentration[cells]
            tables[cells] = np.exp(draw_logs(rows, rng))
            means[cells] = rows / rows.sum(axis=1, keepdims=True)
        return tables, means

    def _regressions(self, moments: Mapping[str, Moments]) -> list[LinearGaussian]:
        if not moments:
            return []
        fitted = self._gaussian.regress([moments[name] for name in self.net.regressions])
        for name, local in zip(self.net.regressions, fitted, strict=True):
            posterior = local.posterior
            parts = posterior.parts if isinstance(posterior, StackedPosterior) else (posterior,)
            is_drawn = all(isinstance(part, NormalInverseGammaPosterior) for part in parts)
            if not is_drawn or isinstance(innermost(self._gaussian), MLE):
                raise InputError(
                    "data augmentation draws regressions under normal-inverse-gamma priors; "
                    f"{self._gaussian!r} has none for {_check.listed([name])}. Use "
                    "cs.estimators.NormalInverseGamma() or "
                    "cs.Separate(cs.estimators.NormalInverseGamma()).",
                    parameter="gaussian",
                )
        return fitted


def prior_network(
    dag: DAG, table: Table, estimator: Estimator, gaussian: Regressor | None = None
) -> Network:
    """The network of the graph in which every table has its prior as posterior.

    The source is a node as in :func:`consilience.fit`: the first parent of every node for an
    estimator that keeps sources apart, alone otherwise, and where the graph says if it names it.
    Continuous nodes are regressions with all coefficients zero.
    """
    schema = table.schema
    source = "" if schema.source is None else schema.source.name
    nodes = [node for node in dag.nodes if node != source]
    apart = apart_nodes(dag, table, estimator, gaussian)
    plain = {n: tuple(p for p in dag.parents(n) if p != source) for n in apart}
    none = table.take(slice(0, 0))
    discrete = [node for node in nodes if not schema[node].is_continuous]
    by_source = [Family(n, plain[n]) for n in discrete if n in apart]
    pooled = [Family(n, dag.parents(n)) for n in discrete if n not in apart]
    counts = [*count(none, by_source, by_source=True), *count(none, pooled)]
    tables = estimator.estimate(counts)
    _check_conjugate(tables, estimator)
    local: dict[str, Distribution] = {one.child.name: one for one in tables}
    for node in nodes:
        if schema[node].is_continuous:
            names = (source, *plain[node]) if node in apart else dag.parents(node)
            local[node] = _level(schema[node], tuple(schema[name] for name in names))
    root: list[Categorical] = []
    if source and (len(table.sources) > 1 or source in dag.nodes or apart):
        root = MLE().estimate(count(table, [Family(source)]))
    return Network.of([*root, *(local[node] for node in nodes)], source=source if root else None)


def apart_nodes(
    dag: DAG, table: Table, estimator: Estimator, gaussian: Regressor | None
) -> list[str]:
    """The nodes whose distribution differs from source to source by the choice of estimator."""
    source = table.source
    if source is None:
        return []
    nodes = [node for node in dag.nodes if node != source]
    dependent = dag.children(source) if source in dag.nodes else nodes
    choice = {node: gaussian if table.schema[node].is_continuous else estimator for node in nodes}
    return [node for node in nodes if node in dependent and is_apart(choice[node])]


def _level(child: Variable, given: tuple[Variable, ...]) -> LinearGaussian:
    discrete, continuous = kinds(given)
    shape = tuple(parent.n_states for parent in discrete)
    slopes = np.zeros((*shape, len(continuous)))
    return LinearGaussian(child, given, np.zeros(shape), slopes, np.ones(shape))


def _check_conjugate(tables: Sequence[Categorical], estimator: Estimator) -> None:
    for local in tables:
        if not isinstance(local.posterior, DirichletPosterior):
            raise InputError(
                f"data augmentation draws tables from Dirichlet distributions; {estimator!r} has "
                f"none for {local.child.name!r}. Use cs.Dirichlet(...) for all sources together or "
                "cs.Separate(cs.Dirichlet(...)) for each by itself; hierarchical estimators "
                "serve EM: cs.fit(..., gaps=cs.EM()).",
                parameter="estimator",
            )


def _concentration(net: Network, name: str) -> Floats:
    posterior = net.tables[name].posterior
    if isinstance(posterior, DirichletPosterior):
        return posterior.concentration
    return np.zeros(net.tables[name].table.shape)


def _cells_by_width(
    shapes: Mapping[str, tuple[int, ...]], first: Integers, names: list[str]
) -> list[Integers]:
    """Places of the cells of these tables, rows of one width together: shape (rows, states)."""
    places: dict[int, list[Integers]] = {}
    for (name, shape), start in zip(shapes.items(), first[:-1], strict=True):
        if name in names:
            cells = start + np.arange(int(np.prod(shape))).reshape(-1, shape[-1])
            places.setdefault(shape[-1], []).append(cells)
    return [np.concatenate(cells) for cells in places.values()]
