"""What is written is read back: networks in every format, rows in every kind of file, frames."""

from __future__ import annotations

import json
import pickle

import file_networks
import numpy as np
import table_equality
from click.testing import CliRunner
from inference_oracles import margin

import consilience as cs
from consilience.cli import main
from consilience.data.write import write_rows
from consilience.errors import ConsilienceError
from consilience.files.registry import FORMATS
from torture.cases import Case, prepare
from torture.discrete import near
from torture.harness import Topic


def model_files(case: Case) -> int:
    """Every format, packed and not, keeps all names, states and digits."""
    for extension in FORMATS:
        for packed in ("", ".gz"):
            path = case.folder / f"net{extension}{packed}"
            cs.save(case.net, path)
            file_networks.assert_same(cs.load(path), case.net)
    return 2 * len(FORMATS)


def pickled(case: Case) -> int:
    """Networks and tables survive the trip to another process."""
    file_networks.assert_same(pickle.loads(pickle.dumps(case.net)), case.net)
    table_equality.assert_same(pickle.loads(pickle.dumps(case.table)), case.table)
    return 2


def model_string(case: Case) -> int:
    """The model string is read back and is what is printed."""
    dag = case.net.dag
    text = dag.to_string()
    assert cs.DAG.parse(text) == dag, text
    assert str(dag) == text
    return 1


def frame(case: Case) -> int:
    """A frame gives the table again."""
    if not _is_writable(case.table):
        return 0
    weight = None if case.table.weights is None else "weight"
    data = case.table.to_frame()
    again = cs.read(data, source=case.table.source, weight=weight, schema=case.table.schema)
    table_equality.assert_same(again, case.table)
    return 1


def _is_writable(table: cs.Table) -> bool:
    """Whether no column has the name of the weights."""
    return table.weights is None or "weight" not in {*table.variables, table.source}


def row_files(case: Case) -> int:
    """Csv and parquet files give the table again, read with its schema."""
    if not _is_writable(case.table):
        return 0
    weight = None if case.table.weights is None else "weight"
    for extension in (".csv", ".csv.gz", ".parquet"):
        path = case.folder / f"rows{extension}"
        write_rows(case.table, path)
        again = cs.read(path, source=case.table.source, weight=weight, schema=case.table.schema)
        table_equality.assert_same(again, case.table)
    return 3


def read_rows(case: Case) -> int:
    """Rows read again with the network's variables are answered as before."""
    if not _is_writable(case.table):
        return 0
    weight = None if case.table.weights is None else "weight"
    path = case.folder / "again.csv"
    write_rows(case.table, path)
    again = cs.read(path, source=case.table.source, weight=weight, schema=case.net.variables)
    near(case.net.log_likelihood(again), case.net.log_likelihood(case.table), 1e-12)
    return 1


def command(case: Case) -> int:
    """``consilience query --json`` says what the joint says."""
    path = case.folder / "net.json"
    cs.save(case.net, path)
    given = {n: v.discrete_states[-1] for n, v in list(case.net.variables.items())[:2]}
    table, [name] = case.weighed(given), list(case.net.variables)[-1:]
    quoted = cs.data.quoted
    options = [f"--given={quoted(n, '=')}={quoted(state, '|')}" for n, state in given.items()]
    done = CliRunner().invoke(main, ["query", str(path), *options, "--json", "--", name])
    if not table.sum():
        assert done.exit_code == 1
        assert "Traceback" not in done.output
        return 1
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    numbers = np.array(_numbers(found), float)
    expected = margin(case.net, table, [name]) / table.sum()
    for p in expected:
        assert np.isclose(numbers, p, rtol=1e-9, atol=1e-12).any(), (p, found)
    return 1


def _numbers(found: object) -> list[float]:
    if isinstance(found, dict):
        return [n for value in found.values() for n in _numbers(value)]
    if isinstance(found, list):
        return [n for value in found for n in _numbers(value)]
    return [found] if isinstance(found, int | float) else []


def empty_names(case: Case) -> int:
    """Nothing can be called by the empty text."""
    for attempt in (
        lambda: cs.Variable("", ("a",)),
        lambda: cs.Variable("a", ("",)),
        lambda: cs.DAG([("", "a")]),
        lambda: case.net.query(""),
        lambda: cs.read({"": ["a"]}),
    ):
        try:
            attempt()
        except ConsilienceError:
            continue
        raise AssertionError("an empty name was taken")
    return 5


CLAIMS = {
    **{f.__name__: f for f in (model_files, pickled, model_string, frame, row_files, read_rows)},
    "command": command,
    "empty_names": empty_names,
}
TOPIC = Topic("kept", prepare, CLAIMS, n_trials=300)
