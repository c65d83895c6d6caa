r"""The climb of EM in networks with continuous nodes.

A step takes a network to its expected counts and moments (``inference/mixed_cases.py``) and these
to the network that an estimator makes of them. With maximum likelihood, variances over n, the
log-likelihood of what the rows record never falls.

After two steps the squared extrapolation of Varadhan and Roland (2008), as in ``climbing.py``, may
leap ahead, in coordinates without units: cells of tables, and of a regression of :math:`x` on
:math:`z`, with centers :math:`c` and sds :math:`s` of the columns,

.. math:: \frac{\beta_0 + \beta^\top c_z - c_x}{s_x}, \qquad \beta_k \frac{s_k}{s_x}, \qquad
    \log \frac{\sigma}{s_x} .

A residual sd that falls to nothing (a hidden state that explains a few equal values, a column that
is a function of others) makes the likelihood grow without bound: the climb is then refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Floats
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.errors import DataError
from consilience.incomplete.climbing import extrapolated
from consilience.inference.mixed_cases import MixedCases, MixedExpected
from consilience.network.network import Network
from consilience.statistics.moments import Moments

__all__ = ["Maximize", "MixedClimb", "climb_mixed"]

COLLAPSED = 1e-8
"""Share of a column's sd; a residual sd below it counts as zero."""

ROUNDING = 1e-10
"""Relative fall of the objective that is no fall."""

Maximize = Callable[[dict[str, Floats], dict[str, Moments]], Network]
"""From counts of discrete families and moments of the others to a network."""


@dataclass(slots=True)
class MixedClimb:
    """A climb: the last network and its expected statistics, and the objective on the way.

    Attributes
    ----------
    net
        The network reached.
    expected
        Expected statistics under it.
    objective
        Of the start and after each step.
    stopped_by
        ``"tolerance"``, ``"iterations"`` or ``"interrupt"``.
    n_falls
        How many steps made the objective fall; more than zero only if the steps do not maximize it,
        as when a joint state with too few rows borrows the regression of all states.
    """

    net: Network
    expected: MixedExpected
    objective: list[float] = field(default_factory=list)
    stopped_by: str = "iterations"
    n_falls: int = 0


def climb_mixed(
    net: Network,
    cases: MixedCases,
    maximize: Maximize,
    *,
    iterations: int,
    tolerance: float,
    accelerate: bool = True,
    log_prior: Callable[[Network], float] | None = lambda _: 0.0,
    tell: Callable[[int, float], None] = lambda *_: None,
) -> MixedClimb:
    """Climb from this network until the objective, or the parameters, rest.

    It ends when the objective grows by less than ``tolerance`` of itself; if there is none, or it
    has fallen, when no coordinate moves by more than the root of ``tolerance``; or after so many
    steps. An interrupt from the keyboard ends it too; what was reached is returned.

    Parameters
    ----------
    net
        Where to start; its graph is that of the cases.
    cases
        The rows.
    maximize
        The M-step.
    iterations, tolerance
        When to end.
    accelerate
        Whether to extrapolate; only where there is an objective.
    log_prior
        What is added to the log-likelihood to make the objective; None if the steps maximize no
        objective that is known.
    tell
        Called after each step with its number and the objective.

    Raises
    ------
    DataError
        If a residual sd falls to zero.
    """
    chart = _Chart(cases)
    chart.refuse_collapse(net)
    problem = _Problem(cases, chart, maximize, log_prior)
    at = problem.start(net)
    while len(at.objective) <= iterations:
        before = at.net
        try:
            is_last = len(at.objective) == iterations
            if accelerate and problem.is_climbing(at) and not is_last:
                problem.two_steps_and_a_leap(at)
            else:
                problem.step(at, problem.next(at))
            tell(len(at.objective) - 1, at.objective[-1])
        except KeyboardInterrupt:
            at.stopped_by = "interrupt"
            return at
        if problem.rests(at, before, tolerance):
            at.stopped_by = "tolerance"
            return at
    return at


@dataclass(frozen=True, slots=True)
class _Problem:
    """What is climbed."""

    cases: MixedCases
    chart: _Chart
    maximize: Maximize
    log_prior: Callable[[Network], float] | None

    def start(self, net: Network) -> MixedClimb:
        expected = self.cases.expected(net)
        return MixedClimb(net, expected, [self._objective(net, expected)])

    def is_climbing(self, at: MixedClimb) -> bool:
        """Whether there is an objective, which has not fallen so far."""
        return self.log_prior is not None and at.n_falls == 0

    def next(self, at: MixedClimb) -> Network:
        """The network that the expected statistics ask for."""
        net = self.maximize(at.expected.counts, at.expected.moments)
        self.chart.refuse_collapse(net)
        return net

    def step(self, at: MixedClimb, net: Network) -> None:
        self._accept(at, net, self.cases.expected(net))

    def two_steps_and_a_leap(self, at: MixedClimb) -> None:
        """Two steps of EM, and further if the objective is not lower there."""
        start = at.net
        self.step(at, self.next(at))
        second = self.next(at)
        there = self.chart.extrapolated(start, at.net, second)
        if there is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # a leap too far is not taken
                expected = self.cases.expected(there)
            if self._objective(there, expected) >= at.objective[-1]:
                self._accept(at, there, expected)
                return
        self.step(at, second)

    def rests(self, at: MixedClimb, before: Network, tolerance: float) -> bool:
        if self.is_climbing(at):
            gain = at.objective[-1] - at.objective[-2]
            return gain <= tolerance * (1.0 + abs(at.objective[-1]))
        moved = self.chart.vector(at.net) - self.chart.vector(before)
        return bool(np.abs(moved).max() <= np.sqrt(tolerance))

    def _accept(self, at: MixedClimb, net: Network, expected: MixedExpected) -> None:
        objective = self._objective(net, expected)
        at.n_falls += objective < at.objective[-1] - ROUNDING * (1.0 + abs(at.objective[-1]))
        at.net, at.expected = net, expected
        at.objective.append(objective)

    def _objective(self, net: Network, expected: MixedExpected) -> float:
        prior = 0.0 if self.log_prior is None else self.log_prior(net)
        return expected.log_likelihood + prior


class _Chart:
    """Coordinates without units of the networks of one graph."""

    def __init__(self, cases: MixedCases) -> None:
        self._shape = cases.shape
        # A hidden variable, or a constant one, has no sd to be measured by.
        spreads = np.where(cases.spreads > 0, cases.spreads, 1.0)
        self._limits = dict(zip(cases.shape.continuous, COLLAPSED * cases.spreads, strict=True))
        self._spreads = dict(zip(cases.shape.continuous, spreads, strict=True))
        self._centers = dict(zip(cases.shape.continuous, cases.centers, strict=True))

    def refuse_collapse(self, net: Network) -> None:
        """Raise if a residual sd has fallen to nothing."""
        for name, limit in self._limits.items():
            local = net.distributions[name]
            if isinstance(local, LinearGaussian) and not (local.sd > limit).all():
                raise DataError(
                    f"the residual sd of {name!r}"
                    f"{self._shape.where(net, name, int(local.sd.argmin()))} is "
                    f"{local.sd.min():.3g}: its values there are constant, or a function of its "
                    "parents, and the likelihood grows without bound. Use an estimator with a "
                    "prior, such as cs.NormalInverseGamma(), fewer parents or hidden states, or "
                    "leave the column out.",
                    variable=name,
                )

    def vector(self, net: Network) -> Floats:
        """The coordinates of a network."""
        return np.concatenate([self._of(local).ravel() for local in net.distributions.values()])

    def extrapolated(self, start: Network, first: Network, second: Network) -> Network | None:
        """Where two steps lead if they go on so; None if that is no further than the second."""
        there = extrapolated(*(self.vector(net) for net in (start, first, second)))
        if there is None:
            return None
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return self._network(second, there)
        except DataError:  # it leapt too far
            return None

    def _of(self, local: Distribution) -> Floats:
        if not isinstance(local, LinearGaussian):
            return local.parameters
        child = local.child.name
        unit, center = self._spreads[child], self._centers[child]
        centers, units = self._parents(local)
        moved = local.intercept + local.coefficients @ centers - center
        return np.concatenate(
            [
                moved[..., None] / unit,
                local.coefficients * units / unit,
                np.log(local.sd / unit)[..., None],
            ],
            axis=-1,
        )

    def _network(self, like: Network, vector: Floats) -> Network:
        found: list[Distribution] = []
        place = 0
        for local in like.distributions.values():
            size = local.parameters.size
            part = vector[place : place + size].reshape(local.parameters.shape)
            found.append(self._local(local, part))
            place += size
        net = Network.of(found, source=like.source)
        self.refuse_collapse(net)
        return net

    def _local(self, like: Distribution, part: Floats) -> Distribution:
        if isinstance(like, Categorical):
            cells = np.where(part > 0.0, part, 0.1 * like.table)
            return Categorical(like.child, like.given, cells / cells.sum(axis=-1, keepdims=True))
        if not isinstance(like, LinearGaussian):
            raise TypeError("the nodes of mixed cases are tables and regressions.")
        child = like.child.name
        unit, center = self._spreads[child], self._centers[child]
        centers, units = self._parents(like)
        slopes = part[..., 1:-1] * unit / units
        intercept = part[..., 0] * unit + center - slopes @ centers
        sd = np.exp(part[..., -1]) * unit
        if not (np.isfinite(slopes).all() and np.isfinite(intercept).all() and (sd < np.inf).all()):
            raise DataError(f"the regression of {child!r} is too far out.", variable=child)
        return LinearGaussian(like.child, like.given, intercept, slopes, sd)

    def _parents(self, local: LinearGaussian) -> tuple[Floats, Floats]:
        names = [v.name for v in local.continuous]
        return (
            np.array([self._centers[name] for name in names], float),
            np.array([self._spreads[name] for name in names], float),
        )
