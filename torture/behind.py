"""What stands behind an answer, events, interventions, and rows elsewhere, against the joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from inference_oracles import along, margin
from scipy.special import entr

import consilience as cs
from consilience.data.write import write_rows
from torture.cases import Case, prepare
from torture.discrete import near, refuses
from torture.harness import Topic
from torture.learned import families, graph, weights_of


def events(case: Case) -> int:
    """Events with "or", "not" and sets, asked for and given, and read back from their text."""
    rng, total = case.rng(), case.weighed(case.given)
    for _ in range(3):
        event, holds = _random_event(rng, case, 3)
        both, plain = (case.joint * holds).sum(), case.net.probability(event)
        near(plain, both)
        near(case.net.probability(cs.Event.parse(str(event))), both)
        name = str(rng.choice(list(case.net.variables)))
        if not both:
            assert refuses(lambda e=event, n=name: case.net.query(n, e))
        else:
            near(
                case.net.query(name, event).values,
                margin(case.net, case.joint * holds, [name]) / both,
            )
        if total.sum():
            near(case.net.probability(event, case.given), (total * holds).sum() / total.sum())
    return 9


def _random_event(rng: np.random.Generator, case: Case, depth: int) -> tuple[Any, np.ndarray]:
    """An event, and one for each joint state in which it holds."""
    kind = rng.choice(["one", "some", "not", "and", "or"]) if depth else "one"
    if kind in ("and", "or"):
        (a, here), (b, there) = (_random_event(rng, case, depth - 1) for _ in range(2))
        return (a & b, here * there) if kind == "and" else (a | b, np.maximum(here, there))
    if kind == "not":
        a, here = _random_event(rng, case, depth - 1)
        return ~a, 1.0 - here
    name = str(rng.choice(list(case.net.variables)))
    states = case.net.variables[name].discrete_states
    chosen = rng.random(len(states)) < 0.5
    if kind == "some" and chosen.any():
        event = cs.Event(name).isin([s for s, c in zip(states, chosen, strict=True) if c])
    else:
        code = int(rng.integers(len(states)))
        chosen, event = np.arange(len(states)) == code, cs.Event(name) == states[code]
    return event, np.broadcast_to(along(case.net, name, chosen * 1.0), case.joint.shape)


def _hard(case: Case) -> dict[str, str]:
    return {name: value for name, value in case.given.items() if isinstance(value, str)}


def information_value(case: Case) -> int:
    """The entropy that is lost on average by knowing one more variable."""
    given = _hard(case)
    table = case.weighed(given)
    free = [name for name in case.net.variables if name not in given]
    if not table.sum() or len(free) < 2:
        return 0
    target, table = free[0], table / table.sum()
    found = cs.information_value(case.net, target, given)
    now = entr(margin(case.net, table, [target])).sum()
    near(found.now, now)
    for name, value in found.values.items():
        both = margin(case.net, table, [target, name])
        left = entr(both).sum() - entr(both.sum(axis=0)).sum()
        near(value, now - left)
    return len(found.values)


def conflict(case: Case) -> int:
    """Log of the product of the findings' probabilities over that of all together."""
    given = {name: value for name, value in case.given.items() if name != case.net.source}
    table = case.weighed(given)
    if not table.sum() or len(given) < 2:
        return 0
    alone = [case.weighed({name: value}).sum() for name, value in given.items()]
    near(cs.conflict(case.net, given).total, np.log(alone).sum() - np.log(table.sum()))
    return 1


def explain(case: Case) -> int:
    """Beliefs before, after, and without each finding; shares add up to the way between them."""
    given = _hard(case)
    free = [name for name in case.net.variables if name not in given]
    if not free or not {*given} - {case.net.source} or not case.weighed(given).sum():
        return 0
    found = cs.explain(case.net, free[0], given)

    def belief(known: Mapping[str, str]) -> np.ndarray:
        table = case.weighed(known)
        return margin(case.net, table, [free[0]]) / table.sum()

    source = {name: state for name, state in given.items() if name == case.net.source}
    before, after = belief(source), belief(given)  # the source is no finding
    near(found.before, before)
    near(found.after, after)
    for name, change in found.left_out.items():
        near(change, after - belief({n: v for n, v in given.items() if n != name}))
    if found.shares is not None:
        near(sum(found.shares.values()), after - before)
    return 1 + len(given)


def sensitivity(case: Case) -> int:
    """Derivatives by entries of tables against small changes of them, others in proportion."""
    step, given = 1e-6, _hard(case)
    free = [name for name in case.net.variables if name not in given]
    is_inner = all(
        ((t.table > 1e-3) & (t.table < 1 - 1e-3)).all() for t in case.net.tables.values()
    )
    if not free or not is_inner:
        return 0
    event = {free[0]: case.net.variables[free[0]].discrete_states[0]}
    found, n = cs.sensitivity(case.net, event, given), 0
    for name, derivatives in found.derivatives.items():
        at = tuple(int(case.rng().integers(size)) for size in derivatives.shape)
        ends = [_changed(case.net, name, at, by).probability(event, given) for by in (-step, step)]
        near(derivatives[at], (ends[1] - ends[0]) / (2 * step), 1e-6)
        n += 1
    return n


def _changed(net: cs.Network, name: str, at: tuple[int, ...], by: float) -> cs.Network:
    """The network with one entry changed and the others of its row in proportion."""
    local = net.tables[name]
    table = local.table.copy()
    row = table[at[:-1]]
    rest = 1.0 - row[at[-1]]
    row *= (rest - by) / rest
    row[at[-1]] = local.table[at] + by
    changed = cs.Categorical(local.child, local.given, table)
    return cs.Network({**net.distributions, name: changed}, net.source)


def effect(case: Case) -> int:
    """P(y | do(x)) of a known network is that of the joint without the table of x."""
    rng = case.rng()
    if len(case.net.variables) < 2:
        return 0
    x, y = map(str, rng.permutation(list(case.net.variables))[:2])
    states = case.net.variables[x].discrete_states
    at, others = states[int(rng.integers(len(states)))], case.net.variables[y].discrete_states
    cut = cs.Categorical(case.net.variables[x], (), np.array([s == at for s in states], float))
    table = Case(
        case.seed, case.folder, cs.Network({**case.net.distributions, x: cut}), {}, case.table
    ).joint
    state = others[int(rng.integers(len(others)))]
    found = cs.causal.effect(case.net, y, do={x: at}, state=state)
    near(found.value, margin(case.net, table, [y])[others.index(state)])
    return 1


def elsewhere(case: Case) -> int:
    """Rows that stay in files, and rows of a store, are counted as those in memory."""
    if case.table.weights is not None and "weight" in {*case.table.variables, case.table.source}:
        return 0
    wanted = list(families(case).values())
    expected = cs.count(case.table, wanted)
    path = case.folder / "rows.parquet"
    write_rows(case.table, path)
    weight = None if case.table.weights is None else "weight"
    schema = case.table.schema
    rows = cs.scan(path, source=case.table.source, weight=weight, schema=schema)
    for one in (rows, cs.store(rows, case.folder / "rows.store")):
        for found, counts in zip(cs.count(one, wanted), expected, strict=True):
            np.testing.assert_array_equal(found.to_dense().values, counts.to_dense().values)
    return 2 * len(wanted)


def draws(case: Case) -> int:
    """Networks drawn from the posterior: equal for equal seeds, their mean near the fitted one."""
    if not weights_of(case).sum():
        return 0
    net = cs.fit(graph(case), case.table, cs.Dirichlet(per_cell=1), gaps=cs.AvailableCases())
    one, two = (list(cs.draws(net, 50, seed=case.seed)) for _ in range(2))
    for name in net.variables:
        each = np.stack([other.tables[name].table for other in one])
        np.testing.assert_array_equal(each, np.stack([o.tables[name].table for o in two]))
        near(each.sum(axis=-1), 1.0)
        assert np.abs(each.mean(axis=0) - net.tables[name].table).max() < 0.5
    return len(net.variables)


CLAIMS = {
    "events": events,
    "information_value": information_value,
    "conflict": conflict,
    "explain": explain,
    "sensitivity": sensitivity,
    "effect": effect,
    "elsewhere": elsewhere,
    "draws": draws,
}
TOPIC = Topic("behind", prepare, CLAIMS, n_trials=400)
