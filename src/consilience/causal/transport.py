r"""Effects moved from one source to another.

The source F is a root of the graph, and its children are the nodes whose mechanism differs between
sources: the ordinary graph is a selection diagram. The effect in the target source g,

.. math:: P_g(y \mid \mathrm{do}(x)) = \sum_{D \setminus Y} \prod_j Q_g[D_j],

is put together from parts (:mod:`consilience.causal.identification`). A part that the intervention
does not change is taken from what is recorded in g. A part that follows from it is taken from a
study f: from the rows of f as they are, or, if f set some variables from outside, from the graph
without the arcs into these. That is right if no node of the part is a child of F. Refusals name the
node that differs.

References
----------
E. Bareinboim, J. Pearl (2013). A general algorithm for deciding transportability of experimental
results. Journal of Causal Inference 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from consilience.causal.expression import Expression, Fixed, product, total
from consilience.causal.identification import (
    Hedge,
    ancestors_within,
    effect_of_piece,
)
from consilience.graph.admg import ADMG

__all__ = ["Differs", "Moved", "moved_effect"]


@dataclass(frozen=True, slots=True)
class Differs:
    """Why an effect cannot be moved: these nodes differ between the sources."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """The formula in the target, and for each set of nodes the source it is taken from."""

    expression: Expression
    taken: tuple[tuple[frozenset[str], str], ...]


def moved_effect(
    graph: ADMG,
    y: Collection[str],
    x: Collection[str],
    *,
    source: str,
    to: str,
    studies: Mapping[str, Collection[str]],
) -> Moved | Hedge | Differs:
    """P(y | do(x)) in the source ``to``; ``studies`` say what each other source has set."""
    differing = set(graph.dag.children(source))
    plain = graph.subgraph([node for node in graph.nodes if node != source])
    changed = plain.dag.descendants(list(x)) | frozenset(x)
    rest = ancestors_within(plain, y, set(plain.nodes).difference(x))
    parts: list[Expression] = []
    taken: list[tuple[frozenset[str], str]] = []
    problem: Hedge | Differs | None = None
    for piece in plain.districts_of(rest):
        if not piece & changed:
            unchanged = plain.subgraph([node for node in plain.nodes if node not in changed])
            found, origin = effect_of_piece(unchanged, piece, source), to
        elif piece & differing:
            return Differs(tuple(sorted(piece & differing)))
        else:
            found, origin = _from_studies(plain, piece, source, studies)
        if isinstance(found, Hedge):
            problem = problem or found
        else:
            parts.append(Fixed(source, origin, found))
            taken.append((piece, origin))
    if problem is not None:
        return problem
    over = [node for node in plain.dag.topological_order() if node in rest and node not in y]
    return Moved(total(over, product(parts)), tuple(taken))


def _from_studies(
    graph: ADMG, piece: frozenset[str], source: str, studies: Mapping[str, Collection[str]]
) -> tuple[Expression | Hedge, str]:
    """A part from the first study that identifies it."""
    found: Expression | Hedge | None = None
    for name, set_there in studies.items():
        if not piece & set(set_there):
            found = effect_of_piece(graph.cut(into=set(set_there)), piece, source)
            if not isinstance(found, Hedge):
                return found, name
    return (found if isinstance(found, Hedge) else Hedge(piece, piece)), ""
