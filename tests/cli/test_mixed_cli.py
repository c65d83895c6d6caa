"""The commands on continuous and mixed tables, against the library's own answers."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from commands import misused, passed, refused, run, write
from scipy.stats import norm

import consilience as cs
from consilience.data.write import write_rows


def rows(n_rows: int = 150, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    hospital, sex = rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    age = rng.normal(55, 12, n_rows).round(1)
    bp = 90 + 5 * hospital + 0.7 * age + 8 * sex + rng.normal(0, 8, n_rows)
    stroke = rng.random(n_rows) < 1 / (1 + np.exp(-(bp - 140) / 8))
    return {
        "hospital": np.array(["north", "south", "east"])[hospital],
        "sex": np.array(["F", "M"])[sex],
        "age": age,
        "bp": bp.round(2),
        "stroke": np.array(["no", "yes"])[stroke.astype(int)],
    }


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and a model fitted to them."""
    path = tmp_path_factory.mktemp("mixed")
    write_rows(cs.read(rows()), path / "data.csv")
    write_rows(cs.read(rows(40, seed=1)), path / "new.csv")
    dag = cs.DAG.parse("[sex][age][bp|sex:age][stroke|sex]")
    cs.save(cs.fit(dag, cs.read(rows(), source="hospital")), path / "model.json")
    logistic = cs.DAG.parse("[sex][age][bp|sex:age][stroke|bp:age]")
    cs.save(cs.fit(logistic, cs.read(rows(), source="hospital")), path / "logistic.json")
    return path


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def fact(text: str, name: str) -> str:
    [line] = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return line.removeprefix(name).strip()


# learn


def test_a_mixed_network_is_learned_and_saved(folder, tmp_path):
    path = tmp_path / "learned.json"
    shown = passed(
        "learn", folder / "data.csv", "--source", "hospital", "--structure", "hc", "-o", path
    )
    assert "gaussian=HierarchicalGaussian" in fact(shown, "estimator")
    assert "--logistic lets them in" in shown
    assert "The distributions of the 3 sources are tied together" in shown
    net = cs.load(path)
    assert net.variables["bp"].is_continuous
    assert net["bp"].posterior is not None


def test_families_with_gaps_are_listed_whatever_their_kind(tmp_path):
    text = "sex,age,bp\nF,50.5,120.5\nM,,130.5\nF,61.2,\nM,40.1,110.3\nF,33.3,101.5\nM,44.4,99.5\n"
    data = write(tmp_path, "gaps.csv", text)
    shown = passed("learn", data, "--structure", "[sex][age][bp|age]")
    assert ["bp", "|", "age", "4", "2", "1", "0"] in [line.split() for line in shown.splitlines()]


def test_a_tree_learned_from_gaps_says_so(tmp_path):
    data = write(tmp_path, "gaps.csv", "a,b,c\nx,u,1\ny,,2\nx,v,1\ny,v,2\n")
    shown = passed("learn", data, "--target", "a", "--structure", "tan")
    assert "note: The tree was learned from the rows in which both features" in shown
    assert "Gaps in: 'b'" in shown
    whole = write(tmp_path, "whole.csv", "a,b,c\nx,u,1\ny,u,2\nx,v,1\ny,v,2\n")
    assert "The tree was learned" not in passed(
        "learn", whole, "--target", "a", "--structure", "tan"
    )


@pytest.mark.parametrize("structure", ["tan", "naive-bayes"])
def test_a_network_made_for_a_class_takes_continuous_columns(folder, structure):
    data, out = folder / "data.csv", folder / f"{structure}.json"
    wanted = ("--target", "stroke", "--structure", structure, "--parameters", "calibrated")
    assert "The network is made to predict 'stroke'" in passed("learn", data, *wanted, "-o", out)
    assert cs.load(out).variables["bp"].is_continuous
    message = misused("learn", data, *wanted, "--gaps", "em")
    assert "--parameters calibrated goes with --gaps available only" in message
    message = misused("learn", data, "--structure", "hc", "--parameters", "calibrated")
    assert "--parameters calibrated needs --target" in message


# query


def test_a_continuous_node_has_moments_and_quantiles(folder):
    net = cs.load(folder / "model.json")
    belief = net.query("bp", given={"age": 50.0, "sex": "F"})
    options = ("--given", "age=50", "--given", "sex=F")
    shown = passed("query", folder / "model.json", "bp", *options)
    header, numbers = shown.splitlines()[:2]
    assert " ".join(header.split()) == "node mean sd 2.5 % 25 % 50 % 75 % 97.5 %"
    expected = [belief.mean, belief.sd, *belief.quantile([0.025, 0.25, 0.5, 0.75, 0.975])]
    assert numbers.split() == ["bp", *(f"{x:.7g}" for x in expected)]
    assert fact(shown, "distribution") == f"mixture of {belief.n_components} normal distributions"
    log_given = cs.log_probability(net, {"age": 50.0, "sex": "F"})
    assert fact(shown, "log density(given)") == f"{log_given:.7g}"
    found = json.loads(passed("query", folder / "model.json", "bp", *options, "--json"))
    assert found["given"] == {"sex": ["F"], "age": 50.0}
    assert found["log_density_of_given"] == pytest.approx(log_given)
    assert found["continuous"][0]["mean"] == belief.mean
    assert found["continuous"][0]["quantiles"]["0.975"] == belief.quantile(0.975)
    assert found["components"] == belief.n_components
    assert found["effective_size"] is None


def test_the_quantiles_of_one_normal_are_those_of_the_table(tmp_path):
    weight = cs.Variable("weight")
    net = cs.Network.of([cs.LinearGaussian(weight, (), 10.0, [], 2.0)])
    cs.save(net, tmp_path / "one.json")
    found = json.loads(passed("query", tmp_path / "one.json", "weight", "--json"))
    quantiles = found["continuous"][0]["quantiles"]
    for p, value in quantiles.items():
        assert value == pytest.approx(norm.ppf(float(p), 10, 2), abs=1e-9)
    assert fact(passed("query", tmp_path / "one.json", "weight"), "distribution") == "normal"
    given = passed("query", tmp_path / "one.json", "weight", "--given", "weight=3")
    assert fact(given, "distribution") == "certain"


def test_several_continuous_nodes_have_correlations(folder):
    net = cs.load(folder / "model.json")
    joint = net.query(["bp", "age"])
    shown = passed("query", folder / "model.json", "bp", "age")
    correlation = joint.covariance[0, 1] / (joint.sd[0] * joint.sd[1])
    assert shown.split("Correlations:")[1].split()[:6] == [
        *["bp", "age", "bp", "1.0000", "age", f"{correlation:.4f}"]
    ]


def test_both_kinds_together_have_moments_in_each_state(folder):
    belief = cs.load(folder / "model.json").query(["sex", "bp"], given={"stroke": "yes"})
    shown = passed("query", folder / "model.json", "sex", "bp", "--given", "stroke=yes")
    lines = [line.split() for line in shown.splitlines()]
    female = belief["F"]
    p = belief.discrete["F"]
    assert ["F", f"{p:.7g}", f"{female.mean:.7g}", f"{female.sd:.7g}"] in lines
    options = ("--given", "sex=M", "--json")
    found = json.loads(passed("query", folder / "model.json", "sex", "bp", *options))
    by_state = {each["states"]["sex"]: each["continuous"] for each in found["probabilities"]}
    assert by_state["F"] is None
    assert by_state["M"][0]["node"] == "bp"
    impossible = passed("query", folder / "model.json", "sex", "bp", "--given", "sex=M")
    assert ["F", "0", "-", "-"] in [line.split() for line in impossible.splitlines()]


def test_an_estimated_answer_has_its_standard_error(folder):
    model = folder / "logistic.json"
    shown = passed("query", model, "bp", "--given", "stroke=yes")
    assert shown.splitlines()[0].endswith("standard error")
    assert fact(shown, "estimated").startswith("from weighted draws that are worth")
    assert "standard error" in passed("query", model, "stroke").splitlines()[0]
    assert "standard error" in passed("query", model, "stroke", "bp").splitlines()[0]
    found = json.loads(passed("query", model, "stroke", "--json"))
    assert 0 < found["probabilities"][0]["standard_error"] < 0.05


@pytest.mark.parametrize("value", ["old", "40|50", "nan", "inf", "1,5"])
def test_a_continuous_node_is_given_a_number(folder, value):
    message = refused("query", folder / "model.json", "bp", "--given", f"age={value}")
    assert message.startswith(f"error: --given 'age={value}': 'age' is continuous; a number is wan")


def test_a_number_is_given_once(folder):
    options = ("--given", "age=50", "--given", "age=60")
    message = refused("query", folder / "model.json", "bp", *options)
    assert "'age' is continuous and was given before" in message


# mpe


def test_the_most_probable_values_are_those_of_the_library(folder):
    best = cs.load(folder / "model.json").mpe({"age": 50.0})
    shown = passed("mpe", folder / "model.json", "--given", "age=50")
    assert ["bp", f"{best['bp']:.7g}"] in [line.split() for line in shown.splitlines()]
    assert fact(shown, "log density(values, given)") == f"{best.log_probability:.7g}"
    found = json.loads(passed("mpe", folder / "model.json", "--given", "age=50", "--json"))
    [one] = found["explanations"]
    assert one["states"] == dict(best)
    difference = one["log_density_with_given"] - one["log_density"]
    assert difference == pytest.approx(found["log_density_of_given"])


def test_states_given_numbers_have_a_probability(folder):
    shown = passed("mpe", folder / "model.json", "--given", "bp=150", "--map", "sex")
    belief = cs.load(folder / "model.json").query("sex", given={"bp": 150.0})
    assert float(fact(shown, "P(states | given)")) == pytest.approx(belief.values.max(), rel=1e-6)
    assert "log density(states, given)" in shown


def test_values_stand_beside_the_next_best_states(folder):
    found = passed("mpe", folder / "model.json", "-k", 2)
    assert "The next best" in found
    assert "bp" in found


def test_the_most_probable_states_are_not_asked_of_values(folder):
    assert "'bp' is continuous" in refused("mpe", folder / "model.json", "--map", "bp")


# predict, sample, score


def test_a_continuous_target_has_mean_and_sd(folder):
    net = cs.load(folder / "model.json")
    result = run("predict", folder / "model.json", folder / "new.csv", "--target", "bp")
    table = cs.read(rows(40, seed=1), source="hospital")
    expected = net.posteriors(table, "bp")
    found = [[float(row["predicted"]), float(row["sd"])] for row in table_of(result.stdout)]
    np.testing.assert_allclose(found, expected)
    truth = table.column("bp")
    rmse = math.sqrt(((truth - expected[:, 0]) ** 2).mean())
    assert fact(result.stderr, "RMSE") == f"{rmse:.4g}"
    others = cs.read({k: v for k, v in rows(40, seed=1).items() if k != "bp"}, source="hospital")
    blank = cs.Table(
        table.schema, {**others.columns, "bp": np.full(40, np.nan)}, others.source_codes
    )
    density = (net.log_likelihood(table) - net.log_likelihood(blank)).mean()
    assert fact(result.stderr, "log density").startswith(f"{density:.4f} ")


def test_a_continuous_target_that_is_not_known_has_no_measures(folder, tmp_path):
    data = write(tmp_path, "rows.csv", "sex,age\nF,50.5\nM,\n")
    result = run("predict", folder / "model.json", data, "--target", "bp", "--partial")
    assert len(table_of(result.stdout)) == 2
    assert "RMSE" not in result.stderr
    assert fact(result.stderr, "no values of") == "stroke (summed out)"


def test_an_impossible_row_has_no_mean(tmp_path):
    x, y = cs.Variable("x", ("a", "b")), cs.Variable("y")
    sure = cs.Categorical(x, (), [1.0, 0.0])
    cs.save(
        cs.Network.of([sure, cs.LinearGaussian(y, (x,), [0.0, 1.0], np.zeros((2, 0)), [1.0, 1.0])]),
        tmp_path / "net.json",
    )
    data = write(tmp_path, "rows.csv", "x,y\na,0.5\nb,0.5\n")
    result = run("predict", tmp_path / "net.json", data, "--target", "y")
    assert [row["predicted"] for row in table_of(result.stdout)] == ["0", ""]
    assert fact(result.stderr, "impossible") == "1 rows; they have no prediction"
    assert fact(result.stderr, "target known") == "1 rows"


def test_a_true_value_that_cannot_be_is_told(tmp_path):
    y = cs.Variable("y")
    cs.save(cs.Network.of([cs.LinearGaussian(y, (), 1.0, [], 0.0)]), tmp_path / "net.json")
    data = write(tmp_path, "rows.csv", "y\n1\n2.5\n")
    result = run("predict", tmp_path / "net.json", data, "--target", "y")
    assert fact(result.stderr, "log density").startswith("minus infinity: the true value of 1 rows")


def test_a_discrete_target_is_predicted_from_numbers(folder):
    result = run("predict", folder / "logistic.json", folder / "new.csv", "--target", "stroke")
    net, table = cs.load(folder / "logistic.json"), cs.read(rows(40, seed=1), source="hospital")
    found = [float(row["P(yes)"]) for row in table_of(result.stdout)]
    yes = net.variables["stroke"].code("yes")
    np.testing.assert_allclose(found, net.posteriors(table, "stroke")[:, yes])
    assert "accuracy" in result.stderr


def test_rows_are_drawn_given_a_number(folder):
    shown = passed("sample", folder / "model.json", 5, "--seed", 1, "--given", "age=50")
    assert {row["age"] for row in table_of(shown)} == {"50"}


def test_graphs_of_numbers_are_scored_by_bge(folder, tmp_path):
    columns = {name: column for name, column in rows().items() if name in ("age", "bp")}
    write_rows(cs.read(columns), tmp_path / "numbers.csv")
    table, model = cs.read(columns), tmp_path / "model.json"
    options = ("--structure", "hc", "--score", "bge", "-o", model)
    passed("learn", tmp_path / "numbers.csv", *options)
    shown = passed("score", model, tmp_path / "numbers.csv", "--score", "bge", "--score", "bic")
    dag = cs.load(model).dag
    assert f"{cs.score(dag, table, cs.scores.BGe()):,.4f} of the graph" in shown
    assert f"{cs.score(dag, table, cs.BIC()):,.4f} of the graph" in shown
    message = refused("score", folder / "model.json", folder / "data.csv", "--score", "bge")
    assert "BGe judges continuous variables" in message


# convert, show, compare, evaluate


def test_a_mixed_network_goes_to_genie_and_back(folder, tmp_path):
    passed("convert", folder / "model.json", tmp_path / "model.xdsl")
    passed("convert", tmp_path / "model.xdsl", tmp_path / "back.json")
    net, back = cs.load(folder / "model.json"), cs.load(tmp_path / "back.json")
    np.testing.assert_array_equal(back["bp"].parameters, net["bp"].parameters)
    message = refused("convert", folder / "model.json", tmp_path / "model.bif")
    assert "'age' is continuous" in message
    message = refused("convert", folder / "logistic.json", tmp_path / "model.xdsl")
    assert "'stroke' is discrete and has a continuous parent" in message


def test_a_mixed_network_is_shown(folder, tmp_path):
    shown = passed("show", folder / "model.json", "--svg", tmp_path / "model.svg")
    assert ["bp", "real"] in [line.split()[:2] for line in shown.splitlines()]
    assert "<svg" in (tmp_path / "model.svg").read_text(encoding="utf-8")
    node = passed("show", folder / "model.json", "--node", "bp")
    assert "P(bp | hospital, sex, age)" in node


def test_mixed_graphs_are_compared_on_rows(folder):
    graph = "[sex][age][bp|age][stroke]"
    shown = passed("compare", folder / "model.json", graph, folder / "data.csv")
    assert "bp: sex, age / age" in shown


def test_evaluating_keeps_numbers_and_refuses_a_continuous_class(folder):
    data = folder / "data.csv"
    few = ("--structure", "tan", "--parameters", "calibrated", "--folds", "2")
    assert "calibrated" in passed("evaluate", data, "--target", "stroke", *few)
    message = refused("evaluate", data, "--target", "bp", "--discretize", "bp=quantiles:3")
    assert "--target 'bp' is continuous (fractions); classifiers predict states" in message


def test_logistic_goes_with_a_search(folder):
    message = misused("learn", folder / "data.csv", "--structure", "[sex]", "--logistic")
    assert "--logistic goes with a search" in message


def test_parent_states_with_few_rows_are_not_said_to_be_without(tmp_path):
    few = {"drug": ["a"] * 9 + ["b"], "dose": [1.5, 2, 4, 3, 6, 5, 8, 7, 9, 5]}
    write_rows(cs.read(few), tmp_path / "few.csv")
    way = ("--structure", "[drug][dose|drug]", "-o", tmp_path / "few.json")
    found = passed("learn", tmp_path / "few.csv", *way)
    assert "no or too few rows" in found
    assert "never seen" not in found
