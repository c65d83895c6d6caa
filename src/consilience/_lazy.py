"""Public names, and heavy modules, that are loaded when they are first used.

A stub beside a module (``scores.pyi`` beside ``scores.py``) lists the public names of the module
and where each comes from. Type checkers read it, and so does :func:`attach`: each name is written
once, and importing the module loads nothing else. :func:`later` stands for a library that few calls
need and that takes long to load.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["attach", "later"]


def attach(
    module: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a module, from the stub beside its file."""
    statements = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
    homes = _homes(statements)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = homes[name]
        is_module = home == module
        value = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    def listed() -> list[str]:
        return list(public)

    public = sorted({*homes, *_declared(statements)})
    return load, listed, list(public)


class _Later:
    """A module by its name; the first name that is asked of it loads it."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value


@cache
def later(module: str) -> Any:
    """A module that is loaded when something of it is first used.

    >>> later("math").sqrt(9.0)
    3.0
    """
    return _Later(module)


def _homes(statements: list[ast.stmt]) -> dict[str, str]:
    """The names that a stub imports, each with its module."""
    return {
        alias.name: statement.module
        for statement in statements
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }


def _declared(statements: list[ast.stmt]) -> set[str]:
    """The names that a stub gives a type, which the module itself defines."""
    return {
        statement.target.id
        for statement in statements
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
