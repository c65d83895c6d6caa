from __future__ import annotations

import json

import numpy as np
import pytest
from study_rows import asked, rows

import consilience as cs
from consilience.errors import DataError, FormatError, InputError, WriteError
from consilience.sites.message import Request
from consilience.sites.study_agreement import Agreement
from consilience.statistics.engines.memory import Memory

TABLE = rows(200)


class Spy:
    """An engine that tells whether rows were read."""

    def __init__(self, table: cs.Table) -> None:
        self._memory, self.n_asked = Memory(table), 0
        self.schema = table.schema

    def gather(self, request):
        self.n_asked += 1
        return self._memory.gather(request)


def agreement(site: cs.sites.Site, mode: str = "exact", study: str = "s", n: int = 3) -> Agreement:
    others = [
        (f"other {i}", "ab" * 31 + f"{i:02x}" if mode == "secure" else "") for i in range(1, n)
    ]
    key = site.public_key if mode == "secure" else ""
    return Agreement(study, ((site.name or "me", key), *others), site.variables, mode)


def agreed(site: cs.sites.Site, mode: str = "exact", study: str = "s", n: int = 3) -> Agreement:
    found = agreement(site, mode, study, n)
    reply = asked(site, Request("study", study, content=found.to_content()))
    assert reply.kind == "study", reply.reason
    return found


def counts_request(ground: Agreement, *families: tuple[str, ...], number: int = 1) -> Request:
    return Request("counts", ground.study, number, ground.site_set, ground.schema_hash, families)


def refused(site: cs.sites.Site, request: Request, asker: str = "") -> str:
    reply = asked(site, request, asker)
    assert reply.kind == "refusal"
    assert site.ledger.entries[-1]["what"] == "refused"
    return reply.code


def test_a_site_tells_what_it_has():
    site = cs.sites.Site(TABLE, name="va")
    reply = asked(site, Request("schema", "s"))
    assert (reply.rows, reply.content["name"], reply.policy) == (200, "va", site.policy.hash)
    assert [one["name"] for one in reply.content["variables"]] == list(TABLE.variables)


def test_exact_counts_are_those_of_the_rows():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va")
    reply = asked(site, counts_request(agreed(site), ("a", "b"), ("d",)))
    [first] = cs.count(TABLE, cs.Family("b", ("a",)))
    [second] = cs.count(TABLE, cs.Family("d"))
    expected = np.concatenate([first.table.ravel(), second.table.ravel()])
    assert (reply.arrays["counts"] == expected).all()
    assert reply.rows == 200


def test_states_that_only_other_sites_have_get_no_rows():
    site = cs.sites.Site(TABLE.select(["a"]), cs.sites.Policy(mode="exact"), name="va")
    wide = cs.Variable("a", ("new", *TABLE.variables["a"].discrete_states))
    ground = Agreement("s", (("va", ""), ("b", "")), {"a": wide}, "exact")
    asked(site, Request("study", "s", content=ground.to_content()))
    reply = asked(site, counts_request(ground, ("a",)))
    [mine] = cs.count(TABLE, cs.Family("a"))
    assert reply.arrays["counts"].tolist() == [0, *mine.table.ravel()]


@pytest.mark.parametrize(
    ("policy", "family", "code"),
    [
        ({"max_parents": 1}, ("a", "b", "c"), "parents"),
        ({"max_cells": 20}, ("a", "b", "c"), "cells"),
        ({"least_rows": 500}, ("a",), "rows"),
        ({"kinds": ("graph",)}, ("a",), "kind"),
        ({"askers": ("coordinator",)}, ("a",), "asker"),
        ({}, ("nothing",), "variable"),
    ],
)
def test_a_policy_is_enforced_before_a_row_is_read(policy, family, code):
    spy = Spy(TABLE)
    open_site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va")
    ground = agreement(open_site)
    site = cs.sites.Site(spy, cs.sites.Policy(mode="exact", **policy), name="va")
    site.answer(Request("study", "s", content=ground.to_content()).to_bytes(), "coordinator")
    before = spy.n_asked
    assert refused(site, counts_request(ground, family)) == code
    assert spy.n_asked == before


def test_too_many_families_are_refused():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact", max_families=2), name="va")
    request = counts_request(agreed(site), ("a",), ("b",), ("c",))
    assert refused(site, request) == "families"


def test_a_forbidden_variable_is_not_even_told():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact", variables=("a", "b")), name="va")
    reply = asked(site, Request("schema", "s"))
    assert [one["name"] for one in reply.content["variables"]] == ["a", "b"]
    ground = Agreement("s", (("va", ""), ("b", "")), TABLE.variables, "exact")
    assert refused(site, Request("study", "s", content=ground.to_content())) == "variable"


def test_counts_need_an_agreement():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va")
    assert refused(site, counts_request(agreement(site), ("a",))) == "study"


@pytest.mark.parametrize("mode", ["exact", "intervals"])
def test_a_mode_that_the_policy_does_not_give_is_refused(mode):
    pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="secure"), name="va")
    request = Request("study", "s", content=agreement(site, mode).to_content())
    assert refused(site, request) == "mode"


def test_two_sites_are_too_few_for_masks():
    pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    site = cs.sites.Site(TABLE, name="va")
    request = Request("study", "s", content=agreement(site, "secure", n=2).to_content())
    assert refused(site, request) == "sites"


def test_a_key_that_the_policy_knows_better_is_refused():
    pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    site = cs.sites.Site(TABLE, cs.sites.Policy(peers={"other 1": "cd" * 32}), name="va")
    request = Request("study", "s", content=agreement(site, "secure").to_content())
    assert refused(site, request) == "peers"


def test_a_site_takes_part_in_one_study_unless_its_policy_names_more():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va")
    agreed(site)
    request = Request("study", "t", content=agreement(site, study="t").to_content())
    assert refused(site, request) == "study"
    both = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact", studies=("s", "t")), name="va")
    agreed(both)
    agreed(both, study="t")


def test_another_set_of_sites_is_refused():
    pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    site = cs.sites.Site(TABLE, name="va")
    five = agreed(site, "secure", n=5)
    four = agreement(site, "secure", n=4)
    assert refused(site, Request("study", "s", content=four.to_content())) == "study"
    assert refused(site, counts_request(four, ("a",))) == "sites"
    assert asked(site, counts_request(five, ("a",))).kind == "counts"


def test_a_request_that_comes_again_gets_the_same_bytes():
    pytest.importorskip("cryptography", reason="secure sums need the extra 'sites'")
    site = cs.sites.Site(TABLE, name="va")
    data = counts_request(agreed(site, "secure"), ("a", "b")).to_bytes()
    assert site.answer(data) == site.answer(data)
    assert site.ledger.study("s").n_families == 1


def test_an_old_round_with_another_request_is_refused():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va")
    ground = agreed(site)
    asked(site, counts_request(ground, ("a",)))
    assert refused(site, counts_request(ground, ("b",))) == "round"


def test_rounds_budget_and_studies_hold_across_a_restart(tmp_path):
    policy = cs.sites.Policy(mode="exact", budget=2)

    def open_site() -> cs.sites.Site:
        return cs.sites.Site(TABLE, policy, name="va", ledger=tmp_path / "va.ledger")

    site = open_site()
    ground = agreed(site)
    first = counts_request(ground, ("a",), ("b",))
    answer = site.answer(first.to_bytes())
    assert refused(site, counts_request(ground, ("c",), number=2)) == "budget"
    site.close()
    again = open_site()
    assert again.answer(first.to_bytes()) == answer
    assert refused(again, counts_request(ground, ("c",), number=2)) == "budget"
    assert refused(again, counts_request(ground, ("c",))) == "round"
    again.close()


def test_a_request_is_in_the_ledger_before_it_is_answered(tmp_path):
    path = tmp_path / "va.ledger"

    class Failing(Spy):
        def gather(self, request):
            if self.n_asked > 3:
                raise RuntimeError("the power is off")
            return super().gather(request)

    spy = Failing(TABLE)
    site = cs.sites.Site(spy, cs.sites.Policy(mode="exact"), name="va", ledger=path)
    ground, spy.n_asked = agreed(site), 9
    with pytest.raises(RuntimeError):
        site.answer(counts_request(ground, ("a",)).to_bytes())
    assert cs.sites.read_ledger(path)[-1]["what"] == "asked"
    site.close()


def test_a_ledger_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "va.ledger"
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va", ledger=path)
    asked(site, counts_request(agreed(site), ("a",)))
    site.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    with pytest.raises(FormatError, match="was changed"):
        cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va", ledger=path)


def test_a_line_cut_off_by_a_crash_is_dropped(tmp_path):
    path = tmp_path / "va.ledger"
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va", ledger=path)
    site.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"what":"asked","stu')
    cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va", ledger=path).close()
    assert path.read_bytes() == whole


def test_a_ledger_has_one_site_at_a_time(tmp_path):
    pytest.importorskip("fcntl", reason="locks of this kind")
    site = cs.sites.Site(TABLE, name="va", ledger=tmp_path / "l", key=tmp_path / "k")
    with pytest.raises(WriteError, match="in use"):
        cs.sites.Site(TABLE, name="va", ledger=tmp_path / "l", key=tmp_path / "k")
    site.close()


def test_a_ledger_is_about_the_rows_it_was_begun_with(tmp_path):
    cs.sites.Site(TABLE, name="va", ledger=tmp_path / "l").close()
    with pytest.raises(DataError, match="other rows"):
        cs.sites.Site(TABLE.take(slice(1, None)), name="va", ledger=tmp_path / "l")


def test_a_site_is_one_source():
    with pytest.raises(InputError, match="one source"):
        cs.sites.Site(cs.read({"a": ["x", "y"], "f": ["1", "2"]}, source="f"))


def test_a_policy_comes_back_from_its_file(tmp_path):
    policy = cs.sites.Policy(
        mode="intervals", least_cell=11, variables=("a", 'b"c'), peers={"x y": "ab"}, askers=("me",)
    )
    policy.save(tmp_path / "policy.toml")
    assert cs.sites.Policy.load(tmp_path / "policy.toml") == policy


def test_a_policy_with_a_field_that_none_has_is_refused(tmp_path):
    (tmp_path / "policy.toml").write_text("least_cel = 5\n")
    with pytest.raises(cs.ConsilienceError, match="least_cell"):
        cs.sites.Policy.load(tmp_path / "policy.toml")


@pytest.mark.parametrize(
    "wrong", [{"mode": "open"}, {"least_cell": 1}, {"budget": 0}, {"variables": "abc"}]
)
def test_a_wrong_policy_is_refused(wrong):
    with pytest.raises(InputError):
        cs.sites.Policy(**wrong)


def test_garbage_gets_a_refusal():
    site = cs.sites.Site(TABLE, name="va")
    reply = json.loads(site.answer(b"\x00\xffgarbage").split(b"\n")[0])
    assert (reply["kind"], reply["code"]) == ("refusal", "format")


def test_the_graph_of_a_site_is_what_it_learns_alone():
    site = cs.sites.Site(TABLE, cs.sites.Policy(mode="exact"), name="va")
    ground = agreed(site)
    request = Request(
        "graph", "s", 1, ground.site_set, ground.schema_hash, content={"score": "bic", "ess": 1.0}
    )
    arcs = [tuple(arc) for arc in asked(site, request).content["arcs"]]
    assert cs.DAG(arcs, nodes=[*TABLE.variables]) == cs.learn(TABLE, score=cs.BIC())
