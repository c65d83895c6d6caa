from __future__ import annotations

import re
from pathlib import Path

import consilience

ROOT = Path(__file__).parents[2]


def test_the_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", text, re.MULTILINE)[1] == consilience.__version__


def test_the_changelog_begins_with_what_is_not_released():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[0] == "[Unreleased]"
