r"""One answer from many completed tables: Rubin's rules.

Each of :math:`m` completed tables gives an answer :math:`Q_i` with its variance :math:`U_i`, as if
nothing had been missing. With :math:`\bar Q` and :math:`\bar U` their means and :math:`B` the
variance of the answers,

.. math::
    T = \bar U + \bigl(1 + \tfrac1m\bigr) B, \qquad
    \frac{Q - \bar Q}{\sqrt T} \sim t_\nu, \qquad
    \frac1\nu = \frac{\lambda^2}{m - 1} + \frac1{\nu_{obs}}, \quad
    \lambda = \frac{(1 + 1/m) B}{T}, \quad
    \nu_{obs} = \frac{\nu_0 + 1}{\nu_0 + 3}\,\nu_0\,(1 - \lambda),

where :math:`\nu_0` are the degrees of freedom that the complete table would leave. Where
:math:`\bar U = 0`, so that :math:`\lambda = 1` and :math:`\nu_{obs} = 0`, the spread of the answers
is all there is and :math:`\nu = m - 1`; elsewhere :math:`\nu` is at least 1 (or :math:`\nu_0`, if
that is less), since quantiles of t with fewer degrees of freedom are beyond any use. The fraction
of missing information is :math:`(r + 2 / (\nu + 3)) / (r + 1)` with
:math:`r = (1 + 1/m) B / \bar U`.

References
----------
D. Rubin (1987). Multiple Imputation for Nonresponse in Surveys. J. Barnard, D. Rubin (1999).
Small-sample degrees of freedom with multiple imputation. Biometrika 86.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.errors import InputError
from consilience.network.factor import Factor
from consilience.network.network import Network
from consilience.parameters.uncertainty import draws

__all__ = ["PooledAnswer", "pool_answers", "pool_queries"]


@dataclass(frozen=True, slots=True, eq=False)
class PooledAnswer:
    """What many completed tables say together; all arrays have the shape of one answer.

    Parameters
    ----------
    estimate
        Mean of the answers.
    within, between, total
        Variance that would be left if nothing were missing; variance of the answers from one
        completion to the next; variance of the estimate.
    degrees_of_freedom
        Of the t distribution of the estimate; infinite where the answers agree.
    low, high
        Ends of the interval.
    missing_information
        Share of the information about this answer that was lost with the missing values.
    n_tables
        How many answers were pooled.
    level
        Of the interval.
    """

    estimate: Floats
    within: Floats
    between: Floats
    total: Floats
    degrees_of_freedom: Floats
    low: Floats
    high: Floats
    missing_information: Floats
    n_tables: int
    level: float

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __str__(self) -> str:
        if self.estimate.ndim:
            return f"PooledAnswer({self.estimate.shape}, {self.n_tables} tables)"
        return (
            f"{self.estimate:.4g} ({100 * self.level:g} % interval {self.low:.4g} to "
            f"{self.high:.4g}; {self.n_tables} tables, "
            f"{100 * self.missing_information:.0f} % of the information missing)"
        )


def pool_answers(
    answers: npt.ArrayLike,
    variances: npt.ArrayLike,
    *,
    level: float = 0.95,
    degrees_of_freedom: float | None = None,
) -> PooledAnswer:
    """Answers of completed tables and their variances, pooled by Rubin's rules.

    Parameters
    ----------
    answers, variances
        Shape (tables, ...), at least two tables.
    level
        Of the interval.
    degrees_of_freedom
        What a complete table would leave for the answer (rows minus coefficients); many if not
        given, as for shares of many rows.

    Examples
    --------
    >>> pooled = pool_answers([4.0, 5.0, 6.0], [0.5, 0.5, 0.5])
    >>> float(pooled.estimate), float(pooled.between), round(float(pooled.total), 4)
    (5.0, 1.0, 1.8333)
    >>> print(pooled)
    5 (95 % interval 1.153 to 8.847; 3 tables, 81 % of the information missing)
    """
    values, squares = _numbers("answers", answers), _numbers("variances", variances)
    _check_answers(values, squares)
    _check_level("pool_answers", level)
    m = len(values)
    within, between = squares.mean(axis=0), values.var(axis=0, ddof=1)
    added = (1 + 1 / m) * between
    total = within + added
    share = np.divide(added, total, out=np.zeros_like(total), where=total > 0)
    left = _degrees(share, m, degrees_of_freedom)
    half = np.sqrt(total) * stdtrit(np.minimum(left, 1e10), (1 + level) / 2)
    # (r + 2 / (nu + 3)) / (r + 1) with r = share / (1 - share), which may be infinite
    lost = np.where(share > 0, share + (1 - share) * 2 / (left + 3), 0.0)
    estimate = values.mean(axis=0)
    return PooledAnswer(
        estimate=np.asarray(estimate),
        within=np.asarray(within),
        between=np.asarray(between),
        total=np.asarray(total),
        degrees_of_freedom=np.asarray(left),
        low=np.asarray(estimate - half),
        high=np.asarray(estimate + half),
        missing_information=np.asarray(lost),
        n_tables=m,
        level=level,
    )


def pool_queries(
    networks: Sequence[Network],
    ask: Callable[[Network], Any],
    *,
    level: float = 0.95,
    n_draws: int = 200,
    degrees_of_freedom: float | None = None,
    seed: Seed = None,
) -> PooledAnswer:
    """Any question asked of networks that were fitted to completed tables, pooled.

    The variance of each network's answer is that of the answers of networks drawn from its
    posterior (:func:`consilience.draws`), so the networks must have one.

    Parameters
    ----------
    networks
        One for each completed table: ``[cs.fit(dag, table) for table in imputed.tables]``.
    ask
        The question: takes a network and gives a number, an array or a ``Factor``.
    n_draws
        Networks drawn from the posterior of each.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"cough": ["yes", "no", None, "yes"]})
    >>> dag = cs.DAG(nodes=["cough"])
    >>> story = cs.gaps.augment(dag, rows, seed=1)
    >>> tables = cs.impute(story, rows, draws=20, seed=1).tables
    >>> fitted = [cs.fit(dag, table) for table in tables]
    >>> pooled = pool_queries(fitted, lambda net: net.probability({"cough": "yes"}), seed=1)
    >>> bool(pooled.low < pooled.estimate < pooled.high), bool(pooled.missing_information > 0)
    (True, True)
    """
    _check.whole("pool_queries", at_least=2, n_draws=n_draws)
    _check_level("pool_queries", level)
    fitted = _checked_networks(networks)
    if not callable(ask):
        raise InputError(
            f"pool_queries: ask must be a function that takes a network, got {ask!r}; for example "
            'lambda net: net.query("node").',
            parameter="ask",
        )
    rng = _check.generator(seed)
    answers, variances = [], []
    for net in fitted:
        answers.append(_answer(ask(net)))
        drawn = [_answer(ask(one)) for one in draws(net, n_draws, seed=rng)]
        _check_shapes([answers[0], answers[-1], *drawn])
        variances.append(np.stack(drawn).var(axis=0, ddof=1))
    return pool_answers(answers, variances, level=level, degrees_of_freedom=degrees_of_freedom)


def _degrees(share: Floats, m: int, complete: float | None) -> Floats:
    """Degrees of freedom of Barnard and Rubin (1999), m - 1 where nothing varies within."""
    inverse = share**2 / (m - 1)
    if complete is not None:
        _check.positive("pool_answers", degrees_of_freedom=complete)
        observed = (complete + 1) / (complete + 3) * complete * (1 - share)
        rest = np.divide(1.0, observed, out=np.zeros_like(share), where=observed > 0)
        inverse = np.minimum(inverse + rest, max(1.0, 1 / complete))
    # The inverse of a smaller number would overflow.
    is_finite = inverse > np.finfo(np.float64).tiny
    return np.divide(1.0, inverse, out=np.full_like(share, np.inf), where=is_finite)


def _check_answers(values: Floats, squares: Floats) -> None:
    if values.ndim == 0 or len(values) < 2 or values.shape != squares.shape:
        raise InputError(
            "Rubin's rules need at least two answers and a variance for each, got shapes "
            f"{values.shape} and {squares.shape}."
        )
    if not (np.isfinite(values).all() and np.isfinite(squares).all() and (squares >= 0).all()):
        raise InputError("answers must be finite numbers, and variances zero or more.")


def _check_level(owner: str, level: float) -> None:
    if not (isinstance(level, float | np.floating) and 0 < level < 1):
        raise InputError(
            f"{owner}: level must lie between 0 and 1, got {level!r}.", parameter="level"
        )


def _checked_networks(networks: Any) -> list[Network]:
    advice = "networks must be Networks, one for each of at least two completed tables"
    if isinstance(networks, Network) or not isinstance(networks, Iterable):
        what = "a single one" if isinstance(networks, Network) else repr(networks)
        raise InputError(f"pool_queries: {advice}, got {what}.", parameter="networks")
    fitted = list(networks)
    for net in fitted:
        if not isinstance(net, Network):
            raise InputError(
                f"pool_queries: {advice}, got a {type(net).__name__}.", parameter="networks"
            )
    if len(fitted) < 2:
        raise InputError(f"pool_queries: {advice}, got {len(fitted)}.", parameter="networks")
    return fitted


def _check_shapes(answers: Sequence[Floats]) -> None:
    shapes = list(dict.fromkeys(answer.shape for answer in answers))
    if len(shapes) > 1:
        raise InputError(
            "pool_queries: ask must give answers of one shape, got the shapes "
            f"{shapes[0]} and {shapes[1]}.",
            parameter="ask",
        )


def _numbers(name: str, given: npt.ArrayLike) -> Floats:
    values = _array(given)
    if values is None:
        raise InputError(
            f"pool_answers: {name} must be numbers, or arrays of one shape, for each table, got "
            f"{reprlib.repr(given)}.",
            parameter=name,
        )
    return values


def _answer(given: Any) -> Floats:
    values = _array(given.values if isinstance(given, Factor) else given)
    if values is None:
        raise InputError(
            "pool_queries: ask must give a number, an array of numbers or a Factor, got "
            f"{reprlib.repr(given)}.",
            parameter="ask",
        )
    return values


def _array(given: Any) -> Floats | None:
    """Numbers as an array, None if they are none or have no common shape."""
    try:
        values = np.asarray(given)
    except ValueError:
        return None
    return values.astype(np.float64) if values.dtype.kind in "biuf" else None
