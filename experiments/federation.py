"""Learning over sites: the pooled answer, rounds and bytes, masks, loopback, ranges, differencing.

    CONSILIENCE_DATA=... python experiments/federation.py [part ...] [--rows 300 1000] [--seeds N]

Parts: bits, heart, rounds, masks, loopback, arcs, ranges, use, differencing. Without a part all are
run. ``NETWORK=sachs`` names another network for arcs and ranges; ranges take minutes for alarm.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np
from federation_bits import heart_bits, network_bits
from federation_transports import begun, processes
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.stats import chi2

import consilience as cs
from consilience.fusion.united_tables import pooled_table
from consilience.sites.alternatives import Alternatives
from consilience.sites.gathered import Gathered
from consilience.sites.masks import SiteKey, sum_of
from consilience.statistics.engines.memory import Memory

DATA = Path(os.environ.get("CONSILIENCE_DATA", "data"))
NETWORKS = ("alarm", "insurance")
N_ROUNDS = 60


class Plain:
    """A study without its scout: each request is a round."""

    def __init__(self, study: cs.sites.Federation) -> None:
        self.schema, self.gather = study.schema, study.gather


def parts_of(net: cs.Network, n_rows: int, seed: int, n_sites: int = 5) -> dict[str, cs.Table]:
    table = net.sample(n_sites * n_rows, seed=seed)
    return {f"s{i}": table.take(slice(i * n_rows, (i + 1) * n_rows)) for i in range(n_sites)}


def study_of(tables: dict[str, cs.Table], mode: str, **policy: object) -> cs.sites.Federation:
    choice = cs.sites.Policy(mode=mode, **policy)
    sites = [cs.sites.Site(table, choice, name=name) for name, table in tables.items()]
    return cs.sites.federation(sites, study="experiment", seconds=600)


def false_and_missed(found: cs.DAG, true: cs.DAG) -> tuple[int, int]:
    mine, theirs = ({frozenset(arc) for arc in dag.arcs} for dag in (found, true))
    return len(mine - theirs), len(theirs - mine)


def bits(rows: Sequence[int], seeds: int) -> None:
    print("\n# The pooled answer to the bit")
    for name in NETWORKS:
        net = cs.load(DATA / "networks" / f"{name}.bif")
        for n_rows in rows:
            network_bits(name, n_rows, net.dag, parts_of(net, n_rows, 1))


def hospitals(rows: Sequence[int], seeds: int) -> None:
    print("\n# Heart by hospital, to the bit")
    heart_bits(DATA)


def rounds(rows: Sequence[int], seeds: int) -> None:
    print("\n# Rounds and bytes: votes, look-ahead, plain")
    net = cs.load(DATA / "networks" / "alarm.bif")
    for n_rows in rows:
        for seed in range(1, seeds + 1):
            tables = parts_of(net, n_rows, seed)
            pooled = pooled_table(tables, "source").pooled()
            alone = [cs.shd(cs.learn(one, search=cs.GES()), net.dag) for one in tables.values()]
            study = study_of(tables, "secure")
            voted = cs.sites.votes(study).dag
            record = study.record
            print(
                f"alarm {n_rows} rows a site, seed {seed}: a site alone SHD {min(alone)} to "
                f"{max(alone)}; votes SHD {cs.shd(voted, net.dag)}, {len(record.rounds)} rounds, "
                f"{record.bytes_answered / 1e6:.3f} MB"
            )
            for label, search in {
                "GES": cs.GES(),
                "HillClimb(10, 5)": cs.HillClimb(tabu=10, restarts=5),
            }.items():
                found = {}
                for way in ("look-ahead", "plain"):
                    study = study_of(tables, "secure")
                    engine = study if way == "look-ahead" else Plain(study)
                    found[way] = cs.search(engine, search=search), study.record
                other = cs.search(pooled, search=search)
                (ahead, record), (plain, before) = found["look-ahead"], found["plain"]
                is_same = ahead.dag == plain.dag == other.dag and ahead.score == other.score
                print(
                    f"  {label}: SHD {cs.shd(ahead.dag, net.dag)}, same bits {is_same}; rounds "
                    f"{len(record.rounds)} against {len(before.rounds)}, MB "
                    f"{record.bytes_answered / 1e6:.2f} against {before.bytes_answered / 1e6:.2f} "
                    f"(ratio {record.bytes_answered / before.bytes_answered:.2f})"
                )


def masks(rows: Sequence[int], seeds: int) -> None:
    print("\n# Masks: 20,000 cells among 5 sites")
    keys = [SiteKey.new() for _ in range(5)]
    rng = np.random.default_rng(0)
    counts = [rng.integers(0, 100, 20_000).astype("<i8") for _ in keys]
    shared = [[(o.public, k.shared(o.public)) for o in keys if o is not k] for k in keys]
    took, sent = [], []
    for number in range(100):
        info = b"%d" % number
        begin = time.process_time()
        mine = counts[0].view("<u8") + keys[0].mask(20_000, shared[0], b"set", info)
        took.append(time.process_time() - begin)
        sent.append(mine)
    others = [
        c.view("<u8") + k.mask(20_000, s, b"set", b"0")
        for k, c, s in zip(keys[1:], counts[1:], shared[1:], strict=True)
    ]
    exact = bool((sum_of([sent[0], *others]) == sum(counts)).all())
    every = np.stack(sent)
    seen = np.bincount(every.view(np.uint8).ravel(), minlength=256)
    statistic = ((seen - seen.mean()) ** 2 / seen.mean()).sum()
    correlation = np.corrcoef(np.tile(counts[0], 100), every.ravel().astype(float))[0, 1]
    print(
        f"{1e3 * statistics.median(took):.2f} ms CPU a site, sum exact: {exact}, chi-square "
        f"{statistic:.0f} on 255 (p = {chi2.sf(statistic, 255):.3f}), correlation with the counts "
        f"{correlation:.5f} (sd {1 / np.sqrt(every.size):.5f})"
    )


def loopback(rows: Sequence[int], seeds: int) -> None:
    print("\n# A round of 51 families over 3 sites, each a process with a ledger on disk")
    net = cs.load(DATA / "networks" / "alarm.bif")
    tables = parts_of(net, 1000, 1, n_sites=3)
    for by in ("HTTPS with mutual TLS", "folders"):
        with processes(tables, by=by) as ways:
            study = begun(ways, "loopback")
            every = combinations(sorted(study.variables), 3)
            seconds, cpu = [], []
            for _ in range(N_ROUNDS):
                families = [cs.Family(c, (a, b)) for a, b, c in islice(every, 51)]
                begin, begin_cpu = time.perf_counter(), time.process_time()
                cs.count(study, families)
                seconds.append(time.perf_counter() - begin)
                cpu.append(time.process_time() - begin_cpu)
            study.close()
        print(
            f"{by}: median {1e3 * statistics.median(seconds):.1f} ms of {N_ROUNDS} rounds (least "
            f"{1e3 * min(seconds):.1f}, most {1e3 * max(seconds):.1f}), CPU of the coordinator "
            f"{1e3 * statistics.median(cpu):.1f} ms",
            flush=True,
        )


class Zeros:
    """Counts of sites whose small cells are taken for zeros, for contrast."""

    def __init__(self, tables: dict[str, cs.Table], k: int) -> None:
        self._engines = [Memory(one) for one in tables.values()]
        self._k = k
        self.schema = self._engines[0].schema

    def gather(self, request):
        total = request.empty(self.schema)
        for engine in self._engines:
            total = request.merge(total, _without_small(engine.gather(request), self._k))
        return total


def _without_small(found, k: int):
    if isinstance(found, list):  # each variable alone, by which the search looks for gaps
        return found
    return replace(found, table=np.where(found.table < k, 0, found.table))


CLIMB = {"score": cs.BIC(), "search": cs.HillClimb(max_parents=3)}


def arcs(rows: Sequence[int], seeds: int) -> None:
    name = os.environ.get("NETWORK", "alarm")
    print(f"\n# False and missed arcs (hill climbing to 3 parents, BIC), 5 sites of {name}")
    net = cs.load(DATA / "networks" / f"{name}.bif")
    for n_rows in rows:
        for seed in range(1, seeds + 1):
            tables = parts_of(net, n_rows, seed)
            engines = {
                "exact": pooled_table(tables, "source").pooled(),
                "secure": Plain(study_of(tables, "secure")),
                "zeros 5": Zeros(tables, 5),
                "zeros 11": Zeros(tables, 11),
                "ranges 5": study_of(tables, "intervals", least_cell=5),
                "ranges 11": study_of(tables, "intervals", least_cell=11),
            }
            found = [f"{label} {searched(engine, net.dag)}" for label, engine in engines.items()]
            print(f"{n_rows} rows, seed {seed}: " + "; ".join(found), flush=True)


def searched(engine: object, true: cs.DAG) -> tuple[int, int] | str:
    try:
        return false_and_missed(cs.search(engine, **CLIMB).dag, true)
    except cs.ConsilienceError as error:
        return type(error).__name__


def ranges(rows: Sequence[int], seeds: int) -> None:
    print("\n# What a search over ranges would find, were it not refused (false, missed)")
    Gathered.check_search = lambda self: None
    for name in os.environ.get("NETWORK", "cancer survey asia sachs flat").split():
        for n_rows in rows:
            for seed in range(1, seeds + 1):
                net = flat(seed) if name == "flat" else cs.load(DATA / "networks" / f"{name}.bif")
                tables = parts_of(net, n_rows, seed)
                line = [f"exact {searched(pooled_table(tables, 'source').pooled(), net.dag)}"]
                for k in (5, 11):
                    study = study_of(tables, "intervals", least_cell=k)
                    found = searched(Plain(study), net.dag)
                    share = len(study.record.withheld) / max(1, study.record.n_families)
                    line.append(f"ranges {k} {found}, {share:.0%} of the families withheld")
                print(f"{name} {n_rows} rows, seed {seed}: " + "; ".join(line), flush=True)


def flat(seed: int) -> cs.Network:
    dag = cs.random_dag(6, n_arcs=6, seed=seed)
    return cs.random_network(dag, n_states=2, total=6.0, seed=seed)


def use(rows: Sequence[int], seeds: int) -> None:
    print("\n# Ranges: the fit of the given graph, 5 sites of 1,000 rows of alarm, k = 5")
    net = cs.load(DATA / "networks" / "alarm.bif")
    for seed in range(1, seeds + 1):
        tables = parts_of(net, 1000, seed)
        study = study_of(tables, "intervals")
        cs.fit(net.dag, study, cs.Pooled(cs.Dirichlet(ess=10)))
        n_withheld = len(study.record.withheld)
        print(f"seed {seed}: {37 - n_withheld} of 37 families answered")


def differencing(rows: Sequence[int], seeds: int) -> None:
    print("\n# Differencing: linear programming over all replies, 50 simulated sites, k = 5")
    names = tuple("abcde")
    axes = np.indices((3,) * 5).reshape(5, -1)
    n_hidden = n_narrowed = n_shown = n_asked = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        hidden = rng.integers(0, 3, 60)
        columns = {
            name: [str(min(2, max(0, x))) for x in hidden + rng.integers(-1, 2, 60)]
            for name in names
        }
        table = cs.read(columns, states={name: list("012") for name in names})
        every = [one for size in (1, 2, 3) for one in combinations(names, size)]
        order = [every[i] for i in rng.permutation(len(every))]
        site = Alternatives(table, 5)
        shown = {}
        for start in range(0, len(order), 6):
            some = order[start : start + 6]
            shown |= {n: r for n, r in zip(some, site.show(some), strict=True) if r is not None}
        sides, bounds, targets = [], [], []
        for family, (low, high) in shown.items():
            codes = [axes[names.index(name)] for name in family]
            flat = np.ravel_multi_index(codes, (3,) * len(family))
            truth = np.zeros(low.shape, int)
            np.add.at(truth, tuple(table.column(name) for name in family), 1)
            for cell in range(low.size):
                side = (flat == cell).astype(float)
                sides.append(side)
                bounds.append((float(low.ravel()[cell]), float(high.ravel()[cell])))
                if 0 < truth.ravel()[cell] < 5:
                    targets.append(side)
        some = rng.choice(len(targets), min(8, len(targets)), replace=False)
        lows, highs = (np.array(one) for one in zip(*bounds, strict=True))
        within = LinearConstraint(csr_array(np.array(sides)), lows, highs)
        for i in some:
            ends = [
                milp(sign * targets[i], constraints=within, bounds=Bounds(0, np.inf)).fun
                for sign in (1, -1)
            ]
            n_narrowed += ends[0] > 1 + 1e-6 or -ends[1] < 4 - 1e-6
        n_hidden, n_shown = n_hidden + len(some), n_shown + len(shown)
        n_asked += len(every)
    print(
        f"{n_shown} of {n_asked} families shown; of {n_hidden} hidden cells tried, {n_narrowed} "
        "narrowed"
    )


PARTS: dict[str, Callable[[Sequence[int], int], None]] = {
    "bits": bits,
    "heart": hospitals,
    "rounds": rounds,
    "masks": masks,
    "loopback": loopback,
    "arcs": arcs,
    "ranges": ranges,
    "use": use,
    "differencing": differencing,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*PARTS], metavar="PART")
    parser.add_argument("--rows", nargs="*", type=int, default=[300, 1000, 4000])
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    for part in chosen.parts or PARTS:
        PARTS[part](chosen.rows, chosen.seeds)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
