"""The page as one file: what stands in it, and how its modules are joined."""

import base64
import gzip
import hashlib
import json
import re
from importlib.resources import files

import numpy as np
import pytest
from explored import nasty, of_sources, public, small

import consilience as cs
from consilience.show.explorer import export, stored
from consilience.show.explorer.stored import stored_panels
from consilience.show.panels.question import Question, Subject
from consilience.show.panels.registry import panel

PAGE = files("consilience.show.explorer") / "page"
MODULES = sorted(file.name for file in PAGE.iterdir() if file.name.endswith(".js"))
TOP = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def page(net):
    return cs.explore(net, port=None).page()


@pytest.mark.parametrize("name", MODULES)
def test_modules_keep_to_the_grammar_that_can_be_joined(name):
    text = (PAGE / name).read_text(encoding="utf-8")
    for line in text.splitlines():
        if "import" in line.split("//")[0].split()[:1]:
            assert export.IMPORT.fullmatch(line + "\n"), line
        if line.startswith("export"):
            assert export.EXPORT.match(line), line
    for word in ("innerHTML", "outerHTML =", "eval(", "document.write", "import(", "default"):
        assert word not in text


def test_names_at_the_top_of_modules_are_unique():
    names = [name for file in MODULES for name in TOP.findall((PAGE / file).read_text("utf-8"))]
    assert len(names) == len(set(names))


def test_all_modules_are_joined_after_what_they_need():
    scripts = [export.joined_modules(first) for first in ("main.js", "widget.js")]
    for script in scripts:
        assert not re.search(r"^(import|export) ", script, re.MULTILINE)
        names = TOP.findall(script)
        assert len(names) == len(set(names))
    joined = {name for script in scripts for name in TOP.findall(script)}
    assert joined == {n for f in MODULES for n in TOP.findall((PAGE / f).read_text("utf-8"))}


def test_the_policy_names_the_script_and_the_style():
    text = page(small())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for kind in ("script", "style"):
        body = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)[1]
        wanted = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src &#x27;sha256-{wanted}&#x27;" in policy
    assert "unsafe" not in policy
    assert "default-src &#x27;none&#x27;" in policy
    assert not re.search(r'(?:src|href)="(?!data:)', text)


def test_no_name_ends_the_data():
    text = page(nasty())
    data = re.search(r'id="embedded">(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in data
    assert set(json.loads(data)["model"]["nodes"]) == set(nasty().variables)


def test_tables_are_those_of_the_network():
    net = small()
    tree = export.tree_of(net)
    numbers = np.frombuffer(base64.b64decode(tree["numbers"]))
    wanted = [net["a"].table, net["b"].table, net["c"].table]
    np.testing.assert_array_equal(numbers, np.concatenate([table.ravel() for table in wanted]))
    assert [is_by_source for _, is_by_source in tree["tables"]] == [1, 0, 0]


def test_a_network_with_numbers_gives_a_still_page():
    net = cs.Network.of([cs.LinearGaussian(cs.Variable("x"), (), 2.0, [], 3.0)])
    assert "all discrete" in page(net)


def test_a_network_too_large_gives_a_still_page_that_names_the_limit(monkeypatch):
    monkeypatch.setattr(export, "LARGEST", 10)
    text = page(small())
    assert "a file answers up to 10" in text
    data = json.loads(re.search(r'id="embedded">(.*?)</script>', text, re.DOTALL)[1])
    assert data["tree"] is None
    assert data["first"]["all"]["a"]


def test_panels_are_stored_for_as_many_nodes_as_there_is_room_for(monkeypatch):
    everything = unpacked(stored_panels(Subject(small(), target="b")))
    assert set(everything["node"]) == set(everything["differences"]) == {"a", "b", "c"}
    assert set(everything["provenance"]) == {"b"}
    wanted = panel("node").answer(Question(Subject(small(), target="b"), node="a"))
    assert everything["node"]["a"]["svg"] == wanted.svg
    monkeypatch.setattr(stored, "ROOM", 0)
    assert set(unpacked(stored_panels(Subject(small(), target="b")))["node"]) == {"b"}


def unpacked(found):
    return json.loads(gzip.decompress(base64.b64decode(found["packed"])))


@pytest.mark.data
def test_a_file_of_ten_sources_is_small():
    assert len(page(of_sources(public("alarm.bif"), 10)).encode()) <= 250_000
