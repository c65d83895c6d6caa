"""Things beside each other, and the graph in a notebook, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs

pytest.importorskip("anywidget", reason="the extra 'notebook' is not installed")


def two_sources() -> cs.Network:
    frame = {"x": ["a", "b"] * 20, "y": ["c", "c", "d", "d"] * 10}
    other = {"x": ["a", "a", "a", "b"] * 10, "y": ["c", "d"] * 20}
    return cs.fit(cs.DAG([("x", "y")]), cs.read({"p": frame, "q": other}), cs.HDMCS(s=3))


def test_findings_set_in_python_change_the_beliefs():
    net = two_sources()
    seen = cs.widget(net)
    for given in ({"x": "a"}, {"x": {"not": ["a"]}}, {"y": {"likelihood": {"c": 1, "d": 4}}}, {}):
        seen.given = given
        assert seen.problem == ""
        asked = {"x": "a"} if given == {"x": "a"} else {}
        asked = {"x": "b"} if "not" in str(given) else asked
        asked = {"y": cs.Likelihood({"c": 1, "d": 4})} if "likelihood" in str(given) else asked
        for name, belief in net.marginals(asked).items():
            told = list(seen.beliefs[name].values())
            assert np.allclose(told, belief.values, rtol=0, atol=1e-9)
            for source in ("p", "q"):
                if name != "source":
                    wanted = net.marginals({**asked, "source": source})[name].values
                    found = list(seen.by_source[source][name].values())
                    assert np.allclose(found, wanted, rtol=0, atol=1e-9)


def test_findings_of_the_page_are_read_in_python():
    net = two_sources()
    seen = cs.widget(net)
    before = seen.beliefs["y"]["c"]
    seen.set_state({"given": {"x": "b"}})  # what a click in the page sends
    assert seen.given == {"x": "b"}
    assert seen.beliefs["y"]["c"] == pytest.approx(net.query("y", {"x": "b"})["c"], abs=1e-9)
    assert seen.beliefs["y"]["c"] != before
    assert seen.beliefs["x"] == {"a": 0, "b": 1}


def test_findings_that_cannot_be_are_told_and_the_last_answer_stays():
    seen = cs.widget(two_sources())
    before = seen.beliefs
    seen.given = {"x": "z"}
    assert "no state 'z'" in seen.problem
    assert seen.beliefs == before
    seen.given = {}
    assert seen.problem == ""
    with pytest.raises(cs.ConsilienceError, match="'w'"):
        cs.widget(two_sources(), {"w": "a"})


def test_the_widget_is_made_of_the_modules_of_the_page():
    text = str(cs.widget(two_sources())._esm)
    assert "function createDrawing" in text
    assert "export default { render: renderWidget }" in text
    assert not any(line.startswith("import ") for line in text.splitlines())


def test_a_continuous_node_has_mean_and_sd():
    net = cs.fit(cs.DAG(nodes=["a"]), cs.read({"a": [1.5, 2.5, 4.0]}), cs.MLE())
    seen = cs.widget(net)
    assert seen.beliefs["a"]["mean"] == pytest.approx(8 / 3)


def test_things_stand_beside_each_other():
    names = ["<first>", "second"]
    pair = cs.beside(two_sources(), {"not": "<a noun>"}, names=names)
    page = pair._repr_html_()
    assert "<svg " in page
    assert "&lt;first&gt;" in page
    assert "<pre>{&#x27;not&#x27;: &#x27;&lt;a noun&gt;&#x27;}</pre>" in page
    assert "Network(" in repr(pair)


def test_names_of_things_are_as_many_as_these():
    with pytest.raises(cs.ConsilienceError, match="need 2 names"):
        cs.beside(1, 2, names=["one"])
    with pytest.raises(cs.ConsilienceError, match="at least one"):
        cs.beside()
