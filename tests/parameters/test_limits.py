"""Where a fit has to end: tables that no memory holds, and tables without rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

import consilience as cs
from consilience.errors import DataError, InputError, MemoryLimitError, UnknownNameError
from consilience.parameters.estimator import is_apart
from consilience.parameters.held import tables_held

WITH_PRIOR = [
    cs.Dirichlet(),
    cs.HDC(),
    cs.HDS(),
    cs.HDS(s=2.0),
    cs.HDMCS(),
    cs.HDMJS(s=cs.PerState(1)),
]


def many_parents(n_parents: int, n_states: int = 4) -> tuple[cs.DAG, cs.Table]:
    rng, states = np.random.default_rng(0), np.array(list("abcd"))[:n_states]
    parents = [f"p{i}" for i in range(n_parents)]
    columns = {name: rng.permutation(np.tile(states, 10)).tolist() for name in [*parents, "x"]}
    return cs.DAG([(name, "x") for name in parents]), cs.read(columns)


@pytest.mark.parametrize("estimator", [*WITH_PRIOR, cs.MLE(), cs.estimators.Shrinkage()], ids=repr)
@pytest.mark.parametrize("n_parents", [14, 29, 33])
def test_a_family_that_no_memory_holds_is_refused_before_anything_is_allocated(
    estimator, n_parents
):
    dag, table = many_parents(n_parents)
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match=f"family 'x' with {n_parents} parents") as error:
        cs.fit(dag, table, estimator)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()
    assert "raise memory_limit" in str(error.value)


def test_prior_counts_that_no_memory_holds_are_refused():
    dag, table = many_parents(29)
    [counts] = cs.count(table, [cs.Family("x", dag.parents("x"))])
    with pytest.raises(MemoryLimitError, match="family 'x' with 29 parents"):
        cs.Dirichlet().prior(counts)


@pytest.mark.parametrize(
    "estimator",
    [
        *(cs.MLE(), cs.Dirichlet(), cs.estimators.Shrinkage(), cs.HDS(), cs.HDC()),
        *(cs.HDMJS(s=1.0), cs.HDMJS(), cs.HDMCS(s=1.0), cs.HDMCS(), cs.estimators.Adaptive()),
        *(cs.Pooled(cs.HDS()), cs.Separate(cs.Dirichlet())),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_sources", [1, 3])
def test_what_a_fit_takes_is_what_was_checked(estimator, n_sources):
    n_parents = 5 if "Gamma" in repr(estimator) else 6  # learning strengths takes long
    dag, table = many_parents(n_parents)
    if n_sources > 1:
        place = np.resize([*"xyz"[:n_sources]], table.n_rows)
        table = cs.read(table.to_frame().assign(place=place), source="place")
    n_apart = n_sources if is_apart(estimator) else 1
    promised = tables_held(estimator, n_apart, n_parents) * n_apart * 8 * 4 ** (n_parents + 1)
    cs.fit(dag, table, estimator)  # compiled
    tracemalloc.start()
    cs.fit(dag, table, estimator, memory_limit=promised)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with pytest.raises(MemoryLimitError):
        cs.fit(dag, table, estimator, memory_limit=promised / 1.01)
    assert 0.4 * promised < peak < 1.15 * promised


@pytest.mark.parametrize("estimator", WITH_PRIOR, ids=repr)
@pytest.mark.parametrize("source", [None, "place"])
def test_a_prior_that_was_chosen_answers_where_there_are_no_rows(estimator, source):
    columns = {"x": ["a", "b", "c"], "y": ["c", "d", "c"], "place": ["n", "s", "n"]}
    rows = cs.read({n: c for n, c in columns.items() if n != "place" or source}, source=source)
    net = cs.fit(cs.DAG([("x", "y")]), rows.take(slice(0, 0)), estimator)
    np.testing.assert_allclose(net["y"].table, 1 / 2)
    np.testing.assert_allclose(net["x"].table, 1 / 3)
    low, high = net["y"].posterior.interval(0.9)
    assert np.all(low < 0.3)
    assert np.all(high > 0.7)
    assert net.query("y")["c"] == pytest.approx(0.5)


def test_a_prior_that_nobody_chose_and_numbers_need_rows():
    for table, estimator in (
        (cs.read({"x": ["a", "b"]}), None),
        (cs.read({"x": ["a", "b"]}), cs.MLE()),
        (cs.read({"x": [1.5, 2.5]}), cs.estimators.HierarchicalGaussian()),
    ):
        with pytest.raises(DataError, match="without rows"):
            cs.fit(cs.DAG(nodes=["x"]), table.take(slice(0, 0)), estimator)


def test_the_base_of_a_hierarchy_may_favor_some_states():
    r"""The mean of theta_j is (N_j1 + s E[a]) / (N_j + s), with E[a] an integral over a."""
    counts, s, alpha = np.array([[3, 1], [0, 2], [0, 0]]), 2.5, np.array([1.7, 0.4])

    def weight(a: float) -> float:
        both = s * np.array([a, 1 - a])
        rising = gammaln(both + counts) - gammaln(both)
        return float(np.exp(rising.sum()) * a ** (alpha[0] - 1) * (1 - a) ** (alpha[1] - 1))

    # a = 1 - u^(1/alpha) takes the pole at one away
    def integral(f) -> float:
        def inner(u: float) -> float:
            a = 1 - u ** (1 / alpha[1])
            return f(a) * weight(a) * u ** ((1 - alpha[1]) / alpha[1])

        return quad(inner, 0, 1, epsabs=0, epsrel=1e-11, limit=200)[0]

    mean = integral(lambda a: a) / integral(lambda a: 1.0)
    rows = [
        (p, x)
        for p, row in zip("abc", counts, strict=True)
        for x, n in zip("yn", row, strict=True)
        for _ in range(n)
    ]
    table = cs.read(
        {"p": [p for p, _ in rows] + ["c"], "x": [x for _, x in rows] + [None]},
        states={"p": list("abc"), "x": list("yn")},
    )
    estimator = cs.HDS(s=s, alpha0={"x": alpha})
    net = cs.fit(cs.DAG([("p", "x")]), table, estimator, gaps=cs.AvailableCases())
    expected = (counts[:, 0] + s * mean) / (counts.sum(axis=1) + s)
    np.testing.assert_allclose(net["x"].table[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("s", [3.0, cs.Gamma(1.0, 0.1)], ids=repr)
def test_without_rows_states_have_their_share_of_the_prior_of_the_base(s):
    empty = cs.read({"p": ["a", "b"], "x": ["y", "n"]}).take(slice(0, 0))
    estimator = cs.HDS(s=s, alpha0={"x": [0.5, 1.5], "p": (3, 1)})
    net = cs.fit(cs.DAG([("p", "x")]), empty, estimator)
    np.testing.assert_allclose(net["x"].table, [[0.25, 0.75]] * 2)
    np.testing.assert_allclose(net["p"].table, [0.75, 0.25])


def test_a_base_that_favors_states_is_kept_in_files_and_draws(tmp_path):
    dag, table = many_parents(2)
    net = cs.fit(dag, table, cs.HDS(s=5.0, alpha0={"x": [4.0, 1.0, 1.0, 2.0]}))
    cs.save(net, tmp_path / "net.json")
    again = cs.load(tmp_path / "net.json")
    np.testing.assert_array_equal(again["x"].posterior.variance(), net["x"].posterior.variance())
    draws = np.mean([one["x"].table for one in cs.draws(net, 2000, seed=0)], axis=0)
    np.testing.assert_allclose(draws, net["x"].table, atol=0.03)


@pytest.mark.parametrize(
    ("alpha0", "error", "message"),
    [
        ({"x": [1.0, 2.0, 3.0]}, InputError, "each of its 2 states, got 3"),
        ({"x": [1.0, 0.0]}, InputError, "HDS: for 'x': alpha0 must be positive, got 0.0"),
        ({"z": [1.0, 2.0]}, UnknownNameError, "unknown discrete node 'z'"),
        (-1.0, InputError, "alpha0 must be positive, got -1.0"),
    ],
)
def test_a_prior_of_the_base_that_does_not_fit_is_refused(alpha0, error, message):
    rows = cs.read({"p": ["a", "b"], "x": ["y", "n"]})
    with pytest.raises(error, match=message):
        cs.fit(cs.DAG([("p", "x")]), rows, cs.HDS(alpha0=alpha0))


def test_equal_priors_by_state_have_one_hash():
    one, other = (cs.HDS(alpha0={"x": numbers}) for numbers in ([1.5, 0.5], (1.5, 0.5)))
    assert len({one, other}) == 1


@pytest.mark.parametrize("alpha0", [{"y": [1e-120, 1.0]}, {"y": [1.0, 1e120]}, 1e-120])
def test_a_prior_that_a_file_could_not_hold_is_refused(alpha0):
    with pytest.raises(InputError, match=r"between 1e-100 and 1e\+100"):
        cs.HDS(alpha0=alpha0)


@pytest.mark.parametrize("numbers", ["ab", [[1.0, 2.0]], 1.0, {"a": 1.0}])
def test_a_prior_by_state_is_a_list_of_numbers(numbers):
    with pytest.raises(InputError, match="alpha0 of 'y' must be a list of numbers"):
        cs.HDS(alpha0={"y": numbers})


def test_a_table_without_rows_asks_for_an_estimator_with_a_prior():
    empty = cs.read({"x": ["y", "n"]}).take(slice(0, 0))
    with pytest.raises(DataError, match=r"choose an estimator with a prior, such as cs\.HDC"):
        cs.fit(cs.DAG([], nodes=["x"]), empty)
