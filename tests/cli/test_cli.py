from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import misused, passed, refused, run, write

import consilience as cs
from consilience.cli import main
from consilience.errors import DataError

ROWS = """hospital,smoke,cough,age
north,yes,yes,71.5
north,no,no,64.25
north,no,,40.5
south,yes,no,55.75
"""


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write(tmp_path, "rows.csv", ROWS)


@pytest.fixture
def model(tmp_path: Path) -> str:
    table = cs.read(
        {"north": {"smoke": ["yes", "no"], "cough": ["yes", "no"]}, "south": {"smoke": ["no"]}},
        source="hospital",
    )
    path = tmp_path / "model.json"
    dag = cs.DAG([("hospital", "smoke"), ("smoke", "cough")])
    cs.save(cs.fit(dag, table, cs.Dirichlet(ess=1)), path)
    return str(path)


# The group


def test_the_version_is_the_package_version():
    assert passed("--version") == f"consilience, version {cs.__version__}\n"


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_help_text_has_an_example(command):
    assert f"consilience {command} " in passed(command, "--help").split("Example")[1]


def test_importing_the_command_line_loads_no_heavy_library():
    code = (
        "import sys, consilience.cli;"
        "print({'numpy', 'numba', 'pyarrow', 'pandas', 'rich'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"


def test_the_installed_command_runs():
    command = Path(sys.executable).with_name("consilience")
    if not command.exists():
        pytest.skip("the command is not installed beside the interpreter")
    shown = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert cs.__version__ in shown.stdout


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "consilience"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert cs.__version__ in shown.stdout
    lacking = [*command, "show"]
    failed = subprocess.run(lacking, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert failed.stderr.startswith("Usage: consilience show")


# How commands fail


def test_a_missing_file_is_one_line(tmp_path):
    assert "there is no file" in refused("show", tmp_path / "none.json")


def test_an_error_of_several_lines_is_printed_as_one(monkeypatch, model):
    def fail(*_args, **_choices):
        raise cs.ConsilienceError("first\n  second")

    monkeypatch.setattr("consilience.load", fail)
    assert refused("show", model) == "error: first second\n"


def test_a_file_that_cannot_be_written_is_one_line(tmp_path, model):
    assert "x.svg' cannot be written: there is no folder" in refused(
        "show", model, "--svg", tmp_path / "none" / "x.svg"
    )


def test_an_unexpected_exception_is_not_swallowed(monkeypatch, model):
    def fail(*_args, **_choices):
        raise ZeroDivisionError

    monkeypatch.setattr("consilience.load", fail)
    assert isinstance(run("show", model).exception, ZeroDivisionError)


def test_an_interrupt_exits_with_130(monkeypatch, model):
    def interrupt(*_args, **_choices):
        raise KeyboardInterrupt

    monkeypatch.setattr("consilience.load", interrupt)
    result = run("show", model)
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


# learn


def test_a_target_alone_means_naive_bayes(rows, tmp_path):
    out = tmp_path / "model.json"
    text = passed("learn", rows, "--source", "hospital", "--target", "cough", "--discrete", "age",
                  "--parameters", "dirichlet", "-o", out)  # fmt: skip
    net = cs.load(out)
    assert net.dag.arcs == (("cough", "smoke"), ("cough", "age"))
    assert net.source == "hospital"
    assert f"written to  {out}" in text


def test_the_summary_counts_rows_sources_and_gaps(rows):
    text = passed("learn", rows, "--source", "hospital", "--structure", "[smoke][cough|smoke]",
                  "--ess", "1")  # fmt: skip
    assert "rows        4" in text
    assert "2 in 'hospital': north, south" in text
    assert "parameters  4" in text
    (family,) = [line for line in text.splitlines() if line.startswith("cough | smoke")]
    assert family.split()[-4:] == ["3", "1", "2", "0"]
    assert "EM() with Dirichlet" in text
    assert "missing at random" in text


def test_a_structure_without_the_source_is_said_to_be_pooled(rows):
    text = passed("learn", rows, "--source", "hospital", "--structure", "[smoke]",
                  "--parameters", "mle")  # fmt: skip
    assert "pooled over the 2 sources; --by-source gives each its own" in text


def test_by_source_makes_the_source_the_first_parent_of_every_node(rows, tmp_path):
    out = tmp_path / "m.json"
    text = passed("learn", rows, "--source", "hospital", "--structure", "[smoke][cough|smoke]",
                  "--by-source", "--ess", "1", "-o", out)  # fmt: skip
    net = cs.load(out)
    assert (net["smoke"].parents, net["cough"].parents) == (("hospital",), ("hospital", "smoke"))
    assert "Each of the 2 sources has tables of its own" in text


def test_a_model_string_may_give_the_source_to_some_nodes(rows):
    structure = "[hospital][smoke|hospital][cough]"
    text = passed("learn", rows, "--source", "hospital", "--structure", structure)
    assert "The tables of smoke depend on the source; the others are pooled" in text


def test_by_source_needs_sources(rows):
    text = refused("learn", rows, "--structure", "[smoke]", "--by-source")
    assert "--by-source needs rows of several sources" in text


def test_a_structure_can_be_the_graph_of_a_model_file(rows, model):
    text = passed("learn", rows, "--source", "hospital", "--structure", model)
    assert "arcs        2" in text


def test_several_files_are_sources_named_after_them(tmp_path):
    with gzip.open(tmp_path / "north.csv.gz", "wt") as file:
        file.write("x\na\nb\n")
    south = write(tmp_path, "south.csv", "x\na\n")
    text = passed("learn", tmp_path / "north.csv.gz", south, "--structure", "[x]")
    assert "sources     2 in 'source': north, south" in text


def test_several_files_with_a_source_column_are_appended(tmp_path, rows):
    more = write(tmp_path, "more.csv", "hospital,smoke\neast,yes\n")
    text = passed("learn", rows, more, "--source", "hospital", "--structure", "[smoke]")
    assert "rows        5" in text
    assert "north, south, east" in text


def test_two_files_of_one_name_are_refused(tmp_path, rows):
    (tmp_path / "b").mkdir()
    again = write(tmp_path / "b", "rows.csv", ROWS)
    assert "two files would be the source 'rows'" in refused(
        "learn", rows, again, "--structure", "[smoke]"
    )


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (["--parameters", "mle"], "MLE()"),
        (["--parameters", "shrinkage"], "Shrinkage("),
        (["--ess", "3"], "Dirichlet(ess=3.0)"),
        ([], "HDC()"),
    ],
)
def test_parameters_choose_the_estimator(rows, options, method):
    assert method in passed("learn", rows, "--structure", "[smoke]", *options)


@pytest.mark.parametrize(
    ("how", "n_parameters"),
    [("quantiles:4", 3), ("width:3", 2), ("cuts:50,60,70", 3), ("mdlp:smoke", 0)],
)
def test_numbers_can_be_discretised(rows, how, n_parameters):
    text = passed("learn", rows, "--structure", "[age]", "--discretize", f"age={how}")
    assert f"parameters  {n_parameters}" in text


@pytest.mark.parametrize(
    "how", ["quantiles", "quantiles:x", "cuts:1,b", "mdlp:", "thirds:3", "", "cuts:"]
)
def test_a_discretisation_that_is_not_understood_is_named(rows, how):
    last = misused("learn", rows, "--structure", "[age]", "--discretize", f"age={how}")
    assert f"--discretize 'age={how}'" in last


def test_the_bounds_of_the_library_hold_for_discretisation(rows):
    text = refused("learn", rows, "--structure", "[age]", "--discretize", "age=quantiles:1")
    assert "bins must be a whole number of at least 2" in text


def test_a_column_can_be_declared_continuous(tmp_path):
    counts = write(tmp_path, "counts.csv", "n\n1\n2\n4\n")
    text = passed("learn", counts, "--structure", "[n]", "--continuous", "n")
    assert "parameters  2" in text  # mean and variance


def test_missing_texts_replace_the_question_mark(tmp_path):
    path = write(tmp_path, "x.csv", "x,y\na,1\n?,1\nNA,1\n,1\n")
    default = passed("learn", path, "--structure", "[x]")
    chosen = passed("learn", path, "--structure", "[x]", "--missing", "NA", "--missing", "a")
    assert "parameters  1" in default  # a, NA
    assert "parameters  0" in chosen  # ?


def test_weights_count_as_rows(tmp_path):
    path = write(tmp_path, "x.csv", "x,n\na,3\nb,1\n")
    out = tmp_path / "m.json"
    text = passed("learn", path, "--structure", "[x]", "--weight", "n", "--parameters", "mle",
                  "-o", out)  # fmt: skip
    assert "weight      4" in text
    np.testing.assert_array_equal(cs.load(out)["x"].table, [0.75, 0.25])


def test_a_bad_output_is_refused_before_the_data_are_read(tmp_path):
    none = tmp_path / "none.csv"
    assert "'m.pickle'" in refused("learn", none, "--target", "x", "-o", "m.pickle")
    folder = tmp_path / "none" / "m.json"
    assert "there is no folder" in refused("learn", none, "--target", "x", "-o", folder)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--structure", "naive-bayes"], "naive-bayes needs --target"),
        (["--structure", "[smoke]", "--target", "cough"], "--target goes with"),
        (["--structure", "[smoke]", "--parameters", "mle", "--ess", "1"], "--ess goes with"),
    ],
)
def test_options_that_do_not_go_together_are_named(rows, options, said):
    assert said in misused("learn", rows, *options)


def test_without_a_graph_and_a_target_the_graph_is_learned(rows, tmp_path):
    passed("learn", rows, "-o", tmp_path / "m.json")
    assert cs.load(tmp_path / "m.json").dag == cs.learn(cs.read(rows))


def test_a_structure_that_is_nothing_known_is_refused(rows):
    text = refused("learn", rows, "--structure", "tree")
    assert "'tree' is not a file, nor a model string such as '[A][B|A]', nor 'naive-bayes'" in text


# sample


def test_rows_are_printed_as_csv_with_the_source_first(model):
    lines = list(csv.reader(io.StringIO(passed("sample", model, 20, "--seed", 1))))
    assert lines[0] == ["hospital", "smoke", "cough"]
    assert len(lines) == 21
    assert {line[0] for line in lines[1:]} <= {"north", "south"}


def test_the_same_seed_prints_the_same_rows(model):
    assert passed("sample", model, 50, "--seed", 7) == passed("sample", model, 50, "--seed", 7)


def test_given_states_hold_in_all_rows(model):
    lines = passed("sample", model, 9, "--given", "hospital=south").splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"south"}


@pytest.mark.parametrize("extension", [".csv", ".csv.gz", ".parquet"])
def test_sampled_rows_come_back_from_their_file(model, tmp_path, extension):
    out = tmp_path / f"rows{extension}"
    assert "30 rows written to" in passed("sample", model, 30, "--seed", 1, "-o", out)
    net = cs.load(model)
    again = cs.read(out, source="hospital", schema=net.variables)
    np.testing.assert_array_equal(again.column("cough"), net.sample(30, seed=1).column("cough"))


@pytest.mark.parametrize("given", ["hospital", "=north", "hospital="])
def test_given_without_node_and_state_is_named(model, given):
    assert misused("sample", model, 1, "--given", given).endswith("expected NODE=STATE.")


def test_a_state_may_hold_an_equals_sign(tmp_path):
    path = tmp_path / "m.json"
    cs.save(cs.fit(cs.DAG(nodes=["x"]), cs.read({"x": ["a=b", "c"]})), path)
    assert passed("sample", path, 2, "--given", "x=a=b") == "x\na=b\na=b\n"


def test_rows_can_be_drawn_given_an_effect(model):
    rows = csv.DictReader(io.StringIO(passed("sample", model, 9, "--given", "cough=yes")))
    assert {row["cough"] for row in rows} == {"yes"}


def test_an_unknown_state_is_named(model):
    assert "no state 'mars'" in refused("sample", model, 1, "--given", "hospital=mars")


def test_rows_for_an_unknown_extension_are_refused_before_the_model_is_read(tmp_path):
    text = refused("sample", tmp_path / "none.json", 5, "-o", tmp_path / "rows.xlsx")
    assert "'rows.xlsx'" in text


# convert


@pytest.mark.parametrize("extension", [".bif", ".xmlbif", ".xdsl", ".net", ".json.gz"])
def test_a_network_passes_through_another_format(model, tmp_path, extension):
    out = tmp_path / f"model{extension}"
    assert "3 nodes written to" in passed("convert", model, out)
    np.testing.assert_array_equal(cs.load(out)["cough"].table, cs.load(model)["cough"].table)


def test_the_source_can_be_said_when_converting(model, tmp_path):
    passed("convert", model, tmp_path / "m.net")
    passed("convert", tmp_path / "m.net", tmp_path / "m.json", "--source", "hospital")
    assert cs.load(tmp_path / "m.json").source == "hospital"


def test_many_notes_are_cut_short(tmp_path):
    nodes = [cs.Categorical(cs.Variable(f"x{i}", ("a", "b")), (), [0.5, 0.5]) for i in range(9)]
    cs.save(cs.Network.of(nodes), tmp_path / "m.bif")
    text = (tmp_path / "m.bif").read_text().replace("0.5, 0.5", "0.5, 0.4999")
    (tmp_path / "off.bif").write_text(text)
    shown = passed("convert", tmp_path / "off.bif", tmp_path / "m.json")
    assert shown.count("note: ") == 6
    assert "and 4 more" in shown


# show


def test_show_describes_the_network(model):
    text = passed("show", model)
    assert "3 nodes" in text
    assert "depends on the source hospital" in text


def test_show_prints_the_table_of_a_node(model):
    text = passed("show", model, "--node", "cough", "--rows", 1)
    assert text.startswith("P(cough | smoke)")
    assert "1 more row" in text


def test_show_writes_a_picture(model, tmp_path):
    passed("show", model, "--svg", tmp_path / "m.svg")
    assert (tmp_path / "m.svg").read_text().startswith("<svg ")


def test_show_draws_beliefs_and_sets_off_what_is_known(model, tmp_path):
    net = cs.load(model)
    node = next(n for n in net.variables if n != net.source)
    state = net.variables[node].discrete_states[0]
    passed("show", model, "--given", f"{node}={state}", "--svg", tmp_path / "known.svg")
    text = (tmp_path / "known.svg").read_text(encoding="utf-8")
    assert 'font-weight="700"' in text
    assert "100.0%" in text
    assert all(s in text for s in net.variables[node].discrete_states)


def test_show_says_where_beliefs_are_drawn(model):
    assert "--svg" in misused("show", model, "--given", "x=1")


def test_show_names_an_unknown_node(model):
    assert "Did you mean 'smoke'?" in refused("show", model, "--node", "smoek")


# score


def test_score_is_the_log_likelihood_of_the_library(model, tmp_path):
    rows = tmp_path / "rows.csv"
    passed("sample", model, 40, "--seed", 3, "-o", rows)
    net = cs.load(model)
    each = net.log_likelihood(net.sample(40, seed=3))
    scores = json.loads(passed("score", model, rows, "--json"))
    assert scores["log_likelihood"] == pytest.approx(each.sum(), rel=1e-12)
    assert scores["per_row"] == pytest.approx(each.mean(), rel=1e-12)
    assert scores["parameters"] == net.n_parameters
    assert scores["aic"] == pytest.approx(each.sum() - net.n_parameters, rel=1e-12)
    penalty = net.n_parameters * np.log(40) / 2
    assert scores["bic"] == pytest.approx(each.sum() - penalty, rel=1e-12)
    parts = scores["by_source"].values()
    assert sum(part["log_likelihood"] for part in parts) == pytest.approx(each.sum(), rel=1e-12)


def test_score_prints_a_table_by_source(model, tmp_path):
    rows = write(tmp_path, "x.csv", "hospital,smoke,cough\nnorth,yes,yes\nsouth,no,no\n")
    text = passed("score", model, rows)
    assert "log-likelihood" in text
    assert [line.split()[:2] for line in text.splitlines()[-2:]] == [["north", "1"], ["south", "1"]]


def test_weight_two_scores_as_two_rows(model, tmp_path):
    once = write(tmp_path, "a.csv", "hospital,smoke,cough\nnorth,yes,yes\nnorth,yes,yes\n")
    twice = write(tmp_path, "b.csv", "hospital,smoke,cough,n\nnorth,yes,yes,2\n")
    weighted = json.loads(passed("score", model, twice, "--weight", "n", "--json"))
    assert weighted == json.loads(passed("score", model, once, "--json"))


def test_rows_with_gaps_are_scored_or_refused_by_the_library(model, tmp_path):
    rows = write(tmp_path, "x.csv", "hospital,smoke,cough\nnorth,yes,\n")
    net = cs.load(model)
    table = cs.read(rows, source="hospital", schema=net.variables)
    result = run("score", model, rows, "--json")
    if result.exit_code == 0:
        expected = net.log_likelihood(table).sum()
        assert json.loads(result.stdout)["log_likelihood"] == pytest.approx(expected, rel=1e-12)
    else:
        with pytest.raises(DataError) as caught:
            net.log_likelihood(table)
        assert str(caught.value) in result.stderr


def test_an_impossible_row_is_counted_and_has_no_number(tmp_path):
    path = tmp_path / "m.json"
    cs.save(cs.Network.of([cs.Categorical(cs.Variable("x", ("a", "b")), (), [1.0, 0.0])]), path)
    rows = write(tmp_path, "x.csv", "x\na\nb\n")
    assert "1 rows have probability zero" in passed("score", path, rows)
    scores = json.loads(passed("score", path, rows, "--json"))
    assert (scores["log_likelihood"], scores["bic"], scores["impossible_rows"]) == (None, None, 1)


def test_no_rows_cannot_be_scored(model, tmp_path):
    rows = write(tmp_path, "x.csv", "hospital,smoke,cough\n")
    assert "no rows to score" in refused("score", model, rows)


def test_output_is_plain_when_it_is_not_a_terminal(rows):
    assert "\x1b" not in passed("learn", rows, "--source", "hospital", "--structure", "[smoke]")


def test_names_that_look_like_markup_are_printed_as_they_are(tmp_path):
    path = write(tmp_path, "x.csv", "[red],:smile:\na,b\n,b\n")
    text = passed("learn", path, "--target", "[red]")
    assert ":smile: | [red]" in text


def test_a_terminal_that_lacks_a_letter_shows_a_question_mark(model):
    command = [sys.executable, "-c", "from consilience.cli import main; main()", "show", model]
    western = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    shown = subprocess.run(command, env=western, capture_output=True, check=True)
    assert b"? cough" in shown.stdout


@pytest.mark.data
def test_the_published_log_likelihood_of_asia(data_dir, tmp_path):
    rows, out = data_dir / "bnlearn" / "asia.csv", tmp_path / "asia.json"
    structure = "[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]"
    passed("learn", rows, "--structure", structure, "--parameters", "mle", "-o", out)
    scores = json.loads(passed("score", out, rows, "--json"))
    assert scores["log_likelihood"] == pytest.approx(-11033.087133770858, rel=1e-9)
    assert scores["parameters"] == 18
