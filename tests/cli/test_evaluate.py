from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from commands import misused, passed, refused, run

import consilience as cs
from consilience.classify import cross
from consilience.data.write import write_rows
from consilience.demo import make_hospitals


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    table = cs.read(make_hospitals(), source="hospital")
    write_rows(table.select(["age", "smoking", "disease"]).take(slice(0, None, 5)), path)
    return path


def evaluate(rows, *options):
    return ("evaluate", rows, "--source", "hospital", "--target", "disease", *options)


FEW = ("--structure", "naive-bayes", "--parameters", "pooled", "--parameters", "hdmcs")


def test_two_tables_tell_who_is_good_and_how_sure_that_is(rows):
    told = passed(*evaluate(rows, *FEW, "--folds", 3))
    assert "3 folds" in told
    lines = [line.split() for line in told.splitlines()]
    assert ["structure", "estimator", "accuracy", "F1", "Brier", "log", "loss"] in [
        line[:7] for line in lines
    ]
    assert "behind the best" in told
    assert "class prior" in told
    assert sum(line[:2] == ["naive-bayes", "hdmcs"] for line in lines) == 2


def test_a_folder_gets_results_and_figures_and_goes_on(rows, tmp_path):
    folder = tmp_path / "out"
    told = passed(*evaluate(rows, *FEW, "--folds", 2, "-o", folder))
    assert f"written to  {folder}: results.csv, summary.csv, estimators.png," in told
    names = {path.name for path in folder.iterdir()}
    figures = {"estimators.png", "sources.png", "calibration.png"}
    assert names == {"results.csv", "summary.csv", "cells.jsonl", *figures}
    with (folder / "results.csv").open() as file:
        results = list(csv.DictReader(file))
    assert {row["estimator"] for row in results} == {
        *("class prior", "class prior by source", "pooled", "hdmcs")
    }
    assert {row["source"] for row in results} >= {"", "city", "valley"}
    before = (folder / "cells.jsonl").read_text()
    assert passed(*evaluate(rows, *FEW, "--folds", 2, "-o", folder)) == told
    assert (folder / "cells.jsonl").read_text() == before


def test_a_learning_curve_is_shown_by_size(rows, tmp_path):
    options = ("--sizes", "20,60", "--repeats", 2, "--test-rows", 50, "--measure", "brier")
    told = passed(*evaluate(rows, *FEW, *options, "-o", tmp_path / "out"))
    assert "accuracy by rows to learn from" in told
    assert "Brier by rows to learn from" in told
    assert (tmp_path / "out" / "learning-curves.png").exists()


def test_a_source_is_left_out(rows):
    assert "one source left out at a time" in passed(
        *evaluate(rows, *FEW, "--leave-one-source-out")
    )


def test_graphs_and_all_estimators_can_be_named(rows, tmp_path):
    model = tmp_path / "model.json"
    dag = cs.DAG([("disease", "age")])
    table = cs.read(str(rows), source="hospital")
    cs.save(cs.fit(dag, table), model)
    graph = "[disease][smoking|disease]"
    names = [
        *("dirichlet", "separate", "mle", "shrinkage", "hdmjs", "hds", "adaptive", "calibrated")
    ]
    options = [part for name in names for part in ("--parameters", name)]
    told = passed(
        *evaluate(rows, "--structure", model, "--structure", graph, *options, "--folds", 2),
        *("--strength", 10, "--ess", 5),
    )
    for name in ("model.json", graph, *names):
        assert name in told


def test_columns_are_cut_in_each_training_set(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{k / 7:.2f},{'yes' if k % 3 else 'no'}" for k in range(60)]
    path.write_text("\n".join(["x,ill", *lines]))
    cut = ("--discretize", "x=mdlp:ill", "--folds", "2")
    assert "naive Bayes" in passed("evaluate", path, "--target", "ill", *cut)
    assert "Calibrated" in passed("evaluate", path, "--target", "ill", "--folds", "2")
    others = ("--structure", "[ill]", "--parameters", "mle", "--folds", "2")
    assert "[ill]" in passed("evaluate", path, "--target", "ill", *others)


def test_without_matplotlib_the_numbers_are_written_and_a_note_says_why(
    rows, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    told = passed(*evaluate(rows, *FEW, "--folds", 2, "-o", tmp_path / "out"))
    assert "note: There are no figures:" in told
    assert "pip install 'consilience[plot]'" in told
    assert (tmp_path / "out" / "results.csv").exists()


def test_an_interrupt_shows_what_is_finished_and_says_how_to_go_on(rows, tmp_path, monkeypatch):
    real = cross._in_words

    def interrupt(cell):
        if cell.split == "fold 2":
            raise KeyboardInterrupt
        return real(cell)

    monkeypatch.setattr(cross, "_in_words", interrupt)
    result = run(*evaluate(rows, *FEW, "--folds", 2, "-o", tmp_path / "out"))
    assert result.exit_code == 130
    assert "interrupted after 5 of 8 cells" in result.stdout
    assert "the same command goes on from here" in result.stderr
    monkeypatch.undo()
    assert "2 folds\n" in passed(*evaluate(rows, *FEW, "--folds", 2, "-o", tmp_path / "out"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--folds", 3, "--leave-one-source-out"), "choose one of --folds"),
        (("--sizes", "20,x"), "--sizes '20,x': expected numbers as 20,60,120."),
        (("--test-rows", 5), "--test-rows goes with --sizes."),
        (("--leave-one-source-out", "--repeats", 2), "--repeats says nothing"),
        (
            ("--ess", 5, "--parameters", "mle"),
            "--ess goes with --parameters dirichlet, pooled or separate.",
        ),
        (("--strength", 5, "--parameters", "mle"), "--strength goes with --parameters hdmcs"),
    ],
)
def test_options_that_say_nothing_are_refused(rows, options, message):
    assert message in misused(*evaluate(rows, *options))


def test_priors_are_for_the_usual_contestants_if_any_looks_at_them(rows):
    few = ("--structure", "naive-bayes", "--folds", 2)
    told = passed(*evaluate(rows, *few, "--strength", 10, "--ess", 5))
    assert "HDMCS" in told
    assert told != passed(*evaluate(rows, *few))
    message = misused("evaluate", rows, "--target", "disease", *few, "--strength", 10)
    assert "--strength goes with --parameters hdmcs" in message


def test_graphs_are_learned_from_each_training_set_gaps_or_not(rows):
    options = ("--structure", "hc", "--structure", "ges", "--parameters", "pooled", "--folds", 2)
    told = [line.split() for line in passed(*evaluate(rows, *options)).splitlines()]
    for name in ("hc", "ges"):
        assert sum(line[:2] == [name, "pooled"] for line in told) == 2


def test_mistakes_are_one_line(rows, tmp_path):
    assert "there is no column 'ill'" in refused("evaluate", rows, "--target", "ill")
    assert "--structure 'forest' is not a file" in refused(*evaluate(rows, "--structure", "forest"))
    assert "unknown state 'maybe'" in refused(*evaluate(rows, "--positive", "maybe"))
    several = ("--target", "age", "--measure", "f1")
    assert "--measure f1 is about one state of 'age'" in refused("evaluate", rows, *several)
    assert "there is no folder" in refused(*evaluate(rows, "-o", tmp_path / "a" / "b"))
    (tmp_path / "cells.jsonl").write_text("mine\n")
    assert "it was left as it is" in refused(*evaluate(rows, *FEW, "-o", tmp_path))
