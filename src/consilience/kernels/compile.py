"""The one decorator of all compiled loops.

A kernel is compiled by numba at its first call, cached on disk (without a cache where nothing is
writable) and releases the interpreter lock, so that threads can run it side by side. numba itself
is loaded then too, and not before: most of a second that a question about a small network need not
spend. Setting the environment variable ``CONSILIENCE_COMPILE=0`` before the first import runs the
same loops in plain Python: slow, and good for a debugger.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper, wraps
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

__all__ = ["IS_COMPILED", "at_hand", "bare", "inner", "instruction", "kernel"]

IS_COMPILED = os.environ.get("CONSILIENCE_COMPILE", "1") != "0"

PATIENCE = 200
"""How often a loop is run in Python before numba is loaded for it."""

Function = TypeVar("Function", bound=Callable[..., Any])

_lock = RLock()

_STAMPS: dict[str, tuple[int, int] | None] = {}
"""Time and size of each file of kernels when it was imported."""


def kernel(function: Function) -> Function:
    """The function compiled, without the interpreter lock and without fast-math."""
    file = function.__code__.co_filename
    _STAMPS.setdefault(file, _stamp(file))
    return _later(function, _kernel)


def inner(function: Function) -> Function:
    """A loop that only kernels of its module call: compiled with them, without a door to Python."""
    return _later(function, _inner)


def bare(function: Function) -> Function:
    """An inner loop that makes and returns no arrays: it need not count who holds them, which
    takes longer than a short loop itself.
    """
    return _later(function, _bare)


def instruction(make: Callable[[], Any]) -> Callable[[Function], Function]:
    """A function that is one instruction where it is compiled: ``make`` gives it to numba."""
    return lambda function: _later(function, lambda _: make())


def at_hand(loop: Function, *, is_small: bool) -> Function:
    """The loop, or, if little is to be done and numba has not made it yet, the same in Python.

    One that is asked for again and again is left to numba all the same.
    """
    if not is_small or not isinstance(loop, _Later) or loop.n_plain >= PATIENCE:
        return loop
    return cast(Function, loop.plain())


class _Later:
    """A function that is handed to numba when it, or a kernel of its module, is first called.

    numba looks kernels that call each other up in their module, so all of a module are made at
    once and put there in place of these; so are those of the modules that it calls kernels of.
    """

    def __init__(self, function: Callable[..., Any], make: Callable[[Any], Any]) -> None:
        update_wrapper(self, function)
        self.function, self._make = function, make
        self.n_plain = 0
        self._made: Any = None
        self._plain: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._made or self._compiled())(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python itself may look for says nothing of numba
            raise AttributeError(name)
        return getattr(self._compiled(), name)

    def plain(self) -> Any:
        """The loop in Python, with those that it calls; the compiled one if there is one.

        How often it was asked for is counted.
        """
        with _lock:
            self.n_plain += 1
            if self._made is None and self._plain is None:
                held = dict(self.function.__globals__)
                loops = {name: v for name, v in held.items() if isinstance(v, _Later)}
                held |= {name: one.within(held) for name, one in loops.items()}
                self._plain = _interpreted(held[self.function.__name__])
            return self._made or self._plain

    def within(self, held: dict[str, Any]) -> Any:
        """The loop in Python for a copy of a module's names: its own module's or a taker's."""
        is_own = held["__name__"] == self.function.__module__
        return FunctionType(self.function.__code__, held) if is_own else self.plain()

    def made(self) -> Any:
        """What numba makes of the function alone."""
        if self._made is None:
            self._made = self._make(self.function)
        return self._made

    def _compiled(self) -> Any:
        with _lock:
            _make_all(self.function.__globals__)
            return self.made()


def _make_all(held: dict[str, Any]) -> None:
    """Put what numba makes in place of all that a module holds, and the modules it calls."""
    for name, value in list(held.items()):
        if isinstance(value, _Later):
            held[name] = value.made()
            if value.function.__globals__ is not held:
                _make_all(value.function.__globals__)


def _later(function: Function, make: Callable[[Any], Any]) -> Function:
    later = _Later(function, make) if IS_COMPILED else _interpreted(function)
    return cast(Function, later)


def _kernel(function: Callable[..., Any]) -> Any:
    import numba

    from consilience.kernels.cache import KernelCache
    from consilience.kernels.pipeline import Lean

    _hold_at_forks()
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=Lean)(function)
    file = function.__code__.co_filename
    if _STAMPS[file] != _stamp(file):  # an upgrade meanwhile: this code is not what the file says
        return compiled
    with suppress(RuntimeError):  # numba found no folder that it may write its cache to
        compiled._cache = KernelCache(function)  # noqa: SLF001 - as njit(cache=True) does
    return compiled


def _stamp(file: str) -> tuple[int, int] | None:
    """Time and size of a file; None if there is none, as in a zip."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@cache
def _hold_at_forks() -> None:
    """Let a fork wait for the thread that compiles: the child would wait for it for ever."""
    if hasattr(os, "register_at_fork"):
        from numba.core.compiler_lock import global_compiler_lock as compiler

        for lock in (compiler, _lock):
            os.register_at_fork(
                before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
            )


def _inner(function: Callable[..., Any], *, counts: bool = True) -> Any:
    import numba

    from consilience.kernels.pipeline import Callee

    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": counts}
    return numba.njit(nogil=True, pipeline_class=Callee, **options)(function)


def _bare(function: Callable[..., Any]) -> Any:
    return _inner(function, counts=False)


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def quiet(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # machine words wrap around on purpose
            return function(*arguments)

    return quiet
