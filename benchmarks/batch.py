"""Evidence by the row: P(HYPOVOLEMIA | row) for 100,000 rows of alarm, beside the peers.

Once with all other variables known and once with 30 % of the cells missing at random. Every
contestant gets the rows in the form that suits it; making that form is not timed. A peer works
through the rows until its minute is over, and its time is CPU time for each row done. The networks
of pyAgrum and pgmpy are built from our tables, since pyAgrum reads the numbers of a BIF file in
single precision.

pyAgrum answers complete rows by its classifier, which knows the Markov blanket of the target; by
propagation in the network of the blanket, the evidence changed in place; and by a loop written for
this benchmark that multiplies the tables of the blanket, the fastest way that was found. Rows with
gaps go through its propagation and its variable elimination with the target as the only one.

    CONSILIENCE_DATA=... python benchmarks/batch.py [rows] [seconds for each peer]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from bench import data_dir, measure, peer

import consilience as cs

TARGET = "HYPOVOLEMIA"
MISSING = 0.3
Work = Callable[[Any], Any]


@dataclass(frozen=True)
class Rows:
    """Rows to answer about, and our answers."""

    net: cs.Network
    table: cs.Table
    answers: np.ndarray
    cpu: float  # seconds a row

    def known(self, names: list[str], start: int, stop: int) -> list[dict[str, int]]:
        """Codes of what each row knows about the names."""
        columns = [self.table.column(name)[start:stop].tolist() for name in names]
        return [
            {name: code for name, code in zip(names, row, strict=True) if code >= 0}
            for row in zip(*columns, strict=True)
        ]

    def labels(self, names: list[str], start: int, stop: int) -> np.ndarray:
        """States as text, shape (rows, names)."""
        columns = [
            np.array(self.net.variables[name].states, object)[self.table.column(name)[start:stop]]
            for name in names
        ]
        return np.stack(columns, axis=1)


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    table = net.sample(n_rows, seed=1)
    contest("all other variables known", ours(net, table), COMPLETE, seconds)
    contest(f"{MISSING:.0%} of the cells missing", ours(net, gappy(table)), GAPPY, seconds)


def gappy(table: cs.Table) -> cs.Table:
    rng = np.random.default_rng(2)
    columns = {
        name: np.where(rng.random(table.n_rows) < MISSING, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return cs.Table(table.schema, columns)


def ours(net: cs.Network, table: cs.Table) -> Rows:
    cpu, _ = measure(lambda: net.posteriors(table, TARGET))
    return Rows(net, table, net.posteriors(table, TARGET), cpu / table.n_rows)


def contest(
    title: str,
    rows: Rows,
    peers: dict[str, Callable[[Rows], tuple[Work, Work] | None]],
    limit: float,
) -> None:
    print(f"\nalarm, {rows.table.n_rows:,} rows, {title}: CPU microseconds a row")
    print(f"  {'consilience':<42} {1e6 * rows.cpu:10.3f}")
    best: dict[str, float] = {}
    for name, make in peers.items():
        made = make(rows)
        if made is None:
            continue
        n_done, cpu, difference = timed(rows, *made, limit)
        best[name] = cpu / n_done
        print(
            f"  {name:<42} {1e6 * best[name]:10.3f} {best[name] / rows.cpu:9.1f} x ours"
            f"   {n_done:>7,} rows   largest difference {difference:.1e}"
        )
    for text, chosen in (
        ("best peer", best),
        ("best peer without the loop by hand", library(best)),
    ):
        if chosen:
            print(f"  {text} / ours: {min(chosen.values()) / rows.cpu:.1f} x")


def library(best: dict[str, float]) -> dict[str, float]:
    """What the libraries offer as one call or as inference, if that differs from all of it."""
    offered = {name: cpu for name, cpu in best.items() if "by hand" not in name}
    return offered if len(offered) < len(best) else {}


def timed(rows: Rows, prepare: Work, answer: Work, limit: float) -> tuple[int, float, float]:
    """Rows done, CPU seconds for them, and the largest difference from our answers."""
    n_done, cpu, difference = 0, 0.0, 0.0
    for start, stop in parts(rows.table.n_rows):
        given = prepare((start, stop))
        begin = time.process_time()
        answers = answer(given)
        cpu += time.process_time() - begin
        n_done = stop
        difference = max(difference, float(np.abs(answers - rows.answers[start:stop]).max()))
        if cpu > limit:
            break
    return n_done, cpu, difference


def parts(n_rows: int) -> Iterator[tuple[int, int]]:
    """Slices of the rows, first small ones, for contestants that need long for each row."""
    start, size = 0, 100
    while start < n_rows:
        yield start, min(start + size, n_rows)
        start, size = start + size, min(2 * size, 5000)


@cache
def pyagrum_network(net: cs.Network) -> Any:
    gum = peer("pyagrum")
    if gum is None:
        return None
    bn = gum.BayesNet()
    for name, variable in net.variables.items():
        bn.add(gum.LabelizedVariable(name, name, list(variable.states)))
    for parent, child in net.dag.arcs:
        bn.addArc(parent, child)
    for name, local in net.distributions.items():
        axes = (*local.parents, name)
        order = [axes.index(other) for other in reversed(bn.cpt(name).names)]
        bn.cpt(name).fillWith(local.table.transpose(order).ravel().tolist())
    return bn


def pyagrum_classifier(rows: Rows) -> tuple[Work, Work] | None:
    bn = pyagrum_network(rows.net)
    skbn = None if bn is None else peer("pyagrum.skbn")
    if skbn is None:
        return None
    names = [name for name in rows.net.variables if name != TARGET]
    label = rows.net.variables[TARGET].states[0]
    classifier = skbn.createBNClassifier(significant_digit=17)
    classifier.fromTrainedModel(bn, TARGET, targetModality=label, variableList=names)
    return (
        lambda part: rows.labels(names, *part),
        lambda labels: classifier.predict_proba(labels)[:, ::-1],
    )


def blanket(rows: Rows) -> tuple[Any, list[str]] | None:
    """The network of the target's Markov blanket in pyAgrum, and what to know in it."""
    bn = pyagrum_network(rows.net)
    skbn = None if bn is None else peer("pyagrum.skbn")
    if skbn is None:
        return None
    part = skbn.compileMarkovBlanket(bn, TARGET)
    return part, [name for name in part.names() if name != TARGET]


def pyagrum_blanket(rows: Rows) -> tuple[Work, Work] | None:
    found = blanket(rows)
    if found is None:
        return None
    bn, names = found
    inference = peer("pyagrum").LazyPropagation(bn)
    inference.setTargets({TARGET})
    inference.setEvidence(dict.fromkeys(names, 0))

    def answer(known: list[dict[str, int]]) -> np.ndarray:
        answers = []
        for row in known:
            for name, code in row.items():
                inference.chgEvidence(name, code)
            inference.makeInference()
            answers.append(inference.posterior(TARGET).toarray())
        return np.array(answers)

    return lambda part: rows.known(names, *part), answer


def pyagrum_by_hand(rows: Rows) -> tuple[Work, Work] | None:
    found = blanket(rows)
    if found is None:
        return None
    bn, names = found
    place = bn.completeInstantiation()
    n_states = rows.net.variables[TARGET].n_states

    def answer(known: list[dict[str, int]]) -> np.ndarray:
        weights = np.empty((len(known), n_states))
        for i, row in enumerate(known):
            place.fromdict(row)
            for k in range(n_states):
                place.chgVal(TARGET, k)
                weights[i, k] = bn.jointProbability(place)
        return weights / weights.sum(axis=1, keepdims=True)

    return lambda part: rows.known(names, *part), answer


def pyagrum_engine(engine: str) -> Callable[[Rows], tuple[Work, Work] | None]:
    def make(rows: Rows) -> tuple[Work, Work] | None:
        bn = pyagrum_network(rows.net)
        if bn is None:
            return None
        names = [name for name in rows.net.variables if name != TARGET]
        inference = getattr(peer("pyagrum"), engine)(bn)
        inference.setTargets({TARGET})

        def answer(known: list[dict[str, int]]) -> np.ndarray:
            answers = []
            for row in known:
                inference.setEvidence(row)
                inference.makeInference()
                answers.append(inference.posterior(TARGET).toarray())
            return np.array(answers)

        return lambda part: rows.known(names, *part), answer

    return make


@cache
def pgmpy_network(net: cs.Network) -> Any:
    if peer("pgmpy") is None:
        return None
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork(net.dag.arcs)
    for name, local in net.distributions.items():
        states = {v.name: list(v.states) for v in (local.child, *local.given)}
        model.add_cpds(
            TabularCPD(
                name,
                local.child.n_states,
                local.rows.T,
                list(local.parents),
                [v.n_states for v in local.given],
                state_names=states,
            )
        )
    return model


def pgmpy_predict(rows: Rows) -> tuple[Work, Work] | None:
    model = pgmpy_network(rows.net)
    if model is None:
        return None
    import pandas as pd

    names = [name for name in rows.net.variables if name != TARGET]
    columns = [f"{TARGET}_{state}" for state in rows.net.variables[TARGET].states]
    return (
        lambda part: pd.DataFrame(rows.labels(names, *part), columns=names),
        lambda frame: model.predict_probability(frame)[columns].to_numpy(),
    )


def pgmpy_elimination(rows: Rows) -> tuple[Work, Work] | None:
    model = pgmpy_network(rows.net)
    if model is None:
        return None
    from pgmpy.inference import VariableElimination

    names = [name for name in rows.net.variables if name != TARGET]
    states = {name: variable.states for name, variable in rows.net.variables.items()}
    inference = VariableElimination(model)

    def prepare(part: tuple[int, int]) -> list[dict[str, str]]:
        return [
            {name: states[name][code] for name, code in row.items()}
            for row in rows.known(names, *part)
        ]

    def answer(known: list[dict[str, str]]) -> np.ndarray:
        answers = []
        for row in known:
            factor = inference.query([TARGET], evidence=row, show_progress=False)
            answers.append(np.asarray(factor.values))
        return np.array(answers)

    return prepare, answer


COMPLETE = {
    "pyAgrum, BNClassifier.predict_proba": pyagrum_classifier,
    "pyAgrum, LazyPropagation in the blanket": pyagrum_blanket,
    "pyAgrum, product of the blanket by hand": pyagrum_by_hand,
    "pgmpy, predict_probability": pgmpy_predict,
}
GAPPY = {
    "pyAgrum, LazyPropagation": pyagrum_engine("LazyPropagation"),
    "pyAgrum, VariableElimination": pyagrum_engine("VariableElimination"),
    "pgmpy, VariableElimination": pgmpy_elimination,
}


if __name__ == "__main__":
    main()
