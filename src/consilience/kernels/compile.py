"""The one decorator of all compiled loops.

A kernel is compiled by numba at its first call, cached on disk (without a cache where nothing is
writable) and releases the interpreter lock, so that threads can run it side by side. Setting the
environment variable ``CONSILIENCE_COMPILE=0`` before the first import runs the same loops in plain
Python: slow, and good for a debugger.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

__all__ = ["IS_COMPILED", "inner", "kernel"]

IS_COMPILED = os.environ.get("CONSILIENCE_COMPILE", "1") != "0"

Function = TypeVar("Function", bound=Callable[..., Any])


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def quiet(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # machine words wrap around on purpose
            return function(*arguments)

    return quiet


def kernel(function: Function) -> Function:
    """The function compiled, without the interpreter lock and without fast-math."""
    if not IS_COMPILED:
        return cast(Function, _interpreted(function))
    import numba

    from consilience.kernels.cache import KernelCache

    compiled = numba.njit(nogil=True)(function)
    with suppress(RuntimeError):  # numba found no folder that it may write its cache to
        compiled._cache = KernelCache(function)  # noqa: SLF001 - as njit(cache=True) does
    return cast(Function, compiled)


def inner(function: Function) -> Function:
    """A loop that only kernels of its module call: compiled with them, without a door to Python."""
    if not IS_COMPILED:
        return cast(Function, _interpreted(function))
    import numba

    plain = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return cast(Function, plain(function))
