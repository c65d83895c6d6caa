"""Damaged files: whatever happens to the bytes, a table comes out or an error of ours.

``CONSILIENCE_FUZZ=10000`` damages each kind of file so many times instead of 200.
"""

from __future__ import annotations

import gzip
import io
import os
import random
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from consilience.data.read import read
from consilience.errors import ConsilienceError

N_TIMES = int(os.environ.get("CONSILIENCE_FUZZ", "200"))


def csv_bytes():
    lines = [f'{"FM"[k % 2]},{k / 8},"a, ""{k % 3}""",é{k % 5}' for k in range(40)]
    return "\n".join(["sex,age,say,é", *lines, ""]).encode()


def parquet_bytes(compression):
    columns = {
        "text": ["é" * (k % 4) for k in range(40)],
        "states": pa.array(["low", None, "high", "low"] * 10).dictionary_encode(),
        "whole": list(range(40)),
        "real": np.linspace(0, 1, 40),
        "flag": [True, False, None, True] * 10,
    }
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression=compression, row_group_size=15)
    return stream.getvalue()


def damaged(content, rng):
    """The bytes with a few changed, lost, added or repeated, or cut off."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        start = rng.randrange(len(found) + 1)
        stop = min(len(found), start + rng.choice([1, 1, 4, 30]))
        noise = rng.randbytes(rng.choice([1, 1, 4, 30]))
        found[start:stop] = rng.choice([noise[: stop - start], b"", found[start:stop] * 2, noise])
    return bytes(found[: rng.randrange(len(found) + 1)] if rng.random() < 0.1 else found)


KINDS = {
    "t.csv": csv_bytes(),
    "t.csv.gz": gzip.compress(csv_bytes(), mtime=0),
    "plain.parquet": parquet_bytes("none"),
    "t.parquet": parquet_bytes("snappy"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_gives_a_table_or_our_error(tmp_path, name):
    rng = random.Random(20)
    for _ in range(N_TIMES):
        path = tmp_path / name
        path.write_bytes(damaged(KINDS[name], rng))
        with suppress(ConsilienceError):
            assert read(path).n_rows >= 0


@pytest.mark.parametrize("name", KINDS)
def test_the_file_itself_is_read(tmp_path, name):
    (tmp_path / name).write_bytes(KINDS[name])
    assert read(tmp_path / name).n_rows == 40
