"""Parts of rows as tables of one schema that was found before: what turns up later is an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from consilience._freeze import read_only
from consilience._typing import Codes, Column, Floats, Integers
from consilience.data.coding import code_as
from consilience.data.parts import Part
from consilience.data.read import weights_of
from consilience.data.reading_request import ReadRequest
from consilience.data.source_column import Sourced, with_sources
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema
from consilience.errors import DataError

__all__ = ["FixedRows"]


@dataclass(frozen=True, slots=True)
class FixedRows:
    """How the parts of some rows become tables; ``request`` has the schema that all of them get.

    It is plain data, and can be sent to a worker.
    """

    request: ReadRequest

    @classmethod
    def of(cls, schema: Schema, request: ReadRequest) -> FixedRows:
        """The way to read rows of this schema that were asked for by a request."""
        none: frozenset[str] = frozenset()
        return cls(
            replace(
                request,
                schema=schema,
                columns=None,
                states={},
                discrete=none,
                continuous=none,
                discretize={},
                partial=True,
            )
        )

    @property
    def schema(self) -> Schema:
        """The variables of every table."""
        assert self.request.schema is not None
        return self.request.schema

    def tables(self, parts: Iterable[Part], n_rows: int) -> Iterator[Table]:
        """The rows of the parts, in tables of at least so many rows but for the last.

        A state or a source that the schema lacks is an error.
        """
        waiting: list[_Coded] = []
        for part in parts:
            waiting.append(self._coded(part))
            if sum(one.n_rows for one in waiting) >= n_rows:
                yield self._table(waiting)
                waiting = []
        if waiting:
            yield self._table(waiting)

    def _table(self, coded: Sequence[_Coded]) -> Table:
        names = self.schema.variables
        columns = {name: _joined([one.columns[name] for one in coded]) for name in names}
        codes = [one.source_codes for one in coded if one.source_codes is not None]
        weights = [one.weights for one in coded if one.weights is not None]
        return Table(
            self.schema,
            columns,
            _joined(codes) if codes else None,
            _joined(weights) if weights else None,
        )

    def _coded(self, part: Part) -> _Coded:
        request, schema = self.request, self.schema
        names = (*part.names, request.source) if request.source else part.names
        rows = with_sources([part], names, request)
        codes = self._source_codes(rows)
        found = Sourced([part], request, schema.source, codes)
        columns = {
            name: code_as(variable, found.fragments(name), known_from="one of those found before")
            for name, variable in schema.variables.items()
        }
        weight = request.weight
        weights = None if weight is None else weights_of(weight, found, part.names)
        return _Coded(part.n_rows, columns, codes, weights)

    def _source_codes(self, rows: Sourced) -> Codes | None:
        known = self.schema.source
        if known is None:
            return None
        if rows.variable is None or rows.codes is None:
            raise DataError(f"the rows have no source {known.name!r}.", column=known.name)
        new = np.flatnonzero(rows.codes >= known.n_states)
        if new.size:
            name = rows.variable.discrete_states[rows.codes[new[0]]]
            place = rows.fragments(known.name)[0].place
            raise replace(place, source_of=lambda _: None).error(
                int(new[0]),
                f"the source {name!r} is not one of those found before. {known.accepted(name)}",
                state=name,
            )
        return rows.codes.astype(code_type(known.n_states), copy=False)


class _Coded(NamedTuple):
    """The columns of a part in codes of the schema."""

    n_rows: int
    columns: dict[str, Column]
    source_codes: Codes | None
    weights: Integers | Floats | None


def _joined(arrays: Sequence[Any]) -> Any:
    return read_only(arrays[0] if len(arrays) == 1 else np.concatenate(arrays))
