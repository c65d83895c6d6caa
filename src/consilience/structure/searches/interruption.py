"""How a search is run that may be cut short: the best graph so far, and why it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import Clock, Search, SearchResult, Step, Task

__all__ = ["Story", "TimeIsUp", "beat", "begin_with", "told"]


class TimeIsUp(Exception):  # noqa: N818 - a signal inside a search, never seen outside
    """The budget of the search is used up."""


@dataclass(slots=True)
class Story:
    """The best graph so far, as sets of parents, and what was reached on the way."""

    parents: Sequence[int]
    trace: list[Step] = field(default_factory=list)

    def keep(self, parents: Sequence[int], scores: LocalScores, note: str) -> None:
        """Go on with this graph, the best one now."""
        self.parents = tuple(parents)
        self.trace.append(Step(scores.total(parents), scores.n_scored, note))


def beat(clock: Clock, share: float | None, what: Callable[[], str]) -> None:
    """Report progress, and stop if the time is up."""
    clock.tell(share, what)
    if clock.is_over():
        raise TimeIsUp


def begin_with(search: Search, task: Task, scores: LocalScores, story: Story, *, note: str) -> None:
    """Start from what another search finds; if it was cut short, that is the end."""
    first = search.search(task)
    scores.count_more(first.n_scored)
    story.keep(task.to_parents(first.dag), scores, note)
    if first.stopped_by == "seconds":
        raise TimeIsUp
    if first.stopped_by == "interrupt":
        raise KeyboardInterrupt


def told(task: Task, scores: LocalScores, story: Story, work: Callable[[], None]) -> SearchResult:
    """The record of a search whose work keeps its best graph in the story."""
    stopped_by = "optimum"
    try:
        work()
    except TimeIsUp:
        stopped_by = "seconds"
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    if not story.trace:
        story.keep(story.parents, scores, "start")
    return task.result(scores, story.parents, trace=story.trace, stopped_by=stopped_by)
