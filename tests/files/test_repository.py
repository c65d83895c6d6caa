"""The networks of the bnlearn repository, with the counts of the data folder's README."""

from __future__ import annotations

import pytest
from file_networks import assert_same

from consilience.files.registry import FORMATS, load

COUNTS = {
    "asia.bif": (8, 8, 18, 2, 2),
    "cancer.bif": (5, 4, 10, 2, 2),
    "earthquake.bif": (5, 4, 10, 2, 2),
    "survey.bif": (6, 6, 21, 2, 3),
    "sachs.bif": (11, 17, 178, 3, 3),
    "alarm.bif": (37, 46, 509, 4, 4),
    "insurance.bif": (27, 52, 1_008, 3, 5),
    "water.bif.gz": (32, 66, 10_083, 5, 4),
    "mildew.bif.gz": (35, 46, 540_150, 3, 100),
    "hailfinder.bif": (56, 66, 2_656, 4, 11),
    "andes.bif": (223, 338, 1_157, 6, 2),
    "diabetes.bif.gz": (413, 602, 429_409, 2, 21),
    "pigs.bif": (441, 592, 5_618, 2, 3),
    "link.bif.gz": (724, 1_125, 14_211, 3, 4),
}
EXACT = {"asia.bif", "cancer.bif", "earthquake.bif", "survey.bif", "hailfinder.bif"}


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_a_network_is_read_whole_and_passes_through_every_format(data_dir, name):
    net = load(data_dir / "networks" / name)
    locals_ = net.distributions.values()
    most_parents = max(len(local.given) for local in locals_)
    most_states = max(local.child.n_states for local in locals_)
    counts = (len(locals_), len(net.dag.arcs), net.n_parameters, most_parents, most_states)
    assert counts == COUNTS[name]
    forms = {form.parse: form for form in FORMATS.values()}.values()
    for form in forms if net.n_parameters < 100_000 else [FORMATS[".json"]]:
        assert_same(form.parse(form.write(net), name), net)


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(EXACT))
def test_rows_that_sum_to_one_are_not_touched(data_dir, name):
    assert load(data_dir / "networks" / name).record.notes == ()


@pytest.mark.data
def test_rounded_rows_are_noted(data_dir):
    notes = load(data_dir / "networks" / "alarm.bif").record.notes
    assert any("'HREKG'" in note and "1e-07" in note for note in notes)


@pytest.mark.data
def test_a_known_table_of_alarm(data_dir):
    net = load(data_dir / "networks" / "alarm.bif")
    assert net["CVP"].parents == ("LVEDVOLUME",)
    assert net["CVP"].table.tolist() == [[0.95, 0.04, 0.01], [0.04, 0.95, 0.01], [0.01, 0.29, 0.7]]


@pytest.mark.data
@pytest.mark.parametrize("name", ["alarm.bif", "hailfinder.bif", "water.bif.gz", "pigs.bif"])
def test_the_sweep_and_the_careful_reader_agree(data_dir, monkeypatch, name):
    swept = load(data_dir / "networks" / name)
    monkeypatch.setattr("consilience.files.bif.sweep", lambda *_: None)
    assert_same(load(data_dir / "networks" / name), swept)
