from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import run_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "index",
    "tour",
    "data",
    "statistics",
    "engines",
    "networks",
    "continuous",
    "inference",
    "sources",
    "hierarchical",
    "scores",
    "searches",
    "averaging",
    "classify",
    "evaluation",
    "comparison",
    "fusion",
    "incomplete",
    "latent",
    "report",
)


@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_runs_and_answers_as_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / f"{name}.md")


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [t for t in targets if not (page.parent / t).exists()] == []
