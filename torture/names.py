"""Names that programs trip over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NUMBERS = ["1.0", "1e3", "1.10", "1", "01", "-0", "1000", "1000.0", "0x10", "1_000", "1e999", "٣"]
WORDS = [
    "nan",
    "NaN",
    "None",
    "True",
    "False",
    "null",
    "NA",
    "inf",
    "-inf",
    "weight",
    "source",
    "row",
]
BLANKS = [" ", "  ", " a", "a ", "a  b", "\t", "\n", "a\nb", "\u00a0", "\u200b"]
SIGNS = [
    '"',
    "'",
    "''",
    ",",
    ";",
    "=",
    "a=b",
    "|",
    "a|b",
    ":",
    "[a]",
    "[a|b]",
    "(",
    "{}",
    "<b>",
    "&amp;",
]
SIGNS += [
    "\\",
    "\\n",
    "%",
    "#",
    "//",
    "/*",
    "..",
    "a/b",
    "~",
    "-",
    "--",
    "new_source",
    "new_source ",
]
LETTERS = [
    "ä",
    "é",
    "e\u0301",
    "日本語",
    "Ω",
    "שלום",
    "مرحبا",
    "\u202eabc",
    "😀",
    "👨‍👩‍👧",
    "ß",
    "SS",
    "a",
    "A",
]
LONG = ["x" * 200, "y" * 199 + "z"]
ALL = [*NUMBERS, *WORDS, *BLANKS, *SIGNS, *LETTERS, *LONG]


def some(rng: np.random.Generator, n: int, *, without: Sequence[str] = ()) -> list[str]:
    """So many different names; a third of the time all look like numbers."""
    pool = NUMBERS if rng.random() < 0.3 and n <= len(NUMBERS) else ALL
    allowed = [name for name in pool if name not in without]
    return [allowed[i] for i in rng.permutation(len(allowed))[:n]]
