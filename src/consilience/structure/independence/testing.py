"""The verbs: one test of independence, or many in one request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from consilience import _check
from consilience.data.door import Rows
from consilience.errors import InputError
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.asking import Asking
from consilience.structure.independence.default_tests import check_test, default_test
from consilience.structure.independence.false_discovery import bh_adjusted
from consilience.structure.independence.statements import IndependenceTest, Verdict

__all__ = ["test", "tests"]


def test(
    rows: Rows | Engine,
    x: str,
    y: str,
    given: Iterable[str] = (),
    *,
    by: IndependenceTest | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Verdict:
    """Whether two variables are independent given others, as far as the rows can tell.

    A row counts if all variables of the test are known in it; ``n_rows`` says how
    many did. :class:`Completed` uses all rows, by expected counts.

    Parameters
    ----------
    rows
        A table or an engine.
    x, y
        Two variables.
    given
        Other variables.
    by
        The test. If not given, Pearson's X² with adjusted degrees of freedom for discrete
        variables, the exact t test for continuous ones, likelihood ratios for both kinds together;
        and with several sources these within each of them.
    memory_limit
        Bytes of the statistics; more are refused before they are allocated.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("abab") * 5})
    >>> cs.independence.test(table, "x", "z").is_independent
    True
    >>> found = cs.independence.test(table, "x", "y", given=["z"], by=cs.independence.GSquare())
    >>> round(found.statistic, 3), found.df, found.n_rows
    (27.726, 2.0, 20.0)
    """
    _check.names("test", given=given)
    return tests(rows, [(x, y, given)], by=by, memory_limit=memory_limit)[0]


def tests(
    rows: Rows | Engine,
    statements: Iterable[Sequence[Any]],
    *,
    by: IndependenceTest | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> list[Verdict]:
    """Many tests in one request for each number of given variables.

    Parameters
    ----------
    rows
        A table or an engine.
    statements
        Pairs (x, y) and triples (x, y, given).
    by
        The test, the same for all; chosen as in :func:`test` by all variables that are named.
    memory_limit
        Bytes of the statistics of one request.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("abab") * 5})
    >>> found = cs.independence.tests(table, [("x", "y"), ("x", "z", ["y"])])
    >>> [one.is_independent for one in found]
    [False, True]
    """
    engine = engine_of(rows)
    asked = [_checked(engine, one) for one in statements]
    if not asked:
        return []
    names = tuple(sorted({name for x, y, given in asked for name in (x, y, *given)}))
    if by is not None:
        check_test("test", "by", by)
    chosen = default_test(engine, names) if by is None else by
    place = {name: i for i, name in enumerate(names)}
    asking = Asking(chosen, AskedRows(engine, names, memory_limit=memory_limit))
    found = asking.tell([(place[x], place[y], tuple(place[g] for g in z)) for x, y, z in asked])
    p_values = np.array([one.p_value for one in found])
    if asking.adjusts:
        p_values = bh_adjusted(p_values)
    return [
        Verdict(x, y, given, one.statistic, one.df, p, one.n_rows, chosen)
        for (x, y, given), one, p in zip(asked, found, p_values.tolist(), strict=True)
    ]


def _checked(engine: Engine, statement: Sequence[Any]) -> tuple[str, str, tuple[str, ...]]:
    """The parts of a statement, all known variables and different ones."""
    if isinstance(statement, str) or len(statement) not in (2, 3):
        raise InputError(
            f"tests: a statement is (x, y) or (x, y, given), got {statement!r}.",
            parameter="statements",
        )
    x, y, *rest = statement
    for names in rest:
        _check.names("test", given=names)
    given = tuple(name for some in rest for name in some)
    everyone = (x, y, *given)
    source = engine.schema.source
    if source is not None and source.name in everyone:
        raise InputError(
            f"test: {source.name!r} is the source. cs.independence.Stratified() tests within "
            "sources; to test the source itself, read the rows with it as a variable.",
            variable=source.name,
        )
    _check.known("variable", everyone, engine.schema.variables)
    for name in everyone:
        if everyone.count(name) > 1:
            raise InputError(f"test: {name!r} stands twice in a statement.", variable=name)
    return x, y, given
