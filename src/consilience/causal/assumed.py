"""What causal answers take for granted, in sentences.

No amount of rows can check all of it, so every answer carries its own in ``.assumptions``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from consilience import _check
from consilience.graph.admg import ADMG
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.network.network import Network

__all__ = [
    "GAUSSIAN",
    "INDEPENDENT",
    "IN_NETWORK",
    "LEARNED",
    "MARKOV",
    "NO_HIDDEN",
    "of_graph",
    "of_network",
    "of_sources",
    "undirected",
]

MARKOV = (
    "Causal Markov: each variable depends on its direct causes in the graph and on nothing else."
)
NO_HIDDEN = "The variables of the graph have no hidden common causes."
LEARNED = (
    "Faithfulness: independences in the rows come from the graph, not from cancelling effects."
)
IN_NETWORK = "Causal Markov, and no hidden common causes but those in the network."
INDEPENDENT = "The noises of different variables are independent of each other."
GAUSSIAN = "Continuous variables keep their standardised residual in the other world."


def of_graph(graph: ADMG) -> tuple[str, ...]:
    """What a graph with hidden causes claims."""
    pairs = ", ".join(f"{one} <-> {two}" for one, two in graph.latent)
    hidden = f" but those named: {pairs}" if pairs else ""
    return MARKOV, f"The variables have no hidden common causes{hidden}."


def of_network(net: Network, about: Iterable[str]) -> tuple[str, ...]:
    """What a network claims about some nodes: also the directions that rows cannot show."""
    dag = net.dag if net.source is None else net.dag.without(net.source)
    nodes = [name for name in about if name != net.source]
    involved = dag.ancestors(nodes) | frozenset(nodes)
    return MARKOV, NO_HIDDEN, *undirected(dag, involved), *_equal(net, involved)


def of_sources(source: str | None, graph: ADMG, *, is_apart: bool) -> tuple[str, ...]:
    """What is taken to be equal between the sources of rows, if the graph does not say it."""
    if source is None or source in graph.nodes:
        return ()
    if is_apart:
        return (f"Equal in all sources of {source!r}: the graph; each has tables of its own.",)
    return (f"Equal in all sources of {source!r}: everything; their rows are pooled.",)


def undirected(dag: DAG, among: Collection[str]) -> tuple[str, ...]:
    """The arcs among some nodes that rows alone cannot direct, in a sentence if there are any."""
    pairs = [pair for pair in CPDAG.of(dag).undirected if set(pair) <= set(among)]
    if not pairs:
        return ()
    named = _check.listed(f"{one} - {two}" for one, two in pairs)
    return (f"The arcs point as the graph says; rows alone cannot direct {named}.",)


def _equal(net: Network, involved: Collection[str]) -> tuple[str, ...]:
    """What is taken to be equal between sources."""
    if net.source is None:
        return ()
    differing = net.dag.children(net.source)
    equal = [node for node in net.dag.nodes if node in involved and node not in differing]
    return (f"Equal in all sources: {_check.listed(equal)}.",) if equal else ()
