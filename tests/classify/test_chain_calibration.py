from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from classifier_data import HOSPITALS, beliefs, patients, with_gaps

import consilience as cs
from consilience.classify import shrinking
from consilience.classify.classifiers import NaiveBayesClassifier, TANClassifier
from consilience.classify.left_out import GraphChains, LeftOut, Shrinking, shrunken_means
from consilience.classify.shrinking import Calibrated, calibrated_chain
from consilience.errors import DataError, InputError, UnknownNameError
from consilience.parameters.chain import fitted_chains

POINTS = [Shrinking(), Shrinking(4.0, 0.25, 0.1), Shrinking(0.5, 8.0, 1.0)]


def table_of(frame, **options):
    states = {"fever": 3, "rash": 2, "smoke": 4, "ill": 2}
    known = {name: [f"s{k}" for k in range(n)] for name, n in states.items()}
    frame = frame.assign(hospital=pd.Categorical(frame["hospital"], HOSPITALS))
    return cs.read(frame, source="hospital", states=known, **options)


def chains_of(dag, table):
    families = [cs.Family(node, dag.parents(node)) for node in dag.nodes]
    return fitted_chains(cs.count(table, families, by_source=table.source is not None), cs.HDC())


def network_of(chains, shrinking, rows):
    """A network whose chains are fitted anew to other counts, with the concentrations as learned.

    Every family of the graphs below has the class.
    """
    local = []
    for chain in chains:
        [counts] = cs.count(rows, [chain.counts.family], by_source=rows.source is not None)
        values = counts.to_dense().table.reshape(chain.rows.shape) / counts.scale
        again = replace(chain, counts=counts, rows=values)
        local.append(again.local(shrunken_means(again, shrinking)))
    source = chains[0].source
    root = [cs.Categorical(source, (), np.full(source.n_states, 1 / source.n_states))]
    return cs.Network.of([*root, *local], source=source.name)


@pytest.mark.parametrize("structure", [cs.naive_bayes, cs.tan])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
@pytest.mark.parametrize("shrinking", POINTS, ids=str)
def test_leaving_a_row_out_is_like_fitting_without_it(structure, gaps, shrinking):
    # Strengths of all rows are equal here: the shortcut takes them as they are with the row.
    frame = patients(80)
    if gaps:
        frame = with_gaps(frame).assign(hospital=frame["hospital"], ill=frame["ill"])
    table = table_of(frame)
    chains = [
        replace(chain, ways=[replace(way, rho=0.0 * way.rho) for way in chain.ways])
        for chain in chains_of(structure(table, "ill"), table)
    ]
    left_out = LeftOut.of([GraphChains(chains)], table, "ill")
    found = beliefs(left_out, shrinking)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    of_class, of_tables = [], []
    for row in range(0, 80, 5):
        net = network_of(chains, shrinking, table.take(np.arange(80) != row))
        of_class.append(abs(net.posteriors(table.take([row]), "ill")[0] - found[row]).max())
        for family in left_out.families:
            means, ratios = family.shrunken(shrinking)
            asked = family.asked[family.places[row]] if family.places[row] >= 0 else []
            again = net[family.chain.counts.child.name].table.ravel()[asked]
            of_tables.extend(abs(means.ravel()[asked] * np.exp(ratios[row])[: len(asked)] - again))
    assert np.quantile(of_tables, 0.95) < 0.005
    # Neither the levels above nor the weight of a source's own orders follow a row that leaves.
    assert max(of_tables) < 0.01
    assert max(of_class) < 0.0125  # a row has an error for each of its families


def test_as_learned_the_means_are_those_of_the_chain():
    table = table_of(patients(100))
    for chain in chains_of(cs.tan(table, "ill"), table):
        np.testing.assert_allclose(shrunken_means(chain, Shrinking()), chain.means, atol=2e-5)


def doubled(n_rows, seed, copies=4):
    """Rows with one weak feature under several names: naive Bayes counts it several times."""
    rng = np.random.default_rng(seed)
    ill, ward = rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)
    fever = np.where(rng.random(n_rows) < 0.7, ill, 1 - ill)
    columns = {f"fever{k}": fever for k in range(copies)}
    frame = pd.DataFrame({"ward": ward, "ill": ill, **columns}).astype(str)
    return cs.read(frame, source="ward")


def test_duplicated_features_make_the_chain_too_sure_and_calibration_repairs_it():
    train, test = doubled(300, 1), doubled(2000, 2)
    dag = cs.naive_bayes(train, "ill")
    plain = cs.classify.evaluate_network(cs.fit(dag, train, cs.HDC()), test, "ill").overall
    calibrated = cs.classify.evaluate_network(
        calibrated_chain(dag, train, "ill"), test, "ill"
    ).overall
    assert plain.log_loss > 0.75  # the best constant has 0.69
    assert calibrated.log_loss < 0.63  # and the true probabilities 0.61
    assert calibrated.calibration_error < 0.06 < 0.12 < plain.calibration_error
    assert calibrated.accuracy == plain.accuracy


def test_where_the_graph_is_right_little_changes():
    table = table_of(patients(600, seed=1))
    test = table_of(patients(3000, seed=2))
    dag = cs.DAG.parse("[ill][fever|ill][rash|ill:fever][smoke|ill]")
    plain = cs.classify.evaluate_network(cs.fit(dag, table, cs.HDC()), test, "ill").overall
    found = cs.classify.evaluate_network(calibrated_chain(dag, table, "ill"), test, "ill").overall
    assert found.log_loss == pytest.approx(plain.log_loss, abs=0.005)


def test_all_rows_of_all_tables_sum_to_one_those_of_a_new_source_too():
    net = calibrated_chain(cs.naive_bayes(doubled(50, 1), "ill"), doubled(50, 1), "ill")
    assert net.variables["ward"].states[-1] == "new_source"
    for local in net.distributions.values():
        np.testing.assert_allclose(local.table.sum(axis=-1), 1.0, rtol=1e-12)
        assert (local.table > 0).all()


def test_the_record_tells_what_was_found():
    net = calibrated_chain(cs.naive_bayes(doubled(300, 1), "ill"), doubled(300, 1), "ill")
    assert net.record.method == f"{Calibrated()!r} for 'ill'"
    [note] = net.record.notes
    assert note.startswith("Calibrated for 'ill' on 300 rows. In its families, concentrations of")
    assert " of the source by " in note


def test_a_row_of_weight_two_is_two_rows():
    frame = patients(60)
    twice = pd.concat([frame, frame])
    once = table_of(frame.assign(n=2), weight="n")
    dag = cs.naive_bayes(once, "ill")
    a = calibrated_chain(dag, once, "ill")
    b = calibrated_chain(dag, table_of(twice), "ill")
    for name in dag.nodes:
        np.testing.assert_allclose(a[name].table, b[name].table, rtol=1e-9)


def test_rows_of_weight_zero_or_unknown_class_are_not_scored():
    frame = patients(90)
    more = frame.assign(n=1.0)
    more.loc[more.index % 3 == 0, "n"] = 0.0
    table = table_of(more, weight="n")
    kept = table_of(frame[frame.index % 3 > 0])
    dag = cs.naive_bayes(table, "ill")
    a, b = calibrated_chain(dag, table, "ill"), calibrated_chain(dag, kept, "ill")
    np.testing.assert_allclose(a["fever"].table, b["fever"].table, rtol=1e-9)
    unknown = frame.assign(ill=frame["ill"].where(frame.index % 3 > 0))
    notes = calibrated_chain(dag, table_of(unknown), "ill").record.notes
    assert "on 60 rows" in notes[-1]


def test_the_order_of_the_rows_does_not_matter():
    frame = patients(120)
    dag = cs.naive_bayes(table_of(frame), "ill")
    a = calibrated_chain(dag, table_of(frame), "ill")
    b = calibrated_chain(dag, table_of(frame.sample(frac=1, random_state=1)), "ill")
    np.testing.assert_allclose(a["rash"].table, b["rash"].table, rtol=1e-9)


def test_families_without_the_class_stay_as_they_were():
    table = table_of(patients(200))
    dag = cs.DAG.parse("[smoke][fever|smoke][ill|fever][rash|ill]")
    plain, found = cs.fit(dag, table, cs.HDC()), calibrated_chain(dag, table, "ill")
    np.testing.assert_array_equal(found["fever"].table, plain["fever"].table)
    assert abs(found["rash"].table - plain["rash"].table).max() > 1e-3


def test_of_many_rows_a_sample_is_scored_that_the_seed_decides(monkeypatch):
    monkeypatch.setattr(shrinking, "MOST_ROWS", 40)
    table = table_of(patients(200))
    dag = cs.naive_bayes(table, "ill")
    first = calibrated_chain(dag, table, "ill", seed=1)
    assert "on 40 rows" in first.record.notes[-1]
    assert calibrated_chain(dag, table, "ill", seed=1).record == first.record
    assert calibrated_chain(dag, table, "ill", seed=2).record != first.record


@pytest.mark.parametrize("columns", [["ill"], ["ill", "fever"]])
def test_a_table_without_sources_or_features_is_calibrated_too(columns):
    table = cs.read(patients(60)[columns])
    net = calibrated_chain(cs.naive_bayes(table, "ill"), table, "ill")
    assert "of the source" not in net.record.notes[-1]
    assert net.source is None


def test_a_class_of_one_state_is_certain():
    table = cs.read({"ill": ["yes", "yes"], "fever": ["a", "b"]})
    net = calibrated_chain(cs.naive_bayes(table, "ill"), table, "ill")
    assert net.query("ill", given={"fever": "a"})["yes"] == 1.0


def test_the_class_may_have_parents_and_the_source_children_of_its_own():
    table = table_of(patients(200))
    dag = cs.DAG.parse("[hospital][fever|hospital][smoke][ill|fever:smoke][rash|ill:hospital]")
    net = calibrated_chain(dag, table, "ill")
    assert net["ill"].parents == ("fever", "smoke")
    assert net["rash"].parents == ("hospital", "ill")


def test_mistakes_are_named():
    table = table_of(patients(30))
    dag = cs.naive_bayes(table, "ill")
    with pytest.raises(InputError, match=r"only the shrinkage of HDC .* got Dirichlet\(") as caught:
        Calibrated(cs.Dirichlet())
    assert caught.value.culprits == {"parameter": "estimator"}
    with pytest.raises(UnknownNameError, match="unknown variable 'well'"):
        calibrated_chain(dag, table, "well")
    with pytest.raises(InputError, match="must give a DAG in which 'smoke' is a node"):
        calibrated_chain(cs.DAG([("ill", "rash")]), table, "smoke")
    nobody = table_of(patients(30).assign(ill=None))
    with pytest.raises(DataError, match="no row has a value of 'ill'"):
        calibrated_chain(dag, nobody, "ill")
    numbers = cs.read({"ill": [0.5, 1.5], "rash": ["a", "b"]})
    with pytest.raises(InputError, match="the target 'ill' is continuous"):
        calibrated_chain(cs.DAG([("ill", "rash")]), numbers, "ill")


@pytest.mark.parametrize("kind", [NaiveBayesClassifier, TANClassifier])
@pytest.mark.parametrize("source", ["hospital", None])
def test_a_classifier_is_calibrated_unless_told_otherwise_and_says_so(kind, source):
    frame = patients(150)
    X, y = frame.drop(columns=["ill"] if source else ["ill", "hospital"]), frame["ill"]
    classifier = kind(source=source).fit(X, y)
    assert "\nCalibrated for 'ill' on 150 rows." in classifier.report()
    assert "its joint likelihood is not" in classifier.network_.record.notes[-1]
    same = kind(Calibrated(), source=source).fit(X, y)
    assert (classifier.predict_proba(X) == same.predict_proba(X)).all()
    plain = kind(cs.HDC(), source=source).fit(X, y)
    assert "Calibrated" not in plain.report()
    assert (classifier.predict_proba(X) != plain.predict_proba(X)).any()


def test_a_calibrated_classifier_refuses_to_fill_gaps():
    frame = patients(30)
    with pytest.raises(InputError, match=r"takes gaps=AvailableCases\(\).*got EM\(") as caught:
        NaiveBayesClassifier(gaps=cs.EM()).fit(frame.drop(columns="ill"), frame["ill"])
    assert caught.value.culprits["parameter"] == "gaps"


@pytest.mark.parametrize("kind", [NaiveBayesClassifier, TANClassifier])
@pytest.mark.parametrize("n_rows", [12, 60])
def test_by_default_features_that_say_nothing_are_no_worse_than_the_class_prior(kind, n_rows):
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.integers(0, 5, (n_rows + 500, 8))).astype(str)
        y = (rng.random(len(X)) < 0.3).astype(int)
        y[:2] = 0, 1
        beliefs = kind().fit(X[:n_rows], y[:n_rows]).predict_proba(X[n_rows:])
        share = (y[:n_rows].sum() + 0.5) / (n_rows + 1)
        prior = np.array([1 - share, share])[y[n_rows:]]
        losses.append(np.log(prior).mean() - np.log(beliefs[np.arange(500), y[n_rows:]]).mean())
    assert np.mean(losses) < 2 * np.std(losses) / np.sqrt(5) + 0.005


def test_a_calibrated_chain_is_refused_where_no_class_is_known():
    table = table_of(patients(20, seed=1))
    with pytest.raises(InputError, match="needs a class to be made for") as caught:
        cs.fit(cs.naive_bayes(table, "ill"), table, Calibrated())
    assert caught.value.culprits["parameter"] == "estimator"

    with pytest.raises(InputError, match="must be a choice such as"):
        cs.fit(cs.naive_bayes(table, "ill"), table, Calibrated)


def test_the_order_of_rows_does_not_matter_to_a_learned_graph():
    table = table_of(patients(90, seed=1))
    frame = table.to_frame()
    again = cs.read(frame.sample(frac=1, random_state=1).astype(str), source=table.source)
    first = cs.read(frame.astype(str), source=table.source)
    nets = [calibrated_chain(cs.tan, rows, "ill") for rows in (first, again)]
    asked = [net.query("ill", given={"fever": "s1", "rash": "s0"})["s1"] for net in nets]
    assert asked[0] == pytest.approx(asked[1], abs=1e-9)
