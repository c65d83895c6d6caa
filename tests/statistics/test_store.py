"""Rows in a folder of mapped arrays."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scan_data import hospitals, in_files, in_parts, scanned

import consilience as cs
from consilience.errors import DataError, FormatError, InputError, WriteError
from consilience.statistics.engines.bitmaps import Bitmaps
from consilience.statistics.engines.runners import Threads

TABLE = hospitals(300)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("stores") / "visits.store"
    cs.store(TABLE, path)
    return path


@pytest.fixture
def path(whole, tmp_path):
    """A copy that may be damaged."""
    return shutil.copytree(whole, tmp_path / "visits.store")


@given(
    cuts=st.lists(st.integers(0, 300), max_size=6),
    gaps=st.sampled_from([0.0, 0.2]),
    weights=st.sampled_from(["none", "whole", "fractional"]),
)
def test_a_store_holds_the_rows_whatever_parts_they_came_in(tmp_path_factory, cuts, gaps, weights):
    table = hospitals(300, gaps, weights)
    path = tmp_path_factory.mktemp("any") / "visits.store"
    found = cs.store(in_parts(table, cuts, Threads(1)), path).to_table()
    assert found.schema == table.schema
    for name in (*table.variables, "hospital"):
        np.testing.assert_array_equal(found.column(name), table.column(name))
    np.testing.assert_array_equal(found.weights, table.weights)


def test_the_bitmaps_are_those_that_memory_would_make(whole):
    memory = cs.scan(whole).mapped
    names = {"hospital": 3, **{name: v.n_states for name, v in TABLE.variables.items()}}
    made = Bitmaps(TABLE, names)
    made.pack(made.places(names))
    stored = memory._joints._packed()
    np.testing.assert_array_equal(stored.bits, made.bits)


def test_numbers_are_stored_beside_states(tmp_path):
    rng = np.random.default_rng(1)
    table = cs.read({"x": rng.normal(size=100), "s": rng.choice(["a", "b"], 100)})
    found = cs.store(table, tmp_path / "x.store")
    np.testing.assert_array_equal(found.to_table().column("x"), table.column("x"))
    assert found.describe().rows == table.describe().rows


def test_rows_are_appended_in_segments(path):
    rows = cs.store(TABLE, path, append=True)
    assert rows.n_rows == 600
    families = [cs.Family("lung", ("smoke",)), cs.Family("hospital")]
    for one, other in zip(cs.count(rows, families), cs.count(TABLE, families), strict=True):
        np.testing.assert_array_equal(one.table, 2 * other.table)
    assert rows.missing == TABLE.missing
    once = cs.store(rows, path.parent / "one.store")
    assert (once.n_parts, once.n_rows) == (1, 600)


def test_only_rows_of_the_same_schema_are_appended(path):
    with pytest.raises(DataError, match="'smoke' has other states"):
        cs.store(cs.read({"smoke": ["sometimes"]}), path, append=True)


def test_a_store_is_not_written_over(whole):
    with pytest.raises(WriteError, match="is there already"):
        cs.store(TABLE, whole)


def test_a_store_says_itself_what_its_rows_are(whole):
    with pytest.raises(InputError, match="only engine= and sample= go with it"):
        cs.scan(whole, source="hospital")


def test_no_rows_can_be_stored(tmp_path):
    rows = cs.store(TABLE.take([]), tmp_path / "none.store")
    assert rows.n_rows == 0
    assert cs.count(rows, cs.Family("smoke"))[0].n_complete.sum() == 0


def test_single_bits_turned_in_blocks_are_refused(path):
    rng = np.random.default_rng(2)
    files = sorted(file for file in path.rglob("*") if file.suffix != ".json" and file.is_file())
    for _ in range(60):
        file = files[int(rng.integers(len(files)))]
        content = file.read_bytes()
        changed = bytearray(content)
        changed[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        file.write_bytes(bytes(changed))
        os.utime(path / "manifest.json", ns=(time.time_ns(), time.time_ns()))
        with pytest.raises(FormatError, match=f"{file.name}.* checksum of block 1 is wrong"):
            cs.count(cs.scan(path), cs.Family("smoke"))
        file.write_bytes(content)


def test_a_truncated_or_lost_file_is_named(path):
    file = next(path.rglob("bitmaps.uint64"))
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(FormatError, match=r"bitmaps\.uint64' of a store is damaged"):
        cs.count(cs.scan(path), cs.Family("smoke"))
    file.unlink()
    with pytest.raises(FormatError, match=r"bitmaps\.uint64' of the store is not there"):
        cs.count(cs.scan(path), cs.Family("smoke"))


def test_another_version_is_named(path):
    manifest = path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": 99}))
    with pytest.raises(FormatError, match=r"has version 99, and this release reads version 1"):
        cs.scan(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "consilience store", "version": 1}'])
def test_a_damaged_manifest_is_named(path, text):
    (path / "manifest.json").write_text(text)
    with pytest.raises(FormatError, match=r"manifest\.json"):
        cs.scan(path)


def test_a_folder_without_a_manifest_is_no_store(tmp_path):
    (tmp_path / "x.store").mkdir()
    with pytest.raises(FormatError, match=r"x\.store' is no store"):
        cs.scan(tmp_path / "x.store")


def test_a_failed_conversion_leaves_nothing(tmp_path):
    rows = scanned(in_files(TABLE, tmp_path / "f", 3), TABLE, schema=TABLE.schema)
    (tmp_path / "f" / "part-002.parquet").write_bytes(b"PAR1")
    with pytest.raises(cs.ConsilienceError, match=r"part-002\.parquet"):
        cs.store(rows, tmp_path / "visits.store")
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_a_killed_conversion_leaves_nothing_that_opens(tmp_path):
    script = (
        "import consilience as cs, numpy as np, sys\n"
        "x = np.arange(4_000_000) % 7\n"
        "table = cs.read({'x': x, 'y': x}, discrete=['x', 'y'])\n"
        "print('ready', flush=True)\n"
        "cs.store(table, sys.argv[1])\n"
    )
    target = tmp_path / "visits.store"
    worker = subprocess.Popen([sys.executable, "-c", script, target], stdout=subprocess.PIPE)
    assert worker.stdout.readline() == b"ready\n"
    while not list(tmp_path.glob(".*.part")) and worker.poll() is None:
        time.sleep(0.001)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()
    assert not target.exists()
    for draft in tmp_path.iterdir():
        with pytest.raises(cs.ConsilienceError):
            cs.scan(draft)
