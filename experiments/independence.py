"""Are p-values uniform if there is nothing to find? Simulations of independent variables.

Two variables are drawn independently given a third one (and given the source, where there are
sources), very often, and tested. The p-values of a true test are uniform: the Kolmogorov-Smirnov
p-value of 2,000 of them should not be tiny, and 5 % of them should be at most 0.05. Shrunk
information is conservative by construction: it must not reject more often.

Tables of discrete variables are drawn as such, since tests ask for nothing else; otherwise rows are
drawn. The margins of tables are as uneven as an expected 5 rows in every cell allows (within each
source, where there are sources). Continuous variables have means and variances that differ by
parent state and by source.

    python experiments/independence.py [--simulations 2000] [--draws 199] [--seed 1] [--only NAME]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from scipy.stats import kstest

import consilience as cs
from consilience._typing import Floats, Integers
from consilience.structure.independence.asked_rows import TableGroup
from consilience.structure.independence.statements import IndependenceTest, Statements

ALPHA = 0.05
N_SOURCES = 4
AT_ONCE = 20
"""Simulations in one table of rows, each with columns of its own."""

UNEVEN = 0.5
"""Margins are drawn between 1 - this and 1 + this, relatively, where cells have rows enough."""

LEAST_EXPECTED = 5.0

ROWS = (500, 2_000, 10_000)
PARENT_STATES = (1, 2, 6)
SIZES = ((2, 2), (2, 4), (3, 3), (4, 4))


@dataclass(frozen=True, slots=True)
class Case:
    """What is drawn: numbers of states (0 for continuous ones), parent states, rows, sources."""

    x: int
    y: int
    q: int
    n_rows: int
    n_sources: int = 1
    given_number: bool = False

    @property
    def uneven(self) -> float | None:
        """How uneven margins may be; None if there are too few rows for any."""
        cells = max(self.x, 1) * max(self.y, 1) * self.q * self.n_sources
        for uneven in (UNEVEN, 0.25, 0.1, 0.0):
            smallest = ((1 - uneven) / (1 + uneven)) ** 3  # of x, y and z, relative to even margins
            if self.n_rows / cells * smallest >= LEAST_EXPECTED:
                return uneven
        return None

    def __str__(self) -> str:
        kinds = " x ".join("continuous" if n == 0 else str(n) for n in (self.x, self.y))
        more = ", given a continuous one" if self.given_number else ""
        return f"{kinds}, {self.q} parent states{more}"


def drawn(case: Case, n: int, rng: np.random.Generator) -> cs.Table:
    """A table with the columns of n simulations: x0, y0, z0 (parents), w0 (continuous), x1, ..."""
    source = rng.permutation(np.arange(case.n_rows) % case.n_sources)
    variables: dict[str, cs.Variable] = {}
    columns: dict[str, np.ndarray] = {}
    for i in range(n):
        given = _states(case.q, source, case, rng) if case.q > 1 else np.zeros(case.n_rows, int)
        if case.q > 1:
            variables[f"z{i}"], columns[f"z{i}"] = _coded(f"z{i}", case.q, given)
        group = given * case.n_sources + source
        w = rng.normal(size=case.n_rows)
        if case.given_number:
            variables[f"w{i}"], columns[f"w{i}"] = cs.Variable(f"w{i}", None), w
        for name, n_states in ((f"x{i}", case.x), (f"y{i}", case.y)):
            if n_states:
                values = (
                    _chosen(n_states, w, rng)
                    if case.given_number
                    else _states(n_states, group, case, rng)
                )
                variables[name], columns[name] = _coded(name, n_states, values)
            else:
                n_groups = case.q * case.n_sources
                mean, sd = rng.normal(size=n_groups), rng.uniform(0.5, 2.0, n_groups)
                values = rng.normal(size=case.n_rows) * sd[group] + mean[group]
                variables[name] = cs.Variable(name, None)
                columns[name] = values + (w if case.given_number else 0.0)
    if case.n_sources == 1:
        return cs.Table(cs.Schema(variables), columns)
    origin = cs.Variable("source", tuple(f"s{k}" for k in range(case.n_sources)))
    return cs.Table(cs.Schema(variables, origin), columns, source.astype(np.int8))


class DrawnTables:
    """Random tables of n simulations in place of rows, for tests that ask for tables only."""

    def __init__(self, case: Case, n: int, rng: np.random.Generator) -> None:
        shares = [
            _shares(n_states, (n, case.n_sources, n_groups), case, rng)
            for n_states, n_groups in ((case.q, 1), (case.x, case.q), (case.y, case.q))
        ]
        of_z, of_x, of_y = shares
        joint = of_z[:, :, 0, :, None, None] * of_x[..., None] * of_y[..., None, :]
        n_rows = case.n_rows // case.n_sources
        shape = joint.shape
        flat = rng.multinomial(n_rows, joint.reshape(n * case.n_sources, -1))
        self.counts = flat.reshape(shape).astype(np.float64)
        self.names = tuple(f"v{i}" for i in range(2 * n + 1))

    def check_kind(self, test: object, *, continuous: bool) -> None:
        """All variables are discrete."""

    def n_sources(self, *, by_source: bool) -> int:
        return self.counts.shape[1] if by_source else 1

    def name(self, places: Integers) -> tuple[str, ...]:
        return tuple(self.names[place] for place in places.tolist())

    def tables(self, asked: Statements, *, by_source: bool) -> Iterator[TableGroup]:
        """The tables, one a simulation."""
        counts = self.counts if by_source else self.counts.sum(axis=1, keepdims=True)
        yield TableGroup(np.arange(len(asked)), counts, float(counts.shape[2]))


def _shares(n_states: int, shape: tuple[int, ...], case: Case, rng: np.random.Generator) -> Floats:
    """Probabilities that are as uneven as the case allows."""
    spread = case.uneven or 0.0
    shares = rng.uniform(1 - spread, 1 + spread, (*shape, n_states))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def p_values(case: Case, test: IndependenceTest, n: int, seed: int) -> Floats:
    """P-values of n simulations."""
    if case.x and case.y and not case.given_number:
        rows: Any = DrawnTables(case, n, np.random.default_rng(seed))
        x = np.arange(n)
        return test.judge(rows, Statements(x, x + n, np.full((n, 1), 2 * n))).p_value
    found = []
    for start, rng in zip(
        range(0, n, AT_ONCE), np.random.default_rng(seed).spawn(-(-n // AT_ONCE)), strict=True
    ):
        some = min(AT_ONCE, n - start)
        table = drawn(case, some, rng)
        names = [("z", case.q > 1), ("w", case.given_number)]
        asked = [
            (f"x{i}", f"y{i}", [f"{name}{i}" for name, is_there in names if is_there])
            for i in range(some)
        ]
        found += [one.p_value for one in cs.independence.tests(table, asked, by=test)]
    return np.array(found)


def _states(n_states: int, group: Integers, case: Case, rng: np.random.Generator) -> Integers:
    """States whose probabilities differ between groups of rows."""
    spread = case.uneven or 0.0
    shares = rng.uniform(1 - spread, 1 + spread, (int(group.max()) + 1, n_states))
    limits = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    return (rng.random(len(group))[:, None] > limits[group]).sum(axis=1)


def _chosen(n_states: int, w: Floats, rng: np.random.Generator) -> Integers:
    """States whose probabilities depend on a continuous variable."""
    slopes = rng.normal(size=n_states)
    logits = np.outer(w, slopes) + rng.gumbel(size=(len(w), n_states))
    return logits.argmax(axis=1)


def _coded(name: str, n_states: int, values: Integers) -> tuple[cs.Variable, np.ndarray]:
    return cs.Variable(name, tuple(f"s{k}" for k in range(n_states))), values.astype(np.int8)


def studies(draws: int) -> Iterator[tuple[str, IndependenceTest, list[Case]]]:
    """Name, test, and the cases that it is tried on."""
    ind = cs.independence
    tables = [Case(x, y, q, n) for x, y in SIZES for q in PARENT_STATES for n in ROWS]
    yield "G²", ind.GSquare(), tables
    yield "G² corrected", ind.GSquare(corrected=True), tables
    yield "X²", ind.PearsonX2(), tables
    yield "permutation of X²", ind.Permutation(of=ind.PearsonX2(), draws=draws), tables
    yield "shrunk information", ind.ShrunkInformation(), tables
    numbers = [Case(0, 0, 1, n, given_number=w) for w in (False, True) for n in ROWS]
    yield "exact t", ind.ExactT(), numbers
    yield "Fisher z", ind.FisherZ(), numbers
    mixed = [Case(x, 0, q, n) for x in (2, 4) for q in PARENT_STATES for n in ROWS]
    mixed += [Case(0, 0, q, n) for q in (2, 6) for n in ROWS]
    mixed += [Case(2, 2, 1, n, given_number=True) for n in ROWS]
    mixed += [Case(3, 0, 1, n, given_number=True) for n in ROWS]
    yield "likelihood ratio", ind.LikelihoodRatio(), mixed
    apart = [Case(x, y, q, n, N_SOURCES) for x, y in SIZES for q in (1, 2) for n in ROWS]
    yield "stratified G²", ind.Stratified(of=ind.GSquare()), apart
    yield "stratified G² corrected", ind.Stratified(of=ind.GSquare(corrected=True)), apart
    yield "stratified X²", ind.Stratified(of=ind.PearsonX2()), apart
    yield "G², sources pooled", ind.GSquare(), apart
    yield "combined X² (Fisher)", ind.Combined(of=ind.PearsonX2()), apart[:12]
    yield "combined X² (Stouffer)", ind.Combined(of=ind.PearsonX2(), by="stouffer"), apart[:12]
    lines = [Case(0, 0, 1, n, N_SOURCES) for n in ROWS]
    yield "stratified exact t", ind.Stratified(of=ind.ExactT()), lines
    yield "exact t, sources pooled", ind.ExactT(), lines
    both = [Case(x, 0, q, n, N_SOURCES) for x in (2, 4) for q in (1, 2) for n in ROWS]
    yield "stratified likelihood ratio", ind.Stratified(of=ind.LikelihoodRatio()), both
    yield "likelihood ratio, sources pooled", ind.LikelihoodRatio(), both


@click.command()
@click.option("--simulations", default=2000)
@click.option("--draws", default=199, help="Random tables of a permutation test.")
@click.option("--seed", default=1)
@click.option("--only", default="", help="A pattern that the name of the test has.")
def main(simulations: int, draws: int, seed: int, only: str) -> None:
    """Print for each test and case the Kolmogorov-Smirnov p-value and the share rejected."""
    print("| test | case | rows | KS p | rejected at 0.05 |\n|---|---|---|---|---|")
    for name, test, cases in studies(draws):
        if not re.search(only, name):
            continue
        for case in cases:
            if case.uneven is None:
                continue
            p = p_values(case, test, simulations, seed)
            fit = kstest(p, "uniform").pvalue
            print(
                f"| {name} | {case} | {case.n_rows:,} | {fit:.2g} | {np.mean(p <= ALPHA):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
