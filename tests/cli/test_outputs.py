"""What commands write: never what they read, never two things to one file, all of it or a word."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from commands import misused, passed, refused, run, write

import consilience as cs

ROWS = "a,b\n" + "x,u\ny,v\nx,u\ny,v\nx,v\n" * 4
OVERWRITES = {
    "predict": ("predict", "m.json", "rows.csv", "--target", "b", "-o"),
    "impute": ("impute", "m.json", "rows.csv", "-o"),
}
OTHERS = {
    "convert": ("convert", "m.json", "m.json"),
    "learn": ("learn", "rows.csv", "--structure", "m.json", "-o", "m.json"),
    "fuse": ("fuse", "m.json", "rows.csv", "-o", "m.json"),
    "fuse --plot": ("fuse", "m.json", "rows.csv", "--plot", "link.svg"),
    "show": ("show", "m.json", "--svg", "m.json"),
    "compare": ("compare", "m.json", "[a][b]", "rows.csv", "--svg", "rows.csv"),
    "sample": ("sample", "m.json", 3, "-o", "link.csv"),
    "evaluate": ("evaluate", "out/results.csv", "--target", "b", "-o", "out"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "rows.csv", ROWS)
    a, b = cs.Variable("a", ["x", "y"]), cs.Variable("b", ["u", "v"])
    tables = np.array([0.5, 0.5]), np.array([[0.7, 0.3], [0.2, 0.8]])
    families = [cs.Categorical(a, (), tables[0]), cs.Categorical(b, (a,), tables[1])]
    cs.save(cs.Network.of(families), "m.json")
    (tmp_path / "link.csv").symlink_to("m.json")
    (tmp_path / "link.svg").symlink_to("m.json")
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", "results.csv", ROWS)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def aliases(folder: Path) -> list[str]:
    (folder / "symbolic.csv").symlink_to("rows.csv")
    (folder / "hard.csv").hardlink_to("rows.csv")
    return ["rows.csv", "./rows.csv", "out/../rows.csv", "symbolic.csv", "hard.csv"]


@pytest.mark.parametrize("command", OVERWRITES)
def test_rows_that_are_read_are_not_overwritten_by_any_name(folder, command):
    names = [*aliases(folder), str(folder / "rows.csv")]
    before = contents(folder)
    for name in names:
        text = refused(*OVERWRITES[command], name)
        assert f"the output {str(Path(name))!r} would replace 'rows.csv', which is read" in text
    assert contents(folder) == before


@pytest.mark.parametrize("command", OVERWRITES)
def test_rows_that_are_read_are_overwritten_by_force(folder, command):
    passed(*OVERWRITES[command], "rows.csv", "--force")
    assert (folder / "rows.csv").read_text() != ROWS or command == "impute"


@pytest.mark.parametrize("command", OTHERS)
def test_no_command_overwrites_what_it_reads(folder, command):
    before = contents(folder)
    assert "which is read. Name another file" in refused(*OTHERS[command])
    assert contents(folder) == before


def test_a_model_may_be_converted_onto_itself_by_force(folder):
    before = contents(folder)
    passed(*OTHERS["convert"], "--force")
    assert contents(folder) == before


def test_two_outputs_are_two_files(folder):
    (folder / "vote.svg").symlink_to("fused.json")
    arguments = ("fuse", "m.json", "rows.csv", "-o", "fused.json", "--plot", "vote.svg", "--force")
    assert "'fused.json' and 'vote.svg' are the same file. Name two." in refused(*arguments)
    assert not (folder / "fused.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "none.json", "rows.csv", "--target", "b", "-o", "dir.csv"),
        ("learn", "none.csv", "--target", "b", "-o", "dir.json"),
        ("show", "none.json", "--svg", "dir.svg"),
        ("demo", "--svg", "dir.svg"),
    ],
)
def test_a_folder_as_output_is_refused_before_any_work(folder, arguments):
    (folder / arguments[-1]).mkdir()
    assert refused(*arguments) == f"error: {arguments[-1]!r} cannot be written: it is a folder.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("sample", "m.json", 3, "-o", "new.csv/"),
        ("convert", "m.json", "new.bif/"),
        ("show", "m.json", "--svg", "new.svg/"),
    ],
)
def test_a_name_that_ends_as_a_folder_does_is_no_file(folder, arguments):
    assert f"{arguments[-1]!r} is the name of a folder. Name a file." in misused(*arguments)
    assert not (folder / arguments[-1][:-1]).exists()


def test_results_need_a_folder(folder):
    assert "'rows.csv' is a file" in refused(
        "evaluate", "none.csv", "--target", "b", "-o", "rows.csv"
    )
    text = refused("evaluate", "none.csv", "--target", "b", "-o", "none/out")
    assert "'none/out' cannot be written: there is no folder 'none'" in text


def test_a_model_string_of_any_length_is_no_file():
    nodes = "".join(f"[n{k}]" for k in range(2_000))
    assert run("compare", nodes, nodes, "--svg", "pair.svg").exit_code == 0


# Standard output

COMMANDS = """
import json, os, sys
import pyarrow.csv, rich.console, scipy.special
import consilience as cs
from consilience.cli import main
from consilience.data import write
from consilience.kernels import propagation, sampling

cs.load, cs.read, cs.Network.sample
for k, (output, arguments) in enumerate(json.loads(sys.argv[1])):
    if os.fork() == 0:
        os.dup2(os.open(f"said{k}", os.O_CREAT | os.O_WRONLY), 2)
        if output == "full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        if output == "unread":
            reading, writing = os.pipe()
            os.close(reading)
            os.dup2(writing, 1)
        main(arguments)
    _, status = os.wait()
    os.write(2, f"{os.waitstatus_to_exitcode(status)}\\n".encode())
"""
"""Runs commands one after the other, each in a process that need not import everything anew."""

PRINTING = {
    "query": ("query", "m.json", "b"),
    "sample": ("sample", "m.json", "3"),
    "sample many": ("sample", "m.json", "50000"),
    "predict": ("predict", "m.json", "rows.csv", "--target", "b"),
    "help": ("--help",),
}


def ends(commands: Iterable[tuple[str, str]], prefix: Iterable[str] = ()) -> list[tuple[int, str]]:
    """The exit code and the errors of each command, with that kind of standard output."""
    told = json.dumps([(output, PRINTING[name]) for output, name in commands])
    command = [*prefix, sys.executable, "-W", "ignore", "-c", COMMANDS, told]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    codes = map(int, done.stderr.split())
    return [(code, Path(f"said{k}").read_text()) for k, code in enumerate(codes)]


def test_a_full_standard_output_is_one_line_and_a_pipe_that_nobody_reads_none():
    unread = ("query", "sample")
    found = ends([*(("full", name) for name in PRINTING), *(("unread", name) for name in unread)])
    assert len(found) == len(PRINTING) + 2
    said = "error: standard output cannot be written: No space left on device.\n"
    for code, errors in found[:-2]:
        assert (code, errors.splitlines(True)[-1:]) == (1, [said])
        assert "Traceback" not in errors
        assert "Exception ignored" not in errors
    assert found[-2:] == [(1, "")] * 2


def test_a_closed_standard_output_drops_what_is_printed():
    closing = ("sh", "-c", 'exec "$@" >&-', "sh")
    assert ends([("closed", "query"), ("closed", "sample")], closing) == [(0, "")] * 2
