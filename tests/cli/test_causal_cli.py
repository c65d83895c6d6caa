"""``consilience identify``, ``effect``, ``counterfactual`` and ``fairness``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import misused, passed, refused

import consilience as cs

ODD = "a=b"
GAPS = ("selection_difference", "selection_ratio", "odds_difference", "odds_ratio")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causal")
    sex, school = cs.Variable("sex", ("F", "M")), cs.Variable(ODD, ("no", "1.0"))
    hired = cs.Variable("hired", ("no", "yes"))
    net = cs.Network.of(
        [
            cs.Categorical(sex, (), [0.5, 0.5]),
            cs.Categorical(school, (sex,), [[0.6, 0.4], [0.3, 0.7]]),
            cs.Categorical(
                hired, (sex, school), [[[0.8, 0.2], [0.5, 0.5]], [[0.7, 0.3], [0.4, 0.6]]]
            ),
        ]
    )
    cs.save(net, folder / "net.json")
    frame = net.sample(400, seed=1).to_frame()
    frame["place"] = np.where(np.arange(400) % 2, "rome", "oslo")
    frame["score"] = np.where(frame["sex"] == "M", 0.8, 0.3)
    frame.to_csv(folder / "rows.csv", index=False)
    return folder


def last_are_assumptions(printed: str) -> bool:
    after = printed.split("assumptions:\n")[-1].splitlines()
    return "assumptions:" in printed and all(line.startswith("- ") for line in after)


def test_identify_prints_the_formula_and_the_assumptions_last():
    printed = passed("identify", "[x][m|x][y|m]", "y", "--do", "x", "--latent", "x:y")
    assert "sum_m P(m | x) sum_x' P(x') P(y | x', m)" in printed
    assert "front door" in printed
    assert last_are_assumptions(printed)


def test_identify_says_what_stands_in_the_way_and_what_to_do_instead():
    told = json.loads(
        passed("identify", "[u][x|u][y|x:u]", "y", "--do", "x", "--hidden", "u", "--json")
    )
    assert told["identified"] is False
    assert told["hedge"] == [["x", "y"], ["y"]]
    assert told["advice"] == "Randomise x, or measure the hidden cause of x and y."
    assert list(told)[-1] == "assumptions"


def test_identify_moves_effects_between_sources():
    graph = "[place][age|place][dose][cured|age:dose]"
    options = ("--source", "place", "--to", "city", "--experiment", "trial=dose")
    printed = passed("identify", graph, "cured", "--do", "dose", *options)
    assert "P(age | place=city) P(cured | place=trial, age, dose)" in printed
    assert "equal in all sources" in printed


def test_effect_is_that_of_the_library(folder):
    path = folder / "net.json"
    options = ("--do", "sex=M", "--against", "sex=F", "--state", "yes")
    told = json.loads(passed("effect", path, "hired", *options, "--json"))
    known = cs.causal.effect(
        cs.load(path), "hired", do={"sex": "M"}, against={"sex": "F"}, state="yes"
    )
    assert told["effect"] == known.value
    assert told["assumptions"] == list(known.assumptions)
    assert last_are_assumptions(passed("effect", path, "hired", *options))


def test_effect_takes_rows_of_several_sources_and_names_with_signs(folder):
    options = ("--data", folder / "rows.csv", "--source", "place", "--state", "yes")
    found = passed(
        "effect",
        '[sex]["a=b"|sex][hired|"a=b"]',
        "hired",
        *("--do", '"a=b"=1.0', "--against", '"a=b"=no', "--latent", "sex:hired"),
        *options,
    )
    assert "rome" in found
    assert "new_source" in found
    assert last_are_assumptions(found)


def test_effect_bounds_what_is_not_identified(folder):
    told = json.loads(
        passed(
            "effect",
            "[sex][hired|sex]",
            "hired",
            *("--do", "sex=M", "--state", "yes", "--latent", "sex:hired"),
            *("--data", folder / "rows.csv", "--json"),
        )
    )
    low, high = told["bounds"]
    assert told["effect"] is None
    assert 0 < low < high < 1


def test_effect_of_a_class_has_a_value_for_each_set_of_parents(folder):
    told = json.loads(
        passed(
            "effect",
            "[sex][hired|sex]",
            "hired",
            *("--do", "sex=M", "--against", "sex=F", "--state", "yes", "--class"),
            *("--data", folder / "rows.csv", "--json"),
        )
    )
    assert [one["graphs"] for one in told["values"]] == [1, 1]


def test_a_graph_needs_rows(folder):
    assert "--data FILE" in refused("effect", "[x][y|x]", "y", "--do", "x=1")
    assert "--data FILE" in misused("effect", "[x][y|x]", "y", "--do", "x=1", "--latent", "x:y")


def test_counterfactual_prints_bounds_without_a_mechanism(folder):
    row = ("--given", "sex=F", "--given", '"a=b"=no', "--given", "hired=no")
    printed = passed("counterfactual", folder / "net.json", "hired", "--do", "sex=M", *row)
    assert "--mechanism" in printed
    assert "bounds over all mechanisms (sharp)" in printed
    assert last_are_assumptions(printed)
    told = json.loads(
        passed(
            *("counterfactual", folder / "net.json", "hired", "--do", "sex=M", *row),
            *("--mechanism", "monotone", "--json"),
        )
    )
    yes = told["belief"]["probabilities"][1]["probability"]
    assert told["bounds"]["yes"][0] - 1e-12 <= yes <= told["bounds"]["yes"][1] + 1e-12


def test_fairness_is_that_of_the_library(folder):
    options = ("--protected", "sex", "--target", "hired", "--positive", "yes", "--json")
    told = json.loads(passed("fairness", folder / "net.json", folder / "rows.csv", *options))
    net = cs.load(folder / "net.json")
    table = cs.read(folder / "rows.csv", states={ODD: ["no", "1.0"]})
    known = cs.causal.fairness(net, table, protected="sex", target="hired", positive="yes")
    for name in GAPS:
        assert told["gaps"][name]["value"] == pytest.approx(getattr(known.gaps, name).value)


def test_fairness_by_source_under_a_model_with_a_page(folder):
    page = folder / "audit.html"
    printed = passed(
        *("fairness", folder / "net.json", folder / "rows.csv", "--source", "place"),
        *("--protected", "sex", "--target", "hired", "--positive", "yes"),
        *("--model", folder / "net.json", "--mechanism", "monotone", "--html", page),
    )
    assert "rome" in printed
    assert "change beyond" in printed
    assert last_are_assumptions(printed)
    text = page.read_text()
    assert "<script" not in text
    assert text.rstrip().endswith("</html>")


def test_fairness_of_a_column_of_predictions(folder):
    options = ("--protected", "sex", "--target", "hired", "--positive", "yes", "--json")
    told = json.loads(passed("fairness", "score", folder / "rows.csv", *options))
    assert told["groups"]["M"]["selection_rate"] == 1.0
    assert "A predictor is a model file or a column" in refused(
        "fairness", "nothing", folder / "rows.csv", *options
    )


def test_unknown_nodes_and_states_are_named(folder):
    path = folder / "net.json"
    assert "unknown node 'age'" in refused("effect", path, "hired", "--do", "age=1")
    assert "'X'" in refused("effect", path, "hired", "--do", "sex=X", "--state", "yes")
    assert "expected NODE=STATE" in misused("effect", path, "hired", "--do", "sex")
