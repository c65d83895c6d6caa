"""Every verb that takes a table takes a frame or a path too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import consilience as cs
from consilience.errors import DataError, InputError

pytestmark = pytest.mark.filterwarnings("error")

ROWS = {"ill": ["no", "yes", "yes", "no"] * 15, "fever": ["low", "high", "low", "low"] * 15}
BY_PLACE = {"place": ["rome", "oslo"] * 30, **ROWS}
DAG = cs.DAG([("ill", "fever")])


@cache
def net() -> cs.Network:
    return cs.fit(DAG, cs.read(ROWS), cs.Dirichlet())


@cache
def by_source() -> cs.Network:
    return cs.fit(DAG, cs.read(BY_PLACE, source="place"))


@cache
def latent() -> cs.latent.HiddenStates:
    return cs.latent_classes(cs.read(ROWS), 2)


@cache
def influence() -> cs.latent.Influence:
    groups = {"A": ["ill", "fever"]}
    return cs.latent.influence_network(cs.DAG(nodes=["A"]), cs.read(ROWS), groups, n_states=2)


@cache
def belief_of_graphs() -> cs.averaging.GraphBelief:
    return cs.average(cs.read(ROWS))


@cache
def shifted() -> cs.simulate.Relabeling:
    return cs.simulate.permute_states(by_source(), 0.5, seed=1)


Verb = Callable[[Any], Any]

VERBS: dict[str, Verb] = {
    "learn": lambda rows: cs.learn(rows).arcs,
    "search": lambda rows: cs.search(rows).score,
    "test": lambda rows: cs.independence.test(rows, "ill", "fever").p_value,
    "tests": lambda rows: cs.independence.tests(rows, [("ill", "fever")])[0].p_value,
    "score": lambda rows: cs.score(DAG, rows, cs.BIC()),
    "node_scores": lambda rows: cs.node_scores(DAG, rows, cs.BIC()),
    "count": lambda rows: cs.count(rows, cs.Family("ill"))[0].n_complete.tolist(),
    "naive_bayes": lambda rows: cs.naive_bayes(rows, "ill").arcs,
    "tan": lambda rows: cs.tan(rows, "ill").arcs,
    "fit": lambda rows: cs.fit(DAG, rows)["fever"].table.tolist(),
    "em": lambda rows: cs.em(DAG, rows, cs.MLE()).log_likelihood,
    "compare_graphs": lambda rows: cs.compare_graphs(
        DAG, cs.DAG(nodes=["ill", "fever"]), table=rows
    ).scores.difference,
    "discretize": lambda rows: cs.discretize(rows, {})["ill"].tolist(),
    "cross_evaluate": lambda rows: cs.cross_evaluate(
        rows, "ill", estimators={"MLE": cs.Dirichlet()}, structures={"nb": cs.naive_bayes}
    ).summary("accuracy")[0].mean,
    "expected_counts": lambda rows: cs.expected_counts(net(), rows)["fever"].tolist(),
    "impute": lambda rows: cs.impute(net(), rows).table["ill"].tolist(),
    "latent_classes": lambda rows: cs.latent_classes(rows, 2).entropy,
    "hidden_states": lambda rows: cs.hidden_states(
        cs.DAG([("H", "ill"), ("H", "fever")]), rows, "H", 2
    ).entropy,
    "influence": lambda rows: cs.influence(
        rows, {"A": ["ill"], "B": ["fever"]}, n_states=2, iterations=1
    ).score,
    "influence_network": lambda rows: cs.latent.influence_network(
        cs.DAG(nodes=["A"]), rows, {"A": ["ill", "fever"]}, n_states=2
    ).score,
    "assess_gaps": lambda rows: str(cs.gaps.assess_gaps(rows)),
    "augment": lambda rows: cs.gaps.augment(
        DAG, rows, chains=2, draws=10, warmup=1, seed=1
    ).draws["ill"].tolist(),
    "variational": lambda rows: cs.gaps.variational(DAG, rows).bound,
    "with_gaps": lambda rows: cs.simulate.with_gaps(rows, cs.simulate.MCAR(0.5), seed=1)[
        "ill"
    ].tolist(),
    "stratified_order": lambda rows: cs.simulate.stratified_order(
        rows, by=["ill"], seed=1
    ).tolist(),
    "stratified_subsample": lambda rows: cs.simulate.stratified_subsample(
        rows, 10, by=["ill"], seed=1
    )["ill"].tolist(),
    "evaluate_network": lambda rows: cs.classify.evaluate_network(
        net(), rows, "ill"
    ).overall.log_loss,
    "calibrated_chain": lambda rows: cs.classify.calibrated_chain(DAG, rows, "ill")[
        "fever"
    ].table.tolist(),
    "Network.posteriors": lambda rows: net().posteriors(rows, "ill").tolist(),
    "Network.log_likelihood": lambda rows: net().log_likelihood(rows).tolist(),
    "log_of_states": lambda rows: cs.inference.log_of_states(
        net(), rows, "ill", np.zeros(60, np.int32), posteriors=net().posteriors(rows, "ill")
    ).tolist(),
    "HiddenStates.memberships": lambda rows: latent().memberships(rows).tolist(),
    "average": lambda rows: cs.average(rows).log_evidence,
    "GraphBelief.posteriors": lambda rows: belief_of_graphs().posteriors(rows, "ill").tolist(),
    "GraphBelief.log_likelihood": lambda rows: belief_of_graphs().log_likelihood(rows).tolist(),
    "effect": lambda rows: cs.causal.effect(
        DAG, "fever", do={"ill": "yes"}, state="high", table=rows
    ).value,
    "causation": lambda rows: cs.causal.causation(
        None,
        cause={"ill": "yes"},
        against={"ill": "no"},
        effect={"fever": "high"},
        table=rows,
        experiment={"yes": 0.5, "no": 0.1},
    ).both,
    "fairness": lambda rows: str(
        cs.causal.fairness(net(), rows, protected="fever", target="ill", positive="yes").gaps
    ),
    "counterfactuals": lambda rows: cs.causal.counterfactuals(
        net(), rows, "fever", do={"ill": "no"}, mechanism=cs.causal.GumbelMax()
    ).tolist(),
    "Influence.posteriors": lambda rows: influence().posteriors(rows)["A"].tolist(),
    "Influence.labels": lambda rows: influence().labels(rows)["A"].tolist(),
    "Influence.accuracy": lambda rows: influence().accuracy(rows, {"A": [0, 1] * 30}),
    "Influence.row_log_likelihoods": lambda rows: influence().row_log_likelihoods(rows).tolist(),
}  # fmt: skip

OTHERS: dict[str, tuple[Verb, dict[str, list]]] = {
    "moments": (
        lambda rows: cs.moments(rows, ["x"]).mean.tolist(),
        {"x": [0.5, 1.5, 2.0], "y": ["a", "b", "b"]},
    ),
    "partial_correlations": (
        lambda rows: str(cs.partial_correlations(rows)),
        {"x": [0.5, 1.5, 2.0, 4.0], "y": [1.5, 1.0, 3.0, 3.5]},
    ),
    "Relabeling.relabel": (
        lambda rows: shifted().relabel(rows)["ill"].tolist(),
        BY_PLACE,
    ),
}

TABLES_ONLY = {
    *("multinets", "clusters", "Clusters.rows_of", "by_source", "usual_test", "tree_notes"),
    *("write_csv", "write_rows", "write_tables", "adapt", "explore", "fair_fit", "report", "store"),
    "total_log_likelihood",
}
"""Functions that are tried elsewhere, or that take a table as it is."""

OF_CHOICES = {  # what a choice or a formula does for a verb that has been through the door
    "Estimand.at", "Estimand.bounds", "Estimand.distribution", "Estimand.query", "Estimand.tables",
    "Estimand.value",
    "LearningCurve.split", "LeaveOneSourceOut.split", "StratifiedFolds.split",
    "BestScore.threshold", "Majority.threshold", "AfterMove.propose", "AfterSearch.propose",
    "HardCompletion.complete", "SoftCompletion.complete",
}  # fmt: skip


def belief(found: cs.Factor) -> list[float]:
    return [found[state] for state in ("no", "yes")]


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions of the public face and public methods of its classes."""
    flat = [getattr(cs, name) for name in dir(cs)]
    spaces = [one for one in flat if isinstance(one, ModuleType)]
    for one in [*flat, *(getattr(space, name) for space in spaces for name in dir(space))]:
        if inspect.isfunction(one):
            yield one.__qualname__, one
        elif inspect.isclass(one):
            for name, method in vars(one).items():
                if name[0] != "_" and inspect.isfunction(method):
                    yield method.__qualname__, method


def test_every_verb_that_takes_rows_is_tried_here():
    taking = {
        name
        for name, function in public_functions()
        if function.__module__.startswith("consilience.")
        and any(
            word in str(kind)
            for argument, kind in function.__annotations__.items()
            if argument != "return"
            for word in ("Rows", "Table")
        )
    }
    of_tests = {name for name in taking if name.endswith((".judge", ".parts", ".rows"))}
    assert taking - OF_CHOICES - of_tests - TABLES_ONLY == set(VERBS) | set(OTHERS)


def test_frames_by_source_are_a_table_with_sources():
    frames = {"rome": pd.DataFrame(ROWS), "oslo": pd.DataFrame(ROWS)}
    found, expected = (cs.averaging.multinets(rows) for rows in (frames, cs.read(frames)))
    assert str(found) == str(expected)


CASES = [*((verb, ROWS) for verb in VERBS.values()), *OTHERS.values()]


@pytest.mark.parametrize(("verb", "rows"), CASES, ids=[*VERBS, *OTHERS])
def test_a_frame_and_a_path_answer_as_their_table_does(verb, rows, tmp_path):
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame(rows)
    frame.to_csv(path, index=False)
    source = "place" if "place" in rows else None
    expected = verb(cs.read(rows, source=source))
    for given in (frame, path, pl.DataFrame(rows)):
        assert verb(given) == expected


def test_the_record_of_what_was_learned_says_how_rows_were_read():
    frame = pd.DataFrame({**ROWS, "age": np.arange(60) % 40 + 0.5})
    said = "The rows were read by the default rules of cs.read: discrete 'ill', 'fever'; "
    assert any(said in note for note in cs.search(frame).notes)
    assert any(said in note for note in cs.fit(DAG, frame).record.notes)
    assert any(said in note for note in cs.em(DAG, frame, cs.MLE()).network.record.notes)
    assert not any(said in note for note in cs.fit(DAG, cs.read(frame)).record.notes)


def test_a_frame_is_read_in_the_states_of_the_network():
    frame = pd.DataFrame({"fever": ["high"], "other": [3]})
    assert np.allclose(
        net().posteriors(frame, "ill")[0], belief(net().query("ill", given={"fever": "high"}))
    )
    with pytest.raises(DataError, match="'hot' is not in the schema"):
        net().posteriors(pd.DataFrame({"fever": ["hot"]}), "ill")


def test_a_column_that_a_frame_lacks_is_refused_as_for_tables():
    with pytest.raises(DataError, match="no column 'fever'"):
        net().log_likelihood(pd.DataFrame({"ill": ["no"]}))


def test_the_source_of_a_frame_is_known_by_its_column_or_by_the_key():
    by_column = pd.DataFrame({"fever": ["high"], "place": ["oslo"]})
    without = pd.DataFrame({"fever": ["high"]})
    known = belief(by_source().query("ill", given={"fever": "high", "place": "oslo"}))
    unknown = belief(by_source().query("ill", given={"fever": "high"}))
    assert np.allclose(by_source().posteriors(by_column, "ill")[0], known)
    assert np.allclose(by_source().posteriors({"oslo": without}, "ill")[0], known)
    assert np.allclose(by_source().posteriors(without, "ill")[0], unknown)


def test_a_source_never_seen_is_a_new_one():
    kabul = pd.DataFrame({"fever": ["high"], "place": ["kabul"]})
    new = belief(by_source().query("ill", given={"fever": "high", "place": "new_source"}))
    assert np.allclose(by_source().posteriors(kabul, "ill")[0], new)


def test_numbers_of_a_frame_are_cut_as_the_network_was():
    ages = pd.DataFrame({"age": np.arange(40) + 0.5, "ill": ["no", "yes"] * 20})
    net = cs.fit(cs.DAG([("age", "ill")]), cs.read(ages, discretize={"age": cs.Cuts([20])}))
    young = net.posteriors(pd.DataFrame({"age": [3.25]}), "ill")[0]
    assert np.allclose(young, net.query("ill", given={"age": "<20"}).values)


@pytest.mark.parametrize("given", [3, None, object()])
def test_what_is_no_table_is_refused_with_what_is_accepted(given):
    for verb in (cs.learn, lambda rows: cs.fit(DAG, rows), lambda rows: net().log_likelihood(rows)):
        with pytest.raises(InputError, match=r"cannot be read.*a data frame"):
            verb(given)
