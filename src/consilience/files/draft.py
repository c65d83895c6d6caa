r"""What a file says, on its way to a network.

Every reader ends here: it hands over the variables and one :class:`Draft` of a table for each of
them. The rows are judged by one rule, with :math:`e_j = |\sum_k \theta_{jk} - 1|`:

===================== =============================================================
:math:`\le 10^{-12}`  kept as they are, so that writing and reading is the identity
:math:`\le 10^{-3}`   divided by their sum, and noted in the record
above                 a :class:`FormatError` that names node, row and line
===================== =============================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, Posterior
from consilience.errors import FormatError, InputError
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = [
    "NUMBER",
    "Draft",
    "Family",
    "assemble",
    "declare",
    "family_of",
    "fault",
    "line_of_number",
    "numbers",
    "numbers_text",
    "rows_of",
]

KEPT = 1e-12  # rounding of a sum of a few hundred probabilities stays below it
REPAIRED = 1e-3  # probabilities written with three or four digits
TABLE_LIMIT = 2**30  # bytes of one table
MOST_PARENTS = 63  # an array has at most 64 axes
SAMPLE = 20_000  # characters of a text that show whether its numbers repeat

NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+")
_NUMBERS = re.compile(rf"\s*+(?:{NUMBER.pattern}(?:\s++|\Z))*+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Family:
    """A node with its parents; ``shape`` has the numbers of states, the node's last."""

    child: Variable
    given: tuple[Variable, ...]
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.child.name

    @property
    def n_rows(self) -> int:
        """Number of parent states."""
        return math.prod(self.shape[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """The table of one node as a file states it.

    Parameters
    ----------
    family
        The node and its parents.
    rows
        Shape ``(parent states, states)``: first parent slowest, last parent fastest.
    line_of
        Where a row stands in the file, if the reader knows.
    posterior
        The posterior of the table, in the one format that keeps it.
    """

    family: Family
    rows: Floats
    line_of: Callable[[int], int | None]
    posterior: Posterior | None = None


def fault(file: str, line: int | None, text: str) -> FormatError:
    """The error for a place in a file: ``alarm.bif, line 12: expected ';', found '}'.``"""
    where = file if line is None else f"{file}, line {line}"
    return FormatError(f"{where}: {text}", file=file, line=line)


def declare(
    variables: dict[str, Variable],
    name: str,
    states: Iterable[str] | None,
    file: str,
    *,
    line: int | None,
) -> None:
    """Add the variable that a file declares, continuous if it has no states; but not twice."""
    if name in variables:
        raise fault(file, line, f"the node {name!r} is declared twice.")
    try:
        variables[name] = Variable(name, None if states is None else tuple(states))
    except InputError as problem:
        raise fault(file, line, str(problem)) from problem


def family_of(
    variables: Mapping[str, Variable],
    child: str,
    parents: Sequence[str],
    file: str,
    *,
    line: int | None,
) -> Family:
    """The family of these names, refused if one is unknown or its table too large."""
    try:
        given = tuple([variables[name] for name in parents])
        node = variables[child]
    except KeyError as problem:
        text = f"unknown node {problem.args[0]!r} in the family of {child!r}. Known: "
        raise fault(file, line, f"{text}{_check.listed(variables)}.") from problem
    for variable in given:
        if variable.is_continuous:
            text = f"the node {child!r} is a table and has the continuous parent {variable.name!r}."
            raise fault(file, line, text)
    if len(given) > MOST_PARENTS:
        text = f"the node {child!r} has {len(given)} parents; at most {MOST_PARENTS} can be read."
        raise fault(file, line, text)
    shape = tuple([len(variable.discrete_states) for variable in (*given, node)])
    _check.memory(
        f"the table of {child!r} in {file}",
        8.0 * math.prod(shape),
        TABLE_LIMIT,
        "Give the node fewer parents or states.",
    )
    return Family(node, given, shape)


def rows_of(values: Floats, family: Family, file: str, line: int | None) -> Floats:
    """The numbers of a whole table as rows, refused if there are too many or too few."""
    wanted = math.prod(family.shape)
    if values.size != wanted:
        text = f"the table of {family.name!r} needs {wanted} numbers, found {values.size}."
        raise fault(file, line, text)
    return values.reshape(-1, family.shape[-1])


def numbers(text: str) -> Floats | None:
    """All numbers of a text that holds nothing else, or None.

    ``1``, ``.5``, ``1.`` and ``1e-5`` are numbers; ``nan``, ``inf``, ``0x1`` and ``1_000`` are not.
    Tables of the repositories repeat few numbers many times, and each is then read once (about 0.15
    microseconds a number); the numbers of learned tables differ (0.5 microseconds).
    """
    if not text.isascii():
        return None
    sample = text[:SAMPLE].split()
    if 2 * len(set(sample)) < len(sample):
        words = text.split()
        distinct = set(words)
        if _NUMBERS.fullmatch(" ".join(distinct)) is None:
            return None
        value = dict(zip(distinct, map(float, distinct), strict=True))
        return np.fromiter(map(value.__getitem__, words), np.float64, len(words))
    if _NUMBERS.fullmatch(text) is None:
        return None
    return np.fromstring(text, sep=" ") if sample else np.empty(0)


def numbers_text(values: Floats) -> str:
    """Numbers with all their digits, separated by blanks."""
    return " ".join(map(repr, values.ravel().tolist()))


def line_of_number(text: str, first_line: int, nth: int) -> int:
    """The line on which a number stands in a text that begins on ``first_line``."""
    found = next(islice(NUMBER.finditer(text), nth, None), None)
    return first_line + text.count("\n", 0, found.start() if found else len(text))


def assemble(
    file: str,
    variables: Mapping[str, Variable],
    drafts: Sequence[Draft],
    *,
    others: Sequence[Distribution] = (),
    source: str | None = None,
    notes: Iterable[str] = (),
    record: Record | None = None,
    kept: float = KEPT,
) -> Network:
    """The network that a file describes, its nodes in the order of ``variables``.

    ``others`` are the distributions that are not tables. ``record`` is the story that the file
    tells itself; without one the record names the file.
    """
    found = list(notes)
    tables: dict[str, Distribution] = {local.child.name: local for local in others}
    for draft, is_suspect in zip(drafts, _suspects(drafts, kept), strict=True):
        name = draft.family.name
        if name in tables:
            raise fault(file, draft.line_of(0), f"the node {name!r} has two tables.")
        rows = _normalized(file, draft, found, kept) if is_suspect else draft.rows
        tables[name] = _table(file, draft, rows)
    for name in variables:
        if name not in tables:
            raise fault(file, None, f"the node {name!r} has no table.")
    if source is not None and source not in variables:
        raise fault(file, None, f"the source {source!r} is not a node.")
    try:
        return Network.of(
            [tables[name] for name in variables], source=source, record=_story(file, record, found)
        )
    except InputError as problem:
        raise fault(file, None, str(problem)) from problem


def _suspects(drafts: Sequence[Draft], kept: float) -> list[bool]:
    """Which drafts have a row to look at; one pass over all tables, since most have none."""
    if not drafts:
        return []
    values = np.concatenate([draft.rows.ravel() for draft in drafts])
    n_rows = [len(draft.rows) for draft in drafts]
    widths = np.repeat([draft.family.shape[-1] for draft in drafts], n_rows)
    starts: Integers = np.cumsum(widths) - widths
    is_strange = ~((values >= 0) & (values <= 1 + REPAIRED))
    if is_strange.any():
        is_bad = np.logical_or.reduceat(is_strange, starts)
    else:
        is_bad = np.abs(np.add.reduceat(values, starts) - 1) > kept
    first_rows: Integers = np.cumsum(n_rows) - np.array(n_rows)
    return list(np.logical_or.reduceat(is_bad, first_rows))


def _normalized(file: str, draft: Draft, notes: list[str], kept: float) -> Floats:
    rows = draft.rows
    is_strange = ~((rows >= 0) & (rows <= 1 + REPAIRED)).all(axis=1)
    if is_strange.any():
        row = int(np.flatnonzero(is_strange)[0])
        raise _bad_row(file, draft, row, "its entries must lie between 0 and 1")
    sums = rows.sum(axis=1)
    error = np.abs(sums - 1)
    if error.max() > REPAIRED:
        row = int(np.flatnonzero(error > REPAIRED)[0])
        raise _bad_row(file, draft, row, f"it sums to {sums[row]:.10g}, not to 1")
    is_off = error > kept
    if is_off.any():
        notes.append(
            f"Node {draft.family.name!r}: {is_off.sum()} of {len(rows)} rows were divided by their "
            f"sum, which was off by at most {error.max():.2g}."
        )
    return rows / np.where(is_off, sums, 1.0)[:, np.newaxis]


def _bad_row(file: str, draft: Draft, row: int, what: str) -> FormatError:
    codes = np.unravel_index(row, draft.family.shape[:-1]) if draft.family.given else ()
    given = [
        f"{parent.name}={parent.discrete_states[code]}"
        for parent, code in zip(draft.family.given, codes, strict=True)
    ]
    where = f" given {', '.join(given)}" if given else ""
    shown = ", ".join(f"{entry:.6g}" for entry in draft.rows[row][:8])
    dots = ", ..." if draft.rows.shape[1] > 8 else ""
    return fault(
        file,
        draft.line_of(row),
        f"row {row + 1} of {draft.family.name!r}{where} is not a distribution, {what}: "
        f"{shown}{dots}.",
    )


def _table(file: str, draft: Draft, rows: Floats) -> Categorical:
    family = draft.family
    try:
        return Categorical(family.child, family.given, rows.reshape(family.shape), draft.posterior)
    except InputError as problem:
        raise fault(file, draft.line_of(0), str(problem)) from problem


def _story(file: str, record: Record | None, notes: Sequence[str]) -> Record:
    if record is None:
        return Record(method=f"read from {file}", notes=tuple(notes))
    return replace(record, notes=(*record.notes, *notes))
