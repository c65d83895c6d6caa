"""Graphs of well-known models: hidden Markov models and vector autoregressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consilience import _check
from consilience.dynamic.lagged_names import check_plain, lagged, split_lag
from consilience.errors import GraphError
from consilience.graph.dag import DAG

__all__ = ["check_graph", "hidden_markov", "order_of", "vector_autoregression"]


def hidden_markov(
    names: Sequence[str], chains: Sequence[str] = ("z",), autoregressive: Iterable[str] = ()
) -> DAG:
    """The graph of a hidden Markov model: chains that move, and observed nodes that depend on them.

    Parameters
    ----------
    names
        The observed nodes; each is a child of every chain.
    chains
        The hidden nodes; several make a factorial model.
    autoregressive
        Observed nodes that depend on their own last value too.

    Examples
    --------
    >>> hidden_markov(["x"]).arcs
    (('z(t-1)', 'z'), ('z', 'x'))
    """
    _check.names("hidden_markov", names=names, chains=chains, autoregressive=autoregressive)
    observed, hidden = list(names), list(chains)
    check_plain([*observed, *hidden])
    _check.known("node", autoregressive, observed)
    arcs = [(lagged(chain, 1), chain) for chain in hidden]
    arcs += [(chain, name) for name in observed for chain in hidden]
    arcs += [(lagged(name, 1), name) for name in autoregressive]
    return DAG(arcs, nodes=[*hidden, *observed])


def vector_autoregression(names: Sequence[str], order: int = 1) -> DAG:
    """The graph of a vector autoregression: all lags, and all arcs inside the slice in this order.

    With the arcs inside the slice the noise of the variables may have any covariance.

    Examples
    --------
    >>> vector_autoregression(["a", "b"]).parents("b")
    ('a(t-1)', 'b(t-1)', 'a')
    """
    _check.names("vector_autoregression", names=names)
    _check.whole("vector_autoregression", at_least=1, order=order)
    every = list(names)
    check_plain(every)
    arcs = []
    for place, name in enumerate(every):
        arcs += [(lagged(other, lag), name) for lag in range(1, order + 1) for other in every]
        arcs += [(other, name) for other in every[:place]]
    return DAG(arcs, nodes=every)


def order_of(dag: DAG) -> int:
    """How many steps a node of the graph lies back at most; at least one."""
    return max([1, *(split_lag(node)[1] for node in dag.nodes)])


def check_graph(dag: DAG, *, source: str | None = None, order: int | None = None) -> None:
    """Refuse an arc into the past, or a lag beyond the order."""
    for start, end in dag.arcs:
        if split_lag(end)[1]:
            raise GraphError(
                f"the arc {start!r} -> {end!r} leads into the past: {end!r} is a lagged node and "
                "has no parents. Arcs lead into nodes of the current slice, such as "
                f"{split_lag(end)[0]!r}.",
                arc=(start, end),
            )
    for node in dag.nodes:
        lag = split_lag(node)[1]
        if order is not None and lag > order and node != source:
            raise GraphError(
                f"the node {node!r} lies {lag} steps back, but the order is {order}. Raise the "
                "order, or use a smaller lag.",
                node=node,
            )
