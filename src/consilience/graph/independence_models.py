r"""One graph from the independences of many: those that all sources claim, or that any claims.

A graph claims the independences :math:`I_f` that separation reads off it. Neither
:math:`\bigcap_f I_f` nor :math:`\bigcup_f I_f` need be what some graph claims; what can be had is
relative to an order of the variables. Along an order, the smallest graph that claims only what
source :math:`f` claims gives a variable :math:`x` the parents

.. math:: \mathrm{Pa}_f(x) = \{p \text{ before } x : x \not\perp p \mid
    \text{all others before } x\} ,

its boundary among those before it. Then (del Sagrado and Moral 2003, Peña 2011)

- **common independences** (intersection): parents :math:`\bigcup_f \mathrm{Pa}_f(x)`. Every
  independence of the answer among the variables of a source is one of that source's, and no arc can
  be left out without breaking this (for sources over the same variables). Rows of every source can
  be modeled along this graph without bias. It can claim less than the sources have in common.
- **united independences** (union): parents :math:`\bigcap_f \mathrm{Pa}_f(x)`. Every independence
  of the answer follows, by the graphoid axioms, from those of the sources. If some order suits
  all of them, every independence that any source claims holds in the answer; ``keeps`` tells which
  sources keep all of theirs. No source's rows need satisfy the answer: it claims what all of them
  together believe, if all of them are right.

Which parents a source gives for a variable that it lacks nobody knows: it abstains, so that an arc
stays in the union of independences unless a source that has both variables leaves it out.

The order is the one with the fewest arcs: of the answer (intersection), or of all sources' graphs
along the order together (union; none is added where an order suits all). It is the best of all
orders for up to ten variables, by the sums over sets of those before; for more, the best that
exchanging neighbors finds from the orders of the sources (finding the best one is NP-hard).

References
----------
J. del Sagrado, S. Moral (2003). Qualitative combination of Bayesian networks. International Journal
of Intelligent Systems 18(2).
J. M. Peña (2011). Finding consensus Bayesian network structures. Journal of Artificial Intelligence
Research 42.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from consilience import _check, _freeze
from consilience.errors import GraphError, InputError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.graph.separation import boundary

__all__ = ["CombinedIndependences", "common_independences", "united_independences"]

MOST_NODES_EXACTLY = 10

Graphs = Mapping[str, DAG | CPDAG] | Iterable[DAG | CPDAG]
Parents = frozenset[str]
Boundaries = Callable[[str, Parents], list[Parents | None]]


@dataclass(frozen=True, slots=True, eq=False)
class CombinedIndependences:
    """The answer of :func:`common_independences` and :func:`united_independences`.

    Attributes
    ----------
    cpdag
        The graph, as the class of all that claim the same.
    dag
        Its member along the order.
    order
        The order of the variables that it is relative to.
    keeps
        For each source whether all its independences hold in the graph.
    """

    cpdag: CPDAG
    dag: DAG
    order: tuple[str, ...]
    keeps: Mapping[str, bool]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self.cpdag)


def common_independences(
    graphs: Graphs, *, order: Sequence[str] | None = None
) -> CombinedIndependences:
    """A graph whose independences all sources have, with as few arcs as an order allows.

    Parameters
    ----------
    graphs
        DAGs, or CPDAGs of which some DAG is a member, by source or in a list; their nodes may
        differ.
    order
        All variables, those that may be parents of others first; searched for if not given.

    Examples
    --------
    >>> rome, oslo = DAG.parse("[a][b|a][c|b]"), DAG.parse("[a][b][c|a:b]")
    >>> common_independences([rome, oslo]).cpdag.undirected  # they have none in common
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    >>> common_independences([rome, rome]).cpdag.undirected
    (('a', 'b'), ('b', 'c'))
    """
    return _combined("common_independences", graphs, order, join=_all_parents, cost=_n_arcs_of_all)


def united_independences(
    graphs: Graphs, *, order: Sequence[str] | None = None
) -> CombinedIndependences:
    """A graph with the independences that any source has, as far as an order allows.

    Parameters are those of :func:`common_independences`.

    Examples
    --------
    >>> rome, oslo = DAG.parse("[a][b|a][c|b]"), DAG.parse("[a][b][c|a:b]")
    >>> found = united_independences({"rome": rome, "oslo": oslo})
    >>> found.cpdag.undirected, dict(found.keeps)
    ((('b', 'c'),), {'rome': True, 'oslo': True})
    """
    return _combined(
        "united_independences", graphs, order, join=_shared_parents, cost=_n_arcs_of_each
    )


def _combined(
    verb: str,
    graphs: Graphs,
    order: Sequence[str] | None,
    *,
    join: Callable[[Sequence[Parents | None], Sequence[DAG]], Parents],
    cost: Callable[[Sequence[Parents | None]], int],
) -> CombinedIndependences:
    named = _named(verb, graphs)
    dags = list(named.values())
    nodes = tuple(dict.fromkeys(node for dag in dags for node in dag.nodes))
    ask = _asked(dags)
    if order is None:
        along = _best_order(nodes, dags, lambda x, before: cost(ask(x, before)))
    else:
        along = _given_order(verb, order, nodes)
    arcs = []
    for i, node in enumerate(along):
        before = frozenset(along[:i])
        joined = join(ask(node, before), dags)
        arcs += [(parent, node) for parent in along[:i] if parent in joined]
    place = {node: i for i, node in enumerate(nodes)}
    arcs.sort(key=lambda arc: sorted(place[node] for node in arc))
    dag = DAG(arcs, nodes)
    keeps = {name: _claims_all(dag, one) for name, one in named.items()}
    return CombinedIndependences(CPDAG.of(dag), dag, along, keeps)


def _named(verb: str, graphs: Graphs) -> dict[str, DAG]:
    listed = graphs.items() if isinstance(graphs, Mapping) else enumerate(graphs, 1)
    named = {str(name): graph for name, graph in listed}
    for name, graph in named.items():
        if not isinstance(graph, DAG | CPDAG):
            raise InputError(
                f"{verb}: source {name!r} must be a DAG or a CPDAG, got a {type(graph).__name__}.",
                source=name,
            )
    if not named:
        raise InputError(f"{verb}: give at least one graph.", parameter="graphs")
    return {name: g.to_dag() if isinstance(g, CPDAG) else g for name, g in named.items()}


def _given_order(verb: str, order: Sequence[str], nodes: Sequence[str]) -> tuple[str, ...]:
    _check.known("variable", order, nodes)
    if sorted(order) != sorted(nodes):
        lacking = [node for node in nodes if node not in order]
        raise GraphError(
            f"{verb}: order must have every variable once; it lacks {_check.listed(lacking)}."
            if lacking
            else f"{verb}: order must have every variable once, got {_check.listed(order)}."
        )
    return tuple(order)


def _asked(dags: Sequence[DAG]) -> Boundaries:
    """For a variable and those before it the parents of each source, None where it lacks it."""
    known: dict[tuple[int, str, Parents], Parents] = {}
    nodes = [frozenset(dag.nodes) for dag in dags]

    def ask(node: str, before: Parents) -> list[Parents | None]:
        found: list[Parents | None] = []
        for f, dag in enumerate(dags):
            if node not in nodes[f]:
                found.append(None)
                continue
            key = (f, node, before & nodes[f])
            if key not in known:
                known[key] = frozenset(
                    boundary(node, key[2], parents=dag.parents, children=dag.children)
                )
            found.append(known[key])
        return found

    return ask


def _all_parents(found: Sequence[Parents | None], dags: Sequence[DAG]) -> Parents:
    return frozenset().union(*(parents for parents in found if parents is not None))


def _shared_parents(found: Sequence[Parents | None], dags: Sequence[DAG]) -> Parents:
    """Parents that some source gives and no source that has them leaves out."""
    given = _all_parents(found, dags)
    return frozenset(
        parent
        for parent in given
        if all(
            parents is None or parent in parents or parent not in dag.nodes
            for parents, dag in zip(found, dags, strict=True)
        )
    )


def _n_arcs_of_all(found: Sequence[Parents | None]) -> int:
    return len(frozenset().union(*(parents for parents in found if parents is not None)))


def _n_arcs_of_each(found: Sequence[Parents | None]) -> int:
    return sum(len(parents) for parents in found if parents is not None)


def _best_order(
    nodes: Sequence[str], dags: Sequence[DAG], cost: Callable[[str, Parents], int]
) -> tuple[str, ...]:
    if len(nodes) <= MOST_NODES_EXACTLY:
        return _best_of_all(nodes, cost)
    starts = [_completed(dag.topological_order(), nodes) for dag in dags]
    return min((_climbed(list(start), cost) for start in starts), key=lambda found: found[0])[1]


def _best_of_all(nodes: Sequence[str], cost: Callable[[str, Parents], int]) -> tuple[str, ...]:
    """The order of least total cost, by the sums over all sets of variables that come first."""
    best: dict[Parents, tuple[int, tuple[str, ...]]] = {frozenset(): (0, ())}
    for size in range(1, len(nodes) + 1):
        for chosen in map(frozenset, combinations(nodes, size)):
            ways = (
                (best[chosen - {last}][0] + cost(last, chosen - {last}), i, last)
                for i, last in enumerate(nodes)
                if last in chosen
            )
            total, _, last = min(ways)
            best[chosen] = (total, (*best[chosen - {last}][1], last))
    return best[frozenset(nodes)][1]


def _completed(order: Sequence[str], nodes: Sequence[str]) -> tuple[str, ...]:
    return (*order, *(node for node in nodes if node not in order))


def _climbed(order: list[str], cost: Callable[[str, Parents], int]) -> tuple[int, tuple[str, ...]]:
    """Neighbors exchanged while that lowers the total cost."""
    is_better = True
    while is_better:
        is_better = False
        for i in range(len(order) - 1):
            before, one, two = frozenset(order[:i]), order[i], order[i + 1]
            now = cost(one, before) + cost(two, before | {one})
            turned = cost(two, before) + cost(one, before | {two})
            if turned < now:
                order[i], order[i + 1] = two, one
                is_better = True
    total = sum(cost(node, frozenset(order[:i])) for i, node in enumerate(order))
    return total, tuple(order)


def _claims_all(dag: DAG, source: DAG) -> bool:
    """Whether all independences of a source hold: those of each node and those before it do."""
    order = source.topological_order()
    return all(
        not (rest := [p for p in order[:i] if p not in source.parents(node)])
        or dag.is_separated(node, rest, given=source.parents(node))
        for i, node in enumerate(order)
    )
