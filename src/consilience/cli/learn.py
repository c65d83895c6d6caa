"""``consilience learn``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import INTERRUPTED, Refusal, screen, spoken
from consilience.cli.engines import check_row_inputs, engine_option, in_memory
from consilience.cli.estimators import Tables, estimator_of, table_options
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import OutputFile, check_outputs, force_option
from consilience.cli.reading import Reading, reading_options, rows_of
from consilience.cli.scores import has_ess
from consilience.cli.sequences import (
    learn_in_time,
    sequence_option,
    steps_back,
    time_option,
)
from consilience.cli.site import check_either, learn_over_sites, sites_option
from consilience.cli.structures import TAN, Structure, find_graph, structure_options
from consilience.cli.summary import summarize
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs
    from consilience.learning import Gaps

__all__ = ["learn"]


@click.command()
@click.argument("data", nargs=-1, metavar="DATA...")
@sites_option
@reading_options
@file_options
@structure_options
@table_options
@click.option(
    "--ess",
    type=float,
    help="Size of the Dirichlet prior in rows: that of the score if it has one, else that of the "
    "tables; of both with --parameters dirichlet.",
)
@click.option(
    "--gaps",
    type=click.Choice(["em", "vb", "available"]),
    help="What the tables do about missing values: EM, variational Bayes, or leave incomplete rows "
    "out of each family (the only way of calibrated).  [default: em]",
)
@click.option("-o", "--output", type=OutputFile(), help="File for the model.")
@force_option
@engine_option
@sequence_option
@time_option
@click.option(
    "--hidden",
    multiple=True,
    metavar="NODE=STATES",
    help="Hidden node of a network in time and its number of states, or float if it is "
    "continuous; repeatable.",
)
@spoken
def learn(
    data: tuple[str, ...],
    reading: Reading,
    files: Files,
    wanted: Structure,
    *,
    sites: Path | None,
    tables: Tables,
    ess: float | None,
    gaps: str | None,
    output: Path | None,
    force: bool,
    engine: str | None,
    sequence: str | None,
    time: str | None,
    hidden: tuple[str, ...],
) -> None:
    """Fit a network to rows and write it to a model file.

    DATA is a .csv, .tsv (also .gz) or .parquet file, or - for text on standard input. Several files
    are several sources, each named after its file; with --source their rows are appended and that
    column names the sources.

    The graph is given or learned; it is learned if neither --structure nor --target is given.
    --structure hc climbs to the graph of best score, --structure pc removes edges by tests of
    independence. Interrupted (Ctrl-C) or out of --seconds, a search gives the best graph so far;
    after an interrupt the exit code is 130.

    Columns may be discrete and continuous. A continuous node has a regression for each state of its
    discrete parents. A search lets it have discrete children only with --logistic.

    Rows of several sources are tied together by a hierarchy unless --parameters says otherwise:
    dirichlet, mle and shrinkage pool the sources if the structure does not mention them, and
    --by-source gives each its own tables. A model string may give the source to some nodes only.
    The file formats of models are those of 'convert'.

    Rows with gaps are all used: tables by EM, a graph that is searched for by the node-average
    likelihood or structural EM; the summary says which.

    A store (see 'store'), a folder or a pattern such as 'visits/*.parquet' is read where it is,
    part by part, and so is any DATA with --engine.

    With --sites the rows stay where they are: the file names a study and its sites, which answer
    requests for counts as their policies allow ('consilience site').

    With --sequence, --time or --order the rows are sequences in time: arcs lead from nodes such as
    x(t-1) into the present, and the model answers 'forecast', 'filter' and 'smooth'.

    \b
    Examples:
      consilience learn visits.csv --sequence patient --time week --order 1 -o model.json
      consilience learn heart.csv --source hospital --target disease --structure tan -o model.json
      consilience learn visits.store --engine processes:4 -o model.json
      consilience learn rome.csv oslo.csv --structure '[smoke][lung|smoke]' --by-source
      consilience learn heart.csv --target disease --discretize age=quantiles:4
      consilience learn heart.csv --structure hc --score bdeu --ess 10 -o model.json
      consilience learn heart.csv --structure pc --alpha 0.01 -o model.json
      consilience learn heart.csv --structure tabu --forbid disease:age --tier age,sex --seconds 30
    """
    import consilience as cs

    check_either(data, sites)
    if output is not None:
        cs.files.check_model_path(output)
    check_outputs([output], [*data, wanted.structure or ""], force=force)
    check_row_inputs(data, engine)
    ess_of_score = ess if has_ess(wanted.score) else None
    is_for_tables = ess_of_score is None or tables.parameters == "dirichlet"
    estimator = estimator_of(tables, ess if is_for_tables else None)
    if sites is not None:
        how = {"estimator": estimator, "gaps": _gaps(gaps)}
        learn_over_sites(sites, wanted, ess_of_score, output=output, **how)
        return
    steps = steps_back(wanted.order)
    if sequence is not None or time is not None or steps is not None or hidden:
        in_time = (sequence, time, steps)
        learn_in_time(
            data,
            reading,
            in_time,
            wanted.structure,
            hidden=hidden,
            estimator=estimator,
            output=output,
        )
        return
    table = rows_of(data, reading, files, engine)
    found = find_graph(wanted, ess_of_score, table)
    dag = _by_source(found.dag, table) if tables.by_source else found.dag
    with screen(stderr=True).status("Fitting"):
        if isinstance(estimator, cs.classify.Calibrated):
            net = _calibrated(dag, in_memory(table), wanted, estimator, gaps=gaps)
        else:
            net = cs.fit(dag, table, estimator, gaps=_gaps(gaps))
    if output is not None:
        cs.save(net, output)
    summarize(net, table, found, output)
    if found.is_interrupted:
        kept = "is written" if output is not None else "was used"
        echo(f"interrupted: the best graph so far {kept}", err=True)
        sys.exit(INTERRUPTED)


def _calibrated(
    dag: cs.DAG,
    table: cs.Table,
    wanted: Structure,
    choice: cs.classify.Calibrated,
    *,
    gaps: str | None,
) -> cs.Network:
    """The network made to predict the target; a tree is judged by rows it was not learned from."""
    import consilience as cs

    if wanted.target is None:
        raise click.UsageError("--parameters calibrated needs --target, the class it is made for.")
    if gaps not in (None, "available"):
        raise click.UsageError("--parameters calibrated goes with --gaps available only.")
    is_tree = wanted.structure == TAN and table.source not in dag.nodes
    return cs.classify.calibrated_chain(cs.tan if is_tree else dag, table, wanted.target, choice)


def _gaps(name: str | None) -> Gaps | None:
    """The choice of that name; None leaves it to the library."""
    import consilience as cs

    choices = {"em": cs.EM, "vb": cs.gaps.VariationalBayes, "available": cs.AvailableCases}
    return None if name is None else choices[name]()


def _by_source(dag: cs.DAG, table: cs.Table | cs.engines.Scan) -> cs.DAG:
    """The graph with the source as the first parent of every other node."""
    import consilience as cs

    source = table.source
    if source is None:
        raise Refusal("--by-source needs rows of several sources: name their column with --source.")
    others = [node for node in dag.nodes if node != source]
    arcs = [arc for arc in dag.arcs if arc[0] != source]
    return cs.DAG([*((source, node) for node in others), *arcs], nodes=[source, *others])
