r"""Answers about events over continuous variables, and given them.

With one continuous variable :math:`x` among those of the event E, and discrete ones :math:`d`,

.. math:: P(E \mid e) = \sum_d P(d \mid e) \sum_k w_{dk} \sum_{(l, h) \in E_d}
    \Phi\!\Bigl(\frac{h - \mu_{dk}}{\sigma_{dk}}\Bigr) -
    \Phi\!\Bigl(\frac{l - \mu_{dk}}{\sigma_{dk}}\Bigr)

over the components of the mixture that :math:`x` has given d, and the intervals in which the event
holds. With several it is estimated from rows drawn given the rest of the evidence: the share of
those in which it holds. Of what is given, an event over one continuous variable leaves posteriors
of discrete ones exact by the same sum; all others are estimated from the rows in which it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._lazy import later
from consilience._typing import Floats
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference.beliefs import belief
from consilience.inference.conflict import refuse_impossible
from consilience.inference.draws import Columns, draw_given
from consilience.inference.event import (
    Comparison,
    Joined,
    Not,
    Tree,
    holds,
    names_in,
    text_of,
)
from consilience.inference.event_nodes import is_open, with_nodes
from consilience.inference.evidence import Evidence
from consilience.inference.ways import Exact
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.network.network import Network

__all__ = ["Estimate", "belief_given", "probability_of", "rows_that_hold", "settled"]

special = later("scipy.special")

MOST_ROUNDS = 50
FEWEST, FEWEST_DRAWN = 20, 4096


class Estimate(float):
    """A probability that was estimated from draws, with its standard error.

    >>> half = Estimate(0.5, 0.01)
    >>> half + 0.25, half.standard_error
    (0.75, 0.01)
    """

    standard_error: float

    def __new__(cls, value: float, standard_error: float) -> Estimate:
        """A number that is otherwise like any other."""
        made = super().__new__(cls, value)
        made.standard_error = standard_error
        return made

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.standard_error

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return f"{float(self)!r} (estimated, standard error {self.standard_error:.2g})"


class Settled(NamedTuple):
    """A network and evidence in which the events over discrete variables are nodes; the others."""

    net: Network
    evidence: Evidence
    events: tuple[Tree, ...]


def settled(net: Network, evidence: Evidence, events: Sequence[Tree], way: Exact) -> Settled:
    """Take the events over discrete variables into the network and its evidence."""
    closed = [tree for tree in events if not is_open(tree, net.variables)]
    larger, nodes = with_nodes(net, closed, way.memory_limit) if closed else (net, [])
    known = {**evidence.known, **dict.fromkeys(nodes, 1)}
    others = tuple(tree for tree in events if tree not in closed)
    return Settled(larger, replace(evidence, known=known), others)


def probability_of(
    net: Network, event: Tree, evidence: Evidence, given: Sequence[Tree], *, way: Exact
) -> float:
    """P(event | evidence and the events that are given); an :class:`Estimate` where it is one."""
    is_open(event, net.variables)  # refuses unknown names
    at = settled(net, evidence, given, way)
    both = _all([event, *at.events])
    if len(_continuous(net, both)) <= 1:
        found = _share(at, both, way)
        under = _share(at, _all(at.events), way) if at.events else 1.0
        if found is not None and under is not None:
            if under == 0:
                raise _impossible(at.events)
            return min(1.0, found / under)
    rows = _rows(at, way)
    held = holds(event, net.variables, rows)
    share, n = float(held.mean()), len(held)
    return Estimate(share, math.sqrt(max(share * (1 - share), 1 / n) / n))


def belief_given(
    net: Network, asked: Sequence[str], evidence: Evidence, given: Sequence[Tree], *, way: Exact
) -> Factor | Mixture | MixedBelief:
    """The joint posterior of some nodes given evidence and events."""
    at = settled(net, evidence, given, way)
    if not at.events:
        return belief(at.net, asked, at.evidence, way)
    tree = _all(at.events)
    is_discrete = not any(net.variables[name].is_continuous for name in asked)
    if is_discrete and len(_continuous(net, tree)) == 1:
        found = _areas(at, tree, asked, way)
        if found is not None:
            if not found.any():
                raise _impossible(at.events)
            return Factor(tuple(net.variables[name] for name in asked), found / found.sum())
    return _from_rows(net, asked, _rows(at, way))


def _share(at: Settled, tree: Tree, way: Exact) -> float | None:
    """The probability of an event over at most one continuous variable; None if that must be
    estimated.
    """
    if _continuous(at.net, tree):
        found = _areas(at, tree, (), way)
        return None if found is None else min(1.0, float(found))
    larger, (node,) = with_nodes(at.net, [tree], way.memory_limit)
    factor = belief(larger, [node], at.evidence, way)
    assert isinstance(factor, Factor)
    return None if factor.effective_size is not None else float(factor.values[1])


def _areas(at: Settled, tree: Tree, asked: Sequence[str], way: Exact) -> Floats | None:
    """P(asked, event | evidence) as an array over the discrete nodes asked for."""
    variables = at.net.variables
    (continuous,) = _continuous(at.net, tree)
    others = [n for n in names_in(tree) if n != continuous and n not in asked]
    names = [*asked, *others]
    found = belief(at.net, [*names, continuous], at.evidence, way)
    if isinstance(found, Mixture):
        if found.effective_size is not None:
            return None
        return np.asarray(_area(found, tree, at.net, {}))
    assert isinstance(found, MixedBelief)
    if found.discrete.effective_size is not None:
        return None
    shares = np.zeros([variables[name].n_states for name in asked])
    for place, mixture in found.mixtures.items():
        area = _area(mixture, tree, at.net, dict(zip(names, place, strict=True)))
        shares[place[: len(asked)]] += found.discrete.values[place] * area
    return shares


def _area(mixture: Mixture, tree: Tree, net: Network, codes: Mapping[str, int]) -> float:
    """The probability that an event holds under a mixture of one variable, given states."""
    (name,) = mixture.names
    edges = np.array(sorted(_bounds(tree, name)))
    between = (edges[:-1] + edges[1:]) / 2
    points = np.concatenate([edges[:1] - 1, between, edges[-1:] + 1])
    states = {key: np.array(code) for key, code in codes.items()}
    inside = np.broadcast_to(holds(tree, net.variables, {**states, name: points}), points.shape)
    mean, sd = mixture.means[:, 0], np.sqrt(mixture.covariances[:, 0, 0])
    at_mean = np.broadcast_to(holds(tree, net.variables, {**states, name: mean}), mean.shape)
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    z = (ends - mean[:, None]) / np.where(sd > 0, sd, 1.0)[:, None]
    # Both bounds mirrored where they are high, so that small tails are not lost in 1 - 1.
    is_high = z[:, :-1] > 0
    low, high = np.where(is_high, -z[:, 1:], z[:, :-1]), np.where(is_high, -z[:, :-1], z[:, 1:])
    areas = ((special.ndtr(high) - special.ndtr(low)) * inside).sum(axis=1)
    return float(mixture.weights @ np.where(sd > 0, areas, at_mean))


def _bounds(tree: Tree, name: str) -> set[float]:
    """The numbers that a continuous variable is compared with."""
    if isinstance(tree, Comparison):
        return {float(tree.values[0])} if tree.name == name else set()
    parts = (tree.part,) if isinstance(tree, Not) else tree.parts
    return {bound for part in parts for bound in _bounds(part, name)}


def rows_that_hold(at: Settled, draw: Callable[[int], Columns], n_rows: int) -> Columns:
    """So many rows in which all events hold, of those that ``draw`` gives for a number.

    Fewer after rounds in which next to none did.

    Raises
    ------
    InputError
        If the events hold in hardly any.
    """
    kept: list[Columns] = []
    n_kept, size = 0, max(n_rows, FEWEST_DRAWN)
    for _ in range(MOST_ROUNDS):
        drawn = draw(size)
        is_in = np.ones(size, bool)
        for tree in at.events:
            is_in &= holds(tree, at.net.variables, drawn)
        kept.append({name: column[is_in] for name, column in drawn.items()})
        n_kept += int(is_in.sum())
        if n_kept >= n_rows:
            break
    if n_kept < min(FEWEST, n_rows):
        raise InputError(
            f"the event {_words(at.events)} is too improbable for rows to be drawn in which it "
            f"holds: it held in {n_kept} of {MOST_ROUNDS * size:,}.",
            parameter="given",
        )
    return {name: np.concatenate([one[name] for one in kept])[:n_rows] for name in kept[0]}


def _rows(at: Settled, way: Exact) -> Columns:
    """Columns of rows drawn given the evidence, those in which the events hold."""
    rng = _check.generator(way.seed)

    def draw(n: int) -> Columns:
        found = draw_given(at.net, at.evidence, n, rng, memory_limit=way.memory_limit)
        if found is None:
            refuse_impossible(at.net, at.evidence, way.memory_limit)
        return found

    return rows_that_hold(at, draw, way.n_draws)


def _from_rows(net: Network, asked: Sequence[str], rows: Columns) -> Factor | Mixture | MixedBelief:
    """The distribution of some nodes in rows that were drawn."""
    variables = net.variables
    discrete = [name for name in asked if not variables[name].is_continuous]
    continuous = [name for name in asked if variables[name].is_continuous]
    sizes = [variables[name].n_states for name in discrete]
    n = len(rows[asked[0]])
    code = np.zeros(n, np.int64)
    for name, size in zip(discrete, sizes, strict=True):
        code = code * size + rows[name]
    shares = np.bincount(code, minlength=math.prod(sizes)).reshape(sizes) / n
    errors = np.sqrt(np.maximum(shares * (1 - shares), 1 / n) / n)
    factor = Factor(tuple(variables[name] for name in discrete), shares, errors, float(n))
    if not continuous:
        return factor
    points = np.stack([rows[name] for name in continuous], axis=1)
    if not discrete:
        return _points(continuous, points)
    mixtures = {
        place: _points(continuous, points[code == number])
        for number, place in enumerate(product(*map(range, sizes)))
        if shares[place] > 0
    }
    return MixedBelief(factor, mixtures)


def _points(names: Sequence[str], points: Floats) -> Mixture:
    n, d = points.shape
    errors = points.std(axis=0) / math.sqrt(n)
    return Mixture(tuple(names), np.full(n, 1 / n), points, np.zeros((n, d, d)), errors, float(n))


def _continuous(net: Network, tree: Tree) -> list[str]:
    return [name for name in names_in(tree) if net.variables[name].is_continuous]


def _all(events: Sequence[Tree]) -> Tree:
    return events[0] if len(events) == 1 else Joined("and", tuple(events))


def _words(events: Sequence[Tree]) -> str:
    return repr(text_of(_all(events))) if events else "that is asked for"


def _impossible(events: Sequence[Tree]) -> ImpossibleEvidenceError:
    return ImpossibleEvidenceError(
        f"the event {_words(events)} that is given has probability zero.", parameter="given"
    )
