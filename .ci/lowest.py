"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]


def wanted(extra: str) -> set[str]:
    """What an extra asks for, and what the extras of ours that it names ask for."""
    texts = set()
    for text in PROJECT["optional-dependencies"][extra]:
        ours = re.fullmatch(r"consilience\[(.+)\]", text)
        texts |= set().union(*map(wanted, ours[1].split(","))) if ours else {text}
    return texts


for text in sorted({*PROJECT["dependencies"], *wanted("test")}):
    if bound := re.fullmatch(r"([\w.-]+)>=([\w.]+)", text):
        print(f"{bound[1]}=={bound[2]}")
