r"""The verb :func:`identify`: whether a causal question can be answered from what was recorded.

The answer is an :class:`Estimand`. If the question is identified, it holds a formula that needs the
counts of a few families only, and computes it from a network or from rows. If it is not, it holds
the hedge that shows why, says what to measure or randomise instead, and gives bounds
(:mod:`consilience.causal.response`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.causal.expression import Expression, families_of, latex_of, text_of
from consilience.causal.family_tables import FamilyTables, tables_of
from consilience.causal.identification import Hedge, averaged, conditional_effect
from consilience.causal.response import Bounds, bounds_of
from consilience.causal.transport import Differs, moved_effect
from consilience.causal.values import Value, value_of
from consilience.data.table import Table
from consilience.errors import DataError, GraphError, InputError, ModelError
from consilience.graph.admg import ADMG
from consilience.graph.dag import DAG
from consilience.inference.evidence import names_of
from consilience.network.factor import Factor
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.parameters.estimator import Estimator
from consilience.statistics.family import Family
from consilience.statistics.request import Engine

__all__ = ["Estimand", "Target", "graph_of", "identify"]


@dataclass(frozen=True, slots=True)
class Target:
    """The source that an effect is moved to."""

    source: str
    to: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimand:
    """Whether P(y | do(x), given) is identified, and its formula.

    Attributes
    ----------
    graph, y, do, given
        The question.
    expression
        The formula, or None.
    hedge
        None, or the two sets of nodes that show why there is no formula.
    averaged
        Variables that the formula contains although their value must not matter; it is averaged
        over them with their probabilities.
    target, differs
        The source that the effect is moved to, and the nodes that forbid it because they differ
        between sources.
    """

    graph: ADMG
    y: tuple[str, ...]
    do: tuple[str, ...]
    given: tuple[str, ...]
    expression: Expression | None
    hedge: Hedge | None
    averaged: tuple[str, ...] = ()
    target: Target | None = None
    differs: tuple[str, ...] = ()

    @property
    def is_identified(self) -> bool:
        """Whether the recorded variables determine the answer."""
        return self.expression is not None

    @property
    def families(self) -> tuple[Family, ...]:
        """The families whose counts the formula needs; none if there is no formula."""
        return () if self.expression is None else families_of(self.expression)

    @property
    def latex(self) -> str:
        """The formula in LaTeX, without dollar signs."""
        return latex_of(self.known_expression())

    @property
    def question(self) -> str:
        """What is asked: ``P(y | do(x), z)``."""
        done = [f"do({', '.join(self.do)})"] if self.do else []
        place = [] if self.target is None else [f"{self.target.source}={self.target.to}"]
        given = ", ".join([*done, *self.given, *place])
        return f"P({', '.join(self.y)} | {given})" if given else f"P({', '.join(self.y)})"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the answer to be the causal one."""
        pairs = ", ".join(f"{one} <-> {two}" for one, two in self.graph.latent)
        hidden = f" but those named: {pairs}" if pairs else ""
        spread = [
            f"The formula is averaged over {name}, whose value must not matter."
            for name in self.averaged
        ]
        return (
            "Causal Markov: each variable depends on its direct causes in the graph and on nothing "
            "else.",
            f"The variables have no hidden common causes{hidden}.",
            "Positivity: every state that the formula conditions on can occur.",
            *spread,
            *self._assumed_equal(),
        )

    def _assumed_equal(self) -> tuple[str, ...]:
        if self.target is None:
            return ()
        differing = self.graph.dag.children(self.target.source)
        return (
            "Mechanisms are equal in all sources, but for "
            f"{_check.listed(differing)}, which may differ.",
        )

    def query(
        self,
        data: Network | Table | Engine,
        do: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        *,
        estimator: Estimator | None = None,
        memory_limit: float = MEMORY_LIMIT,
    ) -> Factor:
        """The distribution of y under the intervention, from a network or from rows.

        Parameters
        ----------
        data
            A network, whose hidden nodes are never looked at; or rows, of which only the counts of
            ``families`` are asked for.
        do, given
            A state for each variable that is set, and for each that is seen. ``given`` may name the
            source as well.
        estimator
            How counts become tables; by default ``cs.Dirichlet(per_cell=1)``.
        """
        expression = self.known_expression()
        states = self.checked_states(do, given)
        tables, source = self.tables(data, given, estimator)
        found = value_of(
            expression, tables.values(source), tables.variables, memory_limit=memory_limit
        )
        values = self.at(found, tables, states)
        variables = [tables.variables[name] for name in self.y]
        return Factor(tuple(variables), values / values.sum())

    def bounds(
        self,
        data: Network | Table | Engine,
        do: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        *,
        estimator: Estimator | None = None,
        memory_limit: float = MEMORY_LIMIT,
    ) -> Bounds:
        """The lowest and highest probability of each state of y that the data allow."""
        return bounds_of(self, data, do, given, estimator=estimator, memory_limit=memory_limit)

    def tables(
        self,
        data: Network | Table | Engine,
        given: Mapping[str, Any] | None,
        estimator: Estimator | None,
        families: Sequence[Family] | None = None,
    ) -> tuple[FamilyTables, int | None]:
        """The tables that the formula needs, and the code of the source if one is given."""
        outside = {k: v for k, v in (given or {}).items() if k not in self.graph.nodes}
        wanted = self.families if families is None else families
        if isinstance(data, Network):
            _check.known("node", outside, [] if data.source is None else [data.source])
            return tables_of(data, wanted, estimator=estimator, given=outside), None
        tables = tables_of(data, wanted, estimator=estimator)
        _check.known("variable", outside, [] if tables.source is None else [tables.source.name])
        if not outside or tables.source is None:
            return tables, None
        return tables, tables.source.code(outside[tables.source.name])

    def at(
        self,
        found: Value,
        tables: FamilyTables,
        states: Mapping[str, Any],
        first: str | None = None,
    ) -> Floats:
        """The numbers for some states, one axis for each variable of y (draws first)."""
        kept = [] if first is None else [first]
        place = tuple(
            slice(None) if name in (*self.y, *kept) else tables.variables[name].code(states[name])
            for name in found.names
        )
        values, names = found.values[place], [n for n in found.names if n in (*self.y, *kept)]
        if found.undefined is not None and np.any(found.undefined[place]):
            raise _no_rows(tables)
        order = [names.index(name) for name in (*kept, *self.y) if name in names]
        return values.transpose(order)

    def checked_states(
        self, do: Mapping[str, Any], given: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The states that are set and seen, refused unless they answer the question."""
        for kind, wanted, states in (("do", self.do, do), ("given", self.given, given or {})):
            for name in wanted:
                if name not in states:
                    raise InputError(
                        f"{self.question} needs a state of {name!r} in {kind}=.", variable=name
                    )
        extra = [name for name in do if name not in self.do]
        if extra:
            raise InputError(
                f"{self.question} does not set {extra[0]!r}; ask anew with identify(...).",
                variable=extra[0],
            )
        strange = [n for n in (given or {}) if n in self.graph.nodes and n not in self.given]
        if strange:
            raise InputError(
                f"{self.question} is not given {strange[0]!r}; ask anew with identify(...).",
                variable=strange[0],
            )
        return {**(given or {}), **do}

    def known_expression(self) -> Expression:
        """The formula, or an error that says why there is none."""
        if self.expression is None:
            advice = "" if self.differs else " Ask for its bounds: found.bounds(...)."
            raise ModelError(f"{self}{advice}", nodes=self.differs)
        return self.expression

    def __str__(self) -> str:
        if self.expression is not None:
            return f"{self.question} = {text_of(self.expression)}"
        if self.differs:
            return (
                f"{self.question} cannot be moved: {', '.join(self.differs)} differs between the "
                "sources and follows from what is set."
            )
        return f"{self.question} is not identified: the hedge {self.hedge} stands in the way."

    def __repr__(self) -> str:
        return f"Estimand({self})"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def identify(
    graph: DAG | ADMG,
    y: str | Iterable[str],
    *,
    do: str | Iterable[str],
    given: str | Iterable[str] = (),
    source: str | None = None,
    to: str | None = None,
    experiments: Mapping[str, Iterable[str]] | None = None,
) -> Estimand:
    """Whether, and how, P(y | do, given) can be computed from the recorded variables.

    The answer is complete: what is refused cannot be computed by any method without further
    assumptions. Time grows with the number of nodes and districts, not with states.

    Parameters
    ----------
    graph
        A DAG, or an :class:`ADMG` with hidden common causes.
    y, do, given
        Names: what is asked, what is set, what is seen after it was set.
    source, to, experiments
        For an effect in the source ``to`` from studies elsewhere: the source's node, whose children
        are the nodes that differ between sources; and for each other source that serves, the
        variables that were set there from outside (none for a study that only looked on). Of ``to``
        only what the intervention does not change is used; see
        :mod:`consilience.causal.transport`.

    Examples
    --------
    >>> from consilience.graph.admg import ADMG
    >>> found = identify(ADMG([("x", "m"), ("m", "y")], latent=[("x", "y")]), "y", do="x")
    >>> print(found)
    P(y | do(x)) = sum_m P(m | x) sum_x' P(x') P(y | x', m)
    >>> print(identify(ADMG([("x", "y")], latent=[("x", "y")]), "y", do="x"))
    P(y | do(x)) is not identified: the hedge {x, y} and {y} stands in the way.
    """
    whole = graph_of(graph)
    sets = {"y": names_of(y), "do": names_of(do), "given": names_of(given)}
    _check_sets(whole, sets)
    question = (tuple(sets["y"]), tuple(sets["do"]), tuple(sets["given"]))
    if to is not None or experiments is not None:
        return _moved(whole, question, source, to, experiments=experiments or {})
    found = conditional_effect(whole, sets["y"], sets["do"], sets["given"])
    if isinstance(found, Hedge):
        return Estimand(whole, *question, None, found)
    expression, extra = averaged(whole, found.expression, [n for s in sets.values() for n in s])
    return Estimand(whole, *question, expression, None, extra)


def _moved(
    graph: ADMG,
    question: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    source: str | None,
    to: str | None,
    *,
    experiments: Mapping[str, Iterable[str]],
) -> Estimand:
    """The estimand of an effect in another source."""
    y, do, given = question
    if source is None or to is None or not experiments or given:
        raise InputError(
            "identify: an effect is moved by source= (the node), to= (the target) and experiments= "
            "(what was set in the other sources), without given=.",
            parameter="to",
        )
    _check.known("node", [source], graph.nodes)
    studies = {name: tuple(names_of(list(set_there))) for name, set_there in experiments.items()}
    for set_there in studies.values():
        _check.known("node", set_there, graph.nodes)
    found = moved_effect(graph, y, do, source=source, to=to, studies=studies)
    place = Target(source, to)
    if isinstance(found, Hedge):
        return Estimand(graph, *question, None, found, target=place)
    if isinstance(found, Differs):
        return Estimand(graph, *question, None, None, target=place, differs=found.nodes)
    expression, extra = averaged(graph, found.expression, (*y, *do))
    return Estimand(graph, *question, expression, None, extra, place)


def graph_of(graph: DAG | ADMG) -> ADMG:
    """The graph with its hidden causes; a DAG has none."""
    if isinstance(graph, ADMG):
        return graph
    if isinstance(graph, DAG):
        return ADMG(graph.arcs, (), graph.nodes)
    raise InputError(
        f"graph must be a DAG or a cs.causal.ADMG, got a {type(graph).__name__}.",
        parameter="graph",
    )


def _check_sets(graph: ADMG, sets: Mapping[str, Sequence[str]]) -> None:
    seen: dict[str, str] = {}
    for kind, names in sets.items():
        _check.known("node", names, graph.nodes)
        for name in names:
            if name in seen:
                raise GraphError(
                    f"{name!r} is in {seen[name]!r} and in {kind!r}; each variable has one place.",
                    node=name,
                )
            seen[name] = kind
    if not sets["y"]:
        raise InputError("y must name at least one variable.", parameter="y")


def _no_rows(tables: FamilyTables) -> DataError:
    """The error of a formula that conditions on what never occurs."""
    family, gaps = next(iter(tables.unseen.items()))
    place = np.argwhere(gaps > 0)[0]
    states = ", ".join(
        f"{name}={tables.variables[name].discrete_states[code]}"
        for name, code in zip(family.parents, place, strict=True)
    )
    return DataError(
        f"P({family.child} | {', '.join(family.parents)}) is asked for where {states}, which never "
        "occurs (positivity). An estimator with a prior, such as cs.Dirichlet(per_cell=1), answers "
        "from the prior there.",
        child=family.child,
        states=states,
    )
