"""Scores of several sources: separate sums, and the hierarchy against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hierarchy_oracles import rational, two_states
from score_data import read, rows_of

import consilience as cs
from consilience.statistics.counts import Counts
from consilience.structure.scores import source_scores
from consilience.structure.scores.source_scores import _solved


def local(score, *counts):
    return score.local(counts)[0]


def small_table(seed, n_rows=14):
    """Two variables of two and three states in up to three sources."""
    rng = np.random.default_rng(seed)
    n_sources = int(rng.integers(1, 4))
    return cs.read(
        {
            "x": rng.integers(0, 2, n_rows).astype(str),
            "y": rng.integers(0, 3, n_rows).astype(str),
            "source": np.array([f"f{i % n_sources}" for i in range(n_rows)]),
        },
        source="source",
        states={"x": ["0", "1"], "y": ["0", "1", "2"]},
    )


@pytest.mark.parametrize("score", [cs.BDeu(2), cs.BIC(), cs.scores.QNML()], ids=repr)
def test_separate_parameters_are_a_sum_over_the_sources(score):
    rows = rows_of(90)
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    parts = [
        {name: column[rows["source"] == f] for name, column in rows.items()}
        for f in ("f0", "f1", "f2")
    ]
    apart = sum(cs.score(dag, read(part), score) for part in parts)
    assert cs.score(dag, read(rows), cs.scores.PerSource(score)) == pytest.approx(apart, rel=1e-12)


def test_without_sources_there_is_nothing_to_separate():
    table = cs.read({"x": ["a", "b", "b"], "y": ["a", "a", "b"]})
    dag = cs.DAG([("x", "y")])
    assert cs.score(dag, table, cs.scores.PerSource(cs.scores.K2())) == cs.score(
        dag, table, cs.scores.K2()
    )


def test_separate_counts_have_the_rows_of_their_source():
    seen = []
    score = cs.scores.CustomScore(lambda counts: seen.append(float(counts.n_rows.sum())) or 0.0)
    cs.score(cs.DAG(nodes=["a"]), read(rows_of(90)), cs.scores.PerSource(score))
    assert sum(seen) == 90
    assert len(seen) == 3


@pytest.mark.parametrize("score", [cs.BHD(), cs.scores.PerSource(cs.scores.K2())], ids=repr)
def test_what_compares_sources_cannot_be_applied_to_each(score):
    with pytest.raises(ValueError, match="PerSource: the score of one source's counts cannot be"):
        cs.scores.PerSource(score)


def test_a_prior_over_graphs_does_not_count_once_a_source():
    with pytest.raises(ValueError, match=r"cs\.scores\.MAP\(cs\.scores\.PerSource\(score\), "):
        cs.scores.PerSource(cs.scores.MAP(cs.BDeu(), cs.scores.UniformPrior()))


def test_the_penalty_of_ebic_can_count_once_for_all_sources():
    table, dag = read(rows_of(90)), cs.DAG.parse("[a][b|a][c|a:b]")
    outside = cs.scores.MAP(
        cs.scores.PerSource(cs.BIC()), cs.scores.VariableSelection(1 / (1 + 8**0.5))
    )
    apart = cs.score(dag, table, cs.scores.PerSource(cs.BIC()))
    once = 3 * 0.5 * np.log(8)  # arcs, gamma, log p
    assert cs.score(dag, table, outside) == pytest.approx(apart - once, rel=1e-12)
    within = cs.score(dag, table, cs.scores.PerSource(cs.scores.EBIC(8)))
    assert within == pytest.approx(apart - 3 * once, rel=1e-12)


def test_a_class_is_no_score():
    with pytest.raises(ValueError, match=r"PerSource: score must be a choice such as cs\.BIC\(\)"):
        cs.scores.PerSource(cs.BDeu)


# The hierarchical score.


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("s", "ess"), [(10, 10), (Fraction(1, 2), 3), (40, Fraction(1, 4))])
def test_the_hierarchical_score_is_a_quotient_of_exact_evidences(seed, s, ess):
    table = small_table(seed)
    (counts,) = cs.count(table, cs.Family("y", ("x",)), by_source=True)
    joint = counts.table.reshape(len(counts.table), -1)
    expected = (
        rational(joint, Fraction(s), Fraction(ess) / 6)[-1]
        - rational(counts.table.sum(axis=2), Fraction(s), Fraction(ess) / 2)[-1]
    )
    found = local(cs.BHD(s=float(s), ess=float(ess)), counts)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_both_directions_of_an_arc_have_the_evidence_of_the_joint_table(seed):
    table = small_table(seed)
    (counts,) = cs.count(table, cs.Family("y", ("x",)), by_source=True)
    joint = rational(counts.table.reshape(len(counts.table), -1), Fraction(10), Fraction(10, 6))
    for arc in (("x", "y"), ("y", "x")):
        found = cs.score(cs.DAG([arc]), table, cs.BHD())
        assert found == pytest.approx(joint[-1], rel=1e-12)


def test_larger_counts_agree_with_quadrature():
    table = cs.read(
        {"f": {"x": ["a", "b"], "n": [200, 60]}, "g": {"x": ["a", "b"], "n": [5, 31]}}, weight="n"
    )
    (counts,) = cs.count(table, cs.Family("x"), by_source=True)
    expected = two_states(counts.table[:, 0], 10.0, 5.0)[-1]
    assert local(cs.BHD(), counts) == pytest.approx(expected, rel=1e-10)


def test_joint_states_never_seen_are_one_state_with_their_prior_together():
    table = np.zeros((2, 7), np.int64)
    table[:, [1, 3, 6]] = [[4, 1, 0], [2, 2, 5]]
    expected = rational(table, Fraction(3), Fraction(5, 7))[-1]
    assert cs.BHD(s=3, ess=5)._log_evidence(table, 7.0) == pytest.approx(expected, rel=1e-12)


def test_with_one_row_a_source_the_strength_does_not_matter():
    table = cs.read({f: {"x": [x], "y": [y]} for f, x, y in ("fab", "gbb", "haa")})
    dag = cs.DAG([("x", "y")])
    found = [cs.score(dag, table, cs.BHD(s=s)) for s in (0.1, 10.0, 1e4)]
    assert found == pytest.approx([cs.score(dag, table, cs.BDeu(ess=10))] * 3, rel=1e-9)


def test_a_very_large_strength_pools_the_sources():
    table = read(rows_of(100))
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    assert cs.score(dag, table, cs.BHD(s=1e9, ess=4)) == pytest.approx(
        cs.score(dag, table, cs.BDeu(ess=4)), rel=1e-6
    )


def test_a_source_without_rows_changes_nothing():
    table = read(rows_of(60))
    (counts,) = cs.count(table, cs.Family("c", ("a",)), by_source=True)
    more = cs.Variable("source", (*counts.sources, "empty"))
    wider = Counts(
        counts.child,
        counts.given,
        more,
        np.concatenate([counts.table, np.zeros((1, 2, 2), np.int64)]),
        np.append(counts.n_rows, 0),
    )
    assert local(cs.BHD(), wider) == pytest.approx(local(cs.BHD(), counts), rel=1e-13)


def test_equal_tables_are_solved_once():
    _solved.cache_clear()
    table = read(rows_of(60))
    for graph in ("[a][b|a][c|a:b]", "[c][b|c][a|b:c]", "[b][a|b][c|a:b]"):
        cs.score(cs.DAG.parse(graph), table, cs.BHD())
    assert _solved.cache_info().misses <= 7 + 1  # sets of variables, and no variable at all


def test_large_tables_are_not_remembered(monkeypatch):
    table = read(rows_of(60))
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    expected = cs.score(dag, table, cs.BHD())
    _solved.cache_clear()
    monkeypatch.setattr(source_scores, "MOST_KEPT", -1)
    assert cs.score(dag, table, cs.BHD()) == expected
    assert _solved.cache_info().currsize == 0


@pytest.fixture
def one_refused(monkeypatch):
    """Counts of two families, of which the second one's evidence takes too long."""
    families = [cs.Family("a"), cs.Family("c", ("a", "b"))]
    counts = cs.count(read(rows_of(60)), families, by_source=True)
    allowed = source_scores.can_be_exact

    def few_states(table, s, prior, most_work):
        return allowed(table, s, prior, most_work) & (table.shape[2] <= 2)

    monkeypatch.setattr(source_scores, "can_be_exact", few_states)
    _solved.cache_clear()
    yield counts
    _solved.cache_clear()


@pytest.mark.parametrize(
    "score",
    [cs.BHD(), cs.scores.MAP(cs.BHD(), cs.scores.VariableSelection(0.2))],
    ids=["BHD", "MAP"],
)
def test_a_family_that_takes_too_long_has_minus_infinity_and_the_others_their_score(
    score, one_refused
):
    found = score.local(one_refused)
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    assert "evidence of 'c' given 'a', 'b' would take" in score.refusal(one_refused[1].family)


@pytest.mark.parametrize(
    "score",
    [cs.BHD(), cs.scores.MAP(cs.BHD(), cs.scores.VariableSelection(0.2))],
    ids=["BHD", "MAP"],
)
@pytest.mark.parametrize("search", [cs.HillClimb(), cs.Exact()], ids=["climb", "exact"])
def test_a_search_that_meets_such_a_family_judges_all_by_the_bound(score, search, one_refused):
    table = read(rows_of(60))
    found = cs.search(table, score=score, search=search)
    plain = cs.search(table, score=source_scores.bounded(score), search=search)
    assert (found.dag, found.score) == (plain.dag, plain.score)
    assert found.notes[0].startswith("The exact evidence of")
    assert not any("left out" in note for note in found.notes)
    assert "bound=True" in found.judged_by


def test_the_bound_is_below_the_evidence_and_near_it():
    table = read(rows_of(60))
    (joint,) = cs.count(table, [cs.Family("a")], by_source=True)
    exact, bound = (cs.BHD(bound=bound)._log_evidence(joint.table, 2.0) for bound in (False, True))
    assert exact - 1.0 < bound < exact


class Picky:
    """A score that judges no family."""

    by_source = False
    score_equivalent = True

    def local(self, batch):
        return np.full(len(batch), -np.inf)

    def refusal(self, family):
        return f"not {family.child}"


def test_separate_parameters_pass_a_refusal_on(one_refused):
    score = cs.scores.PerSource(Picky())
    assert score.local(one_refused).tolist() == [-np.inf, -np.inf]
    assert score.refusal(cs.Family("a")) == "not a"


def test_a_score_that_refuses_nothing_has_no_refusal():
    for score in (
        cs.scores.PerSource(cs.BDeu()),
        cs.scores.MAP(cs.BDeu(), cs.scores.UniformPrior()),
    ):
        assert not hasattr(score, "refusal")


def test_a_family_that_takes_too_long_is_refused_with_the_choices(monkeypatch):
    monkeypatch.setattr(source_scores, "MOST_WORK", 1.0)
    _solved.cache_clear()
    with pytest.raises(ValueError, match=r"evidence of 'a' given none") as caught:
        cs.score(cs.DAG.parse("[a][b|a]"), read(rows_of(60)), cs.BHD())
    _solved.cache_clear()
    assert "max_parents" in str(caught.value)
    assert "BHD(bound=True)" in str(caught.value)
    assert caught.value.culprits["family"] == cs.Family("a")


def test_whether_to_bound_is_a_truth_value():
    with pytest.raises(ValueError, match="bound must be True or False"):
        cs.BHD(bound=1)


@pytest.mark.parametrize("parameters", [{"s": 0}, {"ess": -1}, {"s": float("nan")}])
def test_strength_and_prior_are_positive(parameters):
    with pytest.raises(ValueError, match=r"BHD: (s|ess) must be positive"):
        cs.BHD(**parameters)
