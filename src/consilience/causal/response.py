r"""Bounds of an effect, whether it is identified or not.

A node with q parent states and r states answers to its parents by one of :math:`r^q` *response
functions*. In a district S with joint distribution :math:`\rho` over the response functions of its
nodes,

.. math:: Q[S](s, \mathrm{pa}) = \sum_{f :\, f(\mathrm{pa}) = s} \rho(f),

and the left side is known from the recorded variables. P(y | do(x)) is a sum of products, one
factor for each district (:mod:`consilience.causal.identification`). If the factors that are not
identified lie in one district, the question is linear in :math:`\rho`, and its extremes are a
linear program: the bounds are sharp. A condition makes it a ratio of two linear functions, which
the substitution :math:`u = \rho / P(z)` turns into a linear program again. If the factors lie in
several districts, each is bounded alone and the products of these bounds are summed: the bounds
hold, but need not be reached.

Bounds of a contrast are not differences of bounds: the program is asked for the contrast.

If no :math:`\rho` gives the recorded probabilities, the data contradict the graph.

References
----------
A. Balke, J. Pearl (1997). Bounds on treatment effects from studies with imperfect compliance. JASA.
A. Charnes, W. Cooper (1962). Programming with linear fractional functionals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as combinations_of
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.causal.effect_question import hard_sides
from consilience.causal.expression import Expression, families_of, product
from consilience.causal.identification import District, averaged, districts_of_question
from consilience.causal.values import Value, value_of
from consilience.data.variable import Variable
from consilience.errors import InputError, ModelError
from consilience.graph.admg import ADMG

if TYPE_CHECKING:
    from consilience.causal.estimand import Estimand

__all__ = ["Bounds", "bounds_of"]

MOST_COLUMNS = 2_000_000
"""Joint response functions of a district that a program may have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounds:
    """The lowest and highest value of each state's probability, or of its contrast.

    Parameters
    ----------
    variable
        What was asked for.
    low, high
        By code of the state; not a number where the data contradict the graph.
    is_sharp
        Whether every value between the ends is reached by some model that agrees with the data.
    is_consistent
        Whether any model with this graph agrees with the data.
    assumptions
        What must hold for the bounds to be those of the causal answer.
    """

    variable: Variable
    low: Floats
    high: Floats
    is_sharp: bool
    is_consistent: bool = True
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __getitem__(self, state: Any) -> tuple[float, float]:
        """The ends for a state."""
        if not self.is_consistent:
            raise ModelError(
                f"the data contradict this graph: no model with it gives the recorded "
                f"probabilities, so {self.variable.name!r} has no bounds.",
                variable=self.variable.name,
            )
        code = self.variable.code(state)
        return float(self.low[code]), float(self.high[code])

    def __repr__(self) -> str:
        if not self.is_consistent:
            return f"Bounds({self.variable.name}: the data contradict the graph)"
        ends = zip(self.variable.discrete_states, self.low, self.high, strict=True)
        shown = ", ".join(f"{state} [{low:.6g}, {high:.6g}]" for state, low, high in ends)
        return f"Bounds({self.variable.name}: {shown}{'' if self.is_sharp else '; not sharp'})"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def bounds_of(
    asked: Estimand,
    data: Any,
    do: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    *,
    against: Mapping[str, Any] | None = None,
    estimator: Any = None,
    memory_limit: float,
) -> Bounds:
    """Bounds of P(y | do, given), or of its difference to the same under ``against``."""
    if len(asked.y) != 1:
        raise InputError("bounds are of one variable; ask for them one at a time.", parameter="y")
    sides = (do, *([against] if against else []))
    told = asked.assumptions
    if asked.is_identified:
        points = [
            asked.query(data, one, given, estimator=estimator, memory_limit=memory_limit)
            for one in sides
        ]
        value = points[0].values - sum(point.values for point in points[1:])
        return Bounds(points[0].variables[0], value, value, is_sharp=True, assumptions=told)
    if asked.differs:
        asked.known_expression()
    question = _Question.of(asked, data, given, estimator, memory_limit=memory_limit)
    states = [
        (sign * share, asked.checked_states(hard, given))
        for sign, one in zip((1.0, -1.0), sides, strict=False)
        for share, hard in hard_sides(one)
    ]
    y = question.variables[asked.y[0]]
    ends = [question.extremes({y.name: code}, states) for code in range(y.n_states)]
    if any(end is None for end in ends):
        nothing = np.full(y.n_states, np.nan)
        return Bounds(y, nothing, nothing, is_sharp=False, is_consistent=False, assumptions=told)
    low, high = np.array(ends, dtype=float).T
    return Bounds(y, low, high, is_sharp=question.is_sharp, assumptions=told)


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """A question taken apart by district, with the numbers of the identified parts."""

    graph: ADMG
    given: tuple[str, ...]
    variables: Mapping[str, Variable]
    known: Value
    order: tuple[str, ...]
    programs: tuple[_Program, ...]

    @classmethod
    def of(
        cls, asked: Estimand, data: Any, given: Any, estimator: Any, *, memory_limit: float
    ) -> _Question:
        parts = districts_of_question(asked.graph, {*asked.y, *asked.given}, asked.do)
        kept = frozenset().union(*(part.kept for part in parts))
        known, _ = averaged(
            asked.graph,
            product(part.effect for part in parts if part.effect is not None),
            {*kept, *asked.do},
        )
        opened = [part for part in parts if part.effect is None]
        wanted = families_of(product([known, *(part.whole for part in opened)]))
        tables = asked.tables(data, given, estimator, wanted)
        values = tables.values()
        variables = {**tables.variables, **_others(asked, data, tables.variables)}

        def number(expression: Expression) -> Value:
            return value_of(expression, values, variables, memory_limit=memory_limit)

        programs = tuple(
            _Program.of(asked.graph, part, number(part.whole), variables) for part in opened
        )
        order = tuple(node for node in asked.graph.dag.topological_order() if node in kept)
        return cls(asked.graph, asked.given, variables, number(known), order, programs)

    @property
    def is_sharp(self) -> bool:
        """Whether one district at most is open."""
        return len(self.programs) <= 1

    def extremes(
        self, event: Mapping[str, int], states: Sequence[tuple[float, Mapping[str, Any]]]
    ) -> tuple[float, float] | None:
        """Lowest and highest sum of P(event | do, given), each with its weight."""
        weights = [weight for weight, _ in states]
        fixed = [
            {
                name: self.variables[name].code(state)
                for name, state in one.items()
                if name in self.variables
            }
            for _, one in states
        ]
        if self.given and len(fixed) > 1:
            raise InputError(
                "bounds of a contrast or of a distribution that is set are not linear under a "
                "condition; ask for each state alone.",
                parameter="given",
            )
        if len(self.programs) > 1:
            return self._outer(event, fixed, weights)
        [program] = self.programs
        above = [self._coefficients(program, event, one) for one in fixed]
        if not self.given:
            return program.extremes(np.asarray(weights) @ np.array(above))
        return program.extremes(above[0], self._coefficients(program, {}, fixed[0]))

    def _coefficients(
        self, program: _Program, event: Mapping[str, int], fixed: Mapping[str, int]
    ) -> Floats:
        """What each joint response function adds to P(event, given | do)."""
        total = np.zeros(program.n_columns)
        wanted = {**{name: fixed[name] for name in self.given}, **event}
        outside = [node for node in self.order if node not in program.district]
        fixed_from_outside = {k: v for k, v in fixed.items() if k not in self.given}
        for place in self._places(event, fixed, outside):
            codes = program.codes({**fixed_from_outside, **place}, program.kept)
            fits = np.ones(program.n_columns, dtype=bool)
            for name, code in wanted.items():
                if name in codes:
                    fits &= codes[name] == code
            total += fits * self._known_for(place, fixed_from_outside, codes, program.n_columns)
        return total

    def _places(
        self, event: Mapping[str, int], fixed: Mapping[str, int], nodes: Sequence[str]
    ) -> list[dict[str, int]]:
        """All joint states of some nodes that agree with the event and the conditions."""
        wanted = {**{name: fixed[name] for name in self.given}, **event}
        ranges = [
            [wanted[node]] if node in wanted else range(self.variables[node].n_states)
            for node in nodes
        ]
        return [dict(zip(nodes, codes, strict=True)) for codes in combinations_of(*ranges)]

    def _known_at(self, place: Mapping[str, int]) -> float:
        return float(self.known.values[tuple(place[name] for name in self.known.names)])

    def _known_for(
        self,
        place: Mapping[str, int],
        fixed: Mapping[str, int],
        codes: Mapping[str, Integers],
        n_columns: int,
    ) -> Floats:
        """The product of the identified factors, for each joint response function."""
        everything: dict[str, Any] = {**fixed, **place, **codes}
        if not self.known.names:
            return np.broadcast_to(self.known.values, (n_columns,))
        index = tuple(np.broadcast_to(everything[name], n_columns) for name in self.known.names)
        return self.known.values[index]

    def _outer(
        self,
        event: Mapping[str, int],
        fixed: Sequence[Mapping[str, int]],
        weights: Sequence[float],
    ) -> tuple[float, float] | None:
        """Bounds that hold, from bounds of each open district alone."""
        if self.given:
            return 0.0, 1.0
        low = high = 0.0
        for one, weight in zip(fixed, weights, strict=True):
            ends = self._outer_side(event, one)
            if ends is None:
                return None
            first, second = sorted(weight * end for end in ends)
            low, high = low + first, high + second
        return low, high

    def _outer_side(
        self, event: Mapping[str, int], fixed: Mapping[str, int]
    ) -> tuple[float, float] | None:
        low = high = 0.0
        for place in self._places(event, fixed, self.order):
            everything = {**fixed, **place}
            least = most = self._known_at(everything)
            for program in self.programs:
                ends = program.extremes(program.fits(everything))
                if ends is None:
                    return None
                least, most = least * ends[0], most * ends[1]
            low, high = low + least, high + most
        return max(low, 0.0), min(high, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    r"""The joint response functions of a district and what the data say about them.

    ``rows`` and ``right`` are the equations :math:`A \rho = b`; column by column, the response of
    each node is a number whose digits are its answers to the states of its parents.
    """

    graph: ADMG
    district: tuple[str, ...]
    kept: tuple[str, ...]
    variables: Mapping[str, Variable]
    rows: csr_array
    right: Floats

    @classmethod
    def of(
        cls, graph: ADMG, part: District, whole: Value, variables: Mapping[str, Variable]
    ) -> _Program:
        order = [node for node in graph.dag.topological_order() if node in part.district]
        kept = tuple(node for node in order if node in part.kept)
        _check_size(graph, order, variables)
        bare = cls(graph, tuple(order), kept, variables, csr_array((0, 0)), np.zeros(0))
        outside = sorted({p for n in order for p in graph.parents(n)} - set(order))
        sizes = [variables[name].n_states for name in (*outside, *order)]
        target = np.moveaxis(
            whole.values,
            [whole.names.index(name) for name in (*outside, *order)],
            range(len(sizes)),
        )
        pieces, right = [], []
        for place in combinations_of(*(range(variables[name].n_states) for name in outside)):
            codes = bare.codes(dict(zip(outside, place, strict=True)), order)
            shape = [variables[name].n_states for name in order]
            joint = np.ravel_multi_index([codes[name] for name in order], shape)
            n = bare.n_columns
            ones = (np.ones(n), (joint, np.arange(n)))
            pieces.append(csr_array(ones, shape=(prod(shape), n)))
            right.append(target[place].ravel())
        return cls(
            graph, tuple(order), kept, variables, csr_array(vstack(pieces)), np.concatenate(right)
        )

    @property
    def n_columns(self) -> int:
        """Number of joint response functions."""
        return prod(_n_responses(self.graph, node, self.variables) for node in self.district)

    def codes(self, outside: Mapping[str, int], nodes: Sequence[str]) -> dict[str, Integers]:
        """The states of some nodes of the district under each joint response function.

        ``outside`` has the states of everything else, and of nodes of the district that are set.
        """
        found: dict[str, Integers] = {}
        numbers = self._numbers()
        for node in self.district:
            if node not in nodes:
                continue
            parents = self.graph.parents(node)
            state = np.zeros(self.n_columns, dtype=np.int64)
            for parent in parents:
                code = found[parent] if parent in found else outside[parent]
                state = state * self.variables[parent].n_states + code
            r = self.variables[node].n_states
            found[node] = (numbers[node] // r**state) % r
        return found

    def fits(self, place: Mapping[str, int]) -> Floats:
        """Which joint response functions give the kept nodes these states."""
        codes = self.codes(place, self.kept)
        return np.all([codes[name] == place[name] for name in self.kept], axis=0) * 1.0

    def extremes(self, above: Floats, below: Floats | None = None) -> tuple[float, float] | None:
        """Lowest and highest value of a linear function, or of a ratio of two; None if no
        distribution agrees with the data.
        """
        if below is None:
            rows, right, goal = self.rows, self.right, above
        else:
            column = csr_array(-self.right[:, None])
            rows = vstack(
                [hstack([self.rows, column]), hstack([csr_array(below[None]), csr_array((1, 1))])]
            )
            right = np.append(np.zeros(len(self.right)), 1.0)
            goal = np.append(above, 0.0)
        ends = []
        for sign in (1.0, -1.0):
            solved = linprog(sign * goal, A_eq=csr_array(rows), b_eq=right, method="highs")
            if solved.status != 0:
                return None
            ends.append(sign * solved.fun)
        return ends[0], ends[1]

    def _numbers(self) -> dict[str, Integers]:
        """The response of each node, column by column."""
        sizes = [_n_responses(self.graph, node, self.variables) for node in self.district]
        grid = np.unravel_index(np.arange(self.n_columns), sizes)
        return dict(zip(self.district, map(np.asarray, grid), strict=True))


def _n_responses(graph: ADMG, node: str, variables: Mapping[str, Variable]) -> int:
    n_parent_states = prod(variables[parent].n_states for parent in graph.parents(node))
    return variables[node].n_states ** n_parent_states


def _check_size(graph: ADMG, district: Sequence[str], variables: Mapping[str, Variable]) -> None:
    logs = 0.0
    for node in district:
        n_parent_states = prod(variables[parent].n_states for parent in graph.parents(node))
        logs += n_parent_states * float(np.log(variables[node].n_states))
    if logs > np.log(MOST_COLUMNS):
        raise ModelError(
            f"the bounds of the district {_check.listed(district)} need e^{logs:.0f} joint "
            f"response functions; at most {MOST_COLUMNS:,} are tried. Use fewer states or parents.",
            nodes=tuple(district),
        )


def _others(asked: Estimand, data: Any, known: Mapping[str, Variable]) -> dict[str, Variable]:
    """Variables of the question that no family of it names."""
    everything = getattr(data, "variables", None) or data.schema.variables
    return {
        name: everything[name]
        for name in (*asked.y, *asked.do, *asked.given)
        if name not in known and name in everything
    }
