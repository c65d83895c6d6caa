"""The noun :class:`Event`: something that holds or not, said of states and numbers.

::

    event      = part ("or" part)*
    part       = one ("and" one)*
    one        = "not" one | "(" event ")" | comparison
    comparison = name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
               | name "in" "{" value ("," value)* "}"

A name, a state and a number stand as they are, or in double quotes where they hold a sign or one of
the words ``or``, ``and`` and ``not``; two double quotes are one. Nothing is run as code: the text
is split into signs and words, and these are compared with the names and states of the variables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from consilience import _check, _quote
from consilience._typing import Bools
from consilience.data.labels import is_null, is_number, is_plain_number, label
from consilience.data.variable import Variable
from consilience.errors import InputError

__all__ = [
    "Comparison",
    "Event",
    "Joined",
    "Not",
    "Tree",
    "holds",
    "names_in",
    "shortened",
    "text_of",
    "tree_of",
]

SIGNS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
LETTERS = ("=", "!", "<", ">", "(", ")", "{", "}", ",", '"')
DEEPEST = 200
"""Levels of parentheses and ``not``."""

HINTS = (
    (r"==", "Equality is a single =."),
    (r"[≤≥≠]|<>", "Signs are = != < <= > >=."),
    (r"[&|]|\b(?!and\b|or\b|not\b)(?i:and|or|not)\b", "Join by 'and', 'or' and 'not', small."),
    (r"\bnot\s+in\b", "Write 'not x in {a, b}'."),
    (r"[<>]=?[^<>()]*[<>]", "Write a range as two: 'x > 1 and x < 3'."),
    (r"\bin\b\s*[\[(]", "States stand in braces: 'x in {a, b}'."),
)
"""What is meant, most likely, by texts that are no events."""

_TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|<=|>=|!=|[=<>(){},]|[^\s=<>!(){},"]+)')


class Comparison(NamedTuple):
    """A name, how it is compared, and the value or values."""

    name: str
    sign: str
    values: tuple[Any, ...]


class Not(NamedTuple):
    """What holds if the part does not."""

    part: Tree


class Joined(NamedTuple):
    """What holds if all parts do (``and``), or any (``or``)."""

    word: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = Comparison | Not | Joined


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Event:
    """Something that holds or not, for ``net.probability`` and as evidence.

    ``Event("age")`` is a name to be compared: with a state or a number by ``== != < <= > >=``, with
    several states by :meth:`isin`. Events are joined by ``&`` and ``|`` and turned around by ``~``;
    Python's own ``and``, ``or`` and ``not`` are refused, since they cannot be given a meaning.

    The order of states is asked of continuous, cut and ordered variables only, and a continuous
    one is never equal to a number.

    Examples
    --------
    >>> event = Event.parse("xray = yes or not (age >= 60 and dysp = yes)")
    >>> print(event)
    xray = yes or not (age >= 60 and dysp = yes)
    >>> print((Event("xray") == "yes") | ~((Event("age") >= 60) & (Event("dysp") == "yes")))
    xray = yes or not (age >= 60 and dysp = yes)
    >>> print(Event("cp").isin(["typical", "none"]))
    cp in {typical, none}
    """

    name: str
    tree: Tree | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not (self.name or self.tree):
            raise InputError(
                f"Event: the name of a variable is wanted, got {self.name!r}. A text such as "
                "'age >= 60' is read by cs.Event.parse(...).",
                parameter="name",
            )

    @classmethod
    def parse(cls, text: str) -> Event:
        """The event that a text says.

        Raises
        ------
        InputError
            If the text is none; the message has the place.
        """
        if not isinstance(text, str):
            raise InputError(f"Event.parse: a text is wanted, got {text!r}.", parameter="text")
        return cls("", _Reader(text).event())

    def isin(self, states: Collection[Any]) -> Event:
        """The variable has one of these states."""
        if isinstance(states, str) or not isinstance(states, Collection) or not states:
            raise InputError(
                f"Event {self.name!r}: a collection of states is wanted, got {states!r}.",
                variable=self.name,
            )
        return self._compared("in", tuple(states))

    def __eq__(self, value: object) -> Event:  # type: ignore[override]
        return self._compared("=", (value,))

    def __ne__(self, value: object) -> Event:  # type: ignore[override]
        return self._compared("!=", (value,))

    def __lt__(self, value: Any) -> Event:
        return self._compared("<", (value,))

    def __le__(self, value: Any) -> Event:
        return self._compared("<=", (value,))

    def __gt__(self, value: Any) -> Event:
        return self._compared(">", (value,))

    def __ge__(self, value: Any) -> Event:
        return self._compared(">=", (value,))

    __hash__ = object.__hash__

    def __and__(self, other: Event) -> Event:
        return _joined("and", self, other)

    def __or__(self, other: Event) -> Event:
        return _joined("or", self, other)

    def __invert__(self) -> Event:
        return Event("", Not(tree_of(self)))

    def __bool__(self) -> NoReturn:
        raise InputError(
            "an event is neither true nor false by itself; join events by & and |, turn one around "
            "by ~, with parentheses around comparisons: (cs.Event('age') >= 60) & ...",
            parameter="event",
        )

    def __str__(self) -> str:
        return self.name if self.tree is None else text_of(self.tree)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return f"Event({self.name!r})" if self.tree is None else f"Event.parse({str(self)!r})"

    def _compared(self, sign: str, values: tuple[Any, ...]) -> Event:
        if self.tree is not None:
            raise InputError(
                f"the event {str(self)!r} cannot be compared; compare a name, cs.Event('age') >= "
                "60, in parentheses if it is joined with others.",
                parameter="event",
            )
        for value in values:
            if is_null(value) or isinstance(value, Event | Mapping) or not np.isscalar(value):
                raise InputError(
                    f"Event {self.name!r}: a state or a number is wanted, got {value!r}.",
                    variable=self.name,
                )
        return Event("", Comparison(self.name, sign, values))


def names_in(tree: Tree) -> tuple[str, ...]:
    """The variables that an event is about, in the order in which they are named."""
    if isinstance(tree, Comparison):
        return (tree.name,)
    parts = (tree.part,) if isinstance(tree, Not) else tree.parts
    return tuple(dict.fromkeys(name for part in parts for name in names_in(part)))


def holds(tree: Tree, variables: Mapping[str, Variable], columns: Mapping[str, Any]) -> Bools:
    """Whether the event holds, for arrays of codes and numbers that are broadcast together.

    Raises
    ------
    InputError
        If a comparison is none for its variable.
    """
    if isinstance(tree, Comparison):
        return _compared(tree, variables, columns)
    if isinstance(tree, Not):
        return ~holds(tree.part, variables, columns)
    join = np.logical_and if tree.word == "and" else np.logical_or
    found = holds(tree.parts[0], variables, columns)
    for part in tree.parts[1:]:
        found = join(found, holds(part, variables, columns))
    return found


def tree_of(event: Event) -> Tree:
    """The tree of an event; a bare name is none."""
    if not isinstance(event, Event) or event.tree is None:
        raise InputError(
            f"an event is wanted, got {event!r}. Compare the name: cs.Event('age') >= 60, or "
            "cs.Event.parse('age >= 60').",
            parameter="event",
        )
    return event.tree


def _joined(word: str, *events: Event) -> Event:
    parts: list[Tree] = []
    for tree in map(tree_of, events):
        is_same = isinstance(tree, Joined) and tree.word == word
        parts += tree.parts if isinstance(tree, Joined) and is_same else [tree]
    return Event("", Joined(word, tuple(parts)))


def _compared(
    one: Comparison, variables: Mapping[str, Variable], columns: Mapping[str, Any]
) -> Bools:
    if one.name not in variables:
        _check.unknown("node", one.name, variables)
    variable = variables[one.name]
    if variable.is_continuous:
        return _of_numbers(one, np.asarray(columns[one.name]))
    return np.asarray(_states_that_hold(one, variable)[columns[one.name]])


def _of_numbers(one: Comparison, column: Any) -> Bools:
    if one.sign in ("=", "!=", "in"):
        raise InputError(
            f"event {text_of(one)!r}: {one.name!r} is continuous and equal to a number with "
            "probability zero. Compare it by < and >, or ask for a density: cs.log_probability.",
            variable=one.name,
        )
    number = _number(one)
    if number is None:
        raise InputError(
            f"event {text_of(one)!r}: {one.name!r} is continuous; a number is wanted, got "
            f"{one.values[0]!r}.",
            variable=one.name,
        )
    return _ordered(one.sign, column, number)


def _ordered(sign: str, left: Any, right: Any) -> Bools:
    found = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    return np.asarray(found[sign])


def _number(one: Comparison) -> float | None:
    value = one.values[0]
    is_text = isinstance(value, str) and is_plain_number(value)
    number = float(value) if is_number(value) or is_text else np.nan
    return number if np.isfinite(number) else None


def _states_that_hold(one: Comparison, variable: Variable) -> Bools:
    """For each state whether the comparison holds."""
    codes = np.arange(variable.n_states)
    if one.sign in ("=", "!=", "in"):
        is_one = np.isin(codes, [variable.code(value) for value in one.values])
        return ~is_one if one.sign == "!=" else is_one
    number, is_state = _number(one), one.values[0] in variable.discrete_states
    if variable.cuts is not None and number is not None and not is_state:
        return _cut_states(one, variable, number)
    if not (variable.ordered or variable.cuts is not None):
        raise InputError(
            f"event {text_of(one)!r}: the states of {one.name!r} have no order. It can be asked of "
            "continuous, cut and ordered variables; say the states: "
            f"{one.name} in {{{', '.join(variable.discrete_states[:3])}}}.",
            variable=one.name,
        )
    return _ordered(one.sign, codes, variable.code(one.values[0]))


def _cut_states(one: Comparison, variable: Variable, number: float) -> Bools:
    """For each interval, closed on the left, whether all its numbers are below or above one."""
    cuts = np.asarray(variable.cuts, float)
    low, high = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    if one.sign in ("<", ">="):
        is_below, is_above = high <= number, low >= number
    else:
        is_below, is_above = high <= number, low > number
    open_ones = ~(is_below | is_above)
    if open_ones.any():
        other = {"<": "<", ">=": ">=", ">": ">=", "<=": "<"}[one.sign]
        raise InputError(
            f"event {text_of(one)!r}: {one.name!r} was cut, and what of the state "
            f"{variable.discrete_states[int(open_ones.argmax())]!r} is meant is not known. Compare "
            f"by {other} with a cut point: {_check.listed(map(str, variable.cuts or ()))}.",
            variable=one.name,
        )
    return is_below if one.sign in ("<", "<=") else is_above


def text_of(tree: Tree, inside: str = "") -> str:
    """The text of an event; parentheses where the words around it ask for them."""
    if isinstance(tree, Comparison):
        name, values = _word(tree.name), [_word(label(value)) for value in tree.values]
        if tree.sign == "in":
            return f"{name} in {{{', '.join(values)}}}"
        return f"{name} {tree.sign} {values[0]}"
    if isinstance(tree, Not):
        return f"not {text_of(tree.part, 'not')}"
    said = f" {tree.word} ".join(text_of(part, tree.word) for part in tree.parts)
    is_bare = inside == "" or (inside == "or" and tree.word == "and")
    return said if is_bare else f"({said})"


def _word(text: str) -> str:
    """A name or state as it is written: in quotes if it must."""
    has_word = {"or", "and", "not", "in"} & set(text.split())
    is_spaced = text != " ".join(text.split())
    if has_word or is_spaced:
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return _quote.quoted(text, LETTERS)


class _Token(NamedTuple):
    text: str
    is_quoted: bool
    start: int
    end: int


class _Reader:
    """The grammar at the top, by descent; ``at`` is the token that is next."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._at, self._depth = text, _tokens(text), 0, 0

    def event(self) -> Tree:
        found = self._some("or", lambda: self._some("and", self._one))
        if self._next() is not None:
            self._refuse("an end, 'and' or 'or'")
        return found

    def _some(self, word: str, part: Any) -> Tree:
        parts = [part()]
        while self._takes(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _one(self) -> Tree:
        self._depth += 1
        if self._depth > DEEPEST:
            raise InputError(
                f"event: more than {DEEPEST} parentheses and 'not' stand in each other.",
                text=self._text,
            )
        if self._takes("not"):
            found: Tree = Not(self._one())
        elif self._takes("("):
            found = self._some("or", lambda: self._some("and", self._one))
            if not self._takes(")"):
                self._refuse("')'")
        else:
            found = self._comparison()
        self._depth -= 1
        return found

    def _comparison(self) -> Comparison:
        name = self._words("the name of a variable")
        if self._takes("in"):
            return Comparison(name, "in", self._states())
        token = self._next()
        if token is None or token.is_quoted or token.text not in SIGNS:
            self._refuse("one of = != < <= > >= in")
        self._at += 1
        return Comparison(name, token.text, (self._words("a state or a number"),))

    def _states(self) -> tuple[str, ...]:
        if not self._takes("{"):
            self._refuse("'{'")
        states = [self._words("a state")]
        while self._takes(","):
            states.append(self._words("a state"))
        if not self._takes("}"):
            self._refuse("',' or '}'")
        return tuple(states)

    def _words(self, wanted: str) -> str:
        """A text in quotes, or words up to a sign or keyword, as they stand."""
        first = self._next()
        if first is None or not (first.is_quoted or self._is_word()):
            self._refuse(wanted)
        self._at += 1
        if first.is_quoted:
            return first.text
        end = first.end
        while self._is_word():
            end = self._tokens[self._at].end
            self._at += 1
        return self._text[first.start : end]

    def _is_word(self) -> bool:
        token = self._next()
        if token is None or token.is_quoted or token.text in (*SIGNS, *"(){},", "or", "and", "not"):
            return False
        following = self._tokens[self._at + 1 : self._at + 2]
        is_in = token.text == "in" and bool(following) and following[0].text == "{"
        return not is_in

    def _takes(self, text: str) -> bool:
        token = self._next()
        if token is None or token.is_quoted or token.text != text:
            return False
        self._at += 1
        return True

    def _next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _refuse(self, wanted: str) -> NoReturn:
        token = self._next()
        what = "it ends" if token is None else f"stands {token.text!r}"
        place = len(self._text) if token is None else token.start
        raise InputError(
            f"event {shortened(self._text)!r}: {wanted} is wanted where {what}, at place "
            f"{place + 1}.{_hint(self._text)}",
            text=self._text,
            place=place,
        )


def _tokens(text: str) -> Sequence[_Token]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(
                f"event {shortened(text)!r}: nothing can be made of {text[at:].strip()[:10]!r}, "
                f"at place {at + 1}. A text with signs stands in double quotes.{_hint(text)}",
                text=text,
                place=at,
            )
        word, is_quoted = match[1], match[1].startswith('"')
        plain = word[1:-1].replace('""', '"') if is_quoted else word
        found.append(_Token(plain, is_quoted, match.start(1), match.end(1)))
        at = match.end()
    return found


def _hint(text: str) -> str:
    bare = re.sub(r'"[^"]*"', "", text)
    return next((f" {words}" for pattern, words in HINTS if re.search(pattern, bare)), "")


def shortened(text: str) -> str:
    """The text as it stands in a message: its beginning, if it is long."""
    return text if len(text) <= 80 else text[:77] + "..."
