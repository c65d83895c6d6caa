"""The joint law of an unrolled linear Gaussian network in 50-digit arithmetic."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from sequences_made_up import static_given

from consilience.dynamic.lagged_names import at


def joint_law(unrolled):
    """Names, means and covariance of all continuous nodes, parents first."""
    names = list(unrolled.dag.topological_order())
    at_name = {name: i for i, name in enumerate(names)}
    mean, cov = mp.matrix(len(names), 1), mp.matrix(len(names), len(names))
    for i, name in enumerate(names):
        local = unrolled[name]
        slopes = [mp.mpf(float(b)) for b in local.coefficients]
        places = [at_name[p] for p in local.parents]
        mean[i] = mp.mpf(float(local.intercept)) + sum(
            (b * mean[p] for b, p in zip(slopes, places, strict=True)), mp.mpf(0)
        )
        for j in range(i):
            pairs = zip(slopes, places, strict=True)
            cov[i, j] = cov[j, i] = sum((b * cov[p, j] for b, p in pairs), mp.mpf(0))
        pairs = zip(slopes, places, strict=True)
        cov[i, i] = mp.mpf(float(local.sd)) ** 2 + sum((b * cov[i, p] for b, p in pairs), mp.mpf(0))
    return names, mean, cov


def conditioned(unrolled, given, free=()):
    """Log density of what is given but for the ``free`` nodes, and the law of all nodes."""
    with mp.workdps(50):
        names, mean, cov = joint_law(unrolled)
        known = [i for i, name in enumerate(names) if name in given]
        n = len(known)
        y = mp.matrix(n, 1)
        for a, i in enumerate(known):
            y[a] = mp.mpf(given[names[i]]) - mean[i]
        block = mp.matrix(n, n)
        cross = mp.matrix(len(names), n)
        for a, i in enumerate(known):
            for b, j in enumerate(known):
                block[a, b] = cov[i, j]
            for j in range(len(names)):
                cross[j, a] = cov[j, i]
        inverse = block**-1 if n else block
        found, left, log = mean, cov, mp.mpf(0)
        if n:
            gain = cross * inverse
            found, left = mean + gain * y, cov - gain * cross.T
            log = -(n * mp.log(2 * mp.pi) + mp.log(mp.det(block)) + (y.T * inverse * y)[0]) / 2
        for name in free:  # a given root of its own: its flat law counts nothing
            log += (mp.log(2 * mp.pi) + mp.mpf(given[name]) ** 2) / 2
        means = {name: float(found[i]) for i, name in enumerate(names)}
        return float(log), means, np.array(left.tolist(), float), names


def whole_sums(net, panel, key, slices):
    """Sum of products of a family's columns, one among them, over slices of sequences."""
    total = 0.0
    for s in range(panel.n_sequences):
        length = int(panel.lengths[s])
        unrolled, given = net.unroll(length), static_given(net, panel, s)
        _, means, cov, names = conditioned(unrolled, given)
        for t in range(length):
            node = at(key, t) if key in net.transition else key
            if t not in slices(length) or node not in unrolled.variables:
                continue
            columns = [*unrolled[node].parents, node]
            m = np.array([1.0, *(means[c] for c in columns)])
            places = [names.index(c) for c in columns]
            product = np.outer(m, m)
            product[1:, 1:] += cov[np.ix_(places, places)]
            total = total + product
    return total


def differences(net, panel):
    """Largest relative differences of log-likelihood, smoothed and filtered laws."""
    log, smooth, so_far = net.log_likelihood(panel), net.smooth(panel), net.filter(panel)
    worst = {"log-likelihood": 0.0, "smooth": 0.0, "filter": 0.0}

    def tell(kind, a, b, scale):
        worst[kind] = max(worst[kind], abs(a - b) / scale)

    for s in range(panel.n_sequences):
        length, first = int(panel.lengths[s]), int(panel.first[s])
        unrolled, given = net.unroll(length), static_given(net, panel, s)
        inputs = [n for n in given if n.rsplit("(", 1)[0] in net.inputs]
        wanted, means, cov, names = conditioned(unrolled, given, inputs)
        tell("log-likelihood", log[s], wanted, 1 + abs(wanted))
        laws = {"smooth": [(smooth, t, means, cov, names) for t in range(length)], "filter": []}
        for t in range(length):
            known = static_given(net, panel, s, t + 1)
            later = {n: given[n] for n in inputs}
            laws["filter"].append((so_far, t, *conditioned(unrolled, {**later, **known})[1:]))
        for kind, every in laws.items():
            for beliefs, t, m, c, order in every:
                for name in beliefs.mean:
                    i = order.index(at(name, t))
                    sd = np.sqrt(max(c[i, i], 0.0))
                    mean = m[at(name, t)]
                    tell(kind, beliefs.mean[name][first + t], mean, max(sd, abs(mean), 1e-3))
                    if at(name, t) not in given:
                        tell(kind, beliefs.sd[name][first + t], sd, sd)
    return worst
