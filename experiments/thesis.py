"""The first seed's tables and figures made again, and what lies beyond them.

    CONSILIENCE_DATA=... python experiments/thesis.py COMMAND [--repeats 20] [--processes 1]

Finished cells are kept under ``results/thesis`` and a command goes on where it was stopped; tables
are printed and figures are written beside the cells. ``experiments/README.md`` says what came out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import figures
import summaries
from cells import run, write_csv
from claims import all_claims
from preparation import prepared
from studies import STUDIES, Study, of_delta

import consilience as cs

RESULTS = Path("results/thesis")


@click.group(help=__doc__.split("\n\n")[0])
def main() -> None:
    pass


def options(repeats: int) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        command = click.option("--repeats", default=repeats, show_default=True)(command)
        command = click.option("--processes", default=1, show_default=True)(command)
        folder = click.Path(path_type=Path)
        return click.option("--results", type=folder, default=RESULTS, show_default=True)(command)

    return add


@main.command()
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def data(results: Path) -> None:
    """Tables A.1 and A.2, Figures 4.1 and 4.2."""
    for name in ("adult", "diabetes"):
        print(f"\n{summaries.variables(name)}\n\n{summaries.shares(prepared(name))}")
        figures.shares(prepared(name), results / "figures" / f"{name}-shares.png")


@main.command()
@options(repeats=24)
def reference(**choices: Any) -> None:
    """HDMJS with naive Bayes on Adult: it rises with N, and why the seed's line is flat."""
    rows = computed(STUDIES["reference"], **choices)
    print(summaries.by_size(rows, "accuracy"))
    figures.reference(rows, choices["results"] / "figures" / "reference.png")


@main.command()
@options(repeats=20)
def full(**choices: Any) -> None:
    """Tables 4.1 and 4.2: all rows; naive Bayes besides TAN."""
    rows = computed(STUDIES["full"], **choices)
    for part, title in parts(rows):
        print(f"\n{title}, all rows\n\n{summaries.full(part)}")


@main.command()
@options(repeats=20)
def sizes(**choices: Any) -> None:
    """Figures 4.3 to 4.6: sample size; log loss and Brier score besides."""
    show_sizes(computed(STUDIES["sizes"], **choices), choices["results"])


@main.command()
@options(repeats=20)
def learned(**choices: Any) -> None:
    """The sample-size study with a graph learned from the training rows."""
    if not hasattr(cs, "learn"):
        sys.exit("this version of the library cannot learn graphs: there is no cs.learn.")
    show_sizes(computed(STUDIES["learned"], **choices), choices["results"])


@main.command()
@options(repeats=20)
@click.option("--simulator", type=click.Choice(["seed", "permute", "calibrated"]), default="seed")
def divergence(simulator: str, **choices: Any) -> None:
    """Figures 4.7 to 4.10: sources that diverge, as many rows as the real data."""
    rows = computed(STUDIES["divergence"], simulator=simulator, **choices)
    for part, title in parts(rows):
        print(f"\n{title}, simulator {simulator}, accuracy\n\n{summaries.by_delta(part)}")
        name = f"divergence-{simulator}-{slug(title)}.png"
        figures.divergence(part, title, choices["results"] / "figures" / name)


@main.command()
@options(repeats=5)
@click.option("--simulator", type=click.Choice(["seed", "permute", "calibrated"]), default="seed")
def both(simulator: str, **choices: Any) -> None:
    """Figures 4.11 to 4.14 and A.2 to A.5: sample size and divergence."""
    rows = computed(STUDIES["both"], simulator=simulator, **choices)
    for part, title in parts(rows):
        for measure in ("accuracy", "log_loss"):
            print(f"\n{title}, simulator {simulator}, {measure}\n")
            print(summaries.by_delta_and_size(part, measure))
        for alpha in (1, 10):
            name = f"both-{simulator}-{slug(title)}-{alpha}.png"
            figures.both(part, title, alpha, choices["results"] / "figures" / name)


@main.command()
@options(repeats=10)
def sweep(**choices: Any) -> None:
    """What s, alpha0 and pseudo_count do."""
    for part, title in parts(computed(STUDIES["sweep"], **choices)):
        for measure in ("accuracy", "log_loss"):
            print(f"\n{title}, {measure}\n\n{summaries.by_size(part, measure)}")


@main.command()
@options(repeats=10)
def sources(**choices: Any) -> None:
    """More than two sources: Adult, Diabetes, heart and eICU."""
    rows = computed(STUDIES["sources"], **choices)
    for part, title in parts(rows):
        for measure in ("accuracy", "log_loss", "brier"):
            print(f"\n{title}, {measure}\n\n{summaries.by_size(part, measure)}")
    print(f"\nGain over pooling with the number of sources\n\n{summaries.amplification(rows)}")


@main.command()
@options(repeats=1)
def advi(**choices: Any) -> None:
    """ADVI beside the exact answer (needs NumPyro: the extra "bench")."""
    from variational import ADVI

    print(summaries.advi(computed(ADVI, **choices)))


@main.command()
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def claims(results: Path) -> None:
    """The seed's claims as paired differences, from what has been run so far."""
    print(all_claims(results))


def computed(
    study: Study,
    *,
    results: Path,
    repeats: int,
    processes: int,
    simulator: str | None = None,
) -> list[dict[str, Any]]:
    """The rows of a study, also written as CSV."""
    keys = study.keys(repeats) if simulator is None else of_delta(repeats, simulator)
    rows = run(
        results / f"{study.title}.jsonl",
        keys,
        study.work,
        processes=processes,
        title=study.title,
        settings=study.settings,
    )
    suffix = "" if simulator is None else f"-{simulator}"
    write_csv(rows, results / f"{study.title}{suffix}.csv")
    return rows


def show_sizes(rows: list[dict[str, Any]], results: Path) -> None:
    for part, title in parts(rows):
        for measure in ("accuracy", "log_loss", "brier"):
            print(f"\n{title}, {measure}\n\n{summaries.by_size(part, measure)}")
            name = f"sizes-{slug(title)}-{measure}.png"
            figures.sizes(part, title, measure, results / "figures" / name)


def parts(rows: list[dict[str, Any]]) -> list[tuple[list[dict[str, Any]], str]]:
    """The rows of each data set and structure, with a title."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        title = f"{row['data'][0].upper()}{row['data'][1:]}, {row['structure']}"
        found.setdefault(title, []).append(row)
    return [(part, title) for title, part in found.items()]


def slug(title: str) -> str:
    return title.lower().replace(",", "").replace(" ", "-")


if __name__ == "__main__":
    main()
