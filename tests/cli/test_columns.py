"""Files that lack a column of the model."""

from __future__ import annotations

import numpy as np
import pytest
from commands import passed, refused, write

import consilience as cs

ROWS = "smoker,cough,sex\nyes,no,F\nno,yes,M\n"
COMMANDS = {
    "predict": ("--target", "sex"),
    "score": (),
    "impute": (),
}


@pytest.fixture
def model(tmp_path):
    table = cs.read(
        {"smoker": ["yes", "no"] * 4, "cough": ["no", "yes"] * 4, "sex": ["F", "F", "M", "M"] * 2}
    )
    net = cs.fit(cs.DAG([("smoker", "cough")], nodes=["sex"]), table, cs.Dirichlet(ess=1))
    cs.save(net, tmp_path / "net.json")
    return tmp_path / "net.json"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_column_is_an_error_that_names_it(model, tmp_path, command):
    rows = write(tmp_path, "rows.csv", ROWS.replace("smoker", "smokre"))
    text = refused(command, model, rows, *COMMANDS[command])
    assert "has no column 'smoker', which is a node of the model. Is it 'smokre'?" in text
    assert "--partial" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_column_of_another_case_is_named_and_can_be_passed_over(model, tmp_path, command):
    rows = write(tmp_path, "rows.csv", ROWS.replace("cough", "COUGH"))
    text = refused(command, model, rows, *COMMANDS[command])
    assert "Is it 'COUGH'?" in text
    assert "--partial" in text
    passed(command, model, rows, *COMMANDS[command], "--partial")


def test_a_misspelt_target_is_named(model, tmp_path):
    rows = write(tmp_path, "rows.csv", ROWS.replace("sex", "Sex"))
    assert "Is it 'Sex'?" in refused("predict", model, rows, "--target", "sex")


@pytest.mark.parametrize("command", COMMANDS)
def test_columns_that_were_not_recorded_are_allowed_if_that_is_said(model, tmp_path, command):
    rows = write(tmp_path, "rows.csv", "cough,sex,shoe\nno,F,1\nyes,M,2\n")
    assert "no column 'smoker'" in refused(command, model, rows, *COMMANDS[command])
    passed(command, model, rows, *COMMANDS[command], "--partial")


def test_predict_needs_no_column_of_the_target(model, tmp_path):
    passed(
        "predict", model, write(tmp_path, "rows.csv", "smoker,cough\nyes,no\n"), "--target", "sex"
    )


def test_every_file_of_several_is_looked_at(model, tmp_path):
    one, other = (
        write(tmp_path, "a.csv", ROWS),
        write(tmp_path, "b.csv", ROWS.replace("cough", "Cough")),
    )
    assert "b.csv has no column 'cough'" in refused("score", model, one, other)


def test_a_source_that_looks_like_a_number_is_known_to_every_command(tmp_path):
    shares = {"1.0": 9, "1": 5, "b": 1}
    table = cs.read(
        {name: {"x": ["no"] * n + ["yes"] * (10 - n)} for name, n in shares.items()}, source="place"
    )
    net = cs.fit(cs.DAG([("place", "x")]), table, cs.HDMCS(s=1.0))
    cs.save(net, tmp_path / "net.json")
    for column in ("place", "site"):
        rows = write(tmp_path, "rows.csv", f"{column}\n1.0\n1\n")
        shown = passed(
            "predict", tmp_path / "net.json", rows, "--target", "x", "--source", column
        ).splitlines()
        found = [float(line.split(",")[1]) for line in shown[1:]]
        expected = [net.query("x", given={"place": name})["no"] for name in ("1.0", "1")]
        np.testing.assert_allclose(found, expected)
