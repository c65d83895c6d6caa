"""What a user asks of :func:`consilience.data.read.read`, checked once at the door."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from consilience import _check
from consilience.data.discretize import Discretizer, check_choices
from consilience.data.labels import is_null, label
from consilience.data.pieces import Markers
from consilience.data.spelling import misspelt
from consilience.data.text_content import TextForm
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError

__all__ = ["ReadRequest"]

DEFAULT_SOURCE = "source"


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The arguments of ``read`` in one form each; see there."""

    source: str | None
    weight: str | None
    columns: tuple[str, ...] | None
    drop: frozenset[str]
    states: Mapping[str, tuple[str, ...]]
    discrete: frozenset[str]
    continuous: frozenset[str]
    discretize: Mapping[str, Discretizer]
    markers: Markers
    markers_by_column: Mapping[str, Markers]
    schema: Schema | None
    partial: bool
    of_source: tuple[str, ...] | None
    form: TextForm

    @classmethod
    def of(
        cls,
        *,
        source: str | None,
        weight: str | None,
        columns: Iterable[str] | None,
        drop: Iterable[str],
        states: Mapping[str, Iterable[Any]] | None,
        discrete: Iterable[str],
        continuous: Iterable[str],
        missing: Iterable[Any],
        missing_in: Mapping[str, Iterable[Any]] | None,
        discretize: Mapping[str, Discretizer] | None,
        schema: Schema | Mapping[str, Variable] | None,
        partial: bool,
        of_source: Iterable[str] | None,
        form: TextForm,
    ) -> ReadRequest:
        """The request, or the error for arguments that contradict each other."""
        check_choices({} if discretize is None else discretize)
        usual = _listed("missing", missing)
        request = cls(
            source=source,
            weight=weight,
            columns=None if columns is None else _names("columns", columns),
            drop=frozenset(_names("drop", drop)),
            states=_states(states),
            discrete=frozenset(_names("discrete", discrete)),
            continuous=frozenset(_names("continuous", continuous)),
            discretize=discretize or {},
            markers=Markers.of(usual),
            markers_by_column=_markers_by_column(usual, missing_in),
            schema=_schema(schema, source),
            partial=partial,
            of_source=None if of_source is None else _names("of_source", of_source),
            form=form,
        )
        request._check_kinds()
        request._check_drop()
        return request

    @property
    def declared(self) -> dict[str, str]:
        """For each column that an argument speaks of, the argument."""
        return {
            **dict.fromkeys(self.discrete, "discrete="),
            **dict.fromkeys(self.states, "states="),
            **dict.fromkeys(self.continuous, "continuous="),
            **dict.fromkeys(self.discretize, "discretize="),
        }

    @property
    def source_name(self) -> str:
        """Name of the source, if there is one."""
        if self.source is not None:
            return self.source
        known = self.schema is not None and self.schema.source is not None
        return self.schema.source.name if known else DEFAULT_SOURCE  # type: ignore[union-attr]

    @property
    def known_sources(self) -> tuple[str, ...]:
        """Sources that the schema knows."""
        known = None if self.schema is None else self.schema.source
        return () if known is None else known.discrete_states

    @property
    def wanted(self) -> frozenset[str] | None:
        """The only columns that need to be read, or None for all."""
        names = self.columns
        if names is None and self.schema is not None:
            names = tuple(self.schema.variables)
        if names is None:
            return None
        return frozenset(name for name in (*names, self.source_name, self.weight) if name)

    def markers_of(self, column: str) -> Markers:
        """What is missing in a column: a marker that is a declared state of it is that state."""
        markers = self.markers_by_column.get(column, self.markers)
        if self.schema is not None and column in self.schema:
            return markers.without(self.schema[column].states or ())
        if column in self.states:
            return markers.without(self.states[column])
        return markers

    def variables(self, names: Sequence[str], source: str | None) -> tuple[str, ...]:
        """Names of the variables to read from data with these columns and this source."""
        self._check_roles(source)
        existing = dict.fromkeys(names)
        _check.known("column", [*self.declared, *self.markers_by_column], existing)
        known = existing if self.schema is None else self.schema.variables
        _check.known("column", self.drop, {**existing, **dict.fromkeys(known)})
        chosen = tuple(known) if self.columns is None else self.columns
        _check.known("column", chosen, known)
        if self.schema is None:
            chosen = tuple(name for name in chosen if name not in self.drop)
        if self.schema is not None and not self.partial:
            self._check_spelling(chosen, existing, source)
        variables = tuple(name for name in chosen if name not in (source, self.weight))
        if "" in variables:
            raise DataError(
                'a column has no name. Name it, leave it out with drop=[""], or choose the '
                "columns to read with columns=.",
                column="",
            )
        return variables

    def _check_spelling(
        self, chosen: Iterable[str], existing: Collection[str], source: str | None
    ) -> None:
        """Refuse a column that is likely meant to be one of the schema that the data lack."""
        known: set[str | None] = {
            *(self.schema.variables if self.schema else ()),
            source,
            self.weight,
        }
        others = [name for name in existing if name not in known | self.drop]
        for name in chosen:
            found = None if name in existing else misspelt(name, others)
            if found is not None:
                raise DataError(
                    f"the data have no column {name!r} but one named {found!r}, which is not in "
                    f"the schema. Name it {name!r} if that is what it is, otherwise say "
                    "with partial=True that the data need not have all columns.",
                    column=found,
                    variable=name,
                )

    def _check_kinds(self) -> None:
        if self.schema is not None and self.declared:
            name, argument = next(iter(self.declared.items()))
            raise InputError(
                f"schema= says what the columns are; {argument} for {name!r} is too much.",
                column=name,
            )
        by_argument: dict[str, Collection[str]] = {
            "discrete=": self.discrete | set(self.states),
            "continuous=": self.continuous,
            "discretize=": self.discretize,
        }
        for argument, named in by_argument.items():
            for name in named:
                others = [o for o, other in by_argument.items() if o != argument and name in other]
                if others:
                    raise InputError(
                        f"column {name!r} cannot be in {argument} and in {others[0]}.", column=name
                    )

    def _check_drop(self) -> None:
        """Refuse to drop what another argument asks for."""
        asked = [
            *((name, "columns=") for name in self.columns or ()),
            *self.declared.items(),
            (self.weight, "weight="),
            (self.source, "source="),
        ]
        for name, argument in asked:
            if name in self.drop:
                raise InputError(
                    f"column {name!r} cannot be in drop= and in {argument}.", column=name
                )

    def _check_roles(self, source: str | None) -> None:
        if source is not None and source == self.weight:
            raise InputError(f"column {source!r} cannot be source and weight.", column=source)
        for role, name in (("source", source), ("weight", self.weight)):
            if name is not None and (name in self.declared or name in (self.columns or ())):
                raise InputError(
                    f"column {name!r} is the {role} and cannot be a variable as well.", column=name
                )


def _names(argument: str, names: Iterable[Any]) -> tuple[Any, ...]:
    listed = _listed(argument, names)
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise InputError(f"{argument} names {twice!r} twice.", parameter=argument, name=twice)
    return listed


def _listed(argument: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{argument} must be a list, got {values!r}.", parameter=argument)
    return tuple(values)


def _markers_by_column(missing: Iterable[Any], given: Any) -> dict[str, Markers]:
    """What is missing in the columns that have markers of their own, besides the usual ones."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f'missing_in must map columns to lists, such as {{"chol": [0]}}, got {given!r}.',
            parameter="missing_in",
        )
    return {
        name: Markers.of([*missing, *_listed(f"missing_in for {name!r}", texts)])
        for name, texts in (given or {}).items()
    }


def _states(given: Any) -> dict[str, tuple[str, ...]]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"states must map columns to lists of states, got {given!r}.", parameter="states"
        )
    return {name: _labels(name, listed) for name, listed in (given or {}).items()}


def _labels(name: str, states: Iterable[Any]) -> tuple[str, ...]:
    listed = _names(f"states for {name!r}", states)
    if any(map(is_null, listed)):
        raise InputError(
            f"states for {name!r} cannot name a missing value; a state is text or a number.",
            column=name,
        )
    return tuple(map(label, listed))


def _schema(given: Any, source: str | None) -> Schema | None:
    if given is None:
        return None
    if isinstance(given, Schema):
        if source is not None and given.source is not None and given.source.name != source:
            raise InputError(
                f"the schema's source is {given.source.name!r}, not {source!r}.", source=source
            )
        if source is None or source not in given.variables:
            return given
        given = given.variables
    if not isinstance(given, Mapping):
        return Schema(given)  # which says what is wrong with it
    variables = {name: variable for name, variable in given.items() if name != source}
    return Schema(variables, None if source is None else given.get(source))
