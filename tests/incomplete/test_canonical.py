from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import InputError, UnknownNameError
from consilience.incomplete.canonical import TIE, permuted

TWO_HIDDEN = cs.DAG([("x", "H"), ("H", "y"), ("H", "G"), ("G", "y"), ("G", "z")])
SIZES = {"x": 2, "H": 3, "G": 3, "y": 2, "z": 3}


def kind_and_sign(shares, rows, *, posterior=None):
    kind = cs.Variable("kind", tuple(map(str, range(len(shares)))))
    sign = cs.Variable("sign", ("no", "yes"))
    return cs.Network.of(
        [cs.Categorical(kind, (), shares), cs.Categorical(sign, (kind,), rows, posterior)]
    )


@given(seed=st.integers(0, 10**6), h=st.permutations(range(3)), g=st.permutations(range(3)))
def test_the_order_does_not_depend_on_the_order_that_was_found(seed, h, g):
    net = cs.random_network(TWO_HIDDEN, n_states=SIZES, seed=seed)
    other = permuted(net, {"H": np.array(h), "G": np.array(g)})
    ours, theirs = cs.latent.canonical(net, ["H", "G"]), cs.latent.canonical(other, ["G", "H"])
    for name in net.variables:
        np.testing.assert_allclose(ours[name].table, theirs[name].table, atol=1e-12)


@given(seed=st.integers(0, 10**6))
def test_what_is_observed_keeps_its_distribution(seed):
    net = cs.random_network(TWO_HIDDEN, n_states=SIZES, seed=seed)
    ours = cs.latent.canonical(net, ["H", "G"])
    names = ["x", "y", "z"]
    np.testing.assert_allclose(ours.query(names).values, net.query(names).values, atol=1e-12)
    shares = sorted(net.query("H").values, reverse=True)
    np.testing.assert_allclose(ours.query("H").values, shares, atol=2 * TIE)  # a chain of two ties


def test_equal_shares_are_ordered_by_what_the_states_are_like():
    rows = [[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        net = kind_and_sign([1 / 3] * 3, [rows[k] for k in order])
        assert cs.latent.canonical(net, ["kind"])["sign"].table[:, 0].tolist() == [0.9, 0.5, 0.2]


@pytest.mark.parametrize("share", [0.5 - 3e-4, 0.5 - 1e-8, 0.5, 0.5 + 1e-8, 0.5 + 3e-4])
def test_shares_that_are_almost_equal_are_equal(share):
    for rows in ([[0.3, 0.7], [0.7, 0.3]], [[0.7, 0.3], [0.3, 0.7]]):
        for by in (None, "sign"):
            net = kind_and_sign([share, 1 - share], rows)
            assert cs.latent.canonical(net, ["kind"], by=by)["sign"].table[:, 0].tolist() == [
                0.7,
                0.3,
            ]


def test_shares_that_are_clearly_different_are_not():
    for share in (0.5 - 6e-4, 0.5 + 6e-4):
        net = kind_and_sign([share, 1 - share], [[0.3, 0.7], [0.7, 0.3]])
        assert cs.latent.canonical(net, ["kind"])["kind"].table[0] == pytest.approx(0.5 + 6e-4)


def test_states_with_equal_mean_codes_are_told_apart_by_their_distributions():
    kind, pain = cs.Variable("kind", ("1", "2")), cs.Variable("pain", ("no", "some", "much"))
    for rows in ([[0.5, 0, 0.5], [0, 1, 0]], [[0, 1, 0], [0.5, 0, 0.5]]):
        net = cs.Network.of(
            [cs.Categorical(kind, (), [0.5, 0.5]), cs.Categorical(pain, (kind,), rows)]
        )
        for by in (None, "pain"):
            ours = cs.latent.canonical(net, ["kind"], by=by)
            assert ours["pain"].table.tolist() == [[0.5, 0, 0.5], [0, 1, 0]]


def test_states_that_are_almost_alike_are_ordered_by_their_exact_shares():
    for share in (0.4999, 0.5001):
        net = kind_and_sign([share, 1 - share], [[0.3, 0.7], [0.3001, 0.6999]])
        assert cs.latent.canonical(net, ["kind"])["kind"].table.tolist() == pytest.approx(
            [0.5001, 0.4999]
        )


def test_every_start_of_em_ends_in_the_same_order_if_two_classes_mirror_each_other():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    signs = [np.where(rng.random(200) < 0.65, kind, 1 - kind) for _ in range(4)]
    rows = cs.read(
        {f"f{i}": ["ny"[k] for k in (*sign, *(1 - sign))] for i, sign in enumerate(signs)}
    )
    dag = cs.DAG([("H", name) for name in rows.variables])
    found = [cs.em(dag, rows, hidden={"H": 2}, seed=seed).network for seed in range(6)]
    first = [float(net["f0"].table[0, 0]) for net in found]
    assert first == pytest.approx([first[0]] * 6, abs=0.01)
    assert len({float(net["H"].table[0]) > 0.5 for net in found}) == 2  # shares alone would not do


def test_states_that_are_equal_in_all_keep_their_places():
    net = kind_and_sign([0.5, 0.5], [[0.3, 0.7]] * 2)
    assert cs.latent.canonical(net, ["kind"]) is net


def test_impossible_states_stand_last():
    net = kind_and_sign([0.0, 0.4, 0.0, 0.6], [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    ours = cs.latent.canonical(net, ["kind"])
    assert ours["kind"].table.tolist() == [0.6, 0.4, 0.0, 0.0]
    assert ours["sign"].table[:, 0].tolist() == [0.4, 0.2, 0.1, 0.3]
    by = cs.latent.canonical(net, ["kind"], by="sign")
    assert by["sign"].table[:, 0].tolist() == [0.4, 0.2, 0.1, 0.3]


def test_states_can_be_ordered_by_an_observed_variable():
    net = kind_and_sign([0.1, 0.6, 0.3], [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    ours = cs.latent.canonical(net, ["kind"], by="sign")
    assert ours["sign"].table[:, 1].tolist() == [0.1, 0.5, 0.8]
    assert ours["kind"].table.tolist() == [0.3, 0.6, 0.1]


def test_dirichlet_posteriors_move_with_their_tables():
    posterior = DirichletPosterior(np.array([[1.0, 3.0], [4.0, 4.0]]))
    net = kind_and_sign([0.2, 0.8], posterior.mean(), posterior=posterior)
    moved = cs.latent.canonical(net, ["kind"])["sign"]
    assert moved.posterior.concentration.tolist() == [[4.0, 4.0], [1.0, 3.0]]
    np.testing.assert_allclose(moved.posterior.mean(), moved.table)


def test_regressions_move_with_their_hidden_parent():
    kind = cs.Categorical(cs.Variable("kind", ("1", "2")), (), [0.25, 0.75])
    weight = cs.LinearGaussian(
        cs.Variable("weight"), (kind.child,), [1.0, 2.0], np.zeros((2, 0)), [0.1, 0.2]
    )
    ours = cs.latent.canonical(cs.Network.of([kind, weight]), ["kind"])
    assert ours["weight"].intercept.tolist() == [2.0, 1.0]
    assert ours["weight"].sd.tolist() == [0.2, 0.1]


def test_names_that_cannot_be_ordered_are_refused():
    net = kind_and_sign([0.5, 0.5], [[0.3, 0.7], [0.7, 0.3]])
    with pytest.raises(UnknownNameError, match="'kinds'"):
        cs.latent.canonical(net, ["kinds"])
    with pytest.raises(InputError, match="'kind' is hidden itself"):
        cs.latent.canonical(net, ["kind"], by="kind")
    for hidden in ("kind", 5, None):
        with pytest.raises(InputError, match=f"list of names, got {hidden!r}"):
            cs.latent.canonical(net, hidden)
    with pytest.raises(InputError, match="net must be a Network, got a str"):
        cs.latent.canonical("x", ["kind"])
    wide = cs.Network.of(
        [cs.LinearGaussian(cs.Variable("w"), (), 0.0, np.zeros(0), 1.0), *net.tables.values()]
    )
    with pytest.raises(InputError, match="'w' is continuous"):
        cs.latent.canonical(wide, ["w"])
    with pytest.raises(InputError, match="'w' is continuous"):
        cs.latent.canonical(wide, ["kind"], by="w")


def test_the_posterior_of_a_chain_moves_with_the_states():
    net = cs.random_network(cs.DAG([("h", "x"), ("h", "y")]), n_states=3, seed=1)
    rows = net.sample(200, seed=1)
    fitted = cs.fit(net.dag, rows)
    moved = permuted(fitted, {"h": np.array([2, 0, 1]), "x": np.array([1, 0, 2])})
    for name in ("h", "x", "y"):
        assert moved[name].posterior is not None
    low, high = cs.estimators.parameter_intervals(fitted, "x")
    low_moved, high_moved = cs.estimators.parameter_intervals(moved, "x")
    np.testing.assert_allclose(low_moved, low[[2, 0, 1]][:, [1, 0, 2]], atol=0.05)
    np.testing.assert_allclose(high_moved, high[[2, 0, 1]][:, [1, 0, 2]], atol=0.05)
