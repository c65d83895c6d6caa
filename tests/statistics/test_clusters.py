"""Dask and Spark: the same bits as in memory, from files and from frames of their own."""

from __future__ import annotations

import importlib
import os
import shutil
import sys

import numpy as np
import pytest
from scan_data import assert_same_bits, hospitals, in_files, scanned

import consilience as cs
from consilience.data.write import to_arrow
from consilience.errors import DataError, InputError, WorkerError

TABLE = hospitals(200)


def needed(module, extra):
    """A module, without which the test is skipped; a failure where nothing may be skipped."""
    if os.environ.get("CONSILIENCE_CLUSTERS"):
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"the extra '{extra}' is not installed")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return in_files(TABLE, tmp_path_factory.mktemp("cluster") / "f", 4)


def check_bits(rows):
    """Counts, a graph with its score, and fitted tables are those of the rows in memory."""
    families = [cs.Family("lung", ("smoke",)), cs.Family("hospital")]
    for one, other in zip(cs.count(rows, families), cs.count(TABLE, families), strict=True):
        np.testing.assert_array_equal(one.table, other.table)
    search = cs.HillClimb(tabu=0, restarts=0, max_parents=1)
    one, other = (cs.search(r, score=cs.BHD(), search=search) for r in (rows, TABLE))
    assert (one.dag, one.score) == (other.dag, other.score)
    assert_same_bits(cs.fit(one.dag, rows, cs.HDMCS()), cs.fit(one.dag, TABLE, cs.HDMCS()))


def _late_state():
    schema = cs.Schema({"smoke": cs.Variable("smoke", ("yes",))})
    return {"schema": schema, "drop": ["hospital"]}


def _die(extent):
    os._exit(1)


@pytest.mark.dask
class TestDask:
    @pytest.fixture(scope="class")
    @classmethod
    def client(cls):
        distributed = needed("distributed", "dask")
        with (
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client

    def test_files_and_frames_give_the_same_bits(self, client, files):
        check_bits(scanned(files, TABLE, schema=TABLE.schema, engine=cs.engines.Dask(client)))
        import dask.dataframe

        frame = dask.dataframe.from_pandas(TABLE.to_frame(), npartitions=3)
        rows = cs.scan(frame, source="hospital")
        assert rows.schema == cs.read(TABLE.to_frame(), source="hospital").schema
        assert rows.n_rows == TABLE.n_rows
        np.testing.assert_array_equal(
            cs.count(rows, cs.Family("lung"))[0].table, cs.count(TABLE, cs.Family("lung"))[0].table
        )

    def test_what_a_part_refuses_is_told_as_it_is_in_memory(self, client, files):
        rows = cs.scan(files, engine=cs.engines.Dask(client), **_late_state())
        with pytest.raises(DataError, match=r"part-00\d\.parquet', row group 1, column 'smoke'"):
            cs.count(rows, cs.Family("smoke"))

    def test_a_part_whose_workers_die_again_and_again_is_named(self, client, files):
        rows = scanned(files, TABLE, schema=TABLE.schema)
        with pytest.raises(WorkerError, match=r"the part '.*part-000\.parquet, row group 1'"):
            list(cs.engines.Dask(client).run(_die, rows._extents[:1]))

    def test_a_client_is_needed(self):
        needed("distributed", "dask")
        with pytest.raises(InputError, match=r"client must be a distributed\.Client, got one"):
            cs.engines.Dask("here")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
class TestSpark:
    @pytest.fixture(scope="class")
    @classmethod
    def session(cls):
        sql = needed("pyspark.sql", "spark")
        has_java = shutil.which("java") or os.environ.get("JAVA_HOME")
        if not has_java and not os.environ.get("CONSILIENCE_CLUSTERS"):
            pytest.skip("Spark needs a Java runtime, and there is none")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        session = builder.config("spark.log.level", "OFF").getOrCreate()
        yield session
        session.stop()

    def test_files_and_frames_give_the_same_bits(self, session, files):
        rows = scanned(files, TABLE, schema=TABLE.schema, engine=cs.engines.Spark(session))
        (one,), (other,) = (cs.count(r, cs.Family("lung", ("smoke",))) for r in (rows, TABLE))
        np.testing.assert_array_equal(one.table, other.table)
        texts = to_arrow(TABLE).cast(_as_text(to_arrow(TABLE).schema))
        frame = session.createDataFrame(texts.to_pylist()).repartition(3)
        rows = cs.scan(frame, source="hospital", schema=TABLE.schema)
        check_bits_of_counts(rows)

    def test_what_a_part_refuses_is_told_as_it_is_in_memory(self, session, files):
        rows = cs.scan(files, engine=cs.engines.Spark(session), **_late_state())
        with pytest.raises(DataError, match=r"part-00\d\.parquet', row group 1, column 'smoke'"):
            cs.count(rows, cs.Family("smoke"))

    def test_a_session_is_needed(self):
        needed("pyspark.sql", "spark")
        with pytest.raises(InputError, match="session must be a SparkSession, got one"):
            cs.engines.Spark("here")


def check_bits_of_counts(rows):
    families = [cs.Family("lung", ("smoke",)), cs.Family("tired", ("age",))]
    found = cs.count(rows, families, by_source=True)
    for one, other in zip(found, cs.count(TABLE, families, by_source=True), strict=True):
        np.testing.assert_array_equal(one.table, other.table)


def _as_text(schema):
    import pyarrow as pa

    return pa.schema([(field.name, pa.string()) for field in schema])
