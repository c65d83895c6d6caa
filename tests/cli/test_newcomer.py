"""A newcomer's session on the rows of the demo: the mistakes that people make, and interrupts.

Each mistake has its text and its exit code.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import passed, refused, run, write

import consilience as cs

CONSILIENCE = [sys.executable, "-c", "from consilience.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows of the demo and the model of the README."""
    folder = tmp_path_factory.mktemp("session")
    passed("demo", "--save", folder / "demo")
    names = ("university", "city", "island")
    files = [folder / "demo" / f"{name}.csv" for name in names]
    passed("learn", *files, "--target", "disease", "--structure", "tan", "-o", folder / "m.json")
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*CONSILIENCE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


MISTAKES = [
    (("query", "none.json", "disease"), 1, "error: there is no file 'none.json'."),
    (("learn", "none.csv"), 1, "error: there is no file 'none.csv'."),
    (("learn", "m.json"), 1, "cannot be read as a table"),
    (("query", "demo/city.csv", "disease"), 1, "unknown extension '.csv'"),
    (("query", "m.json", "desease"), 1, "unknown node 'desease'. Did you mean 'disease'?"),
    (
        ("query", "m.json", "disease", "--given", "troponin=hihg"),
        1,
        "variable 'troponin' has no state 'hihg'. Did you mean 'high'?",
    ),
    (
        ("query", "m.json", "disease", "--given", "sex=Male"),
        1,
        "variable 'sex' has no state 'Male'. Did you mean 'male'?",
    ),
    (("query", "m.json", "disease", "--given", "troponin"), 2, "expected NODE=STATE."),
    (("query", "m.json"), 2, "Missing argument 'NODE...'."),
    (("query", "m.json", "disease", "--gievn", "a=b"), 2, "No such option"),
    (("qeury", "m.json", "disease"), 2, "No such command 'qeury'."),
    (("predict", "m.json", "demo/city.csv"), 2, "Missing option '--target'."),
    (
        ("predict", "m.json", "demo/city.csv", "--target", "disease", "--source", "town"),
        1,
        "unknown column 'town'",
    ),
    (("learn", "demo/city.csv", "--require", "age"), 2, "expected FROM:TO."),
    (("learn", "demo/city.csv", "--require", "age:desease"), 1, "Did you mean 'disease'?"),
    (("learn", "demo/city.csv", "-o", "model.pkl"), 1, "cannot be written to 'model.pkl'"),
    (("convert", "m.json", "none/m.bif"), 1, "there is no folder 'none'"),
]


@pytest.mark.parametrize(("command", "code", "told"), MISTAKES, ids=lambda x: str(x)[:60])
def test_a_mistake_is_told_in_a_line_and_has_its_exit_code(here, command, code, told):
    result = run(*command)
    assert result.exit_code == code, result.output
    assert told in result.stderr.splitlines()[-1]
    assert (result.stderr.count("\n") == 1) == (code == 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(here):
    path = Path(write(here, "secret.csv", "a\nb\n"))
    path.chmod(0)
    assert "secret.csv" in refused("learn", path)


def test_a_missing_file_is_told_at_once(here):
    before = seconds_of_children()
    for _ in range(3):
        found = process("query", "none.json", "disease")
        assert (found.returncode, found.stderr) == (1, "error: there is no file 'none.json'.\n")
    assert (seconds_of_children() - before) / 3 < 0.3


def test_a_question_takes_less_than_a_second(here):
    question = ("query", "m.json", "disease", "--given", "troponin=high")
    assert process(*question).returncode == 0
    seconds = []
    for _ in range(3):
        before = seconds_of_children()
        assert process(*question).returncode == 0
        seconds.append(seconds_of_children() - before)
    assert min(seconds) < 1.0


def test_a_reader_that_closes_the_pipe_hears_nothing_more(here):
    command = [*CONSILIENCE, "sample", "m.json", "200000", "--seed", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sampling:
        assert sampling.stdout.readline().startswith(b"source,")
        sampling.stdout.close()
        assert sampling.stderr.read() == b""


def test_an_interrupt_ends_a_command_with_130(here, listening):
    code = (
        "import consilience as cs, os, signal\n"
        "from consilience.cli import main\n"
        "def load(*a, **k): os.kill(os.getpid(), signal.SIGINT)\n"
        "cs.load = load\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "query", "m.json", "disease"]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=listening
    )
    assert (found.returncode, found.stderr) == (130, "interrupted\n")


SEARCHING = """
import consilience as cs
from pathlib import Path
from consilience.cli import main

searched = cs.search
cs.search = lambda *a, **k: searched(*a, **{**k, "progress": lambda *_: Path("begun").touch()})
main()
"""
"""The command line, with a file that says when the search has made a step."""


def test_an_interrupted_search_writes_the_best_graph_so_far_and_ends_with_130(tmp_path, listening):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 3, (2000, 30)), columns=[f"x{i}" for i in range(30)])
    frame.astype(str).to_csv(tmp_path / "rows.csv", index=False)
    options = ["--structure", "hc", "--restarts", "10000000", "-o", "best.json"]
    with subprocess.Popen(
        [sys.executable, "-c", SEARCHING, "learn", "rows.csv", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=listening,
    ) as learning:
        while learning.poll() is None and not (tmp_path / "begun").exists():
            time.sleep(0.05)
        assert learning.poll() is None
        learning.send_signal(signal.SIGINT)
        out, err = learning.communicate(timeout=120)
    assert learning.returncode == 130, err
    assert err == "interrupted: the best graph so far is written\n"
    assert "The search was interrupted; the graph is the best one so far." in out
    assert len(cs.load(tmp_path / "best.json").dag.nodes) == 30


def test_a_file_is_from_the_source_that_it_is_named_after(here):
    predict = ("predict", "m.json", "demo/island.csv", "--target", "disease")
    of_island = run(*predict)
    assert "demo/island.csv is from 'island'" in of_island.stderr
    named = run(*predict, "--source-name", "city")
    assert "demo/island.csv is from 'city'" in named.stderr
    assert named.stdout != of_island.stdout
    new = run("predict", "m.json", "demo/harbor.csv", "--target", "disease")
    assert "harbor (150 rows): not known to the model, taken as 'new_source'" in new.stderr
    assert (
        "no column 'source': the source was summed out" in run(*predict, "--source-name", "").stderr
    )
    net, rows = cs.load("m.json"), cs.read("demo/island.csv").to_frame()
    expected = net.query("disease", given={**rows.iloc[0].drop("disease"), "source": "island"})
    assert of_island.stdout.splitlines()[0] == "predicted,P(yes),P(no)"
    shown = float(of_island.stdout.splitlines()[1].split(",")[1])
    assert shown == pytest.approx(expected["yes"])


def test_a_source_name_must_not_contradict_a_column(here, tmp_path):
    first, *others = Path("demo/island.csv").read_text().splitlines()
    text = "\n".join([f"source,{first}", *(f"city,{line}" for line in others)])
    rows = write(tmp_path, "rows.csv", text)
    command = ("predict", "m.json", rows, "--target", "disease", "--source-name", "island")
    assert "names the sources" in refused(*command)
