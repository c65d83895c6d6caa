"""What every score promises, whatever it makes of the counts."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from score_data import SCORES, STATES, cells_seen, counts_of, name_of, prior_network, read, rows_of

import consilience as cs
from consilience import scores
from consilience.statistics.counts import FIXED_POINT, Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines.memory import Memory
from consilience.statistics.toggles import ToggleRequest
from consilience.structure.scores.score import takes_gaps

every_score = pytest.mark.parametrize("score", SCORES, ids=name_of)
equivalent_scores = pytest.mark.parametrize(
    "score", [score for score in SCORES if score.score_equivalent], ids=name_of
)
some_tables = given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 60))
a_few = settings(max_examples=8)
close = {"rel": 1e-9, "abs": 1e-9}
GRAPH = cs.DAG.parse("[a][b|a][c|a:b]")
EQUIVALENT = {
    "chains and fork": ["[a][b|a][c|b]", "[c][b|c][a|b]", "[b][a|b][c|b]"],
    "complete graphs": ["[a][b|a][c|a:b]", "[b][c|b][a|b:c]", "[c][a|c][b|a:c]", "[c][b|c][a|b:c]"],
    "one arc": ["[a][b|a][c]", "[b][a|b][c]"],
}
COLLIDER = "[a][c][b|a:c]"
CONTINUOUS_ONLY = {"BGe"}  # held to its own laws in test_gaussian_scores.py


def test_every_public_score_is_in_the_registry_and_in_the_contract():
    registered = {name for name in scores.__all__ if hasattr(getattr(scores, name), "local")}
    judged = {type(score).__name__ for score in SCORES} | CONTINUOUS_ONLY
    assert registered == judged


@every_score
def test_a_graph_has_the_sum_of_its_families(score):
    table = read(rows_of())
    families = [("a", ()), ("b", ("a",)), ("c", ("a", "b"))]
    alone = [score.local(counts_of(table, score, one))[0] for one in families]
    assert cs.score(GRAPH, table, score) == pytest.approx(sum(alone), **close)
    assert list(cs.node_scores(GRAPH, table, score).values()) == pytest.approx(alone, **close)


@every_score
def test_a_batch_is_its_families_one_by_one(score):
    table = read(rows_of())
    families = [("a", ("b",)), ("b", ()), ("c", ("a", "b")), ("a", ("c", "b"))]
    counts = counts_of(table, score, *families)
    one_by_one = [score.local([one])[0] for one in counts]
    np.testing.assert_allclose(score.local(counts), one_by_one, rtol=1e-13, atol=1e-13)


@every_score
@pytest.mark.parametrize("parents", [(), ("b",), ("a", "b")], ids=len)
def test_neighbors_counted_in_one_pass_score_like_families_counted_alone(score, parents):
    table = read(rows_of())
    others = tuple(name for name in "ab" if name not in parents)
    request = ToggleRequest(cs.Family("c", parents), others, score.by_source)
    batch = Memory(table).gather(request)
    alone = cs.count(table, request.families, by_source=score.by_source)
    np.testing.assert_allclose(score.local(batch), score.local(alone), rtol=1e-12, atol=1e-12)


@equivalent_scores
@some_tables
@a_few
def test_equivalent_graphs_have_equal_scores(score, seed, n_rows):
    table = read(rows_of(n_rows, seed))
    for graphs in EQUIVALENT.values():
        found = [cs.score(cs.DAG.parse(graph), table, score) for graph in graphs]
        assert found == pytest.approx([found[0]] * len(found), **close)


@every_score
def test_the_collider_is_another_model_than_the_chain(score):
    table = read(rows_of(200))
    chain = cs.score(cs.DAG.parse("[a][b|a][c|b]"), table, score)
    assert cs.score(cs.DAG.parse(COLLIDER), table, score) != pytest.approx(chain, rel=1e-4)


@every_score
def test_a_score_that_claims_no_equivalence_has_none(score):
    if score.score_equivalent:
        return
    rows = rows_of(400)
    if takes_gaps(score):  # equivalent as long as there are none
        rows["a"] = np.where(np.arange(400) % 7 == 0, None, rows["a"].astype(object))
    table = read(rows, STATES | {"a": ["0", "1", "never"]})
    one, two = (cs.score(cs.DAG.parse(graph), table, score) for graph in EQUIVALENT["one arc"])
    assert one != pytest.approx(two, rel=1e-6)


@every_score
@some_tables
@a_few
def test_the_order_of_rows_columns_and_states_does_not_matter(score, seed, n_rows):
    rows = rows_of(n_rows, seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    turned = {name: rows[name][order] for name in ("c", "source", "b", "a")}
    other = read(turned, {name: states[::-1] for name, states in STATES.items()})
    graph = cs.DAG.parse("[c|b:a][b|a][a]")
    assert cs.score(graph, other, score) == pytest.approx(
        cs.score(GRAPH, read(rows), score), **close
    )


@every_score
def test_a_row_of_weight_two_is_two_rows(score):
    rows = rows_of()
    twice = {name: np.concatenate([column, column[:20]]) for name, column in rows.items()}
    weighted = read(rows | {"n": np.array([2] * 20 + [1] * 40)}, weight="n")
    assert cs.score(GRAPH, weighted, score) == pytest.approx(
        cs.score(GRAPH, read(twice), score), **close
    )


@every_score
def test_whole_numbers_in_fixed_point_are_whole_numbers(score):
    (counts,) = counts_of(read(rows_of()), score, ("c", ("a", "b")))
    fixed = Counts(
        counts.child,
        counts.given,
        counts.source,
        counts.table * FIXED_POINT,
        counts.n_rows * FIXED_POINT,
        FIXED_POINT,
    )
    assert score.local([fixed]) == pytest.approx(score.local([counts]), **close)


@every_score
def test_pooled_scores_pool_counts_that_come_by_source(score):
    table = read(rows_of())
    family = cs.Family("c", ("a", "b"))
    apart = cs.count(table, [family], by_source=True)
    if not score.by_source:
        alike = cs.count(table, [family])
        np.testing.assert_array_equal(score.local(apart), score.local(alike))
        np.testing.assert_array_equal(
            score.local(CountBatch.of(apart, by_source=True)), score.local(alike)
        )


@every_score
@pytest.mark.parametrize("family", [("a", ()), ("c", ("a", "b"))], ids=lambda one: len(one[1]))
def test_no_rows_score_no_more_than_the_prior_of_the_graph(score, family):
    schema = read(rows_of()).schema
    counts = Counts.empty(schema, cs.Family(*family), by_source=score.by_source)
    (found,) = score.local([counts])
    assert np.isfinite(found)
    if not isinstance(
        score, cs.scores.MAP | cs.AIC | cs.scores.EBIC
    ):  # these judge the graph without rows
        assert found == 0


def sparse(counts):
    """The same counts, held for the parent states that were seen only."""
    filled = np.flatnonzero(counts.table.sum(axis=(0, 2)))
    shape = [variable.n_states for variable in counts.given]
    seen = np.stack(np.unravel_index(filled, shape), axis=1)
    return Counts(
        counts.child,
        counts.given,
        counts.source,
        counts.table[:, filled],
        counts.n_rows,
        counts.scale,
        seen.astype(np.int64),
    )


@every_score
def test_parent_states_never_seen_need_not_be_held(score):
    full, other = counts_of(read(rows_of(12)), score, ("c", ("a", "b")), ("b", ()))
    assert len(sparse(full).seen) < full.n_parent_states
    np.testing.assert_allclose(
        score.local([sparse(full), other]), score.local([full, other]), rtol=1e-12
    )


@every_score
def test_many_parents_and_few_rows_score_finitely(score):
    if isinstance(score, cs.scores.BDe | cs.scores.EBIC):
        return  # these know the variables of the contract's tables only
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(30)]
    columns = {name: rng.integers(0, 3, 40).astype(str) for name in names}
    table = cs.read(columns | {"source": np.array(["f", "g"] * 20)}, source="source")
    counts = counts_of(table, score, ("x0", tuple(names[1:])), ("x0", ("x1",)))
    assert counts[0].seen is not None
    assert np.isfinite(score.local(counts)).all()


VARIED = {
    cs.scores.EBIC: [{"n_variables": 3}, {"n_variables": 8}, {"n_variables": 3, "gamma": 1.0}],
    cs.BDeu: [{}, {"ess": 2.0}],
    cs.scores.BDs: [{}, {"ess": 2.0}],
    cs.scores.BDe: [
        {"network": prior_network()},
        {"network": prior_network(), "ess": 2.0},
        {"network": cs.random_network(GRAPH, n_states={"a": 2, "b": 3, "c": 2}, seed=1)},
    ],
    cs.scores.PNAL: [{}, {"c": 0.5}, {"alpha": 0.3}],
    cs.scores.HeldOut: [{}, {"share": 0.5}, {"ess": 2.0}],
    cs.scores.CrossValidated: [{}, {"folds": 2}, {"ess": 2.0}],
    cs.scores.PerSource: [{"score": cs.BDeu()}, {"score": cs.BIC()}],
    cs.BHD: [{}, {"s": 2.0}, {"ess": 2.0}, {"bound": True}],
    cs.scores.BySource: [{"score": cs.BIC()}, {"score": cs.AIC()}],
    cs.scores.MAP: [
        {"score": cs.BDeu(), "prior": cs.scores.UniformPrior()},
        {"score": cs.BIC(), "prior": cs.scores.UniformPrior()},
        {"score": cs.BDeu(), "prior": cs.scores.VariableSelection(0.1)},
        {"score": cs.BDeu(), "prior": cs.scores.VariableSelection(0.2)},
        {"score": cs.BDeu(), "prior": cs.scores.ArcPrior({("a", "b"): 0.3})},
        {"score": cs.BDeu(), "prior": cs.scores.ArcPrior({("a", "b"): 0.3}, others=0.4)},
    ],
    cs.scores.CustomScore: [
        {"function": cells_seen},
        {"function": lambda counts: 1.0},
        {"function": cells_seen, "by_source": True},
    ],
}


@pytest.mark.parametrize("kind", dict.fromkeys(map(type, SCORES)), ids=lambda kind: kind.__name__)
def test_every_parameter_can_change_the_answer(kind):
    table = read(rows_of())
    choices = VARIED.get(kind, [{}])
    named = {name for choice in choices for name in choice}
    assert set(inspect.signature(kind).parameters) - named <= {"name", "score_equivalent"}
    found = [cs.score(GRAPH, table, kind(**choice)) for choice in choices]
    assert len({round(one, 6) for one in found}) == len(choices)


@pytest.mark.parametrize(
    "score",
    [cs.scores.FNML(), cs.scores.QNML(), cs.scores.HeldOut(), cs.scores.CrossValidated(), cs.BHD()],
    ids=repr,
)
def test_sums_over_whole_rows_refuse_fractions(score):
    table = read(rows_of() | {"n": np.full(60, 0.51)}, weight="n")
    with pytest.raises(ValueError, match=r"counts of 'a' given none are not whole.*cs.BDeu\(\)"):
        cs.score(GRAPH, table, score)


@every_score
def test_a_climb_ends_at_a_graph_whose_score_it_reports(score):
    table = read(rows_of(200))
    found = cs.search(table, score=score, search=cs.HillClimb(restarts=2))
    assert found.score == pytest.approx(cs.score(found.dag, table, score), **close)
    assert found.score >= cs.score(cs.DAG(nodes=list("abc")), table, score)
