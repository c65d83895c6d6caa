"""``consilience store``."""

from __future__ import annotations

import click

from consilience.cli.common import markers, parts, print_facts, screen, spoken
from consilience.cli.engines import check_row_inputs, engine_option, scan_rows
from consilience.cli.file_options import Files, file_options
from consilience.cli.reading import Reading, reading_options, rows_of

__all__ = ["store"]


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@click.argument("output", metavar="STORE")
@reading_options
@file_options
@engine_option
@click.option("--append", is_flag=True, help="Append the rows to a store that is there.")
@spoken
def store(
    data: tuple[str, ...],
    output: str,
    reading: Reading,
    files: Files,
    *,
    engine: str | None,
    append: bool,
) -> None:
    """Write rows to a store: a folder of plain arrays that is mapped into memory.

    DATA are files, folders or patterns such as 'visits/*.parquet'; their rows are read in parts of
    bounded size, whatever their number. Learning from a store is as fast as from a table in
    memory. It appears whole or not at all; what is damaged later is told when it is opened.

    \b
    Examples:
      consilience store 'visits/*.parquet' visits.store --source hospital
      consilience learn visits.store -o model.json
      consilience store new.parquet visits.store --append
    """
    import consilience as cs

    check_row_inputs(data, engine)
    rows: cs.Table | cs.engines.Scan
    with screen(stderr=True).status("Storing"):
        if append:
            known = cs.scan(output).schema
            source = reading.source or (known.source.name if known.source else None)
            how = {"source": source, "weight": reading.weight, "missing": markers(reading.missing)}
            rows = scan_rows(parts(data, source), engine, schema=known, **how, **files.form)
        else:
            rows = rows_of(data, reading, files, engine or "threads")
        stored = cs.store(rows, output, append=append)
    facts = {"rows": f"{stored.n_rows:,}", "variables": f"{len(stored.variables):,}"}
    if stored.sources:
        facts["sources"] = f"{len(stored.sources):,} in {stored.source!r}"
    print_facts(screen(), {**facts, "written to": output})
