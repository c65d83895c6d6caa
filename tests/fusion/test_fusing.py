from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from fusion_cases import paper_sources

import consilience as cs
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.fusion.united_tables import pooled_table

NET = cs.random_network(cs.DAG.parse("[a][b|a][c|b][d|b:c]"), n_states=2, seed=11)
fuse = partial(cs.fuse, search=cs.HillClimb(restarts=0))
POOLS = [
    cs.fusion.LinearPool(),
    cs.fusion.LogarithmicPool(),
    cs.fusion.DemocraticPool(),
    cs.fusion.InverseVariance(),
    cs.fusion.PrecisionMatrices(),
]


def sources(n_sources=4, n_rows=120, net=NET):
    return {f"s{k}": net.sample(n_rows, seed=k) for k in range(n_sources)}


def assert_close(one, other, **tolerance):
    assert one.dag == other.dag
    for node in one.dag.nodes:
        np.testing.assert_allclose(one[node].parameters, other[node].parameters, **tolerance)


def test_tables_a_table_with_sources_and_files_of_rows_give_the_same(tmp_path):
    tables = sources()
    for name, table in tables.items():
        table.to_frame().to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / f"{name}.csv" for name in tables]
    one = fuse(tables)
    for other in (pooled_table(tables), paths, {p.stem: str(p) for p in paths}):
        found = fuse(other)
        assert found.dag == one.dag
        assert dict(found.sources) == dict(one.sources)
        assert_close(found.network, one.network)


def test_each_source_learns_its_own_graph():
    tables = sources()
    fused = fuse(tables, score=cs.BDeu(ess=5))
    assert dict(fused.sources) == {
        name: cs.learn(rows, score=cs.BDeu(ess=5), search=cs.HillClimb(restarts=0))
        for name, rows in tables.items()
    }


def test_parameters_come_from_the_merged_counts_by_any_estimator():
    tables = sources()
    rows = pooled_table(tables)
    pooled = fuse(tables)
    plain = Table(Schema(rows.variables), rows.columns)
    assert_close(pooled.network, cs.fit(pooled.dag, plain))
    tied = fuse(tables, parameters=cs.fusion.Merged(cs.HDMCS(s=2)))
    assert_close(tied.network, cs.fit(tied.dag, rows, cs.HDMCS(s=2)))


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_many_rows_make_all_ways_to_pool_agree(pool):
    tables = sources(n_rows=20_000)
    fused = fuse(tables, parameters=pool)
    merged = fuse(tables)
    assert fused.dag == merged.dag
    assert_close(fused.network, merged.network, atol=0.03)
    assert fused.network.record.method == repr(pool)


@pytest.mark.parametrize("pool", POOLS[:-1], ids=repr)
def test_finished_networks_are_fused_as_their_rows_would_be(pool):
    tables = sources(n_rows=20_000)
    networks = {name: cs.fit(NET.dag, rows) for name, rows in tables.items()}
    fused = fuse(networks, parameters=pool)
    assert fused.dag == NET.dag
    merged = cs.fit(NET.dag, pooled_table(tables), cs.Dirichlet())
    for node in NET.dag.nodes:
        np.testing.assert_allclose(fused.network[node].table, merged[node].table, atol=0.03)


def test_a_network_with_another_family_is_asked_for_the_conditional():
    turned = cs.DAG.parse("[d][c|d][b|c:d][a|b]")
    rows = NET.sample(50_000, seed=5)
    nets = {"one": cs.fit(NET.dag, rows), "two": cs.fit(turned, rows), "three": NET}
    fused = fuse(nets, threshold=2, parameters=cs.fusion.LinearPool())
    assert fused.dag == NET.dag
    own = nets["two"].query(["b", "c", "d"]).values
    conditional = own / own.sum(axis=-1, keepdims=True)
    expected = (nets["one"]["d"].table + conditional + NET["d"].table) / 3
    np.testing.assert_allclose(fused.network["d"].table, expected)


def test_model_files_are_opened(tmp_path):
    networks = [cs.fit(NET.dag, rows) for rows in sources(3).values()]
    paths = []
    for name, net in zip(("rome.json", "oslo.bif", "bonn.xdsl.gz"), networks, strict=True):
        paths.append(tmp_path / name)
        cs.save(net, paths[-1])
    fused = fuse(paths)
    assert tuple(fused.sources) == ("rome", "oslo", "bonn")
    assert_close(fused.network, fuse(networks).network, atol=1e-9)


def test_graphs_alone_give_a_graph_alone():
    fused = fuse(paper_sources())
    assert fused.network is None
    assert fused.threshold == 5
    assert fused.rule == "Majority()"
    with pytest.raises(ValueError, match="source '1' is a graph without parameters"):
        fuse(paper_sources(), parameters=cs.fusion.LinearPool())


def test_the_source_of_a_network_does_not_vote():
    rows = pooled_table(sources())
    tied = cs.fit(NET.dag, rows, cs.HDMCS())
    fused = fuse([tied, NET])
    assert fused.dag == NET.dag
    assert fused.network.source is None


def test_sources_with_different_variables_give_the_union():
    tables = sources(5, 400)
    tables["s0"] = tables["s0"].select(["a", "b", "c"])
    tables["s1"] = tables["s1"].select(["b", "c", "d"])
    fused = fuse(tables)
    assert set(fused.dag.nodes) == {"a", "b", "c", "d"}
    assert fused.rule == "Majority()"
    assert "different variables" in fused.notes[0]
    assert fused.votes.out_of(("a", "b")) == 4
    assert fused.votes.out_of(("a", "d")) == 3
    assert set(fused.network.dag.nodes) == set(fused.dag.nodes)


@pytest.mark.parametrize("pool", [None, *POOLS], ids=repr)
def test_a_family_that_no_source_has_is_pooled_from_what_each_knows(pool):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2, (2, 600))
    noisy = np.where(rng.random(600) < 0.9, x | y, rng.integers(0, 2, 600))
    one = {"x": x.astype(str).tolist(), "effect": noisy.astype(str).tolist()}
    two = {"y": y.astype(str).tolist(), "effect": noisy.astype(str).tolist()}
    fused = fuse([one, two], parameters=pool, forbid=[("effect", "x"), ("effect", "y")])
    assert fused.dag.parents("effect") == ("x", "y")
    assert any("No source has all variables" in note for note in fused.notes)
    local = [
        cs.fit(cs.DAG([(n, "effect")]), cs.read(t), cs.Dirichlet())["effect"].table
        for n, t in (("x", one), ("y", two))
    ]
    expected = (local[0][:, None] + local[1][None]) / 2
    np.testing.assert_allclose(fused.network["effect"].table, expected)


def test_rows_with_gaps_teach_the_graph_and_the_parameters():
    tables = sources(3, 200)
    gappy = dict(tables["s0"].columns)
    gappy["d"] = np.where(np.arange(200) < 50, -1, gappy["d"]).astype(np.int8)
    tables["s0"] = Table(tables["s0"].schema, gappy)
    fused = fuse(tables)
    assert fused.notes[0] == "Source 's0': 50 of 200 rows have gaps."
    assert "structural EM completed the rows" in fused.notes[1]
    assert fused.sources["s0"] == cs.learn(tables["s0"], score=cs.BIC())
    assert fused.network.record.n_rows["a"] == 600
    assert fused.network.record.n_incomplete["d"] == 50


def test_a_source_without_a_complete_row_has_its_vote():
    same = {"a": ["x"] * 20 + ["y"] * 20, "b": ["u"] * 20 + ["v"] * 20, "c": ["p", "q"] * 20}
    gappy = {name: list(column) for name, column in same.items()}
    for row in range(40):
        gappy["ac"[row % 2]][row] = None
    fused = fuse({"s": same, "t": gappy})
    assert {frozenset(arc) for arc in fused.sources["t"].arcs} >= {frozenset("ab")}
    assert fused.notes[0] == "Source 't': 40 of 40 rows have gaps."


def test_states_are_united_and_kinds_must_agree():
    one, two = cs.read({"a": ["x", "y"]}), cs.read({"a": ["y", "z"]})
    assert fuse([one, two]).network.variables["a"].states == ("x", "y", "z")
    number = cs.read({"a": [0.5, 1.5]})
    with pytest.raises(ValueError, match="'a' is discrete in source 's' and continuous in source"):
        fuse({"s": one, "t": number})
    cut = cs.read({"a": [0.5, 1.5, 2.5, 3.5]}, discretize={"a": cs.Cuts([1.0])})
    other = cs.read({"a": [0.5, 1.5, 2.5, 3.5]}, discretize={"a": cs.Cuts([2.0])})
    with pytest.raises(ValueError, match="cut into states at different points"):
        fuse([cut, other])


def test_networks_must_agree_about_states():
    one = cs.Network.of([cs.Categorical(Variable("a", ("x", "y")), (), [0.5, 0.5])])
    two = cs.Network.of([cs.Categorical(Variable("a", ("x", "z")), (), [0.5, 0.5])])
    with pytest.raises(ValueError, match="network of source 's' has the states 'x', 'y'"):
        fuse({"s": one, "t": two})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (NET, "sources must be a table with sources"),
        ([NET], "at least two sources are needed, got 1"),
        ({"s": 3, "t": NET}, "source 's' must be a table, a network"),
        (NET.sample(9, seed=1), "the table has no sources to fuse"),
        (["a/x.csv", "b/x.csv"], "two sources would be named 'x'"),
        ({"x": ["a", "b"], "y": ["a", "b"]}, "source 'x' must be a table.*got a list"),
        ({"s": "gone.csv", "t": NET}, "gone.csv"),
    ],
    ids=["network", "one", "number", "no sources", "same name", "columns", "no file"],
)
def test_what_cannot_be_fused_is_refused(given, message):
    with pytest.raises((ValueError, OSError), match=message):
        fuse(given)


def test_a_table_with_sources_of_its_own_stands_alone():
    with pytest.raises(ValueError, match="'t' has sources of its own"):
        fuse({"s": NET.sample(9, seed=1), "t": pooled_table(sources())})


@pytest.mark.parametrize("argument", ["votes", "order", "parameters", "weights"])
def test_choices_are_values_not_names(argument):
    with pytest.raises(ValueError, match=f"{argument} must be a choice such as"):
        fuse(paper_sources() if argument != "parameters" else sources(), **{argument: "best"})


def test_rows_are_needed_where_rows_are_merged():
    for choice in (cs.fusion.Merged(), cs.fusion.PrecisionMatrices()):
        with pytest.raises(ValueError, match=r"source 'source 1' has no rows.*LinearPool"):
            fuse([NET, NET], parameters=choice)


def test_required_and_forbidden_arcs_hold_in_every_source():
    fused = fuse(sources(), require=[("a", "d")], forbid=[("b", "a"), ("a", "b")], threshold=1)
    assert fused.votes["a", "d"] == 4
    assert fused.votes["a", "b"] == fused.votes["b", "a"] == 0


def test_classes_do_not_vote_for_forbidden_directions():
    both = fuse(sources(), votes=cs.fusion.ClassVotes(), threshold=1)
    start, end = next(arc for arc in both.votes.arcs if both.votes[arc[::-1]] == 4)
    one = fuse(sources(), votes=cs.fusion.ClassVotes(), forbid=[(start, end)], threshold=1)
    assert one.votes[start, end] == 0
    assert one.votes[end, start] == 4


def test_progress_is_told_after_each_source():
    told = []
    fuse(sources(), progress=lambda share, text: told.append((share, text)))
    assert told == [(0.25, "s0"), (0.5, "s1"), (0.75, "s2"), (1.0, "s3")]


def test_the_report_tells_votes_decisions_and_notes():
    text = str(fuse(paper_sources(), threshold=3, weights=dict.fromkeys(paper_sources(), 1)))
    assert "threshold   3 of 8 votes (given)" in text
    assert "D -> F  5 of 8  entered" in text
    assert "F -> D  3 of 8  closes a cycle (D -> F)  2, 4, 8" in text
    assert "B -> G  2 of 8  below the threshold      1, 2" in text
    assert repr(fuse(paper_sources())) == "Fusion(8 sources, 7 nodes, 7 arcs at threshold 5)"


def test_a_fusion_cannot_be_changed():
    fused = fuse(paper_sources())
    with pytest.raises(AttributeError):
        fused.threshold = 3
    with pytest.raises(TypeError):
        fused.weights["1"] = 2


def test_rows_that_are_scanned_are_fused_like_the_table(tmp_path):
    rows = "source,a,b\n" + "s,x,u\ns,y,v\nt,x,u\nt,y,v\n" * 10
    (tmp_path / "rows.csv").write_text(rows)
    scanned = cs.scan(tmp_path / "rows.csv", source="source")
    assert fuse(scanned).dag == fuse(scanned.to_table()).dag
