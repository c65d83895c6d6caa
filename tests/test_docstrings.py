"""Every example in a docstring gives the answer that stands there."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import consilience

ROOT = Path(consilience.__file__).parent
MODULES = [
    ".".join(("consilience", *path.relative_to(ROOT).with_suffix("").parts))
    for path in sorted(ROOT.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testmod(module, optionflags=flags)
    assert found.attempted > 0
    assert found.failed == 0
