from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, kstest

import consilience as cs
from consilience.data.variable import Schema
from consilience.errors import DataError, InputError
from consilience.incomplete.assessment import NETWORK

DAG = cs.DAG([("a", "b"), ("a", "c"), ("b", "d")])
NET = cs.random_network(DAG, n_states={"a": 2, "b": 3, "c": 2, "d": 2}, total=4, seed=4)


def cut(mechanism, seed, n_rows=400):
    return cs.simulate.with_gaps(NET.sample(n_rows, seed=seed), mechanism, seed=seed)


def test_g_is_the_likelihood_ratio_of_a_table_of_two_rows():
    known, lost = [30, 25, 20], [10, 20, 15]
    y = [s for s, n in zip("uvw", known, strict=True) for _ in range(n)]
    y += [s for s, n in zip("uvw", lost, strict=True) for _ in range(n)]
    x = ["s"] * sum(known) + [None] * sum(lost)
    [test] = cs.gaps.assess_gaps(cs.read({"x": x, "y": y})).tests
    table = np.array([known, lost])
    plain = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    n = table.sum()
    spread = (n * (1 / table.sum(axis=1)).sum() - 1) * (n * (1 / table.sum(axis=0)).sum() - 1)
    wanted = plain.statistic / (1 + spread / (6 * n * 2))
    assert test.statistic == pytest.approx(wanted)
    assert test.degrees_of_freedom == 2
    assert test.p_value == pytest.approx(chi2.sf(wanted, 2))


def test_rare_states_are_taken_together_and_too_few_rows_tell_nothing():
    y = ["u"] * 40 + ["v"] * 40 + ["w", "z"]
    x = (["s"] * 20 + [None] * 20) * 2 + ["s", None]
    [test] = cs.gaps.assess_gaps(cs.read({"x": x, "y": y})).tests
    assert test.degrees_of_freedom == 1
    [small] = cs.gaps.assess_gaps(cs.read({"x": ["s", None, "s"], "y": ["u", "v", "v"]})).tests
    assert (small.degrees_of_freedom, small.p_value, small.adjusted) == (0, 1.0, 1.0)


def test_sources_are_strata_and_a_suspect():
    frames = {
        "p": {"x": ["s"] * 45 + [None] * 5, "y": ["u"] * 25 + ["v"] * 25},
        "q": {"x": [None] * 50, "y": ["v"] * 50},
    }
    found = cs.gaps.assess_gaps(cs.read(frames, source="F"))
    by = {test.against: test for test in found.tests}
    assert by["F"].p_value < 1e-6
    assert by["y"].degrees_of_freedom == 0  # q has no row with x: it says nothing within sources


def test_p_values_are_corrected_by_holm():
    found = cs.gaps.assess_gaps(cut(cs.simulate.MAR(0.3, causes=["a"]), 1))
    told = [test for test in found.tests if test.degrees_of_freedom]
    plain = [test.p_value for test in told]
    assert plain == sorted(plain)
    largest = 0.0
    for rank, test in enumerate(told):
        largest = max(largest, min(1.0, test.p_value * (len(told) - rank)))
        assert test.adjusted == pytest.approx(largest)


@pytest.mark.parametrize("has_network", [False, True], ids=["columns", "network"])
def test_it_is_calibrated_when_gaps_fall_completely_at_random(has_network):
    p_values, n_rejected = [], 0
    for seed in range(60):
        table = cut(cs.simulate.MCAR(0.25), seed)
        found = cs.gaps.assess_gaps(table, NET if has_network else None)
        n_rejected += not found.is_mcar
        wanted = [t for t in found.tests if (t.against == NETWORK) == has_network]
        p_values.append(wanted[seed % len(wanted)].p_value)
    assert n_rejected <= 8  # 3 are expected; more than 8 with a chance of 1 in 300
    assert kstest(p_values, "uniform").pvalue > 0.01


def test_gaps_that_come_together_are_no_evidence_against_mcar():
    first = cs.simulate.missingness_network(NET, cs.simulate.MCAR(0.3, columns=["b"]))
    same = cs.Categorical(
        cs.Variable("M_d", ("observed", "missing")), (first.variables["M_b"],), np.eye(2)
    )
    both = cs.Network.of([*first.distributions.values(), same])
    n_rejected = sum(not cs.gaps.assess_gaps(cut(both, seed), NET).is_mcar for seed in range(60))
    assert n_rejected <= 8


def test_a_network_that_was_fitted_to_the_rows_keeps_the_calibration():
    p_values = []
    for seed in range(60):
        table = cut(cs.simulate.MCAR(0.25), seed)
        found = cs.gaps.assess_gaps(table, cs.fit(DAG, table, cs.Dirichlet()))
        p_values += [test.p_value for test in found.tests if test.against == NETWORK]
    assert np.mean(np.array(p_values) < 0.05) < 0.1


def test_gaps_at_random_are_found():
    found = [
        cs.gaps.assess_gaps(cut(cs.simulate.MAR(0.25, causes=["a"]), seed)) for seed in range(20)
    ]
    assert sum(not one.is_mcar for one in found) >= 18
    assert {test.against for one in found for test in one.rejected} >= {"a"}


def test_the_network_sees_gaps_that_shift_what_it_predicts():
    mechanism = cs.simulate.MAR(0.25, causes=["a"], columns=["b"])
    found = [cs.gaps.assess_gaps(cut(mechanism, seed), NET) for seed in range(20)]
    seen = [test for one in found for test in one.rejected if test.against == NETWORK]
    assert len(seen) >= 15


def test_continuous_columns_are_tested_by_quarters():
    rng = np.random.default_rng(1)
    age = rng.normal(50, 10, 400)
    x = np.where(age > 55, None, "s")
    [test] = cs.gaps.assess_gaps(cs.read({"age": age, "x": x.tolist()})).tests
    assert test.degrees_of_freedom == 3
    assert test.p_value < 1e-10


def test_weights_are_rows():
    rows = {"x": ["s", None, "s", None], "y": ["u", "u", "v", "v"]}
    weighted = cs.read({**rows, "n": [30, 10, 15, 25]}, weight="n")
    plain = cs.read({k: np.repeat(v, [30, 10, 15, 25]).tolist() for k, v in rows.items()})
    assert cs.gaps.assess_gaps(weighted).tests == cs.gaps.assess_gaps(plain).tests


def test_sources_whose_rows_weigh_nothing_say_nothing():
    table = cut(cs.simulate.MCAR(0.25), 1)
    schema = Schema(table.variables, cs.Variable("F", ("p", "q", "r")))
    source = (np.arange(table.n_rows) % 3).astype(np.int8)
    whole = cs.Table(schema, table.columns, source, np.where(source == 2, 0.0, 1.0))
    by = [
        {(t.variable, t.against): t for t in cs.gaps.assess_gaps(rows, NET).tests}
        for rows in (whole, whole.take(source < 2))
    ]
    assert by[0] == by[1]
    assert any(against == NETWORK and t.degrees_of_freedom for (_, against), t in by[0].items())


def test_the_text_says_what_can_and_what_cannot_be_known():
    clear = str(cs.gaps.assess_gaps(cut(cs.simulate.MAR(0.3, causes=["a"]), 1)))
    assert clear.startswith("Not missing completely at random")
    assert "depend on 'a'" in clear
    assert clear.endswith("(MNAR) cannot be tested.")
    whole = cs.gaps.assess_gaps(NET.sample(50, seed=1))
    assert (whole.tests, whole.incomplete, whole.is_mcar) == ((), (), True)
    assert str(whole) == "There are no gaps."
    frame = cs.gaps.assess_gaps(cut(cs.simulate.MCAR(0.3), 1)).to_frame()
    assert list(frame.columns)[:2] == ["variable", "against"]


def test_bad_input_to_an_assessment_is_refused():
    with pytest.raises(InputError, match="cannot be read"):
        cs.gaps.assess_gaps(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"net must be a Network .* got a str"):
        cs.gaps.assess_gaps(NET.sample(5, seed=1), "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [5, 2, "x", None, float("nan"), 0.0], ids=repr)
def test_a_level_is_a_number_between_zero_and_one(level):
    with pytest.raises(InputError, match="level must lie between 0 and 1, got") as caught:
        cs.gaps.assess_gaps(NET.sample(5, seed=1), level=level)
    assert caught.value.culprits == {"parameter": "level"}


def test_a_network_of_other_variables_is_refused():
    with pytest.raises(InputError, match=r"its nodes 'a', 'b', 'c'.* are none of 'z'"):
        cs.gaps.assess_gaps(cs.read({"z": ["u", None]}), NET)


def test_tables_without_rows_or_weight_are_not_assessed():
    rows = cs.read({"x": ["a", None], "n": [0, 0]}, weight="n")
    with pytest.raises(DataError, match="2 rows that all have the weight 0"):
        cs.gaps.assess_gaps(rows)
    with pytest.raises(DataError, match="without rows"):
        cs.gaps.assess_gaps(rows.take([]))


def test_a_column_without_any_value_is_named():
    empty = cs.read({"x": ["a", "b"], "cough": [None, None]})
    alone = cs.gaps.assess_gaps(empty)
    assert (alone.incomplete, alone.unmeasured) == ((), ("cough",))
    assert str(alone).startswith("No row has a value of 'cough'.\nThere are no other gaps")
    some = cs.gaps.assess_gaps(
        cs.read({"x": ["a", None] * 9, "y": ["u", "v"] * 9, "cough": [None] * 18})
    )
    assert (some.incomplete, some.unmeasured) == (("x",), ("cough",))
    assert "No row has a value of 'cough'." in str(some)


def test_values_and_gaps_of_rows_of_weight_zero_do_not_count():
    rows = cs.read({"x": ["a", None, None], "y": ["u", "v", None], "n": [0, 1, 0]}, weight="n")
    found = cs.gaps.assess_gaps(rows)
    assert (found.tests, found.incomplete, found.unmeasured) == ((), (), ("x",))
