"""What would make an effect identified: a variable to randomise, or a hidden cause to measure.

An experiment that sets w from outside shows the graph without the arcs and hidden causes into w.
With it and with what was recorded, P(y | do(x)) is known if each district that the question needs
is identified in one of the two; a district with w in it only in what was recorded
(:mod:`consilience.causal.identification`). Measuring a hidden cause turns the pair of nodes that
share it into two arcs from a recorded node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from consilience.causal.identification import (
    Hedge,
    ancestors_within,
    conditional_effect,
    districts_of_question,
)
from consilience.graph.admg import ADMG
from consilience.graph.names import Arc

__all__ = ["advice", "measurable", "randomisable"]


def advice(graph: ADMG, y: Sequence[str], x: Sequence[str], z: Sequence[str]) -> str:
    """What to randomise or measure instead, in a sentence."""
    ways = []
    if nodes := randomisable(graph, y, x, z):
        ways.append(f"Randomise {' or '.join(nodes)}")
    else:
        ways.append(f"Randomise {' and '.join(x)}")
    if pairs := measurable(graph, y, x, z):
        causes = " or that of ".join(f"{one} and {two}" for one, two in pairs)
        ways.append(f"measure the hidden cause of {causes}")
    return f"{', or '.join(ways)}."


def randomisable(
    graph: ADMG, y: Collection[str], x: Collection[str], z: Collection[str]
) -> tuple[str, ...]:
    """Single nodes whose randomisation, with what was recorded, identifies the effect.

    Examples
    --------
    >>> randomisable(ADMG([("x", "m"), ("m", "y")], latent=[("m", "x")]), ["y"], ["x"], [])
    ('x',)
    """
    wanted = {*y, *z}
    return tuple(
        node
        for node in graph.nodes
        if node not in wanted and _is_known_with(graph, wanted, x, node)
    )


def _is_known_with(graph: ADMG, y: Collection[str], x: Collection[str], w: str) -> bool:
    """Whether P(y | do(x)) is known from what was recorded and an experiment on w."""
    experiment = graph.cut(into={w})
    rest = ancestors_within(graph, y, set(graph.nodes).difference(x))
    return all(
        _is_known(graph, piece) or (w not in piece and _is_known(experiment, piece))
        for piece in graph.districts_of(rest)
    )


def _is_known(graph: ADMG, piece: frozenset[str]) -> bool:
    """Whether Q of a piece is identified: the effect on it of setting everything else."""
    others = [node for node in graph.nodes if node not in piece]
    return all(part.hedge is None for part in districts_of_question(graph, piece, others))


def measurable(
    graph: ADMG, y: Collection[str], x: Collection[str], z: Collection[str]
) -> tuple[Arc, ...]:
    """Pairs of nodes whose hidden cause, once it is measured, identifies the effect.

    Examples
    --------
    >>> measurable(ADMG([("x", "y")], latent=[("x", "y")]), ["y"], ["x"], [])
    (('x', 'y'),)
    """
    return tuple(
        pair
        for pair, measured in _measured(graph)
        if not isinstance(conditional_effect(measured, y, x, z), Hedge)
    )


def _measured(graph: ADMG) -> Iterator[tuple[Arc, ADMG]]:
    """Each pair, and the graph in which its hidden cause is recorded."""
    for pair in graph.latent:
        cause = " <-> ".join(pair)
        rest = [other for other in graph.latent if other != pair]
        yield pair, ADMG([*graph.arcs, *((cause, end) for end in pair)], rest, graph.nodes)
