from __future__ import annotations

import numpy as np
import related
from click.testing import CliRunner

import consilience as cs


def test_every_source_has_as_many_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(related, "SCORES", {"BHD": cs.BDeu(), "other": cs.BIC()})
    monkeypatch.setattr(cs, "learn", lambda table, score: seen.append(table) or cs.DAG(nodes=[]))
    monkeypatch.setattr(cs, "shd", lambda learned, dag: len(dag.arcs))
    rows = related.recovered(related.Recovery(0.4, 0))
    assert [row["shd"] for row in rows] == [related.N_ARCS] * 2
    assert np.bincount(seen[0].source_codes).tolist() == [related.N_ROWS] * related.N_SOURCES


def test_independent_variables_are_independent_in_every_source_but_not_alike():
    key = related.Eight("even", 3.0, 0)
    table = related._independent(2, 3, 20_000, key, np.random.default_rng(1))
    (counts,) = cs.count(table, cs.Family("X0", ("X1",)), by_source=True)
    shares = counts.values / counts.values.sum(axis=(1, 2), keepdims=True)
    margins = shares.sum(axis=1), shares.sum(axis=2)
    np.testing.assert_allclose(shares, margins[1][:, :, None] * margins[0][:, None], atol=0.01)
    assert np.abs(np.diff(margins[0], axis=0)).max() > 0.05


def test_a_run_ends_in_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(related, "SCORES", {"BHD": cs.BIC(), "other": cs.AIC()})
    monkeypatch.setattr(related, "DELTAS", (0.0, 0.5))
    monkeypatch.setattr(related, "SPREADS", (3.0,))
    monkeypatch.setattr(related, "SIZES", (20,))
    options = ["--results", str(tmp_path)]
    done = CliRunner().invoke(related.main, ["run", "--repeats", "1", *options])
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(related.main, ["summary", *options])
    assert told.exit_code == 0, told.output
    assert "| delta | BHD | other |" in told.output
    assert "| 0.5 |" in (tmp_path / "tables.md").read_text(encoding="utf-8")
