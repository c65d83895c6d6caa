"""The noun :class:`Network`: a DAG and the local distributions along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import ModelError
from consilience.graph.dag import DAG
from consilience.network.record import Record

if TYPE_CHECKING:
    from consilience.data.table import Table

__all__ = ["Network"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    """

    distributions: Mapping[str, Categorical]
    source: str | None = None
    record: Record = field(default_factory=Record)
    dag: DAG = field(init=False)

    def __post_init__(self) -> None:
        _freeze.own(self)
        _check_families(self.distributions)
        arcs = [(p, name) for name, local in self.distributions.items() for p in local.parents]
        object.__setattr__(self, "dag", DAG(arcs, nodes=tuple(self.distributions)))
        if self.source is not None:
            _check.known("node", [self.source], self.distributions)
            if self.dag.parents(self.source):
                raise ModelError(f"the source {self.source!r} must be a root.", source=self.source)

    @classmethod
    def of(
        cls,
        distributions: Sequence[Categorical],
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
    def variables(self) -> Mapping[str, Variable]:
        """Name to :class:`Variable` for every node, the source included."""
        return _freeze.FrozenMap({name: local.child for name, local in self.distributions.items()})

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all tables."""
        return sum(local.n_parameters for local in self.distributions.values())

    def __getitem__(self, name: str) -> Categorical:
        """The local distribution of a node."""
        if name not in self.distributions:
            _check.unknown("node", name, self.distributions)
        return self.distributions[name]

    def sample(
        self, n_rows: int, given: Mapping[str, Any] | None = None, seed: Seed = None
    ) -> Table:
        """Independent rows drawn from the network; see :func:`consilience.inference.sample`."""
        from consilience.inference.sampling import sample

        return sample(self, n_rows, given=given or {}, seed=seed)

    def log_likelihood(self, table: Table) -> Floats:
        """Log probability of each row; see :func:`consilience.inference.log_likelihood`."""
        from consilience.inference.likelihood import log_likelihood

        return log_likelihood(self, table)

    def __repr__(self) -> str:
        source = f", source {self.source!r}" if self.source else ""
        return (
            f"Network({len(self.distributions)} nodes, {len(self.dag.arcs)} arcs, "
            f"{self.n_parameters:,} parameters{source})"
        )


def _check_families(distributions: Mapping[str, Categorical]) -> None:
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
