from __future__ import annotations

import incomplete_graphs
import numpy as np
from click.testing import CliRunner

import consilience as cs


def small(name, data):
    return cs.random_network(cs.DAG.parse("[a][b|a][c|b]"), seed=1)


def test_the_share_of_values_taken_out_is_that_asked_for():
    table = small("", None).sample(5000, seed=1)
    gaps = incomplete_graphs.with_gaps(table, 0.3, np.random.default_rng(1))
    shares = [np.mean(column < 0) for column in gaps.columns.values()]
    np.testing.assert_allclose(shares, 0.3, atol=0.03)


def test_a_run_ends_in_a_table_of_all_methods(tmp_path, monkeypatch):
    monkeypatch.setattr(incomplete_graphs, "NETWORKS", ("small",))
    monkeypatch.setattr(incomplete_graphs, "SIZES", (100,))
    monkeypatch.setattr(incomplete_graphs, "SHARES", (0.2, 1.0))
    monkeypatch.setattr(
        incomplete_graphs, "METHODS", {"complete rows": incomplete_graphs.METHODS["complete rows"]}
    )
    monkeypatch.setattr(incomplete_graphs, "network_of", small)
    options = ["--results", str(tmp_path)]
    done = CliRunner().invoke(
        incomplete_graphs.main, ["run", "--data", str(tmp_path), "--repeats", "1", *options]
    )
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(incomplete_graphs.main, ["summary", *options])
    assert "| small | 100 | 20% |" in told.output
