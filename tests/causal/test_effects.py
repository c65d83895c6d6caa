from __future__ import annotations

import numpy as np
import pytest
from causal_catalogue import graph, network

import consilience as cs
from consilience.errors import InputError, ModelError


def sprinkler():
    """C -> S, C -> R, S -> W <- R."""
    c, s, r, w = (cs.Variable(name, ("no", "yes")) for name in "CSRW")
    return cs.Network.of(
        [
            cs.Categorical(c, (), [0.5, 0.5]),
            cs.Categorical(s, (c,), [[0.5, 0.5], [0.9, 0.1]]),
            cs.Categorical(r, (c,), [[0.8, 0.2], [0.2, 0.8]]),
            cs.Categorical(w, (s, r), [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]),
        ]
    )


def test_conditions_come_after_the_intervention():
    found = cs.causal.effect(sprinkler(), "W", do={"S": "yes"}, given={"R": "yes"}, state="yes")
    assert found.value == pytest.approx(0.99)


def test_targets_are_ordered_by_their_effect():
    found = cs.causal.intervention_targets(sprinkler(), "W", state="yes")
    assert list(found) == ["R", "S", "C"]
    net = sprinkler()
    for name, one in found.items():
        levels = [net.do({name: s}).query("W")["yes"] for s in ("no", "yes")]
        assert one.value == pytest.approx(max(levels) - min(levels))


def test_a_fitted_network_has_intervals_by_source_and_for_a_new_one():
    rng = np.random.default_rng(1)
    clinic = rng.integers(0, 3, 900)
    x = rng.random(900) < 0.5
    y = rng.random(900) < 0.2 + 0.4 * x + 0.1 * clinic
    columns = {
        "clinic": np.array(["a", "b", "c"])[clinic],
        "x": np.where(x, "yes", "no"),
        "y": np.where(y, "yes", "no"),
    }
    table = cs.read(columns, source="clinic")
    found = cs.causal.effect(
        cs.DAG([("x", "y")]),
        "y",
        do={"x": "yes"},
        against={"x": "no"},
        state="yes",
        table=table,
        draws=400,
    )
    assert set(found.by_source) == {"a", "b", "c", "new_source"}
    low, high = found.interval
    assert low < 0.4 < high
    assert low < found.value < high
    widths = {name: one.interval[1] - one.interval[0] for name, one in found.by_source.items()}
    assert widths["new_source"] > max(widths[name] for name in "abc")
    asked = {"do": {"x": "yes"}, "against": {"x": "no"}, "state": "yes", "draws": 400}
    inside = cs.causal.effect(
        cs.DAG([("x", "y")]), "y", given={"clinic": "b"}, table=table, **asked
    )
    assert inside.value == pytest.approx(found.by_source["b"].value)
    assert inside.interval == pytest.approx(found.by_source["b"].interval, abs=0.02)


def straight(seed=3, n=300):
    """x -> z -> y and x -> y, all continuous; the effect of x on y is 2."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    z = x + rng.normal(size=n)
    return cs.DAG([("x", "z"), ("z", "y"), ("x", "y")]), {
        "x": x,
        "z": z,
        "y": z + x + rng.normal(size=n),
    }


def test_the_effect_of_a_number_has_an_interval_by_default():
    dag, columns = straight()
    found = cs.causal.effect(dag, "y", do={"x": 1}, against={"x": 0}, table=cs.read(columns))
    net = cs.fit(dag, columns, gaussian=cs.estimators.NormalInverseGamma())
    drawn = [
        one.do({"x": 1}).query("y").mean - one.do({"x": 0}).query("y").mean
        for one in cs.draws(net, 400, seed=1)
    ]
    assert found.interval == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.03)
    assert found.notes == ()


def test_an_effect_says_that_rows_had_gaps():
    dag, columns = straight()
    columns["x"][:9] = np.nan
    found = cs.causal.effect(dag, "y", do={"x": 1}, against={"x": 0}, table=cs.read(columns))
    assert "gaps were filled in expectation" in found.notes[0]


def test_targets_among_numbers_are_refused_with_what_to_ask_instead():
    dag, columns = straight()
    with pytest.raises(InputError, match=r"compares the states of discrete variables"):
        cs.causal.intervention_targets(cs.fit(dag, columns), "y")


def test_a_hedge_is_a_pair():
    refused = cs.causal.identify(cs.causal.ADMG([("x", "y")], latent=[("x", "y")]), "y", do=["x"])
    outer, inner = refused.hedge
    assert (outer, inner) == ({"x", "y"}, {"y"})


def test_separation_lists_the_nodes_of_the_graph_alone():
    admg = cs.causal.ADMG([("x", "y")], latent=[("x", "y")])
    with pytest.raises(cs.ConsilienceError, match=r"Known: 'x', 'y'\.$"):
        admg.is_separated("x", "q")


def test_draws_agree_with_networks_drawn_one_by_one():
    table = sprinkler().sample(60, seed=2)
    net = cs.fit(sprinkler().dag, table, cs.Dirichlet(per_cell=1))
    found = cs.causal.effect(
        net, "W", do={"S": "yes"}, against={"S": "no"}, state="yes", draws=4000
    )
    drawn = [
        one.do({"S": "yes"}).query("W")["yes"] - one.do({"S": "no"}).query("W")["yes"]
        for one in cs.draws(net, 400, seed=1)
    ]
    assert found.interval == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.06)


def test_a_formula_from_counts_has_an_exact_posterior():
    admg = graph("xm my", "xy")
    net = network(admg)
    table = net.sample(20_000, seed=1).select(["x", "m", "y"])
    found = cs.causal.effect(
        admg, "y", do={"x": "1"}, against={"x": "0"}, state="1", table=table, level=0.99
    )
    low, high = found.interval
    assert low < 0.344444444444 - 0.603703703704 < high
    assert high - low < 0.05


def test_what_is_not_identified_is_bounded():
    admg = graph("zx xy", "xy")
    table = network(admg).sample(50_000, seed=1).select(["x", "y", "z"])
    found = cs.causal.effect(admg, "y", do={"x": "1"}, against={"x": "0"}, state="1", table=table)
    assert found.value is None
    assert found.bounds == pytest.approx((-0.459876543210, 0.336419753086), abs=0.02)


def test_a_soft_intervention_sets_a_distribution():
    net = sprinkler()
    mixed = net.do({"S": cs.Soft({"yes": 0.3, "no": 0.7})}).query("W")["yes"]
    parts = [net.do({"S": state}).query("W")["yes"] for state in ("yes", "no")]
    assert mixed == pytest.approx(0.3 * parts[0] + 0.7 * parts[1])


def trial_and_city(extra=()):
    place = cs.Variable("F", ("trial", "city"))
    x, y, z = (cs.Variable(name, ("0", "1")) for name in "xyz")
    net = cs.Network.of(
        [
            cs.Categorical(place, (), [0.5, 0.5]),
            cs.Categorical(z, (place,), [[0.7, 0.3], [0.3, 0.7]]),
            cs.Categorical(x, (), [0.5, 0.5]),
            cs.Categorical(y, (x, z), [[[0.8, 0.2], [0.5, 0.5]], [[0.4, 0.6], [0.45, 0.55]]]),
        ],
        source="F",
    )
    return cs.DAG([("z", "y"), ("x", "y"), ("F", "z"), *extra]), net


def test_an_effect_moves_from_a_trial_to_a_city():
    dag, net = trial_and_city()
    question = {"do": "x", "source": "F", "experiments": {"trial": ["x"]}}
    for place, levels in (("trial", (0.29, 0.585)), ("city", (0.41, 0.565))):
        found = cs.causal.identify(dag, "y", to=place, **question)
        assert [found.query(net, {"x": s})["1"] for s in "01"] == pytest.approx(levels)
    table = net.sample(100_000, seed=1)
    moved = cs.causal.effect(
        dag,
        "y",
        do={"x": "1"},
        against={"x": "0"},
        state="1",
        table=table,
        to="city",
        experiments={"trial": ["x"]},
    )
    assert moved.value == pytest.approx(0.155, abs=0.02)


def test_an_effect_does_not_move_where_the_outcome_itself_differs():
    dag, net = trial_and_city([("F", "y")])
    found = cs.causal.identify(
        dag, "y", do="x", source="F", to="city", experiments={"trial": ["x"]}
    )
    assert not found.is_identified
    assert found.differs == ("y",)
    with pytest.raises(ModelError, match="y differs between the sources"):
        found.query(net, {"x": "1"})


def test_errors_name_the_culprit():
    net = sprinkler()
    with pytest.raises(InputError, match="name the state of 'W' in state="):
        cs.causal.effect(net, "W", do={"S": "yes"})
    with pytest.raises(InputError, match="must set the same variables"):
        cs.causal.effect(net, "W", do={"S": "yes"}, against={"R": "no"}, state="yes")
    with pytest.raises(InputError, match="a graph needs rows"):
        cs.causal.effect(net.dag, "W", do={"S": "yes"}, state="yes")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"do": {"y": "yes"}}, "'y' is in do= and is also"),
        ({"given": {"x": "yes"}}, "'x' is in given= and is also"),
        ({"given": {"y": "yes"}}, "'y' is in given= and is also"),
    ],
)
def test_each_variable_of_an_effect_has_one_place(asked, message):
    x, y = (cs.Variable(name, ("no", "yes")) for name in "xy")
    of_y = cs.Categorical(y, (x,), [[0.9, 0.1], [0.4, 0.6]])
    net = cs.Network.of([cs.Categorical(x, (), [0.5, 0.5]), of_y])
    with pytest.raises(cs.ConsilienceError, match=message):
        cs.causal.effect(net, "y", **{"do": {"x": "yes"}, "state": "yes", **asked})
    with pytest.raises(cs.ConsilienceError, match="intervention_targets: name the state of 'y'"):
        cs.causal.intervention_targets(net, "y")
    with pytest.raises(cs.ConsilienceError, match="path_effects: name the state of 'y'"):
        cs.causal.path_effects(net, "y", do={"x": "yes"}, against={"x": "no"})


def test_bounds_of_an_effect_that_cannot_be_moved_are_refused_by_name():
    graph = cs.DAG([("x", "y"), ("site", "y")])
    moved = cs.causal.identify(graph, "y", do="x", source="site", to="b", experiments={"a": ["x"]})
    rows = cs.read({"site": list("aabb"), "x": list("0101"), "y": list("0110")}, source="site")
    with pytest.raises(cs.ConsilienceError, match="y differs between the sources"):
        moved.bounds(rows, {"x": "1"})


def test_a_network_has_to_be_asked_for_its_graph():
    net = cs.Network.of([cs.Categorical(cs.Variable("x", ("0", "1")), (), [0.5, 0.5])])
    with pytest.raises(cs.ConsilienceError, match="dag must be a DAG, got a Network"):
        cs.causal.ADMG.of(net)


@pytest.mark.parametrize(
    ("latent", "estimator", "said"),
    [
        ([], None, "the graph; each has tables of its own"),
        ([], cs.Dirichlet(per_cell=1), "everything; their rows are pooled"),
        ([("x", "y")], None, "everything; their rows are pooled"),
    ],
)
def test_what_is_equal_between_sources_is_told(latent, estimator, said):
    graph = cs.causal.ADMG([("x", "y")], latent=latent)
    rows = cs.read({"s": list("aabb"), "x": list("0101"), "y": list("0110")}, source="s")
    found = cs.causal.effect(
        graph, "y", do={"x": "1"}, state="1", table=rows, estimator=estimator, draws=20
    )
    assert f"Equal in all sources of 's': {said}." in found.assumptions


class TestTheSourceInTheQuestion:
    @pytest.fixture(scope="class")
    @classmethod
    def net(cls):
        """Ill is rare in 'a' and common in 'b'; the new source has no share of the rows."""
        columns = {"s": ["a"] * 40 + ["b"] * 40, "x": ["0", "1"] * 40}
        columns["ill"] = ["no"] * 36 + ["yes"] * 4 + ["yes"] * 36 + ["no"] * 4
        dag = cs.DAG.parse("[x][ill|x]")
        return cs.fit(dag, cs.read(columns, source="s"), cs.HDC())

    def test_a_source_without_rows_is_left_out(self, net):
        shares = net.tables["s"].table.copy()
        assert "new_source" in net.variables["s"].states
        shares[net.variables["s"].code("new_source")] = 0.0
        empty = cs.Categorical(net.variables["s"], (), shares / shares.sum())
        without = cs.Network({**net.distributions, "s": empty}, "s")
        found = cs.causal.effect(without, "ill", do={"x": "1"}, state="yes")
        assert set(found.by_source) == {"a", "b"}

    def test_the_source_itself_can_be_set(self, net):
        for source, expected in (("a", 0.1), ("b", 0.9)):
            found = cs.causal.effect(net, "ill", do={"s": source}, state="yes")
            assert found.value == pytest.approx(expected, abs=0.1)
            assert found.interval is None or found.interval[0] < found.value < found.interval[1]
            assert not found.by_source

    def test_nothing_that_is_set_changes_where_rows_come_from(self, net):
        found = cs.causal.effect(net, "s", do={"x": "1"}, state="a")
        assert found.value == pytest.approx(net.query("s")["a"])
        assert not found.by_source
