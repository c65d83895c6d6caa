"""Threads for parts of the rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["each_part"]

Answer = TypeVar("Answer")


def each_part(n_units: int, n_parts: int, work: Callable[[int, int], Answer]) -> list[Answer]:
    """Answers of ``work(start, stop)`` for equal parts of ``range(n_units)``, a thread each."""
    ends = [n_units * i // n_parts for i in range(n_parts + 1)]
    if n_parts == 1:
        return [work(0, n_units)]
    with ThreadPoolExecutor(n_parts) as pool:
        return list(pool.map(work, ends[:-1], ends[1:]))
