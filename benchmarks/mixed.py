"""What continuous nodes cost: the alarm network with and without them, in CPU time.

First one normal node that nothing depends on. It changes no answer about the others, so what it
adds to the time is the price of being mixed; the bar is 1.5 times the time without it. Then five
normal nodes, each the child of one discrete node: microseconds a row of rows with gaps.

Both networks get the same rows and the same evidence, without the columns that a network does not
have. A round asks both, one after the other, about rows that no round asked about before, so that
nothing can be remembered but what belongs to the network; the first round warms up and does not
count. Short cases get more rounds. Medians over the rounds count, and of the ratio the median of
the rounds' ratios. What the library refuses is printed with its reason.

    CONSILIENCE_DATA=... python benchmarks/mixed.py [--rounds 5] [--case EM marginals ...]
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from bench import data_dir

import consilience as cs

RATIO = 1.5
"""With one normal node at most so many times the CPU time without it."""

PARENTS = ("HYPOVOLEMIA", "CVP", "VENTLUNG", "SAO2", "BP")
"""Nodes of alarm with 2, 3, 4, 3 and 3 states that have a normal child each."""

ENOUGH, MOST_ROUNDS = 1.0, 25
"""A case goes on after its rounds until it has taken so many CPU seconds, or so many rounds."""

TARGET = "HYPOVOLEMIA"
QUESTIONS, BODIES = 20, 5
FEW, SOME, MANY, MOST = 300, 2_000, 5_000, 10_000
FIRST_OPTIMUM = cs.HillClimb(tabu=0, restarts=0)


class Pair(NamedTuple):
    """A discrete network, and the same with continuous nodes added."""

    plain: cs.Network
    mixed: cs.Network


class Question(NamedTuple):
    """A node to ask about, and what is known: a tenth of the nodes."""

    target: str
    given: dict[str, str]


class Times(NamedTuple):
    """CPU seconds without and with continuous nodes, and their ratio."""

    plain: float
    mixed: float
    ratio: float


@dataclass(frozen=True)
class Case:
    """Work for a network on what is drawn from the mixed one with a seed; ``draw`` is not timed."""

    title: str
    draw: Callable[[cs.Network, int], Any]
    work: Callable[[cs.Network, Any], Any]
    network: str = "alarm"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--case", nargs="+", default=[""], help="parts of titles of cases")
    asked = arguments.parse_args()
    print(f"one normal node more: CPU milliseconds, medians of {asked.rounds} rounds or more")
    print(f"  {'':<46} {'without':>9} {'with':>10} {'ratio':>7}   at most {RATIO:g}")
    for case in chosen(CASES, asked.case):
        print(compared(case, asked.rounds), flush=True)
    print(f"\nfive normal children, {SOME:,} rows, 10 % missing: CPU microseconds a row")
    print(f"  {'':<46} {'without':>9} {'with':>10}")
    for case, bar in BY_ROW.items():
        if case in chosen(BY_ROW, asked.case):
            print(by_row(case, bar, asked.rounds), flush=True)


def chosen(cases: Any, parts: list[str]) -> list[Case]:
    return [case for case in cases if any(part in case.title for part in parts)]


def compared(case: Case, rounds: int) -> str:
    """A line with the times of a case and whether their ratio is below the bar."""
    times = contest(case, with_one_more(case.network), rounds)
    if isinstance(times, str):
        return f"  {case.title:<46} {times}"
    return (
        f"  {case.title:<46} {1e3 * times.plain:9.2f} {1e3 * times.mixed:10.2f} "
        f"{times.ratio:7.2f}   {verdict(times.ratio, RATIO)}"
    )


def by_row(case: Case, bar: float, rounds: int) -> str:
    """A line with microseconds a row and whether they are below the bar."""
    times = contest(case, with_children(), rounds)
    if isinstance(times, str):
        return f"  {case.title:<46} {times}"
    plain, mixed = 1e6 * times.plain / SOME, 1e6 * times.mixed / SOME
    return f"  {case.title:<46} {plain:9.2f} {mixed:10.2f}   at most {bar:g}: {verdict(mixed, bar)}"


def verdict(found: float, bar: float) -> str:
    return "met" if found <= bar else "NOT met"


def contest(case: Case, pair: Pair, rounds: int) -> Times | str:
    """Medians over the rounds, or why the library refused."""
    seconds: list[list[float]] = []
    try:
        one_round(case, pair, 0)
        while len(seconds) < rounds or (np.sum(seconds) < ENOUGH and len(seconds) < MOST_ROUNDS):
            seconds.append(one_round(case, pair, len(seconds) + 1))
    except cs.ConsilienceError as error:
        return "refused: " + textwrap.shorten(str(error), 70, placeholder=" ...")
    plain, mixed = np.array(seconds).T
    return Times(*(float(np.median(column)) for column in (plain, mixed, mixed / plain)))


def one_round(case: Case, pair: Pair, seed: int) -> list[float]:
    """CPU seconds of both networks on what is drawn with this seed."""
    drawn = case.draw(pair.mixed, seed)
    return [cpu_of(case, net, part_of(net, drawn)) for net in pair]


def cpu_of(case: Case, net: cs.Network, drawn: Any) -> float:
    start = time.process_time()
    case.work(net, drawn)
    return time.process_time() - start


def part_of(net: cs.Network, drawn: Any) -> Any:
    """Rows without the columns that the network does not have; all else as it is."""
    return drawn.select(list(net.variables)) if isinstance(drawn, cs.Table) else drawn


@cache
def network(title: str) -> cs.Network:
    folder = data_dir() / "networks"
    plain = folder / f"{title}.bif"
    return cs.load(plain if plain.exists() else folder / f"{title}.bif.gz")


@cache
def with_one_more(title: str) -> Pair:
    """A network, and the same with a standard normal node on its own."""
    net = network(title)
    lonely = cs.LinearGaussian(cs.Variable("lonely"), (), np.zeros(()), np.empty(0), np.ones(()))
    return Pair(net, cs.Network.of([*net.distributions.values(), lonely]))


@cache
def with_children() -> Pair:
    """Alarm, and the same with a normal child of each of ``PARENTS``: its state's place, sd one."""
    net = network("alarm")
    return Pair(net, cs.Network.of([*net.distributions.values(), *map(child_of, PARENTS)]))


def child_of(parent: str) -> cs.LinearGaussian:
    variable = network("alarm").variables[parent]
    n = variable.n_states
    means, slopes = np.arange(n, dtype=float), np.empty((n, 0))
    return cs.LinearGaussian(
        cs.Variable(f"{parent}_measured"), (variable,), means, slopes, np.ones(n)
    )


def questions(net: cs.Network, seed: int) -> list[Question]:
    """Evidence from rows of the network, about discrete nodes, and a target outside of it."""
    rng = np.random.default_rng(seed)
    rows, names = net.sample(QUESTIONS, seed=seed), list(net.tables)
    found = []
    for row in range(QUESTIONS):
        target, *known = rng.choice(names, 1 + len(names) // 10, replace=False)
        given = {str(v): net.variables[v].discrete_states[rows.columns[v][row]] for v in known}
        found.append(Question(str(target), given))
    return found


def rows_of(n_rows: int, missing: float = 0.0) -> Callable[[cs.Network, int], cs.Table]:
    """How so many rows are drawn, some of their values missing completely at random."""

    def draw(net: cs.Network, seed: int) -> cs.Table:
        rows = net.sample(n_rows, seed=seed)
        return (
            cs.simulate.with_gaps(rows, cs.simulate.MCAR(missing), seed=seed) if missing else rows
        )

    return draw


def seed_alone(net: cs.Network, seed: int) -> int:
    return seed


def marginals(net: cs.Network, asked: list[Question]) -> None:
    for question in asked:
        net.marginals(given=question.given)


def queries(net: cs.Network, asked: list[Question]) -> None:
    for question in asked:
        net.query(question.target, given=question.given)


def log_likelihood(net: cs.Network, rows: cs.Table) -> None:
    net.log_likelihood(rows)


def posteriors(net: cs.Network, rows: cs.Table) -> None:
    net.posteriors(rows, TARGET)


def fit(net: cs.Network, rows: cs.Table) -> None:
    cs.fit(net.dag, rows, cs.Dirichlet(ess=1), gaps=cs.EM())


def expected_counts(net: cs.Network, rows: cs.Table) -> None:
    cs.expected_counts(net, rows)


def climb(net: cs.Network, rows: cs.Table) -> None:
    cs.learn(rows, search=FIRST_OPTIMUM)


def learn(net: cs.Network, rows: cs.Table) -> None:
    cs.learn(rows)


def sample(net: cs.Network, seed: int) -> None:
    net.sample(100_000, seed=seed)


def sample_given(net: cs.Network, asked: list[Question]) -> None:
    for question in asked[:BODIES]:
        net.sample(SOME, given=question.given, seed=1)


CASES = (
    Case(f"all marginals, {QUESTIONS} bodies of evidence", questions, marginals),
    Case(f"log-likelihood, {FEW} rows, 10 % missing", rows_of(FEW, 0.1), log_likelihood),
    Case(f"posteriors, {FEW} rows, 10 % missing", rows_of(FEW, 0.1), posteriors),
    Case(f"log-likelihood, {MOST:,} complete rows", rows_of(MOST), log_likelihood),
    Case(f"EM, {SOME:,} rows, 3 % missing", rows_of(SOME, 0.03), fit),
    Case(f"EM, {SOME:,} rows, 10 % missing", rows_of(SOME, 0.1), fit),
    Case(f"learning, first optimum, {MANY:,} rows", rows_of(MANY), climb),
    Case(f"learning, default, {SOME:,} rows", rows_of(SOME), learn),
    Case("sampling, 100,000 rows", seed_alone, sample),
    Case(f"sampling, {BODIES} bodies of evidence, {SOME:,} rows", questions, sample_given),
    Case(f"{QUESTIONS} queries with evidence, alarm", questions, queries),
    Case(f"{QUESTIONS} queries with evidence, mildew", questions, queries, "mildew"),
)

BY_ROW = {
    Case("log-likelihood of a row", rows_of(SOME, 0.1), log_likelihood): 10.0,
    Case("E-step of a row", rows_of(SOME, 0.1), expected_counts): 40.0,
}
"""Cases and the most microseconds a row."""


if __name__ == "__main__":
    main()
