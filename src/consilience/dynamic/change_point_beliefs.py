"""The verb :func:`change_points`: when the parameters of each family changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.dynamic.change_choices import ChangePoints
from consilience.dynamic.graphs_in_time import check_graph
from consilience.dynamic.lagged_names import split_lag
from consilience.dynamic.lagged_rows import lagged_table
from consilience.dynamic.panel import Panel
from consilience.dynamic.panel_frames import row_keys
from consilience.dynamic.segmentations import FamilyRows, Segmented, segmented
from consilience.errors import DataError, InputError
from consilience.graph.dag import DAG
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.family import Family

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ChangeBeliefs", "Changes", "Segment", "change_points"]


class Segment(NamedTuple):
    """Steps with the same parameters: the sequence, the times of the first and of the last."""

    sequence: str
    start: Any
    stop: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Changes:
    """When the parameters of a node, or of a group of nodes, changed.

    Attributes
    ----------
    nodes
        The nodes whose parameters change together.
    probability
        Probability that a new segment starts at each row of the panel; 0 at first rows.
    log_evidence
        Of all rows, summed over all segmentations and their prior.
    log_evidence_none
        The part of it without any change.
    segments
        The most probable segmentation of each sequence.
    n_incomplete
        Rows that lack a value of a family, and say nothing about it.
    """

    nodes: tuple[str, ...]
    probability: Floats
    log_evidence: float
    log_evidence_none: float
    segments: tuple[Segment, ...]
    n_incomplete: int

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def expected_changes(self) -> float:
        """Expected number of changes."""
        return float(self.probability.sum())

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"Changes({', '.join(self.nodes)}: {self.expected_changes:.3g} expected, log evidence "
            f"{self.log_evidence:.6g}, without any {self.log_evidence_none:.6g})"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChangeBeliefs(Mapping[str, Changes]):
    """What is believed about changes, by node."""

    panel: Panel
    changes: Mapping[str, Changes]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __getitem__(self, name: str) -> Changes:
        """The changes of a node."""
        if name not in self.changes:
            _check.unknown("node", name, self.changes)
        return self.changes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame: sequence, time, and the probability of a change of each node."""
        pandas = _check.extra("pandas", "pandas", "ChangeBeliefs.to_frame")
        columns: dict[str, object] = dict(row_keys(self.panel))
        columns |= {f"P(change of {n})": one.probability for n, one in self.changes.items()}
        frame: pd.DataFrame = pandas.DataFrame(columns)
        return frame

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        words = [f"{n} {one.expected_changes:.3g}" for n, one in self.changes.items()]
        return f"ChangeBeliefs(expected changes: {', '.join(words)})"


def change_points(
    dag: DAG,
    panel: Panel,
    choice: ChangePoints | None = None,
    *,
    together: Iterable[Iterable[str]] = (),
    memory_limit: float = MEMORY_LIMIT,
) -> ChangeBeliefs:
    """The probability of a change of parameters at each step, for each node.

    Exact: the sum over all segmentations of each sequence, in each of which the parameters of a
    segment are integrated out. A change at a step means that a new segment starts there. Families
    with lags have no change before all their lags exist. Rows that lack a value of a family say
    nothing about it; their number is in the answer.

    Parameters
    ----------
    dag
        The graph of the transition, as for :func:`consilience.dynamic.fit`.
    panel
        The sequences; each has its own change points.
    choice
        How often parameters change and what they are like; ``ChangePoints()`` if not given.
    together
        Groups of nodes whose parameters change at the same steps.
    memory_limit
        Bytes of the evidence of all segments: the square of the longest sequence.

    Examples
    --------
    >>> import consilience as cs
    >>> panel = cs.dynamic.read_panel({"x": list("aaaaaaaabbbbbbbb")})
    >>> found = cs.dynamic.change_points(cs.DAG(nodes=["x"]), panel)
    >>> int(found["x"].probability.argmax()), found["x"].segments[0].stop
    (8, 7)
    """
    choice = ChangePoints() if choice is None else choice
    if not isinstance(choice, ChangePoints):
        raise InputError(
            f"change_points: choice must be cs.dynamic.ChangePoints(...), got {choice!r}.",
            parameter="choice",
        )
    nodes = _checked(dag, panel)
    _refuse_nothing(dag, nodes, panel)
    groups = _groups(nodes, together)
    order = max((split_lag(p)[1] for n in nodes for p in dag.parents(n)), default=0)
    table = lagged_table(panel, order)
    families = {n: FamilyRows.of(Family(n, dag.parents(n)), table) for n in nodes}
    found: dict[str, Changes] = {}
    for group in groups:
        changes = _changes(panel, group, families, choice, order=order, memory_limit=memory_limit)
        found |= dict.fromkeys(group, changes)
    return ChangeBeliefs(panel, {name: found[name] for name in nodes})


def _checked(dag: object, panel: object) -> list[str]:
    """The nodes of the current slice that are no inputs."""
    if not isinstance(dag, DAG):
        raise InputError(f"dag must be a DAG, got a {type(dag).__name__}.")
    if not isinstance(panel, Panel):
        raise InputError(
            f"a Panel is wanted, got a {type(panel).__name__}; cs.dynamic.read_panel(...) makes "
            "one.",
            parameter="panel",
        )
    source = panel.rows.source
    check_graph(dag, source=source)
    bases = dict.fromkeys(split_lag(node)[0] for node in dag.nodes if node != source)
    for name in bases:
        if name not in panel.rows.variables:
            _check.unknown("variable", name, panel.rows.variables)
    if panel.rows.weights is not None:
        raise DataError("change_points: a panel with weights has no steps of its own.")
    return [node for node in dag.nodes if node in bases and node not in panel.inputs]


def _refuse_nothing(dag: DAG, nodes: Sequence[str], panel: Panel) -> None:
    """Refuse a graph without nodes of the current slice, and sequences that are too short."""
    if not nodes:
        raise InputError(
            "change_points: the graph has no node of the current slice whose parameters could "
            "change, such as cs.DAG(nodes=['x'])."
        )
    order = max(split_lag(node)[1] for node in dag.nodes)
    longest = int(panel.lengths.max(initial=0))
    if longest <= order:
        raise DataError(
            f"change_points: the longest sequence has {longest} step{'s' * (longest != 1)} and the "
            f"graph reaches {order} back. Give longer sequences or use smaller lags."
        )


def _groups(nodes: Sequence[str], together: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """The given groups, and every other node by itself."""
    if isinstance(together, str) or not isinstance(together, Iterable):
        raise InputError(
            f"change_points: together must be groups of nodes, got {together!r}.",
            parameter="together",
        )
    found: list[tuple[str, ...]] = []
    for group in together:
        _check.names("change_points", together=group)
        _check.known("node", group, dict.fromkeys(nodes))
        found.append(tuple(group))
    named = [name for group in found for name in group]
    for name in named:
        if named.count(name) > 1:
            raise InputError(
                f"change_points: {name!r} stands in two groups of together.", variable=name
            )
    return [*found, *((name,) for name in nodes if name not in named)]


def _changes(
    panel: Panel,
    group: tuple[str, ...],
    families: Mapping[str, FamilyRows],
    choice: ChangePoints,
    *,
    order: int,
    memory_limit: float,
) -> Changes:
    mine = [families[name] for name in group]
    probability = np.zeros(len(panel))
    log, none, start = 0.0, 0.0, 0
    segments: list[Segment] = []
    for s, length in enumerate(panel.lengths):
        n = max(int(length) - order, 0)
        if n == 0:
            continue
        done = segmented(mine, slice(start, start + n), choice, memory_limit=memory_limit)
        first = int(panel.first[s]) + order
        probability[first : first + n] = done.probability
        log, none = log + done.log_evidence, none + done.log_evidence_none
        segments += _named(panel, s, (first, first + n), done)
        start += n
    n_incomplete = sum(len(one.group) - one.n_complete for one in mine)
    return Changes(group, probability, log, none, tuple(segments), n_incomplete)


def _named(panel: Panel, s: int, rows: tuple[int, int], done: Segmented) -> list[Segment]:
    first, after = rows
    ends = [*done.starts[1:], after - first]
    times: Any = panel.times
    times = times.tolist() if times.dtype.kind in "iuf" else times
    return [
        Segment(panel.sequences[s], times[first + a], times[first + b - 1])
        for a, b in zip(done.starts, ends, strict=True)
    ]
