"""Files are written whole or not at all, by the one door that all writers share."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import consilience as cs
from consilience import _write
from consilience.data.write import write_rows
from consilience.errors import ConsilienceError, MissingFileError, WriteError


def network(n_states: int = 2) -> cs.Network:
    variable = cs.Variable("x", [f"s{k}" for k in range(n_states)])
    return cs.Network.of([cs.Categorical(variable, (), np.full(n_states, 1 / n_states))])


WRITERS = {
    "model.json": lambda path: cs.save(network(), path),
    "model.bif.gz": lambda path: cs.save(network(), path),
    "rows.csv": lambda path: write_rows(network().sample(5, seed=1), path),
    "rows.csv.gz": lambda path: write_rows(network().sample(5, seed=1), path),
    "rows.parquet": lambda path: write_rows(network().sample(5, seed=1), path),
    "text.svg": lambda path: _write.write_text(cs.svg(network()), path),
}
each_writer = pytest.mark.parametrize("name", WRITERS)


def only(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@each_writer
def test_a_file_keeps_its_mode(tmp_path, name):
    file = tmp_path / name
    file.touch()
    file.chmod(0o640)
    WRITERS[name](file)
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.stat().st_size > 0


@each_writer
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, name):
    old = os.umask(0o027)
    try:
        WRITERS[name](tmp_path / name)
    finally:
        os.umask(old)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o640


@each_writer
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link_and_its_file_is_written(tmp_path, name, is_there):
    (tmp_path / "far").mkdir()
    file, link = tmp_path / "far" / "file", tmp_path / name
    if is_there:
        file.touch()
    link.symlink_to(Path("far") / "file")
    WRITERS[name](link)
    assert link.is_symlink()
    assert file.stat().st_size > 0
    assert only(tmp_path / "far") == ["file"]


@each_writer
def test_a_folder_is_no_file_to_write(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(WriteError, match=f"{name}' cannot be written: it is a folder") as caught:
        WRITERS[name](tmp_path / name)
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == errno.EISDIR
    assert caught.value.culprits["file"] == str(tmp_path / name)
    assert only(tmp_path) == [name]


@each_writer
def test_a_missing_folder_is_told_with_the_file(tmp_path, name):
    with pytest.raises(MissingFileError, match=f"none/{name}' cannot be written: there is no fold"):
        WRITERS[name](tmp_path / "none" / name)


def test_a_name_that_ends_as_a_folder_does_is_no_file(tmp_path):
    with pytest.raises(WriteError, match="folder"):
        cs.save(network(), f"{tmp_path / 'new.json'}/")
    assert only(tmp_path) == []


def test_a_link_into_a_folder_that_is_not_there_names_that_folder(tmp_path):
    (tmp_path / "d.json").symlink_to(Path("nowhere", "x.json"))
    with pytest.raises(MissingFileError, match=r"no folder '.*nowhere'"):
        cs.save(network(), tmp_path / "d.json")


def test_the_draft_of_a_private_file_is_private(tmp_path):
    file = tmp_path / "text"
    file.touch(mode=0o600)
    with _write.written(file):
        (draft,) = tmp_path.glob(".*.part")
        assert draft.stat().st_mode & 0o777 == 0o600


def test_a_link_to_itself_cannot_be_written(tmp_path):
    link = tmp_path / "loop.json"
    link.symlink_to(link)
    with pytest.raises(WriteError, match=r"loop\.json"):
        cs.save(network(), link)
    assert link.is_symlink()


def test_a_name_that_is_too_long_is_one_error(tmp_path):
    with pytest.raises(WriteError, match="name too long"):
        cs.save(network(), tmp_path / f"{'m' * 300}.json")


def test_the_longest_name_can_be_written(tmp_path):
    cs.save(network(), tmp_path / f"{'m' * 250}.json")
    assert only(tmp_path) == [f"{'m' * 250}.json"]


@pytest.mark.parametrize("problem", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch, problem, step):
    def fail(*_arguments):
        raise OSError(problem, os.strerror(problem))

    file = tmp_path / "model.json"
    file.write_text("old")
    monkeypatch.setattr(step, fail)
    with pytest.raises(WriteError, match=r"model\.json' cannot be written: ") as caught:
        cs.save(network(), file)
    assert caught.value.errno == problem
    assert file.read_text() == "old"
    assert only(tmp_path) == ["model.json"]


FULL = """
import resource, sys
import consilience as cs
from consilience.data.write import write_rows
net = cs.load(sys.argv[1])
rows = net.sample(5_000, seed=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for path in sys.argv[2:]:
    try:
        cs.save(net, path) if "model" in path else write_rows(rows, path)
    except cs.ConsilienceError as problem:
        print(type(problem).__name__, problem.errno, problem)
"""


def test_a_disk_that_fills_up_leaves_the_old_files(tmp_path):
    # A limit on the size of files stands for the full disk: the system refuses in the same place.
    model = tmp_path / "in.json"
    cs.save(network(3_000), model)
    names = ["model.json", "model.bif", "rows.csv", "rows.csv.gz", "rows.parquet"]
    for name in names:
        (tmp_path / name).write_text("old")
    files = [str(tmp_path / name) for name in names]
    command = [sys.executable, "-c", FULL, str(model), *files]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    told = [
        f"WriteError {errno.EFBIG} {file!r} cannot be written: file too large." for file in files
    ]
    assert result.stdout.splitlines() == told
    assert sorted(only(tmp_path)) == sorted([*names, "in.json"])
    assert {(tmp_path / name).read_text() for name in names} == {"old"}


def test_an_interrupted_write_leaves_the_old_file_and_no_draft(tmp_path):
    file = tmp_path / "text"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(file)
    assert file.read_text() == "old"
    assert only(tmp_path) == ["text"]


def _interrupted(file: Path) -> None:
    with _write.written(file) as stream:
        stream.write(b"new")
        raise KeyboardInterrupt


@pytest.mark.skipif(os.geteuid() == 0, reason="the system refuses root nothing")
def test_a_file_that_may_not_be_written_is_left_alone(tmp_path):
    file = tmp_path / "model.json"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(WriteError, match="permission denied"):
        cs.save(network(), file)
    assert file.read_text() == "old"


def test_a_device_is_written_and_not_replaced(tmp_path):
    link = tmp_path / "model.json"
    link.symlink_to(os.devnull)
    cs.save(network(), link)
    assert not Path(os.devnull).is_file()
    link.unlink()
    link.symlink_to("/dev/full")
    with pytest.raises(WriteError, match="no space left"):
        cs.save(network(), link)


def test_half_of_a_surrogate_pair_is_named(tmp_path):
    with pytest.raises(ConsilienceError, match="surrogate"):
        _write.write_text("a\ud800b", tmp_path / "text")
    assert only(tmp_path) == []


def test_the_error_survives_pickling():
    error = WriteError("'x' cannot be written: no.", file="x", errno=errno.ENOSPC)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.errno, again.culprits) == (str(error), error.errno, error.culprits)


KILLED = """
import itertools, os, random, signal, sys, time
from pathlib import Path
import consilience as cs

file, nets = Path(sys.argv[1]), [cs.load(path) for path in sys.argv[2:]]
whole = {Path(path).read_bytes() for path in sys.argv[2:]}
rng = random.Random(1)
for _ in range(10):
    writer = os.fork()
    if writer == 0:
        for net in itertools.cycle(nets):
            cs.save(net, file)
    time.sleep(rng.uniform(0.01, 0.2))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    print(file.read_bytes() in whole)
"""


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path):
    models = [tmp_path / "one.json", tmp_path / "two.json"]
    for model, n_states in zip(models, (10_000, 20_000), strict=True):
        cs.save(network(n_states), model)
    file = tmp_path / "model.json"
    file.write_bytes(models[0].read_bytes())
    command = [sys.executable, "-W", "ignore", "-c", KILLED, *map(str, [file, *models])]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "True\n" * 10
