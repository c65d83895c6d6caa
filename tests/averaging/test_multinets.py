"""One graph for each source, and arcs that experts know."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ConsilienceError, InputError
from consilience.statistics.family import Family


def sources(seed, *, extra, p=6, n_rows=1000):
    """Four sources; the last one has two arcs more if asked for."""
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(p, n_arcs=p, max_parents=2, seed=rng)
    net = cs.random_network(dag, total=1.0, seed=rng)
    order = dag.topological_order()
    free = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if (a, b) not in dag.arcs]
    new = [free[i] for i in rng.choice(len(free), 2, replace=False)] if extra else []
    other = cs.Network.of([widened(net, x, [a for a, b in new if b == x]) for x in dag.nodes])
    nets = [net, net, net, other]
    return cs.read(
        {f"s{k}": one.sample(n_rows, seed=rng).to_frame() for k, one in enumerate(nets)}
    ), new


def widened(net, node, more):
    """The table of a node with parents more, which turn its states round."""
    local, table = net[node], net[node].table
    for _ in more:
        table = np.stack([table, table[..., ::-1]])
    given = (*(net.variables[name] for name in reversed(more)), *local.given)
    return cs.Categorical(local.child, given, table)


def test_sums_are_over_all_orders_and_graphs_of_sources():
    rng = np.random.default_rng(2)
    rows = cs.read(
        {name: {x: rng.choice(["0", "1"], 12) for x in "abc"} for name in ("rome", "oslo")}
    )
    rate, score = 0.1, cs.BDeu(ess=1)
    found = cs.averaging.multinets(rows, rates=[rate])
    parts = [rows.take(rows.source_codes == f).pooled() for f in range(2)]

    def family(f, child, parents):
        return cs.node_scores(
            cs.DAG([(y, child) for y in parents], ["a", "b", "c"]), parts[f], score
        )[child]

    def sets(of):
        return [
            tuple(y for y, k in zip(of, one, strict=True) if k)
            for one in product((0, 1), repeat=len(of))
        ]

    total = one_graph = 0.0
    for order in permutations("abc"):
        value = together = 1.0
        for k, child in enumerate(order):
            before = order[:k]
            value *= sum(
                np.prod(
                    [
                        sum(
                            rate ** len({*common} ^ {*own})
                            * (1 - rate) ** (k - len({*common} ^ {*own}))
                            * np.exp(family(f, child, own))
                            for own in sets(before)
                        )
                        for f in range(2)
                    ]
                )
                for common in sets(before)
            )
            together *= sum(
                np.exp(family(0, child, common) + family(1, child, common))
                for common in sets(before)
            )
        total, one_graph = total + value, one_graph + together
    assert found.log_evidence == pytest.approx(np.log(total))
    assert found.log_evidence_common == pytest.approx(np.log(one_graph))


def test_two_arcs_more_in_one_source_are_found():
    rows, new = sources(1, extra=True)
    found = cs.averaging.multinets(rows)
    assert found.probability > 0.99
    seen = {(one.source, frozenset((one.start, one.end))) for one in found.differences()}
    assert {("s3", frozenset(arc)) for arc in new} <= seen


def test_sources_that_are_alike_have_one_graph():
    rows, _ = sources(1, extra=False)
    found = cs.averaging.multinets(rows)
    assert found.probability < 0.5
    assert found.differences() == []
    assert max(found.tables_differ.values()) < 0.5
    assert {frozenset(arc) for arc in found.agreed()} == {
        frozenset((one.start, one.end)) for one in found.common.listed(0.5)
    }


def test_tables_that_differ_are_told_from_graphs_that_do():
    dag = cs.DAG([("a", "b")])
    nets = [cs.random_network(dag, total=1.0, seed=k) for k in (1, 2)]
    rows = cs.read({f"s{k}": net.sample(800, seed=k).to_frame() for k, net in enumerate(nets)})
    found = cs.averaging.multinets(rows)
    assert found.tables_differ["b"] > 0.9
    assert found.differences() == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cs.averaging.multinets(cs.read({"x": ["a", "b"]})), "two sources"),
        (lambda: cs.averaging.multinets(sources(1, extra=False)[0], rates=[0.7]), "rates"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_experts_who_agree_outweigh_one_who_does_not():
    ann, bob = cs.DAG([("a", "b")], ["c"]), cs.DAG(nodes=["a", "b", "c"])
    prior = cs.scores.ExpertPrior({"ann": ann, "eve": ann, "bob": bob}, error=0.2)
    forward, back, other = prior.log_prior(
        [Family("b", ("a",)), Family("a", ("b",)), Family("c", ("a",))]
    )
    assert forward == pytest.approx(np.log(8))  # two for, one against
    assert back == pytest.approx(-np.log(8))  # two have it the other way round
    assert other == pytest.approx(-3 * np.log(8))


def test_experts_say_nothing_about_nodes_they_do_not_know():
    prior = cs.scores.ExpertPrior({"ann": cs.DAG([("a", "b")])})
    assert prior.log_prior([Family("c", ("a",))]).tolist() == [0.0]


def test_experts_move_beliefs():
    rows = cs.read({"a": list("0011"), "b": list("0101")})
    score = cs.scores.MAP(cs.BDeu(), cs.scores.ExpertPrior({"ann": cs.DAG([("a", "b")])}))
    plain, told = cs.average(rows), cs.average(rows, score=score)
    assert told.arcs["a", "b"] > plain.arcs["a", "b"]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: cs.scores.ExpertPrior({}, error=0.1),
        lambda: cs.scores.ExpertPrior({"ann": cs.DAG([("a", "b")])}, error=0.8),
        lambda: cs.scores.ExpertPrior({"ann": "[a][b|a]"}),
        lambda: cs.average(
            cs.read({"a": ["0", "1"]}),
            score=cs.scores.MAP(cs.BDeu(), cs.scores.ExpertPrior({"ann": cs.DAG(nodes=["q"])})),
        ),
    ],
)
def test_experts_without_sense_are_refused(bad):
    with pytest.raises(ConsilienceError):
        bad()
