"""A cheap cell of every experiment, computed again and compared with what the pages print.

    CONSILIENCE_DATA=... python experiments/check.py [--only PATTERN] [--write]

``check.md`` has a line for each: the experiment, which cell, and its value as it was printed.
``--write`` prints the table anew,
after a change that is meant to change numbers; then the pages must be run again. Exit code 1 if a
value differs.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import consilience as cs

HERE = Path(__file__).parent
PAGE = HERE / "check.md"
HEAD = """# Cells that are checked

A cheap cell of every experiment: `make experiments-check` computes each again and compares it with
what stands here, to the printed digits.

| experiment | cell | value |
|---|---|---|
"""


@dataclass(frozen=True)
class Cell:
    """A number that the page prints: what it is, and how it is made."""

    experiment: str
    what: str
    work: Callable[[], str]

    @property
    def start(self) -> str:
        return f"| `{self.experiment}` | {self.what} | "

    def line(self, value: str) -> str:
        return f"{self.start}{value} |"


def numbers(values: Sequence[float], digits: int = 3) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def of_rows(rows: Sequence[dict[str, Any]], measure: str, digits: int = 3) -> str:
    """A measure of all rows that have it, in their order."""
    return numbers([float(row[measure]) for row in rows if row.get(measure) is not None], digits)


def alike_sources() -> str:
    import alike_sources as study

    return "{} sources, {} of {} families named".format(*study.false_alarms(0))


def answer_coverage() -> str:
    import answer_coverage as study

    return f"{study.plain(20, 1):.2f}"


def averaging() -> str:
    import averaging as study

    net = cs.random_network(study.sparse_dag(5, np.random.default_rng(1)), seed=1)
    return numbers(study.losses_of(net, 100, 0), 4)


def bounds() -> str:
    import bounds as study

    way = cs.StructuralEM(em=cs.gaps.VariationalBayes())
    return f"SHD {cs.shd(cs.learn(study.with_gaps(0), gaps=way), study.TRUE)}"


def calibrated_draws() -> str:
    import calibrated_draws as study

    found = study.ranks(3, study.MECHANISMS["MCAR"], seed=1)
    return ", ".join(f"{values.sum()}" for values in found.values())


def causal() -> str:
    import causal as study

    found = study.gaps_cover(20, 1, is_equal=True)
    return numbers(list(found.values()), 2)


def chain() -> str:
    import chain as study

    rows = study.hierarchies(study.Cell("heart", "NB", 100, 0))
    return of_rows(rows[:4], "log_loss")


def change_points() -> str:
    import change_points as study

    rng = np.random.default_rng(0)
    arcs, before, after = study.network(rng)
    x = study.series(rng, before, after)
    columns = dict(zip(study.NAMES, x.T, strict=True))
    panel = cs.dynamic.read_panel(columns, continuous=study.NAMES)
    judge = cs.dynamic.ChangePoints(hazard=1 / 120)
    found = study.found_by(cs.scores.MAP(judge, study.EvenInNumber()), panel)
    return f"{(found & arcs).sum()} of {arcs.sum()} arcs, {(found & ~arcs).sum()} false"


def classifiers() -> str:
    import classifiers as study

    rows = study.work(study.Cell("heart", "naive Bayes", 0))
    return of_rows(rows[:3], "log_loss")


def clusters() -> str:
    import clusters as study

    return f"{study.n_clusters_of_one(0)} cluster"


def defaults() -> str:
    import defaults as study

    found = study.new_hospital(5)
    return numbers([value for name, value in found.items() if name != "n_hospitals"], 4)


def dynamic() -> str:
    import dynamic as study

    return numbers(list(study.losses(0).values()), 4)


def estimate_coverage() -> str:
    import estimate_coverage as study

    name, way = next(iter(study.WAYS.items()))
    share, asked = study.coverage(way, 10, 1)
    return f"{name}: {share:.2f}, {asked} asked"


def fused_intervals() -> str:
    import fused_intervals as study

    return numbers([covered for covered, _ in study.repeat(0, 0.0).values()])


def fusion_paper() -> str:
    import fusion as study

    rows = study.papers_study(study.Paper(0))
    return ", ".join(str(row["shd"]) for row in rows if row["what"] == "source")


def fusion_heart() -> str:
    import fusion as study

    return of_rows(study.heart_study(study.Heart(0, 0)), "fit")


def heart() -> str:
    import os

    import heart as study

    frame = study.heart(Path(os.environ["CONSILIENCE_DATA"]))
    found = study.one_split(frame, "nb", 0)
    return numbers(found["log loss"].tolist())


def hierarchies() -> str:
    import hierarchies as study

    drawn = (HERE.parent / "docs" / "images" / "hierarchies.svg").read_text(encoding="utf-8")
    return "the same" if study.picture() == drawn else "another picture"


def incomplete_graphs() -> str:
    import os

    import incomplete_graphs as study

    net = study.network_of("asia", Path(os.environ["CONSILIENCE_DATA"]))
    rows = study.learned(study.Cell("asia", 500, 0.1, 0), net)
    return of_rows(rows, "shd", 0)


def independence() -> str:
    import independence as study

    tests = {name: (test, cases) for name, test, cases in study.studies(19)}
    test, cases = tests["exact t"]
    p = study.p_values(cases[0], test, 500, 1)
    return f"{np.mean(p <= study.ALPHA):.3f} rejected"


def influence() -> str:
    import influence as study

    groups = {name: list(columns) for name, columns in study.EICU.items()}
    found = cs.influence(study.stays(), groups, n_states=3, iterations=0)
    return f"{found.score:,.1f}"


def influence_blocks() -> str:
    import influence_blocks as study

    return "found" if study.is_found(0, 2000, {}) else "not found"


def influence_in_time() -> str:
    import influence_in_time as study

    panel, _ = study.ring(np.random.default_rng(0), n_sequences=40)
    found = cs.dynamic.influence(panel, groups=study.GROUPS, states=2, seed=0)
    arcs = set(found.dag.arcs)
    return f"{len(arcs & study.WANTED)} of 8 arcs, {len(arcs - study.WANTED)} false"


def missing() -> str:
    import missing as study

    rows = study.compared(study.Cell("learning.test", 500, "MCAR", 0.1, 0))
    return of_rows([row for row in rows if row["task"] == "structure"], "value", 0)


def related() -> str:
    import related as study

    return of_rows(study.recovered(study.Recovery(0.0, 0)), "shd", 0)


def source_graphs() -> str:
    import source_graphs as study

    n_sources, n_rows = study.SIZES["independent"][0]
    rows = study.cell(
        study.Cell("independent", study.KINDS[0], 0.0, n_sources, n_rows, 0), {}, Path()
    )
    return of_rows(rows, "arcs", 0)


def thesis_data() -> str:
    from preparation import prepared

    table = prepared("adult").table
    shown = np.bincount(np.asarray(table.source_codes))
    return ", ".join(f"{n:,}" for n in sorted(shown.tolist()))


def thesis_full() -> str:
    import studies

    rows = studies.full(studies.OfData("adult, complete rows", "chain", 0))
    return of_rows([row for row in rows if row["estimator"] == "HDMCS*+1 s=10"], "recall")


CELLS = (
    Cell("alike_sources.py", "seed 0", alike_sources),
    Cell("answer_coverage.py", "plain tables, 20 networks", answer_coverage),
    Cell("averaging.py", "log losses, five nodes, 100 rows", averaging),
    Cell("bounds.py", "graphs, seed 0", bounds),
    Cell("calibrated_draws.py", "sums of ranks, 3 replications, MCAR", calibrated_draws),
    Cell("causal.py", "coverage of gaps, 20 tables", causal),
    Cell("chain.py", "heart, naive Bayes, 100 rows, log losses", chain),
    Cell("change_points.py", "seed 0", change_points),
    Cell("classifiers.py", "heart, naive Bayes, repeat 0, log losses", classifiers),
    Cell("clusters.py", "one network, seed 0", clusters),
    Cell("defaults.py", "P(ill) of a new hospital beside five", defaults),
    Cell("dynamic.py", "sources, seed 0", dynamic),
    Cell("estimate_coverage.py", "10 queries", estimate_coverage),
    Cell("fused_intervals.py", "shares covered, repeat 0", fused_intervals),
    Cell("fusion.py", "paper, seed 0, SHD of the sources", fusion_paper),
    Cell("fusion.py", "heart, repeat 0, fold 0, fits", fusion_heart),
    Cell("heart.py", "naive Bayes, split 0, log losses", heart),
    Cell("hierarchies.py", "the picture in the docs", hierarchies),
    Cell("incomplete_graphs.py", "asia, 500 rows, 10 % missing, SHD", incomplete_graphs),
    Cell("independence.py", "exact t, first case, 500 simulations", independence),
    Cell("influence.py", "eICU, BIC of the models alone", influence),
    Cell("influence_blocks.py", "seed 0", influence_blocks),
    Cell("influence_in_time.py", "seed 0, 40 sequences", influence_in_time),
    Cell("missing.py", "learning.test, 500 rows, MCAR 10 %, SHD", missing),
    Cell("related.py", "delta 0, repeat 0, SHD", related),
    Cell("source_graphs.py", "independent columns, repeat 0, arcs", source_graphs),
    Cell("thesis.py", "rows of Adult by sex", thesis_data),
    Cell("thesis.py", "full, complete rows, recall of HDMCS*", thesis_full),
)


def without_cell() -> list[str]:
    """Experiments that no cell is of."""
    told = {cell.experiment for cell in CELLS} | {Path(__file__).name}
    scripts = [
        path.name for path in HERE.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
    ]
    return sorted(set(scripts) - told)


@click.command(help=__doc__)
@click.option("--only", default="", help="A pattern that the name of the experiment has.")
@click.option("--write", is_flag=True, help="Print the table anew.")
def main(only: str, write: bool) -> None:
    printed = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    known = {
        cell: next((one for one in printed if one.startswith(cell.start)), "") for cell in CELLS
    }
    lines, n_other = [], 0
    for cell in CELLS:
        if not re.search(only, cell.experiment):
            continue
        begun = time.process_time()
        line = cell.line(cell.work())
        lines.append(line)
        is_same = line == known[cell]
        known[cell] = line
        n_other += not is_same
        took = time.process_time() - begun
        click.echo(f"{'same ' if is_same else 'OTHER'} {took:5.1f} s  {line}")
    for name in without_cell():
        click.echo(f"no cell: {name}")
    if write:
        PAGE.write_text(HEAD + "\n".join(filter(None, known.values())) + "\n", encoding="utf-8")
        return
    click.echo(f"{len(lines) - n_other} of {len(lines)} cells are as printed.")
    sys.exit(1 if n_other else 0)


if __name__ == "__main__":
    main()
