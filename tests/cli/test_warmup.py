"""``consilience warmup``, and what a terminal is told while loops are compiled."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from click.testing import CliRunner

from consilience.cli import main
from consilience.cli.terminal import COMPILING
from consilience.demo import everyday
from consilience.kernels.watching import compiling, on_compiling


def test_listeners_are_told_while_the_block_runs():
    names = []
    with on_compiling(names.append):
        compiling("scoring.one")
    compiling("scoring.two")
    assert names == ["scoring.one"]


def test_warmup_says_how_many_loops_it_compiled(monkeypatch):
    monkeypatch.setattr(everyday, "TASKS", {"a": lambda: compiling("x.y"), "b": lambda: None})
    told = []
    done = everyday.warm_up(lambda share, words: told.append((share, words)))
    assert done.kernels == ("x.y",)
    assert told == [(0.0, "a"), (0.5, "b")]
    found = CliRunner().invoke(main, ["warmup"])
    assert found.exit_code == 0
    assert found.output == "1 loops compiled in 0 s\n"
    monkeypatch.setattr(everyday, "TASKS", {})
    found = CliRunner().invoke(main, ["warmup"])
    assert found.output == "all loops of everyday work were compiled before\n"


def test_the_tasks_compile_what_a_first_learn_and_query_need():
    for task in everyday.TASKS.values():
        task()
    names = []
    with on_compiling(names.append):
        everyday.warm_up(lambda *_: None)
    assert names == []  # everything is there already


SCRIPT = """
import sys
from consilience.cli.terminal import told_of_compiling
from consilience.kernels.watching import compiling
with told_of_compiling():
    compiling("a")
    compiling("b")
"""


def test_a_terminal_is_told_once_and_a_pipe_not_at_all():
    leader, follower = pty.openpty()
    subprocess.run([sys.executable, "-c", SCRIPT], stderr=follower, check=True)
    os.close(follower)
    assert os.read(leader, 1000).decode().split("\r\n") == [COMPILING, ""]
    os.close(leader)
    piped = subprocess.run([sys.executable, "-c", SCRIPT], stderr=subprocess.PIPE, check=True)
    assert piped.stderr == b""
