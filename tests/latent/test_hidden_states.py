from __future__ import annotations

import numpy as np
import pytest
from influence_truths import with_gaps

import consilience as cs
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, GraphError, InputError, UnknownNameError
from consilience.latent import number_of_states

BETWEEN = cs.DAG([("u", "H"), ("v", "H"), ("H", "x"), ("H", "y"), ("H", "z")])


def class_truth(n_classes, n_features, seed):
    """Uniformly drawn tables of three states; shares of the classes from a Dirichlet of 10."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(n_features)]
    whole = cs.random_network(
        cs.DAG([("class", name) for name in names]),
        n_states={"class": n_classes} | dict.fromkeys(names, 3),
        seed=rng,
    )
    shares = rng.dirichlet(np.full(n_classes, 10.0))
    root = cs.Categorical(whole.variables["class"], (), shares)
    return cs.Network.of([root, *(whole[name] for name in names)]), names


@pytest.mark.parametrize("seed", range(3))
def test_four_classes_are_found_and_told_as_well_as_the_truth_tells_them(seed):
    net, names = class_truth(4, 12, seed)
    rows = net.sample(5000, seed=seed)
    table, true = rows.select(names), rows.column("class")
    found = cs.latent_classes(table, [3, 4, 5], choice=cs.EM(restarts=4, tolerance=1e-7))
    assert found.n_states == 4
    ours = cs.latent.label_agreement(found.memberships(table).argmax(axis=1), true)
    best = cs.latent.label_agreement(net.posteriors(table, "class").argmax(axis=1), true)
    assert ours > best - 0.01


@pytest.mark.parametrize(
    "criterion",
    [cs.BIC(), cs.AIC(), cs.gaps.VariationalBayes(restarts=4), cs.scores.CrossValidated(folds=3)],
    ids=["bic", "aic", "vb", "folds"],
)
def test_every_criterion_finds_two_clear_classes_in_rows_with_gaps(criterion):
    net, names = class_truth(2, 8, 5)
    table = with_gaps(net.sample(800, seed=5).select(names), 0.2, 1)
    found = cs.latent_classes(table, range(1, 4), criterion=criterion, choice=cs.EM(restarts=3))
    best = max(found.tried, key=lambda one: one.value)
    assert found.n_states == best.n_states
    assert found.network is best.network
    assert [one.n_states for one in found.tried] == [1, 2, 3]
    assert found.tried[1].value > found.tried[0].value
    if not isinstance(criterion, cs.AIC):
        assert found.n_states == 2


def test_one_class_is_the_model_of_independent_features():
    table = cs.read({"x": ["a", "a", "b", "b"], "y": ["a", "b", "b", "b"]})
    found = cs.latent_classes(table, 1, estimator=cs.Dirichlet(ess=1e-9))
    wanted = cs.score(cs.DAG(nodes=["x", "y"]), table, cs.scores.LogLikelihood())
    assert found.tried[0].log_likelihood == pytest.approx(wanted)
    assert found.tried[0].value == pytest.approx(wanted - 0.5 * 2 * np.log(4))
    assert found.entropy == 0.0


def test_a_hidden_node_between_observed_parents_and_children_is_found():
    sizes = {"u": 3, "v": 2, "H": 3, "x": 3, "y": 3, "z": 3}
    net = cs.random_network(BETWEEN, n_states=sizes, total=1.5, seed=4)
    rows = net.sample(4000, seed=4)
    table = rows.select(["u", "v", "x", "y", "z"])
    found = cs.hidden_states(BETWEEN, table, "H", range(2, 5), choice=cs.EM(restarts=4))
    assert found.n_states == 3
    ours = cs.latent.label_agreement(found.memberships(table).argmax(axis=1), rows.column("H"))
    best = cs.latent.label_agreement(net.posteriors(table, "H").argmax(axis=1), rows.column("H"))
    assert ours > best - 0.02


def test_the_entropy_is_that_of_the_memberships():
    net, names = class_truth(2, 4, 5)
    table = net.sample(200, seed=5).select(names)
    found = cs.latent_classes(table, 2)
    p = found.memberships(table)
    assert found.entropy == pytest.approx(-(p * np.log(p)).sum(axis=1).mean())
    assert 0 < found.entropy < np.log(2)


def test_classes_are_numbered_from_the_most_frequent_one_on():
    net, names = class_truth(3, 8, 2)
    table = net.sample(500, seed=2).select(names)
    found = cs.latent_classes(table, 3, choice=cs.EM(restarts=2))
    shares = found.network["class"].table.tolist()
    assert shares == sorted(shares, reverse=True)


def test_shares_of_classes_differ_by_source_and_classes_do_not():
    net, names = class_truth(2, 8, 5)
    states = net.variables["class"].discrete_states
    parts = [
        net.sample(n, given={"class": state}, seed=k)
        for k, (state, n) in enumerate(zip((*states, *states), (300, 100, 60, 340), strict=True))
    ]
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in names}
    source = np.repeat([0, 0, 1, 1], [300, 100, 60, 340]).astype(np.int8)
    schema = Schema({name: net.variables[name] for name in names}, Variable("clinic", ("a", "b")))
    found = cs.latent_classes(Table(schema, columns, source), 2)
    local = found.network["class"]
    assert local.parents == ("clinic",)
    assert found.network["x0"].parents == ("class",)
    np.testing.assert_allclose(sorted(local.table.max(axis=1)), [0.75, 0.85], atol=0.04)
    assert sorted(local.table.argmax(axis=1)) == [0, 1]


def test_the_same_seed_gives_the_same_answer_and_progress_is_told():
    net, names = class_truth(2, 4, 5)
    table = net.sample(100, seed=5).select(names)
    heard = []
    one, other = (
        cs.latent_classes(table, [1, 2], seed=4, progress=lambda share, text: heard.append(text))
        for _ in range(2)
    )
    assert [each.value for each in one.tried] == [each.value for each in other.tried]
    assert heard[0] == "1 states"
    assert repr(one).startswith(f"HiddenStates('class' with {one.n_states} states; 1: ")
    assert repr(one.tried[0]).startswith("TriedStates(1 states: ")


def rare_source(n_rows=90):
    """Two clear classes; a single row of a second source."""
    net, names = class_truth(2, 6, 5)
    rows = net.sample(n_rows, seed=5).select(names)
    schema = Schema(dict(rows.variables), Variable("clinic", ("a", "b")))
    source = np.zeros(n_rows, np.int8)
    source[-1] = 1
    return rows, Table(schema, rows.columns, source)


def test_a_source_of_one_fold_only_does_not_decide():
    _, table = rare_source()
    found = cs.latent_classes(
        table, [1, 2, 3], criterion=cs.scores.CrossValidated(folds=3), choice=cs.EM(restarts=2)
    )
    assert np.isfinite([one.value for one in found.tried]).all()
    assert found.n_states == 2


def test_shares_of_the_sources_are_left_out_of_what_folds_are_judged_by():
    rows, table = rare_source()
    dag = cs.DAG([("H", name) for name in rows.variables])
    values = [
        cs.hidden_states(dag, one, "H", 1, criterion=cs.scores.CrossValidated(folds=3))
        .tried[0]
        .value
        for one in (rows, table)
    ]
    assert values[0] == pytest.approx(values[1])


def test_rows_of_weight_zero_do_not_make_the_log_likelihood_undefined():
    rows, table = rare_source()
    weights = np.ones(rows.n_rows)
    weights[-1] = 0
    weighted = Table(table.schema, table.columns, table.source_codes, weights)
    found = cs.latent_classes(weighted, 2, criterion=cs.gaps.VariationalBayes(restarts=1))
    assert np.isfinite(found.tried[0].log_likelihood)


def test_no_number_is_chosen_if_every_value_is_minus_infinity(monkeypatch):
    monkeypatch.setattr("consilience.latent.number_of_states._Task._left_out", lambda *_: -np.inf)
    rows, _ = rare_source(20)
    with pytest.raises(DataError, match=r"-inf for every number of states \(1, 2\).*larger ess"):
        cs.latent_classes(rows, [1, 2], criterion=cs.scores.CrossValidated(folds=2))


def interrupting(monkeypatch, at):
    """Learning of so many states, and no other, is interrupted."""
    whole = number_of_states.em

    def em(*arguments, hidden, **options):
        if hidden == {"class": at}:
            raise KeyboardInterrupt
        return whole(*arguments, hidden=hidden, **options)

    monkeypatch.setattr(number_of_states, "em", em)


def test_an_interrupt_keeps_the_numbers_that_are_finished(monkeypatch):
    rows, _ = rare_source()
    whole = cs.latent_classes(rows, [1, 2], seed=3)
    assert whole.stopped_by == "end"
    interrupting(monkeypatch, at=3)
    found = cs.latent_classes(rows, [1, 2, 3, 4], seed=3)
    assert found.stopped_by == "interrupt"
    assert [one.value for one in found.tried] == [one.value for one in whole.tried]
    assert repr(found).endswith(", stopped by interrupt)")


def test_an_interrupt_of_the_first_number_is_passed_on(monkeypatch):
    interrupting(monkeypatch, at=1)
    with pytest.raises(KeyboardInterrupt):
        cs.latent_classes(rare_source()[0], [1, 2])


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((BETWEEN, "w", 2), UnknownNameError, "'w'"),
        ((BETWEEN, "x", 2), InputError, "'x' is a column"),
        ((BETWEEN, "H", []), InputError, "no number to try"),
        ((BETWEEN, "H", [0]), InputError, "at least 1"),
        ((cs.DAG([("u", "x")], nodes=["H"]), "H", 2), GraphError, "no arcs"),
        (("[H]", "H", 2), InputError, "must be a DAG"),
        ((BETWEEN, "H", 2.0), InputError, r"numbers must be a whole number or several.*got 2\.0"),
        ((BETWEEN, "H", None), InputError, "numbers must be a whole number or several.*got None"),
        ((BETWEEN, "H", "2"), InputError, "numbers must be a whole number or several.*got '2'"),
        ((BETWEEN, "H", [1, 2.0]), InputError, r"whole number of at least 1, got 2\.0"),
        ((BETWEEN, "H", True), InputError, "whole number of at least 1, got True"),
    ],
    ids=[
        "unknown",
        "observed",
        "none",
        "zero",
        "alone",
        "text",
        "fraction",
        "nothing",
        "digits",
        "fractions",
        "truth",
    ],
)
def test_questions_that_have_no_answer_are_refused(arguments, kind, message):
    table = cs.read({name: ["a", "b"] for name in "uvxyz"})
    dag, node, numbers = arguments
    with pytest.raises(kind, match=message):
        cs.hidden_states(dag, table, node, numbers)


def test_other_refusals():
    table = cs.read({"x": ["a", "b"], "w": [0.5, 1.5]})
    with pytest.raises(InputError, match="'w' is continuous"):
        cs.latent_classes(table)
    with pytest.raises(InputError, match="no features"):
        cs.latent_classes(table, features=[])
    with pytest.raises(InputError, match="criterion must be"):
        cs.latent_classes(table, 2, features=["x"], criterion=cs.BDeu())
    with pytest.raises(InputError, match="2 rows cannot be split into 5"):
        cs.latent_classes(table, 2, features=["x"], criterion=cs.scores.CrossValidated(folds=5))


SMALL = cs.read({"x": ["a", "b"], "ill": ["a", "b"]})


@pytest.mark.parametrize(
    ("table", "message"),
    [("x", "file 'x' cannot be read as a table"), (None, "data of type NoneType cannot be read")],
    ids=["text", "none"],
)
def test_what_is_no_table_is_refused_with_what_is_accepted(table, message):
    with pytest.raises(InputError, match=message):
        cs.latent_classes(table, 2)
    with pytest.raises(InputError, match=message):
        cs.hidden_states(BETWEEN, table, "H", 2)


@pytest.mark.parametrize(
    ("n_classes", "message"),
    [
        (2.5, r"n_classes must be a whole number or several, such as .*got 2\.5"),
        (None, "n_classes must be a whole number or several, such as .*got None"),
        ("2", "n_classes must be a whole number or several, such as .*got '2'"),
        ([1, 0], "n_classes must be a whole number of at least 1, got 0"),
        ([], "there is no number to try"),
    ],
    ids=["fraction", "none", "text", "zero", "empty"],
)
def test_wrong_numbers_of_classes_are_told_in_the_words_of_the_caller(n_classes, message):
    with pytest.raises(InputError, match=f"^latent_classes: {message}") as caught:
        cs.latent_classes(SMALL, n_classes)
    assert caught.value.culprits == {"parameter": "n_classes"}


def test_numbers_of_states_can_be_numbers_of_numpy():
    asked = [cs.latent_classes(SMALL, n).tried for n in (np.int64(1), np.array([1, 2]))]
    assert [[one.n_states for one in tried] for tried in asked] == [[1], [1, 2]]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("ill", "'ill' is a column of the table; the hidden node needs a name that is no column"),
        ("F", "'F' is the source of the table; the hidden node needs a name"),
        (5, r"node must be a name \(text that is not empty\), got 5"),
        ("", "node must be a name"),
    ],
    ids=["column", "source", "number", "empty"],
)
def test_the_hidden_class_needs_a_name_of_its_own(node, message):
    rows = cs.read({"p": SMALL.to_frame(), "q": SMALL.to_frame()}, source="F")
    with pytest.raises(InputError, match=f"^latent_classes: {message}"):
        cs.latent_classes(rows, 2, features=["x"], node=node)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["x", "ill", "x"], "features repeats 'x'"),
        (5, "features must be a list of names, got 5"),
        ("x", "features must be a list of names, got 'x'"),
    ],
    ids=["repeated", "number", "text"],
)
def test_features_are_a_list_of_different_names(features, message):
    with pytest.raises(InputError, match=f"^latent_classes: {message}"):
        cs.latent_classes(SMALL, 2, features=features)


def test_a_feature_that_nobody_measured_is_not_called_continuous():
    rows = cs.read({"x": ["a", "b"], "cough": [None, None]})
    with pytest.raises(InputError, match="no row has a value of 'cough'") as caught:
        cs.latent_classes(rows, 2)
    assert "discretize" not in str(caught.value)
