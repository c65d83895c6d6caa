"""One of every noun and record, small, with names that HTML and mathematics could misread."""

from __future__ import annotations

from functools import cache

import numpy as np

import consilience as cs
from consilience.answers.difference_parts import difference_parts
from consilience.inference.event_beliefs import Estimate

ODD = "a<b>&$x$"


@cache
def rows() -> cs.Table:
    rng = np.random.default_rng(1)
    sex, clinic = rng.integers(0, 2, 240), rng.integers(0, 3, 240)
    age = rng.normal(50, 10, 240)
    pressure = 80 + 10 * sex + 0.5 * age + 3 * clinic + rng.normal(0, 5, 240)
    ill = np.where(pressure + rng.normal(0, 8, 240) > 112, "yes", "no").astype(object)
    pain = np.where(rng.random(240) < 0.3 + 0.3 * (ill == "yes"), "<typical>", "none")
    ill[::17] = None
    columns = {
        "clinic": np.array(["north", "south", "west"])[clinic],
        "sex": np.array(["F", "M"])[sex],
        "age": age,
        "pressure": pressure,
        "ill": ill,
        ODD: pain,
    }
    return cs.read(columns, source="clinic")


@cache
def discrete() -> cs.Table:
    return cs.discretize(rows(), {name: cs.Quantiles(3) for name in ("age", "pressure")})


@cache
def net() -> cs.Network:
    dag = cs.DAG([("sex", "pressure"), ("age", "pressure"), ("pressure", "ill"), ("ill", ODD)])
    return cs.fit(dag, rows(), gaps=cs.AvailableCases())


@cache
def tables() -> cs.Network:
    return cs.fit(cs.DAG([("sex", "ill"), ("age", "ill"), ("ill", ODD)]), discrete())


@cache
def completed() -> cs.gaps.Imputation:
    return cs.impute(tables(), discrete(), draws=3, seed=1)


@cache
def augmented() -> cs.gaps.Augmentation:
    dag = cs.DAG([("sex", "ill")])
    part = discrete().select(["sex", "ill"]).pooled()
    return cs.gaps.augment(dag, part, chains=2, draws=30, warmup=10, seed=1)


@cache
def influence() -> cs.latent.Influence:
    arcs, groups = [("heart", "lung")], {"heart": ("sex", "age"), "lung": ("ill", ODD)}
    whole = cs.DAG([*arcs, *((group, one) for group, names in groups.items() for one in names)])
    found = cs.random_network(whole, n_states=2, seed=1)
    return cs.latent.Influence(found, cs.DAG(arcs), groups, -10.0, -8.0, (), "given graph")


@cache
def evaluated() -> cs.classify.CrossEvaluation:
    part = discrete().select(["sex", "age", "ill"])
    return cs.cross_evaluate(part, "ill", splits=cs.classify.StratifiedFolds(3), seed=1)


@cache
def believed() -> cs.averaging.GraphBelief:
    part = discrete().select(["sex", "age", ODD])
    return cs.average(part, by=cs.averaging.OrderMCMC(draws=30, chains=2, warmup=10, seed=1))


@cache
def confounded() -> cs.causal.ADMG:
    return cs.causal.ADMG([("sex", "ill"), ("ill", ODD)], latent=[("sex", ODD)])


def counterfactual() -> cs.causal.Counterfactual:
    row = {"sex": "F", "ill": "yes", ODD: "none"}
    return cs.causal.counterfactual(
        tables(), ODD, do={"ill": "no"}, given=row, mechanism=cs.causal.GumbelMax()
    )


def causation() -> cs.causal.Causation:
    question = {"cause": {"ill": "yes"}, "against": {"ill": "no"}, "effect": {ODD: "none"}}
    return cs.causal.causation(tables(), **question)


@cache
def panel(has_gap: bool = True) -> cs.dynamic.Panel:
    marks = np.random.default_rng(1).normal(size=48)
    marks[7] = np.nan if has_gap else 0.0
    columns = {
        "patient": np.repeat(["a", "b", "c", "d"], 12),
        ODD: np.tile(["<x>", "y", "y"], 16),
        "mark": marks,
    }
    return cs.dynamic.read_panel(columns, sequence="patient")


@cache
def in_time() -> cs.dynamic.DynamicNetwork:
    dag = cs.DAG([(f"{ODD}(t-1)", ODD), ("mark(t-1)", "mark")])
    return cs.dynamic.fit(dag, panel())


@cache
def changes() -> cs.dynamic.ChangeBeliefs:
    dag = cs.DAG([(f"{ODD}(t-1)", ODD), ("mark(t-1)", "mark")])
    return cs.dynamic.change_points(dag, panel())


@cache
def by_tests() -> cs.searches.SearchResult:
    return cs.search(discrete(), search=cs.PC())


def study() -> cs.sites.Federation:
    """Three sites of a few rows that answer exactly."""
    policy = cs.sites.Policy(mode="exact", least_rows=1)
    table = cs.read({"x": list("abab") * 10, "y": list("uvvu") * 10})
    every = [cs.sites.Site(table, policy, name=name) for name in ("north", ODD, "west")]
    return cs.sites.federation(every, study="s")


THINGS = {
    "Panel": panel,
    "DynamicNetwork": in_time,
    "Beliefs": lambda: in_time().smooth(panel()),
    "ChangeBeliefs": changes,
    "InfluenceInTime": lambda: cs.dynamic.influence(panel(), {"z": [ODD]}),
    "Changes": lambda: next(iter(changes().values())),
    "Forecast": lambda: in_time().forecast(panel(), steps=3),
    "Path": lambda: in_time().mpe(panel()),
    "OrderChoice": lambda: cs.dynamic.choose_order(panel(has_gap=False), range(1, 3)),
    "VAR": lambda: cs.dynamic.to_var(
        cs.dynamic.from_var(["a<b>", "c"], [0.0, 1.0], [np.eye(2) / 2], np.eye(2))
    ),
    "Verdict": lambda: cs.independence.test(discrete(), "sex", "ill"),
    "ConstraintRecord": lambda: by_tests().tests,
    "GraphBelief": believed,
    "ArcBeliefs": lambda: believed().arcs,
    "GraphChains": lambda: believed().chains,
    "Multinets": lambda: cs.averaging.multinets(discrete().select(["sex", "age", ODD])),
    "ADMG": confounded,
    "Estimand": lambda: cs.causal.identify(confounded(), ODD, do="sex"),
    "Effect": lambda: cs.causal.effect(
        tables(), ODD, do={"ill": "yes"}, against={"ill": "no"}, state="none", draws=50
    ),
    "Bounds": lambda: counterfactual().bounds,
    "Counterfactual": counterfactual,
    "Causation": causation,
    "PathEffects": lambda: cs.causal.path_effects(
        tables(), ODD, do={"sex": "F"}, against={"sex": "M"}, state="none"
    ),
    "FairnessReport": lambda: cs.causal.fairness(
        tables(),
        discrete(),
        protected="sex",
        target="ill",
        positive="yes",
        model=tables(),
        mechanism=cs.causal.GumbelMax(),
    ),
    "AdjustmentSets": lambda: cs.causal.adjustment_sets(tables().dag, ODD, do="ill"),
    "Variable": lambda: cs.Variable(ODD, ("<low>", "high"), ordered=True),
    "Schema": lambda: rows().schema,
    "Table": rows,
    "Description": lambda: rows().describe(),
    "DAG": lambda: tables().dag,
    "CPDAG": lambda: cs.CPDAG.of(tables().dag),
    "Network": net,
    "Record": lambda: net().record,
    "Factor": lambda: tables().query(["sex", ODD]),
    "Mixture": lambda: net().query("pressure"),
    "MixedBelief": lambda: net().query(["sex", "pressure"]),
    "Categorical": lambda: tables()["ill"],
    "LinearGaussian": lambda: net()["pressure"],
    "Logistic": lambda: net()["ill"],
    "Counts": lambda: cs.count(discrete(), cs.Family("ill", ("sex", ODD)), by_source=True)[0],
    "Moments": lambda: cs.moments(rows(), ["age", "pressure"], by=["sex"]),
    "SearchResult": lambda: cs.search(discrete()),
    "GraphComparison": lambda: cs.compare_graphs(tables().dag, tables().dag.reverse("ill", ODD)),
    "Evaluation": lambda: cs.classify.evaluate_network(tables(), discrete(), "ill"),
    "CrossEvaluation": evaluated,
    "Fusion": lambda: cs.fuse(
        {k: tables().dag for k in ("a", "b")} | {"c": cs.DAG([(ODD, "ill")])}
    ),
    "Convergence": lambda: cs.em(
        cs.DAG([("h", "sex"), ("h", "ill")]), discrete().pooled(), hidden={"h": 2}
    ),
    "VariationalResult": lambda: cs.gaps.variational(
        cs.DAG([("h", "sex"), ("h", "ill")]), discrete().pooled(), hidden={"h": 2}
    ),
    "Augmentation": augmented,
    "Imputation": completed,
    "GapAssessment": lambda: cs.gaps.assess_gaps(discrete()),
    "HiddenStates": lambda: cs.latent_classes(
        discrete().pooled(), [1, 2], choice=cs.EM(restarts=0)
    ),
    "ChainStates": lambda: cs.dynamic.hidden_states(
        cs.dynamic.hidden_markov(["x"]),
        cs.dynamic.read_panel({"who": list("aabb") * 5, "x": list("uvvu") * 5}, sequence="who"),
        "z",
        [1, 2],
        choice=cs.EM(restarts=0),
    ),
    "Scan": lambda: cs.scan(discrete().to_frame(), source="clinic"),
    "StudyRecord": lambda: study().record,
    "SiteMeasures": lambda: cs.sites.measures(study(), cs.fit(cs.DAG([("x", "y")]), study()), "y"),
    "Clusters": lambda: cs.fusion.clusters(
        cs.read({ODD: {"x": list("abab") * 5}, "b": {"x": list("aaab") * 5}})
    ),
    "Influence": influence,
    "PooledAnswer": lambda: cs.fusion.pool_answers(
        [np.array([1.0, 2.0]), np.array([1.5, 2.5])], [np.ones(2)] * 2
    ),
    "Conflict": lambda: cs.conflict(tables(), {"sex": "F", "ill": "yes"}),
    "BeliefShift": lambda: cs.explain(tables(), ODD, {"sex": "F", "ill": "yes"}),
    "InformationValue": lambda: cs.information_value(tables(), "ill"),
    "ArcStrengths": lambda: cs.inference.arc_strengths(tables()),
    "Sensitivity": lambda: cs.sensitivity(tables(), "ill", {"sex": "F"}),
    "AnswerIntervals": lambda: cs.intervals(tables(), "ill", draws=20),
    "Differences": lambda: cs.differences(tables()),
    "DifferenceParts": lambda: difference_parts(tables(), "ill", draws=20)[0],
    "Explanation": lambda: net().mpe({"pressure": 120.0}),
    "Event": lambda: cs.Event(ODD) == "<typical>",
    "Estimate": lambda: Estimate(0.25, 0.01),
    "PartialCorrelations": lambda: cs.partial_correlations(
        rows().pooled(), names=["age", "pressure"]
    ),
}
"""By the name of its class, what makes it."""
