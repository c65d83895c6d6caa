"""The explorer's beliefs are those of the library, all sources together and in each."""

import numpy as np
import pytest
from explored import library_given, of_sources, public, random_findings, second, small

import consilience as cs
from consilience.show.explorer.desk import Desk
from consilience.show.panels.question import Subject


def desk(net, **more):
    return Desk(Subject(net, **more))


def assert_equal(net, answered, given):
    """The answer for all nodes is what ``net.marginals`` says."""
    found = net.marginals(given)
    for name, belief in answered.items():
        if name not in found:
            continue
        if net.variables[name].is_continuous:
            assert belief["mean"] == pytest.approx(found[name].mean, rel=1e-9, abs=1e-9)
            assert belief["sd"] == pytest.approx(found[name].sd, rel=1e-9, abs=1e-9)
        else:
            np.testing.assert_allclose(belief, found[name].values, rtol=0, atol=1e-9)


def check_random(net, n_sets, seed=1):
    asked, rng, n_done = desk(net), np.random.default_rng(seed), 0
    while n_done < n_sets:
        given = random_findings(net, rng)
        known = library_given(net, given)
        try:
            net.marginals(known)
        except cs.ConsilienceError as problem:
            with pytest.raises(type(problem)):
                asked.beliefs({"given": given})
            continue
        n_done += 1
        answer = asked.beliefs({"given": given})
        assert_equal(net, answer["all"], known)
        for source, beliefs in answer["by_source"].items():
            within = {**known, net.source: source}
            if beliefs is None:
                with pytest.raises(cs.ConsilienceError):
                    net.marginals(within)
            else:
                assert_equal(net, beliefs, within)


@pytest.mark.data
@pytest.mark.parametrize("name", ["asia.bif", "alarm.bif", "insurance.bif", "hailfinder.bif"])
def test_public_networks_answer_as_the_library_does(name):
    check_random(public(name), 50)


@pytest.mark.data
def test_a_network_of_ten_sources_answers_as_the_library_does():
    check_random(of_sources(public("asia.bif"), 10), 50)


@pytest.mark.data
def test_a_gaussian_network_answers_as_the_library_does():
    check_random(public("ecoli70.json"), 50)


def test_a_mixed_network_answers_as_the_library_does():
    rng = np.random.default_rng(3)
    rows = {"g": rng.choice(["u", "v"], 300), "site": rng.choice(["n", "s"], 300)}
    rows["x"] = rng.normal(np.where(rows["g"] == "u", 0.0, 3.0))
    rows["y"] = 2 * rows["x"] + rng.normal(size=300)
    table = cs.read(rows, source="site")
    net = cs.fit(cs.DAG([("g", "x"), ("x", "y")]), table, cs.Separate(cs.MLE()))
    check_random(net, 50)


def test_findings_impossible_in_one_source_leave_the_others_answered():
    answer = desk(small()).beliefs({"given": {"a": "no"}})
    assert answer["by_source"]["south"] is None
    assert answer["by_source"]["north"]["a"] == [0, 1]
    assert answer["log_probability"]["south"] is None


def test_log_probabilities_are_those_of_the_findings_given_the_source():
    net = small()
    logs = desk(net).beliefs({"given": {"b": "low", "c": {"not": ["yes"]}}})["log_probability"]
    known = {"b": "low", "c": "no"}
    assert logs["all"] == pytest.approx(np.log(net.probability(known)))
    for source in ("north", "south"):
        wanted = net.probability(known, given={"site": source})
        assert logs[source] == pytest.approx(np.log(wanted))


def test_what_is_known_about_the_source_is_not_among_the_findings_of_a_source():
    asked = {"given": {"b": "low", "site": {"likelihood": {"north": 4.0, "south": 2.0}}}}
    logs = desk(small()).beliefs(asked)["log_probability"]
    for source in ("north", "south"):
        wanted = small().query("b", given={"site": source})["low"]
        assert logs[source] == pytest.approx(np.log(wanted))


def test_findings_that_no_source_allows_are_refused():
    with pytest.raises(cs.errors.ImpossibleEvidenceError):
        desk(small()).beliefs({"given": {"site": "south", "a": "no"}})


def test_a_finding_about_the_source_closes_the_others():
    answer = desk(small()).beliefs({"given": {"site": {"not": ["south"]}}})
    assert answer["by_source"]["south"] is None
    assert answer["all"]["a"] == pytest.approx([0.3, 0.7])


def test_an_intervention_is_that_of_the_library():
    net = small()
    answer = desk(net).beliefs({"do": {"b": "high"}, "given": {"c": "yes"}})
    assert_equal(net.do({"b": "high"}), answer["all"], {"c": "yes"})
    assert answer["all"]["b"] == [0, 0, 1]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"given": {"d": "yes"}}, "unknown node 'd'"),
        ({"given": {"a": "maybe"}}, "'maybe'"),
        ({"given": {"a": {"some": ["yes"]}}}, "any"),
        ({"given": {"a": {"any": "yes"}}}, "a list of states"),
        ({"given": {"a": {"not": ["yes", "no"]}}}, "all its states are excluded"),
        ({"given": {"a": {"soft": {"yes": 0.5}}}}, "sum to one"),
        ({"given": {"a": True}}, "a state or a number"),
        ({"given": ["a"]}, "must be an object"),
        ({"do": {"a": "yes"}, "given": {"a": "no"}}, "both given and set"),
        ({"sources": ["east"]}, "unknown source 'east'"),
        ({"node": 3}, "must be a name"),
        ({"what": 3}, "unknown key of a question 'what'"),
    ],
)
def test_a_wrong_question_is_refused_in_words(asked, words):
    with pytest.raises(cs.ConsilienceError, match=words):
        desk(small()).beliefs(asked)


def test_beliefs_follow_what_is_borrowed():
    table = small().sample(60, seed=2)
    table = cs.read(table.to_frame(), source="site")
    dag = small().dag.without("site")
    net = cs.fit(dag, table, cs.HDMCS(s=10))
    answer = desk(net, table=table).beliefs({"options": {"position": "separate"}})
    wanted = cs.fit(dag, table, cs.Separate(cs.Dirichlet()))
    assert answer["all"]["a"] == pytest.approx(wanted.query("a").values.tolist(), abs=1e-9)
    assert answer["by_source"]["new_source"] is None
    assert len(answer["all"]["site"]) == 3
    with pytest.raises(cs.ConsilienceError, match="unknown position"):
        desk(net, table=table).beliefs({"options": {"position": "far"}})
    with pytest.raises(cs.errors.InputError, match="needs rows"):
        desk(net).beliefs({"options": {"position": "separate"}})


def test_rows_of_the_table_are_findings():
    table = small().sample(5, seed=2)
    found = desk(small(), table=table).row("3")["given"]
    assert set(found) <= {"a", "b", "c", "site"}
    assert found["a"] == table.variables["a"].states[table.column("a")[3]]
    with pytest.raises(cs.errors.InputError, match="there is no row 5"):
        desk(small(), table=table).row("5")


def test_numbers_of_a_row_that_the_network_cuts_are_states():
    raw = cs.read({"x": [1.5, 2.5, 3.5, 4.5] * 5, "y": ["a", "b", "b", "a"] * 5})
    cut = cs.discretize(raw, {"x": cs.Quantiles(2)})
    net = cs.fit(cs.DAG([("x", "y")]), cut)
    state = net.variables["x"].states[1]
    assert desk(net, table=raw).row("3")["given"] == {"x": state, "y": "a"}


def test_a_density_is_drawn_where_it_can_be_seen():
    x = cs.Variable("x")
    net = cs.Network.of([cs.LinearGaussian(x, (), 2.0, [], 3.0)])
    belief = desk(net).beliefs({})["all"]["x"]
    assert (belief["mean"], belief["sd"]) == (2.0, 3.0)
    points = np.array(belief["density"])
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(1, abs=1e-3)
    known = desk(net).beliefs({"given": {"x": 5}})["all"]["x"]
    assert known == {"mean": 5.0, "sd": 0.0, "low": 5.0, "high": 5.0, "density": []}


def test_a_second_network_is_asked_the_same():
    asked = desk(small(), compare=second())
    answer = asked.beliefs({"given": {"c": "yes"}, "options": {"compare": True}})
    wanted = second().query("a", {"c": "yes"})
    np.testing.assert_allclose(answer["other"]["a"], [wanted["yes"], wanted["no"]], atol=1e-9)
    assert set(answer["other"]) == {"a", "b", "c"}
    assert "other" not in asked.beliefs({"given": {"c": "yes"}})


def test_what_a_second_network_does_not_know_is_told():
    asked = {"given": {"site": "north"}, "options": {"compare": True}}
    answer = desk(small(), compare=second()).beliefs(asked)
    assert answer["other"] is None
    assert "unknown node" in answer["other_problem"]
    with pytest.raises(cs.ConsilienceError, match="no second network"):
        desk(small()).beliefs({"options": {"compare": True}})


def test_both_networks_have_one_layout():
    found = desk(small(), compare=second()).comparison()
    kinds = {(tail, head): kind for tail, head, _, kind in found["routes"]}
    assert kinds == {
        ("site", "a"): "stub",
        ("a", "b"): "turned",
        ("a", "c"): "extra",
        ("b", "c"): "shared",
    }
    assert set(found["boxes"]) == {"site", "a", "b", "c"}
    rising = next(points for tail, head, points, _ in found["routes"] if (tail, head) == ("a", "b"))
    assert rising[0][1] > rising[-1][1]


def test_a_panel_that_does_not_follow_a_finding_is_not_drawn_anew():
    asked = desk(small())
    first = asked.panel("provenance", {"given": {"c": "yes"}, "node": "a"})
    assert asked.panel("provenance", {"given": {"c": "no"}, "node": "b"}) is first
    known = asked.panel("node", {"given": {"c": "yes"}, "node": "a"})
    assert asked.panel("node", {"given": {"c": "yes"}, "node": "a"}) is known
    assert asked.panel("node", {"given": {"c": "no"}, "node": "a"})["notes"] != known["notes"]
    assert asked.panel("differences", {"do": {"a": "no"}, "node": "b"}) is not first
    with pytest.raises(cs.ConsilienceError, match="unknown node"):
        asked.panel("provenance", {"given": {"z": "no"}})
