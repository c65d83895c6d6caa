"""What the guide for contributors says about the rooms is what the walls hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMESPACES = {"engines", "estimators", "gaps", "independence", "scores", "searches"}
"""Lists of names beside the rooms."""


def rooms_of_the_guide() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^    errors, _typing →.*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)
    return [room.strip() for step in listed.split("→") for room in step.split(",")]


def rooms_of_the_contract() -> list[str]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = configuration["tool"]["importlinter"]["contracts"]
    steps = [step.split(" | ") for step in reversed(contract["layers"])]
    return [room.removeprefix("consilience.") for step in steps for room in step]


def test_the_guide_lists_the_rooms_of_the_contract_in_their_order():
    held = [room for room in rooms_of_the_contract() if room not in NAMESPACES]
    assert {*rooms_of_the_guide()} == {*held}
    order = [room for room in rooms_of_the_guide() if room not in {"errors", "_typing"}]
    assert [room for room in order if not room.startswith("_")][:6] == [
        *("kernels", "data", "graph", "distributions", "network", "statistics"),
    ]


def test_every_room_stands_in_the_contract():
    package = ROOT / "src" / "consilience"
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__"} - NAMESPACES <= {
        *rooms_of_the_contract()
    }


def test_every_page_is_linked_from_the_first_ones():
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    trees = " ".join(re.findall(r"```\{toctree\}(.*?)```", index, re.DOTALL)).split()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert pages == {*re.findall(r"\]\(([a-z]+)\.md\)", index)}
    assert pages <= {*trees}
    assert pages == {*re.findall(r"\]\(docs/([a-z]+)\.md\)", readme)}
