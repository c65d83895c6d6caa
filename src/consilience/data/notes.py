r"""What a reader of a table should know about its columns: notes, and no guesses.

A note names a column, says what was seen, and what to write if it means what it seems to mean;
nothing is changed on the strength of it. Looked for are

- *identifiers*: nearly as many states as rows, or whole numbers that count the rows;
- *stray labels*: numbers read as text because of a few words such as ``NA``;
- *spikes*: one value at the end of the range of a continuous column that many rows have, far from
  all others (cholesterol 0) or much more often than any other;
- whole numbers beyond :math:`2^{53}`, different ones of which may be one float;
- columns *of the source*: one value within each source, and not by chance. If the values
  :math:`x` with shares :math:`p_x` were dealt at random to the rows, all :math:`n_f` rows of every
  source :math:`f` would agree with probability

  .. math:: \prod_f \sum_x p_x^{n_f},

  and a column is of the source if that is less than one in a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from consilience import _check
from consilience._lazy import later
from consilience._typing import Bools, Floats, Integers
from consilience.data.labels import is_plain_number, label
from consilience.data.table import Table

__all__ = [
    "GENERAL",
    "columns_of_source",
    "is_no_chance",
    "noted",
    "notes_of",
    "notes_on_source",
]

_coding, _pieces = later("consilience.data.coding"), later("consilience.data.pieces")

GENERAL = ""
"""Key of remarks that are about no single column."""

FEWEST_ROWS = 10
"""Rows below which nothing is remarkable."""

NEARLY_ALL = 0.9
"""States per row from which on a column looks like an identifier."""

LARGEST_EXACT = 2.0**53
"""Beyond it floats hold only some of the whole numbers."""

BY_CHANCE = 1e-3
"""Largest probability of an agreement within sources that is not put down to chance."""

MISSING_WORDS = frozenset(
    ("na", "n/a", "n.a.", "nan", "null", "none", "nil", "unknown", "missing", "#n/a", "<na>", "-",
     ".", "--", "*")
)  # fmt: skip
"""Words that often stand for a missing value, in small letters."""

CLEAR_WORDS = frozenset(("na", "n/a", "nan", "null", "#n/a", "<na>"))
"""Those that seldom mean anything else, even among other words."""

_STRAY_LABELS = 3  # more words than this are states beside numbers, not strays among them
_SMALLEST_SPIKE, _LARGE_SPIKE, _TIMES_THE_NEXT = 0.01, 0.1, 5
_FEW_ROWS = 1000  # enough to see that most columns vary within sources


def noted(table: Table, of_source: Sequence[str] | None) -> Table:
    """The table with remarks on its columns; columns of the source are found if not given."""
    remarks = {name: tuple(_remarks(table, name)) for name in table.variables}
    strays = {name: _stray_labels(table, name) for name in table.variables}
    advice = _missing_advice(table, dict.fromkeys(t for labels in strays.values() for t in labels))
    for name, labels in strays.items():
        if labels:
            remarks[name] += (f"{_on_labels(table, name, labels)} {advice}",)
    found = columns_of_source(table) if of_source is None else tuple(of_source)
    _check.known("column", found, table.variables)
    return replace(table, remarks={n: r for n, r in remarks.items() if r}, of_source=found)


def notes_of(table: Table, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """The notes on these columns (None: on all), general ones first."""
    chosen = set(table.variables if names is None else names)
    listed = [GENERAL, *(name for name in table.variables if name in chosen)]
    remarks = [text for name in listed for text in table.remarks.get(name, ())]
    of_source = [name for name in table.of_source if name in chosen]
    return (*remarks, *notes_on_source(table.source, of_source))


def columns_of_source(table: Table) -> tuple[str, ...]:
    """The columns that have one value within each source, and not by chance."""
    if table.source_codes is None or len(table.sources) < 2:
        return ()
    return tuple(name for name in table.variables if _is_of_source(table, name))


def _remarks(table: Table, name: str) -> Iterator[str]:
    is_continuous = table.variables[name].is_continuous
    if table.origins.get(name) == "schema":
        return
    n_values = _identifier_values(table, name)
    if n_values and not _stray_labels(table, name):
        yield (
            f"Column {name!r} looks like an identifier: {n_values:,} different values in "
            f"{int(_is_known(table, name).sum()):,} rows. Leave it out with "
            f"{_check.argument('drop', [name])}."
        )
    elif is_continuous and (largest := _beyond_floats(table.columns[name])):
        yield (
            f"Column {name!r} has whole numbers up to {largest:.4g}, and floats hold only some of "
            "those beyond 9007199254740992: different ones may have become equal. If they are "
            f"names, read with {_check.argument('discrete', [name])} or leave them out."
        )
    elif is_continuous and (spike := _spike(table.columns[name])):
        value, rest = spike
        yield _on_spike(table, name, value, rest)


def _identifier_values(table: Table, name: str) -> int:
    """Number of different values of a column that looks like an identifier, else 0."""
    column, variable = table.columns[name], table.variables[name]
    if table.origins.get(name) == "declared" or table.weights is not None:
        return 0
    known = column[_is_known(table, name)]
    if len(known) < FEWEST_ROWS:
        return 0
    if not variable.is_continuous:
        is_many = variable.n_states >= NEARLY_ALL * len(known)
        n_values = len(np.unique(known)) if is_many else 0
        return n_values if n_values >= NEARLY_ALL * len(known) else 0
    if len(known) <= _coding.MOST_STATES or np.any(
        np.floor(known[:_FEW_ROWS]) != known[:_FEW_ROWS]
    ):
        return 0
    is_counted = known.max() - known.min() < 2 * len(known)
    if not (is_counted or np.all(np.diff(known) > 0)):
        return 0
    is_identifier = np.all(np.floor(known) == known) and len(np.unique(known)) == len(known)
    return len(known) if is_identifier else 0


def _beyond_floats(column: Floats) -> float:
    """The largest size of a column of whole numbers if not all floats of that size are, else 0."""
    known = column[~np.isnan(column)]
    largest = float(np.abs(known).max(initial=0.0))
    return largest if largest > LARGEST_EXACT and np.all(np.floor(known) == known) else 0.0


def _stray_labels(table: Table, name: str) -> tuple[str, ...]:
    """Labels of a column that may stand for missing values."""
    if table.origins.get(name) != "text":
        return ()
    states = table.variables[name].discrete_states
    words = [state for state in states if not is_plain_number(state)]
    numbers = [float(state) for state in states if is_plain_number(state)]
    is_whole = all(number.is_integer() for number in numbers)
    is_continuous = len(set(numbers)) > _coding.MOST_STATES or not is_whole
    if len(numbers) > len(words) and is_continuous and len(words) <= _STRAY_LABELS:
        return tuple(words)
    usual = [word for word in words if word.lower() in MISSING_WORDS]
    if len(numbers) > 1 and len(usual) == len(words):
        return tuple(words)
    return tuple(word for word in usual if word.lower() in CLEAR_WORDS)


def _on_labels(table: Table, name: str, labels: Sequence[str]) -> str:
    variable = table.variables[name]
    codes = [variable.discrete_states.index(text) for text in labels]
    n_rows = int(np.isin(table.columns[name], codes).sum())
    called = f"{_check.listed(labels)} ({n_rows:,} row{'s' * (n_rows != 1)})"
    others = [state for state in variable.discrete_states if state not in labels]
    if all(map(is_plain_number, others)):
        return (
            f"Column {name!r} holds numbers except for {called}, so it was read as text with "
            f"{variable.n_states:,} states."
        )
    return f"Column {name!r} has the state {called}."


def _missing_advice(table: Table, labels: Iterable[str]) -> str:
    """What to write if the labels mean missing values, without losing the usual markers."""
    is_any_missing = not all(_is_known(table, name).all() for name in table.variables)
    markers = [*(_pieces.USUAL_MARKERS if is_any_missing else ()), *labels]
    return f"If that means a missing value, read with {_check.argument('missing', markers)}."


def _spike(column: Floats) -> tuple[float, Floats] | None:
    """The value at an end of the range that stands out, and the other values; None without one."""
    known = column[~np.isnan(column)]
    if len(known) < FEWEST_ROWS:
        return None
    for value in (known.min(), known.max()):
        rest = known[known != value]
        n_rows = len(known) - len(rest)
        if n_rows < 3 or n_rows < _SMALLEST_SPIKE * len(known) or len(rest) < FEWEST_ROWS:
            continue
        if _is_apart(value, rest) or _is_often(n_rows, rest):
            return float(value), rest
    return None


def _is_apart(value: float, rest: Floats) -> bool:
    """Whether the other values are farther away than their middle half is wide."""
    low, high = np.quantile(rest, (0.25, 0.75))
    return bool(np.abs(rest - value).min() > max(high - low, 0) > 0)


def _is_often(n_rows: int, rest: Floats) -> bool:
    """Whether many rows have the value, and far fewer any other."""
    if n_rows < _LARGE_SPIKE * (n_rows + len(rest)):
        return False
    return bool(n_rows >= _TIMES_THE_NEXT * np.unique(rest, return_counts=True)[1].max())


def _on_spike(table: Table, name: str, value: float, rest: Floats) -> str:
    n_known = int(_is_known(table, name).sum())
    n_rows = n_known - len(rest)
    bound = f"at least {rest.min():.6g}" if rest.min() > value else f"at most {rest.max():.6g}"
    number = int(value) if float(value).is_integer() else value
    markers = _check.argument("missing_in", {name: [number]})
    advice = f"If {label(value)} means a missing value, read with {markers}"
    is_apart = _is_apart(value, rest)
    other = "" if is_apart else ". If not, no normal distribution fits it: use discretize="
    return (
        f"Column {name!r} is {label(value)} in {n_rows:,} of {n_known:,} rows "
        f"({n_rows / n_known:.0%}) and {bound} in the others. {advice}{other}."
    )


def _is_of_source(table: Table, name: str) -> bool:
    sources = table.source_codes
    assert sources is not None
    known = _is_known(table, name)
    head = slice(_FEW_ROWS)
    for rows in (head, slice(None)):
        values, of_rows = table.columns[name][rows][known[rows]], sources[rows][known[rows]]
        first = np.zeros(len(table.sources), values.dtype)
        first[of_rows[::-1]] = values[::-1]
        if not np.array_equal(first[of_rows], values):
            return False
    n_rows, n_values = (np.unique(one, return_counts=True)[1] for one in (of_rows, values))
    return is_no_chance(n_rows, n_values)


def is_no_chance(n_rows: Integers, n_values: Integers) -> bool:
    """Whether rows that agree within all sources do not do so by chance.

    Parameters
    ----------
    n_rows
        Rows of each source that has any.
    n_values
        Rows of each value.
    """
    return len(n_values) > 1 and _log_chance(n_rows, n_values) < np.log(BY_CHANCE)


def _log_chance(n_rows: Integers, n_values: Integers) -> float:
    """Log probability that rows agree within all sources if values are dealt at random."""
    shares = n_values / n_values.sum()
    sizes, n_sources = np.unique(n_rows, return_counts=True)
    largest = shares.max()  # taken out of the sum, so that no power of a small share is lost
    sums = [np.log(((shares / largest) ** n).sum()) + n * np.log(largest) for n in sizes]
    return float(np.dot(n_sources, sums))


def notes_on_source(source: str | None, names: Sequence[str]) -> list[str]:
    """The note on columns that belong to the source."""
    if not names:
        return []
    one = len(names) == 1
    return [
        f"Column{'s' * (not one)} {_check.listed(names)} {'has' if one else 'have'} one value "
        f"within each source of {source!r}: {'it is' if one else 'they are'} of the source. "
        f"A search considers no arc from another column into {'it' if one else 'them'} unless "
        "require= names it."
    ]


def _is_known(table: Table, name: str) -> Bools:
    column = table.columns[name]
    return ~np.isnan(column) if table.variables[name].is_continuous else column >= 0
