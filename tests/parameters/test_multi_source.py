"""Networks fitted to several sources: the source as a node, and what each estimator makes of it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hierarchy_oracles import rational
from source_tables import DAG, table_of

import consilience as cs
from consilience.errors import DataError, InputError, ModelError

# Counts of p -> x in two sources, the second without rows of p1: (sources, states of p, of x).
COUNTS = np.array([[[4, 2, 0], [0, 1, 5]], [[1, 3, 1], [0, 0, 0]]])
HIERARCHICAL = [cs.HDMCS, cs.HDMJS]
BY_SOURCE = [*HIERARCHICAL, cs.estimators.Adaptive]


def fitted(estimator, counts=COUNTS, dag=DAG):
    return cs.fit(dag, table_of(counts), estimator)


# The source as a node.


@pytest.mark.parametrize("kind", [*BY_SOURCE, cs.HDC])
def test_the_source_has_a_reserved_state_for_a_source_never_seen(kind):
    net = fitted(kind())
    assert net.source == "source"
    assert net.variables["source"].states == ("f0", "f1", "new_source")
    np.testing.assert_allclose(net["source"].table, np.array([12, 5, 1]) / 18)
    assert net["x"].parents == ("source", "p")


@pytest.mark.parametrize("estimator", [cs.HDS(), *[kind() for kind in BY_SOURCE]], ids=repr)
def test_a_source_with_the_reserved_name_is_an_error(estimator):
    table = table_of(COUNTS, sources=["a", "new_source"])
    with pytest.raises(DataError, match="a source is named 'new_source'") as error:
        cs.fit(DAG, table, estimator)
    assert error.value.culprits == {"source": "new_source"}


def test_a_plain_estimator_minds_no_name():
    net = cs.fit(DAG, table_of(COUNTS, sources=["a", "new_source"]), cs.MLE())
    np.testing.assert_allclose(net["source"].table, np.array([12, 5]) / 17)


@pytest.mark.parametrize("kind", BY_SOURCE)
def test_a_source_without_rows_is_legal_evidence_and_knows_what_a_new_one_does(kind):
    table = table_of(np.append(COUNTS, COUNTS[:1], axis=0))
    names = table.to_frame()["source"]
    net = cs.fit(DAG, table.take(np.flatnonzero(names != "f2")), kind())
    np.testing.assert_allclose(net["source"].table, np.array([12, 5, 0.5, 0.5]) / 18)
    empty, new = (net.query("x", given={"p": "p1", "source": f}) for f in ("f2", "new_source"))
    np.testing.assert_allclose(empty.values, new.values, rtol=1e-12)


def test_evidence_on_the_source_selects_its_tables():
    net = fitted(cs.HDMCS())
    for f, name in enumerate(net.variables["source"].states):
        belief = net.query("x", given={"p": "p0", "source": name})
        np.testing.assert_allclose(belief.values, net["x"].table[f, 0])


def test_a_source_that_is_not_known_is_summed_out():
    net = fitted(cs.HDMJS())
    shares, of_p, of_x = net["source"].table, net["p"].table, net["x"].table
    expected = np.einsum("f,fp,fpx->x", shares, of_p, of_x)
    np.testing.assert_allclose(net.query("x").values, expected)


def test_a_new_source_has_the_base_of_the_hierarchy():
    net = fitted(cs.HDMCS(s=2.0, alpha0=0.5))
    for p in range(2):
        base, *_ = rational(COUNTS[:, p], Fraction(2), Fraction(1, 2))
        np.testing.assert_allclose(net["x"].table[2, p], base, rtol=1e-12)


def test_a_new_source_of_joint_states_has_the_base_given_the_parent():
    base, *_ = rational(COUNTS.reshape(2, -1), Fraction(2), Fraction(1))
    base = base.reshape(2, 3)
    net = fitted(cs.HDMJS(s=2.0))
    np.testing.assert_allclose(
        net["x"].table[2], base / base.sum(axis=1, keepdims=True), rtol=1e-12
    )


def test_only_the_children_that_a_graph_gives_the_source_depend_on_it():
    net = fitted(cs.HDMCS(), dag=cs.DAG([("p", "x"), ("source", "x")]))
    assert net["x"].parents == ("source", "p")
    assert net["p"].parents == ()
    np.testing.assert_array_equal(net["x"].table, fitted(cs.HDMCS())["x"].table)
    alone = cs.fit(cs.DAG(nodes=["p"]), table_of(COUNTS).select(["p"]), cs.Pooled(cs.HDMCS()))
    np.testing.assert_array_equal(net["p"].table, alone["p"].table)


def test_a_graph_that_names_the_source_makes_it_a_parent_like_any_other_for_hds():
    net = fitted(cs.HDS(s=3.0), dag=cs.DAG([("source", "x"), ("p", "x")]))
    assert net.variables["source"].states == ("f0", "f1")
    groups = net["x"].table.transpose([net["x"].parents.index(n) for n in ("source", "p")] + [2])
    *_, theta, _ = rational(COUNTS.reshape(-1, 3), Fraction(3), Fraction(1))
    np.testing.assert_allclose(groups.reshape(-1, 3), theta, rtol=1e-12)


def test_hds_pools_the_sources_and_ties_the_parent_states():
    net = fitted(cs.HDS(s=3.0))
    assert net.dag.arcs == (("p", "x"),)
    *_, theta, _ = rational(COUNTS.sum(axis=0), Fraction(3), Fraction(1))
    np.testing.assert_allclose(net["x"].table, theta, rtol=1e-12)
    rows = COUNTS.sum(axis=(0, 2))
    np.testing.assert_allclose(net["p"].table, (rows + 1.5) / (rows.sum() + 3))


@pytest.mark.parametrize("kind", BY_SOURCE)
def test_one_source_is_a_source_too(kind):
    net = fitted(kind(), COUNTS[:1])
    assert net.variables["source"].states == ("f0", "new_source")
    assert net["x"].table.shape == (2, 2, 3)
    assert not net.record.pooling


@pytest.mark.parametrize("kind", [cs.HDS, *BY_SOURCE])
def test_a_table_without_sources_makes_no_source(kind):
    table = cs.read({"p": ["a", "a", "b"], "x": ["0", "1", "1"]})
    net = cs.fit(DAG, table, kind())
    assert net.source is None
    assert net["x"].table.shape == (2, 2)


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.Dirichlet(), cs.HDMCS(s=2.0)], ids=repr)
def test_separate_has_a_table_for_each_source_and_none_for_a_new_one(estimator):
    net = fitted(cs.Separate(estimator))
    assert net.variables["source"].states == ("f0", "f1")
    for f in range(2):
        alone = fitted(cs.Pooled(estimator), COUNTS[f : f + 1])
        np.testing.assert_array_equal(net["x"].table[f], alone["x"].table)


def test_separate_keeps_the_one_source_there_is():
    net = fitted(cs.Separate(cs.MLE()), COUNTS[:1])
    assert net["x"].parents == ("source", "p")
    np.testing.assert_allclose(net["source"].table, [1.0])


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.Dirichlet(), cs.HDMCS(s=2.0)], ids=repr)
def test_pooled_is_the_fit_to_all_rows_without_sources(estimator):
    net = fitted(cs.Pooled(estimator))
    assert net.dag.arcs == (("p", "x"),)
    whole = fitted(cs.Pooled(estimator), COUNTS.sum(axis=0, keepdims=True))
    np.testing.assert_array_equal(net["x"].table, whole["x"].table)


# The numbers.


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        # The methods study's example, s = 1: rows (source, p), there rounded to 12 digits.
        (
            cs.HDMJS(s=1),
            [
                [0.639572713921, 0.338982195801, 0.021445090279],
                [0.011143623044, 0.179154194679, 0.809702182278],
                [0.219953939977, 0.577016246097, 0.203029813927],
                [0.189522850863, 0.379045701726, 0.431431447411],
            ],
        ),
        (
            cs.HDMCS(s=1),
            [
                [0.625929393701, 0.342840101801, 0.031230504498],
                [0.025401168219, 0.193659479296, 0.780939352485],
                [0.230250959318, 0.566646785434, 0.203102255248],
                [0.177808177535, 0.355616355069, 0.466575467396],
            ],
        ),
    ],
    ids=repr,
)
def test_reference_tables_of_the_study(estimator, expected):
    net = fitted(estimator)
    np.testing.assert_allclose(net["x"].table[:2].reshape(4, 3), expected, atol=1e-11)


def test_reference_table_of_the_study_for_hds():
    expected = [
        [0.437649959981, 0.447841686676, 0.114508353343],
        [0.035971359968, 0.196300034302, 0.76772860573],
    ]
    np.testing.assert_allclose(fitted(cs.HDS(s=1))["x"].table, expected, atol=1e-11)


def test_joint_states_with_a_very_large_strength_are_the_pooled_conditional():
    joint = COUNTS.sum(axis=0) + 1.0
    net = fitted(cs.HDMJS(s=1e9))
    expected = np.tile(joint / joint.sum(axis=1, keepdims=True), (3, 1, 1))
    np.testing.assert_allclose(net["x"].table, expected, atol=1e-7)


def test_without_parents_joint_and_conditional_states_are_the_same():
    one, two = fitted(cs.HDMJS(s=2.0)), fitted(cs.HDMCS(s=2.0))
    np.testing.assert_allclose(one["p"].table, two["p"].table, rtol=1e-14)
    assert not np.allclose(one["x"].table, two["x"].table)


def test_an_unseen_parent_state_of_a_source_leans_on_the_others():
    for kind in HIERARCHICAL:
        table = fitted(kind(s=2.0))["x"].table
        np.testing.assert_allclose(table[1, 1], table[2, 1], rtol=1e-12)


def test_a_pseudo_count_goes_to_every_cell_of_every_source_but_not_to_the_new_one():
    *_, theta, _ = rational(COUNTS[:, 0] + 1, Fraction(2), Fraction(1))
    base, *_ = rational(COUNTS[:, 0] + 1, Fraction(2), Fraction(1))
    table = fitted(cs.HDMCS(s=2.0, pseudo_count=1))["x"].table
    np.testing.assert_allclose(table[:2, 0], theta, rtol=1e-12)
    np.testing.assert_allclose(table[2, 0], base, rtol=1e-12)


@pytest.mark.parametrize("kind", [cs.HDS, *HIERARCHICAL])
@pytest.mark.parametrize(
    "changed",
    [
        {"s": 5.0},
        {"s": cs.PerState(0.2)},
        {"s": cs.Gamma(1, 2)},
        {"alpha0": 7.0},
        {"pseudo_count": 1},
    ],
    ids=str,
)
def test_every_parameter_changes_some_answer(kind, changed):
    one, two = fitted(kind()), fitted(kind(**changed))
    assert not np.allclose(one["x"].table, two["x"].table, atol=1e-4)


@pytest.mark.parametrize("changed", [{"s": 50.0}, {"alpha0": 0.1}], ids=str)
def test_every_parameter_of_adaptive_changes_some_answer(changed):
    one, two = fitted(cs.estimators.Adaptive()), fitted(cs.estimators.Adaptive(**changed))
    assert not np.allclose(one["x"].table, two["x"].table, atol=1e-4)


@pytest.mark.parametrize("kind", [cs.HDS, *BY_SOURCE])
@pytest.mark.parametrize(
    "wrong", [{"s": 0}, {"s": "10"}, {"alpha0": -1.0}, {"s": math.nan}], ids=str
)
def test_a_parameter_that_is_not_positive_is_an_error(kind, wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(
        InputError, match=f"{kind.__name__}: {name} must be positive, got {value!r}"
    ):
        kind(**wrong)


def test_a_strength_per_state_counts_the_states_of_each_view():
    for kind, n_states in ((cs.HDS, 3), (cs.HDMCS, 3), (cs.HDMJS, 6)):
        one, two = fitted(kind(s=cs.PerState(1.5))), fitted(kind(s=1.5 * n_states))
        np.testing.assert_array_equal(one["x"].table, two["x"].table)


def test_a_learned_strength_is_large_for_like_sources_and_small_for_unlike_ones():
    like = np.array([[[30, 10, 10]], [[31, 9, 10]], [[60, 20, 21]], [[29, 11, 10]]])
    unlike = np.array([[[50, 0, 0]], [[0, 50, 1]], [[1, 0, 99]], [[48, 1, 1]]])
    strength = [
        fitted(cs.HDMCS(s=cs.Gamma(1, 0.01)), counts)["x"].posterior.hierarchy.mean_strength()
        for counts in (like, unlike)
    ]
    assert strength[0] > 50 > 2 > strength[1]


# How far sources agree.


def test_the_record_has_the_evidence_of_three_ways_to_see_the_sources():
    evidence = fitted(cs.HDMCS(s=3)).record.pooling["x"]
    pooled = sum(
        rational(rows[None], Fraction(10**12), Fraction(1))[3] for rows in COUNTS.sum(axis=0)
    )
    tied = sum(rational(COUNTS[:, p], Fraction(3), Fraction(1))[3] for p in range(2))
    apart = sum(
        rational(COUNTS[f, p][None], Fraction(10**12), Fraction(1))[3]
        for f in range(2)
        for p in range(2)
    )
    assert list(evidence) == ["pooled", "hierarchical", "separate"]
    # A hierarchy of one group with a very large strength is a plain Dirichlet.
    np.testing.assert_allclose(list(evidence.values()), [pooled, tied, apart], atol=1e-9)


@pytest.mark.parametrize("s", [7.0, cs.Gamma(2, 0.1)], ids=str)
@pytest.mark.parametrize(
    "kind",
    [
        cs.HDMJS,
        cs.estimators.Adaptive,
        lambda **tie: cs.HDMCS(pseudo_count=0.5, **tie),
        lambda **tie: cs.Separate(cs.HDMCS(**tie)),
        lambda **tie: cs.Separate(cs.Pooled(cs.HDMJS(**tie))),
    ],
)
def test_the_evidence_of_pooling_has_the_strength_and_the_prior_of_the_estimator(kind, s):
    found = fitted(kind(s=s, alpha0=0.5)).record.pooling["x"]
    wanted = fitted(cs.HDMCS(s=s, alpha0=0.5)).record.pooling["x"]
    np.testing.assert_allclose(list(found.values()), list(wanted.values()), rtol=1e-12)
    other = fitted(cs.HDMCS()).record.pooling["x"]
    assert all(abs(found[way] - other[way]) > 0.01 for way in other)


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.Dirichlet(), cs.HDS()], ids=repr)
def test_families_that_were_pooled_have_no_evidence_of_pooling(estimator):
    assert not fitted(estimator).record.pooling


def test_adaptive_is_the_average_by_evidence():
    net = fitted(cs.estimators.Adaptive(s=2.0, alpha0=0.5))
    pooled = fitted(cs.Pooled(cs.Dirichlet(per_cell=0.5)))["x"].table
    tied = fitted(cs.HDMCS(s=2.0, alpha0=0.5))["x"].table
    apart = fitted(cs.Separate(cs.Dirichlet(per_cell=0.5)))["x"].table
    evidence = [
        sum(
            rational(rows[None], Fraction(10**12), Fraction(1, 2))[3] for rows in COUNTS.sum(axis=0)
        ),
        sum(rational(COUNTS[:, p], Fraction(2), Fraction(1, 2))[3] for p in range(2)),
        sum(
            rational(rows[None], Fraction(10**12), Fraction(1, 2))[3]
            for rows in COUNTS.reshape(-1, 3)
        ),
    ]
    weights = np.exp(evidence) / np.exp(evidence).sum()
    for f in range(2):
        expected = weights @ np.stack([pooled, tied[f], apart[f]]).reshape(3, -1)
        np.testing.assert_allclose(net["x"].table[f].ravel(), expected, rtol=1e-9)
    shown = np.array(list(net.record.pooling["x"].values()))
    np.testing.assert_allclose(np.exp(shown) / np.exp(shown).sum(), weights, rtol=1e-9)


def test_adaptive_gives_a_new_source_the_pooled_table_and_the_base_of_the_tied_ones():
    adaptive, tied = fitted(cs.estimators.Adaptive(s=2.0)), fitted(cs.HDMCS(s=2.0))
    pooled = fitted(cs.Pooled(cs.Dirichlet(per_cell=1)))["x"].table
    evidence = np.array(list(adaptive.record.pooling["x"].values()))
    share = np.exp(evidence - evidence.max())[0] / np.exp(evidence - evidence.max()).sum()
    expected = share * pooled + (1 - share) * tied["x"].table[2]
    np.testing.assert_allclose(adaptive["x"].table[2], expected, rtol=1e-12)


def test_adaptive_pools_like_sources_and_parts_unlike_ones():
    like = np.tile(np.array([[[60, 25, 15], [10, 70, 20]]]), (5, 1, 1))
    unlike = np.stack([np.roll(like[0], f, axis=-1) for f in range(3)] * 2)
    near = fitted(cs.estimators.Adaptive(), like)
    assert near.record.pooling["x"]["pooled"] == max(near.record.pooling["x"].values())
    pooled = fitted(cs.Pooled(cs.Dirichlet(per_cell=1)), like)["x"].table
    np.testing.assert_allclose(near["x"].table[:5], np.tile(pooled, (5, 1, 1)), atol=0.005)
    far = fitted(cs.estimators.Adaptive(), unlike)
    assert far.record.pooling["x"]["pooled"] < far.record.pooling["x"]["hierarchical"] - 100
    own = unlike / unlike.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(far["x"].table[:6], own, atol=0.03)


# Which method was used, and the posterior.


@pytest.mark.parametrize("kind", [cs.HDS, *HIERARCHICAL])
def test_fractional_weights_are_solved_by_the_approximation_and_the_record_says_so(kind):
    exact, rough = fitted(kind(s=2.0)), fitted(kind(s=2.0), COUNTS + 0.001)
    assert exact["x"].posterior.is_exact
    assert not rough["x"].posterior.is_exact
    assert exact.record.notes == ()
    note = rough.record.notes[0]
    assert "collapsed variational Bayes, not exactly" in note
    assert "'x'" in note
    np.testing.assert_allclose(rough["x"].table, exact["x"].table, atol=0.03)


@pytest.mark.parametrize(
    "estimator", [*[kind() for kind in BY_SOURCE], cs.HDC(), cs.Separate(cs.MLE())], ids=repr
)
def test_the_record_says_where_the_evidence_of_tied_sources_is_a_bound(estimator):
    assert fitted(estimator).record.notes == ()
    note = fitted(estimator, COUNTS + 0.001).record.notes[-1]
    assert "a variational lower bound for tied sources" in note
    assert note.endswith(": 'p', 'x'.")
    assert ("weights of the tables" in note) == isinstance(estimator, cs.estimators.Adaptive)


@pytest.mark.parametrize("kind", [cs.HDS, *HIERARCHICAL])
@pytest.mark.parametrize("s", [3.0, cs.Gamma(4, 0.5)])
def test_draws_of_whole_networks_scatter_around_the_fit(kind, s):
    net = fitted(kind(s=s))
    tables = np.stack([one["x"].table for one in cs.draws(net, 400, seed=3)])
    np.testing.assert_allclose(tables.sum(axis=-1), 1.0)
    error = np.sqrt(net["x"].posterior.variance() / 400)
    # The table of joint states is the conditional of a mean, not the mean of conditionals.
    slack = 0.1 if kind is cs.HDMJS else 1e-12
    assert np.all(np.abs(tables.mean(axis=0) - net["x"].table) < 4 * error + slack)
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.5)
    assert 0.35 < ((low < tables) & (tables < high)).mean() < 0.65
    assert all(one.source == "source" for one in cs.draws(net, 2, seed=1))


def test_draws_depend_on_the_seed_alone():
    net = fitted(cs.HDMCS())
    one, two, other = ([d["x"].table for d in cs.draws(net, 3, seed=s)] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    "estimator", [cs.MLE(), cs.estimators.Shrinkage(), cs.estimators.Adaptive()], ids=repr
)
def test_an_estimator_without_a_posterior_says_so(estimator):
    net = fitted(estimator)
    with pytest.raises(ModelError, match="the distribution of 'x' has no posterior"):
        cs.estimators.parameter_intervals(net, "x")
    with pytest.raises(ModelError, match="no posterior"):
        cs.draws(net, 1)


def test_separate_keeps_the_posterior_of_plain_estimators():
    net = fitted(cs.Separate(cs.Dirichlet(per_cell=1)))
    np.testing.assert_array_equal(net["x"].posterior.concentration, COUNTS + 1)
    assert fitted(cs.Separate(cs.MLE()))["x"].posterior is None
