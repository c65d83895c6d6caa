"""Dask and Spark: the same bits as in memory, from files and from frames of their own."""

from __future__ import annotations

import importlib
import os
import shutil
import sys

import pyarrow
import pytest
from scan_data import check_bits, hospitals, in_files, scanned

import consilience as cs
from consilience.data.write import to_arrow
from consilience.errors import DataError, InputError, WorkerError

TABLE, GAPPY = hospitals(200), hospitals(200, gaps=0.2)


def needed(module, extra):
    """A module, without which the test is skipped; a failure where nothing may be skipped."""
    if os.environ.get("CONSILIENCE_CLUSTERS"):
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"the extra '{extra}' is not installed")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return in_files(TABLE, tmp_path_factory.mktemp("cluster") / "f", 4)


@pytest.fixture(scope="module")
def gappy_files(tmp_path_factory):
    return in_files(GAPPY, tmp_path_factory.mktemp("cluster") / "g", 4)


def _late_state():
    schema = cs.Schema({"smoke": cs.Variable("smoke", ("yes",))})
    return {"schema": schema, "drop": ["hospital"]}


def _die(extent):
    os._exit(1)


def _asleep():
    """Work that does not end soon; made here, it is sent whole, since workers lack this module."""

    def sleep(extent):
        importlib.import_module("time").sleep(5)

    return sleep


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

    def test_files_give_the_same_bits(self, client, files, gappy_files):
        engine = cs.engines.Dask(client)
        rows = scanned(files, TABLE, schema=TABLE.schema, engine=engine)
        gappy = scanned(gappy_files, GAPPY, schema=GAPPY.schema, engine=engine)
        check_bits(rows, TABLE, gappy, GAPPY)

    def test_frames_give_the_same_bits(self, client):
        import dask.dataframe

        frame = dask.dataframe.from_pandas(TABLE.to_frame(), npartitions=3)
        rows = cs.scan(frame, source="hospital")
        assert rows.schema == cs.read(TABLE.to_frame(), source="hospital").schema
        assert rows.n_rows == TABLE.n_rows
        frame = dask.dataframe.from_pandas(GAPPY.to_frame(), npartitions=3)
        gappy = cs.scan(frame, source="hospital", schema=GAPPY.schema)
        check_bits(rows, TABLE, gappy, GAPPY)

    def test_what_a_part_refuses_is_told_as_it_is_in_memory(self, client, files):
        rows = cs.scan(files, engine=cs.engines.Dask(client), **_late_state())
        with pytest.raises(DataError, match=r"part-00\d\.parquet', row group 1, column 'smoke'"):
            cs.count(rows, cs.Family("smoke"))

    def test_a_part_whose_workers_die_again_and_again_is_named(self, client, files):
        rows = scanned(files, TABLE, schema=TABLE.schema)
        with pytest.raises(WorkerError, match=r"the part '.*part-000\.parquet, row group 1'"):
            list(cs.engines.Dask(client).run(_die, rows._extents[:1]))

    def test_parts_that_nobody_works_on_are_named_in_time(self, client, files):
        rows = scanned(files, TABLE, schema=TABLE.schema)
        engine = cs.engines.Dask(client, patience=0.3)
        with pytest.raises(WorkerError, match=r"for 0\.3 seconds no part came .*part-000\.parq"):
            list(engine.run(_asleep(), rows._extents[:2]))

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

    def test_files_give_the_same_bits(self, session, files, gappy_files):
        engine = cs.engines.Spark(session)
        rows = scanned(files, TABLE, schema=TABLE.schema, engine=engine)
        gappy = scanned(gappy_files, GAPPY, schema=GAPPY.schema, engine=engine)
        check_bits(rows, TABLE, gappy, GAPPY)

    def test_frames_give_the_same_bits(self, session):
        rows, gappy = (
            cs.scan(_frame(session, table), source="hospital", schema=table.schema)
            for table in (TABLE, GAPPY)
        )
        check_bits(rows, TABLE, gappy, GAPPY)

    def test_what_a_part_refuses_is_told_as_it_is_in_memory(self, session, files):
        rows = cs.scan(files, engine=cs.engines.Spark(session), **_late_state())
        with pytest.raises(DataError, match=r"part-00\d\.parquet', row group 1, column 'smoke'"):
            cs.count(rows, cs.Family("smoke"))

    def test_parts_that_nobody_finishes_are_named_in_time(self, session, files):
        rows = scanned(files, TABLE, schema=TABLE.schema)
        engine = cs.engines.Spark(session, patience=0.3)
        with pytest.raises(WorkerError, match=r"for 0\.3 seconds no part came .*part-000\.parq"):
            list(engine.run(_asleep(), rows._extents[:2]))

    def test_a_session_is_needed(self):
        needed("pyspark.sql", "spark")
        with pytest.raises(InputError, match="session must be a SparkSession, got one"):
            cs.engines.Spark("here")


def _frame(session, table):
    """The rows as a frame of Spark, all columns of text."""
    rows = to_arrow(table)
    texts = pyarrow.schema([(field.name, pyarrow.string()) for field in rows.schema])
    return session.createDataFrame(rows.cast(texts).to_pandas()).repartition(3)
