"""Fitting graphs of discrete and continuous nodes: which estimator serves what, and the record."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import DataError, InputError, ModelError
from consilience.statistics.engines import Batches

DAG = cs.DAG.parse("[sex][age][dose|sex:age][ill|sex:dose]")
GAUSSIAN = [
    *[
        cs.MLE(),
        cs.MLE(unbiased=False),
        cs.estimators.NormalInverseGamma(),
        cs.estimators.HierarchicalGaussian(),
    ],
    *[
        cs.Pooled(cs.estimators.HierarchicalGaussian()),
        cs.Separate(cs.estimators.NormalInverseGamma()),
    ],
]
LOGISTIC = [
    *[cs.estimators.LogisticRegression(), cs.estimators.HierarchicalLogistic()],
    *[
        cs.Pooled(cs.estimators.HierarchicalLogistic()),
        cs.Separate(cs.estimators.LogisticRegression()),
    ],
]


def rows_of(n_rows=200, seed=0, n_sources=3):
    rng = np.random.default_rng(seed)
    source, sex = rng.integers(0, n_sources, n_rows), rng.integers(0, 2, n_rows)
    age = rng.normal(50, 10, n_rows)
    dose = 2 + sex + 0.1 * age + 0.5 * source + rng.normal(0, 1, n_rows)
    ill = dose + rng.logistic(0, 1, n_rows) > 8
    return {
        "source": np.array([f"f{i}" for i in range(n_sources)])[source],
        "sex": np.array(["F", "M"])[sex],
        "age": age,
        "dose": dose,
        "ill": np.array(["no", "yes"])[ill.astype(int)],
    }


def read(rows, **options):
    states = {"sex": ["F", "M"], "ill": ["no", "yes"]}
    return cs.read(rows, source="source", states=states, **options)


def consistent(choice):
    """A tables' estimator that does with the sources what a choice for other kinds does."""
    if getattr(choice, "adds_new_source", False):
        return cs.HDMCS()
    return cs.Separate(cs.Dirichlet()) if choice.by_source else cs.Dirichlet()


def test_every_kind_of_family_has_its_kind_of_distribution():
    net = cs.fit(DAG, read(rows_of()), cs.MLE())
    kinds = {name: type(local) for name, local in net.distributions.items()}
    assert kinds == {
        "source": Categorical,
        "sex": Categorical,
        "age": LinearGaussian,
        "dose": LinearGaussian,
        "ill": Logistic,
    }
    assert net.dag.nodes == ("source", "sex", "age", "dose", "ill")
    assert net["dose"].parents == ("sex", "age")


def test_several_sources_are_tied_by_default():
    net = cs.fit(DAG, read(rows_of()))
    assert net.variables["source"].states[-1] == "new_source"
    for name in ("sex", "age", "dose", "ill"):
        assert net[name].parents[0] == "source"
    assert net["dose"].intercept.shape == (4, 2)
    assert net.record.method == (
        "estimator=HDC(), gaussian=HierarchicalGaussian(spread=None), "
        "logistic=HierarchicalLogistic(ridge=0.1)"
    )


def test_one_source_has_plain_regressions_by_default():
    rows = {name: column for name, column in rows_of().items() if name != "source"}
    net = cs.fit(DAG, cs.read(rows))
    assert net.source is None
    assert net.record.method == (
        "estimator=HDC(), gaussian=TiedVariances(lent=2.0), logistic=LogisticRegression(ridge=0.1)"
    )
    plain = cs.fit(DAG, cs.read(rows), cs.MLE())
    np.testing.assert_array_equal(net["dose"].coefficients, plain["dose"].coefficients)


@pytest.mark.parametrize(
    ("estimator", "gaussian", "logistic"),
    [
        (cs.Dirichlet(), "TiedVariances(lent=2.0)", "LogisticRegression(ridge=0.1)"),
        (cs.HDMJS(), "HierarchicalGaussian(spread=None)", "HierarchicalLogistic(ridge=0.1)"),
        (
            cs.Separate(cs.Dirichlet()),
            "Separate(estimator=TiedVariances(lent=2.0))",
            "Separate(estimator=LogisticRegression(ridge=0.1))",
        ),
    ],
    ids=repr,
)
def test_what_is_not_said_follows_the_estimator_of_tables(estimator, gaussian, logistic):
    method = cs.fit(DAG, read(rows_of()), estimator).record.method
    assert method == f"estimator={estimator!r}, gaussian={gaussian}, logistic={logistic}"


def test_an_estimator_that_serves_all_families_is_named_alone():
    net = cs.fit(DAG.remove("dose", "ill"), read(rows_of()), cs.MLE(unbiased=False))
    assert net.record.method == "MLE(unbiased=False)"


def test_an_estimator_of_regressions_can_stand_first():
    table = read(rows_of())
    one = cs.fit(DAG, table, cs.estimators.NormalInverseGamma())
    assert one["dose"].posterior is not None
    assert isinstance(one["sex"], Categorical)


@pytest.mark.parametrize("choice", GAUSSIAN, ids=repr)
def test_continuous_children_can_be_fitted_with_every_choice(choice):
    table = read(rows_of())
    net = cs.fit(DAG, table, consistent(choice), gaussian=choice)
    assert ("source" in net["dose"].parents) == choice.by_source
    has_new = "new_source" in net.variables["source"].states
    assert has_new == getattr(choice, "adds_new_source", False)
    parts = [table.take(slice(0, 0)), table.take(slice(0, 50)), table.take(slice(50, 200))]
    batches = Batches(table.schema, parts)
    again = cs.fit(DAG, batches, consistent(choice), gaussian=choice)
    np.testing.assert_allclose(net["dose"].parameters, again["dose"].parameters, rtol=1e-6)


@pytest.mark.parametrize("choice", LOGISTIC, ids=repr)
def test_logistic_nodes_can_be_fitted_with_every_choice(choice):
    net = cs.fit(DAG, read(rows_of()), consistent(choice), logistic=choice)
    assert ("source" in net["ill"].parents) == choice.by_source
    assert net["ill"].posterior is not None
    assert net["ill"].coefficients[..., 1, :].min() > 0


def test_pooled_choices_are_the_choices_on_pooled_rows():
    table = read(rows_of())
    for choice in (cs.MLE(), cs.estimators.NormalInverseGamma()):
        one = cs.fit(DAG, table, cs.Dirichlet(), gaussian=cs.Pooled(choice))["dose"]
        two = cs.fit(DAG, table, cs.Dirichlet(), gaussian=choice)["dose"]
        np.testing.assert_array_equal(one.parameters, two.parameters)
    one = cs.fit(
        DAG, table, cs.Dirichlet(), logistic=cs.Pooled(cs.estimators.HierarchicalLogistic())
    )["ill"]
    two = cs.fit(DAG, table, cs.Dirichlet())["ill"]
    np.testing.assert_array_equal(one.parameters, two.parameters)


def test_only_children_of_a_named_source_depend_on_it():
    dag = cs.DAG([*DAG.arcs, ("source", "dose")], nodes=["source", "sex", "age", "dose", "ill"])
    net = cs.fit(dag, read(rows_of()))
    assert net["dose"].parents == ("source", "sex", "age")
    assert [net[name].parents for name in ("age", "ill")] == [(), ("sex", "dose")]
    assert net.dag.children("source") == ("dose",)
    plain = cs.fit(dag, read(rows_of()), cs.MLE())
    assert plain["dose"].parents == ("sex", "source", "age")
    assert "new_source" not in plain.variables["source"].states


def test_estimators_that_disagree_about_new_sources_are_refused():
    with pytest.raises(InputError, match=r"HDC.* gives 'sex' .*never seen, but Separate"):
        cs.fit(DAG, read(rows_of()), gaussian=cs.Separate(cs.MLE()))
    pooled = cs.fit(DAG, read(rows_of()), gaussian=cs.MLE())
    assert pooled["dose"].parents == ("sex", "age")
    assert "new_source" in pooled.variables["source"].states


@pytest.mark.parametrize(
    ("keyword", "wrong"),
    [
        ("gaussian", cs.Dirichlet()),
        ("gaussian", cs.MLE),
        ("gaussian", cs.Separate(cs.HDMCS())),
        ("logistic", cs.MLE()),
        ("logistic", "ridge"),
    ],
    ids=repr,
)
def test_a_choice_of_another_kind_is_refused(keyword, wrong):
    with pytest.raises(InputError, match=f"{keyword} must be a choice such as") as error:
        cs.fit(DAG, read(rows_of()), **{keyword: wrong})
    assert error.value.culprits == {"parameter": keyword}


def test_an_estimator_without_a_family_to_serve_is_refused():
    with pytest.raises(InputError, match=r"NormalInverseGamma\(.* serves no family"):
        cs.fit(cs.DAG(nodes=["sex"]), read(rows_of()), cs.estimators.NormalInverseGamma())


def test_the_record_tells_rows_and_gaps_of_all_kinds():
    rows = rows_of()
    rows["dose"][:5] = np.nan
    rows["age"][3:10] = np.nan
    with pytest.raises(DataError, match=r"'ill' is a discrete node with continuous parents"):
        cs.fit(DAG, read(rows))
    net = cs.fit(DAG, read(rows), gaps=cs.AvailableCases())
    assert net.record.n_rows == {"sex": 200, "age": 193, "dose": 190, "ill": 195}
    assert net.record.n_incomplete == {"sex": 0, "age": 7, "dose": 10, "ill": 5}
    assert "missing completely at random" in net.record.notes[0]
    assert set(net.record.pooling) == {"sex", "age", "dose"}


def test_pairs_of_a_source_and_a_joint_state_without_enough_rows_are_counted():
    rows = rows_of()
    rows["sex"] = np.where(rows["source"] == "f1", "F", rows["sex"])
    record = cs.fit(DAG, read(rows)).record
    assert record.unidentified == {"sex": 0, "age": 0, "dose": 1, "ill": 1}


def test_a_table_without_rows_cannot_be_fitted():
    with pytest.raises(DataError, match="without rows"):
        cs.fit(cs.DAG(nodes=["age"]), read(rows_of()).take(slice(0, 0)))


def test_intervals_and_draws_work_for_all_kinds():
    net = cs.fit(DAG, read(rows_of()))
    for name in ("sex", "age", "dose", "ill"):
        low, high = cs.estimators.parameter_intervals(net, name, level=0.9)
        assert low.shape == net[name].parameters.shape
        assert (low <= high).all()
    drawn = list(cs.draws(net, 3, seed=1))
    assert drawn[0]["dose"].parameters.shape == net["dose"].parameters.shape
    assert drawn[0]["ill"].intercept[0, 0, 1] != drawn[1]["ill"].intercept[0, 0, 1]


@pytest.mark.data
def test_heart_disease_of_four_hospitals_is_fitted_with_its_gaps(data_dir):
    frames = {
        name: data_dir / "heart" / f"{name}.csv"
        for name in ("cleveland", "hungarian", "switzerland", "va")
    }
    continuous = ["age", "trestbps", "thalach", "oldpeak"]
    table = cs.read(frames, source="hospital", continuous=continuous, discrete=["sex", "num"])
    dag = cs.DAG.parse("[sex][age][trestbps|age][num|sex:age][thalach|age:num][oldpeak|num]")
    net = cs.fit(dag, table, gaps=cs.AvailableCases())
    assert net.record.n_incomplete["oldpeak"] == 62
    assert net["thalach"].coefficients.max() < 0
    assert all(np.isfinite(local.parameters).all() for local in net.distributions.values())


@pytest.mark.parametrize(
    ("estimator", "parents"),
    [
        (cs.estimators.NormalInverseGamma(), ()),
        (cs.estimators.LogisticRegression(), ()),
        (cs.Separate(cs.estimators.NormalInverseGamma()), ("source",)),
        (cs.estimators.HierarchicalGaussian(), ("source",)),
    ],
    ids=repr,
)
def test_tables_do_with_the_sources_what_an_estimator_of_other_families_does(estimator, parents):
    net = cs.fit(DAG, read(rows_of()), estimator)
    assert net["sex"].parents == parents
    has_new = "new_source" in net.variables["source"].states
    assert has_new == getattr(estimator, "adds_new_source", False)


def test_fractional_weights_are_not_taken_for_gaps():
    weights = np.random.default_rng(1).uniform(0.01, 0.3, 200)
    net = cs.fit(DAG, read({**rows_of(), "w": weights}, weight="w"))
    assert set(net.record.n_incomplete.values()) == {0.0}
    assert not any("gap" in note for note in net.record.notes)


def test_a_class_in_place_of_a_choice_is_told_choices_of_its_kind():
    with pytest.raises(InputError, match=r"gaussian must be .*estimators\.TiedVariances\(\)"):
        cs.fit(DAG, read(rows_of()), gaussian=cs.estimators.NormalInverseGamma)


def test_a_missing_posterior_of_a_continuous_child_is_told_what_has_one():
    net = cs.fit(DAG, read(rows_of()), cs.MLE(unbiased=False))
    with pytest.raises(ModelError, match="such as NormalInverseGamma"):
        cs.estimators.parameter_intervals(net, "dose")


def test_logistic_regressions_of_separate_sources_have_nothing_to_tie():
    table, plain = read(rows_of()), cs.Separate(cs.estimators.LogisticRegression(0.3))
    one = cs.fit(DAG, table, plain)
    two = cs.fit(DAG, table, cs.Separate(cs.estimators.HierarchicalLogistic(0.3)))
    np.testing.assert_array_equal(one["ill"].parameters, two["ill"].parameters)


def test_a_continuous_column_without_a_value_is_named():
    rows = cs.read({"x": [1.5, 2.5, 3.5], "y": [None, None, None]}, continuous=["y"])
    with pytest.raises(DataError, match="no row has a value of 'y'"):
        cs.fit(cs.DAG([("x", "y")]), rows)
