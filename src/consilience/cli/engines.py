"""Rows that a command does not hold in memory: the option ``--engine``, stores, folders, globs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from consilience.cli.outputs import check_inputs

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["check_row_inputs", "engine_option", "in_memory", "is_scanned", "scan_rows"]

engine_option: Final = click.option(
    "--engine",
    metavar="HOW",
    help="Leave the rows where they are and read them by threads:N, processes:N, dask:ADDRESS or "
    "spark:MASTER; memory reads them first.  [default: memory; a store, a folder or a pattern such "
    "as 'visits/*.parquet' stays where it is]",
)


def is_scanned(data: Sequence[str], engine: str | None) -> bool:
    """Whether rows stay where they are."""
    if engine is not None:
        return engine != "memory"
    return any(
        Path(path).is_dir() or (has_magic(path) and not Path(path).exists()) for path in data
    )


def check_row_inputs(data: Sequence[str], engine: str | None) -> None:
    """Refuse files that are not there; a scan says itself what is wrong with its own."""
    _runner(engine)
    if not is_scanned(data, engine):
        check_inputs(data)


def scan_rows(data: Any, engine: str | None, **how: Any) -> cs.engines.Scan:
    """The rows where they are; a store says itself what they are."""
    import consilience as cs

    if cs.engines.is_store(data):
        usual = {"encoding", "missing", "partial", "schema"}
        if wrong := sorted(name for name, value in how.items() if name not in usual and value):
            raise click.UsageError(
                f"the store {data!r} says itself what its rows are: --{wrong[0]} does not go with "
                "it."
            )
        return cs.scan(data, engine=_runner(engine))
    return cs.scan(data, engine=_runner(engine), **how)


def in_memory(rows: cs.Table | cs.engines.Scan) -> cs.Table:
    """The rows as a table, for a command that needs all of them; too many are refused."""
    import consilience as cs

    return rows if isinstance(rows, cs.Table) else rows.to_table()


def _runner(text: str | None) -> Any:
    """The engine that a text such as ``processes:4`` names; None for the default."""
    if text in (None, "memory"):
        return None
    kind, _, value = str(text).partition(":")
    if kind not in _RUNNERS or (kind in ("dask", "spark") and not value):
        raise click.UsageError(
            f"--engine {text!r}: expected memory, threads, threads:4, processes:4, "
            "dask:tcp://host:8786 or spark:local[4]."
        )
    return _RUNNERS[kind](value)


def _threads(value: str) -> Any:
    import consilience as cs

    return cs.engines.Threads(_number("threads", value))


def _processes(value: str) -> Any:
    import consilience as cs

    return cs.engines.Processes(_number("processes", value))


def _dask(value: str) -> Any:
    import consilience as cs

    return cs.engines.Dask.at(value)


def _spark(value: str) -> Any:
    import consilience as cs

    return cs.engines.Spark.at(value)


_RUNNERS: dict[str, Callable[[str], Any]] = {
    "threads": _threads,
    "processes": _processes,
    "dask": _dask,
    "spark": _spark,
}


def _number(kind: str, value: str) -> int | None:
    if not value:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise click.UsageError(f"--engine {kind}:{value}: expected a whole number of at least 1.")
    return int(value)
