"""Kalman filter and smoother beside statsmodels: CPU time on one thread, same answers.

4 hidden states, 2 series, 100,000 steps: once complete, and once with a tenth of the values
missing. Each side gives the smoothed means and variances and the log-likelihood of one call.

    python benchmarks/state_space.py
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # one thread for everybody

from typing import Any

import numpy as np
from bench import measure, peer

import consilience as cs

STATES, SERIES, STEPS = 4, 2, 100_000


def matrices(rng: np.random.Generator) -> tuple[Any, Any]:
    """A stable transition and a matrix of emissions."""
    moves = rng.normal(size=(STATES, STATES))
    moves *= 0.9 / np.abs(np.linalg.eigvals(moves)).max()
    return moves, rng.normal(size=(SERIES, STATES))


def theirs(values: Any, moves: Any, shows: Any) -> Any:
    """The same model of statsmodels, or None."""
    module = peer("statsmodels.tsa.statespace.kalman_smoother")
    if module is None:
        return None
    model = module.KalmanSmoother(k_endog=SERIES, k_states=STATES)
    model.bind(values.copy())
    model["design"], model["transition"] = shows, moves
    model["selection"] = model["state_cov"] = np.eye(STATES)
    model["obs_cov"] = np.eye(SERIES)
    model.initialize_known(np.zeros(STATES), np.eye(STATES))
    return model


def compare(title: str, values: Any, moves: Any, shows: Any) -> None:
    """One case: both sides timed, answers compared."""
    net = cs.dynamic.from_state_space(
        moves,
        shows,
        np.eye(STATES),
        np.eye(SERIES),
        mean=np.zeros(STATES),
        covariance=np.eye(STATES),
    )
    names = [f"x{i + 1}" for i in range(SERIES)]
    panel = cs.dynamic.read_panel(dict(zip(names, values.T, strict=True)), continuous=names)
    ours, _ = measure(lambda: net.smooth(panel), repeats=9)
    line = f"{title}: ours {1e6 * ours / STEPS:.3f} microseconds a step"
    model = theirs(values, moves, shows)
    if model is None:
        print(line)
        return
    other, _ = measure(model.smooth, repeats=5)
    beliefs, answer = net.smooth(panel), model.smooth()
    apart = np.abs(beliefs.mean["z1"] - answer.smoothed_state[0]).max()
    log = abs(beliefs.log_likelihood[0] - answer.llf) / abs(answer.llf)
    print(
        f"{line}, statsmodels {1e6 * other / STEPS:.3f}: {other / ours:.1f} x\n"
        f"  means differ by {apart:.1e}, log-likelihoods by {log:.1e} of themselves"
    )


def main() -> None:
    rng = np.random.default_rng(0)
    moves, shows = matrices(rng)
    z = np.zeros(STATES)
    values = np.zeros((STEPS, SERIES))
    for t in range(STEPS):
        z = moves @ z + rng.normal(size=STATES)
        values[t] = shows @ z + rng.normal(size=SERIES)
    compare("complete", values, moves, shows)
    gaps = np.where(rng.random(values.shape) < 0.1, np.nan, values)
    compare("a tenth missing", gaps, moves, shows)


if __name__ == "__main__":
    main()
