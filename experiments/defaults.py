"""What comes out without any option: the default of ``cs.fit`` against what one might choose.

    CONSILIENCE_DATA=folder python experiments/defaults.py COMMAND [--repeats N] [--processes P]

- ``sources``: held-out log-likelihood of a row in tables of many sources, five folds over rows
  (a row of a source seen) and five over sources (a row of a source never seen)
- ``hospitals``: 2 to 160 hospitals of 1,000 rows with exactly 1 % ill: what a new one has
- ``new-source-coverage``: do 90 % intervals of a new source's probability cover it, with sources
  of one size and of very different ones?
- ``losses``: nats a row that the fitted true graph loses, one source, by the number of rows
- ``coverage``: do 90 % intervals of table entries cover them, if tables are drawn from the chain?
- ``times``: seconds of CPU

``defaults_data.py`` tells what the tables and networks are, ``defaults_report.py`` what the bars
are. Finished cells are kept in ``results/defaults``, and a stopped command goes on where it was.
The cells of the default are in files of their own, which name the estimator that it was: with
another default they are refused, those of the other estimators stay. Cells made before the *code*
of an estimator changed are not noticed: remove the file.

In ``sources`` the estimators that are dear and that no bar is about have fewer repeats
(``--dear-repeats``); whatever is compared is compared on the repeats that both have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import click
import defaults_data as data
import defaults_report as report
import numpy as np
from cells import run
from chain_data import as_known

import consilience as cs
from consilience._typing import Floats
from consilience.data.variable import NEW_SOURCE
from consilience.errors import ModelError

DEFAULT = report.DEFAULT
LEVEL = 0.9

OF_SOURCES: Mapping[str, Any] = {
    DEFAULT: None,
    "pooled": cs.Pooled(cs.Dirichlet(ess=1)),
    "PerState(1)": cs.HDMCS(s=cs.PerState(1)),
    "s = 10": cs.HDMCS(s=10),
    "Gamma(4, 0.1)": cs.HDMCS(s=cs.Gamma(4, 0.1)),
    "Gamma(1, 0.02)": cs.HDMCS(s=cs.Gamma(1, 0.02)),
    "Adaptive": cs.estimators.Adaptive(),
    "HDC": cs.HDC(),
}
DEAR_SOURCES = ("Gamma(4, 0.1)", "Gamma(1, 0.02)", "HDC")

OF_ONE: Mapping[str, Any] = {
    DEFAULT: None,
    "ess=1": cs.Dirichlet(ess=1),
    "ess=10": cs.Dirichlet(ess=10),
    "per_parent_state=1": cs.Dirichlet(per_parent_state=1),
    "per_cell=1": cs.Dirichlet(per_cell=1),
    "HDS(s=Gamma(1, 0.1))": cs.HDS(s=cs.Gamma(1, 0.1)),
    "HDC": cs.HDC(),
}
SIZES = (100, 500, 2_000, 10_000)
N_FRESH = 4_000

HOSPITALS = (2, 4, 10, 40, 160)
N_SOURCES = (5, 20, 100)
STRENGTHS = (3.0, 10.0, 30.0, 100.0)
BASE, ROWS_PER_SOURCE = 0.3, 200
UNEQUAL = (2_000, 20, 20, 20, 20)
"""Rows of sources whose sizes differ, at the same base and strengths; HDMCS() is the bar."""
BATCH = 50
"""Simulations in a cell of the studies of coverage."""

ROWS_OF_CHAINS = {1: 300, 5: 500}
"""Rows by the number of sources."""
N_DRAWS, N_DRAWN = 2_000, 10
"""Draws of the posterior, and the data sets whose posterior means are compared with the fit."""

Row = dict[str, Any]

OUT = click.option("--out", type=click.Path(path_type=Path), default=Path("results/defaults"))
PROCESSES = click.option("--processes", default=1, show_default=True)
REPEATS = click.option("--repeats", default=20, show_default=True)
SIMULATIONS = click.option("--repeats", default=1_000, show_default=True, help="Simulations.")


@dataclass(frozen=True)
class OfTable:
    table: str
    estimator: str
    repeat: int


@dataclass(frozen=True)
class OfNetwork:
    network: str
    n_rows: int
    estimator: str
    seed: int


@dataclass(frozen=True)
class NewSource:
    """A strength of zero is drawn from the prior, and so is the base."""

    n_sources: int
    strength: float
    batch: int


@dataclass(frozen=True)
class UnequalSources:
    strength: float
    batch: int


@dataclass(frozen=True)
class OfChain:
    n_sources: int
    batch: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@REPEATS
@click.option("--dear-repeats", default=5, show_default=True)
@click.option("--table", "tables", multiple=True, type=click.Choice([*data.TABLES]))
@PROCESSES
@OUT
def sources(
    repeats: int, dear_repeats: int, tables: tuple[str, ...], processes: int, out: Path
) -> None:
    """Held-out log-likelihood of a row, in sources seen and in sources left out."""
    keys = [
        OfTable(table, estimator, repeat)
        for table in tables or data.TABLES
        for repeat in range(repeats)
        for estimator in OF_SOURCES
        if repeat < dear_repeats or estimator not in DEAR_SOURCES
    ]
    settings = {"most_rows": data.MOST_ROWS}
    rows = _run_all(out / "sources", keys, held_out, processes, OF_SOURCES, settings)
    _tell(out / "sources.md", report.sources(rows))


def held_out(key: OfTable) -> list[Row]:
    """Sum of the log-likelihoods of the rows of each fold, given their sources."""
    table, dag = data.rows_of(key.table, key.repeat), data.graph(key.table)
    found = []
    for kind, of_row in data.folds(table, key.repeat).items():
        for fold in np.unique(of_row):
            train, test = as_known(table.take(of_row != fold), table.take(of_row == fold))
            net = cs.fit(dag, train, OF_SOURCES[key.estimator])
            total = float(log_likelihood(net, test).sum())
            found.append({"kind": kind, "fold": fold, "total": total, "n_rows": test.n_rows})
    return found


def log_likelihood(net: cs.Network, rows: cs.Table) -> Floats:
    """Of each row, which is complete, given its source; a pooled network does not mind the source.

    The states of the rows' source are those of the network's, or one more if it has no new one.
    """
    total = np.zeros(rows.n_rows)
    for name, local in net.distributions.items():
        if name != net.source:
            place = tuple(rows.column(one) for one in (*local.parents, name))
            total += np.log(local.table[place])
    return total


@main.command()
@OUT
def hospitals(out: Path) -> None:
    """What a new hospital has if so many agree on 1 %."""
    _tell(out / "hospitals.md", report.hospitals([new_hospital(n) for n in HOSPITALS]))


def new_hospital(n_hospitals: int) -> Row:
    """P(ill) of a new hospital beside so many of 1,000 rows, 10 of them ill."""
    hospital = np.arange(n_hospitals).repeat(2).astype(str)
    frame = {
        "hospital": [f"h{name}" for name in hospital],
        "ill": ["no", "yes"] * n_hospitals,
        "n": [990, 10] * n_hospitals,
    }
    table = cs.read(frame, source="hospital", weight="n")
    dag, new = cs.DAG(nodes=["ill"]), {"hospital": NEW_SOURCE}
    shares = {
        name: cs.fit(dag, table, OF_SOURCES[name]).query("ill", given=new)["yes"]
        for name in (DEFAULT, "PerState(1)")
    }
    return {"n_hospitals": n_hospitals, **shares}


@main.command("new-source-coverage")
@SIMULATIONS
@click.option("--sources", "prior", type=float, nargs=2, help="Shape and rate of strengths.")
@PROCESSES
@OUT
def new_source_coverage(
    repeats: int, prior: tuple[float, float] | None, processes: int, out: Path
) -> None:
    """Do 90 % intervals of a new source's probability cover it?"""
    keys = [
        NewSource(n_sources, strength, batch)
        for n_sources in N_SOURCES
        for strength in (0.0, *STRENGTHS)
        for batch in range(-(-repeats // BATCH))
    ]
    gamma = cs.Gamma(*prior) if prior else _priors()[1]
    settings = {"default": _default(), "prior": repr(gamma)}
    work = partial(covered_sources, prior=gamma)
    path = out / "new-source-coverage.jsonl"
    rows = run(
        path, keys, work, processes=processes, title="new-source-coverage", settings=settings
    )
    unequal = [
        UnequalSources(strength, batch)
        for strength in STRENGTHS
        for batch in range(-(-repeats // BATCH))
    ]
    beside = run(
        out / "unequal-sources.jsonl",
        unequal,
        covered_by_both,
        processes=processes,
        title="unequal sources",
        settings={"default": _default(), "sizes": UNEQUAL, "bar": repr(cs.HDMCS())},
    )
    text = report.new_source_coverage(rows, str(gamma)) + report.unequal_sources(beside, UNEQUAL)
    _tell(out / "new-source-coverage.md", text)


def covered_sources(key: NewSource, *, prior: cs.Gamma) -> Row:
    """In how many simulations of a batch the interval has the new source, and how wide it is."""
    rng = np.random.default_rng([3, key.n_sources, int(key.strength), key.batch])
    covered, width = 0, 0.0
    for _ in range(BATCH):
        strength = key.strength or rng.gamma(prior.shape, 1 / prior.rate)
        base = BASE if key.strength else rng.uniform()
        shares = rng.beta(strength * base, strength * (1 - base), size=key.n_sources + 1)
        table = data.source_rows(shares[:-1], ROWS_PER_SOURCE, rng)
        low, high = _new_source(table)
        covered += low <= shares[-1] <= high
        width += high - low
    return {"n": BATCH, "covered": covered, "width": width}


def covered_by_both(key: UnequalSources) -> list[Row]:
    """For each simulation whether the intervals of the default and of HDMCS() have the source."""
    rng = np.random.default_rng([6, int(key.strength), key.batch])
    a, b = key.strength * BASE, key.strength * (1 - BASE)
    found = []
    for _ in range(BATCH):
        shares = rng.beta(a, b, size=len(UNEQUAL) + 1)
        table = data.source_rows(shares[:-1], np.array(UNEQUAL), rng)
        (low, high), (least, most) = _new_source(table), _new_source(table, cs.HDMCS())
        found.append(
            {
                "covered": low <= shares[-1] <= high,
                "width": high - low,
                "exact": least <= shares[-1] <= most,
                "exact_width": most - least,
            }
        )
    return found


def _new_source(table: cs.Table, estimator: Any = None) -> tuple[float, float]:
    """The interval of a new source's probability."""
    net = cs.fit(cs.DAG(nodes=[data.CHILD]), table, estimator)
    low, high = _intervals(net, data.CHILD)
    return float(low[-1, 1]), float(high[-1, 1])


@main.command()
@REPEATS
@click.option("--network", "networks", multiple=True, type=click.Choice(data.NETWORKS))
@PROCESSES
@OUT
def losses(repeats: int, networks: tuple[str, ...], processes: int, out: Path) -> None:
    """Nats a row that the fitted true graph loses against the truth."""
    keys = [
        OfNetwork(network, n_rows, estimator, seed)
        for network in networks or data.NETWORKS
        for n_rows in SIZES
        for seed in range(repeats)
        for estimator in OF_ONE
    ]
    settings = {"n_fresh": N_FRESH}
    rows = _run_all(out / "losses", keys, loss, processes, OF_ONE, settings)
    _tell(out / "losses.md", report.losses(rows))


def loss(key: OfNetwork) -> Row:
    """Mean of log p(row) of the truth less that of the fit."""
    train, fresh, truth = _drawn(key.network, key.n_rows, key.seed)
    begun = time.process_time()
    net = cs.fit(data.network(key.network).dag, train, OF_ONE[key.estimator])
    seconds = time.process_time() - begun
    return {"loss": float((truth - log_likelihood(net, fresh)).mean()), "seconds": seconds}


@lru_cache(maxsize=1)
def _drawn(name: str, n_rows: int, seed: int) -> tuple[cs.Table, cs.Table, Floats]:
    """Rows to fit, fresh rows, and the log-likelihood of these by the truth."""
    net = data.network(name)
    rng = np.random.default_rng([4, data.NETWORKS.index(name), n_rows, seed])
    train, fresh = net.sample(n_rows, seed=rng), net.sample(N_FRESH, seed=rng)
    return train, fresh, log_likelihood(net, fresh)


@main.command()
@SIMULATIONS
@click.option("--parents", type=float, nargs=2, help="Shape and rate of parents' strengths.")
@click.option("--sources", type=float, nargs=2, help="Shape and rate of sources' strengths.")
@PROCESSES
@OUT
def coverage(
    repeats: int,
    parents: tuple[float, float] | None,
    sources: tuple[float, float] | None,
    processes: int,
    out: Path,
) -> None:
    """Do 90 % intervals of table entries cover them, if tables are drawn from the chain?"""
    keys = [
        OfChain(n_sources, batch)
        for n_sources in ROWS_OF_CHAINS
        for batch in range(-(-repeats // BATCH))
    ]
    own_parents, own_sources = _priors()
    of_parents = cs.Gamma(*parents) if parents else own_parents
    of_sources = cs.Gamma(*sources) if sources else own_sources
    work = partial(covered_entries, parents=of_parents, sources=of_sources)
    told = {"parents": repr(of_parents), "sources": repr(of_sources)}
    settings = {"default": _default(), **told, "draws": N_DRAWS, "rows": ROWS_OF_CHAINS}
    path = out / "coverage.jsonl"
    rows = run(path, keys, work, processes=processes, title="coverage", settings=settings)
    _tell(out / "coverage.md", report.coverage(rows, told))


def covered_entries(key: OfChain, *, parents: cs.Gamma, sources: cs.Gamma) -> list[Row]:
    """For each data set the share of entries covered, and how far means of draws are off."""
    rng = np.random.default_rng([5, key.n_sources, key.batch])
    found = []
    for place in range(BATCH):
        truth = data.chain_network(key.n_sources, parents, sources, rng)
        table = data.sampled(truth, ROWS_OF_CHAINS[key.n_sources], rng)
        net = cs.fit(truth.dag.without("source") if truth.source else truth.dag, table)
        found += _covered(net, truth)
        if key.batch * BATCH + place < N_DRAWN:
            found[-1] |= _off_means(net)
    return found


def _covered(net: cs.Network, truth: cs.Network) -> list[Row]:
    """The share of entries covered in the sources seen, and in the new one."""
    low, high = _intervals(net, data.CHILD)
    actual = truth[data.CHILD].table
    inside = (low <= actual) & (actual <= high)
    if truth.source is None:
        return [{"of": "seen", "covered": float(inside.mean())}]
    return [
        {"of": "seen", "covered": float(inside[:-1].mean())},
        {"of": "new", "covered": float(inside[-1].mean())},
    ]


def _off_means(net: cs.Network) -> Row:
    """How far means of posterior draws of the child's table are from the fitted one."""
    fitted = net[data.CHILD].table
    total = sum(one[data.CHILD].table for one in cs.draws(net, N_DRAWS, seed=1))
    off = np.abs(total / N_DRAWS - fitted)
    return {"off_mean": float(off.mean()), "off_most": float(off.max())}


@main.command()
@OUT
def times(out: Path) -> None:
    """Seconds of CPU of fits and of intervals."""
    alarm, hailfinder = data.network("alarm"), data.network("hailfinder")
    rows, few = alarm.sample(1_000_000, seed=1), alarm.sample(2_000, seed=2)
    many = hailfinder.sample(10_000, seed=3)
    gaps = cs.simulate.with_gaps(alarm.sample(10_000, seed=4), cs.simulate.MCAR(0.1), seed=5)
    found = {
        "alarm": _seconds(lambda: cs.fit(alarm.dag, rows)),
        "hailfinder": _seconds(lambda: cs.fit(hailfinder.dag, many)),
        "intervals": _seconds(lambda: _fit_and_ask(alarm.dag, few)),
        "plain gaps": _seconds(lambda: cs.fit(alarm.dag, gaps, cs.Dirichlet(ess=1))),
        "gaps": _seconds(lambda: cs.fit(alarm.dag, gaps)),
    }
    _tell(out / "times.md", report.times(found))


def _fit_and_ask(dag: cs.DAG, rows: cs.Table) -> None:
    """A fit and the intervals of all its tables, which may be kept once they were asked for."""
    net = cs.fit(dag, rows)
    for name in dag.nodes:
        _intervals(net, name)


def _seconds(work: Callable[[], object]) -> float:
    """CPU of the quicker of two runs: the first one may compile kernels."""
    found = []
    for _ in range(2):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def _intervals(net: cs.Network, name: str) -> tuple[Floats, Floats]:
    try:
        return cs.estimators.parameter_intervals(net, name, level=LEVEL)
    except ModelError as problem:
        raise SystemExit(f"the default has no intervals ({net.record.method}): {problem}") from None


def _run_all(
    path: Path,
    keys: list[Any],
    work: Callable[[Any], Row | list[Row]],
    processes: int,
    estimators: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> list[Row]:
    """The cells of the default and of the others, a file each."""
    of_default = [key for key in keys if key.estimator == DEFAULT]
    others = [key for key in keys if key.estimator != DEFAULT]
    told = {name: repr(one) for name, one in estimators.items() if one is not None}
    return [
        row
        for part, chosen, estimator in (
            ("default", of_default, _default()),
            ("others", others, told),
        )
        for row in run(
            path.with_name(f"{path.name}-{part}.jsonl"),
            chosen,
            work,
            processes=processes,
            title=f"{path.name}, {part}",
            settings={**settings, "estimator": estimator},
        )
    ]


def _default() -> list[str]:
    """What the default is, for one source and for two."""
    one, dag = {"x": ["a", "b"]}, cs.DAG(nodes=["x"])
    tables = (cs.read(one), cs.read({**one, "f": ["u", "v"]}, source="f"))
    return [cs.fit(dag, table).record.method for table in tables]


def _priors() -> tuple[cs.Gamma, cs.Gamma]:
    """The priors of the strengths of parent states and of sources, as ``HDC()`` has them."""
    chain = cs.HDC()
    parents = getattr(chain, "parents", cs.Gamma(4, 0.1))
    return parents, getattr(chain, "sources", cs.Gamma(1, 0.02))


def _tell(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(text)


if __name__ == "__main__":
    main()
