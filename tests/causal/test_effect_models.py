from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import pairwise

import numpy as np
import pytest
from causal_catalogue import graph, network
from hypothesis import given, settings, strategies as st
from test_counterfactuals import MECHANISMS, example

import consilience as cs
from consilience import causal
from consilience.errors import InputError
from consilience.statistics.engines.batches import Batches
from consilience.statistics.engines.memory import Memory
from consilience.statistics.request import CountRequest

CONTRAST = {"do": {"x": "1"}, "against": {"x": "0"}, "state": "1"}
FRONT_DOOR = graph("xm my", "xy")


def rows(n=400, seed=1):
    return network(FRONT_DOOR).sample(n, seed=seed).select(["x", "m", "y"])


class Only:
    """Rows that answer nothing but the counts of some families."""

    def __init__(self, engine, families):
        self.engine, self.families = engine, set(families)
        self.schema = engine.schema

    def gather(self, request):
        assert isinstance(request, CountRequest)
        assert set(request.families) <= self.families
        return self.engine.gather(request)


@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 400), max_size=5))
def test_counts_of_the_families_alone_give_the_same_bits_on_any_partition(cuts):
    table = rows()
    ends = [0, *sorted(cuts), 400]
    parts = [table.take(np.arange(a, b)) for a, b in pairwise(ends)]
    found = causal.identify(FRONT_DOOR, "y", do="x")
    engine = Only(Batches(table.schema, parts), found.families)
    assert np.array_equal(
        found.query(engine, {"x": "1"}).values, found.query(table, {"x": "1"}).values
    )
    ours = causal.effect(FRONT_DOOR, "y", table=engine, draws=50, **CONTRAST)
    theirs = causal.effect(FRONT_DOOR, "y", table=Memory(table), draws=50, **CONTRAST)
    assert (ours.value, ours.interval) == (theirs.value, theirs.interval)


def by_place(n=900):
    """Rows of three places whose rates differ."""
    rng = np.random.default_rng(3)
    place = rng.integers(0, 3, n)
    x = rng.random(n) < 0.3 + 0.2 * place
    m = rng.random(n) < 0.2 + 0.5 * x
    y = rng.random(n) < 0.1 + 0.5 * m + 0.1 * place
    columns = {name: np.where(v, "1", "0") for name, v in (("x", x), ("m", m), ("y", y))}
    return cs.read({**columns, "place": np.array(["a", "b", "c"])[place]}, source="place")


def test_an_effect_with_hidden_causes_is_told_by_source_and_for_a_new_one():
    found = causal.effect(FRONT_DOOR, "y", table=by_place(), draws=200, **CONTRAST)
    assert set(found.by_source) == {"a", "b", "c", "new_source"}
    values = [one.value for one in found.by_source.values()]
    assert min(values) <= found.value <= max(values)
    alone = causal.effect(
        FRONT_DOOR, "y", table=by_place(), draws=200, given={"place": "b"}, **CONTRAST
    )
    assert alone.value == pytest.approx(found.by_source["b"].value)
    assert not alone.by_source


def test_all_sources_count_with_their_shares():
    table = by_place()
    asked = causal.identify(FRONT_DOOR, "y", do="x")
    estimator = cs.estimators.Separate(cs.Dirichlet(per_cell=1))
    whole = asked.query(table, {"x": "1"}, estimator=estimator)
    shares = np.bincount(table.source_codes) / table.n_rows
    parts = [
        asked.query(table, {"x": "1"}, {"place": name}, estimator=estimator)["1"]
        for name in table.sources
    ]
    assert whole["1"] == pytest.approx(float(shares @ parts))


def test_an_estimator_that_pools_says_nothing_of_one_source():
    with pytest.raises(InputError, match="pools the sources"):
        causal.effect(
            FRONT_DOOR,
            "y",
            table=by_place(),
            given={"place": "b"},
            estimator=cs.Dirichlet(per_cell=1),
            **CONTRAST,
        )


def test_bounds_are_told_by_source():
    found = causal.effect(graph("xy", "xy"), "y", table=by_place(), **CONTRAST)
    assert found.value is None
    assert set(found.by_source) == {"a", "b", "c"}
    assert all(one.bounds[0] < one.bounds[1] for one in found.by_source.values())


def test_a_soft_intervention_is_the_mixture_of_hard_ones():
    soft = {"x": cs.Soft({"0": 0.3, "1": 0.7})}
    table, net = rows(), network(FRONT_DOOR)
    found = causal.identify(FRONT_DOOR, "y", do="x")
    parts = [found.query(net, {"x": state})["1"] for state in "01"]
    mixed = 0.3 * parts[0] + 0.7 * parts[1]
    assert found.query(net, soft)["1"] == pytest.approx(mixed)
    assert net.do(soft).query("y")["1"] == pytest.approx(mixed)
    for model in (FRONT_DOOR, cs.DAG([("x", "m"), ("m", "y")])):
        hard = [
            causal.effect(model, "y", do={"x": s}, state="1", table=table, draws=9).value
            for s in "01"
        ]
        one = causal.effect(model, "y", do=soft, state="1", table=table, draws=9)
        assert one.value == pytest.approx(0.3 * hard[0] + 0.7 * hard[1])


def test_bounds_of_a_soft_intervention_are_those_of_one_program():
    bow, table = graph("xy", "xy"), rows()
    ends = [
        causal.effect(bow, "y", do={"x": s}, state="1", table=table).bounds
        for s in ("0", "1", cs.Soft({"0": 1.0}), cs.Soft({"0": 0.5, "1": 0.5}))
    ]
    assert ends[2] == pytest.approx(ends[0])
    assert ends[3][0] >= (ends[0][0] + ends[1][0]) / 2 - 1e-9
    assert ends[3][1] <= (ends[0][1] + ends[1][1]) / 2 + 1e-9


def test_a_soft_counterfactual_is_the_mixture_of_hard_ones():
    row = {"a": "1", "t": "0", "m": "low", "y": "no"}
    for mechanism in (None, *MECHANISMS):
        hard = [
            causal.counterfactual(example(), "y", do={"a": s}, given=row, mechanism=mechanism)
            for s in "01"
        ]
        soft = causal.counterfactual(
            example(), "y", do={"a": cs.Soft({"0": 1, "1": 3})}, given=row, mechanism=mechanism
        )
        low = 0.25 * hard[0].bounds["yes"][0] + 0.75 * hard[1].bounds["yes"][0]
        assert soft.bounds["yes"][0] == pytest.approx(low)
        if mechanism is not None:
            mixed = 0.25 * hard[0].belief["yes"] + 0.75 * hard[1].belief["yes"]
            assert soft.belief["yes"] == pytest.approx(mixed)


def test_an_effect_is_averaged_over_a_belief_about_graphs():
    table = network(graph("xy")).sample(300, seed=1)
    belief = cs.average(table)
    found = causal.effect(belief, "y", draws=100, **CONTRAST)
    nets = belief.networks()
    wanted = sum(
        weight * (net.do({"x": "1"}).query("y")["1"] - net.do({"x": "0"}).query("y")["1"])
        for net, weight in nets
    )
    assert found.value == pytest.approx(wanted)
    assert found.interval[0] <= found.value <= found.interval[1]
    assert any("Faithfulness" in one for one in found.assumptions)
    assert "no cause of y" in found.notes[0]


def test_several_networks_are_answered_one_by_one():
    nets = [network(graph("xy")), network(graph("xm my"))]
    found = causal.effect(nets, "y", **CONTRAST)
    values = [causal.effect(net, "y", **CONTRAST).value for net in nets]
    assert [one.value for one in found.by_model] == values
    assert found.bounds == (min(values), max(values))
    assert "in 2 models" in str(found)
    with pytest.raises(InputError, match="model must be a Network"):
        causal.effect([], "y", **CONTRAST)


def test_fairness_is_judged_under_a_belief_about_graphs():
    table = example().sample(300, seed=1)
    belief = cs.average(table)
    report = causal.fairness(
        example(),
        table,
        protected="a",
        target="y",
        positive="yes",
        model=belief,
        mechanism=MECHANISMS[0],
    )
    assert len(report.by_model) == len(report.weights) == min(20, len(belief.graphs))
    worst = max(float(one.curve.mean.sum()) for one in report.by_model)
    assert float(report.counterfactual.curve.mean.sum()) == worst
    assert any("of the belief" in note for note in report.notes)


def test_a_class_without_a_contrast_gives_probabilities():
    table = network(graph("xy")).sample(300, seed=1)
    found = causal.effect(
        cs.CPDAG.of(cs.DAG([("x", "y")])), "y", do={"x": "1"}, state="1", table=table
    )
    share = float((table.column("y") == 1).mean())
    assert min(abs(value - share) for value, _ in found.values) < 0.02


@pytest.mark.parametrize(
    ("arcs", "latent", "asked", "advice"),
    [
        ("xy", "xy", ("y", "x", ""), "Randomise x, or measure the hidden cause of x and y."),
        ("az zb by ay", "yz by", ("y", "ab", ""), "Randomise b, or measure"),
        ("xm my", "xy my", ("y", "x", ""), "of x and y or that of m and y."),
        ("xy ax", "ax xy ay", ("y", "ax", ""), "Randomise x"),
    ],
)
def test_a_refusal_says_what_to_randomise_or_measure(arcs, latent, asked, advice):
    y, do, seen = asked
    found = causal.identify(graph(arcs, latent), y, do=list(do), given=list(seen))
    assert not found.is_identified
    assert advice in found.advice
    assert found.advice in str(found)


def test_what_to_measure_identifies_the_effect():
    measured = graph("xm my ux um", "my")
    assert causal.identify(measured, "y", do="x").is_identified
    refused = causal.identify(graph("xm my", "xm my"), "y", do="x")
    assert "hidden cause of x and m" in refused.advice


ANSWERS = {
    "Estimand": lambda: causal.identify(FRONT_DOOR, "y", do="x"),
    "Effect": lambda: causal.effect(network(FRONT_DOOR), "y", **CONTRAST),
    "Bounds": lambda: causal.identify(graph("xy", "xy"), "y", do="x").bounds(rows(), {"x": "1"}),
    "AdjustmentSets": lambda: causal.adjustment_sets(FRONT_DOOR, "y", do="x"),
    "Causation": lambda: causal.causation(
        example(), cause={"a": "1"}, against={"a": "0"}, effect={"y": "yes"}
    ),
    "Counterfactual": lambda: causal.counterfactual(
        example(), "y", do={"a": "0"}, given={"a": "1", "y": "no"}
    ),
    "PathEffects": lambda: causal.path_effects(
        example(), "y", do={"a": "1"}, against={"a": "0"}, state="yes"
    ),
    "FairnessReport": lambda: audit(),
    "CounterfactualFairness": lambda: audit(model=example()).counterfactual,
    "FairPredictor": lambda: causal.fair_predictor(example(), "y", "a"),
}
PARTS = {"Curve", "FairFit", "Gaps", "Group", "GroupFairness", "Hedge", "RateGap"}
CHOICES = {
    *("GumbelMax", "IndependentNoise", "Monotone", "NonDescendants", "Residuals"),
    *("BoundedCorrelation", "BoundedCovariance"),
}


def audit(**options):
    return causal.fairness(
        example(),
        example().sample(100, seed=1),
        protected="a",
        target="y",
        positive="yes",
        mechanism=MECHANISMS[0],
        **options,
    )


def test_every_record_is_an_answer_a_part_of_one_or_a_choice():
    records = {name for name in dir(causal) if is_dataclass(getattr(causal, name))}
    assert records - {"ADMG", "HiddenCauses"} == set(ANSWERS) | PARTS | CHOICES


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_causal_answer_carries_its_assumptions(kind):
    answer = ANSWERS[kind]()
    assert type(answer).__name__ == kind
    assert answer.assumptions
    assert all(isinstance(one, str) and one.endswith(".") for one in answer.assumptions)
    assert {field.name for field in fields(answer)}
