from __future__ import annotations

import pickle
import re
from functools import partial
from itertools import product

import numpy as np
import pytest
from influence_truths import GROUPS, influence_truth, rows_of, with_gaps

import consilience as cs
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.errors import InputError, UnknownNameError

FEW = {"alone": cs.EM(restarts=2), "n_states": 2}
SKELETON = {frozenset("AB"), frozenset("BC")}


def chain(n_rows, seed):
    return rows_of(influence_truth([("A", "B"), ("B", "C")]), n_rows, seed)


@pytest.mark.parametrize(
    "relearn", [cs.latent.AfterSearch(), cs.latent.AfterMove()], ids=["search", "move"]
)
def test_arcs_between_groups_can_be_forbidden(relearn):
    table, _ = chain(1500, 1)
    found = cs.influence(table, GROUPS, **FEW, relearn=relearn, tiers=[["C"], ["B"], ["A"]])
    assert skeleton(found.dag) >= SKELETON
    assert {("A", "B"), ("B", "C"), ("A", "C")}.isdisjoint(found.dag.arcs)
    apart = cs.influence(table, GROUPS, **FEW, relearn=relearn, forbid=[("A", "B"), ("B", "A")])
    assert frozenset("AB") not in skeleton(apart.dag)


def test_an_unknown_group_in_a_constraint_is_named():
    table, _ = chain(50, 1)
    with pytest.raises(UnknownNameError, match="'D'"):
        cs.influence(table, GROUPS, **FEW, forbid=[("A", "D")])


def skeleton(dag):
    return {frozenset(arc) for arc in dag.arcs}


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"completion": cs.latent.HardCompletion()},
        {"relearn": cs.latent.AfterMove()},
        {"score": cs.BDeu(ess=1)},
        {"search": cs.Exact()},
    ],
    ids=["default", "labels", "after move", "bdeu", "exact"],
)
def test_a_chain_of_models_is_found(choices):
    table, _ = chain(1500, 1)
    found = cs.influence(table, GROUPS, **FEW, **choices)
    assert skeleton(found.dag) == SKELETON
    assert found.cpdag == cs.CPDAG.of(cs.DAG([("A", "B"), ("B", "C")]))
    assert found.score > found.trace[0].score
    assert max(step.score for step in found.trace) == found.score


def test_a_chain_is_found_in_rows_with_gaps():
    table = with_gaps(chain(2500, 1)[0], 0.2, 2)
    assert skeleton(cs.influence(table, GROUPS, **FEW).dag) == SKELETON


@pytest.mark.parametrize("seed", range(3))
def test_models_that_do_not_influence_each_other_stay_alone(seed):
    table, _ = rows_of(influence_truth([]), 400, seed)
    found = cs.influence(table, GROUPS, **FEW)
    assert found.dag.arcs == ()
    assert found.stopped_by == "no gain"


def test_the_score_is_the_bic_of_the_observed_rows():
    table, _ = chain(60, 3)
    found = cs.latent.influence_network(cs.DAG([("A", "B"), ("B", "C")]), table, GROUPS, **FEW)
    net, total = found.network, 0.0
    for row in range(table.n_rows):
        probability = 0.0
        for states in product(range(2), repeat=3):
            at = dict(zip(GROUPS, states, strict=True))
            at |= {name: int(table.column(name)[row]) for name in table.variables}
            probability += np.prod(
                [
                    local.table[tuple(at[one] for one in (*local.parents, name))]
                    for name, local in net.tables.items()
                ]
            )
        total += np.log(probability)
    assert found.log_likelihood == pytest.approx(total, rel=1e-9)
    assert found.row_log_likelihoods(table).sum() == pytest.approx(total, rel=1e-9)
    assert found.score == pytest.approx(total - 0.5 * net.n_parameters * np.log(60), rel=1e-9)


def test_an_arc_between_two_models_is_worth_their_mutual_information():
    # the paper's identity (8): with labels, the likelihoods differ by M I(X1; Y1)
    net = influence_truth([("A", "B")])
    table, _ = rows_of(net, 500, 4)
    [(_, labels)] = cs.latent.HardCompletion().complete(net, table, GROUPS)
    joint = np.zeros((2, 2))
    np.add.at(joint, (labels.column("A"), labels.column("B")), 1 / 500)
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    information = float((joint * np.log(joint / outer)).sum())
    names = [*GROUPS, *(one for names in GROUPS.values() for one in names)]
    both = Table(
        Schema({name: net.variables[name] for name in names}),
        {**labels.columns, **table.columns},
    )
    alone = influence_truth([]).dag
    for score, price in ((cs.scores.LogLikelihood(), 0.0), (cs.BIC(), 0.5 * np.log(500))):
        gain = cs.score(net.dag, both, score) - cs.score(alone, both, score)
        assert gain == pytest.approx(500 * information - price, rel=1e-9)


def test_more_arcs_never_fit_worse_than_the_models_alone():
    table, _ = rows_of(influence_truth([]), 300, 5)
    mle = {"estimator": cs.MLE(), "together": cs.EM(iterations=300), **FEW}
    full = cs.DAG([("A", "B"), ("A", "C"), ("B", "C")])
    found = cs.latent.influence_network(full, table, GROUPS, **mle)
    assert found.log_likelihood >= found.trace[0].log_likelihood - 1e-6


def test_hidden_states_are_told_as_well_as_the_truth_tells_them():
    net = influence_truth([("A", "B"), ("B", "C")])
    table, hidden = rows_of(net, 3000, 6)
    found = cs.influence(table, GROUPS, **FEW)
    truth = {name: hidden.column(name) for name in GROUPS}
    known = cs.latent.Influence(net, found.dag, found.groups, 0.0, 0.0, (), "truth")
    ours, best = found.accuracy(table, truth), known.accuracy(table, truth)
    assert all(ours[name] > best[name] - 0.01 for name in GROUPS)
    with pytest.raises(UnknownNameError, match="'D'"):
        found.accuracy(table, {"D": hidden.column("A")})


def test_the_same_seed_gives_the_same_network():
    table, _ = chain(300, 7)
    one, other = (cs.influence(table, GROUPS, **FEW, seed=3) for _ in range(2))
    assert one.trace == other.trace
    for name, local in one.network.tables.items():
        assert (local.table == other.network[name].table).all()


def test_sources_are_pooled_and_weights_are_rows():
    table, _ = chain(300, 8)
    source = Variable("hospital", ("a", "b"))
    codes = (np.arange(300) % 2).astype(np.int8)
    by_source = Table(Schema(table.variables, source), table.columns, codes)
    twice = Table(table.schema, table.columns, weights=np.full(300, 2, np.int64))
    double = table.take(np.repeat(np.arange(300), 2))
    plain, pooled = (cs.influence(one, GROUPS, **FEW) for one in (table, by_source))
    assert plain.score == pooled.score
    assert pooled.network.source is None
    weighted, repeated = (cs.influence(one, GROUPS, **FEW) for one in (twice, double))
    assert weighted.score == pytest.approx(repeated.score, rel=1e-6)


def test_groups_may_differ_in_their_number_of_states():
    table, _ = chain(200, 9)
    found = cs.influence(table, GROUPS, n_states={"A": 2, "B": 3, "C": 2}, iterations=1)
    assert [found.network.variables[name].n_states for name in GROUPS] == [2, 3, 2]
    assert found.stopped_by in ("iterations", "no gain")


def test_a_record_can_be_sent_and_read():
    table, _ = chain(200, 9)
    found = cs.influence(table, GROUPS, **FEW, iterations=0)
    assert found.stopped_by == "iterations"
    assert repr(found).startswith("Influence(3 models, 0 arcs, BIC -")
    assert pickle.loads(pickle.dumps(found)).score == found.score
    assert "3 hidden nodes" in found.network.record.notes[0]


class Interrupted:
    """A completion in the middle of which somebody presses Ctrl-C."""

    def complete(self, *arguments):
        yield next(cs.latent.SoftCompletion().complete(*arguments))
        raise KeyboardInterrupt


def test_an_interrupted_search_keeps_the_best_so_far():
    table, _ = chain(1500, 1)
    found = cs.influence(table, GROUPS, **FEW, completion=Interrupted())
    assert found.stopped_by == "interrupt"
    assert found.score == found.trace[1].score > found.trace[0].score


def test_a_table_without_rows_is_refused():
    table, _ = chain(1, 9)
    with pytest.raises(InputError, match="without rows"):
        cs.influence(table.take([]), GROUPS)


def test_progress_is_told():
    heard = []
    table, _ = chain(200, 9)
    cs.influence(table, GROUPS, **FEW, progress=lambda share, text: heard.append(text))
    assert heard[0] == "model 'A' alone"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "groups must map"),
        ({"A": "A0"}, "list of names"),
        ({"A": 3}, "'A' must be a list of names, got 3"),
        ({"A": []}, "no variables"),
        ({"A": ["A0"], "B": ["A0", "A1"]}, "'A0' is in the groups 'A' and 'B'"),
        ({"A0": ["A1"]}, "name of a column"),
        ({"A": ["w"]}, "'w' is continuous"),
    ],
    ids=["none", "text", "number", "empty", "twice", "column", "continuous"],
)
def test_groups_that_cannot_be_used_are_refused(groups, message):
    table = cs.read({"A0": ["x", "y"], "A1": ["x", "y"], "w": [0.5, 1.5]})
    with pytest.raises(InputError, match=message):
        cs.influence(table, groups)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"n_states": 1}, "at least 2"),
        ({"n_states": {"A": 2}}, "n_states: no number for the group 'B'"),
        ({"n_states": {"A": 2, "B": 2, "C": 2, "D": 2}}, "unknown group 'D'"),
        ({"iterations": -1}, "iterations"),
        ({"score": "bic"}, "score must be a choice"),
        ({"score": cs.BIC}, "score must be a choice"),
        ({"search": "x"}, r"search must be a choice such as cs\.HillClimb\(\), got 'x'"),
        ({"search": cs.HillClimb}, "search must be a choice"),
        (
            {"completion": "soft"},
            r"must be a choice: cs\.latent\.SoftCompletion\(\) or.*'soft'",
        ),
        ({"completion": cs.latent.SoftCompletion}, "completion must be a choice"),
        ({"relearn": "x"}, r"relearn must be a choice: cs\.latent\.AfterSearch\(\) or.*'x'"),
        ({"relearn": cs.latent.AfterMove}, "relearn must be a choice"),
        ({"alone": 3}, r"alone must be a choice cs\.EM\(\.\.\.\), got 3"),
        ({"together": cs.EM}, r"together must be a choice cs\.EM"),
        ({"forbid": [("A", "D")]}, "unknown group 'D'"),
        ({"tiers": [["A"], ["D"]]}, "unknown group 'D'"),
    ],
    ids=[
        "one state",
        "not all",
        "too many",
        "iterations",
        "score",
        "score class",
        "search",
        "search class",
        "completion",
        "completion class",
        "relearn",
        "relearn class",
        "alone",
        "together class",
        "forbid",
        "tiers",
    ],
)
def test_choices_that_cannot_be_used_are_refused(choices, message):
    table, _ = chain(20, 1)
    with pytest.raises((InputError, UnknownNameError), match=message):
        cs.influence(table, GROUPS, **choices)


def with_sources(table, n_sources):
    source = Variable("hospital", tuple(f"s{k}" for k in range(n_sources)))
    codes = (np.arange(table.n_rows) % n_sources).astype(np.int8)
    return Table(Schema(table.variables, source), table.columns, codes)


@pytest.mark.parametrize("arcs", [[], [("A", "B")]], ids=["alone", "together"])
def test_the_record_says_what_em_says_of_gaps_and_that_sources_were_pooled(arcs):
    table = with_sources(with_gaps(chain(150, 1)[0], 0.2, 2), 3)
    found = cs.latent.influence_network(cs.DAG(arcs, nodes=list(GROUPS)), table, GROUPS, **FEW)
    record, observed = found.network.record, [one for names in GROUPS.values() for one in names]
    story = cs.em(
        found.network.dag,
        with_gaps(chain(150, 1)[0], 0.2, 2),
        hidden=dict.fromkeys(GROUPS, 2),
        choice=cs.EM(iterations=1, restarts=0),
    )
    told = story.network.record
    assert record.n_rows == told.n_rows == dict.fromkeys(found.network.variables, 0.0)
    assert record.n_incomplete == told.n_incomplete
    assert record.unidentified == told.unidentified
    missing = 100 * np.mean([table.column(name) < 0 for name in observed])
    said = " ".join(record.notes)
    assert f"Gaps ({missing:.3g} % of the values of the groups) were summed out" in said
    assert "missing at random" in said
    assert "The 3 sources were pooled." in record.notes


def test_a_record_of_complete_rows_of_one_source_speaks_of_neither_gaps_nor_sources():
    table = with_sources(chain(100, 1)[0], 1)
    found = cs.latent.influence_network(cs.DAG(nodes=list(GROUPS)), table, GROUPS, **FEW)
    said = " ".join(found.network.record.notes)
    assert "Gaps" not in said
    assert "pooled" not in said


@pytest.mark.parametrize(
    ("arcs", "which"),
    [([], "EM of 3 of 3 models did not.*alone="), ([("A", "B")], "EM did not.*together=")],
    ids=["alone", "together"],
)
def test_em_that_did_not_converge_is_told(arcs, which):
    table, _ = chain(150, 1)
    once = cs.EM(iterations=1, restarts=0, tolerance=1e-12)
    dag = cs.DAG(arcs, nodes=list(GROUPS))
    found = cs.latent.influence_network(dag, table, GROUPS, n_states=2, alone=once, together=once)
    assert any(re.search(which, note) for note in found.network.record.notes)


@pytest.mark.parametrize("rows", ["x", None], ids=["text", "none"])
def test_rows_that_are_no_table_are_refused(rows):
    for learn in (cs.influence, partial(cs.latent.influence_network, cs.DAG(nodes=["A"]))):
        with pytest.raises(InputError, match="cannot be read"):
            learn(rows, {"A": ["A0"]})


@pytest.mark.parametrize("dag", [[("A", "B")], "A", None], ids=["arcs", "text", "none"])
def test_a_graph_that_is_none_is_refused(dag):
    with pytest.raises(InputError, match=r"dag must be a graph over the groups: cs\.DAG"):
        cs.latent.influence_network(dag, chain(20, 1)[0], GROUPS)


@pytest.mark.parametrize(
    "depths", [3, None, "12", (2, 1), ()], ids=["number", "none", "text", "falling", "empty"]
)
def test_depths_that_cannot_be_used_are_refused(depths):
    with pytest.raises(InputError, match="depths must be"):
        cs.latent.SoftCompletion(depths)
