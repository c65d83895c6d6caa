from __future__ import annotations

import fusion
import numpy as np
import pytest
from click.testing import CliRunner

import consilience as cs

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def data(data_dir):
    return data_dir


def test_coefficients_of_the_true_graph_are_near_the_truth_and_have_no_false_parents():
    rows = fusion.told(cs.fit(fusion.TRUE, fusion.network().sample(5000, seed=1)))
    assert len(rows) == 7
    assert all(row["is_true"] and row["has_all"] for row in rows)
    assert max(abs(row["error"]) for row in rows) < 0.1


def test_a_diverging_source_differs_where_it_is_said_to():
    other, true = fusion.diverging(), fusion.network()
    assert other.dag.parents("D") == ()
    assert other["F"].coefficients[0] == -true["F"].coefficients[0]
    assert other["E"].intercept == true["E"].intercept


@pytest.mark.parametrize(
    ("variant", "sizes"),
    [("4 sources", [50] * 4), ("unequal sizes", list(fusion.UNEQUAL)), ("noise", [50] * 8)],
)
def test_variants_have_the_rows_that_their_names_say(variant, sizes):
    tables, tests = fusion.variant_rows(variant, np.random.default_rng(1))
    assert [table.n_rows for table in tables.values()] == sizes
    assert {test.n_rows for test in tests.values()} == {fusion.N_TEST}


def test_a_run_ends_in_tables_and_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(fusion, "VARIANTS", ("4 sources",))
    monkeypatch.setattr(fusion, "N_SPLITS", 1)
    monkeypatch.setattr(fusion, "N_FOLDS", 2)
    options = ["--results", str(tmp_path)]
    told = ["run", "--repeats", "2", "--variants", "2", *options]
    done = CliRunner().invoke(fusion.main, told)
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(fusion.main, ["summary", *options])
    assert told.exit_code == 0, told.output
    assert "| strongest first, threshold 8 |" in told.output
    assert "| vote, hierarchical |" in (tmp_path / "tables.md").read_text(encoding="utf-8")
    names = {path.name for path in tmp_path.glob("*.png")}
    assert names == {"fused.png", "sources.png", "thresholds.png", "variants.png", "votes.png"}
