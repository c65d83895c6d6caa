from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import consilience as cs
from consilience.demo.hospitals import REASONS, SIZES, STATES, make_hospitals, true_network
from consilience.demo.story import DAG, STRONG, WAYS, compare, gains, tell


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
def test_the_evidence_finds_the_families_that_differ(seed):
    table = cs.read(make_hospitals(seed), source="hospital", states=STATES)
    net = cs.fit(DAG, table)
    differ = {child for child, gain in gains(net).items() if max(gain.values()) > STRONG}
    assert differ == set(REASONS)


def test_the_hierarchy_serves_large_and_small_hospitals(table):
    scores = compare(table)
    mean = {
        (way, hospital): score[table.source_codes == f].mean()
        for way, score in scores.items()
        for f, hospital in enumerate(table.sources)
    }
    assert mean["separate", "university"] > mean["pooled", "university"]
    assert mean["separate", "city"] > mean["pooled", "city"]
    assert mean["pooled", "island"] > mean["separate", "island"]
    assert mean["hierarchical", "island"] > mean["separate", "island"]
    totals = {way: score.mean() for way, score in scores.items()}
    assert max(totals, key=totals.get) == "hierarchical"


def test_a_new_hospital_lies_between_the_others(table):
    net = cs.fit(DAG, table, WAYS["hierarchical"])
    case = {"age": "50-69", "smoking": "yes"}
    beliefs = [
        net.query("disease", given={**case, "hospital": hospital})["yes"]
        for hospital in net.variables["hospital"].states
    ]
    assert min(beliefs[:-1]) < beliefs[-1] < max(beliefs[:-1])


def test_the_story_ends_with_a_model_and_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = io.StringIO()
    tell(Console(file=page, width=100, highlight=False), svg_path=tmp_path / "h.svg")
    (model,) = tmp_path.glob("*/hospitals.json")
    assert cs.load(model).source == "hospital"
    assert (tmp_path / "h.svg").read_text().startswith("<svg ")
    text = page.getvalue()
    assert "The valley hospital never recorded ecg." in text
    assert "new_source" in text
    assert str(model) in text
    narrow = [line for line in text.splitlines() if str(tmp_path) not in line]
    assert max(map(len, narrow)) <= 100
