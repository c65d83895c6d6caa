"""Is a version of the library slower than another one? CPU time of the hot paths, old beside new.

In each round both versions get a fresh process, whose path begins with the folder given. Case by
case they warm up (compile) and then take turns a tenth of a second at a time, so that whatever else
the machine does falls on both; the fewest CPU seconds of each count. The ratio is the median of the
rounds' ratios, and their span says how far to trust it: a version beside itself must meet the bar.
Cases use public names only, and their rows and evidence are drawn by NumPy, so that both versions
get the same work. The folders must not change meanwhile.

    CONSILIENCE_DATA=... python benchmarks/versions.py OLD_SRC NEW_SRC [--rounds 5] [--case batch]

Cases are named after the benchmarks that hold them against the peers; ``--case`` takes beginnings
of names. Without folders the version that Python finds runs the cases that its input names, a line
each, and tells the CPU seconds: so the processes are started.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache, partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from bench import data_dir

import consilience as cs

RATIO = 1.05
"""The new version takes at most so many times the CPU seconds of the old one."""

SHORTEST, TURNS = 0.1, 6
"""Seconds; what takes less is repeated until it takes about so long. Turns of a case in a round."""

ALONE = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",  # sets are gone through in the same order by both
}
BODIES = 5
TARGET = "HYPOVOLEMIA"
N_CLASSES, N_FEATURES, N_COLUMNS = 3, 20, 20
FIRST_OPTIMUM = cs.HillClimb(tabu=0, restarts=0)
STEPS = cs.EM(iterations=20, tolerance=1e-300, restarts=0, accelerate=False)

Work = Callable[[], Any]
Given = dict[str, str]
Process = subprocess.Popen[str]
Pair = tuple[float | None, float | None]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="*", type=Path, metavar="SRC", help="old, then new")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--case", nargs="+", default=[""], help="beginnings of names of cases")
    asked = arguments.parse_args()
    names = [name for name in CASES if name.startswith(tuple(asked.case))]
    data_dir()
    if not asked.folders:
        answer()
    elif len(asked.folders) == 2 and names:
        folders = [folder.resolve() for folder in asked.folders]
        show(names, [one_round(folders, names) for _ in range(asked.rounds)])
    else:
        arguments.error(f"needs an old and a new folder, and cases among {', '.join(CASES)}")


def one_round(folders: list[Path], names: list[str]) -> dict[str, Pair]:
    """The fewest CPU seconds of the old and the new version, by case."""
    with ExitStack() as stack:
        both = [stack.enter_context(started(folder)) for folder in folders]
        return {name: contest(both, name) for name in names}


@contextmanager
def started(folder: Path) -> Iterator[Process]:
    """A process that answers with the version in a folder, and ends with the block."""
    environment = {**os.environ, **ALONE, "PYTHONPATH": str(folder)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, __file__], env=environment, stdin=pipe, stdout=pipe, text=True
    ) as process:
        package = told(process, "")
        if not Path(package).resolve().is_relative_to(folder):
            raise SystemExit(f"{folder} has no package consilience: {package} would be measured")
        yield process


def contest(both: list[Process], name: str) -> Pair:
    """The fewest CPU seconds of both in a case, by turns; None for one that refuses it."""
    seconds: tuple[list[Any], list[Any]] = ([], [])
    for turn in range(1 + TURNS):
        for i in (0, 1) if turn % 2 else (1, 0):  # who goes first changes
            seconds[i].append(told(both[i], name))
    old, new = (None if None in one else min(one[1:]) for one in seconds)
    return old, new


def told(process: Process, name: str) -> Any:
    """What a process answers to the name of a case."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def answer() -> None:
    """CPU seconds of each case that the input names, as JSON; to an empty line, the package."""
    for line in sys.stdin:
        name = line.strip()
        print(json.dumps(seconds_of(name) if name else str(cs.__file__)), flush=True)


def show(names: list[str], rounds: list[dict[str, Pair]]) -> None:
    print(f"CPU milliseconds, medians of {len(rounds)} rounds; ratios at most {RATIO:g}")
    print(f"  {'':<24} {'old':>9} {'new':>9} {'ratio':>7}   of the rounds")
    for name in names:
        print(f"  {name:<24} {line([one[name] for one in rounds])}")


def line(pairs: list[Pair]) -> str:
    """Medians, the ratio, the span of the rounds' ratios, and whether the bar is met."""
    refused = [who for who, one in zip(("old", "new"), pairs[0], strict=True) if one is None]
    if refused:
        return f"refused by {' and '.join(refused)}"
    old, new = np.array(pairs, dtype=float).T
    ratios = new / old
    ratio = float(np.median(ratios))
    return (
        f"{1e3 * np.median(old):9.3f} {1e3 * np.median(new):9.3f} {ratio:7.3f}   "
        f"{ratios.min():.3f}-{ratios.max():.3f}   {'met' if ratio <= RATIO else 'NOT met'}"
    )


def seconds_of(name: str) -> float | None:
    """CPU seconds of a case, or None if the library refuses it."""
    try:
        return cpu_of(*prepared(name))
    except cs.ConsilienceError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None


@lru_cache(maxsize=1)
def prepared(name: str) -> tuple[Work, int]:
    """The work of a case, compiled, and how often to repeat it."""
    work = CASES[name]()
    cpu_of(work, 1)
    return work, ceil(SHORTEST / max(cpu_of(work, 1), 1e-6))


def cpu_of(work: Work, n: int) -> float:
    """CPU seconds of a run, the mean of n."""
    start = time.process_time()
    for _ in range(n):
        work()
    return (time.process_time() - start) / n


@cache
def network(title: str) -> cs.Network:
    folder = data_dir() / "networks"
    plain = folder / f"{title}.bif"
    return cs.load(plain if plain.exists() else folder / f"{title}.bif.gz")


def rows_of(net: cs.Network, n_rows: int, missing: float = 0.0) -> cs.Table:
    """Rows of a discrete network, some values missing completely at random."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {}
    for name in net.dag.topological_order():
        local = net.tables[name]
        parents = tuple(columns[parent] for parent in local.parents)
        limits = local.table.cumsum(axis=-1)[parents]  # (rows, states), or (states,) for a root
        drawn = (rng.random((n_rows, 1)) > limits[..., :-1]).sum(axis=-1)
        columns[name] = drawn.astype(np.int8)
    for name in columns if missing else ():
        columns[name] = np.where(rng.random(n_rows) < missing, np.int8(-1), columns[name])
    return table_of({name: net.variables[name] for name in columns}, columns)


def table_of(variables: dict[str, cs.Variable], columns: dict[str, Any]) -> cs.Table:
    return cs.Table(cs.Schema(variables), columns)


def bodies_of(net: cs.Network) -> list[Given]:
    """Evidence on a tenth of the nodes from each of some rows."""
    rng = np.random.default_rng(2)
    rows = rows_of(net, BODIES)
    bodies = []
    for row in range(BODIES):
        names = rng.choice(list(net.variables), max(1, len(net.variables) // 10), replace=False)
        codes = {str(name): int(rows.column(name)[row]) for name in names}
        bodies.append({v: net.variables[v].discrete_states[code] for v, code in codes.items()})
    return bodies


def marginals(title: str) -> Work:
    net = network(title)
    bodies = bodies_of(net)
    return lambda: [net.marginals(given=given) for given in bodies]


def first_marginals(title: str) -> Work:
    """All marginals of a network that was never asked anything, compiling included."""
    net = network(title)
    return lambda: cs.Network.of(list(net.distributions.values())).marginals()


def queries(title: str) -> Work:
    net = network(title)
    bodies = bodies_of(net)
    targets = [next(name for name in net.variables if name not in given) for given in bodies]
    asked = list(zip(targets, bodies, strict=True))
    return lambda: [net.query(target, given=given) for target, given in asked]


def explanations(title: str) -> Work:
    net = network(title)
    bodies = bodies_of(net)
    return lambda: [net.mpe(given=given) for given in bodies]


def posteriors() -> Work:
    net = network("alarm")
    rows = rows_of(net, 20_000, 0.3)
    return lambda: net.posteriors(rows, TARGET)


def log_likelihood(n_rows: int, missing: float) -> Work:
    net = network("alarm")
    rows = rows_of(net, n_rows, missing)
    return lambda: net.log_likelihood(rows)


def steps_of_em() -> Work:
    net = network("alarm")
    rows = rows_of(net, 10_000, 0.1)
    return lambda: cs.em(net.dag, rows, cs.Dirichlet(per_cell=0.01), choice=STEPS)


def fit() -> Work:
    net = network("alarm")
    rows = rows_of(net, 2_000, 0.1)
    return lambda: cs.fit(net.dag, rows, cs.Dirichlet(ess=1), gaps=cs.EM())


def latent_classes() -> Work:
    net = naive_network()
    rows = rows_of(net, 10_000).select([name for name in net.variables if name != "class"])
    return lambda: cs.em(net.dag, rows, cs.MLE(), choice=STEPS, hidden={"class": N_CLASSES})


def naive_network() -> cs.Network:
    """A class with features of three states that depend on it."""
    rng = np.random.default_rng(3)
    root = cs.Variable("class", tuple("abc"))
    local = [cs.Categorical(root, (), np.full(N_CLASSES, 1 / N_CLASSES))]
    for j in range(N_FEATURES):
        feature = cs.Variable(f"x{j:02d}", tuple("abc"))
        local.append(cs.Categorical(feature, (root,), rng.dirichlet(np.ones(3), N_CLASSES)))
    return cs.Network.of(local)


def sample() -> Work:
    net = network("alarm")
    return lambda: net.sample(200_000, seed=1)


def sample_given() -> Work:
    net = network("alarm")
    given = bodies_of(net)[0]
    return lambda: net.sample(20_000, given=given, seed=1)


def climb() -> Work:
    rows = rows_of(network("alarm"), 10_000)
    return lambda: cs.learn(rows, search=FIRST_OPTIMUM)


def equivalence_search() -> Work:
    rows = rows_of(network("alarm"), 10_000)
    return lambda: cs.learn(rows, search=cs.GES())


def climb_continuous() -> Work:
    rng = np.random.default_rng(4)
    columns: dict[str, Any] = {}
    for j in range(N_COLUMNS):
        parents = rng.permutation(list(columns))[:2]
        slopes = rng.uniform(0.3, 1.2, len(parents))
        mean = sum(slope * columns[p] for slope, p in zip(slopes, parents, strict=True))
        columns[f"v{j:02d}"] = mean + rng.normal(0, rng.uniform(0.5, 2.0), 10_000)
    rows = table_of({name: cs.Variable(name) for name in columns}, columns)
    return lambda: cs.learn(rows, search=FIRST_OPTIMUM)


NETWORKS = ("alarm", "hailfinder", "andes", "pigs", "diabetes", "water", "mildew")
CASES: dict[str, Callable[[], Work]] = {
    **{f"inference.{title}": partial(marginals, title) for title in NETWORKS},
    "inference.first_alarm": partial(first_marginals, "alarm"),
    "inference.query_alarm": partial(queries, "alarm"),
    "inference.query_mildew": partial(queries, "mildew"),
    "inference.mpe_alarm": partial(explanations, "alarm"),
    "inference.mpe_andes": partial(explanations, "andes"),
    "batch.posteriors": posteriors,
    "batch.log_likelihood": partial(log_likelihood, 20_000, 0.3),
    "batch.complete": partial(log_likelihood, 20_000, 0.0),
    "em.alarm": steps_of_em,
    "em.fit": fit,
    "em.classes": latent_classes,
    "sampling.rows": sample,
    "sampling.given": sample_given,
    "hill_climb.alarm": climb,
    "hill_climb.ges": equivalence_search,
    "hill_climb.continuous": climb_continuous,
}


if __name__ == "__main__":
    main()
