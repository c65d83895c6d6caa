"""What the constraint-based searches share: check the choice, find the pairs, direct, tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from consilience import _check
from consilience.errors import InputError
from consilience.graph.cpdag import CPDAG
from consilience.structure.independence.default_tests import check_test
from consilience.structure.independence.statements import IndependenceTest
from consilience.structure.searches.constraint_record import ConstraintRecord, EdgeTest
from consilience.structure.searches.interruption import Story, told
from consilience.structure.searches.orientation import ORIENTATIONS, Oriented, oriented
from consilience.structure.searches.parent_sets import required_sets
from consilience.structure.searches.skeletons import Asker, Skeleton
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["Restriction", "check_choice", "record_of", "searched"]


class Restriction(Protocol):
    """A choice that finds which pairs are joined."""

    @property
    def test(self) -> IndependenceTest | None: ...
    @property
    def orientation(self) -> str: ...
    @property
    def max_given(self) -> int | None: ...

    def skeleton(self, asker: Asker) -> Skeleton:
        """The pairs that no set separates."""
        ...


def check_choice(choice: Restriction) -> None:
    """Refuse a test, rule or size that does not exist."""
    owner = type(choice).__name__
    if choice.test is not None:
        check_test(owner, "test", choice.test)
    if choice.orientation not in ORIENTATIONS:
        raise InputError(
            f"{owner}: orientation must be one of {_check.listed(ORIENTATIONS)}, got "
            f"{choice.orientation!r}.",
            parameter="orientation",
        )
    if choice.max_given is not None:
        _check.whole(owner, at_least=0, max_given=choice.max_given)


def searched(choice: Restriction, task: Task) -> SearchResult:
    """The record of a search by tests."""
    asker = Asker(task, choice.test)
    scores, story = task.local_scores(None), Story(required_sets(task))
    found: list[tuple[Skeleton, Oriented]] = []

    def work() -> None:
        skeleton = choice.skeleton(asker)
        graph = oriented(asker, skeleton, choice.orientation, choice.max_given)
        story.keep(task.to_parents(graph.dag), scores, f"{asker.n_tests:,} tests")
        found.append((skeleton, graph))

    result = told(task, scores, story, work)
    if not found:
        return replace(result, tests=ConstraintRecord(asker.test, asker.n_tests))
    (skeleton, graph) = found[0]
    return replace(
        result,
        cpdag=graph.cpdag,
        tests=record_of(asker, skeleton, graph),
        notes=(*result.notes, *_notes(graph)),
    )


def record_of(asker: Asker, skeleton: Skeleton, graph: Oriented | None = None) -> ConstraintRecord:
    """The tests of a skeleton by name, and what its orientation left open."""
    names = asker.task.names
    kept: list[EdgeTest] = []
    removed: list[EdgeTest] = []
    for (x, y), one in sorted(skeleton.told.items()):
        given = tuple(names[i] for i in one.given)
        test = EdgeTest(names[x], names[y], given, one.statistic, one.df, one.p_value, one.n_rows)
        (kept if skeleton.adjacent[x, y] else removed).append(test)
    return ConstraintRecord(
        asker.test,
        asker.n_tests,
        tuple(removed),
        tuple(kept),
        () if graph is None else graph.ambiguous,
        () if graph is None else graph.conflicts,
    )


def _notes(graph: Oriented) -> list[str]:
    """What kept the class that was found from being that of a DAG."""
    notes = []
    if graph.conflicts:
        edges = [f"{a} - {b}" for a, b in (one.edge for one in graph.conflicts)]
        notes.append(
            f"Tests contradict each other about the direction of {_check.listed(edges)}; tests."
            "conflicts says why."
        )
    if graph.ambiguous:
        notes.append(
            f"It is not clear whether {len(graph.ambiguous)} triples are colliders; "
            "tests.ambiguous lists them."
        )
    if graph.new_colliders:
        shown = [f"{a} -> {c} <- {b}" for a, c, b in graph.new_colliders]
        notes.append(
            "No DAG agrees with the partially directed graph that the tests found (cpdag); the one "
            f"given has its edges and arcs, and these colliders more: {_check.listed(shown)}."
        )
    elif graph.cpdag != CPDAG.of(graph.dag):
        notes.append(
            "The class of the DAG says more, or other things, than the tests did: cpdag is what "
            "the tests and background knowledge say."
        )
    return notes
