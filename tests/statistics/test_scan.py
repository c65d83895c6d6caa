"""Rows that are not in memory: the same variables and the same bits as those that are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.dataset
import pyarrow.parquet as arrow_parquet
import pytest
from hypothesis import given, settings, strategies as st
from scan_data import (
    Shuffled,
    assert_same_bits,
    check_bits,
    check_em,
    hospitals,
    in_files,
    in_parts,
    scanned,
)

import consilience as cs
from consilience.data.write import to_arrow, write_rows
from consilience.errors import DataError, FormatError, InputError, MissingFileError
from consilience.statistics.engines import Batches
from consilience.statistics.request import CountRequest

TABLE, GAPPY = hospitals(), hospitals(gaps=0.2)
FAMILIES = [cs.Family(a, (b,)) for a in TABLE.variables for b in TABLE.variables if a != b]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("visits")


@pytest.fixture(scope="module")
def files(folder):
    return in_files(TABLE, folder / "parquet", 5)


@pytest.fixture(scope="module")
def stored(files, folder):
    return cs.store(scanned(files, TABLE, schema=TABLE.schema), folder / "visits.store")


class TestFace:
    def test_a_scan_has_the_face_of_the_table(self, files):
        rows, table = scanned(files, TABLE), cs.read(sorted_files(files), source="hospital")
        assert rows.schema == table.schema
        assert (rows.sources, rows.source, rows.n_rows) == (table.sources, "hospital", len(table))
        assert rows.missing == table.missing
        assert str(rows.describe()) == str(table.describe())

    @pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
    def test_kinds_states_and_gaps_are_those_of_read(self, tmp_path, kind):
        rng = np.random.default_rng(1)
        frame = {
            "sex": rng.choice(["F", "M", None], 500).tolist(),
            "age": rng.normal(50, 10, 500).round(1),
            "visits": rng.integers(1, 6, 500),
            "id": np.arange(500),
            "n": rng.integers(0, 3, 500),
            "place": rng.choice(["rome", "oslo"], 500),
        }
        frame["beds"] = np.where(frame["place"] == "rome", "many", "few")
        in_files(cs.read(frame, source="place", weight="n"), tmp_path / "f", 3, kind)
        paths = sorted(map(str, (tmp_path / "f").iterdir()))
        choices = {"source": "place", "weight": "weight"}
        table, rows = cs.read(paths, **choices), cs.scan(str(tmp_path / "f"), **choices)
        assert rows.schema == table.schema
        assert rows.missing == table.missing
        assert rows.of_source == table.of_source == ("beds",)
        described = zip(rows.describe().rows, table.describe().rows, strict=True)
        assert all(one == other for one, other in described)

    def test_a_dict_has_a_source_for_each_key(self, tmp_path):
        for place, states in {"rome": "ab", "oslo": "bc"}.items():
            write_rows(cs.read({"x": list(states)}), tmp_path / f"{place}.csv")
        paths = {place: str(tmp_path / f"{place}.csv") for place in ("rome", "oslo")}
        assert cs.scan(paths).schema == cs.read(paths).schema
        assert cs.scan(paths).sources == ("rome", "oslo")

    def test_numbers_among_text_in_a_later_file_are_states_as_they_are_for_read(self, tmp_path):
        write_rows(cs.read({"x": ["1", "2"], "y": [1.5, 2.5]}), tmp_path / "a.csv")
        (tmp_path / "b.csv").write_text("x,y\nNA,3.5\n")
        paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
        assert cs.scan(paths).schema == cs.read(paths).schema

    def test_all_rows_can_be_had_within_a_limit(self, files):
        rows = scanned(files, TABLE)
        assert rows.to_table().n_rows == TABLE.n_rows
        with pytest.raises(cs.ConsilienceError, match="a table of 600 rows would need"):
            rows.to_table(memory_limit=100)

    @pytest.mark.parametrize("weight", [None, "n"])
    def test_numbers_are_cut_where_they_are_cut_in_memory(self, tmp_path, weight):
        rng = np.random.default_rng(1)
        x = rng.normal(size=400).round(2)
        frame = {
            "x": np.where(rng.random(400) < 0.1, np.nan, x),
            "y": rng.integers(0, 9, 400),
            "z": x + rng.normal(size=400),
            "ill": np.where(x > 0.3, "yes", "no"),
            "n": rng.integers(0, 4, 400),
        }
        paths = [tmp_path / f"{k}.parquet" for k in range(3)]
        for path, rows in zip(paths, np.array_split(np.arange(400), 3), strict=True):
            part = pyarrow.table({name: column[rows] for name, column in frame.items()})
            arrow_parquet.write_table(part, path)
        choices = {
            "x": cs.data.MDLP("ill"),
            "y": cs.data.EqualWidth(4),
            "z": cs.Quantiles(5),
        }
        how = {"weight": weight, "discretize": choices}
        rows, table = cs.scan(paths, **how), cs.read(paths, **how)
        assert rows.schema == table.schema
        assert all(rows.variables[name].n_states > 1 for name in choices)
        (one,), (other,) = (cs.count(r, cs.Family("z", ("x", "y"))) for r in (rows, table))
        np.testing.assert_array_equal(one.table, other.table)

    def test_cut_points_that_are_known_need_no_pass_and_too_many_values_are_refused(
        self, tmp_path, monkeypatch
    ):
        write_rows(cs.read({"x": [float(v) for v in range(30)]}), tmp_path / "x.parquet")
        rows = cs.scan(tmp_path / "x.parquet", discretize={"x": cs.Cuts([5, 10])})
        assert (rows.variables["x"].n_states, rows.n_passes) == (3, 1)
        monkeypatch.setattr("consilience.statistics.engines.scans.MEMORY_LIMIT", 100)
        with pytest.raises(cs.ConsilienceError, match=r"values of column 'x' .*cs\.Cuts"):
            cs.scan(tmp_path / "x.parquet", discretize={"x": cs.Quantiles(3)})

    def test_a_notebook_shows_variables_without_a_pass(self, files):
        rows = scanned(files, TABLE, schema=TABLE.schema)
        assert "smoke" in rows._repr_html_()
        assert rows.n_passes == 0

    def test_verbs_that_need_rows_take_a_scan(self, files):
        rows = scanned(files, TABLE)
        net = cs.fit(cs.naive_bayes(rows, target="lung"), rows)
        expected = net.log_likelihood(rows.to_table())
        np.testing.assert_array_equal(net.log_likelihood(rows), expected)


def sorted_files(glob):
    return sorted(map(str, Path(glob).parent.glob(Path(glob).name)))


KINDS = ["parquet", "csv", "threads", "store", "stored parts", "relation", "dataset", "held"]

CLIMB = cs.HillClimb(tabu=0, restarts=0)


@pytest.fixture(scope="module")
def database():
    """A connection that lasts: relations of older versions end with theirs."""
    with pytest.importorskip("duckdb", reason="the extra 'sql' is not installed").connect() as it:
        yield it


@pytest.fixture(scope="module", params=KINDS)
def rows(request, files, stored):
    return opened(request, TABLE, files, stored)


@pytest.fixture(scope="module", params=KINDS)
def gappy_rows(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gappy")
    files = in_files(GAPPY, folder / "parquet", 5)
    stored = cs.store(scanned(files, GAPPY, schema=GAPPY.schema), folder / "visits.store")
    return opened(request, GAPPY, files, stored)


def opened(request, table, files, stored):
    """The rows of a table, which are in files and in a store, in one of the ways to have them."""
    known, folder = {"schema": table.schema, "source": "hospital"}, Path(files).parent.parent
    match request.param:
        case "parquet":
            return cs.scan(files, **known)
        case "csv":
            return cs.scan(in_files(table, folder / "csv", 3, "csv"), **known)
        case "threads":
            return cs.scan(files, engine=cs.engines.Threads(3), **known)
        case "store":
            return stored
        case "stored parts":
            return cs.scan(folder / "visits.store", engine=cs.engines.Threads(2))
        case "relation":
            relation = request.getfixturevalue("database").sql(f"SELECT * FROM '{files}'")
            return cs.scan(relation, **known)
        case "dataset":
            return cs.scan(pyarrow.dataset.dataset(sorted_files(files)), **known)
        case _:
            return cs.scan(to_arrow(table), **known)


class TestBits:
    def test_counts(self, rows):
        for by_source in (False, True):
            found = cs.count(rows, FAMILIES, by_source=by_source)
            expected = cs.count(TABLE, FAMILIES, by_source=by_source)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.table, other.table)
                assert (one.seen is None) == (other.seen is None)

    @pytest.mark.parametrize(
        "choices",
        [
            {"search": cs.GES()},
            {"score": cs.BDeu(ess=10), "search": CLIMB},
            {"score": cs.BHD(), "search": CLIMB},
        ],
        ids=["ges", "bdeu", "bhd"],
    )
    def test_graphs_and_scores(self, rows, choices):
        one, other = cs.search(rows, seed=1, **choices), cs.search(TABLE, seed=1, **choices)
        assert (one.dag, one.score) == (other.dag, other.score)

    def test_fitted_tables(self, rows):
        dag = cs.learn(TABLE, search=cs.GES())
        for estimator in (cs.HDMCS(), None):
            assert_same_bits(cs.fit(dag, rows, estimator), cs.fit(dag, TABLE, estimator))

    def test_em(self, gappy_rows):
        check_em(gappy_rows, GAPPY)


def test_the_default_search_gives_the_same_bits(stored):
    one, other = (cs.search(rows, seed=1) for rows in (stored, TABLE))
    assert (one.dag, one.score) == (other.dag, other.score)


@pytest.mark.parametrize("size", [1, 7, 131_072, 100])
def test_batches_of_any_size_give_the_same_bits(size):
    table, gappy = TABLE.head(100), GAPPY.head(100)
    check_bits(in_batches(table, size), table, in_batches(gappy, size), gappy)


def in_batches(table, size):
    parts = [table.take(slice(k, k + size)) for k in range(0, table.n_rows, size)]
    return Batches(table.schema, parts)


def test_batches_that_stay_in_memory_keep_their_bitmaps():
    batches = Batches(TABLE.schema, [TABLE.head(50), TABLE.head(70)])
    cs.count(batches, FAMILIES)
    held = batches._memories()
    cs.count(batches, FAMILIES)
    assert all(one is other for one, other in zip(held, batches._memories(), strict=True))


@given(
    cuts=st.lists(st.integers(0, 300), max_size=40),
    order=st.integers(0, 2**32 - 1),
    gaps=st.sampled_from([0.0, 0.1]),
    weights=st.sampled_from(["none", "whole", "fractional"]),
)
def test_parts_in_any_order_give_the_same_counts(cuts, order, gaps, weights):
    table = hospitals(300, gaps, weights)
    families = [cs.Family("lung", ("smoke", "age")), cs.Family("tired"), cs.Family("hospital")]
    rows = in_parts(table, cuts, Shuffled(order))
    found, expected = cs.count(rows, families), cs.count(table, families)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1), n_parts=st.sampled_from([2, 60, 500]))
def test_up_to_five_hundred_parts_in_random_order_give_the_same_score(seed, n_parts):
    cuts = np.random.default_rng(seed).integers(0, TABLE.n_rows, n_parts - 1).tolist()
    rows = in_parts(TABLE, cuts, Shuffled(seed))
    dag = cs.learn(TABLE, search=CLIMB)
    for score in (cs.BIC(), cs.BHD()):
        assert cs.score(dag, rows, score) == cs.score(dag, TABLE, score)
    assert_same_bits(cs.fit(dag, rows, cs.HDMCS()), cs.fit(dag, TABLE, cs.HDMCS()))


def test_a_large_family_is_full_or_sparse_by_all_rows():
    family = [cs.Family("lung", ("smoke", "cough", "age", "xray", "tired"))]
    rows = in_parts(TABLE, list(range(0, 600, 50)), Shuffled(1))
    (one,), (other,) = cs.count(rows, family), cs.count(TABLE, family)
    assert (one.seen is None) == (other.seen is None)


def test_the_same_sample_whatever_the_parts(files):
    rows = scanned(files, TABLE, schema=TABLE.schema, sample=50)
    whole = cs.scan(to_arrow(TABLE), source="hospital", schema=TABLE.schema, sample=50)
    one, other = rows.scout(), whole.scout()
    assert one.n_rows == other.n_rows == 50
    for name in TABLE.variables:
        np.testing.assert_array_equal(one.column(name), other.column(name))


def test_asking_for_nothing_reads_nothing(files):
    rows = scanned(files, TABLE, schema=TABLE.schema, of_source=[])
    assert cs.count(rows, []) == []
    net = cs.fit(cs.DAG([("smoke", "lung")]), rows, cs.MLE())
    assert net["lung"].parents == ("smoke",)
    assert rows.n_passes == 2  # the source and the families


def test_batches_are_not_read_for_nothing():
    read = []

    class Parts:
        def __iter__(self):
            read.append(1)
            return iter([TABLE])

    assert cs.count(Batches(TABLE.schema, Parts()), []) == []
    assert Batches(TABLE.schema, Parts()).gather(CountRequest(())) == []
    assert read == [1, 1]  # when they were made, to see that they start anew


def test_more_rows_than_bundles_can_count_are_counted_otherwise(monkeypatch):
    expected = cs.search(TABLE, search=cs.GES())
    monkeypatch.setattr("consilience.statistics.engines.joints.MOST_ROWS", 100)
    found = cs.search(cs.read(TABLE.to_frame(), source="hospital"), search=cs.GES())
    assert (found.dag, found.score) == (expected.dag, expected.score)


@pytest.mark.filterwarnings("ignore")  # ibis is behind the versions of its own libraries
def test_a_table_of_ibis_is_streamed(tmp_path):
    ibis = pytest.importorskip("ibis", reason="ibis-framework is not installed")
    with closing(sqlite3.connect(tmp_path / "visits.db")) as connection:
        connection.execute("CREATE TABLE visits (smoke TEXT, lung TEXT)")
        pairs = zip(TABLE["smoke"], TABLE["lung"], strict=True)
        connection.executemany("INSERT INTO visits VALUES (?, ?)", pairs)
        connection.commit()
    known = {name: TABLE.variables[name] for name in ("smoke", "lung")}
    rows = cs.scan(ibis.sqlite.connect(tmp_path / "visits.db").table("visits"), schema=known)
    families = [cs.Family("lung", ("smoke",))]
    (one,), (other,) = (cs.count(r, families) for r in (rows, TABLE))
    np.testing.assert_array_equal(one.table, other.table)


class TestWhatGoesWrong:
    def test_a_state_that_turns_up_later_is_named_with_its_file_and_row_group(self, tmp_path):
        for k in range(20):
            late = ["a", "late" if k == 17 else "b"]
            write_rows(cs.read({"x": late, "y": ["u", "v"]}), tmp_path / f"part-{k:02d}.parquet")
        known = {"x": cs.Variable("x", ("a", "b")), "y": cs.Variable("y", ("u", "v"))}
        rows = cs.scan(tmp_path / "*.parquet", schema=known)
        with pytest.raises(
            DataError,
            match=r"part-17\.parquet', row group 1, column 'x', row 2: "
            "the state 'late' is not one of those found before",
        ) as caught:
            cs.count(rows, cs.Family("x"))
        assert caught.value.culprits["row_group"] == 1
        assert caught.value.culprits["column"] == "x"

    def test_the_row_is_counted_in_its_file(self, tmp_path):
        arrow_parquet.write_table(
            to_arrow(cs.read({"x": ["a"] * 250_000 + ["c"]})), tmp_path / "x.parquet",
            row_group_size=200_000,
        )  # fmt: skip
        rows = cs.scan(tmp_path / "x.parquet", schema={"x": cs.Variable("x", ("a", "b"))})
        with pytest.raises(DataError, match=r"row group 2, column 'x', row 250001"):
            cs.count(rows, cs.Family("x"))

    def test_a_new_source_is_named(self, tmp_path, files):
        schema = cs.Schema(dict(TABLE.variables), cs.Variable("hospital", ("va", "cleveland")))
        with pytest.raises(DataError, match="the source 'zurich' is not one of those found before"):
            cs.count(cs.scan(files, schema=schema), cs.Family("smoke"))

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_a_file_changed_between_two_passes_is_refused(self, tmp_path, kind):
        rows = cs.scan(in_files(TABLE, tmp_path / "f", 2, kind), source="hospital")
        write_rows(TABLE, tmp_path / "f" / f"part-001.{kind}")
        with pytest.raises(DataError, match=rf"part-001\.{kind}' was changed"):
            cs.count(rows, cs.Family("smoke"))

    def test_a_truncated_file_is_named(self, tmp_path):
        glob = in_files(TABLE, tmp_path / "f", 2)
        path = tmp_path / "f" / "part-001.parquet"
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(FormatError, match=r"part-001\.parquet"):
            cs.scan(glob, source="hospital")

    def test_single_bits_turned_in_pages_are_refused(self, tmp_path):
        glob = in_files(TABLE, tmp_path / "f", 1)
        path = tmp_path / "f" / "part-000.parquet"
        content = path.read_bytes()
        group = arrow_parquet.ParquetFile(path).metadata.row_group(0)
        rng = np.random.default_rng(3)
        for _ in range(60):
            chunk = group.column(int(rng.integers(group.num_columns)))
            end = chunk.dictionary_page_offset or chunk.data_page_offset
            end += chunk.total_compressed_size
            changed = bytearray(content)
            changed[end - 1 - int(rng.integers(20))] ^= 1 << int(rng.integers(8))
            path.write_bytes(bytes(changed))
            with pytest.raises(FormatError, match=r"part-000\.parquet"):
                cs.scan(glob, schema=TABLE.schema).to_table()

    def test_what_is_not_there_is_named(self, tmp_path):
        with pytest.raises(MissingFileError, match=r"no \.parquet, \.csv or \.tsv file in"):
            cs.scan(str(tmp_path / "*.parquet"))
        with pytest.raises(MissingFileError, match="there is no file"):
            cs.scan(str(tmp_path / "x.parquet"))

    def test_an_engine_that_is_none_is_refused(self, files):
        with pytest.raises(InputError, match="engine must be a choice such as"):
            cs.scan(files, engine="dask")

    def test_rows_of_this_process_cannot_be_sent(self):
        rows = cs.scan(to_arrow(TABLE), schema=TABLE.schema, engine=cs.engines.Processes(2))
        with pytest.raises(InputError, match="is not in a file"):
            cs.count(rows, cs.Family("smoke"))


class TestSql:
    @pytest.fixture(params=["sqlite", "duckdb"])
    def connection(self, request):
        frame = TABLE.to_frame().astype(str)
        if request.param == "duckdb":
            connection = pytest.importorskip("duckdb").connect()
            connection.register("frame", frame)
            connection.execute('CREATE TABLE "my visits" AS SELECT * FROM frame')
            connection.unregister("frame")
        else:
            connection = sqlite3.connect(":memory:")
            columns = ", ".join(f'"{name}"' for name in frame.columns)
            connection.execute(f'CREATE TABLE "my visits" ({columns})')
            marks = ", ".join("?" * len(frame.columns))
            rows = frame.itertuples(index=False, name=None)
            connection.executemany(f'INSERT INTO "my visits" VALUES ({marks})', rows)
        yield connection
        connection.close()

    def test_counts_graphs_scores_and_tables_have_the_same_bits(self, connection):
        rows = cs.engines.sql(connection, "my visits", source="hospital", schema=TABLE.schema)
        for by_source in (False, True):
            found = cs.count(rows, FAMILIES, by_source=by_source)
            for one, other in zip(
                found, cs.count(TABLE, FAMILIES, by_source=by_source), strict=True
            ):
                np.testing.assert_array_equal(one.table, other.table)
        for choices in ({"search": cs.GES()}, {"score": cs.BHD(), "search": CLIMB}):
            one, other = cs.search(rows, **choices), cs.search(TABLE, **choices)
            assert (one.dag, one.score) == (other.dag, other.score)
        assert_same_bits(cs.fit(one.dag, rows, cs.HDMCS()), cs.fit(one.dag, TABLE, cs.HDMCS()))

    def test_states_that_are_not_declared_are_sorted(self, connection):
        rows = cs.engines.sql(connection, "my visits", source="hospital")
        assert rows.variables["age"].states == ("child", "old", "very old", "young")
        assert rows.sources == ("cleveland", "va", "zurich")
        assert rows.n_rows == TABLE.n_rows

    def test_what_needs_rows_is_refused_and_says_where_they_are(self, connection):
        rows = cs.engines.sql(connection, "my visits", source="hospital")
        with pytest.raises(InputError, match=r"cs\.scan\(relation\)"):
            cs.em(cs.DAG([("smoke", "lung")]), rows)

    def test_names_are_quoted(self, connection):
        name = 'x"; DROP TABLE "my visits"; --'
        quoted = name.replace('"', '""')
        connection.execute(f'CREATE TABLE "odd ""one" ("{quoted}" VARCHAR, n INTEGER)')
        connection.execute("INSERT INTO \"odd \"\"one\" VALUES ('a', 2), ('?', 3), (NULL, 1)")
        rows = cs.engines.sql(connection, 'odd "one', weight="n")
        (found,) = cs.count(rows, cs.Family(name))
        assert found.table.tolist() == [[[2]]]
        assert found.n_incomplete.tolist() == [4.0]
        connection.execute('DROP TABLE "odd ""one"')

    def test_weights_must_be_whole(self, connection):
        connection.execute("CREATE TABLE weighted (x VARCHAR, w DOUBLE)")
        connection.execute("INSERT INTO weighted VALUES ('a', 0.5)")
        with pytest.raises(DataError, match="'w': 1 weights are not whole numbers"):
            cs.engines.sql(connection, "weighted", weight="w")
        connection.execute("DROP TABLE weighted")

    def test_a_state_that_turns_up_later_is_named(self, connection):
        known = {"smoke": ["yes"]}
        rows = cs.engines.sql(connection, "my visits", columns=["smoke"], states=known)
        with pytest.raises(DataError, match="'smoke': the state 'no' is not one of those"):
            cs.count(rows, cs.Family("smoke"))
