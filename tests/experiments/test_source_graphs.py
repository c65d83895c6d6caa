from __future__ import annotations

import numpy as np
import source_graphs
from click.testing import CliRunner

import consilience as cs


def small():
    return cs.random_network(cs.DAG.parse("[a][b|a][c|b]"), seed=1)


def test_sources_differ_as_much_as_asked_for():
    net = small()
    alike = source_graphs.of_network(net, 2, 4000, 0.0, np.random.default_rng(1))
    apart = source_graphs.of_network(net, 2, 4000, 1.0, np.random.default_rng(1))
    ways = [cs.search(table).by_source for table in (alike, apart)]
    assert set(ways[0].values()) == {"pooled"}
    assert set(ways[1].values()) & {"by source", "tied"}
    assert alike.sources == apart.sources == ("s000", "s001")


def test_shifts_change_the_means_alone():
    tables = [
        source_graphs.of_regressions(3, 500, np.random.default_rng(1), is_shifted=is_shifted)
        for is_shifted in (True, False)
    ]
    found = [cs.moments(table, ["a"], by_source=True) for table in tables]
    np.testing.assert_allclose(found[0].scatter, found[1].scatter, rtol=1e-9)
    assert np.ptp(found[0].mean) > np.ptp(found[1].mean)


def test_a_run_ends_in_tables(tmp_path, monkeypatch):
    cells = [
        source_graphs.Cell("severity", "discrete", 0.0, 3, 20, 0),
        source_graphs.Cell("independent", "mixed", 0.0, 3, 20, 0),
        source_graphs.Cell("regressions", "shifted", 0.0, 3, 20, 0),
        source_graphs.Cell("small", "network", 0.5, 3, 20, 0),
    ]
    monkeypatch.setattr(source_graphs, "DELTAS", {"small": (0.5,)})
    monkeypatch.setattr(source_graphs, "keys", lambda repeats, seeds: cells)
    monkeypatch.setattr(source_graphs.cs, "load", lambda path: small())
    options = ["--results", str(tmp_path)]
    done = CliRunner().invoke(source_graphs.main, ["run", "--data", str(tmp_path), *options])
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(source_graphs.main, ["summary", *options]).output
    assert "| one severity a source | 3 x 20 | " in told
    assert "| mixed, independent | 3 x 20 | " in told
    assert "| seven regressions, shifted | 3 x 20 | " in told
