"""A parquet file with one bit turned round is refused, never read as other data."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import consilience as cs
from consilience.data.write import to_arrow, write_rows
from consilience.errors import ConsilienceError, FormatError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    n = 3000
    columns = {
        "place": rng.choice(["rome", "oslo", "bonn"], n),
        "sex": rng.choice(["F", "M"], n),
        "age": rng.normal(50, 10, n),
        "n": rng.integers(1, 5, n),
    }
    return cs.read(columns, source="place", weight="n")


def _with_bit(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _read(path):
    return cs.read(path, source="place", weight="weight")


def _are_equal(one, two):
    names = (*two.variables, "place")
    is_same = list(one.variables) == list(two.variables) and one.n_rows == two.n_rows
    return is_same and all(np.array_equal(one.column(n), two.column(n)) for n in names)


@pytest.mark.parametrize("writer", ["ours", "arrow"])
def test_no_turned_bit_of_the_data_is_read(table, tmp_path, writer):
    path = tmp_path / "t.parquet"
    if writer == "ours":
        write_rows(table, path)
    else:
        arrow_parquet.write_table(to_arrow(table), path, write_page_checksum=True)
    content = path.read_bytes()
    group = arrow_parquet.ParquetFile(path).metadata.row_group(0)
    ends = []
    for k in range(group.num_columns):  # the last bytes of a chunk are the data of its last page
        chunk = group.column(k)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        ends.append(start + chunk.total_compressed_size)
    rng = np.random.default_rng(7)
    for _ in range(100):
        byte = int(rng.choice(ends)) - 1 - int(rng.integers(200))
        path.write_bytes(_with_bit(content, 8 * byte + int(rng.integers(8))))
        with pytest.raises(FormatError, match=r"t\.parquet"):
            _read(path)


def test_no_turned_bit_anywhere_is_read_as_other_data(table, tmp_path):
    path = tmp_path / "t.parquet"
    write_rows(table.take(slice(100)), path)
    content, whole = path.read_bytes(), _read(path)
    for bit in np.random.default_rng(8).choice(8 * len(content), 600, replace=False):
        path.write_bytes(_with_bit(content, int(bit)))
        try:
            found = _read(path)
        except ConsilienceError:
            continue
        assert _are_equal(found, whole), int(bit)


def test_categories_of_bytes_are_refused():
    column = pa.array([b"u", b"v"]).dictionary_encode()
    with pytest.raises(cs.ConsilienceError, match="binary"):
        cs.read(pa.table({"x": column}))
