"""``consilience evaluate``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from consilience.cli.bundles import bundled
from consilience.cli.common import (
    INTERRUPTED,
    Refusal,
    data_argument,
    grid_of,
    listed,
    model_of,
    print_facts,
    print_notes,
    save_figure,
    screen,
    spoken,
)
from consilience.cli.engines import check_row_inputs, engine_option, in_memory
from consilience.cli.estimators import CALIBRATED, HIERARCHICAL, Tables, estimator_of
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import check_folder, force_option
from consilience.cli.progress import watched
from consilience.cli.reading import (
    Reading,
    discretizer_of,
    reading_options,
    rows_of,
)
from consilience.cli.terminal import echo, visible

if TYPE_CHECKING:
    import consilience as cs
    from consilience.classify.splits import Splits
    from consilience.classify.structures import Structure
    from consilience.classify.trial import Contestant

__all__ = ["evaluate"]

STRUCTURES: Final = ("naive-bayes", "tan", "hc", "ges")
POOLED, SEPARATE = "pooled", "separate"
PARAMETERS: Final = (
    *("dirichlet", POOLED, SEPARATE, "mle", "shrinkage"),
    *HIERARCHICAL,
    *("hdc", CALIBRATED),
)
MANY_SOURCES: Final = {
    "pooled": POOLED,
    "separate": SEPARATE,
    "HDMCS": "hdmcs",
    "HDC": "hdc",
    "Calibrated": CALIBRATED,
}
ONE_SOURCE: Final = {"Dirichlet": "dirichlet", "HDC": "hdc", "Calibrated": CALIBRATED}
MEASURES: Final = {
    **{name: name for name in ("accuracy", "precision", "recall", "f1", "brier")},
    "log-loss": "log_loss",
    "calibration": "calibration_error",
    "log-likelihood": "log_likelihood",
}
ABOUT_POSITIVE: Final = ("precision", "recall", "f1")
RESULTS, SUMMARY, CELLS = FILES = ("results.csv", "summary.csv", "cells.jsonl")


@dataclass(frozen=True, slots=True)
class Contest:
    """What the options say about who is compared."""

    structure: tuple[str, ...]
    parameters: tuple[str, ...]
    ess: float | None
    strength: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What the options say about training sets and test sets."""

    folds: int | None
    leave_one_source_out: bool
    sizes: str | None
    repeats: int | None
    test_rows: int | None
    seed: int


contest_options: Final = bundled(
    "contest",
    Contest,
    [
        click.option(
            "--structure",
            multiple=True,
            metavar="GRAPH",
            help="naive-bayes, tan, hc or ges (learned from each training set by BIC), a model "
            "file, or a model string such as '[A][B|A]'; repeatable.  "
            "[default: naive-bayes and tan]",
        ),
        click.option(
            "--parameters",
            multiple=True,
            type=click.Choice(PARAMETERS),
            help="How counts become probabilities; repeatable. calibrated is hdc made to predict "
            "the target.  [default: pooled, separate, hdmcs, hdc and calibrated; dirichlet, hdc "
            "and calibrated for one source]",
        ),
        click.option("--ess", type=float, help="Size of the Dirichlet priors.  [default: 1]"),
        click.option(
            "--strength",
            metavar="S",
            help="How strongly hierarchies tie their groups: a number, per-state, or "
            "gamma:SHAPE,RATE to learn it.  [default: per-state]",
        ),
    ],
)
plan_options: Final = bundled(
    "plan",
    Plan,
    [
        click.option(
            "--folds",
            type=click.IntRange(min=2),
            help="Cross-validation, stratified by class and source.  [default: 5]",
        ),
        click.option(
            "--leave-one-source-out",
            is_flag=True,
            help="Test on each source in turn what was learned from the others.",
        ),
        click.option(
            "--sizes", metavar="N,N,...", help="A learning curve: training sets of these sizes."
        ),
        click.option(
            "--repeats",
            type=click.IntRange(min=1),
            help="How often folds or a learning curve are drawn anew.  [default: 1; 5 for --sizes]",
        ),
        click.option(
            "--test-rows",
            type=click.IntRange(min=1),
            help="Test rows of a learning curve.  [default: all that are left]",
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the splits."),
    ],
)


@click.command()
@data_argument
@click.option("--target", required=True, metavar="COL", help="The class that is predicted.")
@reading_options
@file_options
@contest_options
@plan_options
@click.option("--positive", metavar="STATE", help="The state that F1 is about, of two the second.")
@click.option(
    "--measure",
    type=click.Choice(list(MEASURES)),
    default="log-loss",
    show_default=True,
    help="The measure that is shown with its errors and by source.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder for results and figures."
)
@force_option
@engine_option
@spoken
def evaluate(
    data: tuple[str, ...],
    target: str,
    reading: Reading,
    files: Files,
    *,
    contest: Contest,
    plan: Plan,
    positive: str | None,
    measure: str,
    output: Path | None,
    force: bool,
    engine: str | None,
) -> None:
    """Compare ways to learn a classifier on rows that they did not learn from.

    Every --structure is tried with all --parameters, beside the class prior, overall and by
    source, which looks at no feature. Continuous columns stay numbers unless --discretize cuts
    them; its cut points are found in each training set. A source that a training set lacks is
    predicted as one never seen.

    With -o the folder gets results.csv (every number), summary.csv, figures, and cells.jsonl: what
    is finished, so that the same command goes on after an interrupt. Figures need matplotlib.

    \b
    Examples:
      consilience evaluate heart.csv --source hospital --target disease
      consilience evaluate heart.csv --source hospital --target disease --leave-one-source-out
      consilience evaluate heart.csv --target disease --structure tan --parameters hdc
        --parameters calibrated --sizes 20,60,120 -o results
    """
    import consilience as cs

    if output is not None:
        check_folder(output, FILES, [*data, *contest.structure], force=force)
    check_row_inputs(data, engine)
    splits = _splits(plan)
    _check_priors(contest, set(contest.parameters or {*MANY_SOURCES.values(), "dirichlet"}))
    choices = dict(map(discretizer_of, reading.discretize))
    table = in_memory(rows_of(data, replace(reading, discretize=()), files, engine))
    structures = _structures(contest.structure)
    estimators = _estimators(contest, table)
    _check_target(table, target)
    _check_measure(table, target, positive, measure)
    if output is not None:
        output.mkdir(exist_ok=True)
    with watched("Evaluating") as progress:
        found = cs.cross_evaluate(
            table,
            target,
            structures=structures or None,
            estimators=estimators,
            splits=splits,
            discretize=choices,
            positive=positive,
            seed=plan.seed,
            progress=progress,
            resume=None if output is None else output / CELLS,
        )
    _print_tables(found, MEASURES[measure])
    if output is not None:
        _write_all(found, output)
    if found.stopped_by == "interrupt":
        again = "; the same command goes on from here" if output is not None else ""
        echo(f"interrupted{again}", err=True)
        sys.exit(INTERRUPTED)


def _estimators(contest: Contest, table: cs.Table) -> dict[str, Contestant]:
    usual = MANY_SOURCES if len(table.sources) > 1 else ONE_SOURCE
    names = {name: name for name in contest.parameters} or usual
    _check_priors(contest, set(names.values()))
    return {shown: _estimator(name, contest) for shown, name in names.items()}


def _check_priors(contest: Contest, names: set[str]) -> None:
    """Refuse numbers that none of the contestants would look at."""
    if contest.ess is not None and not {"dirichlet", POOLED, SEPARATE} & names:
        raise click.UsageError("--ess goes with --parameters dirichlet, pooled or separate.")
    if contest.strength is not None and not set(HIERARCHICAL) & names:
        raise click.UsageError(f"--strength goes with --parameters {', '.join(HIERARCHICAL)}.")


def _estimator(name: str, contest: Contest) -> Contestant:
    import consilience as cs

    plain = "dirichlet" if name in (POOLED, SEPARATE) else name
    strength = contest.strength if plain in HIERARCHICAL else None
    ess = contest.ess if plain == "dirichlet" else None
    found = estimator_of(Tables(False, plain, strength), ess) or cs.Dirichlet()
    if isinstance(found, cs.classify.Calibrated):
        return found
    if name == POOLED:
        return cs.Pooled(found)
    return cs.Separate(found) if name == SEPARATE else found


def _structures(texts: Sequence[str]) -> dict[str, Structure]:
    import consilience as cs

    learners = (cs.naive_bayes, cs.tan, _hill_climbed, _equivalence_searched)
    known: dict[str, Structure] = dict(zip(STRUCTURES, learners, strict=True))
    found: dict[str, Structure] = {}
    for text in texts:
        if text in known:
            found[text] = known[text]
            continue
        model = model_of(text, f"--structure {text!r}", f", nor one of {', '.join(STRUCTURES)}")
        name = text if text.lstrip().startswith("[") else Path(text).name
        found[name] = model if isinstance(model, cs.DAG) else _graph_of(model)
    return found


def _hill_climbed(table: cs.Table, target: str) -> cs.DAG:
    import consilience as cs

    return cs.learn(table, search=cs.HillClimb())


def _equivalence_searched(table: cs.Table, target: str) -> cs.DAG:
    import consilience as cs

    return cs.learn(table, search=cs.GES())


def _graph_of(net: cs.Network) -> cs.DAG:
    """The graph of a model; its source is added again by whatever is learned from several."""
    return net.dag if net.source is None else net.dag.without(net.source)


def _splits(plan: Plan) -> Splits:
    import consilience as cs

    asked = [plan.folds is not None, plan.leave_one_source_out, plan.sizes is not None]
    if sum(asked) > 1:
        raise click.UsageError(
            "choose one of --folds, --leave-one-source-out and --sizes: each splits the rows."
        )
    if plan.test_rows is not None and plan.sizes is None:
        raise click.UsageError("--test-rows goes with --sizes.")
    if plan.leave_one_source_out:
        if plan.repeats is not None:
            raise click.UsageError("--leave-one-source-out is not random; --repeats says nothing.")
        return cs.classify.LeaveOneSourceOut()
    if plan.sizes is None:
        return cs.classify.StratifiedFolds(plan.folds or 5, plan.repeats or 1)
    try:
        sizes = [int(text) for text in plan.sizes.split(",")]
    except ValueError:
        raise click.UsageError(f"--sizes {plan.sizes!r}: expected numbers as 20,60,120.") from None
    return cs.classify.LearningCurve(sizes, plan.repeats or 5, plan.test_rows)


def _check_target(table: cs.Table, target: str) -> None:
    import consilience as cs

    if target not in table.variables:
        near = cs.data.misspelt(target, table.variables)
        hint = "" if near is None else f" Is it {near!r}?"
        raise Refusal(f"there is no column {target!r}.{hint} Known: {listed([*table.variables])}.")
    if table.schema[target].is_continuous:
        raise Refusal(
            f"--target {target!r} is continuous ({table.origins[target]}); classifiers predict "
            "states. Cut it into states before, or read it with --discrete."
        )


def _check_measure(table: cs.Table, target: str, positive: str | None, measure: str) -> None:
    states = table.variables[target].discrete_states
    if measure in ABOUT_POSITIVE and positive is None and len(states) > 2:
        raise Refusal(
            f"--measure {measure} is about one state of {target!r}: name it by --positive."
        )


def _print_tables(found: cs.classify.CrossEvaluation, measure: str) -> None:
    import consilience as cs

    console = screen()
    console.print(visible(cs.classify.title_of(found)), markup=False, soft_wrap=True)
    for title, (header, rows) in cs.classify.tables_of(found, measure):
        console.print(f"\n{title}" if title else "")
        console.print(grid_of(header, rows, n_left=2))
    print_notes(list(found.notes))


def _write_all(found: cs.classify.CrossEvaluation, folder: Path) -> None:
    """All numbers, and pictures of them if they can be drawn."""
    found.to_csv(folder / RESULTS)
    found.summary_to_csv(folder / SUMMARY)
    written = [RESULTS, SUMMARY]
    notes = []
    try:
        written += _draw(found, folder)
    except ImportError as problem:
        notes.append(f"There are no figures: {problem}")
    console = screen()
    console.print()
    print_facts(console, {"written to": f"{folder}: {', '.join(written)}"})
    print_notes(notes)


def _draw(found: cs.classify.CrossEvaluation, folder: Path) -> list[str]:
    import consilience as cs

    views = {"estimators.png": "measures"}
    if found.sources:
        views["sources.png"] = "sources"
    if found.by_size:
        views["learning-curves.png"] = "curves"
    views["calibration.png"] = "calibrations"
    for name, view in views.items():
        save_figure(cs.plot(found, view), folder / name)
    return list(views)
