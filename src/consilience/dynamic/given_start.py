"""A network in time to start EM from: what it must have, and its numbers in the order needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from consilience import _check
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.fit_plan import FitPlan
from consilience.dynamic.timeline import Families
from consilience.errors import DataError, GraphError, InputError

__all__ = ["check_start", "like"]


def check_start(start: object, plan: FitPlan) -> None:
    """Refuse a network to start from that has other families or states."""
    if not isinstance(start, DynamicNetwork):
        raise InputError(f"em: start must be a DynamicNetwork, got {start!r}.", parameter="start")
    mine = Families.of(start).distributions
    for key, parents in plan.task.parents().items():
        if key not in mine or set(mine[key].parents) != set(parents):
            raise GraphError(
                f"em: the network to start from must have the same families; that of {key!r} must "
                f"have the parents {_check.listed(parents) or 'none'}.",
                node=key,
            )
        wanted = plan.task.engine.schema[key]
        if mine[key].child.states != wanted.states and not (
            key.rsplit("(", 1)[0] in plan.hidden and mine[key].child.n_states == wanted.n_states
        ):
            raise InputError(
                f"em: in the network to start from {key!r} has other states than in the panel.",
                variable=key,
            )


def like(families: Families, start: Families) -> Families:
    """The numbers of a start in the order of parents that the families have."""
    found = dict(families.distributions)
    for key, local in families.distributions.items():
        mine = start.distributions[key]
        if mine.parents == local.parents:
            found[key] = local.with_parameters(mine.parameters)
            continue
        discrete = [v.name for v in local.given if not v.is_continuous]
        theirs = [v.name for v in mine.given if not v.is_continuous]
        axes = [theirs.index(name) for name in discrete]
        if isinstance(local, Categorical):
            found[key] = local.with_parameters(mine.parameters.transpose([*axes, len(axes)]))
        elif isinstance(local, LinearGaussian) and isinstance(mine, LinearGaussian):
            order = [mine.continuous.index(v) for v in local.continuous]
            moved = mine.coefficients.transpose([*axes, len(axes)])[..., order]
            found[key] = LinearGaussian(
                local.child,
                local.given,
                mine.intercept.transpose(axes),
                moved,
                mine.sd.transpose(axes),
            )
    _refuse_zero(found)
    return replace(families, distributions=found)


def _refuse_zero(found: Mapping[str, Distribution]) -> None:
    for key, local in found.items():
        if isinstance(local, LinearGaussian) and not (local.sd > 0).all():
            raise DataError(
                f"em: in the network to start from the sd of {key!r} is zero, from which EM cannot "
                "climb.",
                variable=key,
            )
