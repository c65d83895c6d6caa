r"""Permutation tests of independence, from counts.

If X and Y are independent given Z, shuffling Y among rows with the same Z changes nothing that
matters. What a shuffle does to the counts is a random table with the same margins in each joint
state of Z (and, where they are kept apart, source), so none of it needs the rows. With B random
tables, and ties counted by half (the mid-p-value: small tables have many ties), the p-value is

.. math:: \frac{\#\{S_b > S\} + (1 + \#\{S_b = S\}) / 2}{1 + B} ,

which holds however few the rows.

Tables are drawn with a seed and the names of the variables, so that the answer to a statement
depends on nothing else.

References
----------
R. A. Fisher (1935). The Design of Experiments. Oliver and Boyd.
H. O. Lancaster (1961). Significance tests in discrete distributions. JASA 56.
W. M. Patefield (1981). Algorithm AS 159: an efficient method of generating random R x C tables with
given row and column totals. Applied Statistics 30.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from scipy.stats import random_table

from consilience import _check
from consilience._typing import Floats
from consilience.errors import DataError, InputError
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.contingency import (
    GSquare,
    PearsonX2,
    ShrunkInformation,
    g_squares,
    pearson_x2s,
    shrunk_informations,
)
from consilience.structure.independence.statements import Statements, Verdicts

__all__ = ["Permutation"]

STATISTICS: dict[type, Callable[[Floats], Floats]] = {
    GSquare: g_squares,
    PearsonX2: pearson_x2s,
    ShrunkInformation: shrunk_informations,
}

ROUNDING = 1e-9
"""Relative; statistics that differ by less are equal."""

DRAWS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Permutation:
    """A test of tables whose p-value comes from shuffled rows.

    The statistic is that of the test; its degrees of freedom are told too, but not used.

    Parameters
    ----------
    of
        ``GSquare()``, ``PearsonX2()`` or ``ShrunkInformation()``.
    draws
        Number of random tables; the p-value is no less than a half in one more.
    seed
        Of the random tables: a whole number.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 3, "y": list("abab") * 3})
    >>> test = cs.independence.Permutation(of=cs.independence.PearsonX2(), draws=99)
    >>> cs.independence.test(table, "x", "y", by=test).p_value > 0.5
    True
    """

    of: GSquare | PearsonX2 | ShrunkInformation = field(default_factory=GSquare)
    draws: int = 1000
    seed: int = 0
    adds_up: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self.of) not in STATISTICS:
            raise InputError(
                "Permutation: of must be cs.independence.GSquare(), PearsonX2() or "
                f"ShrunkInformation(), got {self.of!r}.",
                parameter="of",
            )
        _check.whole("Permutation", at_least=1, draws=self.draws)
        _check.whole("Permutation", at_least=0, seed=self.seed)

    @property
    def alpha(self) -> float:
        """That of the test."""
        return self.of.alpha

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers, the sources pooled."""
        return self.parts(rows, asked, by_source=False).of_source(0)

    def parts(self, rows: AskedRows, asked: Statements, *, by_source: bool) -> Verdicts:
        """The answers of each source."""
        found = self.of.parts(rows, asked, by_source=by_source)
        p_value = np.ones_like(found.p_value)
        for group in rows.tables(asked, by_source=by_source):
            for place, counts in zip(group.places.tolist(), group.counts, strict=True):
                names = [rows.names[asked.x[place]], rows.names[asked.y[place]]]
                ordered = counts if names == sorted(names) else np.swapaxes(counts, -1, -2)
                rng = _generator(self.seed, (*sorted(names), *rows.name(asked.given[place])))
                p_value[:, place] = [self._p_value(one, rng) for one in ordered]
        return Verdicts(found.statistic, found.df, p_value, found.n_rows)

    def _p_value(self, counts: Floats, rng: np.random.Generator) -> float:
        """The p-value of one table (given states, states of x, states of y)."""
        statistic = STATISTICS[type(self.of)]
        tables = _reduced(counts)
        if not tables:
            return 1.0
        observed = sum(float(statistic(one[None])) for one in tables)
        slack = ROUNDING * (1 + observed)
        at_once = max(1, DRAWS_AT_ONCE // sum(one.size for one in tables))
        n_far, left = 0.5, self.draws
        while left:
            n = min(at_once, left)
            drawn = np.sum([statistic(_drawn(one, n, rng)[:, None]) for one in tables], axis=0)
            beyond = drawn - observed
            n_far += (beyond > slack).sum() + (np.abs(beyond) <= slack).sum() / 2
            left -= n
        return float(n_far / (1 + self.draws))


def _drawn(table: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Random tables with the margins of one, shape (n, states of x, states of y)."""
    of_x, of_y = (table.sum(axis=a).astype(np.int64) for a in (1, 0))
    drawn = random_table(of_x, of_y, seed=rng).rvs(size=n)
    return np.asarray(drawn, np.float64).reshape(n, len(of_x), len(of_y))


def _reduced(counts: Floats) -> list[Floats]:
    """The tables of given states that can be shuffled, in an order that no order of states changes.

    States that do not occur are left out, the others stand by their margins.
    """
    if not np.array_equal(counts, np.rint(counts)):
        raise DataError(
            "Permutation shuffles whole rows, and the rows have fractional weights. Use "
            "cs.independence.GSquare()."
        )
    kept = []
    for one in counts:
        of_x, of_y = one.sum(axis=1), one.sum(axis=0)
        rows, columns = np.argsort(of_x, kind="stable"), np.argsort(of_y, kind="stable")
        table = one[np.ix_(rows[of_x[rows] > 0], columns[of_y[columns] > 0])]
        if min(table.shape) > 1:
            kept.append(table)
    return sorted(kept, key=lambda one: (*one.sum(axis=1), 0.0, *one.sum(axis=0)))


def _generator(seed: int, names: tuple[str, ...]) -> np.random.Generator:
    """A generator of a seed and names, the same wherever and whenever it is asked for."""
    digest = blake2b("\0".join(names).encode(), digest_size=16).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])
