from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from causal_catalogue import IDENTIFIED, REFUSED, graph, network
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import DataError, GraphError, InputError, ModelError, UnknownNameError


def is_hedge(admg, y, x, hedge):
    """Whether two sets show that P(y | do(x)) is not identified."""
    outer, inner = hedge.outer, hedge.inner
    rest = admg.subgraph([n for n in admg.nodes if n not in x])
    leading = {n for n in outer if n in inner or _reaches(admg.subgraph(outer), n, inner)}
    return (
        inner < outer
        and bool(outer & set(x))
        and not inner & set(x)
        and len(admg.districts_of(outer)) == len(admg.districts_of(inner)) == 1
        and inner <= rest.dag.ancestors(y) | set(y)
        and leading == outer
    )


def _reaches(admg, node, ends):
    return bool(admg.dag.descendants(node) & ends)


@pytest.mark.parametrize(("arcs", "latent", "y", "do", "seen", "at_0", "at_1"), IDENTIFIED)
def test_the_catalogue_is_identified_with_its_values(arcs, latent, y, do, seen, at_0, at_1):
    admg = graph(arcs, latent)
    net = network(admg)
    found = cs.causal.identify(admg, y, do=list(do), given=list(seen))
    for state, value in (("0", at_0), ("1", at_1)):
        answer = found.query(net, dict.fromkeys(do, state), dict.fromkeys(seen, "1"))
        assert answer["1"] == pytest.approx(value, abs=1e-12)
        set_from_outside = net.do(dict.fromkeys(do, state)).query(y, given=dict.fromkeys(seen, "1"))
        assert answer["1"] == pytest.approx(set_from_outside["1"], abs=1e-12)


@pytest.mark.parametrize(("arcs", "latent", "y", "do", "seen"), REFUSED)
def test_the_catalogue_is_refused_with_a_hedge(arcs, latent, y, do, seen):
    admg = graph(arcs, latent)
    found = cs.causal.identify(admg, y, do=list(do), given=list(seen))
    assert not found.is_identified
    assert is_hedge(admg, [*y, *seen], do, found.hedge)
    assert found.families == ()


def all_graphs(nodes):
    """Every ADMG on some nodes: acyclic arcs in any direction, any pairs."""
    pairs = list(combinations(nodes, 2))
    for ways in product((0, 1, 2), repeat=len(pairs)):
        arcs = [
            (a, b) if way == 1 else (b, a) for (a, b), way in zip(pairs, ways, strict=True) if way
        ]
        try:
            cs.DAG(arcs, list(nodes))
        except GraphError:
            continue
        for chosen in product((False, True), repeat=len(pairs)):
            latent = [pair for pair, is_in in zip(pairs, chosen, strict=True) if is_in]
            yield cs.causal.ADMG(arcs, latent, list(nodes))


def test_all_graphs_of_three_nodes_are_decided_rightly():
    rng = np.random.default_rng(1)
    n_plain = n_given = n_graphs = 0
    for admg in all_graphs("abc"):
        n_graphs += 1
        net = network(admg, lambda shape: rng.dirichlet([1, 1], size=shape))
        plain = cs.causal.identify(admg, "c", do="a")
        seen = cs.causal.identify(admg, "c", do="a", given="b")
        for found, condition in ((plain, {}), (seen, {"b": "1"})):
            if found.is_identified:
                answer = found.query(net, {"a": "1"}, condition)["1"]
                truth = net.do({"a": "1"}).query("c", given=condition)["1"]
                assert answer == pytest.approx(truth, abs=1e-10)
            else:
                assert is_hedge(admg, ["c", *condition], "a", found.hedge) or condition
        n_plain += plain.is_identified
        n_given += seen.is_identified
    assert (n_graphs, n_plain, n_given) == (200, 158, 139)


@given(seed=st.integers(0, 2**32), n=st.integers(2, 6))
def test_do_and_given_together_equal_the_network_set_from_outside(seed, n):
    rng = np.random.default_rng(seed)
    nodes = [f"v{i}" for i in range(n)]
    arcs = [(a, b) for a, b in combinations(nodes, 2) if rng.random() < 0.5]
    net = network(cs.causal.ADMG(arcs, (), nodes), lambda shape: rng.dirichlet([1, 1], size=shape))
    x, y, *others = map(str, rng.permutation(nodes))
    seen = {name: "1" for name in others if rng.random() < 0.4}
    found = cs.causal.identify(net.dag, y, do=x, given=list(seen))
    truth = net.do({x: "0"}).query(y, given=seen)
    assert found.query(net, {x: "0"}, seen).values == pytest.approx(truth.values, abs=1e-10)


def test_hidden_nodes_of_a_network_are_never_looked_at():
    admg = graph("xm my", "xy")
    net = network(admg)
    visible = cs.causal.identify(admg, "y", do="x").query(net, {"x": "1"})
    turned = cs.Network.of(
        [
            cs.Categorical(
                local.child, local.given, local.table[..., ::-1] if i == 3 else local.table
            )
            for i, local in enumerate(net.distributions.values())
        ]
    )
    assert visible["1"] != cs.causal.identify(admg, "y", do="x").query(turned, {"x": "1"})["1"]


def test_a_variable_whose_value_must_not_matter_is_averaged_over():
    found = cs.causal.identify(graph("wz zx xy", "wx wy"), "y", do="x")
    assert found.averaged == ("z",)
    assert any("averaged over z" in line for line in found.assumptions)


def test_formulas_print_and_simplify():
    found = cs.causal.identify(graph("xm mk ky", "xy xk"), "y", do="x")
    assert str(found) == (
        "P(y | do(x)) = sum_{m, k} P(m | x) sum_x' P(x') P(k | x', m) P(y | x', m, k)"
    )
    assert found.latex.startswith(r"\sum_{\mathrm{m}, \mathrm{k}} P(\mathrm{m} \mid \mathrm{x})")
    assert [family.child for family in found.families] == ["m", "x", "k", "y"]


def rows():
    columns = {"x": ["0", "0", "1"], "m": ["0", "1", "1"], "y": ["0", "1", "1"]}
    return cs.read(columns, states={name: ["0", "1"] for name in columns})


def test_a_parent_state_never_seen_is_named_unless_a_prior_answers():
    found = cs.causal.identify(graph("zx zy xy"), "y", do="x")
    table = cs.read({"z": ["0", "0", "1"], "x": ["0", "1", "1"], "y": ["0", "1", "1"]})
    with pytest.raises(DataError, match="where z=1, x=0, which never occurs") as problem:
        found.query(table, {"x": "0"}, estimator=cs.MLE())
    assert problem.value.culprits["child"] == "y"
    assert 0 < found.query(table, {"x": "0"})["1"] < 1
    assert found.query(table, {"x": "1"}, estimator=cs.MLE())["1"] == pytest.approx(1.0)


def test_an_undefined_row_of_weight_zero_does_no_harm():
    found = cs.causal.identify(graph("xm my", "xy"), "y", do="x")
    net = network(found.graph)
    sure = [
        cs.Categorical(local.child, local.given, local.table)
        for local in net.distributions.values()
    ]
    x = next(local for local in sure if local.child.name == "x")
    table = np.zeros_like(x.table)
    table[..., 0] = 1.0
    never = cs.Network.of(
        [cs.Categorical(x.child, x.given, table) if local is x else local for local in sure]
    )
    assert found.query(never, {"x": "0"}).values == pytest.approx(
        never.do({"x": "0"}).query("y").values, abs=1e-12
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: cs.causal.identify(g, "y", do="q"), UnknownNameError, "unknown node 'q'"),
        (lambda g: cs.causal.identify(g, "y", do="y"), GraphError, "'y' is in 'y' and in 'do'"),
        (
            lambda g: cs.causal.identify("x", "y", do="x"),
            InputError,
            "must be a DAG or a cs.causal.ADMG",
        ),
        (
            lambda g: cs.causal.identify(g, "y", do="x").query(rows(), {}),
            InputError,
            "needs a state of 'x'",
        ),
        (
            lambda g: cs.causal.identify(g, "y", do="x").query(rows(), {"x": "0", "m": "0"}),
            InputError,
            "does not set 'm'",
        ),
        (
            lambda g: cs.causal.identify(graph("xy", "xy"), "y", do="x").query(rows(), {"x": "0"}),
            ModelError,
            "is not identified: the hedge",
        ),
    ],
)
def test_errors_name_the_culprit(call, error, text):
    with pytest.raises(error, match=text):
        call(graph("xm my", "xy"))
