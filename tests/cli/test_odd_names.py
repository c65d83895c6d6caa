"""Names that hold the signs of options, quoted by one rule from end to end."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from commands import misused, passed, refused, write

import consilience as cs

ODD = ("dose=mg", "a,b", "when: day 1", 'x|y "z"')
STATES = {
    "dose=mg": ("a|b", "c=d"),
    "a,b": ("1:2", "->"),
    "when: day 1": ("u", "v"),
    'x|y "z"': ("n", "y"),
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Rows whose names hold every sign."""
    folder = tmp_path_factory.mktemp("odd")
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 400)
    codes = [first, *(np.where(rng.random(400) < 0.8, first, 1 - first) for _ in ODD[1:])]
    columns = {n: np.array(STATES[n])[code] for n, code in zip(ODD, codes, strict=True)}
    pd.DataFrame(columns).to_csv(folder / "rows.csv", index=False)
    return folder


def test_a_model_of_odd_names_answers_every_command(odd):
    model, rows = odd / "model.json", odd / "rows.csv"
    graph = cs.DAG([(ODD[0], name) for name in ODD[1:]]).to_string()
    assert graph == '[dose=mg][a,b|dose=mg]["when: day 1"|dose=mg]["x|y ""z"""|dose=mg]'
    passed("learn", rows, "--structure", graph, "-o", model)
    net = cs.load(model)
    assert set(net.dag.nodes) == set(ODD)
    for name, states in STATES.items():
        given = f"{cs.data.quoted(name, '=,:|')}={cs.data.quoted(states[0], '|')}"
        target = next(other for other in ODD if other != name)
        found = json.loads(passed("query", model, target, "--given", given, "--json"))
        expected = net.query(target, given={name: states[0]})
        shown = [each["probability"] for each in found["probabilities"]]
        assert shown == [expected[state] for state in net.variables[target].states]
    both = json.loads(passed("query", model, "a,b", "--given", '"dose=mg"="a|b"|c=d', "--json"))
    assert both["given"] == {"dose=mg": ["a|b", "c=d"]}
    assert "predicted" in passed("predict", model, rows, "--target", "a,b", "--id", ODD[3])
    passed("impute", model, rows, "-o", odd / "filled.csv")
    pd.testing.assert_frame_equal(pd.read_csv(odd / "filled.csv"), pd.read_csv(rows))
    passed("mpe", model, "--given", '"x|y ""z"""=y', "--map", "a,b")
    passed("sample", model, 3, "--given", '"when: day 1"=u')
    passed("show", model, "--node", "when: day 1")
    passed("score", model, rows)
    passed("compare", model, graph)


def test_arcs_tiers_orders_and_cuts_take_quoted_names(odd):
    rows, out = odd / "rows.csv", odd / "learned.json"
    arcs = ("--require", '"when: day 1":"x|y ""z"""', "--forbid", '"a,b"->"dose=mg"')
    passed("learn", rows, *arcs, "-o", out)
    assert ("when: day 1", ODD[3]) in cs.load(out).dag.arcs
    tiers = ("--tier", '"a,b",dose=mg', "--tier", '"when: day 1","x|y ""z"""')
    passed("learn", rows, *tiers, "-o", out)
    assert not [arc for arc in cs.load(out).dag.arcs if arc[0] in ODD[2:] and arc[1] in ODD[:2]]
    order = '"a,b",dose=mg,when: day 1,"x|y ""z"""'
    passed("learn", rows, "--structure", "k2", "--order", order, "-o", out)


def test_a_column_with_a_sign_in_its_name_is_cut_and_given(odd):
    text = "a=b,c\n" + "".join(f"{i}.5,x{i % 2}\n" for i in range(40))
    numbers, out = write(odd, "numbers.csv", text), odd / "cut.json"
    passed("learn", numbers, "--discretize", '"a=b"=cuts:10,20', "-o", out)
    assert cs.load(out).variables["a=b"].cuts == (10.0, 20.0)
    told = refused("query", out, "c", "--given", "a=b=12")
    assert "unknown node 'a'" in told
    assert """A name with '=' stands in quotes: --given '"a=b"=12'.""" in told
    passed("query", out, "c", "--given", '"a=b"=12')


def test_weights_of_sources_take_quoted_names(odd):
    files = [write(odd, f"{name}.csv", "x,y\n" + "0,0\n1,1\n" * 20) for name in ("a,b", "c=d")]
    assert "a,b 1.33, c=d 0.667" in passed("fuse", *files, "--weights", '"a,b"=2,"c=d"=1')
    assert "stands in double quotes" in misused("fuse", *files, "--weights", "a,b=2,c=d=1")


@pytest.mark.parametrize("text", ['"a=b', '"a"b=c'])
def test_quotes_that_are_used_wrongly_are_a_wrong_use(odd, text):
    model = odd / "one.json"
    cs.save(cs.Network.of([cs.Categorical(cs.Variable("a", ("n", "y")), (), [0.5, 0.5])]), model)
    assert "quote" in misused("query", model, "a", "--given", text)
