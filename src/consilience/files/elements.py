"""XML as a tree of elements that know their lines.

The parser is expat, without entities: a document that declares any is refused, so that a small file
cannot unfold into a large one. Declarations of elements and attributes, which XMLBIF files carry,
are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from consilience.files.draft import Draft, Family, fault, line_of_number, numbers, rows_of

__all__ = ["Element", "escaped", "read_elements"]

DEEPEST = 100  # no format nests more than a handful of elements
BUFFER = 2**20

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


@dataclass(slots=True)
class Element:
    """One element; filled while the document is read and not changed afterwards."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside, without that of the children."""
        return "".join(self.pieces)

    @property
    def word(self) -> str:
        """The text without the blanks around it."""
        return self.text.strip(" \t\r\n")

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that tag, upper or lower case."""
        return (child for child in self.children if child.tag.lower() == tag.lower())

    def one(self, tag: str, file: str) -> Element:
        """The only child of that tag."""
        found = list(self.all(tag))
        if len(found) != 1:
            raise fault(
                file, self.line, f"expected one <{tag}> inside <{self.tag}>, found {len(found)}."
            )
        return found[0]

    def table(self, family: Family, file: str) -> Draft:
        """The numbers inside as the table of a family."""
        values = numbers(self.text)
        if values is None:
            text = f"expected only numbers in the table of {family.name!r}."
            raise fault(file, self.line, text)
        rows = rows_of(values, family, file, self.line)
        width = family.shape[-1]
        return Draft(family, rows, lambda row: line_of_number(self.text, self.line, row * width))


def read_elements(text: str, file: str) -> Element:
    """The root element of a document."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = BUFFER
    top = Element("", {}, 0)
    stack = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > DEEPEST:
            raise fault(file, parser.CurrentLineNumber, f"elements nest deeper than {DEEPEST}.")
        element = Element(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(*_: Any) -> NoReturn:
        raise fault(
            file, parser.CurrentLineNumber, "entities are not accepted; write the text itself."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = lambda piece: stack[-1].pieces.append(piece)
    parser.EntityDeclHandler = refuse
    parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(text, True)
    except UnicodeEncodeError as problem:
        raise fault(file, None, "the text holds half of a surrogate pair.") from problem
    except expat.ExpatError as problem:
        what = expat.ErrorString(problem.code)
        raise fault(file, problem.lineno, f"not well-formed XML: {what}.") from problem
    return top.children[0]


def escaped(text: str) -> str:
    """Text as XML writes it."""
    return text.translate(_ESCAPES)
