from __future__ import annotations

import missing
import missing_report
import numpy as np
import pytest
from click.testing import CliRunner

import consilience as cs

ROWS = {"x": ["a", None, "b", "b"], "y": ["u", "u", None, "v"]}


def value(way, repeat, value, *, share=0.1):
    return {
        "network": "asia",
        "n_rows": 10,
        "mechanism": "MCAR",
        "share": share,
        "repeat": repeat,
        "task": "parameters",
        "way": way,
        "value": value,
        "seconds": 0.5,
        "left": 4,
    }


def test_complete_cases_are_the_rows_that_have_everything():
    assert missing.without_gaps(cs.read(ROWS)).to_frame()["x"].tolist() == ["a", "b"]


def test_a_mean_says_in_how_many_repeats_there_was_a_row():
    assert missing_report._cell([1.0, 3.0], "parameters") == "2.0000 ± 1.0000"
    assert missing_report._cell([1.0, None, 3.0], "structure") == "2.0 ± 1.0 (2 of 3)"
    assert missing_report._cell([None, None], "structure") == "no rows"


def test_comparisons_count_the_cells_that_differ_by_two_standard_errors():
    rows = [value("EM", r, 1.0 + r, share=s) for r in range(3) for s in (0.1, 0.2)]
    rows += [value("mode imputation", r, 2.0 + r, share=0.1) for r in range(3)]
    rows += [value("mode imputation", r, None, share=0.2) for r in range(3)]
    table = missing_report._comparison(rows, "parameters")
    assert "| MCAR | mode imputation | 1 | 0 | 0 | 1 |" in table


def test_unknown_networks_are_refused(tmp_path):
    told = CliRunner().invoke(missing.main, ["run", "--networks", "mars", "--out", str(tmp_path)])
    assert told.exit_code != 0
    assert "'mars' is none of asia" in told.output


@pytest.mark.data
def test_the_causes_of_gaps_at_random_have_none(data_dir):
    key = missing.Cell("asia", 200, "MAR", 0.3, 0)
    table = cs.simulate.with_gaps(
        missing.truth("asia").sample(200, seed=1), missing.mechanism(key), seed=1
    )
    shares = table.missing["all"]
    assert {name for name, share in shares.items() if share == 0} == set(missing.CAUSES["asia"])
    assert abs(np.mean([s for s in shares.values() if s > 0]) - 0.3) < 0.06


@pytest.mark.data
def test_a_run_of_missing_data_ends_in_tables_and_figures(data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(missing, "SHARES", (0.3,))
    monkeypatch.setattr(missing, "SIZES", {"learning.test": (300,)})
    monkeypatch.setattr(missing, "DRAWS", 10)
    monkeypatch.setattr(missing, "WARMUP", 5)
    options = ["--out", str(tmp_path)]
    asked = ["run", "--repeats", "2", "--networks", "learning.test", "--mechanisms", "MCAR,MNAR"]
    done = CliRunner().invoke(missing.main, [*asked, *options])
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(missing.main, ["summary", *options])
    assert told.exit_code == 0, told.output
    assert "### learning.test, 300 rows, 2 repeats" in told.output
    assert "| MNAR | complete cases |" in (tmp_path / "tables.md").read_text(encoding="utf-8")
    names = {path.name for path in tmp_path.glob("*.png")}
    assert names == {"missing-parameters.png", "missing-structure.png"}
