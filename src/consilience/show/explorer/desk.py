"""What the page can ask, answered from one subject."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any, Final

from consilience.data.table import Table
from consilience.errors import ConsilienceError, InputError
from consilience.network.network import Network
from consilience.show.explorer.answers import Answers
from consilience.show.explorer.comparing import aligned_places, other_answer
from consilience.show.explorer.export import page_of
from consilience.show.explorer.places import model_facts, near, places
from consilience.show.explorer.state import question_of
from consilience.show.explorer.stored import stored_panels
from consilience.show.panels import borrowing
from consilience.show.panels.question import Question, Subject
from consilience.show.panels.registry import panel

__all__ = ["Desk"]

KEPT = 64  # answers of panels
VARYING: Final = ("node", "given", "do")
"""Keys of a question that only some panels follow."""


class Desk:
    """Answers the page's questions about a subject; what every page asks first is kept."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._answers = Answers()
        self._facts: dict[str, Any] = {}
        self._lock = Lock()
        self._drawn = lru_cache(maxsize=KEPT)(self._draw)

    def facts(self) -> dict[str, Any]:
        """What the page knows before anything is asked."""
        with self._lock:
            if not self._facts:
                self._facts = model_facts(self.subject)
            return self._facts

    def places(self, focus: str, steps: str) -> dict[str, Any]:
        """Boxes and routes of a node's neighborhood."""
        net = self.subject.network
        return places(net, near(net, focus, _whole("steps", steps)))

    def comparison(self) -> dict[str, Any]:
        """Boxes and routes of both networks on one layout."""
        return aligned_places(self.subject.network, self._other())

    def beliefs(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Beliefs of all nodes, all sources together and by source.

        With the option ``compare`` those of the second network stand beside them.
        """
        question = question_of(self.subject, asked)
        found = self._beliefs(question)
        if not question.options.get("compare"):
            return found
        return found | other_answer(self._answers, self.subject.network, self._other(), asked)

    def _other(self) -> Network:
        if self.subject.compare is None:
            raise InputError("there is no second network; give it as compare=.", option="compare")
        return self.subject.compare

    def _beliefs(self, question: Question) -> dict[str, Any]:
        position = question.options.get("position")
        if position is None:
            return self._answers.beliefs(question)
        refused = borrowing.PANEL.missing(self.subject)
        if refused:
            raise InputError(refused[0], option="position")
        net = borrowing.refitted(self.subject, str(position))
        answer = self._answers.beliefs(replace(question, subject=Subject(net)))
        return _with_all_sources(answer, self.subject.network, net)

    def panel(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What a panel shows; an answer that what has changed does not touch is kept."""
        question_of(self.subject, asked)  # what is wrong is told in any case
        told = {
            key: value
            for key, value in asked.items()
            if key not in VARYING or key in panel(name).follows
        }
        return self._drawn(name, json.dumps(told))

    def _draw(self, name: str, asked: str) -> dict[str, Any]:
        found = panel(name).answer(question_of(self.subject, json.loads(asked)))
        return {"svg": found.svg, "table": dict(found.table), "notes": list(found.notes)}

    def row(self, number: str) -> dict[str, Any]:
        """What a row of the table says, as findings."""
        table, place = self.subject.table, _whole("number", number)
        n_rows = 0 if table is None else table.n_rows
        if table is None or place >= n_rows:
            raise InputError(f"there is no row {place}; the table has {n_rows:,}.", row=place)
        return {"given": _findings(self.subject.network, table, place)}

    def page(self) -> str:
        """The page as one file that needs no server."""
        subject = self.subject
        other = subject.compare
        return page_of(
            subject.network,
            self.facts(),
            self.beliefs({}),
            stored_panels(subject),
            second=None if other is None else (other, self.comparison()),
        )

    def warm_up(self) -> None:
        """Compile what the first answer needs; what cannot be answered is told when it is asked."""
        with suppress(ConsilienceError):
            self.beliefs({})


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"{name!r} must be a whole number, got {text!r}.", parameter=name)
    return int(text)


def _with_all_sources(answer: dict[str, Any], shown: Network, net: Network) -> dict[str, Any]:
    """The answer of a network that lacks sources of the one that is shown: they are impossible."""
    name = str(shown.source)
    own = net.variables[name].discrete_states
    states = shown.variables[name].discrete_states
    for beliefs in (answer["all"], *answer["by_source"].values()):
        if beliefs is not None:
            shares = dict(zip(own, beliefs[name], strict=True))
            beliefs[name] = [shares.get(state, 0.0) for state in states]
    absent = {state: None for state in states if state not in own}
    return {
        "all": answer["all"],
        "by_source": {**answer["by_source"], **absent},
        "log_probability": {**answer["log_probability"], **absent},
    }


def _findings(net: Network, table: Table, place: int) -> dict[str, str | float]:
    """The values of one row that are not missing, by node; numbers that are cut are states."""
    found: dict[str, str | float] = {}
    for name in net.variables:
        if name not in table.variables:
            continue
        variable, value = table.variables[name], table.column(name)[place].item()
        asked = net.variables[name]
        if variable.is_continuous and not math.isnan(value):
            found[name] = value if asked.is_continuous else asked.discrete_states[asked.code(value)]
        elif not variable.is_continuous and value >= 0:
            found[name] = variable.discrete_states[value]
    if net.source is not None and table.source_codes is not None:
        source = table.sources[table.source_codes[place]]
        if source in net.variables[net.source].discrete_states:
            found[net.source] = source
    return found
