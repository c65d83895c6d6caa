"""A release must not meet the compiled kernels of another one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import consilience
from consilience import kernels

ROOM = Path(kernels.__file__).parent


def versions() -> dict[str, str | None]:
    """The value of ``VERSION`` in each module that compiles; None if it has none."""
    found: dict[str, str | None] = {}
    for path in sorted(ROOM.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        has_kernels = any(
            isinstance(node, ast.FunctionDef)
            and {"kernel", "inner"} & set(map(ast.unparse, node.decorator_list))
            for node in tree.body
        )
        if has_kernels:
            found[path.name] = next(
                (
                    ast.literal_eval(node.value)
                    for node in tree.body
                    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "VERSION"
                ),
                None,
            )
    return found


@pytest.mark.parametrize(("name", "version"), versions().items())
def test_the_version_of_kernels_is_that_of_the_package(name, version):
    assert version == consilience.__version__
