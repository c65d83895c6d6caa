"""The tables of the studies, prepared as the first seed says.

Numeric columns are cut into five states at quantiles of all rows and gaps of Adult and Diabetes are
filled with the most frequent state; heart and eICU keep their gaps. States and cut points are
declared here, once, on the whole table: no fit sees a row outside its training set.

The data come from the folder that CONSILIENCE_DATA names. Without it, Adult and Diabetes are
downloaded by scikit-learn's OpenML fetcher; heart and eICU need the folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

import consilience as cs

__all__ = ["CASES", "Problem", "every_row", "prepared", "raw"]

N_BINS = 5

ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "hours-per-week",
    "native-country",
    "income",
)
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "hours-per-week")

DIABETES = (
    "race",
    "gender",
    "age",
    "time_in_hospital",
    "num_procedures",
    "num_medications",
    "number_outpatient",
    "number_emergency",
    "number_inpatient",
    "A1Cresult",
    "metformin",
    "chlorpropamide",
    "glipizide",
    "rosiglitazone",
    "acarbose",
    "miglitol",
    "diabetesMed",
    "readmitted",
)
DIABETES_NUMBERS = tuple(name for name in DIABETES if name.startswith(("time_in", "num")))

HEART_NUMBERS = ("age", "trestbps", "chol", "thalach", "oldpeak")
HEART = (*HEART_NUMBERS, "sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal", "disease")

EICU_NUMBERS = (
    "age",
    "temperature",
    "respiratoryrate",
    "heartrate",
    "meanbp",
    "sodium",
    "creatinine",
    "glucose",
    "wbc",
)
EICU = (
    *EICU_NUMBERS,
    "gender",
    "unitadmitsource",
    "vent",
    "intubated",
    "eyes",
    "motor",
    "verbal",
    "metastaticcancer",
    "hospitaldischargestatus",
)

LATIN = (
    "Mexico Puerto-Rico El-Salvador Cuba Jamaica Dominican-Republic Guatemala Columbia Haiti "
    "Nicaragua Peru Ecuador Trinadad&Tobago Honduras"
)
ASIA = "Philippines India China South Japan Vietnam Taiwan Iran Thailand Hong Cambodia Laos"
HOME = "United-States Outlying-US(Guam-USVI-etc)"
CONTINENTS = {
    name: continent
    for continent, names in (("US", HOME), ("Latin America", LATIN), ("Asia", ASIA))
    for name in names.split()
}

ADMISSIONS = {
    "1": "physician",
    "2": "clinic",
    "4": "other hospital",
    "5": "nursing facility",
    "6": "other facility",
    "7": "emergency room",
    "9": "unknown",
    "17": "unknown",
    "20": "unknown",
}


@dataclass(frozen=True)
class Case:
    """A table to be prepared: where it comes from, its source, class and numeric columns.

    Samples are stratified by source and, unless told otherwise, by class.
    """

    data: str
    source: str
    columns: Sequence[str]
    target: str
    positive: str
    numbers: Sequence[str]
    fills_gaps: bool = True
    by_class: bool = True
    complete_only: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """A prepared table, its class, the state that precision and recall are about, and strata."""

    name: str
    table: cs.Table
    target: str
    positive: str
    strata: tuple[str, ...]


def _adult(source: str, without: Sequence[str] = ()) -> Case:
    columns = [name for name in ADULT if name not in (source, *without)]
    numbers = [name for name in ADULT_NUMBERS if name in columns]
    return Case("adult", source, columns, "income", ">50K", numbers)


def _diabetes(source: str) -> Case:
    columns = [name for name in DIABETES if name != source]
    return Case("diabetes", source, columns, "readmitted", ">30", DIABETES_NUMBERS)


SCHOOL = ("education", "education-num")  # the second is a function of the first

CASES: Mapping[str, Case] = {
    "adult": _adult("sex"),
    "diabetes": _diabetes("gender"),
    "adult, complete rows": replace(_adult("sex"), fills_gaps=False, complete_only=True),
    "adult by race": _adult("race"),
    "adult by country": _adult("continent", without=["native-country"]),
    **{f"adult by education, {n}": _adult(f"school {n}", without=SCHOOL) for n in (2, 4, 8, 16)},
    "diabetes by admission": _diabetes("admission"),
    "heart by hospital": Case(
        "heart", "source", HEART, "disease", "yes", HEART_NUMBERS, fills_gaps=False
    ),
    "eicu by hospital": Case(
        "eicu",
        "hospitalid",
        EICU,
        "hospitaldischargestatus",
        "Expired",
        EICU_NUMBERS,
        fills_gaps=False,
        by_class=False,  # most hospitals have one death or none
    ),
}


@lru_cache(maxsize=3)
def prepared(name: str) -> Problem:
    """The table of a case, ready for an experiment."""
    case = CASES[name]
    frame = raw(case.data)
    table = cs.read(
        frame.dropna(subset=[*case.columns, case.source]) if case.complete_only else frame,
        source=case.source,
        columns=case.columns,
        discretize={column: cs.Quantiles(N_BINS) for column in case.numbers},
    )
    table = imputed(table) if case.fills_gaps else table
    strata = (case.target,) if case.by_class else ()
    return Problem(name, table, case.target, case.positive, strata)


def imputed(table: cs.Table) -> cs.Table:
    """The table with every gap filled by the most frequent state of its column."""
    columns = {}
    for name, codes in table.columns.items():
        mode = np.bincount(codes[codes >= 0]).argmax().astype(codes.dtype)
        columns[name] = np.where(codes < 0, mode, codes)
    return cs.Table(table.schema, columns, table.source_codes, table.weights, table.origins)


@lru_cache(maxsize=2)
def raw(data: str) -> pd.DataFrame:
    """The rows of a data set with the columns that cases may take for a source; gaps as NaN."""
    return {
        "adult": _raw_adult,
        "diabetes": _raw_diabetes,
        "compas": _raw_compas,
        "heart": _raw_heart,
        "eicu": _raw_eicu,
        "pigs": _raw_pigs,
        "adg": _raw_adg,
    }[data]()


def every_row(data: str) -> pd.DataFrame:
    """Adult or Diabetes as published, before any choice of rows."""
    file, *openml = {
        "adult": ("adult.csv.gz", "adult", 2),
        "diabetes": ("diabetes.csv.gz", "Diabetes130US", 1),
    }[data]
    return _frame(file, openml=tuple(openml)).rename(columns={"class": "income"})


def _raw_adult() -> pd.DataFrame:
    frame = every_row("adult")
    country = frame["native-country"].fillna("United-States")
    frame["continent"] = country.map(CONTINENTS).fillna("Europe and Canada")
    rank = pd.to_numeric(frame["education-num"]).astype(int)
    for n in (2, 4, 8, 16):  # neighbouring levels of schooling merged, 16 of them to begin with
        frame[f"school {n}"] = "level " + ((rank - 1) * n // 16 + 1).astype(str)
    return frame


def _raw_diabetes() -> pd.DataFrame:
    frame = every_row("diabetes")
    frame = frame[frame["readmitted"] != "NO"].reset_index(drop=True)
    admission = frame["admission_source_id"].astype(str)
    frame["admission"] = admission.map(ADMISSIONS).fillna("other")
    return frame


def _raw_compas() -> pd.DataFrame:
    frame = _frame("compas.csv.gz")
    keep = (  # the customary filter
        (frame["days_b_screening_arrest"].abs() <= 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["score_text"].notna()
    )
    return frame[keep].reset_index(drop=True)


def _raw_heart() -> pd.DataFrame:
    files = [f"heart/{name}.csv" for name in ("cleveland", "hungarian", "switzerland", "va")]
    frame = pd.concat([_frame(file) for file in files], ignore_index=True)
    frame["chol"] = frame["chol"].replace(0, np.nan)  # not measured
    frame["disease"] = np.where(frame["num"] > 0, "yes", "no")
    return frame


def _raw_eicu() -> pd.DataFrame:
    frame = _frame("eicu_demo.csv.gz")
    keep = (frame["unitvisitnumber"] == 1) & frame["hospitaldischargestatus"].notna()
    frame = frame[keep].reset_index(drop=True)
    frame["age"] = frame["age"].replace("> 89", "90").astype(float)
    frame["hospitalid"] = frame["hospitalid"].astype(str)
    return frame


def _raw_pigs() -> pd.DataFrame:
    return _frame("pigs/pigs_vienna.csv.gz").astype(str)


def _raw_adg() -> pd.DataFrame:
    return _frame("pigs/adg.csv").astype({"farm": str})


def _frame(file: str, *, openml: tuple[str, int] | None = None) -> pd.DataFrame:
    folder = os.environ.get("CONSILIENCE_DATA")
    if folder is None and openml is not None:
        return _downloaded(*openml)
    if folder is None:
        _stop(f"{file} is needed and CONSILIENCE_DATA does not name the folder that has it")
    path = Path(folder) / file
    if not path.exists():
        _stop(f"CONSILIENCE_DATA is '{folder}', but there is no file '{path}'")
    return pd.read_csv(path, keep_default_na=False, na_values=["", "?"])


def _downloaded(name: str, version: int) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml(name, version=version, as_frame=True, parser="auto").frame
    except OSError as problem:
        _stop(
            f"{name} is needed: CONSILIENCE_DATA does not name a folder of data sets, and the "
            f"download from OpenML failed ({problem})"
        )
    texts = frame.select_dtypes(["category", "object", "string"]).columns
    return frame.assign(**{column: _texts(frame[column]) for column in texts})


def _texts(column: Any) -> Any:
    return column.astype(object).where(column.notna() & (column != "?"))


def _stop(problem: str) -> NoReturn:
    sys.exit(f"no data: {problem}.")
