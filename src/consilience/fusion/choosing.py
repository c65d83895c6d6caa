r"""From votes to a graph: arcs enter one after the other unless they close a cycle.

An arc whose level (:mod:`consilience.fusion.votes`) reaches the threshold enters; one that would
close a cycle with those already in is dropped, or turned round. So the order matters:

- :class:`RowByRow`: in the order of the nodes that arcs come from, then of those they lead to, as
  in Algorithm 3 of Córdoba-Sánchez et al. (2015). (Its pseudo-code says "above" the threshold and
  its text "reaches"; Table 1 of the paper has arcs at threshold 8 of 8, so reaching counts.)
- :class:`StrongestFirst`: arcs of higher level first; ties by the sum of their score gains, then by
  name. What is dropped for a cycle is then never stronger than what it would have closed it with.

If an arc :math:`i \to j` closes a cycle there is a path from :math:`j` to :math:`i`, so its reverse
never does: with ``reverse`` it enters instead if anybody voted for it, and with :class:`KeepEvery`
always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from consilience.fusion.votes import Votes
from consilience.graph.dag import DAG
from consilience.graph.names import Arc

__all__ = ["Decision", "KeepEvery", "Order", "RowByRow", "StrongestFirst", "choose"]

TOLERANCE = 1e-9  # of sums of weights

ENTERED = "entered"
INSTEAD = "entered instead of its reverse"
REVERSED = "turned round"
CYCLE = "closes a cycle"
BELOW = "below the threshold"


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an arc that had votes.

    Parameters
    ----------
    arc
        The arc (from, to).
    votes, out_of
        What it got, and what the sources that have both variables could have given.
    voters
        The sources that voted for it.
    outcome
        ``"entered"``; ``"entered instead of its reverse"`` (the reverse closed a cycle); ``"turned
        round"`` (it closed a cycle, and its reverse entered); ``"closes a cycle"``; ``"below the
        threshold"``.
    path
        For an arc that closed a cycle, the path that it would have closed: from the end of the arc
        to its start.
    """

    arc: Arc
    votes: float
    out_of: float
    voters: tuple[str, ...]
    outcome: str
    path: tuple[str, ...] = ()

    @property
    def is_in(self) -> bool:
        """Whether the arc is in the graph."""
        return self.outcome in (ENTERED, INSTEAD)

    def __str__(self) -> str:
        closed = f" ({' -> '.join(self.path)})" if self.path else ""
        return f"{self.arc[0]} -> {self.arc[1]}: {self.outcome}{closed}"


class Order(Protocol):
    """In which order arcs are looked at."""

    @property
    def reverse(self) -> bool:
        """Whether an arc that closes a cycle is turned round where its reverse has votes."""
        ...

    @property
    def unvoted(self) -> bool:
        """Whether it is turned round even if nobody voted for its reverse."""
        ...

    def arrange(self, votes: Votes) -> list[Arc]:
        """All arcs with votes, the first to enter first."""
        ...


@dataclass(frozen=True, slots=True)
class RowByRow:
    """The paper's order: by the place of the node an arc comes from, then of the one it leads to.

    Parameters
    ----------
    reverse
        Whether an arc that closes a cycle is turned round where its reverse has votes.
    """

    reverse: bool = False
    unvoted: ClassVar[bool] = False

    def arrange(self, votes: Votes) -> list[Arc]:
        """Arcs in the order of the nodes."""
        return list(votes.arcs)


@dataclass(frozen=True, slots=True)
class StrongestFirst:
    """Arcs with more votes first, ties by summed score gain and by name.

    Parameters
    ----------
    reverse
        Whether an arc that closes a cycle is turned round where its reverse has votes.
    """

    reverse: bool = False
    unvoted: ClassVar[bool] = False

    def arrange(self, votes: Votes) -> list[Arc]:
        """Arcs by falling level."""
        return sorted(
            votes.by_arc,
            key=lambda arc: (-round(votes.level(arc), 9), -votes.gains.get(arc, 0.0), arc),
        )


@dataclass(frozen=True, slots=True)
class KeepEvery:
    """Every arc that reaches the threshold stays, in one direction or the other.

    Arcs with more votes enter first, so that of those that would close a cycle the one with the
    fewest votes is turned round, though nobody may have voted for its reverse. No dependence that
    enough sources saw is lost; a direction may be.
    """

    reverse: ClassVar[bool] = True
    unvoted: ClassVar[bool] = True

    def arrange(self, votes: Votes) -> list[Arc]:
        """Arcs by falling level."""
        return StrongestFirst().arrange(votes)


def choose(votes: Votes, threshold: float, order: Order) -> tuple[DAG, tuple[Decision, ...]]:
    """The graph of the arcs that reach a threshold, and what became of every arc with votes.

    Parameters
    ----------
    votes
        The votes.
    threshold
        Level that an arc must reach, in votes of all sources.
    order
        In which order arcs enter.

    Examples
    --------
    >>> from consilience.fusion.voters import Voter
    >>> from consilience.fusion.votes import ArcVotes, count_votes
    >>> dags = {"rome": DAG([("a", "b")]), "oslo": DAG([("a", "b")]), "bonn": DAG([("b", "a")])}
    >>> voters = [Voter(name, dag) for name, dag in dags.items()]
    >>> votes = count_votes(voters, ArcVotes(), dict.fromkeys(dags, 1.0))
    >>> dag, decisions = choose(votes, 1, StrongestFirst())
    >>> for decision in decisions:
    ...     print(decision)
    a -> b: entered
    b -> a: closes a cycle (a -> b)
    """
    children: dict[str, list[str]] = {node: [] for node in votes.nodes}
    entered: set[Arc] = set()
    decisions: dict[Arc, tuple[str, tuple[str, ...]]] = {}
    for arc in order.arrange(votes):
        if arc in entered:  # in place of its reverse
            continue
        if votes.level(arc) < threshold - TOLERANCE:
            decisions[arc] = BELOW, ()
            continue
        path = _path(children, arc[1], arc[0])
        turned = arc[::-1]
        if not path:
            _enter(arc, ENTERED, children, entered, decisions=decisions)
        elif turned not in entered and (
            order.unvoted or (order.reverse and turned in votes.by_arc)
        ):
            _enter(turned, INSTEAD, children, entered, decisions=decisions)
            decisions[arc] = REVERSED, path
        else:
            decisions[arc] = CYCLE, path
    place = {node: i for i, node in enumerate(votes.nodes)}
    dag = DAG(sorted(entered, key=lambda arc: (place[arc[0]], place[arc[1]])), votes.nodes)
    return dag, tuple(_decision(votes, arc, *found) for arc, found in decisions.items())


def _enter(
    arc: Arc,
    outcome: str,
    children: dict[str, list[str]],
    entered: set[Arc],
    *,
    decisions: dict[Arc, tuple[str, tuple[str, ...]]],
) -> None:
    children[arc[0]].append(arc[1])
    entered.add(arc)
    decisions.pop(arc, None)  # it may have been below the threshold by itself
    decisions[arc] = outcome, ()


def _path(children: dict[str, list[str]], start: str, end: str) -> tuple[str, ...]:
    """A shortest directed path; empty if there is none."""
    before: dict[str, str | None] = {start: None}
    line: Sequence[str] = [start]
    while line and end not in before:
        following = []
        for node in line:
            for child in children[node]:
                if child not in before:
                    before[child] = node
                    following.append(child)
        line = following
    if end not in before:
        return ()
    path = [end]
    while (previous := before[path[-1]]) is not None:
        path.append(previous)
    return tuple(path[::-1])


def _decision(votes: Votes, arc: Arc, outcome: str, path: tuple[str, ...]) -> Decision:
    return Decision(arc, votes[arc], votes.out_of(arc), votes.voters(arc), outcome, path)
