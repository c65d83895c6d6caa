"""No function takes more than four arguments by position; kernels, which take arrays, are free."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import consilience

SOURCE = Path(consilience.__file__).parent
MOST = 4


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent.name == "kernels":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(SOURCE)}:{node.name}", node


def n_positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (bool(names) and names[0] in ("self", "cls"))


def test_no_function_takes_more_than_four_arguments_by_position():
    assert [name for name, function in functions() if n_positional(function) > MOST] == []


def test_no_function_is_called_told():
    assert [name for name, function in functions() if function.name == "_told"] == []
