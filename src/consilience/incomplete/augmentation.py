r"""Data augmentation: draws from the posterior of the parameters when values are missing.

EM gives one network and no idea of how sure it is. Data augmentation draws whole sets of parameters
from :math:`P(\theta \mid x)`, the posterior given what the rows record, by completing the rows and
drawing the parameters in turn (:mod:`consilience.incomplete.sweeps`). Draws of the parameters are
also what proper multiple imputation needs (:func:`consilience.impute`). Like EM it takes values to
be missing at random.

References
----------
M. Tanner, W. Wong (1987). The calculation of posterior distributions by data augmentation. Journal
of the American Statistical Association 82.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Seed
from consilience.data.door import Rows, as_table
from consilience.data.notes import notes_of
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.graph.dag import DAG
from consilience.incomplete.chains import bulk_size, r_hat, tail_size
from consilience.incomplete.parameter_names import parameter_names
from consilience.incomplete.sweeps import Sweeper, apart_nodes, prior_network
from consilience.inference.cases import check_whole_weights
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.network.record import Record
from consilience.parameters.choices import kind_of
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator, Regressor, is_apart, serves
from consilience.parameters.normal_inverse_gamma import NormalInverseGamma
from consilience.parameters.pooling import Separate
from consilience.structure.searches.task import Progress

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Augmentation", "augment"]

MET = 1.01  # an R-hat below which chains are taken to have met (Vehtari et al. 2021)
ADVICE = "take more draws, or a prior of about one for each cell"
N_REPORTS = 50
FEWEST_DRAWS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Augmentation:
    """Draws of all parameters given rows with gaps, and how far they can be trusted.

    Attributes
    ----------
    network
        The network whose parameters are posterior means.
    draws
        For each node but the source, its parameters in every draw: shape (chains, draws,
        ``*net[node].parameters.shape``).
    r_hat
        For each node and parameter, whether the chains have met; 1 if they have, below 1.01 is
        good.
    bulk_size, tail_size
        For each node and parameter, how many independent draws would tell as much about the
        middle and about the tails of its posterior; some hundreds are enough.

    Notes
    -----
    A parameter's central interval is a pair of quantiles of its draws, ``np.quantile(story.draws[
    "lung"], [0.025, 0.975], axis=(0, 1))``; ``story.to_frame()`` has it for all of them.
    """

    network: Network
    draws: Mapping[str, Floats]
    r_hat: Mapping[str, Floats]
    bulk_size: Mapping[str, Floats]
    tail_size: Mapping[str, Floats]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return next(iter(self.draws.values())).shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws that each chain kept."""
        return next(iter(self.draws.values())).shape[1]

    @property
    def has_met(self) -> bool:
        """Whether every R-hat is below 1.01."""
        return all(float(found.max()) < MET for found in self.r_hat.values())

    def networks(self, n_networks: int) -> list[Network]:
        """Networks drawn from the posterior: the chains in turn, draws of each evenly spaced."""
        n_all = self.n_chains * self.n_draws
        _check.whole("networks", at_least=1, n_networks=n_networks)
        if n_networks > n_all:
            raise InputError(
                f"{n_networks} networks are asked for, but only {n_all} draws were kept.",
                parameter="n_networks",
            )
        return [self._network(*self._place(i, n_networks)) for i in range(n_networks)]

    def to_arviz(self) -> dict[str, dict[str, Floats]]:
        """The draws as ArviZ reads them: ``{"posterior": {node: (chains, draws, ...)}}``.

        ``arviz.from_dict(story.to_arviz())``; before version 1.0,
        ``arviz.from_dict(**story.to_arviz())``.
        """
        return {"posterior": {name: np.array(drawn) for name, drawn in self.draws.items()}}

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, one row a parameter: mean, sd, 95 % interval, R-hat, effective sizes."""
        pandas = _check.extra("pandas", "pandas", "Augmentation.to_frame")
        parts: dict[str, list[Any]] = {key: [] for key in ("node", "parameter")}
        numbers = []
        for name, drawn in self.draws.items():
            labels = parameter_names(self.network[name])
            parts["node"] += [name] * len(labels)
            parts["parameter"] += labels
            flat = drawn.reshape(-1, len(labels))
            low, high = np.quantile(flat, [0.025, 0.975], axis=0)
            chains = (self.r_hat[name], self.bulk_size[name], self.tail_size[name])
            columns = [flat.mean(axis=0), flat.std(axis=0, ddof=1), low, high]
            numbers.append(np.stack([*columns, *(one.ravel() for one in chains)]))
        titles = ("mean", "sd", "low", "high", "r_hat", "bulk_size", "tail_size")
        table = np.concatenate(numbers, axis=1)
        return pandas.DataFrame({**parts, **dict(zip(titles, table, strict=True))})

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        worst = max(float(found.max()) for found in self.r_hat.values())
        least = min(float(found.min()) for found in self.bulk_size.values())
        return (
            f"Augmentation({self.n_chains} chains of {self.n_draws:,} draws, R-hat at most "
            f"{worst:.3f}, effective size at least {least:,.0f})"
        )

    def _place(self, number: int, n_networks: int) -> tuple[int, int]:
        """Chain and draw of one of so many networks: the middle of its part of the chain."""
        turn, chain = divmod(number, self.n_chains)
        n_turns = (n_networks - chain - 1) // self.n_chains + 1
        return chain, (2 * turn + 1) * self.n_draws // (2 * n_turns)

    def _network(self, chain: int, draw: int) -> Network:
        local = {
            name: one.with_parameters(self.draws[name][chain, draw]) if name in self.draws else one
            for name, one in self.network.distributions.items()
        }
        record = Record(method=f"one draw of {self.network.record.method}")
        return Network(local, self.network.source, record)


def augment(
    dag: DAG,
    rows: Rows,
    estimator: Estimator | None = None,
    *,
    gaussian: Regressor | None = None,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 200,
    thin: int = 1,
    seed: Seed = None,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Augmentation:
    """Draws from the posterior of a network's parameters, given rows with gaps.

    Every sweep fills all gaps of each row by one joint draw given what the row records and the
    current parameters, then draws the parameters given the completed rows. Nothing is left out:
    rows with gaps add what they know. Without gaps the draws are independent.

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table, and the source if the graph is to say what
        depends on it.
    rows
        A table, a frame or a path; weights must be whole numbers.
    estimator
        The prior: ``Dirichlet(...)`` in any of its forms (``ess=1`` if not given) for all sources
        together, or ``Separate(Dirichlet(...))`` for each by itself. With far less than one for
        each cell, as ``ess=1`` is in large tables, a cell that no completed row shows is drawn next
        to zero and stays there for long: R-hat tells, and ``per_cell=1`` moves freely.
    gaussian
        The prior of the regressions of continuous nodes: ``NormalInverseGamma(...)``, or
        ``Separate(NormalInverseGamma(...))``; by default the one that does with the sources what
        the estimator does.
    chains
        Number of chains; they start far apart, so that R-hat can tell whether they meet.
    draws
        Draws that each chain keeps.
    warmup
        Sweeps before the first draw that is kept. Chains move fast unless most values are missing.
    thin
        Sweeps for each draw that is kept.
    seed
        An int, a NumPy generator, or None for fresh entropy.
    progress
        Called now and then with the share of sweeps that are done.
    memory_limit
        Bytes that the draws may need.

    Raises
    ------
    InputError
        If an estimator has no conjugate prior, as maximum likelihood and the hierarchies; if a
        discrete node has continuous parents.
    DataError
        If there are no rows, or none with a positive weight; if a weight is no whole number; if no
        row has a value of a continuous node.

    Examples
    --------
    Three heads, one tail, and two tosses that nobody wrote down. These tell nothing, so the
    posterior is Beta(1 + 3, 1 + 1) with mean 2/3:

    >>> import consilience as cs
    >>> tosses = cs.read({"coin": ["heads", "heads", "heads", "tails", None, None]})
    >>> story = cs.gaps.augment(cs.DAG(nodes=["coin"]), tosses, cs.Dirichlet(per_cell=1), seed=1)
    >>> story.draws["coin"].shape, story.has_met
    ((4, 1000, 2), True)
    >>> bool(abs(story.network["coin"].table[0] - 2 / 3) < 0.01)
    True
    """
    for name, value in (("chains", chains), ("thin", thin)):
        _check.whole("augment", at_least=1, **{name: value})
    _check.whole("augment", at_least=FEWEST_DRAWS, draws=draws)
    _check.whole("augment", at_least=0, warmup=warmup)
    chosen = Dirichlet() if estimator is None else estimator
    table = as_table(rows)
    _check_input(dag, table, chosen)
    sweeper = _sweeper(dag, table, chosen, gaussian, memory_limit=memory_limit)
    n_parameters = sum(one.parameters.size for one in sweeper.net.distributions.values())
    needed = 8.0 * chains * draws * n_parameters
    _check.memory("the draws", needed, memory_limit, "Keep fewer draws, or raise memory_limit.")
    rngs = _check.generator(seed).spawn(chains)
    plan = _Plan(draws, warmup, thin, progress, chains)
    found = [_chain(sweeper, plan, k, rng) for k, rng in enumerate(rngs)]
    drawn = np.stack([kept for kept, _ in found])
    means = sum((mean for _, mean in found), np.zeros(drawn.shape[2])) / chains
    regressor = f", gaussian={_regressor(gaussian, chosen)!r}" if sweeper.net.regressions else ""
    method = f"augment({chosen!r}{regressor})"
    notes = [*_notes_on_sources(dag, table, sweeper.net), *notes_of(table, dag.nodes)]
    return _augmentation(
        sweeper,
        drawn,
        means,
        method,
        plan=plan,
        n_rows=float(table.total_weight),
        notes_on_sources=notes,
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """How long the chains are, and whom to tell."""

    draws: int
    warmup: int
    thin: int
    progress: Progress | None
    chains: int

    @property
    def sweeps(self) -> int:
        return self.warmup + self.draws * self.thin

    def report(self, chain: int, sweep: int) -> None:
        if self.progress is not None and sweep % max(1, self.sweeps // N_REPORTS) == 0:
            done = (chain * self.sweeps + sweep) / (self.chains * self.sweeps)
            self.progress(done, f"chain {chain + 1} of {self.chains}")


def _check_input(dag: DAG, rows: Table, estimator: Estimator) -> None:
    if not isinstance(dag, DAG):
        raise InputError(f"dag must be a DAG, got a {type(dag).__name__}.")
    _check_rows(dag, rows)
    for node in dag.nodes:
        if kind_of(dag, rows.schema, node) == "logistic":
            raise InputError(
                f"augment: the discrete node {node!r} has continuous parents, and no conjugate "
                "prior to draw from. Turn the arcs round, or read the parents with discretize=.",
                variable=node,
            )
    if isinstance(estimator, type) or not serves(estimator, "table"):
        raise InputError(
            f"estimator must be a choice such as cs.Dirichlet(), got {estimator!r}.",
            parameter="estimator",
        )


def _check_rows(dag: DAG, rows: Table) -> None:
    for node in dag.nodes:
        if node not in rows.schema:
            _check.unknown("variable", node, rows.variables)
    if rows.n_rows == 0:
        raise DataError("parameters cannot be drawn given a table without rows.")
    if rows.total_weight == 0:
        raise DataError(
            f"parameters cannot be drawn given {rows.n_rows:,} rows that all have the weight 0. "
            "Some row must have a positive weight."
        )
    check_whole_weights("augment", rows)
    _check_measured(dag, rows)


def _check_measured(dag: DAG, rows: Table) -> None:
    """Refuse a continuous node without values: nothing says where they lie, not even the prior."""
    counted = slice(None) if rows.weights is None else rows.weights > 0
    for node in dag.nodes:
        if rows.schema[node].is_continuous and np.isnan(rows.columns[node][counted]).all():
            raise DataError(
                f"augment: no row has a value of {node!r}. Leave it out of the graph; if it is "
                f"discrete, name its states: cs.read(..., states={{{node!r}: [...]}}).",
                variable=node,
            )


def _sweeper(
    dag: DAG, rows: Table, estimator: Estimator, gaussian: Regressor | None, *, memory_limit: float
) -> Sweeper:
    regressor = _regressor(gaussian, estimator)
    if isinstance(regressor, type) or not serves(regressor, "regression"):
        raise InputError(
            "gaussian must be a choice such as cs.estimators.NormalInverseGamma(), got "
            f"{regressor!r}.",
            parameter="gaussian",
        )
    net = prior_network(dag, rows, estimator, regressor)
    apart = apart_nodes(dag, rows, estimator, regressor)
    return Sweeper(net, rows, regressor, apart, memory_limit=memory_limit)


def _regressor(gaussian: Regressor | None, estimator: Estimator) -> Regressor:
    if gaussian is not None:
        return gaussian
    return Separate(NormalInverseGamma()) if is_apart(estimator) else NormalInverseGamma()


def _chain(
    sweeper: Sweeper, plan: _Plan, chain: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The draws of one chain, shape (draws, parameters), and the mean of their expectations."""
    state = sweeper.start(rng)
    kept = np.empty((plan.draws, len(state.parameters)))
    means = np.zeros(len(state.parameters))
    for sweep in range(plan.sweeps):
        state = sweeper.sweep(state, rng)
        plan.report(chain, sweep)
        place, rest = divmod(sweep - plan.warmup, plan.thin)
        if place >= 0 and rest == plan.thin - 1:
            kept[place] = state.parameters
            means += state.means
    return kept, means / plan.draws


def _notes_on_sources(dag: DAG, rows: Table, net: Network) -> list[str]:
    """What is pooled over several sources by the choice of the priors, not by the graph."""
    if len(rows.sources) < 2 or rows.source in dag.nodes:
        return []
    pooled = [node for node in dag.nodes if rows.source not in net[node].parents]
    if not pooled:
        return []
    what = "distributions" if net.regressions else "tables"
    of = "" if len(pooled) == len(dag.nodes) else f" of {_check.listed(pooled)}"
    return [
        f"The {what}{of} are pooled over the {len(rows.sources)} sources; cs.Separate(...) keeps "
        "them apart."
    ]


def _augmentation(
    sweeper: Sweeper,
    drawn: Floats,
    means: Floats,
    method: str,
    *,
    plan: _Plan,
    n_rows: float,
    notes_on_sources: Sequence[str],
) -> Augmentation:
    draws, mean = sweeper.split(drawn), sweeper.split(means)
    ratios = {name: r_hat(values) for name, values in draws.items()}
    worst = max(float(found.max()) for found in ratios.values())
    verdict = "the chains have met" if worst < MET else f"the chains have NOT met: {ADVICE}"
    notes = (
        f"Posterior means by data augmentation: {plan.chains} chains of {plan.draws:,} draws "
        f"after {plan.warmup:,} sweeps, thinned by {plan.thin}; largest R-hat {worst:.3f}, "
        f"{verdict}.",
        "Missing values were taken to be missing at random; that cannot be tested.",
        *notes_on_sources,
    )
    prior = sweeper.net
    local = {
        name: one.with_parameters(mean[name]) if name in mean else one
        for name, one in prior.distributions.items()
    }
    record = Record(method=method, n_rows=dict.fromkeys(draws, n_rows), notes=notes)
    return Augmentation(
        Network(local, prior.source, record),
        draws,
        ratios,
        {name: bulk_size(values) for name, values in draws.items()},
        {name: tail_size(values) for name, values in draws.items()},
    )
