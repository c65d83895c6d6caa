"""``consilience learn``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import (
    Refusal,
    check_model_path,
    data_argument,
    grid_of,
    listed,
    markers,
    missing_option,
    parts,
    print_facts,
    print_notes,
    screen,
    source_column_option,
    spoken,
    weight_option,
)
from consilience.errors import ConsilienceError

if TYPE_CHECKING:
    from rich.console import Console

    import consilience as cs
    from consilience.data.discretize import Discretizer
    from consilience.parameters.estimator import Estimator
    from consilience.parameters.strength import Strength

__all__ = ["learn"]

NAIVE_BAYES, TAN = "naive-bayes", "tan"
NEW_SOURCE = "new_source"  # of consilience.parameters.sources, too heavy to import here
HIERARCHICAL = ("hdmcs", "hdmjs", "hds", "adaptive")


@click.command()
@data_argument
@source_column_option
@weight_option
@click.option("--target", metavar="COL", help="The variable that naive Bayes or TAN predicts.")
@click.option(
    "--structure",
    metavar="GRAPH",
    help="A model file, a model string such as '[A][B|A]', tan, or naive-bayes (the default if "
    "--target is given).",
)
@click.option("--by-source", is_flag=True, help="Give every source its own tables.")
@click.option(
    "--parameters",
    type=click.Choice(["dirichlet", "mle", "shrinkage", "hdc", *HIERARCHICAL]),
    help="How counts become probabilities.  [default: dirichlet for one source, hdmcs for several]",
)
@click.option("--ess", type=float, help="Size of the Dirichlet prior in rows.  [default: 1]")
@click.option(
    "--strength",
    metavar="S",
    help="How strongly a hierarchy ties its groups: a number, per-state, or gamma:SHAPE,RATE to "
    "learn it.  [default: per-state]",
)
@missing_option
@click.option("--discrete", multiple=True, metavar="COL", help="Column to be read as discrete.")
@click.option("--continuous", multiple=True, metavar="COL", help="Column to be read as continuous.")
@click.option(
    "--discretize",
    multiple=True,
    metavar="COL=HOW",
    help="Cut a column of numbers into states: quantiles:5, width:5, cuts:120,140 or mdlp:TARGET.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the model.")
@spoken
def learn(
    data: tuple[str, ...],
    source: str | None,
    weight: str | None,
    target: str | None,
    structure: str | None,
    by_source: bool,
    parameters: str | None,
    ess: float | None,
    strength: str | None,
    missing: tuple[str, ...],
    discrete: tuple[str, ...],
    continuous: tuple[str, ...],
    discretize: tuple[str, ...],
    output: Path | None,
) -> None:
    """Fit a network to rows and write it to a model file.

    DATA is a .csv, .csv.gz or .parquet file. Several files are several sources, each named after
    its file; with --source their rows are appended and that column names the sources.

    Rows of several sources are tied together by a hierarchy unless --parameters says otherwise:
    dirichlet, mle and shrinkage pool the sources if the structure does not mention them, and
    --by-source gives each its own tables. A model string may give the source to some nodes only.
    The file formats of models are those of 'convert'.

    \b
    Examples:
      consilience learn heart.csv --source hospital --target disease --structure tan -o model.json
      consilience learn rome.csv oslo.csv --structure '[smoke][lung|smoke]' --by-source
      consilience learn heart.csv --target disease --discretize age=quantiles:4
    """
    import consilience as cs

    if output is not None:
        check_model_path(output)
    estimator = _estimator(parameters, ess, strength)
    choices = dict(map(_discretizer, discretize))
    with screen(stderr=True).status("Reading"):
        table = cs.read(
            parts(data, source),
            source=source,
            weight=weight,
            discrete=discrete,
            continuous=continuous,
            missing=markers(missing),
            discretize=choices,
        )
    dag = _dag(structure, target, table)
    if by_source:
        dag = _by_source(dag, table)
    _check_discrete(dag, table)
    with screen(stderr=True).status("Fitting"):
        net = cs.fit(dag, table, estimator)
    if output is not None:
        cs.save(net, output)
    _summarize(net, table, output)


def _estimator(parameters: str | None, ess: float | None, strength: str | None) -> Estimator | None:
    """The estimator that was asked for; None leaves the choice to the library."""
    import consilience as cs

    if ess is not None and parameters not in (None, "dirichlet"):
        raise click.UsageError("--ess goes with --parameters dirichlet.")
    if strength is not None and parameters not in HIERARCHICAL:
        raise click.UsageError(f"--strength goes with --parameters {', '.join(HIERARCHICAL)}.")
    if parameters is None and ess is None:
        return None
    if parameters in HIERARCHICAL:
        choices = {"hdmcs": cs.HDMCS, "hdmjs": cs.HDMJS, "hds": cs.HDS, "adaptive": cs.Adaptive}
        return choices[parameters](s=_strength(strength))
    plain = {"mle": cs.MLE, "shrinkage": cs.Shrinkage, "hdc": cs.HDC}
    return plain[parameters]() if parameters in plain else cs.Dirichlet(ess=ess)


def _strength(text: str | None) -> Strength:
    import consilience as cs

    kind, _, value = (text or "per-state").partition(":")
    try:
        if kind == "per-state":
            return cs.PerState(float(value or 1))
        if kind == "gamma":
            shape, rate = map(float, value.split(","))
            return cs.Gamma(shape, rate)
        return float(kind)
    except ConsilienceError:
        raise
    except ValueError:
        raise click.UsageError(
            f"--strength {text!r}: expected a number, per-state or gamma:4,0.1."
        ) from None


def _discretizer(text: str) -> tuple[str, Discretizer]:
    import consilience as cs

    column, _, how = text.partition("=")
    kind, _, value = how.partition(":")
    try:
        if kind == "quantiles":
            return column, cs.Quantiles(int(value))
        if kind == "width":
            return column, cs.EqualWidth(int(value))
        if kind == "cuts":
            return column, cs.Cuts([float(point) for point in value.split(",")])
        if kind == "mdlp" and value:
            return column, cs.MDLP(value)
    except ConsilienceError:
        raise
    except ValueError as problem:
        raise click.UsageError(f"--discretize {text!r}: {problem}.") from problem
    raise click.UsageError(
        f"--discretize {text!r}: expected COL=quantiles:5, COL=width:5, COL=cuts:120,140 or "
        "COL=mdlp:TARGET."
    )


def _dag(structure: str | None, target: str | None, table: cs.Table) -> cs.DAG:
    import consilience as cs

    if structure is None and target is None:
        raise click.UsageError("say the graph with --structure, or give --target for naive Bayes.")
    if structure in (None, NAIVE_BAYES, TAN):
        if target is None:
            raise click.UsageError(f"--structure {structure} needs --target.")
        return cs.tan(table, target) if structure == TAN else cs.naive_bayes(table, target)
    if target is not None:
        raise click.UsageError(f"--target goes with --structure {NAIVE_BAYES} or {TAN} only.")
    if structure.lstrip().startswith("["):
        return cs.DAG.parse(structure)
    if not Path(structure).is_file():
        raise Refusal(
            f"--structure {structure!r} is not a file, nor a model string such as '[A][B|A]', "
            f"nor {NAIVE_BAYES!r} or {TAN!r}."
        )
    return cs.load(structure).dag


def _by_source(dag: cs.DAG, table: cs.Table) -> cs.DAG:
    """The graph with the source as the first parent of every other node."""
    import consilience as cs

    source = table.source
    if source is None:
        raise Refusal("--by-source needs rows of several sources: name their column with --source.")
    others = [node for node in dag.nodes if node != source]
    arcs = [arc for arc in dag.arcs if arc[0] != source]
    return cs.DAG([*((source, node) for node in others), *arcs], nodes=[source, *others])


def _check_discrete(dag: cs.DAG, table: cs.Table) -> None:
    """Refuse columns without states, all of them at once and with the reason for each."""
    found = [
        f"{name!r} ({table.origins[name]})"
        for name in dag.nodes
        if name in table.variables and table.variables[name].is_continuous
    ]
    if found:
        raise Refusal(
            f"tables need states, but these columns are continuous: {', '.join(found)}. "
            "Try --discretize COL=quantiles:5 or --discrete COL."
        )


def _summarize(net: cs.Network, table: cs.Table, output: Path | None) -> None:
    facts = {"rows": f"{table.n_rows:,}"}
    if table.weights is not None:
        facts["weight"] = f"{table.total_weight:,g}"
    if table.sources:
        facts["sources"] = f"{len(table.sources)} in {table.source!r}: {listed(table.sources)}"
    facts |= {
        "nodes": f"{len(net.dag.nodes):,}",
        "arcs": f"{len(net.dag.arcs):,}",
        "parameters": f"{net.n_parameters:,}",
        "estimator": net.record.method,
    }
    if output is not None:
        facts["written to"] = str(output)
    console = screen()
    print_facts(console, facts)
    _print_gaps(console, net)
    if notes := [*_sharing(net), *net.record.notes]:
        console.print()
        print_notes(notes)


def _print_gaps(console: Console, net: cs.Network) -> None:
    record = net.record
    gaps = [
        name for name in record.n_rows if record.n_incomplete[name] or record.unidentified[name]
    ]
    if not gaps:
        return
    header = ("family", "rows used", "incomplete", "parent states", "never seen")
    rows = [
        (
            f"{name} | {', '.join(net[name].parents)}" if net[name].parents else name,
            f"{record.n_rows[name]:,g}",
            f"{record.n_incomplete[name]:,g}",
            f"{len(net[name].rows):,}",
            f"{record.unidentified[name]:,}",
        )
        for name in gaps
    ]
    console.print("\nFamilies with gaps:")
    console.print(grid_of(header, rows))


def _sharing(net: cs.Network) -> list[str]:
    """What the tables share between sources, if there are several."""
    if net.source is None:
        return []
    children = net.dag.children(net.source)
    states = net.variables[net.source].discrete_states
    n_sources = len([state for state in states if state != NEW_SOURCE])
    if not children:
        return [
            f"The tables are pooled over the {n_sources} sources; --by-source gives each its own."
        ]
    if len(children) == len(net.dag.nodes) - 1:
        tied = NEW_SOURCE in states
        return [
            f"The tables of the {n_sources} sources are tied together; the state {NEW_SOURCE!r} of "
            f"{net.source!r} stands for a source never seen."
            if tied
            else f"Each of the {n_sources} sources has tables of its own."
        ]
    return [f"The tables of {listed(children)} depend on the source; the others are pooled."]
