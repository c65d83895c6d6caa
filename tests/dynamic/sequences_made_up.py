"""Random networks in time and panels of them, and static inference on the unrolled network."""

from __future__ import annotations

import numpy as np

import consilience as cs
from consilience.dynamic.evidence_in_time import evidence_of
from consilience.dynamic.lagged_names import at, lagged
from consilience.dynamic.timeline import Families, Timeline

STATES = {2: ("a", "b"), 3: ("a", "b", "c")}


def random_table(rng, child, given):
    shape = [v.n_states for v in given]
    return cs.Categorical(child, given, rng.dirichlet(np.ones(child.n_states), shape))


def random_regression(rng, child, given, scale=0.5):
    discrete = [v.n_states for v in given if not v.is_continuous]
    n = sum(v.is_continuous for v in given)
    return cs.LinearGaussian(
        child,
        given,
        rng.normal(size=discrete),
        scale * rng.normal(size=(*discrete, n)),
        rng.uniform(0.5, 1.5, size=discrete),
    )


def random_law(rng, child, given):
    return (random_regression if child.is_continuous else random_table)(rng, child, given)


def moved(variable, name):
    return cs.Variable(name, variable.states)


def random_dynamic(  # noqa: C901 - a recipe, one line after the other
    rng, *, kind="discrete", order=1, n_nodes=3, n_hidden=1, inputs=0, sources=0
):
    """A random network: kind is "discrete", "linear" or "emissions" (continuous leaves)."""
    names = [f"v{i}" for i in range(n_nodes)]
    is_leaf = dict.fromkeys(names, False)
    if kind == "emissions":
        is_leaf |= {name: i >= n_hidden for i, name in enumerate(names)}

    def variable(name):
        continuous = kind == "linear" or (kind == "emissions" and is_leaf[name])
        return cs.Variable(name, None if continuous else STATES[int(rng.integers(2, 4))])

    variables = {name: variable(name) for name in names}
    given = {
        f"u{i}": cs.Variable(f"u{i}", None if kind == "linear" else STATES[2])
        for i in range(inputs)
    }
    source = cs.Variable("place", ("rome", "oslo")) if sources else None
    parents = {}
    for i, name in enumerate(names):
        lags = [
            (other, lag)
            for other in names
            for lag in range(1, order + 1)
            if rng.random() < 0.4 and not is_leaf[other]
        ]
        within = [(other, 0) for other in names[:i] if rng.random() < 0.5 and not is_leaf[other]]
        used = [(other, 0) for other in given if rng.random() < 0.7]
        parents[name] = [*lags[:2], *within[:2], *used]
    deepest = names[0]
    if (deepest, order) not in parents[deepest]:
        parents[deepest] = [*parents[deepest][:1], (deepest, order)]
    given = {name: v for name, v in given.items() if any((name, 0) in p for p in parents.values())}
    every = {**variables, **given}
    transition = []
    for name in names:
        extra = [source] if source is not None and rng.random() < 0.7 else []
        mine = [moved(every[p], lagged(p, lag)) for p, lag in parents[name]]
        transition.append(random_law(rng, variables[name], (*extra, *mine)))
    initial = []
    if source is not None:
        initial.append(cs.Categorical(source, (), rng.dirichlet(np.ones(2))))
    for k in range(order):
        for name in names:
            if all(lag <= k for _, lag in parents[name]):
                continue
            mine = [moved(every[p], at(p, k - lag)) for p, lag in parents[name] if lag <= k]
            mine = [v for v in mine if v.name != at(name, k)]
            extra = [source] if source is not None and rng.random() < 0.5 else []
            initial.append(random_law(rng, moved(variables[name], at(name, k)), (*extra, *mine)))
    placed = {one.child.name for one in initial}
    tied = {one.child.name: one for one in transition}
    from consilience.dynamic.early_slices import flat, tied_family

    for k in range(order):
        initial.extend(
            tied_family(tied[name], k, source.name if source else None)
            for name in names
            if at(name, k) not in placed
        )
        initial.extend(flat(moved(v, at(name, k))) for name, v in given.items())
    return cs.dynamic.DynamicNetwork(
        cs.Network.of(initial, source=source.name if source else None),
        transition,
        hidden=tuple(names[:n_hidden]),
        inputs=tuple(given),
    )


def panel_of(rng, net, lengths, *, gaps=0.3, knows_source=True, gaps_in=None):
    """A drawn panel of these lengths, hidden nodes taken out, with gaps."""
    sequences = []
    for s, length in enumerate(lengths):
        inputs = {
            n: rng.normal(size=length)
            if net.variables[n].is_continuous
            else rng.choice(["a", "b"], length)
            for n in net.inputs
        }
        one = net.sample(1, length, inputs=inputs or None, seed=int(rng.integers(1e9)))
        frame = one.to_frame().drop(columns=[*net.hidden, "time"])
        frame["sequence"], frame["step"] = f"s{s}", range(length)
        for name in net.transition:
            if name in frame and (gaps_in is None or name in gaps_in):
                frame[name] = frame[name].where(rng.random(length) >= gaps)
        sequences.append(frame)
    import pandas as pd

    whole = pd.concat(sequences, ignore_index=True)
    source = None
    if net.source is not None:
        if knows_source:
            source = net.source
        else:
            whole = whole.drop(columns=[net.source])
    variables = {n: v for n, v in net.variables.items() if n not in net.hidden}
    schema = cs.Schema(variables, None)
    return cs.dynamic.read_panel(
        whole, sequence="sequence", time="step", schema=schema, source=source, inputs=net.inputs
    )


def static_given(net, panel, s, upto=None):
    """What a sequence says, as evidence on the unrolled network."""
    given = {}
    first, last = panel.first[s], panel.first[s + 1]
    for row in range(first, last if upto is None else first + upto):
        for name, variable in panel.rows.variables.items():
            value = panel.rows.column(name)[row]
            t = row - first
            if variable.is_continuous:
                if not np.isnan(value):
                    given[at(name, t)] = float(value)
            elif value >= 0:
                given[at(name, t)] = variable.states[value]
    if panel.rows.source is not None:
        given[net.source] = panel.rows.sources[panel.rows.source_codes[first]]
    return given


def log_of_inputs(net, unrolled, given):
    """What the flat laws of inputs add to a static log probability."""
    known = {n: v for n, v in given.items() if n.rsplit("(", 1)[0] in net.inputs}
    return cs.log_probability(unrolled, known) if known else 0.0


def wide_row(unrolled, given):
    """A table of one row with what is given."""
    columns = {}
    for name, variable in unrolled.variables.items():
        value = given.get(name)
        columns[name] = [
            value if value is not None else (np.nan if variable.is_continuous else None)
        ]
    return cs.read(columns, schema=dict(unrolled.variables))


def worst_difference(net, panel):
    """The largest difference of all answers from static inference on the unrolled network."""
    log, smooth = net.log_likelihood(panel), net.smooth(panel)
    filtered, path = net.filter(panel), net.mpe(panel)
    worst = 0.0
    for s in range(panel.n_sequences):
        length = int(panel.lengths[s])
        unrolled, given = net.unroll(length), static_given(net, panel, s)
        by_inputs = log_of_inputs(net, unrolled, given)
        worst = max(worst, _apart(log[s], cs.log_probability(unrolled, given) - by_inputs))
        best = unrolled.mpe(given=given).log_probability - by_inputs
        worst = max(worst, _apart(path.log_probability[s], best))
        margins = unrolled.marginals(given=given)
        for t in range(length):
            known = static_given(net, panel, s, t + 1)
            for name in net.transition:
                if at(name, t) not in given:
                    row = panel.first[s] + t
                    so_far = unrolled.query(at(name, t), given=known)
                    worst = max(worst, _belief_apart(smooth, name, row, margins[at(name, t)]))
                    worst = max(worst, _belief_apart(filtered, name, row, so_far))
    return worst


def static_counts(unrolled, given):
    """Expected counts of every family of one row, in whole steps of 2**-36."""
    return cs.expected_counts(unrolled, wide_row(unrolled, given))


def family_beliefs(unrolled, given):
    """The posterior of every family of one row, by a query each."""
    found = {}
    for node, local in unrolled.distributions.items():
        names = [*local.parents, node]
        free = [name for name in names if name not in given]
        states = unrolled.variables
        place = [states[n].states.index(given[n]) if n in given else slice(None) for n in names]
        table = np.zeros(local.table.shape)
        belief = unrolled.query(free, given=given) if free else None
        order = [] if belief is None else [belief.names.index(name) for name in free]
        spread = 1.0 if belief is None else belief.values.transpose(order)  # noqa: PD011
        table[tuple(place)] = spread
        found[node] = table
    return found


def counts_apart(net, panel, expected_of):
    """The largest difference of expected counts from their sums over the unrolled slices."""
    timeline = Timeline(net, evidence_of(net, panel), memory_limit=2**30)
    _, counts, _ = timeline.expect(Families.of(net))
    found = timeline.layout.split(counts)
    wanted = {key: np.zeros_like(one) for key, one in found.items()}
    for s in range(panel.n_sequences):
        unrolled = net.unroll(int(panel.lengths[s]))
        expected = expected_of(unrolled, static_given(net, panel, s))
        for t in range(int(panel.lengths[s])):
            for name in net.transition:
                key = at(name, t) if at(name, t) in wanted else name
                wanted[key] += expected[at(name, t)]
    return max(float(np.abs(found[key] - one).max()) for key, one in wanted.items())


def _belief_apart(beliefs, name, row, wanted):
    if name in beliefs.probabilities:
        return float(np.abs(beliefs.probabilities[name][row] - wanted.values).max())  # noqa: PD011
    mean, variance = float(np.asarray(wanted.mean)), float(np.asarray(wanted.variance))
    return max(_apart(beliefs.mean[name][row], mean), _apart(beliefs.sd[name][row] ** 2, variance))


def _apart(found, wanted):
    return abs(found - wanted) / max(1.0, abs(wanted))
