"""The cache of compiled kernels: shared by processes, and never in the way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from consilience.kernels.compile import IS_COMPILED, kernel

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")


def files(folder):
    from consilience.kernels.cache import Files

    return Files(cache_path=str(folder), filename_base="kernel", source_stamp=(1, 2))


def doubled(x):
    return 2 * x


def test_two_writers_at_once_never_leave_code_under_the_name_of_other_code(tmp_path, monkeypatch):
    one, two = files(tmp_path), files(tmp_path)
    save_data, save_index = one._save_data, one._save_index
    monkeypatch.setattr(two, "_load_index", dict)  # two looked before one had written

    def late(step):
        def run(*arguments):
            two.save("b", "code of b")
            step(*arguments)

        return run

    for name, step in (("_save_data", save_data), ("_save_index", save_index)):
        monkeypatch.setattr(one, name, late(step))
        one.save("a", "code of a")
        monkeypatch.setattr(one, name, step)
        assert files(tmp_path).load("a") in ("code of a", None)
        assert files(tmp_path).load("b") in ("code of b", None)


def test_a_writer_killed_after_an_upgrade_does_not_leave_old_code(tmp_path, monkeypatch):
    old, new = files(tmp_path), files(tmp_path)
    new._source_stamp = (3, 4)
    old.save("a", "old code")

    def killed(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(new, "_save_data", killed)
    with pytest.raises(KeyboardInterrupt):
        new.save("a", "new code")
    again = files(tmp_path)
    again._source_stamp = (3, 4)
    assert again.load("a") is None


def test_a_cache_on_a_full_disk_is_no_cache(monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("consilience.kernels.cache.Files._save_data", full)
    assert kernel(doubled)(2.5) == 5.0


@pytest.mark.parametrize("damage", [b"", b"\x80", b"\x80\x04\x8c\x030.1\x94."])
def test_a_damaged_cache_is_compiled_anew(tmp_path, monkeypatch, damage):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert kernel(doubled)(2) == 4
    for file in tmp_path.rglob("*.nb?"):
        file.write_bytes(damage)
    again = kernel(doubled)
    assert again(2) == 4
    assert sum(again.stats.cache_misses.values()) == 1


def test_code_whose_file_was_changed_since_it_was_imported_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "loops.py"
    source = "from consilience.kernels.compile import inner, kernel\n"
    source += "@inner\ndef step(x):\n    return x + 1\n"
    source += "@kernel\ndef stepped(x):\n    return step(x)\n"

    def imported(text):
        file.write_text(text)
        held = {"__name__": "loops"}
        exec(compile(text, file, "exec"), held)
        return held["stepped"]

    old = imported(source)
    file.write_text(source.replace("x + 1", "x + 200"))
    assert old(1) == 2
    monkeypatch.setattr("consilience.kernels.compile._STAMPS", {})
    assert imported(source.replace("x + 1", "x + 200"))(1) == 201


PROCESS = """
import sys
import numpy as np
from consilience.kernels.lattice import best_of_subsets

answers = {}
for dtype in sys.argv[1:]:
    values = np.sin(np.arange(32)).astype(dtype)
    best_of_subsets(values)
    answers[dtype] = values.tobytes().hex()
print(sorted(answers.items()))
"""


def test_four_processes_with_an_empty_cache_answer_alike(tmp_path):
    orders = [("f8", "f4"), ("f4", "f8"), ("f8", "f4"), ("f4", "f8")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, *order], env=environment, stdout=subprocess.PIPE
        )
        for order in orders
    ]
    answers = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(answers) == 1


def test_no_flipped_bit_is_loaded_or_reaches_the_caller(tmp_path):
    files(tmp_path).save("a", "code of a")
    for path in tmp_path.iterdir():
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
            assert files(tmp_path).load("a") in ("code of a", None)
        path.write_bytes(whole)


FORKING = """
import os, signal, threading, warnings
import numpy as np
from consilience.kernels.lattice import best_of_subsets
from consilience.kernels.watching import on_compiling

warnings.simplefilter("ignore")
begun = threading.Event()
compiling = threading.Thread(target=best_of_subsets, args=(np.arange(4.0),))
with on_compiling(lambda name: begun.set()):
    compiling.start()
    begun.wait()
if os.fork() == 0:
    signal.alarm(60)
    best_of_subsets(np.arange(4.0))
    os._exit(0)
compiling.join()
print(os.wait()[1])
"""


def test_a_fork_while_a_thread_compiles_does_not_stop_the_child(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FORKING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
