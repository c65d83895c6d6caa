from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

DAG = cs.DAG([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
NET = cs.random_network(DAG, n_states={"a": 2, "b": 3, "c": 2, "d": 2}, seed=5)


def rows(n_rows=80, share=0.4, seed=1):
    whole = NET.sample(n_rows, seed=seed)
    return whole, cs.simulate.with_gaps(whole, cs.simulate.MCAR(share), seed=seed)


def states(table, i):
    """What row i of a table records."""
    return {
        name: table.variables[name].discrete_states[column[i]]
        for name, column in table.columns.items()
        if column[i] >= 0
    }


def test_each_row_gets_its_most_probable_joint_completion():
    _, cut = rows(40)
    filled = cs.impute(NET, cut).table
    for i in range(cut.n_rows):
        known = states(cut, i)
        open_ = [name for name in DAG.nodes if name not in known]
        every = product(*(NET.variables[name].discrete_states for name in open_))
        best = max(
            cs.log_probability(NET, {**known, **dict(zip(open_, chosen, strict=True))})
            for chosen in every
        )
        assert cs.log_probability(NET, states(filled, i)) == pytest.approx(best, abs=1e-9)


def test_recorded_values_are_never_touched_and_nothing_is_left_missing():
    _, cut = rows()
    found = cs.impute(NET, cut, draws=3, seed=1)
    assert len(found.tables) == 3
    for table in (*found.tables, cs.impute(NET, cut).table):
        for name, column in cut.columns.items():
            known = column >= 0
            assert np.array_equal(table.columns[name][known], column[known])
            assert (table.columns[name] >= 0).all()


def test_it_says_how_many_values_were_filled():
    _, cut = rows()
    found = cs.impute(NET, cut)
    assert dict(found.n_filled) == {n: int((c < 0).sum()) for n, c in cut.columns.items()}
    assert dict(found.n_left) == {}
    total = sum(found.n_filled.values())
    assert repr(found) == f"Imputation(1 table, {total} values filled in each)"


def test_draws_follow_the_posterior_of_the_row():
    cut = cs.read({"a": [None], "b": ["1"], "c": [None], "d": ["0"]}, schema=NET.variables)
    many = cs.impute(NET, cut.take(np.zeros(20_000, int)), draws=1, seed=1).table
    found = np.zeros((2, 2))
    np.add.at(found, (many.columns["a"], many.columns["c"]), 1 / 20_000)
    exact = NET.query(["a", "c"], given={"b": "1", "d": "0"}).values
    assert found == pytest.approx(exact, abs=0.015)


def test_seeds_decide_the_draws():
    _, cut = rows()
    first, again, other = (cs.impute(NET, cut, draws=1, seed=s).table for s in (1, 1, 2))
    assert all(np.array_equal(first.columns[n], again.columns[n]) for n in cut.columns)
    assert not all(np.array_equal(first.columns[n], other.columns[n]) for n in cut.columns)


def test_columns_that_are_no_nodes_stay_and_nodes_without_a_column_are_added():
    table = cs.read({"a": ["0", None], "note": ["x", None]}, states={"a": ["0", "1"]})
    found = cs.impute(NET, table)
    assert list(found.table.variables) == ["a", "note", "b", "c", "d"]
    assert dict(found.n_left) == {"note": 1}
    assert dict(found.n_filled) == {"a": 1, "b": 2, "c": 2, "d": 2}
    assert found.table.columns["note"].tolist() == [0, -1]


def test_a_column_with_fewer_states_gets_those_of_the_network():
    table = cs.read({"a": ["1"], "b": ["2"], "c": ["1"], "d": [None]}, states={"d": ["0", "1"]})
    filled = cs.impute(NET, table).table
    assert filled.variables["b"] == NET.variables["b"]
    assert states(filled, 0)["b"] == "2"


def test_sources_and_weights_stay():
    frame = rows(20)[1].to_frame()
    frame["n"] = 2
    table = cs.read({"p": frame, "q": frame}, weight="n", schema=NET.variables)
    net = cs.fit(DAG, table, cs.Separate(cs.Dirichlet(per_cell=1)))
    filled = cs.impute(net, table).table
    assert filled.sources == ("p", "q")
    assert filled.total_weight == 80


def test_continuous_gaps_are_filled_by_means_or_draws():
    x, y = cs.Variable("x"), cs.Variable("y")
    line = [cs.LinearGaussian(x, (), 0.0, [], 1.0), cs.LinearGaussian(y, (x,), 1.0, [2.0], 0.5)]
    net = cs.Network.of(line)
    table = cs.read({"x": [1.5, 3.25], "y": [4.5, None]}, continuous=["x", "y"])
    assert cs.impute(net, table).table.columns["y"].tolist() == pytest.approx([4.5, 7.5])
    many = cs.impute(net, table.take(np.ones(5000, int)), draws=1, seed=1).table.columns["y"]
    assert (many.mean(), many.std()) == pytest.approx((7.5, 0.5), abs=0.03)


def test_completions_of_an_augmentation_come_from_parameters_of_their_own():
    _, cut = rows(30)
    story = cs.gaps.augment(DAG, cut, cs.Dirichlet(per_cell=1), draws=50, seed=1)
    proper, single = cs.impute(story, cut, draws=4, seed=1), cs.impute(NET, cut, draws=4, seed=1)
    assert "drawn from their posterior" in proper.notes[0]
    assert "too narrow" in single.notes[0]
    assert len(proper.tables) == 4
    assert cs.impute(story, cut).table.n_rows == 30


def test_what_cannot_be_imputed_is_refused():
    _, cut = rows(5)
    with pytest.raises(InputError, match="must be a Network"):
        cs.impute(DAG, cut)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cannot be read"):
        cs.impute(NET, 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="draws must be a whole number of at least 1"):
        cs.impute(NET, cut, draws=0)
    with pytest.raises(InputError, match="no column of the table"):
        cs.impute(NET, cs.read({"other": ["x"]}))


def test_an_impossible_row_is_named():
    sure = cs.Categorical(cs.Variable("a", ("0", "1")), (), [1.0, 0.0])
    net = cs.Network.of([sure, cs.Categorical(cs.Variable("e", ("0", "1")), (), [0.5, 0.5])])
    table = cs.read({"a": ["0", "1"], "e": ["0", None]}, schema=net.variables)
    for draws in (None, 1):
        with pytest.raises(InputError, match="row 2 has probability zero"):
            cs.impute(net, table, draws=draws, seed=1)


def test_pooled_intervals_of_proper_imputations_hold_the_truth_as_often_as_they_say():
    truth, hits = NET["a"].table[0], 0
    for seed in range(12):
        _, cut = rows(150, 0.3, seed=seed)
        story = cs.gaps.augment(DAG, cut, cs.Dirichlet(per_cell=1), chains=1, draws=200, seed=seed)
        tables = cs.impute(story, cut, draws=10, seed=seed).tables
        fitted = [cs.fit(DAG, table, cs.Dirichlet(per_cell=1)) for table in tables]
        pooled = cs.fusion.pool_queries(
            fitted, lambda net: net["a"].table[0], n_draws=20, seed=seed
        )
        hits += bool(pooled.low <= truth <= pooled.high)
    assert hits >= 9  # 11.4 are expected; fewer than 9 with a chance of 1 in 400
