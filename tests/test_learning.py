from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError, GraphError, InputError, UnknownNameError
from consilience.statistics.engines import Batches


def two_hospitals() -> cs.Table:
    north = {"smoke": ["yes", "no", "no"], "cough": ["yes", "no", None]}
    south = {"smoke": ["yes"], "cough": ["no"]}
    return cs.read({"north": north, "south": south}, source="hospital")


def test_several_sources_make_the_source_a_root_that_stands_alone():
    net = cs.fit(cs.DAG([("smoke", "cough")]), two_hospitals(), cs.MLE())
    assert net.source == "hospital"
    assert net.dag.nodes == ("hospital", "smoke", "cough")
    assert net.dag.arcs == (("smoke", "cough"),)
    np.testing.assert_allclose(net["hospital"].table, [0.75, 0.25])
    assert net.dag.without(net.source) == cs.DAG([("smoke", "cough")])


def test_the_children_that_a_graph_gives_the_source_depend_on_it():
    net = cs.fit(cs.DAG([("hospital", "smoke"), ("smoke", "cough")]), two_hospitals(), cs.MLE())
    assert net["smoke"].parents == ("hospital",)
    np.testing.assert_allclose(net["smoke"].table, [[1 / 3, 2 / 3], [1, 0]])
    assert net["cough"].parents == ("smoke",)


@pytest.mark.parametrize(
    "estimator", [cs.HDMCS(), cs.Separate(cs.MLE()), cs.estimators.Adaptive(), cs.HDC()], ids=repr
)
def test_nothing_depends_on_a_source_that_a_graph_names_without_children(estimator):
    dag = cs.DAG([("smoke", "cough")], nodes=["hospital", "smoke", "cough"])
    net = cs.fit(dag, two_hospitals(), estimator)
    assert net.source == "hospital"
    assert net.dag.arcs == (("smoke", "cough"),)
    assert not net.record.pooling
    pooled = cs.fit(dag, two_hospitals(), cs.Pooled(estimator))
    np.testing.assert_array_equal(net["cough"].table, pooled["cough"].table)


def test_arcs_into_the_source_are_refused():
    with pytest.raises(GraphError, match="'smoke' -> 'hospital'"):
        cs.fit(cs.DAG([("smoke", "hospital")]), two_hospitals())


def test_one_source_makes_no_node():
    table = cs.read({"north": {"x": ["a", "b"]}}, source="hospital")
    assert cs.fit(cs.DAG(nodes=["x"]), table).source is None


def test_rows_with_gaps_are_counted_in_the_record():
    net = cs.fit(cs.DAG([("smoke", "cough")]), two_hospitals(), gaps=cs.AvailableCases())
    assert net.record.n_rows == {"smoke": 4, "cough": 3}
    assert net.record.n_incomplete == {"smoke": 0, "cough": 1}
    assert "missing completely at random" in net.record.notes[0]


def test_parent_states_that_no_row_shows_are_counted_in_each_source_that_is_kept_apart():
    # Source n shows both states of smoke, s one of them, and w has no rows at all.
    columns = {"smoke": ["yes", "no", "no", "no"], "cough": ["yes", "no", "yes", "no"]}
    table = cs.read({**columns, "f": ["n", "n", "s", "w"]}, source="f").take(slice(0, 3))
    dag = cs.DAG([("smoke", "cough")])
    apart = {"smoke": 1, "cough": 3}
    for estimator in (cs.HDMCS(), cs.Separate(cs.MLE())):
        assert cs.fit(dag, table, estimator).record.unidentified == apart
    assert cs.fit(dag, table, cs.MLE()).record.unidentified == {"smoke": 0, "cough": 0}
    named = cs.DAG([("smoke", "cough"), ("f", "smoke")])
    assert cs.fit(named, table, cs.HDMCS()).record.unidentified == {"smoke": 1, "cough": 0}


def test_the_default_estimator_is_named_in_the_record():
    several = cs.fit(cs.DAG(nodes=["smoke"]), two_hospitals())
    assert several.record.method == "HDC()"
    one = cs.fit(cs.DAG(nodes=["smoke"]), cs.read({"smoke": ["yes", "no"]}))
    assert one.record.method == "HDC()"


def test_a_fit_from_batches_equals_the_fit_of_the_whole():
    table = two_hospitals()
    batches = Batches(table.schema, [table.take(slice(0, 1)), table.take(slice(1, 4))])
    dag = cs.DAG([("smoke", "cough")])
    one, two = (cs.fit(dag, rows, gaps=cs.AvailableCases()) for rows in (batches, table))
    np.testing.assert_array_equal(one["cough"].table, two["cough"].table)


def test_gaps_of_rows_that_are_not_in_memory_are_filled_too():
    table, dag = two_hospitals(), cs.DAG([("smoke", "cough")])
    batches = Batches(table.schema, [table.take(slice(0, 1)), table.take(slice(1, 4))])
    one, two = (cs.fit(dag, rows) for rows in (batches, table))
    np.testing.assert_array_equal(one["cough"].table, two["cough"].table)


def test_a_node_that_is_no_variable_is_named():
    with pytest.raises(UnknownNameError, match=r"unknown variable 'smoek'\. Did you mean 'smoke'"):
        cs.fit(cs.DAG(nodes=["smoek"]), two_hospitals())


@pytest.mark.parametrize("wrong", [cs.MLE, cs.HDMCS, "mle", None], ids=repr)
@pytest.mark.parametrize("wrapper", [cs.Pooled, cs.Separate])
def test_what_is_no_estimator_cannot_be_wrapped(wrapper, wrong):
    with pytest.raises(InputError, match="estimator must be a choice such as") as error:
        wrapper(wrong)
    assert error.value.culprits == {"parameter": "estimator"}
    if wrong is not None:
        with pytest.raises(InputError, match="estimator must be a choice such as"):
            cs.fit(cs.DAG(nodes=["smoke"]), two_hospitals(), wrong)


def test_a_table_without_rows_cannot_be_fitted():
    with pytest.raises(DataError, match="without rows"):
        cs.fit(cs.DAG(nodes=["smoke"]), two_hospitals().take(slice(0, 0)))


def test_a_continuous_variable_has_a_mean_and_a_sd():
    net = cs.fit(cs.DAG(nodes=["age"]), cs.read({"age": [1.5, 2.5]}))
    assert net["age"].intercept == 2.0
    assert net["age"].sd == pytest.approx(0.5**0.5)


def test_naive_bayes_points_from_the_target_to_all_others():
    dag = cs.naive_bayes(two_hospitals(), target="cough")
    assert dag.arcs == (("cough", "smoke"),)
    with pytest.raises(UnknownNameError, match="unknown variable 'hospital'"):
        cs.naive_bayes(two_hospitals(), target="hospital")
