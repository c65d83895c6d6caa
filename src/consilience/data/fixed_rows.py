"""Parts of rows as tables of one schema that was found before: what turns up later is an error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from consilience._freeze import read_only
from consilience._typing import Codes
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

    def table(self, part: Part) -> Table:
        """The rows of a part; a state or a source that the schema lacks is an error."""
        request, schema = self.request, self.schema
        names = (*part.names, request.source) if request.source else part.names
        rows = with_sources([part], names, request)
        codes = self._source_codes(rows)
        found = Sourced([part], request, schema.source, codes)
        columns = {
            name: read_only(
                code_as(variable, found.fragments(name), known_from="one of those found before")
            )
            for name, variable in schema.variables.items()
        }
        weight = request.weight
        weights = None if weight is None else weights_of(weight, found, part.names)
        return Table(schema, columns, codes, weights)

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
        return read_only(rows.codes.astype(code_type(known.n_states), copy=False))
