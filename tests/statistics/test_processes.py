"""Processes give the bits of the rows in memory, whatever happens to them and around them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scan_data import check_bits, hospitals, in_files, scanned

import consilience as cs
from consilience.errors import InputError, WorkerError
from consilience.statistics.engines import processes

TABLE = hospitals(60)
FAMILIES = [cs.Family("lung", ("smoke",))]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    files = in_files(TABLE, tmp_path_factory.mktemp("processes") / "whole", 3)
    return scanned(files, TABLE, engine=cs.engines.Processes(1))


@pytest.fixture(scope="module", autouse=True)
def none_left():
    yield
    while processes._IDLE:
        processes._IDLE.pop().end()


def _sleep(extent):
    time.sleep(1)


def _die(extent):
    os._exit(1)


class _ForeignError(Exception):
    def __init__(self, one, other):
        super().__init__(one)


def _fail(extent):
    raise _ForeignError("boom", 2)


def check_counts(rows):
    (found,), (expected,) = (cs.count(one, FAMILIES) for one in (rows, TABLE))
    np.testing.assert_array_equal(found.table, expected.table)


def test_the_bits_are_those_of_the_rows_in_memory(rows, tmp_path):
    gappy = hospitals(60, gaps=0.2)
    files = in_files(gappy, tmp_path / "gappy", 3)
    gappy_rows = scanned(files, gappy, engine=cs.engines.Processes(2))
    check_bits(rows, TABLE, gappy_rows, gappy)


def test_processes_that_died_between_two_requests_are_replaced(rows):
    check_counts(rows)
    for worker in processes._IDLE:
        worker.process.kill()
    check_counts(rows)


def test_a_process_killed_at_any_moment_of_a_request_is_replaced(rows):
    check_counts(rows)
    victim = processes._IDLE[-1].process
    with ThreadPoolExecutor(1) as pool:
        pool.submit(victim.kill)
        check_counts(rows)


def test_a_part_whose_processes_die_again_and_again_is_named(rows):
    with pytest.raises(WorkerError, match=r"processes died 4 times; .*'.*part-000\.parquet, row"):
        list(cs.engines.Processes(1).run(_die, rows._extents[:1]))


def test_parts_that_do_not_come_back_are_named_in_time_and_their_processes_ended(rows):
    with pytest.raises(WorkerError, match=r"for 0\.1 seconds no part came .*part-000\.parq"):
        list(cs.engines.Processes(1, patience=0.1).run(_sleep, rows._extents[:1]))
    check_counts(rows)


def test_an_error_that_cannot_be_packed_is_told_with_its_lines(rows):
    with pytest.raises(WorkerError, match=r"_ForeignError\('boom'\)") as caught:
        list(cs.engines.Processes(1).run(_fail, rows._extents[:1]))
    assert "in _fail" in caught.value.__notes__[0]


def test_work_that_cannot_be_sent_is_refused(rows):
    with pytest.raises(InputError, match="cannot be sent to another process"):
        list(cs.engines.Processes(1).run(lambda extent: None, rows._extents[:1]))


def test_threads_that_ask_at_once_get_the_same_bits(rows):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check_counts, [rows, rows]))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_was_forked_starts_its_own(rows):
    check_counts(rows)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        worker = processes._taken()
        os._exit(0 if worker.process._parent_pid == os.getpid() and worker.read() else 1)
    assert os.waitpid(child, 0)[1] == 0
    check_counts(rows)


SCRIPT = """
import sys, time
from consilience.statistics.engines.processes import _started
if __name__ == "__main__":
    worker = _started()
    print(worker.process.pid, worker.read(), flush=True)
    time.sleep(60)
"""


def _caller(tmp_path, preexec_fn=None):
    """A process of Python whose only process is ready, and the id of that one."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    caller = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=preexec_fn,
    )
    return caller, int(caller.stdout.readline().split()[0])


def _is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_processes_end_with_the_one_that_started_them_even_if_it_is_killed(tmp_path):
    caller, worker = _caller(tmp_path)
    caller.kill()
    caller.communicate()
    until = time.monotonic() + 30
    while not _is_gone(worker) and time.monotonic() < until:
        time.sleep(0.01)
    assert _is_gone(worker)


def test_an_interrupt_of_all_is_told_by_the_one_that_asked_alone(tmp_path, listening):
    caller, _ = _caller(tmp_path, listening)
    os.killpg(caller.pid, signal.SIGINT)
    told = caller.communicate()[1]
    assert told.count("KeyboardInterrupt") == 1
