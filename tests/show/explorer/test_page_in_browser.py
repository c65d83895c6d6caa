"""The page in a browser: findings, history, panels, cases, exports, keys, themes, names."""

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from explored import (
    DATA,
    NASTY,
    library_given,
    nasty,
    of_sources,
    public,
    random_findings,
    second,
    small,
)

import consilience as cs
from consilience.show.explorer import stored as stored_answers
from consilience.show.explorer.desk import Desk
from consilience.show.panels.question import Subject

pytest.importorskip("starlette", reason="needs the extra explore")


@pytest.fixture(scope="module")
def served():
    with cs.explore(small(), small().sample(30, seed=1), open=False, name="small") as explorer:
        explorer.page()
        yield explorer


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "small.html"
    path.write_text(cs.explore(small(), port=None, name="small").page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(params=["server", "browser"])
def url(request, served, stored):
    return served.url if request.param == "server" else stored


def state(node, value):
    return f'[data-test=state][data-node="{node}"][data-state="{value}"]'


def version(page):
    return int(page.get_attribute("body", "data-version"))


def after(page, act):
    """Do something and wait until its answer is drawn."""
    wanted = version(page) + 1
    act()
    page.wait_for_selector(f"body[data-version='{wanted}']:not([data-busy])", timeout=20_000)


def click(page, node, value, **choices):
    after(page, lambda: page.click(state(node, value), **choices))


def values(page):
    found = page.eval_on_selector_all(
        "[data-test=state]",
        "all => all.map(e => [e.dataset.node, e.dataset.state, e.dataset.value])",
    )
    return {(node, name): float(value) for node, name, value in found}


def assert_shown(page, net, given):
    """The bars and strokes are the library's beliefs to six decimals."""
    shown = values(page)
    for name, factor in net.marginals(given).items():
        for value in factor.states[name]:
            assert shown[name, value] == pytest.approx(factor[value], abs=1e-6)


def test_bars_and_strokes_are_the_beliefs(pages, url):
    page, net = pages.open(url), small()
    assert_shown(page, net, {})
    marks = page.eval_on_selector_all(
        state("b", "high") + " [data-test=mark]",
        "all => all.map(e => [e.dataset.source, e.dataset.value])",
    )
    for source, value in marks:
        wanted = net.query("b", given={"site": source})["high"]
        assert float(value) == pytest.approx(wanted, abs=1e-6)
    assert {source for source, _ in marks} == {"north", "south"}


def test_each_kind_of_finding_and_undo_to_the_first_view(pages, url):
    page, net = pages.open(url), small()
    first, address = values(page), page.url
    click(page, "c", "yes")
    assert page.get_attribute(state("c", "yes"), "aria-pressed") == "true"
    assert_shown(page, net, {"c": "yes"})
    click(page, "b", "low", modifiers=["Shift"])
    assert_shown(page, net, {"c": "yes", "b": {"middle", "high"}})
    click(page, "b", "high", modifiers=["Shift"])
    assert_shown(page, net, {"c": "yes", "b": "middle"})
    edit(page, "b", "any", {"low": True, "high": True})
    assert_shown(page, net, {"c": "yes", "b": {"low", "high"}})
    edit(page, "b", "likelihood", {"low": 0.2, "middle": 0.5, "high": 1})
    likely = cs.Likelihood({"low": 0.2, "middle": 0.5, "high": 1})
    assert_shown(page, net, {"c": "yes", "b": likely})
    edit(page, "b", "soft", {"low": 0.5, "middle": 0.25, "high": 0.25})
    soft = cs.Soft({"low": 0.5, "middle": 0.25, "high": 0.25})
    assert_shown(page, net, {"c": "yes", "b": soft})
    click(page, "c", "yes")
    assert_shown(page, net, {"b": soft})
    for _ in range(7):
        after(page, lambda: page.click("[data-test=undo]"))
    assert values(page) == first
    assert page.url.partition("#")[0] == address.partition("#")[0]
    assert not urlsplit(page.url).fragment
    assert page.is_disabled("[data-test=undo]")
    after(page, lambda: page.click("[data-test=redo]"))
    assert_shown(page, net, {"c": "yes"})


def edit(page, node, kind, numbers):
    page.click(f'[data-test=state][data-node="{node}"]', modifiers=["Alt"])
    page.check(f"[data-test=kind-{kind}]")
    for name, number in numbers.items():
        field = page.locator(f'[data-test=editor-state][data-state="{name}"]')
        if isinstance(number, bool):
            field.set_checked(number)
        else:
            field.fill(str(number))
    after(page, lambda: page.click("[data-test=editor-set]"))


def test_an_intervention_cuts_arcs(pages, url):
    page, net = pages.open(url), small()
    page.click("[data-test=do]")
    click(page, "b", "high")
    assert_shown(page, net.do({"b": "high"}), {})
    assert "cut" in page.get_attribute("[data-test=arc][data-tail=a][data-head=b]", "class")
    assert "b set to high" in page.inner_text("[data-test=status]")
    after(page, lambda: page.click("[data-test=clear]"))
    assert_shown(page, net, {})


def test_the_status_names_probabilities_and_sources_that_are_contradicted(pages, url):
    page = pages.open(url)
    click(page, "a", "no")
    said = page.inner_text("[data-test=status]")
    assert "1 known: a = no" in said
    assert "probability of this 0.42 (north 0.7)" in said
    assert "cannot happen in south" in said
    click(page, "site", "south")
    assert "probability zero" in page.inner_text("[data-test=status]")


def test_a_link_opens_the_view_and_the_back_button_walks(pages, url):
    page = pages.open(url)
    click(page, "b", "low", modifiers=["Shift"])
    click(page, "c", "no")
    link = page.url
    other = pages.open(link)
    assert values(other) == values(page)
    assert_shown(other, small(), {"b": {"middle", "high"}, "c": "no"})
    after(page, page.go_back)
    assert_shown(page, small(), {"b": {"middle", "high"}})
    after(page, page.go_forward)
    assert page.url == link


def test_the_keyboard_alone_makes_a_finding_and_takes_it_back(pages, url):
    page = pages.open(url)
    page.keyboard.press("/")
    page.keyboard.type("c")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.node") == "c"
    after(page, lambda: page.keyboard.press("Enter"))
    assert_shown(page, small(), {"c": "yes"})
    page.keyboard.press("ArrowDown")
    after(page, lambda: page.keyboard.press("Shift+Enter"))
    assert_shown(page, small(), {"c": "yes"})
    assert page.evaluate("document.activeElement.dataset.state") == "no"
    after(page, lambda: page.keyboard.press("Delete"))
    after(page, lambda: page.keyboard.press("u"))
    after(page, lambda: page.keyboard.press("u"))
    after(page, lambda: page.keyboard.press("Shift+U"))
    after(page, lambda: page.keyboard.press("u"))
    after(page, lambda: page.keyboard.press("u"))
    assert_shown(page, small(), {})
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    assert page.get_attribute("[data-test=do]", "aria-pressed") == "true"
    page.keyboard.press("?")
    assert page.is_visible("[data-test=keys]")


def test_cases_are_kept_and_go_through_a_file(pages, url, tmp_path):
    page = pages.open(url)
    click(page, "b", "low", modifiers=["Shift"])
    page.fill("[data-test=case-name]", 'one, "two"')
    page.click("[data-test=case-save]")
    page.click("[data-test=do]")
    click(page, "a", "yes")
    page.click("[data-test=case-save]")
    path = download(page, "cases-save", tmp_path)
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert [row["case"] for row in rows] == ['one, "two"', "case 2"]
    assert [row["b"] for row in rows] == ["not:low", "not:low"]
    assert rows[1]["a"] == "do:yes"
    other = pages.open(url)
    other.set_input_files("[data-test=cases-load]", path)
    other.wait_for_selector("[data-test=cases] option >> nth=2", state="attached")
    after(other, lambda: other.select_option("[data-test=cases]", "=case 2"))
    assert_shown(other, small().do({"a": "yes"}), {"b": {"middle", "high"}})


def download(page, name, folder):
    with page.expect_download() as found:
        page.click(f"[data-test={name}]")
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_everything_can_be_saved(pages, url, tmp_path):
    page = pages.open(url)
    click(page, "c", "yes")
    picture = download(page, "export-svg", tmp_path).read_text("utf-8")
    assert picture.startswith("<svg")
    assert "middle" in picture
    assert "style=" not in picture
    assert download(page, "export-png", tmp_path).read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.reader(io.StringIO(download(page, "export-csv", tmp_path).read_text("utf-8"))))
    assert rows[0] == ["node", "state", "all", "north", "south"]
    found = {(row[0], row[1]): row[2:] for row in rows[1:]}
    wanted = small().query("a", given={"c": "yes"})
    assert float(found["a", "yes"][0]) == pytest.approx(wanted["yes"], abs=1e-9)
    whole = download(page, "export-html", tmp_path)
    other = pages.open(whole.as_uri())
    assert other.get_attribute("body", "data-engine") == "browser"
    assert_shown(other, small(), {})


def test_sources_are_hidden_and_set_off(pages, url):
    page = pages.open(url)
    page.click("[data-test=source][data-source=north]")
    mark = state("b", "high") + " [data-test=mark]"
    assert "absent" in page.get_attribute(mark + "[data-source=north]", "class")
    page.hover("[data-test=source][data-source=south]")
    assert "set-off" in page.get_attribute(mark + "[data-source=south]", "class")
    assert "sources=south" in page.url


def test_rows_of_the_table_are_stepped_through(pages, served):
    page = pages.open(served.url)
    after(page, lambda: page.click("[data-test=row-after]"))
    assert "given=" in page.url
    after(page, lambda: page.click("[data-test=row-after]"))
    assert page.input_value("[data-test=row]") == "2"


def test_focus_lays_a_neighborhood_out(pages, url):
    page = pages.open(url)
    page.click("[data-test=node][data-node=b] .name")
    page.click("[data-test=focus]")
    page.wait_for_function("() => document.querySelectorAll('[data-test=node]').length <= 4")
    assert "focus=b" in page.url
    page.click("[data-test=focus]")
    page.wait_for_function("() => document.querySelectorAll('[data-test=node]').length === 4")


def test_the_file_asks_nothing_of_anyone(pages, stored):
    page = pages.open(stored)
    click(page, "c", "yes")
    page.wait_for_timeout(200)
    assert [url for url in pages.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in pages.requests if url.startswith("file:")]) == 1


def test_themes_and_paper(pages, url):
    page = pages.open(url, color_scheme="dark")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 24, 31)"
    page.click("[data-test=theme]")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.click("[data-test=theme]")
    assert page.evaluate(ground) == "rgb(20, 24, 31)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.is_visible("[data-test=undo]")


BELOW = """() => {
    const end = (element) => element.getBoundingClientRect().bottom;
    const ends = [...document.querySelectorAll("[data-test=node]")].map(end);
    return Math.max(...ends) - end(document.getElementById("canvas"));
}"""


def test_a_sheet_smaller_than_the_screen_shows_all_that_the_screen_does(pages, url):
    page = pages.open(url)
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 500, "height": 220})
    page.wait_for_timeout(100)
    assert page.evaluate(BELOW) <= 0
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute("#canvas", "viewBox") is None


LEFT_OF = """() => {
    const start = (element) => element.getBoundingClientRect().left;
    const starts = [...document.querySelectorAll("#canvas .arc .line")].map(start);
    return Math.min(...starts) - start(document.getElementById("canvas"));
}"""


def test_a_neighborhood_in_the_file_has_room_for_its_arcs(pages, tmp_path):
    path = tmp_path / "alarm.html"
    path.write_text(cs.explore(public("alarm.bif"), port=None).page(), encoding="utf-8")
    page = pages.open(path.as_uri() + "#node=HR")
    page.click("[data-test=focus]")
    page.wait_for_timeout(200)
    assert page.evaluate(LEFT_OF) >= 0


CLICK_ON = """([node, state]) => [...document.querySelectorAll("[data-test=state]")]
    .find((e) => e.dataset.node === node && e.dataset.state === state)
    .dispatchEvent(new MouseEvent("click", {bubbles: true}))"""


@pytest.mark.parametrize("engine", ["server", "browser"])
def test_names_are_shown_and_none_runs(pages, engine, tmp_path):
    net = nasty()
    path = tmp_path / "nasty.html"
    with cs.explore(net, open=False, name=NASTY[0], port=0) as explorer:
        path.write_text(explorer.page(), encoding="utf-8")
        page = pages.open(explorer.url if engine == "server" else path.as_uri())
        first = next(name for name in net.variables if name.startswith("<img"))
        rows = page.locator("[data-test=state]")
        shown = {
            (row["node"], row["state"])
            for row in rows.evaluate_all("all => all.map(e => ({...e.dataset}))")
        }
        assert shown == {(n, s) for n, v in net.variables.items() for s in v.states}
        for name in NASTY[:6]:
            after(page, lambda name=name: page.evaluate(CLICK_ON, [first, name]))
            assert f"{first} = {name}" in page.text_content("[data-test=status]")
        link = page.url
        other = pages.open(link)
        assert f"{first} = {NASTY[5]}" in other.text_content("[data-test=status]")
        page.click("[data-test=case-save]")
        cases = download(page, "cases-save", tmp_path)
        [row] = csv.DictReader(io.StringIO(cases.read_text("utf-8"), newline=""))
        assert row[first] == NASTY[5]
        other.set_input_files("[data-test=cases-load]", cases)
        other.wait_for_selector("[data-test=cases] option >> nth=1", state="attached")
        assert page.evaluate("window.hurt") is None
        assert other.evaluate("window.hurt") is None
        pages.close()


def in_file(pages, net, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(cs.explore(net, port=None).page(), encoding="utf-8")
    return pages.open(path.as_uri())


def assert_file_equals_library(page, net, n_sets):
    rng, done = np.random.default_rng(4), 0
    while done < n_sets:
        given = random_findings(net, rng)
        known = library_given(net, given)
        try:
            wanted = net.marginals(known)
        except cs.ConsilienceError:
            continue
        done += 1
        answer = page.evaluate("question => app.engine.beliefs(question)", {"given": given})
        compare(answer["all"], wanted)
        for source, beliefs in answer["by_source"].items():
            if beliefs is not None:
                compare(beliefs, net.marginals({**known, net.source: source}))


def compare(beliefs, wanted):
    for name, factor in wanted.items():
        np.testing.assert_allclose(beliefs[name], factor.values, rtol=0, atol=1e-9)


@pytest.mark.data
@pytest.mark.parametrize("name", ["asia.bif", "alarm.bif", "insurance.bif", "hailfinder.bif"])
def test_the_file_answers_as_the_library_does(pages, tmp_path, name):
    net = public(name)
    assert_file_equals_library(in_file(pages, net, tmp_path), net, 50)


@pytest.mark.data
def test_the_file_of_ten_sources_answers_as_the_library_does(pages, tmp_path):
    net = of_sources(public("asia.bif"), 10)
    assert_file_equals_library(in_file(pages, net, tmp_path), net, 50)


@pytest.mark.data
def test_of_a_large_network_bars_are_drawn_where_the_reader_looks(pages):
    with cs.explore(public("andes.bif"), open=False) as explorer:
        page = pages.open(explorer.url)
        assert page.locator("[data-test=node]").count() == 223
        n_rows = page.locator("[data-test=state]").count()
        assert 0 < n_rows < 446
        after(page, lambda: page.click("[data-test=state] >> nth=0"))
        page.click("[data-test=fit]")
        page.wait_for_timeout(100)
        assert page.locator("[data-test=state]").count() <= 2
        pages.close()


def test_numbers_are_findings_of_a_continuous_node(pages):
    x, y = cs.Variable("x"), cs.Variable("y")
    net = cs.Network.of(
        [cs.LinearGaussian(x, (), 10.0, [], 2.0), cs.LinearGaussian(y, (x,), 0.0, [1.0], 2.0)]
    )
    with cs.explore(net, open=False) as explorer:
        page = pages.open(explorer.url)
        field = page.locator("[data-test=number][data-node=y]")
        field.fill("14")
        after(page, lambda: field.press("Enter"))
        assert float(page.get_attribute("[data-node=x] .rows", "data-mean")) == pytest.approx(12)
        assert "given=y=14" in unquote(page.url)
        pages.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_hinders_those_who_do_not_see_or_point(pages, url, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs the extra browser"
    )
    page = pages.open(url, color_scheme=scheme, bypass_csp=True)
    click(page, "b", "low")
    page.wait_for_timeout(400)
    found = axe.Axe().run(page)
    told = json.dumps(
        [
            (v["id"], [n["html"][:200] for n in v["nodes"][:3]])
            for v in found.response["violations"]
        ],
        indent=1,
    )
    assert found.violations_count == 0, told


HEART = ["age", "sex", "cp", "thalach", "exang", "num"]


@pytest.fixture(scope="module")
def heart():
    """Heart disease by hospital, with its rows, and a second network."""
    if DATA is None:
        pytest.skip("CONSILIENCE_DATA is not set")
    table = cs.read(
        [str(path) for path in sorted((Path(DATA) / "heart").glob("*.csv"))],
        source="source",
        columns=HEART,
        discrete=["sex", "cp", "exang", "num"],
        discretize={"age": cs.Quantiles(3), "thalach": cs.Quantiles(3)},
    )
    net = cs.fit(cs.tan(table, target="num"), table)
    other = cs.fit(cs.naive_bayes(table, target="num"), table)
    with cs.explore(net, table, target="num", compare=other, open=False) as explorer:
        yield explorer


def panel_of(page, name):
    """The panel with that name, drawn."""
    page.click(f"[data-test=tab][data-panel={name}]")
    page.wait_for_selector(f"[data-test=panel][data-panel={name}]", timeout=60_000)
    page.wait_for_selector("#panel[aria-busy=false]", timeout=60_000)
    return page.locator("[data-test=panel]")


@pytest.mark.data
def test_every_panel_is_drawn_for_hospitals(pages, heart):
    page = pages.open(heart.url + "#node=num")
    names = page.eval_on_selector_all("[data-test=tab]", "all => all.map(e => e.dataset.panel)")
    assert {"node", "differences", "borrowing", "gaps", "compare", "evaluation", "provenance"} <= {
        *names
    }
    for name in names:
        panel = panel_of(page, name)
        if name != "arcs":
            assert panel.locator("svg").count() or name == "provenance", name
            assert panel.locator("table").count(), name
    assert "cs.average" in panel_of(page, "arcs").inner_text()
    pages.close()


@pytest.mark.data
def test_bars_follow_what_is_borrowed_and_worst_rows_open(pages, heart):
    page = pages.open(heart.url + "#panel=borrowing&node=num")
    page.wait_for_selector("[data-test=borrowing]", timeout=60_000)
    first = values(page)
    after(page, lambda: page.locator("[data-test=borrowing]").fill("0"))
    assert values(page) != first
    assert "borrowing=separate" in page.url
    after(page, lambda: page.click("[data-test=undo]"))
    assert values(page) == first
    panel_of(page, "evaluation")
    after(page, lambda: page.click("[data-test=open-row] >> nth=0"))
    assert "given=" in page.url
    assert "given=num" not in page.url
    pages.close()


def test_a_wrong_link_is_told(pages, url):
    page = pages.open(url + "#given=z=yes&given=b=nothing&given=c=no")
    said = page.inner_text("[data-test=status]")
    assert re.search("There is no node z", said)
    assert_shown(page, small(), {"c": "no"})


@pytest.mark.parametrize("engine", ["server", "browser"])
def test_a_second_network_stands_on_one_layout(pages, engine, tmp_path):
    with cs.explore(small(), compare=second(), open=False, name="small") as explorer:
        path = tmp_path / "pair.html"
        path.write_text(explorer.page(), encoding="utf-8")
        page = pages.open(explorer.url if engine == "server" else path.as_uri())
        alone = page.locator("[data-test=arc]").count()
        after(page, lambda: page.click("[data-test=tab][data-panel=compare]"))
        click(page, "c", "yes")
        arcs = page.eval_on_selector_all(
            "[data-test=arc]",
            "all => all.map(e => [e.dataset.tail, e.dataset.head, e.dataset.kind])",
        )
        assert {tuple(arc) for arc in arcs} == {
            ("site", "a", "stub"),
            ("a", "b", "turned"),
            ("a", "c", "extra"),
            ("b", "c", "shared"),
        }
        wanted = second().query("a", {"c": "yes"})
        for name in ("yes", "no"):
            shown = float(page.get_attribute(state("a", name), "data-other"))
            assert shown == pytest.approx(wanted[name], abs=1e-6)
        assert "turned" in page.inner_text("[data-test=legend]")
        click(page, "site", "north")
        assert "The second network: unknown" in page.inner_text("[data-test=status]")
        assert page.locator("[data-other]").count() == 0
        after(page, lambda: page.click("[data-test=tab][data-panel=node]"))
        assert page.locator("[data-test=arc]").count() == alone
        assert not page.is_visible("[data-test=legend]")
        pages.close()


def test_the_file_has_its_panels(pages, tmp_path):
    net = of_sources(public("asia.bif"), 2)
    rows = cs.read(
        {name: net.sample(50, given={"source": name}, seed=1).to_frame() for name in ("s0", "s1")}
    )
    path = tmp_path / "page.html"
    path.write_text(cs.explore(net, rows, target="lung", port=None).page(), encoding="utf-8")
    page = pages.open(path.as_uri() + "#given=smoke=yes")
    for name in ("node", "differences", "borrowing", "evaluation", "answers", "provenance"):
        panel = panel_of(page, name)
        assert panel.locator("table").count() == 1, name
        assert panel.locator("svg").count() == 1, name
    assert "without findings" in panel_of(page, "node").inner_text()
    assert "without findings" not in panel_of(page, "provenance").inner_text()
    assert panel_of(page, "evaluation").locator("[data-test=open-row]").count() == 0


def test_a_panel_that_a_file_lacks_is_told(pages, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_answers, "ROOM", 0)
    path = tmp_path / "page.html"
    path.write_text(cs.explore(small(), target="c", port=None).page(), encoding="utf-8")
    page = pages.open(path.as_uri() + "#node=b&panel=node")
    page.wait_for_selector("[data-test=panel][data-panel=node]")
    assert "This file has this panel of c." in page.inner_text("[data-test=panel]")


def test_a_still_file_tells_once_why_it_cannot_answer(pages, tmp_path):
    net = cs.Network.of([cs.LinearGaussian(cs.Variable("x"), (), 2.0, [], 3.0)])
    path = tmp_path / "page.html"
    path.write_text(cs.explore(net, port=None).page(), encoding="utf-8")
    page = pages.open(path.as_uri() + "#given=x=1")
    assert page.inner_text("[data-test=status]").count("This file shows beliefs") == 1


def test_a_link_to_what_cannot_happen_still_shows_bars(pages, url):
    page = pages.open(url + "#given=site=south&given=a=no")
    assert "probability zero" in page.inner_text("[data-test=status]")
    assert_shown(page, small(), {})
    page.click("[data-test=tab][data-panel=provenance]")
    page.wait_for_selector("[data-test=panel][data-panel=provenance]")
    assert "probability zero" in page.inner_text("[data-test=status]")


def test_names_stay_in_their_boxes_and_beside_their_bars(pages):
    with cs.explore(nasty(), open=False) as explorer:
        page = pages.open(explorer.url)
        outside = page.evaluate(
            """() => [...document.querySelectorAll("[data-test=node]")].flatMap((node) => {
                const frame = (part, within) =>
                    within.querySelector(part).getBoundingClientRect();
                const past = frame(".name", node).right - frame(".box", node).right;
                const rows = [...node.querySelectorAll("[data-test=state]")];
                return [past, ...rows.map((row) =>
                    frame(".state-name", row).right - frame(".ground", row).left)];
            })"""
        )
        assert max(outside) <= 0.5
        pages.close()


def test_a_graph_that_nobody_moved_fits_a_smaller_window(pages, url):
    page = pages.open(url)
    page.set_viewport_size({"width": 700, "height": 600})
    page.wait_for_timeout(200)
    canvas, world = (page.locator(f"#{name}").bounding_box() for name in ("canvas", "world"))
    assert canvas["y"] <= world["y"]
    assert world["y"] + world["height"] <= canvas["y"] + canvas["height"]


def inherited():
    """Names that every object of a page has, and a state that reads like a list of the others."""
    maker = cs.Variable("constructor", ("a", "b", "a|b", "do:a"))
    proto = cs.Variable("__proto__", ("toString", "__proto__"))
    tables = [
        cs.Categorical(maker, (), [0.1, 0.2, 0.3, 0.4]),
        cs.Categorical(proto, (maker,), [[0.1, 0.9], [0.4, 0.6], [0.8, 0.2], [0.5, 0.5]]),
    ]
    return cs.Network.of(tables)


@pytest.mark.parametrize("engine", ["server", "browser"])
def test_names_that_every_object_has_are_names_like_others(pages, engine, tmp_path):
    net, path = inherited(), tmp_path / "page.html"
    with cs.explore(net, open=False) as explorer:
        path.write_text(explorer.page(), encoding="utf-8")
        page = pages.open(explorer.url if engine == "server" else path.as_uri())
        click(page, "constructor", "a|b")
        assert page.get_attribute(state("constructor", "a|b"), "aria-pressed") == "true"
        edit(page, "__proto__", "likelihood", {"toString": 0.2, "__proto__": 0.7})
        likely = cs.Likelihood({"toString": 0.2, "__proto__": 0.7})
        assert_shown(page, net, {"constructor": "a|b", "__proto__": likely})
        assert values(pages.open(page.url)) == values(page)
        pages.close()


THERE_AND_BACK = """(view) => {
    const cases = new Map([["one", {given: view.given, do: view.do}]]);
    const kept = casesFromCsv(casesToCsv(cases, app.model), app.model).get("one");
    const fragment = fragmentOf({...emptyView(), ...view}, app.model);
    const { given, do: set } = viewOf(fragment, app.model).view;
    return [JSON.stringify(kept), JSON.stringify({given, do: set})];
}"""


@pytest.mark.parametrize(
    "view",
    [
        {"given": {"constructor": {"any": ["a", "b"]}}, "do": {}},
        {"given": {"constructor": "a|b"}, "do": {}},
        {"given": {"constructor": "do:a"}, "do": {}},
        {"given": {}, "do": {"constructor": "a"}},
        {"given": {"constructor": {"not": ["a|b", "do:a"]}}, "do": {}},
    ],
)
def test_a_finding_that_reads_like_another_goes_there_and_back(pages, tmp_path, view):
    page = in_file(pages, inherited(), tmp_path)
    assert [json.loads(text) for text in page.evaluate(THERE_AND_BACK, view)] == [view, view]


def test_a_number_that_is_set_is_no_longer_given(pages):
    net = cs.Network.of([cs.LinearGaussian(cs.Variable("x"), (), 2.0, [], 3.0)])
    with cs.explore(net, open=False) as explorer:
        page = pages.open(explorer.url + "#given=x=1")
        page.click("[data-test=do]")
        field = page.locator("[data-test=number]")
        field.fill("5")
        after(page, lambda: field.press("Enter"))
        assert page.url.endswith("#do=x=5&node=x")
        pages.close()


def test_undo_takes_back_what_the_back_button_did(pages, url):
    page = pages.open(url)
    click(page, "c", "yes")
    click(page, "b", "low")
    after(page, page.go_back)
    after(page, lambda: page.click("[data-test=undo]"))
    assert_shown(page, small(), {"c": "yes", "b": "low"})


def test_a_fragment_that_is_typed_tells_what_is_wrong_with_it(pages, url):
    page = pages.open(url)
    after(page, lambda: page.evaluate("() => { location.hash = '#given=c=no&given=z=yes' }"))
    assert "There is no node z" in page.inner_text("[data-test=status]")
    after(page, lambda: page.evaluate("() => { location.hash = '#given=c=yes&do=c=no' }"))
    assert "both given and set" in page.inner_text("[data-test=status]")


def test_lines_of_a_file_of_cases_may_be_empty_and_faults_name_their_case(pages, url, tmp_path):
    page, path = pages.open(url), tmp_path / "cases.csv"
    path.write_text("case,a,b\r\none,yes,\r\n,,\r\n\r\n", encoding="utf-8")
    page.set_input_files("[data-test=cases-load]", path)
    page.wait_for_selector("[data-test=cases] option >> nth=1", state="attached")
    assert page.locator("[data-test=cases] option").count() == 2
    path.write_text("case,a,b\r\ntwo,yes,none\r\n", encoding="utf-8")
    page.set_input_files("[data-test=cases-load]", path)
    page.wait_for_selector("[data-test=status].problem")
    assert "Case two, node b: There is no state none." in page.inner_text("[data-test=status]")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"given": {"a": "yes"}, "do": {"a": "no"}}, "both given and set"),
        ({"given": {"a": {"soft": {"yes": 0.5}}}}, "must sum to one"),
        ({"given": {"a": {"likelihood": {"yes": -1.0, "no": 2.0}}}}, "zero or more"),
    ],
)
def test_the_file_refuses_what_the_library_does(pages, stored, asked, words):
    page = pages.open(stored)
    ask = "asked => app.engine.beliefs(asked).then(() => '', problem => problem.message)"
    assert words in page.evaluate(ask, asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"do": {"site": "south"}, "given": {"c": "yes"}},
        {"given": {"b": {"likelihood": {"low": 1e-310, "high": 3e-310}}}},
        {"given": {"b": {"likelihood": {"low": 1e200}}, "c": {"likelihood": {"yes": 1e200}}}},
    ],
)
def test_the_file_tells_how_probable_findings_are_as_the_server_does(pages, stored, asked):
    found = pages.open(stored).evaluate("asked => app.engine.beliefs(asked)", asked)
    wanted = Desk(Subject(small())).beliefs(asked)
    assert found["log_probability"] == {
        name: None if log is None else pytest.approx(log, rel=1e-9)
        for name, log in wanted["log_probability"].items()
    }


def test_the_chosen_node_stays_while_others_become_known(pages, url):
    page = pages.open(url + "#node=b")
    click(page, "c", "yes")
    assert page.url.endswith("node=b")


def alike(n_sources=15):
    """Sources and states whose names begin and end alike; one source never has the first state."""
    ward = cs.Variable(
        "ward", tuple(f"ward {i} of the university hospital" for i in range(n_sources))
    )
    x = cs.Variable("שלום", tuple(f"a long name of the state {i} of it" for i in range(4)))
    tables = np.linspace(0, 1, n_sources)[:, None] * [0.1, 0, 0, 0] + [0, 0.3, 0.3, 0.3]
    tables[:, 3] = 1 - tables[:, :3].sum(axis=1)
    return cs.Network.of(
        [
            cs.Categorical(ward, (), np.full(n_sources, 1 / n_sources)),
            cs.Categorical(x, (ward,), tables),
        ],
        source="ward",
    )


def test_names_that_begin_and_end_alike_are_told_apart(pages, tmp_path):
    page = in_file(pages, alike(8), tmp_path)
    for what in (".state-name", "[data-test=source] bdi"):
        texts = page.locator(what).all_text_contents()
        assert len(set(texts)) == len(texts)


def test_of_many_sources_the_least_and_the_most_likely_are_told(pages, tmp_path):
    page = in_file(pages, alike(), tmp_path)
    click(page, "שלום", "a long name of the state 0 of it")
    said = page.inner_text("[data-test=status]")
    first, last = "ward 1 of the university hospital", "ward 14 of the university hospital"
    assert f"(from {first} 0.00714 to {last} 0.1)" in said
    assert "cannot happen in ward 0 of the university hospital" in said


def test_sentences_run_from_left_to_right_whatever_the_names(pages, tmp_path):
    page = in_file(pages, alike(2), tmp_path)
    note = page.locator("#panel .note").first
    note.wait_for()
    assert note.evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_paper_is_light_whatever_the_screen(pages, url):
    page = pages.open(url, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("() => getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_a_panel_without_numbers_has_no_table(pages, served):
    page = pages.open(served.url)
    panel = panel_of(page, "gaps")
    assert "Nothing is missing" in panel.inner_text()
    assert panel.locator("table, button").count() == 0


def test_a_server_that_is_gone_is_told_in_words(pages):
    explorer = cs.explore(small(), open=False)
    page = pages.open(explorer.url)
    explorer.close()
    after(page, lambda: page.click(state("c", "yes")))
    assert "The server does not answer" in page.inner_text("[data-test=status]")
    page.click("[data-test=export-html]")
    page.wait_for_timeout(200)
    assert "The server does not answer" in page.inner_text("[data-test=status]")
    pages.close()  # what it says of the server may come late
    assert all("ERR_CONNECTION_REFUSED" in problem for problem in pages.problems)
    pages.problems.clear()
