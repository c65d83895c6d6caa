"""What a panel is asked and what it answers.

A panel looks at a :class:`Subject` (a network, and what else is known of it) under a
:class:`Question` (what is given, which node) and gives a :class:`PanelAnswer`: a picture as SVG
text, the same numbers as a plain table, and sentences. Page, report and notebook show the same
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from consilience import _check, _freeze
from consilience.answers.sources_asked import known_sources
from consilience.averaging.graph_belief import GraphBelief
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.network.network import Network

__all__ = ["Grid", "Panel", "PanelAnswer", "Question", "Subject", "grid"]

Grid = Mapping[str, Sequence[Any]]
"""A plain table: ``{"columns": [name, ...], "rows": [[cell, ...], ...]}``."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What is explored.

    Parameters
    ----------
    network
        The network.
    table
        Rows, usually those that it was fitted from.
    target
        The node that is to be predicted.
    compare
        A second network.
    graphs
        A belief about graphs, as ``cs.average`` gives it.
    name
        What the network is called, such as its file.
    """

    network: Network
    table: Table | None = None
    target: str | None = None
    compare: Network | None = None
    graphs: GraphBelief | None = None
    name: str = "model"

    def __post_init__(self) -> None:
        if self.target is not None:
            _check.known("node", [self.target], self.network.distributions)

    @property
    def sources(self) -> tuple[str, ...]:
        """The states of the source node but for ``new_source``; empty without one."""
        return known_sources(self.network)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked about a subject.

    Parameters
    ----------
    subject
        What is explored.
    given
        What is known by node, as :meth:`Network.marginals` takes it.
    do
        States or values that nodes are set to from outside.
    sources
        The sources that are shown; None for all of them.
    node
        The node that was chosen; None if none was.
    options
        What one panel alone takes; each panel's text names them.
    """

    subject: Subject
    given: Mapping[str, Any] = field(default_factory=dict)
    do: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] | None = None
    node: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)
        _check.known("node", [*self.given, *self.do], self.subject.network.distributions)
        if self.node is not None:
            _check.known("node", [self.node], self.subject.network.distributions)
        if self.sources is not None:
            net = self.subject.network
            states = () if net.source is None else net.variables[net.source].discrete_states
            _check.known("source", self.sources, states)

    @property
    def network(self) -> Network:
        """The network, with what is set from outside."""
        return self.subject.network.do(self.do) if self.do else self.subject.network

    @property
    def shown_sources(self) -> tuple[str, ...]:
        """The sources that are asked for."""
        return self.subject.sources if self.sources is None else self.sources

    @property
    def shown_node(self) -> str:
        """The node that was chosen, else the target, else the first that is not the source."""
        net = self.subject.network
        if self.node is not None or self.subject.target is not None:
            return str(self.node if self.node is not None else self.subject.target)
        return next(
            (name for name in net.variables if name != net.source), next(iter(net.dag.nodes))
        )

    def number(self, option: str, usual: float) -> float:
        """A number among the options."""
        value = self.options.get(option, usual)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"option {option!r} must be a number, got {value!r}.", option=option)
        return value


@dataclass(frozen=True, slots=True, eq=False)
class PanelAnswer:
    """What a panel found.

    Parameters
    ----------
    svg
        The picture as a standalone SVG text; empty if there is nothing to draw.
    table
        The same numbers as ``{"columns": [...], "rows": [[...], ...]}``; cells are texts, numbers
        or None.
    notes
        Sentences: what was found, and what is missing.
    """

    svg: str
    table: Grid
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One kind of question.

    Parameters
    ----------
    name, title
        How it is asked for, and what stands above it.
    needs
        What a subject must have; keys of :data:`NEEDS`.
    find
        Answers a question about a subject that has it.
    follows
        What of a question the answer depends on: some of ``node``, ``given`` and ``do``.
    """

    name: str
    title: str
    needs: tuple[str, ...]
    find: Callable[[Question], PanelAnswer]
    follows: tuple[str, ...] = ()

    def missing(self, subject: Subject) -> list[str]:
        """A sentence for each thing that the subject lacks."""
        return [NEEDS[need][1] for need in self.needs if not NEEDS[need][0](subject)]

    def answer(self, question: Question) -> PanelAnswer:
        """The answer; if something is missing, the sentences that say so."""
        lacks = self.missing(question.subject)
        return PanelAnswer("", grid((), ()), tuple(lacks)) if lacks else self.find(question)


def grid(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    """A plain table."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def _has_columns(subject: Subject) -> bool:
    if subject.table is None:
        return False
    net = subject.network
    return all(name in subject.table.variables for name in net.dag.nodes if name != net.source)


def _has_discrete_target(subject: Subject) -> bool:
    if subject.target is None or subject.table is None:
        return True
    is_recorded = subject.target in subject.table.variables
    return is_recorded and not subject.network.variables[subject.target].is_continuous


def _has_posterior(subject: Subject) -> bool:
    net = subject.network
    return all(net[n].posterior is not None for n in net.dag.nodes if n != net.source)


NEEDS: Final[Mapping[str, tuple[Callable[[Subject], bool], str]]] = {
    "several sources": (
        lambda subject: len(subject.sources) > 1,
        "This needs a network of several sources; fit one to a table with source=.",
    ),
    "rows": (
        lambda subject: subject.table is not None and subject.table.n_rows > 0,
        "This needs rows; give a table beside the network.",
    ),
    "every column": (
        _has_columns,
        "This needs rows with a column for every node of the network.",
    ),
    "a discrete target": (
        _has_discrete_target,
        "This needs a target that has states and is a column of the rows.",
    ),
    "a second network": (
        lambda subject: subject.compare is not None,
        "This needs a second network; give it as compare=.",
    ),
    "a target": (
        lambda subject: subject.target is not None,
        "This needs a node that is predicted; give it as target=.",
    ),
    "a posterior": (
        _has_posterior,
        "This needs the posterior of the parameters, which maximum likelihood does not have; "
        "fit with another estimator.",
    ),
    "discrete nodes": (
        lambda subject: subject.network.is_discrete,
        "This is told for networks whose nodes are all discrete.",
    ),
    "graphs": (
        lambda subject: subject.graphs is not None,
        "This needs a belief about graphs, as cs.average gives it; give it as graphs=.",
    ),
}
"""What a panel may need: whether a subject has it, and the sentence that asks for it."""
