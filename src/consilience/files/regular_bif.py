"""Regular BIF text, read in one sweep.

Files of the repositories differ in little but their names and numbers. Patterns cut them into
blocks; the numbers of all blocks are read in one call, with a mark in the place of each ``;`` by
which the lengths of the rows are checked. Whatever does not fit (quoted names, properties,
``default``, a mistake) makes the sweep give up without a message, and the careful reader takes
over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.errors import FormatError
from consilience.files.draft import Draft, Family, declare, family_of, numbers

__all__ = ["sweep"]

END_OF_ROW = -1.0

_VARIABLE = re.compile(
    r'\s*variable\s+([^\s{}()\[\];,|"]+)\s*\{\s*type\s+discrete\s*\[\s*([0-9]{1,9})\s*\]\s*'
    r'\{([^{}()\[\];|"]*)\}\s*;\s*\}'
)
_PROBABILITY = re.compile(
    r'\s*probability\s*\(\s*([^\s{}()\[\];,|"]+)\s*(?:\|([^{}()\[\];|"]*))?\)\s*\{'
)
_TABLE = re.compile(r"\s*table\s([^;]*;)\s*")


@dataclass(frozen=True, slots=True)
class _Block:
    """A probability block: its names, the labels of its rows (none for a table), its numbers."""

    child: str
    parents: list[str]
    labels: list[str]
    numbers: str
    start: int


def sweep(text: str, start: int, file: str) -> tuple[dict[str, Variable], list[Draft]] | None:
    """Variables and tables of a regular text from a place on, or None if it is not regular."""
    variables: dict[str, Variable] = {}
    blocks: list[_Block] = []
    try:
        while match := _VARIABLE.match(text, start):
            states = match[3].replace(",", " ").split()
            if len(states) != int(match[2]):
                return None
            declare(variables, match[1], states, file, line=None)
            start = match.end()
        while match := _PROBABILITY.match(text, start):
            start = text.find("}", match.end())
            block = _block(match, text[match.end() : start]) if start > 0 else None
            if block is None:
                return None
            blocks.append(block)
            start += 1
        is_all = bool(variables) and not text[start:].strip()
        drafts = _drafts(text, blocks, variables, file) if is_all else None
    except FormatError:
        return None
    return None if drafts is None else (variables, drafts)


def _block(match: re.Match[str], body: str) -> _Block | None:
    parents = match[2].replace(",", " ").split() if match[2] else []
    if "(" not in body:
        table = _TABLE.fullmatch(body)
        return table and _Block(match[1], parents, [], table[1], match.end())
    pieces = body.replace(")", "(").split("(")
    if pieces[0].strip() or len(pieces) % 2 == 0 or '"' in body:
        return None
    return _Block(match[1], parents, pieces[1::2], "".join(pieces[2::2]), match.end())


def _drafts(
    text: str, blocks: list[_Block], variables: dict[str, Variable], file: str
) -> list[Draft] | None:
    joined = " ".join([block.numbers for block in blocks])
    values = numbers(joined.replace(",", " ").replace(";", f" {END_OF_ROW} "))
    if values is None:
        return None
    drafts: list[Draft] = []
    start = 0
    for block in blocks:
        family = family_of(variables, block.child, block.parents, file, line=None)
        n_ends = len(block.labels) or 1
        stop = start + family.n_rows * family.shape[-1] + n_ends
        read = _of_rows if block.labels else _of_table
        draft = read(text, block, family, values[start:stop])
        if draft is None:
            return None
        drafts.append(draft)
        start = stop
    return drafts if start == values.size else None


def _of_table(text: str, block: _Block, family: Family, values: Floats) -> Draft | None:
    if values.size != family.n_rows * family.shape[-1] + 1 or values[-1] != END_OF_ROW:
        return None
    rows = values[:-1].reshape(family.shape[-1], -1).T  # the child is the slowest axis here
    return Draft(family, rows, lambda _: _line(text, block, 0))


def _of_rows(text: str, block: _Block, family: Family, values: Floats) -> Draft | None:
    n_rows = family.n_rows
    if len(block.labels) != n_rows or values.size != n_rows * (family.shape[-1] + 1):
        return None
    marked = values.reshape(n_rows, -1)
    order = _order(block.labels, family.given)
    if order is None or not (marked[:, -1] == END_OF_ROW).all():
        return None
    return Draft(family, marked[order, :-1], lambda row: _line(text, block, order[row]))


def _order(labels: list[str], given: Sequence[Variable]) -> list[int] | None:
    """The row of the file for each row of the table, or None if one is missing or odd."""
    words = " ; ".join(labels).replace(",", " ").split()
    width = len(given) + 1
    n_ends = words[width - 1 :: width].count(";")
    if n_ends != len(labels) - 1 or len(words) != len(labels) * width - 1:
        return None
    states = zip(*(words[axis::width] for axis in range(len(given))), strict=True)
    row = {labels: i for i, labels in enumerate(states)}
    try:
        return [row[labels] for labels in product(*(v.discrete_states for v in given))]
    except KeyError:
        return None


def _line(text: str, block: _Block, nth: int) -> int:
    """The line of the nth row of a block."""
    place = block.start - 1
    for _ in range(nth + 1):
        place = text.find("(" if block.labels else "table", place + 1)
    return text.count("\n", 0, place) + 1
