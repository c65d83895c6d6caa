from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import consilience as cs
from consilience.demo.differences import differences
from consilience.demo.hospitals import REASONS, SIZES, STATES, make_hospitals, true_network
from consilience.demo.story import DAG, by_source, compare, is_complete, tell, worthwhile


@pytest.fixture(scope="module")
def table() -> cs.Table:
    return cs.read(make_hospitals(), source="hospital", states=STATES)


def test_the_same_seed_makes_the_same_hospitals():
    assert make_hospitals(3) == make_hospitals(3) != make_hospitals(4)


def test_the_hospitals_have_their_sizes_and_the_states_of_the_network(table):
    assert {f: len(rows["age"]) for f, rows in make_hospitals().items()} == SIZES
    net = true_network()
    assert {name: net.variables[name].states for name in table.variables} == STATES


def test_one_hospital_never_records_a_column_and_values_get_lost(table):
    assert table.missing["valley"]["ecg"] == 1
    assert 0.03 < table.missing["university"]["troponin"] < 0.15
    assert table.missing["university"]["age"] == 0


def test_the_true_network_gives_the_hospital_to_the_families_that_differ():
    net = true_network()
    assert set(net.dag.children("hospital")) == set(REASONS)
    assert net.dag.without("hospital") == DAG


@pytest.mark.parametrize("child", sorted(REASONS))
def test_a_family_differs_in_one_hospital_and_not_between_the_others(child):
    table = true_network()[child].table
    n_alike = [sum(np.allclose(one, other) for other in table) for one in table]
    assert sorted(n_alike) == [1, 4, 4, 4, 4]


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_measure_finds_the_families_that_differ(seed):
    table = cs.read(make_hospitals(seed), source="hospital", states=STATES)
    assert set(worthwhile(differences(table, DAG))) == set(REASONS)


def test_equal_sources_gain_nothing():
    rows = {"x": ["a", "b", "b"], "y": ["c", "c", "d"]}
    table = cs.read({"one": rows, "two": rows})
    (x, y) = differences(table, cs.DAG([("x", "y")]))
    assert (x.gain, y.gain) == (pytest.approx(0, abs=1e-12), pytest.approx(0, abs=1e-12))
    assert (x.n_extra, y.n_extra) == (1, 2)


def test_the_gain_is_the_difference_of_two_fits(table):
    complete = table.take(is_complete(table))
    pooled, own = (cs.fit(g, complete, cs.MLE()) for g in (DAG, by_source(DAG, DAG.nodes)))
    gain = own.log_likelihood(complete).sum() - pooled.log_likelihood(complete).sum()
    assert sum(one.gain for one in differences(complete, DAG)) == pytest.approx(gain, rel=1e-9)


def test_large_hospitals_profit_from_own_tables_and_the_smallest_from_the_pool(table):
    scores = compare(table)
    complete = is_complete(table)
    mean = {
        (way, hospital): score[complete & (table.source_codes == f)].mean()
        for way, score in scores.items()
        for f, hospital in enumerate(table.sources)
        if hospital != "valley"
    }
    assert mean["own", "university"] > mean["pooled", "university"]
    assert mean["own", "city"] > mean["pooled", "city"]
    assert mean["pooled", "island"] > mean["own", "island"]
    assert mean["mixed", "island"] > mean["own", "island"]


def test_the_story_ends_with_a_model_and_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = io.StringIO()
    tell(Console(file=page, width=100, highlight=False), svg_path=tmp_path / "h.svg")
    (model,) = tmp_path.glob("*/hospitals.json")
    assert set(cs.load(model).dag.children("hospital")) == set(REASONS)
    assert (tmp_path / "h.svg").read_text().startswith("<svg ")
    text = page.getvalue()
    assert "The valley hospital never recorded ecg." in text
    assert "Pooled tables beat own ones in: island." in text
    assert str(model) in text
    assert max(map(len, text.splitlines())) <= 100 + len(str(tmp_path))
