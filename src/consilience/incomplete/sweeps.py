r"""One sweep of data augmentation: complete the rows, take their statistics, draw parameters.

.. math::
    z^{(t+1)} \sim P(z \mid x, \theta^{(t)}), \qquad
    \theta^{(t+1)} \sim P(\theta \mid x, z^{(t+1)}),

where :math:`x` is what the rows record and :math:`z` what they lack. The first line draws all gaps
of a row jointly and exactly; of the completed rows only the counts of the families are kept, which
is all that the Dirichlet distributions of the second line need. Networks with continuous nodes
have sweeps of their own (:mod:`consilience.incomplete.mixed_sweeps`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior, draw_logs
from consilience.distributions.families import kinds
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.inference.cases import Cases
from consilience.network.network import Network
from consilience.parameters.estimator import Estimator, Regressor, is_apart
from consilience.parameters.maximum_likelihood import MLE
from consilience.statistics.family import Family
from consilience.statistics.gather import count

__all__ = ["State", "Sweeper", "TableSweeper", "apart_nodes", "prior_network"]


class State(NamedTuple):
    """Where a chain stands: parameters, and their means given the completed rows; as vectors."""

    parameters: Floats
    means: Floats


class Sweeper(Protocol):
    """What the chains of data augmentation need of a kind of network."""

    @property
    def net(self) -> Network:
        """The network with prior means for parameters."""
        ...

    def split(self, vector: Floats) -> dict[str, Floats]:
        """Parameters of each node that is drawn, from a vector of shape (..., parameters)."""
        ...

    def start(self, rng: np.random.Generator) -> State:
        """Where a chain begins."""
        ...

    def sweep(self, state: State, rng: np.random.Generator) -> State:
        """Where a chain goes from there."""
        ...


class TableSweeper:
    """Sweeps for a network of tables with Dirichlet priors.

    Parameters
    ----------
    net
        The graph, with the prior of each table as its posterior; a source node is not drawn.
    table
        The rows.
    """

    def __init__(self, net: Network, table: Table, memory_limit: float) -> None:
        self.net = net
        self._cases = Cases.of(net, table, memory_limit=memory_limit)
        self._drawn = [name for name in net.tables if name != net.source]
        layout = self._cases.layout
        self._prior = layout.flatten({name: _concentration(net, name) for name in net.tables})
        self._fixed = layout.flatten({name: one.table for name, one in net.tables.items()})
        self._cells = _cells_by_width(layout.shapes, layout.first, self._drawn)

    def split(self, vector: Floats) -> dict[str, Floats]:
        """Tables of the nodes that are drawn; leading axes of the vector stay in front."""
        layout, lead = self._cases.layout, vector.shape[:-1]
        ends = zip(layout.shapes.items(), layout.first[:-1], layout.first[1:], strict=True)
        return {
            name: vector[..., start:stop].reshape(*lead, *shape)
            for (name, shape), start, stop in ends
            if name in self._drawn
        }

    def start(self, rng: np.random.Generator) -> State:
        """Tables far apart from chain to chain: the prior and one row for each state."""
        return self._draw(self._prior + 1.0, rng)

    def sweep(self, state: State, rng: np.random.Generator) -> State:
        """Counts of a random completion, then tables drawn from their Dirichlet posteriors."""
        return self._draw(self._prior + self._cases.draw(state.parameters, rng), rng)

    def _draw(self, concentration: Floats, rng: np.random.Generator) -> State:
        tables, means = self._fixed.copy(), self._fixed.copy()
        for cells in self._cells:  # (rows, states)
            rows = concentration[cells]
            tables[cells] = np.exp(draw_logs(rows, rng))
            means[cells] = rows / rows.sum(axis=1, keepdims=True)
        return State(tables, means)


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
