"""Hierarchical posteriors: every table of a network solved exactly, beside NumPyro's ADVI and NUTS.

Tables: a TAN on Adult with the sex as source (500 rows, and all), and alarm with ten sources of
200 rows each; s is one per state and the prior of the base is 1. Ours is timed in one call for all
tables of the network and in a call for each table, with everything from counts to the posterior
means and the evidence; the ratios are to the call for the table. The peers get a sample of the same
tables, with the model as the first seed had it:

    a ~ Dirichlet(1),  theta ~ Dirichlet(s a),  counts ~ Multinomial(theta)

all parent states of a table in one vectorised program, double precision. ADVI is NumPyro's SVI
with AutoNormal and Adam (step 0.01, 10,000 steps; how far its bound moved between the last two
tenths of them is shown, and after how many it had come within a nat of its end), its means from
20,000 draws. NUTS has 300 sweeps of warm-up and 1,000 draws, and only tables of up to 300 entries,
since it takes minutes for one. Their clocks start after compilation and leave out the draws of
ADVI; the ratio is to their CPU or wall seconds, whichever are fewer. Errors are the largest over
the entries of theta: of ours against integer arithmetic over table counts where the table is small
enough, of the peers against ours.

    CONSILIENCE_DATA=... python benchmarks/hierarchical.py [tables for the peers, each]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bench import data_dir, peer

import consilience as cs
from consilience.parameters.hierarchical import HierarchicalPosterior
from consilience.statistics.counts import Counts

ESTIMATORS = (cs.HDMCS(), cs.HDMJS())
STEPS, STEP_SIZE, BOUND_DRAWS = 10_000, 0.01, 20_000
WARM_UP, DRAWS, MOST_ENTRIES = 300, 1_000, 300
MOST_ROWS = 600  # of a table that integer arithmetic checks
RUNS = 21


@dataclass(frozen=True)
class Problem:
    """The counts of all families of one network."""

    name: str
    families: Sequence[Counts]


@dataclass(frozen=True)
class Answer:
    """What a peer says about one table."""

    seconds: float
    theta: Any  # (batches, groups, states)
    remark: str = ""


class Clock:
    """CPU or wall seconds of a block, whichever are fewer."""

    def __enter__(self) -> Clock:
        self.start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        cpu, wall = self.start
        self.seconds = min(time.process_time() - cpu, time.perf_counter() - wall)


def main() -> None:
    n_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for problem in problems():
        for estimator in ESTIMATORS:
            together, seconds, posteriors = ours(problem, estimator)
            report(problem, estimator, together, seconds, posteriors)
            sample = np.linspace(0, len(seconds) - 1, n_tables + 2)[1:-1].round().astype(int)
            order = np.argsort([p.hierarchy.counts.size for p in posteriors], kind="stable")
            for i in order[sample]:
                contest(problem.families[i], seconds[i], posteriors[i])


def problems() -> list[Problem]:
    adult = cs.read(
        data_dir() / "adult.csv.gz",
        source="sex",
        missing=["?"],
        discretize={
            name: cs.Quantiles(5) for name in ("age", "fnlwgt", "education-num", "hours-per-week")
        },
    )
    adult = adult.select([n for n in adult.variables if n not in ("capital-gain", "capital-loss")])
    few = adult.take(np.random.default_rng(1).permutation(adult.n_rows)[:500])
    net = cs.load(data_dir() / "networks" / "alarm.bif")
    rows = net.sample(2000, seed=1)
    alarm = cs.read(
        rows.to_frame().assign(source=np.repeat(list("abcdefghij"), 200)), source="source"
    )
    return [
        Problem("Adult by sex, TAN, 500 rows", counted(cs.tan(few, "income"), few)),
        Problem(
            f"Adult by sex, TAN, {adult.n_rows:,} rows", counted(cs.tan(adult, "income"), adult)
        ),
        Problem("alarm, 10 sources of 200 rows", counted(net.dag, alarm)),
    ]


def counted(dag: cs.DAG, table: cs.Table) -> list[Counts]:
    families = [cs.Family(node, dag.parents(node)) for node in dag.nodes]
    return cs.count(table, families, by_source=True)


def ours(problem: Problem, estimator: Any) -> tuple[float, Any, list[HierarchicalPosterior]]:
    """CPU seconds of the whole network and of each table by itself, and the posteriors."""
    together, _ = timed(estimator, problem.families)
    seconds, posteriors = [], []
    for counts in problem.families:
        alone, [local] = timed(estimator, [counts])
        seconds.append(alone)
        assert isinstance(local.posterior, HierarchicalPosterior)
        posteriors.append(local.posterior)
    return together, np.array(seconds), posteriors


def timed(estimator: Any, families: Sequence[Counts]) -> tuple[float, Any]:
    """Median CPU seconds of a few runs, the first left out, and the answer."""
    local, times = estimator.estimate(families), []
    for _ in range(RUNS):
        start = time.process_time()
        local = estimator.estimate(families)
        times.append(time.process_time() - start)
    return float(np.median(times)), local


def report(
    problem: Problem, estimator: Any, together: float, seconds: Any, posteriors: Sequence[Any]
) -> None:
    name = type(estimator).__name__
    n_exact = sum(posterior.is_exact for posterior in posteriors)
    print(f"\n{problem.name}, {name}: {len(seconds)} tables, {n_exact} of them solved exactly")
    print(
        f"  CPU, all tables in one call: {1e3 * together / len(seconds):.3f} ms a table, "
        f"all {1e3 * together:.1f} ms"
    )
    print(
        f"  CPU, a call for each table: median {1e3 * np.median(seconds):.3f} ms, shortest "
        f"{1e3 * seconds.min():.3f} ms, longest {1e3 * seconds.max():.1f} ms"
    )
    errors = [error for posterior in posteriors if (error := own_error(posterior)) is not None]
    if errors:
        print(f"  ours against integer arithmetic on {len(errors)} of them: {max(errors):.1e}")


def contest(counts: Counts, seconds: float, posterior: HierarchicalPosterior) -> None:
    hierarchy = posterior.hierarchy
    print(f"  P({counts.child.name} | ...), {hierarchy.counts.shape}: ours {1e3 * seconds:.3f} ms")
    for name, solve in PEERS.items():
        answer = solve(hierarchy.counts, float(hierarchy.s[0]), hierarchy.alpha0)
        if answer is not None:
            error = np.abs(answer.theta - hierarchy.mean()).max()
            print(
                f"    {name:<6} {answer.seconds:8.3f} s {answer.seconds / seconds:9,.0f} x ours   "
                f"largest error {error:.4f}   {answer.remark}"
            )


def advi(counts: Any, s: float, alpha0: float) -> Answer | None:
    numpyro = peer("numpyro")
    if numpyro is None:
        return None
    import jax
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    model = hierarchy_model(counts, s, alpha0)
    guide = AutoNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(STEP_SIZE), Trace_ELBO())
    first = svi.init(jax.random.PRNGKey(0))

    @jax.jit
    def run(state: Any) -> Any:
        return jax.lax.scan(lambda state, _: svi.update(state), state, length=STEPS)

    jax.block_until_ready(run(first))
    with Clock() as clock:
        state, losses = jax.block_until_ready(run(first))
    parts = -np.asarray(losses).reshape(50, -1).mean(axis=1)
    tenths = parts.reshape(10, -1).mean(axis=1)
    settled = STEPS // 50 * (1 + int(np.argmax(parts > tenths[-1] - 1)))
    remark = f"bound moved by {tenths[-1] - tenths[-2]:+.2f}, within a nat after {settled:,} steps"
    draws = guide.sample_posterior(
        jax.random.PRNGKey(1), svi.get_params(state), sample_shape=(BOUND_DRAWS,)
    )
    return Answer(clock.seconds, np.asarray(draws["theta"]).mean(axis=0), remark)


def nuts(counts: Any, s: float, alpha0: float) -> Answer | None:
    numpyro = peer("numpyro")
    if numpyro is None or counts.size > MOST_ENTRIES:
        return None
    import jax
    from numpyro.infer import MCMC, NUTS

    sampler = MCMC(
        NUTS(hierarchy_model(counts, s, alpha0)),
        num_warmup=WARM_UP,
        num_samples=DRAWS,
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0))
    with Clock() as clock:
        sampler.run(jax.random.PRNGKey(1))
        theta = np.asarray(sampler.get_samples()["theta"])
    return Answer(clock.seconds, theta.mean(axis=0))


def hierarchy_model(counts: Any, s: float, alpha0: float) -> Callable[[], None]:
    import jax.numpy as jnp
    import numpyro
    from numpyro.distributions import Dirichlet, Multinomial

    numpyro.enable_x64()
    n_batches, n_groups, r = counts.shape
    rows = jnp.asarray(counts)
    totals = rows.sum(axis=-1).astype(int)

    def model() -> None:
        base = Dirichlet(jnp.full((n_batches, r), alpha0)).to_event(1)
        a = jnp.maximum(numpyro.sample("a", base), 1e-10)
        tied = Dirichlet(jnp.broadcast_to(s * a[:, None], (n_batches, n_groups, r))).to_event(2)
        theta = numpyro.sample("theta", tied)
        numpyro.sample("counts", Multinomial(totals, theta).to_event(2), obs=rows)

    return model


PEERS = {"ADVI": advi, "NUTS": nuts}


def own_error(posterior: HierarchicalPosterior) -> float | None:
    """Largest error of the posterior means against integers, for tables with few rows."""
    hierarchy = posterior.hierarchy
    s = float(hierarchy.s[0])
    if hierarchy.counts.sum() > MOST_ROWS or not (s.is_integer() and hierarchy.alpha0 == 1):
        return None
    theta = np.stack([by_integers(table.astype(int), int(s)) for table in hierarchy.counts])
    return float(np.abs(theta - hierarchy.mean()).max())


def by_integers(table: Any, s: int) -> Any:
    r"""E[theta] with a uniform prior of the base, by sums of integers over table counts.

    The weight of table counts m is a product over states and 1 / (r (r + 1) ... (r + M - 1)), which
    times that of the largest M is a whole number.
    """
    r = table.shape[1]
    weights = [state_weights(column, s) for column in table.T]
    most = sum(len(w) - 1 for w in weights)
    ends = [[1] * (most + 1), [1] * (most + 1)]  # without and with one more factor r + M
    for total in range(most - 1, -1, -1):
        ends[0][total] = ends[0][total + 1] * (r + total)
        ends[1][total] = ends[1][total + 1] * (r + total + 1)
    before, after = [[1]], [ends]
    for w in weights:
        before.append(product(before[-1], w))
    for w in reversed(weights):
        after.append([correlation(w, end) for end in after[-1]])
    z = after[-1][0][0]
    theta = np.empty(table.shape)
    sizes = table.sum(axis=1)
    for x, w in enumerate(weights):
        scaled = correlation([(1 + k) * weight for k, weight in enumerate(w)], after[r - 1 - x][1])
        a = sum(f * b for f, b in zip(before[x], scaled, strict=False)) / (z * (r + most))
        theta[:, x] = (table[:, x] + s * a) / (sizes + s)
    return theta


def state_weights(column: Any, s: int) -> list[int]:
    """Coefficients of prod_j (s a)(s a + 1)... in a, times k!: the weight of k tables."""
    found = [1]
    for n in column:
        for i in range(n):
            found = product(found, [i, s])
    return [weight * math.factorial(k) for k, weight in enumerate(found)]


def product(one: list[int], other: list[int]) -> list[int]:
    found = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return found


def correlation(weights: list[int], later: list[int]) -> list[int]:
    n = len(later) - len(weights) + 1
    return [sum(w * later[t + k] for k, w in enumerate(weights)) for t in range(n)]


if __name__ == "__main__":
    main()
