"""Requests of learners turned into rounds, and the replies of sites into statistics.

Joint counts of a set of variables are asked for once and serve every family of these variables, and
of fewer of them if no row lacks one.
Totals of masked replies, sums of exact ones and estimates from ranges all become :class:`Counts`,
in the layout that rows in memory would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Integers
from consilience.data.variable import Schema
from consilience.errors import InputError, RefusalError, WithheldError
from consilience.inference.case_requests import CasesRequest, ExpectedRequest
from consilience.sites.censored import estimated, in_fixed_point
from consilience.sites.exchange import Exchange
from consilience.sites.expected import expected_sums
from consilience.sites.margins import Known, margin
from consilience.sites.masks import sum_of
from consilience.sites.message import Reply, Request
from consilience.sites.study_agreement import Agreement
from consilience.sites.study_limits import SiteLimits, common_limits
from consilience.sites.study_record import StudyRecord
from consilience.statistics.counts import FIXED_POINT, Counts, check_table_size, source_axis
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, MomentRequest, MomentsBySets
from consilience.statistics.together import Together
from consilience.statistics.toggles import ToggledParents, ToggleRequest, ToggleRequests

__all__ = ["Gathered"]


@dataclass
class Gathered:
    """What was answered in a study; mutable, with one owner, the federation.

    Parameters
    ----------
    agreement
        What the study is about.
    exchange
        The ways to the sites.
    limits
        What each site lets one ask.
    n_rows
        Rows of each site, in units of the study.
    last_round
        The last round that some site has seen.
    """

    agreement: Agreement
    exchange: Exchange
    limits: Sequence[SiteLimits]
    n_rows: Sequence[int]
    last_round: int
    withheld: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._common = common_limits(self.limits)
        self._tables: dict[tuple[str, ...], Integers] = {}
        self._summable = Known()
        self._place = {name: i for i, name in enumerate(self.agreement.variables)}

    @property
    def scale(self) -> int:
        """What one row counts in the tables."""
        return FIXED_POINT if self.agreement.mode == "intervals" else self.agreement.scale

    @property
    def rows(self) -> Integers:
        """Rows of each site in units of one over the scale."""
        return np.array(self.n_rows, np.int64) * (self.scale // self.agreement.scale)

    def record(self, notes: tuple[str, ...]) -> StudyRecord:
        """What happened so far."""
        names = self.agreement.names
        return StudyRecord(
            self.agreement.study,
            self.agreement.mode,
            {n: r / self.agreement.scale for n, r in zip(names, self.n_rows, strict=True)},
            dict(zip(names, self.exchange.policies, strict=True)),
            tuple(self.exchange.rounds),
            tuple(self.exchange.refusals),
            self.withheld,
            notes,
        )

    def ask(
        self,
        kind: str,
        *,
        families: Sequence[tuple[str, ...]] = (),
        content: Mapping[str, Any] | None = None,
        n_cells: int = 0,
    ) -> list[Reply]:
        """The replies of all sites to the question of a new round."""
        if kind not in self._common.kinds:
            raise RefusalError(
                f"not all sites give {kind}; their policies decide.", code="kind", kind=kind
            )
        self.last_round += 1
        asked = Request(
            kind,
            self.agreement.study,
            self.last_round,
            self.agreement.site_set,
            self.agreement.schema_hash,
            tuple(families),
            "",
            content or {},
        )
        return self.exchange.ask(asked, n_cells)

    def answer(self, request: Any, schema: Schema) -> Any:
        """The answer to a request of a learner."""
        if isinstance(request, CountRequest):
            return self._counts(request.families, request, schema)
        if isinstance(request, ToggleRequest):
            return self._toggled([request], schema)
        if isinstance(request, ToggleRequests):
            return self._toggled(request.requests, schema)
        if isinstance(request, Together):
            return [self.answer(one, schema) for one in request.requests]
        if isinstance(request, MomentsBySets):
            return self._moments(request, schema)
        if isinstance(request, MomentRequest):
            every = MomentsBySets(
                request.names, (request.by,), request.by_source, fine=request.fine
            )
            return self._moments(every, schema)[0]
        if isinstance(request, ExpectedRequest):
            return expected_sums(self, request)
        if isinstance(request, CasesRequest):  # cases are rows; steps of EM are asked for instead
            raise WithheldError("the cases of rows do not leave a site.")
        raise InputError(
            f"sites are not asked for a {type(request).__name__}: they answer counts, moments, "
            "expected counts, confusion counts and graphs. Fit logistic nodes where the rows are.",
            parameter="rows",
        )

    def _counts(self, families: Sequence[Family], request: Any, schema: Schema) -> list[Counts]:
        self._check_source(families, by_source=request.by_source)
        for family in families:
            n_cells = prod(float(schema[name].n_states) for name in family.variables)
            check_table_size(family, n_cells, request.memory_limit)
        self._learn([self._key(family) for family in families])
        return [self._as_counts(one, schema, by_source=request.by_source) for one in families]

    def _check_source(self, families: Sequence[Family], *, by_source: bool) -> None:
        if families and by_source and self.agreement.mode == "secure":
            raise RefusalError(
                "this needs the counts of each site, and the sites answer under masks (mode "
                "'secure'). Choose what pools the sites, such as cs.BIC(), cs.BDeu() or "
                "cs.Dirichlet(); or ask the sites for a policy with mode 'exact' or 'intervals'.",
                code="mode",
            )

    def _key(self, family: Family) -> tuple[str, ...]:
        """The variables of a family in the order of the schema; the source is an axis anyway."""
        names = [name for name in family.variables if name in self._place]
        return tuple(sorted(names, key=self._place.__getitem__))

    def _learn(self, keys: Sequence[tuple[str, ...]]) -> None:
        """Ask for what is not known yet, in as few rounds as the sites allow."""
        wanted = [key for key in dict.fromkeys(keys) if key and key not in self._tables]
        asked = []
        for key in wanted:
            if key not in self.withheld and (why := self._forbidden(key)):
                self.withheld[key] = why
            if key not in self.withheld:
                asked.append(key)
        self._ask_for(asked)
        for key in wanted:
            if key in self.withheld:
                raise WithheldError(
                    f"the counts of {_check.listed(key)} are not given: {self.withheld[key]}.",
                    family=key,
                )

    def _ask_for(self, keys: Sequence[tuple[str, ...]]) -> None:
        """Ask for tables; those of complete variables that follow from others are summed here."""
        complete = [key for key in keys if self._may_be_summed(key)]
        implied = self._summable.implied(complete)
        for some in self._rounds([key for key in keys if key not in implied]):
            self._ask_counts(some)
        for key, larger in implied.items():
            self._tables[key] = margin(self._tables[larger], larger, key)

    def _may_be_summed(self, key: tuple[str, ...]) -> bool:
        """Whether every row is known to have a value of each variable; ranges do not add up."""
        alone = [self._tables.get((name,)) for name in key]
        total = int(self.rows.sum())
        is_known = self.agreement.mode != "intervals"
        return is_known and all(one is not None and int(one.sum()) == total for one in alone)

    def check_search(self) -> None:
        """Refuse a search over ranges: it would take their width for dependence."""
        if self.agreement.mode == "intervals":
            raise RefusalError(
                "the sites show small counts as ranges (mode 'intervals'), and a search among "
                "estimates within them finds arcs that are not there. Fit a graph that is given, "
                "let the sites vote for one (cs.sites.votes), or ask for the mode 'secure'.",
                code="mode",
            )

    def _forbidden(self, key: tuple[str, ...]) -> str:
        """Why no site need be asked for a family; empty if they may give it."""
        if len(key) > self._common.max_parents + 1:
            return f"a policy allows {self._common.max_parents:g} parents"
        if prod(map(float, self.agreement.shape(key))) > self._common.max_cells:
            return f"a policy allows {self._common.max_cells:g} cells"
        return ""

    def _rounds(self, keys: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
        """Families in parts that fit in one request each."""
        some: list[tuple[str, ...]] = []
        n_cells = 0
        for key in keys:
            size = prod(self.agreement.shape(key))
            if some and (
                len(some) >= self._common.max_families or n_cells + size > self._common.max_cells
            ):
                yield some
                some, n_cells = [], 0
            some.append(key)
            n_cells += size
        if some:
            yield some

    def _ask_counts(self, keys: Sequence[tuple[str, ...]]) -> None:
        """One round; nothing is kept unless every site has answered."""
        sizes = [prod(self.agreement.shape(key)) for key in keys]
        n_arrays = 2 if self.agreement.mode == "intervals" else 1
        replies = self.ask("counts", families=keys, n_cells=n_arrays * sum(sizes))
        if n_arrays == 2:
            self._take_ranges(keys, sizes, replies)
            return
        dtype = "<u8" if self.agreement.mode == "secure" else "<i8"
        arrays = [
            self.exchange.array(place, reply, "counts", dtype=dtype, size=sum(sizes))
            for place, reply in enumerate(replies)
        ]
        flat = sum_of(arrays)[None] if dtype == "<u8" else np.stack(arrays)
        if (flat < 0).any() or (flat.sum(axis=0) > sum(self.n_rows)).any():
            raise self.exchange.fault(0, "the counts of all sites do not add up to counts")
        self._keep(keys, sizes, flat)

    def _keep(self, keys: Sequence[tuple[str, ...]], sizes: Sequence[int], flat: Integers) -> None:
        ends = np.cumsum(sizes)
        for key, size, end in zip(keys, sizes, ends.tolist(), strict=True):
            table = flat[:, end - size : end].reshape(len(flat), *self.agreement.shape(key))
            self._tables[key] = _freeze.read_only(np.ascontiguousarray(table))
            if self._may_be_summed(key):
                self._summable.add(key)

    def _take_ranges(
        self, keys: Sequence[tuple[str, ...]], sizes: Sequence[int], replies: Sequence[Reply]
    ) -> None:
        """Estimate the counts of the families that all sites have shown."""
        lost = {place: why for reply in replies for place, why in reply.withheld.items()}
        bounds = [self._bounds(place, reply, sizes, lost) for place, reply in enumerate(replies)]
        low, high = (np.stack([one[i] for one in bounds]) for i in (0, 1))
        kept = [i for i in range(len(keys)) if i not in lost]
        self.withheld |= {keys[place]: why for place, why in lost.items()}
        found = estimated(low, high, np.array(self.n_rows))
        ends = np.cumsum([sizes[i] for i in kept])
        for i, end in zip(kept, ends.tolist(), strict=True):
            cells = slice(end - sizes[i], end)
            has_gaps = bool(set(keys[i]) & set(self._common.gaps))
            totals = None if has_gaps else self.n_rows
            table = in_fixed_point(found[:, cells], low[:, cells], high[:, cells], totals)
            self._keep([keys[i]], [sizes[i]], table)

    def _bounds(
        self, place: int, reply: Reply, sizes: Sequence[int], lost: Mapping[int, str]
    ) -> tuple[Integers, Integers]:
        """The ranges of one site for the families that all sites have shown."""
        shown = [i for i in range(len(sizes)) if i not in reply.withheld]
        n_cells = sum(sizes[i] for i in shown)
        low = self.exchange.array(place, reply, "low", dtype="<i8", size=n_cells)
        high = self.exchange.array(place, reply, "high", dtype="<i8", size=n_cells)
        if (low < 0).any() or (low > high).any() or (low > self.n_rows[place]).any():
            raise self.exchange.fault(place, "ranges that no counts have")
        is_kept = np.repeat([i not in lost for i in shown], [sizes[i] for i in shown])
        most = self.n_rows[place]
        return low[is_kept.astype(bool)], np.minimum(high, most)[is_kept.astype(bool)]

    def _table(self, family: Family, *, by_source: bool) -> Integers:
        """Counts over the sites, if they are kept apart, and the variables in their order."""
        key = self._key(family)
        table = self._tables[key] if key else self.rows
        source = [name for name in family.variables if name not in self._place]
        if not source:
            order = [key.index(name) for name in family.variables]
            kept = table if by_source else table.sum(axis=0, keepdims=True)
            return kept.transpose([0, *(1 + i for i in order)])
        order = [0 if name in source else 1 + key.index(name) for name in family.variables]
        return table.transpose(order)[None]

    def _as_counts(self, family: Family, schema: Schema, *, by_source: bool) -> Counts:
        table = self._table(family, by_source=by_source)
        child = schema[family.child]
        shape = (len(table), -1, child.n_states)
        return Counts(
            child,
            tuple(schema[name] for name in family.parents),
            source_axis(schema, by_source=by_source),
            _freeze.read_only(np.ascontiguousarray(table).reshape(shape)),
            self._rows_of(by_source=by_source),
            self.scale,
        )

    def _rows_of(self, *, by_source: bool) -> Integers:
        return self.rows if by_source else self.rows.sum(keepdims=True)

    def _toggled(self, requests: Sequence[ToggleRequest], schema: Schema) -> CountBatch:
        """Counts of families and their neighbors, laid out as rows in memory give them."""
        self.check_search()
        first = requests[0]
        counts: list[Counts] = []
        tables, shapes = [], []
        together = [family for one in requests for family in one.families]
        self._counts(together, first, schema)  # all in one round
        for one in requests:
            found = self._counts(one.families, one, schema)
            counts += found
            n_inner = [1] * (1 + len(one.family.parents))
            n_inner += [schema[name].n_states for name in one.candidates]
            for each, inner in zip(found, n_inner, strict=True):
                s, q, r = each.table.shape
                laid = each.table.reshape(s, q // inner, inner, r).swapaxes(2, 3)
                tables.append(laid.ravel())
                shapes.append((s, q // inner, r, inner))
        return CountBatch(
            tuple(one.child for one in counts),
            ToggledParents(requests, {**schema.variables, **_source(schema)}),
            counts[0].source,
            _freeze.read_only(np.concatenate(tables)),
            _freeze.read_only(np.array(shapes, np.int64)),
            counts[0].n_rows,
            counts[0].scale,
        )

    def _moments(self, request: MomentsBySets, schema: Schema) -> list[Moments]:
        """Moments of all sites, merged in their order."""
        if self.agreement.mode != "exact":
            raise RefusalError(
                "means and products of continuous variables need the mode 'exact': sums of "
                "floating numbers are not masked and have no ranges. Cut the variables into states "
                "at the sites (cs.read(..., discretize=...)), or ask for that mode.",
                code="mode",
            )
        content = {
            "names": list(request.names),
            "sets": [list(by) for by in request.sets],
            "fine": request.fine,
        }
        empty = [
            Moments.empty(schema, request.names, by=by, fine=request.fine) for by in request.sets
        ]
        n_cells = sum(array.size for one in empty for array in one.arrays) + len(empty)
        replies = self.ask("moments", content=content, n_cells=n_cells)
        each = [
            [self._read_moments(place, reply, i, one) for i, one in enumerate(empty)]
            for place, reply in enumerate(replies)
        ]
        return [self._joined(list(some), schema, request) for some in zip(*each, strict=True)]

    def _read_moments(self, place: int, reply: Reply, i: int, empty: Moments) -> Moments:
        arrays = []
        for k, wanted in enumerate(empty.arrays):
            found = reply.arrays.get(f"{i} {k}")
            if found is None or found.shape != wanted.shape or not np.isfinite(found).all():
                raise self.exchange.fault(place, "moments of another shape")
            arrays.append(found)
        rows = reply.arrays.get(f"{i} rows")
        if rows is None or rows.shape != (1,):
            raise self.exchange.fault(place, "moments of no rows")
        return empty.over(arrays, rows, source=None, given=empty.given)

    def _joined(self, each: Sequence[Moments], schema: Schema, request: MomentsBySets) -> Moments:
        if request.by_source:
            stacked = [np.concatenate(some) for some in zip(*(m.arrays for m in each), strict=True)]
            n_rows = np.concatenate([one.n_rows for one in each])
            return each[0].over(stacked, n_rows, source=schema.source, given=each[0].given)
        total = each[0]
        for one in each[1:]:
            total = total.merge(one)
        return total


def _source(schema: Schema) -> dict[str, Any]:
    return {} if schema.source is None else {schema.source.name: schema.source}
