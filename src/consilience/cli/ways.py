"""How a command answers: exactly, or by estimates that say how far they may be off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

__all__ = ["WAYS", "way_of", "way_options"]

WAYS: Final = {
    "exact": "Exact",
    "best": "Best",
    "likelihood-weighting": "LikelihoodWeighting",
    "adaptive-importance": "AdaptiveImportance",
    "logic-sampling": "LogicSampling",
    "gibbs": "Gibbs",
    "loopy": "LoopyPropagation",
}
"""The choices of ``--by`` and their classes in ``consilience.inference``."""


def way_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose how to answer."""
    for option in reversed(
        [
            click.option(
                "--by",
                type=click.Choice(list(WAYS)),
                default="exact",
                show_default=True,
                help="How to answer: exactly; exactly where memory allows and else by the best "
                "estimate; or by one way of estimating.",
            ),
            click.option("--draws", type=int, help="Number of draws of an estimate."),
            click.option("--error", type=float, help="Largest standard error of an estimate."),
            click.option("--seed", type=int, help="Seed of the draws."),
        ]
    ):
        command = option(command)
    return command


def way_of(by: str, **chosen: Any) -> Any:
    """The way that the options choose; an option that it has no use for is refused."""
    from consilience import inference

    way = getattr(inference, WAYS[by])
    given = {name: value for name, value in chosen.items() if value is not None}
    for name in given:
        if name not in way.__dataclass_fields__:
            raise click.UsageError(f"--{name} goes with estimates from draws, not with --by {by}.")
    return way(**given)
