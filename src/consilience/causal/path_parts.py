r"""The verb :func:`path_effects`: what of an effect goes along which paths.

The node a is set to one state along some paths and to another along all others. With E(i, j) the
value of y when a is i for the arc from a to y and j for all other paths,

.. math::
    \text{total} = E(1, 1) - E(0, 0), \quad \text{direct} = E(1, 0) - E(0, 0), \quad
    \text{indirect} = E(0, 1) - E(0, 0) .

They need not add up: total = direct - [E(1, 0) - E(1, 1)]. *Spurious* is what total leaves of the
difference between those who have a = 1 and those who have a = 0.

A node that is needed in both worlds, because an included and an excluded path go through it (a
*recanting witness*), has no answer without a mechanism: such sets of paths are refused by name.

References
----------
J. Pearl (2001). Direct and indirect effects. UAI.
C. Avin, I. Shpitser, J. Pearl (2005). Identifiability of path-specific effects. IJCAI.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from consilience import _check
from consilience.causal.assumed import IN_NETWORK, INDEPENDENT
from consilience.causal.effect_question import check_state, set_text
from consilience.errors import GraphError, InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc, unique_pairs
from consilience.graph.separation import closure
from consilience.inference.intervention import intervene
from consilience.network.network import Network

__all__ = ["PathEffects", "path_effects"]

PLUS = "+"


@dataclass(frozen=True, slots=True)
class PathEffects:
    """Parts of the effect of one variable on another.

    Attributes
    ----------
    total, direct, indirect
        Of setting the variable along all paths, along its arc into y, along all other paths.
    along
        Of setting it along the paths made of the arcs that were asked for; None if none were.
    spurious
        What is seen between the two groups beyond the total effect.
    """

    question: str
    total: float
    direct: float
    indirect: float
    spurious: float
    along: float | None
    assumptions: tuple[str, ...] = (IN_NETWORK, INDEPENDENT)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def path_effects(
    net: Network,
    y: str,
    *,
    do: Mapping[str, Any],
    against: Mapping[str, Any],
    state: Any = None,
    along: Iterable[Arc] = (),
) -> PathEffects:
    """The total, direct, indirect and spurious part of an effect.

    Parameters
    ----------
    y, state
        The variable, and its state if it is discrete; a continuous one is judged by its mean.
    do, against
        Two states of one variable.
    along
        Arcs: the effect along the paths from the variable to y that consist of them.
    """
    if len(do) != 1 or set(do) != set(against):
        raise InputError(
            "path_effects: do and against set one and the same variable.", parameter="do"
        )
    [(a, high)], [low] = do.items(), against.values()
    _check.known("node", [y, a], net.variables)
    if a == y:
        raise InputError("path_effects: the variable that is set is not y.", parameter="do")
    check_state("path_effects", net.variables[y], state)
    arcs = unique_pairs(along)
    for arc in arcs:
        if arc not in net.dag.arcs:
            raise GraphError(f"there is no arc {arc[0]!r} -> {arc[1]!r}.", arc=arc)

    def level(value: Any, kept: Iterable[Arc], other: Any) -> float:
        return _level(_split(net, y, a, value, other=other, arcs=set(kept)), y, state)

    rest = [arc for arc in net.dag.arcs if arc != (a, y)]
    base = level(low, (), low)
    total = level(high, net.dag.arcs, low) - base
    seen = [_seen(net, y, state, {a: value}) for value in (high, low)]
    return PathEffects(
        f"{set_text(a, low)} to {set_text(a, high)}, on {y if state is None else f'{y}={state}'}",
        total,
        level(high, [(a, y)], low) - base if (a, y) in net.dag.arcs else 0.0,
        level(high, rest, low) - base,
        seen[0] - seen[1] - total,
        level(high, arcs, low) - base if arcs else None,
    )


def _split(net: Network, y: str, a: str, value: Any, *, other: Any, arcs: set[Arc]) -> Network:
    """The network in which a has a value along some arcs and another along all others."""
    active = _active(net.dag, y, a, arcs)
    _refuse_witness(net.dag, y, a, arcs, active=active)
    names = {name: replace(net.variables[name], name=name + PLUS) for name in active}
    world = intervene(net, {a: other})
    high = intervene(net, {a: value})[a]
    local = list(world.distributions.values())
    local.append(replace(high, child=names[a]))
    for name in net.dag.topological_order():
        if name in active and name != a:
            given = tuple(
                names[p.name] if p.name in active and (p.name, name) in arcs else p
                for p in net[name].given
            )
            local.append(replace(net[name], child=names[name], given=given, posterior=None))
    return Network.of(local, source=net.source)


def _active(dag: DAG, y: str, a: str, arcs: set[Arc]) -> set[str]:
    """The nodes on paths from a to y that consist of these arcs, a itself included."""
    down = closure([a], lambda n: (c for c in dag.children(n) if (n, c) in arcs))
    up = closure([y], lambda n: (p for p in dag.parents(n) if (p, n) in arcs))
    return (down & up) | {a}


def _refuse_witness(dag: DAG, y: str, a: str, arcs: set[Arc], *, active: set[str]) -> None:
    leading = dag.ancestors(y) | {y}
    for name in sorted(active - {a, y}):
        left = [c for c in dag.children(name) if c in leading and (name, c) not in arcs]
        if left:
            raise GraphError(
                f"{name!r} lies on an included path and, by the arc to {left[0]!r}, on an excluded "
                "one: its answer is needed in both worlds (a recanting witness). Include both arcs "
                "or neither.",
                node=name,
            )


def _level(net: Network, y: str, state: Any) -> float:
    name = y + PLUS if y + PLUS in net.variables else y
    return _seen(net, name, state, {})


def _seen(net: Network, y: str, state: Any, given: Mapping[str, Any]) -> float:
    belief: Any = net.query(y, given=dict(given))
    return float(belief.mean) if net.variables[y].is_continuous else float(belief[state])
