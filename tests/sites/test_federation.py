from __future__ import annotations

import numpy as np
import pytest
from study_rows import Plain, network, parts, rows, sites, with_sources

import consilience as cs
from consilience.errors import (
    DataError,
    FormatError,
    InputError,
    RefusalError,
    SiteError,
    WithheldError,
)
from consilience.sites.message import Reply, Request

TABLE = rows()
PARTS = parts(TABLE)
SOURCES = with_sources(PARTS)


def study(mode: str = "exact", **policy: object) -> cs.sites.Federation:
    if mode == "secure":
        pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    return cs.sites.federation(sites(PARTS, mode=mode, **policy), study="s")


def same_tables(one: cs.Network, other: cs.Network) -> bool:
    return list(one.dag.nodes) == list(other.dag.nodes) and all(
        np.array_equal(one[node].table, other[node].table) for node in one.dag.nodes
    )


@pytest.mark.parametrize("mode", ["secure", "exact"])
@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(ess=5)])
@pytest.mark.parametrize("search", [None, cs.GES(), cs.HillClimb(tabu=5, restarts=3)])
def test_a_search_gives_the_graph_and_score_of_all_rows_to_the_bit(mode, score, search):
    found = cs.search(Plain(study(mode)), score=score, search=search)
    pooled = cs.search(TABLE, score=score, search=search)
    assert found.dag == pooled.dag
    assert found.score == pooled.score


@pytest.mark.parametrize("estimator", [None, cs.MLE(), cs.Dirichlet(ess=3), cs.HDC()])
def test_masked_counts_fit_the_tables_of_all_rows_to_the_bit(estimator):
    dag = network().dag
    assert same_tables(cs.fit(dag, study("secure"), estimator), cs.fit(dag, TABLE, estimator))


@pytest.mark.parametrize(
    "estimator", [None, cs.HDS(), cs.HDMJS(), cs.HDMCS(), cs.HDC(), cs.Separate(cs.Dirichlet())]
)
def test_exact_counts_fit_the_tables_of_all_sources_to_the_bit(estimator):
    dag = network().dag
    assert same_tables(cs.fit(dag, study(), estimator), cs.fit(dag, SOURCES, estimator))


@pytest.mark.parametrize("score", [None, cs.BHD()])
def test_exact_counts_are_judged_by_source_to_the_bit(score):
    found = cs.search(Plain(study()), score=score, search=cs.HillClimb())
    pooled = cs.search(SOURCES, score=score, search=cs.HillClimb())
    assert (found.dag, found.score) == (pooled.dag, pooled.score)
    assert found.by_source == pooled.by_source


def test_a_graph_may_name_the_sites():
    dag = cs.DAG([("source", "a"), ("a", "b")])
    assert same_tables(cs.fit(dag, study(), cs.MLE()), cs.fit(dag, SOURCES, cs.MLE()))


def test_the_score_of_a_graph_is_that_of_all_rows():
    dag = network().dag
    assert cs.score(dag, study("secure"), cs.BIC()) == cs.score(dag, TABLE, cs.BIC())


def test_rows_with_gaps_are_counted_as_in_one_place():
    frame = TABLE.to_frame()
    frame.loc[::7, "b"] = None
    frame.loc[::5, "d"] = None
    table = cs.read(frame, schema=TABLE.schema)
    split = parts(table)
    over = cs.sites.federation(sites(split), study="s")
    pooled = cs.count(table, cs.Family("d", ("b", "c")))[0]
    [found] = cs.count(over, cs.Family("d", ("b", "c")))
    assert np.array_equal(found.to_dense().table, pooled.to_dense().table)
    assert found.n_incomplete.sum() == pooled.n_incomplete.sum()


def gappy(table: cs.Table) -> cs.Table:
    frame = table.to_frame()
    for step, name in ((7, "b"), (5, "d"), (11, "a")):
        frame.loc[::step, name] = None
    return cs.read(frame, schema=table.schema)


@pytest.mark.parametrize(
    ("mode", "estimator"),
    [
        ("secure", None),
        ("secure", cs.Dirichlet(ess=3)),
        ("exact", cs.Dirichlet(ess=3)),
        ("exact", cs.HDMCS(s=3.0)),
    ],
)
def test_em_gives_the_tables_of_all_rows_to_the_bit(mode, estimator):
    if mode == "secure":
        pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    split = parts(gappy(rows(200)), 3)
    over = cs.sites.federation(sites(split, mode=mode), study="s")
    pooled = with_sources(split)
    whole = pooled if mode == "exact" else pooled.pooled()
    dag = network().dag
    assert same_tables(cs.fit(dag, over, estimator), cs.fit(dag, whole, estimator))


def test_em_over_ranges_is_refused():
    over = cs.sites.federation(sites(parts(gappy(rows(200)), 3), mode="intervals"), study="s")
    with pytest.raises(RefusalError, match=r"gaps=cs.AvailableCases\(\)"):
        cs.fit(network().dag, over, cs.Dirichlet(ess=3))


def test_rows_with_gaps_are_fitted_over_ranges_by_available_cases():
    table, dag = gappy(rows(900)), cs.DAG([("a", "b"), ("b", "d")])
    over = cs.sites.federation(sites(parts(table, 3), mode="intervals"), study="s")
    how = {"gaps": cs.AvailableCases()}
    found = cs.fit(dag, over, cs.Pooled(cs.Dirichlet(ess=3)), **how)
    pooled = cs.fit(dag, table, cs.Dirichlet(ess=3), **how)
    assert max(np.abs(found[n].table - pooled[n].table).max() for n in "abd") < 0.2


def test_weights_are_counted_as_in_one_place():
    table = cs.Table(TABLE.schema, TABLE.columns, weights=np.linspace(0.5, 2.0, TABLE.n_rows))
    over = cs.sites.federation(sites(parts(table)), study="s")
    assert cs.score(network().dag, over, cs.BIC()) == cs.score(network().dag, table, cs.BIC())


def test_moments_of_exact_sites_are_those_of_all_rows():
    rng = np.random.default_rng(1)
    frame = {"x": rng.normal(size=60), "g": ["a", "b"] * 30}
    frame["y"] = frame["x"] * 2 + rng.normal(size=60)
    table = cs.read(frame)
    over = cs.sites.federation(sites(parts(table, 3)), study="s")
    dag = cs.DAG([("x", "y"), ("g", "y")])
    found, pooled = cs.fit(dag, over, cs.Pooled(cs.MLE())), cs.fit(dag, table, cs.MLE())
    assert np.allclose(found["y"].coefficients, pooled["y"].coefficients, rtol=1e-12)


def test_masked_sites_have_no_counts_of_their_own():
    for score in (cs.BHD(), cs.scores.BySource(cs.BIC())):
        with pytest.raises(RefusalError, match="mode 'exact' or 'intervals'"):
            cs.search(Plain(study("secure")), score=score, search=cs.HillClimb())


def test_the_record_says_what_counts_of_each_site_would_have_allowed():
    over = study("secure")
    assert any("cs.HDMCS()" in note for note in cs.fit(network().dag, over).record.notes)
    assert any("cs.BHD()" in note for note in cs.search(Plain(over)).notes)


def test_the_record_counts_rounds_and_bytes_and_names_policies():
    over = study("secure")
    cs.fit(network().dag, over, cs.MLE())
    record = over.record
    assert [one.kind for one in record.rounds] == ["schema", "study", "counts"]
    assert record.n_families == 6
    assert record.bytes_answered > 8 * 4 * record.rounds[-1].n_cells
    assert set(record.policies) == {"s0", "s1", "s2", "s3"}
    assert record.n_rows == {name: part.n_rows for name, part in PARTS.items()}
    assert "3 rounds" in str(record)
    assert "<table" in record._repr_html_()


def test_what_was_answered_is_not_asked_again():
    over = study()
    cs.count(over, cs.Family("a", ("b", "c")))
    cs.count(over, [cs.Family("c", ("a", "b")), cs.Family("b", ("c", "a"))])
    assert len(over.record.rounds) == 3


def test_what_follows_from_a_larger_table_is_not_asked_for():
    over = study("exact")
    cs.count(over, [cs.Family(name) for name in "abcd"])
    asked = [cs.Family("a", ("b", "c")), cs.Family("b", ("c",)), cs.Family("c", ("d",))]
    found = cs.count(over, [*asked, cs.Family("a", ("c",))], by_source=True)
    pooled = cs.count(SOURCES, [*asked, cs.Family("a", ("c",))], by_source=True)
    assert all(np.array_equal(x.table, y.table) for x, y in zip(found, pooled, strict=True))
    assert over.record.rounds[-1].n_families == 2
    cs.count(over, cs.Family("b", ("a",)))
    assert len(over.record.rounds) == 4


def test_nothing_follows_from_a_table_whose_rows_have_gaps():
    over = cs.sites.federation(sites(parts(gappy(TABLE))), study="s")
    asked = [cs.Family("c", ("b", "e")), cs.Family("c", ("e",)), cs.Family("c", ("b",))]
    cs.count(over, [cs.Family(name) for name in "bce"])
    found, pooled = cs.count(over, asked), cs.count(gappy(TABLE), asked)
    assert all(np.array_equal(x.table, y.table) for x, y in zip(found, pooled, strict=True))
    assert over.record.rounds[-1].n_families == 3


def test_a_look_ahead_sends_few_bytes_more_than_the_plain_search():
    dag = cs.random_dag(16, n_arcs=32, seed=2)
    split = parts(cs.random_network(dag, n_states=3, seed=2).sample(600, seed=2), 3)
    how = {"search": cs.HillClimb(tabu=10, restarts=5), "score": cs.AIC()}
    ahead, plain = (cs.sites.federation(sites(split), study="s") for _ in range(2))
    found = cs.search(ahead, **how), cs.search(Plain(plain), **how)
    assert (found[0].dag, found[0].score) == (found[1].dag, found[1].score)
    assert ahead.record.bytes_answered < 1.5 * plain.record.bytes_answered
    assert len(ahead.record.rounds) < 0.7 * len(plain.record.rounds)  # which asks ahead too


def test_a_search_goes_on_where_sites_give_no_graphs():
    over = study("exact", kinds=("counts",))
    found = cs.search(over, score=cs.BIC(), search=cs.GES())
    assert found.score == cs.search(TABLE, score=cs.BIC(), search=cs.GES()).score


def test_a_site_without_a_complete_row_votes_for_no_arc():
    first, *rest = PARTS.items()
    frame = first[1].to_frame()
    frame["a"] = None
    lacking = cs.read(frame, schema=TABLE.schema)
    over = cs.sites.federation(sites({first[0]: lacking, **dict(rest)}), study="s")
    assert cs.sites.votes(over).dag.arcs


def test_requests_are_cut_to_what_policies_allow():
    over = study(max_families=4, max_cells=200)
    found = cs.search(Plain(over), score=cs.BIC(), search=cs.HillClimb(max_parents=2))
    pooled = cs.search(TABLE, score=cs.BIC(), search=cs.HillClimb(max_parents=2))
    assert (found.dag, found.score) == (pooled.dag, pooled.score)
    assert max(one.n_families for one in over.record.rounds) == 4


def test_families_beyond_the_policies_are_left_out_and_noted():
    over = study(max_parents=1)
    found = cs.search(Plain(over), score=cs.BIC(), search=cs.HillClimb())
    assert max(len(found.dag.parents(node)) for node in found.dag.nodes) == 1
    with pytest.raises(WithheldError, match="1 parents"):
        cs.count(over, cs.Family("a", ("b", "c")))
    assert ("a", "b", "c") in over.record.withheld


def test_a_study_goes_on_where_it_was(tmp_path):
    policy = cs.sites.Policy(mode="exact")
    kept = [
        cs.sites.Site(table, policy, name=name, ledger=tmp_path / name)
        for name, table in PARTS.items()
    ]
    cs.count(cs.sites.federation(kept, study="s"), cs.Family("a"))
    again = cs.sites.federation(kept, study="s")
    cs.count(again, cs.Family("b"))
    assert again.record.rounds[-1].number == 2


def test_sites_in_no_mode_in_common_are_refused():
    _, *rest = sites(PARTS, mode="intervals")
    other = cs.sites.Site(PARTS["s0"], cs.sites.Policy(mode="secure"), name="s0")
    pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    with pytest.raises(RefusalError, match="'s0': 'secure'"):
        cs.sites.federation([other, *rest], study="s")


def test_different_variables_at_different_sites_are_refused_with_what_it_would_take():
    tables = {"one": TABLE.select(["a", "b"]), "two": TABLE.select(["a", "c"])}
    with pytest.raises(DataError, match="linked across sites") as found:
        cs.sites.federation(sites(tables), study="s")
    assert "'b'" in str(found.value) or "'c'" in str(found.value)
    again = cs.sites.federation(sites(tables), study="s", variables=["a"])
    assert list(again.schema.variables) == ["a"]


def test_states_that_differ_are_united():
    tables = {"one": cs.read({"x": list("ab") * 8}), "two": cs.read({"x": list("bc") * 8})}
    over = cs.sites.federation(sites(tables), study="s")
    [counts] = cs.count(over, cs.Family("x"), by_source=True)
    assert counts.table[:, 0].tolist() == [[8, 8, 0], [0, 8, 8]]


@pytest.mark.parametrize("wrong", ["exchange", [1, 2], ["https://a", "https://b"], []])
def test_what_is_no_list_of_sites_is_refused(wrong):
    with pytest.raises(InputError):
        cs.sites.federation(wrong, study="s")


def test_logistic_nodes_are_refused_in_words():
    table = cs.read({"x": np.arange(40) / 7.0, "y": list("ab") * 20})
    over = cs.sites.federation(sites(parts(table, 2)), study="s")
    with pytest.raises(InputError, match="logistic"):
        cs.fit(cs.DAG([("x", "y")]), over, cs.MLE())


class Way:
    """A way to a site that can be made to fail."""

    def __init__(self, site: cs.sites.Site) -> None:
        self.site, self.place, self.last = site, str(site.name), b""
        self.change = lambda data: data

    def ask(self, data: bytes, limit: int, seconds: float) -> bytes:
        answer = self.change(self.site.answer(data))
        self.last = answer
        return answer


def late(data: bytes) -> bytes:
    import time

    time.sleep(0.6)
    return data


def lost(data: bytes) -> bytes:
    raise SiteError("the line is dead", site="x")


def edited(**fields: object):
    def edit(data: bytes) -> bytes:
        one = Reply.from_bytes(data)
        kept = {name: getattr(one, name) for name in Reply.__slots__}
        return Reply(**{**kept, **fields}).to_bytes()

    return edit


FAILURES = {
    "lost": (lost, "the line is dead"),
    "late": (late, "no reply within"),
    "truncated": (lambda data: data[:-5], "cannot be read"),
    "longer": (lambda data: data + b"12345678", "cannot be read"),
    "much longer": (lambda data: data + bytes(2 << 20), "at most"),
    "empty": (lambda data: b"", "cannot be read"),
    "another version": (lambda data: data.replace(b'"version":1', b'"version":9'), "version 9"),
    "another study": (edited(study="t"), "another request"),
    "another round": (edited(round=77), "another request"),
    "another request": (edited(request="00"), "another request"),
    "another policy": (edited(policy="00"), "changed its policy"),
    "another kind": (edited(kind="graph"), "answered with graph"),
    "another type": (edited(arrays={"counts": np.zeros(27, "<f8")}), "type <i8"),
    "fewer cells": (edited(arrays={"counts": np.zeros(3, "<i8")}), "27 numbers"),
    "no cells": (edited(arrays={}), "27 numbers"),
    "negative": (edited(arrays={"counts": np.full(27, -1, "<i8")}), "add up"),
    "too many": (edited(arrays={"counts": np.full(27, 10**6, "<i8")}), "add up"),
    "withheld elsewhere": (edited(withheld={5: "x"}), "cannot be"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_site_that_fails_is_named_and_nothing_is_taken_in(failure):
    change, text = FAILURES[failure]
    ways = [Way(site) for site in sites(PARTS)]
    over = cs.sites.federation(ways, study="s", seconds=0.3)
    before = cs.count(over, cs.Family("a"))[0].table.copy()
    ways[2].change = change
    with pytest.raises(SiteError, match=text) as found:
        cs.count(over, cs.Family("a", ("b", "c")))
    assert found.value.culprits["site"] in ("s2", "s0")
    ways[2].change = lambda data: data
    pooled = cs.count(SOURCES.pooled(), [cs.Family("a", ("b", "c")), cs.Family("a")])
    found_again = cs.count(over, [cs.Family("a", ("b", "c")), cs.Family("a")])
    assert all(np.array_equal(x.table, y.table) for x, y in zip(found_again, pooled, strict=True))
    assert np.array_equal(found_again[1].table, before)


def test_a_reply_that_comes_twice_is_not_taken_for_another():
    ways = [Way(site) for site in sites(PARTS)]
    over = cs.sites.federation(ways, study="s")
    cs.count(over, cs.Family("a"))
    old = ways[1].last
    ways[1].change = lambda data: old
    with pytest.raises(SiteError, match=r"'s1'.*another request"):
        cs.count(over, cs.Family("b"))


def test_a_refusal_names_the_site_and_the_reason():
    ways = [Way(site) for site in sites(PARTS, budget=1)]
    over = cs.sites.federation(ways, study="s")
    cs.count(over, cs.Family("a"))
    with pytest.raises(RefusalError, match="site 's0' refuses: the study has used up"):
        cs.count(over, cs.Family("b"))
    assert over.record.refusals


def test_a_site_that_changes_its_name_or_variables_cannot_join_again():
    over = sites(PARTS)
    cs.sites.federation(over, study="s")
    with pytest.raises(RefusalError, match="new study"):
        cs.sites.federation(over[:3], study="s")


def test_messages_of_other_kinds_than_ours_are_no_replies():
    with pytest.raises(FormatError):
        Reply.from_bytes(Request("schema", "s").to_bytes())


def test_votes_of_the_sites_take_one_round():
    over = study(kinds=("counts", "graph"))
    fused = cs.sites.votes(over)
    assert [one.kind for one in over.record.rounds] == ["schema", "study", "graph"]
    assert cs.shd(fused.dag, cs.learn(TABLE, score=cs.BIC())) <= 4


def test_a_scout_is_rows_like_those_of_the_sites():
    over = study("secure")
    scout = over.scout()
    assert scout.schema.variables == TABLE.schema.variables
    assert scout.n_rows == TABLE.n_rows
    assert over.scout() is scout
    assert len(over.record.rounds) == 4


@pytest.mark.parametrize("search", [cs.GES(), cs.HillClimb(tabu=5, restarts=2)])
def test_a_search_that_looks_ahead_has_the_same_bits_in_fewer_rounds(search):
    plain, ahead = study("secure"), study("secure")
    before = cs.search(Plain(plain), search=search)
    found = cs.search(ahead, search=search)
    assert (found.dag, found.score) == (before.dag, before.score)
    assert len(ahead.record.rounds) < len(plain.record.rounds)
    assert any("cs.BHD()" in note for note in found.notes)
