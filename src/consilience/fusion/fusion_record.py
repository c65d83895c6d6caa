"""The record :class:`Fusion`: the fused network, and who voted for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from consilience import _freeze
from consilience.fusion.choosing import Decision
from consilience.fusion.heterogeneity import Heterogeneity
from consilience.fusion.votes import Votes
from consilience.graph.dag import DAG
from consilience.network.network import Network

__all__ = ["Fusion"]

N_NODES = 16  # a larger matrix of votes is not printed
N_VOTERS = 6


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fusion:
    """What :func:`consilience.fuse` gives; ``print`` shows votes, decisions and notes.

    Attributes
    ----------
    dag
        The fused graph, over the variables of all sources.
    network
        The fused network; None if the sources were graphs without parameters.
    votes
        Who voted for which arc.
    threshold
        Level that an arc had to reach, in votes of all sources.
    rule
        How the threshold was chosen, in words.
    decisions
        What became of every arc with votes, in the order in which they were looked at.
    sources
        The graph of each source.
    weights
        How much each source counts; they sum to the number of sources.
    notes
        What a reader should know, one sentence each.
    heterogeneity
        By child how far the sources differ about its family, where parameters were pooled.
    """

    dag: DAG
    network: Network | None
    votes: Votes
    threshold: float
    rule: str
    decisions: tuple[Decision, ...]
    sources: Mapping[str, DAG]
    weights: Mapping[str, float]
    notes: tuple[str, ...] = ()
    heterogeneity: Mapping[str, Heterogeneity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def entered(self) -> tuple[Decision, ...]:
        """Decisions about the arcs of the fused graph."""
        return tuple(decision for decision in self.decisions if decision.is_in)

    @property
    def dropped(self) -> tuple[Decision, ...]:
        """Decisions about the arcs with votes that are not in the fused graph."""
        return tuple(decision for decision in self.decisions if not decision.is_in)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"Fusion({len(self.sources)} sources, {len(self.dag.nodes)} nodes, "
            f"{len(self.dag.arcs)} arcs at threshold {self.threshold:.4g})"
        )

    def __str__(self) -> str:
        return report(self)


def report(fusion: Fusion) -> str:
    """The story of a fusion as text for a terminal."""
    n_sources = len(fusion.sources)
    lines = [
        f"sources     {n_sources}: {_shortened(tuple(fusion.sources))}",
        f"threshold   {fusion.threshold:.4g} of {n_sources} votes ({fusion.rule})",
        f"fused       {fusion.dag!r}",
    ]
    weights = fusion.weights
    if max(weights.values()) > min(weights.values()) + 1e-9:
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
        lines.append(f"weights     {shown}")
    if fusion.votes.by_arc:
        if len(fusion.votes.nodes) <= N_NODES:
            lines += ["", *_matrix(fusion.votes)]
        lines += ["", *_decisions(fusion)]
    return "\n".join([*lines, *([""] if fusion.notes else []), *fusion.notes])


def _matrix(votes: Votes) -> list[str]:
    """The votes from each node (row) to each other one; empty where there are none."""
    texts = [[f"{vote:.3g}" if vote else "." for vote in row] for row in votes.matrix]
    width = max(len(text) for row in (votes.nodes, *texts) for text in row)
    name = max(map(len, votes.nodes))
    head = f"{'from / to':<{max(name, 9)}}"
    lines = [head + "".join(f"  {node:>{width}}" for node in votes.nodes)]
    for node, row in zip(votes.nodes, texts, strict=True):
        lines.append(f"{node:<{max(name, 9)}}" + "".join(f"  {text:>{width}}" for text in row))
    return lines


def _decisions(fusion: Fusion) -> list[str]:
    """One line for each arc: votes, what became of it, who voted."""
    arcs = [f"{d.arc[0]} -> {d.arc[1]}" for d in fusion.decisions]
    votes = [f"{d.votes:.3g} of {d.out_of:.3g}" for d in fusion.decisions]
    outcomes = [str(d).split(": ", 1)[1] for d in fusion.decisions]
    wide = [
        max(len(head), *map(len, texts))
        for head, texts in (("arc", arcs), ("votes", votes), ("outcome", outcomes))
    ]
    rows = zip(arcs, votes, outcomes, (_shortened(d.voters) for d in fusion.decisions), strict=True)
    return [
        f"{arc:<{wide[0]}}  {vote:<{wide[1]}}  {outcome:<{wide[2]}}  {voters}".rstrip()
        for arc, vote, outcome, voters in [("arc", "votes", "outcome", "voters"), *rows]
    ]


def _shortened(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:N_VOTERS])
    return shown if len(names) <= N_VOTERS else f"{shown} and {len(names) - N_VOTERS} more"
