"""Stillness for nouns: mappings that cannot change and arrays that cannot be written."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

import numpy as np

__all__ = ["FrozenMap", "LateMap", "own", "read_only", "rebuilt"]

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(Mapping[K, V]):
    """A copy of a mapping, in its order, without any way to change it; it can be pickled."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def keys(self) -> KeysView[K]:
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        return self._items.values()

    def items(self) -> ItemsView[K, V]:
        return self._items.items()

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


class LateMap(Mapping[K, V]):
    """A mapping whose values are computed when they are first asked for, and then kept.

    Each is given as a function without arguments; a pickle has the values.
    """

    __slots__ = ("_items", "_late")

    def __init__(self, late: Mapping[K, Callable[[], V]]) -> None:
        self._late = dict(late)
        self._items: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self._items:
            self._items[key] = self._late[key]()
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._late)

    def __len__(self) -> int:
        return len(self._late)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return FrozenMap, (dict(self),)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of the same memory that cannot be written."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


_names_of: Callable[[Any], tuple[str, ...]] = cache(
    lambda kind: tuple(f.name for f in fields(kind))
)
"""The names of a dataclass's fields."""


def own(noun: Any) -> None:
    """Replace mappings and writeable arrays of a frozen, slotted dataclass by copies of its own.

    An array that cannot be written is kept as it is: whoever makes one with :func:`read_only` and
    keeps no other reference hands it over without a copy.
    """
    for name in _names_of(type(noun)):
        value = getattr(noun, name, None)  # a field without init is not set yet
        if value is None or isinstance(value, tuple):
            continue
        if isinstance(value, np.ndarray):
            object.__setattr__(noun, name, _still(value))
        elif isinstance(value, Mapping) and not isinstance(value, FrozenMap | LateMap):
            object.__setattr__(noun, name, FrozenMap({k: _still(v) for k, v in value.items()}))


def rebuilt(noun: Any) -> tuple[type, tuple[Any, ...]]:
    """What ``__reduce__`` of a noun returns: copies and pickles are built anew, and still."""
    return type(noun), tuple(getattr(noun, field.name) for field in fields(noun) if field.init)


def _still(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.flags.writeable:
        return read_only(value.copy())
    return value
