"""Beliefs about graphs from rows: exact, by chains, by replicates, and what is done with them."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.averaging.averaged_answers import matching_estimator
from consilience.averaging.candidate_tables import tables_of
from consilience.averaging.replicates import data_driven_threshold
from consilience.errors import (
    ConsilienceError,
    DataError,
    ImpossibleEvidenceError,
    InputError,
    MemoryLimitError,
)
from consilience.graph.random import all_dags
from consilience.statistics.gather import engine_of
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.rows_task import look_at, task_on
from consilience.structure.searches.task import Clock


@pytest.fixture(scope="module")
def rows():
    dag = cs.DAG([("a", "b"), ("b", "c"), ("d", "c")])
    net = cs.random_network(dag, n_states={"a": 2, "b": 3, "c": 2, "d": 2}, seed=4)
    return net.sample(60, seed=1)


@pytest.fixture(scope="module")
def many():
    dag = cs.random_dag(10, n_arcs=12, max_parents=3, seed=3)
    return cs.random_network(dag, seed=5).sample(300, seed=2)


def by_enumeration(rows, score):
    """Each graph with its probability, all graphs equally likely."""
    graphs = list(all_dags(list(rows.variables)))
    log = np.array([cs.score(dag, rows, score) for dag in graphs])
    shares = np.exp(log - log.max())
    return graphs, shares / shares.sum(), log


SCORES = [cs.BDeu(ess=1), cs.BIC(), cs.scores.MAP(cs.BDeu(), cs.scores.VariableSelection(0.2))]


@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_exact_beliefs_are_those_of_all_graphs(rows, score):
    graphs, shares, log = by_enumeration(rows, score)
    belief = cs.average(rows, score=score, by=cs.averaging.Subsets(draws=10))
    for start in belief.nodes:
        for end in belief.nodes:
            has = np.array([(start, end) in dag.arcs for dag in graphs])
            assert belief.arcs[start, end] == pytest.approx(shares @ has, abs=1e-10)
    if belief.log_evidence is not None:
        wanted = np.logaddexp.reduce(log) - np.log(len(graphs))
        assert belief.log_evidence == pytest.approx(wanted, rel=1e-12)


def test_constraints_hold_in_every_graph(rows):
    wanted = {"require": [("d", "a")], "forbid": [("a", "b")], "tiers": [["d"], ["c"]]}
    ways = [
        cs.averaging.Subsets(draws=50),
        cs.averaging.Subsets(prior=cs.averaging.OrderModular(), draws=50),
        cs.averaging.OrderMCMC(draws=20, chains=2, warmup=20),
        cs.averaging.PartitionMCMC(draws=20, chains=2, warmup=20),
        cs.averaging.Bootstrap(replicates=5),
    ]
    for way in ways:
        belief = cs.average(rows, by=way, **wanted)
        assert belief.arcs["d", "a"] == pytest.approx(1.0)
        assert belief.arcs["a", "b"] == belief.arcs["c", "d"] == 0.0
        assert sum(one.weight for one in belief.graphs) == pytest.approx(1.0)
        for dag, _ in belief.graphs:
            assert ("d", "a") in dag.arcs
            assert not {("a", "b"), ("c", "d")} & set(dag.arcs)
        assert ("d", "a") in belief.averaged().arcs


@pytest.mark.parametrize(
    ("way", "prior"),
    [
        (cs.averaging.OrderMCMC, cs.averaging.OrderModular()),
        (cs.averaging.PartitionMCMC, cs.averaging.UniformGraphs()),
    ],
)
def test_chains_agree_with_exact_sums_on_ten_variables(many, way, prior):
    exact = cs.average(many, by=cs.averaging.Subsets(prior=prior, draws=1, max_parents=4))
    by = way(draws=1000, chains=4, warmup=200, thin=3, candidates=9, max_parents=4, seed=1)
    belief = cs.average(many, by=by)
    chains = belief.chains
    assert chains.has_met
    size = np.maximum(chains.effective_size, 4.0)
    p = exact.arcs.matrix
    error = np.sqrt(np.maximum(p * (1 - p), 1e-4) / size)
    off = ~np.eye(10, dtype=bool)
    assert (np.abs(belief.arcs.in_order(exact.nodes).matrix - p) / error)[off].max() < 5.5


def test_tables_of_candidates_hold_the_scores_of_families(many):
    names = tuple(sorted(many.variables))
    task = task_on(
        look_at(engine_of(many), names, 1e9),
        cs.BDeu(),
        Constraints.of(names),
        rng=np.random.default_rng(0),
        clock=Clock(),
        memory_limit=1e9,
    )
    scores = task.local_scores(3)
    chosen = [tuple(y for y in (1, 4, 8) if y != x) for x in range(10)]
    tables = tables_of(task, scores, chosen)
    for x, mask, y in [(0, 0b101, 2), (5, 0b11, 9), (7, 0b010, 0)]:
        inside = sum(1 << c for v, c in enumerate(chosen[x]) if mask >> v & 1)
        assert tables.one[x, mask] == pytest.approx(scores.one(x, inside))
        assert tables.one_more[x, mask, y] == pytest.approx(scores.one(x, inside | 1 << y))
    assert tables.one_more[0, 0b111, 2] == -np.inf  # more than three parents


def test_a_parent_from_outside_the_candidates_is_found(many):
    exact = cs.average(many, by=cs.averaging.Subsets(prior=cs.averaging.OrderModular(), draws=1))
    by = cs.averaging.OrderMCMC(draws=400, chains=2, warmup=100, candidates=2, seed=3)
    belief = cs.average(many, by=by)
    assert np.abs(belief.arcs.matrix - exact.arcs.matrix).max() < 0.15


@pytest.mark.parametrize("way", [cs.averaging.OrderMCMC, cs.averaging.PartitionMCMC])
def test_the_same_seed_gives_the_same_graphs(rows, way):
    first, second = (cs.average(rows, by=way(draws=20, chains=2, warmup=5, seed=9)) for _ in "ab")
    other = cs.average(rows, by=way(draws=20, chains=2, warmup=5, seed=10))
    assert (first.chains.arcs == second.chains.arcs).all()
    assert (first.chains.arcs != other.chains.arcs).any()


def test_the_order_of_columns_changes_no_belief(rows):
    turned = rows.select(list(rows.variables)[::-1])
    first, second = cs.average(rows), cs.average(turned)
    assert second.nodes == first.nodes[::-1]
    assert second.arcs.matrix == pytest.approx(first.arcs.matrix[::-1, ::-1])


def test_the_default_is_exact_for_few_variables(rows):
    belief = cs.average(rows)
    assert belief.method == f"{cs.averaging.Subsets()!r}, BDeu(ess=1.0)"


def test_continuous_rows_are_judged_by_bge():
    rng = np.random.default_rng(1)
    x = rng.normal(size=100)
    rows = cs.read({"x": x, "y": x + 0.3 * rng.normal(size=100), "z": rng.normal(size=100)})
    belief = cs.average(rows)
    assert "BGe" in belief.method
    assert belief.arcs.adjacency("x", "y") > 0.99
    assert belief.query("y", given={"x": 1.0}).mean == pytest.approx(1.0, abs=0.2)
    mean, sd = belief.posteriors(rows.take([0]), "y")[0]
    assert mean == pytest.approx(x[0], abs=0.3)
    assert 0.2 < sd < 0.5


@pytest.mark.parametrize(
    "score", [cs.BHD(), cs.BDeu(), cs.scores.PerSource(cs.BDeu()), None], ids=repr
)
def test_sources_go_with_every_score_for_them(rows, score):
    frame = rows.to_frame()
    both = cs.read({"rome": frame.iloc[:30], "oslo": frame.iloc[30:]})
    belief = cs.average(both, score=score, by=cs.averaging.Subsets(draws=20))
    shares = belief.query("a")
    assert shares.values.sum() == pytest.approx(1.0)
    assert belief.posteriors(both, "c").sum(axis=1) == pytest.approx(1.0)


def test_queries_are_averaged_over_graphs_with_what_is_known_of_the_case(rows):
    belief = cs.average(rows, by=cs.averaging.Subsets(draws=40))
    nets = belief.networks()
    joint = sum(w * net.probability({"a": "0", "c": "1"}) for net, w in nets)
    given = sum(w * net.probability({"c": "1"}) for net, w in nets)
    assert belief.query("a", given={"c": "1"})["0"] == pytest.approx(joint / given)
    case = rows.take([0])
    states = {name: rows.variables[name].states[case.columns[name][0]] for name in "bcd"}
    found = belief.query("a", given=states)
    assert belief.posteriors(case, "a")[0] == pytest.approx(found.values)
    whole = {**states, "a": rows.variables["a"].states[case.columns["a"][0]]}
    wanted = np.log(sum(w * net.probability(whole) for net, w in nets))
    assert belief.log_likelihood(case)[0] == pytest.approx(wanted)


def test_networks_are_fitted_as_fit_does(rows):
    belief = cs.average(rows, by=cs.averaging.Subsets(draws=5))
    for net, (dag, weight) in zip(belief.networks(), belief.graphs, strict=True):
        wanted = cs.fit(dag, rows, cs.Dirichlet(ess=1))
        assert net[1] == weight
        for node in dag.nodes:
            assert net[0][node].table == pytest.approx(wanted[node].table)


def test_gaps_in_rows_that_are_predicted_are_summed_out(rows):
    belief = cs.average(rows, by=cs.averaging.Subsets(draws=10))
    gap = cs.read({"a": ["0"], "b": [None], "c": ["1"], "d": ["0"]}, schema=rows.variables)
    found = belief.query("a", given={"c": "1", "d": "0"})
    assert belief.posteriors(gap, "a")[0] == pytest.approx(found.values)


@pytest.mark.parametrize(
    ("score", "estimator"),
    [
        (cs.BDeu(ess=3), cs.Dirichlet(ess=3)),
        (cs.scores.K2(), cs.Dirichlet(per_cell=1.0)),
        (cs.scores.BDJ(), cs.Dirichlet(per_cell=0.5)),
        (cs.BHD(s=7, ess=4), cs.HDMJS(s=7, alpha0=4)),
        (cs.scores.PerSource(cs.BDeu(ess=2)), cs.Separate(cs.Dirichlet(ess=2))),
        (cs.scores.MAP(cs.BDeu(), cs.scores.UniformPrior()), cs.Dirichlet(ess=1.0)),
        (cs.BIC(), None),
    ],
)
def test_tables_have_the_prior_of_the_score(score, estimator):
    assert repr(matching_estimator(score)) == repr(estimator)


def test_strengths_of_replicates_count_undirected_pairs_by_half(rows):
    belief = cs.average(rows, by=cs.averaging.Bootstrap(replicates=10, seed=1))
    again = cs.average(rows, by=cs.averaging.Bootstrap(replicates=10, seed=1))
    assert (belief.arcs.matrix == again.arcs.matrix).all()
    halves = 20 * belief.arcs.matrix
    assert halves == pytest.approx(np.round(halves))
    assert belief.arcs.adjacencies.max() <= 1.0


def test_replicates_keep_the_rows_of_each_source():
    table = cs.read({"rome": {"x": list("ab") * 5}, "oslo": {"x": list("ab") * 20}})
    drawn = cs.averaging.Bootstrap()._drawn(table, np.random.default_rng(1))
    sizes = [drawn.weights[drawn.source_codes == f].sum() for f in range(2)]
    assert sizes == [10, 40]
    whole = cs.averaging.Bootstrap(within_sources=False)._drawn(table, np.random.default_rng(1))
    assert whole.total_weight == 50


def test_replicates_take_rows_with_gaps():
    rows = cs.read({"x": [*"aabb" * 10, None], "y": [*"aabb" * 10, "a"]})
    belief = cs.average(rows, by=cs.averaging.Bootstrap(replicates=3))
    assert belief.arcs.adjacency("x", "y") == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_is_closest_to_strengths_of_zero_and_one(seed):
    strengths = np.triu(np.random.default_rng(seed).random((5, 5)).round(2), 1)
    pairs = np.sort(strengths[np.triu_indices(5, 1)])
    x = (np.arange(20000) + 0.5) / 20000
    cumulative = np.searchsorted(pairs, x, side="right") / len(pairs)
    levels = np.arange(len(pairs) + 1) / len(pairs)
    best = levels[np.argmin([np.abs(cumulative - t).mean() for t in levels])]
    wanted = pairs[round(best * len(pairs)) - 1] if best else 0.0
    assert data_driven_threshold(strengths + strengths.T) == wanted


def test_an_averaged_graph_has_no_cycle():
    matrix = np.zeros((3, 3))
    matrix[0, 1] = matrix[1, 2] = matrix[2, 0] = 0.6
    matrix[0, 2] = 0.1
    arcs = cs.averaging.ArcBeliefs(("a", "b", "c"), matrix)
    assert set(arcs.averaged(0.5).arcs) == {("a", "b"), ("b", "c"), ("a", "c")} or set(
        arcs.averaged(0.5).arcs
    ) == {("c", "a"), ("a", "b")}
    assert arcs.averaged(0.65).arcs == (("c", "a"),)


def test_probability_of_several_arcs(rows):
    belief = cs.average(rows, by=cs.averaging.Subsets(draws=200))
    both = belief.probability([("a", "b"), ("b", "c")])
    assert 0 <= both <= belief.probability([("a", "b")]) <= 1


def test_arviz_reads_the_draws(rows):
    belief = cs.average(rows, by=cs.averaging.OrderMCMC(draws=10, chains=2, warmup=5))
    posterior = belief.chains.to_arviz()["posterior"]
    assert posterior["log_score"].shape == (2, 10)
    assert posterior["arcs"].shape == (2, 10, 4, 4)


def test_scores_of_drawn_graphs_are_their_scores(rows):
    belief = cs.average(rows, by=cs.averaging.PartitionMCMC(draws=10, chains=1, warmup=5))
    chains = belief.chains
    for k in range(10):
        dag = cs.DAG.from_adjacency(chains.arcs[0, k], chains.nodes)
        assert chains.log_scores[0, k] == pytest.approx(cs.score(dag, rows, cs.BDeu(ess=1)))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda rows: cs.average(rows, by="exact"), InputError, "by must be"),
        (lambda rows: cs.average(rows, score="bic"), InputError, "score must be"),
        (lambda rows: cs.averaging.Subsets(prior="uniform"), InputError, "prior must be"),
        (lambda rows: cs.averaging.Subsets(draws=0), InputError, "draws"),
        (lambda rows: cs.averaging.OrderMCMC(draws=1), InputError, "draws"),
        (lambda rows: cs.averaging.PartitionMCMC(chains=0), InputError, "chains"),
        (lambda rows: cs.averaging.Bootstrap(search=3), InputError, "search must be"),
        (lambda rows: cs.average(rows).averaged(2), InputError, "threshold"),
        (lambda rows: cs.average(rows).arcs["a", "q"], ConsilienceError, "'q'"),
        (lambda rows: cs.average(rows).posteriors(rows, "q"), ConsilienceError, "'q'"),
    ],
)
def test_bad_input_is_refused(rows, call, kind, words):
    with pytest.raises(kind, match=words):
        call(rows)


def test_too_many_variables_are_refused_before_anything_is_allocated():
    rows = cs.read({f"x{i}": ["a", "b"] for i in range(30)})
    with pytest.raises(MemoryLimitError, match="PartitionMCMC"):
        cs.average(rows, by=cs.averaging.Subsets())


def test_rows_with_gaps_are_refused_by_exact_sums():
    rows = cs.read({"x": ["a", None, "b"], "y": ["a", "b", "b"]})
    with pytest.raises(DataError):
        cs.average(rows)


def test_impossible_evidence_is_refused():
    rows = cs.read({"x": list("aabb"), "y": list("aabb")}, states={"y": ["a", "b", "c"]})
    belief = cs.average(rows, by=cs.averaging.Subsets(draws=5))
    with pytest.raises(ImpossibleEvidenceError, match="'y'"):
        belief.query("x", given={"y": "c"}, estimator=cs.MLE())


def test_rows_with_gaps_are_refused_with_the_way_that_takes_them():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 120)
    gaps = np.where(rng.random(120) < 0.1, None, a.astype(str))
    table = cs.read({"a": gaps, "b": np.where(rng.random(120) < 0.9, a, 1 - a).astype(str)})
    with pytest.raises(DataError, match=r"by=cs\.averaging\.Bootstrap\(\)"):
        cs.average(table)
    belief = cs.average(table, by=cs.averaging.Bootstrap(replicates=5))
    assert belief.arcs.matrix.sum() > 0.9
