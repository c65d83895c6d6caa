r"""Why a node is distributed otherwise in a source: another population, or another mechanism.

For a node :math:`x` with the parents :math:`\pi` (but for the source), a source :math:`f` and the
reference :math:`r`, which is a second source or all of them together, the difference of the two
distributions is split exactly (Kitagawa 1955):

.. math:: P_f(x) - P_r(x) =
    \underbrace{\sum_\pi [P_f(\pi) - P_r(\pi)]\, \tfrac12 [P_f(x|\pi) + P_r(x|\pi)]}_{\text{another
    population}} +
    \underbrace{\sum_\pi \tfrac12 [P_f(\pi) + P_r(\pi)]\, [P_f(x|\pi) - P_r(x|\pi)]}_{\text{another
    mechanism}} .

With all sources together the source is summed out of the joint distribution,
:math:`P_r(x|\pi) = P_r(x, \pi) / P_r(\pi)`. Networks drawn from the posterior of the parameters are
split in the same way; where the interval of a part does not hold 0, it is more than chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.answers.answer_columns import Columns, columns_text
from consilience.answers.answer_intervals import drawn_answers
from consilience.answers.sources_asked import known_sources
from consilience.distributions import Categorical
from consilience.errors import InputError
from consilience.inference.queries import query
from consilience.network.network import SEED, Network

__all__ = ["PARTS", "DifferenceParts", "difference_parts"]

PARTS = ("difference", "population", "mechanism")
"""The difference, and the two parts that it is the sum of."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DifferenceParts:
    """How the distribution of a node in one source departs from a reference, and why.

    Parameters
    ----------
    node, source
        The node and the source.
    reference
        The source it is held against; None for all of them together.
    states
        The states of the node.
    difference, population, mechanism
        For each state the difference of the probabilities, and its two parts.
    ends
        For each of the three the ends of its credible interval by state; empty if not asked for.
    level
        Probability of these intervals.
    """

    node: str
    source: str
    reference: str | None
    states: tuple[str, ...]
    difference: Floats
    population: Floats
    mechanism: Floats
    ends: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    level: float = 0.95

    def __post_init__(self) -> None:
        _freeze.own(self)

    def is_clear(self, part: str, state: str) -> bool | None:
        """Whether the interval of a part leaves 0 out; None if there is no interval."""
        if part not in self.ends:
            return None
        low, high = (end[self.states.index(state)] for end in self.ends[part])
        return bool(low > 0 or high < 0)

    @property
    def columns(self) -> Columns:
        """One row for each state."""
        ends = {
            f"{part}: {end}": values.tolist()
            for part, both in self.ends.items()
            for end, values in zip(("low", "high"), both, strict=True)
        }
        parts = {part: getattr(self, part).tolist() for part in PARTS}
        return {"state": self.states, **parts, **ends}

    @property
    def title(self) -> str:
        """What is compared, in words."""
        than = "all sources" if self.reference is None else self.reference
        return f"{self.node}: {self.source} less {than}"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return columns_text(self.title, self.columns)


def difference_parts(
    net: Network,
    node: str,
    *,
    reference: str | None = None,
    sources: Sequence[str] | None = None,
    draws: int = 0,
    level: float = 0.95,
    seed: Seed = SEED,
) -> tuple[DifferenceParts, ...]:
    """How a discrete node departs from a reference in each source, split in two.

    Parameters
    ----------
    reference
        A second source; all of them together if not given.
    sources
        Those to be compared; all but the reference if not given.
    draws, level, seed
        Of the networks drawn for the intervals; none without ``draws``.

    Raises
    ------
    InputError
        If the network has no source, or the node is not a table.

    Examples
    --------
    Two sources with the same share of smokers, of which the second falls ill more often:

    >>> import consilience as cs
    >>> rows = {"smoke": ["no"] * 50 + ["yes"] * 50, "ill": ["no"] * 70 + ["yes"] * 30}
    >>> more = {"smoke": ["no"] * 50 + ["yes"] * 50, "ill": ["no"] * 40 + ["yes"] * 60}
    >>> table = cs.read({"a": rows, "b": more})
    >>> net = cs.fit(cs.DAG([("smoke", "ill")]), table, cs.Separate(cs.MLE()))
    >>> found = difference_parts(net, "ill", reference="a")[0]
    >>> [round(float(one[1]), 3) for one in (found.difference, found.population, found.mechanism)]
    [0.3, 0.0, 0.3]
    """
    source = _checked(net, node, reference)
    wanted = [s for s in known_sources(net) if s != reference] if sources is None else sources
    _check.known("source", wanted, net.variables[source].discrete_states)
    given = [{source: one} for one in wanted]
    given.append({} if reference is None else {source: reference})
    parents = [name for name in net[node].parents if name != source]
    asked = (*parents, node)
    shape = tuple(net.variables[name].n_states for name in asked)
    joints = [_matrix(query(net, asked, known).values) for known in given]
    tables = [_table_at(net, node, known.get(source)) for known in given]
    ends: list[Mapping[str, tuple[Floats, Floats]]] = [{} for _ in wanted]
    if draws:
        drawn = drawn_answers(net, asked, given, draws, seed=seed)
        each = [values.reshape(len(values), -1, shape[-1]) for values in drawn]
        ends = [_ends(_split(one, each[-1]), level) for one in each[:-1]]
    return tuple(
        DifferenceParts(
            node,
            name,
            reference,
            net.variables[node].discrete_states,
            *_split(joint, joints[-1], own=table, other=tables[-1]),
            ends=interval,
            level=level,
        )
        for name, joint, table, interval in zip(wanted, joints, tables, ends, strict=False)
    )


def _checked(net: Network, node: str, reference: str | None) -> str:
    """The name of the source, once the question is one that can be answered."""
    if net.source is None:
        raise InputError("difference_parts: this network has no source.", parameter="net")
    local = net[node]
    if not isinstance(local, Categorical) or node == net.source:
        what = (
            "the source itself" if node == net.source else "continuous, or has continuous parents"
        )
        raise InputError(
            f"difference_parts: node {node!r} is {what}; differences are split for nodes with a "
            "table.",
            node=node,
        )
    if reference is not None:
        _check.known("source", [reference], net.variables[net.source].discrete_states)
    return net.source


def _matrix(joint: Floats) -> Floats:
    """The joint distribution as (parent states, states)."""
    return np.asarray(joint).reshape(-1, joint.shape[-1])


def _table_at(net: Network, node: str, source: str | None) -> Floats | None:
    """The node's table in one source; None for all sources together if they differ."""
    local = net.tables[node]
    if net.source not in local.parents:
        return _matrix(local.table)
    if source is None:
        return None
    code = net.variables[str(net.source)].code(source)
    return _matrix(np.take(local.table, code, axis=local.parents.index(str(net.source))))


def _split(
    joint: Floats, reference: Floats, *, own: Floats | None = None, other: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Difference, population and mechanism; further axes come first.

    A distribution given parents that cannot happen is taken from the table, and without one from
    the other side, so that it is no difference of mechanism.
    """
    shares, others = joint.sum(axis=-1, keepdims=True), reference.sum(axis=-1, keepdims=True)
    first = own if own is not None else _given(joint, shares)
    second = other if other is not None else _given(reference, others)
    if own is None:
        first = np.where(shares > 0, first, second)
    if other is None:
        second = np.where(others > 0, second, first)
    population = ((shares - others) * (first + second) / 2).sum(axis=-2)
    mechanism = ((shares + others) / 2 * (first - second)).sum(axis=-2)
    return joint.sum(axis=-2) - reference.sum(axis=-2), population, mechanism


def _given(joint: Floats, shares: Floats) -> Floats:
    return np.divide(joint, shares, out=np.zeros_like(joint), where=shares > 0)


def _ends(
    parts: tuple[Floats, Floats, Floats], level: float
) -> Mapping[str, tuple[Floats, Floats]]:
    quantiles = [(1 - level) / 2, (1 + level) / 2]
    found = {}
    for name, drawn in zip(PARTS, parts, strict=True):
        low, high = np.quantile(drawn, quantiles, axis=0)
        found[name] = (low, high)
    return found
