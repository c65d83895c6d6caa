"""The noun :class:`Network`: a DAG and the local distributions along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.errors import InputError, ModelError
from consilience.graph.dag import DAG
from consilience.network.record import Record

if TYPE_CHECKING:
    from consilience.data.door import Rows
    from consilience.data.table import Table
    from consilience.inference.estimate_ways import Way
    from consilience.inference.event import Event
    from consilience.inference.explanations import Explanation
    from consilience.inference.triangulation import Cost
    from consilience.inference.ways import Exact
    from consilience.network.factor import Factor

__all__ = ["DRAWS", "MEMORY_LIMIT", "SEED", "Given", "Network", "check_network", "discrete_only"]

MEMORY_LIMIT = 2**31
"""Bytes that inference may allocate by default."""

DRAWS, SEED = 20_000, 0
"""Draws, and their seed, of an answer that must be estimated, by default."""

Given: TypeAlias = Mapping[str, Any] | Any | None
"""What is known by variable: a state, a set of states, ``Likelihood({...})`` or ``Soft({...})``; of
a continuous one its value, of one that was cut also a number; a row of a frame; an ``Event``; or a
list of these."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Network:
    r"""A Bayesian network; immutable.

    .. math:: P(x_1, \dots, x_n) = \prod_i P(x_i \mid \mathrm{pa}_i)

    Parameters
    ----------
    distributions
        The local distribution of every node; together they define the graph.
    source
        Name of the node that says where a row comes from, or None. It is a root.
    record
        The story of how the network came to be.

    Attributes
    ----------
    dag
        The graph.
    variables
        Name to :class:`Variable` for every node, the source included.
    tables, regressions, logistic
        The distributions by kind and name: of discrete nodes with discrete parents, of continuous
        nodes, and of discrete nodes with continuous parents.
    """

    distributions: Mapping[str, Distribution]
    source: str | None = None
    record: Record = field(default_factory=Record)
    dag: DAG = field(init=False)
    variables: Mapping[str, Variable] = field(init=False)
    tables: Mapping[str, Categorical] = field(init=False)
    regressions: Mapping[str, LinearGaussian] = field(init=False)
    logistic: Mapping[str, Logistic] = field(init=False)

    def __post_init__(self) -> None:
        _freeze.own(self)
        if not self.distributions:
            raise ModelError("a network needs at least one node.")
        _check_families(self.distributions)
        arcs = [(p, name) for name, local in self.distributions.items() for p in local.parents]
        variables = {name: local.child for name, local in self.distributions.items()}
        object.__setattr__(self, "dag", DAG(arcs, nodes=tuple(self.distributions)))
        object.__setattr__(self, "variables", _freeze.FrozenMap(variables))
        every = self.distributions.items()
        for kind, of_kind in (
            ("tables", Categorical),
            ("regressions", LinearGaussian),
            ("logistic", Logistic),
        ):
            chosen = {name: local for name, local in every if isinstance(local, of_kind)}
            object.__setattr__(self, kind, _freeze.FrozenMap(chosen))
        if self.source is not None:
            _check.known("node", [self.source], self.distributions)
            if self.dag.parents(self.source):
                raise ModelError(f"the source {self.source!r} must be a root.", source=self.source)

    @classmethod
    def of(
        cls,
        distributions: Sequence[Distribution],
        *,
        source: str | None = None,
        record: Record | None = None,
    ) -> Network:
        """The network of these local distributions, its nodes in their order."""
        named = {local.child.name: local for local in distributions}
        if len(named) < len(distributions):
            raise ModelError("two local distributions have the same child.")
        return cls(named, source, Record() if record is None else record)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all local distributions, without those that were known."""
        known = self.record.known
        return sum(
            local.n_parameters - known.get(name, 0) for name, local in self.distributions.items()
        )

    @property
    def is_discrete(self) -> bool:
        """Whether all nodes are discrete and have discrete parents only."""
        return len(self.tables) == len(self.distributions)

    def __getitem__(self, name: str) -> Distribution:
        """The local distribution of a node."""
        if name not in self.distributions:
            _check.unknown("node", name, self.distributions)
        return self.distributions[name]

    def query(
        self, names: str | Sequence[str], given: Given = None, *, by: Way | None = None
    ) -> Factor | Any:
        """Posterior of one variable or joint posterior of several.

        A ``Factor`` for discrete variables, a ``Mixture`` for continuous ones, a ``MixedBelief``
        for both. ``by`` says how: ``cs.inference.Exact()``, here and wherever a network answers.
        """
        from consilience.inference.queries import query

        return query(self, names, given, by=by)

    def marginals(self, given: Given = None, *, by: Way | None = None) -> dict[str, Factor | Any]:
        """Posterior of every variable that is not known: a ``Factor``, or a ``Mixture``."""
        from consilience.inference.queries import marginals

        return marginals(self, given, by=by)

    def mpe(self, given: Given = None, *, by: Exact | None = None) -> Explanation:
        """The most probable states, and values, of all variables that are not known."""
        from consilience.inference.explanations import mpe

        return mpe(self, given, by=by)

    def map(
        self, names: Sequence[str], given: Given = None, *, by: Exact | None = None
    ) -> Explanation:
        """The most probable joint state of some variables, the others summed out."""
        from consilience.inference.explanations import map_states

        return map_states(self, names, given, by=by)

    def probability(
        self, event: Mapping[str, Any] | Event, given: Given = None, *, by: Way | None = None
    ) -> float:
        """Probability of states, sets of states, intervals ``(low, high)`` or an event."""
        from consilience.inference.queries import probability

        return probability(self, event, given, by=by)

    def log_likelihood(self, table: Rows, *, by: Way | None = None) -> Floats:
        """Log probability, or density, of what each row records; missing values summed out."""
        from consilience.inference.evidence_rows import log_likelihood

        return log_likelihood(self, table, by=by)

    def posteriors(self, table: Rows, target: str, *, by: Way | None = None) -> Floats:
        """Posterior of the target for each row, shape (rows, states); mean and sd if continuous."""
        from consilience.inference.evidence_rows import posteriors

        return posteriors(self, table, target, by=by)

    def sample(
        self, n_rows: int, given: Given = None, seed: Seed = None, *, by: Exact | None = None
    ) -> Table:
        """Independent rows drawn from the network.

        The reserved source ``new_source`` is not drawn, nor a state of the rows' source, unless
        ``given`` says something about the source that leaves it possible.
        """
        from consilience.inference.sampling import sample

        return sample(self, n_rows, given=given, seed=seed, by=by)

    def do(self, states: Mapping[str, Any]) -> Network:
        """The network in which these nodes are set from outside: no parents, one state or value."""
        from consilience.inference.intervention import intervene

        return intervene(self, states)

    def cost(
        self,
        names: str | Sequence[str] | None = None,
        given: Given = None,
        *,
        by: Exact | None = None,
    ) -> Cost:
        """What a query, or all marginals, would take; nothing is allocated."""
        from consilience.inference.queries import cost

        return cost(self, names, given, by=by)

    def describe(self, name: str | None = None, *, max_rows: int = 40) -> str:
        """The network in words, or the table of one node, of which so many rows are shown."""
        from consilience.show.text import description

        return description(self, name, max_rows=max_rows)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        source = f", source {self.source!r}" if self.source else ""
        return (
            f"Network({len(self.distributions)} nodes, {len(self.dag.arcs)} arcs, "
            f"{self.n_parameters:,} parameters{source})"
        )


def discrete_only(owner: str, net: Network) -> None:
    """Refuse a network with a node that is not a table."""
    for name, local in net.distributions.items():
        if name not in net.tables:
            what = "is continuous" if local.child.is_continuous else "has continuous parents"
            raise ModelError(
                f"{owner}: node {name!r} {what}; this is done for networks whose nodes are all "
                "discrete.",
                variable=name,
            )


def _check_families(distributions: Mapping[str, Distribution]) -> None:
    for name, local in distributions.items():
        if name != local.child.name:
            raise ModelError(f"the distribution of {local.child.name!r} is filed under {name!r}.")
        for parent in local.given:
            if parent.name not in distributions:
                raise ModelError(
                    f"node {name!r} has the parent {parent.name!r}, which has no distribution.",
                    variable=name,
                )
            if parent.states != distributions[parent.name].child.states:
                raise ModelError(
                    f"node {name!r} and its parent {parent.name!r} disagree about its states.",
                    variable=name,
                )


def check_network(owner: str, net: Network, name: str = "net") -> None:
    """Refuse what is not a network."""
    if not isinstance(net, Network):
        raise InputError(
            f"{owner}: {name} must be a Network, got a {type(net).__name__}; cs.fit(graph, table) "
            "makes one of a graph, cs.load(path) reads one.",
            parameter=name,
        )
