"""What a site answers from its rows, kind by kind, once policy and ledger have let a request pass.

Each kind has a check, which reads no row, the families that the ledger enters, and an answer.
Counts are over the states of the study, which may be more than the site's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Integers, Words
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.discovery import learn
from consilience.errors import RefusalError
from consilience.files.objects import Content
from consilience.fusion.united_tables import complete_rows
from consilience.sites.alternatives import Alternatives
from consilience.sites.expected import asked_families, check_expected, expected_answer
from consilience.sites.masks import SiteKey
from consilience.sites.message import Array, Request
from consilience.sites.policies import Policy
from consilience.sites.site_confusion import check_confusion, confusion_answer
from consilience.sites.study_agreement import Agreement
from consilience.statistics.counts import Counts
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, Engine, MomentRequest, MomentsBySets
from consilience.structure.scores.bayesian import BDeu
from consilience.structure.scores.likelihood import BIC

__all__ = ["ANSWERS", "Given", "Work", "fingerprint", "gaps_of", "size_of"]

Answered: TypeAlias = tuple[Mapping[int, str], Mapping[str, Any], Mapping[str, Array]]
"""What is withheld, the content and the arrays of a reply."""


@dataclass(frozen=True)
class Given:
    """What a request is answered by.

    Parameters
    ----------
    engine, n_rows, scale
        The rows, and their weight in units of the site's own scale.
    policy, agreement
        What may leave, and what the study is about.
    key
        The site's key.
    alternatives
        The audit of all that was shown in mode ``intervals``.
    name
        What the site is called.
    """

    engine: Engine
    n_rows: int
    scale: int
    policy: Policy
    agreement: Agreement
    key: SiteKey
    alternatives: Callable[[], Alternatives]
    name: str | None = None

    @cached_property
    def shared(self) -> list[tuple[str, bytes]]:
        """The public keys of the other sites with the secrets shared with them."""
        keys = [key for _, key in self.agreement.sites if key != self.key.public]
        return [(key, self.key.shared(key)) for key in keys]

    @property
    def table(self) -> Table:
        """The rows of the study's variables, for what needs rows."""
        if not isinstance(self.engine, Memory):
            raise RefusalError(
                f"this needs rows in memory, and the site has a {type(self.engine).__name__}.",
                code="statistics",
            )
        return self.engine.table.pooled().select([*self.agreement.variables])

    def masked(self, counts: Integers, request: Request, request_hash: str) -> Words:
        """Counts under the masks of one request."""
        salt = self.agreement.site_set.encode("ascii")
        info = f"{self.agreement.study}\n{request.round}\n{request_hash}".encode()
        return counts.view("<u8") + self.key.mask(counts.size, self.shared, salt, info)


@dataclass(frozen=True, slots=True)
class Work:
    """How requests of one kind are checked and answered."""

    check: Callable[[Request, Given], None]
    families: Callable[[Request], Sequence[tuple[str, ...]]]
    answer: Callable[[Request, str, Given], Answered]
    gives_counts: bool = False


def size_of(engine: Engine) -> tuple[int, int]:
    """The weight of all rows, in units of one over the scale, and the scale."""
    variables = engine.schema.variables
    discrete = [name for name, one in variables.items() if not one.is_continuous]
    if discrete:
        [counts] = engine.gather(CountRequest((Family(discrete[0]),)))
        return counts.total(), counts.scale
    found = engine.gather(MomentRequest((next(iter(variables)),)))
    return int(found.n_rows.sum()), 1


def gaps_of(engine: Engine, variables: Mapping[str, Variable]) -> tuple[str, ...]:
    """The discrete variables that are missing in some rows."""
    names = [name for name, one in variables.items() if not one.is_continuous]
    found = count(engine, [Family(name) for name in names]) if names else []
    return tuple(one.child.name for one in found if one.n_incomplete.sum() > 0)


def fingerprint(engine: Engine, variables: Mapping[str, Variable]) -> str:
    """What tells these rows from others: a hash of the columns, or of the counts of each."""
    found = hashlib.sha256()
    if isinstance(engine, Memory):
        table = engine.table
        for name in sorted(table.variables):
            found.update(name.encode("utf-8", "surrogatepass") + table.column(name).tobytes())
        found.update(b"" if table.weights is None else table.weights.tobytes())
        return found.hexdigest()
    names = sorted(name for name, one in variables.items() if not one.is_continuous)
    for counts in count(engine, [Family(name) for name in names]):
        found.update(counts.table.tobytes() + counts.n_rows.tobytes())
    return found.hexdigest()


def _check_counts(request: Request, given: Given) -> None:
    """Refuse families that the policy does not give, before a row is read."""
    policy, agreement = given.policy, given.agreement
    if not request.families:
        raise RefusalError("no family is asked for.", code="families")
    if len(request.families) > policy.max_families:
        raise RefusalError(
            f"{len(request.families)} families are more than {policy.max_families}, the most in "
            "one request.",
            code="families",
        )
    n_cells = 0
    for names in request.families:
        _check_names(names, given)
        if policy.max_parents is not None and len(names) > policy.max_parents + 1:
            raise RefusalError(
                f"the family of {_check.listed(names)} has more than {policy.max_parents} parents.",
                code="parents",
            )
        n_cells += prod(agreement.shape(names))
    if n_cells > policy.max_cells:
        raise RefusalError(
            f"{n_cells} cells are more than {policy.max_cells}, the most in one request.",
            code="cells",
        )


def _check_names(names: Sequence[str], given: Given, *, is_continuous: bool = False) -> None:
    variables, allowed = given.agreement.variables, given.policy.variables
    for name in names:
        if name not in variables or (allowed is not None and name not in allowed):
            raise RefusalError(f"{name!r:.80} may not be asked for.", code="variable")
        if variables[name].is_continuous != is_continuous:
            raise RefusalError(f"{name!r:.80} cannot be asked for in this way.", code="variable")


def _counts(request: Request, request_hash: str, given: Given) -> Answered:
    """Counts of the families, one table after the other, as the mode of the study says."""
    mode = given.agreement.mode
    if mode == "intervals":
        return _ranges(request, given)
    flat = _joined([_study_table(one, given) for one in _counted(request.families, given)])
    if mode == "exact":
        return {}, {}, {"counts": flat}
    return {}, {}, {"counts": given.masked(flat, request, request_hash)}


def _counted(families: Sequence[tuple[str, ...]], given: Given) -> list[Counts]:
    asked = tuple(Family(names[-1], names[:-1]) for names in families)
    limit = 8.0 * given.policy.max_cells
    found = given.engine.gather(CountRequest(asked, memory_limit=limit))
    return [one.to_dense(limit) for one in found]


def _study_table(counts: Counts, given: Given) -> Integers:
    """The table of a family over the states, and in the units, of the study."""
    factor = given.agreement.scale // counts.scale
    own = tuple(one.n_states for one in (*counts.given, counts.child))
    return over_states(counts.table.reshape(own) * factor, counts, given.agreement)


def over_states(table: Array, counts: Counts, agreement: Agreement) -> Array:
    """A table over the states of the study; those that the site lacks have no rows."""
    own = (*counts.given, counts.child)
    theirs = [agreement.variables[one.name].discrete_states for one in own]
    if all(one.states == states for one, states in zip(own, theirs, strict=True)):
        return table
    wide = np.zeros(tuple(map(len, theirs)), table.dtype)
    places = (
        [states.index(state) for state in one.discrete_states]
        for one, states in zip(own, theirs, strict=True)
    )
    wide[np.ix_(*places)] = table
    return wide


def _ranges(request: Request, given: Given) -> Answered:
    """Ranges of the cells, after the audit of all that was shown; some families are withheld."""
    names = [tuple(sorted(one)) for one in request.families]
    found = given.alternatives().show(names)
    counted = _counted(request.families, given)
    low: list[Array] = []
    high: list[Array] = []
    withheld: dict[int, str] = {}
    for place, (asked, counts, ranges) in enumerate(
        zip(request.families, counted, found, strict=True)
    ):
        if ranges is None:
            withheld[place] = "with what was shown before, small counts would follow from it"
            continue
        order = [sorted(asked).index(name) for name in asked]
        for bounds, into in zip(ranges, (low, high), strict=True):
            into.append(over_states(bounds.transpose(order), counts, given.agreement))
    return withheld, {}, {"low": _joined(low), "high": _joined(high)}


def _joined(tables: Sequence[Array]) -> Integers:
    flat = [np.ascontiguousarray(one, "<i8").ravel() for one in tables]
    return np.concatenate(flat) if flat else np.zeros(0, "<i8")


def _check_moments(request: Request, given: Given) -> None:
    if given.agreement.mode != "exact":
        raise RefusalError(
            f"means and products leave in mode 'exact' only, not {given.agreement.mode!r}: a sum "
            "of floating numbers cannot be masked.",
            code="mode",
        )
    content = Content.of(dict(request.content), "message", "moments")
    names, sets = content.texts("names"), content.take("sets", list)
    _check_names(names, given, is_continuous=True)
    n_cells = 0
    for by in sets:
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
            raise content.fault("'sets' must be lists of names")
        _check_names(by, given)
        if any(given.agreement.variables[n] != given.engine.schema[n] for n in by):
            raise RefusalError("moments need the same states at all sites.", code="variable")
        n_cells += prod(given.agreement.shape(tuple(by))) * (len(names) + 1) ** 2
    if n_cells > given.policy.max_cells:
        raise RefusalError(f"{n_cells} numbers are more than the policy gives.", code="cells")


def _moments(request: Request, request_hash: str, given: Given) -> Answered:
    content = Content.of(dict(request.content), "message", "moments")
    sets = tuple(map(tuple, content.take("sets", list)))
    asked = MomentsBySets(tuple(content.texts("names")), sets, fine=content.take("fine", bool))
    arrays: dict[str, Array] = {}
    found: list[Moments] = given.engine.gather(asked)
    for i, one in enumerate(found):
        arrays |= {f"{i} {k}": array.astype("<f8") for k, array in enumerate(one.arrays)}
        arrays[f"{i} rows"] = one.n_rows.astype("<f8")
    return {}, {}, arrays


def _check_graph(request: Request, given: Given) -> None:
    content = Content.of(dict(request.content), "message", "graph")
    if content.take("score", str) not in ("bic", "bdeu"):
        raise content.fault("'score' must be 'bic' or 'bdeu'")
    _check.positive("graph", ess=content.number("ess"))


def _graph(request: Request, request_hash: str, given: Given) -> Answered:
    """The graph that the site learns alone from its complete rows; no arcs if there are none."""
    content = Content.of(dict(request.content), "message", "graph")
    score = BIC() if content.take("score", str) == "bic" else BDeu(content.number("ess"))
    rows = complete_rows(given.table)
    arcs = learn(rows, score=score).arcs if rows.n_rows else ()
    return {}, {"arcs": [list(arc) for arc in arcs]}, {}


def _families(request: Request) -> Sequence[tuple[str, ...]]:
    return request.families


def _no_families(request: Request) -> Sequence[tuple[str, ...]]:
    return ()


ANSWERS: Mapping[str, Work] = {
    "counts": Work(_check_counts, _families, _counts, gives_counts=True),
    "moments": Work(_check_moments, _no_families, _moments),
    "graph": Work(_check_graph, _no_families, _graph),
    "expected counts": Work(check_expected, asked_families, expected_answer),
    "confusion counts": Work(check_confusion, _no_families, confusion_answer),
}
"""How each kind of statistics is answered."""
