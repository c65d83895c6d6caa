from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

import consilience as cs
from consilience.causal.couplings import GumbelMax, IndependentNoise, Monotone
from consilience.errors import ConsilienceError, ImpossibleEvidenceError, InputError, ModelError

MECHANISMS = (GumbelMax(), Monotone(), IndependentNoise())


def example(ordered=True):
    """a and t cause m; all three cause y."""
    a, t = (cs.Variable(name, ("0", "1")) for name in "at")
    m = cs.Variable("m", ("low", "mid", "high"), ordered=ordered)
    y = cs.Variable("y", ("no", "yes"))
    of_m = [[[0.2, 0.3, 0.5], [0.1, 0.3, 0.6]], [[0.5, 0.3, 0.2], [0.35, 0.35, 0.3]]]
    yes = np.array([[[0.1, 0.3, 0.6], [0.2, 0.5, 0.8]], [[0.08, 0.2, 0.45], [0.15, 0.4, 0.7]]])
    return cs.Network.of(
        [
            cs.Categorical(a, (), [0.7, 0.3]),
            cs.Categorical(t, (), [0.5, 0.5]),
            cs.Categorical(m, (a, t), of_m),
            cs.Categorical(y, (a, t, m), np.stack([1 - yes, yes], axis=-1)),
        ]
    )


@pytest.mark.parametrize(
    ("row", "answers"),
    [
        ({"a": "1", "t": "0", "m": "low", "y": "no"}, (0.302675585284, 0.152173913043, 0.41)),
        ({"a": "1", "m": "low", "y": "no"}, (0.385123127697, 0.214521452145, 0.504257425743)),
        ({"a": "1", "y": "no"}, (0.332149200710, 0.332149200710, 0.511882770870)),
        ({"a": "1"}, (0.53, 0.53, 0.53)),
    ],
)
def test_the_example_under_each_mechanism(row, answers):
    for mechanism, answer in zip(MECHANISMS, answers, strict=True):
        found = cs.causal.counterfactual(
            example(), "y", do={"a": "0"}, given=row, mechanism=mechanism
        )
        assert found.belief["yes"] == pytest.approx(answer, abs=1e-12)
        low, high = found.bounds["yes"]
        assert low - 1e-12 <= answer <= high + 1e-12


def test_bounds_of_a_complete_row_are_sharp_and_need_no_mechanism():
    row = {"a": "1", "t": "0", "m": "low", "y": "no"}
    found = cs.causal.counterfactual(example(), "y", do={"a": "0"}, given=row)
    assert found.belief is None
    assert found.is_sharp
    assert found.bounds["yes"] == pytest.approx((0.152173913043, 0.652173913043))


def test_without_evidence_about_what_follows_the_answer_is_that_of_do():
    found = cs.causal.counterfactual(example(), "y", do={"a": "0"}, given={"a": "1", "t": "1"})
    truth = example().do({"a": "0"}).query("y", given={"t": "1"})
    assert found.belief.values == pytest.approx(truth.values)
    assert found.bounds["yes"] == pytest.approx((truth["yes"],) * 2)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_setting_what_was_returns_the_row(mechanism):
    net = example()
    for states in product("01", "01", ("low", "mid", "high"), ("no", "yes")):
        row = dict(zip("atmy", states, strict=True))
        found = cs.causal.counterfactual(
            net, "y", do={"a": row["a"]}, given=row, mechanism=mechanism
        )
        assert found.belief[row["y"]] == pytest.approx(1.0)


rows_of_a_table = st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).filter(
    lambda r: sum(r) > 0.1
)


@given(rows_of_a_table, rows_of_a_table)
def test_couplings_have_their_margins(p, q):
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    for mechanism in MECHANISMS:
        joint = mechanism.couple(p, q)
        assert joint.min() >= 0
        assert joint.sum(axis=1) == pytest.approx(p, abs=1e-12)
        assert joint.sum(axis=0) == pytest.approx(q, abs=1e-9)


def test_gumbel_max_is_what_gumbel_noise_gives():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    noise = np.random.default_rng(1).gumbel(size=(400_000, 3))
    one, two = (np.argmax(np.log(row) + noise, axis=1) for row in (p, q))
    drawn = np.bincount(3 * one + two, minlength=9).reshape(3, 3) / len(noise)
    assert GumbelMax().couple(p, q) == pytest.approx(drawn, abs=4e-3)


def extreme_by_responses(table, here, seen, away, goal, sign):
    """The extreme of E[goal(answer to away) | answer to here = seen] over all response laws."""
    q, r = table.shape
    functions = list(product(range(r), repeat=q))
    equal, right = [], []
    for j in range(q):
        for k in range(r):
            equal.append([float(f[j] == k) for f in functions])
            right.append(table[j, k])
    cost = [sign * goal[f[away]] * (f[here] == seen) for f in functions]
    solved = linprog(cost, A_eq=equal, b_eq=right)
    return sign * solved.fun / table[here, seen]


@given(seed=st.integers(0, 2**32))
def test_bounds_along_a_chain_equal_brute_force_over_response_functions(seed):
    rng = np.random.default_rng(seed)
    x, m, y = (
        cs.Variable(name, ("0", "1", "2")[:n]) for name, n in zip("xmy", (2, 3, 2), strict=True)
    )
    of_m, of_y = rng.dirichlet([1] * 3, size=2), rng.dirichlet([1] * 2, size=3)
    net = cs.Network.of(
        [
            cs.Categorical(x, (), [0.5, 0.5]),
            cs.Categorical(m, (x,), of_m),
            cs.Categorical(y, (m,), of_y),
        ]
    )
    row = {"x": "1", "m": str(rng.integers(3)), "y": str(rng.integers(2))}
    found = cs.causal.counterfactual(net, "y", do={"x": "0"}, given=row)
    here, seen = int(row["m"]), int(row["y"])
    for sign, ends in ((1.0, found.bounds["1"][0]), (-1.0, found.bounds["1"][1])):
        goal = [
            float(seen == 1)
            if away == here
            else extreme_by_responses(of_y, here, seen, away, [0.0, 1.0], sign)
            for away in range(3)
        ]
        assert ends == pytest.approx(extreme_by_responses(of_m, 1, here, 0, goal, sign), abs=1e-9)
    assert found.is_sharp


def law_school():
    """Marks that depend on hidden knowledge, and on two attributes as numbers."""
    r, s, k, gpa, lsat, fya = (cs.Variable(n) for n in ("R", "S", "K", "GPA", "LSAT", "FYA"))
    causes = (r, s, k)
    return cs.Network.of(
        [
            cs.LinearGaussian(r, (), 0.2, [], 0.4),
            cs.LinearGaussian(s, (), 0.45, [], 0.5),
            cs.LinearGaussian(k, (), 0.0, [], 1.0),
            cs.LinearGaussian(gpa, causes, 3.0, [-0.3, 0.1, 0.35], 0.3),
            cs.LinearGaussian(lsat, causes, 36.0, [-5.0, -0.6, 3.0], 4.0),
            cs.LinearGaussian(fya, causes, 0.1, [-0.5, -0.1, 0.55], 0.7),
        ]
    )


def test_continuous_counterfactuals_keep_the_residual():
    row = {"R": 1.0, "S": 0.0, "GPA": 2.9, "LSAT": 30.0}
    found = cs.causal.counterfactual(law_school(), "FYA", do={"R": 0.0}, given=row)
    assert found.belief.mean == pytest.approx(0.211045130641, abs=1e-10)
    assert found.belief.sd == pytest.approx(0.770368699709, abs=1e-10)
    seen = {**row, "FYA": 0.2}
    for name, value in (("FYA", 0.7), ("GPA", 3.2), ("LSAT", 35.0)):
        found = cs.causal.counterfactual(law_school(), name, do={"R": 0.0}, given=seen)
        assert found.belief.mean == pytest.approx(value, abs=1e-9)
        assert found.belief.sd == pytest.approx(0.0, abs=1e-6)


def test_many_rows_equal_one_by_one():
    net = example()
    table = net.sample(40, seed=1)
    found = cs.causal.counterfactuals(net, table, "y", do={"a": "0"}, mechanism=GumbelMax())
    frame = table.to_frame().astype(str)
    for i in range(len(frame)):
        one = cs.causal.counterfactual(
            net, "y", do={"a": "0"}, given=dict(frame.iloc[i]), mechanism=GumbelMax()
        )
        assert found[i] == pytest.approx(one.belief.values, abs=1e-12)


def test_errors_name_the_culprit():
    row = {"a": "1", "m": "low"}
    with pytest.raises(InputError, match="needs an order of the states of 'm'"):
        cs.causal.twin(example(ordered=False), do={"a": "0"}, mechanism=Monotone())
    with pytest.raises(InputError, match="how it answers in two worlds must be named"):
        cs.causal.twin(example(), do={"a": "0"})
    starred = cs.Network.of(
        [cs.Categorical(cs.Variable(n, ("0", "1")), (), [0.5, 0.5]) for n in ("y", "y*")]
    )
    with pytest.raises(ModelError, match=r"has a node 'y\*' beside 'y'"):
        cs.causal.twin(starred, do={"y": "0"})
    assert cs.causal.counterfactual(example(), "y", do={"a": "0"}, given=row).belief is None


def test_parts_of_an_effect_by_path():
    found = cs.causal.path_effects(
        example(),
        "y",
        do={"a": "1"},
        against={"a": "0"},
        state="yes",
        along=[("a", "m"), ("m", "y")],
    )
    assert found.total == pytest.approx(-0.23375)
    assert found.direct == pytest.approx(-0.102)
    assert found.indirect == pytest.approx(-0.1575)
    assert found.along == pytest.approx(-0.1575)
    assert found.spurious == pytest.approx(0.0, abs=1e-12)


def drug():
    rows = {"x": ["yes", "yes", "no", "no"], "y": ["dead", "alive"] * 2, "n": [2, 998, 28, 972]}
    return cs.read(rows, weight="n")


def test_probabilities_of_causation_of_the_drug():
    found = cs.causal.causation(
        None,
        cause={"x": "yes"},
        against={"x": "no"},
        effect={"y": "dead"},
        table=drug(),
        experiment={"yes": 0.016, "no": 0.014},
    )
    assert found.necessity == pytest.approx((1.0, 1.0))
    assert found.both == pytest.approx((0.002, 0.016))
    assert found.sufficiency == pytest.approx((0.0020576132, 0.0308641975))


def test_probabilities_of_causation_of_radiation():
    rows = {"x": ["1", "1", "0", "0"], "y": ["1", "0"] * 2, "n": [30, 69_130, 16, 59_010]}
    question = {"cause": {"x": "1"}, "against": {"x": "0"}, "effect": {"y": "1"}}
    table = cs.read(rows, weight="n")
    found = cs.causal.causation(cs.DAG([("x", "y")]), table=table, **question)
    assert found.both == pytest.approx((0.0001627098, 0.0004337767), abs=1e-9)
    assert found.necessity == pytest.approx((0.3751002383, 1.0), abs=1e-9)
    assert found.sufficiency == pytest.approx((0.0001627539, 0.0004338944), abs=1e-9)
    confounded = cs.causal.causation(None, table=table, **question)
    assert confounded.both == pytest.approx((0.0, 0.4605807186), abs=1e-9)
    assert confounded.necessity == confounded.sufficiency == (0.0, 1.0)


def mixed_marks():
    """A group moves the mean, the slope and the spread of two marks."""
    g, a, b = cs.Variable("g", ("u", "v")), cs.Variable("a"), cs.Variable("b")
    x = cs.Variable("x")
    return cs.Network.of(
        [
            cs.Categorical(g, (), [0.4, 0.6]),
            cs.LinearGaussian(x, (), np.array(1.0), np.zeros(0), np.array(2.0)),
            cs.LinearGaussian(
                a, (g, x), np.array([1.0, 2.0]), np.array([[0.5], [-1.0]]), np.array([1.0, 3.0])
            ),
            cs.LinearGaussian(b, (a, x), np.array(0.3), np.array([2.0, 0.1]), np.array(0.5)),
        ]
    )


@pytest.mark.parametrize("do", [{"g": "u"}, {"x": 0.5}, {"x": -1.0, "g": "v"}, {"a": 2.0}])
def test_kept_residuals_are_what_the_twin_says_and_gaps_are_left_to_it(do):
    net = mixed_marks()
    rows = net.sample(40, seed=1).to_frame()
    rows.loc[[3, 7], "a"] = np.nan
    table = cs.read(rows, states={"g": ["u", "v"]})
    found = cs.causal.counterfactuals(net, table, "b", do=do)
    for i in (0, 1, 2, 3, 7):
        known = {n: v for n, v in rows.iloc[i].items() if v == v}
        one = cs.causal.counterfactual(net, "b", do=do, given=known).belief
        assert found[i] == pytest.approx([one.mean, one.sd], abs=1e-6)


def test_rows_without_a_column_of_a_hidden_cause_are_answered():
    net = law_school()
    rows = net.sample(5, seed=1).to_frame()
    del rows["K"]
    del rows["FYA"]
    found = cs.causal.counterfactuals(net, cs.read(rows), "FYA", do={"R": 0.0})
    for answer, (_, row) in zip(found, rows.iterrows(), strict=True):
        one = cs.causal.counterfactual(net, "FYA", do={"R": 0.0}, given=row).belief
        assert answer == pytest.approx([one.mean, one.sd], abs=1e-9)


def test_several_states_and_likelihoods_are_evidence_too():
    sets = {"a": "1", "t": "0", "m": {"low", "mid"}, "y": "no"}
    asked = {"do": {"a": "0"}, "mechanism": GumbelMax()}
    some = cs.causal.counterfactual(example(), "y", given=sets, **asked)
    likely = {**sets, "m": cs.Likelihood({"low": 1.0, "mid": 1.0})}
    assert some.belief.values == pytest.approx(
        cs.causal.counterfactual(example(), "y", given=likely, **asked).belief.values
    )
    low, high = some.bounds["yes"]
    assert low <= some.belief["yes"] <= high
    assert not some.is_sharp


def test_an_experiment_that_contradicts_the_rows_is_refused():
    with pytest.raises(ModelError, match="contradict each other"):
        cs.causal.causation(
            None,
            cause={"a": "1"},
            against={"a": "0"},
            effect={"y": "yes"},
            table=example().sample(200, seed=1),
            experiment={"1": 0.01, "0": 0.99},
        )


def test_a_row_that_cannot_occur_is_refused_without_a_mechanism_too():
    a, y = cs.Variable("a", ("0", "1")), cs.Variable("y", ("0", "1"))
    of_y = cs.Categorical(y, (a,), [[0.5, 0.5], [1.0, 0.0]])
    net = cs.Network.of([cs.Categorical(a, (), [0.5, 0.5]), of_y])
    with pytest.raises(ImpossibleEvidenceError, match="zero"):
        cs.causal.counterfactual(net, "y", do={"a": "0"}, given={"a": "1", "y": "1"})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"y": ["y", "m"]}, "y must be one node"),
        ({"do": "a"}, "mapping of node to state"),
        ({"y": "t", "do": {"a": "9"}}, "'a' has no state '9'"),
        ({"net": cs.DAG([("a", "y")])}, "net must be a Network, got a DAG"),
        ({"mechanism": "gumbel"}, "mechanism must be"),
        ({"mechanism": GumbelMax}, "mechanism must be"),
    ],
)
def test_wrong_counterfactual_questions_are_refused(asked, message):
    row = {"a": "1", "t": "0", "m": "low", "y": "no"}
    whole = {"net": example(), "y": "y", "do": {"a": "0"}, "given": row, **asked}
    with pytest.raises(ConsilienceError, match=message):
        cs.causal.counterfactual(whole.pop("net"), whole.pop("y"), **whole)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cause": "a"}, "cause must map one variable to a state"),
        ({"cause": {"a": "1", "t": "0"}}, "cause must map one variable to a state"),
        ({"against": {"a": "1"}}, "two states of one variable"),
        ({"effect": {"a": "1"}}, "two states of one variable"),
        ({"cause": {"a": "5"}}, "'a' has no state '5'"),
    ],
)
def test_wrong_questions_about_causes_are_refused(asked, message):
    whole = {"cause": {"a": "1"}, "against": {"a": "0"}, "effect": {"y": "yes"}, **asked}
    with pytest.raises(ConsilienceError, match=message):
        cs.causal.causation(example(), **whole)


def causation_by_program(joint, experiment):
    """Ends of necessity, sufficiency and both, by a program over x, y and the two outcomes."""
    cells = list(product(range(3), range(2), range(2)))  # x, y under 0, y under 1
    seen = [[(x == i) * (x == 2 or (u, v)[x] == j) * 1.0 for x, u, v in cells] for i, j in ROWS]
    under = [[(u, v)[side] * 1.0 for _, u, v in cells] for side in (0, 1)]
    equal, ends = [*seen, *under], [*(joint[i, j] for i, j in ROWS), *experiment]
    equal.append([(x == 2) * 1.0 for x, _, _ in cells])
    ends.append(joint[2].sum())
    goals = {
        "necessity": ([(x, u, v) == (1, 0, 1) for x, u, v in cells], joint[1, 1]),
        "sufficiency": ([(x, u, v) == (0, 0, 1) for x, u, v in cells], joint[0, 0]),
        "both": ([(u, v) == (0, 1) for _, u, v in cells], 1.0),
    }
    return {
        name: tuple(
            sign * linprog(sign * np.array(goal, float), A_eq=equal, b_eq=ends).fun / whole
            for sign in (1, -1)
        )
        for name, (goal, whole) in goals.items()
    }


ROWS = [(i, j) for i in (0, 1) for j in (0, 1)]


@pytest.mark.parametrize("seed", range(8))
def test_a_third_state_of_a_confounded_cause_is_part_of_the_population(seed):
    rng = np.random.default_rng(seed)
    cells = rng.dirichlet(np.full(12, 0.7)).reshape(3, 2, 2)  # x, y under 0, y under 1
    joint = np.zeros((3, 2))
    for x, u, v in product(range(3), range(2), range(2)):
        joint[x, (u, v, 0)[x]] += cells[x, u, v]
    points = cells.sum(axis=(0, 2))[1], cells.sum(axis=(0, 1))[1]
    table = cs.read({"x": list("001122"), "y": list("01" * 3), "n": joint.ravel()}, weight="n")
    found = cs.causal.causation(
        None,
        cause={"x": "1"},
        against={"x": "0"},
        effect={"y": "1"},
        table=table,
        experiment=dict(zip("01", points, strict=True)),
    )
    for name, ends in causation_by_program(joint, points).items():
        assert getattr(found, name) == pytest.approx(ends, abs=1e-8), name
