"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("pandas", "sklearn", "plot", "test")

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [text for name in EXTRAS for text in project["optional-dependencies"][name]]
for text in sorted({*project["dependencies"], *extras}):
    if bound := re.fullmatch(r"([\w.-]+)>=([\w.]+)", text):
        print(f"{bound[1]}=={bound[2]}")
