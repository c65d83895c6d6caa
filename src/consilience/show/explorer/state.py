"""What is asked on the page: findings, interventions, sources, node; from JSON, and as a link.

A *finding* is what is known about one node. In JSON and in a text (of a link, of a cell of a CSV
file of cases) it is

=====================================  ===========================  =========================
``"yes"``                              ``yes``                      this state
``63.5``                               ``63.5``                     this number
``{"any": ["a", "b"]}``                ``a|b``                      one of these states
``{"not": ["a", "b"]}``                ``not:a|b``                  none of these states
``{"likelihood": {"a": 2, "b": 1}}``   ``likelihood:a:2|b:1``       likelihood of each state
``{"soft": {"a": 0.7, "b": 0.3}}``     ``soft:a:0.7|b:0.3``         the distribution to come out
=====================================  ===========================  =========================

A text that is a state of the node is that state. In lists a name with a sign in it stands in double
quotes, as in all texts of the library.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from consilience import _check
from consilience._quote import quoted
from consilience.data.variable import Variable
from consilience.errors import InputError
from consilience.inference.evidence import Likelihood, Soft
from consilience.show.panels.question import Question, Subject

__all__ = ["KINDS", "finding_text", "fragment", "question_of"]

KINDS = ("any", "not", "likelihood", "soft")
KEYS = ("given", "do", "sources", "node", "options")


def question_of(subject: Subject, asked: Mapping[str, Any]) -> Question:
    """The question that a JSON object asks about a subject.

    Raises
    ------
    UnknownNameError
        If a key, a node, a state or a source does not exist.
    InputError
        If a value has another form than it should have.
    """
    _check.known("key of a question", asked, KEYS)
    variables = subject.network.variables
    given, do = _object(asked, "given"), _object(asked, "do")
    _check.known("node", [*given, *do], variables)
    both = [name for name in given if name in do]
    if both:
        raise InputError(f"{both[0]!r} is both given and set from outside.", variable=both[0])
    return Question(
        subject,
        {name: _finding(variables[name], value) for name, value in given.items()},
        {name: _state(variables[name], value) for name, value in do.items()},
        _sources(asked.get("sources")),
        _name(asked.get("node")),
        _object(asked, "options"),
    )


def fragment(
    asked: Mapping[str, Any],
    panel: str | None = None,
    variables: Mapping[str, Variable] | None = None,
) -> str:
    """The part of a link after ``#`` that opens the page with this question.

    >>> fragment({"given": {"cp": {"any": ["3", "4"]}}, "node": "num"}, panel="differences")
    'given=cp=3%7C4&panel=differences&node=num'
    """
    states = {name: one.states or () for name, one in (variables or {}).items()}
    parts = [
        f"{key}={_encoded(quoted(name, '=') + '=' + finding_text(value, states.get(name, ())))}"
        for key in ("given", "do")
        for name, value in asked.get(key, {}).items()
    ]
    sources = asked.get("sources")
    if sources is not None:
        parts.append(f"sources={_encoded('|'.join(quoted(name, '|') for name in sources))}")
    named = {"panel": panel, "node": asked.get("node")}
    return "&".join([*parts, *(f"{k}={_encoded(v)}" for k, v in named.items() if v is not None)])


def finding_text(finding: Any, states: Collection[str] = ()) -> str:
    """A finding of JSON as the text of a link or of a cell, for a node with these states.

    A list that reads like one of the states has its names in quotes.

    >>> finding_text({"likelihood": {"a|b": 2, "c": 1}})
    'likelihood:"a|b":2|c:1'
    >>> finding_text({"any": ["a", "b"]}, states=["a", "b", "a|b"])
    '"a"|"b"'
    """
    if not isinstance(finding, Mapping):
        return str(finding)
    [(kind, values)] = finding.items()
    if isinstance(values, Mapping):
        parts = [f"{quoted(state, '|:')}:{number!r}" for state, number in values.items()]
        return f"{kind}:{'|'.join(parts)}"
    if kind == "any" and len(values) == 1:
        return str(values[0])
    before = "not:" if kind == "not" else ""
    plain = before + "|".join(quoted(state, "|:") for state in values)
    if plain not in states:
        return plain
    return before + "|".join('"' + state.replace('"', '""') + '"' for state in values)


def _encoded(text: str) -> str:
    return quote(text, safe="=:,.-_~ '()*!/").replace(" ", "%20")


def _object(asked: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = asked.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{key!r} must be an object with names as its keys, got {value!r}.")
    return value


def _sources(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raise InputError(f"'sources' must be a list of names, got {value!r}.")
    return tuple(value)


def _name(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"'node' must be a name, got {value!r}.")
    return value


def _state(variable: Variable, value: Any) -> str | float:
    """A state or a number, as JSON has it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(
            f"{variable.name!r}: a state or a number is wanted, got {value!r}.",
            variable=variable.name,
        )
    if not variable.is_continuous:
        return variable.discrete_states[variable.code(value)]
    return value


def _finding(variable: Variable, value: Any) -> Any:
    """What the library takes for a finding of JSON."""
    if not isinstance(value, dict):
        return _state(variable, value)
    if len(value) != 1 or next(iter(value)) not in KINDS or variable.is_continuous:
        wanted = "a number" if variable.is_continuous else f"a state, or one of {list(KINDS)}"
        raise InputError(
            f"given {variable.name!r}: {wanted} is wanted, got {value!r}.", variable=variable.name
        )
    [(kind, values)] = value.items()
    if kind in ("likelihood", "soft"):
        _check_form(variable, kind, values, dict, words="a number for each state")
        return Likelihood(values) if kind == "likelihood" else Soft(values)
    _check_form(variable, kind, values, list, words="a list of states")
    named = [_state(variable, state) for state in values]
    if kind == "any":
        return named
    left = [state for state in variable.discrete_states if state not in named]
    if not left:
        raise InputError(
            f"given {variable.name!r}: all its states are excluded.", variable=variable.name
        )
    return left


def _check_form(variable: Variable, kind: str, values: Any, form: type, *, words: str) -> None:
    if not isinstance(values, form):
        raise InputError(
            f"given {variable.name!r}: {kind!r} takes {words}, got {values!r}.",
            variable=variable.name,
        )
