from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import DataError, InputError, ModelError, UnknownNameError

DAG = cs.DAG([("a", "b"), ("b", "c")])
NET = cs.random_network(DAG, n_states={"a": 2, "b": 3, "c": 2}, seed=3)
ROWS = NET.sample(20_000, seed=1)
MECHANISMS = {
    "MCAR": cs.simulate.MCAR(0.3, columns=["b", "c"]),
    "MAR": cs.simulate.MAR(0.3, causes=["a"]),
    "MNAR": cs.simulate.MNAR(0.3, columns=["b", "c"]),
}


def gaps(table, name):
    return table.columns[name] < 0


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_the_share_of_gaps_is_the_one_asked_for(mechanism):
    cut = cs.simulate.with_gaps(ROWS, mechanism, seed=1)
    missing = cut.missing["all"]
    assert missing["a"] == 0
    assert [missing["b"], missing["c"]] == pytest.approx([0.3, 0.3], abs=0.015)


@given(st.floats(0.01, 0.99), st.floats(0, 20), st.integers(0, 5))
def test_the_network_expects_the_share_whatever_the_strength(share, strength, seed):
    net = cs.random_network(DAG, n_states=3, seed=seed)
    for mechanism in (
        cs.simulate.MAR(share, causes=["a", "b"], strength=strength),
        cs.simulate.MNAR(share, strength=strength),
    ):
        whole = cs.simulate.missingness_network(net, mechanism)
        assert whole.probability({"M_c": "missing"}) == pytest.approx(share, abs=1e-9)


def test_parents_of_indicators_are_the_mechanism():
    parents = {
        name: cs.simulate.missingness_network(NET, mechanism).dag.parents("M_c")
        for name, mechanism in MECHANISMS.items()
    }
    assert parents == {"MCAR": (), "MAR": ("a",), "MNAR": ("c",)}


def test_separation_in_the_network_is_what_the_names_say():
    separated = {
        name: cs.simulate.missingness_network(NET, mechanism).dag.is_separated(
            "M_c", "c", given=["a"]
        )
        for name, mechanism in MECHANISMS.items()
    }
    assert separated == {"MCAR": True, "MAR": True, "MNAR": False}


def test_gaps_follow_the_tables_of_their_indicators():
    cut = cs.simulate.with_gaps(ROWS, MECHANISMS["MAR"], seed=1)
    whole = cs.simulate.missingness_network(NET, MECHANISMS["MAR"])
    found = [gaps(cut, "c")[ROWS.columns["a"] == k].mean() for k in (0, 1)]
    assert found == pytest.approx(whole["M_c"].table[:, 1], abs=0.02)
    assert found[1] > found[0] + 0.2


def test_a_network_makes_the_gaps_that_its_mechanism_makes():
    whole = cs.simulate.missingness_network(NET, MECHANISMS["MNAR"])
    cut = cs.simulate.with_gaps(ROWS, whole, seed=1)
    found = [gaps(cut, "b")[ROWS.columns["b"] == k].mean() for k in range(3)]
    assert found == pytest.approx(whole["M_b"].table[:, 1], abs=0.02)


def test_indicators_may_depend_on_each_other():
    whole = cs.simulate.missingness_network(NET, cs.simulate.MCAR(0.5, columns=["b"]))
    second = cs.Variable("M_c", ("observed", "missing"))
    same = cs.Categorical(second, (whole.variables["M_b"],), np.eye(2))
    cut = cs.simulate.with_gaps(ROWS, cs.Network.of([*whole.distributions.values(), same]), seed=1)
    assert np.array_equal(gaps(cut, "b"), gaps(cut, "c"))
    assert 0.45 < gaps(cut, "b").mean() < 0.55


def test_shares_by_source_and_columns_never_measured():
    frame = ROWS.to_frame()
    table = cs.read({"p": frame[:10_000], "q": frame[10_000:]}, source="F")
    shares = {"q": {"c": 1.0, "b": 0.05}}
    for mechanism in (
        cs.simulate.MCAR(0.3, by_source=shares),
        cs.simulate.MAR(0.3, causes=["a"], by_source=shares),
        cs.simulate.MNAR(0.3, by_source=shares),
    ):
        missing = cs.simulate.with_gaps(table, mechanism, seed=1).missing
        assert missing["q"]["c"] == 1.0
        assert missing["q"]["b"] == pytest.approx(0.05, abs=0.01)
        assert missing["p"]["c"] == pytest.approx(0.3, abs=0.02)
    net = cs.fit(DAG, table, cs.Separate(cs.Dirichlet()))
    whole = cs.simulate.missingness_network(
        net, cs.simulate.MAR(0.3, causes=["a"], by_source=shares)
    )
    assert whole.dag.parents("M_c") == ("F", "a")
    assert whole.source == "F"
    assert whole.probability({"M_b": "missing"}, given={"F": "q"}) == pytest.approx(0.05)
    assert cs.simulate.with_gaps(table, whole, seed=1).missing["q"]["c"] == 1.0


def test_nothing_but_gaps_is_changed_and_old_gaps_stay():
    once = cs.simulate.with_gaps(ROWS, cs.simulate.MCAR(0.2), seed=1)
    twice = cs.simulate.with_gaps(once, cs.simulate.MCAR(0.2), seed=2)
    for name, column in ROWS.columns.items():
        known = twice.columns[name] >= 0
        assert np.array_equal(twice.columns[name][known], column[known])
        assert gaps(twice, name)[gaps(once, name)].all()
        assert gaps(twice, name).mean() == pytest.approx(0.36, abs=0.02)


def test_seeds_decide_the_gaps():
    first, again, other = (
        cs.simulate.with_gaps(ROWS, cs.simulate.MCAR(0.2), seed=s) for s in (1, 1, 2)
    )
    assert np.array_equal(gaps(first, "a"), gaps(again, "a"))
    assert not np.array_equal(gaps(first, "a"), gaps(other, "a"))


def continuous_rows():
    x, y = cs.Variable("x"), cs.Variable("y")
    net = cs.Network.of(
        [cs.LinearGaussian(x, (), 50.0, [], 4.0), cs.LinearGaussian(y, (x,), 0.0, [1.0], 1.0)]
    )
    return net, net.sample(20_000, seed=1)


@pytest.mark.parametrize(
    "mechanism",
    [
        cs.simulate.MCAR(0.25, columns=["y"]),
        cs.simulate.MAR(0.25, causes=["x"]),
        cs.simulate.MNAR(0.25, columns=["y"]),
    ],
    ids=["MCAR", "MAR", "MNAR"],
)
def test_continuous_columns_get_gaps_too(mechanism):
    net, table = continuous_rows()
    cut = cs.simulate.with_gaps(table, mechanism, seed=1)
    lost = np.isnan(cut.columns["y"])
    assert lost.mean() == pytest.approx(0.25, abs=0.015)
    shift = table.columns["y"][lost].mean() - table.columns["y"].mean()
    assert (shift > 1) == (not isinstance(mechanism, cs.simulate.MCAR))
    again = cs.simulate.with_gaps(table, cs.simulate.missingness_network(net, mechanism), seed=1)
    assert np.isnan(again.columns["y"]).mean() == pytest.approx(0.25, abs=0.015)


def test_mechanisms_with_bad_parameters_are_refused():
    with pytest.raises(InputError, match=r"share must lie between 0 and 1, got 1\.5"):
        cs.simulate.MCAR(1.5)
    with pytest.raises(InputError, match="causes must name the columns"):
        cs.simulate.MAR(0.1)
    with pytest.raises(InputError, match="columns must be a list of names"):
        cs.simulate.MNAR(0.1, columns="b")
    with pytest.raises(InputError, match="strength must be zero or more"):
        cs.simulate.MNAR(0.1, strength=-1)
    with pytest.raises(InputError, match="by_source must map sources"):
        cs.simulate.MCAR(0.1, by_source={"p": 0.5})  # type: ignore[dict-item]


def test_bad_requests_name_the_culprit():
    with pytest.raises(UnknownNameError, match="'z'"):
        cs.simulate.with_gaps(ROWS, cs.simulate.MCAR(0.1, columns=["z"]))
    with pytest.raises(UnknownNameError, match="'p'"):
        cs.simulate.with_gaps(ROWS, cs.simulate.MCAR(0.1, by_source={"p": {"a": 0.5}}))
    with pytest.raises(InputError, match="'a' is a cause"):
        cs.simulate.with_gaps(ROWS, cs.simulate.MAR(0.1, causes=["a"], columns=["a", "b"]))
    with pytest.raises(InputError, match="mechanism must be"):
        cs.simulate.with_gaps(ROWS, "MCAR")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="data of type int cannot be read"):
        cs.simulate.with_gaps(3, cs.simulate.MCAR(0.1))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no node M_x"):
        cs.simulate.with_gaps(ROWS, NET)
    cut = cs.simulate.with_gaps(ROWS, cs.simulate.MCAR(0.5, columns=["a"]), seed=1)
    with pytest.raises(DataError, match="column 'a', row"):
        cs.simulate.with_gaps(cut, cs.simulate.MAR(0.1, causes=["a"]))
    whole = cs.simulate.missingness_network(NET, cs.simulate.MCAR(0.1))
    with pytest.raises(ModelError, match="'M_a' already"):
        cs.simulate.missingness_network(whole, cs.simulate.MCAR(0.1, columns=["a"]))
    other = cs.read({"a": ["no", "yes"], "c": ["0", "1"]})
    with pytest.raises(DataError, match="column 'a' has other states"):
        cs.simulate.with_gaps(other, cs.simulate.missingness_network(NET, MECHANISMS["MAR"]))
