"""Every verb of a discrete network against its full joint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from inference_oracles import along, margin, weight_of
from scipy.special import entr, xlogy
from scipy.stats import binom

import consilience as cs
from consilience.errors import ImpossibleEvidenceError
from torture.cases import Case, prepare, random_table
from torture.harness import Topic

TOLERANCE = 1e-10
STEP = 2.0**-36
"""Expected counts are whole numbers of this, in each row before it is weighted and added."""
RARE = 1e-9
"""Two-sided probability of a frequency that is called wrong."""


def near(found: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    """Equal up to the tolerance, of the larger of one and the number itself."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def refuses(question: Any) -> bool:
    """Whether the question is refused as impossible."""
    try:
        question()
    except ImpossibleEvidenceError:
        return True
    return False


def asked(case: Case, n: int) -> list[str]:
    """Up to so many nodes that are not hard evidence, in any order."""
    free = [name for name in case.net.variables if not isinstance(case.given.get(name), str)]
    return [str(name) for name in case.rng().permutation(free)[:n]]


def query(case: Case) -> int:
    """One variable at a time, known ones included."""
    table = case.weighed(case.given)
    for name in case.net.variables:
        if not table.sum():
            assert refuses(lambda name=name: case.net.query(name, case.given))
            continue
        found = case.net.query(name, case.given)
        near(found.values, margin(case.net, table, [name]) / table.sum())
        for state in case.net.variables[name].discrete_states:
            assert found[state] == found.values[case.net.variables[name].states.index(state)]
    return len(case.net.variables)


def joint_query(case: Case) -> int:
    """Several variables in an order of their own."""
    table, names = (
        case.weighed(case.given),
        [str(n) for n in case.rng().permutation(list(case.net.variables))],
    )
    names = names[: case.rng().integers(2, 5)]
    if not table.sum():
        assert refuses(lambda: case.net.query(names, case.given))
        return 1
    found = case.net.query(names, case.given)
    assert found.names == tuple(names)
    near(found.values, margin(case.net, table, names) / table.sum())
    return 1


def marginals(case: Case) -> int:
    """All variables that are not known."""
    table = case.weighed(case.given)
    if not table.sum():
        assert refuses(lambda: case.net.marginals(case.given))
        return 1
    found = case.net.marginals(case.given)
    hard = {name for name, value in case.given.items() if weight_is_hard(case, name, value)}
    assert set(found) == set(case.net.variables) - hard
    for name, belief in found.items():
        near(belief.values, margin(case.net, table, [name]) / table.sum())
    return 1


def weight_is_hard(case: Case, name: str, value: Any) -> bool:
    """A state, or a set of one state."""
    return (
        not isinstance(value, cs.Likelihood)
        and weight_of(case.net.variables[name], value).sum() == 1
    )


def probability(case: Case) -> int:
    """Of an event about nodes that are not given."""
    rng, event = case.rng(), {}
    for name in [n for n in case.net.variables if n not in case.given][:3]:
        states = case.net.variables[name].discrete_states
        event[name] = (
            states[0] if rng.random() < 0.5 else set(states[: rng.integers(1, len(states) + 1)])
        )
    table = case.weighed(case.given)
    if not table.sum():
        assert refuses(lambda: case.net.probability(event, case.given))
        return 1
    both = case.weighed({**case.given, **event})
    near(case.net.probability(event, case.given), both.sum() / table.sum())
    return 1


def log_probability(case: Case) -> int:
    """Of all kinds of findings together."""
    total = case.weighed(case.given).sum()
    found = cs.log_probability(case.net, case.given)
    if total:
        near(found, math.log(total))
    else:
        assert found == -math.inf
    return 1


def soft(case: Case) -> int:
    """One distribution that must come out, by the rule of Jeffrey."""
    [name, *_] = [*asked(case, 1), *case.net.variables]
    given = {n: v for n, v in case.given.items() if n != name}
    table, variable = case.weighed(given), case.net.variables[name]
    now = margin(case.net, table, [name])
    wanted = case.rng().dirichlet(np.ones(variable.n_states)) * (now > 0)
    if not table.sum():
        return 0
    wanted /= wanted.sum()
    value = cs.Soft(dict(zip(variable.discrete_states, wanted.tolist(), strict=True)))
    ratio = np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
    expected = table * along(case.net, name, ratio)
    for other in case.net.variables:
        found = case.net.query(other, {**given, name: value})
        near(found.values, margin(case.net, expected, [other]))
    return 1


def mpe(case: Case) -> int:
    """The most probable completion; of equally probable ones any."""
    table = case.weighed(case.given)
    if not table.sum():
        assert refuses(lambda: case.net.mpe(case.given))
        return 1
    found = case.net.mpe(case.given)
    near(found.log_probability, math.log(table.max()))
    near(_at(case, table, {**_hard(case), **found}), table.max())
    return 1


def _hard(case: Case) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else next(iter(value))
        for name, value in case.given.items()
        if weight_is_hard(case, name, value)
    }


def _at(case: Case, table: np.ndarray, states: dict[str, str]) -> float:
    return float(table[tuple(v.states.index(states[n]) for n, v in case.net.variables.items())])


def map_states(case: Case) -> int:
    """The most probable states of some variables, the others summed out."""
    names = [n for n in asked(case, 3) if n not in _hard(case)]
    table = case.weighed(case.given)
    if not names or not table.sum():
        return 0
    found, expected = case.net.map(names, case.given), margin(case.net, table, names)
    near(found.log_probability, math.log(expected.max()))
    near(
        expected[tuple(case.net.variables[n].states.index(found[n]) for n in names)], expected.max()
    )
    return 1


def most_probable(case: Case) -> int:
    """The k best explanations, all different."""
    table = case.weighed(case.given)
    if not table.sum():
        return 0
    k = int(case.rng().integers(1, 7))
    found = cs.most_probable(case.net, k, case.given)
    best = np.sort(table[table > 0])[::-1][:k]
    near([one.log_probability for one in found], np.log(best))
    assert len({tuple(sorted(one.items())) for one in found}) == len(best)
    for one in found:
        near(_at(case, table, {**_hard(case), **one}), math.exp(one.log_probability))
    return 1


def posteriors(case: Case) -> int:
    """Rows together equal the full joint, and the rows one by one."""
    for target in case.net.variables:
        found = case.net.posteriors(case.table, target)
        for i in range(case.table.n_rows):
            given = {n: s for n, s in case.row(i).items() if n != target}
            table = case.weighed(given)
            near(found[i], margin(case.net, table, [target]) / table.sum())
    given = {n: s for n, s in case.row(0).items() if n != target}
    np.testing.assert_allclose(
        found[0], case.net.query(target, given).values, rtol=1e-12, atol=1e-13
    )
    return case.table.n_rows * len(case.net.variables)


def single_queries(case: Case) -> int:
    """A batch of rows gives what one query a row gives."""
    target = str(case.rng().permutation(list(case.net.variables))[0])
    found = case.net.posteriors(case.table, target)
    for i in range(case.table.n_rows):
        given = {n: s for n, s in case.row(i).items() if n != target}
        near(found[i], case.net.query(target, given).values, 1e-12)
    return case.table.n_rows


def log_likelihood(case: Case) -> int:
    """Of what each row records."""
    found = case.net.log_likelihood(case.table)
    for i in range(case.table.n_rows):
        near(found[i], math.log(case.weighed(case.row(i)).sum()))
    return case.table.n_rows


def sample(case: Case) -> int:
    """Frequencies of every joint state of two nodes, given what is known."""
    given = case.given if case.rng().random() < 0.5 else {}
    table = case.weighed(given)
    source = case.net.source
    if (
        source
        and source not in given
        and "new_source" in case.net.variables[source].discrete_states
    ):
        known = weight_of(
            case.net.variables[source], set(case.net.variables[source].discrete_states[:-1])
        )
        table = table * along(case.net, source, known)
    if not table.sum():
        return 0
    n_rows = 400
    rows = case.net.sample(n_rows, given, seed=case.seed)
    names = list(case.net.variables)[:2]
    seen = np.zeros([case.net.variables[n].n_states for n in names])
    codes = [_codes(case.net.variables[n], rows, n) for n in names]
    np.add.at(seen, tuple(codes), 1)
    p = np.clip(margin(case.net, table, names) / table.sum(), 0, 1)
    assert not seen[p == 0].any()
    assert (2 * binom.cdf(seen, n_rows, p) > RARE).all()
    assert (2 * binom.sf(seen - 1, n_rows, p) > RARE).all()
    return 1


def _codes(variable: cs.Variable, rows: cs.Table, name: str) -> np.ndarray:
    place = [variable.discrete_states.index(s) for s in rows.schema[name].discrete_states]
    return np.array(place)[rows.column(name)]


def do(case: Case) -> int:
    """The product without the tables of what is set."""
    rng, names = case.rng(), list(case.net.variables)
    chosen = [str(n) for n in rng.permutation(names)[: rng.integers(1, 3)]]
    states = {n: str(rng.choice(case.net.variables[n].discrete_states)) for n in chosen}
    table = np.ones([v.n_states for v in case.net.variables.values()])
    for name, local in case.net.distributions.items():
        if name in states:
            table = table * along(case.net, name, weight_of(local.child, states[name]))
        else:
            axes = [names.index(n) for n in (*local.parents, name)]
            laid = local.table.transpose(np.argsort(axes))
            table = table * laid.reshape([v if i in axes else 1 for i, v in enumerate(table.shape)])
    after = case.net.do(states)
    for name in names:
        near(after.query(name).values, margin(case.net, table, [name]))
    return 1


def expected_counts(case: Case) -> int:
    """Sums of the posteriors of every family."""
    counts = {n: np.zeros(local.table.shape) for n, local in case.net.tables.items()}
    for i in range(case.table.n_rows):
        table = case.weighed(case.row(i))
        weight = 1.0 if case.table.weights is None else float(case.table.weights[i])
        for name, local in case.net.tables.items():
            counts[name] += weight * margin(case.net, table, [*local.parents, name]) / table.sum()
    found = cs.expected_counts(case.net, case.table)
    for name, expected in counts.items():
        # A family of a hidden set adds up some of its rounded cells.
        near(found[name], expected, 1e-10 + 10 * STEP * case.table.total_weight)
    return case.table.n_rows


def entropy(case: Case) -> int:
    """Of the joint."""
    near(cs.entropy(case.net), entr(case.joint).sum())
    return 1


def kl_divergence(case: Case) -> int:
    """From a network with the same graph and other tables, its states in another order."""
    rng, local = case.rng(), []
    for one in case.net.distributions.values():
        table = 0.5 * random_table(rng, one.child, one.given) + 0.5 / one.child.n_states
        local.append(cs.Categorical(one.child, one.given, table))
    other = cs.Network.of(local)
    q = Case(case.seed, case.folder, other, {}, case.table).joint
    near(
        cs.kl_divergence(case.net, other),
        (xlogy(case.joint, case.joint) - xlogy(case.joint, q)).sum(),
    )
    return 1


CLAIMS = {
    **{f.__name__: f for f in (query, joint_query, marginals, probability, log_probability, soft)},
    "mpe": mpe,
    "map": map_states,
    "most_probable": most_probable,
    "posteriors": posteriors,
    "single_queries": single_queries,
    "log_likelihood": log_likelihood,
    "sample": sample,
    "do": do,
    "expected_counts": expected_counts,
    "entropy": entropy,
    "kl_divergence": kl_divergence,
}
TOPIC = Topic("discrete", prepare, CLAIMS, n_trials=1240)
