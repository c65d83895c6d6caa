r"""The verb :func:`identify`: whether a causal question can be answered from what was recorded.

The answer is an :class:`Estimand`. If the question is identified, it holds a formula that needs the
counts of a few families only, and computes it from a network or from rows. If it is not, it holds
the hedge that shows why, says what to measure or randomise instead, and gives bounds
(:mod:`consilience.causal.response`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.causal.assumed import of_graph
from consilience.causal.effect_question import hard_sides
from consilience.causal.expression import Expression, families_of, latex_of, text_of
from consilience.causal.family_tables import FamilyTables, tables_of
from consilience.causal.identification import Hedge, averaged, conditional_effect
from consilience.causal.instead import advice
from consilience.causal.response import Bounds, bounds_of
from consilience.causal.transport import Differs, moved_effect
from consilience.causal.values import DRAW, Value, value_of
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.errors import DataError, GraphError, InputError, ModelError
from consilience.graph.admg import ADMG
from consilience.graph.dag import DAG
from consilience.inference.evidence import names_of
from consilience.network.factor import Factor
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.parameters.estimator import Estimator
from consilience.parameters.hierarchical import HDMCS
from consilience.statistics.family import Family
from consilience.statistics.gather import engine_of
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
    def advice(self) -> str:
        """What to randomise or measure instead; nothing where the answer is identified."""
        if self.is_identified:
            return ""
        if self.target is not None:
            return f"Randomise {' and '.join(self.do)} in {self.target.to}."
        return advice(self.graph, self.y, self.do, self.given)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the answer to be the causal one."""
        spread = [
            f"The formula is averaged over {name}, whose value must not matter."
            for name in self.averaged
        ]
        return (
            *of_graph(self.graph),
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
            A state for each variable that is set, or ``Soft({...})``, and for each that is seen.
            ``given`` may name the source as well.
        estimator
            How counts become tables; by default ``cs.Dirichlet(per_cell=1)``, of several sources
            ``cs.HDMCS()``: then the answer is that of all sources with their shares, or of the one
            that ``given`` names.
        """
        self.known_expression()
        tables = self.tables(data, given, estimator)
        whole = self.value(tables, tables.values(), memory_limit=memory_limit)
        values = self.distribution(whole, tables, do, given)
        return Factor(tuple(tables.variables[name] for name in self.y), values)

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
    ) -> FamilyTables:
        """The tables that the formula needs, of one source if ``given`` names it."""
        outside = {k: v for k, v in (given or {}).items() if k not in self.graph.nodes}
        wanted = self.families if families is None else families
        if isinstance(data, Network):
            _check.known("node", outside, [] if data.source is None else [data.source])
            return tables_of(data, wanted, estimator=estimator, given=outside)
        source = engine_of(data).schema.source
        _check.known("variable", outside, [] if source is None else [source.name])
        is_apart = self.is_identified and self._is_apart(source)
        if estimator is None and (outside or is_apart):
            estimator = HDMCS()
        tables = tables_of(data, wanted, estimator=estimator)
        if tables.source is None:
            if outside:
                raise InputError(
                    f"the estimator {estimator!r} pools the sources, so {self.question} is not "
                    f"known for one of them. Choose one that keeps them apart, such as cs.HDMCS().",
                    parameter="estimator",
                )
            return tables
        if outside:
            return replace(tables, chosen=tables.source.code(outside[tables.source.name]))
        if self.given or not self.is_identified:
            raise InputError(
                f"{self.question} of sources that are kept apart is known source by source: name "
                f"one, given={{..., {tables.source.name!r}: ...}}, or choose an estimator that "
                "pools them.",
                parameter="given",
            )
        return tables

    def _is_apart(self, source: Variable | None) -> bool:
        """Whether each source has tables of its own where no estimator is named."""
        if source is None or self.target is not None or source.name in self.graph.nodes:
            return False
        return source.n_states > 1 and not self.given

    def value(
        self, tables: FamilyTables, values: Mapping[Family, Value], *, memory_limit: float
    ) -> Value:
        """The formula on tables, or on each draw of them."""
        return value_of(
            self.known_expression(), values, tables.variables, memory_limit=memory_limit
        )

    def distribution(
        self,
        whole: Value,
        tables: FamilyTables,
        do: Mapping[str, Any],
        given: Mapping[str, Any] | None,
        *,
        source: int | None = None,
    ) -> Floats:
        """P(y | do, given): one axis for each variable of y, draws first if the value has them.

        Soft interventions are mixtures. Sources that are kept apart are averaged with their shares
        unless one is named.
        """
        sides = list(hard_sides(do))
        if len(sides) > 1 and self.given:
            raise InputError(
                f"{self.question} cannot be given {_check.listed(self.given)} when what is set is "
                "a distribution; set a state, or ask a network.",
                parameter="do",
            )
        axes = tuple(range(-len(self.y), 0))
        found: Any = 0.0
        for share, states in sides:
            values = self._at(whole, tables, self.checked_states(states, given))
            values = values / values.sum(axis=axes, keepdims=True)
            found = found + share * _of_sources(values, tables, whole.names, source)
        return np.asarray(found)

    def _at(self, whole: Value, tables: FamilyTables, states: Mapping[str, Any]) -> Floats:
        """The numbers for some states; draws and sources first, then the variables of y."""
        first = [DRAW, *([] if tables.source is None else [tables.source.name])]
        kept = [name for name in (*first, *self.y) if name in whole.names]
        place = tuple(
            slice(None) if name in kept else tables.variables[name].code(states[name])
            for name in whole.names
        )
        if whole.undefined is not None and np.any(whole.undefined[place]):
            raise _no_rows(tables)
        names = [name for name in whole.names if name in kept]
        return whole.values[place].transpose([names.index(name) for name in kept])

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
                f"sources and follows from what is set. {self.advice}"
            )
        return (
            f"{self.question} is not identified: the hedge {self.hedge} stands in the way. "
            f"{self.advice}"
        )

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
    >>> found = identify(ADMG([("x", "y")], latent=[("x", "y")]), "y", do="x")
    >>> print(found.is_identified, found.hedge)
    False {x, y} and {y}
    >>> print(found.advice)
    Randomise x, or measure the hidden cause of x and y.
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


def _of_sources(
    values: Floats, tables: FamilyTables, names: Sequence[str], source: int | None
) -> Floats:
    """The numbers of one source, or of all with their shares; values without sources as they are.

    The source's axis comes first, or after that of the draws.
    """
    if tables.source is None or tables.source.name not in names:
        return values
    axis = 1 if DRAW in names else 0
    if source is not None:
        return np.take(values, source, axis=axis)
    return np.tensordot(np.asarray(tables.shares), values, axes=([0], [axis]))


def _no_rows(tables: FamilyTables) -> DataError:
    """The error of a formula that conditions on what never occurs."""
    family, gaps = next(iter(tables.unseen.items()))
    place = np.argwhere(gaps > 0)[0][gaps.ndim - len(family.parents) :]
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
