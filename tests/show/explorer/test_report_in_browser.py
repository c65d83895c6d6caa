"""The report in a browser: nothing runs, nothing is loaded, nobody is shut out."""

from __future__ import annotations

import json

import pytest

import consilience as cs

NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    frame = {NASTY: ["a", "b", "b"] * 20, "y": ["no", "yes"] * 30}
    table = cs.read({"p": frame, "</script>": {NASTY: ["a"] * 30, "y": ["no", "yes", "yes"] * 10}})
    page = cs.report(cs.fit(cs.DAG([(NASTY, "y")]), table), table, target="y", folds=2)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_hinders_nobody_and_asks_nothing(browser, report, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs the extra browser"
    )
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda r: problems.append(r.url) if r.url.startswith("http") else None)
    page.goto(report)
    found = axe.Axe().run(page)
    told = [(v["id"], v["nodes"][0]["html"][:200]) for v in found.response["violations"]]
    assert found.violations_count == 0, json.dumps(told, indent=1)
    assert problems == []
    context.close()
