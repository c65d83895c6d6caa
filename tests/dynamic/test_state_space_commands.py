"""The command line about hidden numbers, switching networks and change points."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_dynamic_faces import run
from test_switching import rows_of, switching

import consilience as cs

CHANGE = "P(change of flow)"


@pytest.fixture
def series(tmp_path):
    rng = np.random.default_rng(1)
    flow = np.append(rng.normal(900, 20, 25), rng.normal(1100, 20, 25))
    path = tmp_path / "flow.csv"
    frame = {"year": range(1900, 1950), "flow": flow.round(3), "rain": (flow / 9).round(3)}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


def written(path):
    return pd.read_csv(path)


def test_changes_are_found_whatever_the_unit_of_a_column(series, tmp_path):
    found = run("changes", series, "--time", "year", "-o", tmp_path / "found.csv")
    assert found.exit_code == 0, found.output
    frame = written(tmp_path / "found.csv")
    assert list(frame.columns) == ["sequence", "year", CHANGE, "P(change of rain)"]
    assert frame["year"][frame[CHANGE].argmax()] == 1925
    assert "flow" in found.output
    assert "changes expected" in found.output


def test_changes_together_and_with_a_graph(series, tmp_path):
    out = tmp_path / "found.csv"
    both = run("changes", series, "--time", "year", "--together", "flow,rain", "-o", out)
    assert both.exit_code == 0, both.output
    np.testing.assert_array_equal(written(out)[CHANGE], written(out)["P(change of rain)"])
    graph = run(
        *("changes", series, "--time", "year", "--structure", "[flow(t-1)][flow|flow(t-1)]"),
        *("-o", tmp_path / "graph.csv"),
    )
    assert graph.exit_code == 0, graph.output
    assert list(written(tmp_path / "graph.csv").columns) == ["sequence", "year", CHANGE]


def test_raw_columns_are_judged_as_they_are(series, tmp_path):
    panel = cs.dynamic.read_panel(str(series), time="year")
    out = tmp_path / "raw.csv"
    found = run("changes", series, "--time", "year", "--raw", "--hazard", 0.2, "-o", out)
    assert found.exit_code == 0, found.output
    choice = cs.dynamic.ChangePoints(hazard=0.2)
    wanted = cs.dynamic.change_points(cs.DAG(nodes=["flow"]), panel, choice)["flow"]
    np.testing.assert_allclose(written(out)[CHANGE], wanted.probability, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--hazard", "1"], "hazard"),
        (["--hazard", "-0.1"], "hazard"),
        (["--structure", "[flow|level]"], "level"),
        (["--together", "flow,snow"], "snow"),
        (["--structure", "[flow(t-60)][flow|flow(t-60)]"], "60 back"),
    ],
)
def test_wrong_questions_about_changes_are_refused(series, options, word):
    found = run("changes", series, "--time", "year", *options)
    assert found.exit_code != 0
    assert word in found.output


def test_a_hidden_number_is_learned_smoothed_and_forecast(series, tmp_path):
    model = tmp_path / "level.json"
    learned = run(
        *("learn", series, "--time", "year", "--hidden", "level=float", "--parameters", "mle"),
        *("--structure", "[level(t-1)][level|level(t-1)][flow|level]", "-o", model),
    )
    assert learned.exit_code == 0, learned.output
    smoothed = run("smooth", model, series, "--time", "year", "-o", tmp_path / "smooth.csv")
    assert smoothed.exit_code == 0, smoothed.output
    assert list(written(tmp_path / "smooth.csv").columns)[2:] == ["level", "level sd"]
    future = run("forecast", model, series, "--time", "year", "--steps", 2)
    assert future.exit_code == 0, future.output
    assert future.output.splitlines()[0].startswith("sequence,year,level,level sd,level low")
    wrong = run("learn", series, "--time", "year", "--hidden", "level=flaot")
    assert wrong.exit_code != 0
    assert "NODE=float" in wrong.output


@pytest.mark.parametrize("verb", ["smooth", "filter", "forecast"])
def test_switching_networks_are_answered_within_a_window(tmp_path, verb):
    cs.save(switching(), tmp_path / "model.json")
    pd.DataFrame({"t": range(8), "x": rows_of(1, 8)}).to_csv(tmp_path / "rows.csv", index=False)
    asked = (verb, tmp_path / "model.json", tmp_path / "rows.csv", "--time", "t")
    refused = run(*asked)
    assert refused.exit_code != 0
    assert "not known either" in refused.output
    found = run(*asked, "--window", 3, "-o", tmp_path / "found.csv")
    assert found.exit_code == 0, found.output
    assert "approximately" in found.output
    assert {"P(s=calm)", "z", "z sd"} <= set(written(tmp_path / "found.csv").columns)
    wrong = run(*asked, "--window", 0)
    assert wrong.exit_code != 0
    assert "window" in wrong.output
