"""The problems of the study of the chain: rows of many sources, split for training and testing.

Real data (the folder that ``CONSILIENCE_DATA`` names), none of them looked at when the chain was
designed:

- ``heart``: heart disease in four hospitals; a cholesterol of 0 is missing.
- ``eicu``: death in hospital after intensive care in 186 hospitals, one row a patient (the first
  stay); vital signs, laboratory values and a few facts of the admission.
- ``compas``: recidivism within two years by race, after the customary filter; the score itself,
  what was known only later, and the age in words are left out.

Numbers are cut at quantiles of all rows, whatever their class, into at most five states. Gaps stay
gaps: in training a row counts for the families it knows whole, in testing gaps are summed out.

Simulated networks (``diverge-2``, ``permute-20`` and so on, the number being that of the sources):
a class of two states and ten features of two to five, drawn anew in each repeat, naive Bayes or
with a random tree, which is known to the methods. In ``diverge`` the sources' tables, fitted to 100
rows each of one network, are pushed apart (``cs.simulate.diverge``, delta 0.4); in ``permute``
four of the ten features are relabelled (``cs.simulate.permute_states``). The sources' shares are
as 1 : 1/2 : 1/3 ...

A repeat is one stratified shuffle of the rows (``cs.simulate.stratified_order``): the first 500
are for training, smaller training sets are prefixes of larger ones, and the next 1,000 at most are
the test rows of all methods and sizes. All keep the shares of class and source, or of the class
alone if there are more joint states of the two than rows in the smallest training set. A source
without training rows is, in testing, one never seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

import consilience as cs
from consilience.data.variable import NEW_SOURCE
from consilience.errors import MissingFileError

__all__ = ["PROBLEMS", "SETTINGS", "SIZES", "STRUCTURES", "Split", "as_known", "split"]

STRUCTURES = ("nb", "tan")
SIZES = (20, 60, 120, 260, 500)
N_TEST = 1000
BINS = 5
DELTA = 0.4
N_FEATURES, FEATURE_STATES = 10, (2, 6)
TOTAL = 12.0
ROWS_PER_SOURCE = 100
SEED = 4_000_001

SETTINGS = {
    "n_test": N_TEST,
    "bins": BINS,
    "delta": DELTA,
    "features": [N_FEATURES, *FEATURE_STATES],
    "total": TOTAL,
    "rows_a_source": ROWS_PER_SOURCE,
    "seed": SEED,
}

EICU_NUMBERS = [
    *("age", "admissionweight", "motor", "verbal", "temperature", "respiratoryrate", "heartrate"),
    *("meanbp", "urine", "wbc", "sodium", "creatinine", "bun", "glucose", "albumin"),
]
EICU_STATES = ["gender", "vent", "diabetes"]


@dataclass(frozen=True)
class Problem:
    """Rows with their target, and the graph if it is known."""

    table: cs.Table
    target: str
    dag: cs.DAG | None = None


@dataclass(frozen=True)
class Split:
    """One repeat of a problem: rows to train on, best first, and rows to test on."""

    rows: cs.Table
    test: cs.Table
    target: str
    dag: cs.DAG | None

    def at(self, n_rows: int) -> tuple[cs.Table, cs.Table]:
        """The first training rows, and the test rows with sources as these rows know them."""
        return as_known(self.rows.take(slice(0, n_rows)), self.test)


def as_known(train: cs.Table, test: cs.Table) -> tuple[cs.Table, cs.Table]:
    """Both tables with the sources that the training rows have; others are ``new_source``."""
    seen = np.unique(train.source_codes)
    names = tuple(train.sources[code] for code in seen)
    place = np.full(len(train.sources), len(seen))
    place[seen] = np.arange(len(seen))
    return (
        _with_sources(train, names, place),
        _with_sources(test, (*names, NEW_SOURCE), place),
    )


@lru_cache(maxsize=2)
def split(problem: str, structure: str, repeat: int) -> Split:
    """The rows of one repeat; real data are split in the same way for all structures."""
    made = PROBLEMS[problem](structure, repeat)
    table, target = made.table, made.target
    strata = {
        (int(c), int(f)) for c, f in zip(table.column(target), table.source_codes, strict=True)
    }
    shown = table if len(strata) <= min(SIZES) else _without_source(table)
    seed = np.random.default_rng([SEED, repeat])
    order = cs.simulate.stratified_order(shown, by=[target], seed=seed)
    n_train = max(SIZES)
    rows, test = order[:n_train], order[n_train : n_train + N_TEST]
    return Split(table.take(rows), table.take(test), target, made.dag)


def _without_source(table: cs.Table) -> cs.Table:
    return cs.Table(cs.Schema(table.variables), table.columns)


def _with_sources(table: cs.Table, names: tuple[str, ...], place: np.ndarray) -> cs.Table:
    source = cs.Variable(str(table.source), names)
    codes = place[table.source_codes].astype(np.int16 if len(names) > 128 else np.int8)
    return cs.Table(cs.Schema(table.variables, source), table.columns, codes)


def _heart(_structure: str, _repeat: int) -> Problem:
    return Problem(_heart_table(), "disease")


@lru_cache
def _heart_table() -> cs.Table:
    names = ("cleveland", "hungarian", "switzerland", "va")
    rows = pd.concat([_read(f"heart/{name}.csv") for name in names], ignore_index=True)
    rows["chol"] = rows["chol"].replace(0, np.nan)
    rows["disease"] = np.where(rows.pop("num") > 0, "yes", "no")
    return _table(rows, "source", ["age", "trestbps", "chol", "thalach", "oldpeak"])


def _eicu(_structure: str, _repeat: int) -> Problem:
    return Problem(_eicu_table(), "hospitaldischargestatus")


@lru_cache
def _eicu_table() -> cs.Table:
    rows = _read("eicu_demo.csv.gz").sort_values(
        ["uniquepid", "unitvisitnumber", "patientunitstayid"]
    )
    rows = rows.drop_duplicates("uniquepid").dropna(subset="hospitaldischargestatus")
    rows["age"] = rows["age"].replace("> 89", "90").astype(float)
    columns = [*EICU_NUMBERS, *EICU_STATES, "hospitaldischargestatus", "hospitalid"]
    return _table(rows[columns], "hospitalid", EICU_NUMBERS)


def _compas(_structure: str, _repeat: int) -> Problem:
    return Problem(_compas_table(), "two_year_recid")


@lru_cache
def _compas_table() -> cs.Table:
    rows = _read("compas.csv.gz")
    is_kept = (
        (rows["days_b_screening_arrest"].abs() <= 30)
        & (rows["is_recid"] != -1)
        & (rows["c_charge_degree"] != "O")
        & rows["score_text"].notna()
    )
    counts = ["juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]
    numbers = ["age", *counts, "c_jail_days"]
    columns = ["sex", *numbers, "c_charge_degree", "two_year_recid", "race"]
    return _table(rows.loc[is_kept, columns], "race", numbers)


def _read(name: str) -> pd.DataFrame:
    folder = os.environ.get("CONSILIENCE_DATA", "")
    path = Path(folder) / name
    if not folder or not path.exists():
        raise MissingFileError(
            f"'{path}' does not exist. Let CONSILIENCE_DATA name the folder of the public data "
            "sets, or ask for simulated problems only."
        )
    return pd.read_csv(path, keep_default_na=False, na_values=["", "?"])


def _table(rows: pd.DataFrame, source: str, numbers: list[str]) -> cs.Table:
    others = [name for name in rows.columns if name not in (*numbers, source)]
    return cs.read(
        rows,
        source=source,
        discrete=others,
        discretize={name: cs.Quantiles(BINS) for name in numbers},
    )


def _simulated(kind: str, n_sources: int, structure: str, repeat: int) -> Problem:
    rng = np.random.default_rng([SEED, repeat, n_sources, structure == "tan", kind == "permute"])
    dag, n_states = _random_graph(structure, rng)
    base = cs.random_network(dag, n_states=n_states, total=TOTAL, seed=rng)
    shares = 1 / np.arange(1.0, n_sources + 1)
    source = cs.Variable("source", tuple(f"s{f}" for f in range(n_sources)))
    root = cs.Categorical(source, (), shares / shares.sum())
    net = _diverged(base, root, rng) if kind == "diverge" else _permuted(base, root, rng)
    return Problem(net.sample(N_TEST + 2 * max(SIZES), seed=rng), "class", dag)


def _random_graph(structure: str, rng: np.random.Generator) -> tuple[cs.DAG, dict[str, int]]:
    features = [f"x{i}" for i in range(N_FEATURES)]
    arcs = [("class", feature) for feature in features]
    if structure == "tan":
        arcs += [(features[rng.integers(i)], features[i]) for i in range(1, N_FEATURES)]
    sizes = rng.integers(*FEATURE_STATES, size=N_FEATURES).tolist()
    return cs.DAG(arcs), {"class": 2} | dict(zip(features, sizes, strict=True))


def _permuted(base: cs.Network, root: cs.Categorical, rng: np.random.Generator) -> cs.Network:
    net = cs.Network.of([root, *base.distributions.values()], source=root.child.name)
    return cs.simulate.permute_states(net, DELTA, target="class", seed=rng).network


def _diverged(base: cs.Network, root: cs.Categorical, rng: np.random.Generator) -> cs.Network:
    source, dag = root.child, base.dag
    rows = base.sample(ROWS_PER_SOURCE * source.n_states, seed=rng)
    codes = np.arange(rows.n_rows, dtype=np.int8) % source.n_states
    table = cs.Table(cs.Schema(rows.variables, source), rows.columns, codes.astype(np.int8))
    apart = cs.fit(dag, table, cs.Separate(cs.Dirichlet()), gaps=cs.AvailableCases())
    pooled = cs.fit(dag, rows, cs.Dirichlet(), gaps=cs.AvailableCases())
    local = {**apart.distributions, source.name: root}
    net = cs.Network(local, source.name)
    return cs.simulate.diverge(net, pooled, DELTA, target="class")


PROBLEMS: dict[str, Callable[[str, int], Problem]] = {
    "heart": _heart,
    "compas": _compas,
    **{
        f"{kind}-{n_sources}": partial(_simulated, kind, n_sources)
        for kind in ("diverge", "permute")
        for n_sources in (2, 5, 20)
    },
    "eicu": _eicu,
}
