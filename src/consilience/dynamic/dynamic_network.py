"""The noun :class:`DynamicNetwork`: first slices, and a transition that holds at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.data.variable import Variable
from consilience.distributions import Distribution
from consilience.dynamic.early_slices import check_transition, whole_initial
from consilience.dynamic.lagged_names import split_lag
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.network.record import Record

if TYPE_CHECKING:
    from consilience.dynamic.beliefs_in_time import Beliefs
    from consilience.dynamic.collapse_choice import Collapse
    from consilience.dynamic.forecasting import Forecast
    from consilience.dynamic.most_probable_paths import Path
    from consilience.dynamic.panel import Panel

__all__ = ["DynamicNetwork"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DynamicNetwork:
    r"""A network in time; immutable.

    .. math:: P(X(0), \dots, X(T-1)) = P(X(0), \dots, X(L-1))
        \prod_{t \ge L} \prod_i P(X_i(t) \mid \text{parents at lags } 0 \dots L)

    A family whose parents all exist in an early slice is the transition's own family there, so that
    the emissions of a hidden Markov model are one table from the first step on.

    Parameters
    ----------
    initial
        A network over the nodes ``x(0)`` to ``x(order-1)``. Families that the transition says may
        be left out; if they stand there, they must be the same. None if the transition says all.
    transition
        The local distributions of the current slice. Their parents are variables named ``y``,
        ``y(t-1)``, ..., inputs, and the source of ``initial``.
    hidden
        Nodes that no panel records.
    inputs
        Variables that are given at every step; roots without a distribution.
    conditional
        Nodes of the first slices, such as ``x(0)``, that have no law: their values are given.
    record
        The story of how the network came to be.

    Attributes
    ----------
    order
        How many steps a parent lies back at most; at least one.
    dag
        The graph of the transition: current nodes, their lagged parents, inputs, the source.
    variables
        Name to :class:`Variable` of the nodes, inputs included and the source not.
    """

    initial: Network
    transition: Mapping[str, Distribution]
    hidden: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    record: Record = field(default_factory=Record)
    order: int = field(init=False)
    dag: DAG = field(init=False)
    variables: Mapping[str, Variable] = field(init=False)

    def __post_init__(self) -> None:
        given: Any = self.transition
        local = list(given.values()) if isinstance(given, Mapping) else list(given)
        for name in ("hidden", "inputs", "conditional"):
            _check.names("DynamicNetwork", **{name: getattr(self, name)})
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.initial is not None and not isinstance(self.initial, Network):
            raise InputError(
                f"DynamicNetwork: initial must be a Network, got a {type(self.initial).__name__}.",
                parameter="initial",
            )
        source = None if self.initial is None else self.initial.source
        variables = check_transition(local, self.inputs, source)
        _check.known("node", self.hidden, {one.child.name: None for one in local})
        object.__setattr__(self, "transition", {one.child.name: one for one in local})
        _freeze.own(self)
        lags = [split_lag(parent)[1] for one in local for parent in one.parents]
        object.__setattr__(self, "order", max([1, *lags]))
        object.__setattr__(self, "dag", _graph(local, source))
        object.__setattr__(self, "variables", _freeze.FrozenMap(variables))
        whole = whole_initial(self.initial, self.transition, self.order, self)
        object.__setattr__(self, "initial", whole)

    @property
    def source(self) -> str | None:
        """Name of the source, a root that does not change in time, or None."""
        return self.initial.source

    @property
    def n_parameters(self) -> int:
        """Free parameters: of the transition, and of the first slices where they are their own."""
        from consilience.dynamic.slices import n_parameters

        return n_parameters(self)

    def __getitem__(self, name: str) -> Distribution:
        """The local distribution of a node in the transition."""
        if name not in self.transition:
            _check.unknown("node", name, self.transition)
        return self.transition[name]

    def filter(
        self, panel: Panel, *, by: Collapse | None = None, memory_limit: float = 2**31
    ) -> Beliefs:
        """What each row's hidden and missing values are, given all up to and including the row."""
        from consilience.dynamic.beliefs_in_time import filtered

        return filtered(self, panel, memory_limit=memory_limit, by=by)

    def smooth(
        self, panel: Panel, *, by: Collapse | None = None, memory_limit: float = 2**31
    ) -> Beliefs:
        """What each row's hidden and missing values are, given all rows of its sequence."""
        from consilience.dynamic.beliefs_in_time import smoothed

        return smoothed(self, panel, memory_limit=memory_limit, by=by)

    def forecast(
        self,
        panel: Panel,
        steps: int,
        *,
        inputs: Any = None,
        draws: int | None = None,
        by: Collapse | None = None,
        seed: Seed = 0,
    ) -> Forecast:
        """The steps after the last row of each sequence.

        ``inputs`` is a frame with the inputs of the coming steps. With ``draws`` paths are drawn
        from the posterior of the parameters, which then widens the intervals.
        """
        from consilience.dynamic.forecasting import forecast

        return forecast(self, panel, steps, inputs=inputs, draws=draws, by=by, seed=seed)

    def mpe(self, panel: Panel, *, by: Collapse | None = None, memory_limit: float = 2**31) -> Path:
        """The most probable values of all that is hidden or missing, together (Viterbi)."""
        from consilience.dynamic.most_probable_paths import most_probable_path

        return most_probable_path(self, panel, memory_limit=memory_limit, by=by)

    def log_likelihood(
        self, panel: Panel, *, by: Collapse | None = None, memory_limit: float = 2**31
    ) -> Floats:
        """Log probability, or density, of what each sequence records: one number a sequence."""
        from consilience.dynamic.beliefs_in_time import log_likelihood

        return log_likelihood(self, panel, memory_limit=memory_limit, by=by)

    def sample(self, n: int, length: int, *, inputs: Any = None, seed: Seed = None) -> Panel:
        """So many sequences of this length drawn from the network; hidden nodes included."""
        from consilience.dynamic.path_sampling import sample_panel

        return sample_panel(self, n, length, inputs=inputs, seed=seed)

    def unroll(self, length: int) -> Network:
        """The ordinary network over ``x(0)`` to ``x(length-1)``, for every other question."""
        from consilience.dynamic.slices import unrolled

        return unrolled(self, length)

    def describe(self, name: str | None = None, *, max_rows: int = 40) -> str:
        """The network in words, or the table of one node, of which so many rows are shown.

        A node such as ``x(0)`` is one of the first slices.
        """
        from consilience.show.text_in_time import description_in_time

        return description_in_time(self, name, max_rows=max_rows)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        n = len(self.transition)
        parts = [f"{n} node{'s' * (n != 1)}", f"order {self.order}"]
        parts += [f"hidden {', '.join(self.hidden)}"] if self.hidden else []
        parts += [f"inputs {', '.join(self.inputs)}"] if self.inputs else []
        parts += [f"{self.n_parameters:,} parameters"]
        parts += [f"source {self.source!r}"] if self.source else []
        return f"DynamicNetwork({', '.join(parts)})"


def _graph(local: Sequence[Distribution], source: str | None) -> DAG:
    """The graph of the transition; a cycle inside the slice is refused by the DAG itself."""
    arcs = [(parent, one.child.name) for one in local for parent in one.parents]
    nodes = [one.child.name for one in local]
    return DAG(arcs, nodes=[*nodes, *([source] if source is not None else [])])
