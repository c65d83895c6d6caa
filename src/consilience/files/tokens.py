r"""The words of the two text formats, BIF and NET, with the lines on which they stand.

A token is quoted text (``"light on"``, with ``\"`` and ``\\`` for a quotation mark and a
backslash), a word (anything without blanks and brackets, so ``<5``, ``Asy/Patch`` and ``0-10%`` are
words), or a single symbol.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from consilience._typing import Floats
from consilience.errors import FormatError
from consilience.files.draft import NUMBER, fault, numbers

__all__ = ["Token", "Tokens", "quoted", "token_pattern", "without_comments"]

_ESCAPE = re.compile(r"\\([\\\"])")
_TO_QUOTE = re.compile(r"[\\\"]")


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind, its text without quotation marks, and where it begins."""

    kind: Literal["text", "word", "symbol", "end"]
    value: str
    start: int

    def is_symbol(self, *symbols: str) -> bool:
        """Whether this is one of the symbols."""
        return self.kind == "symbol" and self.value in symbols

    def is_word(self, *words: str) -> bool:
        """Whether this is one of the words; quoted text never is."""
        return self.kind == "word" and self.value in words

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the file"
        if self.value == '"' and self.kind == "symbol":
            return "a quotation mark that is never closed"
        return repr(self.value if len(self.value) <= 40 else self.value[:37] + "...")


def token_pattern(delimiters: str) -> re.Pattern[str]:
    """The pattern of a token: quoted text, a word without the delimiters, or one symbol."""
    return re.compile(
        r'\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s"' + re.escape(delimiters) + r"]++)|(.)|\Z)", re.DOTALL
    )


_KINDS: dict[int | None, Literal["text", "word", "symbol", "end"]] = {
    1: "text",
    2: "word",
    3: "symbol",
    None: "end",
}


@dataclass(slots=True)
class Tokens:
    """A place in a text that moves forward; it belongs to the one call that parses the text."""

    text: str
    file: str
    pattern: re.Pattern[str]
    position: int = 0
    _counted: tuple[int, int] = (0, 1)  # a place and its line, from which to count on

    def take(self) -> Token:
        """The next token; the place moves behind it."""
        token, self.position = self._next()
        return token

    def peek(self) -> Token:
        """The next token; the place stays."""
        return self._next()[0]

    def line(self, position: int | None = None) -> int:
        """The line of a position, of the present place by default."""
        place = self.position if position is None else position
        start, line = self._counted if self._counted[0] <= place else (0, 1)
        line += self.text.count("\n", start, place)
        self._counted = (place, line)
        return line

    def fault(self, found: Token, expected: str) -> FormatError:
        """The error for a token that is not what was expected."""
        return fault(self.file, self.line(found.start), f"expected {expected}, found {found}.")

    def symbol(self, symbol: str, where: str) -> Token:
        """Take a symbol that must come next."""
        token = self.take()
        if not token.is_symbol(symbol):
            raise self.fault(token, f"{symbol!r} {where}")
        return token

    def name(self, what: str) -> Token:
        """Take a name, quoted or not."""
        token = self.take()
        if token.kind not in ("text", "word") or not token.value:
            raise self.fault(token, what)
        return token

    def names(self, end: str, what: str) -> list[str]:
        """Take names up to a closing symbol, separated by blanks, commas or bars."""
        names = []
        while not (token := self.take()).is_symbol(end):
            if token.kind in ("text", "word") and token.value:
                names.append(token.value)
            elif not token.is_symbol(",", "|"):
                raise self.fault(token, what)
        return names

    def skip(self, end: str, where: str) -> None:
        """Pass over everything up to and including a symbol."""
        while not (token := self.take()).is_symbol(end):
            if token.kind == "end":
                raise self.fault(token, f"{end!r} {where}")

    def numbers(self, where: str, *, between: str) -> Floats:
        """Take numbers up to ``;``; the characters of ``between`` may stand between them."""
        start, end = self.position, self.text.find(";", self.position)
        if end >= 0:
            values = numbers(self.text[start:end].translate(dict.fromkeys(map(ord, between), " ")))
            if values is not None:
                self.position = end + 1
                return values
        found: list[float] = []
        while not (token := self.take()).is_symbol(";"):
            if token.kind == "word" and NUMBER.fullmatch(token.value):
                found.append(float(token.value))
            elif not token.is_symbol(*between):
                raise self.fault(token, f"a number or ';' {where}")
        return np.array(found)

    def _next(self) -> tuple[Token, int]:
        match = self.pattern.match(self.text, self.position)
        if match is None:  # pragma: no cover - the pattern matches at every place
            raise AssertionError("unreachable")
        group = match.lastindex
        if group == 1:
            value = _ESCAPE.sub(r"\1", match[1]) if "\\" in match[1] else match[1]
            return Token("text", value, match.start(1) - 1), match.end()
        value = match[group] if group else ""
        start = match.start(group) if group else match.end()
        return Token(_KINDS[group], value, start), match.end()


def quoted(name: str) -> str:
    """A name in quotation marks."""
    return '"' + _TO_QUOTE.sub(lambda match: "\\" + match[0], name) + '"'


def without_comments(text: str, pattern: re.Pattern[str], mark: str, file: str) -> str:
    """The text with every comment replaced by its line ends, so that lines keep their numbers.

    ``pattern`` finds comments, which begin with ``mark``, and whatever may hold what looks like one
    (quoted text); its first group finds a comment that is never closed.
    """

    def blank(match: re.Match[str]) -> str:
        if match.lastindex == 1:
            line = text.count("\n", 0, match.start()) + 1
            raise fault(file, line, f"the comment that begins with {match[1]!r} is never closed.")
        found = match[0]
        return "\n" * found.count("\n") or " " if found.startswith(mark) else found

    return pattern.sub(blank, text)
