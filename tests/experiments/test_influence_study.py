from __future__ import annotations

import influence
import numpy as np
import pytest
from click.testing import CliRunner

import consilience as cs


def small(monkeypatch):
    monkeypatch.setattr(influence, "N_MODELS", 3)
    monkeypatch.setattr(influence, "N_ARCS", 3)
    monkeypatch.setattr(influence, "N_TEST", 200)
    monkeypatch.setattr(influence, "SIZES", (50, 100))


def test_the_truth_has_the_size_of_the_papers():
    dag, groups, net = influence.truth(5.0, np.random.default_rng(1))
    assert (len(dag.nodes), len(dag.arcs)) == (10, 24)
    assert max(len(dag.parents(node)) for node in dag.nodes) == 3
    assert all(len(names) == 5 for names in groups.values())
    assert {variable.n_states for variable in net.variables.values()} == {3}


def test_rows_of_a_larger_size_begin_with_those_of_a_smaller_one(monkeypatch):
    small(monkeypatch)
    seen = []

    def keep(table, *rest, **choices):
        seen.append(table)
        return cs.latent.influence_network(cs.DAG(nodes=list(rest[0])), table, *rest, **choices)

    monkeypatch.setattr(influence.cs, "influence", keep)
    for n_rows in (50, 100):
        influence.compared(influence.Cell(5.0, n_rows, 0))
    name = next(iter(seen[0].variables))
    assert seen[0].column(name).tolist() == seen[1].column(name)[:50].tolist()


def test_a_run_ends_in_tables_and_a_figure(tmp_path, monkeypatch):
    small(monkeypatch)
    options = ["--out", str(tmp_path)]
    told = ["run", "--repeats", "2", "--sizes", "50,100", "--prior", "5", *options]
    done = CliRunner().invoke(influence.main, told)
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(influence.main, ["summary", *options])
    assert told.exit_code == 0, told.output
    assert "| rows | random | none | learned | true |" in told.output
    assert "Worse than none by two standard errors at" in told.output
    assert {path.name for path in tmp_path.iterdir()} == {
        "figure.jsonl",
        "tables.md",
        "influence.png",
    }


def test_the_study_of_classes_tells_how_often_the_number_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(influence, "CLASS_ROWS", 300)
    monkeypatch.setattr(influence, "MOST_CLASSES", 4)
    told = ["classes", "--repeats", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(influence.main, told)
    assert done.exit_code == 0, done.output
    assert "| number of classes found | " in done.output


@pytest.mark.data
def test_stays_have_three_states_where_they_were_measured(data_dir):
    table = influence.stays()
    assert table.variables["creatinine"].n_states == 3
    assert table.missing["all"]["creatinine"] > 0.2
