"""The widget's module in a browser, with a kernel that answers through the page."""

import base64
import json

import numpy as np
import pytest
from explored import small

import consilience as cs
from consilience.show.explorer.desk import Desk
from consilience.show.explorer.export import joined_modules
from consilience.show.panels.question import Subject
from consilience.show.widgets import _style

PAGE = """<!doctype html><meta charset="utf-8"><body style="color:{ink};background:{ground}">
<div id="out"></div><script type="module">
import {{ renderWidget }} from "data:text/javascript;base64,{module}";
const state = {state}, heard = {{}};
renderWidget({{ el: document.getElementById("out"), model: {{
    get: (name) => state[name],
    set: (name, value) => {{ state[name] = value; }},
    on: (name, act) => {{ heard[name] = act; }},
    off: () => {{}},
    save_changes: async () => {{
        state.answer = JSON.parse(await window.ask(JSON.stringify(state.given)));
        heard["change:answer"]();
        document.body.dataset.given = JSON.stringify(state.given);
    }},
}} }});
</script>"""


@pytest.fixture
def shown(browser, tmp_path):
    """Shows a network as a notebook with this color of letters does."""
    contexts = []

    def show(net, *, is_dark=False):
        desk = Desk(Subject(net))
        state = {"facts": desk.facts(), "style": _style(), "given": {}, "problem": ""}
        text = joined_modules("widget.js") + "\nexport { renderWidget };\n"
        page_text = PAGE.format(
            ink="#ddd" if is_dark else "#222",
            ground="#111" if is_dark else "#fff",
            module=base64.b64encode(text.encode()).decode(),
            state=json.dumps({**state, "answer": desk.beliefs({})}).replace("<", "\\u003c"),
        )
        path = tmp_path / "notebook.html"
        path.write_text(page_text, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": 900, "height": 760}))
        page = contexts[-1].new_page()
        page.expose_function(
            "ask", lambda given: json.dumps(desk.beliefs({"given": json.loads(given)}))
        )
        page.goto(path.as_uri())
        page.wait_for_selector("[data-test=node]")
        return page

    yield show
    for context in contexts:
        context.close()


def given(page, wanted):
    page.wait_for_selector(f"body[data-given='{json.dumps(wanted, separators=(',', ':'))}']")


def test_clicks_keys_and_numbers_are_findings(shown):
    page = shown(small())
    row = '[data-test=state][data-node="{}"][data-state="{}"]'
    page.click(row.format("c", "yes"))
    given(page, {"c": "yes"})
    assert page.get_attribute(row.format("c", "yes"), "aria-pressed") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    given(page, {"c": "no"})
    x = cs.Variable("x")
    page = shown(cs.Network.of([cs.LinearGaussian(x, (), 2.0, [], 3.0)]))
    page.locator("[data-test=number]").fill("4.5")
    page.keyboard.press("Enter")
    given(page, {"x": 4.5})


@pytest.mark.parametrize(("is_dark", "ground"), [(False, "255, 255, 255"), (True, "20, 24, 31")])
def test_the_widget_is_as_dark_as_its_notebook(shown, is_dark, ground):
    page = shown(small(), is_dark=is_dark)
    seen = "() => getComputedStyle(document.getElementById('out')).backgroundColor"
    assert page.evaluate(seen) == f"rgb({ground})"


def test_the_widget_of_a_large_network_has_bars_where_it_is_scrolled_to(shown):
    net = cs.random_network(cs.random_dag(100, n_arcs=130, max_parents=3, seed=2), seed=2)
    page = shown(net)
    page.wait_for_selector("[data-test=state]")
    names = page.eval_on_selector_all("[data-test=state]", "all => all.map(e => e.dataset.node)")
    assert 0 < len(set(names)) < 60


def test_the_edges_of_the_boxes_are_in_the_picture(shown):
    page = shown(small())
    corner = page.evaluate(
        """() => {
            const svg = document.getElementById("out").shadowRoot.querySelector("svg");
            return [svg.viewBox.baseVal, svg.querySelector("#world").getBBox({stroke: true})]
                .map(({x, y, width, height}) => [x, y, x + width, y + height]);
        }"""
    )
    view, world = np.array(corner)
    assert (world[:2] - view[:2] >= 2).all()
    assert (view[2:] - world[2:] >= 2).all()
