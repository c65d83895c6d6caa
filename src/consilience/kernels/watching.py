"""Who wants to know that a kernel is being compiled, which takes about a second each.

It is said when the cache of this machine has no code for a kernel. Nothing here imports numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["compiling", "on_compiling"]

_LISTENERS: list[Callable[[str], None]] = []


@contextmanager
def on_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` with the name of each kernel that is compiled while the block runs."""
    _LISTENERS.append(tell)
    try:
        yield
    finally:
        _LISTENERS.remove(tell)


def compiling(name: str) -> None:
    """Say that a kernel is about to be compiled."""
    for tell in tuple(_LISTENERS):
        tell(name)
