"""Runs the code of a Markdown page, block after block in one namespace.

A block that begins with ``>>>`` is a session, whose answers are checked; other ``python`` blocks
are run. Blocks marked ``python no-run`` and blocks of other languages are left alone.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def run_page(page: Path) -> dict[str, Any]:
    """Run all blocks of a page; the namespace afterwards."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block[1].startswith(">>>"):
            _run_session(block[1], namespace, page.name, line)
        else:
            padded = "\n" * line + block[1]  # errors then name the line of the page
            exec(compile(padded, page.name, "exec"), namespace)
    return namespace


def shell_lines(page: Path) -> list[str]:
    """The commands in the ``sh`` blocks of a page, continued lines joined."""
    blocks = "".join(block[1] for block in _SHELL.finditer(page.read_text(encoding="utf-8")))
    return [line for line in blocks.replace("\\\n", " ").splitlines() if line.strip()]


def _run_session(code: str, namespace: dict[str, Any], name: str, line: int) -> None:
    session = doctest.DocTestParser().get_doctest(code, namespace, name, name, line)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    failed = runner.run(session, out=report.append, clear_globs=False).failed
    namespace.update(session.globs)
    assert not failed, "".join(report)
