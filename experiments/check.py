"""A cheap number of every experiment, made again and compared with the page that prints it.

    CONSILIENCE_DATA=... python experiments/check.py [--only PATTERN]

A cell says on which page its numbers stand, by a pattern that fits there exactly once and whose
groups are the numbers, and how they are made. Where a number differs, run the experiment again and
correct its page. Exit code 1 if one does.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from cells import mean_and_error

import consilience as cs

HERE = Path(__file__).parent
README = "experiments/README.md"
COLUMN = r" \| (-?[\d.]+)"
MEAN = r"(-?[\d.]+ ± [\d.]+)"


@dataclass(frozen=True)
class Cell:
    """Numbers that a page prints: where they stand, and how they are made."""

    experiment: str
    page: str
    printed: str
    work: Callable[[], Sequence[str]]

    def on_page(self) -> tuple[str, ...]:
        """The numbers as the page has them."""
        text = (HERE.parent / self.page).read_text(encoding="utf-8")
        found = list(re.finditer(self.printed, text))
        if len(found) != 1:
            sys.exit(f"{self.experiment}: {self.printed!r} fits {self.page} {len(found)} times.")
        return found[0].groups()


def data() -> Path:
    return Path(os.environ["CONSILIENCE_DATA"])


def share(values: Iterable[bool]) -> str:
    """How many of how many."""
    every = list(values)
    return f"{sum(every)} of {len(every)}"


def mean(values: Iterable[float], digits: int = 2) -> str:
    """Mean and standard error."""
    return "{:.{d}f} ± {:.{d}f}".format(*mean_and_error(values), d=digits)


def per_cent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def by(rows: Iterable[dict[str, Any]], measure: str, **of: Any) -> list[float]:
    """A measure of the rows that have these fields."""
    return [row[measure] for row in rows if all(row.get(k) == v for k, v in of.items())]


def alike_sources() -> list[str]:
    import alike_sources as study

    found = [study.false_alarms(seed) for seed in range(20)]
    return [str(sum(one[k] for one in found)) for k in (1, 2)]


def answer_coverage() -> list[str]:
    import answer_coverage as study

    keys = [study.DataSet(False, 1, repeat) for repeat in range(4000)]
    with TemporaryDirectory() as folder:
        return [per_cent(one, 2) for one in study.shares(keys, Path(folder)).values()]


def averaging() -> list[str]:
    import averaging as study

    net = cs.load(data() / "networks" / "asia.bif")
    losses = np.array([study.losses_of(net, 250, seed) for seed in range(study.REPEATS)])
    best, averaged = losses.mean(axis=0)
    away, error = mean_and_error(losses[:, 1] - losses[:, 0])
    return [f"{one:.4f}" for one in (best, averaged, away, error)]


def bounds() -> list[str]:
    import bounds as study

    graph, criterion = cs.dynamic.hidden_markov(["symbol"]), study.CRITERIA["bic"]
    chosen = (
        cs.dynamic.hidden_states(
            graph, study.sequences(seed), "z", range(1, 6), criterion=criterion
        ).n_states
        for seed in range(20)
    )
    return [share(n == 3 for n in chosen)]


def calibrated_draws() -> list[str]:
    import calibrated_draws as study

    tests = study.p_values(study.ranks(100, study.MECHANISMS["MCAR"], seed=1))
    return [share(p > 0.01 for p in tests.values()), f"{min(tests.values()):.3f}"]


def causal() -> list[str]:
    import causal as study

    graphs = list(study.all_graphs("abc"))
    refused = [
        [g for g in graphs if not cs.causal.identify(g, "c", do="a", given=z).is_identified]
        for z in ((), "b")
    ]
    least = min(study.witness(g, "c", "a", None) for g in refused[0])
    return [*(str(len(some)) for some in refused), f"{least:.1g}"]


def chain() -> list[str]:
    import chain as study
    import chain_data

    keys = [study.Cell("eicu", "nb", n, i) for n in chain_data.SIZES for i in range(20)]
    rows = [study.Trial.of(key).prior_row() for key in keys]
    return [f"{np.mean(by(rows, 'accuracy')):.3f}"]


def change_points() -> list[str]:
    import change_points as study

    n_true, found = study.arcs_found(10)
    return [str(n_true), *(str(n) for both in found.values() for n in both)]


def classifiers() -> list[str]:
    import classifiers as study

    rows = [row for i in range(10) for row in study.work(study.Cell("noise", "naive Bayes", i))]
    names = (study.PRIOR, study.DEFAULT, *study.ESTIMATORS)
    return [f"{np.mean(by(rows, 'log_loss', method=name)):.3f}" for name in names]


def clusters() -> list[str]:
    import clusters as study

    found = cs.fusion.clusters(study.heart())
    one, _, three, four = (found.scores[k] for k in (1, 2, 3, 4))
    return [f"{three - one:.0f}", f"{three - four:.1f}"]


def defaults() -> list[str]:
    import defaults as study

    found = study.new_hospital(40)
    return [f"{found[name]:.2%}" for name in (study.DEFAULT, "PerState(1)")]


def dynamic() -> list[str]:
    import dynamic as study

    found = [study.losses(seed) for seed in range(20)]
    return [f"{np.mean([one[name] for one in found]):.4f}" for name in found[0]]


def estimate_coverage() -> list[str]:
    import estimate_coverage as study

    return [per_cent(study.coverage(study.WAYS["likelihood weighting"], 2000, 1)[0])]


def federation() -> list[str]:
    import federation as study

    net = cs.load(data() / "networks" / "alarm.bif")
    site = study.study_of(study.parts_of(net, 1000, 1), "intervals")
    cs.fit(net.dag, site, cs.Pooled(cs.Dirichlet(ess=10)))
    return [f"{37 - len(site.record.withheld)} of 37"]


def fused_intervals() -> list[str]:
    import fused_intervals as study

    found = [study.repeat(seed, study.SPREAD) for seed in range(100)]
    names = ("Merged()", "InverseVariance()", "LinearPool()")
    return [f"{100 * np.mean([one[name][0] for one in found]):.1f}" for name in names]


def fusion() -> list[str]:
    import fusion as study

    def of(seed: int, what: str) -> float:
        return float(np.mean(by(study.papers_study(study.Paper(seed)), "shd", what=what)))

    return [mean(of(seed, "source") for seed in range(100))]


def heart() -> list[str]:
    import heart as study

    frame = study.heart(data())
    splits = [study.one_split(frame, "nb", seed) for seed in range(20)]
    return [f"{np.mean([one['log loss'][k] for one in splits]):.3f}" for k in range(4)]


def hierarchies() -> list[str]:
    import hierarchies as study

    drawn = (HERE.parent / "docs" / "images" / "hierarchies.svg").read_text(encoding="utf-8")
    return ["hierarchies.svg" if study.picture() == drawn else "another picture"]


def incomplete_graphs() -> list[str]:
    import incomplete_graphs as study

    net = study.network_of("learning.test", data())
    keys = [study.Cell("learning.test", 500, 0.1, repeat) for repeat in range(10)]
    rows = [row for key in keys for row in study.learned(key, net)]
    return [f"{np.mean(by(rows, 'shd', method=name)):.1f}" for name in ("no gaps", *study.METHODS)]


def independence() -> list[str]:
    import independence as study

    tests = {name: (test, cases) for name, test, cases in study.studies(199)}
    test, cases = tests["stratified exact t"]
    rejected = [np.mean(study.p_values(case, test, 2000, 1) <= study.ALPHA) for case in cases]
    return [f"{min(rejected):.3f}", f"{max(rejected):.3f}"]


def influence() -> list[str]:
    import influence as study

    groups = {name: list(columns) for name, columns in study.EICU.items()}
    found = cs.influence(study.stays(), groups, n_states=3, iterations=0)
    return [f"{found.score:,.1f}"]


def influence_blocks() -> list[str]:
    import influence_blocks as study

    return [share(study.is_found(seed, 2000, {}) for seed in range(20))]


def influence_in_time() -> list[str]:
    import influence_in_time as study

    panel, _ = study.ring(np.random.default_rng(0))
    found = cs.dynamic.influence(panel, groups=study.GROUPS, states=2, seed=0)
    arcs = set(found.dag.arcs)
    return [f"{len(arcs & study.WANTED)} of 8", f"{len(arcs - study.WANTED)}"]


def missing() -> list[str]:
    import missing as study

    keys = [study.Cell("asia", 1000, "MCAR", 0.05, repeat) for repeat in range(6)]
    rows = [row for key in keys for row in study.structures(*study.drawn(key))]
    return [mean(by(rows, "value", way=way), 1) for way in dict.fromkeys(r["way"] for r in rows)]


def related() -> list[str]:
    import related as study

    rows = [row for i in range(50) for row in study.invented_arcs(study.Eight("even", 10.0, i))]
    return [mean(by(rows, "invented", score=name)) for name in study.SCORES]


def source_graphs() -> list[str]:
    import source_graphs as study

    cells = [study.Cell("independent", "discrete", 0.0, 4, 100, i) for i in range(50)]
    rows = [row for cell in cells for row in study.cell(cell, {}, Path())]
    return [mean(by(rows, "arcs", method=name)) for name in study.METHODS]


def thesis() -> list[str]:
    import trials
    from preparation import prepared

    problem, estimators = prepared("adult, complete rows"), trials.named("HDMCS*+1 s=10")
    rows = []
    for repeat in range(20):
        pool, test = trials.split(problem, 10_000, repeat)
        dag = trials.dag_of("chain", pool, problem.target)
        rows += trials.measured(problem, dag, pool, test, estimators)
    names = ("accuracy", "precision", "recall", "f1")
    return [f"{np.mean(by(rows, name, estimator='HDMCS*+1 s=10')):.3f}" for name in names]


CELLS = (
    Cell("alike_sources.py", README, r"names (\d+) of (\d+) families", alike_sources),
    Cell("answer_coverage.py", README, r"data sets of one source: ([\d.]+ %)", answer_coverage),
    Cell("averaging.py", README, r"\| asia \| 250" + 4 * COLUMN, averaging),
    Cell("bounds.py", README, r"one to five tried: by BIC in (\d+ of 20)", bounds),
    Cell(
        "calibrated_draws.py",
        README,
        r"\| 100 replications, seed 1 \| (\d+ of 15), smallest p ([\d.]+) \|",
        calibrated_draws,
    ),
    Cell(
        "causal.py",
        README,
        r"all (\d+) on three nodes \((\d+) with a condition\)[^;]*; the smallest residuals are "
        r"([\d.]+),",
        causal,
    ),
    Cell("chain.py", README, r"the class prior has ([\d.]+)\)", chain),
    Cell(
        "change_points.py",
        README,
        r"first ten series, with (\d+) arcs: (\d+) and (\d+) false ones, without changes (\d+) and "
        r"(\d+)\)",
        change_points,
    ),
    Cell("classifiers.py", README, r"\| noise \| naive Bayes" + 7 * COLUMN, classifiers),
    Cell(
        "clusters.py",
        README,
        r"three clusters are better than one by (\d+), than four by ([\d.]+\d)",
        clusters,
    ),
    Cell("defaults.py", README, r"\| 40 \| ([\d.]+%) \| 1.20% \| met \| ([\d.]+%)", defaults),
    Cell("dynamic.py", README, r"\| log loss a step" + 5 * COLUMN, dynamic),
    Cell("estimate_coverage.py", README, r"([\d.]+ %) \(likelihood weighting\)", estimate_coverage),
    Cell("federation.py", README, r"is answered for (\d+ of 37) families", federation),
    Cell(
        "fused_intervals.py",
        README,
        r"mean over sources are covered in ([\d.]+), ([\d.]+) and ([\d.]+) %",
        fused_intervals,
    ),
    Cell("fusion.py", README, r"\| a single source \| " + MEAN, fusion),
    Cell(
        "heart.py",
        README,
        r"\| naive Bayes \| log loss[^A]*?\| all rows \| ([\d.]+) [^A]*?\| complete rows \| "
        r"([\d.]+) [^A]*?\| each hospital alone \| ([\d.]+) [^A]*?\| available rows \| ([\d.]+) ",
        heart,
    ),
    Cell("hierarchies.py", "docs/hierarchical.md", r"images/(hierarchies.svg)", hierarchies),
    Cell(
        "incomplete_graphs.py",
        "docs/scores.md",
        r"\| learning.test \| 500 \| 10%" + 7 * COLUMN,
        incomplete_graphs,
    ),
    Cell(
        "independence.py",
        README,
        r"\| stratified exact t \| 3 \| [\d.]+ \| 0 \| ([\d.]+) to ([\d.]+) \|",
        independence,
    ),
    Cell("influence.py", "experiments/influence.md", r"models alone \| (-[\d.,]+)", influence),
    Cell("influence_blocks.py", README, r"names of the two, in (\d+ of 20)", influence_blocks),
    Cell(
        "influence_in_time.py",
        README,
        r"in the first seed (\d of 8) arcs and (\d) false",
        influence_in_time,
    ),
    Cell(
        "missing.py",
        "experiments/missing.md",
        r"\| MCAR \| 5 % \| (2\.\d ± \d\.\d)" + 4 * (r" \| " + MEAN),
        missing,
    ),
    Cell("related.py", README, r"\| even \| 10" + 5 * (r" \| " + MEAN), related),
    Cell(
        "source_graphs.py",
        README,
        r"\| discrete, independent \| 4 x 100" + 2 * (r" \| " + MEAN),
        source_graphs,
    ),
    Cell(
        "thesis.py",
        README,
        r"\| adult, chain \| HDMCS\*\+1 s=10" + 4 * r" \| ([\d.]+) \(\.\d+\)",
        thesis,
    ),
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
def main(only: str) -> None:
    chosen = [cell for cell in CELLS if re.search(only, cell.experiment)]
    printed = {cell: cell.on_page() for cell in chosen}
    n_same = 0
    for cell in chosen:
        begun = time.process_time()
        found, told = ", ".join(cell.work()), ", ".join(printed[cell])
        took = time.process_time() - begun
        n_same += found == told
        words = f"same  {told}" if found == told else f"OTHER {found}, printed {told}"
        click.echo(f"{took:6.1f} s  {cell.experiment:<22}{words}")
    lacking = without_cell()
    for name in lacking:
        click.echo(f"no cell: {name}")
    click.echo(f"{n_same} of {len(chosen)} are as printed.")
    sys.exit(1 if n_same < len(chosen) or lacking else 0)


if __name__ == "__main__":
    main()
