"""The verb :func:`widget`: the explorer's graph in a notebook (extra ``notebook``).

The page's own modules draw it, the kernel answers. What is known is the widget's ``given``; set in
Python it changes the picture, and a click in the picture changes it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from consilience import _check
from consilience.errors import ConsilienceError
from consilience.network.network import Network
from consilience.show.explorer.desk import Desk
from consilience.show.explorer.export import joined_modules, page_file
from consilience.show.panels.question import Subject

__all__ = ["widget"]

STYLE = (
    ":host{{display:block;color:var(--ink);background:var(--page);border-radius:6px}}"
    ".scroll{{overflow:auto;max-height:640px;padding:10px}}p{{margin:0;padding:0 10px 8px}}{page}"
)

ROOT = re.compile(r":root((?:\[[^\]]*\]|:not\([^)]*\))+)")
"""The page in one of its themes."""


def widget(net: Network, given: dict[str, Any] | None = None) -> Any:
    """The graph of a network with its beliefs, in a notebook; a click says what is known.

    Parameters
    ----------
    net
        The network.
    given
        What is known at first, by node: a state, a number, ``{"any": [states]}``,
        ``{"not": [states]}``, ``{"likelihood": {state: weight}}`` or ``{"soft": {state: p}}``.

    Returns
    -------
    A widget of anywidget. Its ``given`` is what is known, and can be set; ``beliefs`` are the
    probabilities of every state of every node, and for a continuous one its mean and sd;
    ``by_source`` has them for each source, None where the findings cannot happen; ``problem`` says
    why there is no answer, and is empty if there is one.

    Examples
    --------
    >>> import consilience as cs
    >>> net = cs.random_network(cs.DAG([("a", "b")]), seed=1)
    >>> seen = widget(net, {"a": "1"})  # doctest: +SKIP
    >>> seen.beliefs["b"]["0"] == net.query("b", {"a": "1"})["0"]  # doctest: +SKIP
    True
    """
    anywidget = _check.extra("anywidget", "notebook", "widget")
    traitlets = _check.extra("traitlets", "notebook", "widget")
    made = _kind(anywidget, traitlets)(Desk(Subject(net)))
    made.given = {} if given is None else dict(given)
    if made.problem and given:
        raise made.fault
    return made


@cache
def _kind(anywidget: Any, traitlets: Any) -> Any:
    """The class of the widget, made once, where its libraries are installed."""

    class NetworkWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """A network in a notebook."""

        _esm = joined_modules("widget.js") + "\nexport default { render: renderWidget };\n"
        facts = traitlets.Dict().tag(sync=True)
        style = traitlets.Unicode().tag(sync=True)
        given = traitlets.Dict().tag(sync=True)
        answer = traitlets.Dict().tag(sync=True)
        problem = traitlets.Unicode().tag(sync=True)

        def __init__(self, desk: Desk) -> None:
            self._desk = desk
            self.fault: ConsilienceError | None = None
            super().__init__(facts=desk.facts(), style=_style(), answer=desk.beliefs({}))

        @property
        def beliefs(self) -> dict[str, Any]:
            """By node the probability of each state, or mean and sd."""
            return _named(self.facts, self.answer["all"])

        @property
        def by_source(self) -> dict[str, Any]:
            """The same for each source; None where the findings cannot happen."""
            found = self.answer["by_source"].items()
            return {s: None if one is None else _named(self.facts, one) for s, one in found}

        @traitlets.observe("given")  # type: ignore[untyped-decorator]
        def _ask(self, change: Any) -> None:
            """Answer anew; findings that cannot be are told, and the last answer stays."""
            try:
                self.answer = self._desk.beliefs({"given": change["new"]})
                self.fault, self.problem = None, ""
            except ConsilienceError as fault:
                self.fault, self.problem = fault, str(fault)

    return NetworkWidget


def _style() -> str:
    """The page's style for the element that the widget stands in."""
    page = ROOT.sub(r":host(\1)", page_file("style.css")).replace(":root", ":host")
    return STYLE.format(page=page)


def _named(facts: dict[str, Any], beliefs: dict[str, Any]) -> dict[str, Any]:
    """Beliefs with the names of the states."""
    return {
        name: dict(zip(facts["nodes"][name]["states"], belief, strict=True))
        if isinstance(belief, list)
        else {key: belief[key] for key in ("mean", "sd")}
        for name, belief in beliefs.items()
    }
