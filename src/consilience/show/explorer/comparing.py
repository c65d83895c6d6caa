"""A second network on the page: one layout for both graphs, and the beliefs of the second.

The places are those of the two graphs together, over the nodes of the first; the source stands
above the rest with its stubs, as it does without a second network. Every arc has a kind: *shared*
by both, *extra* (only in the first), *missing* (only in the second) or *turned*, which is drawn as
the first directs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consilience.errors import ConsilienceError
from consilience.graph.arc_comparison import arc_differences
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.show.explorer.answers import Answers
from consilience.show.explorer.places import laid_out, points_of, sizes_of
from consilience.show.explorer.state import question_of
from consilience.show.pair import LOOKS, drawn_arcs
from consilience.show.panels.question import Subject
from consilience.show.picture import together

__all__ = ["aligned_places", "other_answer"]


def aligned_places(net: Network, other: Network) -> dict[str, Any]:
    """Boxes and routes of both graphs, ready for JSON; a route ends with the kind of its arc."""
    first, second = _graphs(net, other)
    found = arc_differences(first, second)
    whole = together(second, found.extra)
    stubs = [] if net.source is None else [(net.source, n) for n in net.dag.children(net.source)]
    drawn = laid_out(
        DAG([*stubs, *whole.arcs], nodes=net.dag.nodes), sizes_of(net, net.dag.nodes), net.source
    )
    kinds = {kind: getattr(found, kind) for kind in LOOKS}
    return {
        **drawn.places,
        "routes": [
            *([*arc, points_of(drawn.layout.routes[arc]), "stub"] for arc in stubs),
            *(
                [*each.arc, points_of(each.points), each.kind]
                for each in drawn_arcs(drawn.layout, kinds, LOOKS)
            ),
        ],
        "counts": {kind: len(arcs) for kind, arcs in kinds.items()},
    }


def _graphs(net: Network, other: Network) -> tuple[DAG, DAG]:
    """Both graphs over the nodes of the first, without its source."""
    names = [name for name in net.dag.nodes if name != net.source]
    known = set(names) - {other.source}
    arcs = [arc for arc in other.dag.arcs if known.issuperset(arc)]
    mine = [arc for arc in net.dag.arcs if net.source not in arc]
    return DAG(mine, nodes=names), DAG(arcs, nodes=names)


def other_answer(
    answers: Answers, net: Network, other: Network, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """What the second network believes of the nodes of the first, in the order of its states.

    Where it cannot be asked, the reason stands in ``other_problem``.
    """
    question = {key: asked[key] for key in ("given", "do") if key in asked}
    try:
        found = answers.beliefs(question_of(Subject(other), {**question, "sources": []}))["all"]
    except ConsilienceError as problem:
        return {"other": None, "other_problem": f"The second network: {problem}"}
    shared = (name for name in net.variables if name in found)
    beliefs = {name: _in_order(net, other, name, found[name]) for name in shared}
    return {"other": {name: one for name, one in beliefs.items() if one is not None}}


def _in_order(net: Network, other: Network, name: str, belief: Any) -> Any:
    """The belief by the first network's states; None if only one of them has states."""
    mine, theirs = net.variables[name], other.variables[name]
    if mine.is_continuous != theirs.is_continuous:
        return None
    if mine.is_continuous:
        return belief
    known = dict(zip(theirs.discrete_states, belief, strict=True))
    return [known.get(state, 0.0) for state in mine.discrete_states]
