"""Predictions of rows as columns, and how good they are in sums that add up over parts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import consilience as cs
    from consilience._typing import Codes, Floats

__all__ = ["Tally", "predicted"]


@dataclass(frozen=True, slots=True)
class Tally:
    """What predictions of some rows add up to.

    Parameters
    ----------
    is_discrete
        Whether the target has states.
    n_impossible
        Rows whose values exclude every prediction.
    n_known, n_excluded
        Rows whose true value is known, and those of them where it was held impossible.
    hits
        Right predictions; squared errors of a continuous target.
    loss
        Minus the log probability of the true states, or the log density of the true values.
    """

    is_discrete: bool
    n_impossible: int = 0
    n_known: float = 0
    n_excluded: float = 0
    hits: float = 0.0
    loss: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        names = [field.name for field in fields(self)][1:]
        return Tally(
            self.is_discrete, *(getattr(self, name) + getattr(other, name) for name in names)
        )

    def facts(self) -> dict[str, str]:
        """What there is to tell, in words."""
        facts = {}
        if self.n_impossible:
            facts["impossible"] = f"{self.n_impossible:,} rows; they have no prediction"
        if not self.n_known:
            return facts
        facts["target known"] = f"{self.n_known:,.0f} rows"
        lost, mean = f"{self.n_excluded:,.0f} rows was held impossible", self.loss / self.n_known
        if self.is_discrete:
            facts["accuracy"] = f"{self.hits / self.n_known:.4f}"
            is_lost = f"infinite: the true state of {lost}"
            facts["log loss"] = is_lost if self.n_excluded else f"{mean:.4f}"
        else:
            facts["RMSE"] = f"{(self.hits / self.n_known) ** 0.5:.4g}"
            is_lost = f"minus infinity: the true value of {lost}"
            facts["log density"] = (
                is_lost if self.n_excluded else f"{mean:.4f} (mean, of the true value)"
            )
        return facts


def predicted(net: cs.Network, table: cs.Table, target: str) -> tuple[cs.Table, Tally]:
    """Predictions of a node for each row as columns, and how good they are."""
    is_continuous = net.variables[target].is_continuous
    return (_of_values if is_continuous else _of_states)(net, table, target)


def _of_states(net: cs.Network, table: cs.Table, target: str) -> tuple[cs.Table, Tally]:
    import consilience as cs

    variable = net.variables[target]
    posteriors = net.posteriors(table, target)
    truth = _truth(variable, table, target)
    logs = cs.inference.log_of_states(net, table, target, truth, posteriors=posteriors)
    return _predictions(variable, posteriors), _quality(variable, posteriors, truth, logs)


def _truth(variable: cs.Variable, table: cs.Table, target: str) -> Codes:
    """The codes of the target in the states of the model; -1 where nothing is recorded."""
    import numpy as np

    import consilience as cs

    if target not in table.variables:
        return np.full(table.n_rows, -1, np.int8)
    if table.variables[target] == variable:
        return table.column(target)
    known = {target: table[target].tolist()}
    return cs.read(known, schema={target: variable}).column(target)


def _of_values(net: cs.Network, table: cs.Table, target: str) -> tuple[cs.Table, Tally]:
    """Predictions of a continuous target; the density of a true value is p(row) / p(without it)."""
    import numpy as np

    import consilience as cs

    truth = table.column(target)
    columns = {**table.columns, target: np.full(table.n_rows, np.nan)}
    others = cs.Table(table.schema, columns, table.source_codes)
    log_others = net.log_likelihood(others)
    is_possible = np.isfinite(log_others)
    moments = np.full((table.n_rows, 2), np.nan)
    moments[is_possible] = net.posteriors(others.take(is_possible), target)
    counted = is_possible & ~np.isnan(truth)
    tally = Tally(False, int((~is_possible).sum()))
    if counted.any():
        error = truth[counted] - moments[counted, 0]
        density = net.log_likelihood(table.take(counted)) - log_others[counted]
        is_lost = density == -np.inf
        sums = float((error**2).sum()), float(density[~is_lost].sum())
        tally += Tally(False, 0, int(counted.sum()), int(is_lost.sum()), *sums)
    names = ("predicted", "sd")
    schema = cs.Schema({name: cs.Variable(name) for name in names})
    return cs.Table(schema, dict(zip(names, moments.T, strict=True))), tally


def _predictions(variable: cs.Variable, posteriors: Floats) -> cs.Table:
    """Most probable state and all probabilities as columns; nothing where nothing is possible."""
    import numpy as np

    import consilience as cs

    is_possible = posteriors.sum(axis=1) > 0
    states = variable.discrete_states
    named = np.array([*states, None], object)
    best = named[np.where(is_possible, posteriors.argmax(axis=1), -1)]
    numbers = np.where(is_possible[:, None], posteriors, np.nan)
    found = {"predicted": best.tolist(), **{f"P({s})": numbers[:, k] for k, s in enumerate(states)}}
    schema = {name: cs.Variable(name) for name in found}
    schema["predicted"] = cs.Variable("predicted", states, ordered=variable.ordered)
    return cs.read(found, schema=schema, missing=())


def _quality(variable: cs.Variable, posteriors: Floats, truth: Codes, logs: Floats) -> Tally:
    """How many rows are impossible, and how good the others are where the truth is known."""
    import consilience as cs

    is_possible = posteriors.sum(axis=1) > 0
    tally = Tally(True, int((~is_possible).sum()))
    if not (is_possible & (truth >= 0)).any():
        return tally
    states = variable.discrete_states
    rows = posteriors[is_possible], truth[is_possible]
    found = cs.evaluate(*rows, states=states, logs=logs[is_possible]).overall
    n, n_excluded = found.n_rows, found.n_impossible
    loss = 0.0 if n_excluded else found.log_loss * n
    return tally + Tally(True, 0, n, n_excluded, found.accuracy * n, loss)
