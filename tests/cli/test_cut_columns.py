"""Numbers of columns that a model has cut: given, predicted from, and given back."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import passed, refused, run, write

import consilience as cs


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model in which the age was cut at 30 and 50."""
    age = cs.Variable("age", ("<30", "[30, 50)", ">=50"), ordered=True, cuts=(30.0, 50.0))
    sick = cs.Variable("sick", ("no", "yes"))
    local = [
        cs.Categorical(age, (), [0.2, 0.5, 0.3]),
        cs.Categorical(sick, (age,), [[0.9, 0.1], [0.3, 0.7], [0.4, 0.6]]),
    ]
    path = tmp_path_factory.mktemp("cut") / "cut.json"
    cs.save(cs.Network.of(local), path)
    return path


def test_a_number_is_given_for_a_column_that_was_cut(model):
    query = ("query", model, "sick", "--given")
    assert passed(*query, "age=63") == passed(*query, "age=>=50")
    assert "0.6" in passed(*query, "age=63")
    assert "or a number" in refused(*query, "age=old")


def test_numbers_are_cut_by_the_model_when_rows_are_predicted(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "age,name\n63,ann\n20.5,bob\n,eve\n")
    shown = passed("predict", model, rows, "--target", "sick", "--id", "name")
    lines = [line.split(",") for line in shown.splitlines()]
    assert lines[0] == ["name", "predicted", "P(no)", "P(yes)"]
    assert [line[:2] for line in lines[1:]] == [["ann", "yes"], ["bob", "no"], ["eve", "yes"]]
    assert [float(line[3]) for line in lines[1:3]] == pytest.approx([0.6, 0.1])


def test_what_is_imputed_stands_in_the_file_as_it_was(model, tmp_path):
    text = (
        "note,age,id,sick\nx y,63,007,yes\n?,20.5,9007199254740993,\n,,3,yes\nz,41,4,yes\n"
        "z,35,5,no\nz,33,6,yes\n"
    )
    result = run("impute", model, write(tmp_path, "rows.csv", text))
    filled = text.replace("0993,\n", "0993,no\n").replace(",,3,yes", ",35,3,yes")
    assert result.stdout == filled
    assert "age 1, sick 1" in result.stderr
    assert "the middle one" in result.stderr


def test_whole_numbers_of_rows_are_kept_digit_by_digit(model, tmp_path):
    ids = [2**53 + 2 * i + 1 for i in range(30)]
    rows = write(tmp_path, "rows.csv", "id,age,sick\n" + "".join(f"{i},63,yes\n" for i in ids))
    predict = ("predict", model, rows, "--target", "sick", "--id", "id")
    for command in (("impute", model, rows), predict):
        lines = passed(*command).splitlines()[1:]
        assert [int(line.split(",")[0]) for line in lines] == ids


def test_an_id_that_the_file_lacks_is_the_number_of_the_row(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "age,patient\n63,a\n20,b\n")
    predict = ("predict", model, rows, "--target", "sick", "--id")
    result = run(*predict, "row")
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["row", "1", "2"]
    assert "the number of each row" in result.stderr
    assert "Is it 'patient'?" in refused(*predict, "pateint")
    assert "a column of that name" in refused(*predict, "predicted")


def test_a_model_without_sources_knows_of_none(model, tmp_path):
    ages = write(tmp_path, "ages.csv", "age\n63\n")
    command = ("predict", model, ages, "--target", "sick", "--source-name", "island")
    assert "the model has no source, so --source-name 'island' says nothing" in refused(*command)
