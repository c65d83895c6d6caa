from __future__ import annotations

import pytest

import consilience as cs
from consilience.errors import DataError, GraphError, InputError, ModelError, UnknownNameError

ROWS = {"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("abab") * 5}
TABLE = cs.read({"north": ROWS, "south": ROWS}, source="place")


def test_a_column_that_no_row_has_a_value_of_is_refused():
    rows = cs.read({"x": ["a", "b", "a"], "y": [None, None, None]}, states={"y": ["c", "d"]})
    with pytest.raises(DataError, match="no row has a value of 'y'"):
        cs.learn(rows)


def test_the_score_of_a_graph_is_the_sum_over_its_nodes():
    dag = cs.DAG.parse("[x][y|x][z]")
    by_node = cs.node_scores(dag, TABLE, cs.BIC())
    assert list(by_node) == ["x", "y", "z"]
    assert cs.score(dag, TABLE, cs.BIC()) == pytest.approx(sum(by_node.values()))
    assert cs.node_scores(cs.DAG(), TABLE, cs.BIC()) == {}


def test_learning_leaves_the_source_out_of_the_graph():
    assert cs.learn(TABLE) == cs.DAG([("x", "y")], nodes=["z"])


def towns(**options):
    """Two columns that are independent in each source and whose shares differ."""
    rich = {"car": ["yes"] * 90 + ["no"] * 10, "opera": (["yes"] * 8 + ["no"] * 2) * 10}
    poor = {"car": ["yes"] * 10 + ["no"] * 90, "opera": (["yes"] * 2 + ["no"] * 8) * 10}
    return cs.read({"rich": rich, "poor": poor}, source="town", **options)


def test_several_sources_are_judged_pooled_and_by_source_unless_told_otherwise():
    found = cs.search(towns())
    assert found.judged_by == "BySource(score=BIC())"
    assert found.dag.arcs == ()
    assert found.by_source == {"car": "by source", "opera": "by source"}
    assert "Columns that depend on the source: 'car', 'opera' (by source)." in found.notes[0]


def test_sources_that_are_alike_are_pooled_and_the_record_says_so():
    found = cs.search(TABLE)
    assert found.by_source == dict.fromkeys("xyz", "pooled")
    assert found.notes[0].endswith("No column depends on the source.")
    assert found.score == pytest.approx(cs.score(found.dag, TABLE, cs.BIC()))


def test_pooling_is_a_choice_that_the_record_names():
    found = cs.search(towns(), score=cs.BIC())
    assert len(found.dag.arcs) == 1
    assert "rows of the 2 sources were judged together" in found.notes[0]
    assert found.by_source == {}
    alone = cs.search(towns().pooled())
    assert alone.dag == found.dag
    assert (alone.judged_by, alone.notes, alone.by_source) == ("BIC()", (), {})


@pytest.mark.parametrize("score", [None, cs.BIC()], ids=repr)
@pytest.mark.parametrize("search", [cs.searches.ChowLiu(), cs.searches.TANSearch("car")], ids=repr)
def test_a_tree_is_weighed_within_sources_whatever_the_score(score, search):
    found = cs.search(towns(), score=score, search=search)
    assert "Edges were weighed within the 2 sources" in found.notes[0]
    assert not any("judged" in note for note in found.notes)
    assert cs.search(towns().pooled(), score=score, search=search).notes == ()


def test_a_forest_follows_the_score():
    found = cs.search(towns(), score=cs.BIC(), search=cs.searches.ChowLiu(forest=True))
    assert "judged together" in found.notes[0]
    assert len(found.dag.arcs) == 1
    found = cs.search(towns(), search=cs.searches.ChowLiu(forest=True))
    assert "pooled and apart" in found.notes[0]
    assert found.dag.arcs == ()


def test_a_prior_over_graphs_does_not_hide_the_ways():
    found = cs.search(
        towns(), score=cs.scores.MAP(cs.scores.BySource(cs.BIC()), cs.scores.VariableSelection(0.2))
    )
    assert found.by_source == {"car": "by source", "opera": "by source"}


def test_one_gap_changes_neither_the_score_nor_what_it_says_of_the_sources():
    table = towns()
    columns = {name: column.copy() for name, column in table.columns.items()}
    columns["car"][0] = -1
    found = cs.search(cs.Table(table.schema, columns, table.source_codes, table.weights))
    assert found.judged_by == "BySource(score=BIC()), rows completed by structural EM"
    assert found.dag.arcs == ()
    assert found.by_source == {"car": "by source", "opera": "by source"}
    assert any("Columns that depend on the source: 'car', 'opera'" in one for one in found.notes)


def test_a_comparison_judges_as_the_search_does():
    arc, none = cs.DAG([("car", "opera")]), cs.DAG(nodes=["car", "opera"])
    found = cs.compare_graphs(arc, none, table=towns())
    assert (
        found.scores.difference
        < 0
        < cs.score(arc, towns(), cs.BIC()) - cs.score(none, towns(), cs.BIC())
    )


def test_a_budget_of_time_makes_the_default_search_more_patient():
    assert cs.search(TABLE, seconds=60).stopped_by == "optimum"


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"score": cs.BIC}, InputError, "such as cs.BIC()"),
        ({"search": "hc"}, InputError, "such as cs.HillClimb()"),
        ({"seconds": 0}, InputError, "seconds"),
        ({"require": [("x", "place")]}, GraphError, "'place' is the source"),
        ({"require": [("x", "w")]}, UnknownNameError, "'w'"),
        ({"require": "xy"}, InputError, "list of pairs"),
        ({"require": [("x", "y"), ("y", "x")]}, GraphError, "cycle"),
        ({"require": [("x", "y")], "forbid": [("x", "y")]}, GraphError, "forbidden as well"),
        ({"require": [("x", "y")], "tiers": [["y"], ["x"]]}, GraphError, "tiers"),
        ({"tiers": ["x"]}, InputError, "list of lists"),
        ({"tiers": [["x"], ["x"]]}, InputError, "twice"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(wrong, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(").replace(")", r"\)")):
        cs.learn(TABLE, **wrong)


def test_rows_with_gaps_are_completed_and_the_score_of_a_graph_refuses_them():
    gaps = cs.read({"x": [*"aabb" * 5, None], "y": [*"aabb" * 5, "b"]})
    story = cs.search(gaps)
    assert len(story.dag.arcs) == 1
    assert story.judged_by == "BIC(), rows completed by structural EM"
    assert story.n_rows == {"x": 21, "y": 21}
    with pytest.raises(DataError, match="1 rows have no value of 'x'"):
        cs.score(story.dag, gaps, cs.BIC())


def test_the_start_of_a_search_is_where_structural_em_begins_unless_that_has_its_own():
    rows = {"x": [*"aabb" * 5, None], "y": [*"aabb" * 5, "b"], "z": [*"abab" * 5, "a"]}
    gaps = cs.read(rows)
    start = cs.DAG.parse("[x][z|x][y|x:z]")
    found = cs.search(gaps, search=cs.HillClimb(start=start))
    assert found.trace[0].note == "start: 3 arcs"
    found = cs.search(gaps, search=cs.HillClimb(start=cs.searches.TreeStart()))
    assert found.trace[0].note == "start: 1 arcs"
    own = cs.StructuralEM(start=cs.DAG.parse("[x][z|x][y|z]"))
    found = cs.search(gaps, search=cs.HillClimb(start=start), gaps=own)
    assert found.trace[0].note == "start: 2 arcs"


def test_a_required_family_that_pnal_cannot_judge_is_refused_and_completed_without_it():
    rows = {"x": ["n", "y", None, None] * 5, "y": [None, None, "n", "y"] * 5, "z": list("nyny") * 5}
    gaps = cs.read(rows)
    with pytest.raises(ModelError, match=r"PNAL: no row has values of all of 'x', 'y'"):
        cs.learn(gaps, score=cs.scores.PNAL(), require=[("x", "y")])
    assert ("x", "y") in cs.learn(gaps, require=[("x", "y")]).arcs


def test_the_record_says_what_judged_the_graph_and_by_how_many_rows():
    story = cs.search(TABLE, score=cs.BDeu(ess=2))
    assert story.judged_by == "BDeu(ess=2)"
    assert story.n_rows == {"x": 40, "y": 40, "z": 40}


def test_empty_tables_are_refused():
    empty = cs.read({"x": []}, states={"x": ["a", "b"]})
    with pytest.raises(DataError, match="without rows"):
        cs.learn(empty)


def test_a_graph_to_be_scored_must_not_name_the_source_or_strangers():
    with pytest.raises(GraphError, match="without"):
        cs.score(cs.DAG([("place", "x")]), TABLE, cs.BIC())
    with pytest.raises(UnknownNameError, match="'w'"):
        cs.score(cs.DAG(nodes=["w"]), TABLE, cs.BIC())
    with pytest.raises(InputError, match="must be a DAG"):
        cs.score("[x]", TABLE, cs.BIC())
