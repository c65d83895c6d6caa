from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from commands import misused, passed, refused, run, write

import consilience as cs

ROWS = "id,smoke,hospital,cough\n7,yes,north,yes\n8,yes,south,no\n9,,,no\n10,no,north,?\n"


def network() -> cs.Network:
    hospital = cs.Variable("hospital", ("north", "south"))
    smoke = cs.Variable("smoke", ("yes", "no"))
    cough = cs.Variable("cough", ("yes", "no"))
    return cs.Network.of(
        [
            cs.Categorical(hospital, (), [0.5, 0.5]),
            cs.Categorical(smoke, (hospital,), [[0.2, 0.8], [0.6, 0.4]]),
            cs.Categorical(cough, (smoke,), [[0.5, 0.5], [0.0, 1.0]]),
        ],
        source="hospital",
    )


@pytest.fixture
def model(tmp_path: Path) -> str:
    cs.save(network(), tmp_path / "model.json")
    return str(tmp_path / "model.json")


@pytest.fixture
def odd(tmp_path: Path) -> str:
    """A model whose states hold the signs that --given uses."""
    x = cs.Variable("x", ("a", "b", "a|b", "c=d"))
    cs.save(cs.Network.of([cs.Categorical(x, (), [0.1, 0.2, 0.3, 0.4])]), tmp_path / "odd.json")
    return str(tmp_path / "odd.json")


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def answer(*arguments: object) -> dict[str, float]:
    """Probabilities of the states of one node."""
    found = json.loads(passed("query", *arguments, "--json"))
    return {
        next(iter(one["states"].values())): one["probability"] for one in found["probabilities"]
    }


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# query


def test_a_query_prints_the_probability_of_each_state(model):
    assert lines(passed("query", model, "smoke")) == [
        ["smoke", "probability"],
        ["yes", "0.4"],
        ["no", "0.6"],
    ]


def test_the_probability_of_what_is_given_is_printed_too(model):
    shown = lines(passed("query", model, "hospital", "--given", "cough=yes"))
    assert shown[1:3] == [["north", "0.25"], ["south", "0.75"]]
    assert ["P(given)", "0.2"] in shown
    assert ["log", "P(given)", "-1.609438"] in shown


def test_several_nodes_have_a_joint_distribution(model):
    found = json.loads(passed("query", model, "cough", "hospital", "--json"))
    joint = network().query(["cough", "hospital"])
    assert found["query"] == ["cough", "hospital"]
    for one in found["probabilities"]:
        assert one["probability"] == joint[one["states"]["cough"], one["states"]["hospital"]]
    shown = lines(passed("query", model, "cough", "hospital"))
    assert shown[0] == ["cough", "hospital", "probability"]
    assert len(shown) == 5


def test_json_tells_what_was_given(model):
    found = json.loads(passed("query", model, "smoke", "--given", "cough=no", "--json"))
    assert found["given"] == {"cough": ["no"]}
    assert found["log_probability_of_given"] == pytest.approx(math.log(0.8))


def test_one_of_several_states_is_said_in_two_ways(odd):
    ways = (["--given", "x=a|c=d"], ["--given", "x=a", "--given", "x=c=d"])
    for way in ways:
        assert answer(odd, "x", *way) == {
            "a": pytest.approx(0.2), "b": 0, "a|b": 0, "c=d": pytest.approx(0.8)
        }  # fmt: skip


def test_a_state_that_holds_a_bar_comes_before_its_parts(odd):
    assert answer(odd, "x", "--given", "x=a|b")["a|b"] == 1
    either = answer(odd, "x", "--given", "x=a", "--given", "x=b")
    assert (either["a|b"], either["b"]) == (0, pytest.approx(2 / 3))


@pytest.mark.parametrize("text", ["cough", "=yes", "cough="])
def test_given_without_node_and_state_is_named(model, text):
    assert misused("query", model, "smoke", "--given", text).endswith("expected NODE=STATE.")


def test_unknown_names_in_a_question_are_named(model):
    assert "unknown node 'smok'. Did you mean 'smoke'?" in refused("query", model, "smok")
    text = refused("query", model, "smoke", "--given", "coughs=yes")
    assert "unknown node 'coughs'. Did you mean 'cough'?" in text
    text = refused("query", model, "smoke", "--given", "hospital=north|mars")
    assert "'hospital' has no state 'mars'" in text


def test_impossible_evidence_is_one_line_that_names_the_conflict(model):
    arguments = ["--given", "hospital=north", "--given", "smoke=no", "--given", "cough=yes"]
    for command in (["query", model, "hospital"], ["mpe", model]):
        assert "smoke=no, cough=yes has probability zero" in refused(*command, *arguments)


# mpe


def test_the_most_probable_explanation_is_printed(model):
    shown = lines(passed("mpe", model, "--given", "cough=yes"))
    assert shown[:3] == [["node", "state"], ["hospital", "south"], ["smoke", "yes"]]
    assert ["P(states", "|", "given)", "0.75"] in shown
    assert shown[-1][-1] == f"{math.log(0.15):.7g}"


def test_marginal_map_sums_the_others_out(model):
    found = json.loads(passed("mpe", model, "--map", "smoke", "--json"))
    (one,) = found["explanations"]
    assert one["states"] == {"smoke": "no"}
    assert one["probability"] == pytest.approx(0.6)


def test_the_next_best_explanations_are_told_by_where_they_differ(model):
    shown = passed("mpe", model, "-k", 3)
    expected = cs.most_probable(network(), 3)
    for rank, one in enumerate(expected[1:], start=2):
        (line,) = [line for line in shown.splitlines() if line.startswith(f"{rank} ")]
        assert f"{math.exp(one.log_probability):.7g}" in line
        named = [part.split("=") for part in line.split(maxsplit=2)[2].strip().split(", ")]
        assert dict(expected[0]) | dict(named) == dict(one)
    found = json.loads(passed("mpe", model, "-k", 3, "--json"))
    assert [one["states"] for one in found["explanations"]] == list(map(dict, expected))


def test_an_explanation_keeps_to_what_is_given(model):
    found = json.loads(passed("mpe", model, "-k", 9, "--given", "hospital=north", "--json"))
    assert len(found["explanations"]) == 3  # nobody coughs who does not smoke
    assert sum(one["probability"] for one in found["explanations"]) == pytest.approx(1)
    assert all("hospital" not in one["states"] for one in found["explanations"])


def test_the_k_best_of_some_nodes_are_not_offered(model):
    assert "-k goes without --map" in misused("mpe", model, "-k", 2, "--map", "smoke")


# predict


@pytest.mark.parametrize("extension", [".csv", ".csv.gz", ".parquet"])
def test_predictions_are_the_posteriors_of_the_library_in_row_order(model, tmp_path, extension):
    rows, out = write(tmp_path, "rows.csv", ROWS), tmp_path / f"out{extension}"
    text = passed("predict", model, rows, "--target", "hospital", "-o", out)
    assert f"written to    {out}" in text
    net = network()
    expected = net.posteriors(cs.read(rows, schema=net.variables), "hospital")
    found = cs.read(out, discrete=["predicted"], continuous=["P(north)", "P(south)"])
    np.testing.assert_array_equal(found.column("P(north)"), expected[:, 0])
    np.testing.assert_array_equal(found.column("P(south)"), expected[:, 1])
    states = found.variables["predicted"].states
    assert [states[k] for k in found.column("predicted")] == ["south", "south", "north", "north"]


def test_predictions_are_printed_and_what_is_said_about_them_goes_elsewhere(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "smoke,cough\nyes,yes\n,no\n")
    result = run("predict", model, rows, "--target", "smoke")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ["predicted,P(yes),P(no)", "yes,1,0"]
    assert len(table_of(result.stdout)) == 2
    assert "no column 'hospital': the source was summed out" in result.stderr
    assert "target known  1 rows" in result.stderr


def test_accuracy_and_log_loss_are_those_of_the_rows_whose_target_is_known(model, tmp_path):
    rows = write(
        tmp_path, "rows.csv", "hospital,smoke\nnorth,yes\nnorth,no\nsouth,yes\nsouth,no\nsouth,\n"
    )
    text = passed(
        "predict", model, rows, "--target", "smoke", "--partial", "-o", tmp_path / "out.csv"
    )
    loss = -(math.log(0.2) + math.log(0.8) + math.log(0.6) + math.log(0.4)) / 4
    assert "target known  4 rows" in text
    assert "accuracy      0.5000" in text
    assert f"log loss      {loss:.4f}" in text


def test_without_the_target_nothing_is_said_about_quality(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "hospital\nnorth\n")
    text = passed(
        "predict", model, rows, "--target", "smoke", "--partial", "-o", tmp_path / "out.csv"
    )
    assert "accuracy" not in text
    assert "log loss" not in text


def test_the_target_is_not_used_as_evidence(model, tmp_path):
    with_it = write(tmp_path, "a.csv", "hospital,smoke\nnorth,yes\nnorth,no\n")
    without = write(tmp_path, "b.csv", "hospital\nnorth\nnorth\n")
    shown = [
        passed("predict", model, rows, "--target", "smoke", "--partial")
        for rows in (with_it, without)
    ]
    assert shown[0] == shown[1] == "predicted,P(yes),P(no)\nno,0.2,0.8\nno,0.2,0.8\n"


def test_an_impossible_row_has_no_prediction_and_is_counted(tmp_path):
    d, x, y = (cs.Variable(name, ("yes", "no")) for name in "dxy")
    certain = [[1.0, 0.0], [0.0, 1.0]]
    net = cs.Network.of(
        [cs.Categorical(d, (), [0.5, 0.5]), *(cs.Categorical(v, (d,), certain) for v in (x, y))]
    )
    cs.save(net, tmp_path / "m.json")
    rows = write(tmp_path, "rows.csv", "x,y,d\nyes,no,yes\nno,no,no\nno,no,yes\n")
    result = run("predict", tmp_path / "m.json", rows, "--target", "d")
    assert result.stdout == "predicted,P(yes),P(no)\n,,\nno,0,1\nno,0,1\n"
    assert "impossible    1 rows; they have no prediction" in result.stderr
    assert "target known  2 rows" in result.stderr
    assert "accuracy      0.5000" in result.stderr
    assert "log loss      infinite: the true state of 1 rows was held impossible" in result.stderr


def test_texts_can_stand_for_missing_values(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "hospital,cough\nnorth,unknown\n")
    shown = passed("predict", model, rows, "--target", "smoke", "--missing", "unknown")
    assert shown == "predicted,P(yes),P(no)\nno,0.2,0.8\n"
    assert "the state 'unknown' is not in the schema" in refused(
        "predict", model, rows, "--target", "smoke"
    )


def test_a_source_that_is_not_recorded_is_summed_out(model, tmp_path):
    gap = write(tmp_path, "gap.csv", "hospital,cough\n,no\nsouth,no\n")
    lacking = write(tmp_path, "lacking.csv", "cough\nno\n")
    (unknown, south), (alone,) = (
        table_of(passed("predict", model, rows, "--target", "smoke")) for rows in (gap, lacking)
    )
    assert float(unknown["P(yes)"]) == pytest.approx(0.25)
    assert float(south["P(yes)"]) == pytest.approx(3 / 7)
    assert alone == unknown


def test_the_source_may_stand_in_a_column_of_another_name(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "site,smoke\nsouth,yes\nnorth,no\n")
    shown = passed("predict", model, rows, "--target", "smoke", "--partial", "--source", "site")
    named = write(tmp_path, "named.csv", "hospital,smoke\nsouth,yes\nnorth,no\n")
    assert shown == passed("predict", model, named, "--target", "smoke", "--partial")
    assert shown == passed(
        "predict", model, named, "--target", "smoke", "--partial", "--source", "hospital"
    )


def test_the_source_itself_can_be_predicted(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "site,smoke\nsouth,yes\nnorth,yes\n")
    result = run("predict", model, rows, "--target", "hospital", "--partial", "--source", "site")
    assert [row["predicted"] for row in table_of(result.stdout)] == ["south", "south"]
    assert "accuracy      0.5000" in result.stderr


@pytest.mark.parametrize("column", ["hospital", "site"])
def test_a_hospital_never_seen_is_summed_out_and_named(model, tmp_path, column):
    rows = write(tmp_path, "rows.csv", f"{column},cough\nkabul,no\nsouth,no\nlima,no\nlima,no\n")
    result = run("predict", model, rows, "--target", "smoke", "--source", column)
    unknown, south, *_ = table_of(result.stdout)
    assert float(unknown["P(yes)"]) == pytest.approx(0.25)
    assert float(south["P(yes)"]) == pytest.approx(3 / 7)
    assert (
        "sources  kabul (1 row), lima (2 rows): not known to the model, summed out" in result.stderr
    )
    if column == "hospital":
        assert run("predict", model, rows, "--target", "smoke").output == result.output


def test_a_hospital_never_seen_is_the_new_source_of_a_hierarchical_model(tmp_path):
    one, other = {"a": list("xyy"), "b": list("xyx")}, {"a": list("xxy"), "b": list("yyy")}
    table = cs.read({"north": one, "south": other}, source="hospital")
    net = cs.fit(cs.DAG([("a", "b")]), table)
    cs.save(net, tmp_path / "m.json")
    rows = write(tmp_path, "rows.csv", "hospital,a,b\nkabul,x,x\n,x,x\n")
    result = run("predict", tmp_path / "m.json", rows, "--target", "b")
    new, gap = table_of(result.stdout)
    expected = net.query("b", given={"hospital": "new_source", "a": "x"})["x"]
    assert float(new["P(x)"]) == pytest.approx(expected)
    assert float(gap["P(x)"]) == pytest.approx(net.query("b", given={"a": "x"})["x"])
    assert "kabul (1 row): not known to the model, taken as 'new_source'" in result.stderr
    strange = write(tmp_path, "strange.csv", "hospital,a\nkabul,z\n")
    assert "the state 'z' is not in the schema" in refused(
        "predict", tmp_path / "m.json", strange, "--target", "b"
    )


def test_a_source_that_cannot_be_used_is_refused(model, odd, tmp_path):
    rows = write(tmp_path, "rows.csv", "site,hospital\nmars,mars\n")
    predict = ("predict", model, rows, "--target", "smoke", "--partial")
    assert "unknown column 'place'" in refused(*predict, "--source", "place")
    assert "'cough' is another node; the source is 'hospital'" in refused(
        *predict, "--source", "cough"
    )
    assert "the model has no source" in refused(
        "predict", odd, rows, "--target", "x", "--partial", "--source", "site"
    )


def test_bad_targets_and_outputs_are_refused_before_anything_is_read(model, tmp_path):
    none = tmp_path / "none.csv"
    rows = write(tmp_path, "rows.csv", "no,node\n1,2\n")
    assert "unknown node 'smok'" in refused("predict", model, rows, "--target", "smok")
    text = refused("predict", none, none, "--target", "x", "-o", tmp_path / "out.xlsx")
    assert "rows cannot be written to 'out.xlsx'" in text


def test_no_rows_have_no_predictions(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "smoke,cough\n")
    assert passed("predict", model, rows, "--target", "smoke") == "predicted,P(yes),P(no)\n"


def test_a_refusal_for_want_of_memory_advises_what_a_command_can_do(tmp_path):
    node = {at: cs.Variable("{}_{}".format(*at), tuple("abcdefgh")) for at in np.ndindex(12, 12)}
    local = []
    for (i, j), child in node.items():
        parents = tuple(node[at] for at in ((i, j - 1), (i - 1, j)) if at in node)
        table = np.full((8,) * (len(parents) + 1), 1 / 8)
        local.append(cs.Categorical(child, parents, table))
    cs.save(cs.Network.of(local), tmp_path / "grid.json")
    for command in (["query", tmp_path / "grid.json", "11_11"], ["mpe", tmp_path / "grid.json"]):
        said = refused(*command)
        assert "would need" in said
        assert "consilience sample" in said
        assert ("--by best" in said) == (command[0] == "query")
        assert "memory_limit" not in said
        assert "cs." not in said
        assert "net." not in said


def test_events_are_given_to_a_query(tmp_path):
    model = tmp_path / "model.json"
    cs.save(network(), model)
    said = passed("query", model, "hospital", "--event", "smoke = yes or cough = yes", "--json")
    found = json.loads(said)
    net, event = network(), cs.Event.parse("smoke = yes or cough = yes")
    assert found["events"] == ["smoke = yes or cough = yes"]
    assert math.exp(found["log_probability_of_given"]) == pytest.approx(net.probability(event))
    assert str(round(net.query("hospital", given=event)["south"], 4)) in said
    assert "a state or a number is wanted" in refused("query", model, "hospital", "--event", "a =")


def test_a_query_is_estimated_by_the_way_that_is_chosen(tmp_path):
    model = tmp_path / "model.json"
    cs.save(network(), model)
    exact = json.loads(passed("query", model, "smoke", "--given", "cough=yes", "--json"))
    for way in ("best", "likelihood-weighting", "logic-sampling", "adaptive-importance"):
        draws = () if way == "best" else ("--draws", "20000", "--seed", "2")
        asked = ("query", model, "smoke", "--given", "cough=yes", "--by", way, *draws, "--json")
        found = json.loads(passed(*asked))
        for one, other in zip(found["probabilities"], exact["probabilities"], strict=True):
            assert one["probability"] == pytest.approx(other["probability"], abs=0.05)
    said = refused("query", model, "smoke", "--given", "cough=yes", "--by", "gibbs")
    assert "use --by likelihood-weighting" in said
    said = misused("query", model, "smoke", "--by", "loopy", "--draws", "100")
    assert "--draws goes with estimates from draws, not with --by loopy" in said
