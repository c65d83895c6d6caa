"""JSON objects on their way in: what they hold, checked, with the place of every mistake."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from consilience._check import LEAST, MOST
from consilience._typing import Floats
from consilience.errors import FormatError
from consilience.files.draft import fault

__all__ = ["Content", "shown"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Content:
    """A JSON object with the place it has in the file, for errors."""

    fields: dict[str, Any]
    file: str
    where: str

    @classmethod
    def of(cls, fields: Any, file: str, where: str) -> Content:
        """The object, refused if it is something else."""
        if not isinstance(fields, dict):
            raise fault(file, None, f"{where}: expected an object, found {shown(fields)}.")
        return cls(fields, file, where)

    def fault(self, text: str) -> FormatError:
        """The error for a mistake in this object."""
        return fault(self.file, None, f"{self.where}: {text}.")

    def take(self, key: str, kind: type[T], *, is_optional: bool = False) -> Any:
        """The value of a field, refused if it is of another type."""
        value = self.fields.get(key)
        if value is None and is_optional:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fault(f"{key!r} must be of type {kind.__name__}, found {shown(value)}")
        return value

    def inner(self, key: str) -> Content:
        """The object that a field holds."""
        return Content(self.take(key, dict), self.file, self.where)

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        values: list[Any] = self.take(key, list)
        if not all(isinstance(value, str) for value in values):
            raise self.fault(f"{key!r} must be a list of texts")
        return values

    def number(self, key: str) -> float:
        """A finite number."""
        if type(self.fields.get(key)) not in (float, int):
            raise self.fault(f"{key!r} must be a number, found {shown(self.fields.get(key))}")
        return float(self._finite(key, [self.fields[key]])[0])

    def floats(self, key: str) -> Floats:
        """A list of finite numbers."""
        return self._finite(key, self.take(key, list))

    def array(self, key: str, shape: tuple[int, ...]) -> Floats:
        """A list of finite numbers, as many as an array of this shape has."""
        array = self.floats(key)
        if array.size != math.prod(shape):
            raise self.fault(f"{key!r} needs {math.prod(shape)} numbers, found {array.size}")
        return array.reshape(shape)

    def positive(self, key: str, shape: tuple[int, ...]) -> Floats:
        """An array of positive numbers in the range of priors and posteriors."""
        return self.within(key, self.array(key, shape))

    def within(self, key: str, array: Floats) -> Floats:
        """The numbers of a field, refused beyond the range of priors and posteriors."""
        if not ((array >= LEAST) & (array <= MOST)).all():
            raise self.fault(f"{key!r} must lie between {LEAST:g} and {MOST:g}")
        return array

    def by_name(self, key: str) -> dict[str, float]:
        """An object whose fields are finite numbers."""
        values: dict[str, Any] = self.take(key, dict)
        return dict(zip(values, self._finite(key, list(values.values())).tolist(), strict=True))

    def _finite(self, key: str, values: list[Any]) -> Floats:
        if not set(map(type, values)) <= {float, int}:
            raise self.fault(f"{key!r} must be a list of numbers")
        try:
            array = np.array(values, dtype=np.float64)
        except OverflowError:
            array = np.array([np.inf])
        if not np.isfinite(array).all():
            raise self.fault(f"{key!r} holds a number that is too large")
        return array


def shown(value: Any) -> str:
    """A value of any type, short enough for a message."""
    kinds = {type(None): "nothing", dict: "an object", list: "a list"}
    return kinds.get(type(value)) or repr(str(value)[:40])
