from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, strategies as st
from show_graphs import ASIA, dags, network, with_source

from consilience import dynamic
from consilience.errors import InputError, UnknownNameError
from consilience.graph.dag import DAG
from consilience.show.views import svg

SPACE = "{http://www.w3.org/2000/svg}"


def groups(text, kind):
    return [
        group
        for group in ET.fromstring(text).iter(f"{SPACE}g")
        if kind in group.get("class", "").split()
    ]


def texts(element):
    return [found.text for found in element.iter(f"{SPACE}text")]


def tooltip(group):
    return group.find(f"{SPACE}title").text


@given(dag=dags())
def test_there_is_one_group_for_each_node_and_one_path_for_each_arc(dag):
    text = svg(dag)
    assert sorted(tooltip(group) for group in groups(text, "node")) == sorted(dag.nodes)
    arcs = groups(text, "arc")
    assert sorted(map(tooltip, arcs)) == sorted(f"{tail} → {head}" for tail, head in dag.arcs)
    assert all(len(list(arc.iter(f"{SPACE}path"))) == 1 for arc in arcs)


@given(name=st.text(min_size=1), title=st.text())
def test_any_name_and_title_give_well_formed_xml(name, title):
    root = ET.fromstring(svg(DAG([], nodes=[name]), title=title))
    assert root.get("role") == "img"
    assert root.get("aria-label").endswith("1 nodes and 0 arcs")


def test_special_characters_are_escaped():
    text = svg(DAG([('<a> & "b"', "c")]), title="<&>")
    assert "&lt;a&gt; &amp; " in text
    assert ['<a> & "b"'] in [texts(group) for group in groups(text, "node")]


def test_nothing_refers_to_anything_outside_or_can_clash_on_a_page():
    text = svg(network(with_source(ASIA, ["dysp"]), source="hospital"), title="asia")
    body = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not any(word in body for word in ("http", "href", "url(", "<style", "<script", " id="))


def test_the_picture_is_as_large_as_it_says_and_holds_every_box():
    root = ET.fromstring(svg(ASIA, title="asia"))
    _, _, width, height = map(float, root.get("viewBox").split())
    assert (float(root.get("width")), float(root.get("height"))) == (width, height)
    for box in root.iter(f"{SPACE}rect"):
        assert float(box.get("x")) + float(box.get("width")) < width
        assert float(box.get("y")) + float(box.get("height")) < height


def test_a_node_of_a_network_tells_its_states_and_the_size_of_its_table():
    dysp = next(
        group for group in groups(svg(network(ASIA)), "node") if "dysp" in tooltip(group)[:4]
    )
    assert tooltip(dysp) == "dysp given bronc, either\n2 states: a, b\ntable: 2 by 2 by 2"


def test_the_source_is_set_off_and_explained():
    text = svg(network(with_source(ASIA, ["dysp", "xray"]), source="hospital"))
    (source,) = groups(text, "source")
    (other, *_) = [group for group in groups(text, "node") if group.get("class") == "node"]
    assert source.find(f"{SPACE}rect").get("fill") != other.find(f"{SPACE}rect").get("fill")
    assert texts(groups(text, "legend")[0]) == ["hospital: the source of a row"]


def test_arcs_from_a_source_with_many_children_are_short():
    text = svg(network(with_source(ASIA, ASIA.nodes), source="hospital"))
    paths = [
        group.find(f"{SPACE}path").get("d")
        for group in groups(text, "arc")
        if tooltip(group).startswith("hospital")
    ]
    assert len(paths) == 8
    for path in paths:
        numbers = path.replace("M", "").replace("C", " ").replace(",", " ").split()
        assert float(numbers[-1]) - float(numbers[1]) < 20


def test_a_graph_without_source_has_no_legend():
    assert groups(svg(ASIA), "legend") == []


def test_beliefs_are_drawn_as_bars_with_their_probabilities():
    text = svg(network(ASIA), beliefs={"dysp": {"a": 0.25, "b": 0.75}})
    (dysp,) = [group for group in groups(text, "node") if "dysp" in texts(group)]
    assert texts(dysp) == ["dysp", "a", "25.0%", "b", "75.0%"]
    bars = [float(bar.get("width")) for bar in dysp.iter(f"{SPACE}rect")][1:]
    assert bars[3] == pytest.approx(3 * bars[1])


def test_of_many_states_the_most_probable_are_drawn_in_their_order():
    belief = {f"s{i}": (i + 1) / 55 for i in range(10)}
    text = svg(DAG([], nodes=["x"]), beliefs={"x": belief})
    (node,) = groups(text, "node")
    shown = [word for word in texts(node) if "%" not in word]
    assert shown == ["x", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "3 more"]


def test_highlighted_nodes_and_the_arcs_between_them_are_set_off():
    plain, text = svg(ASIA), svg(ASIA, highlight=["smoke", "lung", "xray"])
    changed = {
        tooltip(new)
        for kind in ("node", "arc")
        for old, new in zip(
            sorted(groups(plain, kind), key=tooltip),
            sorted(groups(text, kind), key=tooltip),
            strict=True,
        )
        if ET.tostring(old) != ET.tostring(new)
    }
    assert changed == {"smoke", "lung", "xray", "smoke → lung"}


def test_a_very_long_name_is_cut_in_the_middle_but_told_in_full():
    name = "a_name_that_" + "goes_on_" * 10 + "to_the_end"
    (node,) = groups(svg(DAG([], nodes=[name])), "node")
    assert tooltip(node) == name
    assert texts(node) == ["a_name_that_goes_on_goes_on_g…_on_to_the_end"]


@pytest.mark.parametrize("wrong", [{"beliefs": {"nobody": {}}}, {"highlight": ["nobody"]}])
def test_unknown_nodes_are_refused(wrong):
    with pytest.raises(UnknownNameError, match="unknown node 'nobody'"):
        svg(ASIA, **wrong)


def test_unknown_states_are_refused():
    with pytest.raises(UnknownNameError, match="unknown state of 'dysp' 'z'"):
        svg(network(ASIA), beliefs={"dysp": {"z": 0.5}})


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_not_a_probability_is_refused(wrong):
    with pytest.raises(InputError, match="'dysp': the probability of state 'a'") as caught:
        svg(ASIA, beliefs={"dysp": {"a": wrong}})
    assert caught.value.culprits == {"node": "dysp", "state": "a"}


def test_a_network_in_time_is_drawn_with_its_hidden_nodes_set_off():
    net = dynamic.from_hmm([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]])
    text = svg(net, title="A hidden chain")
    assert text == svg(net.dag, title="A hidden chain", highlight=["z(t-1)", "z"])
    for name in ("z(t-1)", "z", "x"):
        assert f">{name}<" in text
