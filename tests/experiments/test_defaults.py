from __future__ import annotations

import defaults
import defaults_data
import defaults_report
import numpy as np
import pytest
from click.testing import CliRunner

import consilience as cs


def told(*words, out):
    result = CliRunner().invoke(defaults.main, [*words, "--out", str(out)])
    assert result.exit_code == 0, result.output
    return result.output


def test_log_likelihood_is_that_of_the_network_given_the_source():
    table = defaults_data.rows_of(defaults_data.ALIKE, 0)
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.HDMCS(s=10))
    shares = np.log(net["source"].table)[table.source_codes]
    expected = net.log_likelihood(table) - shares
    assert defaults.log_likelihood(net, table) == pytest.approx(expected, abs=1e-12)


def test_a_chain_of_endless_strength_has_equal_rows():
    endless = cs.Gamma(1e12, 1.0)
    table = defaults_data.drawn_chain([2, 3], [endless] * 2, 4, np.random.default_rng(1))
    assert table.shape == (2, 3, 4)
    assert np.ptp(table, axis=(0, 1)).max() < 1e-4


def test_a_drawn_chain_has_a_new_source_without_rows():
    rng = np.random.default_rng(1)
    net = defaults_data.chain_network(5, cs.Gamma(4, 0.1), cs.Gamma(1, 0.02), rng)
    assert net["x"].table.shape == (6, 2, 3, 3)
    table = defaults_data.sampled(net, 500, rng)
    assert table.sources == ("s0", "s1", "s2", "s3", "s4")


def test_the_error_of_folds_is_that_of_nadeau_and_bengio():
    ours = {(repeat, fold): float(fold + repeat) for repeat in range(2) for fold in range(3)}
    theirs = dict.fromkeys(ours, 0.0)
    variance = np.var(list(ours.values()), ddof=1)
    expected = np.sqrt((1 / 6 + 1 / 2) * variance)
    assert defaults_report._corrected(ours, theirs) == pytest.approx(expected)


def test_ratios_are_to_the_smallest_loss_on_shared_seeds():
    found = {"default": {0: 1.0, 1: 3.0}, "a": {0: 2.0, 1: 2.0}, "b": {0: 0.5}}
    assert defaults_report._ratio(found) == 2.0


def test_a_pull_to_uniform_does_not_meet_the_bar_of_hospitals():
    rows = [{"n_hospitals": 2, "default": 0.17, "PerState(1)": 0.17}]
    assert "Bar, a new hospital: NOT MET." in defaults_report.hospitals(rows)


def test_sources_that_are_alike_are_compared_in_sources_seen_and_left_out(tmp_path):
    asked = ("sources", "--repeats", "2", "--dear-repeats", "1", "--table", defaults_data.ALIKE)
    output = told(*asked, out=tmp_path)
    assert "Bar, in sources left out:" in output
    assert (tmp_path / "sources-default.jsonl").exists()
    assert told(*asked, out=tmp_path) == output[output.index("## Held-out") :]


def test_losses_of_random_networks_end_in_ratios(tmp_path, monkeypatch):
    monkeypatch.setattr(defaults, "SIZES", (100,))
    monkeypatch.setattr(defaults, "N_FRESH", 200)
    output = told("losses", "--repeats", "2", "--network", "random, 2 states", out=tmp_path)
    assert "Bar, mean ratio" in output


def test_coverage_of_a_new_source_has_a_line_for_each_strength(tmp_path, monkeypatch):
    monkeypatch.setattr(defaults, "BATCH", 2)
    monkeypatch.setattr(defaults, "N_SOURCES", (5,))
    monkeypatch.setattr(defaults, "STRENGTHS", (3.0,))
    output = told("new-source-coverage", "--repeats", "2", out=tmp_path)
    assert output.count("| 3 |") == 2
    assert "from Gamma" in output
    assert "sources of 2000, 20, 20, 20, 20 rows" in output


def test_coverage_of_entries_has_the_new_source_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(defaults, "BATCH", 2)
    monkeypatch.setattr(defaults, "N_DRAWN", 1)
    monkeypatch.setattr(defaults, "N_DRAWS", 3)
    output = told("coverage", "--repeats", "2", out=tmp_path)
    assert "| 5 | new |" in output
    assert "Means of posterior draws differ" in output
