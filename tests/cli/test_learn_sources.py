from __future__ import annotations

from pathlib import Path

import pytest
from commands import misused, passed

import consilience as cs
from consilience.data.write import write_rows
from consilience.demo import make_hospitals


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    table = cs.read(make_hospitals(), source="hospital").select(["age", "smoking", "disease"])
    write_rows(table, path)
    return path


@pytest.mark.parametrize("parameters", ["hdmcs", "hdmjs", "hds", "hdc", "adaptive"])
def test_every_hierarchical_estimator_learns_a_model(rows, tmp_path, parameters):
    model = tmp_path / "model.json"
    passed(
        "learn",
        rows,
        "--source",
        "hospital",
        "--target",
        "disease",
        "--structure",
        "tan",
        "--parameters",
        parameters,
        "-o",
        model,
    )
    net = cs.load(model)
    assert net.variables["hospital"].states[-1] == "new_source"
    assert set(net.dag.without("hospital").children("disease")) == {"age", "smoking"}


@pytest.mark.parametrize("strength", ["10", "per-state", "per-state:2", "gamma:4,0.1"])
def test_the_strength_is_said_in_one_word(rows, strength):
    told = passed(
        "learn",
        rows,
        "--source",
        "hospital",
        "--target",
        "disease",
        "--parameters",
        "hdmcs",
        "--strength",
        strength,
    )
    assert "HDMCS(" in told


def test_the_default_for_several_sources_is_a_hierarchy(rows):
    told = passed("learn", rows, "--source", "hospital", "--target", "disease")
    assert "HDC()" in told
    assert "The tables of the 5 sources are tied together; the state 'new_source'" in told


def test_a_strength_that_is_none_is_named(rows):
    told = misused(
        "learn",
        rows,
        "--source",
        "hospital",
        "--target",
        "disease",
        "--parameters",
        "hdmcs",
        "--strength",
        "strong",
    )
    assert "--strength 'strong': expected a number, per-state or gamma:4,0.1." in told
    told = misused("learn", rows, "--target", "disease", "--strength", "2")
    assert "--strength goes with" in told
