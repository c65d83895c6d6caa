from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest
from file_networks import assert_same, chain
from hypothesis import given, strategies as st

import consilience as cs
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import FormatError, ModelError
from consilience.files.native import parse, write
from consilience.network.network import Network
from consilience.network.record import Record

RECORD = Record(
    method="Dirichlet(ess=1.0)",
    n_rows={"age": 12.5, "ill": 3.0},
    n_incomplete={"age": 0.0},
    unidentified={"ill": 2},
    pooling={"ill": {"pooled": -3.25, "hierarchical": -2.5, "separate": -4.0}},
    notes=("One.", "Größer als 1."),
)


def learned():
    age = Variable("age", ("low", "mid", "high"), ordered=True, cuts=(0.1 + 0.2, 65.0))
    ill = Variable("ill", ("no", "yes"))
    concentration = np.array([[1 / 3, 2.0], [0.0, 1e-9], [7.0, 1e12]])
    local = Categorical(
        ill,
        (age,),
        concentration / concentration.sum(axis=1, keepdims=True),
        DirichletPosterior(concentration),
    )
    return Network.of([Categorical(age, (), [0.2, 0.3, 0.5]), local], source="age", record=RECORD)


def content():
    return json.loads(write(learned()))


def tied(estimator):
    """x depends on p and on the source; the posteriors are hierarchical."""
    rows = {"p": ["a", "b", "b", "b"], "x": ["0", "0", "1", "2"], "f": ["n", "n", "s", "s"]}
    return cs.fit(cs.DAG([("p", "x")]), cs.read(rows, source="f"), estimator)


@pytest.mark.parametrize("kind", [cs.HDS, cs.HDMCS, cs.HDMJS])
@pytest.mark.parametrize("s", [2.5, cs.PerState(0.5), cs.Gamma(4, 0.1)])
def test_a_hierarchical_posterior_is_solved_again(kind, s):
    net = tied(kind(s=s, alpha0=0.7))
    again = parse(write(net), "net.json")
    assert_same(again, net)
    kept, expected = again["x"].posterior, net["x"].posterior
    assert kept.view == expected.view
    assert kept.hierarchy.strength == s
    np.testing.assert_array_equal(kept.hierarchy.counts, expected.hierarchy.counts)
    np.testing.assert_allclose(kept.mean(), net["x"].table, rtol=1e-14)
    np.testing.assert_allclose(kept.variance(), expected.variance(), rtol=1e-14)
    assert kept.hierarchy.log_evidence == pytest.approx(expected.hierarchy.log_evidence, rel=1e-14)
    assert again.record.pooling == net.record.pooling
    assert write(again) == write(net)


@pytest.mark.parametrize("s", [2.5, cs.Gamma(4, 0.1)])
def test_posteriors_of_separate_sources_come_back(s):
    net = tied(cs.Separate(cs.HDMJS(s=s)))
    again = parse(write(net), "net.json")
    kept, expected = again["x"].posterior, net["x"].posterior
    assert len(kept.parts) == 2
    np.testing.assert_allclose(kept.variance(), expected.variance(), rtol=1e-14)
    assert write(again) == write(net)


def test_a_missing_part_of_a_posterior_is_named():
    data = json.loads(write(tied(cs.Separate(cs.HDMCS()))))
    data["nodes"][2]["posterior"]["parts"].pop()
    with pytest.raises(FormatError, match="'parts' must be a list of 2 posteriors, found 1"):
        parse(json.dumps(data), "net.json")
    data["nodes"][0]["posterior"] = {"kind": "stacked", "parts": []}
    with pytest.raises(FormatError, match="'parts' must be a list of no posteriors, found 0"):
        parse(json.dumps(data), "net.json")


def test_a_hierarchy_without_sources_comes_back():
    net = cs.fit(cs.DAG([("p", "x")]), cs.read({"p": ["a", "b"], "x": ["0", "1"]}), cs.HDMCS())
    again = parse(write(net), "net.json")
    np.testing.assert_allclose(again["x"].posterior.mean(), net["x"].table)


def test_fractional_counts_of_a_hierarchy_come_back():
    rows = {"x": ["0", "1", "1"], "n": [0.25, 1.5, 2.0], "f": ["n", "n", "s"]}
    net = cs.fit(cs.DAG(nodes=["x"]), cs.read(rows, source="f", weight="n"), cs.HDMCS())
    again = parse(write(net), "net.json")
    assert not again["x"].posterior.is_exact
    np.testing.assert_allclose(again["x"].posterior.mean(), net["x"].table, rtol=1e-14)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("view", "sideways", "unknown view 'sideways'; known: 'parents as groups'"),
        ("counts_shape", [3, 2, 3], r"must be \[6, 1, 3\] or \[2, 3, 3\], found '\[3, 2, 3\]'"),
        ("counts_shape", [2, 3], "'counts_shape' must be"),
        ("counts_shape", [2.5, 3, 3], "'counts_shape' must be"),
        ("counts_shape", "2, 3, 3", "'counts_shape' must be of type list"),
        ("counts", [1.0] * 17, "'counts' needs 18 numbers, found 17"),
        ("counts", [-1.0] * 18, r"'counts' must lie between 0 and 2\^53"),
        ("counts", [1e300] * 18, r"'counts' must lie between 0 and 2\^53"),
        ("counts", ["1"] * 18, "'counts' must be a list of numbers"),
        ("alpha0", 0.0, "'alpha0' must lie between"),
        ("alpha0", "1", "'alpha0' must be a number, found '1'"),
        ("alpha0", True, "'alpha0' must be a number"),
        ("alpha0", 10**400, "'alpha0' holds a number that is too large"),
        ("strength", 1.0, "'strength' must be of type dict, found '1.0'"),
        ("strength", {}, "'strength' must be one of"),
        ("strength", {"s": [1.0], "gamma": [1.0, 1.0]}, "'strength' must be one of"),
        ("strength", {"s": [1.0, 1.0]}, "'strength' must be one of"),
        ("strength", {"s": [-1.0]}, "'s' must lie between 1e-100 and 1e\\+100"),
        ("strength", {"gamma": [1.0, 0.0]}, "'gamma' must lie between"),
    ],
)
def test_a_mistake_in_a_hierarchical_posterior_is_named(key, value, message):
    data = json.loads(write(tied(cs.HDMCS())))
    data["nodes"][2]["posterior"][key] = value
    with pytest.raises(FormatError, match=f"^net.json: node 3: .*{message}"):
        parse(json.dumps(data), "net.json")


def test_everything_is_kept():
    net = parse(write(learned()), "net.json")
    assert_same(net, learned())
    assert net["age"].child == learned()["age"].child
    assert net["age"].posterior is None
    kept = net["ill"].posterior
    assert isinstance(kept, DirichletPosterior)
    assert np.array_equal(kept.concentration, learned()["ill"].posterior.concentration)
    for field in fields(Record):
        found, expected = getattr(net.record, field.name), getattr(RECORD, field.name)
        assert (
            found == expected
            if isinstance(expected, str | tuple)
            else dict(found) == dict(expected)
        )


def test_every_part_of_a_record_is_written():
    assert set(content()["record"]) == {field.name for field in fields(Record)}


def test_the_file_says_what_it_is():
    assert list(content())[:2] == ["format", "version"]
    assert content()["format"] == "consilience network"
    assert content()["version"] == 1


def test_a_node_stands_on_one_line():
    assert len(write(learned()).splitlines()) == 4 + 1 + 2


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_numbers_keep_all_their_bits(weights):
    row = np.array([*weights, 1.0])
    row /= row.sum()
    a = Variable("A", tuple(map(str, range(len(row)))))
    net = parse(write(Network.of([Categorical(a, (), row)])), "net.json")
    assert net["A"].table.tobytes() == row.tobytes()


def test_a_row_that_the_library_accepts_comes_back_unchanged():
    net = chain(a=[0.25, 0.75 + 9e-10])
    assert_same(parse(write(net), "net.json"), net)


class Unheard:
    def variance(self): ...

    def interval(self, level): ...

    def draw(self, rng): ...


def test_a_posterior_of_an_unknown_kind_is_refused_when_writing():
    a = Variable("A", ("x", "y"))
    with pytest.raises(ModelError, match="'A' is a Unheard"):
        write(Network.of([Categorical(a, (), [0.5, 0.5], Unheard())]))


def test_a_number_that_json_cannot_hold_is_refused_when_writing():
    locals_ = list(chain().distributions.values())
    with pytest.raises(ModelError, match="infinite or NaN"):
        write(Network.of(locals_, record=Record(n_rows={"A": np.inf})))


def edit(data, path, value):
    *most, last = path
    for key in most:
        data = data[key]
    if value is DELETE:
        del data[last]
    else:
        data[last] = value


DELETE = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "other", "'format' must be 'consilience network', got 'other'"),
        (["format"], DELETE, "'format' must be of type str, found nothing"),
        (["version"], 2, "version 2 cannot be read; version 1 can"),
        (["version"], True, "'version' must be of type int"),
        (["version"], "1", "'version' must be of type int"),
        (["source"], "hospital", "the source 'hospital' is not a node"),
        (["source"], "ill", "must be a root"),
        (["source"], 1, "'source' must be of type str"),
        (["nodes"], {}, "'nodes' must be of type list, found an object"),
        (["nodes"], [], "at least one node"),
        (["nodes", 0], 1, "node 1: expected an object, found '1'"),
        (["nodes", 0, "name"], "", "name must be text"),
        (["nodes", 0, "name"], "ill", "node 2: the node 'ill' is declared twice"),
        (["nodes", 0, "states"], ["low", "low", "high"], "node 1: .*'low' stands twice"),
        (["nodes", 0, "states"], ["low", 1, "high"], "'states' must be a list of texts"),
        (["nodes", 0, "ordered"], 1, "'ordered' must be of type bool"),
        (["nodes", 0, "cuts"], [2, 1], "increasing cut points"),
        (["nodes", 0, "cuts"], ["a", "b"], "'cuts' must be a list of numbers"),
        (["nodes", 1, "parents"], ["aged"], "unknown node 'aged' in the family of 'ill'"),
        (["nodes", 1, "parents"], "age", "'parents' must be of type list"),
        (["nodes", 1, "shape"], [2, 3], r"'shape' must be \[3, 2\]"),
        (["nodes", 1, "table"], [0.5, 0.5], "needs 6 numbers, found 2"),
        (["nodes", 0, "table"], [0.5, 0.5, "0"], "'table' must be a list of numbers"),
        (["nodes", 0, "table"], [0.5, 0.5, None], "'table' must be a list of numbers"),
        (["nodes", 0, "table"], [0.5, 0.5, [0]], "'table' must be a list of numbers"),
        (["nodes", 0, "table"], [0.5, True, 0], "'table' must be a list of numbers"),
        (["nodes", 0, "table"], [0.5, 0.5, 10**400], "'table' holds a number that is too large"),
        (["nodes", 0, "table"], [0.5, 0.6, 0], "row 1 of 'age' is not a distribution"),
        (["nodes", 1, "posterior"], 1, "node 2: expected an object, found '1'"),
        (
            ["nodes", 1, "posterior", "kind"],
            "gamma",
            "unknown kind of posterior 'gamma'; known: 'diri",
        ),
        (["nodes", 1, "posterior", "concentration"], [1.0], "needs 6 numbers, found 1"),
        (["nodes", 1, "posterior", "concentration"], [-1.0] * 6, "finite and zero or more"),
        (["record"], [], "'record' must be of type dict, found a list"),
        (["record", "pooling"], DELETE, "'pooling' must be of type dict, found nothing"),
        (["record", "pooling"], {"ill": 1}, "'ill' must be of type dict"),
        (["record", "pooling"], {"ill": {"pooled": None}}, "'ill' must be a list of numbers"),
        (["record", "notes"], "x", "'notes' must be of type list"),
        (["record", "notes"], [1], "'notes' must be a list of texts"),
        (["record", "n_rows"], {"age": "many"}, "'n_rows' must be a list of numbers"),
        (["record", "n_rows"], {"age": 10**400}, "'n_rows' holds a number that is too large"),
    ],
)
def test_a_mistake_is_named(path, value, message):
    data = content()
    edit(data, path, value)
    with pytest.raises(FormatError, match=f"^net.json: .*{message}"):
        parse(json.dumps(data), "net.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: not JSON"),
        ('{"a": 1,\n"b" 2}', "line 2: not JSON"),
        ("[" * 100_000, "nest too deeply"),
        ("1" * 5000, "too many digits"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
    ],
)
def test_text_that_is_not_json_is_refused(text, message):
    with pytest.raises(FormatError, match=message):
        parse(text, "net.json")


def test_a_number_beyond_all_bounds_is_refused():
    with pytest.raises(FormatError, match="too large"):
        parse(write(chain()).replace("0.25", "1e999"), "net.json")
