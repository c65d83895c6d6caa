r"""What the study of the defaults is made on: tables of many sources, networks, drawn chains.

**Tables of sources.** Rows with a gap in one of the columns taken are left out, so that every row
is complete; numbers are cut at quantiles of all rows into three states (fewer where values tie).

- ``pigs_vienna (100)``: ten binary findings, the first 100 producers of the file
- ``Adult by race (5)``, ``Adult by education (16)``, ``Adult by country (41)``: age, workclass,
  education (unless it is the source), marital status, occupation, relationship, sex, hours, income
- ``Diabetes by admission (10)``: first visits; sex, age, the six numbers of days, procedures,
  drugs and visits, A1C, three drugs, diabetes drugs, readmission; sources of admission with 50 rows
- ``Diabetes by specialty``: the same by the physician's specialty, those with 20 rows
- ``eICU (185)``: first stays; sex, ethnicity, type of unit, where admitted from, type of stay,
  ventilation, death
- ``COMPAS by race (6)``: sex, age, earlier offences, degree of the charge, recidivism
- ``heart (4)``: age, sex, chest pain, ECG, heart rate, exercise angina, disease
- ``adg by farm (15)``: all columns of the pigs
- ``30 sources alike, 3 %``: drawn anew in each repeat: 30 sources of 50 rows, two independent
  columns with 3 % yes in each source; the graph has no arcs

A repeat takes at most 6,000 rows at random. The graph is learned once, from the rows of the first
repeat without their sources, by ``cs.learn`` with BIC; one from all 46,033 rows of Adult would have
tables that 4,800 rows cannot fill.

**Chains.** Tables of a node drawn as ``HDC`` has them, with equal row weights: an order in which
the source and the parents are added, at random,

.. math:: \phi_0 \sim \mathrm{Dirichlet}(1), \quad
    \phi_{l,g} \sim \mathrm{Dirichlet}(s_l\, \phi_{l-1,up(g)}),

with :math:`s_l` from the prior of the sources or of the parents, as the variable added is. There is
one source more than gives rows: the new one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import chain_data
import numpy as np
import pandas as pd
import preparation

import consilience as cs
from consilience._typing import Floats, Integers
from consilience.data.variable import NEW_SOURCE

__all__ = [
    "ALIKE",
    "CHILD",
    "MOST_ROWS",
    "NETWORKS",
    "N_FOLDS",
    "TABLES",
    "chain_network",
    "drawn_chain",
    "folds",
    "graph",
    "network",
    "rows_of",
    "sampled",
    "source_rows",
]

MOST_ROWS = 6_000
N_FOLDS = 5
BINS = 3
N_PRODUCERS = 100

ALIKE = "30 sources alike, 3 %"
N_ALIKE, ROWS_ALIKE, SHARE_ALIKE = 30, 50, 0.03

ADULT = (
    *("age", "workclass", "education", "marital-status", "occupation"),
    *("relationship", "sex", "hours-per-week", "income"),
)
DIABETES_NUMBERS = (
    *("time_in_hospital", "num_procedures", "num_medications"),
    *("number_outpatient", "number_emergency", "number_inpatient"),
)
DIABETES = (
    *("gender", "age", *DIABETES_NUMBERS, "A1Cresult"),
    *("metformin", "glipizide", "rosiglitazone", "diabetesMed", "readmitted"),
)
EICU = (
    *("gender", "ethnicity", "unittype", "unitadmitsource"),
    *("unitstaytype", "vent", "hospitaldischargestatus"),
)
COMPAS = ("sex", "age", "priors_count", "c_charge_degree", "two_year_recid")
HEART = ("age", "sex", "cp", "restecg", "thalach", "exang", "disease")


def rows_of(name: str, repeat: int) -> cs.Table:
    """The rows of one repeat: at most so many of a table at random, or rows drawn anew."""
    rng = np.random.default_rng([1, repeat])
    if name == ALIKE:
        return _alike(rng)
    table = _whole(name)
    if table.n_rows <= MOST_ROWS:
        return table
    return table.take(np.sort(rng.permutation(table.n_rows)[:MOST_ROWS]))


@cache
def graph(name: str) -> cs.DAG:
    """The graph of the first repeat's rows, whatever their source."""
    table = rows_of(name, 0)
    if name == ALIKE:
        return cs.DAG(nodes=table.variables)
    return cs.learn(cs.Table(cs.Schema(table.variables), table.columns), score=cs.BIC())


def folds(table: cs.Table, repeat: int) -> dict[str, np.ndarray]:
    """The fold of each row: rows at random, and sources at random."""
    rng = np.random.default_rng([2, repeat])
    of_source = rng.permutation(len(table.sources)) % min(N_FOLDS, len(table.sources))
    return {
        "within": rng.permutation(table.n_rows) % N_FOLDS,
        "left out": of_source[table.source_codes],
    }


@cache
def _whole(name: str) -> cs.Table:
    return TABLES[name]()


def _pigs() -> cs.Table:
    frame = preparation.raw("pigs")
    producers = frame["batch"].unique()[:N_PRODUCERS]
    return _complete(frame[frame["batch"].isin(producers)], "batch")


def _adult(source: str) -> cs.Table:
    columns = [name for name in ADULT if name != source]
    frame = preparation.every_row("adult")[[*columns, source]]
    return _complete(frame, source, numbers=("age", "hours-per-week"))


def _diabetes(source: str, least: int) -> cs.Table:
    frame = preparation.every_row("diabetes").drop_duplicates("patient_nbr")
    frame = frame[[*DIABETES, source]].dropna().astype({source: str})
    n_rows = frame.groupby(source)[source].transform("size")
    return _complete(frame[n_rows >= least], source, numbers=DIABETES_NUMBERS)


def _eicu() -> cs.Table:
    return _complete(preparation.raw("eicu")[[*EICU, "hospitalid"]], "hospitalid")


def _compas() -> cs.Table:
    return chain_data.PROBLEMS["compas"]("", 0).table.select(COMPAS)


def _heart() -> cs.Table:
    frame = preparation.raw("heart")[[*HEART, "source"]]
    return _complete(frame, "source", numbers=("age", "thalach"))


def _adg() -> cs.Table:
    return _complete(preparation.raw("adg"), "farm", numbers=("wormCount", "age", "adg"))


def _complete(frame: pd.DataFrame, source: str, *, numbers: Sequence[str] = ()) -> cs.Table:
    frame = frame.dropna()
    others = [name for name in frame.columns if name not in (*numbers, source)]
    cut = dict.fromkeys(numbers, cs.Quantiles(BINS))
    return cs.read(frame, source=source, discrete=others, discretize=cut)


def _alike(rng: np.random.Generator) -> cs.Table:
    n_rows = N_ALIKE * ROWS_ALIKE
    variables = {name: cs.Variable(name, ("no", "yes")) for name in ("x", "y")}
    columns = {name: (rng.random(n_rows) < SHARE_ALIKE).astype(np.int8) for name in variables}
    codes = np.repeat(np.arange(N_ALIKE, dtype=np.int8), ROWS_ALIKE)
    return cs.Table(cs.Schema(variables, _source(N_ALIKE)), columns, codes)


def _source(n_sources: int) -> cs.Variable:
    return cs.Variable("source", tuple(f"s{f}" for f in range(n_sources)))


TABLES: Mapping[str, Callable[[], cs.Table]] = {
    "pigs_vienna (100)": _pigs,
    "Adult by race (5)": partial(_adult, "race"),
    "Adult by education (16)": partial(_adult, "education"),
    "Diabetes by admission (10)": partial(_diabetes, "admission_source_id", 50),
    "eICU (185)": _eicu,
    "COMPAS by race (6)": _compas,
    ALIKE: lambda: rows_of(ALIKE, 0),
    "heart (4)": _heart,
    "adg by farm (15)": _adg,
    "Adult by country (41)": partial(_adult, "native-country"),
    "Diabetes by specialty": partial(_diabetes, "medical_specialty", 20),
}

RANDOM = {
    "random, 2 states": (2, None),
    "random, 3 states": (3, None),
    "random, 4 states": (4, None),
    "random, 3 states, rows alike": (3, 12.0),
    "random, 3 states, rows extreme": (3, 1.0),
}
"""States of every node, and the size of the Dirichlet that its rows are drawn from."""

FILES = {
    **{name: f"{name}.bif" for name in ("alarm", "insurance", "hailfinder", "sachs")},
    "water": "water.bif.gz",
}
NETWORKS = (*FILES, *RANDOM)


@cache
def network(name: str) -> cs.Network:
    """A network of the repository, or a random one of 20 nodes, 30 arcs, at most 4 parents."""
    if name in RANDOM:
        n_states, total = RANDOM[name]
        place = list(RANDOM).index(name)
        dag = cs.random_dag(20, n_arcs=30, max_parents=4, seed=place)
        return cs.random_network(dag, n_states=n_states, total=total, seed=place)
    folder = os.environ.get("CONSILIENCE_DATA")
    if not folder:
        raise SystemExit("CONSILIENCE_DATA must name the folder of public data sets.")
    return cs.load(Path(folder) / "networks" / FILES[name])


CHILD = "x"
PARENTS = {"a": 2, "b": 3}
CHILD_STATES = 3


def chain_network(
    n_sources: int, parents: cs.Gamma, sources: cs.Gamma, rng: np.random.Generator
) -> cs.Network:
    """A child with two parents whose tables are drawn from the chain, a new source beside others.

    With one source there is no source node. The tables of the parents are chains, too.
    """
    sizes = {**PARENTS, CHILD: CHILD_STATES}
    variables = {name: cs.Variable(name, tuple(map(str, range(r)))) for name, r in sizes.items()}
    names = _source(n_sources).discrete_states
    source = cs.Variable("source", (*names, NEW_SOURCE)) if n_sources > 1 else None
    given = () if source is None else (source,)
    local = []
    for name, variable in variables.items():
        over = (*given, *(variables[other] for other in PARENTS if name == CHILD))
        priors = [sources if one is source else parents for one in over]
        table = drawn_chain([one.n_states for one in over], priors, variable.n_states, rng)
        local.append(cs.Categorical(variable, over, table))
    if source is None:
        return cs.Network.of(local)
    shares = np.append(np.full(n_sources, 1 / n_sources), 0.0)
    return cs.Network.of([cs.Categorical(source, (), shares), *local], source=source.name)


def drawn_chain(
    sizes: Sequence[int], priors: Sequence[cs.Gamma], n_states: int, rng: np.random.Generator
) -> Floats:
    """A table of shape (*sizes, states): the variables are added in an order at random."""
    table = rng.dirichlet(np.ones(n_states)).reshape((1,) * len(sizes) + (n_states,))
    for place in rng.permutation(len(sizes)):
        s = rng.gamma(priors[place].shape, 1 / priors[place].rate)
        leaned_on = np.repeat(table, sizes[place], axis=place)
        rows = [rng.dirichlet(s * row) for row in leaned_on.reshape(-1, n_states)]
        table = np.reshape(rows, leaned_on.shape)
    return table


def source_rows(shares: Floats, n_rows: int | Integers, rng: np.random.Generator) -> cs.Table:
    """A binary column ``x``: in each source so many rows, yes with the probability of its own."""
    source = _source(len(shares))
    yes = rng.binomial(n_rows, shares)
    counts = np.stack([n_rows - yes, yes], axis=1).ravel()
    variable = cs.Variable(CHILD, ("no", "yes"))
    columns = {CHILD: np.tile(np.arange(2, dtype=np.int8), len(shares))}
    codes = np.repeat(np.arange(len(shares), dtype=np.int16), 2)
    return cs.Table(
        cs.Schema({CHILD: variable}, source),
        columns,
        codes.astype(np.int8 if len(shares) <= 128 else np.int16),
        counts.astype(np.int64),
    )


def sampled(net: cs.Network, n_rows: int, rng: np.random.Generator) -> cs.Table:
    """Rows of a drawn network in all sources but the new one."""
    table = net.sample(n_rows, seed=rng)
    if net.source is None:
        return table
    names = tuple(name for name in net.variables[net.source].discrete_states if name != NEW_SOURCE)
    schema = cs.Schema(table.variables, cs.Variable(net.source, names))
    return cs.Table(schema, table.columns, table.source_codes)
