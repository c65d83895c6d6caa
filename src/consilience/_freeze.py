"""Stillness for nouns: mappings that cannot change and arrays that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

__all__ = ["FrozenMap", "own", "read_only"]

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(Mapping[K, V]):
    """A copy of a mapping, in its order, without any way to change it; it can be pickled."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of the same memory that cannot be written."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def own(noun: Any) -> None:
    """Replace mappings of a frozen, slotted dataclass by copies and arrays by read-only views."""
    for name in type(noun).__slots__:
        value = getattr(noun, name, None)  # a field without init is not set yet
        if isinstance(value, np.ndarray):
            object.__setattr__(noun, name, read_only(value))
        elif isinstance(value, Mapping) and not isinstance(value, FrozenMap):
            object.__setattr__(noun, name, FrozenMap({k: _still(v) for k, v in value.items()}))


def _still(value: Any) -> Any:
    return read_only(value) if isinstance(value, np.ndarray) else value
