"""One contract for all panels, and what each of them says."""

from __future__ import annotations

import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest

import consilience as cs
from consilience.answers.difference_parts import difference_parts
from consilience.show.panels.borrowing import FITTED, POSITIONS, held_out_losses, refitted
from consilience.show.panels.compare import table_distances
from consilience.show.panels.question import NEEDS, PanelAnswer, Question, Subject
from consilience.show.panels.registry import panel, panels
from consilience.show.picture import told_apart
from consilience.show.svg_charts import bar_chart
from consilience.show.svg_series import series_chart

NASTY = "<img src=x onerror=alert(1)>"


@cache
def rows(n_sources: int, n_rows: int = 60) -> cs.Table:
    rng = np.random.default_rng(n_sources)
    frames = {}
    for f in range(n_sources):
        x = rng.random(n_rows) < 0.2 + 0.6 * f / max(n_sources - 1, 1)
        y = rng.random(n_rows) < np.where(x, 0.8, 0.3)
        z = rng.integers(0, 3, n_rows)
        frames[f"s{f}"] = {
            "x": ["yes" if one else "no" for one in x],
            "y": [None if rng.random() < 0.1 else "ill" if one else "well" for one in y],
            NASTY: [f"{NASTY} & '\"{one}" for one in z],
        }
    return cs.read(frames["s0"] if n_sources == 1 else frames)


def graph() -> cs.DAG:
    return cs.DAG([("x", "y"), (NASTY, "y")])


@cache
def subject(kind: str) -> Subject:
    if kind == "many sources":
        table = rows(3)
        net = cs.fit(graph(), table, cs.HDMCS(s=5))
        other = cs.fit(cs.DAG([("y", "x")], nodes=[NASTY]), table, cs.HDMCS(s=5))
        return Subject(
            net, table, "y", other, cs.average(table.take(table.columns["y"] >= 0).pooled())
        )
    if kind == "one source":
        table = rows(1)
        return Subject(cs.fit(graph(), table), table, "y", cs.fit(graph(), table, cs.MLE()))
    if kind == "continuous":
        rng = np.random.default_rng(3)
        place, a = np.repeat(["p", "q"], 40), rng.normal(size=80)
        frame = {
            "place": place,
            "a": a,
            "b": a + rng.normal(size=80),
            "c": rng.choice(["u", "v"], 80),
        }
        table = cs.read(frame, source="place")
        net = cs.fit(cs.DAG([("a", "b"), ("c", "b")]), table)
        return Subject(net, table, "b", net)
    if kind == "no rows":
        return Subject(cs.fit(graph(), rows(3), cs.HDMCS(s=5)))
    if kind == "one node":
        table = rows(3).select(["x"])
        return Subject(cs.fit(cs.DAG(nodes=["x"]), table), table, "x")
    net = cs.random_network(cs.random_dag(200, n_arcs=260, max_parents=3, seed=2), seed=2)
    return Subject(net, net.sample(100, seed=3), "X7", net)


KINDS = ("one source", "many sources", "continuous", "no rows", "one node", "200 nodes")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [one.name for one in panels()])
def test_every_panel_answers_every_subject(name, kind):
    about = subject(kind)
    node = about.target or next(n for n in about.network.variables if n != about.network.source)
    for given in ({}, {_another(about, node): _state(about, _another(about, node))}):
        answer = panel(name).answer(Question(about, given=given, node=node))
        assert_sound(answer)
        lacks = panel(name).missing(about)
        assert bool(answer.svg or answer.table["rows"]) or answer.notes
        if lacks:
            assert answer.notes == tuple(lacks)


def _another(about: Subject, node: str) -> str:
    names = [n for n in about.network.variables if n not in (node, about.network.source)]
    return names[0] if names else node


def _state(about: Subject, node: str):
    variable = about.network.variables[node]
    return 0.5 if variable.is_continuous else variable.discrete_states[0]


def assert_sound(answer: PanelAnswer) -> None:
    """SVG that can be parsed, runs and styles nothing, is not too large; a table of plain cells."""
    assert len(answer.svg) < 200_000
    if answer.svg:
        root = ElementTree.fromstring(answer.svg)
        for element in root.iter():
            assert element.tag.split("}")[1] not in ("script", "style", "foreignObject", "image")
            assert not any(key.startswith("on") or key in ("style", "id") for key in element.attrib)
        assert root.get("aria-label")
    width = len(answer.table["columns"])
    for row in answer.table["rows"]:
        assert len(row) == width
        for cell in row:
            assert cell is None or isinstance(cell, str | int | float)
            assert not isinstance(cell, float) or np.isfinite(cell)
    for note in answer.notes:
        assert isinstance(note, str)
        assert note


def test_names_of_panels_are_told_apart_and_needs_are_known():
    names = [one.name for one in panels()]
    assert len(set(names)) == len(names) == 9
    assert all(need in NEEDS for one in panels() for need in one.needs)
    with pytest.raises(cs.ConsilienceError, match="'fairness'"):
        panel("fairness")


def test_a_question_names_what_exists():
    about = subject("many sources")
    for wrong in ({"node": "w"}, {"given": {"w": "a"}}, {"do": {"w": "a"}}, {"sources": ("s9",)}):
        with pytest.raises(cs.ConsilienceError, match=r"'w'|'s9'"):
            Question(about, **wrong)
    with pytest.raises(cs.ConsilienceError, match="option 'folds' must be a number"):
        panel("evaluation").answer(Question(about, options={"folds": "five"}))


def test_the_node_panel_has_the_table_with_its_intervals_and_rows():
    about = subject("many sources")
    answer = panel("node").answer(Question(about, node="y"))
    low, high = cs.estimators.parameter_intervals(about.network, "y")
    table = about.network["y"].table
    lines = answer.table["rows"]
    assert answer.table["columns"][:3] == ["source", "x", NASTY]
    flat = [line[3:] for line in lines]
    expected = np.stack([table, low, high], axis=-1).reshape(len(lines), -1)
    assert np.allclose([line[:-1] for line in flat], expected, rtol=0, atol=1e-15)
    (counted,) = cs.count(about.table, cs.Family("y", ("x", NASTY)), by_source=True)
    counts = counted.table.sum(axis=-1)
    assert [line[-1] for line in flat[: counts.size]] == counts.ravel().tolist()


def test_the_node_panel_shows_before_and_after():
    about = subject("many sources")
    answer = panel("node").answer(Question(about, node="y", given={"x": "yes"}))
    before, after = about.network.query("y")["ill"], about.network.query("y", {"x": "yes"})["ill"]
    assert f"{after:.4f}" in answer.notes[0] or f"{1 - after:.4f}" in answer.notes[0]
    assert f"{before:.4f}" in answer.notes[0] or f"{1 - before:.4f}" in answer.notes[0]
    assert f"before {before:.6g}" in answer.svg


def test_the_node_panel_shows_the_density_of_a_number_as_wide_as_other_charts():
    about = subject("continuous")
    answer = panel("node").answer(Question(about, node="b", given={"a": 1.0}))
    before, after = (about.network.query("b", given) for given in ({}, {"a": 1.0}))
    assert (
        f"mean {after.mean:.5g} and the sd {after.sd:.4g}, it had {before.mean:.5g}"
        in answer.notes[0]
    )
    width = float(ElementTree.fromstring(answer.svg).attrib["width"])
    assert width < 600
    for source in ("p", "q"):
        mean = about.network.query("b", {"a": 1.0, "place": source}).mean
        assert f"{source}: {mean:.6g}" in answer.svg


def test_the_differences_panel_has_the_parts_of_its_function():
    about = subject("many sources")
    answer = panel("differences").answer(Question(about, node="y", options={"draws": 50}))
    found = difference_parts(about.network, "y", draws=50)
    expected = [
        [one.source, state, one.difference[k], one.population[k], one.mechanism[k]]
        for one in found
        for k, state in enumerate(one.states)
    ]
    for line, wanted in zip(answer.table["rows"], expected, strict=True):
        assert line[:2] == wanted[:2]
        assert np.allclose(line[2:5], wanted[2:], rtol=0, atol=1e-15)
    assert any(note == f"{cs.differences(about.network).title}." for note in answer.notes)


def test_differences_against_a_second_source_leave_it_out():
    about = subject("many sources")
    options = {"reference": "s0", "draws": 20}
    answer = panel("differences").answer(Question(about, node="x", options=options))
    assert {line[0] for line in answer.table["rows"]} == {"s1", "s2"}


def test_a_cell_without_rows_is_an_empty_box():
    table = cs.read({"a": {"x": ["u", "v"], "y": ["0", "1"]}, "b": {"x": ["u"], "y": ["1"]}})
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.HDMCS(s=1))
    answer = panel("differences").answer(Question(Subject(net, table), node="y"))
    assert answer.svg.count(">no rows<") == 1


def test_borrowing_is_the_fit_at_every_position():
    about = subject("many sources")
    answer = panel("borrowing").answer(Question(about, node="y", options={"folds": 2}))
    found = {(line[0], line[1]): line[2:] for line in answer.table["rows"]}
    net = cs.fit(graph(), about.table, cs.HDMCS(s=10))
    state = re.search(r"y = (\w+)", answer.table["columns"][2])[1]
    assert found["s = 10", "s1"][0] == pytest.approx(net.query("y", {"source": "s1"})[state])
    assert refitted(about, FITTED) is about.network
    for place in POSITIONS:
        losses = held_out_losses(about, "y", place, 2)
        assert found[place, "all"][1] == losses["all"]
    splits = cs.classify.StratifiedFolds(2)
    crossed = cs.cross_evaluate(
        about.table,
        "y",
        structures={"graph": graph()},
        estimators={"HDMCS": cs.HDMCS(s=10)},
        splits=splits,
    )
    by_source = crossed.by_source(("graph", "HDMCS"), "log_loss")
    losses = held_out_losses(about, "y", "s = 10", 2)
    for source, loss in by_source.items():
        assert losses[source] == pytest.approx(loss, rel=1e-9)


def test_long_names_that_begin_and_end_alike_are_told_apart():
    names = [f"the university hospital number {i} beside the river" for i in range(12)]
    shown = told_apart(names, 16)
    assert len(set(shown.values())) == 12
    assert max(map(len, shown.values())) <= 16
    chart = bar_chart(dict.fromkeys(names, 1.0), label="rows")
    texts = re.findall(r">([^<]*)<title>", chart.body)
    assert set(texts) - {""} == set(told_apart(names, 30).values())
    assert len(set(told_apart(names, 30).values())) == 12
    assert told_apart(["a", "b", "a" * 40], 16) == {
        "a": "a",
        "b": "b",
        "a" * 40: f"{'a' * 10}…aaaaa",
    }


def test_pooled_tables_of_a_graph_with_its_source_are_the_same_in_all_sources():
    net = cs.fit(cs.DAG([("source", "x"), *graph().arcs]), rows(3), cs.HDMCS(s=5))
    answer = panel("borrowing").answer(Question(Subject(net, rows(3)), node="y"))
    pooled = [line[2] for line in answer.table["rows"] if line[0] == "pooled"]
    assert np.allclose(pooled, pooled[0], rtol=0, atol=1e-12)


def test_the_gaps_panel_has_the_shares_of_the_table():
    about = subject("many sources")
    answer = panel("gaps").answer(Question(about))
    for source, name, share in answer.table["rows"]:
        if source != "family":
            assert about.table.missing[source][name] == share > 0


def test_comparison_finds_tables_that_differ_whatever_their_order():
    a, b = cs.Variable("a", ("0", "1")), cs.Variable("b", ("u", "v"))
    other = cs.Variable("b", ("v", "u"))
    first = cs.Network.of(
        [cs.Categorical(a, (), [0.5, 0.5]), cs.Categorical(b, (a,), [[0.1, 0.9], [0.2, 0.8]])]
    )
    same = cs.Network.of(
        [cs.Categorical(a, (), [0.5, 0.5]), cs.Categorical(other, (a,), [[0.9, 0.1], [0.6, 0.4]])]
    )
    assert table_distances(first, same) == pytest.approx({"b": 0.1, "a": 0.0})


def test_tables_of_networks_with_other_sources_are_compared_without_them():
    a, b = cs.Variable("a", ("0", "1")), cs.Variable("b", ("0", "1"))
    site = cs.Variable("site", ("north", "south"))
    prior, of_a = np.array([0.25, 0.75]), np.array([[0.2, 0.8], [0.6, 0.4]])
    of_b = np.array([[[0.1, 0.9], [0.5, 0.5]], [[0.3, 0.7], [0.8, 0.2]]])
    first = cs.Network.of(
        [
            cs.Categorical(site, (), prior),
            cs.Categorical(a, (site,), of_a),
            cs.Categorical(b, (site, a), of_b),
        ],
        source="site",
    )
    joint = np.einsum("f,fa,fab->ab", prior, of_a, of_b)
    tables = [cs.Categorical(a, (), [0.5, 0.5]), cs.Categorical(b, (a,), [[0.4, 0.6], [0.5, 0.5]])]
    apart = joint / joint.sum(axis=1, keepdims=True) - [[0.4, 0.6], [0.5, 0.5]]
    wanted = {"a": 0.0, "b": float(np.abs(apart).sum(axis=1).mean() / 2)}
    assert table_distances(first, cs.Network.of(tables)) == pytest.approx(wanted)


def test_names_of_many_lines_stay_beside_the_chart():
    lines = {f"s{k}": [0.2, 0.1 + 0.001 * k] for k in range(11)}
    drawn = ElementTree.fromstring(series_chart(["a", "b"], lines, label="x").svg)
    places = {
        text.text: float(text.get("y")) for text in drawn.iter("{http://www.w3.org/2000/svg}text")
    }
    names = sorted(places[name] for name in lines)
    assert max(names) <= places["a"] - 14
    assert min(np.diff(names)) >= 14


def test_the_evaluation_panel_has_the_measures_and_the_worst_rows():
    about = subject("many sources")
    answer = panel("evaluation").answer(Question(about))
    found = cs.classify.evaluate_network(about.network, about.table, "y")
    lines = {line[0]: line[1:] for line in answer.table["rows"]}
    assert lines["all"][2] == pytest.approx(found.overall.log_loss)
    assert lines["s1"][1] == pytest.approx(found.by_source["s1"].accuracy)
    assert "in-sample" in answer.notes[0]
    worst = [line for line in answer.table["rows"] if line[0].startswith("row ")]
    assert [line[3] for line in worst] == sorted((line[3] for line in worst), reverse=True)
    held = panel("evaluation").answer(Question(about, options={"folds": 3}))
    assert "3 folds, refitted" in held.notes[0]


def test_rows_that_cannot_be_refitted_are_called_in_sample():
    about = subject("many sources")
    read = cs.Network(about.network.distributions, about.network.source)
    answer = panel("evaluation").answer(
        Question(Subject(read, about.table, "y"), options={"folds": 3})
    )
    assert "in-sample" in answer.notes[0]
    assert "does not record an estimator" in answer.notes[1]


def test_the_answers_panel_has_the_numbers_of_its_functions():
    about = subject("many sources")
    answer = panel("answers").answer(
        Question(about, node="y", given={"x": "yes"}, options={"draws": 40})
    )
    found = cs.intervals(about.network, "y", {"x": "yes"}, draws=40)
    told = [line[1:] for line in answer.table["rows"] if line[0] == "interval"]
    assert told == [
        [s, *map(float, (a, lo, hi))]
        for s, a, lo, hi in zip(found.states, found.answer, found.low, found.high, strict=True)
    ]
    asked = {line[1]: line[2] for line in answer.table["rows"] if line[0] == "ask"}
    assert asked == dict(cs.information_value(about.network, "y", {"x": "yes"}).values)


def test_the_answers_panel_says_once_that_its_node_has_a_finding():
    about = subject("many sources")
    answer = panel("answers").answer(Question(about, node="y", given={"y": "ill"}))
    assert answer.notes == ("There is a finding about y; choose a node without one.",)
    assert answer.table["columns"] == []


def test_the_call_that_makes_a_network_again_makes_it():
    about = subject("one source")
    call = panel("provenance").answer(Question(about)).table["rows"][-1][1]
    again = eval(call, {"cs": cs, "table": about.table})  # what a reader would type
    assert again.dag == about.network.dag
    large = panel("provenance").answer(Question(Subject(cs.fit(*many_columns())))).table
    assert large["rows"][-1][1].startswith("cs.fit(net.dag, table")


def many_columns():
    rng = np.random.default_rng(1)
    table = cs.read(
        {f"a column with a long name {i}": rng.choice(["a", "b"], 8) for i in range(200)}
    )
    return cs.DAG(nodes=list(table.variables)), table


def test_the_arcs_panel_lists_what_is_believed():
    about = subject("many sources")
    answer = panel("arcs").answer(Question(about))
    for start, end, probability, *_ in answer.table["rows"]:
        assert probability == about.graphs.arcs[start, end]


def test_provenance_has_a_hash_that_changes_with_the_network():
    hashes = []
    for kind in ("many sources", "one source"):
        lines = dict(panel("provenance").answer(Question(subject(kind))).table["rows"])
        hashes.append(lines["SHA-256"])
        assert lines["consilience"] == cs.__version__
    assert len(set(hashes)) == 2
    lines = dict(panel("provenance").answer(Question(subject("many sources"))).table["rows"])
    again = eval(lines["made again by"], {"cs": cs, "table": rows(3)})
    assert np.array_equal(again["y"].table, subject("many sources").network["y"].table)


@pytest.mark.data
def test_every_panel_answers_on_heart_disease_by_hospital(data_dir):
    files = [data_dir / "heart" / f"{n}.csv" for n in ("cleveland", "hungarian", "va")]
    table = cs.read(files, source="source", columns=["sex", "cp", "exang", "thal", "num"])
    net = cs.fit(cs.naive_bayes(table, "num").add("sex", "cp"), table)
    about = Subject(net, table, "num", cs.fit(cs.naive_bayes(table, "num"), table))
    for one in panels():
        if one.name == "arcs":
            continue
        assert one.missing(about) == []
        answer = one.answer(Question(about, given={"cp": "4"}, node="thal"))
        assert_sound(answer)
        assert answer.svg
        assert answer.table["rows"]


@pytest.mark.parametrize("name", [one.name for one in panels()])
def test_a_panel_depends_on_what_it_follows_alone(name):
    about, found = subject("many sources"), panel(name)
    first = found.answer(Question(about))
    given = {} if "given" in found.follows else {"y": "ill"}
    do = {} if "do" in found.follows else {"x": "yes"}
    node = None if "node" in found.follows else "x"
    other = found.answer(Question(about, given, do, node=node))
    assert (other.svg, other.table, other.notes) == (first.svg, first.table, first.notes)
