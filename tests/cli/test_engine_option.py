"""Rows that stay where they are, on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from commands import misused, passed

import consilience as cs

ROWS = {
    "smoke": ["yes", "no", "no", "yes", "no", "yes"] * 20,
    "lung": ["ill", "well", "well", "ill", "well", "well"] * 20,
    "cough": ["yes", "no", None, "yes", "yes", "no"] * 20,
}
TABLE = cs.read(ROWS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "visits").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(120), 3)):
        cs.data.write_rows(TABLE.take(rows), tmp_path / "visits" / f"part-{k}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_store_and_learn_give_the_model_of_the_files(folder):
    passed("store", "visits/*.parquet", "visits.store")
    passed("learn", "visits.store", "--structure", "[smoke][lung|smoke]", "-o", "a.json")
    engine = ("--engine", "threads:2")
    passed("learn", "visits", "--structure", "[smoke][lung|smoke]", "-o", "b.json", *engine)
    expected = cs.fit(cs.DAG([("smoke", "lung")]), TABLE)
    for name in ("a.json", "b.json"):
        np.testing.assert_array_equal(cs.load(name)["lung"].table, expected["lung"].table)


def test_rows_are_appended_to_a_store(folder):
    passed("store", "visits/part-0.parquet", "visits.store")
    passed("store", "visits/part-1.parquet", "visits.store", "--append")
    assert cs.scan("visits.store").n_rows == 80


def test_predictions_part_by_part_are_those_of_all_rows(folder):
    net = cs.fit(cs.DAG([("smoke", "lung"), ("lung", "cough")]), TABLE)
    cs.save(net, "model.json")
    cs.data.write_rows(TABLE, "all.csv")
    passed("predict", "model.json", "all.csv", "--target", "lung", "-o", "one.csv")
    said = passed("predict", "model.json", "visits", "--target", "lung", "-o", "two.csv")
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()
    assert "accuracy" in said
    passed("predict", "model.json", "visits", "--target", "lung", "-o", "three.parquet")
    assert cs.read("three.parquet").n_rows == 120


def test_gaps_are_filled_part_by_part(folder):
    cs.save(cs.fit(cs.DAG([("smoke", "lung"), ("lung", "cough")]), TABLE), "model.json")
    said = passed("impute", "model.json", "visits/*.parquet", "-o", "filled.parquet")
    assert "cough 20" in said
    assert cs.read("filled.parquet").missing["all"]["cough"] == 0


def test_score_and_evaluate_take_a_store(folder):
    passed("store", "visits", "visits.store")
    cs.save(cs.fit(cs.DAG([("smoke", "lung")]), TABLE), "model.json")
    cs.data.write_rows(TABLE, "all.csv")
    one = passed("score", "model.json", "all.csv", "--partial")
    assert passed("score", "model.json", "visits.store", "--partial") == one
    chosen = (
        "--target",
        "lung",
        "--folds",
        "2",
        "--structure",
        "naive-bayes",
        "--parameters",
        "mle",
    )
    assert "log loss" in passed("evaluate", "visits.store", *chosen).lower()


@pytest.mark.parametrize("engine", ["clouds", "threads:0", "dask", "processes:many"])
def test_an_engine_that_is_none_is_refused(folder, engine):
    assert "--engine" in misused("learn", "visits", "--engine", engine)


def test_a_store_needs_no_options_about_columns(folder):
    passed("store", "visits", "visits.store")
    said = misused("learn", "visits.store", "--source", "smoke")
    assert "says itself what its rows are: --source does not go with it" in said


def test_predictions_of_a_scan_need_a_file(folder):
    cs.save(cs.fit(cs.DAG([("smoke", "lung")]), TABLE), "model.json")
    said = misused("predict", "model.json", "visits", "--target", "lung", "--partial")
    assert "need -o" in said
