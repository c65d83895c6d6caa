"""Public data sets are read as their description says."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.data.read import read

pytestmark = pytest.mark.data

HEART = {
    "cleveland": (303, {"ca": 4, "thal": 2}),
    "hungarian": (
        294,
        {
            "trestbps": 1,
            "chol": 23,
            "fbs": 8,
            "restecg": 1,
            "thalach": 1,
            "exang": 1,
            "slope": 190,
            "ca": 291,
            "thal": 266,
        },
    ),
    "switzerland": (
        123,
        {
            "trestbps": 2,
            "fbs": 75,
            "restecg": 1,
            "thalach": 1,
            "exang": 1,
            "oldpeak": 6,
            "slope": 17,
            "ca": 118,
            "thal": 52,
        },
    ),
    "va": (
        200,
        {
            "trestbps": 56,
            "chol": 7,
            "fbs": 7,
            "thalach": 53,
            "exang": 53,
            "oldpeak": 56,
            "slope": 102,
            "ca": 198,
            "thal": 166,
        },
    ),
}


def n_missing(table, name):
    return int((table.columns[name] < 0).sum())


def test_adult_misses_what_its_description_says(data_dir):
    table = read(data_dir / "adult.csv.gz")
    assert table.n_rows == 48_842
    assert n_missing(table, "workclass") == 2_799
    assert n_missing(table, "occupation") == 2_809
    assert n_missing(table, "native-country") == 857
    rich = table.columns["income"] == table.variables["income"].code(">50K")
    assert round(100 * rich.mean(), 2) == 23.93


def test_diabetes_keeps_none_as_a_state(data_dir):
    table = read(data_dir / "diabetes.csv.gz")
    assert table.n_rows == 101_766
    variable = table.variables["A1Cresult"]
    assert set(variable.states) == {"None", "Norm", ">7", ">8"}
    assert int((table.columns["A1Cresult"] == variable.code("None")).sum()) == 84_748
    assert n_missing(table, "race") == 2_273
    assert n_missing(table, "payer_code") == 40_256
    assert n_missing(table, "medical_specialty") == 49_949
    readmitted = np.bincount(table.columns["readmitted"]).tolist()
    assert dict(zip(table.variables["readmitted"].states, readmitted, strict=True)) == {
        "NO": 54_864,
        ">30": 35_545,
        "<30": 11_357,
    }


def test_four_heart_files_are_one_table_of_four_sources(data_dir):
    table = read({name: data_dir / "heart" / f"{name}.csv" for name in HEART})
    assert table.sources == tuple(HEART)
    assert "source" not in table.variables
    assert table.variables["num"].states == ("0", "1", "2", "3", "4")
    assert table.variables["thal"].states == ("3", "6", "7")
    for source, (n_rows, missing) in HEART.items():
        shares = table.missing[source]
        for name in table.variables:
            assert shares[name] == pytest.approx(missing.get(name, 0) / n_rows, rel=1e-12)


def test_eicu_has_186_hospitals(data_dir):
    table = read(data_dir / "eicu_demo.csv.gz", source="hospitalid")
    assert len(table.sources) == 186
    assert table.n_rows == 2_520
    assert np.bincount(table.source_codes).min() == 10


def test_compas_misses_what_its_description_says(data_dir):
    shares = read(data_dir / "compas.csv.gz").missing["all"]
    assert shares["days_b_screening_arrest"] == pytest.approx(307 / 7214)
    assert shares["c_jail_days"] == pytest.approx(307 / 7214)
